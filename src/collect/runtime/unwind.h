/* SPDX-License-Identifier: MIT */
/* The runtime's own way up the stack, for frames of ordinary calls; what it learns of a return address it keeps. */
#ifndef HP_RUNTIME_UNWIND_H
#define HP_RUNTIME_UNWIND_H

#include "runtime.h"

#define RT_DEPTH_MAX 128u

struct rt_frame {
    uintptr_t pc, sp, fp; /* behind the call, in the caller */
};

/* How a frame is left, by its return address. Offsets are in units of 8 bytes. One word, so that it is read and written whole. */
struct rt_rule {
    uint64_t known : 1;
    uint64_t beyond : 1;    /* more than can be said here */
    uint64_t last : 1;      /* nothing called it: the outermost frame */
    uint64_t by_fp : 1;     /* the caller's stack pointer (the CFA) is fp + cfa, else sp + cfa */
    uint64_t stored : 1;    /* the CFA is what is stored there */
    uint64_t fp_at_cfa : 1; /* the caller's frame pointer is at CFA + fp */
    uint64_t fp_at_fp : 1;  /* ... at fp + fp; neither: it is still in its register */
    int64_t cfa : 21, ra : 18, fp : 18;
};
_Static_assert(sizeof(struct rt_rule) == 8, "a rule is one word");

struct rt_walk {
    uint32_t skip;
    uint32_t count, cut;
    uint64_t addresses[RT_DEPTH_MAX]; /* return addresses, innermost first */
};

/* unwind_rule.c */
struct rt_rule rt_rule_read(uintptr_t address);
/* unwind.c: false: not by these means, walk->count is of no meaning */
bool rt_unwind(struct rt_thread *thread, struct rt_frame frame, struct rt_walk *walk);
void rt_unwind_start(void);

#endif
