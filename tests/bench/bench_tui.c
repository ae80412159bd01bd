/* SPDX-License-Identifier: MIT */
/*
 * What the terminal UI costs: opening a native trace until the first screen is drawn, then each frame while one zooms and pans, on a
 * canvas of 200 x 50 cells; and what the other tabs take when they are opened. Memory: what is resident and no file's, beside the
 * columns that are decoded, the levels of detail and the tables, which are what the data need.
 * bench_tui TRACE.hpt
 */
#include "base/clock.h"
#include "tui/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define FRAMES_MAX 1024

struct frames {
    double ms[FRAMES_MAX];
    int count;
};

static double draw_ms(struct app *app)
{
    int y, x;
    int64_t begin_ns = clock_monotonic_ns();
    app_draw(app, &y, &x);
    return (double)(clock_monotonic_ns() - begin_ns) / 1e6;
}

static void press(struct app *app, struct frames *frames, uint32_t key, int times)
{
    for (int i = 0; i < times; i++) {
        int64_t begin_ns = clock_monotonic_ns();
        app_handle(app, &(struct input){.event = EVENT_KEY, .key = key});
        double handled_ms = (double)(clock_monotonic_ns() - begin_ns) / 1e6, drawn_ms = draw_ms(app);
        if (frames && frames->count < FRAMES_MAX)
            frames->ms[frames->count++] = handled_ms + drawn_ms;
    }
}

static int by_value(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static void report(const char *what, struct frames *frames)
{
    qsort(frames->ms, (size_t)frames->count, sizeof *frames->ms, by_value);
    printf("%-28s %4d frames   median %6.2f ms   95 %% %6.2f ms   worst %6.2f ms\n", what, frames->count, frames->ms[frames->count / 2],
           frames->ms[frames->count * 95 / 100], frames->ms[frames->count - 1]);
    frames->count = 0;
}

static void zoom_and_pan(struct app *app)
{
    static struct frames frames;
    press(app, &frames, '+', 26);
    press(app, &frames, '-', 26);
    report("zoom in and out", &frames);
    for (int depth = 0; depth < 24; depth += 4) {
        press(app, &frames, KEY_CODE_RIGHT, 12);
        press(app, &frames, KEY_CODE_LEFT, 6);
        press(app, NULL, '+', 4);
    }
    report("pan at six depths of zoom", &frames);
    press(app, NULL, 'r', 1);
    press(app, &frames, KEY_CODE_DOWN, 60);
    report("lane by lane", &frames);
}

/* --- memory ---------------------------------------------------------------------------------------------------------- */

static double status_mib(const char *key)
{
    char line[256];
    unsigned long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0)
            kib = strtoul(line + strlen(key), NULL, 10);
    if (file)
        fclose(file);
    return (double)kib / 1024;
}

/* `before`: what was resident before the trace was opened, the program itself. */
static void report_memory(const struct trace *trace, double before)
{
    double anonymous = status_mib("RssAnon:"), kept = (double)trace_kept_bytes(trace) / (1 << 20);
    printf("%-28s %6.1f MiB anonymous, %.1f of them the program's; columns in use %.1f MiB: %.2f times them\n", "  memory", anonymous, before, kept,
           (anonymous - before) / kept);
}

int main(int argc, char **argv)
{
    static struct app app;
    struct trace *trace;
    struct error err = ERROR_INIT;
    struct rusage usage;
    double before = status_mib("RssAnon:");
    int64_t begin_ns = clock_monotonic_ns();
    if (argc != 2 || trace_open_native(argv[1], &trace, &err) < 0) {
        fprintf(stderr, "bench_tui: %s\n", argc == 2 ? err.text : "give one native trace");
        return 1;
    }
    app_init(&app, trace, argv[1]);
    app.canvas.utf8 = true;
    if (canvas_resize(&app.canvas, 50, 200) < 0)
        return 1;
    draw_ms(&app);
    printf("%llu spans: first screen after %.1f ms\n", (unsigned long long)trace_row_count(trace, FAMILY_SPANS),
           (double)(clock_monotonic_ns() - begin_ns) / 1e6);
    report_memory(trace, before);
    zoom_and_pan(&app);
    report_memory(trace, before);
    for (int i = 0; i < TAB_FLAME + 1; i++) {
        app.current = (enum tab_number)i;
        printf("%-28s %8.1f ms\n", app.tabs[i].tab->title, draw_ms(&app));
    }
    app_set_window(&app, app.first_ns, app.first_ns + (app.last_ns - app.first_ns) / 2);
    app.current = TAB_HOTSPOTS;
    printf("%-28s %8.1f ms\n", "Hotspots of half the time", draw_ms(&app));
    report_memory(trace, before);
    getrusage(RUSAGE_SELF, &usage);
    printf("%.0f MB resident at most\n", (double)usage.ru_maxrss / 1024);
    app_finish(&app);
    trace_unref(trace);
    return 0;
}
