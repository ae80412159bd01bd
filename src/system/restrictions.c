/* SPDX-License-Identifier: MIT */
/*
 * The judgement of each restriction: one function each, one table. Nothing here touches the system, so that every case
 * can be tested with a made-up machine. The checks of perf events are in restrictions_perf.c.
 */
#include "restrictions.h"
#include "restrictions_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *restriction_state_name(enum restriction_state state)
{
    static const char *const names[] = {"ok", "limited", "blocked", "unknown"};
    return (unsigned)state < sizeof names / sizeof *names ? names[state] : "unknown";
}

const char *judge_text(struct judge *judge, const char *format, ...)
{
    char text[4608];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < 0)
        length = 0;
    if ((size_t)length >= sizeof text)
        length = (int)sizeof text - 1;
    char *copy = arena_strndup(&judge->list->arena, text, (size_t)length);
    judge->failed |= !copy;
    return copy ? copy : "";
}

/* --- what is not perf's ------------------------------------------------------------------------------------------ */

/* The kernel shows addresses with kptr_restrict 0 to everybody if perf_event_paranoid is 1 or less, with 0 and 1 to
 * CAP_SYSLOG, with 2 to nobody. */
static void check_kernel_symbols(struct judge *judge, struct restriction *ret)
{
    const struct kernel_settings *settings = &judge->machine->settings;
    struct setting hidden = settings->kptr_restrict;
    if (settings->kernel_symbols_readable) {
        ret->found = "/proc/kallsyms shows addresses";
        return;
    }
    ret->state = RESTRICTION_LIMITED;
    ret->cost = "kernel frames have no function names: they appear as [kernel]+0xaddress";
    ret->who = "root of this machine (not of a container)";
    if (hidden.known && hidden.value == 0 && settings->paranoid.known && settings->paranoid.value > 1) {
        ret->found = judge_text(judge, "hidden from ordinary users while kernel.perf_event_paranoid is %ld",
                                settings->paranoid.value);
        ret->remedy = "sudo sysctl kernel.perf_event_paranoid=1  # until reboot";
        return;
    }
    ret->found = hidden.known ? judge_text(judge, "kernel.kptr_restrict is %ld, addresses are hidden", hidden.value)
                              : "/proc/kallsyms shows no addresses";
    ret->remedy = "sudo sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1  # until reboot; for root "
                  "kptr_restrict=1 is enough";
}

static void check_debug_info(struct judge *judge, struct restriction *ret)
{
    const struct machine *machine = judge->machine;
    if (machine->libc_debug_info) {
        ret->found = "that of libc is installed";
        return;
    }
    if (machine->debuginfod_configured) {
        ret->found = "not installed for libc, but DEBUGINFOD_URLS names a server: it is asked after a run";
        return;
    }
    ret->state = RESTRICTION_LIMITED;
    ret->found = machine->libc_path[0] ? judge_text(judge, "none installed for %s", machine->libc_path)
                                       : "libc's path is unknown (static program?)";
    ret->cost =
        "in system libraries: only exported functions have names, no source lines, no inlined functions. Your own "
        "programs need -g (with -O2: the code stays the same)";
    ret->who = "root for packages; any user for debuginfod";
    ret->remedy = "sudo apt-get install libc6-dbg  # or, without root: export "
                  "DEBUGINFOD_URLS=https://debuginfod.debian.net (your distribution's server)";
}

static void check_session_place(struct judge *judge, struct restriction *ret)
{
    const struct session_place *place = &judge->machine->session;
    double free_mib = (double)place->free_bytes / (1024.0 * 1024.0);
    if (!place->exists || !place->writable) {
        ret->state = RESTRICTION_BLOCKED;
        ret->found = judge_text(judge, "%s %s", place->path, place->exists ? "is not writable" : "does not exist");
        ret->cost = "nothing can be recorded: sessions have no place";
        ret->who = "you";
        ret->remedy = "hprofiler run --session-dir DIR ...  # or: export TMPDIR=DIR, a local directory of your own";
        return;
    }
    ret->found =
        judge_text(judge, "%s, %.0f MiB free%s", place->path, free_mib, place->in_memory ? ", in memory (tmpfs)" : "");
    if (!place->in_memory && place->free_bytes >= (64ULL << 20))
        return;
    ret->state = RESTRICTION_LIMITED;
    ret->cost = place->in_memory
                    ? "what is recorded takes memory until the trace is written, and is gone after a reboot"
                    : "a long recording fills the disk; what does not fit is counted as lost";
    ret->who = "you";
    ret->remedy = "hprofiler run --session-dir /var/tmp ...  # or: export TMPDIR=/var/tmp; --buffer-limit SIZE keeps "
                  "the newest only";
}

static void check_time_namespace(struct judge *judge, struct restriction *ret)
{
    if (!judge->machine->time_namespace) {
        ret->found = "the machine's own clocks";
        return;
    }
    ret->found = judge_text(judge, "clocks are shifted against the host's (%s)", judge->machine->timens_offsets);
    ret->state = RESTRICTION_LIMITED;
    ret->cost = "times can be compared only with traces from the same time namespace; the shift is taken into account "
                "within one run";
    ret->who = "whoever starts the container";
    ret->remedy = "start it without unshare --time or the runtime's time offsets";
}

static void check_ptrace(struct judge *judge, struct restriction *ret)
{
    static const char *const levels[] = {"off", "only children", "only with CAP_SYS_PTRACE", "nobody"};
    const struct machine *machine = judge->machine;
    struct setting scope = machine->settings.ptrace_scope;
    if (machine->hidden_processes) {
        ret->state = RESTRICTION_LIMITED;
        ret->found = "/proc is mounted with hidepid";
        ret->cost = "attach can't see other users' processes";
        ret->who = "root of this machine";
        ret->remedy = "sudo mount -o remount,hidepid=0 /proc";
        return;
    }
    /* Yama bounds attaching a debugger; perf events and /proc/PID/maps ask for the right to read only. */
    if (scope.known && scope.value >= 0 && scope.value <= 3)
        ret->found = judge_text(judge, "yama's ptrace_scope is %ld (%s): it bounds debuggers, not hprofiler",
                                scope.value, levels[scope.value]);
    else
        ret->found = "no ptrace_scope: own processes can be attached to";
}

static void check_container(struct judge *judge, struct restriction *ret)
{
    const struct machine *machine = judge->machine;
    if (!machine->privileges.initial_user_namespace) {
        ret->state = RESTRICTION_LIMITED;
        ret->found = machine->host.container[0]
                         ? judge_text(judge, "%s in a user namespace of its own", machine->host.container)
                         : "a user namespace of its own (rootless container, unshare -U)";
        ret->cost =
            "root in here has no rights over perf events: the machine's perf_event_paranoid holds as for any user";
        ret->who = "root of the host";
        ret->remedy = "sudo sysctl kernel.perf_event_paranoid=1  # on the host";
    } else if (machine->host.container[0]) {
        ret->found = judge_text(judge, "%s, with the host's user ids", machine->host.container);
    } else if (machine->privileges.pid_namespace_depth > 1) {
        ret->found = "a PID namespace of its own";
    } else {
        ret->found = "none seen";
    }
}

static void check_cpu_quota(struct judge *judge, struct restriction *ret)
{
    const struct machine *machine = judge->machine;
    double quota = machine->cpu_quota;
    if (quota <= 0 || quota >= machine->host.cpus_usable) {
        ret->found = judge_text(judge, "%u of %u CPUs usable, no lower quota", machine->host.cpus_usable,
                                machine->host.cpus_online);
        return;
    }
    ret->state = RESTRICTION_LIMITED;
    ret->found = judge_text(judge, "the control group grants %.2f CPUs of %u usable", quota, machine->host.cpus_usable);
    ret->cost = "threads are throttled: wall times and off-CPU times contain pauses that are not the program's";
    ret->who = "whoever set the limit of the container or job";
    ret->remedy = "docker run --cpus N ... with a larger N; Kubernetes: resources.limits.cpu; Slurm: --cpus-per-task";
}

static void check_clock(struct judge *judge, struct restriction *ret)
{
    const struct host *host = &judge->machine->host;
    if (strcmp(host->architecture, "x86_64") != 0) {
        ret->found = "the kernel's raw monotonic clock";
        return;
    }
    if (host->tsc_invariant && strcmp(host->clocksource, "tsc") == 0) {
        ret->found = "invariant time-stamp counter";
        return;
    }
    ret->state = RESTRICTION_LIMITED;
    ret->found = judge_text(judge, "%s, clocksource %s",
                            host->tsc_invariant ? "invariant time-stamp counter" : "no invariant time-stamp counter",
                            host->clocksource[0] ? host->clocksource : "unknown");
    ret->cost = "each time stamp is read from the kernel's clock: two to many times slower than the counter";
    ret->who = "root of this machine, or of the virtual machine's host";
    ret->remedy = "cat /sys/devices/system/clocksource/clocksource0/available_clocksource  # tsc there? boot with "
                  "tsc=reliable only if it is";
}

static void check_open_files(struct judge *judge, struct restriction *ret)
{
    const struct machine *machine = judge->machine;
    if (!machine->open_files.known) {
        ret->state = RESTRICTION_UNKNOWN;
        ret->found = "the limit can't be read";
        return;
    }
    unsigned cpus = machine->host.cpus_online ? machine->host.cpus_online : 1;
    long threads = machine->open_files.value > 64 ? (machine->open_files.value - 64) / (long)cpus : 0;
    ret->found = judge_text(judge, "%ld descriptors: attach reaches %ld threads on %u CPUs", machine->open_files.value,
                            threads, cpus);
    if (threads >= 64)
        return;
    ret->state = RESTRICTION_LIMITED;
    ret->cost = "attach needs a descriptor for each thread and CPU: further threads are not sampled (and counted)";
    ret->who = "you, up to the hard limit";
    ret->remedy = "ulimit -n $(ulimit -Hn)";
}

typedef void check_function(struct judge *judge, struct restriction *ret);
static const struct {
    const char *id, *title;
    check_function *check;
} checks[] = {
    {"perf_events", "perf events", check_perf_events},
    {"perf_event_paranoid", "perf_event_paranoid", check_paranoid},
    {"seccomp", "seccomp", check_seccomp},
    {"capabilities", "capabilities", check_capabilities},
    {"pmu", "hardware counters (PMU)", check_pmu},
    {"lbr", "branch stacks (LBR)", check_branch_stack},
    {"context_switches", "context switches", check_switches},
    {"perf_event_mlock_kb", "perf_event_mlock_kb", check_mlock},
    {"perf_event_max_sample_rate", "sample-rate cap", check_sample_rate},
    {"perf_event_max_stack", "stack depth", check_max_stack},
    {"thread_timers", "timers in the target", check_timers},
    {"kernel_symbols", "kernel symbols", check_kernel_symbols},
    {"debug_info", "debug info", check_debug_info},
    {"session_directory", "session directory", check_session_place},
    {"container", "container", check_container},
    {"cpu_quota", "CPU quota", check_cpu_quota},
    {"attach", "attaching", check_ptrace},
    {"open_files", "open files", check_open_files},
    {"clock", "clock", check_clock},
    {"time_namespace", "time namespace", check_time_namespace},
};

int restrictions_judge(const struct machine *machine, struct restriction_list *ret_list)
{
    size_t count = sizeof checks / sizeof *checks;
    memset(ret_list, 0, sizeof *ret_list);
    arena_init(&ret_list->arena);
    struct judge judge = {.machine = machine, .list = ret_list};
    ret_list->items = arena_calloc(&ret_list->arena, count, sizeof *ret_list->items);
    if (!ret_list->items) {
        restriction_list_finish(ret_list);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        struct restriction *item = &ret_list->items[i];
        *item = (struct restriction){
            .id = checks[i].id, .title = checks[i].title, .found = "", .cost = "", .who = "", .remedy = ""};
        checks[i].check(&judge, item);
    }
    ret_list->count = count;
    if (judge.failed) {
        restriction_list_finish(ret_list);
        return -ENOMEM;
    }
    return 0;
}

void restriction_list_finish(struct restriction_list *list)
{
    arena_finish(&list->arena);
    list->items = NULL;
    list->count = 0;
}
