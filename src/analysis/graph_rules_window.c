/* SPDX-License-Identifier: MIT */
/*
 * One-sided communication. Fences are collectives. A start waits for the posts of its targets, or the complete behind it does where the
 * library lets the start through; a target's wait waits for the completes. A window's lock is had after a holder of one that excludes it gave it
 * back; libraries may put the wait off to the unlock. Operations that nothing else released may have waited for their target to come into MPI.
 */
#include "base/array.h"
#include "base/error.h"
#include "graph_mpi.h"
#include "target_progress.h"

#include <errno.h>

/* The next call of this kind on the same window, and for the same target, by the same thread; NULL: none. */
static struct mpi_fact *next_of(const struct mpi_rules *mpi, const struct mpi_fact *fact, enum mpi_op op)
{
    uint32_t lane = graph_rules_lane(mpi->rules, graph_rules_begin(mpi->rules, (span_id){fact->span}));
    const struct graph_lane *row = &mpi->rules->builder->columns.lanes[lane];
    for (size_t i = (size_t)(fact - mpi->facts) + 1; i < mpi->count; i++) {
        struct mpi_fact *next = &mpi->facts[i];
        if (graph_rules_begin(mpi->rules, (span_id){next->span}) >= row->first_point + row->point_count)
            return NULL;
        if (next->op == op && next->comm == fact->comm && next->peer == fact->peer)
            return next;
    }
    return NULL;
}

static int sync_edge(struct mpi_rules *mpi, uint32_t from, struct mpi_fact *to, enum edge_rule rule, enum confidence confidence)
{
    to->flags |= MPI_RELEASED;
    return graph_rules_edge(mpi->rules, from, graph_rules_end(mpi->rules, (span_id){to->span}), rule, confidence, graph_rules_class(rule, to->op, 0));
}

static int link_edge(void *context, const struct trace_link *link)
{
    struct mpi_rules *mpi = context;
    struct mpi_fact *from = mpi_fact_of(mpi, link->from), *to = mpi_fact_of(mpi, link->to);
    if (!from || !to)
        return 0; /* of OpenCL */
    uint32_t cause = graph_rules_begin(mpi->rules, link->from);
    if (from->op == MPI_OP_POST && to->op == MPI_OP_START) {
        struct mpi_fact *complete = next_of(mpi, to, MPI_OP_COMPLETE);
        bool late = graph_rules_end_ns(mpi->rules, link->to) < graph_rules_time(mpi->rules, cause);
        to->flags |= MPI_RELEASED;
        if (late && complete)
            graph_rules_explain(mpi->rules, graph_rules_end(mpi->rules, link->to));
        return late ? complete ? sync_edge(mpi, cause, complete, EDGE_RULE_WINDOW_SYNC, link->confidence) : 0
                    : sync_edge(mpi, cause, to, EDGE_RULE_WINDOW_SYNC, link->confidence);
    }
    if (from->op == MPI_OP_COMPLETE && to->op == MPI_OP_WIN_WAIT)
        return sync_edge(mpi, cause, to, EDGE_RULE_WINDOW_SYNC, link->confidence);
    return 0; /* an access and what completes it: the thread's own order */
}

struct lock {
    struct mpi_fact *lock, *unlock;
    int64_t begin_ns, release_ns, end_ns;
    uint32_t lane;
};

static int by_release(const void *left, const void *right)
{
    const struct lock *a = left, *b = right;
    int order = (a->lock->comm > b->lock->comm) - (a->lock->comm < b->lock->comm);
    order = order ? order : (a->lock->peer > b->lock->peer) - (a->lock->peer < b->lock->peer);
    order = order ? order : (a->release_ns > b->release_ns) - (a->release_ns < b->release_ns);
    return order ? order : (a->lock->span > b->lock->span) - (a->lock->span < b->lock->span);
}

static int gather_locks(struct mpi_rules *mpi, struct lock **ret_locks, size_t *ret_count)
{
    size_t capacity = 0;
    for (size_t i = 0; i < mpi->count; i++) {
        struct mpi_fact *unlock = mpi->facts[i].op == MPI_OP_LOCK ? next_of(mpi, &mpi->facts[i], MPI_OP_UNLOCK) : NULL;
        if (!unlock)
            continue;
        struct lock *locks = array_reserve(*ret_locks, &capacity, *ret_count + 1, sizeof *locks);
        if (!locks)
            return -ENOMEM;
        *ret_locks = locks;
        uint32_t begin = graph_rules_begin(mpi->rules, (span_id){mpi->facts[i].span});
        locks[(*ret_count)++] = (struct lock){.lock = &mpi->facts[i], .unlock = unlock, .begin_ns = graph_rules_time(mpi->rules, begin),
                                              .release_ns = graph_rules_begin_ns(mpi->rules, (span_id){unlock->span}),
                                              .end_ns = graph_rules_end_ns(mpi->rules, (span_id){unlock->span}),
                                              .lane = graph_rules_lane(mpi->rules, begin)};
    }
    return 0;
}

/* The last holder that excludes this one and gave back while this one was asking. */
static int lock_edge(struct mpi_rules *mpi, const struct lock *locks, size_t at)
{
    const struct lock *asked = &locks[at];
    for (size_t i = at; i-- > 0;) {
        const struct lock *holder = &locks[i];
        if (holder->lock->comm != asked->lock->comm || holder->lock->peer != asked->lock->peer || holder->release_ns <= asked->begin_ns)
            return 0;
        if (holder->lane == asked->lane || !((holder->lock->flags | asked->lock->flags) & MPI_EXCLUSIVE))
            continue;
        bool at_lock = graph_rules_end_ns(mpi->rules, (span_id){asked->lock->span}) >= holder->release_ns;
        uint32_t cause = graph_rules_begin(mpi->rules, (span_id){holder->unlock->span});
        return sync_edge(mpi, cause, at_lock ? asked->lock : asked->unlock, EDGE_RULE_PASSIVE_TARGET, CONFIDENCE_HIGH);
    }
    return 0;
}

static int lock_edges(struct mpi_rules *mpi)
{
    struct lock *locks = NULL;
    size_t count = 0;
    int code = gather_locks(mpi, &locks, &count);
    if (code == 0 && count)
        qsort(locks, count, sizeof *locks, by_release);
    for (size_t i = 0; i < count && code == 0; i++)
        code = lock_edge(mpi, locks, i);
    free(locks);
    return code;
}

static int32_t rank_of(const struct mpi_rules *mpi, uint32_t point)
{
    uint32_t count;
    uint32_t process = trace_tracks(mpi->rules->trace, &count)[graph_rules_track(mpi->rules, point).index].process.index;
    const struct trace_process *processes = trace_processes(mpi->rules->trace, &count);
    return process < count ? processes[process].rank : -1;
}

static bool may_wait_for_target(const struct mpi_rules *mpi, const struct mpi_fact *fact)
{
    return mpi->rules->kind[fact->span] == SPAN_KIND_RMA && fact->peer >= 0 && (fact->flags & (MPI_ONE_SIDED | MPI_RELEASED)) == MPI_ONE_SIDED;
}

static int gather_calls(const struct mpi_rules *mpi, struct target_calls *calls)
{
    int code = 0;
    for (size_t i = 0; i < mpi->count && code == 0; i++) {
        const span_id span = {mpi->facts[i].span};
        int32_t rank = rank_of(mpi, graph_rules_begin(mpi->rules, span));
        if (rank >= 0)
            code = target_calls_add(calls, rank, span.index, graph_rules_begin_ns(mpi->rules, span), graph_rules_end_ns(mpi->rules, span));
    }
    target_calls_sort(calls);
    return code;
}

static int progress_edge(struct mpi_rules *mpi, const struct target_calls *calls, struct mpi_fact *fact)
{
    const span_id span = {fact->span};
    uint32_t begin = graph_rules_begin(mpi->rules, span);
    const struct target_call *call =
        target_waited_for(calls, fact->peer, graph_rules_track(mpi->rules, begin).index, graph_rules_begin_ns(mpi->rules, span),
                          graph_rules_end_ns(mpi->rules, span), mpi->rules->builder->columns.preempted);
    if (!call)
        return 0;
    return sync_edge(mpi, graph_rules_begin(mpi->rules, (span_id){call->span}), fact, EDGE_RULE_TARGET_PROGRESS, CONFIDENCE_MEDIUM);
}

static int progress_edges(struct mpi_rules *mpi, struct error *err)
{
    struct target_calls calls = {0};
    int code = 0;
    bool any = false;
    for (size_t i = 0; i < mpi->count && !any; i++)
        any = may_wait_for_target(mpi, &mpi->facts[i]);
    if (!any || (code = graph_find_preempted(mpi->rules->builder, err)) < 0)
        return code;
    code = gather_calls(mpi, &calls);
    for (size_t i = 0; i < mpi->count && code == 0; i++)
        if (may_wait_for_target(mpi, &mpi->facts[i]))
            code = progress_edge(mpi, &calls, &mpi->facts[i]);
    target_calls_finish(&calls);
    return code;
}

/* What completes only its own process' transfers, or was free: its own work. Posts of which nothing is known stay open. */
static void explain_rest(struct mpi_rules *mpi)
{
    for (size_t i = 0; i < mpi->count; i++) {
        const struct mpi_fact *fact = &mpi->facts[i];
        bool open = fact->op == MPI_OP_FENCE || fact->op == MPI_OP_START || fact->op == MPI_OP_WIN_WAIT;
        if (mpi->rules->kind[fact->span] == SPAN_KIND_RMA && !(fact->flags & MPI_RELEASED) && !open)
            graph_rules_explain(mpi->rules, graph_rules_end(mpi->rules, (span_id){fact->span}));
    }
}

int graph_rules_window(struct mpi_rules *mpi, struct error *err)
{
    int code = graph_rules_each_link(mpi->rules, 1u << LINK_KIND_SYNC, link_edge, mpi, err);
    if (code == 0)
        code = lock_edges(mpi);
    if (code == 0)
        code = progress_edges(mpi, err);
    if (code == 0)
        explain_rest(mpi);
    return code;
}
