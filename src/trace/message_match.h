/* SPDX-License-Identifier: MIT */
/*
 * Which send met which receive, by MPI's rule that messages don't overtake: of all messages with one (communicator, source,
 * destination, tag) - a channel - the n-th sent meets the n-th received, in the order of posting. Receives are given as they
 * were resolved: wildcards are no part of it.
 *
 * Where records are missing nothing may shift. Each posting of a process has a number of its own, 1, 2, 3 ...: a gap among them
 * shows where something is missing (MPI_Finalize has a number, too, so that the end shows it as well). What lies before the first gap of both processes is counted from the front; what lies behind
 * the last gap of both is counted from the end, if both came to MPI_Finalize, by when every message was received. What lies
 * between is left without a partner.
 */
#ifndef HP_TRACE_MESSAGE_MATCH_H
#define HP_TRACE_MESSAGE_MATCH_H

#include "trace.h"

enum message_reason { /* why an end has no partner */
#define MESSAGE_REASON(enumerator, text) MESSAGE_##enumerator,
#define MESSAGE_REASONS                                                                                                \
    MESSAGE_REASON(NO_PEER, "the other process is not in the trace")                                                   \
    MESSAGE_REASON(LOST, "records of one of the two processes were lost around it")                                    \
    MESSAGE_REASON(CUT_OFF, "the other process was not recorded to its MPI_Finalize")                                  \
    MESSAGE_REASON(ALONE, "the program never posted the other half")                                                   \
    MESSAGE_REASON(CANCELLED, "it was cancelled")                                                                      \
    MESSAGE_REASON(UNRESOLVED, "a receive from anybody whose end was not recorded")                                    \
    MESSAGE_REASON(LOCAL_COMM, "the communicator has no identity that its processes share")                            \
    MESSAGE_REASON(AMBIGUOUS, "several processes of the trace have this rank")                                         \
    MESSAGE_REASON(NO_RANK, "the rank of its process is not known")                                                    \
    MESSAGE_REASON(OTHER_WORLD, "the other process is of another MPI_COMM_WORLD")                                      \
    MESSAGE_REASON(UNNUMBERED, "recorded without the number of its posting")
    MESSAGE_REASONS
#undef MESSAGE_REASON
    MESSAGE_REASONS_COUNT
};
const char *message_reason_text(enum message_reason reason);

struct message_match;
struct message_match *message_match_create(void); /* NULL: out of memory */
void message_match_destroy(struct message_match *match);
DEFINE_CLEANUP(struct message_match *, message_match_destroy)

/* Processes are numbered 0, 1, 2 ... as they are added. */
int message_match_add_process(struct message_match *match, int32_t rank, uint32_t *ret_process);
/* It came to MPI_Finalize, and nothing of it is missing behind the greatest number that it is known to have given out. */
void message_match_finalized(struct message_match *match, uint32_t process);

struct message_end {
    uint32_t process;                 /* whose end it is: the source's of a send, the destination's of a receive */
    bool receive;
    bool threads;                     /* several threads may have posted at once: their numbers don't tell the order */
    uint64_t comm;
    int32_t source, destination, tag; /* world ranks */
    uint64_t order;                   /* number of the posting; of the probe, for a message that a probe had taken */
    uint64_t bytes;                   /* UINT64_MAX = unknown */
    int64_t time_ns;                  /* a send: earliest begin; a receive: when it surely was complete, INT64_MAX = unknown */
    uint32_t span, thread;            /* the caller's numbers */
};
/* 0, -ENOMEM, or -EOVERFLOW beyond 2^32 - 1 ends a side. */
int message_match_add(struct message_match *match, const struct message_end *end);
/* A posting that has no partner to look for (MPI_PROC_NULL, cancelled): no gap in the numbers. */
int message_match_add_posting(struct message_match *match, uint32_t process, uint64_t order);
/* Counts an end that nobody can match. */
void message_match_leave_out(struct message_match *match, enum message_reason reason);

/* Both halves of what a MESSAGE payload says, added, or counted as left out. `receive`: the span is a receive whatever its
 * payload says. `received_ns`: when it surely was complete. */
struct message_span {
    uint32_t process, span, thread;
    int32_t rank;
    bool receive;
    int64_t begin_ns, received_ns;
};
int message_match_add_span(struct message_match *match, const struct message_span *span, const struct payload *payload);
/* All processes with a rank and all messages of a finished trace. `span` is the span's id, `thread` its track;
 * ret_first: number of its first process here. */
int message_match_add_trace(struct message_match *match, const struct trace *trace, uint32_t *ret_first, struct error *err);

struct message_pair {
    uint32_t send_process, send_span, receive_process, receive_span;
    enum confidence confidence; /* CERTAIN; HIGH: counted from the end, or threads; MEDIUM: sizes that don't agree came before */
};
/* Calls `found` for each pair, channel by channel in the order of their first mention; what it returns other than 0 ends it. */
int message_match_run(struct message_match *match, int (*found)(void *context, const struct message_pair *pair), void *context);

struct message_counts {
    uint64_t pairs[CONFIDENCE_COUNT];
    uint64_t unmatched_sends[MESSAGE_REASONS_COUNT], unmatched_receives[MESSAGE_REASONS_COUNT]; /* from the run */
    uint64_t left_out[MESSAGE_REASONS_COUNT];
    uint64_t sizes_differ; /* pairs whose ends give different sizes */
};
const struct message_counts *message_match_counts(const struct message_match *match);

#endif
