/* SPDX-License-Identifier: MIT */
/* Post, start, complete, wait of windows: their calls are gathered as spans come, and matched when all are there. */
#include "merge_mpi.h"

#include "base/array.h"

#include <errno.h>

static enum epoch_role role_of(struct merge_mpi *mpi, string_id name)
{
    uint64_t known = EPOCH_NONE;
    if (map_get(&mpi->epoch_names, name.index, &known))
        return (enum epoch_role)known;
    known = epoch_role_of(string_table_text(trace_builder_strings(mpi->merge->builder), name));
    map_set(&mpi->epoch_names, name.index, known);
    return (enum epoch_role)known;
}

int merge_mpi_add_epoch(struct merge_mpi *mpi, const struct mpi_process *process, const struct merge_span *span, span_id handle)
{
    const struct payload *payload = span->payload;
    enum epoch_role role =
        payload->kind == PAYLOAD_RMA && payload_has(payload, FIELD_RMA_window) ? role_of(mpi, span->span->name) : EPOCH_NONE;
    if (role == EPOCH_NONE)
        return 0;
    struct mpi_epoch *epochs = array_reserve(mpi->epochs, &mpi->epoch_capacity, mpi->epoch_count + 1, sizeof *epochs);
    if (!epochs)
        return -ENOMEM;
    mpi->epochs = epochs;
    epochs[mpi->epoch_count++] = (struct mpi_epoch){
        .window = payload->fields[FIELD_RMA_window].u64,
        .begin_ns = span->span->begin_ns,
        .process = (uint32_t)(process - mpi->processes),
        .span = handle.index,
        .group = payload_has(payload, FIELD_RMA_group) ? payload->fields[FIELD_RMA_group].string : STRING_NONE,
        .role = role,
    };
    return 0;
}

static int add_link(void *context, uint32_t from, uint32_t to, enum confidence confidence)
{
    struct merge_mpi *mpi = context;
    const struct trace_link link = {.kind = LINK_KIND_SYNC, .confidence = confidence, .from = {from}, .to = {to}};
    return trace_builder_add_link(mpi->merge->builder, &link);
}

int merge_mpi_link_epochs(struct merge_mpi *mpi)
{
    const struct string_table *strings = trace_builder_strings(mpi->merge->builder);
    CLEANUP(epoch_match_destroyp) struct epoch_match *match = mpi->epoch_count ? epoch_match_create() : NULL;
    uint64_t seen = 0, linked = 0;
    int code = match || !mpi->epoch_count ? 0 : -ENOMEM;
    for (size_t i = 0; i < mpi->epoch_count && code == 0; i++) {
        const struct mpi_epoch *epoch = &mpi->epochs[i];
        const struct mpi_process *process = &mpi->processes[epoch->process];
        const struct epoch_call call = {
            .window = epoch->window, .begin_ns = epoch->begin_ns, .process = epoch->process, .span = epoch->span, .rank = process->rank,
            .size = process->size, .role = epoch->role, .group = string_table_text(strings, epoch->group),
        };
        code = epoch_match_add(match, &call);
    }
    if (code == 0 && match)
        code = epoch_match_run(match, add_link, mpi, &seen, &linked);
    if (code == 0 && seen)
        code = trace_builder_add_ledger(mpi->merge->builder, "MPI window exposures", seen, linked, seen - linked,
                                        seen > linked ? "the other side's post or start was not recorded" : "");
    return code;
}
