/* SPDX-License-Identifier: MIT */
/* A reading position in hostile little-endian bytes: running over the end sets `failed` and yields 0 from then on. */
#ifndef HP_SYMBOL_CURSOR_H
#define HP_SYMBOL_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
    const uint8_t *at, *end;
    bool failed;
};

static inline size_t cursor_left(const struct cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

static inline const uint8_t *cursor_bytes(struct cursor *cursor, size_t size)
{
    if (cursor->failed || size > cursor_left(cursor)) {
        cursor->failed = true;
        return NULL;
    }
    const uint8_t *bytes = cursor->at;
    cursor->at += size;
    return bytes;
}

static inline uint64_t cursor_fixed(struct cursor *cursor, size_t size)
{
    uint64_t value = 0;
    const uint8_t *bytes = cursor_bytes(cursor, size);
    if (bytes)
        memcpy(&value, bytes, size);
    return value;
}

static inline uint8_t cursor_u8(struct cursor *cursor)
{
    return (uint8_t)cursor_fixed(cursor, 1);
}

static inline uint16_t cursor_u16(struct cursor *cursor)
{
    return (uint16_t)cursor_fixed(cursor, 2);
}

static inline uint32_t cursor_u32(struct cursor *cursor)
{
    return (uint32_t)cursor_fixed(cursor, 4);
}

static inline uint64_t cursor_u64(struct cursor *cursor)
{
    return cursor_fixed(cursor, 8);
}

static inline uint64_t cursor_uleb(struct cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned shift = 0; cursor->at < cursor->end; shift += 7) {
        uint8_t byte = *cursor->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    cursor->failed = true;
    return 0;
}

static inline int64_t cursor_sleb(struct cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned shift = 0; cursor->at < cursor->end;) {
        uint8_t byte = *cursor->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (!(byte & 0x80)) {
            if (shift < 64 && (byte & 0x40))
                value |= ~0ull << shift;
            return (int64_t)value;
        }
    }
    cursor->failed = true;
    return 0;
}

/* A NUL-terminated string within the bytes, or NULL. */
static inline const char *cursor_string(struct cursor *cursor)
{
    const uint8_t *end = cursor->failed ? NULL : memchr(cursor->at, 0, cursor_left(cursor));
    if (!end) {
        cursor->failed = true;
        return NULL;
    }
    const char *text = (const char *)cursor->at;
    cursor->at = end + 1;
    return text;
}

#endif
