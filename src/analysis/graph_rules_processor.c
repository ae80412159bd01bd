/* SPDX-License-Identifier: MIT */
/*
 * Processors. A preempted thread comes back when another one leaves its processor. On which it came back says its next time off (a thread
 * stays on one processor between two); who left that processor at the same moment says the other's. Where no traced thread did, somebody
 * else had it, and there is no edge.
 *
 * A thread that was preempted while it waited (it looked again and again, or gave way to others) may have been released long before it came back: then
 * it waited for the processor in the end. Whether it was says the latest of the edges into the end of its wait.
 */
#include "base/array.h"
#include "base/error.h"
#include "base/parcel.h"
#include "graph_piece_internal.h"

#include <errno.h>
#include <string.h>

#define SWITCH_NS 50000 /* from one thread's leaving to the other's return: one switch, one reading of the clock each */
#define CPU_UNKNOWN UINT64_MAX

struct leavings {
    struct leaving *items;
    size_t count, capacity;
    string_id preempted;
};

/* By track of threads: its lane; LANE_NONE. */
static uint32_t *lanes_of_threads(const struct graph_rules *rules, uint32_t track_count)
{
    uint32_t *lanes = malloc(((size_t)track_count + 1) * sizeof *lanes);
    if (lanes)
        memset(lanes, 0xff, ((size_t)track_count + 1) * sizeof *lanes);
    for (uint32_t i = 0; lanes && i < rules->builder->lane_count; i++)
        lanes[rules->builder->columns.lanes[i].track.index] = i;
    return lanes;
}

static uint32_t lane_of_sched(const struct trace_track *tracks, uint32_t track_count, const uint32_t *lanes, uint32_t sched)
{
    for (uint32_t i = 0; i < track_count; i++)
        if (lanes[i] != LANE_NONE && tracks[i].kind == TRACK_KIND_THREAD && tracks[i].tid == tracks[sched].tid &&
            process_id_is(tracks[i].process, tracks[sched].process))
            return lanes[i];
    return LANE_NONE;
}

/* Machines number their processors each from 0. */
static uint64_t machine_cpu(const struct trace *trace, track_id track, uint64_t cpu)
{
    uint32_t track_count, process_count;
    const struct trace_track *tracks = trace_tracks(trace, &track_count);
    const struct trace_process *processes = trace_processes(trace, &process_count);
    uint32_t process = tracks[track.index].process.index;
    return (process < process_count ? (uint64_t)processes[process].node.index << 32 : 0) ^ cpu;
}

static int read_block(const struct graph_rules *rules, uint32_t number, uint32_t lane, bool first, struct leavings *leavings, struct error *err)
{
    struct span_block block;
    int code = trace_spans_scan(rules->trace, number, UINT32_MAX, &block, err);
    if (code < 0)
        return code;
    struct leaving *items = array_reserve(leavings->items, &leavings->capacity, leavings->count + block.info.count, sizeof *items);
    if (!items) {
        trace_spans_put(rules->trace, &block);
        return -ENOMEM;
    }
    leavings->items = items;
    for (uint32_t row = 0; row < block.info.count; row++) {
        struct payload payload;
        bool known = span_payload(&block, row, &payload) == 0 && payload.kind == PAYLOAD_BLOCKED && payload.present >> FIELD_BLOCKED_previous_cpu & 1;
        struct leaving *leaving = &items[leavings->count++];
        *leaving = (struct leaving){
            .cpu = known ? machine_cpu(rules->trace, block.info.track, payload.fields[FIELD_BLOCKED_previous_cpu].u64) : CPU_UNKNOWN,
            .begin_ns = block.begin_ns[row],
            .end_ns = trace_span_end(rules->trace, block.info.track, block.begin_ns[row], block.end_ns[row]),
            .next_ns = INT64_MAX,
            .next_cpu = CPU_UNKNOWN,
            .lane = lane,
            .preempted = block.name && string_is(block.name[row], leavings->preempted),
        };
        if (!(first && row == 0)) {
            leaving[-1].next_cpu = leaving->cpu;
            leaving[-1].next_ns = leaving->begin_ns;
        }
    }
    trace_spans_put(rules->trace, &block);
    return 0;
}

static int read_all(struct graph_rules *rules, struct leavings *leavings, struct error *err)
{
    uint32_t track_count, blocks = trace_block_count(rules->trace, FAMILY_SPANS), lane = LANE_NONE;
    const struct trace_track *tracks = trace_tracks(rules->trace, &track_count);
    CLEANUP(freep) uint32_t *lanes = lanes_of_threads(rules, track_count);
    track_id before = TRACK_NONE;
    int code = lanes ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < blocks && code == 0; i++) {
        struct block_info info = trace_block_info(rules->trace, FAMILY_SPANS, i);
        if (tracks[info.track.index].kind != TRACK_KIND_SCHED)
            continue;
        bool first = !track_id_is(info.track, before);
        if (first)
            lane = lane_of_sched(tracks, track_count, lanes, info.track.index);
        before = info.track;
        code = lane != LANE_NONE ? read_block(rules, i, lane, first, leavings, err) : 0;
    }
    return code;
}

static int by_cpu(const void *left, const void *right)
{
    const struct leaving *a = left, *b = right;
    int order = (a->cpu > b->cpu) - (a->cpu < b->cpu);
    order = order ? order : (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
    return order ? order : (a->lane > b->lane) - (a->lane < b->lane);
}

/* The last that left this processor at or before a time. */
static const struct leaving *left_before(const struct leavings *leavings, uint64_t cpu, int64_t time_ns)
{
    size_t low = 0, high = leavings->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct leaving *leaving = &leavings->items[middle];
        if (leaving->cpu < cpu || (leaving->cpu == cpu && leaving->begin_ns <= time_ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low && leavings->items[low - 1].cpu == cpu ? &leavings->items[low - 1] : NULL;
}

/* What the thread could not come to before it was back: the end of its time off, or of the wait that it was in. */
static uint32_t held_up(const struct graph_rules *rules, const struct leaving *returned)
{
    const struct graph_columns *columns = &rules->builder->columns;
    const struct graph_lane *lane = &columns->lanes[returned->lane];
    uint32_t before = graph_rules_point_before(rules, returned->lane, returned->end_ns);
    if (before == POINT_NONE)
        return POINT_NONE;
    if (columns->time_ns[before] == returned->end_ns && columns->interval[before] == INTERVAL_DESCHEDULED)
        return before;
    uint32_t next = before + 1;
    if (next == lane->first_point + lane->point_count || (columns->interval[next] != INTERVAL_WAIT && columns->interval[next] != INTERVAL_IDLE))
        return POINT_NONE;
    bool at_once = columns->time_ns[next] - returned->end_ns <= SWITCH_NS && columns->time_ns[next] <= returned->next_ns;
    return at_once ? next : POINT_NONE;
}

/* A thread that left while it waited has no point of its own there: it left because it had begun to wait. */
static int return_edge(struct graph_rules *rules, const struct leavings *leavings, const struct leaving *returned)
{
    const struct leaving *gone = left_before(leavings, returned->next_cpu, returned->end_ns);
    if (!gone || gone->lane == returned->lane || returned->end_ns - gone->begin_ns > SWITCH_NS || gone->begin_ns <= returned->begin_ns)
        return 0;
    uint32_t to = held_up(rules, returned);
    uint32_t from = to != POINT_NONE ? graph_rules_point_before(rules, gone->lane, gone->begin_ns) : POINT_NONE;
    if (from == POINT_NONE)
        return 0;
    uint32_t kind = rules->builder->columns.interval[to];
    return graph_rules_edge(rules, from, to, EDGE_RULE_PROCESSOR, CONFIDENCE_HIGH, graph_rules_class(EDGE_RULE_PROCESSOR, kind, 0));
}

static int find_leavings(struct graph_rules *rules, struct leavings *leavings, struct error *err)
{
    if (rules->options->no_processor_edges || rules->options->leave_out_rules >> EDGE_RULE_PROCESSOR & 1)
        return 0;
    if (!string_table_find(trace_strings(rules->trace), "preempted", strlen("preempted"), &leavings->preempted))
        return 0;
    return read_all(rules, leavings, err);
}

static int find_returns(struct graph_rules *rules, struct leavings *leavings)
{
    int code = 0;
    if (leavings->count)
        qsort(leavings->items, leavings->count, sizeof *leavings->items, by_cpu);
    for (size_t i = 0; i < leavings->count && code == 0; i++)
        if (leavings->items[i].preempted && leavings->items[i].next_cpu != CPU_UNKNOWN)
            code = return_edge(rules, leavings, &leavings->items[i]);
    return code;
}

int graph_rules_processor(struct graph_rules *rules, struct error *err)
{
    struct leavings leavings = {0};
    int code = find_leavings(rules, &leavings, err);
    if (code == 0)
        code = find_returns(rules, &leavings);
    free(leavings.items);
    return code < 0 && !err->text[0] ? error_set_errno(err, code, "edges of processors") : code;
}

int graph_processor_pack(struct graph_rules *rules, struct parcel *parcel, struct error *err)
{
    struct leavings leavings = {0};
    int code = find_leavings(rules, &leavings, err);
    if (code == 0)
        parcel_put(parcel, leavings.items, leavings.count, sizeof *leavings.items);
    free(leavings.items);
    return code;
}

int graph_processor_join(struct graph_rules *rules, struct parcel *pieces, const uint32_t *first_lanes, size_t count)
{
    struct leavings all = {0};
    int code = 0;
    for (size_t i = 0; i < count && code == 0; i++) {
        size_t more;
        const struct leaving *items = parcel_take(&pieces[i], sizeof *items, &more);
        struct leaving *grown = array_reserve(all.items, &all.capacity, all.count + more, sizeof *grown);
        code = pieces[i].failed ? -EBADMSG : grown || !more ? 0 : -ENOMEM;
        all.items = grown ? grown : all.items;
        for (size_t k = 0; k < more && code == 0; k++) {
            all.items[all.count] = items[k];
            all.items[all.count++].lane += first_lanes[i];
        }
    }
    if (code == 0)
        code = find_returns(rules, &all);
    free(all.items);
    return code;
}
