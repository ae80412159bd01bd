/* SPDX-License-Identifier: MIT */
/*
 * The two ways in. As a layer of an ICD loader (OPENCL_LAYERS) the loader calls clInitLayer and from then on our table
 * instead of its own. By LD_PRELOAD the program's cl* symbols are ours; each real function is looked for behind us,
 * else where the caller itself would have found it (an object loaded RTLD_LOCAL), else in a loaded libOpenCL.so.1.
 * Where both ways are open the layer records and the preloaded functions only hand on: it sees what is called by dlsym
 * too, and nothing counts twice.
 */
#include "state.h"

#include <dlfcn.h>
#include <errno.h>

#if defined(__GLIBC__) && defined(__x86_64__)
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5");
__asm__(".symver dladdr,dladdr@GLIBC_2.2.5");
__asm__(".symver dlerror,dlerror@GLIBC_2.2.5");
#elif defined(__GLIBC__)
__asm__(".symver dlsym,dlsym@GLIBC_2.17");
__asm__(".symver dlopen,dlopen@GLIBC_2.17");
__asm__(".symver dladdr,dladdr@GLIBC_2.17");
__asm__(".symver dlerror,dlerror@GLIBC_2.17");
#endif

#define EXPORT __attribute__((visibility("default")))

uint32_t ocl_names[OCL_FUNCTION_COUNT];
uint32_t ocl_texts[OCL_TEXT_COUNT];
uint32_t ocl_off;
int32_t ocl_pid;

enum { STARTED = 1, NOTHING_RECORDED = 2 };
static uint32_t *started;        /* in a page that fork wipes: a child has a log, and so texts, of its own */
static uint32_t unwiped_started; /* where the kernel cannot wipe */
static uint32_t ever_started;
static struct ocl_api preloaded, layered;
static uint32_t preloaded_found, layer_active;

uint32_t ocl_string(const char *text)
{
    size_t length = 0;
    while (text[length])
        length++;
    return rt_string(text, length);
}

static const char *const function_names[] = {
#define WRAP(index, returns, name, missing, params, args) #name,
#define WRAP_NOTHING(index, name, params, args) #name,
#include "wrappers.def"
};
static const char *const texts[] = {
#define OCL_TEXT(enumerator, text) text,
    OCL_TEXTS
#undef OCL_TEXT
};

static uint32_t *started_page(void)
{
    uint32_t *page = ocl_wiped_memory(), *none = 0;
    if (!page)
        page = &unwiped_started;
    return ocl_change(&started, &none, page) ? page : none;
}

static __attribute__((noinline, cold)) bool start(void)
{
    uint32_t *state = ocl_load(&started) ? ocl_load(&started) : started_page();
    if (!rt_register(WIRE_LAYER_OPENCL, "opencl")) {
        ocl_store(state, (uint32_t)NOTHING_RECORDED);
        return false;
    }
    if (ocl_swap(&ever_started, 1u)) {
        ocl_forget_devices();
        ocl_forget_commands();
        ocl_forget_programs();
    }
    for (unsigned i = 0; i < OCL_FUNCTION_COUNT; i++)
        ocl_names[i] = ocl_string(function_names[i]);
    for (unsigned i = 0; i < OCL_TEXT_COUNT; i++)
        ocl_texts[i] = ocl_string(texts[i]);
    ocl_store(state, (uint32_t)STARTED);
    return true;
}

bool ocl_ready(void)
{
    const uint32_t *page = ocl_load(&started);
    uint32_t state = page ? ocl_load(page) : 0;
    if (ocl_load(&ocl_off))
        return false;
    return state ? state == STARTED : start();
}

/* A program without OpenCL pays for nothing here: only where the functions are behind us it is certain that it may use
 * them. */
__attribute__((constructor)) static void library_start(void)
{
    int saved_errno = errno;
    if (dlsym(RTLD_NEXT, "clGetPlatformIDs"))
        ocl_ready();
    else
        dlerror(); /* the program's next question is not about ours */
    errno = saved_errno;
}

const struct ocl_api *ocl_direct(void)
{
    return ocl_load(&layer_active) ? &layered : &preloaded;
}

static void *find_at(const char *name, void *local, void *loader)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found && local)
        found = dlsym(local, name);
    if (!found && loader)
        found = dlsym(loader, name);
    return found;
}

/* An object that is loaded already, by what it is called; a reference more or less to it makes no difference at exit.
 */
static void *loaded(const char *name)
{
    return name && name[0] ? dlopen(name, RTLD_NOLOAD | RTLD_LAZY) : 0;
}

static __attribute__((noinline, cold)) void find_all(const void *caller)
{
    int saved_errno = errno;
    Dl_info info = {0};
    void *local = dladdr(caller, &info) ? loaded(info.dli_fname) : 0, *loader = loaded("libOpenCL.so.1"), *found;
#define FIND(name)                                                                                                     \
    found = find_at(#name, local, loader);                                                                             \
    __builtin_memcpy(&preloaded.name, &found, sizeof found);
#define WRAP(index, returns, name, missing, params, args) FIND(name)
#define WRAP_NOTHING(index, name, params, args) FIND(name)
#define CALL(index, returns, name, params) FIND(name)
#include "wrappers.def"
    dlerror();
    ocl_store(&preloaded_found, 1u);
    errno = saved_errno;
}

static inline const struct ocl_api *table_for(const void *caller)
{
    if (!ocl_load(&preloaded_found))
        find_all(caller);
    return &preloaded;
}

/* The exported functions, and those of the layer's table. */
#define WRAP(index, returns, name, missing, params, args)                                                              \
    returns name params EXPORT;                                                                                        \
    returns name params                                                                                                \
    {                                                                                                                  \
        const struct ocl_api *api = table_for(__builtin_return_address(0));                                            \
        if (!api->name)                                                                                                \
            return missing;                                                                                            \
        return ocl_load(&layer_active) ? api->name args : ocl_##name(api, OCL_UNPACK args);                            \
    }                                                                                                                  \
    static returns layer_##name params                                                                                 \
    {                                                                                                                  \
        return ocl_##name(&layered, OCL_UNPACK args);                                                                  \
    }
#define WRAP_NOTHING(index, name, params, args)                                                                        \
    void name params EXPORT;                                                                                           \
    void name params                                                                                                   \
    {                                                                                                                  \
        const struct ocl_api *api = table_for(__builtin_return_address(0));                                            \
        if (api->name && ocl_load(&layer_active))                                                                      \
            api->name args;                                                                                            \
        else if (api->name)                                                                                            \
            ocl_##name(api, OCL_UNPACK args);                                                                          \
    }                                                                                                                  \
    static void layer_##name params                                                                                    \
    {                                                                                                                  \
        ocl_##name(&layered, OCL_UNPACK args);                                                                         \
    }
#undef OCL_UNPACK
#define OCL_UNPACK(...) __VA_ARGS__
#include "wrappers.def"

cl_int clGetLayerInfo(cl_uint what, size_t size, void *value, size_t *ret_size) EXPORT;
cl_int clGetLayerInfo(cl_uint what, size_t size, void *value, size_t *ret_size)
{
    static const uint32_t version = OCL_LAYER_VERSION_100;
    static const char name[] = "hprofiler";
    if (what != OCL_LAYER_API_VERSION && what != OCL_LAYER_NAME)
        return OCL_INVALID_VALUE;
    const void *from = what == OCL_LAYER_NAME ? (const void *)name : &version;
    size_t bytes = what == OCL_LAYER_NAME ? sizeof name : sizeof version;
    if (value && size < bytes)
        return OCL_INVALID_VALUE;
    if (value)
        __builtin_memcpy(value, from, bytes);
    if (ret_size)
        *ret_size = bytes;
    return OCL_SUCCESS;
}

/* Only what the loader has is ours to take: a NULL in its table stays one. */
static void layer_fill(void **table, uint32_t count)
{
#define TAKE(index, name, function)                                                                                    \
    if ((index) < count && table[index]) {                                                                             \
        __builtin_memcpy(&layered.name, &table[index], sizeof(void *));                                                \
        function                                                                                                       \
    }
#define PUT(index, name)                                                                                               \
    void *own_##name;                                                                                                  \
    __typeof__(&layer_##name) typed_##name = layer_##name;                                                             \
    __builtin_memcpy(&own_##name, &typed_##name, sizeof(void *));                                                      \
    table[index] = own_##name;
#define WRAP(index, returns, name, missing, params, args) TAKE(index, name, PUT(index, name))
#define WRAP_NOTHING(index, name, params, args) TAKE(index, name, PUT(index, name))
#define CALL(index, returns, name, params) TAKE(index, name, )
#include "wrappers.def"
}

cl_int clInitLayer(cl_uint count, void *const *target, cl_uint *ret_count, void ***ret_table) EXPORT;
cl_int clInitLayer(cl_uint count, void *const *target, cl_uint *ret_count, void ***ret_table)
{
    static void *table[OCL_DISPATCH_MAXIMUM];
    if (!target || !ret_count || !ret_table)
        return OCL_INVALID_VALUE;
    if (ocl_load(&layer_active) || !ocl_ready())
        return OCL_INVALID_OPERATION; /* a second loader in the process, or nothing to record: the loader goes on
                                         without us */
    uint32_t known = count < OCL_DISPATCH_MAXIMUM ? count : OCL_DISPATCH_MAXIMUM;
    for (uint32_t i = 0; i < known; i++)
        table[i] = target[i];
    layer_fill(table, known);
    *ret_count = known;
    *ret_table = table;
    ocl_store(&layer_active, 1u);
    return OCL_SUCCESS;
}

/* What newer loaders ask for first. */
cl_int clInitLayerWithProperties(cl_uint count, void *const *target, cl_uint *ret_count, void ***ret_table,
                                 const void *properties) EXPORT;
cl_int clInitLayerWithProperties(cl_uint count, void *const *target, cl_uint *ret_count, void ***ret_table,
                                 const void *properties)
{
    (void)properties;
    return clInitLayer(count, target, ret_count, ret_table);
}
