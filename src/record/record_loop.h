/* SPDX-License-Identifier: MIT */
/* Waiting while the target runs: rings, signals, the target's end, and the times of --delay and --duration. */
#ifndef HP_RECORD_LOOP_H
#define HP_RECORD_LOOP_H

#include "live.h"
#include "record.h"
#include "record_signals.h"
#include "recording.h"
#include "resident.h"
#include "sampler.h"
#include "session.h"

struct record_loop {
    struct session *session;
    struct recording *recording;
    struct sampler *sampler;     /* NULL: the kernel refuses sampling, or none was asked for */
    struct resident *resident;   /* NULL: not read */
    struct record_signals signals;
    struct live *live;           /* who watches; NULL = nobody */
    pid_t pid;
    int process_fd;              /* of the target; -1 = none */
    bool child;                  /* it is ours: waited for, and stopped with */
    bool attached;               /* the recording ends with --duration or a signal, the target goes on */
    int64_t begin_ns, end_ns;    /* recording is on between these; end_ns INT64_MAX = no end */
    bool on;
    int wait_status;             /* of the target once it has ended; -1 before */
    uint64_t peak_bytes;         /* then: the most that was resident of it, or of a process it waited for; 0 = unknown */
};

/* Returns when the target has ended, or earlier as the flags say. */
void record_loop_run(struct record_loop *loop);

#endif
