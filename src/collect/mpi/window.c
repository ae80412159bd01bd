/* SPDX-License-Identifier: MIT */
/*
 * One-sided communication. A window stands in the table of communicators, with an identity of its own. Access epochs are numbered:
 * a fence, start or lock_all begins one for all targets, a lock begins one for its target.
 */
#include "mpi_collector.h"
#include "rank_list.h"

static struct mpi_comm *window_of(MPI_Win win)
{
    struct mpi_comm *window = mpi_comm_in_table(MPI_HANDLE(win));
    if (window && !window->noted)
        mpi_comm_note(window);
    return window;
}

void mpi_win_made(struct mpi_call *call, unsigned number, MPI_Comm from, MPI_Win made, const void *base, MPI_Aint bytes, int result)
{
    mpi_call_ended(call);
    struct mpi_comm *parent = mpi_comm_find(from), *window = 0;
    uint64_t sequence = parent ? mpi_sequence(parent) : 0;
    if (parent && result == MPI_SUCCESS)
        window = mpi_comm_add(MPI_HANDLE(made), mpi_hash(mpi_hash(parent->identity, sequence), 'W'), mpi_ranks_share(parent->peers),
                              mpi_ranks_share(parent->own), WIRE_MPI_COMM_WINDOW | (parent->flags & WIRE_MPI_COMM_LOCAL));
    if (window) {
        window->parent = parent->identity;
        window->base = (uint64_t)(uintptr_t)base;
        window->bytes = (uint64_t)bytes;
        mpi_comm_note(window);
    }
    mpi_comm_recorded(call, number, window, parent, sequence);
}

static uint64_t epoch_of(const struct mpi_comm *window, int rank)
{
    if (window->target_epochs && rank >= 0 && (uint32_t)rank < window->peers->size && window->target_epochs[rank])
        return window->target_epochs[rank];
    return window->epoch;
}

struct sync {
    int rank;           /* MPI_PROC_NULL = all */
    unsigned lock;      /* word */
    uint64_t sequence;
    int assertion;
    uint32_t group;     /* string */
};

static void record(struct mpi_call *call, unsigned number, const struct mpi_comm *window, const struct sync *sync)
{
    struct mpi_span span;
    if (!call->rt.thread)
        return;
    mpi_span_begin(&span, call, number, SPAN_KIND_RMA, PAYLOAD_RMA);
    if (window) {
        mpi_field(&span, FIELD_RMA_window, window->identity);
        if (sync->rank != MPI_PROC_NULL)
            mpi_field(&span, FIELD_RMA_target, (uint64_t)(int64_t)mpi_peer(window, sync->rank));
        mpi_field(&span, FIELD_RMA_epoch, epoch_of(window, sync->rank));
    }
    if (sync->lock)
        mpi_field(&span, FIELD_RMA_lock, mpi.words[sync->lock]);
    if (sync->sequence)
        mpi_field(&span, FIELD_RMA_sequence, sync->sequence);
    if (sync->assertion)
        mpi_field(&span, FIELD_RMA_assertion, (uint64_t)sync->assertion);
    if (sync->group)
        mpi_field(&span, FIELD_RMA_group, sync->group);
    mpi_span_end(call, &span);
}

void mpi_accessed(struct mpi_call *call, unsigned number, const struct mpi_access *access, unsigned word, MPI_Op op, MPI_Win win,
                  const MPI_Request *request, int result)
{
    struct mpi_span span;
    const struct mpi_comm *window = window_of(win);
    if (!call->rt.thread)
        return;
    struct mpi_data origin = mpi_data(access->origin, access->origin_count, access->origin_type);
    uint64_t bytes = mpi_data(0, access->target_count, access->target_type).bytes;
    mpi_span_begin(&span, call, number, SPAN_KIND_RMA, PAYLOAD_RMA);
    if (window) {
        mpi_field(&span, FIELD_RMA_window, window->identity);
        mpi_field(&span, FIELD_RMA_target, (uint64_t)(int64_t)mpi_peer(window, access->target));
        mpi_field(&span, FIELD_RMA_epoch, epoch_of(window, access->target));
    }
    mpi_field(&span, FIELD_RMA_bytes, bytes);
    if (op != MPI_OP_NULL || word)
        mpi_field(&span, FIELD_RMA_operation, word ? mpi.words[word] : mpi_operation(op));
    mpi_field(&span, FIELD_RMA_displacement, (uint64_t)(int64_t)access->displacement);
    mpi_field(&span, FIELD_RMA_origin_buffer, origin.address);
    mpi_field(&span, FIELD_RMA_origin_extent, origin.extent);
    if (request && result == MPI_SUCCESS) {
        span.record->correlation = rt_correlation();
        mpi_request_put(&(struct mpi_request){.handle = MPI_HANDLE(*request), .address = request, .correlation = span.record->correlation,
                                              .kind = MPI_REQUEST_OTHER});
    }
    mpi_span_end(call, &span);
}

/* A fence ends one epoch and begins the next: it belongs to the one that it ends. */
void mpi_fenced(struct mpi_call *call, unsigned number, int assertion, MPI_Win win)
{
    struct mpi_comm *window = window_of(win);
    uint64_t sequence = window ? mpi_sequence(window) : 0;
    record(call, number, window, &(struct sync){.rank = MPI_PROC_NULL, .sequence = sequence, .assertion = assertion});
    if (window)
        window->epoch++;
}

/* World ranks of a group as text; 0 = none, or not to be had. */
static uint32_t ranks_text(MPI_Group group)
{
    struct rank_list list;
    struct mpi_ranks *ranks = mpi_ranks_of(group);
    if (!ranks)
        return 0;
    rank_list_begin(&list);
    for (uint32_t i = 0; i < ranks->size; i++)
        rank_list_add(&list, ranks->world[i]);
    mpi_ranks_release(ranks);
    return rank_list_end(&list);
}

void mpi_epoch_begun(struct mpi_call *call, unsigned number, MPI_Group group, int assertion, MPI_Win win)
{
    struct mpi_comm *window = window_of(win);
    if (window && number == CALL_MPI_Win_start)
        window->epoch++;
    record(call, number, window, &(struct sync){.rank = MPI_PROC_NULL, .assertion = assertion, .group = call->rt.thread ? ranks_text(group) : 0});
}

void mpi_epoch_synced(struct mpi_call *call, unsigned number, int rank, MPI_Win win)
{
    record(call, number, window_of(win), &(struct sync){.rank = rank});
}

void mpi_locked(struct mpi_call *call, unsigned number, unsigned lock, int rank, int assertion, MPI_Win win)
{
    struct mpi_comm *window = window_of(win);
    if (window) {
        uint64_t epoch = __atomic_add_fetch(&window->epoch, 1, __ATOMIC_RELAXED);
        if (rank != MPI_PROC_NULL && !window->target_epochs)
            window->target_epochs = mpi_memory_take(window->peers->size * sizeof window->target_epochs[0]);
        if (rank >= 0 && window->target_epochs && (uint32_t)rank < window->peers->size)
            window->target_epochs[rank] = epoch;
    }
    record(call, number, window, &(struct sync){.rank = rank, .lock = lock, .assertion = assertion});
}

void mpi_unlocked(struct mpi_call *call, unsigned number, int rank, MPI_Win win)
{
    struct mpi_comm *window = window_of(win);
    record(call, number, window, &(struct sync){.rank = rank});
    if (window && window->target_epochs && rank >= 0 && (uint32_t)rank < window->peers->size)
        window->target_epochs[rank] = 0;
}
