/* SPDX-License-Identifier: MIT */
/*
 * What processes do together. Who must have entered before whom may leave follows from what the operation does with data: where all
 * get something of all, a join; from the root or to it, its edges; a scan, a chain along the ranks. Calls of which MPI doesn't say that they
 * wait (communicators made, MPI_Init, MPI_Finalize) are joined where nobody left before the last had come.
 */
#include "base/error.h"
#include "graph_mpi.h"

#include <errno.h>
#include <inttypes.h>

#define LOOKS_MAX 1048576u /* ranks of a communicator that are looked for: what the metadata say may be anything */
#define PAIRS_MAX 1048576u /* edges of one collective of which some get nothing from some */

struct members {
    struct mpi_rules *mpi;
    const struct group_member *members;
    uint32_t count;
    enum edge_rule rule;
    enum confidence confidence;
    uint64_t bytes;
};

static struct mpi_fact *fact_at(const struct members *group, uint32_t i)
{
    return mpi_fact_of(group->mpi, group->members[i].span);
}

static uint32_t entry_of(const struct members *group, uint32_t i)
{
    return graph_rules_begin(group->mpi->rules, group->members[i].span);
}

static uint32_t class_of(const struct members *group)
{
    return graph_rules_class(group->rule, (uint64_t)fact_at(group, 0)->op << 32 | group->count, group->bytes + 1);
}

static int edge_to(const struct members *group, uint32_t from, uint32_t member)
{
    struct mpi_fact *fact = fact_at(group, member), *blocked = mpi_blocked_in(group->mpi, fact);
    if (!blocked)
        return 0;
    blocked->flags |= MPI_RELEASED;
    return graph_rules_edge(group->mpi->rules, from, mpi_completion(group->mpi, fact), group->rule, group->confidence, class_of(group));
}

/* Whose part MPI doesn't say to wait: what it does there is its own. */
static void explain(const struct members *group, uint32_t member)
{
    struct mpi_fact *fact = fact_at(group, member), *blocked = mpi_blocked_in(group->mpi, fact);
    if (blocked && blocked != fact)
        blocked->flags |= MPI_HAS_REQUESTS;
    else if (blocked && !(blocked->flags & MPI_RELEASED))
        graph_rules_explain(group->mpi->rules, graph_rules_end(group->mpi->rules, group->members[member].span));
}

/* A member that gets data from only some waits for those; from nobody, for nobody. */
static int edges_of_some(const struct members *group, uint32_t member)
{
    const char *nothing_from = trace_text(group->mpi->rules->trace, fact_at(group, member)->no_data_from);
    bool waits = false;
    int code = 0;
    for (uint32_t i = 0; i < group->count && code == 0; i++) {
        if (i == member || mpi_in_ranks(nothing_from, group->members[i].rank))
            continue;
        waits = true;
        code = edge_to(group, entry_of(group, i), member);
    }
    if (!waits)
        explain(group, member);
    return code;
}

static int edges_all_to_all(const struct members *group)
{
    uint32_t some = 0, join;
    for (uint32_t i = 0; i < group->count; i++)
        some += !string_is(fact_at(group, i)->no_data_from, STRING_NONE);
    bool pairs = some && (uint64_t)some * group->count <= PAIRS_MAX;
    struct members joined = *group;
    if (some && !pairs)
        joined.confidence = CONFIDENCE_MEDIUM;
    int code = graph_builder_add_join(group->mpi->rules->builder, &join);
    for (uint32_t i = 0; i < group->count && code == 0; i++)
        code = graph_rules_edge(group->mpi->rules, entry_of(group, i), join, group->rule, joined.confidence, class_of(group));
    for (uint32_t i = 0; i < group->count && code == 0; i++)
        code = pairs && !string_is(fact_at(group, i)->no_data_from, STRING_NONE) ? edges_of_some(group, i) : edge_to(&joined, join, i);
    return code;
}

static uint32_t find_root(const struct members *group)
{
    for (uint32_t i = 0; i < group->count; i++)
        if (fact_at(group, i)->peer == group->members[i].rank)
            return i;
    return UINT32_MAX;
}

static int edges_rooted(const struct members *group, bool from_root)
{
    uint32_t root = find_root(group);
    int code = 0;
    if (root == UINT32_MAX) /* not in the trace: who waits for it stays unexplained */
        return 0;
    if (!from_root && !string_is(fact_at(group, root)->no_data_from, STRING_NONE)) {
        code = edges_of_some(group, root);
    } else if (!from_root) {
        uint32_t join;
        code = graph_builder_add_join(group->mpi->rules->builder, &join);
        for (uint32_t i = 0; i < group->count && code == 0; i++)
            code = graph_rules_edge(group->mpi->rules, entry_of(group, i), join, group->rule, group->confidence, class_of(group));
        code = code ? code : edge_to(group, join, root);
    }
    for (uint32_t i = 0; i < group->count && code == 0; i++) {
        if (from_root && i != root && (fact_at(group, i)->bytes || fact_at(group, i)->flags & MPI_IMMEDIATE))
            code = edge_to(group, entry_of(group, root), i);
        else if (i != root || from_root)
            explain(group, i); /* who only sends, or gets nothing */
    }
    return code;
}

/* Members mostly stand in the order of ranks: the search begins where the last one ended. */
static uint32_t member_of_rank(const struct members *group, long rank, uint32_t hint)
{
    for (uint32_t i = 0; i < group->count; i++) {
        uint32_t at = (hint + i) % group->count;
        if (group->members[at].rank == rank)
            return at;
    }
    return UINT32_MAX;
}

/* One step of the chain: who is next waits for all before it. */
static int scan_step(const struct members *group, uint32_t member, uint32_t *chain)
{
    struct graph_rules *rules = group->mpi->rules;
    uint32_t join = POINT_NONE, before = *chain;
    int code = 0;
    if (before != POINT_NONE)
        code = edge_to(group, before, member);
    else
        explain(group, member);
    if (code == 0)
        code = graph_builder_add_join(rules->builder, &join);
    if (code == 0 && before != POINT_NONE)
        code = graph_rules_edge(rules, before, join, group->rule, group->confidence, class_of(group));
    if (code == 0)
        code = graph_rules_edge(rules, entry_of(group, member), join, group->rule, group->confidence, class_of(group));
    *chain = join;
    return code;
}

/* Along the communicator's ranks; without a list of them, along those of MPI_COMM_WORLD, which most are in the order of. */
static int edges_scan(struct members *group)
{
    const struct mpi_comm_row *comm = mpi_comm_of(group->mpi, fact_at(group, 0)->comm);
    uint32_t chain = POINT_NONE;
    int code = 0;
    if (!comm || !comm->ranks) {
        group->confidence = group->confidence < CONFIDENCE_MEDIUM ? CONFIDENCE_MEDIUM : group->confidence;
        for (uint32_t i = 0; i < group->count && code == 0; i++)
            code = scan_step(group, i, &chain);
        return code;
    }
    const char *list = comm->ranks;
    for (uint32_t found = 0, looks = 0, next = 0; code == 0 && found < group->count && *list >= '0' && *list <= '9';) {
        char *end;
        long first = strtol(list, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (long rank = first; rank <= last && found < group->count && looks < LOOKS_MAX && code == 0; rank++, looks++) {
            uint32_t member = member_of_rank(group, rank, next);
            if (member == UINT32_MAX)
                continue;
            next = member + 1;
            found++;
            code = scan_step(group, member, &chain);
        }
        list = *end == ',' ? end + 1 : end;
    }
    return code;
}

/* Whether the last had come before the first left, as far as this run tells. */
static bool was_together(const struct members *group)
{
    int64_t last_entry_ns = INT64_MIN, first_exit_ns = INT64_MAX;
    for (uint32_t i = 0; i < group->count; i++) {
        int64_t entry_ns = graph_rules_time(group->mpi->rules, entry_of(group, i));
        int64_t exit_ns = graph_rules_end_ns(group->mpi->rules, group->members[i].span);
        last_entry_ns = entry_ns > last_entry_ns ? entry_ns : last_entry_ns;
        first_exit_ns = exit_ns < first_exit_ns ? exit_ns : first_exit_ns;
    }
    return last_entry_ns <= first_exit_ns;
}

static int edges_if_together(struct members *group)
{
    if (group->confidence < CONFIDENCE_HIGH)
        group->confidence = CONFIDENCE_HIGH;
    if (group->count > 1 && was_together(group))
        return edges_all_to_all(group);
    for (uint32_t i = 0; i < group->count; i++)
        explain(group, i);
    return 0;
}

static bool all_empty(const struct members *group)
{
    for (uint32_t i = 0; i < group->count; i++)
        if (fact_at(group, i)->bytes)
            return false;
    return true;
}

static int edges_by_op(struct members *group, enum mpi_op op)
{
    bool moves_data = op == MPI_OP_ALL || op == MPI_OP_FROM_ROOT || op == MPI_OP_TO_ROOT || op == MPI_OP_SCAN || op == MPI_OP_EXSCAN;
    if (op == MPI_OP_FREED || (moves_data && all_empty(group))) {
        for (uint32_t i = 0; i < group->count; i++)
            explain(group, i);
        return 0;
    }
    switch (op) {
    case MPI_OP_BARRIER:
    case MPI_OP_ALL:
        return edges_all_to_all(group);
    case MPI_OP_FROM_ROOT:
    case MPI_OP_TO_ROOT:
        return edges_rooted(group, op == MPI_OP_FROM_ROOT);
    case MPI_OP_SCAN:
    case MPI_OP_EXSCAN:
        return edges_scan(group);
    case MPI_OP_FENCE:
        group->rule = EDGE_RULE_WINDOW_SYNC;
        for (uint32_t i = 0; i < group->count; i++)
            if (fact_at(group, i)->flags & MPI_ASSERTED)
                return edges_if_together(group);
        return edges_all_to_all(group);
    case MPI_OP_MADE:
    case MPI_OP_INIT:
    case MPI_OP_FINALIZE:
        return edges_if_together(group);
    default:
        return 0;
    }
}

static int collective_edges(void *context, const struct graph_group *row)
{
    struct mpi_rules *mpi = context;
    struct mpi_fact *first = mpi_fact_of(mpi, row->members[0].span);
    if (!first || first->op == MPI_OP_NONE)
        return 0; /* of NCCL, or collective I/O */
    for (uint32_t i = 0; i < row->count; i++)
        if (!mpi_fact_of(mpi, row->members[i].span))
            return 0;
    const struct mpi_comm_row *comm = mpi_comm_of(mpi, first->comm);
    struct members group = {mpi, row->members, row->count, EDGE_RULE_COLLECTIVE, CONFIDENCE_CERTAIN, first->bytes};
    if (comm && comm->inter)
        return 0; /* who gets what from whom is another matter there */
    if (comm && comm->size > 0 && row->count < comm->size) {
        if (row->count == 1 && first->op != MPI_OP_FREED)
            return 0; /* the others are not in the trace: it stays unexplained */
        group.confidence = CONFIDENCE_HIGH;
    }
    return mpi->rules->options->leave_out_rules >> EDGE_RULE_COLLECTIVE & 1 ? 0 : edges_by_op(&group, (enum mpi_op)first->op);
}

static int32_t rank_of(const struct mpi_rules *mpi, uint32_t span)
{
    uint32_t tracks, processes;
    const struct trace_track *track = trace_tracks(mpi->rules->trace, &tracks);
    const struct trace_process *process = trace_processes(mpi->rules->trace, &processes);
    track_id id = graph_rules_track(mpi->rules, graph_rules_begin(mpi->rules, (span_id){span}));
    return process[track[id.index].process.index].rank;
}

/* MPI_Init and MPI_Finalize of all processes of the trace, if each rank has one. */
static int world_edges(struct mpi_rules *mpi, enum mpi_op op)
{
    const char *size = trace_metadata(mpi->rules->trace, "mpi.world_size");
    size_t count = 0;
    struct group_member *members = malloc((mpi->count + 1) * sizeof *members);
    struct map ranks;
    uint64_t unused;
    bool one_world = true;
    if (!members)
        return -ENOMEM;
    map_init(&ranks);
    for (size_t i = 0; i < mpi->count; i++) {
        if (mpi->facts[i].op != op)
            continue;
        int32_t rank = rank_of(mpi, mpi->facts[i].span);
        one_world &= rank >= 0 && !map_get(&ranks, (uint32_t)rank, &unused) && map_set(&ranks, (uint32_t)rank, 1) == 0;
        members[count++] = (struct group_member){.group = GROUP_NONE, .span = {mpi->facts[i].span}, .rank = rank};
    }
    bool whole = size && strtoll(size, NULL, 10) == (long long)count;
    struct members group = {mpi, members, (uint32_t)count, EDGE_RULE_COLLECTIVE, CONFIDENCE_HIGH, 0};
    int code = count && one_world && whole ? edges_if_together(&group) : 0;
    map_finish(&ranks);
    free(members);
    return code;
}

/* A communicator of one process, as MPI_COMM_SELF, makes no group: nobody is waited for. */
static void explain_alone(struct mpi_rules *mpi)
{
    for (size_t i = 0; i < mpi->count; i++) {
        struct mpi_fact *fact = &mpi->facts[i];
        uint8_t kind = mpi->rules->kind[fact->span];
        if ((kind != SPAN_KIND_COLLECTIVE && kind != SPAN_KIND_COMM && fact->op != MPI_OP_FENCE) || fact->flags & MPI_RELEASED)
            continue;
        const struct mpi_comm_row *comm = fact->comm ? mpi_comm_of(mpi, fact->comm) : NULL;
        if (fact->op != MPI_OP_FREED && !(comm && comm->size == 1))
            continue;
        const struct group_member member = {GROUP_NONE, {fact->span}, -1};
        explain(&(struct members){.mpi = mpi, .members = &member, .count = 1}, 0);
    }
}

int graph_rules_collective(struct mpi_rules *mpi, struct error *err)
{
    int code = graph_rules_each_group(mpi->rules, LINK_KIND_COLLECTIVE, collective_edges, mpi, err);
    explain_alone(mpi);
    bool wanted = !(mpi->rules->options->leave_out_rules >> EDGE_RULE_COLLECTIVE & 1);
    if (code == 0 && wanted)
        code = world_edges(mpi, MPI_OP_INIT);
    return code == 0 && wanted ? world_edges(mpi, MPI_OP_FINALIZE) : code;
}
