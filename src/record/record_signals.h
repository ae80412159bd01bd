/* SPDX-License-Identifier: MIT */
/* Signals to the recorder while a target runs: what each means, and what is passed on. */
#ifndef HP_RECORD_SIGNALS_H
#define HP_RECORD_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct record_signals {
    int fd;
    bool interrupted;      /* somebody asked us to end */
    bool give_up;          /* twice: end without waiting for the target */
    int forward;           /* signal to pass on once forward_ns has come; 0 = none */
    int64_t forward_ns;
};

/* SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGCHLD. */
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
/* After Ctrl-Z or the like stopped the target alone: stops us too, so that our shell sees it. */
void record_signals_follow_stop(pid_t target, int stop_signal);

#endif
