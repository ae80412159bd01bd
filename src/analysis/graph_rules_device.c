/* SPDX-License-Identifier: MIT */
/*
 * Devices: who launched a command, what it waited for, and who waited for it. Links say so where a backend's identities do (launches;
 * OpenCL's wait lists and waits); for CUDA's streams and events device_order.h finds it.
 */
#include "base/error.h"
#include "device_order.h"
#include "graph_rules_buffer.h"
#include "graph_rules_nccl.h"

#include <errno.h>
#include <string.h>

struct device_rules {
    struct graph_rules *rules;
    bool *released; /* by span: calls into which an edge leads */
    string_id finish; /* "clFinish"; STRING_NONE: nobody called it */
};

static bool is_on_device(const struct graph_rules *rules, span_id span)
{
    uint32_t count;
    return trace_tracks(rules->trace, &count)[graph_rules_track(rules, graph_rules_begin(rules, span)).index].kind == TRACK_KIND_STREAM;
}

static uint64_t kinds_of(const struct graph_rules *rules, span_id from, span_id to)
{
    return (uint64_t)rules->kind[from.index] << 8 | rules->kind[to.index];
}

static int add_launch(struct device_rules *device, const struct trace_link *link)
{
    struct graph_rules *rules = device->rules;
    if (!is_on_device(rules, link->to))
        return 0;
    uint32_t class_of_lag = graph_rules_class(EDGE_RULE_LAUNCH, kinds_of(rules, link->from, link->to), 0);
    return graph_rules_edge(rules, graph_rules_begin(rules, link->from), graph_rules_begin(rules, link->to), EDGE_RULE_LAUNCH, link->confidence,
                            class_of_lag);
}

/* From a command that had to be over, or from the host's call that let the other go on (clSetUserEventStatus). */
static int add_dependence(struct device_rules *device, const struct trace_link *link, enum edge_rule rule)
{
    struct graph_rules *rules = device->rules;
    if (!is_on_device(rules, link->to))
        return 0;
    bool command = is_on_device(rules, link->from);
    uint32_t from = command ? graph_rules_end(rules, link->from) : graph_rules_begin(rules, link->from), to = graph_rules_begin(rules, link->to);
    if (command && graph_rules_lane(rules, from) == graph_rules_lane(rules, to))
        return 0; /* the lane says so */
    return graph_rules_edge(rules, from, to, rule, link->confidence, graph_rules_class(rule, kinds_of(rules, link->from, link->to), 0));
}

/* The end of a call that waited for a command. One that enqueued it as well is a blocking one. */
static int add_release(struct device_rules *device, span_id from, span_id to, enum edge_rule rule, enum confidence confidence)
{
    struct graph_rules *rules = device->rules;
    device->released[to.index] = true;
    return graph_rules_edge(rules, graph_rules_end(rules, from), graph_rules_end(rules, to), rule, confidence,
                            graph_rules_class(rule, kinds_of(rules, from, to), 0));
}

static int on_link(void *context, const struct trace_link *link)
{
    struct device_rules *device = context;
    if (link->kind == LINK_KIND_LAUNCH)
        return add_launch(device, link);
    if (link->kind == LINK_KIND_DEPEND)
        return add_dependence(device, link, EDGE_RULE_DEVICE_DEPEND);
    if (link->kind == LINK_KIND_EVENT)
        return add_dependence(device, link, EDGE_RULE_EVENT_WAIT);
    if (!is_on_device(device->rules, link->from) || is_on_device(device->rules, link->to))
        return 0; /* MPI's windows */
    bool waits_only = device->rules->kind[link->to.index] == SPAN_KIND_SYNC;
    return add_release(device, link->from, link->to, waits_only ? EDGE_RULE_DEVICE_SYNC : EDGE_RULE_BLOCKING_COPY, link->confidence);
}

static int add_relation(struct device_rules *device, const struct device_relation *relation)
{
    static const struct {
        uint8_t rule;
        bool releases;
    } rules_of[DEVICE_RELATION_COUNT] = {
        [DEVICE_RELATION_EVENT] = {EDGE_RULE_EVENT_WAIT, false}, [DEVICE_RELATION_DEFAULT_STREAM] = {EDGE_RULE_DEFAULT_STREAM, false},
        [DEVICE_RELATION_ORDER] = {EDGE_RULE_STREAM_ORDER, false}, [DEVICE_RELATION_NODE] = {EDGE_RULE_TIME, false},
        [DEVICE_RELATION_SYNC] = {EDGE_RULE_DEVICE_SYNC, true}, [DEVICE_RELATION_COPY] = {EDGE_RULE_BLOCKING_COPY, true},
    };
    enum edge_rule rule = (enum edge_rule)rules_of[relation->kind].rule;
    struct graph_rules *rules = device->rules;
    if (!graph_rules_has(rules, relation->from) || !graph_rules_has(rules, relation->to))
        return 0;
    if (rules_of[relation->kind].releases) {
        if (relation->kind == DEVICE_RELATION_COPY)
            graph_rules_await(rules, graph_rules_end(rules, relation->to));
        return add_release(device, relation->from, relation->to, rule, (enum confidence)relation->confidence);
    }
    if (relation->kind == DEVICE_RELATION_LAUNCH)
        return graph_rules_edge(rules, graph_rules_begin(rules, relation->from), graph_rules_begin(rules, relation->to), EDGE_RULE_TIME,
                                (enum confidence)relation->confidence, graph_rules_class(EDGE_RULE_TIME, kinds_of(rules, relation->from, relation->to), 0));
    const struct trace_link link = {.from = relation->from, .to = relation->to, .confidence = (enum confidence)relation->confidence};
    return add_dependence(device, &link, rule);
}

static int add_order(struct device_rules *device, struct error *err)
{
    const struct device_order *order = NULL;
    int code = device_order_of(device->rules->trace, &order, err);
    for (size_t i = 0; code == 0 && i < order->relation_count; i++)
        code = add_relation(device, &order->relations[i]);
    for (size_t i = 0; code == 0 && i < order->idle_call_count; i++)
        if (graph_rules_has(device->rules, order->idle_calls[i]))
            graph_rules_explain(device->rules, graph_rules_end(device->rules, order->idle_calls[i]));
    return code;
}

/*
 * Calls that could have waited and did not. clFinish links to all that it waited for: none, and its queue was empty (a wait for events can
 * be for the host's own). And who got an error was not kept.
 */
static int on_call(void *context, const struct graph_row *row)
{
    struct device_rules *device = context;
    struct graph_rules *rules = device->rules;
    uint32_t end = graph_rules_end(rules, row->span);
    struct payload payload = {.kind = PAYLOAD_NONE};
    if (device->released[row->span.index] || rules->builder->columns.interval[end] != INTERVAL_WAIT)
        return 0;
    bool idle = !string_is(device->finish, STRING_NONE) && row->block->name && string_is(row->block->name[row->row], device->finish);
    if (!idle && rules->kind[row->span.index] != SPAN_KIND_SYNC && graph_rules_payload(rules, row->span, &payload) == 0)
        idle = payload.kind == PAYLOAD_API && payload.present >> FIELD_API_result & 1;
    if (idle)
        graph_rules_explain(rules, end);
    return 0;
}

static int add_edges(struct device_rules *device, struct error *err)
{
    struct graph_rules *rules = device->rules;
    const uint32_t kinds = 1u << LINK_KIND_LAUNCH | 1u << LINK_KIND_DEPEND | 1u << LINK_KIND_EVENT | 1u << LINK_KIND_SYNC;
    int code = graph_rules_each_link(rules, kinds, on_link, device, err);
    if (code == 0)
        code = add_order(device, err);
    if (!string_table_find(trace_strings(rules->trace), "clFinish", strlen("clFinish"), &device->finish))
        device->finish = STRING_NONE;
    const uint64_t calls = UINT64_C(1) << SPAN_KIND_SYNC | UINT64_C(1) << SPAN_KIND_API | UINT64_C(1) << SPAN_KIND_LAUNCH;
    if (code)
        return code;
    /* Names are looked at for clFinish only. */
    return string_is(device->finish, STRING_NONE) ? graph_rules_each_id(rules, calls, on_call, device)
                                                  : graph_rules_each_span(rules, calls, false, on_call, device, err);
}

static bool has_devices(const struct graph_rules *rules)
{
    uint32_t count;
    const struct trace_track *tracks = trace_tracks(rules->trace, &count);
    for (uint32_t i = 0; i < count; i++)
        if (tracks[i].kind == TRACK_KIND_STREAM)
            return true;
    return false;
}

int graph_rules_device(struct graph_rules *rules, struct error *err)
{
    struct device_rules device = {.rules = rules};
    if (!has_devices(rules))
        return 0;
    device.released = calloc((size_t)rules->span_count + 1, sizeof *device.released);
    int code = device.released ? add_edges(&device, err) : -ENOMEM;
    free(device.released);
    rules->before_nccl = rules->builder->pending_count;
    if (code == 0 && !rules->piece)
        code = graph_rules_nccl(rules, err);
    return code ? code : graph_rules_buffer(rules, err);
}
