/* SPDX-License-Identifier: MIT */
/* Which span handles are referred to (by links, members, parents), and the ids that they become when a trace is finished. */
#ifndef HP_TRACE_REFERENCES_H
#define HP_TRACE_REFERENCES_H

#include <stdbool.h>
#include <stdint.h>

struct references {
    uint64_t *bits;    /* one a handle */
    uint32_t *rank;    /* references before each 512 handles */
    uint32_t *ids;     /* by rank; UINT32_MAX until it is known */
    uint32_t handles;  /* bound */
    uint32_t count;
};
int references_init(struct references *references, uint32_t handles);
void references_finish(struct references *references);
void references_note(struct references *references, uint32_t handle);
int references_index(struct references *references); /* once all are noted */
bool references_any(const struct references *references, uint32_t first, uint32_t count);
void references_set(struct references *references, uint32_t handle, uint32_t id); /* nothing if nobody refers to it */
uint32_t references_id(const struct references *references, uint32_t handle);     /* UINT32_MAX: no such span */

#endif
