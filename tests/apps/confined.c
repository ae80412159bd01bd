/* SPDX-License-Identifier: MIT */
/* Programs that shut themselves in: descriptors closed, another root, fewer rights, limits, filters, namespaces. */
#include "actions.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#if __has_include(<linux/seccomp.h>)
#include <linux/filter.h>
#include <linux/seccomp.h>
#define HAVE_SECCOMP 1
#endif

/* closefrom N REST */
static int close_all(char **words)
{
    long limit = sysconf(_SC_OPEN_MAX);
    for (int descriptor = atoi(words[0]); descriptor < (limit > 65536 ? 65536 : limit); descriptor++)
        close(descriptor);
    int first = open("/dev/null", O_RDONLY);
    int outcome = first == atoi(words[0]) || first < 0;
    close(first);
    if (!outcome)
        give_up("a descriptor survived closing all");
    return act(words + 1);
}

static int change_root(char **words)
{
    mkdir(words[0], 0755);
    if (chroot(words[0]) || chdir("/"))
        give_up("chroot");
    return act(words + 1);
}

static int drop_privileges(char **words)
{
    unsigned id = (unsigned)atoi(words[0]);
    if (setgroups(0, NULL) || setresgid(id, id, id) || setresuid(id, id, id))
        give_up("setresuid");
    return act(words + 1);
}

/* limit NAME SOFT REST */
static int limit(char **words)
{
    static const struct {
        const char *name;
        int resource;
    } names[] = {{"fsize", RLIMIT_FSIZE}, {"nofile", RLIMIT_NOFILE}, {"as", RLIMIT_AS},     {"nproc", RLIMIT_NPROC},
                 {"cpu", RLIMIT_CPU},     {"stack", RLIMIT_STACK},   {"core", RLIMIT_CORE}, {"memlock", RLIMIT_MEMLOCK}};
    for (size_t index = 0; index < sizeof names / sizeof *names; index++) {
        if (strcmp(names[index].name, words[0]))
            continue;
        struct rlimit value = {(rlim_t)atoll(words[1]), (rlim_t)atoll(words[1])};
        if (setrlimit(names[index].resource, &value))
            give_up("setrlimit");
        return act(words + 2);
    }
    errno = EINVAL;
    give_up(words[0]);
}

/* write-file NAME BYTES REST: says how far it came. */
static int write_file(char **words)
{
    int file = open(words[0], O_CREAT | O_WRONLY | O_TRUNC, 0600);
    if (file < 0)
        give_up(words[0]);
    long done = 0, wanted = atol(words[1]);
    while (done < wanted) {
        ssize_t wrote = write(file, "................................................................", 64);
        if (wrote <= 0)
            break;
        done += wrote;
    }
    printf("wrote %ld\n", done);
    close(file);
    return act(words + 2);
}

#ifdef HAVE_SECCOMP
static void filter_install(uint32_t forbidden_action)
{
    const unsigned number = offsetof(struct seccomp_data, nr);
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_timer_create, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, forbidden_action),
    };
    struct sock_fprog filter = {sizeof program / sizeof *program, program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        give_up("seccomp");
}

/* seccomp kill|errno|strict REST: openat, perf_event_open, timer_create and bpf kill the process or fail; strict leaves
 * read, write and exit only, and the rest of the sentence must make do with them. */
static int confine(char **words)
{
    if (!strcmp(words[0], "kill"))
        filter_install(SECCOMP_RET_KILL_PROCESS);
    else if (!strcmp(words[0], "errno"))
        filter_install(SECCOMP_RET_ERRNO | EPERM);
    else if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
        give_up("strict seccomp");
    return act(words + 1);
}
#endif

static volatile unsigned long spin_sink;

/* spin TURNS REST: CPU time without any system call. */
static int spin(char **words)
{
    for (long turn = atol(words[0]); turn > 0; turn--)
        spin_sink = spin_sink * 3 + (unsigned long)turn;
    return act(words + 1);
}

static void say_in_map(const char *path, const char *text)
{
    int file = open(path, O_WRONLY);
    if (file >= 0) {
        if (write(file, text, strlen(text)) < 0)
            perror(path);
        close(file);
    }
}

/* unshare pid|mount|user|time|net|all REST: a child in the new namespaces runs the rest. */
static int unshare_action(char **words)
{
    static const struct {
        const char *name;
        int flags;
    } kinds[] = {{"pid", CLONE_NEWPID},   {"mount", CLONE_NEWNS}, {"user", CLONE_NEWUSER}, {"time", 0x80 /* CLONE_NEWTIME */},
                 {"net", CLONE_NEWNET},   {"all", CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWNET | 0x80}};
    int flags = 0;
    for (size_t index = 0; index < sizeof kinds / sizeof *kinds; index++)
        if (!strcmp(kinds[index].name, words[0]))
            flags = kinds[index].flags;
    if (unshare(flags))
        give_up("unshare");
    if (flags & 0x80)
        say_in_map("/proc/self/timens_offsets", "monotonic 100000 0\nboottime 100000 0\n");
    if (flags & CLONE_NEWUSER)
        say_in_map("/proc/self/uid_map", "0 0 1\n");
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        give_up("fork");
    if (child == 0)
        exit(act(words + 1));
    int status;
    if (waitpid(child, &status, 0) != child)
        give_up("waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* hide-tmp REST: an empty file system over /tmp, as sandboxes have it; needs a mount namespace of its own. */
static int hide_tmp(char **words)
{
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("none", "/tmp", "tmpfs", 0, NULL))
        give_up("mount");
    return act(words);
}

/* undumpable REST: as programs with secrets do; /proc/PID then belongs to root. */
static int undumpable(char **words)
{
    if (prctl(PR_SET_DUMPABLE, 0))
        give_up("prctl");
    return act(words);
}

const struct action confined_actions[] = {
    {"closefrom", 1, close_all},     {"chroot", 1, change_root}, {"drop", 1, drop_privileges}, {"limit", 2, limit},
    {"write-file", 2, write_file},   {"spin", 1, spin},          {"unshare", 1, unshare_action}, {"hide-tmp", 0, hide_tmp},
    {"undumpable", 0, undumpable},
#ifdef HAVE_SECCOMP
    {"seccomp", 1, confine},
#endif
    {0},
};
