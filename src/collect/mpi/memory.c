/* SPDX-License-Identifier: MIT */
/*
 * Memory for what communicators need: pieces of a power of two, cut from mappings and kept in a list for each size when they are
 * given back, so that programs that make and free communicators for ever stay as they are.
 */
#include "mpi_collector.h"

#include "../runtime/sys.h"

#include <linux/mman.h>

#define SMALLEST_LOG 6u
#define CLASSES 26u
#define BLOCK_BYTES (64ull << 10)

struct piece {
    struct piece *next;
};
static struct {
    uint32_t busy;
    struct piece *given[CLASSES];
    uint8_t *at, *end;
} memory;

static void lock(void)
{
    while (__atomic_exchange_n(&memory.busy, 1, __ATOMIC_ACQUIRE))
        sys_yield();
}

static void unlock(void)
{
    mpi_store(&memory.busy, 0u);
}

static unsigned class_of(uint64_t bytes)
{
    unsigned class = 0;
    while ((1ull << (class + SMALLEST_LOG)) < bytes)
        class++;
    return class;
}

static void *map(uint64_t bytes)
{
    void *mapped = sys_mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return sys_is_error((long)mapped) ? 0 : mapped;
}

static void *cut(uint64_t bytes)
{
    if (bytes >= BLOCK_BYTES)
        return map(bytes);
    if ((uint64_t)(memory.end - memory.at) < bytes) {
        uint8_t *block = map(BLOCK_BYTES);
        if (!block)
            return 0;
        memory.at = block;
        memory.end = block + BLOCK_BYTES;
    }
    void *piece = memory.at;
    memory.at += bytes;
    return piece;
}

void *mpi_memory_take(uint64_t bytes)
{
    unsigned class = class_of(bytes);
    if (class >= CLASSES)
        return 0;
    bytes = 1ull << (class + SMALLEST_LOG);
    lock();
    struct piece *piece = memory.given[class];
    if (piece)
        memory.given[class] = piece->next;
    void *taken = piece ? piece : cut(bytes);
    unlock();
    if (piece)
        __builtin_memset(piece, 0, bytes);
    return taken;
}

void mpi_memory_give(void *given, uint64_t bytes)
{
    if (!given)
        return;
    unsigned class = class_of(bytes);
    struct piece *piece = given;
    lock();
    piece->next = memory.given[class];
    memory.given[class] = piece;
    unlock();
}
