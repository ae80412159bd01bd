/* SPDX-License-Identifier: MIT */
/*
 * How large a message MPI's library takes over from its sender, between two nodes: nobody records it, so it is told from sends. One that
 * was over before its receive was posted gives a lower limit. One that lasted long, ended right after its receive was posted, and had
 * nothing else to wait for gives an upper one. Three passes: look at all messages, look again, decide; then ask.
 */
#ifndef HP_ANALYSIS_SEND_LIMITS_H
#define HP_ANALYSIS_SEND_LIMITS_H

#include "base/map.h"

enum sent_mode { SENT_OTHERWISE, SENT_STANDARD, SENT_SYNCHRONOUS };

struct sent_message {
    uint64_t nodes;             /* any number that is the two nodes' own */
    uint64_t bytes;
    int64_t sent_ns, posted_ns; /* begins of send and receive */
    int64_t gone_ns, came_ns;   /* ends of the calls that completed them; INT64_MAX: nobody knows */
    int64_t waits_ns;           /* begin of the call that blocked for the send */
    uint32_t sender, receiver;  /* the calls that blocked for each; UINT32_MAX: none */
    enum sent_mode mode;
};

struct held_call;
struct send_limits {
    struct map gone;    /* nodes -> largest size seen to be over before its receive was posted, plus 1 */
    struct map blocked; /* nodes -> smallest size seen to wait for its receive, plus 1 */
    struct map least;   /* class -> least time: of messages under way, of sends that no receive held up */
    struct map calls;   /* blocked call -> place in held */
    struct held_call *held;
    size_t held_count, held_capacity;
};

void send_limits_init(struct send_limits *limits);
void send_limits_finish(struct send_limits *limits);
int send_limits_look(struct send_limits *limits, const struct sent_message *message);
void send_limits_look_again(struct send_limits *limits, const struct sent_message *message);
int send_limits_decide(struct send_limits *limits);

/* Whether a standard send of this size waits for its receive: it does not, or nothing of its like was seen; between what was seen to be
 * gone and what was seen to wait; it does. */
enum send_hold { SEND_FREE, SEND_MAYBE_HELD, SEND_HELD };
enum send_hold send_limits_hold(const struct send_limits *limits, uint64_t nodes, uint64_t bytes);

/* Whether the receive was posted while the send waited. */
static inline bool sent_message_overlaps(const struct sent_message *message)
{
    return message->sender != UINT32_MAX && message->posted_ns > message->waits_ns && message->posted_ns <= message->gone_ns;
}

#endif
