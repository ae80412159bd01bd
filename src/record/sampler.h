/* SPDX-License-Identifier: MIT */
/* The sampling side of a recording: kernel events in, records in the spool out. One thread's. */
#ifndef HP_RECORD_SAMPLER_H
#define HP_RECORD_SAMPLER_H

#include "recording.h"
#include "sample/event_set.h"

struct sampler;

/* `recording` is the caller's, with spool, plan, log and times set; it outlives the sampler. */
int sampler_create(struct recording *recording, struct sampler **ret_sampler, struct error *err);
void sampler_destroy(struct sampler *sampler);
DEFINE_CLEANUP(struct sampler *, sampler_destroy)

/* Follows the target that is about to exec, or a process that runs, with every thread it has. */
int sampler_follow_target(struct sampler *sampler, pid_t pid, struct error *err);
int sampler_attach(struct sampler *sampler, pid_t pid, struct error *err);
int sampler_set_enabled(struct sampler *sampler, bool enabled);

int sampler_poll_fd(const struct sampler *sampler);
/* Reads the rings and hands on everything that is old enough to be in order. To be called every 100 ms at least. */
int sampler_round(struct sampler *sampler);
/* As task_table_pids. */
size_t sampler_pids(const struct sampler *sampler, pid_t *pids, size_t room);
/* The last round: everything; waits a little for unwinding and packs the rest. wait_status of the target, -1 = none. */
int sampler_end(struct sampler *sampler, pid_t pid, int wait_status, int directory_fd);

#endif
