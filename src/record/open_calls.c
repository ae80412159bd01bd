/* SPDX-License-Identifier: MIT */
/* Addresses and numbers are the target's word: each is read as an address of the target, never of ours, and there is a most of everything. */
#include "open_calls.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

enum { BLOCKS_MAXIMUM = 4096, SLOTS_MAXIMUM = 256 };

static int fetch(pid_t pid, uint64_t address, void *out, size_t size)
{
    const struct iovec here = {out, size}, there = {(void *)(uintptr_t)address, size};
    ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
    return got < 0 ? -errno : (size_t)got == size ? 0 : -EFAULT;
}

/* The threads of a block, by one call. */
static int fetch_block(pid_t pid, uint64_t address, const struct wire_open_place *place, struct wire_open_thread *threads)
{
    struct iovec there[SLOTS_MAXIMUM];
    size_t size = place->slots * sizeof *threads;
    for (uint32_t i = 0; i < place->slots; i++)
        there[i] = (struct iovec){(void *)(uintptr_t)(address + place->offset + (uint64_t)i * place->stride), sizeof *threads};
    const struct iovec here = {threads, size};
    ssize_t got = process_vm_readv(pid, &here, 1, there, place->slots, 0);
    return got < 0 ? -errno : (size_t)got == size ? 0 : -EFAULT;
}

static bool is_in_a_call(const struct wire_open_thread *thread)
{
    for (unsigned i = 0; i < WIRE_LAYER_COUNT; i++)
        if (thread->calls[i].frame)
            return true;
    return false;
}

static int visit_block(uint64_t key, const struct wire_open_thread *threads, uint32_t count, int (*visit)(void *, const struct wire_open_thread *), void *context)
{
    int code = 0;
    for (uint32_t i = 0; i < count && code == 0; i++)
        if (threads[i].key == key && is_in_a_call(&threads[i]))
            code = visit(context, &threads[i]);
    return code;
}

int open_calls_read(pid_t pid, const struct wire_process *process, int (*visit)(void *context, const struct wire_open_thread *thread), void *context)
{
    struct wire_open_place place;
    struct wire_open_thread threads[SLOTS_MAXIMUM];
    uint32_t count;
    if (process->header_bytes < sizeof *process)
        return 0;
    memcpy(&place, &process->open, sizeof place);
    if (!place.blocks || !place.count || place.slots == 0 || place.slots > SLOTS_MAXIMUM)
        return 0;
    int code = fetch(pid, place.count, &count, sizeof count);
    if (code || count == 0)
        return code;
    count = count < BLOCKS_MAXIMUM ? count : BLOCKS_MAXIMUM;
    CLEANUP(freep) uint64_t *blocks = malloc(count * sizeof *blocks);
    code = blocks ? fetch(pid, place.blocks, blocks, count * sizeof *blocks) : -ENOMEM;
    for (uint32_t i = 0; i < count && code == 0; i++) {
        code = blocks[i] ? fetch_block(pid, blocks[i], &place, threads) : 0;
        if (code == 0 && blocks[i])
            code = visit_block(process->key, threads, place.slots, visit, context);
    }
    return code;
}
