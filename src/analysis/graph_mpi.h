/* SPDX-License-Identifier: MIT */
/* What the rules for MPI know of each call, and share among their files. Only the graph's files include this. */
#ifndef HP_ANALYSIS_GRAPH_MPI_H
#define HP_ANALYSIS_GRAPH_MPI_H

#include "base/map.h"
#include "graph_rules.h"

enum mpi_op {
    MPI_OP_NONE,
    MPI_OP_BARRIER, MPI_OP_ALL, MPI_OP_FROM_ROOT, MPI_OP_TO_ROOT, MPI_OP_SCAN, MPI_OP_EXSCAN,
    MPI_OP_MADE,  /* communicators and windows: all agree */
    MPI_OP_FREED, /* nothing says that anybody waits */
    MPI_OP_FENCE, MPI_OP_POST, MPI_OP_START, MPI_OP_COMPLETE, MPI_OP_WIN_WAIT, MPI_OP_LOCK, MPI_OP_UNLOCK,
    MPI_OP_INIT, MPI_OP_FINALIZE
};
enum mpi_flags {
    MPI_IMMEDIATE = 1,        /* only begins something */
    MPI_SENDS = 2, MPI_RECEIVES = 4,
    MPI_SYNCHRONOUS = 8, MPI_STANDARD = 16,
    MPI_NOBODY = 32,          /* MPI_PROC_NULL, cancelled: waits for nobody */
    MPI_RELEASED = 64,        /* an edge leads to its end */
    MPI_UNRESOLVED = 128,     /* what ended it is not in the trace */
    MPI_HAS_REQUESTS = 256,   /* a wait that ended requests which were recorded, or none at all */
    MPI_MATCHED = 512,        /* its message has both ends */
    MPI_EXCLUSIVE = 1024,
    MPI_ASSERTED = 2048,      /* a fence that need not be a barrier */
    MPI_THREADS = 4096,
    MPI_ONE_SIDED = 8192      /* works on a target's memory, or asks for it */
};
struct mpi_fact {
    uint64_t bytes, comm;     /* comm: a window's for one-sided calls */
    uint32_t span, completed_by; /* ID_NONE: it ended by itself, or never */
    int32_t peer;             /* whom it sends to, root, target; INT32_MIN = unknown */
    string_id no_data_from;
    uint16_t flags;
    uint8_t op;
};

struct mpi_rules {
    struct graph_rules *rules;
    struct mpi_fact *facts;   /* in the order of spans */
    size_t count, capacity;
    uint32_t *fact_of;        /* by span; ID_NONE */
    uint8_t *names, *ops;     /* by string id: cut_names, enum mpi_op */
    string_id word_standard, word_synchronous, word_exclusive;
    struct map comms;         /* communicator -> place in comm_rows plus 1; 0: nothing is known */
    struct mpi_comm_row {
        int64_t size;         /* -1 = unknown */
        bool inter;
        const char *ranks;    /* of its ranks in order, "0-3,5": in the trace's metadata; NULL = unknown */
    } *comm_rows;
    size_t comm_count, comm_capacity;
};

static inline struct mpi_fact *mpi_fact_of(const struct mpi_rules *mpi, span_id span)
{
    uint32_t place = mpi->fact_of[span.index];
    return place == ID_NONE ? NULL : &mpi->facts[place];
}
/* Where a call's effect is there: its end, the end of the wait that completed it; POINT_NONE: never. */
uint32_t mpi_completion(const struct mpi_rules *mpi, const struct mpi_fact *fact);
/* The call that blocked for it: itself or its wait; NULL: none. */
struct mpi_fact *mpi_blocked_in(const struct mpi_rules *mpi, struct mpi_fact *fact);
/* Whether a rank is in a list "3,5-9". */
bool mpi_in_ranks(const char *list, int32_t rank);
/* What the metadata tell of a communicator; NULL: nothing. */
const struct mpi_comm_row *mpi_comm_of(struct mpi_rules *mpi, uint64_t comm);

struct send_limits;
struct sent_message;
/* graph_rules_mpi.c: a message from both of its calls, and whether its standard send waits for its receive: lowers the confidence. */
void mpi_sent_message(const struct mpi_rules *mpi, span_id send, span_id receive, struct sent_message *ret_sent);
bool mpi_send_waits(const struct send_limits *limits, const struct sent_message *sent, enum confidence *confidence);

/* graph_mpi_facts.c */
int mpi_facts_gather(struct mpi_rules *mpi, struct error *err);
void mpi_facts_finish(struct mpi_rules *mpi);
/* graph_rules_collective.c */
int graph_rules_collective(struct mpi_rules *mpi, struct error *err);
/* graph_rules_window.c */
int graph_rules_window(struct mpi_rules *mpi, struct error *err);

#endif
