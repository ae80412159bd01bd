/* SPDX-License-Identifier: MIT */
/* Prints all that a program inherits and could notice a profiler by; two equal runs print the same. */
#include "actions.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* descriptors: number, kind of file, flags. Names are left out: each pipe and session has its own. */
static void report_descriptors(void)
{
    for (int descriptor = 0; descriptor < 1024; descriptor++) {
        int status = fcntl(descriptor, F_GETFL), flags = fcntl(descriptor, F_GETFD);
        struct stat file;
        if (status < 0 || fstat(descriptor, &file))
            continue;
        printf("descriptor %d: type %o flags %o/%o tty %d\n", descriptor, file.st_mode & S_IFMT, (unsigned)status,
               (unsigned)flags, isatty(descriptor));
    }
}

static void report_limits(void)
{
    for (int resource = 0; resource < 16; resource++) {
        struct rlimit limit;
        if (!getrlimit(resource, &limit))
            printf("limit %d: %llu %llu\n", resource, (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
    }
}

/*
 * Signals 32 and 33 are the C library's own, which no program can see or set. Any program with threads that starts another
 * one hands on what its C library made of them, ignored or not: left out of the comparison.
 */
static void print_status(const char *line)
{
    unsigned long long set;
    if (sscanf(line, "SigIgn: %llx", &set) == 1)
        printf("SigIgn:\t%016llx\n", set & ~(3ULL << 31));
    else
        fputs(line, stdout);
}

/* Signal sets, capabilities, affinity and the like, as the kernel says them. */
static void report_kernel_status(void)
{
    static const char *const wanted[] = {"Name:",   "Umask:",  "Uid:",    "Gid:",    "Groups:",  "Threads:", "SigPnd:",
                                         "ShdPnd:", "SigBlk:", "SigIgn:", "SigCgt:", "CapInh:",  "CapPrm:",  "CapEff:",
                                         "CapBnd:", "CapAmb:", "NoNewPrivs:", "Seccomp:", "Cpus_allowed:", "Mems_allowed:",
                                         "TracerPid:"};
    FILE *file = fopen("/proc/self/status", "re");
    char line[4096];
    while (file && fgets(line, sizeof line, file))
        for (size_t index = 0; index < sizeof wanted / sizeof *wanted; index++)
            if (!strncmp(line, wanted[index], strlen(wanted[index])))
                print_status(line);
    if (file)
        fclose(file);
}

static void report_file(const char *path)
{
    FILE *file = fopen(path, "re");
    char line[4096];
    while (file && fgets(line, sizeof line, file))
        printf("%s: %s", path, line);
    if (file)
        fclose(file);
}

static void report_namespaces(void)
{
    static const char *const names[] = {"cgroup", "ipc", "mnt", "net", "pid", "user", "uts", "time"};
    for (size_t index = 0; index < sizeof names / sizeof *names; index++) {
        char path[64], target[128];
        snprintf(path, sizeof path, "/proc/self/ns/%s", names[index]);
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (length > 0)
            printf("namespace %.*s\n", (int)length, target);
    }
}

static void report_scheduling(void)
{
    printf("nice %d policy %d io %ld slack %d\n", getpriority(PRIO_PROCESS, 0), sched_getscheduler(0),
           (long)syscall(SYS_ioprio_get, 1, 0), prctl(PR_GET_TIMERSLACK));
    int death_signal = -1, subreaper = -1;
    prctl(PR_GET_PDEATHSIG, &death_signal);
    prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
    printf("dumpable %d death signal %d subreaper %d personality %x\n", prctl(PR_GET_DUMPABLE), death_signal, subreaper,
           (unsigned)personality(0xffffffff));
    for (int which = 0; which < 3; which++) {
        struct itimerval timer;
        getitimer(which, &timer);
        printf("timer %d: %s\n", which, timer.it_value.tv_sec || timer.it_value.tv_usec ? "armed" : "off");
    }
}

/* Files mapped into the process, without addresses and folders. */
static void report_mappings(void)
{
    FILE *file = fopen("/proc/self/maps", "re");
    char line[4096], last[4096] = "";
    while (file && fgets(line, sizeof line, file)) {
        char *slash = strrchr(line, '/');
        if (slash && strcmp(slash, last)) {
            printf("mapped %s", slash + 1);
            snprintf(last, sizeof last, "%s", slash);
        }
    }
    if (file)
        fclose(file);
}

static int report(char **words)
{
    char directory[4096];
    printf("cwd %s\n", getcwd(directory, sizeof directory) ? strrchr(directory, '/') + 1 : "gone");
    printf("argv0 %s child %d\n", self_path, (int)waitpid(-1, NULL, WNOHANG));
    report_descriptors();
    report_limits();
    report_kernel_status();
    report_namespaces();
    report_scheduling();
    report_file("/proc/self/oom_score_adj");
    report_file("/proc/self/cgroup");
    report_file("/proc/self/coredump_filter");
    report_mappings();
    return act(words);
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* environment REST: sorted, one a line. */
static int environment(char **words)
{
    size_t count = 0;
    while (environ[count])
        count++;
    qsort(environ, count, sizeof *environ, by_text);
    for (size_t index = 0; index < count; index++)
        puts(environ[index]);
    return act(words);
}

/* say TEXT REST: a line on each output, without stdio, whose errors are told in the exit status of the rest. */
static int say(char **words)
{
    size_t length = strlen(words[0]);
    int failed = 0;
    for (int descriptor = 1; descriptor <= 2; descriptor++)
        if (write(descriptor, words[0], length) != (ssize_t)length || write(descriptor, "\n", 1) != 1)
            failed |= descriptor;
    int result = act(words + 1);
    return failed ? 60 + failed : result;
}

/* need-root REST: for the setuid copy. */
static int need_root(char **words)
{
    printf("real %u effective %u\n", getuid(), geteuid());
    return act(words);
}

const struct action report_actions[] = {
    {"report", 0, report}, {"environment", 0, environment}, {"say", 1, say}, {"ids", 0, need_root}, {0},
};
