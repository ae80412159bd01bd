/* SPDX-License-Identifier: MIT */
/* What the advisor's rules judge by; nobody else includes it. */
#ifndef HP_ANALYSIS_ADVICE_INTERNAL_H
#define HP_ANALYSIS_ADVICE_INTERNAL_H

#include "advice.h"
#include "base/map.h"
#include "base/saturated.h"
#include "lane_time.h"

#define ADVICE_SMALL_COPY_BYTES 65536
#define ADVICE_SMALL_MESSAGE_BYTES 1024
#define ADVICE_SAMPLES_MIN 100

/* Sums that are kept for each track, so that the one that has most can be named. */
enum advice_sum {
    ADVICE_SUM_SYNC, ADVICE_SUM_ALLOCATION, ADVICE_SUM_PAGEABLE, ADVICE_SUM_SMALL_COPY, ADVICE_SUM_MIGRATION,
    ADVICE_SUM_LOCK, ADVICE_SUM_TASK_MAKING, ADVICE_SUM_MPI, ADVICE_SUM_SMALL_MESSAGE, ADVICE_SUM_INIT,
    ADVICE_SUM_LATE_SENDER, ADVICE_SUM_LATE_RECEIVER, ADVICE_SUM_COLLECTIVE,
    ADVICE_SUM_FUNCTION, ADVICE_SUM_KERNEL, ADVICE_SUM_FAULT, ADVICE_SUM_CPU, ADVICE_SUM_BLOCKED, ADVICE_SUM_PREEMPTED,
    ADVICE_SUM_COUNT
};
struct advice_sums {
    int64_t *time_ns[ADVICE_SUM_COUNT]; /* by track */
    uint64_t count[ADVICE_SUM_COUNT];
    int64_t total_ns[ADVICE_SUM_COUNT];
    struct advice_name { /* what has most of it, as far as it was looked for */
        string_id name;
        uint8_t kind;
        int64_t longest_ns; /* one span */
    } longest[ADVICE_SUM_COUNT];
};

/* One construct of the program: regions of one name. */
struct advice_region {
    string_id name;
    uint64_t count, threads; /* threads: most of a team */
    int64_t total_ns, wait_ns;
    double spread_ns;        /* waits of each instance divided by its threads */
};
struct advice_process {
    int64_t parallel_ns;     /* in outermost regions */
    uint64_t threads;        /* of the largest team */
    double spread_ns;        /* as of the regions */
    int64_t mpi_ns;          /* of the thread that was in MPI longest: it stands for its rank */
    track_id mpi_lane;
};

struct advice_facts {
    const struct trace *trace;
    bool surveyed; /* spans were looked at */
    const struct trace_track *tracks;
    const struct trace_process *processes;
    uint32_t track_count, process_count;
    int64_t run_ns;
    bool have[ADVICE_NEED_COUNT];
    const char *missing[ADVICE_NEED_COUNT];
    struct backends backends;
    struct advice_sums sums;

    const struct device_activities *devices;
    const struct off_cpu_times *off_cpu; /* NULL: not read yet */
    uint64_t launches, kernels; /* by the stored sums */
    int64_t launch_ns, kernel_ns;

    uint64_t copies, copy_bytes;
    uint64_t pageable_bytes, small_bytes, migration_bytes, gpu_faults;

    struct advice_region *regions;
    size_t region_count, region_capacity;
    struct advice_process *by_process;
    uint64_t tasks;
    int64_t task_ns;

    uint64_t messages, message_bytes, small_messages, small_message_bytes;
    uint32_t ranks;
    track_id late[ADVICE_SUM_COUNT]; /* of waits: the lane that was waited for most */

    uint64_t samples, samples_with_stack, samples_broken;
    int64_t cpu_ns;
    string_id hot;
    int64_t hot_ns;

    track_id busiest_main;  /* the main thread that used the CPU most; TRACK_NONE: not known */
    int64_t busiest_cpu_ns; /* of its process */
    int64_t beside_ns;      /* of its waits: another thread of its process had work */
    int64_t explained_ns;   /* and these together with those in traced calls, which other rules look at */

    uint64_t lost, seen;
    string_id lost_source;
};

/* Fillers: each sets `have` and `missing` of its needs. 0 or -errno. */
int advice_read_sums(struct advice_facts *facts, struct error *err);    /* from what traces store */
int advice_read_samples(struct advice_facts *facts, struct error *err);
int advice_read_switches(struct advice_facts *facts, struct error *err);
int advice_read_blocked(struct advice_facts *facts, struct error *err); /* after samples and switches */
void advice_read_ledger(struct advice_facts *facts);
int advice_survey(struct advice_facts *facts, const struct progress *progress, struct error *err);
int advice_read_waits(struct advice_facts *facts, const struct progress *progress, struct error *err);

void advice_sum_add(struct advice_facts *facts, enum advice_sum sum, uint32_t track, int64_t time_ns);
/* The track that has most; false where nobody has any. */
bool advice_sum_most(const struct advice_facts *facts, enum advice_sum sum, uint32_t *ret_track, int64_t *ret_ns);

/* Fills an advice, and says whether it holds; bound_ns and share_percent decide the rest. */
typedef bool (*advice_judge)(const struct advice_facts *facts, struct advice *advice);
void advice_evidence(struct advice *advice, const char *name, const char *unit, double value);
double advice_percent(double part, double whole);
void advice_bound_by(const struct advice_facts *facts, struct advice *advice, int64_t bound_ns); /* and its share of the run */
bool advice_by_lane(const struct advice_facts *facts, enum advice_sum sum, struct advice *advice); /* bound by the lane that has most; false: nobody has any */
void advice_about_longest(const struct advice_facts *facts, enum advice_sum sum, struct advice *advice); /* names what has most */
bool advice_by_lane_and_name(const struct advice_facts *facts, enum advice_sum sum, struct advice *advice); /* both */
#define ADVICE_RULE(enumerator, id, need, threshold, basis, title, reason, bound, remedy)                                              \
    bool advice_judge_##enumerator(const struct advice_facts *facts, struct advice *advice);
#include "advice_rules.def"

#endif
