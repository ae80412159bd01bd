/* SPDX-License-Identifier: MIT */
/* DWARF expressions of call frame information: a bounded stack machine over a sample's registers and stack bytes. */
#ifndef HP_SYMBOL_EXPRESSION_H
#define HP_SYMBOL_EXPRESSION_H

#include "unwind.h"

struct expression_context {
    const struct unwind_registers *registers;
    const struct unwind_sample *sample; /* where memory is read */
};

/* push_cfa: the CFA is on the stack at the start, as rules for registers want it. false: malformed, or needs what is not there. */
bool expression_evaluate(const struct expression_context *context, const uint8_t *bytes, size_t size, bool push_cfa,
                         uint64_t cfa, uint64_t *ret_value);

/* Copies from the sample's stack bytes; false when they are not all there. */
bool sample_read(const struct unwind_sample *sample, uint64_t address, void *value, size_t size);

#endif
