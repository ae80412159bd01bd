/* SPDX-License-Identifier: MIT */
/* What the wrappers of libgomp may ask the OMPT tool in the same library. */
#ifndef HP_COLLECT_OMPT_OMPT_H
#define HP_COLLECT_OMPT_OMPT_H

#include <stdbool.h>
#include <stdint.h>

/* Whether a runtime has started our tool and not finished it: what it runs is recorded through OMPT. */
bool ompt_is_active(void);
/* Whether this function lies in a runtime that has started our tool: a wrapper whose real function does so passes through, while
 * another OpenMP runtime of the same process is still the wrapper's to record. Walks the loaded objects: ask once a function. */
bool ompt_serves(const void *function);

enum { OPENMP_ID_BLOCK = 1024 };
/* The first of OPENMP_ID_BLOCK ids that nobody else in the process has, for regions and tasks; a thread takes them one by one. */
uint64_t openmp_id_block(void);

#endif
