/* SPDX-License-Identifier: MIT */
/* A trace with its critical path as one more track: each hop is a span there. */
#include "path_report.h"
#include "lane_label.h"

#include "base/error.h"
#include "base/text.h"
#include "trace/unite.h"

#include <errno.h>

/* What trace_unite leaves to its caller: as it was. */
struct kept {
    node_id *nodes;
    group_id *groups;
};

static int keep_tables(struct trace_builder *builder, const struct trace *trace, struct kept *kept)
{
    uint32_t nodes, groups, entries;
    int result = 0;
    const struct trace_node *node = trace_nodes(trace, &nodes);
    const struct trace_group *group = trace_groups(trace, &groups);
    const struct ledger_entry *entry = trace_ledger(trace, &entries);
    kept->nodes = calloc((size_t)nodes + 1, sizeof *kept->nodes);
    kept->groups = calloc((size_t)groups + 1, sizeof *kept->groups);
    if (!kept->nodes || !kept->groups)
        return -ENOMEM;
    for (uint32_t i = 0; result == 0 && i < nodes; i++) {
        struct trace_node copy = {.name = trace_builder_string(builder, trace_text(trace, node[i].name)),
                                  .clock_domain =
                                      trace_builder_string(builder, trace_text(trace, node[i].clock_domain))};
        result = trace_builder_add_node(builder, &copy, &kept->nodes[i]);
    }
    for (uint32_t i = 0; result == 0 && i < groups; i++) {
        struct trace_group copy = group[i];
        copy.name = trace_builder_string(builder, trace_text(trace, group[i].name));
        result = trace_builder_add_group(builder, &copy, &kept->groups[i]);
    }
    for (uint32_t i = 0; result == 0 && i < entries; i++)
        result = trace_builder_add_ledger(builder, trace_text(trace, entry[i].source), entry[i].seen, entry[i].recorded,
                                          entry[i].lost, trace_text(trace, entry[i].reason));
    for (uint32_t i = 0; result == 0 && i < trace_metadata_count(trace); i++) {
        const char *key, *value;
        trace_metadata_at(trace, i, &key, &value);
        result = trace_builder_set_metadata(builder, key, value);
    }
    return result;
}

static int add_hop(struct trace_builder *builder, const struct trace *trace, const struct path_report *report,
                   track_id track, const struct path_hop *hop)
{
    struct path_part part = path_hop_part(hop);
    struct text name = TEXT_INIT;
    path_part_name(trace, report->activities, &part, &name);
    text_add_string(&name, " @ ");
    text_add_lane_label(&name, trace, hop->track);
    struct span span = {.track = track,
                        .begin_ns = hop->begin_ns,
                        .end_ns = hop->begin_ns + hop->duration_ns,
                        .name = trace_builder_string(builder, name.failed ? NULL : name.data),
                        .category = trace_builder_string(builder, "critical path"),
                        .kind = SPAN_KIND_RANGE,
                        .parent = SPAN_NONE,
                        .stack = STACK_NONE};
    text_finish(&name);
    span_id handle;
    return trace_builder_add_span(builder, &span, NULL, &handle);
}

static int add_track(struct trace_builder *builder, const struct trace *trace, const struct path_report *report)
{
    uint32_t processes;
    trace_processes(trace, &processes);
    const process_id first = {processes ? 0 : ID_NONE};
    struct trace_track track = {.kind = TRACK_KIND_PROCESS,
                                .name = trace_builder_string(builder, "critical path"),
                                .process = first,
                                .tid = -1,
                                .device = -1,
                                .stream = -1,
                                .unit = STRING_NONE,
                                .start_ns = INT64_MIN,
                                .end_ns = INT64_MIN};
    track_id id;
    int result = trace_builder_add_track(builder, &track, &id);
    for (size_t i = 0; result == 0 && i < report->hops->count; i++)
        if (report->hops->hops[i].duration_ns > 0)
            result = add_hop(builder, trace, report, id, &report->hops->hops[i]);
    return result;
}

int path_track_add(const struct trace *trace, const struct path_report *report, const struct progress *progress,
                   struct trace **ret_trace, struct error *err)
{
    CLEANUP(trace_unite_destroyp) struct trace_unite *unite = NULL;
    struct kept kept = {NULL, NULL};
    uint32_t process;
    int result = trace_unite_create(progress, &unite, err);
    if (result < 0)
        return result;
    result = keep_tables(trace_unite_builder(unite), trace, &kept);
    if (result < 0)
        error_set(err, result, "out of memory while adding the critical path to the trace");
    struct unite_part part = {.trace = trace, .nodes = kept.nodes, .groups = kept.groups};
    if (result == 0)
        result = trace_unite_add(unite, &part, &process, err);
    free(kept.nodes);
    free(kept.groups);
    if (result < 0)
        return result;
    result = add_track(trace_unite_builder(unite), trace, report);
    if (result < 0)
        return error_set_errno(err, result, "cannot add the critical path to the trace");
    return trace_unite_finish(unite, ret_trace, err);
}
