/* SPDX-License-Identifier: MIT */
/* Small graphs at random, full of ties, zero lags, joins, waits and rules of every kind. */
#ifndef HP_TESTS_RANDOM_GRAPH_H
#define HP_TESTS_RANDOM_GRAPH_H

#include "unit.h"

#include "analysis/dependency_graph.h"
#include "base/error.h"

static uint64_t random_state;

static uint32_t random_below(uint32_t bound)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 16) % bound);
}

static void random_seed(uint64_t seed)
{
    random_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (int i = 0; i < 8; i++)
        random_below(2);
}

#define RANDOM_POINTS_MAX 16

struct random_points {
    int64_t time_ns[RANDOM_POINTS_MAX];
    uint32_t lane[RANDOM_POINTS_MAX];
    uint32_t count, joins;
};

static void random_lanes(struct graph_builder *builder, struct random_points *points, bool clocks)
{
    static const enum interval_kind kinds[] = {INTERVAL_WORK, INTERVAL_WORK, INTERVAL_WAIT,
                                               INTERVAL_WAIT, INTERVAL_IDLE, INTERVAL_DESCHEDULED};
    uint32_t lanes = 1 + random_below(4);
    for (uint32_t l = 0; l < lanes; l++) {
        uint32_t lane, point;
        assert_int_equal(graph_builder_add_lane(builder, (track_id){l}, clocks ? random_below(3) : 0, &lane), 0);
        assert_int_equal(lane, l);
        int64_t time_ns = random_below(4);
        uint32_t count = random_below(7);
        for (uint32_t i = 0; i < count && points->count < 12; i++, time_ns += random_below(4)) {
            uint32_t class_of_wait = random_below(3);
            assert_int_equal(
                graph_builder_add_point(builder, time_ns, kinds[random_below(6)], SPAN_NONE, class_of_wait, &point), 0);
            if (random_below(10) == 0)
                graph_builder_explain(builder, point);
            assert_int_equal(point, points->count);
            points->lane[points->count] = l;
            points->time_ns[points->count++] = time_ns;
        }
    }
}

/* `backward`: effects before their causes too. */
static void random_edges(struct graph_builder *builder, const struct random_points *points, bool backward)
{
    uint32_t all = points->count + points->joins;
    for (uint32_t i = 0; all > 1 && i < 4 + random_below(14); i++) {
        uint32_t from = random_below(all), to = random_below(all);
        if (from < points->count && to < points->count && points->time_ns[from] > points->time_ns[to] && !backward) {
            uint32_t other = from;
            from = to;
            to = other;
        }
        enum edge_rule rule = random_below(EDGE_RULE_COUNT);
        enum confidence confidence = random_below(20) == 0 ? CONFIDENCE_LOW : random_below(3);
        assert_int_equal(graph_builder_add_edge(builder, from, to, rule, confidence, random_below(3)), 0);
    }
}

static struct dependency_graph *random_graph(uint64_t seed, bool clocks, bool backward)
{
    struct graph_builder *builder;
    struct dependency_graph *graph;
    struct random_points points = {.count = 0};
    random_seed(seed);
    assert_int_equal(graph_builder_create(NULL, &builder), 0);
    random_lanes(builder, &points, clocks);
    for (uint32_t joins = points.count ? random_below(4) : 0; points.joins < joins; points.joins++) {
        uint32_t point;
        assert_int_equal(graph_builder_add_join(builder, &point), 0);
    }
    random_edges(builder, &points, backward);
    assert_int_equal(graph_builder_finish(builder, &graph, NULL), 0);
    graph_builder_destroy(builder);
    return graph;
}

#endif
