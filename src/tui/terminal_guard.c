/* SPDX-License-Identifier: MIT */
/* Signals while the terminal is ours. */
#include "terminal_guard.h"

#include "base/shrunk_file.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
#define ENDINGS (sizeof endings / sizeof *endings)
#define CRASHES (sizeof crashes / sizeof *crashes)

/* What signal handlers need, made before they can run. */
static struct {
    struct termios settings;
    bool settings_known, active;
    char goodbye[256];
    size_t goodbye_length;
    struct sigaction ending_before[ENDINGS], crash_before[CRASHES];
    stack_t stack_before;
    char stack[16384];
} guard;
static volatile sig_atomic_t quit;

static void ask_to_end(int signal_number)
{
    quit = signal_number;
}

/* Only what may be called in a signal handler. The crash itself goes its way. */
static void leave_after_crash(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    if (signal_number == SIGBUS && shrunk_file_mend(info))
        return;
    ssize_t written = write(STDOUT_FILENO, guard.goodbye, guard.goodbye_length);
    (void)written;
    if (guard.settings_known)
        tcsetattr(STDIN_FILENO, TCSANOW, &guard.settings);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void add_goodbye(const char *text)
{
    if (!text || text == (const char *)(intptr_t)-1 || guard.goodbye_length + strlen(text) >= sizeof guard.goodbye)
        return;
    memcpy(guard.goodbye + guard.goodbye_length, text, strlen(text));
    guard.goodbye_length += strlen(text);
}

void terminal_guard_begin(void)
{
    stack_t stack = {.ss_sp = guard.stack, .ss_size = sizeof guard.stack};
    quit = 0;
    guard.goodbye_length = 0;
    guard.settings_known = tcgetattr(STDIN_FILENO, &guard.settings) == 0;
    guard.active = true;
    sigaltstack(&stack, &guard.stack_before);
    for (size_t i = 0; i < ENDINGS; i++) {
        struct sigaction action = {.sa_handler = ask_to_end};
        sigaction(endings[i], &action, &guard.ending_before[i]);
    }
    for (size_t i = 0; i < CRASHES; i++) {
        struct sigaction action = {.sa_sigaction = leave_after_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
        sigaction(crashes[i], &action, &guard.crash_before[i]);
    }
}

void terminal_guard_know(const char *leave_screen, const char *show_cursor)
{
    add_goodbye("\033[?1000l\033[?1002l\033[?1003l\033[?1006l\033[0m"); /* no mouse, no colours */
    add_goodbye(show_cursor);
    add_goodbye(leave_screen);
    add_goodbye("\r\n");
}

void terminal_guard_end(void)
{
    if (!guard.active)
        return;
    guard.active = false;
    for (size_t i = 0; i < ENDINGS; i++)
        sigaction(endings[i], &guard.ending_before[i], NULL);
    for (size_t i = 0; i < CRASHES; i++)
        sigaction(crashes[i], &guard.crash_before[i], NULL);
    sigaltstack(&guard.stack_before, NULL); /* of this thread, which a live run's UI has of its own */
}

bool terminal_guard_quit(void)
{
    return quit != 0;
}
