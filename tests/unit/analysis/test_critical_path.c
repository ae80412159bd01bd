/* SPDX-License-Identifier: MIT */
/* The critical path against all paths of small graphs, written out one by one, tie rule included; and paths known by
 * construction. */
#include "random_graph.h"

#include "analysis/critical_path.h"

#include <stdlib.h>
#include <string.h>

struct way {
    uint32_t point[RANDOM_POINTS_MAX],
        edge[RANDOM_POINTS_MAX]; /* from the end backwards; edge: how the point was come to */
    uint32_t count;
    int64_t length_ns, explained_ns;
    enum confidence least;
};

struct search {
    const struct dependency_graph *graph;
    struct way at, best;
    bool found;
    uint64_t ways;
    int64_t longest_through[RANDOM_POINTS_MAX]; /* by point */
};

static int compare_places(const struct dependency_graph *graph, uint32_t left, uint32_t right)
{
    if (graph->lane[left] != graph->lane[right])
        return graph->lane[left] < graph->lane[right] ? -1 : 1;
    if (graph->time_ns[left] != graph->time_ns[right])
        return graph->time_ns[left] < graph->time_ns[right] ? -1 : 1;
    return left < right ? -1 : left > right;
}

static int compare_connections(const struct dependency_graph *graph, uint32_t left, uint32_t right)
{
    if (left == right)
        return 0;
    if (left == EDGE_NONE || right == EDGE_NONE)
        return left == EDGE_NONE ? -1 : 1;
    const struct graph_edge *a = &graph->edges[left], *b = &graph->edges[right];
    if (a->confidence != b->confidence)
        return a->confidence < b->confidence ? -1 : 1;
    if (a->rule != b->rule)
        return a->rule < b->rule ? -1 : 1;
    return left < right ? -1 : 1;
}

/* Which of two ways the rule prefers: < 0 the left one. */
static int compare_ways(const struct dependency_graph *graph, const struct way *left, const struct way *right)
{
    if (left->length_ns != right->length_ns)
        return left->length_ns > right->length_ns ? -1 : 1;
    if (left->explained_ns != right->explained_ns)
        return left->explained_ns > right->explained_ns ? -1 : 1;
    if (left->least != right->least)
        return left->least < right->least ? -1 : 1;
    for (uint32_t i = 0; i < left->count && i < right->count; i++) {
        int order = compare_places(graph, left->point[i], right->point[i]);
        if (order == 0 && i > 0) /* between the same two points */
            order = compare_connections(graph, left->edge[i - 1], right->edge[i - 1]);
        if (order)
            return order;
    }
    return 0;
}

static void come_to(struct search *search, uint32_t point);

static void extend(struct search *search, uint32_t from, uint32_t edge, int64_t weight_ns, bool explained,
                   enum confidence confidence)
{
    struct way before = search->at;
    search->at.edge[search->at.count - 1] = edge;
    search->at.length_ns += weight_ns;
    search->at.explained_ns += explained ? weight_ns : 0;
    if (confidence > search->at.least)
        search->at.least = confidence;
    come_to(search, from);
    search->at = before;
}

static void end_way(struct search *search)
{
    const struct dependency_graph *graph = search->graph;
    struct way way = search->at;
    uint32_t first = way.point[way.count - 1];
    way.length_ns += graph->time_ns[first] - graph->begin_ns;
    way.edge[way.count - 1] = EDGE_NONE;
    search->ways++;
    for (uint32_t i = 0; i < way.count; i++)
        if (way.length_ns > search->longest_through[way.point[i]])
            search->longest_through[way.point[i]] = way.length_ns;
    if (!search->found || compare_ways(graph, &way, &search->best) < 0)
        search->best = way;
    search->found = true;
}

/* All ways backwards from here. */
static void come_to(struct search *search, uint32_t point)
{
    const struct dependency_graph *graph = search->graph;
    uint32_t lane = graph->lane[point];
    bool has_previous = lane != LANE_NONE && graph->lanes[lane].first_point != point;
    assert_in_range(search->at.count, 0, RANDOM_POINTS_MAX - 1);
    search->at.point[search->at.count++] = point;
    if (has_previous)
        extend(search, point - 1, EDGE_NONE, graph->interval_weight_ns[point],
               graph->interval[point] != INTERVAL_UNEXPLAINED, CONFIDENCE_CERTAIN);
    for (uint32_t e = graph->first_edge[point]; e < graph->first_edge[point + 1]; e++)
        extend(search, graph->edges[e].from, e, graph->edges[e].weight_ns, graph->edges[e].rule != EDGE_RULE_LANE_START,
               graph->edges[e].confidence);
    if (!has_previous && graph->first_edge[point] == graph->first_edge[point + 1])
        end_way(search);
    search->at.count--;
}

static void compare_with_all_ways(uint64_t seed, bool clocks, bool backward, bool rules[EDGE_RULE_COUNT])
{
    struct dependency_graph *graph = random_graph(seed, clocks, backward);
    struct critical_path *path;
    struct search search = {.graph = graph};
    assert_int_equal(critical_path_create(graph, &path, NULL), 0);
    for (uint32_t p = 0; p < graph->point_count; p++)
        search.longest_through[p] = INT64_MIN;
    for (uint32_t p = 0; p < graph->point_count; p++)
        come_to(&search, p);
    assert_int_equal(path->step_count, search.best.count);
    assert_int_equal(path->length_ns, search.best.length_ns);
    assert_int_equal(path->explained_ns, search.best.explained_ns);
    assert_int_equal(path->least_confidence, search.best.least);
    int64_t sum_ns = 0;
    for (uint32_t s = 0; s < path->step_count; s++) {
        uint32_t i = path->step_count - 1 - s;
        assert_int_equal(path->steps[s].point, search.best.point[i]);
        assert_int_equal(path->steps[s].edge, search.best.edge[i]);
        sum_ns += path_step_weight(path, s);
    }
    assert_int_equal(sum_ns, path->length_ns);
    for (uint32_t p = 0; p < graph->point_count; p++)
        assert_int_equal(path->slack_ns[p], path->length_ns - search.longest_through[p]);
    if (!clocks)
        assert_int_equal(path->length_ns, graph->end_ns - graph->begin_ns);
    assert_true(path->length_low_ns <= path->length_ns && path->length_ns <= path->length_high_ns);
    for (uint32_t e = 0; e < graph->edge_count; e++)
        rules[graph->edges[e].rule] = true;
    critical_path_destroy(path);
    dependency_graph_destroy(graph);
}

static void test_it_is_the_best_of_all_ways_of_ten_thousand_graphs(void **state)
{
    bool rules[EDGE_RULE_COUNT] = {false};
    for (uint64_t seed = 1; seed <= 10000; seed++)
        compare_with_all_ways(seed, seed % 4 == 0, seed % 3 == 0, rules);
    for (int rule = 0; rule < EDGE_RULE_COUNT; rule++)
        assert_true(rules[rule]);
}

struct made {
    struct graph_builder *builder;
    struct dependency_graph *graph;
    struct critical_path *path;
};

static struct made start_made(void)
{
    struct made made = {.graph = NULL};
    assert_int_equal(graph_builder_create(NULL, &made.builder), 0);
    return made;
}

static uint32_t lane(struct made *made, int64_t bound_ns)
{
    uint32_t number;
    assert_int_equal(graph_builder_add_lane(made->builder, TRACK_NONE, bound_ns, &number), 0);
    return number;
}

static uint32_t point(struct made *made, int64_t time_ns, enum interval_kind kind)
{
    uint32_t number;
    assert_int_equal(graph_builder_add_point(made->builder, time_ns, kind, SPAN_NONE, 0, &number), 0);
    return number;
}

static void edge(struct made *made, uint32_t from, uint32_t to, enum edge_rule rule)
{
    assert_int_equal(graph_builder_add_edge(made->builder, from, to, rule, edge_rule_confidence(rule), 0), 0);
}

static void find(struct made *made)
{
    assert_int_equal(graph_builder_finish(made->builder, &made->graph, NULL), 0);
    assert_int_equal(critical_path_create(made->graph, &made->path, NULL), 0);
}

static void end_made(struct made *made)
{
    critical_path_destroy(made->path);
    dependency_graph_destroy(made->graph);
    graph_builder_destroy(made->builder);
}

static void test_it_crosses_to_the_late_sender(void **state)
{
    struct made made = start_made();
    lane(&made, 0);
    point(&made, 0, INTERVAL_WORK);
    uint32_t send = point(&made, 90, INTERVAL_WORK);
    point(&made, 95, INTERVAL_WORK);
    lane(&made, 0);
    point(&made, 0, INTERVAL_WORK);
    point(&made, 10, INTERVAL_WORK);
    uint32_t received = point(&made, 100, INTERVAL_WAIT);
    uint32_t end = point(&made, 150, INTERVAL_WORK);
    edge(&made, send, received, EDGE_RULE_MESSAGE);
    find(&made);
    assert_int_equal(made.path->length_ns, 150);
    assert_int_equal(made.path->explained_ns, 150);
    assert_int_equal(made.path->rule_ns[EDGE_RULE_MESSAGE], 10);
    assert_int_equal(made.path->kind_ns[INTERVAL_WORK], 140);
    assert_int_equal(made.path->step_count, 4);
    assert_int_equal(made.path->steps[1].point, send);
    assert_int_equal(made.path->steps[3].point, end);
    assert_int_equal(made.path->slack_ns[4], 90); /* the receiver might have come 90 later */
    end_made(&made);
}

static void test_time_that_nothing_explains_is_said(void **state)
{
    struct made made = start_made();
    lane(&made, 0);
    point(&made, 0, INTERVAL_WORK);
    point(&made, 10, INTERVAL_WORK);
    point(&made, 100, INTERVAL_WAIT);
    find(&made);
    assert_int_equal(made.path->length_ns, 100);
    assert_int_equal(made.path->explained_ns, 10);
    assert_int_equal(made.path->kind_ns[INTERVAL_UNEXPLAINED], 90);
    assert_int_equal(made.path->confidence_ns[CONFIDENCE_CERTAIN], 10);
    end_made(&made);
}

static void test_clock_errors_of_the_way_cancel_but_for_its_ends(void **state)
{
    struct made made = start_made();
    lane(&made, 0);
    point(&made, 0, INTERVAL_WORK);
    uint32_t sent = point(&made, 1000, INTERVAL_WORK);
    uint32_t back = point(&made, 4000, INTERVAL_WAIT);
    point(&made, 5000, INTERVAL_WORK);
    lane(&made, 300);
    point(&made, 100, INTERVAL_WORK);
    uint32_t received = point(&made, 1500, INTERVAL_WAIT);
    uint32_t answered = point(&made, 3500, INTERVAL_WORK);
    edge(&made, sent, received, EDGE_RULE_MESSAGE);
    edge(&made, answered, back, EDGE_RULE_MESSAGE);
    find(&made);
    assert_int_equal(made.path->length_ns, 5000);
    assert_int_equal(made.path->length_low_ns, 5000); /* begins and ends on one lane */
    assert_int_equal(made.path->length_high_ns, 5000);
    end_made(&made);
    made = start_made();
    lane(&made, 0);
    point(&made, 0, INTERVAL_WORK);
    sent = point(&made, 1000, INTERVAL_WORK);
    uint32_t other_end = point(&made, 1900, INTERVAL_WORK);
    lane(&made, 300);
    point(&made, 100, INTERVAL_WORK);
    received = point(&made, 1500, INTERVAL_WAIT);
    point(&made, 2100, INTERVAL_WORK);
    edge(&made, sent, received, EDGE_RULE_MESSAGE);
    find(&made);
    assert_int_equal(made.path->length_ns, 2100);
    assert_int_equal(made.path->length_low_ns, 1800);
    assert_int_equal(made.path->length_high_ns, 2400);
    assert_int_equal(made.path->near_count, 1); /* the first lane's end may be the later one */
    assert_int_equal(made.path->near_paths[0].from, other_end);
    assert_int_equal(made.path->near_paths[0].slack_ns, 200);
    end_made(&made);
}

static void test_an_empty_graph_and_a_single_point_have_paths(void **state)
{
    struct made made = start_made();
    find(&made);
    assert_int_equal(made.path->step_count, 0);
    assert_int_equal(made.path->length_ns, 0);
    end_made(&made);
    made = start_made();
    lane(&made, 0);
    lane(&made, 0);
    point(&made, -7, INTERVAL_WAIT);
    lane(&made, 0);
    find(&made);
    assert_int_equal(made.path->step_count, 1);
    assert_int_equal(made.path->length_ns, 0);
    assert_int_equal(made.graph->begin_ns, -7);
    end_made(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_the_best_of_all_ways_of_ten_thousand_graphs),
        cmocka_unit_test(test_it_crosses_to_the_late_sender),
        cmocka_unit_test(test_time_that_nothing_explains_is_said),
        cmocka_unit_test(test_clock_errors_of_the_way_cancel_but_for_its_ends),
        cmocka_unit_test(test_an_empty_graph_and_a_single_point_have_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
