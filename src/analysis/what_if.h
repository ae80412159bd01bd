/* SPDX-License-Identifier: MIT */
/*
 * What would have happened: the run replayed with other weights.
 *
 * Scaling. A filter addresses the own time of the spans that match: the WORK of their innermost stretches, what a
 * blocking call takes by itself, time in them that nothing explains, and the lags of the edges that release them. Never
 * the wait: that follows from who is waited for. kind=compute addresses the program's own code: stretches outside of
 * all spans, and the own time of spans that only enclose code (parts of regions, tasks, loops, ranges). Time off the
 * processor stays. Where a filter asks for functions (name=, path= of samples) a stretch of code takes the factor by
 * their share of the thread's CPU samples.
 *
 * Network. Every lag of a message, collective or one-sided operation becomes latency + bytes/bandwidth, and what an MPI
 * call takes by itself is that at most. Balance. Between collectives that all ranks take part in, each rank's code
 * takes the ranks' average.
 */
#ifndef HP_ANALYSIS_WHAT_IF_H
#define HP_ANALYSIS_WHAT_IF_H

#include "activities.h"
#include "critical_path.h"

struct what_if_scale {
    const struct trace_filter *filter;
    double factor; /* >= 0 */
};

struct what_if_options {
    const struct what_if_scale *scales;
    size_t scale_count;
    bool balance_ranks;
    bool network;
    int64_t latency_ns;
    double bytes_per_second; /* INFINITY: size does not matter */
};

/* What is not sure about a prediction: what it would be if that were otherwise. */
struct what_if_bounds {
    int64_t low_ns, high_ns;    /* the least and the greatest of the prediction and the two below */
    int64_t sure_edges_ns;      /* without edges below CONFIDENCE_HIGH: waits that these ended take as long as they took */
    int64_t preempted_stays_ns; /* with as much time off the processor in what was changed as there was */
    int64_t changed_ns;         /* of all stretches and lags that were changed, before */
    int64_t preempted_ns;       /* of it, off the processor though it could have run */
    bool preempted_known;       /* the trace has the scheduler's records; else the last three tell nothing of that */
};

struct what_if {
    int64_t measured_ns;
    int64_t replayed_ns; /* the unchanged weights: how well the graph explains the run */
    int64_t predicted_ns;
    uint64_t scaled[16]; /* by scale: intervals and edges that it changed; the rest beyond 16 scales is not counted */
    uint64_t phases;     /* of --balance: between global collectives */
    uint64_t unbalanced; /* ranks' phases without code of their own, which nothing can be added to */
    uint64_t network_edges;
    struct what_if_bounds bounds;
    struct dependency_graph graph; /* as it would have been; its arrays belong to this */
    struct critical_path *path;    /* of that graph */
};

int what_if_create(const struct dependency_graph *graph, const struct activities *activities,
                   const struct what_if_options *options, struct what_if **ret_what_if, struct error *err);
void what_if_destroy(struct what_if *what_if);
DEFINE_CLEANUP(struct what_if *, what_if_destroy)
/* Of what changes, 0 .. 1 of it rests on edges below CONFIDENCE_HIGH; NAN: nothing changes, with them or without. */
double what_if_unsure_share(const struct what_if *what_if);

/* "FILTER:FACTOR", the factor behind the last colon. The caller destroys *ret_filter. */
int what_if_parse_scale(const char *text, struct trace_filter **ret_filter, double *ret_factor, struct error *err);
/* "LATENCY,BANDWIDTH": "2us,10G", "0,inf"; a bandwidth is bytes per second. */
int what_if_parse_network(const char *text, struct what_if_options *options, struct error *err);

#endif
