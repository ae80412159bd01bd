/* SPDX-License-Identifier: MIT */
/* One step of an unwind, from a frame to its caller: by call frame information, else by rules of thumb. For unwind*.c only. */
#ifndef HP_SYMBOL_UNWIND_STEP_H
#define HP_SYMBOL_UNWIND_STEP_H

#include "cfi.h"
#include "expression.h"
#include "mapping_set.h"
#include "module.h"

/* Kernels copy up to 64 KiB of a stack: what lies farther away than that is not missing for want of a larger copy. */
#define LARGEST_STACK_COPY (64u << 10)

struct place { /* what is known about one address; cached */
    uint64_t generation, lookup;
    struct module *module; /* NULL: nothing mapped */
    uint64_t address;      /* in the module */
    const struct cfi_table *table;
    const struct cfi_rule *rule;
};

enum step { STEP_CALLER, STEP_ROOT, STEP_STACK_ENDED, STEP_NO_CFI, STEP_BAD_FRAME, STEP_ELSEWHERE };

struct walk {
    const struct unwind_sample *sample;
    const struct mapping_set *set;
    struct unwind_registers registers; /* of the current frame */
    bool exact; /* pc is where execution stood, not a return address */
    bool first; /* no frame was left yet */
    bool left_signal; /* a handler's frame was left: what it interrupted may have another stack */
};

struct architecture {
    uint8_t pc, sp, fp, return_register;
    uint64_t kept; /* registers that a call preserves */
};

const struct architecture *walk_architecture(const struct walk *walk);
/* Removes AArch64 pointer authentication; x86-64 addresses stay. */
uint64_t walk_strip(const struct walk *walk, uint64_t address);
/* Why bytes at address could not be read: above the copy, where no copy reaches, or never on this stack. */
enum step walk_unreadable(const struct walk *walk, uint64_t address);

/* Whether a call instruction ends at the address (of mapped code). */
bool walk_is_behind_call(const struct walk *walk, uint64_t address);

enum step step_by_cfi(struct walk *walk, const struct place *place);
enum step step_by_thumb(struct walk *walk, const struct place *place);

#endif
