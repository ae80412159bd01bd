/* SPDX-License-Identifier: MIT */
/*
 * Which libgomp serves a caller. Several may be in one process: the program's own, others that Python packages bring along
 * under other names, opened where nobody else sees them. So the real functions are looked up as the dynamic linker would have
 * bound the calling module: in the global scope behind us, then in what the module itself needs. Found once a module, by its
 * first call; afterwards a call compares its return address with the module that called last.
 */
#include "../loader.h"
#include "../ompt/ompt.h"
#include "gomp.h"

#include <link.h>

extern int *__errno_location(void);

enum { MODULES = 256, APIS = 32, NAME_BYTES = 1024 };

static struct module {
    uintptr_t low, size;        /* size is stored last */
    const struct gomp_api *api;
} modules[MODULES];
static struct gomp_api apis[APIS];
static uint32_t module_count, api_count;
__thread struct gomp_state gomp_self;

struct search {
    uintptr_t address, low, high;
    char module[NAME_BYTES];    /* "" = the program itself */
    char runtime[NAME_BYTES];   /* an OpenMP runtime that is loaded */
    bool found;
};

/* What stands for a function that the runtime doesn't have: a program that calls it would not have started without us. */
static long gomp_absent(void)
{
    return 0;
}

static void parallel_absent(gomp_function function, void *data)
{
    function(data);
}

static void copy_name(char *out, const char *name)
{
    size_t i = 0;
    while (name && name[i] && i < NAME_BYTES - 1) {
        out[i] = name[i];
        i++;
    }
    out[i] = 0;
}

static bool is_runtime(const char *name)
{
    const char *base = name;
    for (const char *at = name; *at; at++)
        if (*at == '/')
            base = at + 1;
    for (const char *at = base; *at; at++)
        if (__builtin_strncmp(at, "gomp", 4) == 0 || __builtin_strncmp(at, "iomp", 4) == 0 || __builtin_strncmp(at, "libomp", 6) == 0)
            return true;
    return false;
}

static int look_at(struct dl_phdr_info *info, size_t size, void *argument)
{
    (void)size;
    struct search *search = argument;
    uintptr_t low = UINTPTR_MAX, high = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD)
            continue;
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr, end = begin + segment->p_memsz;
        low = begin < low ? begin : low;
        high = end > high ? end : high;
    }
    if (search->address >= low && search->address < high) {
        search->low = low;
        search->high = high;
        search->found = true;
        copy_name(search->module, info->dlpi_name);
    }
    if (!search->runtime[0] && info->dlpi_name && is_runtime(info->dlpi_name))
        copy_name(search->runtime, info->dlpi_name);
    return 0;
}

static void *find_symbol(void *handle, const char *name, const void *own)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found && handle)
        found = dlsym(handle, name);
    return found == own ? 0 : found;
}

/* dlsym gives an object pointer; POSIX promises that it converts. */
static void find(void *function, void *handle, const char *name, const void *own)
{
    void *found = find_symbol(handle, name, own);
    if (!found)
        found = __builtin_strncmp(name, "GOMP_parallel", 13) == 0 ? (void *)parallel_absent : (void *)gomp_absent;
    __builtin_memcpy(function, &found, sizeof found);
}

static bool has_runtime(void *handle)
{
    return find_symbol(handle, "GOMP_barrier", (void *)GOMP_barrier) || find_symbol(handle, "omp_set_lock", (void *)omp_set_lock);
}

/* Where the module's functions come from beside the global scope. NULL: nowhere. The handle stays open only if `ret_keep`. */
static void *open_source(const struct search *search, bool *ret_keep)
{
    *ret_keep = false;
    void *handle = search->found && search->module[0] ? dlopen(search->module, RTLD_LAZY | RTLD_NOLOAD) : 0;
    if (has_runtime(handle))
        return handle;
    if (handle)
        dlclose(handle);
    *ret_keep = true;
    handle = search->runtime[0] ? dlopen(search->runtime, RTLD_LAZY | RTLD_NOLOAD) : 0;
    return handle ? handle : dlopen("libgomp.so.1", RTLD_LAZY | RTLD_LOCAL);
}

static void fill(struct gomp_api *api, void *handle)
{
#define GOMP(result, name, arguments) find(&api->name, handle, #name, (void *)name);
#define ASKED(result, name, arguments) find(&api->name, handle, #name, 0);
#include "gomp.def"
}

/* The library stays: its functions are kept beyond the life of the module that needed it. */
static void pin(const struct gomp_api *api)
{
    Dl_info info;
    void *function = 0;
    __builtin_memcpy(&function, &api->GOMP_barrier, sizeof function);
    if (function != (void *)gomp_absent && dladdr(function, &info) && info.dli_fname)
        dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

static const struct gomp_api *same_as_known(const struct gomp_api *api)
{
    uint32_t count = __atomic_load_n(&api_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count && i < APIS; i++) {
        const struct gomp_api *known = &apis[i];
        if (known->omp_set_lock == api->omp_set_lock && known->GOMP_barrier == api->GOMP_barrier && known->GOMP_parallel == api->GOMP_parallel &&
            known->GOMP_task == api->GOMP_task && known->omp_get_thread_num == api->omp_get_thread_num && known->GOMP_loop_start == api->GOMP_loop_start)
            return known;
    }
    return 0;
}

static const struct gomp_api *api_make(const struct search *search)
{
    bool keep;
    void *handle = open_source(search, &keep);
    struct gomp_api api;
    fill(&api, handle);
    const struct gomp_api *known = same_as_known(&api);
    if (!known) {
        pin(&api);
        api.omp_get_max_threads(); /* a runtime that has tools starts them now */
        void *barrier = 0;
        __builtin_memcpy(&barrier, &api.GOMP_barrier, sizeof barrier);
        api.pass = ompt_serves(barrier) || !gomp_write_start();
        uint32_t index = __atomic_fetch_add(&api_count, 1, __ATOMIC_ACQ_REL);
        struct gomp_api *place = &apis[index < APIS ? index : APIS - 1];
        if (index < APIS)
            *place = api;
        known = place;
    }
    if (handle && !keep)
        dlclose(handle);
    dlerror(); /* what was not found is nobody's error */
    return known;
}

static COLD const struct gomp_api *resolve(struct gomp_state *state, uintptr_t caller)
{
    struct search search = {.address = caller};
    int *error = __errno_location(), saved_errno = *error;
    dl_iterate_phdr(look_at, &search);
    if (!search.found) { /* code made at run time: its page */
        search.low = caller & ~(uintptr_t)4095;
        search.high = search.low + 4096;
    }
    const struct gomp_api *api = api_make(&search);
    uint32_t index = __atomic_fetch_add(&module_count, 1, __ATOMIC_ACQ_REL);
    if (index < MODULES) {
        modules[index].low = search.low;
        modules[index].api = api;
        __atomic_store_n(&modules[index].size, search.high - search.low, __ATOMIC_RELEASE);
    }
    state->low = search.low;
    state->size = search.high - search.low;
    state->api = api;
    *error = saved_errno;
    return api;
}

COLD const struct gomp_api *gomp_find(struct gomp_state *state, uintptr_t caller)
{
    uint32_t count = __atomic_load_n(&module_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count && i < MODULES; i++) {
        uintptr_t size = __atomic_load_n(&modules[i].size, __ATOMIC_ACQUIRE);
        if (caller - modules[i].low >= size)
            continue;
        state->low = modules[i].low;
        state->size = size;
        state->api = modules[i].api;
        return state->api;
    }
    return resolve(state, caller);
}
