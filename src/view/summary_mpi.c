/* SPDX-License-Identifier: MIT */
/* What ranks did in MPI: sums of the spans of the category "mpi" by rank and by communicator. Definitions: docs/metrics.md. */
#include "summary_build.h"

#include "base/array.h"
#include "base/error.h"
#include "trace/select.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mpi_build {
    struct summary_build *build;
    struct summary_mpi *mpi;
    string_id category;
    uint32_t *process_rank; /* by process of the trace: place in mpi->ranks; UINT32_MAX = not there yet */
    size_t rank_capacity, comm_capacity;
    struct map comm_index;
};

void summary_destroy_mpi(struct summary_mpi *mpi)
{
    if (!mpi)
        return;
    free(mpi->ranks);
    free(mpi->comms);
    free(mpi);
}

static struct summary_mpi_rank *rank_of(struct mpi_build *mpi, uint32_t process)
{
    const struct trace_process *row = &mpi->build->processes[process];
    struct summary_mpi *out = mpi->mpi;
    if (mpi->process_rank[process] == UINT32_MAX) {
        struct summary_mpi_rank *ranks = array_reserve(out->ranks, &mpi->rank_capacity, out->rank_count + 1, sizeof *ranks);
        if (!ranks)
            return NULL;
        out->ranks = ranks;
        int64_t begin_ns = row->start_ns, end_ns = row->end_ns;
        const struct trace_window window = trace_window_of(mpi->build->trace);
        bool recorded = trace_window_clip(&window, &begin_ns, &end_ns);
        bool known = recorded && begin_ns != INT64_MIN && end_ns != INT64_MIN && end_ns >= begin_ns;
        ranks[out->rank_count] = (struct summary_mpi_rank){
            .rank = row->rank, .pid = row->pid, .life_ns = {known, known ? time_between(begin_ns, end_ns) : 0}};
        mpi->process_rank[process] = (uint32_t)out->rank_count++;
    }
    return &out->ranks[mpi->process_rank[process]];
}

/* The value of a key in one of the merge's own flat objects; "" where it has none. Escapes stay as they are. */
static void object_text(const char *object, const char *key, char *out, size_t size)
{
    const char *at = object ? strstr(object, key) : NULL;
    size_t length = 0;
    for (at = at ? at + strlen(key) : ""; *at && *at != '"' && *at != ',' && *at != '}' && length + 1 < size; at++) {
        if (*at == '\\' && at[1])
            out[length++] = *at++;
        if (length + 1 < size)
            out[length++] = *at;
    }
    out[length] = '\0';
}

static struct summary_mpi_comm *comm_of(struct mpi_build *mpi, uint64_t comm)
{
    struct summary_mpi *out = mpi->mpi;
    uint64_t index;
    if (map_get(&mpi->comm_index, comm, &index))
        return &out->comms[index];
    struct summary_mpi_comm *comms = array_reserve(out->comms, &mpi->comm_capacity, out->comm_count + 1, sizeof *comms);
    if (!comms || map_set(&mpi->comm_index, comm, out->comm_count) < 0)
        return NULL;
    out->comms = comms;
    struct summary_mpi_comm *fresh = &comms[out->comm_count++];
    char key[40], number[24];
    *fresh = (struct summary_mpi_comm){.comm = comm};
    snprintf(key, sizeof key, "mpi.comm.%" PRIu64, comm);
    const char *object = trace_metadata(mpi->build->trace, key);
    object_text(object, "\"name\":\"", fresh->name, sizeof fresh->name);
    object_text(object, "\"size\":", number, sizeof number);
    fresh->size = (struct optional_i64){*number != '\0', strtoll(number, NULL, 10)};
    return fresh;
}

static void add_time_of(struct summary_mpi_rank *rank, enum span_kind kind, int64_t length_ns)
{
    int64_t *sum = &rank->other_ns;
    if (kind == SPAN_KIND_SEND)
        sum = &rank->send_ns;
    else if (kind == SPAN_KIND_RECV)
        sum = &rank->receive_ns;
    else if (kind == SPAN_KIND_WAIT || kind == SPAN_KIND_TEST || kind == SPAN_KIND_PROBE)
        sum = &rank->wait_ns;
    else if (kind == SPAN_KIND_COLLECTIVE)
        sum = &rank->collective_ns;
    else if (kind == SPAN_KIND_INIT)
        sum = &rank->init_ns;
    add_saturated(sum, length_ns);
    add_saturated(&rank->mpi_ns, length_ns);
    rank->calls++;
}

static bool has(const struct payload *payload, unsigned field)
{
    return payload->present >> field & 1;
}

static uint64_t value_of(const struct payload *payload, unsigned field)
{
    return has(payload, field) ? payload->fields[field].u64 : 0;
}

/* What a probe has seen has not been received by it. */
static void add_message(struct summary_mpi_rank *rank, struct summary_mpi_comm *comm, enum span_kind kind, const struct payload *payload)
{
    if (has(payload, FIELD_MESSAGE_send_bytes) && !(has(payload, FIELD_MESSAGE_send_to) && payload->fields[FIELD_MESSAGE_send_to].i64 == -1)) {
        rank->messages_sent++;
        rank->bytes_sent += value_of(payload, FIELD_MESSAGE_send_bytes);
        comm->messages++;
        comm->bytes += value_of(payload, FIELD_MESSAGE_send_bytes);
    }
    if (kind != SPAN_KIND_PROBE && has(payload, FIELD_MESSAGE_receive_bytes) &&
        !(has(payload, FIELD_MESSAGE_receive_from) && payload->fields[FIELD_MESSAGE_receive_from].i64 == -1)) {
        rank->messages_received++;
        rank->bytes_received += value_of(payload, FIELD_MESSAGE_receive_bytes);
    }
}

/* On which communicator, and what was moved. */
static int add_payload(struct mpi_build *mpi, struct summary_mpi_rank *rank, enum span_kind kind, const struct payload *payload, int64_t length_ns)
{
    bool message = payload->kind == PAYLOAD_MESSAGE, collective = payload->kind == PAYLOAD_COLLECTIVE;
    unsigned field = message ? FIELD_MESSAGE_comm : FIELD_COLLECTIVE_comm;
    if ((!message && !collective) || !has(payload, field))
        return 0;
    struct summary_mpi_comm *comm = comm_of(mpi, payload->fields[field].u64);
    if (!comm)
        return -ENOMEM;
    comm->calls++;
    add_saturated(&comm->time_ns, length_ns);
    if (message) {
        add_message(rank, comm, kind, payload);
    } else {
        rank->collective_bytes_sent += value_of(payload, FIELD_COLLECTIVE_bytes_sent);
        rank->collective_bytes_received += value_of(payload, FIELD_COLLECTIVE_bytes_received);
        comm->bytes += value_of(payload, FIELD_COLLECTIVE_bytes_sent);
    }
    return 0;
}

int summary_mpi_block(struct mpi_build *mpi, const struct span_block *block, uint32_t process)
{
    struct summary_build *build = mpi->build;
    int result = 0;
    for (uint32_t row = 0; row < block->info.count && result == 0; row++) {
        struct payload payload;
        if (!block->category || !string_is(block->category[row], mpi->category) ||
            (build->match && !filter_match_span(build->match, block, row)))
            continue;
        struct summary_mpi_rank *rank = rank_of(mpi, process);
        if (!rank) {
            result = -ENOMEM;
            break;
        }
        int64_t end_ns = trace_span_end(build->trace, block->info.track, block->begin_ns[row], block->end_ns[row]);
        int64_t length_ns = time_between(block->begin_ns[row], end_ns);
        enum span_kind kind = block->kind ? block->kind[row] : SPAN_KIND_UNKNOWN;
        add_time_of(rank, kind, length_ns);
        result = span_payload(block, row, &payload);
        if (result == 0)
            result = add_payload(mpi, rank, kind, &payload, length_ns);
    }
    return result < 0 ? error_set_errno(build->err, result, "cannot sum up what MPI did") : 0;
}

static int by_rank(const void *left, const void *right)
{
    const struct summary_mpi_rank *a = left, *b = right;
    int order = (a->rank > b->rank) - (a->rank < b->rank);
    return order ? order : (a->pid > b->pid) - (a->pid < b->pid);
}

static int by_time(const void *left, const void *right)
{
    const struct summary_mpi_comm *a = left, *b = right;
    int order = (a->time_ns < b->time_ns) - (a->time_ns > b->time_ns);
    return order ? order : (a->comm > b->comm) - (a->comm < b->comm);
}

/* The string of the category "mpi", by the trace's own sums: a trace without it is not read for it. */
static int find_category(struct summary_build *build, string_id *ret_category)
{
    const struct span_aggregate *rows;
    uint32_t count;
    int result = trace_span_aggregates(build->trace, &rows, &count, build->err);
    *ret_category = STRING_NONE;
    for (uint32_t i = 0; i < count && result == 0; i++)
        if (strcmp(trace_text(build->trace, rows[i].category), "mpi") == 0)
            *ret_category = rows[i].category;
    return result;
}

static int begin(struct mpi_build *mpi)
{
    struct summary_build *build = mpi->build;
    const char *size = trace_metadata(build->trace, "mpi.world_size"), *library = trace_metadata(build->trace, "mpi.library");
    mpi->process_rank = malloc(((size_t)build->process_count + 1) * sizeof *mpi->process_rank);
    mpi->mpi = build->summary->mpi = calloc(1, sizeof *mpi->mpi);
    if (!mpi->process_rank || !mpi->mpi)
        return -ENOMEM;
    memset(mpi->process_rank, 0xff, ((size_t)build->process_count + 1) * sizeof *mpi->process_rank);
    mpi->mpi->library = library ? library : "";
    mpi->mpi->world_size = (struct optional_i64){size != NULL, size ? strtoll(size, NULL, 10) : 0};
    return 0;
}

int summary_mpi_begin(struct summary_build *build, struct mpi_build **ret_mpi)
{
    string_id category;
    int result = find_category(build, &category);
    if (result < 0 || string_is(category, STRING_NONE))
        return result;
    struct mpi_build *mpi = calloc(1, sizeof *mpi);
    if (mpi) {
        mpi->build = build;
        mpi->category = category;
    }
    if (!mpi || begin(mpi) < 0) {
        summary_mpi_end(mpi);
        return error_set(build->err, -ENOMEM, "out of memory while summing up what MPI did");
    }
    *ret_mpi = mpi;
    return 0;
}

void summary_mpi_end(struct mpi_build *mpi)
{
    if (!mpi)
        return;
    if (mpi->mpi && mpi->mpi->rank_count)
        qsort(mpi->mpi->ranks, mpi->mpi->rank_count, sizeof *mpi->mpi->ranks, by_rank);
    if (mpi->mpi && mpi->mpi->comm_count)
        qsort(mpi->mpi->comms, mpi->mpi->comm_count, sizeof *mpi->mpi->comms, by_time);
    map_finish(&mpi->comm_index);
    free(mpi->process_rank);
    free(mpi);
}
