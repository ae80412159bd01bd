/* SPDX-License-Identifier: MIT */
/* The calls that threads of a target are in, read from outside while it runs: it neither stops nor does anything for it. */
#ifndef HP_RECORD_OPEN_CALLS_H
#define HP_RECORD_OPEN_CALLS_H

#include "wire/session.h"

#include <sys/types.h>

/* Calls visit for each thread that has such calls. 0; -errno when the process is gone, may not be read, or visit says so. */
int open_calls_read(pid_t pid, const struct wire_process *process, int (*visit)(void *context, const struct wire_open_thread *thread), void *context);

#endif
