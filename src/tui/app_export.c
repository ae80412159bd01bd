/* SPDX-License-Identifier: MIT */
/* Writing the current view to a file: as a picture, as rows, or as the characters on the screen. */
#include "list_view.h"

#include "base/file.h"
#include "chart/draw_table.h"
#include "view/units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define NAMES_MAX 999 /* that are tried beside a file that is there */
#define PIXELS_PER_POINT 2 /* of PNG: sharp in print and on fine screens */

int app_write_text(const char *path, const struct text *text, struct error *err)
{
    struct file_writer *writer;
    int result = file_writer_create(path, &writer, err);
    if (result < 0)
        return result;
    file_write(writer, text->data, text->length);
    return file_writer_finish(writer, err);
}

/* --- pictures -------------------------------------------------------------------------------------------------------- */

/* What one must know to read it: program, window, filter, search, losses. */
static void add_remark(const struct app *app, struct text *out)
{
    char begin[32], length[32];
    const char *command = trace_metadata(app->trace, "command");
    if (command && *command)
        text_addf(out, "%.200s \xc2\xb7 ", command);
    text_addf(out, "%s", format_duration(length, sizeof length, app->end_ns - app->begin_ns));
    text_addf(out, app_window_is_all(app) ? ", the whole run" : " from %s on", format_duration(begin, sizeof begin, app->begin_ns));
    if (app->filter)
        text_addf(out, " \xc2\xb7 filter %s", app->filter_text);
    if (app->searching)
        text_addf(out, " \xc2\xb7 search %s", app->search_text);
    if (app_lost_events(app))
        text_addf(out, " \xc2\xb7 %s events lost", format_count(begin, sizeof begin, app_lost_events(app)));
}

/* The state begins with a struct list_view. */
static bool is_list(const struct tab *tab)
{
    return tab->is_list || tab->csv == list_csv;
}

static int draw_list(void *state, const struct caption *caption, struct drawing *out)
{
    const struct list_view *list = state;
    draw_table(out, &list->grid, list->top, caption);
    return 0;
}

static int draw_view(struct app *app, const struct tab_slot *slot, struct drawing *drawing, struct error *err)
{
    struct text title = TEXT_INIT, remark = TEXT_INIT;
    const char *slash = strrchr(app->path, '/');
    int result = -ENOMEM;
    text_addf(&title, "%s of %s", slot->tab->title, slash && slash[1] ? slash + 1 : app->path);
    add_remark(app, &remark);
    struct caption caption = {title.data, remark.data};
    if (!title.failed && !remark.failed)
        result = is_list(slot->tab) ? draw_list(slot->state, &caption, drawing) : slot->tab->picture(app, slot->state, &caption, drawing, err);
    drawing->title = slot->tab->title; /* what the caption said lives no longer than it */
    text_finish(&title);
    text_finish(&remark);
    return result;
}

static int add_picture(struct app *app, bool png, struct text *out, struct error *err)
{
    const struct tab_slot *slot = &app->tabs[app->current];
    struct drawing drawing;
    if (!slot->state || (!is_list(slot->tab) && !slot->tab->picture))
        return error_set(err, -ENOENT, "there is nothing to export here");
    drawing_init(&drawing, app->canvas.theme);
    int result = draw_view(app, slot, &drawing, err);
    if (result == 0 && png)
        result = drawing_add_png(&drawing, PIXELS_PER_POINT, out, err);
    else if (result == 0)
        drawing_add_svg(&drawing, out);
    drawing_finish(&drawing);
    return result == 0 && out->failed ? -ENOMEM : result;
}

/* --- all ------------------------------------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length > tail && strcasecmp(text + length - tail, end) == 0;
}

/* -ENOENT with a message where there is nothing. */
static int add_view(struct app *app, const char *path, struct text *out, struct error *err)
{
    const struct tab_slot *slot = &app->tabs[app->current];
    int y, x;
    if (ends_with(path, ".png") || ends_with(path, ".svg"))
        return add_picture(app, ends_with(path, ".png"), out, err);
    if (ends_with(path, ".csv") && slot->state && slot->tab->csv) {
        int result = slot->tab->csv(app, slot->state, out, err);
        if (result < 0)
            return result;
    } else if (ends_with(path, ".txt")) {
        app_draw(app, &y, &x);
        canvas_add_text(&app->canvas, out);
    } else if (!ends_with(path, ".csv")) {
        return error_set(err, -EINVAL, "the name must end in .svg, .png, .csv or .txt");
    }
    return out->length ? 0 : error_set(err, -ENOENT, "there is nothing to export here");
}

static bool is_file(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
}

/* A name that no file has: "out.svg", "out-2.svg" ... A file is nobody's to be lost by a name that was typed twice. */
static int free_name(const char *wanted, char *name, size_t size, struct error *err)
{
    const char *slash = strrchr(wanted, '/'), *dot = strrchr(slash ? slash : wanted, '.');
    int stem = (int)(dot ? (size_t)(dot - wanted) : strlen(wanted));
    snprintf(name, size, "%s", wanted);
    for (unsigned i = 2; is_file(name); i++)
        if (i > NAMES_MAX || (size_t)snprintf(name, size, "%.*s-%u%s", stem, wanted, i, dot ? dot : "") >= size)
            return error_set(err, -EEXIST, "%.200s is there: give it another name", wanted);
    return 0;
}

void app_export(struct app *app, const char *wanted)
{
    struct text text = TEXT_INIT;
    struct error err = ERROR_INIT;
    char path[sizeof app->input_text + 16];
    int result = free_name(wanted, path, sizeof path, &err);
    if (result == 0)
        result = add_view(app, path, &text, &err);
    if (result == 0 && text.failed)
        result = -ENOMEM;
    if (result == 0)
        result = app_write_text(path, &text, &err);
    char note[sizeof app->message];
    snprintf(note, sizeof note, "%s", app->message); /* what the tab had to say */
    const char *there = strcmp(path, wanted) ? wanted : "";
    if (result == 0)
        app_say(app, "%.100s%swritten to %.200s%s%.150s", there, *there ? " is there: " : "", path, *note ? ": " : "", note);
    else
        app_say(app, "%s", err.code ? err.text : "out of memory for what is exported");
    text_finish(&text);
}
