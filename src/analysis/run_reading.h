/* SPDX-License-Identifier: MIT */
/* What several analyses of one run begin with: its spans, the times of its lanes, its links. Read once, looked at by several threads. */
#ifndef HP_ANALYSIS_RUN_READING_H
#define HP_ANALYSIS_RUN_READING_H

#include "lane_time.h"

#include <stdatomic.h>

struct run_reading { /* does not change once it is there */
    struct span_table *table;
    struct lane_times *times; /* NULL: not asked for */
    struct trace_link *links;
    size_t link_count;
    atomic_uint references;
};

/* -EINVAL for a trace that is not finished. */
int run_reading_create(const struct trace *trace, bool with_times, const struct progress *progress, struct run_reading **ret_reading,
                       struct error *err);
struct run_reading *run_reading_ref(struct run_reading *reading);
void run_reading_unref(struct run_reading *reading); /* the last one frees it */
DEFINE_CLEANUP(struct run_reading *, run_reading_unref)

#endif
