/* SPDX-License-Identifier: MIT */
/*
 * A thread's state: the constructs that are open on it, innermost last, and what it needs at hand to write records. Runtimes
 * differ in what ends they report: an end closes what is open above its begin, and an end without a begin is counted.
 * Everything here lies in memory that the kernel zeroes in a child of fork: there a thread begins anew.
 */
#ifndef HP_COLLECT_OMPT_LANE_H
#define HP_COLLECT_OMPT_LANE_H

#include "../collector.h"
#include "abi.h"
#include "wire/clock.h"

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define COLD __attribute__((noinline, cold))
#define INLINE static inline __attribute__((always_inline))

enum openmp_name {
#define NAME(enumerator, text) NAME_##enumerator,
#include "names.def"
#undef NAME
    NAME_COUNT
};

enum frame_kind { FRAME_NONE, FRAME_INITIAL, FRAME_PARALLEL, FRAME_IMPLICIT, FRAME_WORK, FRAME_MASKED, FRAME_SYNC, FRAME_TASK, FRAME_MUTEX, FRAME_TARGET, FRAME_DATA_OP, FRAME_SUBMIT, FRAME_KINDS };

/* An open construct. `id` is the region's, of a task its own; the others' meaning depends on the kind. */
struct frame {
    union {
        struct {
            uint8_t kind;      /* enum frame_kind */
            uint8_t type;      /* enum omp_sync, omp_work, omp_mutex */
            uint16_t long_form; /* 1: doesn't fit a short record. */
        };
        uint32_t shape;        /* the three as one */
    };
    uint32_t stack;            /* rt_stack */
    uint64_t begin;
    uint64_t code;
    uint64_t id;
    const void *owner;         /* TASK: its id as a pointer; 0 of all others */
    uint32_t threads, index;   /* PARALLEL: team, requested. IMPLICIT: team, number in it */
    uint32_t sequence;         /* IMPLICIT: barriers so far. SYNC: number of this one. TASK: number of the stretch. PARALLEL: 1 = teams */
    uint32_t slot;             /* number of the code; 0 = none */
    struct frame *outer;       /* IMPLICIT, INITIAL: the team frame before it */
    uint64_t wait_begin, waited; /* SYNC, MUTEX: begin of the first wait (MUTEX: when it was had), length of all. PARALLEL: thread 0's part, length + 1 */
    uint64_t wait_end;         /* SYNC: of the last wait */
    uint64_t count, done;      /* WORK: iterations of all, of this thread, each plus 1. MUTEX: its id. IMPLICIT: the task's id, the same if it matters */
    uint32_t level;            /* PARALLEL, IMPLICIT: nesting, 1 = outermost */
};

#define FRAME_SHAPE(kind, type) ((uint32_t)(kind) | (uint32_t)(type) << 8)

struct held {
    uint64_t lock, begin, had, code;
    uint32_t stack;
    uint8_t type;
};

enum { LANE_FRAMES = 2000, LANE_LOCKS = 32, TASK_TYPES = 32 };
#define LANE_MAGIC 0x6c616e65u

struct lane {
    uint32_t magic;            /* 0 in a child of fork */
    uint32_t overflow;         /* begins that found no frame */
    struct frame *top;         /* the innermost frame; frames[0], of kind NONE, when nothing is open */
    struct frame *team;        /* innermost IMPLICIT or INITIAL frame; frames[0] = none */
    uint64_t last_code;        /* the one met last, as constructs repeat, and its number */
    uint32_t last_slot;
    uint32_t call_tree;
    uint32_t held_count;
    uint64_t next_id, id_limit;
    uint64_t unpaired, too_deep;
    struct held pending;       /* a mutex that is being acquired */
    uint32_t names[NAME_COUNT];
    uint32_t task_types[TASK_TYPES]; /* by task_type_index, made as they are met */
    struct held held[LANE_LOCKS];
    struct frame spare;        /* stands for those that found no room */
    struct frame frames[LANE_FRAMES];
};

struct tool {
    uint32_t ticks;            /* 1: rt_now reads the tick counter */
    uint32_t adjacent;         /* 1: this runtime reports a barrier's begin and its wait's, and their ends, in one go */
};
extern struct tool tool;
extern __thread struct lane *lane_self __attribute__((tls_model("initial-exec")));

struct lane *lane_make(void);
void lane_end(void);           /* closes what is open on the calling thread and gives its memory back */
/* The frame of an end event that isn't on top: what lies above it is closed. NULL: counted. */
struct frame *lane_find(struct lane *lane, enum frame_kind kind, unsigned type, const void *owner);
/* Writes the frame's span as ended at `end`, and restores what it had changed. The frame is off the stack already. */
void lane_close(struct lane *lane, struct frame *frame, uint64_t end);
uint64_t lane_new_ids(struct lane *lane);
void openmp_fact_at(uint64_t time, unsigned what, unsigned span_kind, uint64_t first, uint64_t second);
void openmp_fact(unsigned what, unsigned span_kind, uint64_t first, uint64_t second);

/* The number of a code address in a table of the process, told to the runtime when it is new; 0 = none, or no room. */
uint32_t code_index_slowly(const struct lane *lane, uint64_t code, unsigned span_kind);
enum { CODES = 4096 };
extern uint64_t *code_table;   /* CODES slots, 0 = empty */

INLINE uint64_t now(void)
{
    return LIKELY(tool.ticks) ? wire_ticks() : rt_now();
}

/* The calling thread's lane, or NULL when nothing can be recorded. */
INLINE struct lane *lane_get(void)
{
    struct lane *lane = lane_self;
    return LIKELY(lane && lane->magic == LANE_MAGIC) ? lane : lane_make();
}

INLINE uint64_t lane_id(struct lane *lane)
{
    return LIKELY(lane->next_id < lane->id_limit) ? lane->next_id++ : lane_new_ids(lane);
}

/* The calling thread's lane if nothing about it is special: it is there, has room, and no stacks are wanted. */
INLINE struct lane *lane_at_hand(void)
{
    struct lane *lane = lane_self;
    bool plain = lane && lane->magic == LANE_MAGIC && !lane->call_tree && lane->top < lane->frames + LANE_FRAMES - 1;
    return LIKELY(plain) ? lane : 0;
}

INLINE uint32_t code_slot(uint64_t code)
{
    return (uint32_t)(code * 0x9e3779b97f4a7c15ull >> 52);
}

/* The number of a code address that was met before and lies in its own slot. */
INLINE bool code_known(struct lane *lane, uint64_t code, uint32_t *ret_slot)
{
    *ret_slot = lane->last_slot;
    if (LIKELY(lane->last_code == code && code))
        return true;
    uint32_t slot = code_slot(code);
    if (UNLIKELY(!slot || code_table[slot] != code))
        return false;
    *ret_slot = lane->last_slot = slot;
    lane->last_code = code;
    return true;
}

INLINE uint32_t code_index(const struct lane *lane, uint64_t code, unsigned span_kind)
{
    uint32_t slot = code_slot(code);
    if (LIKELY(slot && code_table[slot] == code))
        return slot;
    return code ? code_index_slowly(lane, code, span_kind) : 0;
}

/* Two numbers that follow each other: a region and its thread 0's task. */
INLINE uint64_t lane_ids(struct lane *lane)
{
    if (UNLIKELY(lane->id_limit - lane->next_id < 2 || lane->next_id == 0))
        lane->next_id = lane_new_ids(lane);
    lane->next_id += 2;
    return lane->next_id - 2;
}

INLINE struct frame *lane_push(struct lane *lane, enum frame_kind kind)
{
    struct frame *frame = lane->top + 1;
    if (LIKELY(frame < lane->frames + LANE_FRAMES)) {
        lane->top = frame;
    } else {
        frame = &lane->spare;
        lane->overflow++;
    }
    frame->shape = FRAME_SHAPE(kind, 0);
    return frame;
}

INLINE struct frame *lane_pop(struct lane *lane, enum frame_kind kind, unsigned type, const void *owner)
{
    struct frame *frame = lane->top;
    if (LIKELY(frame->kind == kind && frame->type == type && frame->owner == owner && !lane->overflow)) {
        lane->top = frame - 1;
        return frame;
    }
    return lane_find(lane, kind, type, owner);
}

INLINE uint32_t lane_stack(const struct lane *lane)
{
    return UNLIKELY(lane->call_tree) ? rt_stack(1) : 0;
}

#endif
