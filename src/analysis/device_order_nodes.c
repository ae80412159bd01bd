/* SPDX-License-Identifier: MIT */
/* What needs no order of calls: streams whose commands overlapped, nodes within one launch of a graph, copies that kept their call waiting. */
#include "device_order_internal.h"

#include "base/array.h"
#include "base/error.h"
#include "trace/made_once.h"

#include <errno.h>
#include <stdlib.h>

struct stretch {
    int64_t begin_ns, end_ns;
    uint32_t stream, command;
};

#define COMPARE(left, right) (((left) > (right)) - ((left) < (right)))

static int by_stream_and_begin(const void *left, const void *right)
{
    const struct stretch *a = left, *b = right;
    int order = COMPARE(a->stream, b->stream);
    order = order ? order : COMPARE(a->begin_ns, b->begin_ns);
    return order ? order : COMPARE(a->command, b->command);
}

static int by_begin(const void *left, const void *right)
{
    const struct stretch *a = left, *b = right;
    int order = COMPARE(a->begin_ns, b->begin_ns);
    return order ? order : COMPARE(a->command, b->command);
}

static int by_end(const void *left, const void *right)
{
    const struct stretch *a = left, *b = right;
    int order = COMPARE(a->end_ns, b->end_ns);
    return order ? order : COMPARE(a->command, b->command);
}

static struct stretch *stretches_of(const struct ordering *ordering, size_t first, size_t count)
{
    struct stretch *stretches = malloc((count + 1) * sizeof *stretches);
    for (size_t i = 0; stretches && i < count; i++) {
        const struct order_command *command = &ordering->commands[first + i];
        stretches[i] = (struct stretch){command->begin_ns, command->end_ns, command->stream, (uint32_t)(first + i)};
    }
    return stretches;
}

/* Launches of graphs, by context and begin: stream and command are the context's number and the call's. */
static struct stretch *graph_launches(const struct ordering *ordering, size_t *ret_count)
{
    struct stretch *launches = malloc((ordering->call_count + 1) * sizeof *launches);
    size_t count = 0;
    for (size_t i = 0; launches && i < ordering->call_count; i++)
        if (ordering->calls[i].kind == ORDER_GRAPH_LAUNCH)
            launches[count++] = (struct stretch){ordering->calls[i].begin_ns, ordering->calls[i].end_ns, ordering->calls[i].context, (uint32_t)i};
    if (launches)
        qsort(launches, count, sizeof *launches, by_stream_and_begin);
    *ret_count = count;
    return launches;
}

/* The context's last launch of a graph that began before the command did. */
static const struct order_call *last_launch(const struct ordering *ordering, const struct stretch *launches, size_t count,
                                            const struct order_command *command)
{
    uint32_t context = ordering->streams[command->stream].context;
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct stretch *launch = &launches[middle];
        if (launch->stream < context || (launch->stream == context && launch->begin_ns <= command->begin_ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low && launches[low - 1].stream == context ? &ordering->calls[launches[low - 1].command] : NULL;
}

/* By context: the stream into which all its graphs were launched; ORDER_NONE: none, or several. */
static uint32_t *streams_of_graphs(const struct ordering *ordering)
{
    uint32_t *streams = malloc((ordering->context_count + 1) * sizeof *streams);
    bool *seen = calloc(ordering->context_count + 1, sizeof *seen);
    for (size_t i = 0; streams && i < ordering->context_count; i++)
        streams[i] = ORDER_NONE;
    for (size_t i = 0; streams && seen && i < ordering->call_count; i++) {
        const struct order_call *call = &ordering->calls[i];
        if (call->kind != ORDER_GRAPH_LAUNCH)
            continue;
        streams[call->context] = !seen[call->context] || streams[call->context] == call->stream ? call->stream : ORDER_NONE;
        seen[call->context] = true;
    }
    if (!seen) {
        free(streams);
        streams = NULL;
    }
    free(seen);
    return streams;
}

/*
 * Bodies of conditional nodes name no launch, and run on a stream of the device's own. They are in the order of the stream that their graph was
 * launched into: no later launch's than the last before they began.
 */
int ordering_infer_launches(struct ordering *ordering)
{
    size_t count;
    CLEANUP(freep) struct stretch *launches = graph_launches(ordering, &count);
    CLEANUP(freep) uint32_t *streams = streams_of_graphs(ordering);
    int code = launches && streams ? 0 : -ENOMEM;
    for (size_t i = 0; i < ordering->command_count && count && code == 0; i++) {
        struct order_command *command = &ordering->commands[i];
        const struct order_call *launch = command->launch == ORDER_NONE ? last_launch(ordering, launches, count, command) : NULL;
        if (!launch || (launch->stream != command->stream && streams[launch->context] == ORDER_NONE))
            continue;
        command->launch = launch->span;
        command->stream = launch->stream;
        command->inferred = true;
        code = ordering_relate_spans(ordering, command->launch, command->span, DEVICE_RELATION_LAUNCH, CONFIDENCE_MEDIUM);
    }
    return code;
}

void ordering_find_overlaps(struct ordering *ordering)
{
    int64_t until_ns = INT64_MIN;
    for (size_t i = 0; i < ordering->command_count; i++) {
        const struct order_command *command = &ordering->commands[i];
        if (i == 0 || command->stream != command[-1].stream)
            until_ns = INT64_MIN;
        ordering->streams[command->stream].overlaps |= command->begin_ns < until_ns;
        until_ns = command->end_ns > until_ns ? command->end_ns : until_ns;
    }
}

/* What a node of a graph waited for is not recorded: the last node that was over is the only candidate beside the launch. */
static int relate_nodes(struct ordering *ordering, size_t first, size_t count)
{
    CLEANUP(freep) struct stretch *begins = stretches_of(ordering, first, count);
    CLEANUP(freep) struct stretch *ends = stretches_of(ordering, first, count);
    int code = begins && ends ? 0 : -ENOMEM;
    size_t over = 0;
    if (code)
        return code;
    qsort(begins, count, sizeof *begins, by_begin);
    qsort(ends, count, sizeof *ends, by_end);
    for (size_t i = 0; i < count && code == 0; i++) {
        while (over < count && ends[over].end_ns <= begins[i].begin_ns && ends[over].command != begins[i].command)
            over++;
        const struct stretch *before = over ? &ends[over - 1] : NULL;
        if (before && (before->stream != begins[i].stream || ordering->streams[before->stream].overlaps))
            code = ordering_relate(ordering, before->command, ordering->commands[begins[i].command].span, DEVICE_RELATION_NODE, CONFIDENCE_MEDIUM);
    }
    return code;
}

static int find_nodes(struct ordering *ordering)
{
    int code = 0;
    for (size_t i = 0, end; i < ordering->command_count && code == 0; i = end) {
        uint32_t launch = ordering->commands[i].launch;
        for (end = i + 1; end < ordering->command_count && ordering->commands[end].launch == launch; end++)
            continue;
        if (launch != ORDER_NONE && end - i > 1)
            code = relate_nodes(ordering, i, end - i);
    }
    return code;
}

/* An asynchronous copy of pageable memory that was over before its call returned kept the call. */
static int find_pageable(struct ordering *ordering)
{
    int code = 0;
    for (size_t i = 0; i < ordering->command_count && code == 0; i++) {
        const struct order_command *command = &ordering->commands[i];
        if (command->is_copy && command->pageable && command->host_waits && !command->blocking_call && command->launch != ORDER_NONE &&
            command->end_ns <= command->call_end_ns)
            code = ordering_relate(ordering, (uint32_t)i, command->launch, DEVICE_RELATION_COPY, CONFIDENCE_HIGH);
    }
    return code;
}

static void ordering_finish(struct ordering *ordering)
{
    for (size_t i = 0; i < ordering->stream_count; i++)
        free(ordering->streams[i].pending);
    for (size_t i = 0; i < ordering->context_count; i++)
        free(ordering->contexts[i].dirty);
    free(ordering->commands);
    free(ordering->calls);
    free(ordering->streams);
    free(ordering->contexts);
    free(ordering->covers);
    free(ordering->covered);
    map_finish(&ordering->stream_index);
    map_finish(&ordering->context_index);
    map_finish(&ordering->records);
}

static bool has_streams(const struct trace *trace)
{
    uint32_t count;
    const struct trace_track *tracks = trace_tracks(trace, &count);
    for (uint32_t i = 0; i < count; i++)
        if (tracks[i].kind == TRACK_KIND_STREAM && tracks[i].device >= 0)
            return true;
    return false;
}

static void order_destroy(struct device_order *order)
{
    if (!order)
        return;
    free(order->relations);
    free(order->idle_calls);
    free(order);
}
DEFINE_CLEANUP(struct device_order *, order_destroy)

static void destroy_order(void *order)
{
    order_destroy(order);
}

static int make_order(const struct trace *trace, void **ret_order, struct error *err)
{
    CLEANUP(order_destroyp) struct device_order *order = calloc(1, sizeof *order);
    if (!order)
        return error_set(err, -ENOMEM, "out of memory while following streams of devices");
    struct ordering ordering = {.trace = trace, .order = order, .err = err};
    int code = has_streams(trace) ? ordering_read(&ordering) : 0;
    if (code == 0)
        code = ordering_follow(&ordering);
    if (code == 0)
        code = find_nodes(&ordering);
    if (code == 0)
        code = find_pageable(&ordering);
    ordering_finish(&ordering);
    if (code == 0)
        *ret_order = TAKE_PTR(order);
    else if (code == -ENOMEM)
        error_set(err, code, "out of memory while following streams of devices");
    return code;
}

int device_order_of(const struct trace *trace, const struct device_order **ret_order, struct error *err)
{
    const void *order;
    int code = trace_made_once(trace, make_order, destroy_order, &order, err);
    if (code == 0)
        *ret_order = order;
    return code;
}
