/* SPDX-License-Identifier: MIT */
/* The ends of messages as MESSAGE payloads have them, one by one or from a finished trace. */
#include "message_match.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HAS(payload, field) ((payload)->present >> FIELD_MESSAGE_##field & 1)
#define VALUE(payload, field) ((payload)->fields[FIELD_MESSAGE_##field])

#define NOBODY (-1) /* MPI_PROC_NULL; below it: a process whose world rank is not known */

static int32_t rank_value(int64_t value)
{
    return value < NOBODY || value > INT32_MAX ? NOBODY - 1 : (int32_t)value;
}

/* What has no partner to look for still has its number. */
static int add_alone(struct message_match *match, const struct message_end *end, int32_t peer)
{
    if (peer < NOBODY)
        message_match_leave_out(match, MESSAGE_OTHER_WORLD);
    return message_match_add_posting(match, end->process, end->order);
}

static bool is_cancelled(const struct payload *payload)
{
    return HAS(payload, cancelled) && VALUE(payload, cancelled).u64;
}

static int add_send(struct message_match *match, const struct message_span *span, const struct payload *payload,
                    struct message_end *end)
{
    if (is_cancelled(payload)) {
        message_match_leave_out(match, MESSAGE_CANCELLED);
        return add_alone(match, end, NOBODY);
    }
    end->receive = false;
    end->source = span->rank;
    end->destination = HAS(payload, send_to) ? rank_value(VALUE(payload, send_to).i64) : NOBODY - 1;
    end->tag = (int32_t)VALUE(payload, send_tag).i64;
    end->bytes = HAS(payload, send_bytes) ? VALUE(payload, send_bytes).u64 : UINT64_MAX;
    end->time_ns = span->begin_ns;
    return end->destination < 0 ? add_alone(match, end, end->destination) : message_match_add(match, end);
}

/* One that was posted for anybody and whose end is not known may have taken any message: its number stays missing, as if its
 * record were lost. */
static int add_receive(struct message_match *match, const struct message_span *span, const struct payload *payload,
                       struct message_end *end)
{
    bool stranger = !HAS(payload, receive_from) && HAS(payload, receive_tag) && HAS(payload, receive_bytes); /* it came, but whence? */
    int32_t source = HAS(payload, receive_from) ? rank_value(VALUE(payload, receive_from).i64) : stranger ? NOBODY - 1 : 0;
    if (is_cancelled(payload)) {
        message_match_leave_out(match, MESSAGE_CANCELLED);
        source = NOBODY;
    }
    if (source < 0)
        return add_alone(match, end, source);
    if (!HAS(payload, receive_from) || !HAS(payload, receive_tag)) {
        message_match_leave_out(match, MESSAGE_UNRESOLVED);
        return 0;
    }
    end->receive = true;
    end->source = source;
    end->destination = span->rank;
    end->tag = (int32_t)VALUE(payload, receive_tag).i64;
    end->bytes = HAS(payload, receive_bytes) ? VALUE(payload, receive_bytes).u64 : UINT64_MAX;
    end->time_ns = span->received_ns;
    return message_match_add(match, end);
}

int message_match_add_span(struct message_match *match, const struct message_span *span, const struct payload *payload)
{
    bool send = HAS(payload, send_to) || HAS(payload, send_tag);
    bool receive = span->receive || HAS(payload, receive_from) || HAS(payload, receive_tag) || HAS(payload, any);
    int code = 0;
    if (!HAS(payload, comm) || !HAS(payload, order)) {
        for (int i = 0; i < send + receive; i++)
            message_match_leave_out(match, MESSAGE_UNNUMBERED);
        return 0;
    }
    struct message_end end = {
        .process = span->process, .comm = VALUE(payload, comm).u64, .order = VALUE(payload, order).u64, .span = span->span,
        .thread = span->thread, .threads = HAS(payload, threads) && VALUE(payload, threads).u64,
    };
    if (send)
        code = add_send(match, span, payload, &end);
    if (receive && code == 0)
        code = add_receive(match, span, payload, &end);
    return code;
}

/* --- a finished trace --------------------------------------------------------------------------------------------- */

struct reading {
    struct message_match *match;
    const struct trace *trace;
    const struct trace_process *processes;
    const struct trace_track *tracks;
    uint32_t *numbers; /* by process of the trace; ID_NONE: none of MPI's */
    uint32_t process_count, track_count;
    bool lossy;
};

static int add_row(struct reading *reading, const struct span_block *block, uint32_t row, uint32_t process)
{
    struct payload payload;
    int code = span_payload(block, row, &payload);
    if (code || payload.kind != PAYLOAD_MESSAGE || (block->kind && block->kind[row] == SPAN_KIND_PROBE))
        return code; /* a probe posts nothing: it tells of the message that it found */
    const struct message_span span = {
        .process = reading->numbers[process], .span = block->info.first + row, .thread = block->info.track.index,
        .rank = reading->processes[process].rank, .receive = block->kind && block->kind[row] == SPAN_KIND_RECV,
        .begin_ns = block->begin_ns[row], .received_ns = INT64_MAX,
    };
    return message_match_add_span(reading->match, &span, &payload);
}

/* Its number, if it has one, tells whether something is missing before it; else only that nothing was lost at all does. */
static int add_finalize(struct reading *reading, const struct span_block *block, uint32_t row, uint32_t process)
{
    struct payload payload;
    int code = span_payload(block, row, &payload);
    if (code)
        return code;
    if (payload.kind == PAYLOAD_MESSAGE && HAS(&payload, order))
        code = message_match_add_posting(reading->match, reading->numbers[process], VALUE(&payload, order).u64);
    else if (reading->lossy)
        return 0;
    message_match_finalized(reading->match, reading->numbers[process]);
    return code;
}

static bool lost_records(const struct trace *trace)
{
    uint32_t count;
    const struct ledger_entry *rows = trace_ledger(trace, &count);
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].lost && strcmp(trace_text(trace, rows[i].source), "runtime records") == 0)
            return true;
    return false;
}

static int add_block(struct reading *reading, uint32_t index, uint32_t process, struct error *err)
{
    const uint32_t columns = SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_NAME) | SPAN_COLUMN_BIT(SPAN_COLUMN_KIND) |
                             SPAN_COLUMN_BIT(SPAN_COLUMN_PAYLOAD_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_PAYLOAD);
    struct span_block block;
    int code = trace_spans_scan(reading->trace, index, columns, &block, err);
    if (code)
        return code;
    for (uint32_t row = 0; row < block.info.count && code == 0; row++) {
        uint32_t from = row && block.payload_end ? block.payload_end[row - 1] : 0;
        if (block.name && strncasecmp(trace_text(reading->trace, block.name[row]), "MPI_Finalize", 12) == 0)
            code = add_finalize(reading, &block, row, process);
        else if (block.payload_end && block.payload_end[row] > from && block.payload[from] == PAYLOAD_MESSAGE)
            code = add_row(reading, &block, row, process);
    }
    trace_spans_put(reading->trace, &block);
    return code ? error_set_errno(err, code, "messages of block %u", index) : 0;
}

static int add_blocks(struct reading *reading, struct error *err)
{
    int code = 0;
    for (uint32_t i = 0; i < trace_block_count(reading->trace, FAMILY_SPANS) && code == 0; i++) {
        struct block_info info = trace_block_info(reading->trace, FAMILY_SPANS, i);
        uint32_t process = info.track.index < reading->track_count ? reading->tracks[info.track.index].process.index : ID_NONE;
        if (process < reading->process_count && reading->numbers[process] != ID_NONE)
            code = add_block(reading, i, process, err);
    }
    return code;
}

int message_match_add_trace(struct message_match *match, const struct trace *trace, uint32_t *ret_first, struct error *err)
{
    struct reading reading = {.match = match, .trace = trace, .lossy = lost_records(trace)};
    int code = 0;
    reading.processes = trace_processes(trace, &reading.process_count);
    reading.tracks = trace_tracks(trace, &reading.track_count);
    reading.numbers = malloc(((size_t)reading.process_count + 1) * sizeof *reading.numbers);
    if (!reading.numbers)
        return error_set(err, -ENOMEM, "messages: out of memory");
    *ret_first = UINT32_MAX;
    for (uint32_t i = 0; i < reading.process_count && code == 0; i++) {
        reading.numbers[i] = ID_NONE;
        if (reading.processes[i].rank >= 0)
            code = message_match_add_process(match, reading.processes[i].rank, &reading.numbers[i]);
        if (code == 0 && reading.numbers[i] < *ret_first)
            *ret_first = reading.numbers[i];
    }
    code = code ? error_set_errno(err, code, "messages") : add_blocks(&reading, err);
    free(reading.numbers);
    return code;
}
