/* SPDX-License-Identifier: MIT */
/*
 * Sampling from within, where the kernel refuses perf_event_open: one timer a thread on that thread's CPU clock. The
 * kernel looks at such timers only at its tick, so that fewer signals come than were asked for: a sample weighs the CPU time that
 * was measured since the one before. The handler copies registers and stack bytes, or follows frame pointers; nothing else.
 */
#include "runtime.h"

#include <features.h>
#include <linux/auxvec.h>
#include <linux/prctl.h>
#include <signal.h>
#include <time.h>
#include <ucontext.h>

extern unsigned long getauxval(unsigned long type);

#define CHAIN_MAX 127
#define NAME_PERIOD 256
#define PAGE 4096u
#define SAMPLE_EVENT_TIMER 2 /* enum sample_event of the trace model */
#define SAMPLE_TRUNCATED 1
#define SAMPLE_NO_STACK 4

static int signal_number;      /* 0 = not started */
static char cookie;            /* its address marks our timers */

static uint64_t thread_cpu_ns(void)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

struct frame {
    uint64_t pc, sp, fp;
};

#if defined(__x86_64__)
#define REGISTERS 17
#define ARCH WIRE_ARCH_X86_64
static struct frame registers_get(const ucontext_t *context, uint64_t *out)
{
    static const int8_t order[REGISTERS] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                                            REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    for (int i = 0; i < REGISTERS; i++)
        out[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
    return (struct frame){out[16], out[7], out[6]};
}
#else
#define REGISTERS 33
#define ARCH WIRE_ARCH_AARCH64
static struct frame registers_get(const ucontext_t *context, uint64_t *out)
{
    for (int i = 0; i < 31; i++)
        out[i] = context->uc_mcontext.regs[i];
    out[31] = context->uc_mcontext.sp;
    out[32] = context->uc_mcontext.pc;
    return (struct frame){out[32], out[31], out[29]};
}
#endif

/* Whether everything from `address` to the top of this thread's stack is that stack: then it may be read as it is. A coroutine's
 * stack is elsewhere. */
static bool on_known_stack(uint64_t address)
{
    return rt_stack_top && address < rt_stack_top && rt_stack_top - address <= rt_stack_bytes;
}

/* From an unknown stack: the kernel copies, page by page, and stops where nothing is mapped. */
static uint32_t copy_carefully(uint8_t *out, uint64_t address, uint32_t bytes)
{
    struct {
        uint64_t base, size;
    } local = {(uint64_t)(uintptr_t)out, bytes}, remote[17];
    unsigned count = 0;
    for (uint64_t at = address, end = address + bytes; at < end && count < 17; count++) {
        uint64_t next = (at / PAGE + 1) * PAGE;
        remote[count].base = at;
        remote[count].size = (next < end ? next : end) - at;
        at = next;
    }
    if (rt.no_new_files)
        return 0;
    long result = sys_call6(__NR_process_vm_readv, rt.pid, (long)&local, 1, (long)remote, count, 0);
    return result < 0 ? 0 : (uint32_t)result;
}

static uint32_t copy_stack(uint8_t *out, uint64_t address, uint32_t bytes)
{
    if (!on_known_stack(address))
        return copy_carefully(out, address, bytes);
    uint64_t there = rt_stack_top - address;
    bytes = there < bytes ? (uint32_t)there : bytes;
    __builtin_memcpy(out, (const void *)(uintptr_t)address, bytes); /* NOLINT: an address by design */
    return bytes;
}

static void sample_copy(struct rt_thread *thread, const ucontext_t *context, uint64_t weight)
{
    uint32_t wanted = wire_round_up(rt.session->sampling_stack_bytes);
    uint32_t fixed = sizeof(struct wire_stack_sample) + REGISTERS * 8;
    unsigned index;
    struct wire_stack_sample *sample = (struct wire_stack_sample *)(void *)rt_reserve(thread, fixed + wanted, &index);
    if (!sample)
        return;
    uint64_t *registers = (uint64_t *)(void *)(sample + 1);
    struct frame frame = registers_get(context, registers);
    uint32_t copied = copy_stack((uint8_t *)(registers + REGISTERS), frame.sp, wanted) & ~7u;
    *sample = (struct wire_stack_sample){
        .header = {WIRE_STACK_SAMPLE, (uint16_t)((fixed + copied) / 8), copied},
        .time = rt_clock(),
        .weight = weight,
        .pid = rt.pid,
        .tid = thread->tid,
        .cpu = UINT16_MAX,
        .event = SAMPLE_EVENT_TIMER,
        .flags = copied ? 0 : SAMPLE_NO_STACK,
        .arch = ARCH,
        .register_mask = (1ull << REGISTERS) - 1,
        .stack_address = frame.sp,
    };
    rt_publish(thread, index, fixed + copied);
}

static uint32_t walk(struct frame frame, uint64_t *out)
{
    uint32_t count = 0;
    out[count++] = frame.pc;
    uint64_t fp = frame.fp, last = frame.sp - 1;
    while (count < CHAIN_MAX && fp > last && !(fp & 7) && on_known_stack(frame.sp) && fp + 16 <= rt_stack_top) {
        const uint64_t *pair = (const uint64_t *)(uintptr_t)fp; /* saved frame pointer, return address */
        if (!pair[1])
            break;
        out[count++] = pair[1];
        last = fp;
        fp = pair[0];
    }
    return count;
}

static void sample_walk(struct rt_thread *thread, const ucontext_t *context, uint64_t weight)
{
    unsigned index;
    uint32_t fixed = sizeof(struct wire_chain_sample);
    struct wire_chain_sample *sample = (struct wire_chain_sample *)(void *)rt_reserve(thread, fixed + CHAIN_MAX * 8, &index);
    if (!sample)
        return;
    uint64_t registers[REGISTERS];
    struct frame frame = registers_get(context, registers);
    uint64_t *out = (uint64_t *)(void *)(sample + 1);
    uint32_t count = 1;
    if (rt.sampling == WIRE_SAMPLING_FRAME_POINTERS)
        count = walk(frame, out);
    else
        out[0] = frame.pc;
    *sample = (struct wire_chain_sample){
        .header = {WIRE_CHAIN_SAMPLE, (uint16_t)(fixed / 8 + count), count},
        .time = rt_clock(),
        .weight = weight,
        .pid = rt.pid,
        .tid = thread->tid,
        .cpu = UINT16_MAX,
        .event = SAMPLE_EVENT_TIMER,
        .flags = rt.sampling == WIRE_SAMPLING_FRAME_POINTERS ? (count == CHAIN_MAX ? SAMPLE_TRUNCATED : 0) : SAMPLE_NO_STACK,
    };
    rt_publish(thread, index, fixed + count * 8);
}

/* Threads are named while they run, mostly at once: looked at with the first sample, now and then, and at the end. A filter
 * of system calls may forbid to ask. */
static void name_write(struct rt_thread *thread)
{
    char name[sizeof thread->name] = {0};
    unsigned index;
    if (rt.no_new_files || sys_call(__NR_prctl, PR_GET_NAME, name, 0, 0) < 0 || !name[0] ||
        __builtin_memcmp(name, thread->name, sizeof name) == 0)
        return;
    struct wire_thread_name *record = (struct wire_thread_name *)(void *)rt_reserve(thread, sizeof *record, &index);
    if (!record)
        return;
    __builtin_memcpy(thread->name, name, sizeof name);
    *record = (struct wire_thread_name){.header = {WIRE_THREAD_NAME, sizeof *record / 8, (uint32_t)thread->tid}, .time = rt_clock()};
    __builtin_memcpy(record->name, name, sizeof name);
    rt_publish(thread, index, sizeof *record);
}

static void on_timer(int number, siginfo_t *info, void *context)
{
    struct rt_thread *thread = rt_self;
    if (!thread || thread->magic != RT_MAGIC || thread->ending || info->si_value.sival_ptr != &cookie || rt.no_new_files == 2)
        return;
    uint64_t now = thread_cpu_ns(), weight = now - thread->cpu_ns;
    thread->cpu_ns = now;
    if (!__atomic_load_n(&rt.session->active, __ATOMIC_RELAXED))
        return;
    if (rt.sampling == WIRE_SAMPLING_STACK_COPY)
        sample_copy(thread, context, weight);
    else
        sample_walk(thread, context, weight);
    if (thread->samples++ % NAME_PERIOD == 0)
        name_write(thread);
}

static bool signal_take(void)
{
    for (int number = 62; number > 40 && !signal_number; number--) {
        struct sigaction old, own;
        if (sigaction(number, 0, &old) != 0 || old.sa_handler != SIG_DFL)
            continue;
        __builtin_memset(&own, 0, sizeof own);
        own.sa_sigaction = on_timer;
        own.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
        if (sigaction(number, &own, 0) == 0)
            signal_number = number;
    }
    return signal_number != 0;
}

/* The kernel's own struct sigevent: the C library's hides the thread. */
struct timer_event {
    void *value;
    int signal, notify, tid;
    char rest[64 - 20];
};

void rt_sampler_thread(struct rt_thread *thread)
{
    if (!signal_number || thread->timer >= 0)
        return;
    struct timer_event event = {.value = &cookie, .signal = signal_number, .notify = 4 /* SIGEV_THREAD_ID */, .tid = thread->tid};
    int id = -1;
    if (sys_call(__NR_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &id, 0) < 0) {
        rt_lost(WIRE_LOST_TIMER, 1);
        return;
    }
    thread->cpu_ns = thread_cpu_ns();
    uint64_t period = rt.session->sampling_period_ns;
    uint64_t times[4] = {period / 1000000000u, period % 1000000000u, period / 1000000000u, period % 1000000000u};
    sys_call(__NR_timer_settime, id, 0, times, 0);
    thread->timer = id;
    if (rt_clock() - rt_code_listed_at() > rt.ticks_per_ms * 1000)
        rt_code_list();
}

void rt_sampler_thread_end(struct rt_thread *thread)
{
    if (thread->samples)
        name_write(thread);
    if (thread->timer >= 0)
        sys_call(__NR_timer_delete, thread->timer, 0, 0, 0);
    thread->timer = -1;
}

static void main_stack_find(void)
{
    if (rt_stack_top || sys_tid() != sys_pid())
        return;
    uint64_t limit[2] = {0, 0};
    sys_call(__NR_prlimit64, 0, 3 /* RLIMIT_STACK */, 0, limit);
    rt_stack_top = getauxval(AT_EXECFN) & ~7ul; /* strings of execve: the very top of the stack */
    rt_stack_bytes = limit[0] && limit[0] <= 64u << 20 ? limit[0] : 8u << 20;
}

void rt_sampler_start(void)
{
    main_stack_find();
    if (!signal_number && !signal_take()) {
        rt_lost(WIRE_LOST_TIMER, 1);
        rt_note("no signal number is free for sampling timers");
        return;
    }
    struct rt_thread *thread = rt_thread_get();
    if (thread)
        rt_sampler_thread(thread);
    rt_code_list();
}
