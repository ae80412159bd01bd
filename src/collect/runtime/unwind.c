/* SPDX-License-Identifier: MIT */
/*
 * Walks by rules that are remembered by return address: a frame costs a look into a table and two or three loads. Nothing is
 * read beyond the end of the mapping that holds the stack. Where a rule is missing or leads astray (code that was unloaded
 * and replaced by other), the caller takes the platform's unwinder.
 */
#include "unwind.h"

#include <linux/mman.h>

#define SLOTS 32768u
#define PROBES 8u
#define LOOKS_MAX 3u /* a thread that changes its stack more often is not worth the looking */

struct slot {
    uint64_t pc; /* 0 = empty */
    uint64_t rule;
};
static struct slot *slots;

void rt_unwind_start(void)
{
    void *map = sys_mmap(0, SLOTS * sizeof *slots, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!sys_is_error((long)map))
        slots = map;
}

static struct rt_rule rule_find(uintptr_t pc)
{
    struct rt_rule rule = {0};
    uint64_t hash = (pc * 0x9e3779b97f4a7c15ull) >> 40, word;
    struct slot *empty = 0;
    for (unsigned probe = 0; probe < PROBES && !empty; probe++) {
        struct slot *slot = &slots[(hash + probe) % SLOTS];
        uint64_t found = __atomic_load_n(&slot->pc, __ATOMIC_RELAXED);
        if (found == pc && (word = rt_load(&slot->rule)) != 0) {
            __builtin_memcpy(&rule, &word, sizeof rule);
            return rule;
        }
        empty = found == 0 ? slot : 0;
    }
    rule = rt_rule_read(pc - 1);
    uint64_t expected = 0;
    if (empty && __atomic_compare_exchange_n(&empty->pc, &expected, pc, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        __builtin_memcpy(&word, &rule, sizeof word);
        rt_store(&empty->rule, word);
    }
    return rule;
}

/* From the mappings, once a stack; again when it has grown. */
static bool stack_known(struct rt_thread *thread, uintptr_t sp)
{
    uintptr_t start, end;
    if (sp >= thread->stack_start && sp < thread->stack_end)
        return true;
    if (thread->stack_looks >= LOOKS_MAX || !rt_mapping_find(sp, &start, &end))
        return false;
    thread->stack_looks += end != thread->stack_end;
    thread->stack_start = start;
    thread->stack_end = end;
    return true;
}

static uint64_t load_word(uintptr_t address)
{
    return *(const uint64_t *)address; /* NOLINT: an address by design */
}

static bool readable(uintptr_t address, uintptr_t low, uintptr_t high)
{
    return address >= low && address <= high - 8 && address % 8 == 0;
}

/* The caller's frame. */
static bool frame_leave(struct rt_rule rule, struct rt_frame *frame, uintptr_t high)
{
    uintptr_t low = frame->sp, cfa = (rule.by_fp ? frame->fp : low) + (uintptr_t)(int64_t)(rule.cfa * 8);
    if (rule.stored) {
        if (!readable(cfa, low, high))
            return false;
        cfa = load_word(cfa);
    }
    uintptr_t ra = cfa + (uintptr_t)(int64_t)(rule.ra * 8);
    uintptr_t fp = (rule.fp_at_fp ? frame->fp : cfa) + (uintptr_t)(int64_t)(rule.fp * 8);
    if (cfa <= low || cfa > high || !readable(ra, low, high))
        return false;
    if (rule.fp_at_cfa || rule.fp_at_fp) {
        if (!readable(fp, low, high))
            return false;
        frame->fp = load_word(fp);
    }
    frame->pc = load_word(ra);
    frame->sp = cfa;
    return true;
}

bool rt_unwind(struct rt_thread *thread, struct rt_frame frame, struct rt_walk *walk)
{
    if (!slots || !stack_known(thread, frame.sp))
        return false;
    walk->count = walk->cut = 0;
    for (uint32_t skip = walk->skip; frame.pc;) {
        struct rt_rule rule = rule_find(frame.pc);
        if (rule.beyond)
            return false;
        if (skip) {
            skip--;
        } else if (walk->count < RT_DEPTH_MAX) {
            walk->addresses[walk->count++] = frame.pc;
        } else {
            walk->cut = 1;
            return true;
        }
        if (rule.last)
            return true;
        if (!frame_leave(rule, &frame, thread->stack_end))
            return false;
    }
    return true;
}
