/* SPDX-License-Identifier: MIT */
/*
 * A path that is found in shares is the one that is found in one place: graphs at random, full of ties and zero lags, are shared out lane by
 * lane and join by join among up to five shares, each with an order of its own; every point's way and tail, and the path step by step, are what
 * critical_path_create says.
 */
#include "random_graph.h"

#include "analysis/critical_path_internal.h"
#include "analysis/path_share.h"
#include "analysis/path_whole.h"

#include <stdlib.h>
#include <string.h>

enum { SHARES_MAX = 5, LANES_MAX = 8 };

/* The part of a graph that one share sees: all points, edges into its own. */
struct carved {
    struct dependency_graph graph;
    uint32_t *first_edge, *order;
    struct graph_edge *edges;
    uint32_t *edge_numbers; /* in the whole */
    bool *foreign;
    struct share_node *nodes;
    struct path_share share;
};

struct sharing {
    const struct dependency_graph *graph;
    uint32_t share_count;
    uint32_t *owner; /* by point */
    struct carved shares[SHARES_MAX];
    struct path_whole *whole;
};

static void deal_out(struct sharing *sharing)
{
    uint32_t by_lane[LANES_MAX];
    for (uint32_t l = 0; l < LANES_MAX; l++)
        by_lane[l] = random_below(sharing->share_count);
    for (uint32_t p = 0; p < sharing->graph->point_count; p++) {
        uint32_t lane = sharing->graph->lane[p];
        sharing->owner[p] = lane == LANE_NONE ? random_below(sharing->share_count) : by_lane[lane];
    }
}

static bool is_ready(const struct carved *carved, const bool *placed, uint32_t point)
{
    const struct dependency_graph *graph = &carved->graph;
    uint32_t previous = graph_previous_point(graph, point);
    bool ready = !placed[point] && (carved->foreign[point] || previous == POINT_NONE || placed[previous]);
    for (uint32_t e = graph->first_edge[point]; e < graph->first_edge[point + 1]; e++)
        ready = ready && placed[graph->edges[e].from];
    return ready;
}

/* Any order in which the share's own edges lead onwards. */
static void carve_order(struct carved *carved)
{
    uint32_t count = carved->graph.point_count;
    bool *placed = calloc(count + 1, sizeof *placed);
    for (uint32_t at = 0; at < count; at++) {
        uint32_t point = random_below(count);
        while (!is_ready(carved, placed, point))
            point = point + 1 < count ? point + 1 : 0;
        placed[point] = true;
        carved->order[at] = point;
    }
    free(placed);
}

static bool is_node(const struct sharing *sharing, uint32_t share, uint32_t point)
{
    const struct dependency_graph *graph = sharing->graph;
    for (uint32_t to = 0; to < graph->point_count; to++)
        for (uint32_t e = graph->first_edge[to]; e < graph->first_edge[to + 1]; e++)
            if (graph->edges[e].from == point && sharing->owner[to] != sharing->owner[point] &&
                (sharing->owner[to] == share || sharing->owner[point] == share))
                return true;
    return false;
}

static void carve(struct sharing *sharing, uint32_t number)
{
    const struct dependency_graph *graph = sharing->graph;
    struct carved *carved = &sharing->shares[number];
    uint32_t count = graph->point_count, edges = 0, nodes = 0;
    carved->first_edge = calloc(count + 2, sizeof *carved->first_edge);
    carved->order = calloc(count + 1, sizeof *carved->order);
    carved->edges = calloc(graph->edge_count + 1, sizeof *carved->edges);
    carved->edge_numbers = calloc(graph->edge_count + 1, sizeof *carved->edge_numbers);
    carved->foreign = calloc(count + 1, sizeof *carved->foreign);
    carved->nodes = calloc(count + 1, sizeof *carved->nodes);
    for (uint32_t p = 0; p < count; p++) {
        carved->foreign[p] = sharing->owner[p] != number;
        carved->first_edge[p] = edges;
        for (uint32_t e = graph->first_edge[p]; e < graph->first_edge[p + 1] && !carved->foreign[p]; e++) {
            carved->edge_numbers[edges] = e;
            carved->edges[edges++] = graph->edges[e];
        }
        if (is_node(sharing, number, p))
            carved->nodes[nodes++] = (struct share_node){p, p};
    }
    carved->first_edge[count] = edges;
    carved->graph = *graph;
    carved->graph.first_edge = carved->first_edge;
    carved->graph.edges = carved->edges;
    carved->graph.edge_count = edges;
    carve_order(carved);
    carved->graph.order = carved->order;
    carved->share = (struct path_share){.graph = &carved->graph, .foreign = carved->foreign, .nodes = carved->nodes, .node_count = nodes};
}

static void uncarve(struct carved *carved)
{
    path_share_finish(&carved->share);
    free(carved->first_edge);
    free(carved->order);
    free(carved->edges);
    free(carved->edge_numbers);
    free(carved->foreign);
    free(carved->nodes);
}

static void solve(struct sharing *sharing)
{
    struct parcel parcels[SHARES_MAX] = {0}, ends[SHARES_MAX] = {0};
    bool circle = true;
    assert_int_equal(path_whole_create(sharing->graph->point_count, sharing->share_count, &sharing->whole), 0);
    for (uint32_t s = 0; s < sharing->share_count; s++) {
        assert_int_equal(path_share_contract(&sharing->shares[s].share, &parcels[s]), 0);
        assert_int_equal(path_whole_take_ways(sharing->whole, s, &parcels[s]), 0);
        parcel_finish(&parcels[s]);
        parcels[s] = (struct parcel)PARCEL_INIT;
    }
    assert_int_equal(path_whole_solve(sharing->whole, &circle), 0);
    assert_false(circle);
    for (uint32_t s = 0; s < sharing->share_count; s++) {
        path_whole_pack_values(sharing->whole, s, &parcels[s]);
        assert_int_equal(path_share_fill(&sharing->shares[s].share, &parcels[s], &ends[s]), 0);
        assert_int_equal(path_whole_take_end(sharing->whole, s, &ends[s]), 0);
        parcel_finish(&parcels[s]);
        parcel_finish(&ends[s]);
    }
}

static void compare_values(const struct sharing *sharing, const struct longest_ways *ways)
{
    for (uint32_t p = 0; p < sharing->graph->point_count; p++) {
        const struct way_columns *own = &sharing->shares[sharing->owner[p]].share.ways;
        assert_int_equal(own->length_ns[p], ways->length_ns[p]);
        assert_int_equal(own->explained_ns[p], ways->explained_ns[p]);
        assert_int_equal(own->confidence[p], ways->confidence[p]);
        assert_int_equal(own->tail_ns[p], ways->tail_ns[p]);
    }
}

static void link_all(struct sharing *sharing, uint32_t **ret_chain, size_t *ret_count)
{
    for (uint32_t s = 0; s < sharing->share_count; s++) {
        struct parcel end = PARCEL_INIT, links = PARCEL_INIT;
        path_whole_pack_end(sharing->whole, &end);
        assert_int_equal(path_share_link(&sharing->shares[s].share, s, &end, &links), 0);
        assert_int_equal(path_whole_take_links(sharing->whole, &links), 0);
        parcel_finish(&end);
        parcel_finish(&links);
    }
    assert_int_equal(path_whole_chain(sharing->whole, ret_chain, ret_count), 0);
}

/* All stretches, from the path's end on, are the path's steps from its end on. */
static void compare_steps(struct sharing *sharing, const struct critical_path *path)
{
    uint32_t *chain = NULL, left = path->step_count;
    size_t count = 0;
    struct share_steps steps[SHARES_MAX];
    link_all(sharing, &chain, &count);
    for (uint32_t s = 0; s < sharing->share_count; s++)
        assert_int_equal(path_share_walk(&sharing->shares[s].share, chain, count, &steps[s]), 0);
    for (uint32_t place = 0; place <= count; place++)
        for (uint32_t s = 0; s < sharing->share_count; s++)
            for (uint32_t i = 0; i < steps[s].stretch_count; i++) {
                const struct share_stretch *stretch = &steps[s].stretches[i];
                if (stretch->place != place)
                    continue;
                left -= stretch->count;
                for (uint32_t k = 0; k < stretch->count; k++) {
                    const struct path_step *step = &steps[s].steps[stretch->first + k], *whole = &path->steps[left + k];
                    assert_int_equal(step->point, whole->point);
                    assert_int_equal(step->edge == EDGE_NONE ? EDGE_NONE : sharing->shares[s].edge_numbers[step->edge], whole->edge);
                }
            }
    assert_int_equal(left, 0);
    for (uint32_t s = 0; s < sharing->share_count; s++)
        share_steps_finish(&steps[s]);
    free(chain);
}

static void serial_ways(const struct dependency_graph *graph, struct longest_ways *ways)
{
    size_t count = (size_t)graph->point_count + 1;
    *ways = (struct longest_ways){.graph = graph,
                                  .length_ns = calloc(count, sizeof(int64_t)),
                                  .explained_ns = calloc(count, sizeof(int64_t)),
                                  .tail_ns = calloc(count, sizeof(int64_t)),
                                  .confidence = calloc(count, 1)};
    for (uint32_t i = 0; i < graph->point_count; i++) {
        struct way way = critical_path_best_way(ways, graph->order[i]);
        way_keep(ways, graph->order[i], &way);
    }
    critical_path_find_tails(ways);
}

static void ways_free(struct longest_ways *ways)
{
    free(ways->length_ns);
    free(ways->explained_ns);
    free(ways->tail_ns);
    free(ways->confidence);
}

static uint32_t compare(const struct dependency_graph *graph)
{
    struct sharing sharing = {.graph = graph, .share_count = 1 + random_below(SHARES_MAX), .owner = calloc(graph->point_count + 1, sizeof(uint32_t))};
    struct longest_ways ways;
    struct critical_path *path;
    uint32_t made = 0;
    deal_out(&sharing);
    for (uint32_t s = 0; s < sharing.share_count; s++)
        carve(&sharing, s);
    serial_ways(graph, &ways);
    assert_int_equal(critical_path_create(graph, &path, NULL), 0);
    solve(&sharing);
    compare_values(&sharing, &ways);
    compare_steps(&sharing, path);
    for (uint32_t s = 0; s < sharing.share_count; s++) {
        made += sharing.shares[s].share.all_count - 1 - sharing.shares[s].share.node_count;
        uncarve(&sharing.shares[s]);
    }
    critical_path_destroy(path);
    path_whole_destroy(sharing.whole);
    ways_free(&ways);
    free(sharing.owner);
    return made;
}

static void test_small_graphs(void **state)
{
    for (uint64_t seed = 1; seed <= 20000; seed++) {
        struct dependency_graph *graph = random_graph(seed, seed % 3 == 0, seed % 5 == 0);
        compare(graph);
        dependency_graph_destroy(graph);
    }
    (void)state;
}

/* Wide joins, many edges: points that more nodes lead to than are told apart. */
static struct dependency_graph *larger_graph(uint64_t seed)
{
    struct graph_builder *builder;
    struct dependency_graph *graph;
    uint32_t number, points = 0, lanes = 2 + (uint32_t)(seed % 7);
    int64_t times_ns[160];
    random_seed(seed);
    assert_int_equal(graph_builder_create(NULL, &builder), 0);
    for (uint32_t l = 0; l < lanes; l++) {
        int64_t time_ns = random_below(3);
        assert_int_equal(graph_builder_add_lane(builder, (track_id){l}, random_below(2), &number), 0);
        for (uint32_t i = 0; i < 12; i++, time_ns += random_below(3)) {
            assert_int_equal(graph_builder_add_point(builder, time_ns, random_below(2) ? INTERVAL_WORK : INTERVAL_WAIT, SPAN_NONE, random_below(3), &number), 0);
            times_ns[points++] = time_ns;
        }
    }
    for (uint32_t joins = 0; joins < 8; joins++)
        assert_int_equal(graph_builder_add_join(builder, &number), 0);
    for (uint32_t i = 0; i < 90; i++) {
        uint32_t from = random_below(points + 8), to = random_below(points + 8);
        bool turned = from < points && to < points && times_ns[from] > times_ns[to];
        assert_int_equal(graph_builder_add_edge(builder, turned ? to : from, turned ? from : to, random_below(EDGE_RULE_COUNT), random_below(3), random_below(3)), 0);
    }
    assert_int_equal(graph_builder_finish(builder, &graph, NULL), 0);
    graph_builder_destroy(builder);
    return graph;
}

static void test_larger_graphs(void **state)
{
    uint64_t made = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct dependency_graph *graph = larger_graph(seed);
        made += compare(graph);
        dependency_graph_destroy(graph);
    }
    assert_true(made > 1000); /* or no point was ever reached from many nodes */
    (void)state;
}

/* Two lanes of a point each, in two shares: each comes from the other. Neither share sees a circle. */
static void test_circle_among_shares(void **state)
{
    static const int64_t times_ns[2] = {5, 5}, weights_ns[2];
    static const uint32_t lanes_of[2] = {0, 1}, order[2] = {0, 1};
    static const uint8_t intervals[2];
    static const span_id spans[2];
    static const struct graph_lane lanes[2] = {{.first_point = 0, .point_count = 1}, {.first_point = 1, .point_count = 1}};
    static const struct share_node nodes[2] = {{0, 0}, {1, 1}};
    struct path_whole *whole;
    bool circle = false;
    assert_int_equal(path_whole_create(2, 2, &whole), 0);
    for (uint32_t s = 0; s < 2; s++) {
        const uint32_t turned[2] = {1, 0}, first_edge[3] = {0, s == 0, 1};
        const struct graph_edge edge = {.from = 1 - s};
        const bool foreign[2] = {s == 1, s == 0};
        const struct dependency_graph graph = {.lanes = lanes, .lane_count = 2, .point_count = 2, .time_ns = times_ns, .lane = lanes_of, .interval = intervals,
                                               .span = spans, .interval_weight_ns = weights_ns, .first_edge = first_edge, .edges = &edge, .edge_count = 1,
                                               .order = s == 0 ? turned : order};
        struct path_share share = {.graph = &graph, .foreign = foreign, .nodes = nodes, .node_count = 2};
        struct parcel ways = PARCEL_INIT;
        assert_int_equal(path_share_contract(&share, &ways), 0);
        assert_int_equal(path_whole_take_ways(whole, s, &ways), 0);
        path_share_finish(&share);
    }
    assert_int_equal(path_whole_solve(whole, &circle), 0);
    assert_true(circle);
    path_whole_destroy(whole);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_small_graphs), cmocka_unit_test(test_larger_graphs), cmocka_unit_test(test_circle_among_shares)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
