/* SPDX-License-Identifier: MIT */
/* Critical imbalance and what the run's threads were used for. */
#include "path_imbalance.h"
#include "path_preempted.h"

#include "base/error.h"

#include <errno.h>

/* Two entries an activity: by threads, by devices. */
struct totals {
    const struct dependency_graph *graph;
    const struct activities *activities;
    int64_t *all_ns, *path_ns;
    bool *device; /* by lane */
    bool *asked;  /* what the filter asks for has some of it on the path */
};

static bool is_device(const struct dependency_graph *graph, track_id track)
{
    uint32_t count;
    const struct trace_track *tracks = trace_tracks(graph->trace, &count);
    return track.index < count &&
           (tracks[track.index].kind == TRACK_KIND_STREAM || tracks[track.index].kind == TRACK_KIND_DEVICE);
}

static void take_sums(struct totals *totals, const struct activity_sums *sums)
{
    for (size_t i = 0; i < sums->count; i++)
        if (sums->items[i].activity < totals->activities->count)
            totals->all_ns[sums->items[i].activity * (size_t)2 + sums->items[i].device] += sums->items[i].time_ns;
}

static void sum_all(struct totals *totals)
{
    const struct dependency_graph *graph = totals->graph;
    for (uint32_t l = 0; l < graph->lane_count; l++) {
        for (uint32_t i = 1; i < graph->lanes[l].point_count; i++) {
            uint32_t point = graph->lanes[l].first_point + i;
            if (graph->interval[point] == INTERVAL_WORK)
                totals->all_ns[activity_of(totals->activities, graph->span[point]) * (size_t)2 + totals->device[l]] +=
                    graph->time_ns[point] - graph->time_ns[point - 1] - interval_preempted(graph, graph->time_ns, point);
        }
    }
}

static void sum_path(struct totals *totals, const struct critical_path *path, const struct activity_set *where)
{
    for (uint32_t s = 1; s < path->step_count; s++) {
        struct path_part parts[2], part;
        path_parts_of_step(path, totals->activities, s, parts);
        part = parts[0];
        uint32_t lane = path->graph->lane[path->steps[s].point];
        if (part.state != PATH_WORK || lane == LANE_NONE)
            continue;
        size_t entry = part.activity * (size_t)2 + totals->device[lane];
        bool code = span_kind_is_code(totals->activities->rows[part.activity].kind);
        totals->path_ns[entry] += part.time_ns;
        totals->asked[entry] |= activity_set_portion(where, part.track, path->graph->span[path->steps[s].point], code) == ACTIVITY_WHOLE;
    }
}

/* Several lanes can be of one track (commands that overlap). */
static int count_locations(const struct totals *totals, struct path_imbalance *imbalance)
{
    uint32_t count;
    trace_tracks(totals->graph->trace, &count);
    CLEANUP(freep) bool *seen = calloc((size_t)count + 1, sizeof *seen);
    if (!seen)
        return -ENOMEM;
    for (uint32_t l = 0; l < totals->graph->lane_count; l++) {
        track_id track = totals->graph->lanes[l].track;
        if (track.index >= count || seen[track.index] || totals->graph->lanes[l].point_count == 0)
            continue;
        seen[track.index] = true;
        if (totals->device[l])
            imbalance->device_lanes++;
        else
            imbalance->threads++;
    }
    return 0;
}

static int by_imbalance(const void *left, const void *right)
{
    const struct imbalance_row *a = left, *b = right;
    if (a->imbalance_ns != b->imbalance_ns)
        return a->imbalance_ns > b->imbalance_ns ? -1 : 1;
    if (a->path_ns != b->path_ns)
        return a->path_ns > b->path_ns ? -1 : 1;
    return a->activity != b->activity ? (a->activity < b->activity ? -1 : 1) : a->device - b->device;
}

static int fill_rows(const struct totals *totals, struct path_imbalance *imbalance)
{
    size_t entries = (size_t)totals->activities->count * 2, rows = 0;
    for (size_t i = 0; i < entries; i++)
        rows += totals->path_ns[i] > 0;
    imbalance->rows = calloc(rows + 1, sizeof *imbalance->rows);
    if (!imbalance->rows)
        return -ENOMEM;
    for (size_t i = 0; i < entries; i++) {
        if (i % 2 == 0 && totals->path_ns[i] > 0)
            imbalance->critical_ns += totals->all_ns[i];
        else if (i % 2 == 0)
            imbalance->non_critical_ns += totals->all_ns[i];
        if (totals->path_ns[i] == 0 || !totals->asked[i])
            continue;
        struct imbalance_row *row = &imbalance->rows[imbalance->count++];
        *row = (struct imbalance_row){.activity = (uint32_t)(i / 2),
                                      .device = i % 2,
                                      .path_ns = totals->path_ns[i],
                                      .total_ns = totals->all_ns[i],
                                      .locations = i % 2 ? imbalance->device_lanes : imbalance->threads};
        row->average_ns = row->locations ? row->total_ns / row->locations : 0;
        row->imbalance_ns = row->path_ns > row->average_ns ? row->path_ns - row->average_ns : 0;
    }
    qsort(imbalance->rows, imbalance->count, sizeof *imbalance->rows, by_imbalance);
    return 0;
}

int path_imbalance_create(const struct critical_path *path, const struct activities *activities, const struct activity_set *where,
                          const struct activity_sums *sums, struct path_imbalance **ret_imbalance, struct error *err)
{
    size_t entries = (size_t)activities->count * 2;
    CLEANUP(path_imbalance_destroyp) struct path_imbalance *imbalance = calloc(1, sizeof *imbalance);
    CLEANUP(freep) int64_t *all_ns = calloc(entries, sizeof *all_ns);
    CLEANUP(freep) int64_t *path_ns = calloc(entries, sizeof *path_ns);
    CLEANUP(freep) bool *device = calloc((size_t)path->graph->lane_count + 1, sizeof *device);
    CLEANUP(freep) bool *asked = calloc(entries, sizeof *asked);
    struct totals totals = {
        .graph = path->graph, .activities = activities, .all_ns = all_ns, .path_ns = path_ns, .device = device, .asked = asked};
    if (!imbalance || !all_ns || !path_ns || !device || !asked)
        return error_set(err, -ENOMEM, "out of memory while comparing lanes");
    for (uint32_t l = 0; l < path->graph->lane_count; l++)
        device[l] = is_device(path->graph, path->graph->lanes[l].track);
    if (sums)
        take_sums(&totals, sums);
    else
        sum_all(&totals);
    sum_path(&totals, path, where);
    if (count_locations(&totals, imbalance) < 0 || fill_rows(&totals, imbalance) < 0)
        return error_set(err, -ENOMEM, "out of memory while comparing lanes");
    imbalance->allocation_ns = path->makespan_ns * imbalance->threads;
    imbalance->unused_ns = imbalance->allocation_ns - imbalance->critical_ns - imbalance->non_critical_ns;
    *ret_imbalance = TAKE_PTR(imbalance);
    return 0;
}

void path_imbalance_destroy(struct path_imbalance *imbalance)
{
    if (!imbalance)
        return;
    free(imbalance->rows);
    free(imbalance);
}
