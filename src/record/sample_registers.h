/* SPDX-License-Identifier: MIT */
/* User registers of a kernel sample, numbered as unwind tables number them. */
#ifndef HP_RECORD_SAMPLE_REGISTERS_H
#define HP_RECORD_SAMPLE_REGISTERS_H

#include "symbol/unwind.h"

#include <stdbool.h>

/* False for what cannot be unwound: no user registers (kernel threads), 32-bit code. mask: PERF_REG_* bits of `values`. */
bool sample_registers_convert(uint64_t abi, uint64_t mask, const uint64_t *values, struct unwind_registers *ret_registers,
                              uint64_t *ret_stack_pointer);

#endif
