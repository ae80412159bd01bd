/* SPDX-License-Identifier: MIT */
/*
 * Does to an NVTX tool what NVTX's header does in a program, as its interface is published: loads what NVTX_INJECTION64_PATH names, lets
 * it put its functions into the tables, and calls them: ranges of threads and domains, marks, categories, names.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <wchar.h>

typedef void (*function)(void);
enum { CORE = 1, CORE2 = 5, MODULES = 7, FUNCTIONS = 16 };
static function functions[MODULES][FUNCTIONS];
static function *tables[MODULES][FUNCTIONS];

struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t colour_type;
    uint32_t colour;
    int32_t payload_type, reserved;
    int64_t payload;
    int32_t message_type;
    const void *message;
};
struct resource {
    uint16_t version, size;
    int32_t type;
    uint64_t identifier;
    int32_t message_type;
    const char *message;
};
struct callbacks {
    size_t size;
    int (*get_table)(int module, function ***table, unsigned *size);
};

static int get_table(int module, function ***table, unsigned *size)
{
    if (module < 1 || module >= MODULES)
        return 0;
    for (int i = 1; i < FUNCTIONS; i++)
        tables[module][i] = &functions[module][i];
    *table = tables[module];
    *size = FUNCTIONS;
    return 1;
}

static const void *export_table(uint32_t id)
{
    static const struct callbacks callbacks = {sizeof callbacks, get_table};
    return id == 1 ? &callbacks : NULL;
}

#define CALL(module, id, type, ...) ((type)functions[module][id])(__VA_ARGS__)
typedef void (*take_text)(const char *);
typedef int (*give_int_text)(const char *);
typedef int (*give_int)(void);
typedef uint64_t (*start_text)(const char *);
typedef void (*end_range)(uint64_t);
typedef void (*number_text)(uint32_t, const char *);
typedef void *(*make_domain)(const char *);
typedef int (*domain_push)(void *, const struct attributes *);
typedef int (*domain_pop)(void *);
typedef void (*domain_category)(void *, uint32_t, const char *);
typedef void *(*domain_string)(void *, const char *);
typedef void *(*make_resource)(void *, const struct resource *);
typedef int (*push_wide)(const wchar_t *);

static pthread_barrier_t named;
static uint32_t worker_tid;
static uint64_t crossing;

static void *worker_main(void *unused)
{
    worker_tid = (uint32_t)syscall(SYS_gettid);
    CALL(CORE, 9, give_int_text, "work of the worker");
    pthread_barrier_wait(&named); /* its number is known */
    pthread_barrier_wait(&named); /* it has its name */
    CALL(CORE, 7, end_range, crossing);
    CALL(CORE, 11, give_int);
    return unused;
}

static void ranges(void)
{
    void *domain = CALL(CORE2, 12, make_domain, "solver");
    CALL(CORE2, 8, domain_category, domain, 3, "numerics");
    const struct attributes inner = {.version = 3, .size = 48, .category = 3, .payload_type = 2, .payload = -5, .message_type = 3,
                                     .message = CALL(CORE2, 10, domain_string, domain, "inner")};
    int levels = 0;
    for (int i = 0; i < 10; i++) {
        levels += CALL(CORE, 9, give_int_text, "outer");
        levels += CALL(CORE2, 4, domain_push, domain, &inner);
        levels += CALL(CORE2, 5, domain_pop, domain);
        levels += CALL(CORE, 11, give_int);
    }
    CALL(CORE, 10, push_wide, L"gr\u00f6\u00dfe");
    CALL(CORE, 11, give_int);
    CALL(CORE, 2, take_text, "here");
    printf("levels %d, too many pops %d\n", levels, CALL(CORE, 11, give_int));
}

int main(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL, *found = library ? dlsym(library, "InitializeInjectionNvtx2") : NULL;
    int (*start)(const void *(*)(uint32_t)) = NULL;
    pthread_t worker;
    memcpy(&start, &found, sizeof found);
    if (!start || !start(export_table)) {
        fprintf(stderr, "nvtx_drive: no tool\n");
        return 1;
    }
    ranges();
    crossing = CALL(CORE, 5, start_text, "from thread to thread");
    pthread_barrier_init(&named, NULL, 2);
    pthread_create(&worker, NULL, worker_main, NULL);
    pthread_barrier_wait(&named);
    CALL(CORE, 14, number_text, worker_tid, "a worker that another thread named");
    const struct resource own = {0, sizeof own, 1 << 16 | 3, (uint64_t)syscall(SYS_gettid), 1, "first of all threads"};
    CALL(CORE2, 6, make_resource, NULL, &own);
    pthread_barrier_wait(&named);
    pthread_join(worker, NULL);
    return 0;
}
