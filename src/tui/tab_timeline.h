/* SPDX-License-Identifier: MIT */
/* Shared by the files of the Timeline tab; nobody else includes it. */
#ifndef HP_TUI_TAB_TIMELINE_H
#define HP_TUI_TAB_TIMELINE_H

#include "app.h"

#include "view/timeline.h"

#define LINKS_MAX 32

struct placed_lane {
    uint32_t lane;
    int y, rows;
};

struct timeline_tab {
    struct timeline *timeline;
    uint32_t selected, top;   /* positions among the lanes that are shown */
    unsigned depth;           /* levels of nesting at most */
    bool details_hidden;
    bool hide_idle;
    span_id span;             /* SPAN_NONE: none is selected */
    struct span_facts facts;
    struct span_link links[LINKS_MAX];
    int link_count;           /* may be more than LINKS_MAX */
    bool marked;
    int64_t mark_ns;
    uint32_t kept;            /* a lane that is shown though it is idle: who was led there shall see it */
    int64_t idle_begin_ns, idle_end_ns;
    char problem[256];
    /* Where things were drawn last. */
    struct area lanes, details;
    int label_width;
    struct placed_lane placed[512];
    int placed_count;
};

static inline double timeline_column_ns(const struct app *app, const struct timeline_tab *tab)
{
    return (double)(app->end_ns - app->begin_ns) / (tab->lanes.columns > 0 ? tab->lanes.columns : 1);
}
void timeline_refresh_lanes(struct timeline_tab *tab, int64_t begin_ns, int64_t end_ns); /* those that are idle in another window */
void timeline_draw_lanes(struct app *app, struct timeline_tab *tab);
void timeline_draw_details(struct app *app, struct timeline_tab *tab);
void timeline_add_details(struct app *app, const struct timeline_tab *tab, struct text *out);
bool timeline_choose_span(struct app *app, struct timeline_tab *tab, span_id span); /* false: there is none */
void timeline_remember(struct app *app, void *state, struct text *out);
void timeline_recall(struct app *app, void *state, struct memory *memory);
int timeline_details_rows(const struct app *app, const struct timeline_tab *tab, int rows);

#endif
