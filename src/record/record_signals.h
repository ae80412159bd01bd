/* SPDX-License-Identifier: MIT */
/* Signals to the recorder while a target runs: what each means, and what is passed on. */
#ifndef HP_RECORD_SIGNALS_H
#define HP_RECORD_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { FORWARDED_SIGNALS = 7 };

struct record_signals {
    int fd;
    bool interrupted;                      /* somebody asked us to end */
    bool asked_to_end;                     /* by SIGTERM or SIGHUP */
    bool own_terminal;                     /* the target has a terminal of its own: what ours sends us, it did not get */
    int64_t forward_ns[FORWARDED_SIGNALS]; /* when each is to be passed on, in the order of record_signals.c; 0 = not pending */
};

/* What would end us, or what `kill` sends to the program that was started: and SIGCHLD. */
void record_signals_set(sigset_t *ret_set);
int record_signals_open(struct record_signals *signals);
void record_signals_close(struct record_signals *signals);
/*
 * Reads what has come. A terminal's signal goes to the whole process group, so the target has it already. One that a
 * process sent may have gone to us only: it is passed on a little later, if the target is still there then. True when a child changed state.
 */
bool record_signals_read(struct record_signals *signals, pid_t target, int64_t now_ns);
/* Passes on what is due. */
void record_signals_forward(struct record_signals *signals, pid_t target, int64_t now_ns);
/* When the next one is due; INT64_MAX = none is pending. */
int64_t record_signals_due_ns(const struct record_signals *signals);
/* After the target has stopped: stops us too, as our shell waits for us only, until the target goes on. */
void record_signals_follow_stop(pid_t target);

#endif
