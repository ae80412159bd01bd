/* SPDX-License-Identifier: MIT */
/*
 * Threads: a slot each, in anonymous memory that fork wipes. A slot is taken at a thread's first record and given back by the
 * destructor of a pthread key; a thread that records again after that (in destructors of other keys) just takes another.
 */
#include "runtime.h"

#include <features.h>
#include <linux/mman.h>

#if defined(__GLIBC__) && defined(__x86_64__)
__asm__(".symver pthread_setspecific,pthread_setspecific@GLIBC_2.2.5");
#elif defined(__GLIBC__)
__asm__(".symver pthread_setspecific,pthread_setspecific@GLIBC_2.17");
#endif

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define SLOTS_PER_BLOCK 32
#define BLOCKS 4096

extern int pthread_setspecific(unsigned key, const void *value);
extern int *__errno_location(void);

__thread struct rt_thread *rt_self RT_TLS;
__thread uintptr_t rt_stack_top RT_TLS, rt_stack_bytes RT_TLS;

static struct rt_thread *blocks[BLOCKS];
static uint32_t block_count; /* blocks that may be there: grows only */

static struct rt_thread *block_make(uint32_t index)
{
    size_t bytes = sizeof(struct rt_thread) * SLOTS_PER_BLOCK;
    void *map = sys_mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sys_is_error((long)map))
        return 0;
    if (rt.wipes)
        sys_call(__NR_madvise, map, bytes, MADV_WIPEONFORK, 0);
    struct rt_thread *expected = 0;
    if (__atomic_compare_exchange_n(&blocks[index], &expected, (struct rt_thread *)map, 0, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        uint32_t count = rt_load(&block_count);
        while (count < index + 1 &&
               !__atomic_compare_exchange_n(&block_count, &count, index + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        }
        return map;
    }
    sys_call(__NR_munmap, map, bytes, 0, 0);
    return expected;
}

static struct rt_thread *slot_take(void)
{
    static uint32_t hint; /* where the search begins: only a hint, so races don't matter */
    for (uint32_t round = 0; round < BLOCKS; round++) {
        uint32_t index = (round + (rt_load(&block_count) ? rt_load(&hint) % rt_load(&block_count) : 0)) % BLOCKS;
        struct rt_thread *block = rt_load(&blocks[index]);
        if (!block && !(block = block_make(index)))
            return 0;
        for (unsigned i = 0; i < SLOTS_PER_BLOCK; i++) {
            uint32_t expected = 0;
            if (!rt_load(&block[i].used) &&
                __atomic_compare_exchange_n(&block[i].used, &expected, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
                rt_store(&hint, index);
                return &block[i];
            }
        }
    }
    return 0;
}

static void slot_fill(struct rt_thread *thread)
{
    __builtin_memset(thread->contexts, 0, sizeof thread->contexts);
    thread->busy = 0;
    thread->lost = 0;
    thread->ending = 0;
    thread->timer = -1;
    thread->cpu_ns = 0;
    thread->samples = 0;
    thread->unwinding = 0;
    thread->stack_start = thread->stack_end = 0;
    thread->stack_looks = 0;
    thread->name[0] = 0;
    thread->tid = (int32_t)sys_tid();
    thread->serial = rt_add(&rt.thread_serial, 1u);
    thread->open = (struct wire_open_thread){.tid = thread->tid, .serial = thread->serial};
    rt_store(&thread->open.key, rt.key64);
    for (unsigned i = 0; i < WIRE_CONTEXTS; i++)
        thread->contexts[i].next_bytes = rt.session->chunk_first_bytes;
    thread->magic = RT_MAGIC;
}

RT_COLD struct rt_thread *rt_thread_get(void)
{
    if (!rt_ready())
        return 0;
    struct rt_thread *thread = rt_self;
    if (thread && thread->magic == RT_MAGIC)
        return thread;
    thread = slot_take();
    if (!thread) {
        rt_lost(WIRE_LOST_NO_MEMORY, 1);
        return 0;
    }
    slot_fill(thread);
    rt_self = thread;
    if (rt_load(&rt.key_made)) {
        int *error = __errno_location();
        int saved_errno = *error;
        pthread_setspecific(rt.key, thread);
        *error = saved_errno;
    }
    return thread;
}

/* Destructor of the key: the thread is through. Also for the sampler, when the start routine returns. */
void rt_thread_end(void *object)
{
    struct rt_thread *thread = object;
    if (!thread || thread->magic != RT_MAGIC || rt_self != thread)
        return;
    rt_sampler_thread_end(thread);
    thread->ending = 1;
    for (unsigned i = 0; i < WIRE_CONTEXTS; i++)
        rt_context_end(thread, i);
    rt_self = 0;
    thread->magic = 0;
    thread->open.key = 0;
    rt_store(&thread->used, 0u);
}

struct wire_open_place rt_threads_place(void)
{
    return (struct wire_open_place){.blocks = (uintptr_t)blocks, .count = (uintptr_t)&block_count, .slots = SLOTS_PER_BLOCK,
                                    .stride = sizeof(struct rt_thread), .offset = offsetof(struct rt_thread, open)};
}

/* Where the kernel can't wipe, the child does it itself. */
void rt_threads_forget(void)
{
    if (rt.wipes)
        return;
    for (uint32_t i = 0; i < block_count; i++)
        if (blocks[i])
            __builtin_memset(blocks[i], 0, sizeof(struct rt_thread) * SLOTS_PER_BLOCK);
}
