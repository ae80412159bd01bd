/* SPDX-License-Identifier: MIT */
/*
 * A run that goes on, as a UI sees it: traces of what is recorded so far, the target's terminal, how it stands. Whoever records gives the UI
 * one of these; the functions are called by the UI's thread only and never wait.
 */
#ifndef HP_VIEW_LIVE_RUN_H
#define HP_VIEW_LIVE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace;

enum live_stage {
    LIVE_RUNS,     /* the target works */
    LIVE_ENDED,    /* it is gone; the whole trace is being made */
    LIVE_COMPLETE, /* the last trace taken is the whole one */
    LIVE_FAILED,   /* no more traces will come; `problem` says why */
};

struct live_status {
    enum live_stage stage;
    int64_t elapsed_ns;    /* since the target's start, until its end */
    int wait_status;       /* of the target, from LIVE_ENDED on, as waitpid gives it */
    int64_t now_ns;        /* while it runs: now, on the axis of its traces; INT64_MIN unknown */
    int64_t behind_ns;     /* how long ago what the newest trace shows was measured; -1 no trace yet */
    bool close;            /* the UI is to go, as if the user had quit: somebody ends us (SIGTERM, SIGHUP, which its thread never gets) */
    char problem[256];
};

struct live_run {
    void *source;
    const char *command;   /* for people */
    int terminal;          /* stream socket, non-blocking: the output of the target's terminal is read here, input for it written. All of it is
                            * kept elsewhere, too, and comes to the real terminal behind the UI. A read of 0: nothing more comes. */
    void (*resize)(void *source, int columns, int rows); /* of the target's terminal; it begins with the size of ours */
    int changed;           /* readable when status changed or a newer trace is there; `status` makes it unreadable again */
    void (*status)(void *source, struct live_status *ret_status);
    /* The newest trace, now the caller's (trace_unref); NULL when none is newer than the last one taken. Ids of a later one need not be those of
     * an earlier one unless trace_generation says it is a later snapshot of the same trace. */
    struct trace *(*take)(void *source);
    void (*end_target)(void *source); /* asks it to end, as Ctrl-C would; asked again, as kill -9 would */
};

#endif
