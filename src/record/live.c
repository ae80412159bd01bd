/* SPDX-License-Identifier: MIT */
/* What the recorder, the relay, the feed and who watches share: the few facts are atomic, so that nobody waits for anybody. */
#include "live.h"

#include "base/clock.h"
#include "base/error.h"
#include "live_feed.h"
#include "session.h"
#include "session_files.h"
#include "target_terminal.h"
#include "terminal_relay.h"
#include "trace/trace.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

struct live {
    void (*began)(void *context);
    void *context;
    struct target_terminal terminal;
    struct terminal_relay *relay;
    struct live_feed *feed;
    struct error feed_problem; /* why there is none */
    int socket, changed_fd;
    pid_t target;
    int target_fd;         /* pidfd: -1 where the kernel has none (before 5.3) */
    int64_t begin_ns, end_ns;
    int64_t start_raw_ns; /* of the session: where traces have their 0 */
    int wait_status;
    unsigned asked_to_end;
    bool close;            /* atomic */
    struct trace *whole; /* atomic */
    enum live_state state; /* atomic; what goes with it is written before */
    char problem[256];
};

static void tell(const struct live *live)
{
    uint64_t one = 1;
    while (write(live->changed_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

static void set_state(struct live *live, enum live_state state)
{
    __atomic_store_n(&live->state, state, __ATOMIC_RELEASE);
    tell(live);
}

/* --- the recorder's side ----------------------------------------------------------------------------------------- */

int live_create(void (*began)(void *context), void *context, struct live **ret_live, struct error *err)
{
    struct live *live = calloc(1, sizeof *live);
    if (!live)
        return error_set(err, -ENOMEM, "out of memory");
    live->began = began;
    live->context = context;
    live->socket = live->target_fd = -1;
    live->feed_problem = (struct error)ERROR_INIT;
    int code = target_terminal_open(&live->terminal, err);
    live->changed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (code == 0 && live->changed_fd < 0)
        code = error_set_errno(err, -errno, "cannot watch the run");
    if (code) {
        live_destroy(live);
        return code;
    }
    *ret_live = live;
    return 0;
}

uint64_t live_destroy(struct live *live)
{
    if (!live)
        return 0;
    bool stopped = live_feed_destroy(live->feed);
    uint64_t lost = terminal_relay_destroy(live->relay);
    target_terminal_end(&live->terminal);
    closep(&live->target_fd);
    if (stopped)
        closep(&live->changed_fd);
    trace_unref(live->whole);
    free(live);
    return lost;
}

struct target_terminal *live_terminal(struct live *live)
{
    return &live->terminal;
}

int live_begin(struct live *live, pid_t target, struct session *session, struct error *err)
{
    live->target = target;
    live->target_fd = (int)syscall(SYS_pidfd_open, target, 0); /* nobody has waited for it yet: the number is its own */
    live->begin_ns = clock_monotonic_ns();
    live->start_raw_ns = session_start_raw_ns(session);
    int code = terminal_relay_create(&live->terminal, session_directory_fd(session), &live->relay, &live->socket, err);
    if (code)
        return code;
    session_calibrate(session_spool(session)); /* so that times of targets are known before the first second is over */
    live_feed_create(session_directory(session), live->changed_fd, &live->feed, &live->feed_problem);
    live->began(live->context);
    return 0;
}

void live_ended(struct live *live, int wait_status)
{
    live->end_ns = clock_monotonic_ns();
    live->wait_status = wait_status;
    set_state(live, LIVE_STATE_ENDED);
    closep(&live->terminal.slave); /* now it closes when the last one closes it */
    live->terminal.slave = -1;
    if (live->relay)
        terminal_relay_end(live->relay);
    if (live->feed)
        live_feed_stop(live->feed);
}

/* --- the side of who watches ------------------------------------------------------------------------------------- */

int live_socket(const struct live *live)
{
    return live->socket;
}

int live_changed_fd(const struct live *live)
{
    return live->changed_fd;
}

void live_close(struct live *live)
{
    __atomic_store_n(&live->close, true, __ATOMIC_RELEASE);
    tell(live);
}

/* The recorder reads signals while the target runs; afterwards they wait, blocked, until what is recorded has become a trace. */
static bool is_asked_to_close(const struct live *live)
{
    sigset_t pending;
    return __atomic_load_n(&live->close, __ATOMIC_ACQUIRE) ||
           (sigpending(&pending) == 0 && (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGHUP) == 1));
}

void live_look(struct live *live, struct live_view *ret_view)
{
    uint64_t count;
    int64_t known_ns = live->feed ? live_feed_time_ns(live->feed) : -1, now_ns = clock_monotonic_ns();
    const char *problem = live->feed ? live_feed_problem(live->feed) : live->feed_problem.text;
    ssize_t got = read(live->changed_fd, &count, sizeof count);
    (void)got;
    enum live_state state = __atomic_load_n(&live->state, __ATOMIC_ACQUIRE);
    *ret_view = (struct live_view){.state = state, .now_ns = INT64_MIN, .close = is_asked_to_close(live)};
    if (state == LIVE_STATE_RUNS)
        ret_view->now_ns = clock_raw_ns() - live->start_raw_ns;
    if (state != LIVE_STATE_RUNS) {
        now_ns = live->end_ns;
        ret_view->wait_status = live->wait_status;
    }
    ret_view->elapsed_ns = now_ns - live->begin_ns;
    ret_view->behind_ns = state == LIVE_STATE_COMPLETE ? 0 : known_ns < 0 ? -1 : now_ns > known_ns ? now_ns - known_ns : 0;
    if (state == LIVE_STATE_FAILED)
        problem = live->problem;
    if (problem)
        snprintf(ret_view->problem, sizeof ret_view->problem, "%.255s", problem);
}

struct trace *live_take(struct live *live)
{
    struct trace *whole = __atomic_exchange_n(&live->whole, NULL, __ATOMIC_ACQ_REL);
    if (whole)
        return whole;
    enum live_state state = __atomic_load_n(&live->state, __ATOMIC_ACQUIRE);
    return live->feed && state != LIVE_STATE_COMPLETE ? live_feed_take(live->feed) : NULL;
}

void live_resize(struct live *live, int columns, int rows)
{
    target_terminal_resize(&live->terminal, columns, rows);
}

/* Whatever has its number by now: the target alone. */
static void signal_target(const struct live *live, int number)
{
    if (live->target_fd >= 0)
        syscall(SYS_pidfd_send_signal, live->target_fd, number, NULL, 0);
    else
        kill(live->target, number);
}

/* As Ctrl-C: to what stands in the foreground of its terminal. */
void live_end_target(struct live *live)
{
    pid_t foreground = tcgetpgrp(live->terminal.master);
    if (__atomic_load_n(&live->state, __ATOMIC_ACQUIRE) != LIVE_STATE_RUNS)
        return;
    if (live->asked_to_end++)
        signal_target(live, SIGKILL);
    else if (foreground <= 0 || kill(-foreground, SIGINT) < 0)
        signal_target(live, SIGINT);
}

void live_release(struct live *live)
{
    if (live->relay)
        terminal_relay_release(live->relay);
}

void live_complete(struct live *live, struct trace *trace)
{
    trace_unref(__atomic_exchange_n(&live->whole, trace_ref(trace), __ATOMIC_ACQ_REL));
    set_state(live, LIVE_STATE_COMPLETE);
}

void live_fail(struct live *live, const char *problem)
{
    snprintf(live->problem, sizeof live->problem, "%.255s", problem);
    set_state(live, LIVE_STATE_FAILED);
}
