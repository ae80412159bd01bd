/* SPDX-License-Identifier: MIT */
/* What the UI adds for a run that goes on: newer traces, how the run stands, the program's terminal, keys for all of that. */
#ifndef HP_TUI_LIVE_VIEW_H
#define HP_TUI_LIVE_VIEW_H

#include "app.h"
#include "program_pane.h"

#include "view/live_run.h"

struct live_view {
    struct live_run *run;
    struct live_status status;
    struct program_pane pane;
    bool paused;            /* newer traces are left where they are */
    bool has_data;          /* a trace with something in it has come */
    bool asked_to_end;
    bool confirming;        /* the next key answers whether to end the program */
    int64_t take_ns;        /* CLOCK_MONOTONIC: when the next trace may be taken */
    int64_t taken_ns;       /* when the last one was; 0: its first picture is drawn */
};

int live_view_open(struct live_view *live, struct live_run *run, struct error *err);
void live_view_close(struct live_view *live);
/* Listens to the run and to the program; true: there is something new to be seen. */
bool live_view_listen(struct app *app);
/* After a picture of the newest trace: what it cost says how soon the next one may come. */
void live_view_drawn(struct live_view *live);
int live_view_patience_ms(const struct live_view *live); /* until the status is looked at again; -1: for ever */
unsigned live_view_descriptors(const struct live_view *live, int *descriptors); /* at most 2, readable when there is something new */

/* What is left for the tab beside the program's terminal; and drawing both that and, before there is data, what is waited for. */
struct area live_view_place(struct app *app, struct area area);
void live_view_draw(struct app *app, struct area rest);
/* How the run stands, for the bottom line. Returns the colour of it. */
enum colour live_view_state(const struct live_view *live, char *text, size_t size);
const char *live_view_question(const struct live_view *live); /* while `confirming` */
bool live_view_runs(const struct live_view *live);
/* Why the trace is not whole; NULL: it is. While a program runs that is no trouble. */
const char *live_view_incomplete(const struct app *app);

/* Whether it was for the live view: then nobody else shall act on it. */
bool live_view_key(struct app *app, uint32_t key);
bool live_view_act(struct app *app, enum action action);

#endif
