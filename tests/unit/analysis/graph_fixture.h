/* SPDX-License-Identifier: MIT */
/* Small traces made by hand for the tests of the dependency graph, and looking into what becomes of them. */
#ifndef HP_TESTS_GRAPH_FIXTURE_H
#define HP_TESTS_GRAPH_FIXTURE_H

#include "../trace/trace_fixture.h"

#include "analysis/dependency_graph.h"
#include "analysis/replay.h"

/* A process of a rank, as many as are added; its main thread's track is returned. */
static inline track_id graph_rank(struct trace_builder *builder, int32_t rank)
{
    process_id process;
    const struct trace_process row = {.node = {0}, .pid = 1000 + rank, .rank = rank, .end_ns = INT64_MIN, .parent = PROCESS_NONE,
                                      .command = trace_builder_string(builder, "rank"), .exit_status = -1, .start_ns = INT64_MIN / 8};
    assert_int_equal(trace_builder_add_process(builder, &row, &process), 0);
    const struct trace_track track = {.kind = TRACK_KIND_THREAD, .name = trace_builder_string(builder, "rank"), .process = process,
                                      .tid = 1000 + rank, .device = -1, .stream = -1, .start_ns = INT64_MIN, .end_ns = INT64_MIN};
    track_id id;
    assert_int_equal(trace_builder_add_track(builder, &track, &id), 0);
    return id;
}

static inline void set_u64(struct payload *payload, unsigned field, uint64_t value)
{
    payload->present |= 1u << field;
    payload->fields[field].u64 = value;
}

static inline void set_text(struct trace_builder *builder, struct payload *payload, unsigned field, const char *text)
{
    payload->present |= 1u << field;
    payload->fields[field].string = trace_builder_string(builder, text);
}

static inline span_id graph_span(struct trace_builder *builder, track_id track, int64_t begin_ns, int64_t end_ns, const char *name, enum span_kind kind,
                                 const struct payload *payload)
{
    const struct span span = {.track = track, .begin_ns = begin_ns, .end_ns = end_ns, .kind = kind, .parent = SPAN_NONE,
                              .name = trace_builder_string(builder, name), .stack = STACK_NONE};
    span_id handle;
    assert_int_equal(trace_builder_add_span(builder, &span, payload, &handle), 0);
    return handle;
}

static inline struct payload send_payload(struct trace_builder *builder, int32_t to, uint64_t bytes, const char *mode, uint64_t order)
{
    struct payload payload = {.kind = PAYLOAD_MESSAGE};
    set_u64(&payload, FIELD_MESSAGE_comm, 1);
    set_u64(&payload, FIELD_MESSAGE_order, order);
    set_u64(&payload, FIELD_MESSAGE_send_to, (uint64_t)(int64_t)to);
    set_u64(&payload, FIELD_MESSAGE_send_tag, 0);
    set_u64(&payload, FIELD_MESSAGE_send_bytes, bytes);
    set_text(builder, &payload, FIELD_MESSAGE_mode, mode);
    return payload;
}

static inline struct payload receive_payload(int32_t from, uint64_t bytes, uint64_t order)
{
    struct payload payload = {.kind = PAYLOAD_MESSAGE};
    set_u64(&payload, FIELD_MESSAGE_comm, 1);
    set_u64(&payload, FIELD_MESSAGE_order, order);
    set_u64(&payload, FIELD_MESSAGE_receive_from, (uint64_t)(int64_t)from);
    set_u64(&payload, FIELD_MESSAGE_receive_tag, 0);
    set_u64(&payload, FIELD_MESSAGE_receive_bytes, bytes);
    return payload;
}

static inline void graph_link(struct trace_builder *builder, enum link_kind kind, span_id from, span_id to)
{
    const struct trace_link link = {.kind = kind, .confidence = CONFIDENCE_CERTAIN, .from = from, .to = to};
    assert_int_equal(trace_builder_add_link(builder, &link), 0);
}

static inline void graph_group(struct trace_builder *builder, enum link_kind kind, const span_id *spans, uint32_t count)
{
    const struct trace_group row = {.kind = kind, .name = STRING_NONE, .sequence = 0};
    group_id group;
    assert_int_equal(trace_builder_add_group(builder, &row, &group), 0);
    for (uint32_t i = 0; i < count; i++) {
        const struct group_member member = {.group = group, .span = spans[i], .rank = kind == LINK_KIND_COLLECTIVE ? (int32_t)i : -1};
        assert_int_equal(trace_builder_add_member(builder, &member), 0);
    }
}

struct made_graph {
    struct trace *trace;
    struct dependency_graph *graph;
};

/* The graph, of which the unchanged replay gives every point its measured time. */
static inline struct made_graph graph_made(struct trace_builder *builder, const struct graph_options *options)
{
    struct made_graph made = {.trace = fixture_finish(builder)};
    struct error err = ERROR_INIT;
    if (dependency_graph_create(made.trace, options, NULL, &made.graph, &err) < 0)
        fail_msg("%s", err.text);
    int64_t *times = malloc(((size_t)made.graph->point_count + 1) * sizeof *times);
    replay(made.graph, NULL, NULL, times);
    for (uint32_t p = 0; p < made.graph->point_count; p++)
        assert_int_equal(times[p], made.graph->time_ns[p]);
    free(times);
    return made;
}

static inline void graph_unmade(struct made_graph *made)
{
    dependency_graph_destroy(made->graph);
    trace_unref(made->trace);
}

/* The last point of a track at a time; POINT_NONE. */
static inline uint32_t point_at(const struct made_graph *made, track_id track, int64_t time_ns)
{
    uint32_t found = POINT_NONE;
    for (uint32_t l = 0; l < made->graph->lane_count; l++)
        for (uint32_t i = 0; track_id_is(made->graph->lanes[l].track, track) && i < made->graph->lanes[l].point_count; i++)
            if (made->graph->time_ns[made->graph->lanes[l].first_point + i] == time_ns)
                found = made->graph->lanes[l].first_point + i;
    return found;
}

static inline enum interval_kind kind_before(const struct made_graph *made, track_id track, int64_t time_ns)
{
    uint32_t point = point_at(made, track, time_ns);
    if (point == POINT_NONE)
        fail_msg("no point at %lld", (long long)time_ns);
    return (enum interval_kind)made->graph->interval[point];
}

/* The edge between two moments, through a join if it takes one; NULL. */
static inline const struct graph_edge *edge_between(const struct made_graph *made, track_id from, int64_t from_ns, track_id to, int64_t to_ns)
{
    const struct dependency_graph *graph = made->graph;
    uint32_t source = point_at(made, from, from_ns), point = point_at(made, to, to_ns);
    for (uint32_t e = point == POINT_NONE ? 0 : graph->first_edge[point]; point != POINT_NONE && e < graph->first_edge[point + 1]; e++) {
        uint32_t cause = graph->edges[e].from;
        if (cause == source)
            return &graph->edges[e];
        for (uint32_t j = graph->first_edge[cause]; graph->lane[cause] == LANE_NONE && j < graph->first_edge[cause + 1]; j++)
            if (graph->edges[j].from == source)
                return &graph->edges[e];
    }
    return NULL;
}

static inline void assert_edge(const struct made_graph *made, track_id from, int64_t from_ns, track_id to, int64_t to_ns, enum edge_rule rule,
                               enum confidence confidence, bool bound)
{
    const struct graph_edge *edge = edge_between(made, from, from_ns, to, to_ns);
    if (!edge)
        fail_msg("no edge from %lld to %lld", (long long)from_ns, (long long)to_ns);
    assert_string_equal(edge_rule_name((enum edge_rule)edge->rule), edge_rule_name(rule));
    assert_int_equal(edge->confidence, confidence);
    assert_int_equal(edge->bound, bound);
}

static inline uint64_t edges_by(const struct made_graph *made, enum edge_rule rule)
{
    const uint64_t *by = made->graph->counts.by_rule[rule];
    return by[CONFIDENCE_CERTAIN] + by[CONFIDENCE_HIGH] + by[CONFIDENCE_MEDIUM];
}

#endif
