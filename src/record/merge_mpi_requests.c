/* SPDX-License-Identifier: MIT */
/* Requests: the span that posted one, the span of the wait or test that ended it, and what it brought. */
#include "merge_mpi.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

int merge_mpi_on_complete(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_mpi_complete *record = (const struct wire_mpi_complete *)(const void *)header;
    struct merge_mpi *mpi = merge_state(merge, &merge_part_mpi);
    struct mpi_process *process = stream->process ? merge_mpi_process(mpi, stream->process) : NULL;
    if (!process)
        return stream->process ? -ENOMEM : 0;
    struct mpi_complete *completes =
        array_reserve(process->completes, &process->complete_capacity, process->complete_count + 1, sizeof *completes);
    if (!completes)
        return -ENOMEM;
    process->completes = completes;
    completes[process->complete_count++] = (struct mpi_complete){
        .request = record->request, .wait = record->wait, .bytes = record->bytes, .source = record->source, .tag = record->tag,
        .flags = header->value, .time_ns = merge_time(merge, stream, record->time),
    };
    return 0;
}

static int by_request(const void *left, const void *right)
{
    const struct mpi_complete *a = left, *b = right;
    int order = (a->request > b->request) - (a->request < b->request);
    return order ? order : (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

void merge_mpi_sort_completes(struct merge_mpi *mpi)
{
    for (size_t i = 0; i < mpi->process_count; i++) {
        struct mpi_process *process = &mpi->processes[i];
        size_t sorted = 1;
        while (sorted < process->complete_count && by_request(&process->completes[sorted - 1], &process->completes[sorted]) <= 0)
            sorted++;
        if (sorted < process->complete_count)
            qsort(process->completes, process->complete_count, sizeof *process->completes, by_request);
    }
}

/* Requests are mostly asked for in their order, each once. */
const struct mpi_complete *merge_mpi_find_complete(struct mpi_process *process, uint64_t request)
{
    size_t low = 0, high = process->complete_count, next = process->next_complete;
    if (next < high && process->completes[next].request == request)
        low = high = next;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (process->completes[middle].request < request)
            low = middle + 1;
        else
            high = middle;
    }
    if (low >= process->complete_count || process->completes[low].request != request)
        return NULL;
    process->next_complete = low + 1;
    return &process->completes[low];
}

void merge_mpi_resolve(const struct mpi_complete *complete, const struct span *span, struct payload *payload)
{
    bool receive = span->kind == SPAN_KIND_RECV || payload_has(payload, FIELD_MESSAGE_receive_from) ||
                   payload_has(payload, FIELD_MESSAGE_receive_buffer) || payload_has(payload, FIELD_MESSAGE_any);
    if (!complete)
        return;
    if (complete->flags & WIRE_MPI_CANCELLED) {
        payload->present |= 1u << FIELD_MESSAGE_cancelled;
        payload->fields[FIELD_MESSAGE_cancelled].u64 = 1;
    } else if (receive && ((complete->flags & WIRE_MPI_STATUS) || complete->source < -1)) { /* -2: of another MPI_COMM_WORLD */
        payload->present |= 1u << FIELD_MESSAGE_receive_from | 1u << FIELD_MESSAGE_receive_tag | 1u << FIELD_MESSAGE_receive_bytes;
        payload->fields[FIELD_MESSAGE_receive_from].i64 = complete->source;
        payload->fields[FIELD_MESSAGE_receive_tag].i64 = complete->tag;
        payload->fields[FIELD_MESSAGE_receive_bytes].u64 = complete->bytes;
    }
}

static int link_request(struct merge_mpi *mpi, const struct merge_process *process, const struct mpi_complete *complete)
{
    if (!complete->wait || complete->wait == complete->request)
        return 0;
    const struct trace_link link = {
        .kind = LINK_KIND_REQUEST,
        .confidence = CONFIDENCE_CERTAIN,
        .from = merge_span_find(mpi->merge, process, WIRE_LAYER_MPI, complete->request),
        .to = merge_span_find(mpi->merge, process, WIRE_LAYER_MPI, complete->wait),
    };
    if (span_id_is(link.from, SPAN_NONE) || span_id_is(link.to, SPAN_NONE)) {
        mpi->requests_unknown++;
        return 0;
    }
    return trace_builder_add_link(mpi->merge->builder, &link);
}

int merge_mpi_link_requests(struct merge_mpi *mpi)
{
    uint64_t links = 0;
    int code = 0;
    for (size_t i = 0; i < mpi->process_count; i++) {
        const struct mpi_process *process = &mpi->processes[i];
        for (size_t request = 0; request < process->complete_count && code == 0; request++)
            code = link_request(mpi, process->process, &process->completes[request]);
        links += process->complete_count;
    }
    if (code == 0 && mpi->requests_unknown)
        code = trace_builder_add_ledger(mpi->merge->builder, "MPI requests", links, links - mpi->requests_unknown, mpi->requests_unknown,
                                        "the call that posted or ended them was not recorded");
    return code;
}
