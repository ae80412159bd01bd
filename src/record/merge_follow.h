/* SPDX-License-Identifier: MIT */
/*
 * A trace that grows with its recording: what the recorder and the targets have written since the last round is read, and no more. What
 * must be known whole (messages, links of OpenMP, memory in use) is left to session_merge, which makes the recording's own trace
 * afterwards.
 */
#ifndef HP_RECORD_MERGE_FOLLOW_H
#define HP_RECORD_MERGE_FOLLOW_H

#include "base/cleanup.h"
#include "spool.h"

struct error;
struct merge_follow;
struct trace;

/* session_directory stays the caller's. `spool`: of the recorder in this process, flushed
 * before it is read; NULL: a round reads what was there at the last one, at least a fifth of a second ago. */
int merge_follow_create(const char *session_directory, struct spool *spool, struct merge_follow **ret_follow, struct error *err);
void merge_follow_destroy(struct merge_follow *follow);
DEFINE_CLEANUP(struct merge_follow *, merge_follow_destroy)

/* From any thread: a round that goes on ends soon, with -ECANCELED, and so do later ones. */
void merge_follow_cancel(struct merge_follow *follow);

/* Reads on. *ret_snapshot: what is known so far; NULL where nothing is new. After a failure it is of no more use. */
int merge_follow_round(struct merge_follow *follow, struct trace **ret_snapshot, struct error *err);

#endif
