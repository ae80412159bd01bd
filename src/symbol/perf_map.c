/* SPDX-License-Identifier: MIT */
/* perf-PID.map: "START SIZE name" per line, numbers in hex. Later lines replace earlier ones: code moves and is dropped. */
#include "jit_table.h"

#include <errno.h>
#include <string.h>

#define CHUNK_BYTES (1u << 20)
#define FILE_MAXIMUM (1ull << 30)

static bool hex_take(const char **at, const char *end, uint64_t *ret_value)
{
    const char *start = *at;
    uint64_t value = 0;
    if (end - *at > 2 && (*at)[0] == '0' && ((*at)[1] | 0x20) == 'x')
        *at += 2, start = *at;
    for (; *at < end; ++*at) {
        char digit = **at, lower = (char)(digit | 0x20);
        unsigned nibble;
        if (digit >= '0' && digit <= '9')
            nibble = (unsigned)(digit - '0');
        else if (lower >= 'a' && lower <= 'f')
            nibble = (unsigned)(lower - 'a') + 10;
        else
            break;
        if (value >> 60)
            return false;
        value = value << 4 | nibble;
    }
    *ret_value = value;
    return *at > start;
}

static bool space_take(const char **at, const char *end)
{
    const char *start = *at;
    while (*at < end && (**at == ' ' || **at == '\t'))
        ++*at;
    return *at > start;
}

static int line_take(struct jit_table *table, const char *line, size_t length)
{
    const char *at = line, *end = line + length;
    struct jit_entry entry = {.time_ns = JIT_TIME_UNKNOWN};
    uint64_t size;
    if (!hex_take(&at, end, &entry.start) || !space_take(&at, end) || !hex_take(&at, end, &size) || !space_take(&at, end) ||
        at == end || size == 0 || __builtin_add_overflow(entry.start, size, &entry.end))
        return 0;
    int rc = jit_text_add(table, at, (size_t)(end - at), &entry.name);
    return rc < 0 ? rc : jit_entry_add(table, &entry);
}

/* Takes the whole lines of the buffer; returns how many bytes they were, or -errno. */
static ssize_t lines_take(struct jit_table *table, const char *buffer, size_t size)
{
    size_t done = 0;
    for (const char *newline; (newline = memchr(buffer + done, '\n', size - done));) {
        size_t length = (size_t)(newline - buffer) - done;
        int rc = line_take(table, buffer + done, length);
        if (rc < 0)
            return rc;
        done += length + 1;
    }
    return (ssize_t)done;
}

int perf_map_read(const struct jit_reader *reader, struct jit_table *table)
{
    CLEANUP(freep) char *buffer = malloc(CHUNK_BYTES);
    if (!buffer)
        return -ENOMEM;
    size_t kept = 0;
    bool skipping = false; /* within a line longer than the buffer */
    ssize_t rc = 0;
    for (uint64_t offset = 0; offset < FILE_MAXIMUM && rc >= 0;) {
        size_t got = reader->read(reader, offset, buffer + kept, CHUNK_BYTES - kept);
        if (got == 0)
            break;
        offset += got;
        const char *newline = skipping ? memchr(buffer, '\n', kept + got) : buffer;
        size_t from = newline ? (size_t)(newline - buffer) + skipping : kept + got;
        rc = newline ? lines_take(table, buffer + from, kept + got - from) : 0;
        skipping = !newline;
        size_t used = from + (rc > 0 ? (size_t)rc : 0);
        kept = kept + got - used;
        memmove(buffer, buffer + used, kept);
        if (kept == CHUNK_BYTES) {
            skipping = table->truncated = true;
            kept = 0;
        }
    }
    if (kept && !skipping && rc >= 0) /* a last line without its newline may be half written: only a whole one counts */
        table->truncated = true;
    table->truncated |= rc == -EFBIG;
    jit_table_finish(table);
    return rc == -ENOMEM ? -ENOMEM : 0;
}
