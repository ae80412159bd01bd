/* SPDX-License-Identifier: MIT */
/*
 * A record is a header (type, misc, size) and a body. PERF_RECORD_SAMPLE holds the fields that sample_type asks for, in
 * the order of the kernel's header file; every other type ends with a trailer (sample_id_all):
 *
 *   sample: IDENTIFIER  IP  pid,tid  TIME  CPU,0  PERIOD  nr,CALLCHAIN[nr]  nr,(hw_idx),BRANCH[nr]  abi,REGS[n]
 *           size,STACK[size],dyn_size
 *   trailer: pid,tid  TIME  CPU,0  IDENTIFIER
 */
#include "perf_record.h"

#include <errno.h>
#include <string.h>
#include <sys/sysmacros.h>

enum { BRANCH_BYTES = 24 };

/* What is left of a record; a failed read makes all later ones fail. */
struct cursor {
    const uint8_t *at, *end;
    bool failed;
};

static const void *take(struct cursor *cursor, uint64_t size)
{
    if (cursor->failed || size > (uint64_t)(cursor->end - cursor->at)) {
        cursor->failed = true;
        return NULL;
    }
    const void *data = cursor->at;
    cursor->at += size;
    return data;
}

static uint64_t take_u64(struct cursor *cursor)
{
    uint64_t value = 0;
    const void *data = take(cursor, sizeof(value));
    if (data)
        memcpy(&value, data, sizeof(value));
    return value;
}

static void take_pair(struct cursor *cursor, uint32_t *ret_first, uint32_t *ret_second)
{
    uint32_t pair[2] = {0};
    const void *data = take(cursor, sizeof(pair));
    if (data)
        memcpy(pair, data, sizeof(pair));
    *ret_first = pair[0];
    *ret_second = pair[1];
}

/* `count` items of `item_bytes`, overflow-checked. */
static const void *take_array(struct cursor *cursor, uint64_t count, size_t item_bytes)
{
    if (count > (uint64_t)(cursor->end - cursor->at) / item_bytes) {
        cursor->failed = true;
        return NULL;
    }
    return take(cursor, count * item_bytes);
}

/* A NUL-terminated text at the cursor; the rest of the record belongs to it. */
static const char *take_text(struct cursor *cursor)
{
    if (cursor->failed)
        return "";
    size_t left = (size_t)(cursor->end - cursor->at);
    if (!left || !memchr(cursor->at, 0, left)) {
        cursor->failed = true;
        return "";
    }
    const char *text = (const char *)cursor->at;
    cursor->at = cursor->end;
    return text;
}

static size_t trailer_bytes(const struct perf_layout *layout)
{
    size_t size = 0;
    size += layout->sample_type & PERF_SAMPLE_TID ? 8 : 0;
    size += layout->sample_type & PERF_SAMPLE_TIME ? 8 : 0;
    size += layout->sample_type & PERF_SAMPLE_CPU ? 8 : 0;
    size += layout->sample_type & PERF_SAMPLE_IDENTIFIER ? 8 : 0;
    return size;
}

/* Whose it is, when, and on which CPU: samples and trailers have them in the same order. */
static void decode_origin(const struct perf_layout *layout, struct cursor *cursor, struct perf_record *record)
{
    uint32_t unused;
    if (layout->sample_type & PERF_SAMPLE_TID)
        take_pair(cursor, &record->pid, &record->tid);
    if (layout->sample_type & PERF_SAMPLE_TIME)
        record->time_ns = take_u64(cursor);
    if (layout->sample_type & PERF_SAMPLE_CPU)
        take_pair(cursor, &record->cpu, &unused);
}

static void decode_trailer(const struct perf_layout *layout, struct cursor *cursor, struct perf_record *record)
{
    decode_origin(layout, cursor, record);
    if (layout->sample_type & PERF_SAMPLE_IDENTIFIER)
        record->id = take_u64(cursor);
}

static void decode_stack(const struct perf_layout *layout, struct cursor *cursor, struct perf_sample_record *sample)
{
    if (layout->sample_type & PERF_SAMPLE_REGS_USER) {
        sample->register_abi = take_u64(cursor);
        if (sample->register_abi != PERF_SAMPLE_REGS_ABI_NONE) {
            sample->register_count = (size_t)__builtin_popcountll(layout->user_registers);
            sample->registers = take_array(cursor, sample->register_count, sizeof(uint64_t));
        }
    }
    if (layout->sample_type & PERF_SAMPLE_STACK_USER) {
        uint64_t room = take_u64(cursor);
        if (room) {
            sample->stack = take(cursor, room);
            uint64_t copied = take_u64(cursor);
            if (copied > room)
                cursor->failed = true;
            sample->stack_bytes = cursor->failed ? 0 : (size_t)copied;
        }
    }
}

static void decode_sample(const struct perf_layout *layout, struct cursor *cursor, struct perf_record *record)
{
    struct perf_sample_record *sample = &record->u.sample;
    if (layout->sample_type & PERF_SAMPLE_IDENTIFIER)
        record->id = take_u64(cursor);
    if (layout->sample_type & PERF_SAMPLE_IP)
        sample->ip = take_u64(cursor);
    decode_origin(layout, cursor, record);
    if (layout->sample_type & PERF_SAMPLE_PERIOD)
        sample->period = take_u64(cursor);
    if (layout->sample_type & PERF_SAMPLE_CALLCHAIN) {
        uint64_t count = take_u64(cursor);
        sample->chain = take_array(cursor, count, sizeof(uint64_t));
        sample->chain_count = cursor->failed ? 0 : (size_t)count;
    }
    if (layout->sample_type & PERF_SAMPLE_BRANCH_STACK) {
        uint64_t count = take_u64(cursor);
        sample->branches = take_array(cursor, count, BRANCH_BYTES);
        sample->branch_count = cursor->failed ? 0 : (size_t)count;
    }
    decode_stack(layout, cursor, sample);
}

static void decode_mmap(bool second_form, struct cursor *cursor, struct perf_record *record)
{
    struct perf_mmap_record *map = &record->u.mmap;
    take_pair(cursor, &record->pid, &record->tid);
    map->start = take_u64(cursor);
    map->length = take_u64(cursor);
    map->file_offset = take_u64(cursor);
    if (second_form) {
        const uint8_t *identity = take(cursor, 24);
        uint32_t flags;
        take_pair(cursor, &map->protection, &flags);
        if (identity && record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
            map->build_id_size = identity[0] <= 20 ? identity[0] : 20;
            map->build_id = identity + 4;
        } else if (identity) {
            uint32_t major_minor[2];
            memcpy(major_minor, identity, sizeof(major_minor));
            memcpy(&map->inode, identity + 8, 8);
            memcpy(&map->inode_generation, identity + 16, 8);
            map->device = makedev(major_minor[0], major_minor[1]);
        }
    }
    map->path = take_text(cursor);
}

static int decode_other(struct cursor *cursor, struct perf_record *record)
{
    switch (record->type) {
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
        decode_mmap(record->type == PERF_RECORD_MMAP2, cursor, record);
        return 0;
    case PERF_RECORD_COMM:
        take_pair(cursor, &record->pid, &record->tid);
        record->u.comm.exec = record->misc & PERF_RECORD_MISC_COMM_EXEC;
        record->u.comm.name = take_text(cursor);
        return 0;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        take_pair(cursor, &record->pid, &record->u.task.parent_pid);
        take_pair(cursor, &record->tid, &record->u.task.parent_tid);
        record->time_ns = take_u64(cursor);
        return 0;
    case PERF_RECORD_LOST:
        take_u64(cursor);
        record->u.lost.count = take_u64(cursor);
        return 0;
    case PERF_RECORD_LOST_SAMPLES:
        record->u.lost.count = take_u64(cursor);
        return 0;
    case PERF_RECORD_SWITCH:
        record->u.context_switch.out = record->misc & PERF_RECORD_MISC_SWITCH_OUT;
        record->u.context_switch.preempted = record->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
        return 0;
    case PERF_RECORD_THROTTLE:
    case PERF_RECORD_UNTHROTTLE:
        return 0;
    default:
        return -ENOTSUP;
    }
}

/* In these types the body names the task concerned, while the trailer names the one that was running. */
static bool body_names_task(uint32_t type)
{
    return type == PERF_RECORD_MMAP || type == PERF_RECORD_MMAP2 || type == PERF_RECORD_COMM || type == PERF_RECORD_FORK ||
           type == PERF_RECORD_EXIT;
}

int perf_record_decode(const struct perf_layout *layout, const void *data, size_t size, struct perf_record *ret_record)
{
    struct perf_event_header header;
    if (size < sizeof(header))
        return -EBADMSG;
    memcpy(&header, data, sizeof(header));
    if (header.size != size)
        return -EBADMSG;
    struct perf_record record = {.type = header.type, .misc = header.misc, .cpu = UINT32_MAX};
    const uint8_t *body = (const uint8_t *)data + sizeof(header), *end = (const uint8_t *)data + size;
    struct cursor cursor = {body, end, false};
    if (header.type == PERF_RECORD_SAMPLE) {
        decode_sample(layout, &cursor, &record);
    } else {
        size_t trailer = trailer_bytes(layout);
        if ((size_t)(end - body) < trailer)
            return -EBADMSG;
        struct cursor tail = {end - trailer, end, false};
        decode_trailer(layout, &tail, &record);
        struct perf_record body_record = record;
        cursor.end = end - trailer;
        int r = decode_other(&cursor, &body_record);
        if (r < 0)
            return r;
        if (!body_names_task(record.type)) {
            body_record.pid = record.pid;
            body_record.tid = record.tid;
        }
        record = body_record;
    }
    if (cursor.failed)
        return -EBADMSG;
    *ret_record = record;
    return 0;
}

struct perf_branch perf_record_branch(const struct perf_sample_record *sample, size_t index)
{
    struct perf_branch branch;
    memcpy(&branch, sample->branches + index * BRANCH_BYTES, sizeof(branch));
    return branch;
}
