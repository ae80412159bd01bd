/* SPDX-License-Identifier: MIT */
/*
 * The process log and the string table. Both are lock-free and may be used in signal handlers: room is taken by compare and
 * swap, a record's header is stored last, and two threads that bring the same new text may both write it (one wins the
 * table, the other's record is just unused).
 */
#include "runtime.h"

#include <linux/mman.h>

#define LOG_STEP (128u << 10)       /* the file grows by this */
#define TEXT_MAX 60000u
#define LEVELS 8                    /* level k has 4096 << 2k slots: 4096 to 67 million */
#define PROBES 16

/* A slot: high half of the hash | string id. 0 = empty. */
static uint64_t *levels[LEVELS];

static uint8_t *log_base(void)
{
    return (uint8_t *)rt.process + rt.process->log_offset;
}

/* Takes `bytes` of the log: offset in *ret_offset. */
static uint32_t log_reserve(uint32_t bytes, uint64_t *ret_offset)
{
    struct wire_process *process = rt.process;
    uint64_t at = rt_load(&process->log_reserved);
    for (;;) {
        uint64_t end = at + bytes;
        if (end > rt.log_capacity)
            return WIRE_LOST_LIMIT + 1;
        uint64_t allocated = rt_load(&process->log_allocated);
        if (end > allocated) {
            char name[64];
            rt_name_process(name);
            uint64_t wanted = (end + LOG_STEP - 1) / LOG_STEP * LOG_STEP;
            wanted = wanted < rt.log_capacity ? wanted : rt.log_capacity;
            uint32_t reason = (uint32_t)rt_file_grow(name, process->log_offset + wanted);
            if (reason)
                return reason;
            while (allocated < wanted && !__atomic_compare_exchange_n(&process->log_allocated, &allocated, wanted, 0,
                                                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            }
        }
        if (__atomic_compare_exchange_n(&process->log_reserved, &at, end, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            *ret_offset = at;
            return 0;
        }
    }
}

uint32_t rt_log_append(const struct wire_header *header, const void *tail, uint32_t tail_bytes, uint32_t *ret_offset)
{
    uint64_t at;
    uint32_t bytes = wire_bytes(header);
    uint32_t reason = log_reserve(bytes, &at);
    if (reason) {
        rt_lost(reason - 1, 1);
        return reason;
    }
    uint8_t *place = log_base() + at;
    __builtin_memcpy(place + sizeof *header, tail, tail_bytes);
    uint64_t first;
    __builtin_memcpy(&first, header, sizeof first);
    rt_store((uint64_t *)(void *)place, first);
    if (rt.no_shared_map) {
        char name[64];
        rt_name_process(name);
        rt_file_write(name, place, bytes, rt.process->log_offset + at);
        rt_file_write(name, rt.process, sizeof *rt.process, 0);
    }
    if (ret_offset)
        *ret_offset = (uint32_t)at;
    return 0;
}

static uint64_t hash_text(const char *text, size_t length)
{
    uint64_t hash = 0x9e3779b97f4a7c15ull ^ length;
    while (length >= 8) {
        uint64_t word;
        __builtin_memcpy(&word, text, 8);
        hash = (hash ^ word) * 0xff51afd7ed558ccdull;
        hash ^= hash >> 32;
        text += 8;
        length -= 8;
    }
    uint64_t word = 0;
    for (size_t i = 0; i < length; i++)
        word |= (uint64_t)(uint8_t)text[i] << (8 * i);
    hash = (hash ^ word) * 0xc4ceb9fe1a85ec53ull;
    return hash ^ hash >> 29;
}

static bool same_text(uint32_t id, const char *text, size_t length)
{
    const struct wire_header *header = (const struct wire_header *)(const void *)(log_base() + (uint64_t)id * 8);
    return header->value == length && __builtin_memcmp(header + 1, text, length) == 0;
}

static uint32_t string_write(const char *text, size_t length)
{
    uint32_t offset;
    struct wire_header header = {.kind = WIRE_STRING,
                                 .words = (uint16_t)(1 + wire_round_up((uint32_t)length) / 8),
                                 .value = (uint32_t)length};
    return rt_log_append(&header, text, (uint32_t)length, &offset) ? 0 : offset / 8;
}

static uint64_t *level_get(unsigned level)
{
    uint64_t *slots = rt_load(&levels[level]);
    if (slots)
        return slots;
    size_t bytes = ((size_t)4096 << (2 * level)) * sizeof *slots;
    void *map = sys_mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sys_is_error((long)map))
        return 0;
    if (__atomic_compare_exchange_n(&levels[level], &slots, (uint64_t *)map, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return map;
    sys_call(__NR_munmap, map, bytes, 0, 0);
    return slots;
}

struct intern {
    const char *text;
    size_t length;
    uint64_t hash;
    uint32_t written; /* id of the record once it is in the log */
    bool failed;      /* no room in the log */
};

/* Looks the text up in one level, puts it in where a slot is empty. 0 = this level's neighbourhood is full, or failed. */
static uint32_t level_intern(uint64_t *slots, unsigned level, struct intern *in)
{
    uint64_t mask = ((uint64_t)4096 << (2 * level)) - 1;
    for (unsigned probe = 0; probe < PROBES; probe++) {
        uint64_t *slot = &slots[(in->hash + probe) & mask];
        uint64_t found = rt_load(slot);
        if (found == 0) {
            if (!in->written)
                in->written = string_write(in->text, in->length);
            if (!in->written) {
                in->failed = true;
                return 0;
            }
            uint64_t mine = (in->hash & 0xffffffff00000000ull) | in->written;
            if (__atomic_compare_exchange_n(slot, &found, mine, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
                return in->written;
        }
        if (found >> 32 == in->hash >> 32 && same_text((uint32_t)found, in->text, in->length))
            return (uint32_t)found;
    }
    return 0;
}

uint32_t rt_string(const char *text, size_t length)
{
    if (!text || !length || !rt_ready())
        return 0;
    length = length < TEXT_MAX ? length : TEXT_MAX;
    for (size_t i = 0; i < length; i++)
        if (!text[i])
            length = i;
    struct intern in = {.text = text, .length = length, .hash = hash_text(text, length)};
    for (unsigned level = 0; level < LEVELS && length && !in.failed; level++) {
        uint64_t *slots = level_get(level);
        uint32_t id = slots ? level_intern(slots, level, &in) : 0;
        if (id || !slots)
            return id;
    }
    return in.written;
}

void rt_log_info(uint32_t topic, const char *text)
{
    struct wire_process_info record = {.header = {.kind = WIRE_PROCESS_INFO, .words = sizeof record / 8}};
    record.header.value = rt_string(text, rt_length(text));
    record.time = rt_clock();
    record.topic = topic;
    rt_log_append(&record.header, &record.time, sizeof record - sizeof record.header, 0);
}

void rt_note(const char *text)
{
    if (rt_ready())
        rt_log_info(WIRE_INFO_NOTE, text);
}

/* The tables are the child's own memory after fork, but the ids are the parent's. */
void rt_log_forget(void)
{
    for (unsigned level = 0; level < LEVELS; level++) {
        uint64_t *slots = levels[level];
        levels[level] = 0;
        if (slots)
            sys_call(__NR_munmap, slots, ((size_t)4096 << (2 * level)) * sizeof *slots, 0, 0);
    }
}
