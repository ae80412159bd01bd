/* SPDX-License-Identifier: MIT */
/* When ranks were in MPI, and who waited for that. */
#include "target_progress.h"

#include "base/array.h"

#include <errno.h>
#include <string.h>

#define LEAST_NS 20000 /* shorter waits are not told from calls that take that long */
#define ENDS_IN_PART 10

int target_calls_add(struct target_calls *calls, int32_t rank, uint32_t span, int64_t begin_ns, int64_t end_ns)
{
    struct target_call *grown = array_reserve(calls->calls, &calls->capacity, calls->count + 1, sizeof *grown);
    if (!grown)
        return -ENOMEM;
    calls->calls = grown;
    grown[calls->count++] = (struct target_call){.begin_ns = begin_ns, .end_ns = end_ns, .span = span, .rank = rank};
    return 0;
}

static int by_rank_and_begin(const void *left, const void *right)
{
    const struct target_call *a = left, *b = right;
    int order = (a->rank > b->rank) - (a->rank < b->rank);
    order = order ? order : (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
    return order ? order : (a->span > b->span) - (a->span < b->span);
}

void target_calls_sort(struct target_calls *calls)
{
    if (calls->count)
        qsort(calls->calls, calls->count, sizeof *calls->calls, by_rank_and_begin);
    for (size_t i = 0; i < calls->count; i++) {
        struct target_call *call = &calls->calls[i];
        bool more = i && call[-1].rank == call->rank && call[-1].reach_ns > call->end_ns;
        call->reach_ns = more ? call[-1].reach_ns : call->end_ns;
    }
}

void target_calls_finish(struct target_calls *calls)
{
    free(calls->calls);
}

const struct target_call *target_waited_for(const struct target_calls *calls, int32_t target, uint32_t track, int64_t begin_ns, int64_t end_ns,
                                            const struct preempted *preempted)
{
    size_t low = 0, high = calls->count;
    while (low < high) { /* the target's first that begins behind begin_ns */
        size_t middle = low + (high - low) / 2;
        const struct target_call *call = &calls->calls[middle];
        if (call->rank < target || (call->rank == target && call->begin_ns <= begin_ns))
            low = middle + 1;
        else
            high = middle;
    }
    const struct target_call *call = &calls->calls[low];
    if (low == calls->count || call->rank != target || call->begin_ns >= end_ns || call->begin_ns - begin_ns < LEAST_NS)
        return NULL;
    if (low && call[-1].rank == target && call[-1].reach_ns > begin_ns) /* it was there */
        return NULL;
    int64_t rest_ns = end_ns - call->begin_ns - preempted_within(preempted, track, call->begin_ns, end_ns);
    return rest_ns <= (call->begin_ns - begin_ns) / ENDS_IN_PART ? call : NULL;
}

bool is_one_sided(const char *name)
{
    static const char *const names[] = {"Put", "Get", "Accumulate", "Get_accumulate", "Fetch_and_op", "Compare_and_swap",
                                        "Win_lock", "Win_unlock", "Win_flush", "Win_flush_local"};
    if (strncmp(name, "MPI_", 4) != 0)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name + 4, names[i]) == 0)
            return true;
    return false;
}
