/* SPDX-License-Identifier: MIT */
/* The part "mpi" of a summary's JSON. */
#include "print_summary.h"

static void json_ranks(struct json *json, const struct summary_mpi *mpi)
{
    json_open(json, "ranks", '[');
    for (size_t i = 0; i < mpi->rank_count; i++) {
        const struct summary_mpi_rank *rank = &mpi->ranks[i];
        json_open(json, NULL, '{');
        json_optional(json, "rank", (struct optional_i64){rank->rank >= 0, rank->rank});
        json_i64(json, "pid", rank->pid);
        json_u64(json, "calls", rank->calls);
        json_i64(json, "mpi_ns", rank->mpi_ns);
        json_i64(json, "send_ns", rank->send_ns);
        json_i64(json, "receive_ns", rank->receive_ns);
        json_i64(json, "wait_ns", rank->wait_ns);
        json_i64(json, "collective_ns", rank->collective_ns);
        json_i64(json, "init_ns", rank->init_ns);
        json_i64(json, "other_ns", rank->other_ns);
        json_optional(json, "life_ns", rank->life_ns);
        json_u64(json, "messages_sent", rank->messages_sent);
        json_u64(json, "bytes_sent", rank->bytes_sent);
        json_u64(json, "messages_received", rank->messages_received);
        json_u64(json, "bytes_received", rank->bytes_received);
        json_u64(json, "collective_bytes_sent", rank->collective_bytes_sent);
        json_u64(json, "collective_bytes_received", rank->collective_bytes_received);
        json_close(json, '}');
    }
    json_close(json, ']');
}

void json_summary_mpi(struct json *json, const struct summary *summary)
{
    const struct summary_mpi *mpi = summary->mpi;
    if (!mpi) {
        json_null(json, "mpi");
        return;
    }
    json_open(json, "mpi", '{');
    json_string(json, "library", mpi->library);
    json_optional(json, "world_size", mpi->world_size);
    json_ranks(json, mpi);
    json_open(json, "communicators", '[');
    for (size_t i = 0; i < mpi->comm_count; i++) {
        const struct summary_mpi_comm *comm = &mpi->comms[i];
        json_open(json, NULL, '{');
        json_u64(json, "comm", comm->comm);
        json_string(json, "name", comm->name);
        json_optional(json, "size", comm->size);
        json_u64(json, "calls", comm->calls);
        json_i64(json, "time_ns", comm->time_ns);
        json_u64(json, "messages", comm->messages);
        json_u64(json, "bytes", comm->bytes);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}
