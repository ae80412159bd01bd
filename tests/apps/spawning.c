/* SPDX-License-Identifier: MIT */
/* Every way to make another process or become another program. */
#include "actions.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* What the child came to, in words that do not differ from run to run. */
static void tell_status(const char *how, pid_t child)
{
    int status;
    if (waitpid(child, &status, 0) != child)
        give_up("waitpid");
    if (WIFEXITED(status))
        printf("%s: exit %d\n", how, WEXITSTATUS(status));
    else
        printf("%s: signal %d\n", how, WTERMSIG(status));
    fflush(stdout);
}

/* exec PROGRAM ARGS: becomes another program, found by PATH. */
static int become(char **words)
{
    fflush(stdout);
    execvp(words[0], words);
    give_up(words[0]);
}

/* again REST: this program anew, with the rest. */
static char **again_words(char **words)
{
    size_t count = 0;
    while (words[count])
        count++;
    char **argv = calloc(count + 2, sizeof *argv);
    if (!argv)
        give_up("calloc");
    argv[0] = (char *)(size_t)self_path;
    memcpy(argv + 1, words, count * sizeof *argv);
    return argv;
}

static int again(char **words)
{
    execv("/proc/self/exe", again_words(words));
    give_up("exec of itself");
}

/* exec-chain N REST: N execs of itself, then the rest. */
static int exec_chain(char **words)
{
    int left = atoi(words[0]);
    char number[16];
    if (left == 0)
        return act(words + 1);
    snprintf(number, sizeof number, "%d", left - 1);
    words[0] = number;
    char **argv = again_words(words - 1);
    execv("/proc/self/exe", argv);
    give_up("exec of itself");
}

/* fork REST: a child runs the rest, the parent tells its end. */
static int fork_action(char **words)
{
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        give_up("fork");
    if (child == 0)
        exit(act(words));
    tell_status("fork", child);
    return 0;
}

/* vfork PROGRAM ARGS. */
static int vfork_action(char **words)
{
    pid_t child = vfork();
    if (child < 0)
        give_up("vfork");
    if (child == 0) {
        execvp(words[0], words);
        _exit(96);
    }
    tell_status("vfork", child);
    return 0;
}

static int spawn_action(char **words)
{
    pid_t child;
    if (posix_spawnp(&child, words[0], NULL, NULL, words, environ))
        give_up("posix_spawn");
    tell_status("spawn", child);
    return 0;
}

static int system_action(char **words)
{
    int status = system(words[0]);
    printf("system: %s %d\n", WIFEXITED(status) ? "exit" : "signal", WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    return 0;
}

/* crowd N MS: N children at once, forked as the first thing, each burning MS. */
static int crowd(char **words)
{
    int count = atoi(words[0]);
    for (int child = 0; child < count; child++)
        if (fork() == 0) {
            burn((unsigned)atoi(words[1]));
            _exit(child & 127);
        }
    int status, sum = 0;
    while (wait(&status) > 0)
        sum += WEXITSTATUS(status);
    printf("crowd: %d\n", sum);
    return act(words + 2);
}

/* daemon FILE MS REST: a daemon burns MS and writes FILE; the rest is done by the first process meanwhile. */
static int daemonise(char **words)
{
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        give_up("fork");
    if (child > 0) {
        waitpid(child, NULL, 0);
        return act(words + 2);
    }
    setsid();
    if (fork() > 0)
        _exit(0);
    int null = open("/dev/null", O_RDWR);
    for (int descriptor = 0; descriptor < 3; descriptor++)
        dup2(null, descriptor);
    burn((unsigned)atoi(words[1]));
    char partial[4096];
    snprintf(partial, sizeof partial, "%s.part", words[0]);
    int file = open(partial, O_CREAT | O_WRONLY, 0600);
    if (file < 0 || write(file, "done\n", 5) != 5 || rename(partial, words[0]) < 0)
        _exit(1);
    _exit(0);
}

/* traced REST: a child runs the rest under our ptrace, stopping at its exec; the stops are counted. */
static int traced(char **words)
{
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        give_up("fork");
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execv("/proc/self/exe", again_words(words));
        _exit(96);
    }
    int status, stops = 0;
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        stops++;
        int signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
        ptrace(PTRACE_CONT, child, NULL, (void *)(size_t)signal);
    }
    printf("traced: %d stops, %s %d\n", stops, WIFEXITED(status) ? "exit" : "signal",
           WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    return 0;
}

const struct action spawning_actions[] = {
    {"exec", 1, become},         {"again", 0, again},           {"exec-chain", 1, exec_chain}, {"fork", 0, fork_action},
    {"vfork", 1, vfork_action},  {"spawn", 1, spawn_action},    {"system", 1, system_action},  {"crowd", 2, crowd},
    {"daemon", 2, daemonise},    {"traced", 0, traced},         {0},
};
