/* SPDX-License-Identifier: MIT */
/* Arena: blocks that double in size; a request too large for a block gets one of its own behind the newest. */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT ((size_t)16)
#define FIRST_BLOCK_BYTES ((size_t)4096)
#define LARGEST_BLOCK_BYTES ((size_t)1 << 20)

struct arena_block {
    struct arena_block *older;
    size_t size, used; /* of data[] */
    _Alignas(16) unsigned char data[];
};

void arena_init(struct arena *arena)
{
    *arena = (struct arena){0};
}

void arena_finish(struct arena *arena)
{
    struct arena_block *block = arena->newest;
    while (block) {
        struct arena_block *older = block->older;
        free(block);
        block = older;
    }
    arena_init(arena);
}

static struct arena_block *block_create(size_t size)
{
    if (size > SIZE_MAX - sizeof(struct arena_block))
        return NULL;
    struct arena_block *block = malloc(sizeof(*block) + size);
    if (block) {
        block->older = NULL;
        block->size = size;
        block->used = 0;
    }
    return block;
}

/* A large request must not end the life of a block that still has room. */
static void *alloc_large(struct arena *arena, size_t size)
{
    struct arena_block *block = block_create(size);
    if (!block)
        return NULL;
    block->used = size;
    if (arena->newest) {
        block->older = arena->newest->older;
        arena->newest->older = block;
    } else {
        arena->newest = block;
    }
    arena->used_bytes += size;
    return block->data;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX - ALIGNMENT)
        return NULL;
    size = size ? (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1) : ALIGNMENT;
    struct arena_block *block = arena->newest;
    if (!block || block->size - block->used < size) {
        if (size > LARGEST_BLOCK_BYTES / 4)
            return alloc_large(arena, size);
        size_t wanted = block ? block->size * 2 : FIRST_BLOCK_BYTES;
        if (wanted > LARGEST_BLOCK_BYTES)
            wanted = LARGEST_BLOCK_BYTES;
        block = block_create(wanted < size ? size : wanted);
        if (!block)
            return NULL;
        block->older = arena->newest;
        arena->newest = block;
    }
    void *memory = block->data + block->used;
    block->used += size;
    arena->used_bytes += size;
    return memory;
}

void *arena_calloc(struct arena *arena, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total))
        return NULL;
    void *memory = arena_alloc(arena, total);
    return memory ? memset(memory, 0, total) : NULL;
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
    if (length == SIZE_MAX)
        return NULL;
    char *copy = arena_alloc(arena, length + 1);
    if (!copy)
        return NULL;
    if (length)
        memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}
