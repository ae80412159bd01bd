/* SPDX-License-Identifier: MIT */
/* What bound, what it weighs, the order of points, and the run recomputed, on graphs made by hand and at random. */
#include "random_graph.h"

#include "analysis/graph_internal.h"
#include "analysis/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    struct graph_builder *builder;
    struct dependency_graph *graph;
};

static struct fixture start(void)
{
    struct fixture fixture = {.graph = NULL};
    assert_int_equal(graph_builder_create(NULL, &fixture.builder), 0);
    return fixture;
}

static void finish(struct fixture *fixture)
{
    assert_int_equal(graph_builder_finish(fixture->builder, &fixture->graph, NULL), 0);
    graph_builder_destroy(fixture->builder);
}

static void lane(struct fixture *fixture, int64_t bound_ns)
{
    uint32_t number;
    assert_int_equal(graph_builder_add_lane(fixture->builder, TRACK_NONE, bound_ns, &number), 0);
}

static uint32_t point(struct fixture *fixture, int64_t time_ns, enum interval_kind kind, uint32_t class_of_wait)
{
    uint32_t number;
    assert_int_equal(graph_builder_add_point(fixture->builder, time_ns, kind, SPAN_NONE, class_of_wait, &number), 0);
    return number;
}

static uint32_t join(struct fixture *fixture)
{
    uint32_t number;
    assert_int_equal(graph_builder_add_join(fixture->builder, &number), 0);
    return number;
}

static void edge(struct fixture *fixture, uint32_t from, uint32_t to, enum edge_rule rule, uint32_t class_of_lag)
{
    assert_int_equal(graph_builder_add_edge(fixture->builder, from, to, rule, CONFIDENCE_CERTAIN, class_of_lag), 0);
}

static const struct graph_edge *only_edge(const struct dependency_graph *graph, uint32_t to)
{
    assert_int_equal(graph->first_edge[to + 1] - graph->first_edge[to], 1);
    return &graph->edges[graph->first_edge[to]];
}

static void test_a_wait_ends_by_what_released_it(void **state)
{
    struct fixture fixture = start();
    lane(&fixture, 0);
    point(&fixture, 0, INTERVAL_WORK, 0);
    uint32_t send = point(&fixture, 50, INTERVAL_WORK, 0);
    uint32_t late_send = point(&fixture, 100, INTERVAL_WORK, 0);
    lane(&fixture, 0);
    point(&fixture, 0, INTERVAL_WORK, 0);
    point(&fixture, 60, INTERVAL_WORK, 0);
    uint32_t received = point(&fixture, 65, INTERVAL_WAIT, 7); /* was there already: 5 of own work */
    uint32_t received_late = point(&fixture, 108, INTERVAL_WAIT, 7);
    uint32_t nothing = point(&fixture, 120, INTERVAL_WAIT, 0);
    uint32_t known = point(&fixture, 130, INTERVAL_WAIT, 0);
    graph_builder_explain(fixture.builder, known);
    edge(&fixture, send, received, EDGE_RULE_MESSAGE, 3);
    edge(&fixture, late_send, received_late, EDGE_RULE_MESSAGE, 3);
    finish(&fixture);
    const struct dependency_graph *graph = fixture.graph;
    assert_int_equal(graph->interval[received], INTERVAL_WORK);
    assert_int_equal(graph->interval_weight_ns[received], 5);
    assert_false(only_edge(graph, received)->bound);
    assert_int_equal(only_edge(graph, received)->weight_ns, 8); /* the least that bound in its class, not its own 15 */
    assert_int_equal(graph->interval[received_late], INTERVAL_WAIT);
    assert_int_equal(graph->interval_weight_ns[received_late], 5); /* what such a call takes by itself */
    assert_true(only_edge(graph, received_late)->bound);
    assert_int_equal(only_edge(graph, received_late)->weight_ns, 8);
    assert_int_equal(graph->interval[nothing], INTERVAL_UNEXPLAINED);
    assert_int_equal(graph->interval_weight_ns[nothing], 12);
    assert_int_equal(graph->interval[known], INTERVAL_WORK);
    assert_int_equal(graph->counts.unexplained, 1);
    assert_int_equal(graph->counts.unexplained_ns, 12);
    assert_int_equal(graph->counts.by_rule[EDGE_RULE_MESSAGE][CONFIDENCE_CERTAIN], 2);
    dependency_graph_destroy(fixture.graph);
}

static void test_a_stream_idles_until_a_launch_or_goes_on_in_order(void **state)
{
    struct fixture fixture = start();
    lane(&fixture, 0);
    uint32_t first_launch = point(&fixture, 0, INTERVAL_WORK, 0);
    uint32_t second_launch = point(&fixture, 1, INTERVAL_WORK, 0);
    uint32_t third_launch = point(&fixture, 90, INTERVAL_WORK, 0);
    lane(&fixture, 0);
    uint32_t first = point(&fixture, 10, INTERVAL_IDLE, 0);
    point(&fixture, 40, INTERVAL_WORK, 0);
    uint32_t second = point(&fixture, 42, INTERVAL_IDLE, 5);
    point(&fixture, 60, INTERVAL_WORK, 0);
    uint32_t third = point(&fixture, 99, INTERVAL_IDLE, 5);
    uint32_t orphan = point(&fixture, 110, INTERVAL_IDLE, 5);
    edge(&fixture, first_launch, first, EDGE_RULE_LAUNCH, 9);
    edge(&fixture, second_launch, second, EDGE_RULE_LAUNCH, 9);
    edge(&fixture, third_launch, third, EDGE_RULE_LAUNCH, 9);
    finish(&fixture);
    const struct dependency_graph *graph = fixture.graph;
    assert_int_equal(only_edge(graph, first)->weight_ns, 10);
    assert_false(only_edge(graph, second)->bound);
    assert_int_equal(only_edge(graph, second)->weight_ns, 9);
    assert_int_equal(graph->interval[second], INTERVAL_IDLE);
    assert_int_equal(graph->interval_weight_ns[second], 2);
    assert_int_equal(only_edge(graph, third)->weight_ns, 9);
    assert_int_equal(graph->interval_weight_ns[third], 2);
    assert_int_equal(graph->interval[orphan], INTERVAL_UNEXPLAINED);
    dependency_graph_destroy(fixture.graph);
}

static void test_a_preempted_thread_waits_for_its_processor(void **state)
{
    struct fixture fixture = start();
    lane(&fixture, 0);
    point(&fixture, 0, INTERVAL_WORK, 0);
    uint32_t leaves = point(&fixture, 30, INTERVAL_WORK, 0);
    lane(&fixture, 0);
    point(&fixture, 20, INTERVAL_WORK, 0);
    uint32_t returns = point(&fixture, 32, INTERVAL_DESCHEDULED, 0);
    uint32_t again = point(&fixture, 50, INTERVAL_DESCHEDULED, 0);
    edge(&fixture, leaves, returns, EDGE_RULE_PROCESSOR, 0);
    finish(&fixture);
    assert_int_equal(only_edge(fixture.graph, returns)->confidence, CONFIDENCE_HIGH); /* no better than its rule */
    assert_int_equal(only_edge(fixture.graph, returns)->weight_ns, 2);
    assert_int_equal(fixture.graph->interval_weight_ns[returns], 0);
    assert_int_equal(fixture.graph->interval_weight_ns[again], 18); /* nobody is known to have been in the way */
    assert_int_equal(fixture.graph->interval[again], INTERVAL_DESCHEDULED);
    dependency_graph_destroy(fixture.graph);
}

static void test_a_barrier_is_one_join(void **state)
{
    struct fixture fixture = start();
    uint32_t enter[3], leave[3];
    for (uint32_t l = 0; l < 3; l++) {
        lane(&fixture, 0);
        point(&fixture, 0, INTERVAL_WORK, 0);
        enter[l] = point(&fixture, 10 * (l + 1), INTERVAL_WORK, 0);
        leave[l] = point(&fixture, 32 + l, INTERVAL_WAIT, 0);
    }
    uint32_t outer = join(&fixture), inner = join(&fixture); /* made before what it hangs at */
    edge(&fixture, inner, outer, EDGE_RULE_BARRIER, 0);
    for (uint32_t l = 0; l < 3; l++) {
        edge(&fixture, enter[l], l < 2 ? inner : outer, EDGE_RULE_BARRIER, 0);
        edge(&fixture, outer, leave[l], EDGE_RULE_BARRIER, 0);
    }
    finish(&fixture);
    assert_int_equal(fixture.graph->time_ns[inner], 20);
    assert_int_equal(fixture.graph->time_ns[outer], 30);
    assert_int_equal(fixture.graph->lane[outer], LANE_NONE);
    for (uint32_t l = 0; l < 2; l++)
        assert_int_equal(only_edge(fixture.graph, leave[l])->weight_ns, 2 + l);
    assert_int_equal(fixture.graph->interval[leave[2]], INTERVAL_WORK); /* the last to come waits for nobody */
    assert_int_equal(fixture.graph->interval_weight_ns[leave[2]], 4);
    dependency_graph_destroy(fixture.graph);
}

static void test_clocks_make_edges_less_sure_or_unusable(void **state)
{
    struct fixture fixture = start();
    lane(&fixture, 0);
    uint32_t send = point(&fixture, 100, INTERVAL_WORK, 0);
    lane(&fixture, 20);
    point(&fixture, 0, INTERVAL_WORK, 0);
    uint32_t impossible = point(&fixture, 79, INTERVAL_WAIT, 0);
    uint32_t early = point(&fixture, 80, INTERVAL_WAIT, 0);
    uint32_t close = point(&fixture, 119, INTERVAL_WAIT, 0);
    uint32_t clear = point(&fixture, 120, INTERVAL_WAIT, 0);
    edge(&fixture, send, impossible, EDGE_RULE_MESSAGE, 0);
    edge(&fixture, send, early, EDGE_RULE_MESSAGE, 0);
    edge(&fixture, send, close, EDGE_RULE_MESSAGE, 0);
    edge(&fixture, send, clear, EDGE_RULE_MESSAGE, 0);
    edge(&fixture, send, close, EDGE_RULE_TIME, 0); /* medium, and that no more */
    finish(&fixture);
    const struct dependency_graph *graph = fixture.graph;
    assert_int_equal(graph->counts.backward, 1);
    assert_int_equal(graph->counts.largest_backward_ns, 21);
    assert_int_equal(graph->counts.below_medium, 1);
    assert_int_equal(graph->interval[impossible], INTERVAL_UNEXPLAINED);
    assert_int_equal(only_edge(graph, early)->weight_ns, 0);
    assert_true(only_edge(graph, early)->bound);
    assert_int_equal(only_edge(graph, early)->confidence, CONFIDENCE_HIGH);
    assert_int_equal(only_edge(graph, close)->confidence, CONFIDENCE_HIGH);
    assert_int_equal(only_edge(graph, close)->weight_ns, 19);
    assert_int_equal(only_edge(graph, clear)->confidence, CONFIDENCE_CERTAIN);
    dependency_graph_destroy(fixture.graph);
}

static void test_circles_of_one_time_lose_their_least_sure_edge(void **state)
{
    struct fixture fixture = start();
    uint32_t points[3][3];
    for (uint32_t l = 0; l < 3; l++) {
        lane(&fixture, 0);
        point(&fixture, 0, INTERVAL_WORK, 0);
        for (uint32_t i = 0; i < 3; i++)
            points[l][i] = point(&fixture, 10, INTERVAL_WAIT, 0);
    }
    edge(&fixture, points[0][2], points[1][0], EDGE_RULE_MESSAGE, 0);
    edge(&fixture, points[1][2], points[2][0], EDGE_RULE_TIME, 0);
    edge(&fixture, points[2][2], points[0][0], EDGE_RULE_BLOCKING_COPY, 0);
    edge(&fixture, points[0][1], points[0][1], EDGE_RULE_MESSAGE, 0); /* from itself */
    edge(&fixture, points[0][2], points[0][1], EDGE_RULE_MESSAGE, 0); /* from what comes later */
    finish(&fixture);
    assert_int_equal(fixture.graph->counts.cycles, 3);
    assert_int_equal(fixture.graph->edge_count, 2);
    assert_int_equal(fixture.graph->counts.by_rule[EDGE_RULE_TIME][CONFIDENCE_MEDIUM], 0);
    dependency_graph_destroy(fixture.graph);
}

static void test_hostile_building_is_refused(void **state)
{
    struct fixture fixture = start();
    uint32_t number, a, b;
    assert_int_equal(graph_builder_add_point(fixture.builder, 0, INTERVAL_WORK, SPAN_NONE, 0, &number), -EINVAL);
    assert_int_equal(graph_builder_add_lane(fixture.builder, TRACK_NONE, -1, &number), -EINVAL);
    lane(&fixture, 0);
    a = point(&fixture, 5, INTERVAL_WORK, 0);
    assert_int_equal(graph_builder_add_point(fixture.builder, 4, INTERVAL_WORK, SPAN_NONE, 0, &number), -EINVAL);
    assert_int_equal(graph_builder_add_point(fixture.builder, INT64_MAX, INTERVAL_WORK, SPAN_NONE, 0, &number),
                     -ERANGE);
    b = join(&fixture);
    assert_int_equal(graph_builder_add_point(fixture.builder, 6, INTERVAL_WORK, SPAN_NONE, 0, &number), -EINVAL);
    assert_int_equal(graph_builder_add_lane(fixture.builder, TRACK_NONE, 0, &number), -EINVAL);
    assert_int_equal(graph_builder_add_edge(fixture.builder, a, 2, EDGE_RULE_FORK, CONFIDENCE_CERTAIN, 0), -EINVAL);
    assert_int_equal(graph_builder_add_edge(fixture.builder, a, b, EDGE_RULE_COUNT, CONFIDENCE_CERTAIN, 0), -EINVAL);
    fixture.builder->maximum = 2;
    assert_int_equal(graph_builder_add_join(fixture.builder, &number), -EFBIG);
    edge(&fixture, a, b, EDGE_RULE_FORK, 0);
    edge(&fixture, a, b, EDGE_RULE_FORK, 0);
    assert_int_equal(graph_builder_add_edge(fixture.builder, a, b, EDGE_RULE_FORK, CONFIDENCE_CERTAIN, 0), -EFBIG);
    finish(&fixture);
    assert_int_equal(fixture.graph->point_count, 2);
    dependency_graph_destroy(fixture.graph);
}

static void test_long_chains_of_joins_need_no_stack(void **state)
{
    enum { COUNT = 300000 };
    struct fixture fixture = start();
    lane(&fixture, 0);
    uint32_t begin = point(&fixture, 3, INTERVAL_WORK, 0), first = join(&fixture);
    for (uint32_t i = 1; i < COUNT; i++)
        edge(&fixture, join(&fixture), first + i - 1, EDGE_RULE_BARRIER, 0);
    edge(&fixture, begin, first + COUNT - 1, EDGE_RULE_BARRIER, 0);
    edge(&fixture, first, first + COUNT - 1, EDGE_RULE_BARRIER, 0); /* and it bites its tail */
    finish(&fixture);
    assert_int_equal(fixture.graph->time_ns[first], 3);
    assert_int_equal(fixture.graph->counts.cycles, 1);
    dependency_graph_destroy(fixture.graph);
}

static void check_order(const struct dependency_graph *graph)
{
    uint32_t place[RANDOM_POINTS_MAX];
    memset(place, 0xff, sizeof(place));
    for (uint32_t i = 0; i < graph->point_count; i++)
        place[graph->order[i]] = i;
    for (uint32_t p = 0; p < graph->point_count; p++) {
        assert_true(place[p] < graph->point_count);
        if (graph_previous_point(graph, p) != POINT_NONE)
            assert_true(place[p - 1] < place[p]);
        for (uint32_t e = graph->first_edge[p]; e < graph->first_edge[p + 1]; e++)
            assert_true(place[graph->edges[e].from] < place[p]);
    }
}

/* Without an order: relaxes everything until nothing changes. */
static void relax(const struct dependency_graph *graph, const int64_t *interval_ns, const int64_t *edge_ns,
                  int64_t *time_ns)
{
    for (uint32_t p = 0; p < graph->point_count; p++) {
        bool source = graph_previous_point(graph, p) == POINT_NONE && graph->first_edge[p] == graph->first_edge[p + 1];
        time_ns[p] = source ? graph->time_ns[p] : INT64_MIN / 2;
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t p = graph->point_count; p-- > 0;) {
            int64_t latest_ns = time_ns[p];
            if (graph_previous_point(graph, p) != POINT_NONE && time_ns[p - 1] + interval_ns[p] > latest_ns)
                latest_ns = time_ns[p - 1] + interval_ns[p];
            for (uint32_t e = graph->first_edge[p]; e < graph->first_edge[p + 1]; e++)
                if (time_ns[graph->edges[e].from] + edge_ns[e] > latest_ns)
                    latest_ns = time_ns[graph->edges[e].from] + edge_ns[e];
            changed |= latest_ns != time_ns[p];
            time_ns[p] = latest_ns;
        }
    }
}

static void test_replay_gives_measured_times_and_relaxed_ones(void **state)
{
    for (uint64_t seed = 20001; seed <= 30000; seed++) {
        struct dependency_graph *graph = random_graph(seed, false, seed % 3 == 0);
        int64_t replayed[RANDOM_POINTS_MAX + 1], relaxed[RANDOM_POINTS_MAX + 1];
        int64_t interval_ns[RANDOM_POINTS_MAX + 1], edge_ns[64];
        check_order(graph);
        replay(graph, NULL, NULL, replayed);
        for (uint32_t p = 0; p < graph->point_count; p++)
            if (graph->lane[p] != LANE_NONE)
                assert_int_equal(replayed[p], graph->time_ns[p]);
        for (uint32_t p = 0; p < graph->point_count; p++)
            interval_ns[p] = random_below(2) ? graph->interval_weight_ns[p] : random_below(10);
        assert_true(graph->edge_count <= 64);
        for (uint32_t e = 0; e < graph->edge_count; e++)
            edge_ns[e] = random_below(2) ? graph->edges[e].weight_ns : random_below(10);
        replay(graph, interval_ns, edge_ns, replayed);
        relax(graph, interval_ns, edge_ns, relaxed);
        assert_memory_equal(replayed, relaxed, graph->point_count * sizeof(*relaxed));
        dependency_graph_destroy(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_wait_ends_by_what_released_it),
        cmocka_unit_test(test_a_stream_idles_until_a_launch_or_goes_on_in_order),
        cmocka_unit_test(test_a_preempted_thread_waits_for_its_processor),
        cmocka_unit_test(test_a_barrier_is_one_join),
        cmocka_unit_test(test_clocks_make_edges_less_sure_or_unusable),
        cmocka_unit_test(test_circles_of_one_time_lose_their_least_sure_edge),
        cmocka_unit_test(test_hostile_building_is_refused),
        cmocka_unit_test(test_long_chains_of_joins_need_no_stack),
        cmocka_unit_test(test_replay_gives_measured_times_and_relaxed_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
