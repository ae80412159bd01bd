/* SPDX-License-Identifier: MIT */
/*
 * Contents of the process log that are written once: texts, call stacks. A slot holds the high half of the hash and the place
 * of the record in the log (offset / 8); levels of growing size are made as the ones before fill up. Lock-free, for signal
 * handlers too: of two threads that bring the same new content one wins the slot, the other's record is just unused.
 */
#include "runtime.h"

#include <linux/mman.h>

#define PROBES 16

static size_t slots_of(unsigned level)
{
    return (size_t)4096 << (2 * level); /* 4096 to 67 million */
}

static uint64_t *level_get(struct rt_table *table, unsigned level)
{
    uint64_t *slots = rt_load(&table->levels[level]);
    if (slots)
        return slots;
    size_t bytes = slots_of(level) * sizeof *slots;
    void *map = sys_mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sys_is_error((long)map))
        return 0;
    if (__atomic_compare_exchange_n(&table->levels[level], &slots, (uint64_t *)map, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return map;
    sys_call(__NR_munmap, map, bytes, 0, 0);
    return slots;
}

struct search {
    const struct rt_key *key;
    uint32_t written; /* place of the record once it is in the log */
    bool failed;      /* no room in the log */
};

/* Looks the content up in one level, puts it in where a slot is empty. 0 = this level's neighbourhood is full, or failed. */
static uint32_t level_find(uint64_t *slots, unsigned level, struct search *search)
{
    const struct rt_key *key = search->key;
    uint64_t mask = slots_of(level) - 1;
    for (unsigned probe = 0; probe < PROBES; probe++) {
        uint64_t *slot = &slots[(key->hash + probe) & mask];
        uint64_t found = rt_load(slot);
        if (found == 0) {
            if (!search->written)
                search->written = key->write(key);
            if (!search->written) {
                search->failed = true;
                return 0;
            }
            uint64_t mine = (key->hash & 0xffffffff00000000ull) | search->written;
            if (__atomic_compare_exchange_n(slot, &found, mine, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
                return search->written;
        }
        if (found >> 32 == key->hash >> 32 && key->same(key, rt_log_at((uint32_t)found)))
            return (uint32_t)found;
    }
    return 0;
}

uint32_t rt_table_find(struct rt_table *table, const struct rt_key *key)
{
    struct search search = {.key = key};
    for (unsigned level = 0; level < RT_TABLE_LEVELS && !search.failed; level++) {
        uint64_t *slots = level_get(table, level);
        uint32_t place = slots ? level_find(slots, level, &search) : 0;
        if (place || !slots)
            return place;
    }
    return search.written;
}

/* The tables are the child's own memory after fork, but what they lead to is the parent's. */
void rt_table_forget(struct rt_table *table)
{
    for (unsigned level = 0; level < RT_TABLE_LEVELS; level++) {
        uint64_t *slots = table->levels[level];
        table->levels[level] = 0;
        if (slots)
            sys_call(__NR_munmap, slots, slots_of(level) * sizeof *slots, 0, 0);
    }
}
