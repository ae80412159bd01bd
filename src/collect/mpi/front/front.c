/* SPDX-License-Identifier: MIT */
/*
 * Which MPI does this process use? Asked at the first MPI call, when it is surely loaded: in the global scope, or by a dlopen
 * with RTLD_LOCAL as Python's mpi4py does. Its family decides on the implementation library, which is built with that MPI's own
 * mpi.h. What doesn't fit is left alone: the slots then hold the real functions.
 */
#include "front.h"

#include "../mpi_table.h"
#include "wire/records.h"

#include <dlfcn.h>
#include <features.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GLIBC__) && defined(__x86_64__)
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
__asm__(".symver dlclose,dlclose@GLIBC_2.2.5");
__asm__(".symver dladdr,dladdr@GLIBC_2.2.5");
#elif defined(__GLIBC__)
__asm__(".symver dlopen,dlopen@GLIBC_2.17");
__asm__(".symver dlsym,dlsym@GLIBC_2.17");
__asm__(".symver dlclose,dlclose@GLIBC_2.17");
__asm__(".symver dladdr,dladdr@GLIBC_2.17");
#endif

extern char *getenv(const char *name);
extern int sched_yield(void);

#define PATH_BYTES 4096
#define MARK "PMPI_Get_version" /* every MPI has it, and the front not */
enum { SEARCHING_NOT, SEARCHING, FOUND };
static uint32_t state;
static void *mpi; /* the library, once it is found */

struct names {
    size_t length;
    char text[64 << 10]; /* names of loaded objects, each with its NUL; an empty one ends them */
};
static struct names loaded;

/* The families and a symbol that programs built for one need, so that every library of it has it. */
static const struct {
    const char *marker, *library;
} families[] = {
    {"ompi_mpi_comm_world", "libhprofiler_mpi-openmpi.so"},
    {"MPIR_Dup_fn", "libhprofiler_mpi-mpich.so"},
};

/* Other MPI functions than this are reached through here when there is no MPI: any value but MPI_SUCCESS is an error. */
static int no_mpi(void)
{
    return 16; /* MPI_ERR_OTHER of Open MPI; of MPICH it is "unknown": neither is success */
}

static size_t put(char *out, size_t at, const char *text)
{
    while (*text && at + 1 < PATH_BYTES)
        out[at++] = *text++;
    out[at] = 0;
    return at;
}

static int note_name(struct dl_phdr_info *info, size_t size, void *context)
{
    struct names *names = context;
    const char *name = info->dlpi_name;
    size_t length = 0;
    while (name && name[length])
        length++;
    if (length == 0 || names->length + length + 2 > sizeof names->text)
        return 0;
    __builtin_memcpy(names->text + names->length, name, length + 1);
    names->length += length + 1;
    return 0;
}

/* The object that has the MPI, opened, or NULL. */
static void *owner_of(void *handle)
{
    Dl_info info;
    void *function = handle ? dlsym(handle, MARK) : 0;
    if (!function || !dladdr(function, &info) || !info.dli_fname)
        return 0;
    void *owner = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return owner ? owner : dlopen(0, RTLD_LAZY); /* in the program itself, whose name is no library's */
}

/* The list is made first: dlopen inside dl_iterate_phdr could wait for a thread that waits for us. */
static void *find_mpi(void)
{
    void *handle = dlopen(0, RTLD_LAZY), *owner = owner_of(handle);
    if (handle)
        dlclose(handle);
    loaded.length = 0;
    if (!owner)
        dl_iterate_phdr(note_name, &loaded);
    for (size_t at = 0; at < loaded.length && !owner; at++) {
        handle = dlopen(loaded.text + at, RTLD_LAZY | RTLD_NOLOAD);
        owner = owner_of(handle);
        if (handle)
            dlclose(handle);
        while (loaded.text[at])
            at++;
    }
    return owner;
}

/* The implementation's symbols of MPI are looked up in the global scope, where an MPI loaded by RTLD_LOCAL isn't yet. */
static void make_global(void)
{
    Dl_info info;
    void *function = dlsym(mpi, MARK);
    if (function && dladdr(function, &info) && info.dli_fname)
        dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
}

/* A function of the MPI itself. Where that is part of the program, the search passes the front, too. */
static void *real_of(const char *name)
{
    Dl_info own, info;
    void *function = dlsym(mpi, name);
    if (function && dladdr((const void *)front_slots, &own) && dladdr(function, &info) && info.dli_fbase == own.dli_fbase)
        return 0;
    return function;
}

static const struct mpi_table *table_in(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    mpi_table_function *get = 0;
    void *found = handle ? dlsym(handle, MPI_TABLE_SYMBOL) : 0;
    __builtin_memcpy(&get, &found, sizeof get);
    const struct mpi_table *table = get ? get(real_of) : 0;
    return table && table->version == MPI_TABLE_VERSION ? table : 0;
}

/* The path of a library in the front's own folder; empty if that isn't known. */
static void beside(const char *library, char *path)
{
    Dl_info info;
    size_t length = 0;
    if (dladdr((const void *)front_slots, &info) && info.dli_fname)
        length = put(path, 0, info.dli_fname);
    while (length && path[length - 1] != '/')
        length--;
    path[length] = 0;
    if (length)
        put(path, length, library);
}

/* For people: why an MPI that is there isn't recorded. */
static void note(const char *text)
{
    char path[PATH_BYTES];
    bool (*enter)(unsigned, const char *) = 0;
    void (*tell)(const char *) = 0;
    beside("libhprofiler_runtime.so", path);
    void *runtime = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *found_enter = runtime ? dlsym(runtime, "hprofiler_register") : 0, *found_tell = runtime ? dlsym(runtime, "hprofiler_note") : 0;
    __builtin_memcpy(&enter, &found_enter, sizeof enter);
    __builtin_memcpy(&tell, &found_tell, sizeof tell);
    if (enter && tell && enter(WIRE_LAYER_MPI, "mpi"))
        tell(text);
}

static const struct mpi_table *table_of_home(const char *library)
{
    char path[PATH_BYTES];
    const char *home = getenv("HOME");
    if (!home || home[0] != '/')
        return 0;
    put(path, put(path, put(path, 0, home), "/.local/lib/hprofiler/"), library);
    return table_in(path);
}

/* One that the user built for this machine's MPI goes before the one that came with us. */
static const struct mpi_table *find_table(void)
{
    const char *library = 0;
    for (size_t i = 0; i < sizeof families / sizeof families[0] && !library; i++)
        if (dlsym(mpi, families[i].marker))
            library = families[i].library;
    if (!library) {
        note("MPI: this library is neither Open MPI nor of MPICH's ABI: nothing of MPI is recorded");
        return 0;
    }
    const struct mpi_table *table = table_of_home(library);
    if (table)
        return table;
    char path[PATH_BYTES];
    beside(library, path);
    table = table_in(path);
    if (!table)
        note("MPI: there is no collector that fits this MPI: nothing of it is recorded; `hprofiler build --mpicc CC` makes one");
    return table;
}

static bool same(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

static void *wrapper_of(const struct mpi_table *table, unsigned index)
{
    if (index < table->count && same(table->entries[index].name, front_names[index]))
        return table->entries[index].function;
    for (uint32_t i = 0; i < table->count; i++)
        if (same(table->entries[i].name, front_names[index]))
            return table->entries[i].function;
    return 0;
}

static void set_slot(unsigned slot, void *function)
{
    __atomic_store_n(&front_slots[slot], function ? function : (void *)no_mpi, __ATOMIC_RELEASE);
}

/* What another tool has put between us and the MPI; NULL: nothing. */
static void *tool_of(unsigned index)
{
    void *next = dlsym(RTLD_NEXT, front_names[index] + 1);
    return next != real_of(front_names[index] + 1) ? next : 0;
}

/* Another tool comes first: it goes on by the name with the P, and so to the wrapper. */
static void fill(const struct mpi_table *table)
{
    for (unsigned i = 0; i < front_count; i++) {
        void *wrapper = table ? wrapper_of(table, i) : 0, *tool = tool_of(i);
        if (!wrapper)
            wrapper = real_of(front_names[i]);
        set_slot(i, tool ? tool : wrapper);
        set_slot(front_count + i, wrapper);
    }
}

const void *front_resolve(unsigned index)
{
    uint32_t expected = SEARCHING_NOT;
    if (__atomic_compare_exchange_n(&state, &expected, SEARCHING, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        mpi = find_mpi();
        if (!mpi) {
            __atomic_store_n(&state, SEARCHING_NOT, __ATOMIC_RELEASE);
            return (const void *)no_mpi;
        }
        make_global();
        fill(find_table());
        __atomic_store_n(&state, FOUND, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == SEARCHING)
        sched_yield();
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != FOUND)
        return (const void *)no_mpi;
    return __atomic_load_n(&front_slots[index], __ATOMIC_ACQUIRE);
}
