/* SPDX-License-Identifier: MIT */
/* Every way to end. */
#include "actions.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int end_exit(char **words)
{
    exit(atoi(words[0]));
}

static int end_exit_now(char **words)
{
    _exit(atoi(words[0]));
}

/* The bare system call, which ends this thread only. */
static int end_exit_thread(char **words)
{
    syscall(SYS_exit, atoi(words[0]));
    return 0;
}

static int end_quick(char **words)
{
    quick_exit(atoi(words[0]));
}

static void say_goodbye(void)
{
    puts("goodbye");
}

static int end_atexit(char **words)
{
    atexit(say_goodbye);
    return act(words);
}

static int end_fault(char **words)
{
    *(volatile int *)(void *)16 = 1;
    return 0;
}

static int end_illegal(char **words)
{
    __builtin_trap();
}

static int end_abort(char **words)
{
    abort();
}

static int end_kill(char **words)
{
    kill(getpid(), atoi(words[0]));
    return act(words + 1);
}

static volatile char deep_sink;

/* The limit keeps compilers from calling it endless; the stack ends long before. */
__attribute__((noinline)) static int recurse(unsigned depth)
{
    volatile char frame[4096];
    memset((char *)frame, (int)depth, sizeof frame);
    deep_sink = frame[depth % sizeof frame];
    return depth == UINT_MAX ? 0 : recurse(depth + 1) + frame[0];
}

static int end_overflow(char **words)
{
    return recurse(1);
}

static void *act_in_thread(void *words)
{
    burn(5);
    exit(act(words));
}

/* in-thread REST: the rest of the sentence runs in a second thread while main waits. */
static int end_in_thread(char **words)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, act_in_thread, words))
        give_up("pthread_create");
    pthread_join(thread, NULL);
    return 0;
}

/* main-leaves REST: main ends, the second thread lives on with the rest. */
static int end_main_leaves(char **words)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, act_in_thread, words))
        give_up("pthread_create");
    pthread_detach(thread);
    pthread_exit(NULL);
}

const struct action ending_actions[] = {
    {"exit", 1, end_exit},          {"_exit", 1, end_exit_now},   {"exit-thread", 1, end_exit_thread},
    {"quick-exit", 1, end_quick},   {"atexit", 0, end_atexit},    {"segfault", 0, end_fault},
    {"illegal", 0, end_illegal},    {"abort", 0, end_abort},      {"kill-self", 1, end_kill},
    {"overflow", 0, end_overflow},  {"in-thread", 0, end_in_thread}, {"main-leaves", 0, end_main_leaves},
    {0},
};
