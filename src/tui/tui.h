/* SPDX-License-Identifier: MIT */
/* The terminal UI. */
#ifndef HP_TUI_TUI_H
#define HP_TUI_TUI_H

struct error;
struct trace;

/* NULL: the UI can be shown on this process' terminal; else why not. */
const char *tui_unfit(void);
/* Shows a trace until the user quits. `path` is its name for people. 0 or -errno. */
int tui_run(struct trace *trace, const char *path, struct error *err);

#endif
