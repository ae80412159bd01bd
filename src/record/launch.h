/* SPDX-License-Identifier: MIT */
/* Starting the target as its user would: same descriptors, signals, terminal, limits, directory; held at a gate until events are set. */
#ifndef HP_RECORD_LAUNCH_H
#define HP_RECORD_LAUNCH_H

#include "target_terminal.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct error;

/* Our own state as it was before we changed it: what the target must find. */
struct launch_state {
    sigset_t signal_mask;
    struct sigaction child_action; /* of SIGCHLD: ignored by some parents, and we need it */
    struct rlimit descriptors;
};

/* Notes the state, blocks the signals that a signal descriptor will read, and makes SIGCHLD work. */
int launch_state_enter(struct launch_state *state, const sigset_t *block, struct error *err);
void launch_state_leave(const struct launch_state *state);

struct launched {
    pid_t pid;
    int process_fd; /* readable when it has ended; -1 = none (kernel before 5.3) */
    int gate_fd, report_fd;
};
#define LAUNCHED_INIT {.pid = -1, .process_fd = -1, .gate_fd = -1, .report_fd = -1}

/* Forks; the child waits at the gate. environment NULL = ours. terminal: its own one; NULL = ours, with our process group. */
int launch_prepare(const struct launch_state *state, char *const argv[], char *const environment[], struct target_terminal *terminal,
                   struct launched *ret_launched, struct error *err);
/* Opens the gate: the child execs. 0 with *ret_exec_errno 0, or the errno of the exec, the child being gone then. */
int launch_go(struct launched *launched, int *ret_exec_errno, struct error *err);
/* Before launch_go: gives up the child. After it: closes descriptors. */
void launch_finish(struct launched *launched);

#endif
