/* SPDX-License-Identifier: MIT */
/* A signal descriptor instead of handlers: dispositions stay as they were, for the target to inherit. */
#include "record_signals.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FORWARD_AFTER_NS = 200000000, LOOK_AGAIN_NS = 20000000 };

/* Job schedulers announce a time limit by SIGUSR1 or SIGUSR2; an alarm set before us was meant for the program. */
static const int forwarded[FORWARDED_SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM};

void record_signals_set(sigset_t *ret_set)
{
    sigemptyset(ret_set);
    for (int index = 0; index < FORWARDED_SIGNALS; index++)
        sigaddset(ret_set, forwarded[index]);
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

/* A terminal's signal has reached the target already; an alarm of ours is never the terminal's. */
static bool is_for_target(const struct record_signals *signals, const struct signalfd_siginfo *info, pid_t target)
{
    bool sent_by_process = info->ssi_code <= 0; /* SI_USER, SI_QUEUE, SI_TKILL; the kernel's own are positive */
    bool missed = sent_by_process ? info->ssi_pid != (uint32_t)target : signals->own_terminal;
    return missed || info->ssi_signo == SIGALRM;
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
        for (int index = 0; index < FORWARDED_SIGNALS; index++)
            if (forwarded[index] == (int)info.ssi_signo && !signals->forward_ns[index] && is_for_target(signals, &info, target))
                signals->forward_ns[index] = now_ns + FORWARD_AFTER_NS;
        signals->interrupted = true;
        signals->asked_to_end |= info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP;
    }
    return child;
}

void record_signals_forward(struct record_signals *signals, pid_t target, int64_t now_ns)
{
    for (int index = 0; index < FORWARDED_SIGNALS; index++) {
        if (!signals->forward_ns[index] || now_ns < signals->forward_ns[index])
            continue;
        if (target > 0)
            kill(target, forwarded[index]);
        signals->forward_ns[index] = 0;
    }
}

int64_t record_signals_due_ns(const struct record_signals *signals)
{
    int64_t due_ns = INT64_MAX;
    for (int index = 0; index < FORWARDED_SIGNALS; index++)
        if (signals->forward_ns[index] && signals->forward_ns[index] < due_ns)
            due_ns = signals->forward_ns[index];
    return due_ns;
}

/* Letter of the process's state; 0 = gone. No stdio: the watcher below is the fork of a program with threads. */
static char process_state(const char *stat_path)
{
    char line[512];
    int fd = open(stat_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t size = read(fd, line, sizeof(line) - 1);
    close(fd);
    line[size > 0 ? size : 0] = '\0';
    const char *name_end = strrchr(line, ')');
    return name_end && name_end[1] ? name_end[2] : 0;
}

static void pause_ns(long ns)
{
    struct timespec moment = {0, ns};
    nanosleep(&moment, NULL);
}

/* A shell's `fg` continues us both; somebody's kill -CONT of the target alone must continue us too. */
static _Noreturn void watch_stopped(const char *stat_path, pid_t recorder)
{
    do
        pause_ns(LOOK_AGAIN_NS);
    while (process_state(stat_path) == 'T' && getppid() == recorder);
    if (getppid() == recorder)
        kill(recorder, SIGCONT);
    _exit(0);
}

void record_signals_follow_stop(pid_t target)
{
    char stat_path[64];
    snprintf(stat_path, sizeof(stat_path), "/proc/%d/stat", (int)target);
    /* The report may be older than a continue that came to both of us: look whether it is still so. */
    pause_ns(LOOK_AGAIN_NS);
    if (process_state(stat_path) != 'T')
        return;
    pid_t recorder = getpid(), watcher = fork();
    if (watcher == 0)
        watch_stopped(stat_path, recorder);
    if (watcher < 0)
        return; /* without a watcher we could sleep for ever: rather miss the shell */
    kill(recorder, SIGSTOP);
    kill(watcher, SIGKILL);
    waitpid(watcher, NULL, 0);
}
