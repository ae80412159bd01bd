/* SPDX-License-Identifier: MIT */
/*
 * Metadata: what all traces agree on stands as in each of them; sums over a run are added up; the rest of trace N is called
 * trace.N.KEY. Clocks and causality have keys of their own (docs/merge-nodes.md).
 */
#include "node_merge_metadata.h"

#include "base/array.h"
#include "trace/select.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define POINTS_LISTED 100
#define DEVICE_CLOCK_KEY "clock.device."
#define DEVICES_MAX 100000

struct fact {
    const char *key, *value;
    bool differs;
};
struct facts {
    struct fact *items;
    size_t count, capacity;
    struct map index; /* hash of the key -> place */
};

static bool is_one_of(const char *key, const char *const *keys)
{
    for (; *keys; keys++)
        if (strcmp(key, *keys) == 0)
            return true;
    return false;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Of one trace only, or said anew. */
static bool is_left_out(const char *key)
{
    static const char *const keys[] = {"start_monotonic_raw_ns", "start_realtime_ns", "clock_domain", "recording.duration_ns",
                                       "launcher.rank", INCOMPLETE_KEY, WINDOW_BEGIN_KEY, WINDOW_END_KEY, NULL};
    return is_one_of(key, keys);
}

static bool is_sum(const char *key)
{
    static const char *const keys[] = {"overhead_ns", "overhead.recorder_ns", "overhead.interrupts_estimated_ns", "sampling.unsampled_ns",
                                       "sampling.page_faults", "sampling.cpu_ns", "sampling.excluded_ns", RESIDENT_PEAK_KEY, NULL};
    return is_one_of(key, keys);
}

static int note_fact(struct facts *facts, const char *key, const char *value)
{
    uint64_t place, hash = hash_bytes(key, strlen(key));
    for (; map_get(&facts->index, hash, &place); hash++) {
        struct fact *fact = &facts->items[place];
        if (strcmp(fact->key, key) != 0)
            continue;
        bool longer = begins(key, "mpi.") && strlen(value) > strlen(fact->value); /* the one that knows the name */
        fact->differs |= !begins(key, "mpi.") && strcmp(fact->value, value) != 0;
        fact->value = longer ? value : fact->value;
        return 0;
    }
    struct fact *items = array_reserve(facts->items, &facts->capacity, facts->count + 1, sizeof *items);
    if (!items)
        return -ENOMEM;
    facts->items = items;
    items[facts->count] = (struct fact){key, value, begins(key, "clock.probe.") || begins(key, DEVICE_CLOCK_KEY)};
    return map_set(&facts->index, hash, facts->count++);
}

static const struct fact *find_fact(const struct facts *facts, const char *key)
{
    uint64_t place, hash = hash_bytes(key, strlen(key));
    for (; map_get(&facts->index, hash, &place); hash++)
        if (strcmp(facts->items[place].key, key) == 0)
            return &facts->items[place];
    return NULL;
}

static int gather_facts(const struct node_merging *merging, struct facts *facts)
{
    int code = 0;
    for (uint32_t i = 0; i < merging->source_count; i++)
        for (uint32_t k = 0; k < trace_metadata_count(merging->sources[i].trace) && code == 0; k++) {
            const char *key, *value;
            trace_metadata_at(merging->sources[i].trace, k, &key, &value);
            code = note_fact(facts, key, value);
        }
    return code;
}

static int add_number(struct trace_builder *builder, const char *key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    return trace_builder_set_metadata(builder, key, text);
}

/* Sums; of what was the greatest of each, the greatest. */
static int add_sum(const struct node_merging *merging, struct trace_builder *builder, const char *key)
{
    bool greatest = strcmp(key, RESIDENT_PEAK_KEY) == 0;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < merging->source_count; i++) {
        const char *text = trace_metadata(merging->sources[i].trace, key);
        uint64_t value;
        if (text && parse_u64(text, &value) == 0)
            sum = !greatest ? sum + value : value > sum ? value : sum;
    }
    return add_number(builder, key, (int64_t)(sum > INT64_MAX ? INT64_MAX : sum));
}

static int add_common(const struct node_merging *merging, const struct facts *facts, struct trace_builder *builder)
{
    int code = 0;
    for (size_t i = 0; i < facts->count && code == 0; i++) {
        const struct fact *fact = &facts->items[i];
        if (is_sum(fact->key))
            code = add_sum(merging, builder, fact->key);
        else if (!is_left_out(fact->key) && (!fact->differs || strcmp(fact->key, "recording.interrupted") == 0))
            code = trace_builder_set_metadata(builder, fact->key, fact->value);
    }
    return code;
}

/* Clocks of devices are numbered through: a process finds its devices' among all of them. Anything else has its trace's number in front. */
static void name_own(const char *key, uint32_t number, uint32_t first_device, uint32_t *devices, struct text *out)
{
    char *end = NULL;
    unsigned long device = begins(key, DEVICE_CLOCK_KEY) ? strtoul(key + strlen(DEVICE_CLOCK_KEY), &end, 10) : 0;
    text_clear(out);
    if (!end || *end != '.' || device >= DEVICES_MAX) {
        text_addf(out, "trace.%" PRIu32 ".%s", number, key);
        return;
    }
    *devices = device >= *devices ? (uint32_t)device + 1 : *devices;
    text_addf(out, DEVICE_CLOCK_KEY "%lu%s", first_device + device, end);
}

static int add_own(const struct merge_source *source, uint32_t number, const struct facts *facts, uint32_t *device, struct trace_builder *builder)
{
    struct text name = TEXT_INIT;
    uint32_t devices = 0;
    int code = 0;
    for (uint32_t k = 0; k < trace_metadata_count(source->trace) && code == 0; k++) {
        const char *key, *value;
        trace_metadata_at(source->trace, k, &key, &value);
        const struct fact *fact = find_fact(facts, key);
        if (!fact || (!fact->differs && !is_left_out(key)))
            continue;
        name_own(key, number, *device, &devices, &name);
        code = name.failed ? -ENOMEM : trace_builder_set_metadata(builder, name.data, value);
    }
    *device += devices;
    text_finish(&name);
    return code;
}

/* --- clocks ------------------------------------------------------------------------------------------------------- */

static void add_point(const struct clock_knot *knot, bool first, struct text *out)
{
    text_addf(out, "%s[%" PRId64 ",%" PRId64 ",%" PRId64 "]", first ? "" : ",", knot->own_ns, knot->other_ns, knot->bound_ns);
}

static void add_points(const struct clock_map *map, struct text *out)
{
    uint32_t step = map->count / POINTS_LISTED + 1;
    text_add_string(out, ",\"points\":[");
    for (uint32_t i = 0; i < map->count - 1; i += step)
        add_point(&map->knots[i], i == 0, out);
    add_point(&map->knots[map->count - 1], map->count == 1, out);
    text_add_char(out, ']');
}

static int add_clock(const struct node_merging *merging, struct trace_builder *builder, uint32_t node)
{
    const struct clock_domain *domain = &merging->domains[merging->nodes[node].domain];
    const struct node_report *report = &merging->report->nodes[node];
    struct text value = TEXT_INIT;
    char key[48];
    text_addf(&value, "{\"source\":\"%s\",\"offset_ns\":%" PRId64 ",\"drift_ppm\":%.6f", clock_source_name(domain->source), report->offset_ns,
              report->drift_ppm);
    if (domain->bound_ns >= 0)
        text_addf(&value, ",\"bound_ns\":%" PRId64, domain->bound_ns);
    if (report->via) {
        text_add_string(&value, ",\"via\":\"");
        text_add_json(&value, report->via, strlen(report->via));
        text_add_char(&value, '"');
    }
    if (domain->map.count)
        add_points(&domain->map, &value);
    text_add_char(&value, '}');
    snprintf(key, sizeof key, CLOCK_NODE_KEY "%" PRIu32, node);
    int code = value.failed ? -ENOMEM : trace_builder_set_metadata(builder, key, value.data);
    text_finish(&value);
    snprintf(key, sizeof key, CLOCK_BOUND_KEY "%" PRIu32, node);
    return code || domain->bound_ns < 0 ? code : add_number(builder, key, domain->bound_ns);
}

static int add_clocks(const struct node_merging *merging, struct trace_builder *builder)
{
    int code = 0;
    for (uint32_t i = 0; i < merging->node_count && code == 0; i++)
        code = add_clock(merging, builder, i);
    for (uint32_t i = merging->node_count > 0 ? (uint32_t)merging->node_count : 0; i-- > 0 && code == 0;)
        if (merging->nodes[i].domain == merging->reference)
            code = add_number(builder, CLOCK_REFERENCE_KEY, i);
    return code;
}

static int add_causality(const struct node_merge_report *report, struct trace_builder *builder)
{
    int code = add_number(builder, "causality.checked", (int64_t)report->before.effects);
    if (code == 0)
        code = add_number(builder, "causality.violations", (int64_t)(report->repaired ? report->after : report->before).violations);
    if (code == 0 && report->before.violations)
        code = add_number(builder, "causality.worst_ns", report->before.worst_ns);
    if (code == 0 && report->settled_ns)
        code = add_number(builder, "causality.settled_ns", report->settled_ns);
    if (code || !report->repaired)
        return code;
    code = add_number(builder, "causality.violations_before", (int64_t)report->before.violations);
    if (code == 0)
        code = add_number(builder, "causality.moved_events", (int64_t)report->moved_events);
    return code ? code : add_number(builder, "causality.largest_shift_ns", report->largest_shift_ns);
}

/* The real time of the trace that begins first. */
static int add_start(const struct node_merging *merging, struct trace_builder *builder)
{
    const struct merge_source *first = &merging->sources[0];
    for (uint32_t i = 1; i < merging->source_count; i++)
        if (merge_aligned_time(merging, &merging->sources[i], 0) < merge_aligned_time(merging, first, 0))
            first = &merging->sources[i];
    const char *domain = merging->domain_names[merging->reference].text;
    int code = add_number(builder, "start_monotonic_raw_ns", merging->start_ns);
    if (code == 0)
        code = add_number(builder, "start_realtime_ns", first->start_realtime_ns);
    if (code == 0 && domain)
        code = trace_builder_set_metadata(builder, "clock_domain", domain);
    return code;
}

/* What one of the traces lacks the whole lacks. */
static int add_incomplete(const struct node_merging *merging, struct trace_builder *builder)
{
    struct text line = TEXT_INIT;
    for (uint32_t i = 0; i < merging->source_count; i++) {
        const char *reason = trace_incomplete(merging->sources[i].trace);
        if (reason)
            text_addf(&line, "%s%s: %s", line.length ? "; " : "", merging->sources[i].name, reason);
    }
    int code = line.failed ? -ENOMEM : line.length ? trace_builder_set_metadata(builder, INCOMPLETE_KEY, line.data) : 0;
    text_finish(&line);
    return code;
}

int node_merge_add_metadata(const struct node_merging *merging, struct trace_builder *builder)
{
    struct facts facts = {0};
    uint32_t device = 0;
    int code = gather_facts(merging, &facts);
    if (code == 0)
        code = add_start(merging, builder);
    if (code == 0)
        code = add_common(merging, &facts, builder);
    for (uint32_t i = 0; i < merging->source_count && code == 0; i++)
        code = add_own(&merging->sources[i], i, &facts, &device, builder);
    if (code == 0)
        code = add_incomplete(merging, builder);
    if (code == 0)
        code = add_clocks(merging, builder);
    if (code == 0)
        code = add_causality(merging->report, builder);
    if (code == 0)
        code = add_number(builder, "merge.traces", merging->source_count);
    free(facts.items);
    map_finish(&facts.index);
    return code;
}

/* --- ledger ------------------------------------------------------------------------------------------------------- */

/* Of messages and collectives the whole knows more than its parts. */
static bool is_said_anew(const char *source, const char *reason)
{
    if (strcmp(source, "MPI collectives") == 0)
        return !*reason || begins(reason, "incomplete") || begins(reason, "more members");
    return strcmp(source, "MPI message ends") == 0 || strcmp(source, "MPI messages") == 0 || strcmp(source, "MPI window exposures") == 0;
}

static int copy_ledger(const struct merge_source *source, struct trace_builder *builder)
{
    uint32_t count;
    int code = 0;
    const struct ledger_entry *rows = trace_ledger(source->trace, &count);
    for (uint32_t i = 0; i < count && code == 0; i++) {
        const char *name = trace_text(source->trace, rows[i].source), *reason = trace_text(source->trace, rows[i].reason);
        if (!is_said_anew(name, reason))
            code = trace_builder_add_ledger(builder, name, rows[i].seen, rows[i].recorded, rows[i].lost, reason);
    }
    return code;
}

static int add_message_rows(const struct message_counts *counts, struct trace_builder *builder)
{
    uint64_t matched = 0;
    int code = 0;
    for (int i = 0; i < CONFIDENCE_COUNT; i++)
        matched += 2 * counts->pairs[i];
    if (matched)
        code = trace_builder_add_ledger(builder, "MPI message ends", matched, matched, 0, "");
    for (int reason = 0; reason < MESSAGE_REASONS_COUNT && code == 0; reason++) {
        uint64_t alone = counts->unmatched_sends[reason] + counts->unmatched_receives[reason] + counts->left_out[reason];
        bool elsewhere = reason == MESSAGE_NO_PEER;
        if (alone)
            code = trace_builder_add_ledger(builder, "MPI message ends", alone, elsewhere ? alone : 0, elsewhere ? 0 : alone,
                                            message_reason_text((enum message_reason)reason));
    }
    if (code == 0 && counts->sizes_differ)
        code = trace_builder_add_ledger(builder, "MPI messages", counts->sizes_differ, counts->sizes_differ, 0,
                                        "matched, though the two ends give different sizes");
    return code;
}

static int add_collective_rows(const struct node_merging *merging, struct trace_builder *builder)
{
    const struct node_merge_report *report = merging->report;
    uint64_t complete = 0, crowded = 0;
    bool ranks_missing = report->world_size && report->ranks < report->world_size;
    for (size_t i = 0; i < merging->exchanges->group_count; i++) {
        const struct exchange_group *group = &merging->exchanges->groups[i];
        if (!group->mpi)
            continue;
        complete += !group->expected || group->member_count == group->expected;
        crowded += group->expected && group->member_count > group->expected;
    }
    int code = complete ? trace_builder_add_ledger(builder, "MPI collectives", complete, complete, 0, "") : 0;
    if (code == 0 && report->incomplete_collectives)
        code = trace_builder_add_ledger(builder, "MPI collectives", report->incomplete_collectives,
                                        ranks_missing ? report->incomplete_collectives : 0, ranks_missing ? 0 : report->incomplete_collectives,
                                        ranks_missing ? "incomplete: not all ranks are in the trace" : "incomplete: not all members called it");
    if (code == 0 && crowded)
        code = trace_builder_add_ledger(builder, "MPI collectives", crowded, 0, crowded, "more members than the communicator has");
    return code;
}

static int add_window_row(const struct exchanges *exchanges, struct trace_builder *builder)
{
    uint64_t seen = exchanges->exposures_seen, linked = exchanges->exposures_linked;
    return !seen ? 0 : trace_builder_add_ledger(builder, "MPI window exposures", seen, linked, seen - linked,
                                                seen > linked ? "the other side's post or start was not recorded" : "");
}

int node_merge_add_ledger(const struct node_merging *merging, struct trace_builder *builder)
{
    int code = 0;
    for (uint32_t i = 0; i < merging->source_count && code == 0; i++)
        code = copy_ledger(&merging->sources[i], builder);
    if (code == 0)
        code = add_message_rows(&merging->exchanges->message_counts, builder);
    if (code == 0)
        code = add_window_row(merging->exchanges, builder);
    return code ? code : add_collective_rows(merging, builder);
}
