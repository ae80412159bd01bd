/* SPDX-License-Identifier: MIT */
/*
 * jitdump, as JVM agents, V8, .NET and LLVM write it: a header, then records, each with its size in front.
 *
 *   header   magic "JiTD" u32, version u32, header size u32, machine u32, pad u32, pid u32, time u64, flags u64
 *   record   kind u32, size u32, time u64, body
 *   load     pid u32, tid u32, vma u64, address u64, size u64, index u64, name, code
 *   move     pid u32, tid u32, vma u64, old address u64, new address u64, size u64, index u64
 *   lines    address u64, count u64, count x { address u64, line u32, discriminator u32, file }: for the load that follows
 *
 * Code bytes are skipped.
 */
#include "jit_table.h"

#include "base/array.h"
#include "base/map.h"
#include "cursor.h"

#include <errno.h>

#define MAGIC 0x4a695444
#define FLAG_ARCH_TIME 1 /* times are raw counter ticks: not comparable */
#define HEADER_BYTES 40
#define PREFIX_BYTES 16
#define LOAD_BYTES 40
#define MOVE_BYTES 48
#define NAME_MAXIMUM 8192
#define LINES_BYTES_MAXIMUM (16u << 20)
#define LINE_MAXIMUM (16u << 20)
#define RECORD_MAXIMUM (64u << 20)

enum record_kind { RECORD_LOAD, RECORD_MOVE, RECORD_LINES, RECORD_CLOSE, RECORD_UNWIND };

struct dump {
    const struct jit_reader *reader;
    struct jit_table *table;
    bool has_time;
    uint64_t lines_address; /* what the pending lines belong to */
    uint32_t first_line, line_count;
    struct map by_index; /* code index -> newest entry + 1: a move names the code by it */
};

static int load_take(struct dump *dump, uint64_t at, uint64_t size, int64_t time_ns)
{
    uint8_t bytes[LOAD_BYTES + NAME_MAXIMUM];
    size_t got = dump->reader->read(dump->reader, at, bytes, size < sizeof bytes ? (size_t)size : sizeof bytes);
    struct cursor cursor = {.at = bytes, .end = bytes + got};
    cursor_u64(&cursor); /* pid, tid */
    cursor_u64(&cursor); /* where it was mapped; equals the address but for the file mapping that nobody uses */
    struct jit_entry entry = {.start = cursor_u64(&cursor), .time_ns = time_ns};
    uint64_t code_size = cursor_u64(&cursor), index = cursor_u64(&cursor);
    if (cursor.failed || __builtin_add_overflow(entry.start, code_size, &entry.end))
        return 0;
    size_t length = strnlen((const char *)cursor.at, cursor_left(&cursor));
    if (dump->line_count && dump->lines_address == entry.start) {
        entry.first_line = dump->first_line;
        entry.line_count = dump->line_count;
    }
    dump->line_count = 0;
    int rc = jit_text_add(dump->table, (const char *)cursor.at, length, &entry.name);
    if (rc == 0)
        rc = jit_entry_add(dump->table, &entry);
    return rc < 0 ? rc : map_set(&dump->by_index, index, dump->table->count);
}

static int move_take(struct dump *dump, uint64_t at, uint64_t size, int64_t time_ns)
{
    uint8_t bytes[MOVE_BYTES];
    size_t got = dump->reader->read(dump->reader, at, bytes, size < sizeof bytes ? (size_t)size : sizeof bytes);
    struct cursor cursor = {.at = bytes, .end = bytes + got};
    cursor_u64(&cursor);
    cursor_u64(&cursor);
    cursor_u64(&cursor); /* old address: the index tells more surely */
    uint64_t address = cursor_u64(&cursor), code_size = cursor_u64(&cursor), index = cursor_u64(&cursor), known;
    if (cursor.failed || !map_get(&dump->by_index, index, &known) || known == 0 || known > dump->table->count)
        return 0;
    struct jit_entry moved = dump->table->entries[known - 1];
    moved.start = address;
    moved.time_ns = time_ns;
    moved.line_count = 0; /* their addresses are the old ones */
    if (__builtin_add_overflow(address, code_size, &moved.end))
        return 0;
    int rc = jit_entry_add(dump->table, &moved);
    return rc < 0 ? rc : map_set(&dump->by_index, index, dump->table->count);
}

static int line_add(struct jit_table *table, const struct jit_line *line)
{
    if (table->line_count >= LINE_MAXIMUM)
        return -EFBIG;
    struct jit_line *moved = array_reserve(table->lines, &table->line_capacity, table->line_count + 1, sizeof *moved);
    if (!moved)
        return -ENOMEM;
    table->lines = moved;
    table->lines[table->line_count++] = *line;
    return 0;
}

static int lines_parse(struct dump *dump, struct cursor cursor)
{
    dump->lines_address = cursor_u64(&cursor);
    uint64_t count = cursor_u64(&cursor);
    dump->first_line = (uint32_t)dump->table->line_count;
    dump->line_count = 0;
    const char *previous = NULL;
    uint32_t file = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct jit_line line = {.address = cursor_u64(&cursor), .line = cursor_u32(&cursor)};
        cursor_u32(&cursor);
        const char *name = cursor_string(&cursor);
        if (!name)
            return 0;
        /* 0xff alone stands for the name before; equal neighbours are kept once, too. */
        bool repeats = previous && ((name[0] == (char)0xff && name[1] == '\0') || strcmp(name, previous) == 0);
        int rc = repeats ? 0 : jit_text_add(dump->table, name, strlen(name), &file);
        if (!repeats)
            previous = name;
        line.file = file;
        if (rc == 0)
            rc = line_add(dump->table, &line);
        if (rc < 0)
            return rc;
        dump->line_count++;
    }
    return 0;
}

static int lines_take(struct dump *dump, uint64_t at, uint64_t size)
{
    if (size > LINES_BYTES_MAXIMUM)
        return 0;
    CLEANUP(freep) uint8_t *bytes = malloc(size ? (size_t)size : 1);
    if (!bytes)
        return -ENOMEM;
    size_t got = dump->reader->read(dump->reader, at, bytes, (size_t)size);
    return lines_parse(dump, (struct cursor){.at = bytes, .end = bytes + got});
}

static int record_take(struct dump *dump, uint32_t kind, uint64_t at, uint64_t size, int64_t time_ns)
{
    switch (kind) {
    case RECORD_LOAD:
        return load_take(dump, at, size, time_ns);
    case RECORD_MOVE:
        return move_take(dump, at, size, time_ns);
    case RECORD_LINES:
        return lines_take(dump, at, size);
    default:
        return 0;
    }
}

static int records_read(struct dump *dump, uint64_t offset)
{
    for (uint32_t count = 0; count < RECORD_MAXIMUM; count++) {
        uint8_t prefix[PREFIX_BYTES];
        size_t got = dump->reader->read(dump->reader, offset, prefix, sizeof prefix);
        if (got == 0)
            return 0;
        struct cursor cursor = {.at = prefix, .end = prefix + got};
        uint32_t kind = cursor_u32(&cursor), size = cursor_u32(&cursor);
        uint64_t time = cursor_u64(&cursor);
        if (cursor.failed || size < PREFIX_BYTES || offset + size > dump->reader->size) {
            dump->table->truncated = true;
            return 0;
        }
        int64_t time_ns = dump->has_time && time <= INT64_MAX ? (int64_t)time : JIT_TIME_UNKNOWN;
        int rc = record_take(dump, kind, offset + PREFIX_BYTES, size - PREFIX_BYTES, time_ns);
        if (rc < 0)
            return rc;
        offset += size;
    }
    dump->table->truncated = true;
    return 0;
}

int jitdump_read(const struct jit_reader *reader, struct jit_table *table)
{
    uint8_t header[HEADER_BYTES];
    struct cursor cursor = {.at = header, .end = header + reader->read(reader, 0, header, sizeof header)};
    uint32_t magic = cursor_u32(&cursor);
    cursor_u32(&cursor); /* version: 1, or 2, which only adds kinds */
    uint32_t header_size = cursor_u32(&cursor);
    cursor_u32(&cursor);
    cursor_u64(&cursor); /* pad, pid */
    cursor_u64(&cursor);
    uint64_t flags = cursor_u64(&cursor);
    if (cursor.failed || magic != MAGIC || header_size < HEADER_BYTES)
        return -EINVAL;
    struct dump dump = {.reader = reader, .table = table, .has_time = !(flags & FLAG_ARCH_TIME)};
    map_init(&dump.by_index);
    int rc = records_read(&dump, header_size);
    map_finish(&dump.by_index);
    table->truncated |= rc == -EFBIG;
    jit_table_finish(table);
    return rc == -ENOMEM ? rc : 0;
}
