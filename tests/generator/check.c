/* SPDX-License-Identifier: MIT */
/*
 * The simulation judged by itself: every node's time is the latest of all that was offered to it, and of all ways through the offers
 * the longest is the run, found by enumeration where there are few enough ways, else by the latest time at which each node could be.
 */
#include "sim.h"

#include <inttypes.h>
#include <stdlib.h>

static void check_times(const struct sim *sim)
{
    int64_t *latest_ns = malloc(sim->node_count * sizeof *latest_ns);
    if (!latest_ns)
        fail("out of memory");
    for (size_t i = 0; i < sim->node_count; i++)
        latest_ns[i] = INT64_MIN;
    for (size_t i = 0; i < sim->offer_count; i++) {
        const struct offer *offer = &sim->offers[i];
        int64_t at_ns = sim->nodes[offer->cause].ns + offer->lag_ns;
        latest_ns[offer->node] = at_ns > latest_ns[offer->node] ? at_ns : latest_ns[offer->node];
    }
    for (size_t i = 0; i < sim->node_count; i++)
        if (latest_ns[i] != INT64_MIN && latest_ns[i] != sim->nodes[i].ns) {
            fprintf(stderr, "node %zu at %" PRId64 ", offers say %" PRId64 "\n", i, sim->nodes[i].ns, latest_ns[i]);
            fail("a node is not at the latest of its offers");
        }
    free(latest_ns);
}

struct search {
    const struct sim *sim;
    const size_t *first;
    uint64_t steps, longest_count;
    int64_t longest_ns;
};
enum { STEPS = 20000000 };

/* All ways back from a node; `after_ns` is the length of what has been gone already. */
static void search(struct search *state, uint32_t node, int64_t after_ns)
{
    if (++state->steps > STEPS)
        return;
    if (state->first[node] == state->first[node + 1]) {
        int64_t length_ns = after_ns + state->sim->nodes[node].ns - state->sim->begin_ns;
        if (length_ns > state->longest_ns) {
            state->longest_ns = length_ns;
            state->longest_count = 0;
        }
        state->longest_count += length_ns == state->longest_ns;
        return;
    }
    for (size_t i = state->first[node]; i < state->first[node + 1]; i++)
        search(state, state->sim->offers[i].cause, after_ns + state->sim->offers[i].lag_ns);
}

static int by_node(const void *left, const void *right)
{
    const struct offer *a = left, *b = right;
    return (a->node > b->node) - (a->node < b->node);
}

void check_by_enumeration(const struct sim *sim)
{
    check_times(sim);
    size_t *first = calloc(sim->node_count + 2, sizeof *first);
    if (!first)
        fail("out of memory");
    qsort(sim->offers, sim->offer_count, sizeof *sim->offers, by_node);
    for (size_t i = 0; i < sim->offer_count; i++)
        first[sim->offers[i].node + 1]++;
    for (size_t i = 0; i <= sim->node_count; i++)
        first[i + 1] += first[i];
    struct search state = {.sim = sim, .first = first, .longest_ns = INT64_MIN};
    search(&state, sim->last.node, 0);
    if (state.steps > STEPS)
        printf("too many ways to enumerate; each node is at the latest of its offers\n");
    else if (state.longest_ns != sim->end_ns - sim->begin_ns)
        fail("the longest way is not the run");
    else
        printf("%" PRIu64 " steps on all ways, %" PRIu64 " longest\n", state.steps, state.longest_count);
    free(first);
}
