/* SPDX-License-Identifier: MIT */
/* Which ways of sampling work here: each is really tried. */
#include "sampling_probe.h"

#include "base/clock.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Keeps the CPU busy for about `duration_ns` of this thread's own CPU time, so that a clock has something to count. */
static void spin(int64_t duration_ns)
{
    int64_t end_ns = clock_thread_cpu_ns() + duration_ns;
    while (clock_thread_cpu_ns() < end_ns)
        ;
}

static int event_open(struct perf_event_attr *attributes, pid_t pid, int cpu)
{
    return (int)syscall(SYS_perf_event_open, attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static struct perf_event_attr sampling_attributes(uint32_t type, uint64_t config)
{
    struct perf_event_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = type;
    attributes.config = config;
    attributes.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    attributes.freq = 1;
    attributes.sample_freq = 99;
    attributes.disabled = 1;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    return attributes;
}

static struct probe_result refused(int error)
{
    return (struct probe_result){.error = error};
}

static struct probe_result try_open(struct perf_event_attr attributes, pid_t pid, int cpu)
{
    int fd = event_open(&attributes, pid, cpu);
    if (fd < 0)
        return refused(errno);
    close(fd);
    return (struct probe_result){.works = true};
}

static struct probe_result try_counting(struct perf_event_attr attributes)
{
    uint64_t count = 0;
    int fd = event_open(&attributes, 0, -1);
    if (fd < 0)
        return refused(errno);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    spin(3000000);
    ssize_t got = read(fd, &count, sizeof count);
    close(fd);
    if (got != (ssize_t)sizeof count)
        return refused(EIO);
    return (struct probe_result){.works = count > 0, .counts_zero = count == 0};
}

/* One shot of a timer on this thread's CPU clock, its signal kept blocked and fetched. */
static struct probe_result try_timer(void)
{
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGRTMIN;
#ifdef sigev_notify_thread_id
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
#else
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
#endif
    timer_t timer;
    if (sigprocmask(SIG_BLOCK, &set, &old) < 0)
        return refused(errno);
    struct probe_result result = {0};
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) < 0) {
        result = refused(errno);
    } else {
        struct itimerspec once = {.it_value.tv_nsec = 1000000};
        struct timespec nothing = {0};
        if (timer_settime(timer, 0, &once, NULL) < 0)
            result = refused(errno);
        /* Such timers are looked at by the kernel's tick only, which may be 10 ms away. */
        for (int round = 0; round < 8 && !result.error && !result.works; round++) {
            spin(5000000);
            result.works = sigtimedwait(&set, NULL, &nothing) == SIGRTMIN;
        }
        timer_delete(timer);
        result.counts_zero = !result.works && !result.error;
    }
    sigprocmask(SIG_SETMASK, &old, NULL);
    return result;
}

void sampling_probe_run(struct sampling_probe *ret_probe)
{
    struct perf_event_attr cycles = sampling_attributes(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
    struct perf_event_attr clock = sampling_attributes(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
    ret_probe->cycles = try_counting(cycles);
    ret_probe->cpu_clock = try_counting(clock);

    struct perf_event_attr kernel = clock;
    kernel.exclude_kernel = 0;
    ret_probe->kernel = try_open(kernel, 0, -1);
    ret_probe->every_process = try_open(kernel, -1, 0);

    struct perf_event_attr branches = cycles;
    branches.sample_type |= PERF_SAMPLE_BRANCH_STACK;
    branches.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK;
    ret_probe->branch_stack = try_open(branches, 0, -1);

    struct perf_event_attr switches = sampling_attributes(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
    switches.freq = 0;
    switches.sample_freq = 0;
    switches.context_switch = 1;
    ret_probe->switches = try_open(switches, 0, -1);
    ret_probe->timers = try_timer();
}
