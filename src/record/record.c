/* SPDX-License-Identifier: MIT */
/* One recording, start to finish: session, plan, target, loop, the last round. */
#include "record.h"

#include "attach.h"
#include "backend_list.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "launch.h"
#include "live.h"
#include "device_monitor.h"
#include "overhead.h"
#include "record_host.h"
#include "record_loop.h"
#include "record_timers.h"
#include "resident.h"
#include "wire/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct recorder {
    const struct record_options *options;
    struct session *session;
    struct recording recording;
    struct sampler *sampler;
    struct device_monitor *monitor;
    struct resident *resident;
    uint64_t inherited_bytes; /* resident of the target while it was still a copy of us */
    bool sampling;    /* there is a plan for it */
    bool use_timers;  /* the kernel refuses sampling: the target samples itself */
    char *const *argv; /* of the program to start; NULL: a process is attached to */
    struct launch_state state;
    struct launched launched;
    struct record_loop loop;
    int64_t cpu_begin_ns;
};

static void recorder_finish(struct recorder *recorder)
{
    device_monitor_stop(recorder->monitor);
    resident_destroy(recorder->resident);
    sampler_destroy(recorder->sampler);
    session_destroy(recorder->session);
}

static enum sampling_stack sampling_stack_of(enum callgraph callgraph)
{
    switch (callgraph) {
    case CALLGRAPH_FP:
        return SAMPLING_STACK_FP;
    case CALLGRAPH_DWARF:
        return SAMPLING_STACK_DWARF;
    case CALLGRAPH_LBR:
        return SAMPLING_STACK_LBR;
    default:
        return SAMPLING_STACK_NONE;
    }
}

/* Asks the kernel for a plan; without one, timers in the target where a target can have them. */
static int plan_sampling(struct recorder *recorder, bool attach, struct error *err)
{
    const struct record_options *options = recorder->options;
    struct recording *recording = &recorder->recording;
    if (!options->frequency_hz || !backend_list_has(options->backends, "cpu"))
        return 0;
    const struct sampling_request request = {
        .frequency_hz = options->frequency_hz,
        .stack = sampling_stack_of(options->callgraph),
        .stack_copy_bytes = options->stack_copy_bytes < UINT32_MAX ? (uint32_t)options->stack_copy_bytes : UINT32_MAX,
        .enable_on_exec = !attach,
        .start_disabled = options->delay_ns > 0,
    };
    struct error refusal = ERROR_INIT;
    int r = sampling_plan_make(&request, options->log, &recording->plan, &refusal);
    if (r == 0)
        return 1;
    if (attach)
        return error_set(err, r, "cannot sample another process: %s", refusal.text);
    log_warning(options->log, "%s; the program samples itself with timers instead", refusal.text);
    recorder->use_timers = true;
    return 0;
}

static int open_session(struct recorder *recorder, const char *command, struct error *err)
{
    const struct record_options *options = recorder->options;
    const uint32_t flags = (options->call_tree ? WIRE_SESSION_CALL_TREE : 0) | (options->keep_code ? WIRE_SESSION_KEEP_CODE : 0) |
                           (options->gpu_pc_sampling ? WIRE_SESSION_PC_SAMPLING : 0) |
                           (options->gpu_pc_serialized ? WIRE_SESSION_PC_SERIALIZED : 0) |
                           (options->whole_graphs ? WIRE_SESSION_WHOLE_GRAPHS : 0);
    struct session_options session_options = {
        .parent = options->session_parent,
        .command = command,
        .buffer_limit_bytes = options->buffer_limit_bytes,
        .flags = flags,
        .inactive = options->delay_ns > 0,
        .log = options->log,
    };
    if (recorder->use_timers)
        record_timers_set(&session_options, options);
    int r = session_create(&session_options, &recorder->session, err);
    if (r < 0)
        return r;
    recorder->recording.spool = session_spool(recorder->session);
    recorder->recording.log = options->log;
    recorder->recording.window_end_ns = INT64_MAX;
    return 0;
}

static void note_options(struct recorder *recorder)
{
    const struct record_options *options = recorder->options;
    if (options->frequency_hz)
        recording_put_metadata(&recorder->recording, "sampling.frequency_asked", "%u", options->frequency_hz);
    if (options->call_tree)
        recording_put_metadata(&recorder->recording, "call_tree", "yes");
    record_host(&recorder->recording);
    if (!options->launcher)
        return;
    recording_put_metadata(&recorder->recording, LAUNCHER_NAME_KEY, "%s", options->launcher->name);
    recording_put_metadata(&recorder->recording, LAUNCHER_RANK_KEY, "%" PRId32, options->launcher->rank);
    if (options->launcher->size > 0)
        recording_put_metadata(&recorder->recording, LAUNCHER_SIZE_KEY, "%" PRId32, options->launcher->size);
}

static void set_window(struct recorder *recorder, struct record_loop *loop)
{
    const struct record_options *options = recorder->options;
    int64_t now_ns = clock_raw_ns();
    loop->begin_ns = now_ns + (int64_t)options->delay_ns;
    loop->end_ns = options->duration_ns ? loop->begin_ns + (int64_t)options->duration_ns : INT64_MAX;
    loop->on = !options->delay_ns;
    recorder->recording.window_begin_ns = options->delay_ns ? loop->begin_ns : 0;
    recorder->recording.window_end_ns = loop->end_ns;
}

/* A run that cannot be watched goes on all the same. */
static void begin_watching(struct recorder *recorder, struct live *live)
{
    struct error problem = ERROR_INIT;
    if (live_begin(live, recorder->loop.pid, recorder->session, &problem) == 0)
        return;
    target_terminal_end(live_terminal(live)); /* the keeper passes on what it writes */
    log_warning(recorder->options->log, "%s", problem.text);
}

static void run_loop(struct recorder *recorder, struct record_loop *loop)
{
    struct live *live = recorder->options->live;
    loop->session = recorder->session;
    loop->recording = &recorder->recording;
    loop->sampler = recorder->sampler;
    loop->resident = recorder->resident = resident_create(&recorder->recording);
    loop->wait_status = -1;
    loop->live = live;
    loop->signals.own_terminal = live != NULL;
    if (live)
        begin_watching(recorder, live);
    record_loop_run(loop);
    if (live)
        live_ended(live, loop->wait_status);
}

/* What part of the run was recorded, on the trace's axis, where it was not all; and for how long, of a process attached to. */
static void note_window(struct recorder *recorder, const struct record_loop *loop)
{
    const struct record_options *options = recorder->options;
    struct recording *recording = &recorder->recording;
    int64_t now_ns = clock_raw_ns(), start_ns = session_start_raw_ns(recorder->session);
    int64_t end_ns = now_ns < loop->end_ns ? now_ns : loop->end_ns;
    int64_t begin_ns = loop->begin_ns < end_ns ? loop->begin_ns : end_ns; /* it may have ended during --delay */
    if (!loop->child) /* it may have done nothing at all, and goes on */
        recording_put_metadata(recording, "recording.duration_ns", "%" PRId64, end_ns - begin_ns);
    if (!options->delay_ns && !options->duration_ns)
        return;
    if (options->delay_ns) /* else with the program */
        recording_put_metadata(recording, "recording.begin_ns", "%" PRId64, begin_ns - start_ns);
    recording_put_metadata(recording, "recording.end_ns", "%" PRId64, end_ns - start_ns);
}

/* The last round, the ledger, our own cost; then the session's end. */
static int finish_recording(struct recorder *recorder, const struct record_loop *loop, struct record_result *result,
                            struct error *err)
{
    struct recording *recording = &recorder->recording;
    note_window(recorder, loop);
    device_monitor_stop(TAKE_PTR(recorder->monitor));
    resident_end(recorder->resident, loop->peak_bytes, recorder->inherited_bytes);
    if (recorder->sampler)
        sampler_end(recorder->sampler, loop->pid, loop->child ? loop->wait_status : -1, session_directory_fd(recorder->session));
    else
        record_timers_end(recording, recorder->options, recorder->use_timers, loop->pid, loop->wait_status);
    overhead_report(recording, recorder->sampler != NULL, clock_process_cpu_ns() - recorder->cpu_begin_ns);
    int r = session_finish(recorder->session, err);
    if (r < 0)
        return r;
    result->wait_status = loop->wait_status;
    result->interrupted = loop->signals.interrupted;
    snprintf(result->session_directory, sizeof(result->session_directory), "%s", session_directory(recorder->session));
    return 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static int start_sampling(struct recorder *recorder, struct error *err)
{
    int r = sampler_create(&recorder->recording, &recorder->sampler, err);
    if (r < 0)
        return r;
    return recorder->argv ? sampler_follow_target(recorder->sampler, recorder->launched.pid, err)
                          : sampler_attach(recorder->sampler, recorder->loop.pid, err);
}

/* A program that cannot be executed is no failure of ours: *ret_exec_errno then. */
static int start_target(struct recorder *recorder, int *ret_exec_errno, struct error *err)
{
    struct launched *launched = &recorder->launched;
    char **environment = NULL;
    int r = backend_environment(recorder->session, recorder->options, recorder->argv[0], recorder->use_timers, &environment, err);
    if (r < 0)
        return r;
    struct live *live = recorder->options->live;
    r = launch_prepare(&recorder->state, recorder->argv, environment, live ? live_terminal(live) : NULL, launched, err);
    if (environment)
        session_environment_free(environment);
    if (r < 0)
        return r;
    if (recorder->sampling)
        r = start_sampling(recorder, err);
    else
        record_timers_begin(&recorder->recording, launched->pid, base_name(recorder->argv[0]));
    recorder->inherited_bytes = resident_bytes(launched->pid);
    if (r == 0)
        r = launch_go(launched, ret_exec_errno, err);
    if (r == 0 && *ret_exec_errno == 0 && recorder->use_timers)
        record_timers_check(&recorder->recording, launched->pid);
    recorder->loop.pid = launched->pid;
    recorder->loop.process_fd = launched->process_fd;
    return r;
}

static int start_attached(struct recorder *recorder, struct error *err)
{
    recorder->loop.process_fd = recorder->launched.process_fd = attach_process_fd(recorder->loop.pid);
    return start_sampling(recorder, err);
}

/* With signals blocked and everything planned: from the start of what is recorded to the end. */
static int record_target(struct recorder *recorder, struct record_result *result, struct error *err)
{
    struct record_loop *loop = &recorder->loop;
    if (record_signals_open(&loop->signals) < 0)
        return error_set_errno(err, -errno, "cannot wait for signals");
    int r = recorder->argv ? start_target(recorder, &result->exec_errno, err) : start_attached(recorder, err);
    if (r == 0 && result->exec_errno == 0) {
        set_window(recorder, loop);
        note_options(recorder);
        if (recorder->argv && backend_list_has(recorder->options->backends, "cuda"))
            recorder->monitor = device_monitor_start(&recorder->recording);
        run_loop(recorder, loop);
        r = finish_recording(recorder, loop, result, err);
    } else {
        session_remove(session_directory(recorder->session), NULL);
    }
    record_signals_close(&loop->signals);
    return r;
}

/* command: what the session is called after. */
static int record(struct recorder *recorder, const char *command, struct record_result *ret_result, struct error *err)
{
    struct record_result result = {.wait_status = -1};
    sigset_t block;
    record_signals_set(&block);
    if (recorder->options->live) {
        sigaddset(&block, SIGWINCH); /* whose terminal it is at the moment takes it: the UI's thread, or the relay's */
        sigaddset(&block, SIGTSTP);  /* a recorder that is stopped loses what it is there for, and nobody would read the target's terminal */
    }
    int r = launch_state_enter(&recorder->state, &block, err);
    if (r < 0)
        return r;
    r = open_session(recorder, command, err);
    if (r == 0)
        r = record_target(recorder, &result, err);
    launch_finish(&recorder->launched);
    recorder_finish(recorder);
    launch_state_leave(&recorder->state);
    if (r == 0)
        *ret_result = result;
    return r;
}

int record_run(const struct record_options *options, char *const argv[], struct record_result *ret_result, struct error *err)
{
    struct recorder recorder = {.options = options, .cpu_begin_ns = clock_process_cpu_ns(), .argv = argv,
                                .launched = LAUNCHED_INIT, .loop = {.child = true, .process_fd = -1}};
    int sampling = plan_sampling(&recorder, false, err);
    if (sampling < 0)
        return sampling;
    recorder.sampling = sampling;
    return record(&recorder, base_name(argv[0]), ret_result, err);
}

int record_attach(const struct record_options *options, pid_t pid, struct record_result *ret_result, struct error *err)
{
    struct recorder recorder = {.options = options, .cpu_begin_ns = clock_process_cpu_ns(),
                                .launched = LAUNCHED_INIT, .loop = {.attached = true, .pid = pid, .process_fd = -1}};
    char name[64] = "";
    int r = attach_check(pid, name, sizeof(name), err);
    if (r < 0)
        return r;
    int sampling = plan_sampling(&recorder, true, err);
    if (sampling < 0)
        return sampling;
    if (!sampling)
        return error_set(err, -EINVAL, "attaching samples the CPU: it needs the cpu backend and a frequency");
    return record(&recorder, name, ret_result, err);
}
