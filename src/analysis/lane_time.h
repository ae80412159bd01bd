/* SPDX-License-Identifier: MIT */
/*
 * What each thread did when: its life cut where the innermost span changes, each piece with what the span makes of the time. Formulas
 * and the table of states: docs/metrics.md, "Efficiency".
 */
#ifndef HP_ANALYSIS_LANE_TIME_H
#define HP_ANALYSIS_LANE_TIME_H

#include "span_table.h"

enum lane_state {
    LANE_OUTSIDE, /* of all spans: the program's own code, or, for a thread of OpenMP's, nothing to do */
    LANE_USEFUL,  /* the program's own code within a region or a task */
    LANE_MPI,
    LANE_OPENMP,  /* the runtime: waiting, forking, making tasks */
    LANE_DEVICE,  /* calls to a device's runtime */
    LANE_STATE_COUNT
};

struct lane_piece { /* to the next piece's begin; the last one of a lane has no end */
    int64_t begin_ns;
    uint32_t span; /* innermost; ID_NONE: outside of all */
    uint8_t state;
};

struct lane_times {
    struct lane_piece *pieces;
    size_t *first; /* by track, track_count + 1 entries: pieces of a track that is no thread: none */
    uint32_t track_count;
};

int lane_times_create(struct span_table *table, struct lane_times **ret_times, struct error *err);
void lane_times_destroy(struct lane_times *times);
DEFINE_CLEANUP(struct lane_times *, lane_times_destroy)

/* The piece of a track that holds this time, by binary search; false before the first one. */
bool lane_times_find(const struct lane_times *times, uint32_t track, int64_t time_ns, size_t *ret_piece);
/* Where a piece ends, at most until_ns. */
int64_t lane_piece_end(const struct lane_times *times, uint32_t track, size_t piece, int64_t until_ns);

/* Backends by their category, numbered once a trace. */
enum backend { BACKEND_OTHER, BACKEND_MPI, BACKEND_OPENMP, BACKEND_DEVICE, BACKEND_NCCL };
struct backends {
    string_id mpi, openmp, nccl, devices[3];
};
void backends_find(const struct trace *trace, struct backends *ret_backends);
enum backend backend_of(const struct backends *backends, string_id category);

#endif
