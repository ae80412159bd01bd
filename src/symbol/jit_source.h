/* SPDX-License-Identifier: MIT */
/* The names of one process' run-time code, from the files that it left. For src/symbol only. */
#ifndef HP_SYMBOL_JIT_SOURCE_H
#define HP_SYMBOL_JIT_SOURCE_H

#include "module.h"

struct log;
struct jit_source;

int jit_source_open(struct module *module, const struct log *log, struct jit_source **ret_source);
void jit_source_close(struct jit_source *source);
DEFINE_CLEANUP(struct jit_source *, jit_source_close)

struct jit_match {
    const char *name;
    const char *file; /* NULL unknown */
    uint32_t line;
};
/* time_ns on the recording's axis (CLOCK_MONOTONIC_RAW); 0 = any time. */
bool jit_source_find(const struct jit_source *source, uint64_t address, int64_t time_ns, struct jit_match *ret_match);
const char *jit_source_problem(const struct jit_source *source);

#endif
