/* SPDX-License-Identifier: MIT */
/* The table of run-time code, sorted for lookup by address and time. */
#include "jit_table.h"

#include "base/array.h"

#include <errno.h>
#include <string.h>

#define ENTRY_MAXIMUM (4u << 20)
#define TEXT_MAXIMUM (256u << 20)
#define CANDIDATE_MAXIMUM 4096 /* overlapping entries looked at for one address */

int jit_table_create(struct jit_table **ret_table)
{
    *ret_table = calloc(1, sizeof **ret_table);
    return *ret_table ? 0 : -ENOMEM;
}

void jit_table_destroy(struct jit_table *table)
{
    if (!table)
        return;
    free(table->entries);
    free(table->lines);
    free(table->text);
    free(table);
}

int jit_text_add(struct jit_table *table, const char *text, size_t length, uint32_t *ret_offset)
{
    if (table->text_size + length + 1 > TEXT_MAXIMUM)
        return -EFBIG;
    char *moved = array_reserve(table->text, &table->text_capacity, table->text_size + length + 1, 1);
    if (!moved)
        return -ENOMEM;
    table->text = moved;
    *ret_offset = (uint32_t)table->text_size;
    char *target = moved + table->text_size;
    for (size_t i = 0; i < length; i++)
        target[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
    target[length] = '\0';
    table->text_size += length + 1;
    return 0;
}

int jit_entry_add(struct jit_table *table, const struct jit_entry *entry)
{
    if (entry->end <= entry->start)
        return 0;
    if (table->count >= ENTRY_MAXIMUM)
        return -EFBIG;
    struct jit_entry *moved = array_reserve(table->entries, &table->capacity, table->count + 1, sizeof *moved);
    if (!moved)
        return -ENOMEM;
    table->entries = moved;
    table->entries[table->count] = *entry;
    table->entries[table->count].order = (uint32_t)table->count;
    table->count++;
    return 0;
}

static int entry_compare(const void *left, const void *right)
{
    const struct jit_entry *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

void jit_table_finish(struct jit_table *table)
{
    if (table->count)
        qsort(table->entries, table->count, sizeof *table->entries, entry_compare);
    uint64_t reach = 0;
    for (size_t i = 0; i < table->count; i++) {
        if (table->entries[i].end > reach)
            reach = table->entries[i].end;
        table->entries[i].reach = reach;
    }
}

/* Whether `entry` fits the moment better than `best`. */
static bool fits_better(const struct jit_entry *entry, const struct jit_entry *best, int64_t time_ns)
{
    if (!best)
        return true;
    bool entry_exists = entry->time_ns <= time_ns, best_exists = best->time_ns <= time_ns;
    if (entry_exists != best_exists)
        return entry_exists;
    if (entry->time_ns != best->time_ns)
        return entry_exists ? entry->time_ns > best->time_ns : entry->time_ns < best->time_ns;
    return entry->order > best->order;
}

const struct jit_entry *jit_table_find(const struct jit_table *table, uint64_t address, int64_t time_ns)
{
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->entries[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    const struct jit_entry *best = NULL;
    size_t candidates = 0;
    for (size_t i = low; i-- > 0 && table->entries[i].reach > address && candidates < CANDIDATE_MAXIMUM; candidates++)
        if (table->entries[i].end > address && fits_better(&table->entries[i], best, time_ns))
            best = &table->entries[i];
    return best;
}

const struct jit_line *jit_line_find(const struct jit_table *table, const struct jit_entry *entry, uint64_t address)
{
    const struct jit_line *best = NULL; /* compilers write them in any order */
    for (uint32_t i = 0; i < entry->line_count; i++) {
        const struct jit_line *line = &table->lines[entry->first_line + i];
        if (line->address <= address && (!best || line->address >= best->address))
            best = line;
    }
    return best;
}

static size_t read_file(const struct jit_reader *reader, uint64_t offset, void *buffer, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = pread(reader->fd, (char *)buffer + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    return done;
}

static size_t read_memory(const struct jit_reader *reader, uint64_t offset, void *buffer, size_t size)
{
    if (offset >= reader->size)
        return 0;
    if (size > reader->size - offset)
        size = (size_t)(reader->size - offset);
    memcpy(buffer, reader->bytes + offset, size);
    return size;
}

struct jit_reader jit_reader_of_file(int fd, uint64_t size)
{
    return (struct jit_reader){.read = read_file, .fd = fd, .size = size};
}

struct jit_reader jit_reader_of_memory(const void *bytes, size_t size)
{
    return (struct jit_reader){.read = read_memory, .fd = -1, .bytes = bytes, .size = size};
}
