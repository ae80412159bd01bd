/* SPDX-License-Identifier: MIT */
/*
 * One-sided communication: each put, get or accumulate is joined to the call that completes it at its origin, by window, number of
 * the access epoch, and target. Of several (flushes) it is the first behind it.
 */
#include "merge_mpi.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EVERYBODY INT32_MIN /* of a call that completes accesses to all targets */

static const struct closing {
    const char *name;
    bool passive; /* the target takes no part: a rule of the model, no identity of both sides */
} closings[] = {
    {"MPI_Win_fence", false},     {"MPI_Win_complete", false},  {"MPI_Win_unlock", true},
    {"MPI_Win_unlock_all", true}, {"MPI_Win_flush", true},      {"MPI_Win_flush_all", true},
};

/* Which of the closings a name is, plus 1; 0 = none. */
static unsigned closing_of(struct merge_mpi *mpi, string_id name)
{
    uint64_t known = 0;
    if (map_get(&mpi->closing_names, name.index, &known))
        return (unsigned)known;
    const char *text = string_table_text(trace_builder_strings(mpi->merge->builder), name);
    for (unsigned i = 0; i < sizeof closings / sizeof *closings && !known; i++)
        known = strcmp(text, closings[i].name) == 0 ? i + 1 : 0;
    map_set(&mpi->closing_names, name.index, known);
    return (unsigned)known;
}

int merge_mpi_add_access(struct merge_mpi *mpi, const struct mpi_process *process, const struct merge_span *span, span_id handle)
{
    const struct payload *payload = span->payload;
    if (payload->kind != PAYLOAD_RMA || !payload_has(payload, FIELD_RMA_window) || !payload_has(payload, FIELD_RMA_epoch))
        return 0;
    bool access = payload_has(payload, FIELD_RMA_bytes);
    unsigned closing = access ? 0 : closing_of(mpi, span->span->name);
    if (!access && !closing)
        return 0;
    struct mpi_access *accesses = array_reserve(mpi->accesses, &mpi->access_capacity, mpi->access_count + 1, sizeof *accesses);
    if (!accesses)
        return -ENOMEM;
    mpi->accesses = accesses;
    accesses[mpi->access_count++] = (struct mpi_access){
        .window = payload->fields[FIELD_RMA_window].u64,
        .epoch = payload->fields[FIELD_RMA_epoch].u64,
        .begin_ns = span->span->begin_ns,
        .process = (uint32_t)(process - mpi->processes),
        .target = payload_has(payload, FIELD_RMA_target) ? (int32_t)payload->fields[FIELD_RMA_target].i64 : EVERYBODY,
        .span = handle.index,
        .closing = (uint8_t)closing,
    };
    return 0;
}

#define COMPARE(left, right) (((left) > (right)) - ((left) < (right)))

static int by_epoch(const void *left, const void *right)
{
    const struct mpi_access *a = left, *b = right;
    int order = COMPARE(a->process, b->process);
    order = order ? order : COMPARE(a->window, b->window);
    order = order ? order : COMPARE(a->epoch, b->epoch);
    order = order ? order : COMPARE(a->begin_ns, b->begin_ns);
    return order ? order : COMPARE(a->span, b->span);
}

static bool same_epoch(const struct mpi_access *left, const struct mpi_access *right)
{
    return left->process == right->process && left->window == right->window && left->epoch == right->epoch;
}

static int link_access(struct merge_mpi *mpi, const struct mpi_access *access, const struct mpi_access *closing)
{
    const struct trace_link link = {
        .kind = LINK_KIND_SYNC,
        .confidence = closings[closing->closing - 1].passive ? CONFIDENCE_HIGH : CONFIDENCE_CERTAIN,
        .from = {access->span},
        .to = {closing->span},
    };
    return trace_builder_add_link(mpi->merge->builder, &link);
}

/* Accesses of one epoch wait for the closings behind them; going through it backwards, the newest closing for everybody and the
 * newest for each target are at hand. */
static int link_epoch(struct merge_mpi *mpi, const struct mpi_access *first, size_t count, uint64_t *missing)
{
    const struct mpi_access *everybody = NULL;
    struct map targets = {0};
    int code = 0;
    for (size_t i = count; i-- > 0 && code == 0;) {
        const struct mpi_access *access = &first[i], *closing = everybody;
        uint64_t index;
        if (access->closing && access->target == EVERYBODY) {
            everybody = access;
        } else if (access->closing) {
            code = map_set(&targets, (uint32_t)access->target, i);
        } else {
            if (map_get(&targets, (uint32_t)access->target, &index) && (!closing || index < (size_t)(closing - first)))
                closing = &first[index];
            *missing += !closing;
            code = closing ? link_access(mpi, access, closing) : 0;
        }
    }
    map_finish(&targets);
    return code;
}

int merge_mpi_link_accesses(struct merge_mpi *mpi)
{
    uint64_t missing = 0, accesses = 0;
    int code = 0;
    if (!mpi->access_count)
        return 0;
    qsort(mpi->accesses, mpi->access_count, sizeof *mpi->accesses, by_epoch);
    for (size_t first = 0, end; first < mpi->access_count && code == 0; first = end) {
        for (end = first; end < mpi->access_count && same_epoch(&mpi->accesses[first], &mpi->accesses[end]); end++)
            accesses += !mpi->accesses[end].closing;
        code = link_epoch(mpi, &mpi->accesses[first], end - first, &missing);
    }
    if (code == 0 && accesses)
        code = trace_builder_add_ledger(mpi->merge->builder, "MPI one-sided accesses", accesses, accesses - missing, 0, "");
    if (code == 0 && missing)
        code = trace_builder_add_ledger(mpi->merge->builder, "MPI one-sided accesses", 0, 0, missing, "the call that completes them was not recorded");
    return code;
}
