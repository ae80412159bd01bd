/* SPDX-License-Identifier: MIT */
/*
 * The runtime's own way up the stack against the platform's unwinder, from functions of all shapes: both must give the same
 * addresses, and ours must need no help but for frames of signals.
 */
#include "collect/runtime/unwind.h"

#include <alloca.h>
#include <pthread.h>
#include <search.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#define NOINLINE __attribute__((noinline))
#define KEEP(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

static unsigned compared, differed;
static bool help_expected;
static __thread struct rt_thread own_thread;

struct platform {
    uint64_t addresses[RT_DEPTH_MAX];
    uint32_t count;
};

static _Unwind_Reason_Code take(struct _Unwind_Context *context, void *argument)
{
    struct platform *platform = argument;
    uintptr_t address = _Unwind_GetIP(context);
    if (!address || platform->count == RT_DEPTH_MAX)
        return _URC_END_OF_STACK;
    platform->addresses[platform->count++] = address;
    return _URC_NO_REASON;
}

static void report(const struct rt_walk *walk, const struct platform *platform, uint32_t from)
{
    differed++;
    for (uint32_t i = 0; i < walk->count || from + i < platform->count; i++)
        fprintf(stderr, "  %2u  ours %#llx  the platform's %#llx\n", i, i < walk->count ? (unsigned long long)walk->addresses[i] : 0,
                from + i < platform->count ? (unsigned long long)platform->addresses[from + i] : 0);
}

NOINLINE static void compare(void)
{
    struct platform platform = {.count = 0};
    struct rt_walk walk = {.skip = 0};
    const struct rt_frame caller = {
        .pc = (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)),
        .sp = (uintptr_t)__builtin_dwarf_cfa(),
        .fp = *(const uintptr_t *)__builtin_frame_address(0),
    };
    uint32_t from = 0;
    bool walked = rt_unwind(&own_thread, caller, &walk);
    _Unwind_Backtrace(take, &platform);
    while (from < platform.count && platform.addresses[from] != caller.pc)
        from++;
    compared++;
    if (help_expected) {
        differed += walked;
        return;
    }
    if (!walked || walk.count != platform.count - from ||
        memcmp(walk.addresses, platform.addresses + from, walk.count * sizeof walk.addresses[0]) != 0)
        report(&walk, &platform, from);
}

typedef void (*next_function)(unsigned rest);
static void next(unsigned rest);

NOINLINE static void plain(unsigned rest)
{
    char room[24];
    KEEP(room);
    next(rest);
    KEEP(room);
}

NOINLINE static void with_alloca(unsigned rest)
{
    char *room = alloca(16 + rest * 40);
    KEEP(room);
    next(rest);
    KEEP(room);
}

NOINLINE static void realigned(unsigned rest)
{
    char room[128] __attribute__((aligned(64)));
    KEEP(room);
    next(rest);
    KEEP(room);
}

NOINLINE static void realigned_with_alloca(unsigned rest)
{
    char room[128] __attribute__((aligned(128))), *more = alloca(rest * 24 + 1);
    KEEP(room);
    KEEP(more);
    next(rest);
    KEEP(room);
}

NOINLINE static void wide(unsigned rest)
{
    char room[300000];
    KEEP(room);
    next(rest);
    KEEP(room);
}

NOINLINE static void busy(unsigned rest)
{
    volatile unsigned seed = rest;
    unsigned a = seed, b = seed + 1, c = seed + 2, d = seed + 3, e = seed + 4, f = seed + 5, g = seed + 6;
    next(rest);
    seed = a + b + c + d + e + f + g;
    next(0);
    seed = a ^ b ^ c ^ d ^ e ^ f ^ g;
}

NOINLINE static void with_arguments(unsigned rest, ...)
{
    va_list list;
    va_start(list, rest);
    int sum = 0;
    for (int i = 0; i < 12; i++)
        sum += va_arg(list, int);
    va_end(list);
    KEEP(&sum);
    next(rest);
    KEEP(&sum);
}

NOINLINE static void many_arguments(unsigned rest)
{
    with_arguments(rest, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
    KEEP(&rest);
}

#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("no-omit-frame-pointer")))
#endif
NOINLINE static void with_frame_pointer(unsigned rest)
{
    next(rest);
    KEEP(&rest);
}

static unsigned handed_on;
static int from_sort(const void *left, const void *right)
{
    if (handed_on) {
        unsigned rest = handed_on;
        handed_on = 0;
        next(rest);
    }
    return *(const int *)left - *(const int *)right;
}

NOINLINE static void through_qsort(unsigned rest)
{
    int numbers[] = {3, 1, 2};
    handed_on = rest;
    qsort(numbers, 3, sizeof numbers[0], from_sort);
    KEEP(numbers);
}

NOINLINE static void through_search(unsigned rest)
{
    int numbers[] = {1, 2, 3}, wanted = 2;
    handed_on = rest;
    KEEP(bsearch(&wanted, numbers, 3, sizeof numbers[0], from_sort));
}

static void from_once(void)
{
    unsigned rest = handed_on;
    handed_on = 0;
    next(rest);
    KEEP(&rest);
}

NOINLINE static void through_once(unsigned rest)
{
    pthread_once_t once = PTHREAD_ONCE_INIT;
    handed_on = rest;
    pthread_once(&once, from_once);
    KEEP(&once);
}

static const next_function shapes[] = {
    plain, with_alloca,    realigned,      realigned_with_alloca, wide,
    busy,  many_arguments, through_qsort,  through_search,        through_once, with_frame_pointer,
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* Every shape calls every other in turn: the digits of a number pick them. */
static unsigned long picks;
static void next(unsigned rest)
{
    if (rest == 0) {
        compare();
        return;
    }
    unsigned long pick = picks % SHAPES;
    picks /= SHAPES;
    shapes[pick](rest - 1);
}

NOINLINE static void walks(void)
{
    for (unsigned long i = 0; i < 4ul * SHAPES * SHAPES; i++) {
        picks = i * 2654435761ul;
        next(1 + i % 9);
    }
}

static void *in_thread(void *argument)
{
    walks();
    return argument;
}

static void on_signal(int number)
{
    (void)number;
    compare();
}

int main(void)
{
    pthread_t thread;
    rt_unwind_start();
    walks();
    walks(); /* by rules that are known now */
    if (pthread_create(&thread, NULL, in_thread, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 99;
    help_expected = true;
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    printf("%u stacks, %u differ\n", compared, differed);
    return differed || compared < 12ul * SHAPES * SHAPES;
}
