/* SPDX-License-Identifier: MIT */
/*
 * What went between processes in several traces of one run: messages, matched over all of them by MPI's rule, and what processes did
 * together (collectives, making of communicators, fences, NCCL), joined by communicator, number and name.
 */
#ifndef HP_ANALYSIS_EXCHANGES_H
#define HP_ANALYSIS_EXCHANGES_H

#include "trace/message_match.h"

struct progress;

#define EXCHANGE_UNKNOWN_NS INT64_MIN

struct exchange_end {
    uint32_t trace;
    span_id span;
    int64_t begin_ns;    /* it was posted, or entered: on its trace's axis */
    int64_t complete_ns; /* it surely was over: the span's end, or that of the wait for it; EXCHANGE_UNKNOWN_NS */
};

struct exchange_message {
    struct exchange_end send, receive;
    enum confidence confidence;
};

/* A post and its start, a complete and its wait (trace/epoch_match.h). */
struct exchange_epoch {
    uint32_t from_trace, to_trace;
    span_id from, to;
    enum confidence confidence;
};

enum exchange_shape {
    EXCHANGE_NO_ORDER,  /* nobody is known to need anybody else */
    EXCHANGE_ALL,       /* nobody leaves before all have come */
    EXCHANGE_FROM_ROOT, /* nobody leaves before the root has come */
    EXCHANGE_TO_ROOT,   /* the root does not leave before all have come */
};

struct exchange_group {
    enum link_kind kind;
    string_id name;          /* in names */
    uint64_t sequence, comm; /* comm: 0 where it is known by its own trace only */
    enum exchange_shape shape;
    int32_t root;            /* world rank */
    uint32_t first_member, member_count;
    uint32_t expected;       /* members; 0 = not known */
    bool mpi;
    bool across;             /* its members are of several traces */
};
struct exchange_member {
    struct exchange_end end;
    uint32_t group;
    int32_t rank;
};

struct exchanges {
    struct exchange_message *messages;
    size_t message_count, message_capacity;
    struct message_counts message_counts; /* of all traces together */
    struct exchange_group *groups;
    size_t group_count, group_capacity;
    struct exchange_member *members;      /* by group, of those that are joined by communicators */
    size_t member_count, member_capacity;
    struct exchange_epoch *epochs;        /* between traces */
    size_t epoch_count, epoch_capacity;
    uint64_t exposures_seen, exposures_linked;
    uint32_t **groups_of;                 /* by trace, by group there: place in groups */
    uint32_t trace_count;
    struct string_table *names;
};

int exchanges_gather(const struct trace *const *traces, uint32_t count, const struct progress *progress, struct exchanges **ret_exchanges,
                     struct error *err);
void exchanges_destroy(struct exchanges *exchanges);
DEFINE_CLEANUP(struct exchanges *, exchanges_destroy)

/* By the name of the MPI call, blocking or not; NCCL's are seen on devices, whose times are another matter. */
enum exchange_shape exchange_shape_of(const char *name);

#endif
