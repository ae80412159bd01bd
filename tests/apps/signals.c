/* SPDX-License-Identifier: MIT */
/* Programs that use signals and timers themselves. */
#include "actions.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t caught[65];

static void catch(int signal)
{
    caught[signal]++;
}

static void install(int signal, int flags)
{
    struct sigaction handler = {.sa_handler = catch, .sa_flags = flags};
    sigemptyset(&handler.sa_mask);
    if (sigaction(signal, &handler, NULL))
        give_up("sigaction");
}

/* await SIGNAL MS REST: says "ready", waits for the signal, and how often it came within MS after the first. */
static int await(char **words)
{
    int signal = atoi(words[0]);
    install(signal, 0);
    printf("ready\n");
    fflush(stdout);
    for (int tries = 0; !caught[signal] && tries < 10000; tries++)
        usleep(1000);
    long ms = atol(words[1]);
    struct timespec rest = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&rest, &rest) < 0 && errno == EINTR)
        ;
    printf("caught %d\n", (int)caught[signal]);
    return act(words + 2);
}

/* profiling-timer MS REST: the program's own SIGPROF timer must tick as if it were alone. */
static int profiling_timer(char **words)
{
    install(SIGPROF, SA_RESTART);
    struct itimerval every = {{0, 10000}, {0, 10000}};
    if (setitimer(ITIMER_PROF, &every, NULL))
        give_up("setitimer");
    unsigned ms = (unsigned)atoi(words[0]);
    burn(ms);
    memset(&every, 0, sizeof every);
    setitimer(ITIMER_PROF, &every, NULL);
    int expected = (int)ms / 10;
    printf("profiling timer: %s\n", caught[SIGPROF] >= expected / 2 && caught[SIGPROF] <= expected * 3 / 2 + 1 ? "kept time" : "is off");
    return act(words + 1);
}

/* alarm REST: SIGALRM by alarm-like timer, interrupting a sleep. */
static int alarm_action(char **words)
{
    install(SIGALRM, 0);
    struct itimerval once = {{0, 0}, {0, 50000}};
    setitimer(ITIMER_REAL, &once, NULL);
    int result = usleep(900000);
    printf("alarm: %s, caught %d\n", result < 0 && errno == EINTR ? "interrupted" : "slept through", (int)caught[SIGALRM]);
    return act(words);
}

/* posix-timer REST: a timer of timer_create with an own signal. */
static int posix_timer(char **words)
{
    int number = SIGRTMIN + 1;
    install(number, 0);
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = number};
    struct itimerspec every = {{0, 10000000}, {0, 10000000}};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &every, NULL))
        give_up("timer_create");
    while (caught[number] < 5)
        usleep(1000);
    timer_delete(timer);
    printf("posix timer: 5 ticks\n");
    return act(words);
}

/* child-handler N REST: N children, each reaped after a SIGCHLD; nobody else's child is ever seen. */
static int child_handler(char **words)
{
    install(SIGCHLD, SA_RESTART);
    int count = atoi(words[0]), reaped = 0;
    for (int child = 0; child < count; child++)
        if (fork() == 0) {
            burn(2);
            _exit(7);
        }
    while (reaped < count) {
        int status;
        pid_t child = waitpid(-1, &status, 0);
        if (child < 0)
            give_up("waitpid");
        if (WIFEXITED(status) && WEXITSTATUS(status) == 7)
            reaped++;
        else
            printf("a stranger's child: %d\n", status);
    }
    printf("children: %d, SIGCHLD %s, more: %s\n", reaped, caught[SIGCHLD] ? "came" : "never came",
           waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD ? "none" : "some");
    return act(words + 1);
}

/* sigwait REST: blocks a signal, sends it to itself, takes it synchronously. */
static int sigwait_action(char **words)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    kill(getpid(), SIGUSR1);
    int number = 0;
    sigwait(&set, &number);
    printf("sigwait: %s\n", number == SIGUSR1 ? "SIGUSR1" : "another");
    return act(words);
}

/* crash-handler REST: a SIGSEGV handler on a stack of its own ends the program with status 42, as crash reporters do. */
static void crash_reporter(int signal)
{
    _exit(42);
}

static int own_crash_handler(char **words)
{
    static char stack[65536];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction handler = {.sa_handler = crash_reporter, .sa_flags = SA_ONSTACK};
    sigemptyset(&handler.sa_mask);
    if (sigaltstack(&alternate, NULL) || sigaction(SIGSEGV, &handler, NULL))
        give_up("sigaltstack");
    return act(words);
}

const struct action signal_actions[] = {
    {"await", 2, await},
    {"profiling-timer", 1, profiling_timer},
    {"alarm", 0, alarm_action},
    {"posix-timer", 0, posix_timer},
    {"child-handler", 1, child_handler},
    {"sigwait", 0, sigwait_action},
    {"crash-handler", 0, own_crash_handler},
    {0},
};
