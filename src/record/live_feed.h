/* SPDX-License-Identifier: MIT */
/* A thread that follows the recording at idle priority and makes snapshots of its trace. */
#ifndef HP_RECORD_LIVE_FEED_H
#define HP_RECORD_LIVE_FEED_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>

struct error;
struct live_feed;
struct trace;

/* changed_fd: an eventfd, counted up when there is a newer snapshot. */
int live_feed_create(const char *session_directory, int changed_fd, struct live_feed **ret_feed, struct error *err);
/* No more snapshots are wanted. Does not wait. */
void live_feed_stop(struct live_feed *feed);
/* False: on a machine that is busy to the last processor the thread has not come to an end yet; it and what it uses, changed_fd too, stay
 * as they are until the process ends. */
bool live_feed_destroy(struct live_feed *feed);
struct trace *live_feed_take(struct live_feed *feed);          /* the newest, the caller's; NULL: none newer than the last */
int64_t live_feed_time_ns(const struct live_feed *feed);       /* CLOCK_MONOTONIC up to which the newest one tells; -1: there is none */
const char *live_feed_problem(const struct live_feed *feed);   /* why no more come; NULL: they do */

#endif
