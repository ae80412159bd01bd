/* SPDX-License-Identifier: MIT */
/*
 * What the critical path says of the other lanes, after Scalasca (docs/metrics.md, "Critical path"): an activity's
 * critical imbalance is its time on the path minus its average over all lanes that could do it, at least 0; and the
 * run's allocation (makespan times threads) is split in activities that are on the path, activities that are not, and
 * the rest, which nobody used.
 */
#ifndef HP_ANALYSIS_PATH_IMBALANCE_H
#define HP_ANALYSIS_PATH_IMBALANCE_H

#include "path_parts.h"

struct imbalance_row {
    uint32_t activity;
    bool device;        /* done by devices' lanes; else by threads */
    int64_t path_ns;    /* its own time on the path */
    int64_t total_ns;   /* on all lanes */
    uint32_t locations; /* lanes of that sort */
    int64_t average_ns, imbalance_ns;
};

struct path_imbalance {
    struct imbalance_row *rows; /* largest imbalance first */
    size_t count;
    uint32_t threads, device_lanes;
    int64_t allocation_ns;   /* makespan times threads */
    int64_t critical_ns;     /* threads' time in activities that are on the path somewhere */
    int64_t non_critical_ns; /* in those that are not */
    int64_t unused_ns;       /* waiting, idle, off the processor, not there */
};

/* Work of an activity on all lanes of a sort, where it was summed elsewhere. */
struct activity_sum {
    uint32_t activity;
    bool device;
    int64_t time_ns;
};
struct activity_sums {
    struct activity_sum *items;
    size_t count;
};

/* `sums` NULL: they are made of the path's graph. `where`: only activities are rows that are on the path where it lies in the set; their times are of all lanes. */
int path_imbalance_create(const struct critical_path *path, const struct activities *activities, const struct activity_set *where,
                          const struct activity_sums *sums, struct path_imbalance **ret_imbalance, struct error *err);
void path_imbalance_destroy(struct path_imbalance *imbalance);
DEFINE_CLEANUP(struct path_imbalance *, path_imbalance_destroy)

#endif
