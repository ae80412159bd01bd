/* SPDX-License-Identifier: MIT */
/* Helpers for the trace tests: cmocka's includes, a builder with one process and tracks, a repeatable random source. */
#ifndef HP_TESTS_TRACE_FIXTURE_H
#define HP_TESTS_TRACE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/builder.h"

static inline uint32_t random_next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

static inline struct trace_builder *fixture_builder(size_t memory_limit)
{
    struct trace_builder *builder;
    struct error err = ERROR_INIT;
    struct builder_options options = {.memory_limit_bytes = memory_limit};
    assert_int_equal(trace_builder_create(&options, &builder, &err), 0);
    struct trace_node node = {.name = trace_builder_string(builder, "node0"),
                              .clock_domain = trace_builder_string(builder, "boot:1")};
    node_id node_index;
    assert_int_equal(trace_builder_add_node(builder, &node, &node_index), 0);
    struct trace_process process = {.node = node_index, .pid = 42, .rank = -1, .end_ns = INT64_MIN, .parent = PROCESS_NONE,
                                    .command = trace_builder_string(builder, "prog"), .exit_status = -1};
    process_id process_index;
    assert_int_equal(trace_builder_add_process(builder, &process, &process_index), 0);
    return builder;
}

static inline track_id fixture_track(struct trace_builder *builder, enum track_kind kind, const char *name, int32_t tid)
{
    struct trace_track track = {.kind = kind, .name = trace_builder_string(builder, name), .process = {0}, .tid = tid,
                                .device = -1, .stream = -1, .start_ns = INT64_MIN, .end_ns = INT64_MIN};
    track_id id;
    assert_int_equal(trace_builder_add_track(builder, &track, &id), 0);
    return id;
}

static inline span_id fixture_span(struct trace_builder *builder, track_id track, int64_t begin_ns, int64_t end_ns,
                                   const char *name, enum span_kind kind)
{
    struct span span = {.track = track, .begin_ns = begin_ns, .end_ns = end_ns, .kind = kind, .parent = SPAN_NONE,
                        .name = trace_builder_string(builder, name), .stack = STACK_NONE};
    span_id handle;
    assert_int_equal(trace_builder_add_span(builder, &span, NULL, &handle), 0);
    return handle;
}

static inline struct trace *fixture_finish(struct trace_builder *builder)
{
    struct error err = ERROR_INIT;
    struct trace *trace;
    if (trace_builder_finish(builder, &trace, &err) < 0)
        fail_msg("finish: %s", err.text);
    trace_builder_destroy(builder);
    return trace;
}

#endif
