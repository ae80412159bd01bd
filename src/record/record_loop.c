/* SPDX-License-Identifier: MIT */
/* One thread, one poll. How often the sampler has a round bounds what a crash of ours can lose (docs/sampling.md). */
#include "record_loop.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUND_NS = 70000000, PAUSE_NS = 2000000 };

static void switch_recording(struct record_loop *loop, int64_t now_ns)
{
    bool on = now_ns >= loop->begin_ns && now_ns < loop->end_ns;
    if (on == loop->on)
        return;
    loop->on = on;
    session_set_active(loop->session, on);
    if (loop->sampler)
        sampler_set_enabled(loop->sampler, on);
}

static int timeout_ms(const struct record_loop *loop, int64_t now_ns, int64_t next_round_ns)
{
    int64_t until_ns = next_round_ns;
    if (loop->begin_ns > now_ns && loop->begin_ns < until_ns)
        until_ns = loop->begin_ns;
    if (loop->end_ns > now_ns && loop->end_ns < until_ns)
        until_ns = loop->end_ns;
    if (record_signals_due_ns(&loop->signals) < until_ns)
        until_ns = record_signals_due_ns(&loop->signals);
    return until_ns <= now_ns ? 0 : (int)((until_ns - now_ns + 999999) / 1000000);
}

/* Takes the status of a child that ended; follows one that stopped. True when it has ended. */
static bool check_child(struct record_loop *loop)
{
    int status;
    struct rusage usage;
    while (loop->child && wait4(loop->pid, &status, WNOHANG | WUNTRACED, &usage) == loop->pid) {
        if (!WIFSTOPPED(status)) {
            loop->wait_status = status;
            loop->peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
            return true;
        }
        if (loop->sampler)
            sampler_round(loop->sampler);
        if (!loop->signals.own_terminal) /* else our shell has nothing to do with it, and who watches would stop, too */
            record_signals_follow_stop(loop->pid);
    }
    return false;
}

static bool has_ended(struct record_loop *loop, bool process_ready)
{
    if (loop->child)
        return check_child(loop);
    return process_ready || (loop->process_fd < 0 && kill(loop->pid, 0) < 0 && errno == ESRCH);
}

/* Without a sampler only the target and what reports to the session itself are known. */
static void read_resident(struct record_loop *loop, int64_t now_ns)
{
    pid_t pids[2 * RESIDENT_MAXIMUM];
    size_t room = sizeof pids / sizeof *pids, all;
    if (!loop->on || !resident_is_due(loop->resident, now_ns))
        return;
    if (loop->sampler) {
        all = sampler_pids(loop->sampler, pids, room);
    } else {
        pids[0] = loop->pid;
        all = 1 + session_pids(loop->session, pids + 1, room - 1);
    }
    resident_round(loop->resident, pids, all < room ? all : room, all, now_ns);
}

void record_loop_run(struct record_loop *loop)
{
    struct pollfd wait[3] = {
        {.fd = loop->signals.fd, .events = POLLIN},
        {.fd = loop->process_fd, .events = POLLIN},
        {.fd = loop->sampler ? sampler_poll_fd(loop->sampler) : -1, .events = POLLIN},
    };
    int64_t next_round_ns = clock_raw_ns() + ROUND_NS;
    for (;;) {
        int64_t now_ns = clock_raw_ns();
        switch_recording(loop, now_ns);
        poll(wait, 3, timeout_ms(loop, now_ns, next_round_ns));
        now_ns = clock_raw_ns();
        if (wait[0].revents)
            record_signals_read(&loop->signals, loop->attached ? 0 : loop->pid, now_ns);
        if (loop->live && loop->signals.asked_to_end)
            live_close(loop->live);
        if (has_ended(loop, wait[1].revents))
            return;
        if (loop->attached && (loop->signals.interrupted || now_ns >= loop->end_ns))
            return;
        if (!loop->attached)
            record_signals_forward(&loop->signals, loop->pid, now_ns);
        read_resident(loop, now_ns);
        if (now_ns < next_round_ns && !wait[2].revents)
            continue;
        if (loop->sampler)
            sampler_round(loop->sampler);
        next_round_ns = now_ns + ROUND_NS;
        if (wait[2].revents) { /* a flood of records must not keep us from the signals, nor us the CPU from the target */
            struct timespec pause = {0, PAUSE_NS};
            nanosleep(&pause, NULL);
        }
    }
}
