/* SPDX-License-Identifier: MIT */
/* The ways between a share's nodes, and from the nodes' values those of all its points. */
#include "path_share_internal.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

#define REACHED_FROM_MAX 4 /* a point that more nodes lead to becomes one */

/* In path_share.more. */
#define NO_MORE UINT32_MAX
#define IS_NODE (UINT32_MAX - 1)

struct reach { /* a node, and the way from there */
    struct way way;
    uint32_t node;
    uint32_t next; /* in a list */
};

struct found_arc {
    struct way way;
    uint32_t from, to;
};

struct contraction {
    struct path_share *share;
    struct longest_ways ways;
    struct parcel *out;
    struct found_arc *arcs;
    struct reach *list, *others; /* of the point at hand; what does not fit into the columns */
    uint32_t free_other;         /* others that nobody needs any more; NO_MORE */
    bool *leads_on;              /* by point: edges lead from it, not only its lane */
    uint32_t *places;            /* by node: its place in the list, from 1 on */
    size_t arc_count, arc_capacity, list_count, list_capacity, other_count, other_capacity, place_capacity;
    bool failed;
};

void path_share_finish(struct path_share *share)
{
    free(share->ways.length_ns);
    free(share->ways.explained_ns);
    free(share->ways.tail_ns);
    free(share->ways.confidence);
    free(share->reached_from);
    free(share->more);
    free(share->all_nodes);
    share->ways = (struct way_columns){0};
    share->reached_from = share->more = share->all_nodes = NULL;
}

static uint32_t add_node(struct path_share *share, uint32_t point)
{
    uint32_t *all = array_reserve(share->all_nodes, &share->all_capacity, (size_t)share->all_count + 1, sizeof *all);
    if (!all)
        return NODE_BEGIN;
    share->all_nodes = all;
    all[share->all_count++] = point;
    if (point != POINT_NONE) {
        share->reached_from[point] = share->all_count - 1;
        share->more[point] = IS_NODE;
    }
    return share->all_count - 1;
}

static int share_init(struct path_share *share)
{
    uint32_t count = share->graph->point_count;
    struct way_columns *ways = &share->ways;
    ways->length_ns = array_resize_exact(NULL, count, sizeof *ways->length_ns);
    ways->explained_ns = array_resize_exact(NULL, count, sizeof *ways->explained_ns);
    ways->tail_ns = array_resize_exact(NULL, count, sizeof *ways->tail_ns);
    ways->confidence = array_resize_exact(NULL, count, 1);
    share->reached_from = array_resize_exact(NULL, count, sizeof *share->reached_from);
    share->more = array_resize_exact(NULL, count, sizeof *share->more);
    if (!ways->length_ns || !ways->explained_ns || !ways->tail_ns || !ways->confidence || !share->reached_from || !share->more)
        return -ENOMEM;
    for (uint32_t p = 0; p < count; p++)
        share->more[p] = NO_MORE;
    add_node(share, POINT_NONE); /* the begin */
    for (uint32_t n = 0; n < share->node_count; n++)
        if (add_node(share, share->nodes[n].point) == NODE_BEGIN)
            return -ENOMEM;
    return share->all_nodes ? 0 : -ENOMEM;
}

/* --- forwards ----------------------------------------------------------------------------------------------------- */

static void reach_from(struct contraction *contraction, uint32_t node, const struct way *way)
{
    if (node >= contraction->place_capacity) {
        size_t before = contraction->place_capacity;
        uint32_t *places = array_reserve(contraction->places, &contraction->place_capacity, (size_t)node + 1, sizeof *places);
        contraction->failed |= !places;
        if (!places)
            return;
        contraction->places = places;
        for (size_t i = before; i < contraction->place_capacity; i++)
            places[i] = 0;
    }
    uint32_t place = contraction->places[node];
    if (place) {
        if (way_better(way, &contraction->list[place - 1].way))
            contraction->list[place - 1].way = *way;
        return;
    }
    struct reach *list = array_reserve(contraction->list, &contraction->list_capacity, contraction->list_count + 1, sizeof *list);
    contraction->failed |= !list;
    if (!list)
        return;
    contraction->list = list;
    list[contraction->list_count++] = (struct reach){.way = *way, .node = node};
    contraction->places[node] = (uint32_t)contraction->list_count;
}

/* All nodes that lead to a predecessor lead on from there. */
static void reach_by(struct contraction *contraction, uint32_t from, const struct way *by)
{
    const struct path_share *share = contraction->share;
    bool is_node = share->more[from] == IS_NODE;
    const struct way here = {0};
    struct way way = is_node ? here : way_at(&contraction->ways, from);
    way = way_extended(&way, by);
    reach_from(contraction, share->reached_from[from], &way);
    for (uint32_t at = is_node ? NO_MORE : share->more[from]; at != NO_MORE; at = contraction->others[at].next) {
        way = way_extended(&contraction->others[at].way, by);
        reach_from(contraction, contraction->others[at].node, &way);
    }
}

static void find_reach(struct contraction *contraction, uint32_t point)
{
    const struct dependency_graph *graph = contraction->share->graph;
    uint32_t previous = graph_previous_point(graph, point);
    struct way by = way_of_interval(graph, point);
    if (previous != POINT_NONE)
        reach_by(contraction, previous, &by);
    for (uint32_t e = graph->first_edge[point]; e < graph->first_edge[point + 1]; e++) {
        by = way_of_edge(&graph->edges[e]);
        reach_by(contraction, graph->edges[e].from, &by);
    }
    by = (struct way){.length_ns = graph->time_ns[point] - graph->begin_ns};
    if (contraction->list_count == 0)
        reach_from(contraction, NODE_BEGIN, &by);
}

static void keep_arcs(struct contraction *contraction, uint32_t node)
{
    size_t needed = contraction->arc_count + contraction->list_count;
    struct found_arc *arcs = array_reserve(contraction->arcs, &contraction->arc_capacity, needed, sizeof *arcs);
    contraction->failed |= !arcs;
    if (!arcs)
        return;
    contraction->arcs = arcs;
    for (size_t i = 0; i < contraction->list_count; i++)
        arcs[contraction->arc_count++] = (struct found_arc){contraction->list[i].way, contraction->list[i].node, node};
}

static uint32_t new_other(struct contraction *contraction)
{
    uint32_t at = contraction->free_other;
    if (at != NO_MORE) {
        contraction->free_other = contraction->others[at].next;
        return at;
    }
    struct reach *others = array_reserve(contraction->others, &contraction->other_capacity, contraction->other_count + 1, sizeof *others);
    if (!others || contraction->other_count >= IS_NODE)
        return NO_MORE;
    contraction->others = others;
    return (uint32_t)contraction->other_count++;
}

static void keep_reach(struct contraction *contraction, uint32_t point)
{
    struct path_share *share = contraction->share;
    share->reached_from[point] = contraction->list[0].node;
    way_keep(&contraction->ways, point, &contraction->list[0].way);
    for (size_t i = 1; i < contraction->list_count; i++) {
        uint32_t at = new_other(contraction);
        contraction->failed |= at == NO_MORE;
        if (at == NO_MORE)
            return;
        contraction->others[at] = contraction->list[i];
        contraction->others[at].next = share->more[point];
        share->more[point] = at;
    }
}

/* Nobody but the lane's next point, which has come, looks at how this one is reached. */
static void drop_reach(struct contraction *contraction, uint32_t point)
{
    uint32_t *more = &contraction->share->more[point];
    if (contraction->leads_on[point] || *more == IS_NODE)
        return;
    while (*more != NO_MORE) {
        uint32_t at = *more;
        *more = contraction->others[at].next;
        contraction->others[at].next = contraction->free_other;
        contraction->free_other = at;
    }
}

static void contract_point(struct contraction *contraction, uint32_t point)
{
    struct path_share *share = contraction->share;
    contraction->list_count = 0;
    find_reach(contraction, point);
    for (size_t i = 0; i < contraction->list_count; i++)
        contraction->places[contraction->list[i].node] = 0;
    if (contraction->failed)
        return;
    uint32_t node = share->more[point] == IS_NODE ? share->reached_from[point] : NODE_BEGIN;
    if (node == NODE_BEGIN && contraction->list_count > REACHED_FROM_MAX) {
        node = add_node(share, point);
        contraction->failed |= node == NODE_BEGIN;
    }
    uint32_t previous = graph_previous_point(share->graph, point);
    if (previous != POINT_NONE)
        drop_reach(contraction, previous);
    if (node == NODE_BEGIN)
        keep_reach(contraction, point);
    else
        keep_arcs(contraction, node);
}

/* --- backwards ---------------------------------------------------------------------------------------------------- */

static void raise_tail(int64_t *tail_ns, int64_t to_ns)
{
    *tail_ns = *tail_ns < to_ns ? to_ns : *tail_ns;
}

/* Tails that nodes' own lead on to; without them (`past_nodes` false) what there is between nodes. */
static void find_tails(const struct path_share *share, bool past_nodes)
{
    const struct dependency_graph *graph = share->graph;
    int64_t *tail_ns = share->ways.tail_ns;
    for (uint32_t i = graph->point_count; i-- > 0;) {
        uint32_t point = graph->order[i], previous = graph_previous_point(graph, point);
        if (share->foreign[point] || (!past_nodes && share->more[point] == IS_NODE))
            continue;
        if (previous != POINT_NONE)
            raise_tail(&tail_ns[previous], graph->interval_weight_ns[point] + tail_ns[point]);
        for (uint32_t e = graph->first_edge[point]; e < graph->first_edge[point + 1]; e++)
            raise_tail(&tail_ns[graph->edges[e].from], graph->edges[e].weight_ns + tail_ns[point]);
    }
}

/* Ways, sorted by where they begin, by counting. */
static void pack_arcs(struct contraction *contraction)
{
    struct parcel *out = contraction->out;
    uint32_t nodes = contraction->share->all_count, sum = 0;
    struct share_arc *sorted = array_resize_exact(NULL, contraction->arc_count, sizeof *sorted);
    uint32_t *first = calloc((size_t)nodes + 2, sizeof *first), *next = first + 1;
    out->failed |= !sorted || !first || contraction->arc_count > UINT32_MAX;
    for (size_t i = 0; !out->failed && i < contraction->arc_count; i++)
        next[contraction->arcs[i].from]++;
    for (uint32_t n = 0; !out->failed && n < nodes; n++) {
        uint32_t count = next[n];
        next[n] = sum;
        sum += count;
    }
    for (size_t i = 0; !out->failed && i < contraction->arc_count; i++) {
        const struct found_arc *arc = &contraction->arcs[i];
        sorted[next[arc->from]++] = (struct share_arc){arc->way.length_ns, arc->way.explained_ns, arc->to, arc->way.confidence};
    }
    free(contraction->arcs);
    contraction->arcs = NULL;
    if (!out->failed) {
        parcel_put(out, first, (size_t)nodes + 1, sizeof *first);
        parcel_put(out, sorted, contraction->arc_count, sizeof *sorted);
    }
    free(sorted);
    free(first);
}

static void pack_ways(struct contraction *contraction)
{
    const struct path_share *share = contraction->share;
    struct parcel *out = contraction->out;
    int64_t *tails_ns = array_resize_exact(NULL, share->all_count, sizeof *tails_ns);
    uint32_t *numbers = array_resize_exact(NULL, share->node_count, sizeof *numbers);
    out->failed |= !tails_ns || !numbers;
    for (uint32_t n = 0; tails_ns && n < share->all_count; n++)
        tails_ns[n] = n == NODE_BEGIN ? 0 : share->ways.tail_ns[share->all_nodes[n]];
    for (uint32_t n = 0; numbers && n < share->node_count; n++)
        numbers[n] = share->nodes[n].number;
    if (!out->failed) {
        parcel_put(out, numbers, share->node_count, sizeof *numbers);
        parcel_put(out, tails_ns, share->all_count, sizeof *tails_ns);
    }
    free(tails_ns);
    free(numbers);
    pack_arcs(contraction);
}

int path_share_contract(struct path_share *share, struct parcel *ways)
{
    const struct dependency_graph *graph = share->graph;
    int code = share_init(share);
    struct contraction contraction = {.share = share, .ways = share_ways(share), .out = ways, .free_other = NO_MORE};
    contraction.leads_on = calloc((size_t)graph->point_count + 1, sizeof *contraction.leads_on);
    contraction.failed = code < 0 || !contraction.leads_on;
    for (uint32_t e = 0; e < graph->edge_count && !contraction.failed; e++)
        contraction.leads_on[graph->edges[e].from] = true;
    for (uint32_t i = 0; i < graph->point_count && !contraction.failed; i++)
        if (!share->foreign[graph->order[i]])
            contract_point(&contraction, graph->order[i]);
    free(contraction.others);
    contraction.others = NULL;
    if (!contraction.failed) {
        for (uint32_t p = 0; p < graph->point_count; p++)
            share->ways.tail_ns[p] = 0;
        find_tails(share, false);
        pack_ways(&contraction);
    }
    free(contraction.arcs);
    free(contraction.list);
    free(contraction.others);
    free(contraction.places);
    free(contraction.leads_on);
    return contraction.failed || ways->failed ? -ENOMEM : 0;
}

/* --- the values of all points ------------------------------------------------------------------------------------- */

static struct share_end end_at(const struct path_share *share, uint32_t point)
{
    const struct dependency_graph *graph = share->graph;
    const struct longest_ways ways = share_ways(share);
    uint32_t lane = graph->lane[point];
    struct share_end end = {.way = way_at(&ways, point),
                            .time_ns = graph->time_ns[point],
                            .order = point + (point < share->split ? share->order_before : share->order_behind),
                            .lane = lane == LANE_NONE ? LANE_NONE : lane + share->first_lane,
                            .any = true};
    if (lane != LANE_NONE)
        end.of = graph->lanes[lane];
    return end;
}

static void find_end(struct path_share *share, struct share_end *best)
{
    const struct longest_ways ways = share_ways(share);
    share->end = POINT_NONE;
    for (uint32_t p = 0; p < share->graph->point_count; p++) {
        struct way way = way_at(&ways, p);
        if (share->foreign[p] || (best->any && way_better(&best->way, &way)))
            continue;
        struct share_end end = end_at(share, p);
        if (!best->any || share_end_before(&end, best)) {
            *best = end;
            share->end = p;
        }
    }
}

int path_share_fill(struct path_share *share, struct parcel *values, struct parcel *end)
{
    const struct dependency_graph *graph = share->graph;
    struct longest_ways ways = share_ways(share);
    struct share_end best = {0};
    size_t count;
    const struct node_value *nodes = parcel_take(values, sizeof *nodes, &count);
    if (count != share->all_count)
        return -EBADMSG;
    for (uint32_t p = 0; p < graph->point_count; p++)
        ways.tail_ns[p] = 0;
    for (uint32_t n = 1; n < count; n++) {
        way_keep(&ways, share->all_nodes[n], &nodes[n].way);
        ways.tail_ns[share->all_nodes[n]] = nodes[n].tail_ns;
    }
    for (uint32_t i = 0; i < graph->point_count; i++) {
        uint32_t point = graph->order[i];
        if (share->foreign[point] || share->more[point] == IS_NODE)
            continue;
        struct way way = critical_path_best_way(&ways, point);
        way_keep(&ways, point, &way);
    }
    find_tails(share, true);
    find_end(share, &best);
    parcel_put(end, &best, 1, sizeof best);
    return end->failed ? -ENOMEM : 0;
}
