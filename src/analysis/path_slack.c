/* SPDX-License-Identifier: MIT */
/* Slack by activity and lane. */
#include "path_slack.h"
#include "path_preempted.h"

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"

#include <errno.h>

struct gathering {
    struct path_slack *slack;
    size_t capacity;
    struct map numbers; /* track << 32 | activity to the row */
};

static int add(struct gathering *gathering, uint32_t activity, track_id track, int64_t time_ns, int64_t slack_ns)
{
    uint64_t key = (uint64_t)track.index << 32 | activity, number;
    struct path_slack *slack = gathering->slack;
    if (!map_get(&gathering->numbers, key, &number)) {
        struct slack_row *grown = array_reserve(slack->rows, &gathering->capacity, slack->count + 1, sizeof *grown);
        if (!grown)
            return -ENOMEM;
        slack->rows = grown;
        number = slack->count;
        if (map_set(&gathering->numbers, key, number) < 0)
            return -ENOMEM;
        grown[slack->count++] = (struct slack_row){.activity = activity, .track = track, .slack_ns = INT64_MAX};
    }
    struct slack_row *row = &slack->rows[number];
    row->time_ns += time_ns;
    row->slack_ns = slack_ns < row->slack_ns ? slack_ns : row->slack_ns;
    row->count++;
    return 0;
}

/* A stretch's slack: of the way that goes through it, not only through its end. */
static int64_t stretch_slack(const struct critical_path *path, uint32_t point)
{
    int64_t begin_ns = path->slack_ns[point - 1], end_ns = path->slack_ns[point];
    return begin_ns > end_ns ? begin_ns : end_ns;
}

static int gather(struct gathering *gathering, const struct critical_path *path, const struct activities *activities,
                  const struct activity_set *where)
{
    const struct dependency_graph *graph = path->graph;
    for (uint32_t l = 0; l < graph->lane_count; l++) {
        for (uint32_t i = 1; i < graph->lanes[l].point_count; i++) {
            uint32_t point = graph->lanes[l].first_point + i, activity = activity_of(activities, graph->span[point]);
            track_id track = graph->lanes[l].track;
            int64_t own_ns = graph->interval_weight_ns[point] - interval_preempted(graph, path->measured_ns, point);
            if (graph->interval[point] != INTERVAL_WORK || own_ns <= 0)
                continue;
            if (activity_set_portion(where, track, graph->span[point], span_kind_is_code(activities->rows[activity].kind)) != ACTIVITY_WHOLE)
                continue;
            if (add(gathering, activity, track, own_ns, stretch_slack(path, point)) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}

static int by_slack(const void *left, const void *right)
{
    const struct slack_row *a = left, *b = right;
    if (a->slack_ns != b->slack_ns)
        return a->slack_ns < b->slack_ns ? -1 : 1;
    if (a->time_ns != b->time_ns)
        return a->time_ns > b->time_ns ? -1 : 1;
    if (a->track.index != b->track.index)
        return a->track.index < b->track.index ? -1 : 1;
    return a->activity < b->activity ? -1 : a->activity > b->activity;
}

int path_slack_create(const struct critical_path *path, const struct activities *activities,
                      const struct activity_set *where, struct path_slack **ret_slack, struct error *err)
{
    CLEANUP(path_slack_destroyp) struct path_slack *slack = calloc(1, sizeof *slack);
    struct gathering gathering = {.slack = slack};
    map_init(&gathering.numbers);
    int result = slack ? gather(&gathering, path, activities, where) : -ENOMEM;
    map_finish(&gathering.numbers);
    if (result < 0)
        return error_set(err, result, "out of memory while looking beside the critical path");
    if (slack->count > 0)
        qsort(slack->rows, slack->count, sizeof *slack->rows, by_slack);
    *ret_slack = TAKE_PTR(slack);
    return 0;
}

int path_slack_of_rows(struct slack_row *rows, size_t count, struct path_slack **ret_slack)
{
    struct path_slack *slack = calloc(1, sizeof *slack);
    if (!slack) {
        free(rows);
        return -ENOMEM;
    }
    slack->rows = rows;
    slack->count = count;
    if (count > 0)
        qsort(rows, count, sizeof *rows, by_slack);
    *ret_slack = slack;
    return 0;
}

void path_slack_destroy(struct path_slack *slack)
{
    if (!slack)
        return;
    free(slack->rows);
    free(slack);
}
