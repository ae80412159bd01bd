/* SPDX-License-Identifier: MIT */
/* What the rules share: from spans to points, over spans, links and groups, and how sure an edge can be. */
#include "graph_rules.h"

#include "base/error.h"
#include "base/map.h"

#include <errno.h>

uint32_t graph_rules_lane(const struct graph_rules *rules, uint32_t point)
{
    const struct graph_lane *lanes = rules->builder->columns.lanes;
    uint32_t low = 0, high = rules->builder->lane_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (lanes[middle].first_point <= point)
            low = middle;
        else
            high = middle;
    }
    return low;
}

track_id graph_rules_track(const struct graph_rules *rules, uint32_t point)
{
    return rules->builder->columns.lanes[graph_rules_lane(rules, point)].track;
}

uint32_t graph_rules_point_before(const struct graph_rules *rules, uint32_t lane, int64_t time_ns)
{
    const struct graph_lane *row = &rules->builder->columns.lanes[lane];
    const int64_t *times = rules->builder->columns.time_ns;
    uint32_t low = row->first_point, high = row->first_point + row->point_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (times[middle] <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low == row->first_point ? POINT_NONE : low - 1;
}

uint32_t graph_rules_extra(const struct graph_rules *rules, span_id span, enum graph_extra which)
{
    size_t low = 0, high = rules->extra_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct graph_extra_point *extra = &rules->extras[middle];
        if (extra->span < span.index || (extra->span == span.index && extra->which < which))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == rules->extra_count || rules->extras[low].span != span.index || rules->extras[low].which != which)
        return POINT_NONE;
    return rules->extras[low].point;
}

static uint32_t process_of(const struct graph_rules *rules, uint32_t point)
{
    uint32_t count;
    return trace_tracks(rules->trace, &count)[graph_rules_track(rules, point).index].process.index;
}

/* Whether something of a lane's process was lost in the stretch that ends at this point. */
static bool is_doubtful(const struct graph_rules *rules, uint32_t point)
{
    if (point >= rules->builder->lane_point_count)
        return false;
    uint32_t process = process_of(rules, point);
    bool first = rules->builder->columns.lanes[graph_rules_lane(rules, point)].first_point == point;
    int64_t end_ns = graph_rules_time(rules, point), begin_ns = first ? end_ns : graph_rules_time(rules, point - 1);
    if (rules->lost_anywhere && !rules->numbered[process])
        return true;
    size_t low = 0, high = rules->loss_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct graph_loss *loss = &rules->losses[middle];
        if (loss->process < process || (loss->process == process && loss->end_ns < begin_ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low < rules->loss_count && rules->losses[low].process == process && rules->losses[low].begin_ns <= end_ns;
}

static uint32_t node_of(const struct graph_rules *rules, uint32_t point)
{
    uint32_t count, process = process_of(rules, point);
    const struct trace_process *processes = trace_processes(rules->trace, &count);
    return process < count ? processes[process].node.index : 0;
}

/* Of two nodes the clock of one was never compared with the other's: its user said how they stand. */
static bool is_unclocked(const struct graph_rules *rules, uint32_t from, uint32_t to)
{
    uint32_t points = rules->builder->lane_point_count;
    if (from >= points || to >= points)
        return false;
    node_id left = {node_of(rules, from)}, right = {node_of(rules, to)};
    return !node_id_is(left, right) && (rules->unclocked[left.index] || rules->unclocked[right.index]);
}

int graph_rules_edge(struct graph_rules *rules, uint32_t from, uint32_t to, enum edge_rule rule, enum confidence confidence,
                     uint32_t class_of_lag)
{
    if (from == POINT_NONE || to == POINT_NONE || from == to || rules->options->leave_out_rules >> rule & 1)
        return 0;
    if ((rules->lost_anywhere || rules->loss_count) && confidence < CONFIDENCE_LOW && (is_doubtful(rules, from) || is_doubtful(rules, to))) {
        confidence++;
        rules->doubtful++;
    }
    if (rules->unclocked && confidence < CONFIDENCE_LOW && is_unclocked(rules, from, to))
        confidence++;
    return graph_builder_add_edge(rules->builder, from, to, rule, confidence, class_of_lag);
}

uint32_t graph_rules_class(enum edge_rule rule, uint64_t endpoints, uint64_t size)
{
    uint64_t magnitude = size ? 64 - (uint64_t)__builtin_clzll(size) : 0;
    return (uint32_t)hash_u64(hash_u64(endpoints) ^ (uint64_t)rule << 8 ^ magnitude) | 1;
}

uint64_t graph_rules_nodes(const struct graph_rules *rules, uint32_t from, uint32_t to)
{
    if (from >= rules->builder->lane_point_count || to >= rules->builder->lane_point_count)
        return 0;
    return ((uint64_t)node_of(rules, from) << 32 | node_of(rules, to)) + 1;
}

int graph_rules_each_span(struct graph_rules *rules, uint64_t kinds, bool payloads, int (*each)(void *context, const struct graph_row *row),
                          void *context, struct error *err)
{
    uint32_t count = trace_block_count(rules->trace, FAMILY_SPANS);
    uint32_t columns = SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_NAME) |
                       SPAN_COLUMN_BIT(SPAN_COLUMN_KIND) | SPAN_COLUMN_BIT(SPAN_COLUMN_CORRELATION) | SPAN_COLUMN_BIT(SPAN_COLUMN_PARENT);
    columns |= payloads ? SPAN_COLUMN_BIT(SPAN_COLUMN_PAYLOAD_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_PAYLOAD) : 0;
    int code = 0;
    for (uint32_t i = 0; i < count && code == 0; i++) {
        const struct block_info info = trace_block_info(rules->trace, FAMILY_SPANS, i);
        bool wanted = false;
        for (uint32_t row = 0; row < info.count && !wanted; row++)
            wanted = rules->end_point[info.first + row] != POINT_NONE && kinds >> rules->kind[info.first + row] & 1;
        if (!wanted)
            continue;
        struct span_block block;
        code = trace_spans_scan(rules->trace, i, columns, &block, err);
        if (code < 0)
            return code;
        for (uint32_t row = 0; row < info.count && code == 0; row++) {
            uint32_t span = info.first + row;
            if (rules->end_point[span] != POINT_NONE && kinds >> rules->kind[span] & 1)
                code = each(context, &(struct graph_row){&block, row, {span}});
        }
        trace_spans_put(rules->trace, &block);
    }
    return code;
}

int graph_rules_each_id(struct graph_rules *rules, uint64_t kinds, int (*each)(void *context, const struct graph_row *row), void *context)
{
    int code = 0;
    for (uint32_t span = 0; span < rules->span_count && code == 0; span++)
        if (rules->end_point[span] != POINT_NONE && kinds >> rules->kind[span] & 1)
            code = each(context, &(struct graph_row){.span = {span}});
    return code;
}

int graph_rules_payload(struct graph_rules *rules, span_id span, struct payload *ret_payload)
{
    uint32_t block, row;
    struct error err = ERROR_INIT;
    if (!rules->near_held || span.index < rules->near.info.first || span.index - rules->near.info.first >= rules->near.info.count) {
        const uint32_t columns = SPAN_COLUMN_BIT(SPAN_COLUMN_NAME) | SPAN_COLUMN_BIT(SPAN_COLUMN_PAYLOAD_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_PAYLOAD);
        if (rules->near_held)
            trace_spans_put(rules->trace, &rules->near);
        rules->near_held = false;
        if (!trace_span_find(rules->trace, span, &block, &row))
            return -ENOENT;
        int code = trace_spans_get_columns(rules->trace, block, columns, &rules->near, &err);
        if (code < 0)
            return code;
        rules->near_held = true;
    }
    return span_payload(&rules->near, span.index - rules->near.info.first, ret_payload);
}

int graph_rules_each_link(struct graph_rules *rules, uint32_t kinds, int (*each)(void *context, const struct trace_link *link), void *context,
                          struct error *err)
{
    uint32_t count = trace_block_count(rules->trace, FAMILY_LINKS);
    int code = 0;
    for (uint32_t i = 0; i < count && code == 0; i++) {
        struct link_block block;
        code = trace_links_get(rules->trace, i, &block, err);
        if (code < 0)
            return code;
        for (uint32_t row = 0; row < block.info.count && code == 0; row++) {
            const struct trace_link link = {.kind = block.kind ? block.kind[row] : 0, .from = block.from[row], .to = block.to[row],
                                            .confidence = block.confidence ? block.confidence[row] : CONFIDENCE_CERTAIN};
            if (kinds >> link.kind & 1 && graph_rules_has(rules, link.from) && graph_rules_has(rules, link.to))
                code = each(context, &link);
        }
        trace_links_put(rules->trace, &block);
    }
    return code;
}

struct members {
    struct group_member *items;
    uint32_t *first; /* by group, and one behind */
};

/* Members on lanes, sorted by group by counting; within one they stay in the order of the trace. */
static int sort_members(struct graph_rules *rules, uint32_t group_count, bool count_only, struct members *members, struct error *err)
{
    uint32_t blocks = trace_block_count(rules->trace, FAMILY_MEMBERS);
    for (uint32_t i = 0; i < blocks; i++) {
        struct member_block block;
        int code = trace_members_get(rules->trace, i, &block, err);
        if (code < 0)
            return code;
        for (uint32_t row = 0; row < block.info.count; row++) {
            uint32_t group = block.group[row].index;
            if (group >= group_count || !graph_rules_has(rules, block.span[row]))
                continue;
            uint32_t at = members->first[group + count_only]++;
            if (!count_only)
                members->items[at] = (struct group_member){block.group[row], block.span[row], block.rank ? block.rank[row] : -1};
        }
        trace_members_put(rules->trace, &block);
    }
    return 0;
}

static int load_members(struct graph_rules *rules, uint32_t group_count, struct members *members, struct error *err)
{
    members->first = calloc((size_t)group_count + 2, sizeof *members->first);
    if (!members->first)
        return error_set(err, -ENOMEM, "out of memory");
    int code = sort_members(rules, group_count, true, members, err);
    if (code)
        return code;
    for (uint32_t i = 0; i < group_count; i++)
        members->first[i + 1] += members->first[i];
    members->items = malloc(((size_t)members->first[group_count] + 1) * sizeof *members->items);
    if (!members->items)
        return error_set(err, -ENOMEM, "out of memory");
    code = sort_members(rules, group_count, false, members, err);
    for (uint32_t i = group_count; i > 0; i--) /* filling moved each to the next one's begin */
        members->first[i] = members->first[i - 1];
    members->first[0] = 0;
    return code;
}

int graph_rules_each_group(struct graph_rules *rules, enum link_kind kind, int (*each)(void *context, const struct graph_group *group),
                           void *context, struct error *err)
{
    uint32_t count;
    const struct trace_group *groups = trace_groups(rules->trace, &count);
    struct members members = {0};
    int code = count ? load_members(rules, count, &members, err) : 0;
    for (uint32_t i = 0; i < count && code == 0; i++) {
        const struct graph_group group = {{i}, &groups[i], members.items + members.first[i], members.first[i + 1] - members.first[i]};
        if (groups[i].kind == kind && group.count)
            code = each(context, &group);
    }
    free(members.items);
    free(members.first);
    return code;
}
