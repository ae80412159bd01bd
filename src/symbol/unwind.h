/* SPDX-License-Identifier: MIT */
/*
 * DWARF unwinding of a sample: registers and a copy of the stack's top, no live process. Call frame information
 * (.eh_frame, .debug_frame, compressed too) is preprocessed once a module into a sorted table of rows, shared by all threads.
 * Nothing here needs libdw. x86-64 and AArch64, chosen per sample.
 */
#ifndef HP_SYMBOL_UNWIND_H
#define HP_SYMBOL_UNWIND_H

#include "address_map.h"

enum unwind_arch { UNWIND_X86_64, UNWIND_AARCH64 };
#define UNWIND_REGISTERS 34 /* by DWARF number: x86-64 0..16 (16 = return address/rip), AArch64 0..30, 31 = sp, 32 = pc */

struct unwind_registers {
    enum unwind_arch arch;
    uint64_t valid; /* bit per register */
    uint64_t values[UNWIND_REGISTERS];
};

struct unwind_sample {
    struct unwind_registers registers;
    const uint8_t *stack;
    uint64_t stack_address; /* of stack[0], normally the stack pointer */
    size_t stack_size;
};

enum unwind_end {
    UNWIND_ROOT,        /* the thread's outermost frame was reached */
    UNWIND_STACK_ENDED, /* the copied bytes end before the root */
    UNWIND_NO_CFI,      /* an address without unwind information, and no rule of thumb held */
    UNWIND_BAD_FRAME,   /* the frame would not move up, or a register needed is unknown */
    UNWIND_LIMIT,       /* more frames than room */
    UNWIND_ELSEWHERE,   /* it goes on where no copy reaches: a handler's own stack was left, or a frame is huge */
};
const char *unwind_end_name(enum unwind_end end);

struct unwind_frame {
    struct module *module; /* NULL = nothing is mapped there */
    uint64_t address;      /* module_place.address; for callers already moved back into the call instruction */
    uint64_t run_address;  /* as it was in the process */
};

/* One per unwinding thread: caches, nothing shared but the module's tables. */
struct unwinder;
int unwinder_create(struct unwinder **ret_unwinder);
void unwinder_destroy(struct unwinder *unwinder);
DEFINE_CLEANUP(struct unwinder *, unwinder_destroy)

/* Innermost frame first; returns the number of frames (>= 1 if the pc is known). */
size_t unwind(struct unwinder *unwinder, const struct address_map *map, const struct unwind_sample *sample,
              struct unwind_frame *frames, size_t capacity, enum unwind_end *ret_end);

/* Turns a chain of raw addresses (frame pointers, LBR, kernel) into frames: callers are moved back into their call. */
size_t unwind_from_addresses(const struct address_map *map, const uint64_t *addresses, size_t count, bool first_is_exact,
                             struct unwind_frame *frames, size_t capacity);

/* Whether a function without a known caller is a thread's root: _start, clone's child, a fiber's entry. Used to score
 * frame-pointer stacks, which carry no end mark. */
bool unwind_is_root(struct module *module, uint64_t address);
bool unwind_is_root_name(const char *name);

#endif
