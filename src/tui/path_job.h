/* SPDX-License-Identifier: MIT */
/* The analysis behind the Critical Path tab, in a thread of its own while the UI goes on. */
#ifndef HP_TUI_PATH_JOB_H
#define HP_TUI_PATH_JOB_H

#include "view/path_list.h"

struct path_job;

struct path_result {
    struct path_report *report;
    struct path_blame blame;
};
void path_result_finish(struct path_result *result);

/* Finds the path in this thread. `filter`: the text of one, "" for all. */
int path_find(struct trace *trace, const char *filter, struct path_result *ret_result, struct error *err);

/* Likewise in another one. */
int path_job_start(struct trace *trace, const char *filter, struct path_job **ret_job, struct error *err);
/* Waits a moment, so that who draws its progress again and again doesn't keep a processor busy; true: it is done. */
bool path_job_wait(struct path_job *job, unsigned wait_ms);
/* What it does now, and how much of that is done; total 0: not known. */
void path_job_progress(struct path_job *job, char *what, size_t size, uint64_t *ret_done, uint64_t *ret_total, int64_t *ret_elapsed_ns);
/* What a job that is done found; the job is gone afterwards. */
int path_job_take(struct path_job *job, struct path_result *ret_result, struct error *err);
/* Nobody wants it any more: it ends as soon as it notices. NULL is allowed. */
void path_job_drop(struct path_job *job);

#endif
