/* SPDX-License-Identifier: MIT */
/* The roofline viewer's loop, keys and lines of facts. */
#include "roofline_view.h"

#include "keys.h"
#include "roofline_cells.h"
#include "screen_image.h"
#include "terminal.h"

#include "base/error.h"
#include "chart/draw_roofline.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FACT_ROWS 2
#define POINTS_PER_ROW 17.0 /* of a drawing, so that its letters are as large as the terminal's */

struct roofline_view {
    const struct roofline_view_options *options;
    struct terminal *terminal;
    struct canvas canvas;
    struct roofline_window window;
    struct area area;            /* of the chart */
    long selected;
    enum image_protocol protocol;
    bool image_shown;
    bool help, stop;
    char message[400];
};

static struct look look_of_text(enum colour text)
{
    return (struct look){.text = (uint8_t)text};
}

/* --- lines of text --------------------------------------------------------------------------------------------------- */

static void draw_edges(struct roofline_view *view)
{
    struct canvas *canvas = &view->canvas;
    struct look band = {COLOUR_DEFAULT, COLOUR_BAND, 0}, title = {COLOUR_ACCENT, COLOUR_BAND, CELL_BOLD}, dim = {COLOUR_DIM, COLOUR_BAND, 0};
    int last = canvas->rows - 1;
    canvas_fill(canvas, (struct area){0, 0, 1, canvas->columns}, band);
    canvas_fill(canvas, (struct area){last, 0, 1, canvas->columns}, band);
    canvas_name(canvas, 0, 1, canvas->columns - 2, title, view->options->chart->title);
    if (*view->message)
        canvas_text(canvas, last, 1, canvas->columns - 2, (struct look){COLOUR_WARN, COLOUR_BAND, 0}, view->message);
    else
        canvas_text(canvas, last, 1, canvas->columns - 2, dim, canvas->columns >= 60 ? "? keys  n p kernels  + - zoom  arrows pan  r reset  q quit" : "? keys  n p kernels  q quit");
}

/* What binds it, how far it is, and the roof that comes first. */
static void add_headroom(const struct roofline_view *view, const struct roofline_point *point, struct text *out)
{
    struct roofline_headroom headroom = roofline_headroom(view->options->chart, point);
    char number[32];
    if (!headroom.roof) {
        text_add_string(out, "headroom unknown: no roof is known");
        return;
    }
    if (headroom.factor < 1) {
        text_addf(out, "above the roof %s: a measurement is wrong, or the roof", headroom.roof->name);
        return;
    }
    text_addf(out, "%s bound: %s allows %s%s/s, %.3g times as much", headroom.roof->is_bandwidth ? "memory" : "compute", headroom.roof->name,
              roofline_number(number, sizeof number, headroom.attainable), view->options->chart->operation, headroom.factor);
    if (headroom.next && headroom.next != headroom.roof)
        text_addf(out, "; the next roof, %s, %.3g times", headroom.next->name, headroom.next_factor);
}

static void draw_no_kernel(struct roofline_view *view, int y)
{
    const struct roofline_chart *chart = view->options->chart;
    size_t placed = 0, width = (size_t)view->canvas.columns - 2;
    for (size_t i = 0; i < chart->point_count; i++)
        placed += roofline_is_placed(&chart->points[i]);
    canvas_textf(&view->canvas, y, 1, (int)width, look_of_text(COLOUR_DEFAULT), "%zu kernel%s, %zu roof%s", placed, placed == 1 ? "" : "s", chart->roof_count,
                 chart->roof_count == 1 ? "" : "s");
    if (placed < chart->point_count)
        canvas_textf(&view->canvas, y + 1, 1, (int)width, look_of_text(COLOUR_DIM), "of %zu nothing was counted that would give a place", chart->point_count - placed);
}

static void draw_facts(struct roofline_view *view)
{
    const struct roofline_chart *chart = view->options->chart;
    struct canvas *canvas = &view->canvas;
    int y = canvas->rows - 1 - FACT_ROWS;
    struct text headroom = TEXT_INIT;
    char intensity[32], performance[32], numbers[160];
    if (view->selected < 0) {
        draw_no_kernel(view, y);
        return;
    }
    const struct roofline_point *point = &chart->points[view->selected];
    int length = snprintf(numbers, sizeof numbers, "%s%.20s/s at %s %.20s/byte, %.3g %% of the time", roofline_number(performance, sizeof performance, point->performance),
                          chart->operation, roofline_number(intensity, sizeof intensity, point->intensity), chart->operation, point->weight * 100);
    int room = canvas->columns - 4 - length < 12 ? 12 : canvas->columns - 4 - length;
    int used = canvas_name(canvas, y, 1, room, (struct look){COLOUR_BAD, COLOUR_DEFAULT, CELL_BOLD}, point->name);
    canvas_text(canvas, y, used + 3, canvas->columns - used - 4, look_of_text(COLOUR_DEFAULT), numbers);
    add_headroom(view, point, &headroom);
    canvas_text(canvas, y + 1, 1, canvas->columns - 2, look_of_text(COLOUR_DEFAULT), headroom.data && !headroom.failed ? headroom.data : "");
    text_finish(&headroom);
}

static void draw_help(struct roofline_view *view)
{
    struct canvas *canvas = &view->canvas;
    struct look plain = {COLOUR_DEFAULT, COLOUR_BAND, 0}, key = {COLOUR_ACCENT, COLOUR_BAND, CELL_BOLD};
    int width = canvas->columns < 66 ? canvas->columns - 4 : 62, y = 2, x = (canvas->columns - width) / 2;
    canvas_fill(canvas, (struct area){1, x, 1, width}, plain);
    for (size_t i = 0; i < key_binding_count && y < canvas->rows - 1; i++) {
        if (key_bindings[i].places != KEYS_ROOFLINE)
            continue;
        canvas_fill(canvas, (struct area){y, x, 1, width}, plain);
        canvas_text(canvas, y, x + 2, 12, key, key_bindings[i].names);
        canvas_text(canvas, y++, x + 15, width - 16, plain, key_bindings[i].help);
    }
    if (y < canvas->rows - 1)
        canvas_fill(canvas, (struct area){y, x, 1, width}, plain);
}

/* --- the chart ------------------------------------------------------------------------------------------------------- */

/* The chart as bytes for the terminal; -ENOTSUP where characters do better. */
static int make_image(const struct roofline_view *view, struct text *out, struct error *err)
{
    unsigned width, height;
    struct image_place place = {(unsigned)view->area.columns, (unsigned)view->area.rows, 10, 20};
    if (screen_cell_size(&width, &height)) {
        place.cell_width = width;
        place.cell_height = height;
    } else if (view->protocol == IMAGE_SIXEL) { /* pixels and not cells: it could end anywhere */
        return -ENOTSUP;
    }
    double scale = place.cell_height / POINTS_PER_ROW;
    struct roofline_scene scene = {view->options->chart, view->window, view->selected, place.columns * place.cell_width / scale, place.rows * POINTS_PER_ROW, false};
    CLEANUP(drawing_finish) struct drawing drawing;
    drawing_init(&drawing, view->canvas.theme);
    draw_roofline(&drawing, &scene);
    return terminal_image_add(&drawing, scale, view->protocol, &place, out, err);
}

static void show(struct roofline_view *view)
{
    struct canvas *canvas = &view->canvas;
    struct text image = TEXT_INIT;
    struct error err = ERROR_INIT;
    if (terminal_fit(view->terminal, canvas) < 0)
        return;
    canvas_clear(canvas);
    view->area = (struct area){1, 0, canvas->rows - 2 - FACT_ROWS, canvas->columns};
    bool image_wanted = view->protocol != IMAGE_NONE && !canvas->mono && !view->help && view->area.rows >= 8 && view->area.columns >= 30;
    bool image_made = image_wanted && make_image(view, &image, &err) == 0;
    if (canvas->rows < 8 || canvas->columns < 24)
        canvas_text(canvas, 0, 0, canvas->columns, (struct look){0}, "too small");
    else if (!image_made)
        roofline_draw_cells(canvas, view->area, view->options->chart, &view->window, view->selected);
    if (canvas->rows >= 8 && canvas->columns >= 24) {
        draw_edges(view);
        draw_facts(view);
    }
    if (view->help)
        draw_help(view);
    if (view->image_shown && !image_made)
        screen_image_remove(view->protocol);
    view->image_shown = image_made;
    terminal_show(view->terminal, canvas, -1, -1);
    if (image_made)
        screen_image_show(&view->area, view->protocol, &image);
    text_finish(&image);
}

/* --- keys ------------------------------------------------------------------------------------------------------------ */

/* Into the window, if it was panned out of it. */
static void reveal(struct roofline_view *view)
{
    const struct roofline_point *point = &view->options->chart->points[view->selected];
    struct roofline_window *window = &view->window;
    double x = (log10(point->intensity) - window->left) / (window->right - window->left), y = (log10(point->performance) - window->bottom) / (window->top - window->bottom);
    if (x < 0 || x > 1 || y < 0 || y > 1)
        roofline_pan(window, x < 0 || x > 1 ? x - 0.5 : 0, y < 0 || y > 1 ? y - 0.5 : 0);
}

static void cycle(struct roofline_view *view, bool forward)
{
    view->selected = roofline_next(view->options->chart, view->selected, forward);
    if (view->selected < 0)
        snprintf(view->message, sizeof view->message, "there is no kernel to show");
    else
        reveal(view);
}

static void zoom(struct roofline_view *view, double factor)
{
    struct roofline_window *window = &view->window;
    double x = (window->left + window->right) / 2, y = (window->bottom + window->top) / 2;
    if (view->selected >= 0) {
        x = log10(view->options->chart->points[view->selected].intensity);
        y = log10(view->options->chart->points[view->selected].performance);
    }
    roofline_zoom(window, factor, x, y);
}

static void open_page(struct roofline_view *view)
{
    struct error err = ERROR_INIT;
    if (!view->options->open_page)
        snprintf(view->message, sizeof view->message, "there is no HTML page of this chart");
    else if (view->options->open_page(view->options->context, &err) < 0)
        snprintf(view->message, sizeof view->message, "%.390s", err.text);
    else
        snprintf(view->message, sizeof view->message, "handed to the browser");
}

static void move(struct roofline_view *view, enum action action)
{
    double right = action == ACTION_PAN_LEFT ? -0.125 : action == ACTION_PAN_RIGHT ? 0.125 : 0;
    double up = action == ACTION_DOWN ? -0.125 : action == ACTION_UP ? 0.125 : 0;
    roofline_pan(&view->window, right, up);
}

static void act(struct roofline_view *view, enum action action)
{
    switch (action) {
    case ACTION_NEXT_MATCH: case ACTION_PREVIOUS_MATCH:
        cycle(view, action == ACTION_NEXT_MATCH);
        break;
    case ACTION_CANCEL:
        view->selected = -1;
        break;
    case ACTION_ZOOM_IN: case ACTION_ZOOM_OUT:
        zoom(view, action == ACTION_ZOOM_IN ? 0.7 : 1 / 0.7);
        break;
    case ACTION_PAN_LEFT: case ACTION_PAN_RIGHT: case ACTION_UP: case ACTION_DOWN:
        move(view, action);
        break;
    case ACTION_RESET:
        view->window = roofline_fit(view->options->chart);
        break;
    case ACTION_OPEN_PAGE:
        open_page(view);
        break;
    case ACTION_THEME:
        terminal_set_theme(view->terminal, terminal_theme(view->terminal) == THEME_DARK ? THEME_LIGHT : THEME_DARK);
        break;
    case ACTION_REDRAW:
        screen_image_remove(view->protocol);
        break;
    case ACTION_HELP:
        view->help = true;
        break;
    case ACTION_QUIT:
        view->stop = true;
        break;
    default:
        break;
    }
}

/* A click selects the kernel it is on, or none. */
static void handle_mouse(struct roofline_view *view, const struct input *input)
{
    struct area plot = roofline_plot_area(view->area);
    if (input->mouse == MOUSE_WHEEL_UP || input->mouse == MOUSE_WHEEL_DOWN)
        zoom(view, input->mouse == MOUSE_WHEEL_UP ? 0.8 : 1 / 0.8);
    else if (plot.rows > 1 && plot.columns > 1)
        view->selected = roofline_nearest(view->options->chart, &view->window, (input->x - plot.x) / (double)(plot.columns - 1),
                                          1 - (input->y - plot.y) / (double)(plot.rows - 1), 0.06);
}

static void handle(struct roofline_view *view, const struct input *input)
{
    int number;
    if (input->event == EVENT_QUIT)
        view->stop = true;
    if (input->event != EVENT_KEY && input->event != EVENT_MOUSE)
        return;
    view->message[0] = '\0';
    enum action action = input->event == EVENT_KEY ? key_action(input->key, KEYS_ROOFLINE, &number) : ACTION_NONE;
    if (view->help && action != ACTION_QUIT)
        view->help = false;
    else if (input->event == EVENT_MOUSE)
        handle_mouse(view, input);
    else
        act(view, action);
}

int roofline_view_run(const struct roofline_view_options *options, struct error *err)
{
    CLEANUP(terminal_closep) struct terminal *terminal = NULL;
    struct roofline_view view = {.options = options, .selected = -1, .window = roofline_fit(options->chart), .protocol = terminal_image_protocol()};
    int result = terminal_open(&terminal, err);
    view.terminal = terminal;
    while (result == 0 && !view.stop) {
        show(&view);
        for (struct input input = terminal_wait(terminal, -1); input.event != EVENT_NONE && !view.stop; input = terminal_wait(terminal, 0))
            handle(&view, &input); /* held keys must not queue up behind pictures */
    }
    if (view.image_shown)
        screen_image_remove(view.protocol);
    canvas_finish(&view.canvas);
    return result;
}
