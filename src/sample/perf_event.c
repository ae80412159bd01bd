/* SPDX-License-Identifier: MIT */
/* The attributes of our events, and the ladder from hardware cycles down to a refusal. */
#include "perf_event.h"

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "core_pmu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__aarch64__)
#include <asm/perf_regs.h>
#endif

#if defined(__x86_64__)
/* The general registers, the stack pointer and the program counter: what unwind tables speak of. */
#define USER_REGISTERS                                                                                                 \
    ((1ULL << PERF_REG_X86_AX) | (1ULL << PERF_REG_X86_BX) | (1ULL << PERF_REG_X86_CX) | (1ULL << PERF_REG_X86_DX) |   \
     (1ULL << PERF_REG_X86_SI) | (1ULL << PERF_REG_X86_DI) | (1ULL << PERF_REG_X86_BP) | (1ULL << PERF_REG_X86_SP) |   \
     (1ULL << PERF_REG_X86_IP) | (0xffULL << PERF_REG_X86_R8))
#elif defined(__aarch64__)
#define USER_REGISTERS ((1ULL << PERF_REG_ARM64_MAX) - 1)
#else
#define USER_REGISTERS 0
#endif

enum {
    FORMAT_LOST = 1 << 4, /* PERF_FORMAT_LOST, which kernel headers before 6.0 do not have */
};

long perf_sysctl(const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
    CLEANUP(fclosep) FILE *file = fopen(path, "re");
    long value;
    return file && fscanf(file, "%ld", &value) == 1 ? value : -1;
}

int64_t perf_clock_shift_ns(void)
{
    CLEANUP(fclosep) FILE *file = fopen("/proc/self/timens_offsets", "re");
    char line[128];
    long long seconds, nanoseconds;
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "monotonic %lld %lld", &seconds, &nanoseconds) == 2)
            return seconds * 1000000000LL + nanoseconds;
    return 0;
}

static void set_common(const struct sampling_plan *plan, struct perf_event_attr *attr)
{
    attr->size = sizeof(*attr);
    attr->sample_type = plan->layout.sample_type;
    attr->sample_regs_user = plan->layout.user_registers;
    attr->sample_id_all = 1;
    attr->use_clockid = 1;
    attr->clockid = CLOCK_MONOTONIC_RAW;
    attr->exclude_hv = 1;
    attr->exclude_guest = 1;
    attr->exclude_kernel = !plan->kernel;
    attr->exclude_callchain_kernel = !plan->kernel;
    attr->exclude_callchain_user = plan->stack == SAMPLING_STACK_DWARF;
    if (attr->sample_type & PERF_SAMPLE_STACK_USER)
        attr->sample_stack_user = plan->stack_copy_bytes;
    if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK)
        attr->branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_NO_FLAGS |
                                   PERF_SAMPLE_BRANCH_NO_CYCLES;
    attr->watermark = 1; /* of no given size: half the ring, whatever size the ring will have */
}

static void set_sideband(const struct sampling_plan *plan, struct perf_event_attr *attr)
{
    attr->mmap = attr->mmap2 = 1;
    attr->comm = attr->comm_exec = 1;
    attr->context_switch = 1;
    attr->build_id = plan->build_ids;
}

struct perf_layout perf_layout_of(const struct sampling_plan *plan, enum perf_event_role role)
{
    struct perf_layout layout = plan->layout;
    if (role == EVENT_FAULTS)
        layout.sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD;
    return layout;
}

static void set_role(const struct sampling_plan *plan, enum perf_event_role role, int cpu, struct perf_event_attr *attr)
{
    attr->type = PERF_TYPE_SOFTWARE;
    attr->task = 1;
    switch (role) {
    case EVENT_SAMPLES:
        if (plan->event == SAMPLE_EVENT_CYCLES) {
            attr->type = PERF_TYPE_HARDWARE;
            attr->config = PERF_COUNT_HW_CPU_CYCLES | core_pmu_type(cpu) << PERF_PMU_TYPE_SHIFT;
        } else {
            attr->config = PERF_COUNT_SW_CPU_CLOCK;
        }
        attr->freq = 1;
        attr->sample_freq = plan->frequency_hz;
        if (!plan->separate_sideband)
            set_sideband(plan, attr);
        break;
    case EVENT_SIDEBAND:
        attr->config = PERF_COUNT_SW_DUMMY;
        attr->exclude_kernel = 1; /* it samples nothing, and so needs no rights */
        set_sideband(plan, attr);
        break;
    case EVENT_FAULTS:
        attr->config = PERF_COUNT_SW_PAGE_FAULTS;
        /* A software event that reports its period is sampled every time, whatever period is set; and one with a
         * frequency reports periods that do not add up to what happened. */
        attr->sample_type = perf_layout_of(plan, role).sample_type;
        attr->sample_period = FAULTS_A_SAMPLE;
        attr->task = 0;
        break;
    default:
        break;
    }
}

static void set_start(const struct sampling_plan *plan, enum perf_event_role role, struct perf_event_attr *attr)
{
    /* With one ring, mappings come through the sampling event and must be seen during a delay too: samples are then
     * thrown away by their time instead. */
    bool waits = plan->start_disabled && plan->separate_sideband && role != EVENT_SIDEBAND;
    attr->disabled = waits || plan->enable_on_exec;
    attr->enable_on_exec = plan->enable_on_exec && !waits;
}

static int open_attr(struct perf_event_attr *attr, pid_t pid, int cpu)
{
    long fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : (int)fd;
}

int perf_event_open_planned(const struct sampling_plan *plan, enum perf_event_role role, pid_t pid, int cpu, bool inherit)
{
    struct perf_event_attr attr = {0};
    set_common(plan, &attr);
    set_role(plan, role, cpu, &attr);
    set_start(plan, role, &attr);
    attr.inherit = inherit;
    attr.read_format = FORMAT_LOST;
    int fd = open_attr(&attr, pid, cpu);
    if (fd == -EINVAL) { /* before 6.0 the kernel did not count losses by event */
        attr.read_format = 0;
        fd = open_attr(&attr, pid, cpu);
    }
    return fd;
}

static void set_layout(struct sampling_plan *plan)
{
    uint64_t type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                    PERF_SAMPLE_PERIOD;
    plan->layout.user_registers = 0;
    switch (plan->stack) {
    case SAMPLING_STACK_FP:
        type |= PERF_SAMPLE_CALLCHAIN;
        break;
    case SAMPLING_STACK_LBR:
        type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK;
        break;
    case SAMPLING_STACK_DWARF:
        /* The chain has the kernel's part; the user's part comes from registers and stack. */
        type |= (plan->kernel ? PERF_SAMPLE_CALLCHAIN : 0) | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        plan->layout.user_registers = USER_REGISTERS;
        break;
    case SAMPLING_STACK_NONE:
        break;
    }
    plan->layout.sample_type = type;
}

bool sampling_plan_lower(struct sampling_plan *plan)
{
    long maximum = perf_sysctl("perf_event_max_sample_rate");
    if (maximum <= 0 || plan->frequency_hz <= (unsigned long)maximum)
        return false;
    plan->frequency_hz = (unsigned)maximum;
    return true;
}

/* Whether the kernel opens this plan's sampling event: 0 or -errno. */
static int try_plan(struct sampling_plan *plan)
{
    int fd;
    set_layout(plan);
    do
        fd = perf_event_open_planned(plan, EVENT_SAMPLES, 0, 0, true);
    while (fd == -EINVAL && sampling_plan_lower(plan));
    if (fd < 0)
        return fd;
    close(fd);
    return 0;
}

/* Kernel code first; without it where that is refused. */
static int try_rights(struct sampling_plan *plan)
{
    plan->kernel = true;
    int r = try_plan(plan);
    if (r == -EACCES || r == -EPERM) {
        plan->kernel = false;
        r = try_plan(plan);
    }
    return r;
}

/* Kernels before 5.12 know no build ids in mappings and refuse the unknown bit. */
static int try_build_ids(struct sampling_plan *plan)
{
    plan->build_ids = true;
    int r = try_rights(plan);
    if (r == -EINVAL || r == -E2BIG) {
        plan->build_ids = false;
        r = try_rights(plan);
    }
    return r;
}

static int refuse(int code, struct error *err)
{
    long paranoid = perf_sysctl("perf_event_paranoid");
    if (code == -ENOSYS)
        return error_set(err, code, "this kernel has no perf events (or a seccomp filter hides them)");
    if (paranoid > 2)
        return error_set(err, code,
                         "kernel.perf_event_paranoid is %ld: sampling needs CAP_PERFMON or a value of 2 or less; the "
                         "administrator sets it with sysctl",
                         paranoid);
    return error_set_errno(err, code,
                           "the kernel refuses sampling events (a container's seccomp filter or security policy: allow "
                           "perf_event_open or add CAP_PERFMON)");
}

/*
 * Cycles of user code alone do not tell how much time went by in the kernel between two of them. A clock that ticks there too,
 * and gives a sample only where it may, does: the samples that are missing are the kernel's time.
 */
static void prefer_clock(struct sampling_plan *plan)
{
    struct sampling_plan clock = *plan;
    clock.event = SAMPLE_EVENT_CPU_CLOCK;
    if (!plan->kernel && plan->event == SAMPLE_EVENT_CYCLES && plan->stack != SAMPLING_STACK_LBR && try_plan(&clock) == 0)
        *plan = clock;
}

static int make_event(struct sampling_plan *plan, const struct log *log, struct error *err)
{
    plan->event = SAMPLE_EVENT_CYCLES;
    int r = try_build_ids(plan);
    if (r < 0 && plan->stack == SAMPLING_STACK_LBR) {
        log_warning(log, "no LBR stacks on this machine (%s): following frame pointers instead", strerror(-r));
        plan->stack = SAMPLING_STACK_FP;
        r = try_build_ids(plan);
    }
    if (r < 0) {
        int first = r;
        plan->event = SAMPLE_EVENT_CPU_CLOCK;
        r = try_build_ids(plan);
        if (r < 0)
            return refuse(r, err);
        log_info(log, "no hardware cycle counter (%s): sampling by cpu-clock", strerror(-first));
    }
    prefer_clock(plan);
    if (!plan->kernel)
        log_info(log, "kernel code is not sampled: kernel.perf_event_paranoid is %ld (1 or less, or CAP_PERFMON, would allow it)",
                 perf_sysctl("perf_event_paranoid"));
    return 0;
}

int sampling_plan_make(const struct sampling_request *request, const struct log *log, struct sampling_plan *ret_plan,
                       struct error *err)
{
    struct sampling_plan plan = {
        .stack = request->stack,
        .frequency_hz = request->frequency_hz,
        .stack_copy_bytes = request->stack_copy_bytes ? request->stack_copy_bytes : STACK_COPY_DEFAULT,
        .enable_on_exec = request->enable_on_exec,
        .start_disabled = request->start_disabled,
    };
    if (plan.stack == SAMPLING_STACK_DWARF && !USER_REGISTERS) {
        log_warning(log, "no DWARF unwinding on this architecture: following frame pointers instead");
        plan.stack = SAMPLING_STACK_FP;
    }
    plan.stack_copy_bytes = (plan.stack_copy_bytes + 7) & ~7U;
    if (plan.stack_copy_bytes > STACK_COPY_MAXIMUM) {
        log_warning(log, "stack copies of %d bytes: a sampling record cannot hold more", STACK_COPY_MAXIMUM);
        plan.stack_copy_bytes = STACK_COPY_MAXIMUM;
    }
    plan.separate_sideband = plan.stack == SAMPLING_STACK_DWARF;
    sampling_plan_lower(&plan);
    int r = make_event(&plan, log, err);
    if (r < 0)
        return r;
    if (plan.frequency_hz < request->frequency_hz)
        log_warning(log, "sampling at %u Hz instead of %u: the kernel's limit is kernel.perf_event_max_sample_rate", plan.frequency_hz,
                    request->frequency_hz);
    *ret_plan = plan;
    return 0;
}
