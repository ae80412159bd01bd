/* SPDX-License-Identifier: MIT */
/* From traces to one: who they are, what went between them, their clocks, the check, the whole; and the report. */
#include "node_merge_internal.h"

#include "base/array.h"
#include "base/error.h"
#include "clock_settle.h"
#include "trace/select.h"
#include "trace/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RAW_LIMIT_NS (INT64_C(1) << 58)   /* 9 years of uptime: sums of times stay far from overflow */
#define RANGE_LIMIT_NS (INT64_C(1) << 57) /* of a trace */

/* --- the traces --------------------------------------------------------------------------------------------------- */

static bool metadata_number(const struct trace *trace, const char *key, int64_t limit, int64_t *ret_value)
{
    const char *text = trace_metadata(trace, key);
    char *end;
    errno = 0;
    long long value = text ? strtoll(text, &end, 10) : 0;
    if (!text || !*text || *end || errno || value < 0 || value >= limit)
        return false;
    *ret_value = value;
    return true;
}

static bool is_possible(int64_t time_ns)
{
    return time_ns == INT64_MIN || (time_ns > -RANGE_LIMIT_NS && time_ns < RANGE_LIMIT_NS);
}

/* Rows, and lives of processes and threads: all that is moved with the clock. */
static bool is_in_range(const struct trace *trace)
{
    int64_t begin_ns, end_ns;
    trace_time_range(trace, &begin_ns, &end_ns);
    bool good = is_possible(begin_ns) && is_possible(end_ns);
    uint32_t count;
    const struct trace_process *processes = trace_processes(trace, &count);
    for (uint32_t i = 0; i < count; i++)
        good &= is_possible(processes[i].start_ns) && is_possible(processes[i].end_ns);
    const struct trace_track *tracks = trace_tracks(trace, &count);
    for (uint32_t i = 0; i < count; i++)
        good &= is_possible(tracks[i].start_ns) && is_possible(tracks[i].end_ns);
    return good;
}

static int open_source(struct merge_source *source, struct error *err)
{
    if (!is_in_range(source->trace))
        return error_set(err, -EINVAL, "'%s' has times of many years: it can't be of a run", source->name);
    if (trace_metadata(source->trace, "merge.traces"))
        return error_set(err, -EINVAL, "'%s' was merged already: merge the traces that it was made of", source->name);
    if (!trace_metadata(source->trace, "clock_domain") ||
        !metadata_number(source->trace, "start_monotonic_raw_ns", RAW_LIMIT_NS, &source->start_raw_ns) ||
        !metadata_number(source->trace, "start_realtime_ns", INT64_MAX / 2, &source->start_realtime_ns))
        return error_set(err, -EINVAL, "'%s' does not say which clock it was recorded with: only traces of `hprofiler run` and `attach` can be merged",
                         source->name);
    return 0;
}

/* MPI_COMM_WORLD has a number of its own in each run. */
static const char *world_of(const struct trace *trace)
{
    for (uint32_t i = 0; i < trace_metadata_count(trace); i++) {
        const char *key, *value;
        trace_metadata_at(trace, i, &key, &value);
        if (strncmp(key, "mpi.comm.", 9) == 0 && strstr(value, "\"name\":\"MPI_COMM_WORLD\""))
            return key;
    }
    return NULL;
}

static int check_world(const struct node_merging *merging, uint32_t source, const char **world, struct error *err)
{
    const char *own = world_of(merging->sources[source].trace);
    if (own && *world && strcmp(own, *world) != 0)
        return error_set(err, -EINVAL, "'%s' is of another run than the traces before it: its MPI_COMM_WORLD is another one",
                         merging->sources[source].name);
    *world = own ? own : *world;
    return 0;
}

static int note_rank(struct node_merging *merging, uint32_t source, int32_t rank, struct error *err)
{
    uint64_t other;
    if (rank < 0)
        return 0;
    if (map_get(&merging->ranks, (uint32_t)rank, &other) && other != source)
        return error_set(err, -EINVAL, "rank %" PRId32 " is in '%s' and in '%s': they are not of one run", rank, merging->sources[other].name,
                         merging->sources[source].name);
    return map_set(&merging->ranks, (uint32_t)rank, source) ? error_set(err, -ENOMEM, "out of memory") : 0;
}

static int open_sources(struct node_merging *merging, const struct trace *const *traces, const char *const *names, uint32_t count,
                        struct error *err)
{
    const char *world = NULL;
    int code = 0;
    merging->sources = calloc((size_t)count + 1, sizeof *merging->sources);
    if (!merging->sources)
        return error_set(err, -ENOMEM, "out of memory");
    merging->source_count = count;
    for (uint32_t i = 0; i < count && code == 0; i++) {
        uint32_t processes;
        const struct trace_process *rows = trace_processes(traces[i], &processes);
        merging->sources[i] = (struct merge_source){.trace = traces[i], .name = names[i]};
        code = open_source(&merging->sources[i], err);
        for (uint32_t k = 0; k < processes && code == 0; k++)
            code = note_rank(merging, i, rows[k].rank, err);
        if (code == 0)
            code = check_world(merging, i, &world, err);
    }
    return code;
}

static int find_node(struct node_merging *merging, const char *name, uint32_t domain, node_id *ret_node)
{
    for (size_t i = 0; i < merging->node_count; i++)
        if (merging->nodes[i].domain == domain && strcmp(merging->nodes[i].name, name) == 0) {
            *ret_node = (node_id){(uint32_t)i};
            return 0;
        }
    struct merge_node *nodes = array_reserve(merging->nodes, &merging->node_capacity, merging->node_count + 1, sizeof *nodes);
    if (!nodes)
        return -ENOMEM;
    merging->nodes = nodes;
    nodes[merging->node_count] = (struct merge_node){name, domain};
    *ret_node = (node_id){(uint32_t)merging->node_count++};
    return 0;
}

/* Ranks of one machine, each with its trace, are on one node. */
static int find_nodes(struct node_merging *merging)
{
    int code = 0;
    for (uint32_t i = 0; i < merging->source_count && code == 0; i++) {
        struct merge_source *source = &merging->sources[i];
        uint32_t count;
        const struct trace_node *nodes = trace_nodes(source->trace, &count);
        source->nodes = calloc((size_t)count + 1, sizeof *source->nodes);
        code = source->nodes ? 0 : -ENOMEM;
        for (uint32_t k = 0; k < count && code == 0; k++)
            code = find_node(merging, trace_text(source->trace, nodes[k].name), source->domain, &source->nodes[k]);
    }
    return code;
}

/* --- the report --------------------------------------------------------------------------------------------------- */

static int compare_numbers(const void *left, const void *right)
{
    int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    return (a > b) - (a < b);
}

static void describe_ranks(int32_t *ranks, size_t count, struct text *out)
{
    if (count)
        qsort(ranks, count, sizeof *ranks, compare_numbers);
    for (size_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && ranks[next] <= ranks[next - 1] + 1;)
            next++;
        text_addf(out, "%s%" PRId32, out->length ? "," : "", ranks[first]);
        if (ranks[next - 1] != ranks[first])
            text_addf(out, "-%" PRId32, ranks[next - 1]);
    }
}

static int report_ranks(const struct node_merging *merging, uint32_t node, struct text *out)
{
    int32_t *ranks = NULL;
    size_t count = 0, capacity = 0;
    for (uint32_t i = 0; i < merging->source_count; i++) {
        uint32_t processes;
        const struct trace_process *rows = trace_processes(merging->sources[i].trace, &processes);
        for (uint32_t k = 0; k < processes; k++) {
            if (rows[k].rank < 0 || rows[k].node.index == ID_NONE || merging->sources[i].nodes[rows[k].node.index].index != node)
                continue;
            int32_t *grown = array_reserve(ranks, &capacity, count + 1, sizeof *grown);
            if (!grown) {
                free(ranks);
                return -ENOMEM;
            }
            ranks = grown;
            ranks[count++] = rows[k].rank;
        }
    }
    describe_ranks(ranks, count, out);
    free(ranks);
    return out->failed ? -ENOMEM : 0;
}

static int report_node(const struct node_merging *merging, uint32_t node)
{
    struct node_report *report = &merging->report->nodes[node];
    const struct clock_domain *domain = &merging->domains[merging->nodes[node].domain];
    bool first = true;
    int64_t own_begin_ns = 0;
    *report = (struct node_report){.name = strdup(merging->nodes[node].name), .source = domain->source, .bound_ns = domain->bound_ns,
                                   .drift_ppm = domain->map.count ? clock_map_drift_ppm(&domain->map) : 0};
    for (uint32_t i = 0; i < merging->source_count; i++) {
        const struct merge_source *source = &merging->sources[i];
        int64_t begin_ns, end_ns;
        if (source->domain != merging->nodes[node].domain || source->nodes[0].index != node)
            continue;
        trace_extent(source->trace, &begin_ns, &end_ns);
        int64_t from = merge_aligned_time(merging, source, begin_ns), to = merge_aligned_time(merging, source, end_ns);
        if (first || from < report->begin_ns)
            own_begin_ns = merge_raw_time(source, begin_ns);
        report->begin_ns = first || from < report->begin_ns ? from : report->begin_ns;
        report->end_ns = first || to > report->end_ns ? to : report->end_ns;
        first = false;
    }
    report->offset_ns = clock_domain_time(domain, own_begin_ns) - own_begin_ns;
    const char *via = domain->map.count && domain->via != merging->reference ? merge_node_name(merging, domain->via) : NULL;
    report->via = via ? strdup(via) : NULL;
    if (!report->name || (via && !report->via))
        return -ENOMEM;
    return report_ranks(merging, node, &report->ranks);
}

static uint32_t find_world_size(const struct node_merging *merging)
{
    static const char *const keys[] = {"mpi.world_size", "launcher.size"};
    int64_t size;
    for (size_t key = 0; key < sizeof keys / sizeof *keys; key++)
        for (uint32_t i = 0; i < merging->source_count; i++)
            if (metadata_number(merging->sources[i].trace, keys[key], UINT32_MAX, &size))
                return (uint32_t)size;
    return 0;
}

static void report_exchanges(const struct node_merging *merging)
{
    const struct exchanges *exchanges = merging->exchanges;
    const struct message_counts *counts = &exchanges->message_counts;
    struct node_merge_report *report = merging->report;
    report->messages = exchanges->message_count;
    for (size_t i = 0; i < exchanges->group_count; i++) {
        report->collectives += exchanges->groups[i].across;
        report->incomplete_collectives += exchanges->groups[i].mpi && exchanges->groups[i].member_count < exchanges->groups[i].expected;
    }
    for (int reason = 0; reason < MESSAGE_REASONS_COUNT; reason++)
        report->unmatched_ends += counts->unmatched_sends[reason] + counts->unmatched_receives[reason];
}

static int make_report(const struct node_merging *merging)
{
    struct node_merge_report *report = merging->report;
    int code = 0;
    report->nodes = calloc(merging->node_count + 1, sizeof *report->nodes);
    report->node_count = report->nodes ? (uint32_t)merging->node_count : 0;
    if (!report->nodes)
        return -ENOMEM;
    for (uint32_t i = 0; i < report->node_count && code == 0; i++)
        code = report_node(merging, i);
    report->ranks = (uint32_t)merging->ranks.count;
    report->world_size = find_world_size(merging);
    if (report->world_size > report->ranks)
        text_addf(&report->notes, "%" PRIu32 " of the program's %" PRIu32 " ranks are not in these traces\n", report->world_size - report->ranks,
                  report->world_size);
    report_exchanges(merging);
    return code;
}

static int make_place(const struct node_merging *merging, const struct merge_source *source, struct merge_place *place)
{
    const struct clock_map *map = &merging->domains[source->domain].map;
    *place = (struct merge_place){.start_raw_ns = source->start_raw_ns, .start_ns = merging->start_ns, .knot_count = map->count};
    trace_tracks(source->trace, &place->track_count);
    trace_nodes(source->trace, &place->node_count);
    place->knots = calloc((size_t)map->count + 1, sizeof *place->knots);
    place->nodes = calloc((size_t)place->node_count + 1, sizeof *place->nodes);
    if (!place->knots || !place->nodes)
        return -ENOMEM;
    if (map->count)
        memcpy(place->knots, map->knots, map->count * sizeof *map->knots);
    if (place->node_count)
        memcpy(place->nodes, source->nodes, place->node_count * sizeof *place->nodes);
    return 0;
}

static int make_places(const struct node_merging *merging)
{
    struct node_merge_report *report = merging->report;
    int code = 0;
    report->places = calloc((size_t)merging->source_count + 1, sizeof *report->places);
    report->place_count = report->places ? merging->source_count : 0;
    for (uint32_t i = 0; i < report->place_count && code == 0; i++)
        code = make_place(merging, &merging->sources[i], &report->places[i]);
    return report->places ? code : -ENOMEM;
}

void node_merge_report_finish(struct node_merge_report *report)
{
    for (uint32_t i = 0; i < report->place_count; i++) {
        free(report->places[i].knots);
        free(report->places[i].nodes);
    }
    free(report->places);
    for (uint32_t i = 0; i < report->node_count; i++) {
        text_finish(&report->nodes[i].ranks);
        free(report->nodes[i].name);
        free(report->nodes[i].via);
    }
    free(report->nodes);
    text_finish(&report->notes);
    *report = (struct node_merge_report){0};
}

/* The whole begins with the trace that begins first. */
static void find_start(struct node_merging *merging)
{
    for (uint32_t i = 0; i < merging->source_count; i++) {
        int64_t start_ns = clock_domain_time(&merging->domains[merging->sources[i].domain], merging->sources[i].start_raw_ns);
        if (i == 0 || start_ns < merging->start_ns)
            merging->start_ns = start_ns;
    }
}

/* --- causality ---------------------------------------------------------------------------------------------------- */

static int check_again(struct node_merging *merging, struct merge_events *events, const int64_t *bounds)
{
    struct node_merge_report *report = merging->report;
    for (size_t i = 0; i < events->count; i++)
        events->items[i].time_ns = causal_repair_time(&merging->repair, events->items[i].clock, events->items[i].time_ns);
    report->repaired = true;
    report->moved_events = merging->repair.moved_events;
    report->largest_shift_ns = merging->repair.largest_shift_ns;
    report->unmended = merging->repair.unmended;
    return causality_check(events->items, events->count, events->exchange_count, bounds, &report->after);
}

static int check(struct node_merging *merging, struct merge_events *events, const int64_t *bounds, struct causal_violations *ret_found)
{
    *events = (struct merge_events){.items = events->items, .capacity = events->capacity};
    int code = node_merge_collect_events(merging, events);
    return code ? code : causality_check(events->items, events->count, events->exchange_count, bounds, ret_found);
}

/* Clocks are moved within their bounds if that leaves nothing that comes in before it went out. */
static int settle(struct node_merging *merging, struct merge_events *events, int64_t *bounds, int64_t *moves)
{
    struct node_merge_report *report = merging->report;
    int code = clock_settle(events->items, events->count, (uint32_t)merging->domain_count, merging->reference, bounds, moves);
    if (code)
        return code == -ERANGE ? 0 : code;
    for (uint32_t i = 0; i < merging->domain_count; i++) {
        int64_t size = moves[i] < 0 ? -moves[i] : moves[i];
        if (!size)
            continue;
        clock_map_move(&merging->domains[i].map, moves[i]);
        bounds[i] = merging->domains[i].bound_ns += size;
        report->settled_ns = size > report->settled_ns ? size : report->settled_ns;
    }
    find_start(merging);
    return check(merging, events, bounds, &report->before);
}

static int repair(struct node_merging *merging, struct merge_events *events, const int64_t *bounds)
{
    int code = causality_repair(events->items, events->count, events->exchange_count, (uint32_t)merging->domain_count, &merging->repair);
    return code ? code : check_again(merging, events, bounds);
}

static int check_causality(struct node_merging *merging)
{
    struct node_merge_report *report = merging->report;
    struct merge_events events = {0};
    int64_t *bounds = calloc(merging->domain_count, sizeof *bounds), *moves = calloc(merging->domain_count, sizeof *moves);
    int code = bounds && moves ? 0 : -ENOMEM;
    for (size_t i = 0; bounds && i < merging->domain_count; i++)
        bounds[i] = merging->domains[i].bound_ns;
    if (code == 0)
        code = check(merging, &events, bounds, &report->measured);
    report->before = report->measured;
    if (code == 0 && report->measured.violations)
        code = settle(merging, &events, bounds, moves);
    if (code == 0 && merging->options->repair)
        code = repair(merging, &events, bounds);
    free(events.items);
    free(bounds);
    free(moves);
    return code;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static int merge_all(struct node_merging *merging, const struct trace *const *traces, const char *const *names, uint32_t count,
                     struct trace **ret_trace, struct error *err)
{
    int code = open_sources(merging, traces, names, count, err);
    if (code)
        return code;
    code = node_merge_find_domains(merging);
    if (code == 0)
        code = find_nodes(merging);
    if (code)
        return error_set_errno(err, code, "cannot join the traces");
    code = exchanges_gather(traces, count, merging->progress, &merging->exchanges, err);
    if (code == 0)
        code = node_merge_align(merging, err);
    if (code)
        return code;
    find_start(merging);
    code = check_causality(merging);
    if (code == 0)
        code = make_report(merging);
    if (code == 0)
        code = make_places(merging);
    if (code)
        return error_set_errno(err, code, "cannot join the traces");
    return node_merge_write(merging, ret_trace, err);
}

static void finish(struct node_merging *merging)
{
    for (uint32_t i = 0; i < merging->source_count; i++)
        free(merging->sources[i].nodes);
    for (size_t i = 0; merging->domains && i < merging->domain_count; i++)
        clock_map_finish(&merging->domains[i].map);
    for (size_t i = 0; i < merging->comparison_count; i++)
        clock_map_finish(&merging->comparisons[i].map);
    free(merging->sources);
    free(merging->domain_names);
    free(merging->domains);
    free(merging->nodes);
    free(merging->comparisons);
    map_finish(&merging->ranks);
    causal_repair_finish(&merging->repair);
    exchanges_destroy(merging->exchanges);
}

int node_merge(const struct trace *const *traces, const char *const *names, uint32_t count, const struct node_merge_options *options,
               const struct progress *progress, struct trace **ret_trace, struct node_merge_report *ret_report, struct error *err)
{
    struct node_merge_report report = {0};
    struct node_merging merging = {.options = options, .progress = progress, .report = &report};
    if (count == 0)
        return error_set(err, -EINVAL, "no traces to merge");
    int code = merge_all(&merging, traces, names, count, ret_trace, err);
    finish(&merging);
    if (code == 0)
        *ret_report = report;
    else
        node_merge_report_finish(&report);
    return code;
}
