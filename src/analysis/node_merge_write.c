/* SPDX-License-Identifier: MIT */
/* The whole trace: nodes and groups first, then one trace after the other, then what joins them and what is said of it. */
#include "node_merge_internal.h"

#include "base/array.h"
#include "base/error.h"
#include "node_merge_metadata.h"
#include "trace/unite.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct time_context {
    const struct node_merging *merging;
    const struct merge_source *source;
};

static int64_t time_there(const void *context, int64_t time_ns)
{
    const struct time_context *there = context;
    int64_t aligned = merge_aligned_time(there->merging, there->source, time_ns);
    return there->merging->repair.clocks ? causal_repair_time(&there->merging->repair, there->source->domain, aligned) : aligned;
}

static int add_nodes(const struct node_merging *merging, struct trace_builder *builder)
{
    int code = 0;
    for (size_t i = 0; i < merging->node_count && code == 0; i++) {
        const struct trace_node node = {
            .name = trace_builder_string(builder, merging->nodes[i].name),
            .clock_domain = trace_builder_string(builder, merging->domain_names[merging->nodes[i].domain].text),
        };
        node_id id;
        code = trace_builder_add_node(builder, &node, &id);
    }
    return code;
}

static int add_groups(const struct exchanges *exchanges, struct trace_builder *builder)
{
    int code = 0;
    for (size_t i = 0; i < exchanges->group_count && code == 0; i++) {
        const struct exchange_group *group = &exchanges->groups[i];
        const struct trace_group row = {
            .kind = group->kind, .name = trace_builder_string(builder, string_table_text(exchanges->names, group->name)), .sequence = group->sequence};
        group_id id;
        code = trace_builder_add_group(builder, &row, &id);
    }
    return code;
}

static int add_traces(struct node_merging *merging, struct trace_unite *unite, struct error *err)
{
    int code = 0;
    for (uint32_t i = 0; i < merging->source_count && code == 0; i++) {
        struct merge_source *source = &merging->sources[i];
        const struct time_context context = {merging, source};
        const struct unite_part part = {
            .trace = source->trace,
            .nodes = source->nodes,
            .groups = (const group_id *)(const void *)merging->exchanges->groups_of[i],
            .time = time_there,
            .time_context = &context,
        };
        code = trace_unite_add(unite, &part, &source->first_process, err);
    }
    return code;
}

static int add_messages(const struct node_merging *merging, struct trace_unite *unite)
{
    const struct exchanges *exchanges = merging->exchanges;
    int code = 0;
    for (size_t i = 0; i < exchanges->message_count && code == 0; i++) {
        const struct exchange_message *message = &exchanges->messages[i];
        const struct trace_link link = {
            .kind = LINK_KIND_MESSAGE, .confidence = message->confidence, .from = message->send.span, .to = message->receive.span};
        code = trace_unite_link(unite, message->send.trace, message->receive.trace, &link);
    }
    return code;
}

static int add_epochs(const struct node_merging *merging, struct trace_unite *unite)
{
    const struct exchanges *exchanges = merging->exchanges;
    int code = 0;
    for (size_t i = 0; i < exchanges->epoch_count && code == 0; i++) {
        const struct exchange_epoch *epoch = &exchanges->epochs[i];
        const struct trace_link link = {.kind = LINK_KIND_SYNC, .confidence = epoch->confidence, .from = epoch->from, .to = epoch->to};
        code = trace_unite_link(unite, epoch->from_trace, epoch->to_trace, &link);
    }
    return code;
}

/* --- corrections -------------------------------------------------------------------------------------------------- */

static process_id first_process_of(const struct node_merging *merging, struct trace_builder *builder, uint32_t domain)
{
    const struct trace_process *process;
    for (uint32_t i = 0; (process = trace_builder_process(builder, (process_id){i})); i++)
        if (process->node.index < merging->node_count && merging->nodes[process->node.index].domain == domain)
            return (process_id){i};
    return PROCESS_NONE;
}

/* What was added to the clock's times, where it changes: between two values it is on the straight line from one to the other. */
static int add_correction(const struct node_merging *merging, struct trace_builder *builder, uint32_t domain)
{
    const struct clock_map *map = &merging->repair.clocks[domain];
    const struct trace_track track = {
        .kind = TRACK_KIND_COUNTER,
        .name = trace_builder_string(builder, CORRECTION_TRACK),
        .process = first_process_of(merging, builder, domain),
        .tid = -1,
        .device = -1,
        .stream = -1,
        .unit = trace_builder_string(builder, "ns"),
        .start_ns = INT64_MIN,
        .end_ns = INT64_MIN,
    };
    track_id id;
    int code = trace_builder_add_track(builder, &track, &id);
    for (uint32_t i = 0; i < map->count && code == 0; i++) {
        const struct counter_value value = {map->knots[i].other_ns, (double)(map->knots[i].other_ns - map->knots[i].own_ns)};
        code = trace_builder_add_counter(builder, id, &value);
    }
    return code;
}

static int add_corrections(const struct node_merging *merging, struct trace_builder *builder)
{
    int code = 0;
    for (uint32_t i = 0; merging->repair.clocks && i < merging->repair.clock_count && code == 0; i++)
        if (merging->repair.clocks[i].count)
            code = add_correction(merging, builder, i);
    return code;
}

/* ------------------------------------------------------------------------------------------------------------------ */

int node_merge_write(struct node_merging *merging, struct trace **ret_trace, struct error *err)
{
    CLEANUP(trace_unite_destroyp) struct trace_unite *unite = NULL;
    int code = trace_unite_create(merging->progress, &unite, err);
    if (code)
        return code;
    struct trace_builder *builder = trace_unite_builder(unite);
    code = add_nodes(merging, builder);
    if (code == 0)
        code = add_groups(merging->exchanges, builder);
    if (code == 0 && (code = add_traces(merging, unite, err)) != 0)
        return code;
    if (code == 0)
        code = add_messages(merging, unite);
    if (code == 0)
        code = add_epochs(merging, unite);
    if (code == 0)
        code = add_corrections(merging, builder);
    if (code == 0)
        code = node_merge_add_metadata(merging, builder);
    if (code == 0)
        code = node_merge_add_ledger(merging, builder);
    return code ? error_set_errno(err, code, "cannot join the traces") : trace_unite_finish(unite, ret_trace, err);
}
