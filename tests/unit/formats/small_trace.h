/* SPDX-License-Identifier: MIT */
/* A trace one can check by eye: two threads of one program, samples on the first, spans on both, one of each of the rest. */
#ifndef HP_TESTS_SMALL_TRACE_H
#define HP_TESTS_SMALL_TRACE_H

#include "base/error.h"
#include "trace/builder.h"

#include <stdio.h>

struct small {
    struct trace_builder *builder;
    track_id main, worker, counter;
    stack_id in_main, in_work, in_libm; /* main; main>work; main>work>sin */
    span_id outer, inner, job;
};

static inline string_id small_string(struct small *s, const char *text)
{
    return trace_builder_string(s->builder, text);
}

static inline stack_id small_stack(struct small *s, stack_id parent, const char *function, module_id module, const char *file, uint32_t line)
{
    struct trace_frame frame = {.function = small_string(s, function), .module = module, .file = small_string(s, file), .line = line};
    frame_id id;
    stack_id stack;
    trace_builder_add_frame(s->builder, &frame, &id);
    trace_builder_add_stack(s->builder, parent, id, &stack);
    return stack;
}

static inline void small_tables(struct small *s)
{
    node_id node;
    process_id process;
    module_id program, libm;
    group_id group;
    trace_builder_add_node(s->builder, &(struct trace_node){small_string(s, "host"), small_string(s, "boot:1")}, &node);
    struct trace_process p = {.node = node, .pid = 100, .rank = -1, .end_ns = 10000, .parent = PROCESS_NONE, .command = small_string(s, "demo"),
                              .executable = small_string(s, "/bin/demo")};
    trace_builder_add_process(s->builder, &p, &process);
    struct trace_track track = {.kind = TRACK_KIND_THREAD, .name = small_string(s, "main"), .process = process, .tid = 100, .device = -1,
                                .stream = -1, .start_ns = INT64_MIN, .end_ns = INT64_MIN};
    trace_builder_add_track(s->builder, &track, &s->main);
    track.name = small_string(s, "worker, \"1\"");
    track.tid = 101;
    trace_builder_add_track(s->builder, &track, &s->worker);
    track = (struct trace_track){.kind = TRACK_KIND_COUNTER, .name = small_string(s, "rss"), .process = process, .tid = -1, .device = -1,
                                 .stream = -1, .unit = small_string(s, "By"), .start_ns = INT64_MIN, .end_ns = INT64_MIN};
    trace_builder_add_track(s->builder, &track, &s->counter);
    trace_builder_add_module(s->builder, &(struct trace_module){small_string(s, "/bin/demo"), small_string(s, "ab12"), 0}, &program);
    trace_builder_add_module(s->builder, &(struct trace_module){small_string(s, "/lib/libm.so.6"), STRING_NONE, 0}, &libm);
    s->in_main = small_stack(s, STACK_NONE, "main", program, "demo.c", 10);
    s->in_work = small_stack(s, s->in_main, "work", program, "demo.c", 20);
    s->in_libm = small_stack(s, s->in_work, "sin", libm, NULL, 0);
    trace_builder_add_group(s->builder, &(struct trace_group){LINK_KIND_BARRIER, small_string(s, "b"), 7}, &group);
}

static inline struct trace *small_trace_make(void)
{
    struct small s = {0};
    struct error err = ERROR_INIT;
    struct trace *trace = NULL;
    if (trace_builder_create(&(struct builder_options){0}, &s.builder, &err) < 0)
        return NULL;
    small_tables(&s);
    struct sample samples[] = {
        {.time_ns = 1000, .weight = 100, .stack = s.in_work, .cpu = 0, .event = SAMPLE_EVENT_CPU_CLOCK},
        {.time_ns = 2000, .weight = 200, .stack = s.in_libm, .cpu = 1, .event = SAMPLE_EVENT_CPU_CLOCK},
        {.time_ns = 3000, .weight = 300, .stack = s.in_libm, .cpu = UINT16_MAX, .event = SAMPLE_EVENT_CPU_CLOCK, .flags = SAMPLE_TRUNCATED},
        {.time_ns = 3500, .weight = 5000, .stack = s.in_main, .cpu = 0, .event = SAMPLE_EVENT_SWITCH},
    };
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        trace_builder_add_sample(s.builder, s.main, &samples[i]);
    struct span outer = {.track = s.main, .begin_ns = 500, .end_ns = 4500, .name = small_string(&s, "outer"), .category = small_string(&s, "user"),
                         .kind = SPAN_KIND_RANGE, .parent = SPAN_NONE, .stack = STACK_NONE};
    trace_builder_add_span(s.builder, &outer, NULL, &s.outer);
    struct payload args = {.kind = PAYLOAD_JSON, .json = "{\"i\":1}", .json_size = 7};
    struct span inner = {.track = s.main, .begin_ns = 1000, .end_ns = 2000, .name = small_string(&s, "inner"), .category = small_string(&s, "user"),
                         .parent = SPAN_NONE, .stack = s.in_work};
    trace_builder_add_span(s.builder, &inner, &args, &s.inner);
    struct payload fault = {.kind = PAYLOAD_FAULT, .present = 3, .fields = {{.u64 = 4096}, {.u64 = 1}}};
    struct span job = {.track = s.worker, .begin_ns = 1500, .end_ns = INT64_MIN, .name = small_string(&s, "job"), .kind = SPAN_KIND_FAULT,
                       .parent = s.inner, .correlation = 9, .stack = STACK_NONE};
    trace_builder_add_span(s.builder, &job, &fault, &s.job);
    trace_builder_add_instant(s.builder, s.worker, &(struct instant){1700, small_string(&s, "tick"), STRING_NONE}, NULL);
    trace_builder_add_counter(s.builder, s.counter, &(struct counter_value){0, 1024});
    trace_builder_add_counter(s.builder, s.counter, &(struct counter_value){2500, 1.5});
    trace_builder_add_link(s.builder, &(struct trace_link){LINK_KIND_FORK, CONFIDENCE_CERTAIN, s.inner, s.job});
    trace_builder_add_member(s.builder, &(struct group_member){{0}, s.job, 3});
    trace_builder_add_ledger(s.builder, "cpu samples", 5, 4, 1, "ring full");
    trace_builder_set_metadata(s.builder, "command", "demo");
    if (trace_builder_finish(s.builder, &trace, &err) < 0)
        fprintf(stderr, "small trace: %s\n", err.text);
    trace_builder_destroy(s.builder);
    return trace;
}

#endif
