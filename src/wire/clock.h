/* SPDX-License-Identifier: MIT */
/* Reading the tick counter, where it may be used, and the choice between it and CLOCK_MONOTONIC_RAW. */
#ifndef HP_WIRE_CLOCK_H
#define HP_WIRE_CLOCK_H

#include "session.h"

#if defined(__x86_64__)
static inline uint64_t wire_ticks(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

/* The processor says that its counter runs at one rate in every state (CPUID 80000007h, EDX bit 8). */
static inline int wire_ticks_invariant(void)
{
    uint32_t a = 0x80000000u, b = 0, c = 0, d = 0;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    if (a < 0x80000007u)
        return 0;
    a = 0x80000007u;
    c = 0;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return (d >> 8) & 1;
}
#define WIRE_CLOCK_TICKS WIRE_CLOCK_TSC
#define WIRE_CLOCKSOURCE "tsc" /* what the kernel trusts when the counters of all CPUs agree */
#elif defined(__aarch64__)
static inline uint64_t wire_ticks(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

static inline int wire_ticks_invariant(void)
{
    return 1; /* by the architecture */
}
#define WIRE_CLOCK_TICKS WIRE_CLOCK_CNTVCT
#define WIRE_CLOCKSOURCE "arch_sys_counter"
#else
static inline uint64_t wire_ticks(void)
{
    return 0;
}

static inline int wire_ticks_invariant(void)
{
    return 0;
}
#define WIRE_CLOCK_TICKS WIRE_CLOCK_RAW
#define WIRE_CLOCKSOURCE "none"
#endif

#endif
