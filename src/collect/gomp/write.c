/* SPDX-License-Identifier: MIT */
/* What all records of libgomp's wrappers need: names, code addresses, ids; and the spans that several wrappers write. */
#include "../loader.h"
#include "../ompt/ompt.h"
#include "gomp.h"
#include "wire/session.h"

#include <sys/mman.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static const char *const texts[NAME_GOMP_COUNT] = {
#define NAME(enumerator, text) text,
#include "names.def"
#undef NAME
};
_Static_assert(NAME_GOMP_COUNT <= 64, "struct gomp_kept.names is full");

static struct gomp_kept first_kept;
struct gomp_kept *gomp_kept = &first_kept;
uint32_t gomp_call_tree;
static bool recording;

static void forget(void)
{
    __builtin_memset(gomp_kept, 0, sizeof *gomp_kept);
}

/* Where the kernel can't wipe, the child does it itself. */
static void forget_in_children(void)
{
    int (*register_atfork)(void (*)(void), void (*)(void), void (*)(void), void *) = 0;
    int (*atfork)(void (*)(void), void (*)(void), void (*)(void)) = 0;
    void *found = dlsym(RTLD_DEFAULT, "__register_atfork"); /* glibc has pthread_atfork only in its static part */
    __builtin_memcpy(&register_atfork, &found, sizeof found);
    if (found) {
        register_atfork(0, 0, forget, 0);
        return;
    }
    found = dlsym(RTLD_DEFAULT, "pthread_atfork");
    __builtin_memcpy(&atfork, &found, sizeof found);
    if (found)
        atfork(0, 0, forget);
}

static void keep_begin(void)
{
    gomp_call_tree = rt_flags() & WIRE_SESSION_CALL_TREE;
    void *map = mmap(0, sizeof *gomp_kept, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map != MAP_FAILED && madvise(map, sizeof *gomp_kept, MADV_WIPEONFORK) == 0)
        __atomic_store_n(&gomp_kept, (struct gomp_kept *)map, __ATOMIC_RELEASE);
    else
        forget_in_children();
}

/* Once for each runtime that is met: whether this process is recorded. */
bool gomp_write_start(void)
{
    static uint32_t started; /* 2: done */
    uint32_t expected = 0;
    if (!__atomic_compare_exchange_n(&started, &expected, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        while (__atomic_load_n(&started, __ATOMIC_ACQUIRE) != 2)
            ; /* another thread's first call */
        return recording;
    }
    recording = rt_register(WIRE_LAYER_OPENMP, "gomp");
    if (recording)
        keep_begin();
    __atomic_store_n(&started, 2, __ATOMIC_RELEASE);
    return recording;
}

COLD uint32_t gomp_name_make(enum gomp_name name)
{
    uint32_t id = rt_string(texts[name], __builtin_strlen(texts[name]));
    __atomic_store_n(&gomp_kept->names[name], id, __ATOMIC_RELEASE);
    return id;
}

COLD void gomp_code_tell(uint64_t code, unsigned span_kind, uint64_t region_code)
{
    if (!code)
        return;
    rt_code((const void *)(uintptr_t)code);
    struct wire_openmp_fact fact = {.header = {WIRE_OPENMP_FACT, sizeof fact / 8, WIRE_OPENMP_CODE | span_kind << 8}};
    fact.time = rt_now();
    fact.first = code;
    fact.second = region_code;
    if (rt_append(&fact.header))
        __atomic_store_n(&gomp_kept->codes[code * 0x9e3779b97f4a7c15ull >> 55], code, __ATOMIC_RELEASE);
}

COLD uint64_t gomp_new_ids(struct gomp_state *state)
{
    state->next_id = openmp_id_block();
    state->id_limit = state->next_id + OPENMP_ID_BLOCK;
    return state->next_id++;
}

void gomp_write_wait(struct gomp_state *state, enum gomp_name type, uint64_t begin, uint64_t wait_begin, uint64_t code, uint32_t stack)
{
    static const uint8_t kinds[NAME_GOMP_COUNT] = {[NAME_GOMP_TASKWAIT] = SPAN_KIND_TASKWAIT, [NAME_GOMP_TASKGROUP] = SPAN_KIND_TASKGROUP};
    bool of_tasks = kinds[type] != 0;
    struct rt_span span;
    uint64_t end = rt_now();
    gomp_span(&span, of_tasks ? type : NAME_GOMP_BARRIER, of_tasks ? kinds[type] : SPAN_KIND_BARRIER, PAYLOAD_BARRIER, begin, end);
    span.stack = stack;
    gomp_field_if(&span, FIELD_BARRIER_region, state->part.region);
    rt_field(&span, FIELD_BARRIER_type, gomp_name(type));
    if (!of_tasks)
        rt_field(&span, FIELD_BARRIER_sequence, state->part.sequence++);
    rt_field(&span, FIELD_BARRIER_wait_start_ns, wait_begin - begin);
    rt_field(&span, FIELD_BARRIER_wait_ns, end - wait_begin);
    gomp_field_if(&span, FIELD_BARRIER_code, code);
    if (of_tasks)
        rt_field(&span, FIELD_BARRIER_task, gomp_task_id(state));
    rt_span(&span);
}
