/* SPDX-License-Identifier: MIT */
/* The last step down: no sampling events from the kernel, so the target's own timers sample it through the runtime library. */
#ifndef HP_RECORD_TIMERS_H
#define HP_RECORD_TIMERS_H

#include "recording.h"
#include "session.h"

#include <sys/types.h>

/* Tells the runtime in the target what to sample. */
void record_timers_set(struct session_options *session, const struct record_options *options);
/* The life of the target itself, which no kernel record tells of here. */
void record_timers_begin(struct recording *recording, pid_t pid, const char *command);
/* After the exec: says it when the target cannot be sampled this way. */
void record_timers_check(struct recording *recording, pid_t pid);
void record_timers_end(struct recording *recording, const struct record_options *options, bool timers, pid_t pid, int wait_status);

#endif
