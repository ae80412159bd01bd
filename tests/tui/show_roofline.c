/* SPDX-License-Identifier: MIT */
/*
 * The roofline viewer with the points of a file: show_roofline POINTS; as a picture: show_roofline POINTS OUT.svg|OUT.png [light].
 * Lines of POINTS: "title TEXT", "operation TEXT", "bandwidth BYTES_A_SECOND NAME", "peak OPERATIONS_A_SECOND NAME",
 * "point WEIGHT INTENSITY PERFORMANCE NAME". `w` writes "opened" to the file page-opened, if the folder lets it.
 */
#include "base/error.h"
#include "base/file.h"
#include "chart/draw_roofline.h"
#include "tui/roofline_view.h"
#include "tui/tui.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 200000

static struct roofline_roof roofs[64];
static struct roofline_point *points;
static struct roofline_chart chart = {.title = "", .operation = "FLOP"};

static void read_line(char *line)
{
    struct roofline_point point = {0};
    double value;
    int used = 0;
    if (sscanf(line, "title %n", &used) == 0 && used)
        chart.title = strdup(line + used);
    else if (sscanf(line, "operation %n", &used) == 0 && used)
        chart.operation = strdup(line + used);
    else if ((sscanf(line, "bandwidth %lf %n", &value, &used) == 1 || sscanf(line, "peak %lf %n", &value, &used) == 1) && used && chart.roof_count < 64)
        roofs[chart.roof_count++] = (struct roofline_roof){strdup(line + used), *line == 'b', value};
    else if (sscanf(line, "point %lf %lf %lf %n", &point.weight, &point.intensity, &point.performance, &used) == 3 && used && chart.point_count < MOST) {
        point.name = strdup(line + used);
        points[chart.point_count++] = point;
    }
}

static int read_points(const char *path, struct error *err)
{
    char *data, *rest;
    size_t size;
    int result = file_read(path, 64 << 20, &data, &size, err);
    points = calloc(MOST, sizeof *points);
    if (result < 0 || !points)
        return result < 0 ? result : -ENOMEM;
    chart.roofs = roofs;
    chart.points = points;
    for (char *line = strtok_r(data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        read_line(line);
    free(data);
    return 0;
}

static int open_page(void *context, struct error *err)
{
    struct file_writer *writer;
    int result = file_writer_create(context, &writer, err);
    if (result < 0)
        return result;
    file_write(writer, "opened", 6);
    return file_writer_finish(writer, err);
}

static int save(const char *path, enum theme theme, struct error *err)
{
    struct roofline_scene scene = {&chart, roofline_fit(&chart), roofline_next(&chart, -1, true), 900, 560, true};
    struct drawing drawing;
    struct text text = TEXT_INIT;
    struct file_writer *writer;
    int result = 0;
    drawing_init(&drawing, theme);
    draw_roofline(&drawing, &scene);
    if (strstr(path, ".svg"))
        drawing_add_svg(&drawing, &text);
    else
        result = drawing_add_png(&drawing, 2, &text, err);
    drawing_finish(&drawing);
    if (result == 0)
        result = file_writer_create(path, &writer, err);
    if (result == 0) {
        file_write(writer, text.data, text.length);
        result = file_writer_finish(writer, err);
    }
    text_finish(&text);
    return result;
}

int main(int argc, char **argv)
{
    struct error err = ERROR_INIT;
    char page[] = "page-opened";
    struct roofline_view_options options = {&chart, open_page, page};
    int result = argc >= 2 ? read_points(argv[1], &err) : -EINVAL;
    if (result == 0 && argc > 2)
        result = save(argv[2], argc > 3 ? THEME_LIGHT : THEME_DARK, &err);
    else if (result == 0)
        result = tui_unfit() ? error_set(&err, -ENOTTY, "%s", tui_unfit()) : roofline_view_run(&options, &err);
    if (result < 0)
        fprintf(stderr, "show_roofline: %s\n", err.code ? err.text : strerror(-result));
    return result < 0;
}
