/* SPDX-License-Identifier: MIT */
/* This very program, interrupted by a timer: its real stacks, compiled by whichever compiler for whichever architecture. */
#include "symbol/symbolizer.h"
#include "symbol/unwind.h"

#include "unit.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_BYTES 65536
#define NOINLINE __attribute__((noinline))

static struct unwind_sample sample;
static uint8_t stack[STACK_BYTES];
static volatile sig_atomic_t caught;
static bool from_handler;

static void take_registers(const ucontext_t *context, struct unwind_registers *registers)
{
    memset(registers, 0, sizeof *registers);
#if defined(__x86_64__)
    static const int order[17] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                                  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    registers->arch = UNWIND_X86_64;
    registers->valid = (1ull << 17) - 1;
    for (int i = 0; i < 17; i++)
        registers->values[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
#elif defined(__aarch64__)
    registers->arch = UNWIND_AARCH64;
    registers->valid = (1ull << 33) - 1;
    for (int i = 0; i < 31; i++)
        registers->values[i] = context->uc_mcontext.regs[i];
    registers->values[31] = context->uc_mcontext.sp;
    registers->values[32] = context->uc_mcontext.pc;
#endif
}

/* How far the mapping that holds the address goes on; not for real signal handlers, but ours interrupts our own loop. */
static size_t readable_bytes(uint64_t address)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    uint64_t first, last;
    size_t size = 0;
    char line[512];
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%" SCNx64 "-%" SCNx64, &first, &last) == 2 && address >= first && address < last)
            size = last - address < STACK_BYTES ? (size_t)(last - address) : STACK_BYTES;
    if (maps)
        fclose(maps);
    return size;
}

/* Word by word, as sanitizers forbid a look at other functions' variables. */
__attribute__((no_sanitize("address"))) static void copy_words(uint64_t address, size_t size)
{
    const volatile uint64_t *from = (const volatile uint64_t *)(uintptr_t)address;
    for (size_t i = 0; i < size / 8; i++) {
        uint64_t word = from[i];
        for (size_t byte = 0; byte < 8; byte++)
            stack[8 * i + byte] = (uint8_t)(word >> 8 * byte);
    }
}

static void take_sample(const ucontext_t *context)
{
    take_registers(context, &sample.registers);
    sample.stack = stack;
    sample.stack_address = sample.registers.values[sample.registers.arch == UNWIND_X86_64 ? 7 : 31];
    sample.stack_size = 0;
    sample.stack_size = readable_bytes(sample.stack_address);
    copy_words(sample.stack_address, sample.stack_size);
}

NOINLINE static void on_signal(int number, siginfo_t *info, void *interrupted)
{
    if (caught)
        return;
    if (from_handler) {
        ucontext_t here;
        getcontext(&here);
        take_sample(&here);
    } else {
        take_sample(interrupted);
    }
    caught = 1;
}

NOINLINE static unsigned spin_leaf(unsigned value)
{
    while (!caught)
        value = value * 1664525 + 1013904223;
    return value;
}

NOINLINE static unsigned middle_frame(unsigned depth)
{
    volatile unsigned array[20];
    array[depth] = depth ? middle_frame(depth - 1) : spin_leaf(1);
    return array[depth] + 1;
}

NOINLINE static unsigned outer_frame(size_t size)
{
    volatile unsigned *dynamic = __builtin_alloca(size * sizeof *dynamic);
    dynamic[size - 1] = middle_frame(3);
    return dynamic[size - 1] + 1;
}

static void catch_one(unsigned (*run)(void))
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO}, old;
    const struct itimerval timer = {{0, 2000}, {0, 2000}}, off = {{0, 0}, {0, 0}};
    caught = 0;
    sigaction(SIGALRM, &action, &old);
    setitimer(ITIMER_REAL, &timer, NULL);
    run();
    setitimer(ITIMER_REAL, &off, NULL);
    sigaction(SIGALRM, &old, NULL);
}

/* The names of the caught stack, innermost first, separated by blanks. */
static void names_of(char *text, size_t size, enum unwind_end *ret_end)
{
    struct module_table *table;
    struct address_map *map;
    struct unwinder *unwinder;
    struct string_table *strings;
    struct symbolizer *symbolizer;
    struct unwind_frame frames[64];
    assert_int_equal(module_table_create(&table), 0);
    assert_int_equal(address_map_create(table, getpid(), &map), 0);
    assert_int_equal(address_map_load(map, NULL), 0);
    assert_int_equal(unwinder_create(&unwinder), 0);
    assert_int_equal(string_table_create(&strings), 0);
    const struct symbolizer_options options = {.strings = strings, .no_inlines = true, .no_debuginfod = true};
    assert_int_equal(symbolizer_create(&options, &symbolizer, NULL), 0);
    size_t count = unwind(unwinder, map, &sample, frames, 64, ret_end);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        struct symbol_frame frame;
        symbolizer_resolve(symbolizer, frames[i].module, frames[i].address, getpid(), 0, &frame, 1);
        const char *name = string_table_text(strings, frame.function);
        size_t length = strcspn(name, "."); /* without .constprop.0 and the like */
        if (strlen(text) + length + 2 < size)
            strncat(text, name, length);
        strcat(text, " ");
    }
    symbolizer_destroy(symbolizer);
    string_table_destroy(strings);
    unwinder_destroy(unwinder);
    address_map_destroy(map);
    module_table_destroy(table);
}

static unsigned run_outer(void)
{
    return outer_frame((size_t)(getpid() % 7 + 3)) + 1;
}

static const char expected[] = "spin_leaf middle_frame middle_frame middle_frame middle_frame outer_frame ";

static void test_an_interrupted_leaf(void **state)
{
    char names[8192];
    enum unwind_end end;
    from_handler = false;
    catch_one(run_outer);
    names_of(names, sizeof names, &end);
    if (strncmp(names, expected, sizeof expected - 1) != 0 || !strstr(names, " main ") || end != UNWIND_ROOT)
        fail_msg("%s: %s", unwind_end_name(end), names);
}

static void *in_thread(void *context)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    catch_one(run_outer);
    return NULL;
}

static void test_a_thread_reaches_its_own_root(void **state)
{
    char names[8192];
    enum unwind_end end;
    pthread_t thread;
    sigset_t set, old;
    from_handler = false;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    assert_int_equal(pthread_create(&thread, NULL, in_thread, NULL), 0);
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    names_of(names, sizeof names, &end);
    if (strncmp(names, expected, sizeof expected - 1) != 0 || strstr(names, " main ") || end != UNWIND_ROOT)
        fail_msg("%s: %s", unwind_end_name(end), names);
}

static void test_a_signal_handler_leads_to_what_it_interrupted(void **state)
{
    char names[8192];
    enum unwind_end end;
    if (!getauxval(AT_SYSINFO_EHDR))
        skip(); /* an emulator's trampoline is no code of any file */
    from_handler = true;
    catch_one(run_outer);
    names_of(names, sizeof names, &end);
    const char *interrupted = strstr(names, expected);
    if (!interrupted || !strstr(names, "on_signal ") || end != UNWIND_ROOT)
        fail_msg("%s: %s", unwind_end_name(end), names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_interrupted_leaf),
        cmocka_unit_test(test_a_thread_reaches_its_own_root),
        cmocka_unit_test(test_a_signal_handler_leads_to_what_it_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
