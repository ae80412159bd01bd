/* SPDX-License-Identifier: MIT */
/* A signal descriptor instead of handlers: dispositions stay as they were, for the target to inherit. */
#include "record_signals.h"

#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum { FORWARD_AFTER_NS = 200000000 };

void record_signals_set(sigset_t *ret_set)
{
    sigemptyset(ret_set);
    sigaddset(ret_set, SIGINT);
    sigaddset(ret_set, SIGTERM);
    sigaddset(ret_set, SIGHUP);
    sigaddset(ret_set, SIGQUIT);
    sigaddset(ret_set, SIGCHLD);
}

int record_signals_open(struct record_signals *signals)
{
    sigset_t set;
    record_signals_set(&set);
    *signals = (struct record_signals){.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)};
    return signals->fd < 0 ? -1 : 0;
}

void record_signals_close(struct record_signals *signals)
{
    if (signals->fd >= 0)
        close(signals->fd);
    signals->fd = -1;
}

bool record_signals_read(struct record_signals *signals, pid_t target, int64_t now_ns)
{
    struct signalfd_siginfo info;
    bool child = false;
    while (read(signals->fd, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGCHLD) {
            child = true;
            continue;
        }
        bool sent_by_process = info.ssi_code <= 0; /* SI_USER, SI_QUEUE, SI_TKILL; the kernel's own are positive */
        if (sent_by_process && info.ssi_pid != (uint32_t)target) {
            signals->give_up = signals->interrupted && signals->forward == 0;
            signals->forward = (int)info.ssi_signo;
            signals->forward_ns = now_ns + FORWARD_AFTER_NS;
        }
        signals->interrupted = true;
    }
    return child;
}

void record_signals_forward(struct record_signals *signals, pid_t target, int64_t now_ns)
{
    if (!signals->forward || now_ns < signals->forward_ns)
        return;
    if (target > 0)
        kill(target, signals->forward);
    signals->forward = 0;
}

static char process_state(pid_t pid)
{
    char path[64], line[512];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    const char *name_end = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
    fclose(file);
    return name_end ? name_end[2] : 0;
}

void record_signals_follow_stop(pid_t target, int stop_signal)
{
    if (stop_signal != SIGTSTP && stop_signal != SIGTTIN && stop_signal != SIGTTOU)
        return; /* somebody's kill -STOP: no affair of our shell */
    /* The report may be older than a continue that came to both of us: look whether it is still so. */
    struct timespec moment = {0, 20000000};
    nanosleep(&moment, NULL);
    if (process_state(target) == 'T')
        kill(getpid(), SIGSTOP);
}
