/* SPDX-License-Identifier: MIT */
/*
 * What is not on the critical path: each activity of each lane with its time and its least slack, that is by how much
 * it could come later, or take longer, before the run does. What has little slack and much time becomes critical next.
 */
#ifndef HP_ANALYSIS_PATH_SLACK_H
#define HP_ANALYSIS_PATH_SLACK_H

#include "path_parts.h"

struct slack_row {
    uint32_t activity;
    track_id track;
    int64_t time_ns;  /* own time of all its stretches */
    int64_t slack_ns; /* the least of them; 0: some of it is as critical as the path */
    uint64_t count;   /* stretches */
};

struct path_slack {
    struct slack_row *rows; /* least slack first, then most time; work only */
    size_t count;
};

/* `where` NULL: all. */
int path_slack_create(const struct critical_path *path, const struct activities *activities,
                      const struct activity_set *where, struct path_slack **ret_slack, struct error *err);
/* The same rows of several places, each of its own tracks, put together: they are taken over, and sorted. */
int path_slack_of_rows(struct slack_row *rows, size_t count, struct path_slack **ret_slack);
void path_slack_destroy(struct path_slack *slack);
DEFINE_CLEANUP(struct path_slack *, path_slack_destroy)

#endif
