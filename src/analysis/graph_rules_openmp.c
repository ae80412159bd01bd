/* SPDX-License-Identifier: MIT */
/*
 * OpenMP: fork and join, barriers, tasks, locks, all by ids that the runtime gave. Where a thread ran tasks while it waited, the wait is in
 * pieces: the last one ends with the barrier or taskwait, each earlier one with the task that came.
 */
#include "base/array.h"
#include "base/error.h"
#include "graph_rules.h"

#include <errno.h>

struct openmp_rules {
    struct graph_rules *rules;
    uint8_t *released; /* by span: a wait of which it is known what may have ended it */
};

static int fork_edge(struct graph_rules *rules, const struct trace_link *link)
{
    uint32_t from = graph_rules_begin(rules, link->from), to = graph_rules_begin(rules, link->to);
    if (graph_rules_lane(rules, from) == graph_rules_lane(rules, to))
        return 0; /* the thread that met the region: its own order */
    return graph_rules_edge(rules, from, to, EDGE_RULE_FORK, link->confidence, graph_rules_class(EDGE_RULE_FORK, 0, 0));
}

/* A region goes on after its parts; a taskwait, taskgroup or barrier after its tasks. */
static int join_edge(struct openmp_rules *openmp, const struct trace_link *link)
{
    struct graph_rules *rules = openmp->rules;
    bool of_region = rules->kind[link->to.index] == SPAN_KIND_PARALLEL || rules->kind[link->to.index] == SPAN_KIND_TARGET;
    enum edge_rule rule = of_region ? EDGE_RULE_JOIN : EDGE_RULE_TASKWAIT;
    uint32_t from = graph_rules_end(rules, link->from), to = graph_rules_end(rules, link->to);
    if (graph_rules_lane(rules, from) == graph_rules_lane(rules, to) && from < to)
        return 0; /* who ran the tasks itself waited for none */
    openmp->released[link->to.index] = 1;
    return graph_rules_edge(rules, from, to, rule, link->confidence, graph_rules_class(rule, 0, 0));
}

/* From a task's creation (its own, or that of a whole taskloop), which may go on while another thread runs it, or from the end of its
 * stretch before. */
static int task_edge(struct graph_rules *rules, const struct trace_link *link)
{
    bool created = rules->kind[link->from.index] != SPAN_KIND_TASK;
    enum edge_rule rule = created ? EDGE_RULE_TASK_CREATE : EDGE_RULE_TASK_RESUME;
    uint32_t from = created ? graph_rules_begin(rules, link->from) : graph_rules_end(rules, link->from);
    return graph_rules_edge(rules, from, graph_rules_begin(rules, link->to), rule, link->confidence, graph_rules_class(rule, 0, 0));
}

/* Where a lock's span had it: within, at its begin when it was free, else at its end. */
static uint32_t had_point(struct graph_rules *rules, span_id span)
{
    struct payload payload;
    uint32_t had = graph_rules_extra(rules, span, GRAPH_EXTRA_HAD);
    if (had != POINT_NONE)
        return had;
    bool at_once = graph_rules_payload(rules, span, &payload) == 0 && payload.kind == PAYLOAD_LOCK &&
                   payload.present >> FIELD_LOCK_wait_ns & 1 && payload.fields[FIELD_LOCK_wait_ns].u64 == 0;
    return at_once ? graph_rules_begin(rules, span) : graph_rules_end(rules, span);
}

static int lock_edge(struct openmp_rules *openmp, const struct trace_link *link)
{
    struct graph_rules *rules = openmp->rules;
    uint32_t released = graph_rules_extra(rules, link->from, GRAPH_EXTRA_RELEASED);
    openmp->released[link->to.index] = 1;
    return graph_rules_edge(rules, released != POINT_NONE ? released : graph_rules_end(rules, link->from), had_point(rules, link->to), EDGE_RULE_LOCK,
                            link->confidence, graph_rules_class(EDGE_RULE_LOCK, 0, 0));
}

static bool is_openmp(uint8_t kind)
{
    switch (kind) {
    case SPAN_KIND_TASK:
    case SPAN_KIND_TASK_CREATE:
    case SPAN_KIND_TARGET:
    case SPAN_KIND_IMPLICIT_TASK:
    case SPAN_KIND_PARALLEL:
        return true;
    default:
        return false;
    }
}

static int link_edge(void *context, const struct trace_link *link)
{
    struct openmp_rules *openmp = context;
    struct graph_rules *rules = openmp->rules;
    switch (link->kind) {
    case LINK_KIND_FORK:
        return fork_edge(rules, link);
    case LINK_KIND_JOIN:
        return join_edge(openmp, link);
    case LINK_KIND_TASK:
        return task_edge(rules, link);
    case LINK_KIND_DEPEND: /* OpenCL's wait lists are links of this kind, too */
        return is_openmp(rules->kind[link->from.index])
                   ? graph_rules_edge(rules, graph_rules_end(rules, link->from), graph_rules_begin(rules, link->to), EDGE_RULE_TASK_DEPEND,
                                      link->confidence, graph_rules_class(EDGE_RULE_TASK_DEPEND, 0, 0))
                   : 0;
    default:
        return lock_edge(openmp, link);
    }
}

/* Where a thread's last wait in a barrier began before anybody left it. Tasks that it ran there before count, as all must be done; those
 * it ran later were made behind the barrier by who had left already. */
static uint32_t ready_point(const struct graph_rules *rules, span_id barrier, int64_t first_exit_ns)
{
    uint32_t begin = graph_rules_begin(rules, barrier), point = graph_rules_end(rules, barrier) - 1;
    while (point > begin && (graph_rules_time(rules, point) > first_exit_ns || rules->builder->columns.interval[point + 1] != INTERVAL_WAIT))
        point--;
    return point;
}

/* Who came last lets all go. */
static int barrier_edges(void *context, const struct graph_group *group)
{
    struct openmp_rules *openmp = context;
    struct graph_rules *rules = openmp->rules;
    uint32_t class = graph_rules_class(EDGE_RULE_BARRIER, 0, group->count), join;
    int64_t first_exit_ns = INT64_MAX;
    if (group->count < 2 || rules->options->leave_out_rules >> EDGE_RULE_BARRIER & 1)
        return 0;
    for (uint32_t i = 0; i < group->count; i++) {
        int64_t exit_ns = graph_rules_end_ns(rules, group->members[i].span);
        first_exit_ns = exit_ns < first_exit_ns ? exit_ns : first_exit_ns;
    }
    int code = graph_builder_add_join(rules->builder, &join);
    for (uint32_t i = 0; i < group->count && code == 0; i++) {
        openmp->released[group->members[i].span.index] = 1;
        code = graph_rules_edge(rules, ready_point(rules, group->members[i].span, first_exit_ns), join, EDGE_RULE_BARRIER, CONFIDENCE_CERTAIN, class);
    }
    for (uint32_t i = 0; i < group->count && code == 0; i++)
        code = graph_rules_edge(rules, join, graph_rules_end(rules, group->members[i].span), EDGE_RULE_BARRIER, CONFIDENCE_CERTAIN, class);
    return code;
}

/* A wait that nothing is known to have released: nobody held the lock, no other thread comes to the barrier or has a part in the region, no
 * task was left to wait for. Where records were lost that cannot be said. */
static int explain_alone(void *context, const struct graph_row *row)
{
    struct openmp_rules *openmp = context;
    struct graph_rules *rules = openmp->rules;
    uint8_t kind = rules->kind[row->span.index];
    bool lock = kind == SPAN_KIND_CRITICAL || kind == SPAN_KIND_LOCK || kind == SPAN_KIND_ORDERED;
    if (!openmp->released[row->span.index] && !rules->lost_anywhere)
        graph_rules_explain(rules, lock ? had_point(rules, row->span) : graph_rules_end(rules, row->span));
    return 0;
}

#define KIND(kind) (UINT64_C(1) << SPAN_KIND_##kind)

int graph_rules_openmp(struct graph_rules *rules, struct error *err)
{
    const uint32_t links = 1u << LINK_KIND_FORK | 1u << LINK_KIND_JOIN | 1u << LINK_KIND_TASK | 1u << LINK_KIND_DEPEND | 1u << LINK_KIND_LOCK;
    const uint64_t waits = KIND(CRITICAL) | KIND(LOCK) | KIND(ORDERED) | KIND(BARRIER) | KIND(TASKWAIT) | KIND(TASKGROUP) | KIND(REDUCTION) |
                           KIND(PARALLEL);
    struct openmp_rules openmp = {.rules = rules, .released = calloc((size_t)rules->span_count + 1, 1)};
    int code = openmp.released ? graph_rules_each_link(rules, links, link_edge, &openmp, err) : -ENOMEM;
    if (code == 0)
        code = graph_rules_each_group(rules, LINK_KIND_BARRIER, barrier_edges, &openmp, err);
    if (code == 0)
        code = graph_rules_each_id(rules, waits, explain_alone, &openmp);
    free(openmp.released);
    return code < 0 && !err->text[0] ? error_set_errno(err, code, "edges of OpenMP") : code;
}
