/* SPDX-License-Identifier: MIT */
/*
 * MPI in the merge. Ranks, communicators and the ends of requests are read ahead of the rows, so that a span that posted a
 * receive says what it received; then the rows' ends of messages and members of collectives are gathered, and at the end
 * become links and groups.
 */
#include "merge_mpi.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PROBES_MAXIMUM 10000 /* of a process: that many tell no more than fewer */

static void mpi_destroy(void *state)
{
    struct merge_mpi *mpi = state;
    if (!mpi)
        return;
    for (size_t i = 0; i < mpi->process_count; i++)
        free(mpi->processes[i].completes);
    free(mpi->processes);
    free(mpi->comms);
    free(mpi->groups);
    free(mpi->accesses);
    free(mpi->epochs);
    map_finish(&mpi->process_index);
    map_finish(&mpi->comm_index);
    map_finish(&mpi->local_comms);
    map_finish(&mpi->group_index);
    map_finish(&mpi->finalize_names);
    map_finish(&mpi->closing_names);
    map_finish(&mpi->epoch_names);
    message_match_destroy(mpi->match);
    free(mpi);
}

static int mpi_create(struct merge *merge, void **ret_state, struct error *err)
{
    struct merge_mpi *mpi = calloc(1, sizeof *mpi);
    if (!mpi)
        return error_set(err, -ENOMEM, "merge: out of memory");
    mpi->merge = merge;
    *ret_state = mpi;
    return 0;
}

struct mpi_process *merge_mpi_process(struct merge_mpi *mpi, const struct merge_process *process)
{
    uint64_t index;
    if (map_get(&mpi->process_index, process->key, &index))
        return &mpi->processes[index];
    struct mpi_process *processes =
        array_reserve(mpi->processes, &mpi->process_capacity, mpi->process_count + 1, sizeof *processes);
    if (!processes)
        return NULL;
    mpi->processes = processes;
    processes[mpi->process_count] = (struct mpi_process){.process = process, .rank = -1, .size = -1, .number = UINT32_MAX};
    if (map_set(&mpi->process_index, process->key, mpi->process_count) < 0)
        return NULL;
    return &processes[mpi->process_count++];
}

static void set_number(struct merge_mpi *mpi, const char *key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    trace_builder_set_metadata(mpi->merge->builder, key, text);
}

static int on_rank(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_mpi_rank *record = (const struct wire_mpi_rank *)(const void *)header;
    struct merge_mpi *mpi = merge_state(merge, &merge_part_mpi);
    struct mpi_process *process = stream->process ? merge_mpi_process(mpi, stream->process) : NULL;
    if (!process)
        return stream->process ? -ENOMEM : 0;
    if (record->rank >= 0)
        process->rank = record->rank;
    if (record->size >= 0)
        process->size = record->size;
    struct trace_process *row = trace_builder_process(merge->builder, merge_stream_process(merge, stream));
    if (row && process->rank >= 0)
        row->rank = process->rank;
    if (record->size > 0)
        set_number(mpi, "mpi.world_size", record->size);
    const char *library = string_table_text(trace_builder_strings(merge->builder), merge_string(merge, stream, header->value));
    return *library ? trace_builder_set_metadata(merge->builder, "mpi.library", library) : 0;
}

/* One key each: clocks of nodes are aligned by them afterwards. */
static int on_probe(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    static const char *const moments[] = {"begin", "end", "between"};
    const struct wire_clock_probe *record = (const struct wire_clock_probe *)(const void *)header;
    struct merge_mpi *mpi = merge_state(merge, &merge_part_mpi);
    struct mpi_process *process = stream->process ? merge_mpi_process(mpi, stream->process) : NULL;
    char key[64], value[400];
    if (!process)
        return stream->process ? -ENOMEM : 0;
    if (process->probes >= PROBES_MAXIMUM)
        return 0;
    snprintf(key, sizeof key, "clock.probe.%d.%u", stream->process->pid, process->probes++);
    snprintf(value, sizeof value,
             "{\"rank\":%" PRId32 ",\"peer\":%" PRId32 ",\"when\":\"%s\",\"time_ns\":%" PRId64 ",\"own_raw_ns\":%" PRId64
             ",\"peer_raw_ns\":%" PRId64 ",\"error_ns\":%" PRIu64 ",\"trips\":%" PRId32 ",\"own_domain\":\"%016" PRIx64
             "\",\"peer_domain\":\"%016" PRIx64 "\"}",
             process->rank, record->peer_rank, moments[header->value < 2 ? header->value : 2],
             merge_time(merge, stream, record->own_time), record->own_raw_ns, record->peer_raw_ns, record->error_ns, record->trips,
             record->own_domain, record->peer_domain);
    return trace_builder_set_metadata(merge->builder, key, value);
}

static int mpi_between(struct merge *merge, void *state, struct error *err)
{
    merge_mpi_sort_completes(state);
    return 0;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static int mpi_prepare(struct merge *merge, void *state, struct merge_span *span)
{
    if (span->payload->kind != PAYLOAD_MESSAGE || !span->span->correlation)
        return 0;
    struct mpi_process *process = merge_mpi_process(state, span->stream->process);
    if (!process)
        return -ENOMEM;
    merge_mpi_resolve(merge_mpi_find_complete(process, span->span->correlation), span->span, span->payload);
    return 0;
}

static bool is_finalize(struct merge_mpi *mpi, const struct span *span)
{
    uint64_t known;
    if (span->kind != SPAN_KIND_INIT)
        return false;
    if (!map_get(&mpi->finalize_names, span->name.index, &known)) {
        const char *name = string_table_text(trace_builder_strings(mpi->merge->builder), span->name);
        known = strncasecmp(name, "MPI_Finalize", 12) == 0;
        map_set(&mpi->finalize_names, span->name.index, known);
    }
    return known;
}

static int mpi_note(struct merge *merge, void *state, const struct merge_span *span, span_id handle)
{
    struct merge_mpi *mpi = state;
    struct mpi_process *process = merge_mpi_process(mpi, span->stream->process);
    if (!process)
        return -ENOMEM;
    if (is_finalize(mpi, span->span))
        return merge_mpi_add_finalize(mpi, process, span);
    if (span->payload->kind == PAYLOAD_MESSAGE && span->span->kind != SPAN_KIND_PROBE)
        return merge_mpi_add_message(mpi, process, span, handle);
    int code = merge_mpi_add_access(mpi, process, span, handle);
    if (code == 0)
        code = merge_mpi_add_epoch(mpi, process, span, handle);
    return code ? code : merge_mpi_add_member(mpi, process, span, handle);
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

/* The main thread of a rank, and its scheduler's lane, are called by the rank. */
static void name_ranks(struct merge_mpi *mpi)
{
    struct trace_builder *builder = mpi->merge->builder;
    struct trace_track *track;
    for (uint32_t i = 0; (track = trace_builder_track(builder, (track_id){i})); i++) {
        const struct trace_process *process = trace_builder_process(builder, track->process);
        char name[24];
        if (!process || process->rank < 0 || track->tid != process->pid ||
            (track->kind != TRACK_KIND_THREAD && track->kind != TRACK_KIND_SCHED))
            continue;
        snprintf(name, sizeof name, "rank %d", process->rank);
        string_id id = trace_builder_string(builder, name);
        trace_builder_track(builder, (track_id){i})->name = id;
    }
}

/* A rank that the launcher gave to the whole recording holds for every process of it that does not know better. */
static void spread_launcher_rank(struct merge *merge)
{
    struct trace_process *process;
    for (uint32_t i = 0; merge->launcher_rank_known && (process = trace_builder_process(merge->builder, (process_id){i})); i++)
        if (process->rank < 0)
            process->rank = merge->launcher_rank;
}

static int mpi_finish(struct merge *merge, void *state, struct error *err)
{
    struct merge_mpi *mpi = state;
    int code = 0;
    spread_launcher_rank(merge);
    if (mpi->process_count) {
        name_ranks(mpi);
        code = merge_mpi_link_requests(mpi);
        if (code == 0)
            code = merge_mpi_link_messages(mpi);
        if (code == 0)
            code = merge_mpi_link_accesses(mpi);
        if (code == 0)
            code = merge_mpi_link_epochs(mpi);
        if (code == 0)
            code = merge_mpi_close_groups(mpi);
    }
    if (code == 0 && mpi->comms_unlisted)
        code = trace_builder_add_ledger(merge->builder, "MPI communicators", mpi->comms_unlisted, 0, mpi->comms_unlisted,
                                        "more than the trace lists");
    return code ? error_set_errno(err, code, "merge: cannot add what MPI did to the trace") : 0;
}

static const struct merge_handler handlers[] = {
    {WIRE_MPI_RANK, MERGE_LIFE, on_rank},
    {WIRE_MPI_COMM, MERGE_LIFE, merge_mpi_on_comm},
    {WIRE_CLOCK_PROBE, MERGE_LIFE, on_probe},
    {WIRE_MPI_RANK, MERGE_AHEAD, on_rank},
    {WIRE_MPI_COMM, MERGE_AHEAD, merge_mpi_on_comm},
    {WIRE_CLOCK_PROBE, MERGE_AHEAD, on_probe},
    {WIRE_MPI_COMPLETE, MERGE_AHEAD, merge_mpi_on_complete},
    {0, MERGE_LIFE, NULL},
};

const struct merge_part merge_part_mpi = {
    .name = "mpi",
    .layers = 1u << WIRE_LAYER_MPI,
    .ahead = "mpi",
    .create = mpi_create,
    .between = mpi_between,
    .prepare = mpi_prepare,
    .note = mpi_note,
    .finish = mpi_finish,
    .destroy = mpi_destroy,
    .handlers = handlers,
};
