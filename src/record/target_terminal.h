/* SPDX-License-Identifier: MIT */
/*
 * A terminal of the target's own: a pty, and a session on it that is led by neither the target nor us, but by a small process that
 * sleeps, the keeper. So the target's end hangs up nobody who still writes there, and if we are killed the keeper goes on: it passes
 * what the target writes to our terminal.
 */
#ifndef HP_RECORD_TARGET_TERMINAL_H
#define HP_RECORD_TARGET_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

struct error;

struct target_terminal {
    int master;       /* non-blocking */
    int slave;        /* ours until the target has ended, so that the terminal doesn't seem closed while nobody has it open */
    int keep_fd;      /* closed: we are gone, the keeper's turn */
    int keeper_fd;    /* the other end, the keeper's */
    bool standard[3]; /* which of the target's standard descriptors it is: those that were a terminal */
    struct termios settings; /* of ours, as it was */
};
enum { TARGET_TERMINAL_IN_ORDER = 'o' }; /* written to keep_fd before it is closed: our terminal needs no help */
#define TARGET_TERMINAL_INIT {.master = -1, .slave = -1, .keep_fd = -1, .keeper_fd = -1}

/* With the settings and the size of our terminal (standard input). */
int target_terminal_open(struct target_terminal *terminal, struct error *err);
void target_terminal_close(struct target_terminal *terminal);
/* At the end of all, our own terminal being in order: whoever still writes to the target's, the keeper looks after. */
void target_terminal_end(struct target_terminal *terminal);

/* In a child, before it becomes the target's ancestor: what may be called between fork and exec, no more. Returns in a child of our
 * parent, in the terminal's foreground; not in the keeper, which tells that child's pid on tell_fd. -1: cannot. */
int target_terminal_enter(const struct target_terminal *terminal, int tell_fd);

/* Its size becomes that of ours. */
void target_terminal_follow_size(const struct target_terminal *terminal);
void target_terminal_resize(const struct target_terminal *terminal, int columns, int rows);

#endif
