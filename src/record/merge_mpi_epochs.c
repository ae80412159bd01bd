/* SPDX-License-Identifier: MIT */
/*
 * Post, start, complete, wait: a window's synchronisation between groups. Who starts waits for the posts of those it names, who
 * waits (or tests) for the completes of those it had posted for. The nth post of a target that names an origin belongs to the
 * nth start of that origin that names the target.
 */
#include "merge_mpi.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const roles[] = {[MPI_EPOCH_POST] = "MPI_Win_post",
                                    [MPI_EPOCH_START] = "MPI_Win_start",
                                    [MPI_EPOCH_COMPLETE] = "MPI_Win_complete",
                                    [MPI_EPOCH_WAIT] = "MPI_Win_wait",
                                    [MPI_EPOCH_TEST] = "MPI_Win_test"};

static unsigned role_of(struct merge_mpi *mpi, string_id name)
{
    uint64_t known = 0;
    if (map_get(&mpi->epoch_names, name.index, &known))
        return (unsigned)known;
    const char *text = string_table_text(trace_builder_strings(mpi->merge->builder), name);
    for (unsigned i = MPI_EPOCH_POST; i <= MPI_EPOCH_TEST && !known; i++)
        known = strcmp(text, roles[i]) == 0 ? i : 0;
    map_set(&mpi->epoch_names, name.index, known);
    return (unsigned)known;
}

int merge_mpi_add_epoch(struct merge_mpi *mpi, const struct mpi_process *process, const struct merge_span *span, span_id handle)
{
    const struct payload *payload = span->payload;
    unsigned role = payload->kind == PAYLOAD_RMA && payload_has(payload, FIELD_RMA_window) ? role_of(mpi, span->span->name) : 0;
    if (!role)
        return 0;
    struct mpi_epoch *epochs = array_reserve(mpi->epochs, &mpi->epoch_capacity, mpi->epoch_count + 1, sizeof *epochs);
    if (!epochs)
        return -ENOMEM;
    mpi->epochs = epochs;
    epochs[mpi->epoch_count++] = (struct mpi_epoch){
        .window = payload->fields[FIELD_RMA_window].u64,
        .begin_ns = span->span->begin_ns,
        .process = (uint32_t)(process - mpi->processes),
        .span = handle.index,
        .group = payload_has(payload, FIELD_RMA_group) ? payload->fields[FIELD_RMA_group].string : STRING_NONE,
        .role = (uint8_t)role,
    };
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

static int by_process(const void *left, const void *right)
{
    const struct mpi_epoch *a = left, *b = right;
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

static int add_side(struct sides *sides, const struct mpi_epoch *epoch, uint32_t closing, int32_t own, int32_t other)
{
    struct side *items = array_reserve(sides->items, &sides->capacity, sides->count + 1, sizeof *items);
    if (!items)
        return -ENOMEM;
    sides->items = items;
    bool post = epoch->role == MPI_EPOCH_POST;
    items[sides->count++] = (struct side){.window = epoch->window, .target = post ? own : other, .origin = post ? other : own,
                                          .begin_ns = epoch->begin_ns, .span = epoch->span, .closing = closing};
    return 0;
}

/* Adds a side for each rank in a group's text, "3,5-9"; ranks that the job does not have are no ranks. */
static int add_sides(struct merge_mpi *mpi, struct sides *sides, const struct mpi_epoch *epoch, uint32_t closing)
{
    const struct mpi_process *process = &mpi->processes[epoch->process];
    if (string_is(epoch->group, STRING_NONE))
        return 0;
    const char *text = string_table_text(trace_builder_strings(mpi->merge->builder), epoch->group);
    int code = 0;
    while (*text && code == 0) {
        char *end;
        long first = strtol(text, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        if (end == text)
            return 0;
        for (long rank = first < 0 ? 0 : first; rank <= last && rank < process->size && code == 0; rank++)
            code = add_side(sides, epoch, closing, process->rank, (int32_t)rank);
        text = *end == ',' ? end + 1 : end;
        if (*end && *end != ',')
            return code;
    }
    return code;
}

/* The epochs of one process and window: each post goes with the wait behind it, each start with its complete. */
static int add_epochs(struct merge_mpi *mpi, const struct mpi_epoch *first, size_t count, struct sides *posts, struct sides *starts)
{
    uint32_t wait = ID_NONE, complete = ID_NONE;
    int code = 0;
    for (size_t i = count; i-- > 0 && code == 0;) {
        switch (first[i].role) {
        case MPI_EPOCH_WAIT: wait = first[i].span; break;
        case MPI_EPOCH_TEST: wait = wait == ID_NONE ? first[i].span : wait; break; /* only the last before the next post was successful */
        case MPI_EPOCH_COMPLETE: complete = first[i].span; break;
        case MPI_EPOCH_POST: code = add_sides(mpi, posts, &first[i], wait), wait = ID_NONE; break;
        case MPI_EPOCH_START: code = add_sides(mpi, starts, &first[i], complete), complete = ID_NONE; break;
        }
    }
    return code;
}

static int link_spans(struct merge_mpi *mpi, enum confidence confidence, uint32_t from, uint32_t to)
{
    const struct trace_link link = {.kind = LINK_KIND_SYNC, .confidence = confidence, .from = {from}, .to = {to}};
    return from == ID_NONE || to == ID_NONE ? 0 : trace_builder_add_link(mpi->merge->builder, &link);
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
static int link_pairs(struct merge_mpi *mpi, const struct sides *posts, const struct sides *starts, uint64_t *linked)
{
    int code = 0;
    for (size_t post = 0, start = 0; post < posts->count && start < starts->count && code == 0;) {
        int order = pair_order(&posts->items[post], &starts->items[start]);
        size_t of_posts = order <= 0 ? run_length(posts, post) : 0, of_starts = order >= 0 ? run_length(starts, start) : 0;
        enum confidence confidence = of_posts == of_starts ? CONFIDENCE_CERTAIN : CONFIDENCE_HIGH;
        for (size_t i = 0; i < of_posts && i < of_starts && code == 0; i++) {
            const struct side *exposure = &posts->items[post + i], *access = &starts->items[start + i];
            code = link_spans(mpi, confidence, exposure->span, access->span);
            if (code == 0)
                code = link_spans(mpi, confidence, access->closing, exposure->closing);
            *linked += 1;
        }
        post += of_posts;
        start += of_starts;
    }
    return code;
}

int merge_mpi_link_epochs(struct merge_mpi *mpi)
{
    struct sides posts = {0}, starts = {0};
    uint64_t linked = 0;
    int code = 0;
    if (!mpi->epoch_count)
        return 0;
    qsort(mpi->epochs, mpi->epoch_count, sizeof *mpi->epochs, by_process);
    for (size_t first = 0, end; first < mpi->epoch_count && code == 0; first = end) {
        for (end = first + 1; end < mpi->epoch_count && mpi->epochs[end].process == mpi->epochs[first].process &&
                              mpi->epochs[end].window == mpi->epochs[first].window; end++)
            ;
        code = add_epochs(mpi, &mpi->epochs[first], end - first, &posts, &starts);
    }
    if (code == 0 && posts.count && starts.count) {
        qsort(posts.items, posts.count, sizeof *posts.items, by_pair);
        qsort(starts.items, starts.count, sizeof *starts.items, by_pair);
        code = link_pairs(mpi, &posts, &starts, &linked);
    }
    uint64_t seen = posts.count > starts.count ? posts.count : starts.count;
    if (code == 0 && seen)
        code = trace_builder_add_ledger(mpi->merge->builder, "MPI window exposures", seen, linked, seen - linked,
                                        seen > linked ? "the other side's post or start was not recorded" : "");
    free(posts.items);
    free(starts.items);
    return code;
}
