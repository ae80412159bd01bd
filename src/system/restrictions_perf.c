/* SPDX-License-Identifier: MIT */
/* The judgement of what bounds perf events: paranoid level, seccomp, capabilities, PMU, budgets. */
#include "restrictions_private.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif

/* The default of --perf-freq: what a user loses nothing against. */
#define USUAL_FREQUENCY 999

static bool may_ignore_paranoid(const struct machine *machine)
{
    return privileges_has(&machine->privileges, CAP_PERFMON) || privileges_has(&machine->privileges, CAP_SYS_ADMIN);
}

static bool perf_works(const struct machine *machine)
{
    return machine->probe.cpu_clock.works || machine->probe.cycles.works;
}

/* A refusal that the paranoid level does not explain comes from a filter in front of the system call. */
static bool refused_by_seccomp(const struct machine *machine)
{
    int error = machine->probe.cpu_clock.error;
    if (perf_works(machine) || machine->privileges.seccomp_mode != 2)
        return false;
    return error == EPERM || error == ENOSYS;
}

void check_perf_events(struct judge *judge, struct restriction *ret)
{
    const struct machine *machine = judge->machine;
    if (perf_works(machine)) {
        ret->found = machine->probe.cycles.works
                         ? "hardware cycles and the kernel's cpu-clock were tried and count"
                         : "the kernel's cpu-clock was tried and counts; hardware cycles do not";
        return;
    }
    ret->state = RESTRICTION_BLOCKED;
    ret->cost =
        "the kernel samples nothing for us: timers in the target take over (statically linked programs give nothing, "
        "rates are bound to the kernel's tick), no context switches, no page faults, no kernel frames";
    if (!machine->settings.perf_events) {
        ret->found = "this kernel has none (no /proc/sys/kernel/perf_event_paranoid)";
        ret->who = "whoever builds or chooses the kernel";
        ret->remedy =
            "a kernel with CONFIG_PERF_EVENTS=y (every distribution's has it; gVisor and some sandboxes have not)";
        return;
    }
    ret->found = judge_text(judge, "perf_event_open was refused: %s", strerror(machine->probe.cpu_clock.error));
    ret->who = refused_by_seccomp(machine) ? "whoever starts the container: see seccomp"
                                           : "root of this machine: see perf_event_paranoid";
}

static void explain_levels(struct judge *judge, struct restriction *ret, long level)
{
    /* Levels above 2 are distributions' own; any other kernel takes them for 2, which the trial shows. */
    if (level >= 3 && !perf_works(judge->machine)) {
        ret->state = RESTRICTION_BLOCKED;
        ret->found = judge_text(
            judge, "%ld: a distribution's own level (Debian 3, Ubuntu 4), perf events only for privileged programs",
            level);
        ret->cost = "no sampling by the kernel: timers in the target take over; no context switches, page faults or "
                    "kernel frames";
    } else if (level >= 2) {
        ret->state = RESTRICTION_LIMITED;
        ret->found = level == 2 ? "2: user code only"
                                : judge_text(judge, "%ld, which this kernel takes for 2: user code only", level);
        ret->cost = "time inside the kernel is measured but not sampled: it is one row, [kernel, not sampled], that names "
                    "neither the kernel's functions nor who called them";
    } else {
        ret->found = judge_text(judge, "%ld: user and kernel code of your own processes", level);
    }
}

void check_paranoid(struct judge *judge, struct restriction *ret)
{
    const struct machine *machine = judge->machine;
    struct setting level = machine->settings.paranoid;
    if (!level.known) {
        ret->state = RESTRICTION_UNKNOWN;
        ret->found = "can't be read";
        return;
    }
    if (may_ignore_paranoid(machine)) {
        ret->found = judge_text(judge, "%ld, but this process is privileged: no bound", level.value);
        return;
    }
    explain_levels(judge, ret, level.value);
    if (ret->state == RESTRICTION_OK)
        return;
    ret->who = "root of this machine (of the host, in a container)";
    ret->remedy = judge_text(judge,
                             "sudo sysctl kernel.perf_event_paranoid=1  # until reboot\n"
                             "echo kernel.perf_event_paranoid=1 | sudo tee /etc/sysctl.d/99-perf.conf  # for good\n"
                             "sudo setcap cap_perfmon=ep %s  # for this program only (Linux 5.8 and later)",
                             machine->program[0] ? machine->program : "$(which hprofiler)");
}

void check_seccomp(struct judge *judge, struct restriction *ret)
{
    const struct machine *machine = judge->machine;
    int mode = machine->privileges.seccomp_mode;
    if (mode < 0) {
        ret->state = RESTRICTION_UNKNOWN;
        ret->found = "can't be read";
        return;
    }
    if (!refused_by_seccomp(machine)) {
        ret->found = mode == 0
                         ? "no filter"
                         : "a filter is active, but it lets perf_event_open through or something else refused it first";
        return;
    }
    ret->state = RESTRICTION_BLOCKED;
    ret->found = judge_text(judge, "a filter refuses perf_event_open (%s)", strerror(machine->probe.cpu_clock.error));
    ret->cost = "no sampling by the kernel: timers in the target take over";
    ret->who = "whoever starts the container";
    ret->remedy =
        "docker run --cap-add PERFMON ...  # podman alike; older engines: --security-opt seccomp=unconfined\n"
        "Kubernetes: securityContext: {capabilities: {add: [\"PERFMON\"]}, seccompProfile: {type: Unconfined}}";
}

void check_capabilities(struct judge *judge, struct restriction *ret)
{
    static const struct {
        unsigned number;
        const char *name;
    } useful[] = {{CAP_PERFMON, "perfmon"},
                  {CAP_SYS_ADMIN, "sys_admin"},
                  {CAP_SYS_PTRACE, "sys_ptrace"},
                  {CAP_SYSLOG, "syslog"},
                  {CAP_IPC_LOCK, "ipc_lock"}};
    const struct privileges *privileges = &judge->machine->privileges;
    if (!privileges->known) {
        ret->state = RESTRICTION_UNKNOWN;
        ret->found = "can't be read";
        return;
    }
    const char *held = "";
    for (size_t i = 0; i < sizeof useful / sizeof *useful; i++)
        if (privileges_has(privileges, useful[i].number))
            held = judge_text(judge, "%s%scap_%s", held, *held ? ", " : "", useful[i].name);
    if (*held) {
        ret->found = held;
    } else if (privileges->user == 0) {
        ret->state = RESTRICTION_LIMITED;
        ret->found = "root without the capabilities that profiling asks for";
        ret->cost = "the limits for ordinary users hold: see perf_event_paranoid";
        ret->who = "whoever starts the container";
        ret->remedy = "docker run --cap-add PERFMON --cap-add SYS_PTRACE ...";
    } else {
        ret->found = "none: an ordinary user; own processes can be profiled, others' cannot";
    }
}

void check_pmu(struct judge *judge, struct restriction *ret)
{
    const struct machine *machine = judge->machine;
    const struct probe_result *cycles = &machine->probe.cycles;
    if (cycles->works) {
        struct setting watchdog = machine->settings.nmi_watchdog;
        ret->found = watchdog.known && watchdog.value > 0 ? "cycles were tried and count; the NMI watchdog holds one "
                                                            "counter (sudo sysctl kernel.nmi_watchdog=0 frees it)"
                                                          : "cycles were tried and count";
        return;
    }
    ret->state = RESTRICTION_LIMITED;
    ret->cost = "sampling uses the kernel's cpu-clock: same functions, but no counts of cycles, instructions, cache or "
                "branch misses; "
                "samples inside code that has interrupts off land behind it";
    if (!perf_works(machine)) {
        ret->found = "not reachable: see perf events";
        ret->who = "see perf events";
    } else if (machine->host.hypervisor[0]) {
        ret->found = judge_text(judge,
                                cycles->counts_zero ? "virtual machine (%s): its PMU opens but counts nothing"
                                                    : "virtual machine (%s) without a virtual PMU",
                                machine->host.hypervisor);
        ret->who = "the administrator of the virtual machine's host";
        ret->remedy = "QEMU: -cpu host,pmu=on   libvirt: <features><pmu state='on'/></features>   VMware: vpmc.enable "
                      "= \"TRUE\"   "
                      "cloud: a bare-metal or full-host instance type";
    } else {
        ret->found = cycles->counts_zero ? "cycles open but count nothing"
                                         : judge_text(judge, "cycles were refused: %s", strerror(cycles->error));
        ret->who = "root of this machine";
        ret->remedy = "dmesg | grep -i -e perf -e pmu  # says whether the kernel found a PMU (firmware can hide it)";
    }
}

void check_branch_stack(struct judge *judge, struct restriction *ret)
{
    const struct machine *machine = judge->machine;
    if (machine->probe.branch_stack.works) {
        ret->found = "call-stack mode was tried and opens";
        return;
    }
    ret->state = RESTRICTION_LIMITED;
    ret->found = machine->probe.cycles.works
                     ? judge_text(judge, "refused: %s", strerror(machine->probe.branch_stack.error))
                     : "needs hardware counters";
    ret->cost = "--perf-callgraph lbr is not available; fp and dwarf are";
    ret->who = machine->probe.cycles.works ? "nobody: the processor has to have it (Intel since Haswell)"
                                           : "see hardware counters";
}

void check_switches(struct judge *judge, struct restriction *ret)
{
    const struct probe_result *switches = &judge->machine->probe.switches;
    if (switches->works) {
        ret->found = "running and blocked times are recorded";
        return;
    }
    ret->state = RESTRICTION_LIMITED;
    ret->found = judge_text(judge, "refused: %s", strerror(switches->error));
    ret->cost = "no off-CPU times: where threads wait is not shown";
    ret->who = "see perf events";
}

void check_mlock(struct judge *judge, struct restriction *ret)
{
    const struct machine *machine = judge->machine;
    struct setting budget = machine->settings.mlock_kb;
    if (!budget.known) {
        ret->state = machine->settings.perf_events ? RESTRICTION_UNKNOWN : RESTRICTION_OK;
        ret->found = "can't be read";
        return;
    }
    bool free_of_it = privileges_has(&machine->privileges, CAP_IPC_LOCK);
    ret->found = judge_text(judge, "%ld KiB for each CPU%s", budget.value,
                            free_of_it ? ", not counted for this process (cap_ipc_lock)" : "");
    if (free_of_it || budget.value >= 516)
        return;
    ret->state = RESTRICTION_LIMITED;
    ret->cost = "smaller rings between kernel and profiler: bursts at high rates are lost (and counted)";
    ret->who = "root of this machine";
    ret->remedy = "sudo sysctl kernel.perf_event_mlock_kb=516";
}

void check_sample_rate(struct judge *judge, struct restriction *ret)
{
    const struct kernel_settings *settings = &judge->machine->settings;
    struct setting rate = settings->max_sample_rate, share = settings->cpu_time_max_percent;
    if (!rate.known) {
        ret->state = settings->perf_events ? RESTRICTION_UNKNOWN : RESTRICTION_OK;
        ret->found = "can't be read";
        return;
    }
    if (share.known && share.value > 0 && share.value < 100)
        ret->found = judge_text(judge, "%ld Hz now; the kernel lowers it when sampling takes over %ld %% of a CPU",
                                rate.value, share.value);
    else
        ret->found = judge_text(judge, "%ld Hz, never lowered", rate.value);
    if (rate.value >= 10000)
        return;
    ret->state = RESTRICTION_LIMITED;
    ret->cost =
        rate.value < USUAL_FREQUENCY
            ? judge_text(
                  judge,
                  "--perf-freq above %ld is refused by the kernel, the default %d too: the rate is lowered and said",
                  rate.value, USUAL_FREQUENCY)
            : judge_text(judge, "--perf-freq above %ld is refused by the kernel: the rate is lowered and said",
                         rate.value);
    ret->who = "root of this machine";
    ret->remedy =
        "sudo sysctl kernel.perf_cpu_time_max_percent=0 kernel.perf_event_max_sample_rate=100000  # 0: stop lowering";
}

void check_max_stack(struct judge *judge, struct restriction *ret)
{
    struct setting depth = judge->machine->settings.max_stack;
    if (!depth.known) {
        ret->state = judge->machine->settings.perf_events ? RESTRICTION_UNKNOWN : RESTRICTION_OK;
        ret->found = "can't be read";
        return;
    }
    ret->found = judge_text(judge, "the kernel walks up to %ld frames", depth.value);
    if (depth.value >= 64)
        return;
    ret->state = RESTRICTION_LIMITED;
    ret->cost = "deeper fp stacks are cut at their outer end and marked; dwarf stacks are not bound by it";
    ret->who = "root of this machine";
    ret->remedy = "sudo sysctl kernel.perf_event_max_stack=127  # while no program is being profiled";
}

void check_timers(struct judge *judge, struct restriction *ret)
{
    const struct machine *machine = judge->machine;
    if (machine->probe.timers.works && machine->runtime_library) {
        ret->found = "tried and work; used only where perf events are refused";
        return;
    }
    ret->state = perf_works(machine) ? RESTRICTION_LIMITED : RESTRICTION_BLOCKED;
    ret->cost =
        perf_works(machine) ? "no second way if perf events were refused; not needed now" : "no CPU samples at all";
    if (!machine->runtime_library) {
        ret->found = "libhprofiler_runtime.so is not in ../lib beside the program";
        ret->who = "you";
        ret->remedy =
            "cmake --build build && cmake --install build --prefix PREFIX  # program and libraries stay together";
    } else {
        ret->found = machine->probe.timers.error
                         ? judge_text(judge, "refused: %s", strerror(machine->probe.timers.error))
                         : "a timer was set, but no signal came";
        ret->who = "whoever set the limits (RLIMIT_SIGPENDING) or the seccomp filter";
        ret->remedy = "ulimit -i  # pending signals: at least one for each thread";
    }
}
