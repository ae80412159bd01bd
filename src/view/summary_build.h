/* SPDX-License-Identifier: MIT */
/* Shared by the files that build a summary; nobody else includes it. */
#ifndef HP_VIEW_SUMMARY_BUILD_H
#define HP_VIEW_SUMMARY_BUILD_H

#include "base/map.h"
#include "base/progress.h"
#include "base/saturated.h"
#include "summary.h"

struct error;

struct sample_aggregate;

struct summary_call {
    uint32_t function, caller; /* their numbers */
    uint64_t count;
    int64_t self_ns;
};

struct summary_build {
    struct trace *trace;
    struct summary *summary;
    const struct trace_filter *where;
    struct filter_match *match; /* of where; NULL = everything */
    const struct progress *progress;
    struct error *err;

    struct optional_i64 window_begin_ns, window_end_ns; /* of a recording that left out a part of the run */
    const struct trace_track *tracks;
    const struct trace_process *processes;
    const struct trace_frame *frames;
    const struct trace_module *modules;
    const struct stack_node *stacks;
    uint32_t track_count, process_count, frame_count, module_count, stack_count;

    size_t function_capacity;
    uint32_t *frame_function; /* by frame: its function, UINT32_MAX = not looked up; one more for "unknown" */
    uint32_t *last_seen;      /* by function: the stack that counted it last, so that recursion counts once */
    size_t last_seen_capacity;
    uint32_t serial;
    struct map function_index; /* function name and module -> function */
    uint32_t *walk;            /* the functions of a stack, innermost first */
    size_t walk_capacity;
    struct map call_index; /* function and caller -> call */
    struct summary_call *calls;
    size_t call_count, call_capacity;
    uint32_t *module_index;    /* by trace module: ours; one more for "unknown" */
    size_t module_capacity;
    uint32_t *track_thread;  /* by track: the thread it belongs to; UINT32_MAX = none */
    int64_t *process_cpu_ns; /* by trace process */
};

static inline int64_t time_between(int64_t begin_ns, int64_t end_ns)
{
    int64_t duration_ns;
    return __builtin_sub_overflow(end_ns, begin_ns, &duration_ns) ? INT64_MAX : duration_ns;
}

/* 0 or a negative errno, build->err set. */
int summary_add_samples(struct summary_build *build);
int summary_add_spans(struct summary_build *build);
int summary_add_callers(struct summary_build *build);
int summary_add_runtimes(struct summary_build *build); /* what MPI and OpenMP did, by threads' spans: read once for both */
int summary_add_devices(struct summary_build *build);

/* What one of them did. begin leaves *ret as it is where the trace has nothing of it; end takes NULL. */
struct mpi_build;
int summary_mpi_begin(struct summary_build *build, struct mpi_build **ret_mpi);
int summary_mpi_block(struct mpi_build *mpi, const struct span_block *block, uint32_t process);
void summary_mpi_end(struct mpi_build *mpi);
void summary_destroy_mpi(struct summary_mpi *mpi);
struct openmp_build;
int summary_openmp_begin(struct summary_build *build, struct openmp_build **ret_openmp);
int summary_openmp_block(struct openmp_build *openmp, const struct span_block *block, uint32_t process);
void summary_openmp_end(struct openmp_build *openmp);
void summary_destroy_openmp(struct summary_openmp *openmp);

/* -ENOMEM without an error text. Of the `count` functions in build->walk the `starts` outermost start the thread. */
int summary_count_call(struct summary_build *build, const struct sample_aggregate *row, size_t count, size_t starts);
bool summary_is_start(const char *name, const char *module);

#endif
