/* SPDX-License-Identifier: MIT */
/* The terminal UI. */
#ifndef HP_TUI_TUI_H
#define HP_TUI_TUI_H

struct error;
struct live_run;
struct trace;

/* NULL: the UI can be shown on this process' terminal; else why not. */
const char *tui_unfit(void);
/* Shows a trace until the user quits. `path` is its name for people. 0 or -errno. */
int tui_run(struct trace *trace, const char *path, struct error *err);
/* Likewise, beginning with what is different from another trace. */
int tui_run_against(struct trace *trace, const char *path, const struct trace *other, const char *other_path, struct error *err);
/* Shows a run that goes on (view/live_run.h), from its start on, until the user leaves or the run says so. 0 or -errno. When it
 * returns, the calling thread has SIGINT and SIGQUIT blocked: from when the terminal makes them of keys again they are not the UI's. */
int tui_run_live(struct live_run *run, const char *path, struct error *err);

#endif
