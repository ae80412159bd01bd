/* SPDX-License-Identifier: MIT */
/* Threads' lanes: made, ended, and what happens when events don't come in pairs. */
#include "lane.h"

#include "../loader.h"
#include "../runtime/sys.h"
#include "events.h"
#include "ompt.h"

#include <linux/mman.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

__thread struct lane *lane_self;
uint64_t *code_table;
static uint32_t fork_handler; /* 1: asked for */

static const struct {
    const char *text;
    uint32_t length;
} names[NAME_COUNT] = {
#define NAME(enumerator, text) {text, sizeof(text) - 1},
#include "names.def"
#undef NAME
};

static void in_child(void)
{
    lane_self = 0;
    for (int i = 0; code_table && i < CODES; i++)
        code_table[i] = 0;
}

/* Where the kernel can't wipe (before 4.14), a handler of fork forgets. glibc has pthread_atfork only in its static part. */
static void forget_by_handler(void)
{
    if (__atomic_exchange_n(&fork_handler, 1, __ATOMIC_ACQ_REL))
        return;
    void *found = dlsym(RTLD_DEFAULT, "__register_atfork");
    int (*register_atfork)(void (*)(void), void (*)(void), void (*)(void), void *) = 0;
    int (*atfork)(void (*)(void), void (*)(void), void (*)(void)) = 0;
    __builtin_memcpy(&register_atfork, &found, sizeof found);
    if (register_atfork) {
        register_atfork(0, 0, in_child, 0);
        return;
    }
    found = dlsym(RTLD_DEFAULT, "pthread_atfork");
    __builtin_memcpy(&atfork, &found, sizeof found);
    if (atfork)
        atfork(0, 0, in_child);
}

static void *memory_make(size_t bytes)
{
    void *map = sys_mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (sys_is_error((long)map))
        return 0;
    if (sys_is_error(sys_call(__NR_madvise, map, bytes, MADV_WIPEONFORK, 0)))
        forget_by_handler();
    return map;
}

static bool code_table_make(void)
{
    uint64_t *table = __atomic_load_n(&code_table, __ATOMIC_ACQUIRE);
    if (table)
        return true;
    uint64_t *map = memory_make(CODES * sizeof *map);
    if (map && !__atomic_compare_exchange_n(&code_table, &table, map, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        sys_call(__NR_munmap, map, CODES * sizeof *map, 0, 0);
    return map;
}

COLD struct lane *lane_make(void)
{
    struct lane *lane = lane_self;
    if (!code_table_make())
        return 0;
    if (!lane) /* else fork has wiped it: it is taken anew */
        lane = memory_make(sizeof *lane);
    if (!lane)
        return 0;
    lane->top = lane->team = lane->frames;
    lane->frames[0].kind = FRAME_NONE;
    lane->call_tree = rt_flags() & WIRE_SESSION_CALL_TREE;
    for (int i = 1; i < NAME_COUNT; i++)
        lane->names[i] = rt_string(names[i].text, names[i].length);
    lane->magic = LANE_MAGIC;
    lane_self = lane;
    return lane;
}

void lane_end(void)
{
    struct lane *lane = lane_self;
    if (!lane)
        return;
    if (lane->magic == LANE_MAGIC) {
        uint64_t end = now();
        while (lane->top > lane->frames)
            lane_close(lane, lane->top--, end);
        mutex_flush(lane);
        if (lane->unpaired || lane->too_deep)
            openmp_fact(WIRE_OPENMP_UNPAIRED, 0, lane->unpaired, lane->too_deep);
    }
    lane_self = 0;
    sys_call(__NR_munmap, lane, sizeof *lane, 0, 0);
}

COLD struct frame *lane_find(struct lane *lane, enum frame_kind kind, unsigned type, const void *owner)
{
    if (lane->overflow) {
        lane->overflow--;
        lane->too_deep++;
        return 0;
    }
    bool outer = kind == FRAME_IMPLICIT || kind == FRAME_INITIAL || kind == FRAME_TASK || kind == FRAME_PARALLEL;
    for (struct frame *frame = lane->top; frame > lane->frames; frame--) {
        if (frame->kind == kind && (outer || frame->type == type) && (!owner || frame->owner == owner)) {
            uint64_t end = now();
            for (; lane->top > frame; lane->unpaired++)
                lane_close(lane, lane->top--, end);
            lane->top = frame - 1;
            return frame;
        }
        /* What belongs to one task ends in that task. */
        if (!outer && (frame->kind == FRAME_TASK || frame->kind == FRAME_IMPLICIT))
            break;
    }
    lane->unpaired++;
    return 0;
}

void lane_close(struct lane *lane, struct frame *frame, uint64_t end)
{
    if (frame->kind == FRAME_IMPLICIT || frame->kind == FRAME_INITIAL)
        lane->team = frame->outer;
    switch ((enum frame_kind)frame->kind) {
    case FRAME_PARALLEL: write_parallel(lane, frame, end); break;
    case FRAME_IMPLICIT: write_implicit(lane, frame, end); break;
    case FRAME_WORK:
    case FRAME_MASKED: write_work(lane, frame, end); break;
    case FRAME_SYNC: write_sync(lane, frame, end); break;
    case FRAME_TASK: write_task(lane, frame, end, NAME_NONE); break;
    case FRAME_MUTEX: write_mutex(lane, frame, end); break;
    case FRAME_TARGET: write_target(lane, frame, end); break;
    case FRAME_DATA_OP: write_data_op(lane, frame, end); break;
    case FRAME_SUBMIT: write_submit(lane, frame, end); break;
    case FRAME_NONE:
    case FRAME_INITIAL:
    case FRAME_KINDS: break;
    }
}

COLD uint64_t lane_new_ids(struct lane *lane)
{
    uint64_t first = openmp_id_block();
    lane->next_id = first + 1;
    lane->id_limit = first + OPENMP_ID_BLOCK;
    return first;
}

COLD void openmp_fact_at(uint64_t time, unsigned what, unsigned span_kind, uint64_t first, uint64_t second)
{
    struct wire_openmp_fact fact = {.header = {WIRE_OPENMP_FACT, sizeof fact / 8, what | span_kind << 8}, .time = time};
    fact.first = first;
    fact.second = second;
    rt_append(&fact.header);
}

COLD void openmp_fact(unsigned what, unsigned span_kind, uint64_t first, uint64_t second)
{
    openmp_fact_at(now(), what, span_kind, first, second);
}

/* Another slot than the address' own is searched only for a few steps: a full neighbourhood leaves it without a number. */
COLD uint32_t code_index_slowly(const struct lane *lane, uint64_t code, unsigned span_kind)
{
    uint32_t first = code_slot(code);
    for (uint32_t step = 0; step < 64; step++) {
        uint32_t slot = (first + step) % CODES;
        uint64_t found = slot ? __atomic_load_n(&code_table[slot], __ATOMIC_RELAXED) : 1;
        if (found == 0 && __atomic_compare_exchange_n(&code_table[slot], &found, code, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            rt_code((const void *)(uintptr_t)code);
            openmp_fact(WIRE_OPENMP_CODE, span_kind | slot << 12, code, lane->team->code);
            return slot;
        }
        if (found == code)
            return slot;
    }
    return 0;
}
