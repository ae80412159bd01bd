/* SPDX-License-Identifier: MIT */
/*
 * One pass a process over commands and calls by time. A stream knows the command that ends last of those so far, and what its next one
 * must wait for; a recording keeps what its stream had then. What somebody has waited for is forgotten: what comes later comes
 * after that wait.
 */
#include "device_order_internal.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>

enum { PENDING_MAXIMUM = 4096 }; /* waits without a command between them: beyond, the oldest is dropped */

int ordering_relate_spans(struct ordering *ordering, uint32_t from, uint32_t to, enum device_relation_kind kind, uint8_t confidence)
{
    struct device_order *order = ordering->order;
    struct device_relation *rows = array_reserve(order->relations, &ordering->relation_capacity, order->relation_count + 1, sizeof *rows);
    if (!rows)
        return -ENOMEM;
    order->relations = rows;
    rows[order->relation_count++] = (struct device_relation){{from}, {to}, (uint8_t)kind, confidence};
    return 0;
}

int ordering_relate(struct ordering *ordering, uint32_t command, uint32_t to, enum device_relation_kind kind, uint8_t confidence)
{
    return ordering_relate_spans(ordering, ordering->commands[command].span, to, kind, confidence);
}

static int note_idle(struct ordering *ordering, uint32_t span)
{
    struct device_order *order = ordering->order;
    span_id *rows = array_reserve(order->idle_calls, &ordering->idle_capacity, order->idle_call_count + 1, sizeof *rows);
    if (!rows)
        return -ENOMEM;
    order->idle_calls = rows;
    rows[order->idle_call_count++] = (span_id){span};
    return 0;
}

/* Another thread's launch that was under way as the call began may have come before it or after. */
static uint8_t confidence_at(const struct ordering *ordering, uint32_t command, const struct order_call *call)
{
    const struct order_command *covered = &ordering->commands[command];
    return covered->call_end_ns > call->begin_ns || covered->inferred ? CONFIDENCE_HIGH : CONFIDENCE_CERTAIN;
}

static int cover_add(struct ordering *ordering, size_t first, struct covered_command fresh)
{
    for (size_t i = first; i < ordering->covered_count; i++)
        if (ordering->covered[i].command == fresh.command)
            return 0;
    struct covered_command *rows =
        array_reserve(ordering->covered, &ordering->covered_capacity, ordering->covered_count + 1, sizeof *rows);
    if (!rows)
        return -ENOMEM;
    ordering->covered = rows;
    rows[ordering->covered_count++] = fresh;
    return 0;
}

static int cover_stream(struct ordering *ordering, size_t first, const struct order_stream *stream, const struct order_call *call, bool by_rule)
{
    int code = 0;
    if (stream->last != ORDER_NONE) {
        uint8_t confidence = confidence_at(ordering, stream->last, call);
        code = cover_add(ordering, first, (struct covered_command){stream->last, by_rule ? CONFIDENCE_HIGH : confidence});
    }
    for (size_t i = 0; i < stream->pending_count && code == 0; i++)
        code = cover_add(ordering, first, stream->pending[i]);
    return code;
}

static bool takes_part(const struct ordering *ordering, uint32_t stream)
{
    return ordering->streams[stream].sort != STREAM_NON_BLOCKING;
}

/* What is earlier work of a stream as a call begins: appended to covered. The default stream is behind the others of its context. */
static int cover_work(struct ordering *ordering, uint32_t number, const struct order_call *call)
{
    size_t first = ordering->covered_count;
    const struct order_stream *stream = &ordering->streams[number];
    const struct order_context *context = &ordering->contexts[stream->context];
    int code = cover_stream(ordering, first, stream, call, false);
    for (size_t i = 0; stream->sort == STREAM_DEFAULT && i < context->dirty_count && code == 0; i++)
        if (context->dirty[i] != number && takes_part(ordering, context->dirty[i]))
            code = cover_stream(ordering, first, &ordering->streams[context->dirty[i]], call, true);
    return code;
}

static int cover_context(struct ordering *ordering, const struct order_call *call)
{
    const struct order_context *context = &ordering->contexts[call->context];
    size_t first = ordering->covered_count;
    int code = 0;
    for (size_t i = 0; i < context->dirty_count && code == 0; i++)
        code = cover_stream(ordering, first, &ordering->streams[context->dirty[i]], call, call->implied);
    return code;
}

/* A call that waits for the commands from `first` on; nobody else needs them. */
static int wait_for(struct ordering *ordering, const struct order_call *call, size_t first, size_t count)
{
    int code = count ? 0 : note_idle(ordering, call->span);
    for (size_t i = first; i < first + count && code == 0; i++)
        code = ordering_relate(ordering, ordering->covered[i].command, call->span, DEVICE_RELATION_SYNC, ordering->covered[i].confidence);
    return code;
}

static void forget(struct order_stream *stream)
{
    stream->last = ORDER_NONE;
    stream->pending_count = 0;
}

static uint64_t record_key(const struct ordering *ordering, const struct order_call *call)
{
    return hash_u64(hash_u64(call->record) ^ ordering->contexts[call->context].process);
}

static bool find_cover(const struct ordering *ordering, const struct order_call *call, struct cover *ret_cover)
{
    uint64_t index;
    if (!call->record_known || !map_get(&ordering->records, record_key(ordering, call), &index))
        return false;
    *ret_cover = ordering->covers[index];
    return true;
}

static int on_record(struct ordering *ordering, const struct order_call *call)
{
    if (!call->record_known || call->stream == ORDER_NONE)
        return 0;
    struct cover *covers = array_reserve(ordering->covers, &ordering->cover_capacity, ordering->cover_count + 1, sizeof *covers);
    if (!covers)
        return -ENOMEM;
    ordering->covers = covers;
    size_t first = ordering->covered_count;
    int code = cover_work(ordering, call->stream, call);
    covers[ordering->cover_count] = (struct cover){first, ordering->covered_count - first};
    return code ? code : map_set(&ordering->records, record_key(ordering, call), ordering->cover_count++);
}

static int pend(struct order_stream *stream, struct covered_command fresh)
{
    for (size_t i = 0; i < stream->pending_count; i++)
        if (stream->pending[i].command == fresh.command)
            return 0;
    if (stream->pending_count == PENDING_MAXIMUM)
        stream->pending[0] = stream->pending[--stream->pending_count];
    struct covered_command *pending = array_reserve(stream->pending, &stream->pending_capacity, stream->pending_count + 1, sizeof *pending);
    if (!pending)
        return -ENOMEM;
    stream->pending = pending;
    pending[stream->pending_count++] = fresh;
    return 0;
}

static int make_dirty(struct ordering *ordering, uint32_t number)
{
    struct order_stream *stream = &ordering->streams[number];
    struct order_context *context = &ordering->contexts[stream->context];
    if (stream->dirty)
        return 0;
    uint32_t *dirty = array_reserve(context->dirty, &context->dirty_capacity, context->dirty_count + 1, sizeof *dirty);
    if (!dirty)
        return -ENOMEM;
    context->dirty = dirty;
    dirty[context->dirty_count++] = number;
    stream->dirty = true;
    return 0;
}

static int on_stream_wait(struct ordering *ordering, const struct order_call *call)
{
    struct cover cover;
    if (call->stream == ORDER_NONE || !find_cover(ordering, call, &cover))
        return 0;
    struct order_stream *stream = &ordering->streams[call->stream];
    int code = cover.count ? make_dirty(ordering, call->stream) : 0;
    for (size_t i = cover.first; i < cover.first + cover.count && code == 0; i++)
        if (ordering->commands[ordering->covered[i].command].stream != call->stream)
            code = pend(stream, ordering->covered[i]);
    return code;
}

static int on_sync_event(struct ordering *ordering, const struct order_call *call)
{
    struct cover cover;
    if (call->record_known && call->record == 0)
        return note_idle(ordering, call->span);
    return find_cover(ordering, call, &cover) ? wait_for(ordering, call, cover.first, cover.count) : 0;
}

static int on_sync_stream(struct ordering *ordering, const struct order_call *call)
{
    size_t first = ordering->covered_count;
    if (call->stream == ORDER_NONE)
        return 0;
    int code = cover_work(ordering, call->stream, call);
    if (code == 0)
        code = wait_for(ordering, call, first, ordering->covered_count - first);
    ordering->covered_count = first;
    forget(&ordering->streams[call->stream]);
    return code;
}

static int on_sync_context(struct ordering *ordering, const struct order_call *call)
{
    size_t first = ordering->covered_count;
    struct order_context *context = &ordering->contexts[call->context];
    int code = cover_context(ordering, call);
    if (code == 0)
        code = wait_for(ordering, call, first, ordering->covered_count - first);
    ordering->covered_count = first;
    for (size_t i = 0; i < context->dirty_count; i++) {
        forget(&ordering->streams[context->dirty[i]]);
        ordering->streams[context->dirty[i]].dirty = false;
    }
    context->dirty_count = 0;
    return code;
}

static size_t first_of_launch(const struct ordering *ordering, uint32_t launch)
{
    size_t low = 0, high = ordering->command_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ordering->commands[middle].launch < launch)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether the host waited shows in the times: small copies from pageable memory return once the bytes were taken. */
static int on_blocking_copy(struct ordering *ordering, const struct order_call *call)
{
    bool waited = false, any = false;
    int code = 0;
    for (size_t i = first_of_launch(ordering, call->span); i < ordering->command_count && ordering->commands[i].launch == call->span; i++) {
        struct order_command *command = &ordering->commands[i];
        any = command->blocking_call = true;
        if (!command->is_copy || !command->host_waits || command->end_ns > call->end_ns || code)
            continue;
        waited = true;
        code = ordering_relate(ordering, (uint32_t)i, call->span, DEVICE_RELATION_COPY, CONFIDENCE_HIGH);
    }
    return code == 0 && any && !waited ? note_idle(ordering, call->span) : code;
}

static int on_call(struct ordering *ordering, const struct order_call *call)
{
    switch (call->kind) {
    case ORDER_RECORD:
        return on_record(ordering, call);
    case ORDER_STREAM_WAIT:
        return on_stream_wait(ordering, call);
    case ORDER_SYNC_EVENT:
        return on_sync_event(ordering, call);
    case ORDER_SYNC_STREAM:
        return on_sync_stream(ordering, call);
    case ORDER_SYNC_CONTEXT:
        return on_sync_context(ordering, call);
    case ORDER_BLOCKING_COPY:
        return on_blocking_copy(ordering, call);
    default:
        return 0;
    }
}

/* The legacy default stream's commands and those of the others of its context wait for each other. */
static int order_by_default(struct ordering *ordering, uint32_t number, const struct order_command *command)
{
    struct order_stream *stream = &ordering->streams[command->stream];
    struct order_context *context = &ordering->contexts[stream->context];
    if (stream->sort != STREAM_DEFAULT) {
        bool known = context->barrier == ORDER_NONE || context->barrier == stream->barrier || !takes_part(ordering, command->stream);
        if (known)
            return 0;
        stream->barrier = context->barrier;
        return ordering_relate(ordering, context->barrier, command->span, DEVICE_RELATION_DEFAULT_STREAM, CONFIDENCE_HIGH);
    }
    int code = 0;
    for (size_t i = 0; i < context->dirty_count && code == 0; i++) {
        struct order_stream *other = &ordering->streams[context->dirty[i]];
        if (other == stream || !takes_part(ordering, context->dirty[i]) || other->last == ORDER_NONE || other->last == other->told)
            continue;
        other->told = other->last;
        code = ordering_relate(ordering, other->last, command->span, DEVICE_RELATION_DEFAULT_STREAM, CONFIDENCE_HIGH);
    }
    context->barrier = number;
    return code;
}

/* Commands of one launch may run side by side; the next launch's come behind all of them. */
static int order_by_launch(struct ordering *ordering, uint32_t number, const struct order_command *command)
{
    struct order_stream *stream = &ordering->streams[command->stream];
    if (command->launch == ORDER_NONE || command->launch != stream->group_launch) {
        stream->before_group = stream->group_last;
        stream->group_last = number;
        stream->group_launch = command->launch;
    } else if (command->end_ns > ordering->commands[stream->group_last].end_ns) {
        stream->group_last = number;
    }
    if (!stream->overlaps || stream->before_group == ORDER_NONE)
        return 0;
    return ordering_relate(ordering, stream->before_group, command->span, DEVICE_RELATION_ORDER, CONFIDENCE_CERTAIN);
}

static int on_command(struct ordering *ordering, uint32_t number)
{
    const struct order_command *command = &ordering->commands[number];
    struct order_stream *stream = &ordering->streams[command->stream];
    int code = order_by_default(ordering, number, command);
    if (code == 0)
        code = order_by_launch(ordering, number, command);
    for (size_t i = 0; i < stream->pending_count && code == 0; i++)
        code = ordering_relate(ordering, stream->pending[i].command, command->span, DEVICE_RELATION_EVENT, stream->pending[i].confidence);
    stream->pending_count = 0;
    if (stream->last == ORDER_NONE || command->end_ns >= ordering->commands[stream->last].end_ns)
        stream->last = number;
    return code ? code : make_dirty(ordering, command->stream);
}

struct moment {
    int64_t time_ns, then_ns;
    uint32_t process, number;
    bool is_call;
};

static int by_process_and_time(const void *left, const void *right)
{
    const struct moment *a = left, *b = right;
    int order = (a->process > b->process) - (a->process < b->process);
    order = order ? order : (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
    order = order ? order : a->is_call - b->is_call;
    order = order ? order : (a->then_ns > b->then_ns) - (a->then_ns < b->then_ns);
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

static struct moment *moments_in_order(const struct ordering *ordering, size_t *ret_count)
{
    size_t count = 0;
    struct moment *moments = malloc((ordering->command_count + ordering->call_count + 1) * sizeof *moments);
    if (!moments)
        return NULL;
    for (size_t i = 0; i < ordering->command_count; i++) {
        const struct order_command *command = &ordering->commands[i];
        uint32_t process = ordering->contexts[ordering->streams[command->stream].context].process;
        moments[count++] = (struct moment){command->call_begin_ns, command->begin_ns, process, (uint32_t)i, false};
    }
    for (size_t i = 0; i < ordering->call_count; i++) {
        const struct order_call *call = &ordering->calls[i];
        moments[count++] = (struct moment){call->begin_ns, call->end_ns, ordering->contexts[call->context].process, (uint32_t)i, true};
    }
    qsort(moments, count, sizeof *moments, by_process_and_time);
    *ret_count = count;
    return moments;
}

int ordering_follow(struct ordering *ordering)
{
    size_t count;
    CLEANUP(freep) struct moment *moments = moments_in_order(ordering, &count);
    int code = moments ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && code == 0; i++)
        code = moments[i].is_call ? on_call(ordering, &ordering->calls[moments[i].number]) : on_command(ordering, moments[i].number);
    return code;
}
