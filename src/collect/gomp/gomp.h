/* SPDX-License-Identifier: MIT */
/*
 * Inside the wrappers of libgomp. Each wrapper finds the real functions of its caller (api.c), does what it must around the
 * call, and writes what happened. A region and a thread's part of it are records of their own (wire/records.h): the other
 * threads of a team never learn when the region ends, so that the merge puts the ends together.
 */
#ifndef HP_COLLECT_GOMP_GOMP_H
#define HP_COLLECT_GOMP_GOMP_H

#include "../collector.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef unsigned long long ull;
typedef void (*gomp_function)(void *);
typedef void (*gomp_copy)(void *, void *);

#define GOMP_EXPORT __attribute__((visibility("default")))
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define COLD __attribute__((noinline, cold))
#define INLINE static inline __attribute__((always_inline))
/* What the caller returns to: tells which program text called, and so which libgomp serves it. */
#define CALLER() __builtin_return_address(0)

/* The real functions as a module of the process sees them; what its runtime lacks is gomp_absent. */
struct gomp_api {
    bool pass;              /* nothing is recorded here: everything passes straight through */
#define GOMP(result, name, arguments) result(*name) arguments;
#define ASKED(result, name, arguments) result(*name) arguments;
#include "gomp.def"
};

/* What stands before them. */
#define GOMP(result, name, arguments) GOMP_EXPORT result name arguments;
#include "gomp.def"

enum gomp_name {
#define NAME(enumerator, text) NAME_GOMP_##enumerator,
#include "names.def"
#undef NAME
    NAME_GOMP_COUNT
};

/* A loop or sections that this thread is in. */
struct gomp_work {
    uint64_t begin;
    uint64_t iterations, chunk; /* 0 = not known */
    uint64_t done;              /* iterations or sections handed to this thread */
    int64_t step;
    uint64_t code;
    uint16_t name, schedule;    /* enum gomp_name; name 0 = in none */
    uint32_t stack;
    uint16_t dimensions;        /* of a loop with depend(source) and depend(sink) */
    uint16_t kind;              /* enum span_kind */
};

/* What this thread is part of: saved and put back around each region's function. */
struct gomp_part {
    uint64_t region, region_code;
    uint64_t task;              /* the current task: explicit, or implicit once it has an id; 0 = none needed so far */
    uint32_t sequence;          /* barriers of the region so far */
    uint32_t single_kind;       /* enum span_kind of a block that the next barrier ends; 0 = none */
    uint32_t single_stack;
    uint64_t single_begin, single_code;
    struct gomp_work work;
};

struct gomp_held {
    uint64_t lock, begin, had, code;
    uint32_t stack;
};
enum { GOMP_HELD = 8, GOMP_GROUPS = 8 };

struct gomp_state {
    uintptr_t low, size;        /* the module that called last, and what serves it */
    const struct gomp_api *api;
    uint64_t next_id, id_limit;
    uint64_t creating;          /* the task that this thread is just making: run meanwhile, it is undeferred */
    uint64_t run_begin;         /* when such a one began */
    struct gomp_part part;
    uint32_t held_count, group_count; /* may be more than there is room for */
    struct gomp_held held[GOMP_HELD];
    struct gomp_held groups[GOMP_GROUPS];
};
extern __thread struct gomp_state gomp_self __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* What a wrapper needs first. */
struct gomp_call {
    struct gomp_state *state;
    const struct gomp_api *api;
};

/* api.c */
const struct gomp_api *gomp_find(struct gomp_state *state, uintptr_t caller);

INLINE struct gomp_call gomp_call(const void *caller)
{
    struct gomp_state *state = &gomp_self;
    uintptr_t address = (uintptr_t)caller;
    if (LIKELY(address - state->low < state->size))
        return (struct gomp_call){state, state->api};
    return (struct gomp_call){state, gomp_find(state, address)};
}

/* write.c */
extern uint32_t gomp_call_tree;
struct gomp_kept {              /* in memory that fork wipes: ids and addresses told are the process' own */
    uint32_t names[64];
    uint32_t task_types[32];     /* by what a task is */
    uint64_t codes[512];
};
extern struct gomp_kept *gomp_kept;
bool gomp_write_start(void);    /* false: nothing will be recorded in this process */
uint32_t gomp_name_make(enum gomp_name name);
void gomp_code_tell(uint64_t code, unsigned span_kind, uint64_t region_code);
uint64_t gomp_new_ids(struct gomp_state *state);

INLINE uint32_t gomp_name(enum gomp_name name)
{
    uint32_t id = gomp_kept->names[name];
    return LIKELY(id) ? id : gomp_name_make(name);
}

/* The address as it goes into records: told to the runtime when it is met first. */
INLINE uint64_t gomp_code(const void *caller, unsigned span_kind, const struct gomp_state *state)
{
    uint64_t code = (uint64_t)(uintptr_t)caller;
    if (UNLIKELY(gomp_kept->codes[code * 0x9e3779b97f4a7c15ull >> 55] != code))
        gomp_code_tell(code, span_kind, state->part.region_code);
    return code;
}

INLINE uint64_t gomp_id(struct gomp_state *state)
{
    return LIKELY(state->next_id < state->id_limit) ? state->next_id++ : gomp_new_ids(state);
}

/* The current task's id: an implicit task gets one when it is first asked for. */
INLINE uint64_t gomp_task_id(struct gomp_state *state)
{
    if (!state->part.task)
        state->part.task = gomp_id(state);
    return state->part.task;
}

/* The stack of who called the wrapper: for wrappers themselves only, as others may have taken their place by a jump. */
INLINE uint32_t gomp_stack(void)
{
    return UNLIKELY(gomp_call_tree) ? rt_stack(1) : 0;
}

/* A span to be filled by rt_field; end is now. Leaves the room for fields as it is. */
INLINE void gomp_span(struct rt_span *span, enum gomp_name name, unsigned span_kind, unsigned payload, uint64_t begin, uint64_t end)
{
    span->begin = begin;
    span->end = end;
    span->correlation = 0;
    span->name = gomp_name(name);
    span->category = 0;
    span->stack = 0;
    span->present = 0;
    span->layer = WIRE_LAYER_OPENMP;
    span->span_kind = (uint8_t)span_kind;
    span->payload_kind = (uint8_t)payload;
}

INLINE void gomp_field_if(struct rt_span *span, unsigned position, uint64_t value)
{
    if (value)
        rt_field(span, position, value);
}

/* A wait of the team or of a task that ends now. wait_begin: when the thread began to wait. */
void gomp_write_wait(struct gomp_state *state, enum gomp_name type, uint64_t begin, uint64_t wait_begin, uint64_t code, uint32_t stack);

/* What is handed to libgomp in place of an outlined function's data. */
struct gomp_region {
    void *reductions;           /* libgomp looks at the first word of the data */
    gomp_function function;
    void *data;
    const struct gomp_api *api;
    struct wire_gomp_region record; /* filled as it goes */
    struct gomp_work work;      /* of a combined construct: what each thread begins with */
    struct gomp_region *outer;  /* of GOMP_parallel_start: the one before it on this thread */
    struct gomp_part saved;
    uint32_t used;
};

/* region.c */
void gomp_region_prepare(struct gomp_call call, struct gomp_region *region, gomp_function function, void *data, unsigned threads, const void *caller, uint32_t stack);
void gomp_region_finish(struct gomp_region *region);
void gomp_region_thread(void *region);             /* what each thread of the team runs */
struct gomp_region *gomp_region_start(struct gomp_call call, gomp_function function, void *data, unsigned threads, const void *caller, uint32_t stack);
void gomp_region_started(struct gomp_call call, struct gomp_region *region);

/* work.c */
void gomp_work_begin(struct gomp_state *state, const struct gomp_work *work);
void gomp_work_end(struct gomp_state *state);      /* of the loop or sections that this thread is in, if any */
void gomp_single_end(struct gomp_state *state, uint64_t end);

/* lock.c */
void gomp_held_push(struct gomp_state *state, const struct gomp_held *held);
bool gomp_held_pop(struct gomp_state *state, uint64_t lock, struct gomp_held *ret_held);

#endif
