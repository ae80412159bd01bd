/* SPDX-License-Identifier: MIT */
/* The sizes of sends that were seen to wait for their receives, and of those that were seen to be gone before. */
#include "send_limits.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

#define MANY 4 /* times longer than its like: that is no chance */

/* A call that ended after the posting of a receive for what it sends. */
struct held_call {
    int64_t begin_ns, posted_ns, end_ns; /* posted: the last of them; begin: of the call, or of what it waited for last beside that */
    uint64_t nodes, bytes;               /* of the largest: one of them was waited for, nothing says which */
    bool explained;                      /* by something else that it waits for */
};

enum least_of { LEAST_MESSAGE, LEAST_FREE_SEND };

void send_limits_init(struct send_limits *limits)
{
    *limits = (struct send_limits){.held = NULL};
    map_init(&limits->gone);
    map_init(&limits->blocked);
    map_init(&limits->least);
    map_init(&limits->calls);
}

void send_limits_finish(struct send_limits *limits)
{
    map_finish(&limits->gone);
    map_finish(&limits->blocked);
    map_finish(&limits->least);
    map_finish(&limits->calls);
    free(limits->held);
}

/* Sizes of one magnitude are alike. */
static uint64_t least_key(enum least_of what, uint64_t nodes, uint64_t bytes)
{
    uint64_t magnitude = 64 - (uint64_t)__builtin_clzll(bytes | 1);
    return hash_u64(hash_u64(nodes) ^ (uint64_t)what << 8 ^ magnitude);
}

static int note_least(struct map *map, uint64_t key, uint64_t value)
{
    uint64_t known;
    return map_get(map, key, &known) && known <= value ? 0 : map_set(map, key, value);
}

static int note_held(struct send_limits *limits, const struct sent_message *message)
{
    uint64_t place;
    if (!map_get(&limits->calls, message->sender, &place)) {
        struct held_call *held = array_reserve(limits->held, &limits->held_capacity, limits->held_count + 1, sizeof *held);
        if (!held)
            return -ENOMEM;
        limits->held = held;
        place = limits->held_count++;
        held[place] = (struct held_call){.begin_ns = message->waits_ns, .posted_ns = INT64_MIN, .end_ns = message->gone_ns};
        if (map_set(&limits->calls, message->sender, place) < 0)
            return -ENOMEM;
    }
    struct held_call *call = &limits->held[place];
    call->posted_ns = message->posted_ns > call->posted_ns ? message->posted_ns : call->posted_ns;
    call->explained |= message->mode == SENT_SYNCHRONOUS;
    if (message->bytes >= call->bytes) {
        call->bytes = message->bytes;
        call->nodes = message->nodes;
    }
    return 0;
}

int send_limits_look(struct send_limits *limits, const struct sent_message *message)
{
    uint64_t known;
    int result = 0;
    if (message->came_ns != INT64_MAX && message->came_ns >= message->sent_ns)
        result = note_least(&limits->least, least_key(LEAST_MESSAGE, message->nodes, message->bytes),
                            (uint64_t)(message->came_ns - message->sent_ns));
    if (result < 0 || message->mode == SENT_OTHERWISE || message->gone_ns == INT64_MAX)
        return result;
    if (message->mode == SENT_STANDARD && message->gone_ns < message->posted_ns &&
        (!map_get(&limits->gone, message->nodes, &known) || known < message->bytes + 1))
        result = map_set(&limits->gone, message->nodes, message->bytes + 1);
    if (result < 0 || message->sender == UINT32_MAX)
        return result;
    if (sent_message_overlaps(message))
        return note_held(limits, message);
    return message->mode == SENT_STANDARD ? note_least(&limits->least, least_key(LEAST_FREE_SEND, message->nodes, message->bytes),
                                                       (uint64_t)(message->gone_ns - message->waits_ns))
                                          : 0;
}

/* A call that waited for a message no longer than such messages take is explained by it. Where the message was sent later than the
 * receive was posted, it is the likelier cause, however long it took. */
void send_limits_look_again(struct send_limits *limits, const struct sent_message *message)
{
    uint64_t place, least_ns;
    if (message->came_ns == INT64_MAX || !map_get(&limits->calls, message->receiver, &place) ||
        !map_get(&limits->least, least_key(LEAST_MESSAGE, message->nodes, message->bytes), &least_ns))
        return;
    struct held_call *call = &limits->held[place];
    call->explained |= message->came_ns - message->sent_ns < MANY * (int64_t)least_ns;
    call->begin_ns = message->sent_ns > call->begin_ns ? message->sent_ns : call->begin_ns;
}

int send_limits_decide(struct send_limits *limits)
{
    int result = 0;
    for (size_t i = 0; i < limits->held_count && result == 0; i++) {
        const struct held_call *call = &limits->held[i];
        int64_t waited_ns = call->posted_ns - call->begin_ns, lag_ns = call->end_ns - call->posted_ns;
        uint64_t gone = 0, free_ns = 0;
        map_get(&limits->gone, call->nodes, &gone);
        map_get(&limits->least, least_key(LEAST_FREE_SEND, call->nodes, call->bytes), &free_ns);
        if (!call->explained && call->bytes + 1 > gone && waited_ns >= MANY * lag_ns && waited_ns + lag_ns >= MANY * (int64_t)free_ns)
            result = note_least(&limits->blocked, call->nodes, call->bytes + 1);
    }
    return result;
}

enum send_hold send_limits_hold(const struct send_limits *limits, uint64_t nodes, uint64_t bytes)
{
    uint64_t gone = 0, blocked = UINT64_MAX;
    bool seen = map_get(&limits->gone, nodes, &gone);
    seen |= map_get(&limits->blocked, nodes, &blocked);
    if (!seen || bytes + 1 <= gone)
        return SEND_FREE;
    return bytes + 1 >= blocked ? SEND_HELD : SEND_MAYBE_HELD;
}
