/* SPDX-License-Identifier: MIT */
/*
 * All points, each behind its predecessors, in O(points + edges) and without the edges' reverse. A runner is a lane, or
 * a join. It runs along its points until one has an edge from a point that is not there yet; there it waits, on a list
 * at that point, and goes on from this very edge when the point comes. Which runner goes next is a queue's matter, so
 * that the order is always the same.
 *
 * When all wait, some wait for each other in a circle: the least confident edge of one is dropped. Times never go back
 * along edges but for what clocks may be wrong, so circles lie among points of (nearly) one time.
 */
#include "graph_internal.h"

#include "base/array.h"

#include <errno.h>

#define NOBODY UINT32_MAX

struct runner {
    uint32_t point, end;     /* next point to bring, behind the last one */
    uint32_t edge;           /* next edge of that point to look at */
    uint32_t awaited;        /* point that it waits for; POINT_NONE: it runs, queues or is through */
    uint32_t next, previous; /* on the awaited point's list */
    uint32_t seen;           /* number of the search for a circle that met it last */
};

struct ordering {
    struct graph_builder *builder;
    struct runner *runners;
    uint32_t runner_count;
    uint32_t *waiting; /* by point: first runner that waits for it; NOBODY; PLACED when the point is in the order */
    uint32_t *queue;   /* a ring of runner_count entries: who can go on */
    uint32_t queue_first, queued;
    uint32_t placed;
    uint32_t search, unfinished,
        woken; /* of circles: number, first runner that may not be through, whom the last one freed */
};
#define PLACED (UINT32_MAX - 1)

static uint32_t runner_of(const struct ordering *ordering, uint32_t point)
{
    const struct graph_builder *builder = ordering->builder;
    uint32_t lane = builder->columns.lane[point];
    return lane != LANE_NONE ? lane : builder->lane_count + (point - builder->lane_point_count);
}

static void enqueue(struct ordering *ordering, uint32_t runner)
{
    uint64_t at = (uint64_t)ordering->queue_first + ordering->queued++;
    ordering->queue[at % ordering->runner_count] = runner;
}

static uint32_t dequeue(struct ordering *ordering)
{
    uint32_t runner = ordering->queue[ordering->queue_first];
    ordering->queue_first = ordering->queue_first + 1 == ordering->runner_count ? 0 : ordering->queue_first + 1;
    ordering->queued--;
    return runner;
}

static void wait_for(struct ordering *ordering, uint32_t runner, uint32_t point)
{
    struct runner *waiter = &ordering->runners[runner];
    uint32_t first = ordering->waiting[point];
    waiter->awaited = point;
    waiter->previous = NOBODY;
    waiter->next = first;
    if (first != NOBODY)
        ordering->runners[first].previous = runner;
    ordering->waiting[point] = runner;
}

static void stop_waiting(struct ordering *ordering, uint32_t runner)
{
    struct runner *waiter = &ordering->runners[runner];
    if (waiter->previous != NOBODY)
        ordering->runners[waiter->previous].next = waiter->next;
    else
        ordering->waiting[waiter->awaited] = waiter->next;
    if (waiter->next != NOBODY)
        ordering->runners[waiter->next].previous = waiter->previous;
    waiter->awaited = POINT_NONE;
}

static void place(struct ordering *ordering, uint32_t point)
{
    uint32_t waiter = ordering->waiting[point];
    ordering->builder->columns.order[ordering->placed++] = point;
    ordering->waiting[point] = PLACED;
    while (waiter != NOBODY) {
        uint32_t next = ordering->runners[waiter].next;
        ordering->runners[waiter].awaited = POINT_NONE;
        enqueue(ordering, waiter);
        waiter = next;
    }
}

static void run(struct ordering *ordering, uint32_t number)
{
    const struct graph_columns *columns = &ordering->builder->columns;
    struct runner *runner = &ordering->runners[number];
    for (; runner->point < runner->end; runner->point++) {
        uint32_t end = columns->first_edge[runner->point + 1];
        for (; runner->edge < end; runner->edge++) {
            const struct graph_edge *edge = &columns->edges[runner->edge];
            if (edge->confidence == EDGE_DROPPED || ordering->waiting[edge->from] == PLACED)
                continue;
            wait_for(ordering, number, edge->from);
            return;
        }
        place(ordering, runner->point);
    }
}

static void run_all(struct ordering *ordering)
{
    while (ordering->queued > 0)
        run(ordering, dequeue(ordering));
}

static bool less_sure(const struct graph_edge *edge, const struct graph_edge *other)
{
    if (edge->confidence != other->confidence)
        return edge->confidence > other->confidence;
    return edge->rule > other->rule;
}

/* Everybody waits: follows who waits for whom from one of them until a runner comes again, and frees the one of that
 * circle whose edge is least sure. */
static void break_circle(struct ordering *ordering)
{
    struct graph_edge *edges = ordering->builder->columns.edges;
    while (ordering->runners[ordering->unfinished].awaited == POINT_NONE)
        ordering->unfinished++;
    uint32_t at = ordering->runners[ordering->woken].awaited != POINT_NONE ? ordering->woken : ordering->unfinished;
    ordering->search++;
    for (; ordering->runners[at].seen != ordering->search; at = runner_of(ordering, ordering->runners[at].awaited))
        ordering->runners[at].seen = ordering->search;
    uint32_t worst = at;
    for (uint32_t r = runner_of(ordering, ordering->runners[at].awaited); r != at;
         r = runner_of(ordering, ordering->runners[r].awaited))
        if (less_sure(&edges[ordering->runners[r].edge], &edges[ordering->runners[worst].edge]))
            worst = r;
    stop_waiting(ordering, worst);
    edges[ordering->runners[worst].edge++].confidence = EDGE_DROPPED;
    ordering->builder->counts.cycles++;
    ordering->woken = worst;
    enqueue(ordering, worst);
}

static void start_runners(struct ordering *ordering)
{
    const struct graph_builder *builder = ordering->builder;
    for (uint32_t p = 0; p < builder->point_count; p++)
        ordering->waiting[p] = NOBODY;
    for (uint32_t r = 0; r < ordering->runner_count; r++) {
        uint32_t first = builder->lane_point_count + (r - builder->lane_count), end = first + 1;
        if (r < builder->lane_count) {
            first = builder->columns.lanes[r].first_point;
            end = first + builder->columns.lanes[r].point_count;
        }
        ordering->runners[r] = (struct runner){.point = first,
                                               .end = end,
                                               .edge = builder->columns.first_edge[first],
                                               .awaited = POINT_NONE,
                                               .next = NOBODY};
        enqueue(ordering, r);
    }
}

int graph_order(struct graph_builder *builder)
{
    uint64_t runner_count = (uint64_t)builder->lane_count + (builder->point_count - builder->lane_point_count);
    if (runner_count > builder->maximum)
        return -EFBIG;
    struct ordering ordering = {.builder = builder, .runner_count = (uint32_t)runner_count};
    CLEANUP(freep) struct runner *runners = array_resize_exact(NULL, runner_count, sizeof *runners);
    CLEANUP(freep) uint32_t *waiting = array_resize_exact(NULL, builder->point_count, sizeof *waiting);
    CLEANUP(freep) uint32_t *queue = array_resize_exact(NULL, runner_count, sizeof *queue);
    builder->columns.order = array_resize_exact(NULL, builder->point_count, sizeof *builder->columns.order);
    if (!runners || !waiting || !queue || !builder->columns.order)
        return -ENOMEM;
    ordering.runners = runners;
    ordering.waiting = waiting;
    ordering.queue = queue;
    start_runners(&ordering);
    run_all(&ordering);
    while (ordering.placed < builder->point_count) {
        break_circle(&ordering);
        run_all(&ordering);
    }
    return 0;
}
