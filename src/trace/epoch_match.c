/* SPDX-License-Identifier: MIT */
/* Calls are gathered, taken apart into pairs of a target and an origin, and the two lists of these are walked side by side. */
#include "epoch_match.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct epoch_match {
    struct epoch_call *calls;
    size_t count, capacity;
};

enum epoch_role epoch_role_of(const char *name)
{
    static const char *const names[] = {[EPOCH_POST] = "MPI_Win_post",         [EPOCH_START] = "MPI_Win_start",
                                        [EPOCH_COMPLETE] = "MPI_Win_complete", [EPOCH_WAIT] = "MPI_Win_wait",
                                        [EPOCH_TEST] = "MPI_Win_test"};
    for (unsigned role = EPOCH_POST; role <= EPOCH_TEST; role++)
        if (strcmp(name, names[role]) == 0)
            return (enum epoch_role)role;
    return EPOCH_NONE;
}

struct epoch_match *epoch_match_create(void)
{
    return calloc(1, sizeof(struct epoch_match));
}

void epoch_match_destroy(struct epoch_match *match)
{
    if (!match)
        return;
    free(match->calls);
    free(match);
}

int epoch_match_add(struct epoch_match *match, const struct epoch_call *call)
{
    struct epoch_call *calls = array_reserve(match->calls, &match->capacity, match->count + 1, sizeof *calls);
    if (!calls)
        return -ENOMEM;
    match->calls = calls;
    calls[match->count++] = *call;
    return 0;
}

/* One of a pair: how `target` lets `origin` into its window. */
struct side {
    uint64_t window;
    int32_t target, origin;
    int64_t begin_ns;
    uint32_t span, closing; /* closing: the wait behind a post, the complete behind a start; ID_NONE: none */
};
struct sides {
    struct side *items;
    size_t count, capacity;
};

#define COMPARE(left, right) (((left) > (right)) - ((left) < (right)))

struct linking {
    int (*found)(void *, uint32_t, uint32_t, enum confidence);
    void *context;
    uint64_t linked;
};

static int by_process(const void *left, const void *right)
{
    const struct epoch_call *a = left, *b = right;
    int order = COMPARE(a->process, b->process);
    order = order ? order : COMPARE(a->window, b->window);
    order = order ? order : COMPARE(a->begin_ns, b->begin_ns);
    return order ? order : COMPARE(a->span, b->span);
}

static int by_pair(const void *left, const void *right)
{
    const struct side *a = left, *b = right;
    int order = COMPARE(a->window, b->window);
    order = order ? order : COMPARE(a->target, b->target);
    order = order ? order : COMPARE(a->origin, b->origin);
    order = order ? order : COMPARE(a->begin_ns, b->begin_ns);
    return order ? order : COMPARE(a->span, b->span);
}

static int add_side(struct sides *sides, const struct epoch_call *epoch, uint32_t closing, int32_t own, int32_t other)
{
    struct side *items = array_reserve(sides->items, &sides->capacity, sides->count + 1, sizeof *items);
    if (!items)
        return -ENOMEM;
    sides->items = items;
    bool post = epoch->role == EPOCH_POST;
    items[sides->count++] = (struct side){.window = epoch->window, .target = post ? own : other, .origin = post ? other : own,
                                          .begin_ns = epoch->begin_ns, .span = epoch->span, .closing = closing};
    return 0;
}

/* Adds a side for each rank in a group's text, "3,5-9"; ranks that the job does not have are no ranks. */
static int add_sides(struct sides *sides, const struct epoch_call *epoch, uint32_t closing)
{
    const char *text = epoch->group;
    int code = 0;
    while (text && *text && code == 0) {
        char *end;
        long first = strtol(text, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        if (end == text)
            return 0;
        for (long rank = first < 0 ? 0 : first; rank <= last && rank < epoch->size && code == 0; rank++)
            code = add_side(sides, epoch, closing, epoch->rank, (int32_t)rank);
        text = *end == ',' ? end + 1 : end;
        if (*end && *end != ',')
            return code;
    }
    return code;
}

/* The epochs of one process and window: each post goes with the wait behind it, each start with its complete. */
static int add_epochs(const struct epoch_call *first, size_t count, struct sides *posts, struct sides *starts)
{
    uint32_t wait = ID_NONE, complete = ID_NONE;
    int code = 0;
    for (size_t i = count; i-- > 0 && code == 0;) {
        switch (first[i].role) {
        case EPOCH_WAIT: wait = first[i].span; break;
        case EPOCH_TEST: wait = wait == ID_NONE ? first[i].span : wait; break; /* only the last before the next post was successful */
        case EPOCH_COMPLETE: complete = first[i].span; break;
        case EPOCH_POST: code = add_sides(posts, &first[i], wait), wait = ID_NONE; break;
        case EPOCH_START: code = add_sides(starts, &first[i], complete), complete = ID_NONE; break;
        case EPOCH_NONE: break;
        }
    }
    return code;
}

static int link_spans(struct linking *linking, enum confidence confidence, uint32_t from, uint32_t to)
{
    return from == ID_NONE || to == ID_NONE ? 0 : linking->found(linking->context, from, to, confidence);
}

static int pair_order(const struct side *post, const struct side *start)
{
    int order = COMPARE(post->window, start->window);
    order = order ? order : COMPARE(post->target, start->target);
    return order ? order : COMPARE(post->origin, start->origin);
}

static size_t run_length(const struct sides *sides, size_t first)
{
    size_t end = first + 1;
    while (end < sides->count && pair_order(&sides->items[first], &sides->items[end]) == 0)
        end++;
    return end - first;
}

/* Both lists are sorted by pair. Where one has more than the other something was not recorded, and the pairing is no identity. */
static int link_pairs(struct linking *linking, const struct sides *posts, const struct sides *starts)
{
    int code = 0;
    for (size_t post = 0, start = 0; post < posts->count && start < starts->count && code == 0;) {
        int order = pair_order(&posts->items[post], &starts->items[start]);
        size_t of_posts = order <= 0 ? run_length(posts, post) : 0, of_starts = order >= 0 ? run_length(starts, start) : 0;
        enum confidence confidence = of_posts == of_starts ? CONFIDENCE_CERTAIN : CONFIDENCE_HIGH;
        for (size_t i = 0; i < of_posts && i < of_starts && code == 0; i++) {
            const struct side *exposure = &posts->items[post + i], *access = &starts->items[start + i];
            code = link_spans(linking, confidence, exposure->span, access->span);
            if (code == 0)
                code = link_spans(linking, confidence, access->closing, exposure->closing);
            linking->linked++;
        }
        post += of_posts;
        start += of_starts;
    }
    return code;
}

int epoch_match_run(struct epoch_match *match, int (*found)(void *context, uint32_t from, uint32_t to, enum confidence confidence),
                    void *context, uint64_t *ret_seen, uint64_t *ret_linked)
{
    struct sides posts = {0}, starts = {0};
    struct linking linking = {found, context, 0};
    int code = 0;
    if (match->count)
        qsort(match->calls, match->count, sizeof *match->calls, by_process);
    for (size_t first = 0, end; first < match->count && code == 0; first = end) {
        const struct epoch_call *calls = &match->calls[first];
        for (end = first + 1; end < match->count && match->calls[end].process == calls->process && match->calls[end].window == calls->window; end++)
            ;
        code = add_epochs(calls, end - first, &posts, &starts);
    }
    if (code == 0 && posts.count && starts.count) {
        qsort(posts.items, posts.count, sizeof *posts.items, by_pair);
        qsort(starts.items, starts.count, sizeof *starts.items, by_pair);
        code = link_pairs(&linking, &posts, &starts);
    }
    *ret_seen = posts.count > starts.count ? posts.count : starts.count;
    *ret_linked = linking.linked;
    free(posts.items);
    free(starts.items);
    return code;
}
