/* SPDX-License-Identifier: MIT */
/* What the files that read a run's efficiency from its trace share. */
#ifndef HP_ANALYSIS_EFFICIENCY_INTERNAL_H
#define HP_ANALYSIS_EFFICIENCY_INTERNAL_H

#include "efficiency.h"
#include "preempted.h"
#include "run_reading.h"

/* Bounds of one process' part: the return from MPI_Init and the call of MPI_Finalize, or its life. */
struct efficiency_bounds {
    int64_t begin_ns, end_ns;
};

struct efficiency_reading {
    const struct trace *trace;
    const struct progress *progress;
    struct run_reading *run;
    struct span_table *table;
    const struct lane_times *times; /* run's, as links */
    struct backends backends;
    const struct trace_link *links;
    size_t link_count;
    struct efficiency *out;
    struct efficiency_bounds *bounds; /* by out->processes */
    bool part;                        /* a window was asked for */
    struct preempted *preempted;
    uint8_t *calls;                   /* by span, for the replay, which goes without the table: enum efficiency_call */
    uint32_t call_count;
    struct error *err;
};

enum efficiency_call { EFFICIENCY_CALL_OTHER, EFFICIENCY_CALL_INIT, EFFICIENCY_CALL_MPI };

/* Which processes and threads count, and the window. Fills out->processes, threads, begin_ns, end_ns, bounds. */
int efficiency_find_threads(struct efficiency_reading *reading);
/* The times of threads, and of processes in parallel regions. */
int efficiency_sum_threads(struct efficiency_reading *reading);
int efficiency_sum_regions(struct efficiency_reading *reading);
/* Adds inputs of devices. */
int efficiency_sum_devices(struct efficiency_reading *reading);
/* What the replay needs of spans, so that their table can go before it: the graph is large. */
int efficiency_tell_calls(struct efficiency_reading *reading);
/* The run time on an ideal network; NAN with a reason where the graph cannot tell. */
int efficiency_replay(struct efficiency_reading *reading);

#endif
