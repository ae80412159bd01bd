/* SPDX-License-Identifier: MIT */
/*
 * Of all events between two clocks only the tightest pair counts. From no moves at all, clocks are moved forward only, by as little as
 * possible, until nothing is missing (Bellman-Ford); then backward only; the mean of two solutions is one, with moves half as large.
 */
#include "clock_settle.h"

#include <errno.h>
#include <stdlib.h>

#define CLOCKS_MAX 1024
#define NO_LIMIT INT64_MIN

struct settling {
    int64_t *missing;       /* [from * clocks + to]: move(to) - move(from) must be at least this; NO_LIMIT */
    int64_t *cause, *effect; /* of the exchange in hand, by clock: the last, the first */
    uint32_t *touched;
    uint32_t clocks, touched_count;
};

static void note(struct settling *settling, const struct causal_event *event)
{
    int64_t *cause = &settling->cause[event->clock], *effect = &settling->effect[event->clock];
    if (*cause == INT64_MIN && *effect == INT64_MAX)
        settling->touched[settling->touched_count++] = event->clock;
    if (event->effect)
        *effect = event->time_ns < *effect ? event->time_ns : *effect;
    else
        *cause = event->time_ns > *cause ? event->time_ns : *cause;
}

static void close_exchange(struct settling *settling)
{
    for (uint32_t i = 0; i < settling->touched_count; i++)
        for (uint32_t k = 0; k < settling->touched_count; k++) {
            uint32_t from = settling->touched[i], to = settling->touched[k];
            if (from == to || settling->cause[from] == INT64_MIN || settling->effect[to] == INT64_MAX)
                continue;
            int64_t early = settling->cause[from] - settling->effect[to], *missing = &settling->missing[(size_t)from * settling->clocks + to];
            *missing = early > *missing ? early : *missing;
        }
    while (settling->touched_count) {
        uint32_t clock = settling->touched[--settling->touched_count];
        settling->cause[clock] = INT64_MIN;
        settling->effect[clock] = INT64_MAX;
    }
}

static void find_missing(struct settling *settling, const struct causal_event *events, size_t count)
{
    for (uint32_t i = 0; i < settling->clocks; i++) {
        settling->cause[i] = INT64_MIN;
        settling->effect[i] = INT64_MAX;
    }
    for (size_t i = 0; i < (size_t)settling->clocks * settling->clocks; i++)
        settling->missing[i] = NO_LIMIT;
    for (size_t i = 0; i < count; i++) {
        if (i && events[i].exchange != events[i - 1].exchange)
            close_exchange(settling);
        note(settling, &events[i]);
    }
    close_exchange(settling);
}

/* One round over all pairs; true if something moved. */
static bool round_of(const struct settling *settling, bool forward, int64_t *moves)
{
    bool moved = false;
    for (uint32_t from = 0; from < settling->clocks; from++)
        for (uint32_t to = 0; to < settling->clocks; to++) {
            int64_t missing = settling->missing[(size_t)from * settling->clocks + to];
            if (missing == NO_LIMIT || moves[to] - moves[from] >= missing)
                continue;
            moved = true;
            if (forward)
                moves[to] = moves[from] + missing;
            else
                moves[from] = moves[to] - missing;
        }
    return moved;
}

/* Without a contradiction it is over after as many rounds as there are clocks. */
static bool solve(const struct settling *settling, bool forward, int64_t *moves)
{
    for (uint32_t i = 0; i <= settling->clocks; i++)
        if (!round_of(settling, forward, moves))
            return true;
    return false;
}

static int64_t half_down(int64_t value)
{
    return value >= 0 ? value / 2 : -((1 - value) / 2);
}

static int find_moves(const struct settling *settling, uint32_t reference, const int64_t *bounds_ns, int64_t *forward, int64_t *moves)
{
    if (!solve(settling, true, forward) || !solve(settling, false, moves))
        return -ERANGE;
    for (uint32_t i = 0; i < settling->clocks; i++)
        moves[i] = half_down(forward[i] + moves[i]);
    (void)solve(settling, true, moves); /* halves were rounded: a ns may be missing */
    int64_t shift = moves[reference];
    for (uint32_t i = 0; i < settling->clocks; i++) {
        moves[i] -= shift;
        if ((moves[i] < 0 ? -moves[i] : moves[i]) > (bounds_ns[i] > 0 ? bounds_ns[i] : 0))
            return -ERANGE;
    }
    return 0;
}

int clock_settle(const struct causal_event *events, size_t count, uint32_t clock_count, uint32_t reference, const int64_t *bounds_ns,
                 int64_t *ret_moves_ns)
{
    if (clock_count > CLOCKS_MAX)
        return -ERANGE;
    struct settling settling = {
        .missing = calloc((size_t)clock_count * clock_count, sizeof *settling.missing),
        .cause = calloc(clock_count, sizeof *settling.cause),
        .effect = calloc(clock_count, sizeof *settling.effect),
        .touched = calloc(clock_count, sizeof *settling.touched),
        .clocks = clock_count,
    };
    int64_t *forward = calloc(clock_count, sizeof *forward), *moves = calloc(clock_count, sizeof *moves);
    int code = settling.missing && settling.cause && settling.effect && settling.touched && forward && moves ? 0 : -ENOMEM;
    if (code == 0) {
        find_missing(&settling, events, count);
        code = find_moves(&settling, reference, bounds_ns, forward, moves);
    }
    for (uint32_t i = 0; i < clock_count && code == 0; i++)
        ret_moves_ns[i] = moves[i];
    free(settling.missing);
    free(settling.cause);
    free(settling.effect);
    free(settling.touched);
    free(forward);
    free(moves);
    return code;
}
