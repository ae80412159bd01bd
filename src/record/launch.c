/* SPDX-License-Identifier: MIT */
/*
 * Two pipes: the gate (parent -> child, one byte: go) and the report (child -> parent: the errno of a failed exec; exec
 * itself closes it). The child stays in our process group: a terminal's signals and job control reach it as without us. With a
 * terminal of its own the child becomes that terminal's keeper, and the target is its younger brother.
 */
#include "launch.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int launch_state_enter(struct launch_state *state, const sigset_t *block, struct error *err)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};
    if (sigaction(SIGCHLD, &standard, &state->child_action) < 0 || getrlimit(RLIMIT_NOFILE, &state->descriptors) < 0 ||
        sigprocmask(SIG_BLOCK, block, &state->signal_mask) < 0)
        return error_set_errno(err, -errno, "cannot prepare signals");
    return 0;
}

/*
 * What came while the target ended has done its work: a Ctrl-C that the target died of, the second hang-up of a terminal.
 * Let through now, it would end us before the trace is made.
 */
static void forget_pending(const struct launch_state *state)
{
    static const struct timespec at_once = {0, 0};
    sigset_t blocked;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    for (int number = 1; number < SIGRTMIN; number++)
        if (sigismember(&state->signal_mask, number) == 1)
            sigdelset(&blocked, number); /* the caller's own block: not ours to take */
    while (sigtimedwait(&blocked, NULL, &at_once) > 0)
        ;
}

void launch_state_leave(const struct launch_state *state)
{
    forget_pending(state);
    sigaction(SIGCHLD, &state->child_action, NULL);
    sigprocmask(SIG_SETMASK, &state->signal_mask, NULL);
}

/* In the child: nothing but what is allowed between fork and exec. */
static _Noreturn void run_child(const struct launch_state *state, char *const argv[], char *const environment[], int gate, int report)
{
    char go;
    ssize_t got;
    do
        got = read(gate, &go, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1)
        _exit(125); /* the parent is gone or gave up */
    setrlimit(RLIMIT_NOFILE, &state->descriptors);
    sigaction(SIGCHLD, &state->child_action, NULL);
    sigprocmask(SIG_SETMASK, &state->signal_mask, NULL);
    execvpe(argv[0], argv, environment ? environment : environ);
    int code = errno;
    while (write(report, &code, sizeof(code)) < 0 && errno == EINTR)
        ;
    _exit(code == ENOENT ? 127 : 126);
}

/* The keeper told it through `report`, which the target's exec uses after that. */
static pid_t read_pid(int report, pid_t keeper)
{
    pid_t pid = -1;
    ssize_t got;
    do
        got = read(report, &pid, sizeof pid);
    while (got < 0 && errno == EINTR);
    if (got == (ssize_t)sizeof pid)
        return pid;
    waitpid(keeper, NULL, 0);
    errno = ENOTTY;
    return -1;
}

int launch_prepare(const struct launch_state *state, char *const argv[], char *const environment[], struct target_terminal *terminal,
                   struct launched *ret_launched, struct error *err)
{
    int gate[2], report[2];
    if (pipe2(gate, O_CLOEXEC) < 0)
        return error_set_errno(err, -errno, "cannot start the target");
    if (pipe2(report, O_CLOEXEC) < 0) {
        int code = -errno;
        close(gate[0]);
        close(gate[1]);
        return error_set_errno(err, code, "cannot start the target");
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(gate[1]); /* or it would keep its own gate from ending when the parent dies */
        if (terminal && target_terminal_enter(terminal, report[1]) < 0)
            _exit(125);
        run_child(state, argv, environment, gate[0], report[1]);
    }
    int code = -errno;
    close(gate[0]);
    close(report[1]);
    if (pid > 0 && terminal) {
        close(TAKE_FD(terminal->keeper_fd));
        pid = read_pid(report[0], pid);
        code = -errno;
    }
    if (pid < 0) {
        close(gate[1]);
        close(report[0]);
        return error_set_errno(err, code, "cannot start the target");
    }
    int process_fd = (int)syscall(SYS_pidfd_open, pid, 0); /* close-on-exec by itself */
    *ret_launched = (struct launched){pid, process_fd, gate[1], report[0]};
    return 0;
}

int launch_go(struct launched *launched, int *ret_exec_errno, struct error *err)
{
    int code = 0;
    ssize_t got;
    if (write(launched->gate_fd, "", 1) != 1)
        return error_set_errno(err, -errno, "the target ended before it began");
    do
        got = read(launched->report_fd, &code, sizeof(code));
    while (got < 0 && errno == EINTR);
    if (got == sizeof(code)) {
        waitpid(launched->pid, NULL, 0);
        launched->pid = -1;
    } else {
        code = 0;
    }
    close(launched->gate_fd);
    launched->gate_fd = -1;
    *ret_exec_errno = code;
    return 0;
}

void launch_finish(struct launched *launched)
{
    if (launched->gate_fd >= 0) { /* never opened: the child ends by itself */
        close(launched->gate_fd);
        if (launched->pid > 0)
            waitpid(launched->pid, NULL, 0);
    }
    closep(&launched->report_fd);
    closep(&launched->process_fd);
    *launched = (struct launched)LAUNCHED_INIT;
}
