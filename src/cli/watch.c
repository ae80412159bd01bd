/* SPDX-License-Identifier: MIT */
/*
 * The recorder has the main thread, the UI its own. The signals that mean the UI alone (Ctrl-C where the program doesn't get it, a new
 * size of the window) reach its thread only; the others are the recorder's. What we have to say on stderr waits until the screen is free.
 */
#include "watch.h"

#include "open_ui.h"
#include "output.h"
#include "record/live.h"
#include "view/live_run.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct watch {
    struct live *live;
    struct live_run run;
    const char *path;
    const struct log *log;
    pthread_t thread;
    bool began, recorded; /* the UI's thread runs; signals are blocked */
    struct error problem; /* of the UI */
    sigset_t signals_before;
};

/* --- what the UI asks for ---------------------------------------------------------------------------------------- */

static void status(void *source, struct live_status *ret_status)
{
    static const enum live_stage stages[] = {[LIVE_STATE_RUNS] = LIVE_RUNS, [LIVE_STATE_ENDED] = LIVE_ENDED,
                                             [LIVE_STATE_COMPLETE] = LIVE_COMPLETE, [LIVE_STATE_FAILED] = LIVE_FAILED};
    struct live_view view;
    live_look(source, &view);
    *ret_status = (struct live_status){.stage = stages[view.state], .elapsed_ns = view.elapsed_ns, .wait_status = view.wait_status,
                                       .now_ns = view.now_ns, .behind_ns = view.behind_ns, .close = view.close};
    _Static_assert(sizeof ret_status->problem == sizeof view.problem, "one text");
    memcpy(ret_status->problem, view.problem, sizeof view.problem);
}

static struct trace *take(void *source)
{
    return live_take(source);
}

static void resize(void *source, int columns, int rows)
{
    live_resize(source, columns, rows);
}

static void end_target(void *source)
{
    live_end_target(source);
}

/* --- the UI's thread --------------------------------------------------------------------------------------------- */

static void set_of_ui(sigset_t *ret_set)
{
    sigemptyset(ret_set);
    sigaddset(ret_set, SIGINT);
    sigaddset(ret_set, SIGQUIT);
    sigaddset(ret_set, SIGWINCH);
}

static void *show(void *object)
{
    struct watch *watch = object;
    sigset_t own;
    set_of_ui(&own);
    pthread_sigmask(SIG_UNBLOCK, &own, NULL);
    ui_open_live(&watch->run, watch->path, &watch->problem);
    pthread_sigmask(SIG_BLOCK, &own, NULL);
    live_release(watch->live);
    return NULL;
}

/* Called by the recorder, in its thread, with all signals of ours blocked. Without a UI the terminal is the program's at once. */
static void begin(void *context)
{
    struct watch *watch = context;
    watch->run.terminal = live_socket(watch->live);
    watch->run.changed = live_changed_fd(watch->live);
    output_hold(true);
    int code = pthread_create(&watch->thread, NULL, show, watch);
    watch->began = code == 0;
    if (code == 0)
        return;
    error_set_errno(&watch->problem, -code, "cannot open the terminal UI");
    live_release(watch->live);
}

/* --- life -------------------------------------------------------------------------------------------------------- */

int watch_create(const char *command, const char *path, const struct log *log, struct watch **ret_watch, struct error *err)
{
    struct watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return error_set(err, -ENOMEM, "out of memory");
    watch->path = path;
    watch->log = log;
    int code = live_create(begin, watch, &watch->live, err);
    if (code < 0) {
        free(watch);
        return code;
    }
    watch->run = (struct live_run){.source = watch->live, .command = command, .terminal = -1, .changed = -1, .status = status,
                                   .take = take, .resize = resize, .end_target = end_target};
    log_info(log, "the program runs on a terminal of its own; what it writes there comes here when you leave the UI");
    *ret_watch = watch;
    return 0;
}

struct live *watch_live(struct watch *watch)
{
    return watch->live;
}

void watch_recorded(struct watch *watch)
{
    sigset_t set;
    set_of_ui(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGTSTP);
    pthread_sigmask(SIG_BLOCK, &set, &watch->signals_before);
    watch->recorded = true;
}

void watch_complete(struct watch *watch, struct trace *trace)
{
    live_complete(watch->live, trace);
}

void watch_failed(struct watch *watch, const struct error *problem)
{
    live_fail(watch->live, problem->text);
}

/* A Ctrl-Z of the UI's time is of no use to anybody now. */
static void forget_stop(void)
{
    static const struct timespec at_once = {0, 0};
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    while (sigtimedwait(&stop, NULL, &at_once) > 0)
        ;
}

void watch_finish(struct watch *watch)
{
    if (!watch->live)
        return;
    if (watch->began)
        pthread_join(watch->thread, NULL);
    uint64_t lost = live_destroy(watch->live);
    watch->live = NULL;
    output_hold(false);
    if (watch->recorded) {
        forget_stop();
        pthread_sigmask(SIG_SETMASK, &watch->signals_before, NULL);
    }
    if (lost)
        log_warning(watch->log, "%" PRIu64 " bytes of the program's output could not be kept while the UI was open: the disk is full", lost);
    if (watch->problem.code)
        log_warning(watch->log, "the terminal UI ended early: %s", watch->problem.text);
}

void watch_destroy(struct watch *watch)
{
    if (!watch)
        return;
    watch_finish(watch);
    free(watch);
}
