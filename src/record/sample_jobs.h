/* SPDX-License-Identifier: MIT */
/* From a kernel sample to a sample in the spool: its addresses or its stack copy become a path in the tree of stacks. */
#ifndef HP_RECORD_SAMPLE_JOBS_H
#define HP_RECORD_SAMPLE_JOBS_H

#include "module_log.h"
#include "recording.h"
#include "sample/perf_record.h"
#include "tasks.h"
#include "unwind_pool.h"

struct sample_jobs;

int sample_jobs_create(struct recording *recording, struct module_log *modules, struct sample_jobs **ret_jobs,
                       struct error *err);
void sample_jobs_destroy(struct sample_jobs *jobs);
DEFINE_CLEANUP(struct sample_jobs *, sample_jobs_destroy)

/* What is known of a sample besides its stack. */
struct sample_facts {
    pid_t pid, tid;
    int64_t time_ns, weight;
    uint16_t cpu;
    uint8_t event, flags;
};

/* A stack copy is taken out of the ring at once, into a job that waits for its turn in time. NULL: none, or no memory. */
struct unwind_job *sample_jobs_copy(const struct sampling_plan *plan, const struct perf_sample_record *sample);
/* A sample with its chain of addresses: done at once. */
void sample_jobs_chain(struct sample_jobs *jobs, const struct sample_facts *facts, struct task_process *process,
                       const struct perf_sample_record *sample);
/* A sample with a stack copy: to the workers, or to disk. Takes the job. */
void sample_jobs_submit(struct sample_jobs *jobs, const struct sample_facts *facts, struct task_process *process,
                        struct unwind_job *job);
/* Collects finished stacks and packs what has waited since before_ns. */
void sample_jobs_collect(struct sample_jobs *jobs, int64_t before_ns);
size_t sample_jobs_pending(const struct sample_jobs *jobs);

#endif
