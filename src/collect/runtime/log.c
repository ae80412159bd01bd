/* SPDX-License-Identifier: MIT */
/*
 * The process log and the texts in it. Lock-free, for signal handlers too: room is taken by compare and swap, a record's header
 * is stored last.
 */
#include "runtime.h"

#include <linux/mman.h>

#define LOG_STEP (128u << 10)       /* the file grows by this */
#define TEXT_MAX 60000u

static struct rt_table strings;

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
            uint32_t reason = (uint32_t)rt_file_grow(name, process, process->log_offset + wanted);
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

const struct wire_header *rt_log_at(uint32_t place)
{
    return (const struct wire_header *)(const void *)(log_base() + (uint64_t)place * 8);
}

static bool same_text(const struct rt_key *key, const struct wire_header *record)
{
    return record->value == key->bytes && __builtin_memcmp(record + 1, key->data, key->bytes) == 0;
}

static uint32_t string_write(const struct rt_key *key)
{
    uint32_t offset, length = (uint32_t)key->bytes;
    struct wire_header header = {.kind = WIRE_STRING, .words = (uint16_t)(1 + wire_round_up(length) / 8), .value = length};
    return rt_log_append(&header, key->data, length, &offset) ? 0 : offset / 8;
}

uint32_t rt_string(const char *text, size_t length)
{
    if (!text || !length || !rt_ready())
        return 0;
    length = length < TEXT_MAX ? length : TEXT_MAX;
    for (size_t i = 0; i < length; i++)
        if (!text[i])
            length = i;
    struct rt_key key = {.hash = hash_text(text, length), .data = text, .bytes = length, .write = string_write, .same = same_text};
    return length ? rt_table_find(&strings, &key) : 0;
}

void rt_log_info(uint32_t topic, const char *text)
{
    struct wire_process_info record = {.header = {.kind = WIRE_PROCESS_INFO, .words = sizeof record / 8}};
    record.header.value = rt_string(text, rt_length(text));
    record.time = rt_clock();
    record.topic = topic;
    rt_log_append(&record.header, &record.time, sizeof record - sizeof record.header, 0);
}

bool rt_keep(const struct wire_header *record)
{
    if (!rt_ready())
        return false;
    if (rt_load(&rt.process->log_reserved) > rt.log_capacity / 2)
        return rt_append(record);
    return rt_log_append(record, record + 1, wire_bytes(record) - (uint32_t)sizeof *record, 0) == 0;
}

void rt_note(const char *text)
{
    if (rt_ready())
        rt_log_info(WIRE_INFO_NOTE, text);
}

void rt_log_forget(void)
{
    rt_table_forget(&strings);
}
