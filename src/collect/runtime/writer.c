/* SPDX-License-Identifier: MIT */
/*
 * The fast path: a record costs its clock reads, its stores and a few instructions. `busy` picks the context: a signal handler
 * that interrupts the writing of a record finds it raised and writes to a chunk of its own. The commit is stored with
 * release after the record's bytes, before the traced call returns.
 */
#include "runtime.h"

/* Where this call is on the stack. The frame address would cost a frame pointer. */
static inline __attribute__((always_inline)) uintptr_t stack_pointer(void)
{
    uintptr_t pointer;
#if defined(__x86_64__)
    __asm__ volatile("movq %%rsp, %0" : "=r"(pointer));
#else
    __asm__ volatile("mov %0, sp" : "=r"(pointer));
#endif
    return pointer;
}

static inline __attribute__((always_inline)) void release(struct rt_thread *thread, unsigned index)
{
    RT_BARRIER();
    thread->busy = index;
}

/* A context without room, a slot that fork wiped, a chunk written by pwrite. NULL: the loss is counted and busy lowered. */
static RT_COLD uint8_t *reserve_slowly(struct rt_thread *thread, uint32_t bytes, unsigned index)
{
    if (thread->magic != RT_MAGIC) { /* forked between enter and leave: the parent records this call */
        thread->busy = 0;
        return 0;
    }
    if (index >= WIRE_CONTEXTS) {
        rt_lost(WIRE_LOST_NESTED, 1);
    } else {
        struct rt_context *context = &thread->contexts[index];
        bool room = rt.no_shared_map && context->chunk && context->end - context->cursor >= (ptrdiff_t)bytes;
        if (room || rt_context_refill(thread, index, bytes))
            return context->cursor;
    }
    release(thread, index);
    return 0;
}

uint8_t *rt_reserve(struct rt_thread *thread, uint32_t bytes, unsigned *ret_index)
{
    unsigned index = thread->busy;
    thread->busy = index + 1;
    RT_BARRIER();
    *ret_index = index;
    struct rt_context *context = &thread->contexts[index < WIRE_CONTEXTS ? index : 0];
    if (RT_LIKELY(index < WIRE_CONTEXTS && context->limit - context->cursor >= (ptrdiff_t)bytes))
        return context->cursor;
    return reserve_slowly(thread, bytes, index);
}

void rt_publish(struct rt_thread *thread, unsigned index, uint32_t bytes)
{
    struct rt_context *context = &thread->contexts[index];
    uint64_t from = (uint64_t)(context->cursor - context->base);
    context->cursor += bytes;
    rt_store(context->commit, from + bytes);
    if (RT_UNLIKELY(rt.no_shared_map))
        rt_chunk_flush(context, from, from + bytes);
    release(thread, index);
}

/* For who reads it from outside: `frame` says that the rest is there. */
static inline __attribute__((always_inline)) rt_call open_call(struct rt_thread *thread, unsigned layer, uint32_t name, uintptr_t frame, uint64_t begin)
{
    struct wire_open_call *call = &thread->open.calls[layer];
    call->begin = begin;
    call->name = name;
    rt_store(&call->frame, (uint64_t)frame);
    return (rt_call){thread, begin};
}

/* The first record of a thread, or of a child after fork; or nothing is recorded here. */
static RT_COLD rt_call enter_slowly(unsigned layer, uint32_t name, uintptr_t frame)
{
    struct rt_thread *thread = rt_load(&rt.state) == RT_OFF ? 0 : rt_thread_get();
    if (!thread || !__atomic_load_n(&rt.session->active, __ATOMIC_RELAXED))
        return (rt_call){0, 0};
    return open_call(thread, layer, name, frame, rt_clock());
}

static RT_COLD rt_call enter_by_clock(struct rt_thread *thread, unsigned layer, uint32_t name, uintptr_t frame)
{
    return open_call(thread, layer, name, frame, rt_raw_ns());
}

rt_call rt_enter(unsigned layer, uint32_t name)
{
    struct rt_thread *thread = rt_self;
    uintptr_t frame = stack_pointer();
    layer %= WIRE_LAYER_COUNT;
    if (RT_UNLIKELY(!thread || thread->magic != RT_MAGIC))
        return enter_slowly(layer, name, frame);
    /* A guard left behind by longjmp belongs to a frame that is gone: ours is not below it. */
    if (RT_UNLIKELY(frame < thread->open.calls[layer].frame || !__atomic_load_n(&rt.session->active, __ATOMIC_RELAXED)))
        return (rt_call){0, 0};
    if (RT_UNLIKELY(!rt.ticks))
        return enter_by_clock(thread, layer, name, frame);
    return open_call(thread, layer, name, frame, wire_ticks());
}

static inline __attribute__((always_inline)) void span_fill(uint8_t *place, uint64_t begin, uint64_t end, uint32_t name, uint32_t shape)
{
    uint64_t *words = (uint64_t *)(void *)place;
    words[0] = (uint64_t)name << 32 | (uint64_t)(sizeof(struct wire_span) / 8) << 16 | WIRE_SPAN;
    words[1] = begin;
    words[2] = end;
    words[3] = 0;
    words[4] = shape & 0xffff;
    words[5] = 0;
}

/* What rt_leave does when it isn't all at hand. Apart, so that the fast path saves no registers. */
static RT_COLD void leave_slowly(rt_call call, uint32_t name, uint32_t shape, uint64_t end)
{
    unsigned index;
    uint8_t *place = rt_reserve(call.thread, sizeof(struct wire_span), &index);
    if (!place)
        return;
    span_fill(place, call.begin, end, name, shape);
    rt_publish(call.thread, index, sizeof(struct wire_span));
}

static RT_COLD void leave_by_clock(rt_call call, uint32_t name, uint32_t shape)
{
    uint64_t end = rt_raw_ns();
    call.thread->open.calls[shape % WIRE_LAYER_COUNT].frame = 0;
    leave_slowly(call, name, shape, end);
}

void rt_leave(rt_call call, uint32_t name, uint32_t shape)
{
    struct rt_thread *thread = call.thread;
    if (RT_UNLIKELY(!thread))
        return;
    if (RT_UNLIKELY(!rt.ticks)) {
        leave_by_clock(call, name, shape);
        return;
    }
    uint64_t end = wire_ticks();
    thread->open.calls[shape % WIRE_LAYER_COUNT].frame = 0;
    struct rt_context *context = &thread->contexts[0];
    bool idle = thread->busy == 0;
    thread->busy += idle; /* from here on a signal handler takes context 1 */
    RT_BARRIER();
    uint8_t *place = context->cursor;
    if (RT_UNLIKELY(!idle || context->limit - place < (ptrdiff_t)sizeof(struct wire_span))) {
        thread->busy -= idle;
        leave_slowly(call, name, shape, end);
        return;
    }
    span_fill(place, call.begin, end, name, shape);
    place += sizeof(struct wire_span);
    context->cursor = place;
    rt_store(context->commit, (uint64_t)(place - context->base));
    release(thread, 0);
}

void rt_cancel(rt_call call, unsigned layer)
{
    if (call.thread)
        call.thread->open.calls[layer % WIRE_LAYER_COUNT].frame = 0;
}

static struct rt_thread *recording_thread(void)
{
    struct rt_thread *thread = rt_self;
    if (RT_UNLIKELY(!thread || thread->magic != RT_MAGIC))
        thread = rt_load(&rt.state) == RT_OFF ? 0 : rt_thread_get();
    return thread && __atomic_load_n(&rt.session->active, __ATOMIC_RELAXED) ? thread : 0;
}

static void span_write(struct rt_thread *thread, const struct rt_span *in)
{
    unsigned fields = (unsigned)__builtin_popcount(in->present);
    uint32_t bytes = (uint32_t)sizeof(struct wire_span) + fields * 8;
    unsigned index;
    struct wire_span *span = (struct wire_span *)(void *)rt_reserve(thread, bytes, &index);
    if (!span)
        return;
    *span = (struct wire_span){
        .header = {WIRE_SPAN, (uint16_t)(bytes / 8), in->name},
        .begin = in->begin,
        .end = in->end,
        .correlation = in->correlation,
        .layer = in->layer,
        .span_kind = in->span_kind,
        .payload_kind = in->payload_kind,
        .category = in->category,
        .stack = in->stack,
        .present = in->present,
    };
    uint64_t *out = (uint64_t *)(void *)(span + 1);
    for (unsigned i = 0; i < fields; i++)
        out[i] = in->fields[i];
    rt_publish(thread, index, bytes);
}

void rt_span(const struct rt_span *span)
{
    struct rt_thread *thread = recording_thread();
    if (thread)
        span_write(thread, span);
}

void rt_leave_span(rt_call call, struct rt_span *span)
{
    if (!call.thread)
        return;
    span->begin = call.begin;
    span->end = rt_clock();
    call.thread->open.calls[span->layer % WIRE_LAYER_COUNT].frame = 0;
    span_write(call.thread, span);
}

rt_place rt_open(uint32_t bytes)
{
    rt_place place = {.thread = recording_thread(), .bytes = bytes};
    if (RT_LIKELY(place.thread))
        place.record = rt_reserve(place.thread, bytes, &place.index);
    return place;
}

void rt_close(rt_place place)
{
    if (RT_LIKELY(place.record))
        rt_publish(place.thread, place.index, place.bytes);
}

static RT_COLD void *record_slowly(uint32_t bytes)
{
    struct rt_thread *thread = recording_thread();
    unsigned index;
    return thread ? rt_reserve(thread, bytes, &index) : 0;
}

void *rt_record(uint32_t bytes)
{
    struct rt_thread *thread = rt_self;
    if (RT_UNLIKELY(!thread || thread->magic != RT_MAGIC || thread->busy || !__atomic_load_n(&rt.session->active, __ATOMIC_RELAXED)))
        return record_slowly(bytes);
    thread->busy = 1;
    RT_BARRIER();
    struct rt_context *context = &thread->contexts[0];
    uint8_t *place = context->cursor;
    if (RT_LIKELY(context->limit - place >= (ptrdiff_t)bytes))
        return place;
    thread->busy = 0;
    return record_slowly(bytes);
}

void rt_commit(uint32_t bytes)
{
    struct rt_thread *thread = rt_self;
    unsigned index = thread->busy - 1; /* the innermost that is being written */
    if (RT_UNLIKELY(index != 0 || rt.no_shared_map)) {
        rt_publish(thread, index, bytes);
        return;
    }
    struct rt_context *context = &thread->contexts[0];
    uint8_t *place = context->cursor + bytes;
    context->cursor = place;
    rt_store(context->commit, (uint64_t)(place - context->base));
    release(thread, 0);
}

static RT_COLD void put4_slowly(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth)
{
    uint64_t *words = record_slowly(32);
    if (!words)
        return;
    words[0] = first;
    words[1] = second;
    words[2] = third;
    words[3] = fourth;
    rt_commit(32);
}

void rt_put4(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth)
{
    struct rt_thread *thread = rt_self;
    if (RT_UNLIKELY(!thread || thread->magic != RT_MAGIC || thread->busy || !__atomic_load_n(&rt.session->active, __ATOMIC_RELAXED))) {
        put4_slowly(first, second, third, fourth);
        return;
    }
    thread->busy = 1;
    RT_BARRIER();
    struct rt_context *context = &thread->contexts[0];
    uint8_t *place = context->cursor;
    if (RT_UNLIKELY(context->limit - place < 32)) {
        thread->busy = 0;
        put4_slowly(first, second, third, fourth);
        return;
    }
    uint64_t *words = (uint64_t *)(void *)place;
    words[0] = first;
    words[1] = second;
    words[2] = third;
    words[3] = fourth;
    context->cursor = place + 32;
    rt_store(context->commit, (uint64_t)(place + 32 - context->base)); /* with limit 0, as where chunks are written by pwrite, not reached */
    release(thread, 0);
}

uint32_t rt_flags(void)
{
    return rt_load(&rt.state) == RT_OFF || !rt.session ? 0 : rt.session->flags;
}

bool rt_append(const struct wire_header *record)
{
    struct rt_thread *thread = recording_thread();
    if (!thread)
        return false;
    unsigned index;
    uint32_t bytes = wire_bytes(record);
    uint8_t *place = rt_reserve(thread, bytes, &index);
    if (!place)
        return false;
    __builtin_memcpy(place, record, bytes);
    rt_publish(thread, index, bytes);
    return true;
}

void rt_instant(unsigned layer, uint32_t name, uint32_t category)
{
    struct wire_instant record = {.header = {WIRE_INSTANT, sizeof record / 8, name}};
    record.time = rt_clock();
    record.layer = (uint8_t)layer;
    record.category = category;
    rt_append(&record.header);
}

void rt_counter(unsigned layer, uint32_t name, uint32_t unit, double value)
{
    struct wire_counter record = {.header = {WIRE_COUNTER, sizeof record / 8, name}};
    record.time = rt_clock();
    record.value = value;
    record.unit = unit;
    record.device = -1;
    record.layer = (uint8_t)layer;
    rt_append(&record.header);
}

void rt_link(unsigned kind, unsigned confidence, unsigned from_layer, uint64_t from, unsigned to_layer, uint64_t to)
{
    struct wire_link record = {.header = {WIRE_LINK, sizeof record / 8, 0}};
    record.header.value = (kind & 0xff) | (confidence & 0xff) << 8 | (from_layer & 0xff) << 16 | (to_layer & 0xff) << 24;
    record.time = rt_clock();
    record.from = from;
    record.to = to;
    rt_append(&record.header);
}

uint64_t rt_now(void)
{
    return rt_clock();
}

uint64_t rt_correlation(void)
{
    return rt_add(&rt.correlation, 1ull) + 1;
}

bool rt_register(unsigned layer, const char *collector)
{
    struct rt_thread *thread = rt_load(&rt.state) == RT_OFF ? 0 : rt_thread_get();
    if (!thread)
        return false;
    if (!thread->contexts[0].chunk && thread->busy == 0) {
        thread->busy = 1;
        RT_BARRIER();
        rt_context_refill(thread, 0, sizeof(struct wire_span));
        release(thread, 0);
    }
    rt_log_info(WIRE_INFO_COLLECTOR, collector);
    if (!rt_code_listed_at())
        rt_code_list();
    return true;
}
