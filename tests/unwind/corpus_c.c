/* SPDX-License-Identifier: MIT */
/* Corpus: recursion, tail calls, callbacks through libc, signal handlers (on the stack and on one of their own), dynamic
 * stack growth, realigned stacks, leaf functions, linkage stubs. Runs for ever, until a debugger ends it. */
#include <immintrin.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

void work_start(void);

static volatile uint64_t sink;
static volatile int signal_depth;
static jmp_buf escape;

NOINLINE static uint64_t leaf(uint64_t value)
{
    return value * 2862933555777941757ull + 3037000493ull;
}

NOINLINE static uint64_t recurse(unsigned depth, uint64_t value)
{
    uint64_t local[8];
    for (int i = 0; i < 8; i++)
        local[i] = leaf(value + (uint64_t)i);
    if (depth)
        value = recurse(depth - 1, local[depth % 8]) + local[(depth + 1) % 8];
    return value ^ local[3];
}

NOINLINE static uint64_t dynamic_stack(size_t size)
{
    char *bytes = __builtin_alloca(size);
    memset(bytes, (int)size, size);
    snprintf(bytes, size, "%zu %g", size, sqrt((double)size));
    return (uint64_t)bytes[0] + strlen(bytes);
}

NOINLINE static double realigned(double value)
{
    _Alignas(64) double lanes[8];
    char *extra = __builtin_alloca((size_t)value % 64 + 16);
    for (int i = 0; i < 8; i++)
        lanes[i] = sin(value + i);
    extra[0] = (char)lanes[3];
    return lanes[(size_t)value % 8] + extra[0];
}

static int compare(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

NOINLINE static uint64_t callbacks(uint64_t seed)
{
    uint64_t values[24];
    for (int i = 0; i < 24; i++)
        values[i] = seed = leaf(seed);
    qsort(values, 24, sizeof *values, compare);
    return values[7];
}

NOINLINE static uint64_t tail_target(uint64_t value)
{
    sink = value;
    return value + 1;
}

NOINLINE static uint64_t tail_call(uint64_t value)
{
    sink = leaf(value);
    return tail_target(value + sink);
}

static void on_signal(int number)
{
    signal_depth++;
    sink += recurse(2, (uint64_t)number);
    if (number == SIGUSR1 && signal_depth == 1)
        raise(SIGUSR2);
    signal_depth--;
}

static void on_fault(int number)
{
    sink += leaf((uint64_t)number);
    siglongjmp(escape, 1);
}

NOINLINE static void signals(void)
{
    raise(SIGUSR1);
    if (sigsetjmp(escape, 1) == 0)
        raise(SIGFPE);
}

NOINLINE void work_start(void)
{
    sink++;
}

int main(void)
{
    static char other_stack[65536];
    stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    action.sa_handler = on_fault;
    sigaction(SIGFPE, &action, NULL);
    work_start();
    for (uint64_t round = 1;; round++) {
        sink += recurse(round % 12, round);
        sink += dynamic_stack(32 + round % 100);
        sink += (uint64_t)realigned((double)(round % 60));
        sink += callbacks(round);
        sink += tail_call(round);
        signals();
        free(malloc(round % 4000));
    }
}
