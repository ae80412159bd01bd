/* SPDX-License-Identifier: MIT */
/*
 * Parallel efficiency: the shares of the processors' time that a program makes use of, split by what takes the rest. Each number has
 * its model, formula and inputs (efficiency.def); what a trace cannot tell is not applicable or not separable, never guessed.
 */
#ifndef HP_ANALYSIS_EFFICIENCY_H
#define HP_ANALYSIS_EFFICIENCY_H

#include "trace/trace.h"

struct progress;
struct run_reading;

enum efficiency_input {
#define EFFICIENCY_INPUT(enumerator, symbol, unit, text) EFFICIENCY_INPUT_##enumerator,
#include "efficiency.def"
    EFFICIENCY_INPUT_COUNT
};
enum efficiency_model {
#define EFFICIENCY_MODEL(enumerator, name, source) EFFICIENCY_MODEL_##enumerator,
#include "efficiency.def"
    EFFICIENCY_MODEL_COUNT
};
enum efficiency_factor {
#define EFFICIENCY_FACTOR(model, enumerator, needs, depth, name, formula, expression) EFFICIENCY_##enumerator,
#include "efficiency.def"
    EFFICIENCY_FACTOR_COUNT
};

struct efficiency_input_text {
    const char *symbol, *unit, *text;
};
struct efficiency_model_text {
    const char *name, *source;
};
struct efficiency_factor_text {
    enum efficiency_model model;
    unsigned depth; /* 0: the model's whole */
    const char *name, *formula;
};
const struct efficiency_input_text *efficiency_input_text(enum efficiency_input input);
const struct efficiency_model_text *efficiency_model_text(enum efficiency_model model);
const struct efficiency_factor_text *efficiency_factor_text(enum efficiency_factor factor);

/* Sums of times of one run; NAN = unknown. */
struct efficiency_inputs {
    double value[EFFICIENCY_INPUT_COUNT];
    bool mpi, openmp, devices, nccl;
    const char *ideal_reason; /* why R* is unknown */
};

enum efficiency_status { EFFICIENCY_KNOWN, EFFICIENCY_NOT_APPLICABLE, EFFICIENCY_NOT_SEPARABLE };
struct efficiency_value {
    enum efficiency_status status;
    double value;
    const char *reason; /* of what is not known; NULL otherwise */
};
/* All factors of all models from a run's sums: pure arithmetic. */
void efficiency_compute(const struct efficiency_inputs *inputs, struct efficiency_value values[EFFICIENCY_FACTOR_COUNT]);

/* The times of one thread within the window; they add up to its length. */
struct efficiency_thread {
    track_id track;
    bool main; /* of its process */
    int64_t useful_ns, mpi_ns, openmp_ns, device_ns;
    int64_t preempted_ns;   /* would be useful, but another thread had the processor; 0 where no scheduler's records tell */
    int64_t idle_ns;        /* without work: only threads that are not main */
    int64_t idle_in_mpi_ns; /* the part of it while the main thread was in MPI */
};
struct efficiency_process {
    process_id process;
    uint32_t first_thread, thread_count; /* main first */
    int64_t serial_useful_ns;            /* of main outside of parallel regions */
    int64_t regions_ns;                  /* main in parallel regions, without MPI in them */
    int64_t regions_useful_ns;           /* of all threads */
    int64_t regions_idle_ns, regions_idle_least_ns; /* of all threads; what the least idle one of each region has, times threads */
    int64_t imbalance_ns;                /* over regions: (most useful - average) times threads */
};

struct efficiency {
    struct efficiency_inputs inputs;
    struct efficiency_value values[EFFICIENCY_FACTOR_COUNT];
    int64_t begin_ns, end_ns; /* the window */
    bool whole_life;          /* no MPI_Init and MPI_Finalize bound it */
    struct efficiency_process *processes;
    size_t process_count;
    struct efficiency_thread *threads;
    size_t thread_count;
    uint64_t other_threads; /* of these processes, that do not compute as far as is known: not counted */
};

struct efficiency_options {
    bool has_window; /* look at [begin, end) only */
    int64_t begin_ns, end_ns;
    struct run_reading *run; /* of this trace, with times, read already: handed over, as it is large and goes first; NULL: not read */
};

/* options and progress may be NULL. */
int efficiency_create(const struct trace *trace, const struct efficiency_options *options, const struct progress *progress,
                      struct efficiency **ret_efficiency, struct error *err);
void efficiency_destroy(struct efficiency *efficiency);
DEFINE_CLEANUP(struct efficiency *, efficiency_destroy)

/*
 * Runs of one program on more and more processors against the first: computation scalability = sum(u_ref) / sum(u), times T / T_ref
 * where the problem grows with the processors (weak). Its parts would need counts of instructions and cycles, which traces do not have.
 */
struct efficiency_scaling {
    double computation;   /* NAN: not known */
    double parallel;      /* parallel efficiency of the model that applies */
    double global;        /* parallel * computation */
    double speedup;       /* R_ref / R; weak: times T / T_ref */
};
void efficiency_scale(const struct efficiency *reference, const struct efficiency *run, bool weak, struct efficiency_scaling *ret_scaling);

#endif
