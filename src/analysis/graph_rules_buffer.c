/* SPDX-License-Identifier: MIT */
/*
 * Buffers: a communication reads what a copy of the device wrote, or a copy reads what a communication wrote. By address ranges: copies'
 * and fills' are those of the call that asked for them, MPI's are in its calls. What kernels read and write is not known.
 */
#include "base/array.h"
#include "base/error.h"
#include "graph_rules_buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HAS(payload, type, field) ((payload)->present >> FIELD_##type##_##field & 1)
#define VALUE(payload, type, field) ((payload)->fields[FIELD_##type##_##field].u64)

enum { RANGES_LOOKED_AT = 256 }; /* that begin below a range's end, nearest first: who overlaps lots of others has no answer */

struct access {
    uint64_t begin, end;
    int64_t time_ns;
    uint32_t process, span;
};
struct accesses {
    struct access *rows;   /* by process, range and time */
    size_t count, capacity;
    struct range {
        size_t first, count;
        uint64_t reach;    /* greatest end of this and all before it in its process */
    } *ranges;
    size_t range_count;
};

struct buffers {
    struct graph_rules *rules;
    const struct trace_track *tracks;
    struct accesses written, read, received; /* by devices; by devices; by communication */
};

#define COMPARE(left, right) (((left) > (right)) - ((left) < (right)))

static int by_range_and_time(const void *left, const void *right)
{
    const struct access *a = left, *b = right;
    int order = COMPARE(a->process, b->process);
    order = order ? order : COMPARE(a->begin, b->begin);
    order = order ? order : COMPARE(a->end, b->end);
    order = order ? order : COMPARE(a->time_ns, b->time_ns);
    return order ? order : COMPARE(a->span, b->span);
}

static int add_access(struct buffers *buffers, struct accesses *accesses, span_id span, uint64_t address, uint64_t bytes, int64_t time_ns)
{
    struct access access = {.begin = address, .time_ns = time_ns, .span = span.index};
    if (!address || !bytes || __builtin_add_overflow(address, bytes, &access.end))
        return 0;
    struct access *rows = array_reserve(accesses->rows, &accesses->capacity, accesses->count + 1, sizeof *rows);
    if (!rows)
        return -ENOMEM;
    accesses->rows = rows;
    access.process = buffers->tracks[graph_rules_track(buffers->rules, graph_rules_begin(buffers->rules, span)).index].process.index;
    rows[accesses->count++] = access;
    return 0;
}

static bool same_range(const struct access *left, const struct access *right)
{
    return left->process == right->process && left->begin == right->begin && left->end == right->end;
}

static int index_ranges(struct accesses *accesses)
{
    if (accesses->count)
        qsort(accesses->rows, accesses->count, sizeof *accesses->rows, by_range_and_time);
    accesses->ranges = malloc((accesses->count + 1) * sizeof *accesses->ranges);
    if (!accesses->ranges)
        return -ENOMEM;
    for (size_t i = 0; i < accesses->count; i++) {
        const struct access *row = &accesses->rows[i];
        if (i && same_range(row, row - 1)) {
            accesses->ranges[accesses->range_count - 1].count++;
            continue;
        }
        bool goes_on = i && row->process == row[-1].process;
        uint64_t before = goes_on ? accesses->ranges[accesses->range_count - 1].reach : 0;
        accesses->ranges[accesses->range_count++] = (struct range){i, 1, row->end > before ? row->end : before};
    }
    return 0;
}

/* The last access of a range that was over by then. */
static const struct access *last_of(const struct accesses *accesses, const struct range *range, int64_t until_ns)
{
    size_t low = range->first, high = range->first + range->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (accesses->rows[middle].time_ns <= until_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low > range->first ? &accesses->rows[low - 1] : NULL;
}

/* The last access of something in [begin, end) that was over by then; NULL. */
static const struct access *find(const struct accesses *accesses, const struct access *wanted)
{
    size_t low = 0, high = accesses->range_count;
    const struct access *found = NULL;
    while (low < high) { /* behind the last range of the process that begins below the end */
        size_t middle = low + (high - low) / 2;
        const struct access *row = &accesses->rows[accesses->ranges[middle].first];
        if (row->process < wanted->process || (row->process == wanted->process && row->begin < wanted->end))
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t looked = 0; low > 0 && looked < RANGES_LOOKED_AT; looked++) {
        const struct range *range = &accesses->ranges[--low];
        const struct access *row = &accesses->rows[range->first];
        if (row->process != wanted->process || range->reach <= wanted->begin)
            break;
        const struct access *last = row->end > wanted->begin ? last_of(accesses, range, wanted->time_ns) : NULL;
        if (last && (!found || last->time_ns > found->time_ns))
            found = last;
    }
    return found;
}

/* A copy or fill, by the call that asked for it. */
static int on_launch(void *context, const struct trace_link *link)
{
    struct buffers *buffers = context;
    struct graph_rules *rules = buffers->rules;
    struct payload payload;
    uint8_t kind = rules->kind[link->to.index];
    if ((kind != SPAN_KIND_COPY && kind != SPAN_KIND_FILL) || graph_rules_payload(rules, link->from, &payload) < 0 || payload.kind != PAYLOAD_API ||
        !HAS(&payload, API, bytes))
        return 0;
    int code = 0;
    if (HAS(&payload, API, destination))
        code = add_access(buffers, &buffers->written, link->to, VALUE(&payload, API, destination), VALUE(&payload, API, bytes),
                          graph_rules_end_ns(rules, link->to));
    if (code == 0 && HAS(&payload, API, source))
        code = add_access(buffers, &buffers->read, link->to, VALUE(&payload, API, source), VALUE(&payload, API, bytes),
                          graph_rules_begin_ns(rules, link->to));
    return code;
}

static int add_edge(struct buffers *buffers, uint32_t from, uint32_t to)
{
    return graph_rules_edge(buffers->rules, graph_rules_end(buffers->rules, (span_id){from}), graph_rules_begin(buffers->rules, (span_id){to}),
                            EDGE_RULE_BUFFER, CONFIDENCE_HIGH, graph_rules_class(EDGE_RULE_BUFFER, 0, 0));
}

static int reads(struct buffers *buffers, span_id call, uint64_t address, uint64_t bytes)
{
    const struct accesses *written = &buffers->written;
    struct access wanted = {.begin = address, .time_ns = graph_rules_begin_ns(buffers->rules, call)};
    if (!address || !bytes || __builtin_add_overflow(address, bytes, &wanted.end))
        return 0;
    wanted.process = buffers->tracks[graph_rules_track(buffers->rules, graph_rules_begin(buffers->rules, call)).index].process.index;
    const struct access *last = find(written, &wanted);
    return last ? add_edge(buffers, last->span, call.index) : 0;
}

/* What an immediate call receives is there at its wait only: left out. */
static int on_call(void *context, const struct graph_row *row)
{
    struct buffers *buffers = context;
    const char *name = row->block->name ? trace_text(buffers->rules->trace, row->block->name[row->row]) : "";
    int64_t end_ns = graph_rules_end_ns(buffers->rules, row->span);
    struct payload payload;
    int code = 0;
    if (strncmp(name, "MPI_", 4) != 0 || span_payload(row->block, row->row, &payload) < 0)
        return 0;
    bool immediate = name[4] == 'I';
    if (payload.kind == PAYLOAD_MESSAGE && HAS(&payload, MESSAGE, send_buffer) && HAS(&payload, MESSAGE, send_extent))
        code = reads(buffers, row->span, VALUE(&payload, MESSAGE, send_buffer), VALUE(&payload, MESSAGE, send_extent));
    if (payload.kind == PAYLOAD_COLLECTIVE && HAS(&payload, COLLECTIVE, send_buffer) && HAS(&payload, COLLECTIVE, send_extent))
        code = reads(buffers, row->span, VALUE(&payload, COLLECTIVE, send_buffer), VALUE(&payload, COLLECTIVE, send_extent));
    if (code || immediate)
        return code;
    if (payload.kind == PAYLOAD_MESSAGE && HAS(&payload, MESSAGE, receive_buffer) && HAS(&payload, MESSAGE, receive_extent))
        code = add_access(buffers, &buffers->received, row->span, VALUE(&payload, MESSAGE, receive_buffer), VALUE(&payload, MESSAGE, receive_extent), end_ns);
    if (payload.kind == PAYLOAD_COLLECTIVE && HAS(&payload, COLLECTIVE, receive_buffer) && HAS(&payload, COLLECTIVE, receive_extent))
        code = add_access(buffers, &buffers->received, row->span, VALUE(&payload, COLLECTIVE, receive_buffer),
                          VALUE(&payload, COLLECTIVE, receive_extent), end_ns);
    return code;
}

static int find_edges(struct buffers *buffers, struct error *err)
{
    const uint64_t kinds = UINT64_C(1) << SPAN_KIND_SEND | UINT64_C(1) << SPAN_KIND_RECV | UINT64_C(1) << SPAN_KIND_COLLECTIVE;
    int code = graph_rules_each_link(buffers->rules, 1u << LINK_KIND_LAUNCH, on_launch, buffers, err);
    if (code || buffers->written.count + buffers->read.count == 0)
        return code;
    code = index_ranges(&buffers->written);
    if (code == 0)
        code = graph_rules_each_span(buffers->rules, kinds, true, on_call, buffers, err);
    if (code == 0)
        code = index_ranges(&buffers->received);
    for (size_t i = 0; i < buffers->read.count && code == 0; i++) {
        const struct access *last = find(&buffers->received, &buffers->read.rows[i]);
        code = last ? add_edge(buffers, last->span, buffers->read.rows[i].span) : 0;
    }
    return code;
}

int graph_rules_buffer(struct graph_rules *rules, struct error *err)
{
    struct buffers buffers = {.rules = rules};
    uint32_t tracks;
    string_id mpi;
    buffers.tracks = trace_tracks(rules->trace, &tracks);
    if (!string_table_find(trace_strings(rules->trace), "mpi", strlen("mpi"), &mpi))
        return 0;
    int code = find_edges(&buffers, err);
    struct accesses *const all[] = {&buffers.written, &buffers.read, &buffers.received};
    for (int i = 0; i < 3; i++) {
        free(all[i]->rows);
        free(all[i]->ranges);
    }
    return code;
}
