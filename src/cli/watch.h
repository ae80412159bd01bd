/* SPDX-License-Identifier: MIT */
/* `run --live`: the terminal UI beside the recording, in a thread of its own, and the terminal afterwards. */
#ifndef HP_CLI_WATCH_H
#define HP_CLI_WATCH_H

#include "command.h"

#include "base/cleanup.h"

struct live;
struct trace;
struct watch;

/* Before the run. `command` and `path` (the trace's name) are for people and must outlive the watch. Says that the program gets a
 * terminal of its own. */
int watch_create(const char *command, const char *path, const struct log *log, struct watch **ret_watch, struct error *err);
struct live *watch_live(struct watch *watch); /* for the recorder */

/* After the recording: signals that would end us wait, so that the UI leaves the terminal in order, until watch_finish. */
void watch_recorded(struct watch *watch);
void watch_complete(struct watch *watch, struct trace *trace); /* the whole trace is there */
void watch_failed(struct watch *watch, const struct error *problem);
/* Waits until the user has left the UI and what the program wrote has come to the terminal. Nothing to do the second time. */
void watch_finish(struct watch *watch);
void watch_destroy(struct watch *watch);
DEFINE_CLEANUP(struct watch *, watch_destroy)

#endif
