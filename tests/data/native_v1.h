/* SPDX-License-Identifier: MIT */
/* The trace that tests/data/native-v1*.hpt hold: made by make_native, expected by test_native_v1. Never change it: the files
 * stay as they were written by the version that first had the format. */
#ifndef HP_TESTS_NATIVE_V1_H
#define HP_TESTS_NATIVE_V1_H

#include "trace/builder.h"

#include <stdio.h>

#define NATIVE_V1_SPANS 300u

static inline int native_v1_rows(struct trace_builder *builder, track_id thread, track_id counter, stack_id stack)
{
    int failed = 0;
    span_id previous = SPAN_NONE;
    for (uint32_t i = 0; i < NATIVE_V1_SPANS; i++) {
        char name[32], json[64];
        snprintf(name, sizeof(name), "function %u", i % 7);
        struct payload payload = {.kind = PAYLOAD_JSON, .json = json};
        payload.json_size = (uint32_t)snprintf(json, sizeof(json), "{\"index\":%u}", i);
        struct span span = {.track = thread, .begin_ns = (int64_t)i * 1000 - 5000, .parent = SPAN_NONE,
                            .end_ns = i == 299 ? INT64_MIN : (int64_t)i * 1000 - 4200 + i % 3 * 1000,
                            .name = trace_builder_string(builder, name), .category = trace_builder_string(builder, "test"),
                            .kind = i % 2 ? SPAN_KIND_LAUNCH : SPAN_KIND_KERNEL, .correlation = i,
                            .stack = i % 10 ? STACK_NONE : stack};
        span_id handle;
        failed |= trace_builder_add_span(builder, &span, &payload, &handle);
        if (i % 2) {
            struct trace_link link = {LINK_KIND_LAUNCH, CONFIDENCE_CERTAIN, handle, previous};
            failed |= trace_builder_add_link(builder, &link);
        }
        previous = handle;
        struct sample sample = {.time_ns = (int64_t)i * 900, .weight = 900 + i, .stack = stack, .cpu = (uint16_t)(i % 3),
                                .event = SAMPLE_EVENT_CPU_CLOCK, .flags = i % 50 ? 0 : SAMPLE_TRUNCATED};
        failed |= trace_builder_add_sample(builder, thread, &sample);
        struct counter_value value = {(int64_t)i * 1100, i * 0.5};
        failed |= trace_builder_add_counter(builder, counter, &value);
        struct instant instant = {.time_ns = (int64_t)i * 1200, .name = trace_builder_string(builder, "mark")};
        failed |= trace_builder_add_instant(builder, thread, &instant, NULL);
    }
    struct trace_group group = {.kind = LINK_KIND_COLLECTIVE, .name = trace_builder_string(builder, "allreduce"), .sequence = 9};
    group_id group_index = GROUP_NONE;
    failed |= trace_builder_add_group(builder, &group, &group_index);
    struct group_member member = {group_index, previous, 3};
    return failed | trace_builder_add_member(builder, &member);
}

static inline int native_v1_fill(struct trace_builder *builder)
{
    int failed = 0;
    struct trace_node node = {trace_builder_string(builder, "node0"), trace_builder_string(builder, "boot:4026531834")};
    node_id node_index = NODE_NONE;
    failed |= trace_builder_add_node(builder, &node, &node_index);
    struct trace_process process = {.node = node_index, .pid = 4711, .rank = 3, .start_ns = -6000, .end_ns = INT64_MIN,
                                    .parent = PROCESS_NONE, .command = trace_builder_string(builder, "program"),
                                    .executable = trace_builder_string(builder, "/usr/bin/program"), .exit_status = -1};
    process_id process_index = PROCESS_NONE;
    failed |= trace_builder_add_process(builder, &process, &process_index);
    struct trace_track track = {.kind = TRACK_KIND_THREAD, .name = trace_builder_string(builder, "main"), .tid = 4711,
                                .process = process_index, .device = -1, .stream = -1, .start_ns = -6000, .end_ns = INT64_MIN};
    track_id thread = TRACK_NONE, counter = TRACK_NONE;
    failed |= trace_builder_add_track(builder, &track, &thread);
    track.kind = TRACK_KIND_COUNTER;
    track.name = trace_builder_string(builder, "memory");
    track.unit = trace_builder_string(builder, "By");
    track.tid = -1;
    failed |= trace_builder_add_track(builder, &track, &counter);
    struct trace_module module = {trace_builder_string(builder, "/usr/bin/program"), trace_builder_string(builder, "00ff"), 0};
    module_id module_index = MODULE_NONE;
    failed |= trace_builder_add_module(builder, &module, &module_index);
    stack_id stack = STACK_NONE;
    for (uint32_t depth = 0; depth < 3; depth++) {
        char name[32];
        snprintf(name, sizeof(name), "frame %u", depth);
        struct trace_frame frame = {.function = trace_builder_string(builder, name), .module = module_index, .line = 10 + depth,
                                    .file = trace_builder_string(builder, "program.c"), .address = 0x1000 + depth};
        frame_id frame_index = FRAME_NONE;
        failed |= trace_builder_add_frame(builder, &frame, &frame_index);
        failed |= trace_builder_add_stack(builder, stack, frame_index, &stack);
    }
    failed |= native_v1_rows(builder, thread, counter, stack);
    failed |= trace_builder_add_ledger(builder, "cpu samples", 310, 300, 10, "ring full");
    return failed | trace_builder_set_metadata(builder, "command", "program");
}

#endif
