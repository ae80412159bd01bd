/* SPDX-License-Identifier: MIT */
/*
 * Call stacks of traced calls (--call-tree). Our own walk (unwind.c) does nearly all of them; what it can't (signal frames,
 * stacks of unknown extent) is left to the platform's unwinder, which is found when the process starts: a wrapper must not
 * enter the loader. A stack's addresses are written once and then known by a number.
 */
#include "../loader.h"
#include "unwind.h"

#define OWN_FRAMES 8u /* more of them than lie between the unwinder and our caller */

struct unwind_context;
typedef int (*frame_function)(struct unwind_context *context, void *argument);
typedef int (*backtrace_function)(frame_function take, void *argument);
typedef uintptr_t (*address_function)(struct unwind_context *context, int *ret_before_call);

static bool taking;
static backtrace_function backtrace; /* NULL: the platform has none that we know */
static address_function frame_address;
static struct rt_table stacks;
static uint32_t last_number;

/* What the platform's unwinder calls back with. */
struct visit {
    struct rt_walk *walk;
    uintptr_t caller; /* frame 0: the return address of rt_stack */
    uint32_t own;     /* frames seen before it */
    uint32_t skip;
    bool inside;
};

static int take_frame(struct unwind_context *context, void *argument)
{
    struct visit *visit = argument;
    struct rt_walk *walk = visit->walk;
    int exact = 0;
    uintptr_t address = frame_address(context, &exact);
    if (!address)
        return 1;
    if (!visit->inside && address != visit->caller)
        return ++visit->own > OWN_FRAMES;
    visit->inside = true;
    if (visit->skip) {
        visit->skip--;
        return 0;
    }
    if (walk->count == RT_DEPTH_MAX) {
        walk->cut = 1;
        return 1;
    }
    walk->addresses[walk->count++] = address + (exact ? 1 : 0); /* a signal's frame: as if it were a return address */
    return 0;
}

static bool unwinder_find(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void *walk = handle ? dlsym(handle, "_Unwind_Backtrace") : 0, *address = handle ? dlsym(handle, "_Unwind_GetIPInfo") : 0;
    if (!walk || !address)
        return false;
    __builtin_memcpy(&frame_address, &address, sizeof address);
    __builtin_memcpy(&backtrace, &walk, sizeof walk);
    return true;
}

/* The first walk makes the unwinder's own tables. */
void rt_stacks_start(void)
{
    static const char *const libraries[] = {"libgcc_s.so.1", "libunwind.so.1", "libunwind.so.8"};
    struct visit visit = {.caller = 1};
    for (unsigned i = 0; i < sizeof libraries / sizeof libraries[0] && !backtrace; i++)
        unwinder_find(libraries[i]);
    if (backtrace)
        backtrace(take_frame, &visit);
    rt_unwind_start();
    taking = true;
}

void rt_stacks_forget(void)
{
    rt_table_forget(&stacks);
    last_number = 0;
}

static bool same_stack(const struct rt_key *key, const struct wire_header *record)
{
    const struct wire_call_stack *stack = (const struct wire_call_stack *)(const void *)record;
    return stack->count == key->bytes / 8 && __builtin_memcmp(stack + 1, key->data, key->bytes) == 0;
}

/* Its addresses are listed before anybody learns its number. */
static uint32_t stack_write(const struct rt_key *key)
{
    const struct rt_walk *walk = (const struct rt_walk *)(const void *)((const char *)key->data - offsetof(struct rt_walk, addresses));
    uint32_t offset, bytes = (uint32_t)(sizeof(struct wire_call_stack) + key->bytes);
    struct {
        uint64_t time;
        uint32_t count, flags;
        uint64_t addresses[RT_DEPTH_MAX];
    } body = {.time = rt_clock(), .count = walk->count, .flags = walk->cut};
    const struct wire_header header = {WIRE_CALL_STACK, (uint16_t)(bytes / 8), rt_add(&last_number, 1u) + 1};
    __builtin_memcpy(body.addresses, key->data, key->bytes);
    for (uint32_t i = 0; i < walk->count; i++)
        rt_code((const void *)((uintptr_t)walk->addresses[i] - 1)); /* NOLINT: an address by design */
    return rt_log_append(&header, &body, bytes - (uint32_t)sizeof header, &offset) ? 0 : offset / 8;
}

static uint64_t hash_addresses(const struct rt_walk *walk)
{
    uint64_t hash = 0x9e3779b97f4a7c15ull ^ walk->cut;
    for (uint32_t i = 0; i < walk->count; i++) {
        hash = (hash ^ walk->addresses[i]) * 0xff51afd7ed558ccdull;
        hash ^= hash >> 32;
    }
    return hash;
}

static uint32_t stack_number(const struct rt_walk *walk)
{
    const struct rt_key key = {.hash = hash_addresses(walk), .data = walk->addresses, .bytes = (size_t)walk->count * 8,
                               .write = stack_write, .same = same_stack};
    uint32_t place = walk->count ? rt_table_find(&stacks, &key) : 0;
    return place ? rt_log_at(place)->value : 0;
}

static bool walk_slowly(struct rt_walk *walk, uintptr_t caller)
{
    struct visit visit = {.walk = walk, .caller = caller, .skip = walk->skip};
    walk->count = walk->cut = 0;
    if (backtrace)
        backtrace(take_frame, &visit);
    return walk->count != 0;
}

/* Not again in a signal handler that comes while a stack is being taken; a mark left by longjmp belongs to a frame that is gone. */
__attribute__((noinline)) uint32_t rt_stack(unsigned skip)
{
    struct rt_thread *thread = RT_LIKELY(!taking) || rt_load(&rt.state) == RT_OFF ? 0 : rt_thread_get();
    struct rt_walk walk;
    uintptr_t here = (uintptr_t)&walk;
    if (!thread || here < thread->unwinding || !__atomic_load_n(&rt.session->active, __ATOMIC_RELAXED))
        return 0;
    const struct rt_frame caller = {
        .pc = (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)),
        .sp = (uintptr_t)__builtin_dwarf_cfa(),
        .fp = *(const uintptr_t *)__builtin_frame_address(0),
    };
    walk.skip = skip;
    thread->unwinding = here;
    RT_BARRIER();
    uint32_t number = rt_unwind(thread, caller, &walk) || walk_slowly(&walk, caller.pc) ? stack_number(&walk) : 0;
    RT_BARRIER();
    thread->unwinding = 0;
    return number;
}
