/* SPDX-License-Identifier: MIT */
/*
 * Step by step, all ranks in the same one:
 *  1. each opens its share of the traces, and sends what others need of them: the shared parts, that is MPI's calls
 *  2. rank 0 merges the shared parts, so that clocks, processes and tracks are known, and tells all where their traces lie
 *  3. each places its traces there, all tell whether something was done in theirs, each cuts their lanes, and finds what depends on what, and waits
 *     for what, within processes
 *  4. what goes between processes is found in rank 0, the path by all (ranks_shares.h); or, where its edges go round in a circle, rank 0 puts the
 *     pieces together
 */
#include "ranks_path.h"

#include "analysis/graph_piece.h"
#include "analysis/node_merge_piece.h"
#include "analysis/preempted.h"
#include "base/array.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/thread_pool.h"
#include "formats/format.h"
#include "open_together.h"
#include "ranks_exchange.h"
#include "ranks_shares.h"
#include "trace/builder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ranks_work {
    const struct rank_group *group;
    const struct invocation *invocation;
    const struct progress *progress; /* rank 0's alone */
    struct inputs inputs;            /* its own traces */
    uint64_t shared_kinds;
    struct trace **parts;            /* rank 0: the shared parts of all */
    char **part_names;
    uint32_t part_count, first;      /* first: of its own traces among all */
    struct node_merge_report report;
    struct parcel frame;
    struct parcel graph, activities, blame; /* of its piece */
    struct activities *own_activities;
    struct preempted *own_preempted;
    bool with_blame, any_active; /* any_active: somebody's piece is */
};

static void parts_free(struct ranks_work *work)
{
    for (uint32_t i = 0; i < work->part_count; i++) {
        trace_unref(work->parts[i]);
        free(work->part_names[i]);
    }
    free(work->parts);
    free(work->part_names);
    work->parts = NULL;
    work->part_names = NULL;
    work->part_count = 0;
}

static void work_finish(struct ranks_work *work)
{
    inputs_finish(&work->inputs);
    parts_free(work);
    node_merge_report_finish(&work->report);
    parcel_finish(&work->frame);
    parcel_finish(&work->graph);
    parcel_finish(&work->activities);
    parcel_finish(&work->blame);
    activities_destroy(work->own_activities);
    preempted_destroy(work->own_preempted);
}

void ranks_path_finish(struct ranks_path *path)
{
    path_report_destroy(path->report);
    free(path->blame.rows);
    if (path->blame_texts)
        string_table_destroy(path->blame_texts);
    if (path->shared)
        trace_unref(path->shared);
    *path = (struct ranks_path){0};
}

/* --- 1: the shares ------------------------------------------------------------------------------------------------ */

static int open_share(struct ranks_work *work, struct error *err)
{
    uint64_t files = (uint64_t)work->invocation->operand_count, ranks = (uint64_t)work->group->count, rank = (uint64_t)work->group->rank;
    int code = 0;
    for (uint64_t i = files * rank / ranks; i < files * (rank + 1) / ranks && code == 0; i++)
        code = open_input(&work->inputs, work->invocation->operands[i], work->progress, work->invocation->log, err);
    return work->group->agree(work->group, code, err);
}

/* Kinds of spans that anybody's traces share are shared of all. */
static int agree_on_kinds(struct ranks_work *work, struct error *err)
{
    CLEANUP(parcel_finish) struct parcel own = PARCEL_INIT;
    CLEANUP(parcel_finish) struct parcel whole = PARCEL_INIT;
    struct parcel *all = NULL;
    uint64_t kinds = UINT64_C(1) << SPAN_KIND_BLOCKED; /* paths and waits tell of threads that had no processor */
    for (uint32_t i = 0; i < work->inputs.count; i++)
        kinds |= merge_shared_kinds(work->inputs.traces[i]);
    parcel_put_u64(&own, kinds);
    parcel_put_u64(&own, work->inputs.count);
    int code = ranks_gather(work->group, &own, &all, err);
    if (code)
        return code;
    kinds = 0;
    for (int i = 0; all && i < work->group->count; i++)
        kinds |= parcel_take_u64(&all[i]);
    for (int i = 0; all && i < work->group->count; i++)
        parcel_put_u64(&whole, parcel_take_u64(&all[i]));
    parcel_put_u64(&whole, kinds);
    ranks_parcels_free(all, work->group->count);
    code = ranks_broadcast(work->group, &whole, err);
    for (int i = 0; i < work->group->count && code == 0; i++) {
        uint64_t count = parcel_take_u64(&whole);
        work->first += i < work->group->rank ? (uint32_t)count : 0;
    }
    work->shared_kinds = parcel_take_u64(&whole);
    return code;
}

static int temporary_name(char *name, struct error *err)
{
    const char *folder = getenv("TMPDIR");
    folder = folder && *folder ? folder : "/tmp";
    int length = snprintf(name, PATH_MAX, "%s/hprofiler-part-XXXXXX", folder);
    int fd = length < PATH_MAX ? mkstemp(name) : -1;
    if (fd < 0)
        return error_set_errno(err, length < PATH_MAX ? -errno : -ENAMETOOLONG, "cannot make a file in '%s'", folder);
    close(fd);
    return 0;
}

/* As a native file's bytes. */
static int pack_trace(const struct trace *trace, struct parcel *parcel, struct error *err)
{
    char name[PATH_MAX];
    struct file_map map = {0};
    int code = temporary_name(name, err);
    if (code)
        return code;
    code = trace_write_native(trace, name, NULL, err);
    if (code == 0)
        code = file_map_open(name, &map, err);
    if (code == 0) {
        parcel_put(parcel, map.data, map.size, 1);
        file_map_close(&map);
    }
    unlink(name);
    return code;
}

static int unpack_trace(struct parcel *parcel, struct trace **ret_trace, struct error *err)
{
    char name[PATH_MAX];
    size_t size;
    const void *bytes = parcel_take(parcel, 1, &size);
    int code = temporary_name(name, err);
    if (code)
        return code;
    int fd = open(name, O_WRONLY | O_CLOEXEC);
    code = fd < 0 ? -errno : write_all(fd, bytes, size);
    if (fd >= 0)
        close(fd);
    code = code ? error_set_errno(err, code, "cannot write '%s'", name) : trace_open_native(name, ret_trace, err);
    unlink(name);
    return code;
}

static int pack_parts(const struct ranks_work *work, struct parcel *parcel, struct error *err)
{
    int code = 0;
    parcel_put_u64(parcel, work->inputs.count);
    for (uint32_t i = 0; i < work->inputs.count && code == 0; i++) {
        CLEANUP(trace_unrefp) struct trace *part = NULL;
        const char *incomplete = trace_incomplete(work->inputs.traces[i]);
        parcel_put_text(parcel, work->inputs.names[i]);
        parcel_put_text(parcel, incomplete ? incomplete : "");
        code = merge_shared_part(work->inputs.traces[i], work->shared_kinds, work->progress, &part, err);
        if (code == 0)
            code = pack_trace(part, parcel, err);
    }
    return work->group->agree(work->group, code, err);
}

static int unpack_part(struct ranks_work *work, struct parcel *parcel, struct error *err)
{
    size_t needed = (size_t)work->part_count + 1;
    struct trace **parts = array_resize_exact(work->parts, needed, sizeof *parts);
    work->parts = parts ? parts : work->parts;
    char **names = array_resize_exact(work->part_names, needed, sizeof *names);
    work->part_names = names ? names : work->part_names;
    char *name = strdup(parcel_take_text(parcel));
    const char *incomplete = parcel_take_text(parcel);
    if (!parts || !names || !name) {
        free(name);
        return error_set(err, -ENOMEM, "out of memory");
    }
    int code = unpack_trace(parcel, &parts[work->part_count], err);
    if (code) {
        free(name);
        return code;
    }
    if (*incomplete)
        log_warning(work->invocation->log, "%s", incomplete);
    names[work->part_count++] = name;
    return 0;
}

/* --- 2: the frame ------------------------------------------------------------------------------------------------- */

static int merge_parts(struct ranks_work *work, struct parcel *all, struct trace **ret_shared, struct error *err)
{
    static const struct node_merge_options as_measured = {0};
    int code = 0;
    for (int i = 0; i < work->group->count && code == 0; i++) {
        for (uint64_t left = parcel_take_u64(&all[i]); left && code == 0; left--)
            code = unpack_part(work, &all[i], err);
        parcel_finish(&all[i]);
    }
    if (code == 0)
        code = node_merge((const struct trace *const *)(const void *)work->parts, (const char *const *)(const void *)work->part_names,
                          work->part_count, &as_measured, work->progress, ret_shared, &work->report, err);
    if (code)
        return code;
    warn_of_merge(&work->report, work->invocation->log);
    merge_frame_pack(*ret_shared, &work->report, &work->frame);
    parts_free(work);
    return 0;
}

static int share_parts(struct ranks_work *work, struct trace **ret_shared, struct error *err)
{
    CLEANUP(parcel_finish) struct parcel own = PARCEL_INIT;
    struct parcel *all = NULL;
    int code = pack_parts(work, &own, err);
    if (code == 0)
        code = ranks_gather(work->group, &own, &all, err);
    if (code)
        return code;
    if (work->group->rank == 0)
        code = merge_parts(work, all, ret_shared, err);
    ranks_parcels_free(all, work->group->count);
    code = work->group->agree(work->group, code, err);
    return code ? code : ranks_broadcast(work->group, &work->frame, err);
}

/* --- 3: the pieces ------------------------------------------------------------------------------------------------ */

/* What is found in a piece at the same time: none needs anything of the others. */
enum { FIND_GRAPH, FIND_ACTIVITIES, FIND_PREEMPTED, FIND_BLAME, FIND_COUNT };

struct finding {
    struct ranks_work *work;
    const struct trace *piece;
    uint32_t first_track;
    int codes[FIND_COUNT];
    struct error errs[FIND_COUNT];
};

static void find_part(void *context, size_t part)
{
    struct finding *finding = context;
    struct ranks_work *work = finding->work;
    struct error *err = &finding->errs[part];
    int code = 0;
    if (part == FIND_GRAPH)
        code = graph_piece_pack(finding->piece, finding->first_track, work->shared_kinds, work->any_active, work->progress, &work->graph, err);
    if (part == FIND_ACTIVITIES)
        code = activities_create(finding->piece, NULL, &work->own_activities, err);
    if (part == FIND_ACTIVITIES && code == 0)
        activities_pack(work->own_activities, finding->piece, &work->activities);
    if (part == FIND_PREEMPTED)
        code = preempted_create(finding->piece, &work->own_preempted, err);
    if (part == FIND_PREEMPTED && code == 0)
        work->own_preempted->first_track = finding->first_track;
    if (part == FIND_BLAME && work->with_blame)
        code = wait_blame_pack(finding->piece, WAITS_WITHIN_PROCESSES, finding->first_track, &work->blame, err);
    finding->codes[part] = code;
}

static int find_in_piece(struct ranks_work *work, const struct trace *piece, uint32_t first_track, struct error *err)
{
    struct finding finding = {.work = work, .piece = piece, .first_track = first_track};
    CLEANUP(thread_pool_destroyp) struct thread_pool *pool = NULL;
    if (thread_pool_create(0, &pool) == 0)
        thread_pool_for(pool, FIND_COUNT, find_part, &finding);
    else
        for (size_t part = 0; part < FIND_COUNT; part++)
            find_part(&finding, part);
    for (size_t part = 0; part < FIND_COUNT; part++)
        if (finding.codes[part])
            return error_set(err, finding.codes[part], "%s", finding.errs[part].text);
    return 0;
}

/* Which threads are lanes depends on whether any did something, whoever has its trace. */
static int agree_on_activity(struct ranks_work *work, const struct trace *piece, struct error *err)
{
    CLEANUP(parcel_finish) struct parcel own = PARCEL_INIT;
    CLEANUP(parcel_finish) struct parcel whole = PARCEL_INIT;
    struct parcel *all = NULL;
    bool active = false;
    int code = work->group->agree(work->group, piece ? graph_piece_is_active(piece, &active, err) : 0, err);
    parcel_put_u64(&own, active);
    if (code == 0)
        code = ranks_gather(work->group, &own, &all, err);
    if (code)
        return code;
    for (int i = 0; all && i < work->group->count; i++)
        work->any_active |= parcel_take_u64(&all[i]) != 0;
    ranks_parcels_free(all, work->group->count);
    parcel_put_u64(&whole, work->any_active);
    code = ranks_broadcast(work->group, &whole, err);
    if (code == 0)
        work->any_active = parcel_take_u64(&whole) != 0;
    return code;
}

static int find_piece(struct ranks_work *work, struct error *err)
{
    CLEANUP(trace_unrefp) struct trace *piece = NULL;
    uint32_t first_track = 0;
    int code = 0;
    if (work->inputs.count) {
        code = node_merge_piece(&work->frame, (const struct trace *const *)(const void *)work->inputs.traces, work->first, work->inputs.count,
                                work->progress, &piece, &first_track, err);
        inputs_finish(&work->inputs);
        work->inputs = (struct inputs){0};
    }
    code = work->group->agree(work->group, code, err);
    if (code == 0)
        code = agree_on_activity(work, piece, err);
    if (code)
        return code;
    return work->group->agree(work->group, piece ? find_in_piece(work, piece, first_track, err) : 0, err);
}

/* --- 4: the whole ------------------------------------------------------------------------------------------------- */

/* Ranks without a trace have nothing to put in. */
static size_t leave_out_empty(struct parcel *parcels, int count)
{
    size_t kept = 0;
    for (int i = 0; i < count; i++)
        if (parcels[i].size)
            parcels[kept++] = parcels[i];
    for (size_t i = kept; i < (size_t)count; i++)
        parcels[i] = (struct parcel)PARCEL_INIT;
    return kept;
}

static int join_blame(struct ranks_work *work, struct ranks_path *path, struct parcel *pieces, struct error *err)
{
    int count = work->group->count;
    CLEANUP(freep) struct parcel *all = calloc((size_t)count + 1, sizeof *all);
    if (!all)
        return error_set(err, -ENOMEM, "out of memory");
    size_t kept = leave_out_empty(pieces, count);
    memcpy(all, pieces, kept * sizeof *all);
    int code = wait_blame_pack(path->shared, WAITS_BETWEEN_PROCESSES, 0, &all[kept], err);
    if (code == 0 && all[kept].failed)
        code = error_set(err, -ENOMEM, "out of memory");
    if (code == 0)
        code = wait_blame_join(all, kept + 1, &path->blame.rows, &path->blame.count, &path->blame_texts, err);
    path->blame.texts = path->blame_texts;
    parcel_finish(&all[kept]);
    return code;
}

/* All in rank 0. */
static int join_graph(struct ranks_work *work, struct ranks_path *path, struct activities *activities, enum path_dimension by, struct error *err)
{
    struct dependency_graph *graph = NULL;
    struct parcel *graphs = NULL;
    int code = ranks_gather(work->group, &work->graph, &graphs, err);
    if (code == 0 && work->group->rank == 0)
        code = graph_pieces_join(path->shared, graphs, leave_out_empty(graphs, work->group->count), work->progress, &graph, err);
    ranks_parcels_free(graphs, work->group->count);
    if (code == 0 && work->group->rank == 0)
        return path_report_of_graph(graph, activities, by, work->progress, &path->report, err);
    activities_destroy(activities);
    return code;
}

static int find_path(struct ranks_work *work, struct ranks_path *path, struct activities *activities, enum path_dimension by, struct error *err)
{
    struct shown_path shown = {0};
    bool circle = false;
    int code = ranks_shares_find(work->group, path->shared, &work->graph, work->own_activities, work->own_preempted,
                                 work->progress, &shown, &circle, err);
    if (code == 0 && circle) {
        if (work->group->rank == 0)
            log_warning(work->invocation->log, "edges between ranks go round in a circle: rank 0 finds the path in the graph of the whole run");
        return join_graph(work, path, activities, by, err);
    }
    if (code == 0 && work->group->rank == 0)
        code = path_report_of_shown(&shown, activities, by, work->progress, &path->report, err);
    else
        activities_destroy(activities);
    shown_path_finish(&shown);
    return code;
}

/* Waits are summed beside the graph. */
struct blaming {
    struct ranks_work *work;
    struct ranks_path *path;
    struct parcel *pieces;
    int code;
    struct error err;
};

static void run_blame(void *context)
{
    struct blaming *blaming = context;
    blaming->code = join_blame(blaming->work, blaming->path, blaming->pieces, &blaming->err);
}

/* Rank 0 joins the waits beside the rest. */
static int find_beside(struct ranks_work *work, struct ranks_path *path, struct activities *activities, struct parcel *blame, enum path_dimension by,
                       struct error *err)
{
    struct blaming blaming = {.work = work, .path = path, .pieces = blame};
    CLEANUP(thread_pool_destroyp) struct thread_pool *pool = NULL;
    bool wanted = work->with_blame && work->group->rank == 0;
    bool beside = wanted && thread_pool_create(1, &pool) == 0 && thread_pool_submit(pool, run_blame, &blaming) == 0;
    int code = find_path(work, path, activities, by, err);
    if (beside)
        thread_pool_wait(pool);
    else if (wanted && code == 0)
        run_blame(&blaming);
    return code == 0 && blaming.code ? error_set(err, blaming.code, "%s", blaming.err.text) : code;
}

static int join(struct ranks_work *work, struct ranks_path *path, enum path_dimension by, struct error *err)
{
    struct parcel *pieces = NULL, *blame = NULL;
    struct activities *activities = NULL;
    int code = ranks_gather(work->group, &work->activities, &pieces, err);
    if (code == 0 && work->with_blame)
        code = ranks_gather(work->group, &work->blame, &blame, err);
    if (code == 0 && work->group->rank == 0)
        code = activities_join(pieces, leave_out_empty(pieces, work->group->count), &activities, err);
    ranks_parcels_free(pieces, work->group->count);
    code = work->group->agree(work->group, code, err);
    if (code == 0)
        code = find_beside(work, path, activities, blame, by, err);
    else
        activities_destroy(activities);
    ranks_parcels_free(blame, work->group->count);
    return code;
}

int ranks_path_find(const struct rank_group *group, const struct invocation *invocation, enum path_dimension by, bool with_blame,
                    struct ranks_path *ret_path, struct error *err)
{
    struct ranks_work work = {.group = group, .invocation = invocation, .progress = group->rank == 0 ? invocation->progress : NULL,
                              .with_blame = with_blame};
    *ret_path = (struct ranks_path){0};
    int code = open_share(&work, err);
    if (code == 0)
        code = agree_on_kinds(&work, err);
    if (code == 0)
        code = share_parts(&work, &ret_path->shared, err);
    if (code == 0)
        code = find_piece(&work, err);
    if (code == 0)
        code = join(&work, ret_path, by, err);
    work_finish(&work);
    return code;
}
