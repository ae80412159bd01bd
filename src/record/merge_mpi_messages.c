/* SPDX-License-Identifier: MIT */
/* Messages: their ends are gathered as spans come, and matched when all are there. */
#include "merge_mpi.h"

#include <errno.h>

static bool lost_nothing(const struct merge_process *process)
{
    for (int reason = 0; reason < WIRE_LOST_COUNT; reason++)
        if (process->map->lost[reason])
            return false;
    return true;
}

static int number_of(struct merge_mpi *mpi, struct mpi_process *process)
{
    if (!mpi->match)
        mpi->match = message_match_create();
    if (!mpi->match)
        return -ENOMEM;
    return process->number == UINT32_MAX ? message_match_add_process(mpi->match, process->rank, &process->number) : 0;
}

/* Its number, if it has one, shows what is missing before it; else only that nothing was lost does. */
int merge_mpi_add_finalize(struct merge_mpi *mpi, struct mpi_process *process, const struct merge_span *span)
{
    const struct payload *payload = span->payload;
    bool numbered = payload->kind == PAYLOAD_MESSAGE && payload_has(payload, FIELD_MESSAGE_order);
    int code = number_of(mpi, process);
    process->finalized = true;
    if (code == 0 && (numbered || lost_nothing(process->process)))
        message_match_finalized(mpi->match, process->number);
    if (code == 0 && numbered)
        code = message_match_add_posting(mpi->match, process->number, payload->fields[FIELD_MESSAGE_order].u64);
    return code;
}

static int leave_out(struct merge_mpi *mpi, const struct mpi_process *process, const struct payload *payload, enum message_reason reason)
{
    message_match_leave_out(mpi->match, reason);
    return payload_has(payload, FIELD_MESSAGE_order)
               ? message_match_add_posting(mpi->match, process->number, payload->fields[FIELD_MESSAGE_order].u64)
               : 0;
}

int merge_mpi_add_message(struct merge_mpi *mpi, struct mpi_process *process, const struct merge_span *span, span_id handle)
{
    const struct payload *payload = span->payload;
    int code = number_of(mpi, process);
    if (code)
        return code;
    if (process->rank < 0)
        return leave_out(mpi, process, payload, MESSAGE_NO_RANK);
    if (payload_has(payload, FIELD_MESSAGE_comm) &&
        merge_mpi_is_local(mpi, process->process, payload->fields[FIELD_MESSAGE_comm].u64))
        return leave_out(mpi, process, payload, MESSAGE_LOCAL_COMM);
    const struct mpi_complete *complete =
        span->span->correlation ? merge_mpi_find_complete(process, span->span->correlation) : NULL;
    int64_t end_ns = span->span->end_ns == INT64_MIN ? INT64_MAX : span->span->end_ns;
    const struct message_span message = {
        .process = process->number, .span = handle.index, .thread = span->span->track.index, .rank = process->rank,
        .receive = span->span->kind == SPAN_KIND_RECV, .begin_ns = span->span->begin_ns,
        .received_ns = complete && complete->time_ns > end_ns ? complete->time_ns : end_ns,
    };
    return message_match_add_span(mpi->match, &message, payload);
}

static int add_link(void *context, const struct message_pair *pair)
{
    struct merge_mpi *mpi = context;
    const struct trace_link link = {.kind = LINK_KIND_MESSAGE, .confidence = pair->confidence, .from = {pair->send_span},
                                    .to = {pair->receive_span}};
    return trace_builder_add_link(mpi->merge->builder, &link);
}

/* Seen and recorded are counted in ends, two a message. */
static int add_ledger(struct merge_mpi *mpi)
{
    const struct message_counts *counts = message_match_counts(mpi->match);
    struct trace_builder *builder = mpi->merge->builder;
    uint64_t matched = 0;
    int code = 0;
    for (int i = 0; i < CONFIDENCE_COUNT; i++)
        matched += 2 * counts->pairs[i];
    if (matched)
        code = trace_builder_add_ledger(builder, "MPI message ends", matched, matched, 0, "");
    for (int reason = 0; reason < MESSAGE_REASONS_COUNT && code == 0; reason++) {
        uint64_t lost = counts->unmatched_sends[reason] + counts->unmatched_receives[reason] + counts->left_out[reason];
        bool elsewhere = reason == MESSAGE_NO_PEER; /* nothing is lost: the other half is in another rank's trace */
        if (lost)
            code = trace_builder_add_ledger(builder, "MPI message ends", lost, elsewhere ? lost : 0, elsewhere ? 0 : lost,
                                            message_reason_text((enum message_reason)reason));
    }
    if (code == 0 && counts->sizes_differ)
        code = trace_builder_add_ledger(builder, "MPI messages", counts->sizes_differ, counts->sizes_differ, 0,
                                        "matched, though the two ends give different sizes");
    return code;
}

int merge_mpi_link_messages(struct merge_mpi *mpi)
{
    if (!mpi->match)
        return 0;
    int code = message_match_run(mpi->match, add_link, mpi);
    return code ? code : add_ledger(mpi);
}
