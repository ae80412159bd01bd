/* SPDX-License-Identifier: MIT */
/*
 * Watching a run while it goes on (`run --live`): the target's own terminal, and traces of what is recorded so far. The recorder tells
 * when the target has begun and ended; whoever shows it asks for the rest, from any one thread, and never waits.
 */
#ifndef HP_RECORD_LIVE_H
#define HP_RECORD_LIVE_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct error;
struct live;
struct session;
struct target_terminal;
struct trace;

/* `began` is called by the recorder's thread once the target runs: who watches begins then. */
int live_create(void (*began)(void *context), void *context, struct live **ret_live, struct error *err);
/* Waits until all that the target wrote has come to our terminal: after live_release and live_ended. Returns how many bytes could
 * not be kept for it. */
uint64_t live_destroy(struct live *live);

/* The recorder's side. */
struct target_terminal *live_terminal(struct live *live);
int live_begin(struct live *live, pid_t target, struct session *session, struct error *err);
void live_close(struct live *live); /* somebody ends us */
void live_ended(struct live *live, int wait_status); /* no more traces of what is recorded so far */

/* The side of who watches. */
enum live_state { LIVE_STATE_RUNS, LIVE_STATE_ENDED, LIVE_STATE_COMPLETE, LIVE_STATE_FAILED };
struct live_view {
    enum live_state state;
    int64_t elapsed_ns, behind_ns;
    int64_t now_ns;     /* on the axis of the traces; INT64_MIN when it does not run */
    int wait_status;
    bool close;         /* somebody ends us */
    char problem[256];
};
int live_socket(const struct live *live);     /* the target's terminal, as a stream */
int live_changed_fd(const struct live *live); /* readable when there is something new; live_look makes it unreadable */
void live_look(struct live *live, struct live_view *ret_view);
struct trace *live_take(struct live *live); /* the newest trace, the caller's; NULL: none newer */
void live_resize(struct live *live, int columns, int rows);
void live_end_target(struct live *live);
void live_release(struct live *live); /* nobody watches any more: our terminal is the target's */

/* The recording's whole trace is there (a reference is taken), or there will be none. */
void live_complete(struct live *live, struct trace *trace);
void live_fail(struct live *live, const char *problem);

#endif
