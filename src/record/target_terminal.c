/* SPDX-License-Identifier: MIT */
/* Opening the pty, the way into it between fork and exec, and the keeper's life. */
#include "target_terminal.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DESCRIPTORS_LOW = 5, DESCRIPTORS_CLOSED = 4096 };

/* Out of the way of the standard descriptors, which may be closed, and of the two that the keeper has. */
static int move_up(int fd)
{
    int moved = fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, DESCRIPTORS_LOW);
    if (fd >= 0)
        close(fd);
    return moved;
}

static int open_pty(struct target_terminal *terminal)
{
    char name[64];
    terminal->master = move_up(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (terminal->master < 0 || grantpt(terminal->master) < 0 || unlockpt(terminal->master) < 0 ||
        ptsname_r(terminal->master, name, sizeof name) != 0)
        return -errno;
    terminal->slave = move_up(open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (terminal->slave < 0 || fcntl(terminal->master, F_SETFL, O_NONBLOCK) < 0)
        return -errno;
    return 0;
}

int target_terminal_open(struct target_terminal *terminal, struct error *err)
{
    int keep[2];
    *terminal = (struct target_terminal)TARGET_TERMINAL_INIT;
    int code = tcgetattr(STDIN_FILENO, &terminal->settings) < 0 ? -errno : open_pty(terminal);
    if (code == 0 && pipe2(keep, O_CLOEXEC) < 0)
        code = -errno;
    if (code) {
        target_terminal_close(terminal);
        return error_set_errno(err, code, "cannot make a terminal for the program");
    }
    terminal->keeper_fd = move_up(keep[0]);
    terminal->keep_fd = move_up(keep[1]);
    tcsetattr(terminal->slave, TCSANOW, &terminal->settings);
    target_terminal_follow_size(terminal);
    for (int i = 0; i < 3; i++)
        terminal->standard[i] = isatty(i);
    return 0;
}

void target_terminal_close(struct target_terminal *terminal)
{
    int *const descriptors[] = {&terminal->master, &terminal->slave, &terminal->keep_fd, &terminal->keeper_fd};
    for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++) {
        closep(descriptors[i]);
        *descriptors[i] = -1;
    }
}

void target_terminal_end(struct target_terminal *terminal)
{
    const char order = TARGET_TERMINAL_IN_ORDER;
    if (terminal->keep_fd >= 0 && write(terminal->keep_fd, &order, 1) < 0)
        return; /* the keeper has gone: nothing is open there any more */
    target_terminal_close(terminal);
}

void target_terminal_resize(const struct target_terminal *terminal, int columns, int rows)
{
    const struct winsize size = {.ws_col = (unsigned short)columns, .ws_row = (unsigned short)rows};
    if (columns > 0 && rows > 0)
        ioctl(terminal->master, TIOCSWINSZ, &size);
}

void target_terminal_follow_size(const struct target_terminal *terminal)
{
    struct winsize size;
    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0)
        ioctl(terminal->master, TIOCSWINSZ, &size);
}

/* --- between fork and exec --------------------------------------------------------------------------------------- */

/* Our pipes would not end while the keeper has them open. */
static void close_others(int first)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)first, ~0u, 0) == 0)
        return;
#endif
    for (int fd = first; fd < DESCRIPTORS_CLOSED; fd++)
        close(fd);
}

/* We were killed: nobody gave our terminal its settings and its screen back. */
static void give_back(const struct target_terminal *terminal)
{
    static const char goodbye[] = "\033[?1000l\033[?1002l\033[?1003l\033[?1006l\033[0m\033[?25h\033[?1049l\r\n";
    struct termios now;
    if (tcgetattr(STDIN_FILENO, &now) < 0 || (now.c_lflag & ICANON))
        return;
    tcsetattr(STDIN_FILENO, TCSANOW, &terminal->settings);
    write_all(STDOUT_FILENO, goodbye, sizeof goodbye - 1);
}

/* When that terminal goes, too, our end hangs up the target's. */
static void pass_on(int master)
{
    char bytes[4096];
    for (;;) {
        struct pollfd waits[] = {{.fd = master, .events = POLLIN}, {.fd = STDOUT_FILENO}};
        if ((poll(waits, 2, -1) < 0 && errno != EINTR) || waits[1].revents)
            return;
        ssize_t got = read(master, bytes, sizeof bytes);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (got <= 0 || write_all(STDOUT_FILENO, bytes, (size_t)got) < 0)
            return;
    }
}

static _Noreturn void keep(const struct target_terminal *terminal)
{
    char byte = 0;
    ssize_t got;
    int master = dup2(terminal->master, 3), end = dup2(terminal->keeper_fd, 4);
    close_others(5);
    do
        got = read(end, &byte, 1);
    while (got > 0 || (got < 0 && errno == EINTR));
    if (byte != TARGET_TERMINAL_IN_ORDER)
        give_back(terminal);
    pass_on(master);
    _exit(0);
}

int target_terminal_enter(const struct target_terminal *terminal, int tell_fd)
{
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    if (setsid() < 0 || ioctl(terminal->slave, TIOCSCTTY, 0) < 0)
        return -1;
    pid_t pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    if (pid < 0)
        return -1;
    if (pid > 0) {
        if (write(tell_fd, &pid, sizeof pid) == (ssize_t)sizeof pid)
            keep(terminal);
        _exit(125);
    }
    setpgid(0, 0);
    tcsetpgrp(terminal->slave, (pid_t)syscall(SYS_getpid));
    for (int i = 0; i < 3; i++)
        if (terminal->standard[i])
            dup2(terminal->slave, i);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return 0;
}
