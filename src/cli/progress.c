/* SPDX-License-Identifier: MIT */
/* stderr of the program: warnings, news, and one progress bar that comes only when something takes its time. */
#include "output.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/progress.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_NS 1000000000 /* nothing is shown for what is done by then */
#define REDRAW_NS 100000000

/* stderr is one for the whole process, and so is what is drawn on it; workers report from several threads. */
static struct {
    pthread_mutex_t lock;
    char what[128];
    int64_t started_ns, drawn_ns;
    bool shown, held;
    char waiting[8192]; /* lines, while held */
    size_t waiting_length;
} bar = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void clear_locked(void)
{
    if (bar.shown)
        fputs("\r\033[K", stderr);
    bar.shown = false;
}

void output_progress_clear(void)
{
    pthread_mutex_lock(&bar.lock);
    clear_locked();
    bar.started_ns = 0;
    bar.what[0] = '\0';
    fflush(stderr);
    pthread_mutex_unlock(&bar.lock);
}

static void draw_locked(uint64_t done, uint64_t total)
{
    char cells[25] = "........................";
    if (!total) {
        fprintf(stderr, "\r\033[K%s", bar.what);
    } else {
        double share = done >= total ? 1 : (double)done / (double)total;
        memset(cells, '#', (size_t)(share * 24));
        fprintf(stderr, "\r\033[K%s [%s] %3.0f %%", bar.what, cells, share * 100);
    }
    fflush(stderr);
    bar.shown = true;
}

static void update(void *context, const char *what, uint64_t done, uint64_t total)
{
    (void)context;
    int64_t now_ns = clock_monotonic_ns();
    pthread_mutex_lock(&bar.lock);
    if (!bar.started_ns)
        bar.started_ns = now_ns;
    if (strncmp(bar.what, what, sizeof bar.what - 1) != 0)
        snprintf(bar.what, sizeof bar.what, "%s", what);
    if (!bar.held && now_ns - bar.started_ns >= PATIENCE_NS && now_ns - bar.drawn_ns >= REDRAW_NS) {
        bar.drawn_ns = now_ns;
        draw_locked(done, total);
    }
    pthread_mutex_unlock(&bar.lock);
}

const struct progress *output_progress(void)
{
    static const struct progress progress = {.update = update};
    return isatty(STDERR_FILENO) ? &progress : NULL;
}

/* A whole line more; the oldest go where there is no room. */
static void keep_locked(const char *line, size_t length)
{
    length = length < sizeof bar.waiting ? length : sizeof bar.waiting;
    while (bar.waiting_length + length > sizeof bar.waiting) {
        const char *end = memchr(bar.waiting, '\n', bar.waiting_length);
        size_t gone = end ? (size_t)(end - bar.waiting) + 1 : bar.waiting_length;
        memmove(bar.waiting, bar.waiting + gone, bar.waiting_length -= gone);
    }
    memcpy(bar.waiting + bar.waiting_length, line, length);
    bar.waiting_length += length;
}

void output_hold(bool hold)
{
    pthread_mutex_lock(&bar.lock);
    if (hold)
        clear_locked();
    bar.held = hold;
    if (!hold) {
        fwrite(bar.waiting, 1, bar.waiting_length, stderr);
        fflush(stderr);
        bar.waiting_length = 0;
    }
    pthread_mutex_unlock(&bar.lock);
}

static void write_line(void *context, enum log_level level, const char *line)
{
    (void)context;
    char text[2048];
    if (level == LOG_DEBUG)
        return;
    snprintf(text, sizeof text - 1, "hprofiler: %s%s", level == LOG_WARNING ? "warning: " : "", line);
    strcat(text, "\n");
    pthread_mutex_lock(&bar.lock);
    clear_locked();
    if (bar.held)
        keep_locked(text, strlen(text));
    else
        fputs(text, stderr);
    fflush(stderr);
    pthread_mutex_unlock(&bar.lock);
}

const struct log *output_log(void)
{
    static const struct log log = {.write = write_line};
    return &log;
}
