/* SPDX-License-Identifier: MIT */
/* Arena: memory that dies together. Not thread-safe; one arena belongs to one owner. */
#ifndef HP_BASE_ARENA_H
#define HP_BASE_ARENA_H

#include <stddef.h>

struct arena {
    struct arena_block *newest;
    size_t used_bytes; /* sum of what was handed out, for accounting */
};

void arena_init(struct arena *arena);
void arena_finish(struct arena *arena);                                          /* frees everything handed out */
void *arena_alloc(struct arena *arena, size_t size);                             /* 16-byte aligned, uninitialised; NULL on ENOMEM */
void *arena_calloc(struct arena *arena, size_t count, size_t size);              /* zeroed, overflow-checked */
char *arena_strndup(struct arena *arena, const char *text, size_t length);       /* NUL-terminated copy */

#endif
