/* SPDX-License-Identifier: MIT */
/* The clock of the records, and pairs that tie it to CLOCK_MONOTONIC_RAW. */
#include "runtime.h"

#include <asm/fcntl.h>
#include <linux/time.h>

struct timespec;
extern int clock_gettime(int clock, struct timespec *time);

uint64_t rt_raw_ns(void)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* The kernel keeps time by the counter only while it has found it to be sound on all CPUs. */
static bool kernel_trusts_ticks(void)
{
    static const char path[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    long fd = sys_call(__NR_openat, SYS_AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    char text[64];
    long size = sys_call(__NR_read, fd, text, sizeof text - 1, 0);
    sys_close((int)fd);
    static const char wanted[] = WIRE_CLOCKSOURCE "\n";
    if (size < (long)sizeof wanted - 1)
        return false;
    for (size_t i = 0; i < sizeof wanted - 1; i++)
        if (text[i] != wanted[i])
            return false;
    return true;
}

static uint64_t measure(uint64_t *ret_ticks, int64_t *ret_raw_ns)
{
    uint64_t best = UINT64_MAX;
    for (int round = 0; round < 5; round++) {
        uint64_t before = wire_ticks();
        uint64_t raw = rt_raw_ns();
        uint64_t after = wire_ticks();
        if (after - before < best) {
            best = after - before;
            *ret_ticks = before + best / 2;
            *ret_raw_ns = (int64_t)raw;
        }
    }
    return best;
}

void rt_clock_choose(const struct wire_session *session)
{
    rt.ticks = session->clock_choice == 0 && wire_ticks_invariant() && kernel_trusts_ticks();
    rt.ticks_per_ms = 1000000;
    if (!rt.ticks)
        return;
    /* Good enough to space out retries and calibrations: a counter of 1 to 5 GHz on x86, 19 MHz to 1 GHz on AArch64. */
#if defined(__aarch64__)
    uint64_t frequency;
    __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
    rt.ticks_per_ms = frequency / 1000 + 1;
#else
    rt.ticks_per_ms = 2500000;
#endif
}

void rt_calibrate(void)
{
    uint64_t now = rt_clock(), last = rt_load(&rt.calibrated_at);
    if (last && now - last < rt.ticks_per_ms * 200)
        return;
    if (!__atomic_compare_exchange_n(&rt.calibrated_at, &last, now, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return; /* another thread does it */
    struct wire_calibration record = {.header = {.kind = WIRE_CALIBRATION, .words = sizeof record / 8}};
    if (rt.ticks)
        record.spread = measure(&record.ticks, &record.raw_ns);
    else
        record.raw_ns = (int64_t)(record.ticks = now);
    rt_log_append(&record.header, &record.ticks, sizeof record - sizeof record.header, 0);
}
