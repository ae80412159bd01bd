/* SPDX-License-Identifier: MIT */
/* What the files of the MPI part of the merge share. */
#ifndef HP_RECORD_MERGE_MPI_H
#define HP_RECORD_MERGE_MPI_H

#include "merge_internal.h"
#include "trace/epoch_match.h"
#include "trace/message_match.h"

/* The end of a request, or the status of a blocking receive. */
struct mpi_complete {
    uint64_t request, wait, bytes; /* correlations */
    int64_t time_ns;
    int32_t source, tag;
    uint32_t flags;                /* enum wire_mpi_complete_flags */
};

/* A process that uses MPI. */
struct mpi_process {
    const struct merge_process *process;
    int32_t rank, size;            /* -1 = unknown */
    bool finalized;
    uint32_t number;               /* in the matching of messages; UINT32_MAX: not yet in it */
    uint32_t probes;               /* clock probes so far */
    struct mpi_complete *completes; /* by request, once the rows come */
    size_t complete_count, complete_capacity;
    size_t next_complete;          /* where the next request is likely to be */
};

struct mpi_comm {
    uint64_t comm;
    uint32_t members;              /* processes that can take part in its collectives */
};

struct mpi_group {
    uint64_t comm, sequence;
    string_id name;
    group_id group;
    uint32_t members, expected;    /* expected: 0 = not known */
};

/* A put, get or accumulate, or a call that completes some. */
struct mpi_access {
    uint64_t window, epoch;
    int64_t begin_ns;
    uint32_t process;              /* place in processes */
    int32_t target;
    uint32_t span;
    uint8_t closing;               /* 0 = an access */
};

/* A call that opens or closes a window to a group. */
struct mpi_epoch {
    uint64_t window;
    int64_t begin_ns;
    uint32_t process;              /* place in processes */
    uint32_t span;
    string_id group;               /* whom it names, as text */
    enum epoch_role role;
};

struct merge_mpi {
    struct merge *merge;
    struct mpi_process *processes;
    size_t process_count, process_capacity;
    struct map process_index;      /* key of the process -> place in processes */
    struct mpi_comm *comms;
    size_t comm_count, comm_capacity;
    struct map comm_index;         /* identity -> place in comms */
    struct map local_comms;        /* hash of (process, identity): means nothing outside its process */
    struct mpi_group *groups;
    size_t group_count, group_capacity;
    struct map group_index;
    struct map finalize_names;     /* string id -> whether it is a name of MPI_Finalize */
    struct mpi_access *accesses;
    size_t access_count, access_capacity;
    struct mpi_epoch *epochs;
    size_t epoch_count, epoch_capacity;
    struct map epoch_names;        /* string id -> enum epoch_role */
    struct map closing_names;      /* string id -> which of the calls that complete accesses */
    uint64_t comms_unlisted, local_collectives, requests_unknown;
    struct message_match *match;
};

static inline bool payload_has(const struct payload *payload, unsigned field)
{
    return payload->present >> field & 1;
}

/* The state of a process, made if there is none; NULL: out of memory. */
struct mpi_process *merge_mpi_process(struct merge_mpi *mpi, const struct merge_process *process);

/* merge_mpi_comms.c */
int merge_mpi_on_comm(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header);
bool merge_mpi_is_local(const struct merge_mpi *mpi, const struct merge_process *process, uint64_t comm);
uint32_t merge_mpi_members(const struct merge_mpi *mpi, uint64_t comm); /* 0 = not known */

/* merge_mpi_requests.c */
int merge_mpi_on_complete(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header);
void merge_mpi_sort_completes(struct merge_mpi *mpi);
/* NULL: none was recorded. */
const struct mpi_complete *merge_mpi_find_complete(struct mpi_process *process, uint64_t request);
/* What became of a receive, put into the payload of the span that posted it. */
void merge_mpi_resolve(const struct mpi_complete *complete, const struct span *span, struct payload *payload);
int merge_mpi_link_requests(struct merge_mpi *mpi);

/* merge_mpi_groups.c */
int merge_mpi_add_member(struct merge_mpi *mpi, const struct mpi_process *process, const struct merge_span *span, span_id handle);
int merge_mpi_close_groups(struct merge_mpi *mpi);

/* merge_mpi_messages.c */
int merge_mpi_add_message(struct merge_mpi *mpi, struct mpi_process *process, const struct merge_span *span, span_id handle);
int merge_mpi_add_finalize(struct merge_mpi *mpi, struct mpi_process *process, const struct merge_span *span);
int merge_mpi_link_messages(struct merge_mpi *mpi);

/* merge_mpi_windows.c */
int merge_mpi_add_access(struct merge_mpi *mpi, const struct mpi_process *process, const struct merge_span *span, span_id handle);
int merge_mpi_link_accesses(struct merge_mpi *mpi);

/* merge_mpi_epochs.c */
int merge_mpi_add_epoch(struct merge_mpi *mpi, const struct mpi_process *process, const struct merge_span *span, span_id handle);
int merge_mpi_link_epochs(struct merge_mpi *mpi);

#endif
