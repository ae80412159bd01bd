/* SPDX-License-Identifier: MIT */
/* Traces with everything in them, from a seed: what a round trip must bring back. */
#ifndef HP_TESTS_RANDOM_TRACE_H
#define HP_TESTS_RANDOM_TRACE_H

#include "base/error.h"
#include "base/map.h"
#include "trace/builder.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct random {
    uint64_t state;
};

static inline uint64_t random_next(struct random *random)
{
    random->state += UINT64_C(0x9e3779b97f4a7c15);
    return hash_u64(random->state);
}

static inline uint64_t random_below(struct random *random, uint64_t bound)
{
    return random_next(random) % bound;
}

static const char *const random_names[] = {
    "", "main", "void f<int, std::vector<char> >(int&)", "quote\" back\\slash /", "tab\tline\nbell\a", "\xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
    "invalid \xff\xfe utf-8", "cut \xe2\x82", "\x7f", "</script>", "a;b,c", "x",
};

static inline string_id random_name(struct random *random, struct trace_builder *builder)
{
    return trace_builder_string(builder, random_names[random_below(random, sizeof(random_names) / sizeof(random_names[0]))]);
}

struct random_trace {
    struct random random;
    struct trace_builder *builder;
    track_id tracks[8];
    unsigned track_count;
    stack_id stacks[20];
    unsigned stack_count;
    span_id spans[4000];
    unsigned span_count;
    group_id groups[4];
};

static inline void random_tables(struct random_trace *t)
{
    struct trace_builder *b = t->builder;
    struct random *r = &t->random;
    node_id node;
    process_id process[3];
    module_id modules[3];
    trace_builder_add_node(b, &(struct trace_node){random_name(r, b), random_name(r, b)}, &node);
    for (unsigned i = 0; i < 3; i++) {
        struct trace_process p = {.node = node, .pid = (int32_t)(1000 + i), .rank = i ? (int32_t)i : -1, .start_ns = -(int64_t)i * 1000,
                                  .end_ns = i ? INT64_MIN : 12345678, .parent = i ? process[i - 1] : PROCESS_NONE, .generation = i,
                                  .command = random_name(r, b), .executable = random_name(r, b), .exit_status = (int32_t)i - 1,
                                  .attached = i == 1, .reason = random_name(r, b)};
        trace_builder_add_process(b, &p, &process[i]);
        trace_builder_add_module(b, &(struct trace_module){random_name(r, b), random_name(r, b), i * 3}, &modules[i]);
    }
    for (t->track_count = 0; t->track_count < 8; t->track_count++) {
        unsigned i = t->track_count;
        struct trace_track track = {.kind = (enum track_kind)(i % TRACK_KIND_COUNT), .name = random_name(r, b),
                                    .process = i == 7 ? PROCESS_NONE : process[i % 3], .tid = i % 2 ? (int32_t)(2000 + i) : -1,
                                    .device = i == 3 ? 1 : -1, .stream = i == 3 ? 7 : -1, .unit = i == 4 ? random_name(r, b) : STRING_NONE,
                                    .start_ns = i ? INT64_MIN : -5, .end_ns = i ? 77 : INT64_MIN};
        trace_builder_add_track(b, &track, &t->tracks[i]);
    }
    for (t->stack_count = 0; t->stack_count < 20; t->stack_count++) {
        struct trace_frame frame = {.function = random_name(r, b), .module = random_below(r, 4) ? modules[random_below(r, 3)] : MODULE_NONE,
                                    .file = random_name(r, b), .line = (uint32_t)random_below(r, 100), .flags = (uint32_t)random_below(r, 8),
                                    .address = random_next(r)};
        frame_id id;
        trace_builder_add_frame(b, &frame, &id);
        stack_id parent = t->stack_count && random_below(r, 5) ? t->stacks[random_below(r, t->stack_count)] : STACK_NONE;
        trace_builder_add_stack(b, parent, id, &t->stacks[t->stack_count]);
    }
    for (unsigned i = 0; i < 4; i++)
        trace_builder_add_group(b, &(struct trace_group){(enum link_kind)i, random_name(r, b), random_next(r)}, &t->groups[i]);
    trace_builder_add_ledger(b, "cpu samples", 100, 90, 10, "buffer full");
    trace_builder_add_ledger(b, "runtime records", UINT64_MAX / 2, 5, 0, NULL);
    trace_builder_set_metadata(b, "command", "prog \"quoted\" \xff");
    trace_builder_set_metadata(b, "start_realtime_ns", "1700000000000000000");
}

static inline struct payload random_payload(struct random_trace *t)
{
    struct random *r = &t->random;
    static const char *const texts[] = {"{\"i\":1}", "{\"a\": [1, {\"b\":null}],  \"c\":\"\\u00e9\\n\"}", "{\"bad\":\"\xff\"}", "{\"cut\":",
                                        "{\"nan\":NaN}"};
    struct payload payload = {.kind = (enum payload_kind)random_below(r, PAYLOAD_COUNT)};
    if (payload.kind == PAYLOAD_JSON) {
        payload.json = texts[random_below(r, 5)];
        payload.json_size = (uint32_t)strlen(payload.json);
        return payload;
    }
    size_t count;
    const struct payload_field *fields = payload_fields(payload.kind, &count);
    for (size_t i = 0; i < count; i++) {
        if (!random_below(r, 4))
            continue;
        payload.present |= UINT32_C(1) << i;
        if (fields[i].type == PAYLOAD_TYPE_STRING)
            payload.fields[i].string = random_name(r, t->builder);
        else if (fields[i].type == PAYLOAD_TYPE_DOUBLE)
            payload.fields[i].number = (double)random_next(r) / 7;
        else
            payload.fields[i].u64 = random_next(r);
    }
    return payload;
}

static inline void random_spans(struct random_trace *t, unsigned count, bool explicit_parents)
{
    struct random *r = &t->random;
    for (unsigned i = 0; i < count; i++) {
        struct payload payload = random_payload(t);
        int64_t begin_ns = (int64_t)random_below(r, 5000000) - 1000000, length_ns = (int64_t)random_below(r, i % 3 ? 1000 : 300000);
        struct span span = {.track = t->tracks[random_below(r, t->track_count)], .begin_ns = begin_ns, .end_ns = begin_ns + length_ns,
                            .name = random_name(r, t->builder), .category = random_name(r, t->builder),
                            .kind = (enum span_kind)random_below(r, SPAN_KIND_COUNT), .parent = SPAN_NONE,
                            .correlation = random_below(r, 3) ? 0 : random_next(r),
                            .stack = random_below(r, 2) ? STACK_NONE : t->stacks[random_below(r, t->stack_count)]};
        if (!random_below(r, 40))
            span.end_ns = INT64_MIN;
        if (explicit_parents && t->span_count && !random_below(r, 6))
            span.parent = t->spans[random_below(r, t->span_count)];
        trace_builder_add_span(t->builder, &span, payload.kind ? &payload : NULL, &t->spans[t->span_count]);
        t->span_count++;
    }
}

static inline void random_points(struct random_trace *t, unsigned count)
{
    struct random *r = &t->random;
    static const double values[] = {0, -0.0, 1, 1.5, -1e300, 0.1, 12345678901234.5, 1e-7};
    for (unsigned i = 0; i < count; i++) {
        track_id track = t->tracks[random_below(r, t->track_count)];
        int64_t time_ns = (int64_t)random_below(r, 6000000) - 1000000;
        struct payload payload = random_payload(t);
        struct instant instant = {time_ns, random_name(r, t->builder), random_name(r, t->builder)};
        trace_builder_add_instant(t->builder, track, &instant, payload.kind ? &payload : NULL);
        double value = i % 17 == 0 ? NAN : i % 19 == 0 ? -INFINITY : values[random_below(r, 8)];
        trace_builder_add_counter(t->builder, t->tracks[4], &(struct counter_value){time_ns, value});
        struct sample sample = {.time_ns = time_ns, .weight = (int64_t)random_below(r, 2000000), .cpu = (uint16_t)(i % 3 ? i % 64 : UINT16_MAX),
                                .stack = random_below(r, 5) ? t->stacks[random_below(r, t->stack_count)] : STACK_NONE,
                                .event = (uint8_t)random_below(r, SAMPLE_EVENT_COUNT), .flags = (uint8_t)random_below(r, 8)};
        trace_builder_add_sample(t->builder, track, &sample);
    }
    for (unsigned i = 0; i < count && t->span_count; i++) {
        struct trace_link link = {.kind = (enum link_kind)random_below(r, LINK_KIND_COUNT),
                                  .confidence = (enum confidence)random_below(r, CONFIDENCE_COUNT),
                                  .from = t->spans[random_below(r, t->span_count)], .to = t->spans[random_below(r, t->span_count)]};
        trace_builder_add_link(t->builder, &link);
        struct group_member member = {t->groups[random_below(r, 4)], t->spans[random_below(r, t->span_count)], (int32_t)i - 1};
        trace_builder_add_member(t->builder, &member);
    }
}

static inline struct trace *random_trace_make(uint64_t seed, unsigned spans, unsigned points)
{
    static struct random_trace t;
    struct error err = ERROR_INIT;
    struct trace *trace = NULL;
    t = (struct random_trace){.random = {seed}};
    if (trace_builder_create(&(struct builder_options){0}, &t.builder, &err) < 0)
        return NULL;
    random_tables(&t);
    random_spans(&t, spans < 4000 ? spans : 4000, seed % 2);
    random_points(&t, points);
    if (trace_builder_finish(t.builder, &trace, &err) < 0)
        fprintf(stderr, "random trace: %s\n", err.text);
    trace_builder_destroy(t.builder);
    return trace;
}

#endif
