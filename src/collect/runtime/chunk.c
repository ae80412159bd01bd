/* SPDX-License-Identifier: MIT */
/*
 * Chunks of a context: take one that the recorder has given back, else one that an ended thread left, else make a new one, as
 * long as the limits hold. Never waits: when there is none, records are counted as lost and the next try is a
 * millisecond later.
 */
#include "runtime.h"

#define POOL 256

/* Chunks of threads that have ended; theirs is the first FREE one that a new thread finds. */
static struct wire_chunk *pool[POOL];

void rt_chunks_forget(void)
{
    for (unsigned i = 0; i < POOL; i++)
        pool[i] = 0;
}

static void context_open(struct rt_thread *thread, unsigned index, struct wire_chunk *chunk)
{
    struct rt_context *context = &thread->contexts[index];
    chunk->tid = thread->tid;
    chunk->thread_serial = thread->serial;
    chunk->context = (uint8_t)index;
    chunk->lap++;
    chunk->commit = 0;
    chunk->packed = 0;
    rt_store(&chunk->state, (uint32_t)WIRE_CHUNK_ACTIVE);
    context->chunk = chunk;
    context->base = wire_chunk_data(chunk);
    context->commit = &chunk->commit;
    context->cursor = context->base;
    context->end = context->base + wire_chunk_capacity(chunk);
    context->limit = rt.no_shared_map ? 0 : context->end;
    if (rt.no_shared_map)
        rt_chunk_flush(context, 0, 0);
}

static bool fits(const struct wire_chunk *chunk, uint32_t bytes)
{
    return wire_chunk_capacity(chunk) >= bytes;
}

/* The biggest of our own that is free, but for those that were made while the recorder lagged: fewer are warmer. */
static struct wire_chunk *take_own(struct rt_context *context, uint32_t bytes)
{
    struct wire_chunk *best = 0;
    uint32_t usual = rt.session->chunk_max_bytes;
    for (uint32_t i = 0; i < context->chunk_count; i++) {
        struct wire_chunk *chunk = context->chunks[i];
        if (rt_load(&chunk->state) != WIRE_CHUNK_FREE || !fits(chunk, bytes))
            continue;
        bool better = best && best->size_bytes > usual ? chunk->size_bytes < best->size_bytes
                                                       : best && chunk->size_bytes <= usual && chunk->size_bytes > best->size_bytes;
        if (!best || better)
            best = chunk;
    }
    return best;
}

/* Lets a chunk go: the recorder packs it and removes the file. */
static void chunk_abandon(struct wire_chunk *chunk)
{
    uint32_t size = chunk->size_bytes;
    rt_store(&chunk->abandoned, (uint8_t)1);
    sys_call(__NR_munmap, chunk, size, 0, 0);
}

static struct wire_chunk *take_pooled(struct rt_context *context, uint32_t bytes)
{
    if (context->chunk_count == RT_THREAD_CHUNKS)
        return 0;
    for (unsigned i = 0; i < POOL; i++) {
        struct wire_chunk *chunk = rt_load(&pool[i]);
        /* Looked at only when it is ours: another thread may take and unmap it meanwhile. */
        if (!chunk || !__atomic_compare_exchange_n(&pool[i], &chunk, (struct wire_chunk *)0, 0, __ATOMIC_ACQ_REL,
                                                   __ATOMIC_ACQUIRE))
            continue;
        if (rt_load(&chunk->state) == WIRE_CHUNK_FREE && fits(chunk, bytes)) {
            context->chunks[context->chunk_count++] = chunk;
            context->held_bytes += chunk->size_bytes;
            return chunk;
        }
        struct wire_chunk *expected = 0;
        if (!__atomic_compare_exchange_n(&pool[i], &expected, chunk, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            chunk_abandon(chunk); /* its place is taken */
        }
    }
    return 0;
}

static void chunk_fill(struct wire_chunk *chunk, uint32_t size, uint32_t number)
{
    chunk->major = WIRE_MAJOR;
    chunk->minor = WIRE_MINOR;
    chunk->byte_order = WIRE_BYTE_ORDER;
    chunk->size_bytes = size;
    chunk->number = number;
    chunk->process_key = rt.key64;
    chunk->pid = rt.pid;
    rt_store(&chunk->magic, (uint64_t)WIRE_CHUNK_MAGIC);
}

#define LAGGING 32 /* so many chunks and none is free: the recorder is late, and bigger ones are called for */

static uint32_t new_size(const struct rt_context *context, uint32_t bytes)
{
    uint64_t size = context->next_bytes;
    if (context->chunk_count >= LAGGING)
        size *= 4;
    while (size - WIRE_CHUNK_DATA < bytes)
        size *= 2;
    return size > 1u << 30 ? 0 : (uint32_t)size;
}

/* 0 and *ret_chunk, or reason + 1. */
static uint32_t chunk_make(struct rt_context *context, uint32_t bytes, struct wire_chunk **ret_chunk)
{
    const struct wire_session *session = rt.session;
    uint32_t size = new_size(context, bytes);
    if (!size)
        return WIRE_LOST_TOO_BIG + 1;
    if (context->chunk_count == RT_THREAD_CHUNKS || context->held_bytes + size > session->thread_limit_bytes)
        return WIRE_LOST_LIMIT + 1;
    if (rt_add(&rt.session->used_bytes, size) + size > session->total_limit_bytes && !rt.no_shared_map) {
        rt_add(&rt.session->used_bytes, -(uint64_t)size);
        return WIRE_LOST_LIMIT + 1;
    }
    uint32_t number = rt_add(&rt.chunk_number, 1u);
    char name[64];
    rt_name_chunk(name, number);
    struct rt_file file;
    uint32_t reason = (uint32_t)rt_file_create(name, size, size, context->chunk_count > 0, &file);
    if (reason) {
        rt_add(&rt.session->used_bytes, -(uint64_t)size);
        return reason;
    }
    chunk_fill(file.map, size, number);
    context->chunks[context->chunk_count++] = file.map;
    context->held_bytes += size;
    if (context->next_bytes < session->chunk_max_bytes)
        context->next_bytes *= 2;
    *ret_chunk = file.map;
    return 0;
}

static void thread_start_write(struct rt_thread *thread)
{
    struct rt_context *context = &thread->contexts[0];
    struct wire_thread_start *record = (struct wire_thread_start *)(void *)context->cursor;
    *record = (struct wire_thread_start){
        .header = {WIRE_THREAD_START, sizeof *record / 8, (uint32_t)thread->tid},
        .time = rt_clock(),
        .stack_top = rt_stack_top,
    };
    context->cursor += sizeof *record;
    rt_store(context->commit, (uint64_t)sizeof *record);
    if (rt.no_shared_map)
        rt_chunk_flush(context, 0, sizeof *record);
    context->started = 1;
}

static void context_close(struct rt_context *context, uint32_t state)
{
    struct wire_chunk *chunk = context->chunk;
    if (!chunk)
        return;
    if (rt.no_shared_map)
        chunk->abandoned = 1;
    rt_store(&chunk->state, state);
    if (rt.no_shared_map) { /* nothing comes back from the recorder that way: each is used once */
        rt_chunk_flush(context, 0, 0);
        sys_call(__NR_munmap, chunk, chunk->size_bytes, 0, 0);
        context->chunk_count = 0;
        context->held_bytes = 0;
    }
    context->chunk = 0;
    context->cursor = context->limit = context->base = context->end = 0;
    context->commit = 0;
}

RT_COLD bool rt_context_refill(struct rt_thread *thread, unsigned index, uint32_t bytes)
{
    struct rt_context *context = &thread->contexts[index];
    uint64_t now = rt_clock();
    bytes += sizeof(struct wire_thread_start) + sizeof(struct wire_thread_end);
    if (context->retry_at && (int64_t)(now - context->retry_at) < 0) {
        rt_lost(context->lost_reason, 1);
        thread->lost++;
        return false;
    }
    context_close(context, WIRE_CHUNK_FULL);
    struct wire_chunk *chunk = take_own(context, bytes);
    if (!chunk)
        chunk = take_pooled(context, bytes);
    uint32_t reason = chunk ? 0 : chunk_make(context, bytes, &chunk);
    if (reason) {
        context->lost_reason = reason - 1;
        context->retry_at = now + rt.ticks_per_ms;
        rt_lost(reason - 1, 1);
        thread->lost++;
        return false;
    }
    context->retry_at = 0;
    context_open(thread, index, chunk);
    if (index == 0 && !context->started)
        thread_start_write(thread);
    rt_calibrate();
    return true;
}

static void thread_end_write(struct rt_thread *thread)
{
    struct rt_context *context = &thread->contexts[0];
    struct wire_thread_end *record = (struct wire_thread_end *)(void *)context->cursor;
    if (!context->chunk || context->end - context->cursor < (long)sizeof *record)
        return;
    *record = (struct wire_thread_end){
        .header = {WIRE_THREAD_END, sizeof *record / 8, (uint32_t)thread->tid},
        .time = rt_clock(),
        .lost = thread->lost,
    };
    uint64_t from = (uint64_t)(context->cursor - context->base);
    context->cursor += sizeof *record;
    rt_store(context->commit, from + sizeof *record);
    if (rt.no_shared_map)
        rt_chunk_flush(context, from, from + sizeof *record);
}

static void chunk_leave(struct wire_chunk *chunk)
{
    for (unsigned i = 0; i < POOL && !rt.no_shared_map; i++) {
        struct wire_chunk *expected = 0;
        if (!rt_load(&pool[i]) &&
            __atomic_compare_exchange_n(&pool[i], &expected, chunk, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return;
    }
    chunk_abandon(chunk);
}

void rt_context_end(struct rt_thread *thread, unsigned index)
{
    struct rt_context *context = &thread->contexts[index];
    if (index == 0)
        thread_end_write(thread);
    context_close(context, WIRE_CHUNK_ENDED);
    for (uint32_t i = 0; i < context->chunk_count; i++)
        chunk_leave(context->chunks[i]);
    context->chunk_count = 0;
    context->held_bytes = 0;
}

/* Private memory stands in for the mapping: what was published there goes into the file at once, records before the header
 * that covers them. */
void rt_chunk_flush(struct rt_context *context, uint64_t from, uint64_t to)
{
    struct wire_chunk *chunk = context->chunk;
    char name[64];
    rt_name_chunk(name, chunk->number);
    uint32_t reason = 0;
    if (to > from)
        reason = (uint32_t)rt_file_write(name, wire_chunk_data(chunk) + from, to - from, WIRE_CHUNK_DATA + from);
    if (!reason)
        reason = (uint32_t)rt_file_write(name, chunk, 128, 0);
    if (reason)
        rt_lost(reason - 1, 1);
}
