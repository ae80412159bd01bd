/* SPDX-License-Identifier: MIT */
/*
 * Step by step, all ranks in the same one:
 *  1. frames of all pieces go to rank 0, which finds what goes between processes; each gets the edges into its points, and has a share
 *  2. the least lags of all shares become one list, by which each weighs its edges
 *  3. ways between nodes go to rank 0, the longest ways to and from all nodes come back, and each fills in its points
 *  4. the best end of all is the path's; the way back is known at each node, and put together in rank 0
 *  5. each walks its stretches of the path; rank 0 gets what is shown of them
 */
#include "ranks_shares.h"

#include "base/progress.h"
#include "ranks_exchange.h"

#include <errno.h>
#include <stdlib.h>

struct sharing {
    const struct rank_group *group;
    const struct trace *shared;
    struct parcel *piece;
    const struct activities *activities;
    const struct preempted *preempted;
    const struct progress *progress;
    struct graph_share *share;
    struct share_steps steps, frame_steps;
    /* Rank 0's: */
    struct graph_frame *frame;
    struct path_whole *whole;
    uint32_t *chain;
    size_t chain_count;
};

static bool is_first(const struct sharing *sharing)
{
    return sharing->group->rank == 0;
}

static uint32_t frame_number(const struct sharing *sharing)
{
    return (uint32_t)sharing->group->count;
}

static struct path_share *frame_path(const struct sharing *sharing)
{
    return &graph_frame_share(sharing->frame)->path;
}

/* A code without a text gets one, and all ranks know. */
static int settle(const struct sharing *sharing, int code, struct error *err)
{
    if (code < 0 && !err->text[0])
        error_set_errno(err, code, "the critical path");
    return sharing->group->agree(sharing->group, code, err);
}

static struct parcel *parcels_alloc(const struct sharing *sharing, uint32_t more)
{
    return is_first(sharing) ? calloc(frame_number(sharing) + more, sizeof(struct parcel)) : NULL;
}

/* --- 1 ------------------------------------------------------------------------------------------------------------ */

static int divide_frame(struct sharing *sharing, struct parcel *frames, struct parcel *shares, struct error *err)
{
    progress_update(sharing->progress, "dependences between processes", 0, 0);
    int code = shares ? graph_frame_create(sharing->shared, frames, frame_number(sharing), sharing->progress, &sharing->frame, err) : -ENOMEM;
    for (uint32_t r = 0; r < frame_number(sharing) && code == 0; r++)
        code = graph_frame_pack_share(sharing->frame, r, &shares[r]);
    if (code == 0)
        graph_frame_packed(sharing->frame);
    return code;
}

static int make_shares(struct sharing *sharing, struct error *err)
{
    CLEANUP(parcel_finish) struct parcel frame = PARCEL_INIT;
    CLEANUP(parcel_finish) struct parcel packed = PARCEL_INIT;
    struct parcel *frames = NULL, *shares = parcels_alloc(sharing, 0);
    int code = settle(sharing, graph_frame_pack(sharing->piece, &frame), err);
    if (code == 0)
        code = ranks_gather(sharing->group, &frame, &frames, err);
    if (code == 0)
        code = settle(sharing, is_first(sharing) ? divide_frame(sharing, frames, shares, err) : 0, err);
    ranks_parcels_free(frames, sharing->group->count);
    if (code == 0)
        code = ranks_scatter(sharing->group, shares, &packed, err);
    ranks_parcels_free(shares, sharing->group->count);
    if (code == 0)
        code = settle(sharing, graph_share_create(sharing->piece, &packed, (uint32_t)sharing->group->rank, &sharing->share), err);
    return code;
}

/* --- 2 ------------------------------------------------------------------------------------------------------------ */

static int join_least(const struct sharing *sharing, struct parcel *all, struct parcel *least)
{
    struct parcel *with_frame = parcels_alloc(sharing, 1);
    uint64_t circle = graph_frame_share(sharing->frame)->circular;
    if (!with_frame)
        return -ENOMEM;
    for (uint32_t r = 0; r < frame_number(sharing); r++) {
        circle |= parcel_take_u64(&all[r]);
        with_frame[r] = all[r];
    }
    graph_share_pack_least(graph_frame_share(sharing->frame), &with_frame[frame_number(sharing)]);
    parcel_put_u64(least, circle != 0);
    int code = with_frame[frame_number(sharing)].failed ? -ENOMEM : graph_least_join(with_frame, frame_number(sharing) + 1, least);
    parcel_finish(&with_frame[frame_number(sharing)]);
    free(with_frame);
    return code;
}

static int weigh(struct sharing *sharing, bool *ret_circle, struct error *err)
{
    CLEANUP(parcel_finish) struct parcel own = PARCEL_INIT;
    CLEANUP(parcel_finish) struct parcel least = PARCEL_INIT;
    struct parcel *all = NULL;
    parcel_put_u64(&own, sharing->share->circular);
    graph_share_pack_least(sharing->share, &own);
    int code = ranks_gather(sharing->group, &own, &all, err);
    if (code == 0)
        code = settle(sharing, is_first(sharing) ? join_least(sharing, all, &least) : 0, err);
    ranks_parcels_free(all, sharing->group->count);
    if (code == 0)
        code = ranks_broadcast(sharing->group, &least, err);
    if (code < 0)
        return code;
    *ret_circle = parcel_take_u64(&least) != 0;
    if (*ret_circle)
        return 0;
    code = graph_share_weigh(sharing->share, &least);
    if (code == 0 && is_first(sharing))
        code = graph_share_weigh(graph_frame_share(sharing->frame), &least);
    return settle(sharing, code, err);
}

/* --- 3 ------------------------------------------------------------------------------------------------------------ */

static int solve(struct sharing *sharing, struct parcel *ways, struct parcel *values, bool *ret_circle)
{
    struct parcel frame_ways = PARCEL_INIT;
    uint32_t count = frame_number(sharing);
    progress_update(sharing->progress, "finding the critical path", 0, 0);
    int code = values ? path_whole_create(graph_frame_number_count(sharing->frame), count + 1, &sharing->whole) : -ENOMEM;
    if (code == 0)
        code = path_share_contract(frame_path(sharing), &frame_ways);
    for (uint32_t r = 0; r < count && code == 0; r++)
        code = path_whole_take_ways(sharing->whole, r, &ways[r]);
    if (code == 0)
        code = path_whole_take_ways(sharing->whole, count, &frame_ways);
    parcel_finish(&frame_ways);
    if (code == 0)
        code = path_whole_solve(sharing->whole, ret_circle);
    for (uint32_t r = 0; r <= count && code == 0; r++) {
        parcel_put_u64(&values[r], *ret_circle);
        path_whole_pack_values(sharing->whole, r, &values[r]);
    }
    return code;
}

/* The frame's ends are known before the others' come. */
static int fill_frame(struct sharing *sharing, struct parcel *values)
{
    CLEANUP(parcel_finish) struct parcel end = PARCEL_INIT;
    parcel_take_u64(values);
    int code = path_share_fill(frame_path(sharing), values, &end);
    parcel_finish(values);
    return code ? code : path_whole_take_end(sharing->whole, frame_number(sharing), &end);
}

static int find_ways(struct sharing *sharing, struct parcel *end, bool *ret_circle, struct error *err)
{
    CLEANUP(parcel_finish) struct parcel own = PARCEL_INIT;
    CLEANUP(parcel_finish) struct parcel own_values = PARCEL_INIT;
    struct parcel *ways = NULL, *values = parcels_alloc(sharing, 1);
    int code = settle(sharing, path_share_contract(&sharing->share->path, &own), err);
    if (code == 0)
        code = ranks_gather(sharing->group, &own, &ways, err);
    if (code == 0)
        code = settle(sharing, is_first(sharing) ? solve(sharing, ways, values, ret_circle) : 0, err);
    ranks_parcels_free(ways, sharing->group->count);
    if (code == 0)
        code = ranks_scatter(sharing->group, values, &own_values, err);
    if (code == 0) {
        *ret_circle = parcel_take_u64(&own_values) != 0;
        if (!*ret_circle) {
            parcel_finish(sharing->piece);
            code = path_share_fill(&sharing->share->path, &own_values, end);
            if (code == 0 && is_first(sharing))
                code = fill_frame(sharing, &values[frame_number(sharing)]);
        }
        code = settle(sharing, code, err);
    }
    ranks_parcels_free(values, sharing->group->count + 1);
    return code;
}

/* --- 4 ------------------------------------------------------------------------------------------------------------ */

static int find_end(struct sharing *sharing, struct parcel *own, struct parcel *end, struct error *err)
{
    struct parcel *ends = NULL;
    int code = ranks_gather(sharing->group, own, &ends, err);
    if (code == 0 && is_first(sharing)) {
        for (uint32_t r = 0; r < frame_number(sharing) && code == 0; r++)
            code = path_whole_take_end(sharing->whole, r, &ends[r]);
        path_whole_pack_end(sharing->whole, end);
    }
    ranks_parcels_free(ends, sharing->group->count);
    code = settle(sharing, code, err);
    return code ? code : ranks_broadcast(sharing->group, end, err);
}

static int link_frame(struct sharing *sharing, const struct parcel *end)
{
    CLEANUP(parcel_finish) struct parcel links = PARCEL_INIT;
    struct parcel its = *end;
    its.position = 0;
    int code = path_share_link(frame_path(sharing), frame_number(sharing), &its, &links);
    return code ? code : path_whole_take_links(sharing->whole, &links);
}

static int make_chain(struct sharing *sharing, struct parcel *links, const struct parcel *end, struct parcel *chain)
{
    int code = link_frame(sharing, end);
    for (uint32_t r = 0; r < frame_number(sharing) && code == 0; r++)
        code = path_whole_take_links(sharing->whole, &links[r]);
    if (code == 0)
        code = path_whole_chain(sharing->whole, &sharing->chain, &sharing->chain_count);
    if (code == 0)
        parcel_put(chain, sharing->chain, sharing->chain_count, sizeof *sharing->chain);
    return code;
}

static int walk(struct sharing *sharing, struct parcel *own_end, struct error *err)
{
    CLEANUP(parcel_finish) struct parcel end = PARCEL_INIT;
    CLEANUP(parcel_finish) struct parcel own = PARCEL_INIT;
    CLEANUP(parcel_finish) struct parcel chain = PARCEL_INIT;
    struct parcel *links = NULL;
    size_t count;
    int code = find_end(sharing, own_end, &end, err);
    if (code == 0)
        code = settle(sharing, path_share_link(&sharing->share->path, (uint32_t)sharing->group->rank, &end, &own), err);
    if (code == 0)
        code = ranks_gather(sharing->group, &own, &links, err);
    if (code == 0)
        code = settle(sharing, is_first(sharing) ? make_chain(sharing, links, &end, &chain) : 0, err);
    ranks_parcels_free(links, sharing->group->count);
    if (code == 0)
        code = ranks_broadcast(sharing->group, &chain, err);
    if (code < 0)
        return code;
    const uint32_t *numbers = parcel_take(&chain, sizeof *numbers, &count);
    code = path_share_walk(&sharing->share->path, numbers, count, &sharing->steps);
    if (code == 0 && is_first(sharing))
        code = path_share_walk(frame_path(sharing), numbers, count, &sharing->frame_steps);
    return settle(sharing, code, err);
}

/* --- 5 ------------------------------------------------------------------------------------------------------------ */

static int put_together(struct sharing *sharing, struct parcel *all, struct shown_path *ret_shown, struct error *err)
{
    uint32_t count = frame_number(sharing);
    struct parcel *with_frame = parcels_alloc(sharing, 1);
    if (!with_frame)
        return -ENOMEM;
    for (uint32_t r = 0; r < count; r++) {
        with_frame[r] = all[r];
        all[r] = (struct parcel)PARCEL_INIT;
    }
    int code = path_shown_pack(graph_frame_share(sharing->frame), NULL, NULL, &sharing->frame_steps, &with_frame[count]);
    if (code == 0)
        code = path_shown_create(sharing->frame, sharing->whole, with_frame, count + 1, sharing->shared, ret_shown, err);
    ranks_parcels_free(with_frame, sharing->group->count + 1);
    return code;
}

static int show(struct sharing *sharing, struct shown_path *ret_shown, struct error *err)
{
    CLEANUP(parcel_finish) struct parcel own = PARCEL_INIT;
    struct parcel *all = NULL;
    int code = settle(sharing, path_shown_pack(sharing->share, sharing->activities, sharing->preempted, &sharing->steps, &own), err);
    graph_share_destroy(sharing->share);
    sharing->share = NULL;
    if (code == 0)
        code = ranks_gather(sharing->group, &own, &all, err);
    if (code == 0)
        code = settle(sharing, is_first(sharing) ? put_together(sharing, all, ret_shown, err) : 0, err);
    ranks_parcels_free(all, sharing->group->count);
    return code;
}

int ranks_shares_find(const struct rank_group *group, const struct trace *shared, struct parcel *piece, const struct activities *activities,
                      const struct preempted *preempted, const struct progress *progress, struct shown_path *ret_shown, bool *ret_circle, struct error *err)
{
    struct sharing sharing = {.group = group, .shared = shared, .piece = piece, .activities = activities, .preempted = preempted,
                              .progress = progress};
    CLEANUP(parcel_finish) struct parcel end = PARCEL_INIT;
    int code = make_shares(&sharing, err);
    *ret_circle = false;
    if (code == 0)
        code = weigh(&sharing, ret_circle, err);
    if (code == 0 && !*ret_circle)
        code = find_ways(&sharing, &end, ret_circle, err);
    if (code == 0 && !*ret_circle)
        code = walk(&sharing, &end, err);
    if (code == 0 && !*ret_circle)
        code = show(&sharing, ret_shown, err);
    share_steps_finish(&sharing.steps);
    share_steps_finish(&sharing.frame_steps);
    graph_share_destroy(sharing.share);
    graph_frame_destroy(sharing.frame);
    path_whole_destroy(sharing.whole);
    free(sharing.chain);
    return code;
}
