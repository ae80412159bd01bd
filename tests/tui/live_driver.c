/* SPDX-License-Identifier: MIT */
/*
 * The UI over a run of which the test decides what comes when: `live_driver FOLDER PROGRAM ARGUMENTS...` starts a real program on a pty and
 * shows it; the traces are made here. FOLDER/steps holds how many steps of it are known (none: no trace yet), FOLDER/waits since which ms its worker
 * has been in a call, FOLDER/now what ms it is (else nobody knows). FOLDER/whole says that after the program's end the whole trace is there,
 * FOLDER/failed that there will be none. Names are numbered anew in every trace, as may be.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "trace/builder.h"
#include "tui/tui.h"
#include "view/live_run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS 1000000LL

struct driver {
    const char *folder;
    pid_t pid;
    int pty, relay, wait_status;
    bool ended, whole_taken, asked;
    long taken; /* steps in the newest trace */
    int64_t begin_ns, end_ns, taken_ns;
};

static struct error err = ERROR_INIT;

static void check(int result)
{
    if (result >= 0)
        return;
    fprintf(stderr, "live_driver: %s (%s)\n", err.text, strerror(-result));
    exit(1);
}

/* --- what the test says ---------------------------------------------------------------------------------------------- */

static bool told(const struct driver *driver, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", driver->folder, name);
    return access(path, F_OK) == 0;
}

static long told_number(const struct driver *driver, const char *name)
{
    char path[4096];
    long number = 0;
    snprintf(path, sizeof path, "%s/%s", driver->folder, name);
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%ld", &number) != 1)
        number = 0;
    if (file)
        fclose(file);
    return number;
}

/* --- traces ---------------------------------------------------------------------------------------------------------- */

static struct trace_builder *builder;

static string_id text(const char *name)
{
    return trace_builder_string(builder, name);
}

static track_id add_thread(process_id process, const char *name, int tid)
{
    track_id track;
    struct trace_track facts = {.kind = TRACK_KIND_THREAD, .name = text(name), .process = process, .tid = tid, .device = -1, .stream = -1, .end_ns = INT64_MIN};
    check(trace_builder_add_track(builder, &facts, &track));
    return track;
}

static stack_id add_stack(module_id module, const char *const *functions)
{
    stack_id stack = STACK_NONE;
    for (; *functions; functions++) {
        frame_id frame;
        check(trace_builder_add_frame(builder, &(struct trace_frame){text(*functions), module, STRING_NONE, 0, 0, 0}, &frame));
        check(trace_builder_add_stack(builder, stack, frame, &stack));
    }
    return stack;
}

static void add_span(track_id track, int64_t begin_ns, int64_t end_ns, const char *name)
{
    span_id handle;
    struct span facts = {.track = track, .begin_ns = begin_ns, .end_ns = end_ns, .name = text(name), .category = text("test"), .kind = SPAN_KIND_RANGE,
                         .parent = SPAN_NONE, .stack = STACK_NONE};
    check(trace_builder_add_span(builder, &facts, NULL, &handle));
}

/* A step takes 100 ms: the first ones are spent in `assemble`, later ones more and more in `solve`. */
static void add_step(track_id track, module_id module, long step)
{
    static const char *const assemble[] = {"_start", "main", "assemble", NULL}, *const solve[] = {"_start", "main", "solve", "multiply", NULL};
    stack_id stacks[2] = {add_stack(module, assemble), add_stack(module, solve)};
    char name[32];
    snprintf(name, sizeof name, "step %ld", step);
    add_span(track, step * 100 * MS, step * 100 * MS + 80 * MS, name);
    for (int i = 0; i < 100; i++)
        check(trace_builder_add_sample(builder, track, &(struct sample){(step * 100 + i) * MS, MS, stacks[i < 25 * step], 0, SAMPLE_EVENT_CPU_CLOCK, 0}));
}

static struct trace *make_trace(long steps, long waits_ms)
{
    struct trace *trace;
    process_id process;
    module_id module;
    node_id node;
    char name[32];
    check(trace_builder_create(NULL, &builder, &err));
    for (long i = 0; i < 17 * steps; i++) { /* other numbers for the names that follow */
        snprintf(name, sizeof name, "other %ld", i);
        text(name);
    }
    check(trace_builder_add_node(builder, &(struct trace_node){text("node0"), STRING_NONE}, &node));
    struct trace_process facts = {.node = node, .pid = 4711, .rank = -1, .end_ns = INT64_MIN, .parent = PROCESS_NONE, .command = text("solver"), .exit_status = -1};
    check(trace_builder_add_process(builder, &facts, &process));
    check(trace_builder_add_module(builder, &(struct trace_module){text("/opt/bin/solver"), STRING_NONE, 0}, &module));
    track_id main_thread = add_thread(process, "main", 4711), worker = add_thread(process, "worker", 4712);
    for (long step = 0; step < steps; step++) {
        add_step(main_thread, module, step);
        add_span(worker, step * 100 * MS, (step * 100 + 50) * MS, "help");
    }
    const struct open_call waits = {worker, waits_ms * MS, text("MPI_Recv"), text("mpi")};
    check(trace_builder_set_open(builder, &waits, waits_ms > 0));
    check(waits_ms > 0 ? trace_builder_snapshot(builder, &trace, &err) : trace_builder_finish(builder, &trace, &err));
    trace_builder_destroy(builder);
    return trace;
}

/* --- struct live_run ------------------------------------------------------------------------------------------------- */

static void status(void *source, struct live_status *ret_status)
{
    struct driver *driver = source;
    int64_t now_ns = clock_monotonic_ns();
    if (!driver->ended && waitpid(driver->pid, &driver->wait_status, WNOHANG) == driver->pid) {
        driver->ended = true;
        driver->end_ns = now_ns;
    }
    long now_ms = told_number(driver, "now");
    enum live_stage stage = !driver->ended ? LIVE_RUNS : driver->whole_taken ? LIVE_COMPLETE : told(driver, "failed") ? LIVE_FAILED : LIVE_ENDED;
    *ret_status = (struct live_status){.stage = stage, .elapsed_ns = (driver->ended ? driver->end_ns : now_ns) - driver->begin_ns, .wait_status = driver->wait_status, .now_ns = now_ms && !driver->ended ? now_ms * MS : INT64_MIN,
                                       .behind_ns = driver->taken ? now_ns - driver->taken_ns : -1, .close = told(driver, "close"),
                                       .problem = "the disk is full"};
}

static struct trace *take(void *source)
{
    struct driver *driver = source;
    long steps = told_number(driver, "steps");
    bool whole = driver->ended && told(driver, "whole") && !driver->whole_taken;
    if (steps <= driver->taken && !whole)
        return NULL;
    driver->taken = steps;
    driver->taken_ns = clock_monotonic_ns();
    driver->whole_taken |= whole;
    return make_trace(steps, told_number(driver, "waits"));
}

static void end_target(void *source)
{
    struct driver *driver = source;
    kill(driver->pid, driver->asked ? SIGKILL : SIGINT);
    driver->asked = true;
}

static void resize(void *source, int columns, int rows)
{
    struct driver *driver = source;
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
    ioctl(driver->pty, TIOCSWINSZ, &size);
}

static void pass(int from, int to, bool *ret_over)
{
    char bytes[4096];
    ssize_t taken = read(from, bytes, sizeof bytes);
    *ret_over = taken == 0 || (taken < 0 && errno != EINTR);
    for (ssize_t sent = 0, count; sent < taken; sent += count)
        if ((count = write(to, bytes + sent, (size_t)(taken - sent))) < 0)
            break;
}

static void *relay(void *argument)
{
    struct driver *driver = argument;
    struct pollfd ends[2] = {{.fd = driver->pty, .events = POLLIN}, {.fd = driver->relay, .events = POLLIN}};
    bool over = false;
    while (!over && poll(ends, 2, -1) >= 0) {
        bool typed_over = false;
        if (ends[0].revents)
            pass(driver->pty, driver->relay, &over);
        if (ends[1].revents)
            pass(driver->relay, driver->pty, &typed_over);
        if (typed_over)
            ends[1].fd = -1;
    }
    shutdown(driver->relay, SHUT_WR);
    return NULL;
}

int main(int argc, char **argv)
{
    struct driver driver = {.folder = argv[1], .begin_ns = clock_monotonic_ns()};
    int ends[2];
    pthread_t thread;
    if (argc < 3 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return 2;
    driver.relay = ends[1];
    driver.pid = forkpty(&driver.pty, NULL, NULL, &(struct winsize){.ws_row = 24, .ws_col = 80});
    if (driver.pid == 0) {
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    signal(SIGPIPE, SIG_IGN);
    int flags = driver.pid < 0 || pthread_create(&thread, NULL, relay, &driver) ? -1 : fcntl(ends[0], F_GETFL);
    if (flags < 0 || fcntl(ends[0], F_SETFL, flags | O_NONBLOCK) < 0)
        return 2;
    struct live_run run = {.source = &driver, .command = argv[2], .terminal = ends[0], .changed = -1, .resize = resize, .status = status, .take = take,
                           .end_target = end_target};
    int result = tui_run_live(&run, "run.hpt", &err);
    if (result < 0)
        printf("live_driver: %s\n", err.text);
    printf("left, %s\n", driver.ended ? "it had ended" : "it runs");
    fflush(stdout);
    if (!driver.ended && !isatty(STDOUT_FILENO)) /* the terminal is gone: nobody is there to end it */
        kill(-driver.pid, SIGKILL);
    if (!driver.ended)
        waitpid(driver.pid, &driver.wait_status, 0);
    printf("the program's status is %d\n", driver.wait_status);
    return result < 0;
}
