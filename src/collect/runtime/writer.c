/* SPDX-License-Identifier: MIT */
/*
 * The fast path: a record costs its clock reads, its stores and a few instructions. `busy` picks the context: a signal handler
 * that interrupts the writing of a record finds it raised and writes to a chunk of its own. The commit is stored with
 * release after the record's bytes, before the traced call returns.
 */
#include "runtime.h"

/* Fast part of taking a place; NULL = no room, or fork wiped the slot. Raises busy: rt_publish or release lowers it. */
static inline __attribute__((always_inline)) uint8_t *reserve(struct rt_thread *thread, uint32_t bytes, unsigned *ret_index)
{
    unsigned index = thread->busy;
    thread->busy = index + 1;
    RT_BARRIER();
    *ret_index = index;
    if (RT_UNLIKELY(index >= WIRE_CONTEXTS))
        return 0;
    struct rt_context *context = &thread->contexts[index];
    if (RT_UNLIKELY((size_t)(context->limit - context->cursor) < bytes))
        return 0;
    return context->cursor;
}

static inline __attribute__((always_inline)) void release(struct rt_thread *thread, unsigned index)
{
    RT_BARRIER();
    thread->busy = index;
}

static inline __attribute__((always_inline)) void publish(struct rt_thread *thread, unsigned index, uint32_t bytes)
{
    struct rt_context *context = &thread->contexts[index];
    uint8_t *cursor = context->cursor + bytes;
    context->cursor = cursor;
    rt_store(context->commit, (uint64_t)(cursor - context->base));
    if (RT_UNLIKELY(rt.no_shared_map))
        rt_chunk_flush(context, (uint64_t)(cursor - context->base) - bytes, (uint64_t)(cursor - context->base));
    release(thread, index);
}

/* After reserve gave NULL: a new chunk, or the loss is counted and busy lowered. */
static RT_COLD uint8_t *reserve_slowly(struct rt_thread *thread, uint32_t bytes, unsigned index)
{
    if (thread->magic != RT_MAGIC) { /* forked between enter and leave: the parent records this call */
        thread->busy = 0;
        return 0;
    }
    if (index >= WIRE_CONTEXTS)
        rt_lost(WIRE_LOST_NESTED, 1);
    else if (rt_context_refill(thread, index, bytes))
        return thread->contexts[index].cursor;
    release(thread, index);
    return 0;
}

uint8_t *rt_reserve(struct rt_thread *thread, uint32_t bytes, unsigned *ret_index)
{
    uint8_t *place = reserve(thread, bytes, ret_index);
    return RT_LIKELY(place) ? place : reserve_slowly(thread, bytes, *ret_index);
}

void rt_publish(struct rt_thread *thread, unsigned index, uint32_t bytes)
{
    publish(thread, index, bytes);
}

static RT_COLD struct rt_thread *enter_slowly(void)
{
    return rt_load(&rt.state) == RT_OFF ? 0 : rt_thread_get();
}

rt_call rt_enter(unsigned layer)
{
    struct rt_thread *thread = rt_self;
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    if (RT_UNLIKELY(!thread || thread->magic != RT_MAGIC)) {
        thread = enter_slowly();
        if (!thread)
            return (rt_call){0, 0};
    }
    /* A guard left behind by longjmp belongs to a frame that is gone: ours is not below it. */
    if (RT_UNLIKELY(frame < thread->guard[layer % WIRE_LAYER_COUNT] || !__atomic_load_n(&rt.session->active, __ATOMIC_RELAXED)))
        return (rt_call){0, 0};
    thread->guard[layer % WIRE_LAYER_COUNT] = frame;
    return (rt_call){thread, rt_clock()};
}

void rt_leave(rt_call call, uint32_t name, uint32_t shape)
{
    struct rt_thread *thread = call.thread;
    if (!thread)
        return;
    uint64_t end = rt_clock();
    thread->guard[shape % WIRE_LAYER_COUNT] = 0;
    unsigned index;
    struct wire_span *span = (struct wire_span *)(void *)reserve(thread, sizeof *span, &index);
    if (RT_UNLIKELY(!span) && !(span = (struct wire_span *)(void *)reserve_slowly(thread, sizeof *span, index)))
        return;
    uint64_t *words = (uint64_t *)(void *)span;
    words[0] = (uint64_t)name << 32 | (uint64_t)(sizeof *span / 8) << 16 | WIRE_SPAN;
    words[1] = call.begin;
    words[2] = end;
    words[3] = 0;
    words[4] = shape & 0xffff;
    words[5] = 0;
    publish(thread, index, sizeof *span);
}

void rt_cancel(rt_call call, unsigned layer)
{
    if (call.thread)
        call.thread->guard[layer % WIRE_LAYER_COUNT] = 0;
}

static struct rt_thread *recording_thread(void)
{
    struct rt_thread *thread = rt_self;
    if (RT_UNLIKELY(!thread || thread->magic != RT_MAGIC))
        thread = enter_slowly();
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
    publish(thread, index, bytes);
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
    call.thread->guard[span->layer % WIRE_LAYER_COUNT] = 0;
    span_write(call.thread, span);
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
    publish(thread, index, bytes);
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
    struct rt_thread *thread = enter_slowly();
    if (!thread)
        return false;
    if (!thread->contexts[0].chunk && thread->busy == 0) {
        thread->busy = 1;
        RT_BARRIER();
        rt_context_refill(thread, 0, sizeof(struct wire_span));
        release(thread, 0);
    }
    rt_log_info(WIRE_INFO_COLLECTOR, collector);
    return true;
}
