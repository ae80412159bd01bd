/* SPDX-License-Identifier: MIT */
/* Loops over the points of a graph, shared out among the cores. */
#include "graph_internal.h"

#include "base/thread_pool.h"

#include <errno.h>

#define CHUNK_POINTS (UINT32_C(1) << 18)

struct chunk_loop {
    void (*job)(void *context, void *state, uint32_t first, uint32_t end);
    void *context;
    uint8_t *states;
    size_t state_size;
    uint32_t count;
};

static void run_chunk(void *context, size_t index)
{
    const struct chunk_loop *loop = context;
    uint32_t first = (uint32_t)index * CHUNK_POINTS;
    uint32_t end = loop->count - first > CHUNK_POINTS ? first + CHUNK_POINTS : loop->count;
    loop->job(loop->context, loop->states + index * loop->state_size, first, end);
}

int graph_for_chunks(uint32_t count, size_t state_size,
                     void (*job)(void *context, void *state, uint32_t first, uint32_t end), void *context,
                     void **ret_states, uint32_t *ret_chunks)
{
    uint32_t chunks = (uint32_t)(((uint64_t)count + CHUNK_POINTS - 1) / CHUNK_POINTS);
    CLEANUP(freep) uint8_t *states = calloc((size_t)chunks + 1, state_size ? state_size : 1);
    if (!states)
        return -ENOMEM;
    struct chunk_loop loop = {
        .job = job, .context = context, .states = states, .state_size = state_size, .count = count};
    CLEANUP(thread_pool_destroyp) struct thread_pool *pool = NULL;
    if (chunks > 1 && thread_pool_create(0, &pool) == 0)
        thread_pool_for(pool, chunks, run_chunk, &loop);
    else /* one chunk, or no threads to be had */
        for (uint32_t c = 0; c < chunks; c++)
            run_chunk(&loop, c);
    *ret_states = TAKE_PTR(states);
    *ret_chunks = chunks;
    return 0;
}
