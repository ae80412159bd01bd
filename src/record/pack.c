/* SPDX-License-Identifier: MIT */
/* Packing of records: see pack.h for the format. */
#include "pack.h"

#include "wire/records.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define SLOTS 256
#define SPAN_WORDS 6
#define MODE_SAME 0u
#define MODE_SLOT 1u
#define MODE_RAW 3u

struct shape {
    uint64_t words[3]; /* 0, 4, 5 of the span */
};

struct packer {
    struct shape last;
    uint64_t last_end;
    struct shape slots[SLOTS];
};

static inline uint64_t load(const uint8_t *bytes, unsigned word)
{
    uint64_t value;
    memcpy(&value, bytes + word * 8, 8);
    return value;
}

static inline struct shape shape_of(const uint8_t *record)
{
    return (struct shape){{load(record, 0), load(record, 4), load(record, 5)}};
}

static inline bool shape_is(const struct shape *left, const struct shape *right)
{
    return ((left->words[0] ^ right->words[0]) | (left->words[1] ^ right->words[1]) | (left->words[2] ^ right->words[2])) == 0;
}

static inline unsigned slot_of(const struct shape *shape)
{
    uint64_t hash = shape->words[0] * 0x9e3779b97f4a7c15ull ^ shape->words[1] * 0xff51afd7ed558ccdull ^
                    shape->words[2] * 0xc4ceb9fe1a85ec53ull;
    return (unsigned)(hash >> 56);
}

static inline unsigned byte_count(uint64_t value)
{
    return (unsigned)(71 - __builtin_clzll(value | 1)) / 8;
}

static inline uint8_t *put_span(uint8_t *out, unsigned mode, unsigned slot, uint64_t difference, uint64_t duration)
{
    unsigned first = byte_count(difference), second = byte_count(duration);
    *out++ = (uint8_t)((first - 1) | (second - 1) << 3 | mode << 6);
    *out = (uint8_t)slot;
    out += mode; /* MODE_SLOT is 1: the slot's byte stays */
    memcpy(out, &difference, 8);
    out += first;
    memcpy(out, &duration, 8);
    return out + second;
}

static inline uint8_t *put_raw(struct packer *packer, uint8_t *out, const uint8_t *record, size_t size, bool is_span)
{
    *out++ = (uint8_t)(MODE_RAW << 6);
    memcpy(out, record, size);
    if (is_span) {
        packer->last = shape_of(record);
        packer->slots[slot_of(&packer->last)] = packer->last;
        packer->last_end = load(record, 2);
    }
    return out + size;
}

static inline bool is_plain_span(uint64_t header)
{
    return (header & 0xffffffffu) == ((uint64_t)SPAN_WORDS << 16 | WIRE_SPAN);
}

/* The common run: spans of one shape, one after the other, each ending no earlier than the one before. Stops at the first
 * record that isn't such; nothing but the clock goes on from one to the next, so the processor works on several at once. */
static inline __attribute__((always_inline)) const uint8_t *run_body(struct packer *packer, const uint8_t *at, const uint8_t *end, uint8_t **out_place, uint32_t *count)
{
    const struct shape last = packer->last;
    uint64_t last_end = packer->last_end;
    uint8_t *out = *out_place;
    const uint8_t *begin = at;
    for (; (size_t)(end - at) >= SPAN_WORDS * 8; at += SPAN_WORDS * 8) {
        __builtin_prefetch(at + 768);
        uint64_t from = load(at, 1), to = load(at, 2);
        uint64_t other = (load(at, 0) ^ last.words[0]) | (load(at, 4) ^ last.words[1]) | (load(at, 5) ^ last.words[2]) | load(at, 3);
        if (other || to < from || to < last_end)
            break;
        uint64_t difference = to - last_end, duration = to - from;
        unsigned first = byte_count(difference), second = byte_count(duration);
        *out = (uint8_t)((first - 1) | (second - 1) << 3);
        memcpy(out + 1, &difference, 8);
        memcpy(out + 1 + first, &duration, 8);
        out += 1 + first + second;
        last_end = to;
    }
    packer->last_end = last_end;
    *out_place = out;
    *count += (uint32_t)((size_t)(at - begin) / (SPAN_WORDS * 8));
    return at;
}

#if defined(__x86_64__)
/* Counting leading zeros by LZCNT instead of BSR makes the loop 1.6 times as fast; every processor with AVX2 has it. */
__attribute__((target("lzcnt"))) static const uint8_t *run_lzcnt(struct packer *packer, const uint8_t *at, const uint8_t *end,
                                                                 uint8_t **out_place, uint32_t *count)
{
    return run_body(packer, at, end, out_place, count);
}
#endif

static const uint8_t *pack_run(struct packer *packer, const uint8_t *at, const uint8_t *end, uint8_t **out_place, uint32_t *count)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return run_lzcnt(packer, at, end, out_place, count);
#endif
    return run_body(packer, at, end, out_place, count);
}

/* One record of any kind; returns where the output goes on. */
static uint8_t *pack_one(struct packer *packer, uint8_t *out, const uint8_t *record, size_t bytes, bool is_span)
{
    if (!is_span)
        return put_raw(packer, out, record, bytes, false);
    uint64_t from = load(record, 1), to = load(record, 2);
    struct shape shape = shape_of(record);
    unsigned slot = slot_of(&shape);
    if (load(record, 3) != 0 || to < from || to < packer->last_end || !shape_is(&shape, &packer->slots[slot]))
        return put_raw(packer, out, record, bytes, true);
    out = put_span(out, shape_is(&shape, &packer->last) ? MODE_SAME : MODE_SLOT, slot, to - packer->last_end, to - from);
    packer->last = shape;
    packer->last_end = to;
    return out;
}

size_t pack_records(const uint8_t *records, size_t size, uint8_t *out, uint32_t *ret_count)
{
    struct packer packer;
    memset(&packer, 0, sizeof packer);
    uint8_t *begin = out;
    const uint8_t *end = records + size;
    uint32_t count = 0;
    while (records < end) {
        uint64_t header = end - records >= 8 ? load(records, 0) : 0;
        size_t bytes = (size_t)(header >> 16 & 0xffff) * 8;
        if (bytes == 0 || bytes > (size_t)(end - records))
            return 0;
        bool is_span = is_plain_span(header);
        out = pack_one(&packer, out, records, bytes, is_span);
        records += bytes;
        count++;
        if (is_span)
            records = pack_run(&packer, records, end, &out, &count);
    }
    *ret_count = count;
    return (size_t)(out - begin);
}

struct input {
    const uint8_t *at, *end;
    bool failed;
};

static inline uint64_t take(struct input *in, unsigned bytes)
{
    uint64_t value = 0;
    if ((size_t)(in->end - in->at) < bytes) {
        in->failed = true;
        return 0;
    }
    if (in->end - in->at >= 8) {
        memcpy(&value, in->at, 8);
        value &= UINT64_MAX >> (64 - 8 * bytes);
    } else {
        for (unsigned i = 0; i < bytes; i++)
            value |= (uint64_t)in->at[i] << (8 * i);
    }
    in->at += bytes;
    return value;
}

static size_t unpack_raw(struct packer *packer, struct input *in, uint8_t *out, size_t room)
{
    if (in->end - in->at < 8) {
        in->failed = true;
        return 0;
    }
    uint64_t header = load(in->at, 0);
    size_t bytes = (size_t)(header >> 16 & 0xffff) * 8;
    if (bytes == 0 || bytes > room || bytes > (size_t)(in->end - in->at)) {
        in->failed = true;
        return 0;
    }
    memcpy(out, in->at, bytes);
    in->at += bytes;
    if (is_plain_span(header)) {
        packer->last = shape_of(out);
        packer->slots[slot_of(&packer->last)] = packer->last;
        packer->last_end = load(out, 2);
    }
    return bytes;
}

static size_t unpack_span(struct packer *packer, struct input *in, uint8_t control, uint8_t *out, size_t room)
{
    if (control >> 6 == MODE_SLOT)
        packer->last = packer->slots[take(in, 1)];
    uint64_t to = packer->last_end + take(in, (control & 7u) + 1);
    uint64_t duration = take(in, (control >> 3 & 7u) + 1);
    if (room < SPAN_WORDS * 8 || !is_plain_span(packer->last.words[0]))
        in->failed = true;
    if (in->failed)
        return 0;
    uint64_t words[SPAN_WORDS] = {packer->last.words[0], to - duration, to, 0, packer->last.words[1], packer->last.words[2]};
    memcpy(out, words, sizeof words);
    packer->last_end = to;
    return sizeof words;
}

int unpack_records(const uint8_t *packed, size_t size, uint8_t *out, size_t raw_size)
{
    struct packer packer;
    memset(&packer, 0, sizeof packer);
    struct input in = {packed, packed + size, false};
    size_t done = 0;
    while (in.at < in.end && !in.failed) {
        uint8_t control = *in.at++;
        unsigned mode = control >> 6;
        if (mode == MODE_RAW)
            done += unpack_raw(&packer, &in, out + done, raw_size - done);
        else if (mode == MODE_SAME || mode == MODE_SLOT)
            done += unpack_span(&packer, &in, control, out + done, raw_size - done);
        else
            in.failed = true;
    }
    return in.failed || done != raw_size ? -EBADMSG : 0;
}
