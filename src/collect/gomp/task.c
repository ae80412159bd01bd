/* SPDX-License-Identifier: MIT */
/*
 * Explicit tasks. libgomp is handed task_run and a block that goes before the task's own data:
 *
 *     creator's stack:  | struct block | ... | copy of the data |     copied by libgomp into the task as it is
 *     or                | struct block |  -> data                     where the program brings a function that copies
 *
 * in the task the data stands `offset` bytes behind the block, aligned as the program asked. A task that libgomp runs at once,
 * without a copy, finds the block where its creator laid it, and uses the program's own data. libgomp itself looks at
 * the first words of the data: a detached task's event is stored there, a taskloop's bounds and reductions are.
 */
#include "../ompt/ompt.h"
#include "gomp.h"

enum {
    FLAG_UNTIED = 1 << 0, FLAG_FINAL = 1 << 1, FLAG_MERGEABLE = 1 << 2, FLAG_DEPEND = 1 << 3,
    FLAG_NOGROUP = 1 << 11, FLAG_REDUCTION = 1 << 12, FLAG_DETACH = 1 << 13,
};
/* Data up to LAID_MAX is laid on the creator's stack, up to COPIED_MAX it is copied from where it is; a taskloop's can't be, as
 * libgomp would lay all copies on the stack then. */
enum { LAID_MAX = 64 << 10, COPIED_MAX = 1 << 20, ALIGN_MAX = 4096, EVENTS = 1024 };

struct block {
    void *first[3];
    struct block *self;         /* where the creator laid it: elsewhere it is a copy */
    gomp_function function;
    gomp_copy copy;
    void *data;
    uint64_t id, parent, code;
    uint32_t offset, size;
    uint32_t stack;             /* of who made it */
    uint16_t flags;
    bool loop;
};

static struct event {
    uint64_t event, id;
} events[EVENTS];               /* of detached tasks, by address: an older one in the same place goes lost */

static struct event *event_slot(uint64_t event)
{
    return &events[event * 0x9e3779b97f4a7c15ull >> 54];
}

static void event_note(uint64_t event, uint64_t id)
{
    struct event *slot = event_slot(event);
    __atomic_store_n(&slot->id, id, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->event, event, __ATOMIC_RELEASE);
}

static bool event_is_open(uint64_t event)
{
    return __atomic_load_n(&event_slot(event)->event, __ATOMIC_ACQUIRE) == event;
}

static void fulfil(uint64_t event)
{
    struct event *slot = event_slot(event);
    if (!event_is_open(event))
        return;
    struct wire_openmp_fact fact = {.header = {WIRE_OPENMP_FACT, sizeof fact / 8, WIRE_OPENMP_FULFIL | SPAN_KIND_TASK << 8}};
    fact.time = rt_now();
    fact.first = __atomic_load_n(&slot->id, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->event, 0, __ATOMIC_RELEASE);
    rt_append(&fact.header);
}

GOMP_EXPORT void omp_fulfill_event(uintptr_t event)
{
    struct gomp_call call = gomp_call(CALLER());
    if (LIKELY(!call.api->pass))
        fulfil(event);
    call.api->omp_fulfill_event(event);
}

GOMP_EXPORT void omp_fulfill_event_(uintptr_t *event)
{
    struct gomp_call call = gomp_call(CALLER());
    if (LIKELY(!call.api->pass))
        fulfil(*event);
    call.api->omp_fulfill_event_(event);
}

static void task_write(const struct gomp_state *state, const struct block *block, uint64_t id, uint64_t begin)
{
    struct rt_span span;
    bool detached = block->flags & FLAG_DETACH && event_is_open((uint64_t)(uintptr_t)block->first[0]);
    gomp_span(&span, NAME_GOMP_TASK, SPAN_KIND_TASK, PAYLOAD_TASK, begin, rt_now());
    span.correlation = block->loop ? id : 0;
    rt_field(&span, FIELD_TASK_task, id);
    if (block->loop && !(block->flags & FLAG_NOGROUP)) /* it runs inside of the taskloop: there who waits for it finds it */
        rt_field(&span, FIELD_TASK_parent, block->parent);
    rt_field(&span, FIELD_TASK_part, 0);
    rt_field(&span, FIELD_TASK_end, gomp_name(detached ? NAME_GOMP_DETACH : NAME_GOMP_COMPLETE));
    rt_field(&span, FIELD_TASK_code, block->code);
    gomp_field_if(&span, FIELD_TASK_region, state->part.region);
    rt_span(&span);
    if (block->loop)
        rt_link(LINK_KIND_TASK, CONFIDENCE_CERTAIN, WIRE_LAYER_OPENMP, block->id, WIRE_LAYER_OPENMP, id);
}

/* The task's own data, with what libgomp stored in the block's first words for it. */
INLINE void *task_data(struct block *block)
{
    void *data = block->self == block ? block->data : (char *)block + block->offset;
    if (block->loop)
        __builtin_memcpy(data, block->first, 2 * sizeof block->first[0]);
    else if (UNLIKELY(block->flags & FLAG_DETACH && block->data))
        __builtin_memcpy(data, block->first, sizeof block->first[0]);
    return data;
}

static void task_run(void *argument)
{
    struct block *block = argument;
    struct gomp_state *state = &gomp_self;
    uint64_t outer = state->part.task, creating = state->creating;
    uint64_t id = block->loop ? gomp_id(state) : block->id, begin = rt_now();
    void *data = task_data(block);
    if (UNLIKELY(block->flags & FLAG_DETACH))
        event_note((uint64_t)(uintptr_t)block->first[0], id);
    if (creating == block->id)
        state->run_begin = begin;
    state->creating = 0;
    state->part.task = id;
    block->function(data);
    state->part.task = outer;
    state->creating = creating;
    task_write(state, block, id, begin);
}

/* libgomp's copy of a task whose program copies the data itself. */
static void block_copy(void *to, void *from)
{
    struct block *block = from;
    if (block->flags & FLAG_DETACH && block->data)
        __builtin_memcpy(block->data, block->first, sizeof block->first[0]);
    __builtin_memcpy(to, from, sizeof *block);
    if (block->copy)
        block->copy((char *)to + block->offset, block->data);
    else if (block->data)
        __builtin_memcpy((char *)to + block->offset, block->data, block->size);
}

static COLD bool leave_alone(void)
{
    static uint32_t said;
    if (!__atomic_exchange_n(&said, 1, __ATOMIC_ACQ_REL))
        rt_note("a task with very much data of its own is not recorded");
    return false;
}

/* false: the data is such that the task is better left alone. */
INLINE bool block_fill(struct gomp_state *state, struct block *block, const struct block *in, long size, long *align, long most)
{
    *align = *align < 16 ? 16 : *align;
    if (UNLIKELY(*align > ALIGN_MAX || *align & (*align - 1) || size < 0 || size > most))
        return leave_alone();
    *block = *in;
    block->self = block;
    block->size = (uint32_t)size;
    block->parent = gomp_task_id(state);
    block->id = gomp_id(state);
    block->offset = (uint32_t)((sizeof *block + (size_t)*align - 1) & ~((size_t)*align - 1));
    return true;
}

/* The block with a copy of the data behind it, for libgomp to copy as one. */
INLINE struct block *block_lay(void *room, const struct block *head)
{
    struct block *block = room;
    *block = *head;
    block->self = block;
    if (head->size)
        __builtin_memcpy((char *)room + head->offset, head->data, head->size);
    return block;
}

static uint32_t type_name(unsigned flags, bool undeferred)
{
    static const char *const words[] = {"explicit", " untied", " final", " mergeable", " detachable", " undeferred"};
    const bool has[] = {true, flags & FLAG_UNTIED, flags & FLAG_FINAL, flags & FLAG_MERGEABLE, flags & FLAG_DETACH, undeferred};
    unsigned set = 0;
    for (unsigned i = 1; i < sizeof has; i++)
        set |= (unsigned)has[i] << (i - 1);
    uint32_t *slot = &gomp_kept->task_types[set];
    if (LIKELY(*slot))
        return *slot;
    char text[64];
    size_t length = 0;
    for (unsigned i = 0; i < sizeof has; i++)
        for (const char *at = words[i]; has[i] && *at; at++)
            text[length++] = *at;
    return *slot = rt_string(text, length);
}

static void create_write(const struct gomp_state *state, const struct block *block, uint64_t begin, uint64_t end, bool undeferred)
{
    struct rt_span span;
    gomp_span(&span, NAME_GOMP_TASK_CREATE, SPAN_KIND_TASK_CREATE, PAYLOAD_TASK, begin, end);
    span.stack = block->stack;
    rt_field(&span, FIELD_TASK_task, block->id);
    rt_field(&span, FIELD_TASK_parent, block->parent);
    rt_field(&span, FIELD_TASK_type, type_name(block->flags, undeferred));
    rt_field(&span, FIELD_TASK_code, block->code);
    gomp_field_if(&span, FIELD_TASK_region, state->part.region);
    rt_span(&span);
}

/* How the i-th address of a depend array is used, and which it is: the two layouts that GCC has had. */
static uint8_t access_of(void **depend, size_t i, uint64_t *ret_address)
{
    static const uint8_t kinds[] = {0, WIRE_GOMP_IN, WIRE_GOMP_OUT, WIRE_GOMP_OUT, WIRE_GOMP_OUT, WIRE_GOMP_INOUTSET};
    if (depend[0]) {
        *ret_address = (uint64_t)(uintptr_t)depend[2 + i];
        return i < (size_t)(uintptr_t)depend[1] ? WIRE_GOMP_OUT : WIRE_GOMP_IN;
    }
    size_t out = (size_t)(uintptr_t)depend[2] + (size_t)(uintptr_t)depend[3], in = (size_t)(uintptr_t)depend[4];
    if (i < out + in) {
        *ret_address = (uint64_t)(uintptr_t)depend[5 + i];
        return i < out ? WIRE_GOMP_OUT : WIRE_GOMP_IN;
    }
    void **object = depend[5 + i]; /* an omp_depend_t: address, kind */
    uintptr_t kind = (uintptr_t)object[1];
    *ret_address = (uint64_t)(uintptr_t)object[0];
    return kind < sizeof kinds ? kinds[kind] : WIRE_GOMP_OUT;
}

static void depend_write(const struct block *block, void **depend)
{
    size_t count = (size_t)(uintptr_t)(depend[0] ? depend[0] : depend[1]);
    if (!count || count > 4096)
        return;
    uint32_t bytes = (uint32_t)(sizeof(struct wire_gomp_depend) + count * 8 + ((count + 7) & ~(size_t)7));
    rt_place place = rt_open(bytes);
    struct wire_gomp_depend *record = place.record;
    if (!record)
        return;
    *record = (struct wire_gomp_depend){.header = {WIRE_GOMP_DEPEND, (uint16_t)(bytes / 8), (uint32_t)count}};
    record->time = rt_now();
    record->task = block->id;
    record->parent = block->parent;
    uint64_t *addresses = (uint64_t *)(void *)(record + 1);
    uint8_t *kinds = (uint8_t *)(addresses + count);
    __builtin_memset(kinds, 0, (count + 7) & ~(size_t)7);
    for (size_t i = 0; i < count; i++)
        kinds[i] = access_of(depend, i, &addresses[i]);
    rt_close(place);
}

/* A call of GOMP_task: the wrapper itself must be able to pass a call through by a jump, so that libomp's OMPT sees who made it. */
struct creation {
    struct block in;
    long size, align;
    bool deferred;
    unsigned flags;
    void **depend;
    int priority;
    void *detach;
};

static COLD void create_alone(const struct gomp_api *api, const struct creation *task)
{
    api->GOMP_task(task->in.function, task->in.data, task->in.copy, task->size, task->align, task->deferred, task->flags, task->depend,
                   task->priority, task->detach);
}

static __attribute__((noinline)) void create(struct gomp_call call, const struct creation *task)
{
    struct gomp_state *state = call.state;
    struct block head, *block = &head;
    long align = task->align;
    /* A task that libgomp copies by a function of ours would begin in spite of a cancellation. */
    bool lay = !task->in.copy && (task->size <= LAID_MAX || call.api->omp_get_cancellation());
    if (UNLIKELY(!block_fill(state, block, &task->in, task->size, &align, lay ? LAID_MAX : COPIED_MAX))) {
        create_alone(call.api, task);
        return;
    }
    if (lay)
        block = block_lay(__builtin_alloca(head.offset + (size_t)task->size), &head);
    if (task->flags & FLAG_DEPEND && task->depend)
        depend_write(block, task->depend);
    uint64_t creating = state->creating, begin = rt_now();
    state->creating = block->id;
    state->run_begin = 0;
    call.api->GOMP_task(task_run, block, lay ? 0 : block_copy, (long)head.offset + task->size, align, task->deferred, task->flags, task->depend,
                        task->priority, task->detach);
    state->creating = creating;
    uint64_t run_begin = state->run_begin;
    state->run_begin = 0;
    if (UNLIKELY(task->flags & FLAG_DETACH) && task->detach && !run_begin)
        event_note(*(uint64_t *)task->detach, block->id);
    create_write(state, block, begin, run_begin ? run_begin : rt_now(), run_begin != 0);
}

GOMP_EXPORT void GOMP_task(gomp_function function, void *data, gomp_copy copy, long size, long align, bool deferred, unsigned flags,
                           void **depend, int priority, void *detach)
{
    struct gomp_call call = gomp_call(CALLER());
    if (UNLIKELY(call.api->pass)) {
        call.api->GOMP_task(function, data, copy, size, align, deferred, flags, depend, priority, detach);
        return;
    }
    const struct creation task = {
        .in = {.function = function, .copy = copy, .data = data, .flags = (uint16_t)flags,
               .code = gomp_code(CALLER(), SPAN_KIND_TASK_CREATE, call.state), .stack = gomp_stack()},
        .size = size, .align = align, .deferred = deferred, .flags = flags, .depend = depend, .priority = priority, .detach = detach};
    create(call, &task);
}

/* What of a taskloop is known when the call returns. */
static void taskloop_write(struct gomp_state *state, const struct block *block, uint64_t begin, uint64_t iterations)
{
    struct rt_span span;
    uint64_t end = rt_now();
    gomp_span(&span, NAME_GOMP_TASKLOOP, SPAN_KIND_LOOP, PAYLOAD_WORK, begin, end);
    span.correlation = block->id;
    span.stack = block->stack;
    gomp_field_if(&span, FIELD_WORK_region, state->part.region);
    gomp_field_if(&span, FIELD_WORK_iterations, iterations);
    rt_field(&span, FIELD_WORK_schedule, gomp_name(NAME_GOMP_TASKLOOP));
    rt_field(&span, FIELD_WORK_code, block->code);
    rt_span(&span);
    if (block->flags & FLAG_NOGROUP)
        return;
    gomp_span(&span, NAME_GOMP_TASKGROUP, SPAN_KIND_TASKGROUP, PAYLOAD_BARRIER, begin, end);
    span.stack = block->stack;
    gomp_field_if(&span, FIELD_BARRIER_region, state->part.region);
    rt_field(&span, FIELD_BARRIER_type, gomp_name(NAME_GOMP_TASKGROUP));
    rt_field(&span, FIELD_BARRIER_code, block->code);
    rt_field(&span, FIELD_BARRIER_task, block->parent);
    rt_span(&span);
}

INLINE uint64_t iterations_of(uint64_t start, uint64_t end, uint64_t step, bool up)
{
    uint64_t distance = up ? end - start : start - end, stride = up ? step : 0 - step;
    return stride && (int64_t)distance > 0 ? (distance + stride - 1) / stride : 0;
}

/* TASKLOOP(name, type of the bounds, whether they grow): of long, and of unsigned long long, whose direction is a flag. */
#define TASKLOOP(name, TYPE, up)                                                                                       \
    static __attribute__((noinline)) void name##_create(struct gomp_call call, const struct block *in, long size, long align, unsigned flags, \
                                                        unsigned long tasks, int priority, TYPE start, TYPE end, TYPE step) \
    {                                                                                                                  \
        struct block head, *block = &head;                                                                             \
        long block_align = align;                                                                                      \
        if (UNLIKELY(size < 16 || !block_fill(call.state, block, in, size, &block_align, in->copy ? COPIED_MAX : LAID_MAX))) { \
            call.api->name(in->function, in->data, in->copy, size, align, flags, tasks, priority, start, end, step);   \
            return;                                                                                                    \
        }                                                                                                              \
        if (flags & FLAG_REDUCTION)                                                                                    \
            head.first[2] = ((void **)in->data)[2];                                                                    \
        if (!in->copy)                                                                                                 \
            block = block_lay(__builtin_alloca(head.offset + (size_t)size), &head);                                    \
        uint64_t begin = rt_now();                                                                                     \
        call.api->name(task_run, block, in->copy ? block_copy : 0, (long)head.offset + size, block_align, flags, tasks, priority, start, end, step); \
        taskloop_write(call.state, block, begin, iterations_of((uint64_t)start, (uint64_t)end, (uint64_t)step, up));   \
    }                                                                                                                  \
    GOMP_EXPORT void name(gomp_function function, void *data, gomp_copy copy, long size, long align, unsigned flags,   \
                          unsigned long tasks, int priority, TYPE start, TYPE end, TYPE step)                          \
    {                                                                                                                  \
        struct gomp_call call = gomp_call(CALLER());                                                                   \
        if (UNLIKELY(call.api->pass)) {                                                                                \
            call.api->name(function, data, copy, size, align, flags, tasks, priority, start, end, step);               \
            return;                                                                                                    \
        }                                                                                                              \
        const struct block in = {.function = function, .copy = copy, .data = data, .flags = (uint16_t)flags, .loop = true, \
                                 .code = gomp_code(CALLER(), SPAN_KIND_TASK_CREATE, call.state), .stack = gomp_stack()}; \
        name##_create(call, &in, size, align, flags, tasks, priority, start, end, step);                               \
    }
TASKLOOP(GOMP_taskloop, long, step > 0)
TASKLOOP(GOMP_taskloop_ull, ull, (flags & 1 << 8) != 0)
