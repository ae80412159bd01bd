/* SPDX-License-Identifier: MIT */
/*
 * The UI as its tabs see it. A tab is a const table of functions over a state of its own; what all tabs share - the time window, the
 * filter, the search, where Enter leads and the way back - is here, so that it works alike in every one of them.
 */
#ifndef HP_TUI_APP_H
#define HP_TUI_APP_H

#include "canvas.h"
#include "view/table.h"
#include "keys.h"
#include "terminal.h"

#include "analysis/calling_context.h"
#include "base/error.h"
#include "trace/filter.h"
#include "trace/trace.h"

#include <regex.h>

struct app;
struct caption;
struct drawing;
struct live_view;
struct memory;
struct timeline;

enum tab_number { TAB_SYSTEM, TAB_PROFILE, TAB_TIMELINE, TAB_HOTSPOTS, TAB_CALL_TREE, TAB_FLAME, TAB_PATH, TAB_COUNT };

/* What a row stands for, in the words of every tab. */
enum subject_kind { SUBJECT_NONE, SUBJECT_SPAN, SUBJECT_NAME, SUBJECT_FUNCTION, SUBJECT_STACK, SUBJECT_PLACE };
struct subject {
    enum subject_kind kind;
    span_id span;
    string_id name;     /* of spans, or a function's */
    int span_kind;      /* -1: any */
    stack_id stack;
    track_id track;     /* of a place: a stretch of time on a lane, without a span */
    int64_t begin_ns, end_ns;
};

enum change { CHANGED_WINDOW = 1, CHANGED_FILTER = 2, CHANGED_SEARCH = 4, CHANGED_MEASURE = 8 };

struct tab {
    const char *title, *short_title;
    unsigned place; /* of keys */
    int next[TAB_COUNT]; /* where Enter looks for the same thing, in this order; -1 ends */
    int (*create)(struct app *app, void **ret_state, struct error *err);
    void (*destroy)(void *state);
    void (*draw)(struct app *app, void *state, struct area area);
    bool (*act)(struct app *app, void *state, enum action action);
    bool (*offers)(const struct app *app, const void *state, enum action action); /* NULL: all that its keys say; for the help */
    void (*mouse)(struct app *app, void *state, const struct input *input);
    void (*changed)(struct app *app, void *state, unsigned changes);
    bool (*subject)(struct app *app, void *state, struct subject *ret_subject);
    bool (*show)(struct app *app, void *state, const struct subject *subject); /* false: it is not here */
    /* A newer trace takes the place of this one: what the user chose, for a state that is made anew from the newer one. */
    bool is_list; /* the state begins with a struct list_view: the app itself remembers it */
    void (*remember)(struct app *app, void *state, struct text *out);
    void (*recall)(struct app *app, void *state, struct memory *memory);
    void (*copy)(struct app *app, void *state, struct text *out);
    int (*csv)(struct app *app, void *state, struct text *out, struct error *err); /* fails: nothing is written */
    int (*picture)(struct app *app, void *state, const struct caption *caption, struct drawing *out, struct error *err); /* lists have none of their own */
};
extern const struct tab tab_system, tab_profile, tab_timeline, tab_hotspots, tab_call_tree, tab_flame, tab_path;

struct tab_slot {
    const struct tab *tab;
    void *state;        /* NULL: not shown yet */
    unsigned pending;   /* changes that it has not heard of */
    char problem[256];  /* why it can't be shown; "" */
    struct text memory; /* for a state that is made from a newer trace; empty: none */
};

struct app {
    struct trace *trace;
    const char *path;
    struct live_view *live; /* NULL: a saved trace */
    const struct trace *other; /* what it is compared with; NULL: nothing */
    const char *other_path;
    struct terminal *terminal; /* NULL where only a picture is wanted */
    struct canvas canvas;
    struct tab_slot tabs[TAB_COUNT];
    enum tab_number current;

    int64_t first_ns, last_ns;      /* of the trace */
    int64_t begin_ns, end_ns;       /* the window: all statistics are of it */
    struct trace_filter *filter;
    char filter_text[256];
    regex_t pattern;
    bool searching;
    char search_text[256];
    enum context_measure measure;   /* what the tabs of call stacks count */
    bool measure_chosen;            /* by the user: else what the trace has */
    bool stop;
    bool unfinished; /* the picture gets better when it is drawn again */
    struct history {
        enum tab_number tab;
        struct subject subject;
    } history[64];
    unsigned history_count;
    enum input_purpose { INPUT_NONE, INPUT_SEARCH, INPUT_FILTER, INPUT_EXPORT } input;
    char input_text[256];
    char message[512];              /* said once, until the next key */
    bool help;
    int help_top;
};

int app_init(struct app *app, struct trace *trace, const char *path);
void app_finish(struct app *app);
void app_draw(struct app *app, int *ret_cursor_y, int *ret_cursor_x);
void app_handle(struct app *app, const struct input *input);
bool app_follow(struct app *app); /* a growing trace: takes what is new; true: there was something */
/* Another trace in place of this one, which it takes over: a newer state of the same run. What the user chose stays. */
void app_take_trace(struct app *app, struct trace *newer);
/* The run goes on though nothing newer is known of it: the axis, and with it a window that is all of it, ends now. True: it was moved. */
bool app_follow_clock(struct app *app, int64_t now_ns);

/* For tabs. */
bool app_window_is_all(const struct app *app);
void app_set_window(struct app *app, int64_t begin_ns, int64_t end_ns);
void app_say(struct app *app, const char *format, ...) __attribute__((format(printf, 2, 3)));
const regex_t *app_pattern(const struct app *app); /* NULL: no search */
void *app_tab_state(struct app *app, enum tab_number number); /* creates it; NULL: it can't be */
void app_open_tab(struct app *app, enum tab_number number);
bool app_go_to(struct app *app, enum tab_number number, const struct subject *subject); /* as Enter does; false: it is not there */

struct path_hops;
const struct path_hops *path_tab_hops(const struct app *app); /* of the critical path, once its tab was opened; else NULL */

/* Pieces of the app in files of their own. */
unsigned app_key_places(const struct app *app); /* enum key_place: where the user is */
void app_draw_tab_bar(struct app *app);
int app_tab_at(const struct app *app, int x); /* whose name is there; -1: nobody's */
void app_draw_status(struct app *app, int *ret_cursor_y, int *ret_cursor_x);
uint64_t app_lost_events(const struct app *app);
void app_draw_help(struct app *app);
void app_input_key(struct app *app, uint32_t key);
void app_begin_input(struct app *app, enum input_purpose purpose);
void app_copy(struct app *app);
void app_export(struct app *app, const char *path);
int app_write_text(const char *path, const struct text *text, struct error *err);
void app_set_search(struct app *app, const char *text);
void app_set_filter(struct app *app, const char *text);

static inline struct look look_of(enum colour text)
{
    return (struct look){.text = (uint8_t)text};
}
static inline struct look look_bold(enum colour text)
{
    return (struct look){.text = (uint8_t)text, .attributes = CELL_BOLD};
}

#endif
