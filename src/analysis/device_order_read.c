/* SPDX-License-Identifier: MIT */
/* Commands of CUDA's streams, and the calls that record, wait and synchronise, as rows with numbers for streams and contexts. */
#include "device_order_internal.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HAS(payload, type, field) ((payload)->present >> FIELD_##type##_##field & 1)
#define VALUE(payload, type, field) ((payload)->fields[FIELD_##type##_##field].u64)

#define TAKEN_ALONG_BYTES 65536 /* of pageable memory, by an asynchronous copy to the device: the call does not wait (docs/cuda.md) */

int ordering_context(struct ordering *ordering, uint32_t process, uint64_t context, uint32_t *ret_context)
{
    uint64_t key = hash_u64(hash_u64(context) ^ process), index;
    if (!map_get(&ordering->context_index, key, &index)) {
        struct order_context *rows = array_reserve(ordering->contexts, &ordering->context_capacity, ordering->context_count + 1, sizeof *rows);
        if (!rows)
            return -ENOMEM;
        ordering->contexts = rows;
        index = ordering->context_count++;
        rows[index] = (struct order_context){.process = process, .barrier = ORDER_NONE};
        if (map_set(&ordering->context_index, key, index) < 0)
            return -ENOMEM;
    }
    *ret_context = (uint32_t)index;
    return 0;
}

int ordering_stream(struct ordering *ordering, uint32_t process, uint64_t context, uint64_t stream, uint32_t *ret_stream)
{
    uint64_t key = hash_u64(hash_u64(hash_u64(stream) ^ context) ^ process), index;
    if (!map_get(&ordering->stream_index, key, &index)) {
        struct order_stream *rows = array_reserve(ordering->streams, &ordering->stream_capacity, ordering->stream_count + 1, sizeof *rows);
        if (!rows)
            return -ENOMEM;
        ordering->streams = rows;
        index = ordering->stream_count++;
        rows[index] = (struct order_stream){.last = ORDER_NONE, .told = ORDER_NONE, .barrier = ORDER_NONE,
                                            .group_last = ORDER_NONE, .group_launch = ORDER_NONE, .before_group = ORDER_NONE};
        int code = ordering_context(ordering, process, context, &rows[index].context);
        if (code == 0)
            code = map_set(&ordering->stream_index, key, index);
        if (code)
            return code;
    }
    *ret_stream = (uint32_t)index;
    return 0;
}

/* Those that say nothing by links, and whose payloads hold what is needed. */
static bool is_ordered_by_rules(const struct ordering *ordering, const struct span_block *block, uint32_t row)
{
    return block->category && strcmp(trace_text(ordering->trace, block->category[row]), "cuda") == 0;
}

static bool context_of(const struct payload *payload, uint64_t *ret_context)
{
    static const struct {
        enum payload_kind kind;
        unsigned field;
    } places[] = {{PAYLOAD_KERNEL, FIELD_KERNEL_context}, {PAYLOAD_COPY, FIELD_COPY_context}, {PAYLOAD_FILL, FIELD_FILL_context}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (payload->kind == places[i].kind && payload->present >> places[i].field & 1) {
            *ret_context = payload->fields[places[i].field].u64;
            return true;
        }
    return false;
}

/* A lane's name says of what sort its stream is (docs/cuda.md). */
static enum stream_sort sort_of(const struct ordering *ordering, const struct trace_track *track)
{
    const char *name = trace_text(ordering->trace, track->name);
    return strstr(name, "(default)") ? STREAM_DEFAULT : strstr(name, "(non-blocking)") ? STREAM_NON_BLOCKING : STREAM_ORDINARY;
}

static void describe_copy(const struct ordering *ordering, const struct payload *payload, struct order_command *command)
{
    bool to_device = false;
    command->is_copy = true;
    command->host_waits = true;
    if (payload->kind != PAYLOAD_COPY)
        return;
    if (HAS(payload, COPY, direction)) {
        const char *direction = trace_text(ordering->trace, payload->fields[FIELD_COPY_direction].string);
        command->host_waits = strcmp(direction, "device-to-device") != 0 && strcmp(direction, "peer") != 0;
        to_device = strcmp(direction, "host-to-device") == 0;
    }
    if (to_device && HAS(payload, COPY, bytes) && VALUE(payload, COPY, bytes) <= TAKEN_ALONG_BYTES)
        return;
    const unsigned sides[] = {FIELD_COPY_source_memory, FIELD_COPY_destination_memory};
    for (int i = 0; i < 2; i++)
        if (payload->present >> sides[i] & 1)
            command->pageable |= strcmp(trace_text(ordering->trace, payload->fields[sides[i]].string), "pageable") == 0;
}

static int add_command(struct ordering *ordering, const struct span_block *block, uint32_t row, uint32_t *stream)
{
    const struct trace_track *track = &ordering->tracks[block->info.track.index];
    struct payload payload;
    uint64_t context;
    int code = 0;
    uint8_t kind = block->kind[row];
    if (*stream == ORDER_NONE || kind == SPAN_KIND_COPY) {
        if (span_payload(block, row, &payload) < 0 || (*stream == ORDER_NONE && !context_of(&payload, &context)))
            return 0;
        if (*stream == ORDER_NONE)
            code = ordering_stream(ordering, track->process.index, context, (uint32_t)track->stream, stream);
        if (code)
            return code;
        ordering->streams[*stream].sort = (uint8_t)sort_of(ordering, track);
    }
    struct order_command *rows = array_reserve(ordering->commands, &ordering->command_capacity, ordering->command_count + 1, sizeof *rows);
    if (!rows)
        return -ENOMEM;
    ordering->commands = rows;
    struct order_command *command = &rows[ordering->command_count++];
    *command = (struct order_command){
        .begin_ns = block->begin_ns[row], .end_ns = trace_span_end(ordering->trace, block->info.track, block->begin_ns[row], block->end_ns[row]),
        .call_begin_ns = block->begin_ns[row], .call_end_ns = block->begin_ns[row], .span = block->info.first + row, .launch = ORDER_NONE,
        .stream = *stream};
    if (kind == SPAN_KIND_COPY)
        describe_copy(ordering, &payload, command);
    return 0;
}

static bool is_command(uint8_t kind)
{
    return kind == SPAN_KIND_KERNEL || kind == SPAN_KIND_COPY || kind == SPAN_KIND_FILL || kind == SPAN_KIND_GRAPH;
}

/* The payload of a call, if it tells of an order. */
static bool describe_call(const struct ordering *ordering, const struct payload *payload, bool launches, struct order_call *call,
                          bool *ret_has_stream, uint64_t *ret_context, uint64_t *ret_stream)
{
    static const struct {
        const char *what;
        uint8_t kind;
    } words[] = {{"event record", ORDER_RECORD}, {"stream wait", ORDER_STREAM_WAIT}, {"event", ORDER_SYNC_EVENT},
                 {"stream", ORDER_SYNC_STREAM}, {"context", ORDER_SYNC_CONTEXT}};
    if (payload->kind == PAYLOAD_API && launches) {
        call->kind = ORDER_GRAPH_LAUNCH;
        *ret_has_stream = HAS(payload, API, stream);
        *ret_stream = VALUE(payload, API, stream);
        *ret_context = VALUE(payload, API, context);
        return *ret_has_stream && HAS(payload, API, context) && !HAS(payload, API, result);
    }
    if (payload->kind == PAYLOAD_API) {
        call->kind = ORDER_BLOCKING_COPY;
        return HAS(payload, API, blocking) && VALUE(payload, API, blocking);
    }
    if (payload->kind == PAYLOAD_ALLOC) {
        call->kind = ORDER_SYNC_CONTEXT;
        call->implied = true;
        *ret_context = VALUE(payload, ALLOC, context);
        return HAS(payload, ALLOC, blocking) && VALUE(payload, ALLOC, blocking) && HAS(payload, ALLOC, context) && !HAS(payload, ALLOC, result);
    }
    if (payload->kind != PAYLOAD_DEVICE_SYNC || !HAS(payload, DEVICE_SYNC, what) || HAS(payload, DEVICE_SYNC, result) ||
        (HAS(payload, DEVICE_SYNC, captured) && VALUE(payload, DEVICE_SYNC, captured)))
        return false;
    const char *what = trace_text(ordering->trace, payload->fields[FIELD_DEVICE_SYNC_what].string);
    call->record_known = HAS(payload, DEVICE_SYNC, record);
    call->record = call->record_known ? VALUE(payload, DEVICE_SYNC, record) : 0;
    *ret_has_stream = HAS(payload, DEVICE_SYNC, stream);
    *ret_stream = VALUE(payload, DEVICE_SYNC, stream);
    *ret_context = VALUE(payload, DEVICE_SYNC, context);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(what, words[i].what) == 0) {
            call->kind = words[i].kind;
            return call->kind == ORDER_SYNC_EVENT || HAS(payload, DEVICE_SYNC, context);
        }
    return false;
}

static int add_call(struct ordering *ordering, const struct span_block *block, uint32_t row)
{
    uint32_t process = ordering->tracks[block->info.track.index].process.index;
    struct payload payload;
    struct order_call call = {.span = block->info.first + row, .stream = ORDER_NONE, .context = ORDER_NONE, .begin_ns = block->begin_ns[row],
                              .end_ns = trace_span_end(ordering->trace, block->info.track, block->begin_ns[row], block->end_ns[row])};
    uint64_t context = 0, stream = 0;
    bool has_stream = false;
    if (span_payload(block, row, &payload) < 0 || !describe_call(ordering, &payload, block->kind[row] == SPAN_KIND_LAUNCH, &call, &has_stream, &context, &stream))
        return 0;
    int code = 0;
    if (has_stream)
        code = ordering_stream(ordering, process, context, stream, &call.stream);
    if (code == 0)
        code = ordering_context(ordering, process, context, &call.context);
    struct order_call *rows = array_reserve(ordering->calls, &ordering->call_capacity, ordering->call_count + 1, sizeof *rows);
    if (code || !rows)
        return code ? code : -ENOMEM;
    ordering->calls = rows;
    rows[ordering->call_count++] = call;
    return 0;
}

static bool may_order(uint8_t kind)
{
    return kind == SPAN_KIND_SYNC || kind == SPAN_KIND_API || kind == SPAN_KIND_ALLOC || kind == SPAN_KIND_LAUNCH;
}

static int read_rows(struct ordering *ordering, const struct span_block *block, uint32_t *stream)
{
    bool lane = ordering->tracks[block->info.track.index].kind == TRACK_KIND_STREAM;
    int code = 0;
    for (uint32_t row = 0; block->kind && row < block->info.count && code == 0; row++) {
        uint8_t kind = block->kind[row];
        if (!(lane ? is_command(kind) : may_order(kind)) || !is_ordered_by_rules(ordering, block, row))
            continue;
        code = lane ? add_command(ordering, block, row, stream) : add_call(ordering, block, row);
    }
    return code;
}

static int read_spans(struct ordering *ordering)
{
    uint32_t stream = ORDER_NONE;
    track_id track = TRACK_NONE;
    int code = 0;
    for (uint32_t i = 0; i < trace_block_count(ordering->trace, FAMILY_SPANS) && code == 0; i++) {
        struct block_info info = trace_block_info(ordering->trace, FAMILY_SPANS, i);
        enum track_kind kind = info.track.index < ordering->track_count ? ordering->tracks[info.track.index].kind : TRACK_KIND_COUNTER;
        struct span_block block;
        if (kind != TRACK_KIND_STREAM && kind != TRACK_KIND_THREAD)
            continue;
        if (!track_id_is(track, info.track))
            stream = ORDER_NONE;
        track = info.track;
        const uint32_t columns = SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_CATEGORY) |
                                 SPAN_COLUMN_BIT(SPAN_COLUMN_KIND) | SPAN_COLUMN_BIT(SPAN_COLUMN_PAYLOAD_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_PAYLOAD);
        code = trace_spans_scan(ordering->trace, i, columns, &block, ordering->err);
        if (code < 0)
            return code;
        code = read_rows(ordering, &block, &stream);
        trace_spans_put(ordering->trace, &block);
    }
    return code;
}

/* By span: its command; ORDER_NONE. */
static uint32_t *commands_by_span(const struct ordering *ordering)
{
    uint64_t spans = trace_row_count(ordering->trace, FAMILY_SPANS);
    uint32_t *commands = malloc((spans + 1) * sizeof *commands);
    if (commands)
        memset(commands, 0xff, (spans + 1) * sizeof *commands);
    for (size_t i = 0; commands && i < ordering->command_count; i++)
        if (ordering->commands[i].span < spans)
            commands[ordering->commands[i].span] = (uint32_t)i;
    return commands;
}

static int read_launches(struct ordering *ordering)
{
    CLEANUP(freep) uint32_t *commands = commands_by_span(ordering);
    if (!commands)
        return -ENOMEM;
    for (uint32_t i = 0; i < trace_block_count(ordering->trace, FAMILY_LINKS); i++) {
        struct link_block block;
        int code = trace_links_get(ordering->trace, i, &block, ordering->err);
        if (code < 0)
            return code;
        for (uint32_t row = 0; row < block.info.count; row++) {
            bool launch = block.kind && block.kind[row] == LINK_KIND_LAUNCH && block.to[row].index < trace_row_count(ordering->trace, FAMILY_SPANS);
            uint32_t command = launch ? commands[block.to[row].index] : ORDER_NONE;
            if (command != ORDER_NONE)
                ordering->commands[command].launch = block.from[row].index;
        }
        trace_links_put(ordering->trace, &block);
    }
    return 0;
}

static int by_number(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Commands of one launch beside each other, each launch's in the order of the trace. */
static int sort_by_launch(struct ordering *ordering)
{
    CLEANUP(freep) uint64_t *keys = malloc((ordering->command_count + 1) * sizeof *keys);
    struct order_command *sorted = malloc((ordering->command_count + 1) * sizeof *sorted);
    if (!keys || !sorted) {
        free(sorted);
        return -ENOMEM;
    }
    for (size_t i = 0; i < ordering->command_count; i++)
        keys[i] = (uint64_t)ordering->commands[i].launch << 32 | (uint32_t)i;
    qsort(keys, ordering->command_count, sizeof *keys, by_number);
    for (size_t i = 0; i < ordering->command_count; i++)
        sorted[i] = ordering->commands[(uint32_t)keys[i]];
    free(ordering->commands);
    ordering->commands = sorted;
    return 0;
}

/* The times of the calls that launched. Leaves commands by launch. */
static int read_launch_times(struct ordering *ordering)
{
    struct span_block block = {.info.count = 0};
    int code = sort_by_launch(ordering);
    for (size_t i = 0; code == 0 && i < ordering->command_count; i++) {
        struct order_command *command = &ordering->commands[i];
        uint32_t number, row;
        if (command->launch - block.info.first >= block.info.count) {
            if (!trace_span_find(ordering->trace, (span_id){command->launch}, &number, &row))
                continue;
            if (block.info.count)
                trace_spans_put(ordering->trace, &block);
            block.info.count = 0;
            code = trace_spans_get_columns(ordering->trace, number, SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END), &block,
                                           ordering->err);
            if (code < 0)
                return code;
        }
        row = command->launch - block.info.first;
        command->call_begin_ns = block.begin_ns[row];
        command->call_end_ns = trace_span_end(ordering->trace, block.info.track, block.begin_ns[row], block.end_ns[row]);
    }
    if (block.info.count)
        trace_spans_put(ordering->trace, &block);
    return code;
}

int ordering_read(struct ordering *ordering)
{
    ordering->tracks = trace_tracks(ordering->trace, &ordering->track_count);
    int code = read_spans(ordering);
    if (code || !ordering->command_count)
        return code;
    ordering_find_overlaps(ordering);
    code = read_launches(ordering);
    if (code == 0)
        code = ordering_infer_launches(ordering);
    return code ? code : read_launch_times(ordering);
}
