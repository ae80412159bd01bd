/* SPDX-License-Identifier: MIT */
/* Opening a native file: by its table of contents, or by a walk through its chunks; and following one that grows. */
#include "native_reader.h"

#include "aggregates.h"
#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "builder.h"
#include "crc32c.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define CONTENTS_MAX (UINT64_C(1) << 32) /* bytes: 48 million chunks */
#define SEARCH_BYTES (UINT32_C(1) << 20)

void native_reader_unref(struct native_reader *reader)
{
    if (!reader || --reader->references > 0)
        return;
    for (unsigned table = 0; table < TABLE_COUNT; table++)
        free(reader->tables[table].rows);
    for (unsigned family = 0; family < FAMILY_COUNT; family++)
        block_array_finish(&reader->blocks[family]);
    live_aggregates_unref(reader->live);
    block_cache_unref(reader->cache);
    block_store_unref(reader->store);
    pthread_mutex_destroy(&reader->lock);
    free(reader->lods);
    free(reader->blob);
    free(reader->offsets);
    free(reader->path);
    free(reader);
}
DEFINE_CLEANUP(struct native_reader *, native_reader_unref)

static int reader_open(const char *path, struct native_reader **ret_reader, uint64_t *ret_size, struct error *err)
{
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0)
        return error_set_errno(err, -errno, "%s: cannot open", path);
    if (!S_ISREG(status.st_mode))
        return error_set(err, -EINVAL, "%s: not a regular file", path);
    CLEANUP(native_reader_unrefp) struct native_reader *reader = calloc(1, sizeof(*reader));
    if (!reader)
        return error_set(err, -ENOMEM, "%s: out of memory", path);
    reader->references = 1;
    pthread_mutex_init(&reader->lock, NULL);
    reader->path = strdup(path);
    if (!reader->path || block_cache_create(BLOCK_CACHE_BYTES, &reader->cache) < 0 ||
        live_aggregates_create(&reader->live) < 0 || block_store_create(fd, path, &reader->store) < 0)
        return error_set(err, -ENOMEM, "%s: out of memory", path);
    TAKE_FD(fd);
    reader->device = status.st_dev;
    reader->inode = status.st_ino;
    reader->position = NATIVE_PAGE;
    *ret_size = (uint64_t)status.st_size;
    *ret_reader = TAKE_PTR(reader);
    return 0;
}

static int check_incompatible(const struct native_reader *reader, uint32_t features, struct error *err)
{
    if (features & ~NATIVE_INCOMPATIBLE_KNOWN)
        return error_set(err, -EPROTONOSUPPORT, "%s: offset 16: needs features 0x%x that this version does not know; "
                         "open it with a newer hprofiler", reader->path, features & ~NATIVE_INCOMPATIBLE_KNOWN);
    if ((features & NATIVE_INCOMPATIBLE_ZSTD) && !column_can_pack())
        return error_set(err, -EOPNOTSUPP, "%s: its columns are compressed with zstd, which this build of hprofiler lacks; "
                         "rebuild with libzstd", reader->path);
    return 0;
}

static int check_header(struct native_reader *reader, uint64_t size, struct error *err)
{
    struct native_header header;
    if (size < sizeof(header) || pread_all(reader->store->fd, &header, sizeof(header), 0) < 0)
        return error_set(err, -EBADMSG, "%s: offset 0: too short for a native trace (%llu bytes)", reader->path,
                         (unsigned long long)size);
    if (memcmp(header.magic, NATIVE_MAGIC, NATIVE_MAGIC_SIZE) != 0)
        return error_set(err, -EBADMSG, "%s: offset 0: not a native trace", reader->path);
    if (header.checksum != crc32c(0, &header, offsetof(struct native_header, checksum)))
        return error_set(err, -EBADMSG, "%s: offset 0: the header is damaged", reader->path);
    if (header.major != NATIVE_MAJOR)
        return error_set(err, -EPROTONOSUPPORT, "%s: offset 8: format version %u.%u; this hprofiler reads version %u",
                         reader->path, header.major, header.minor, NATIVE_MAJOR);
    reader->stream = header.compatible & NATIVE_COMPATIBLE_STREAM;
    return check_incompatible(reader, header.incompatible, err);
}

/* The table of contents that the footer names. 0, -ENODATA when there is none or it is damaged, -ENOMEM. */
static int read_contents(const struct native_reader *reader, uint64_t size, struct contents_entry **ret_entries,
                         uint32_t *ret_count, uint32_t *ret_incompatible)
{
    struct native_footer footer, copy;
    struct chunk_header header;
    if (size < NATIVE_PAGE + sizeof(footer) || pread_all(reader->store->fd, &footer, sizeof(footer), size - sizeof(footer)) < 0)
        return -ENODATA;
    copy = footer;
    copy.checksum = 0;
    bool sound = footer.magic == FOOTER_MAGIC && footer.checksum == crc32c(0, &copy, sizeof(copy)) &&
                 footer.file_size == size && footer.contents_offset < size &&
                 pread_all(reader->store->fd, &header, sizeof(header), footer.contents_offset) == 0 &&
                 chunk_header_valid(&header, size - footer.contents_offset) && header.type == CHUNK_CONTENTS &&
                 header.size == (uint64_t)header.rows * sizeof(struct contents_entry) && header.size <= CONTENTS_MAX;
    if (!sound)
        return -ENODATA;
    struct stored_chunk chunk = {.offset = footer.contents_offset + sizeof(header), .size = header.size,
                                 .checksum = header.body_checksum};
    uint8_t *body;
    int result = native_read_body(reader, &chunk, &body, NULL);
    if (result < 0)
        return result == -ENOMEM ? result : -ENODATA;
    *ret_entries = (struct contents_entry *)(void *)body;
    *ret_count = header.rows;
    *ret_incompatible = footer.incompatible;
    return 0;
}

static int load_contents(struct native_reader *reader, uint64_t size, const struct contents_entry *entries, uint32_t count,
                         struct error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct contents_entry *entry = &entries[i];
        if (entry->offset >= size || !chunk_header_valid(&entry->header, size - entry->offset))
            return error_set(err, -EBADMSG, "%s: entry %u of the table of contents is damaged", reader->path, i);
        int result = native_load_chunk(reader, &entry->header, entry->offset + sizeof(entry->header), err);
        if (result < 0)
            return result;
    }
    reader->complete = true;
    return 0;
}

enum place { PLACE_CHUNK, PLACE_UNFINISHED, PLACE_DAMAGED };

/* What begins with these bytes. A header that is right but whose body isn't there yet is the end of a file that grows. */
static enum place place_of(const struct chunk_header *header, uint64_t left)
{
    if (chunk_header_valid(header, left))
        return PLACE_CHUNK;
    bool header_right = header->magic == CHUNK_MAGIC && header->header_checksum == chunk_header_checksum(header);
    return header_right && header->size > left - sizeof(*header) ? PLACE_UNFINISHED : PLACE_DAMAGED;
}

/* Steps over a damaged stretch. A window is read once, however many false beginnings are in it. */
static enum place search_chunk(const struct native_reader *reader, uint64_t size, uint64_t *position,
                               struct chunk_header *ret_header)
{
    CLEANUP(freep) uint8_t *window = malloc(SEARCH_BYTES);
    const uint32_t magic = CHUNK_MAGIC;
    while (window && *position + sizeof(*ret_header) <= size) {
        uint32_t length = size - *position < SEARCH_BYTES ? (uint32_t)(size - *position) : SEARCH_BYTES, skip = 0;
        if (pread_all(reader->store->fd, window, length, *position) < 0)
            return PLACE_DAMAGED;
        for (; skip + sizeof(*ret_header) <= length; skip += CHUNK_ALIGNMENT) {
            if (memcmp(window + skip, &magic, sizeof(magic)) != 0)
                continue;
            memcpy(ret_header, window + skip, sizeof(*ret_header));
            enum place place = place_of(ret_header, size - *position - skip);
            if (place == PLACE_DAMAGED)
                continue;
            *position += skip;
            return place;
        }
        *position += skip;
    }
    return PLACE_DAMAGED;
}

/* The next whole chunk at or behind *position. False at the end of what is whole. */
static bool next_chunk(const struct native_reader *reader, uint64_t size, uint64_t *position, struct chunk_header *ret_header)
{
    if (*position + sizeof(*ret_header) > size)
        return false;
    enum place place = PLACE_DAMAGED;
    if (pread_all(reader->store->fd, ret_header, sizeof(*ret_header), *position) == 0)
        place = place_of(ret_header, size - *position);
    if (place == PLACE_DAMAGED) {
        *position += CHUNK_ALIGNMENT;
        place = search_chunk(reader, size, position, ret_header);
    }
    return place == PLACE_CHUNK;
}

/* Loads all whole chunks from reader->position on. *ret_found: how many. */
static int walk(struct native_reader *reader, uint64_t size, uint32_t *ret_found, struct error *err)
{
    struct chunk_header header;
    uint64_t position = reader->position;
    *ret_found = 0;
    while (next_chunk(reader, size, &position, &header)) {
        uint64_t body = position + sizeof(header);
        int result = native_load_chunk(reader, &header, body, err);
        if (result == -ENOMEM)
            return result;
        if (result == 0)
            ++*ret_found; /* a chunk that can't be loaded is left out; what refers to it will say so */
        if (header.type == CHUNK_SPAN_SUMS || header.type == CHUNK_SAMPLE_SUMS) {
            reader->span_sums.offset = 0; /* sums of the whole file: blocks may be missing, so they are made anew */
            reader->sample_sums.offset = 0;
        }
        position = (body + header.size + CHUNK_ALIGNMENT - 1) & ~(uint64_t)(CHUNK_ALIGNMENT - 1);
        reader->position = position;
    }
    return 0;
}

static int copy_strings(const struct native_reader *reader, struct trace *trace)
{
    struct string_table *table;
    if (reader->strings == 0) { /* damaged beyond strings: the empty one is always there */
        int result = string_table_create(&table);
        if (result == 0 && (result = shared_strings_create(table, &trace->strings)) < 0)
            string_table_destroy(table);
        return result;
    }
    size_t offsets_size = ((size_t)reader->strings + 1) * 8;
    CLEANUP(freep) char *blob = malloc(reader->blob_size ? reader->blob_size : 1);
    CLEANUP(freep) uint64_t *offsets = malloc(offsets_size);
    if (!blob || !offsets)
        return -ENOMEM;
    memcpy(blob, reader->blob, reader->blob_size);
    memcpy(offsets, reader->offsets, offsets_size);
    int result = string_table_map(blob, reader->blob_size, offsets, reader->strings, &table);
    if (result < 0)
        return result;
    result = shared_strings_create(table, &trace->strings);
    if (result < 0) {
        string_table_destroy(table);
        return result;
    }
    trace->strings->memory[0] = TAKE_PTR(blob);
    trace->strings->memory[1] = TAKE_PTR(offsets);
    return 0;
}

static int by_track_and_first(const void *left, const void *right)
{
    const struct block *a = *(struct block *const *)left, *b = *(struct block *const *)right;
    if (a->info.track.index != b->info.track.index)
        return a->info.track.index < b->info.track.index ? -1 : 1;
    return (a->info.first > b->info.first) - (a->info.first < b->info.first);
}

/* A snapshot's blocks: those of a growing file as they came, those of a finished one in the order that readers expect. */
static int copy_blocks(const struct native_reader *reader, struct trace *trace)
{
    for (unsigned family = 0; family < FAMILY_COUNT; family++) {
        const struct block_array *loaded = &reader->blocks[family];
        struct block_array *blocks = &trace->blocks[family];
        for (uint32_t i = 0; i < loaded->count; i++) {
            int result = block_array_add(blocks, loaded->items[i]);
            if (result < 0)
                return result;
            block_ref(loaded->items[i]);
        }
        if (!trace->growing && blocks->count)
            qsort(blocks->items, blocks->count, sizeof(*blocks->items), by_track_and_first);
    }
    return trace_seal(trace);
}

/* A file that does not grow has one snapshot, which has its own copy: what would be gone on with is given back. */
static void forget_rows(struct native_reader *reader)
{
    for (unsigned table = 0; table < TABLE_COUNT; table++) {
        free(TAKE_PTR(reader->tables[table].rows));
        reader->tables[table].capacity = 0;
    }
    free(TAKE_PTR(reader->blob));
    free(TAKE_PTR(reader->offsets));
    reader->blob_capacity = reader->offsets_capacity = 0;
}

static int make_snapshot(struct native_reader *reader, struct trace **ret_trace, struct error *err)
{
    CLEANUP(trace_unrefp) struct trace *trace = NULL;
    int result = trace_create(reader->cache, &trace);
    if (result < 0)
        return error_set(err, result, "%s: out of memory", reader->path);
    reader->references++;
    trace->reader = reader;
    trace->growing = !reader->complete && reader->stream;
    trace->partial = !reader->complete;
    trace->generation = ++reader->generation;
    if (trace->growing)
        trace->live = live_aggregates_ref(reader->live);
    for (unsigned table = 0; table < TABLE_COUNT; table++) {
        trace->tables[table] = shared_table_create((enum table)table, reader->tables[table].rows, reader->tables[table].count);
        if (!trace->tables[table])
            return error_set(err, -ENOMEM, "%s: out of memory", reader->path);
    }
    result = copy_strings(reader, trace);
    if (result == 0)
        result = copy_blocks(reader, trace);
    if (result < 0)
        return error_set_errno(err, result, "%s: cannot be loaded", reader->path);
    result = native_load_sums(reader, trace, err);
    if (result < 0)
        return result;
    if (!trace->growing)
        forget_rows(reader);
    *ret_trace = TAKE_PTR(trace);
    return 0;
}

static int load_all(struct native_reader *reader, uint64_t size, struct error *err)
{
    CLEANUP(freep) struct contents_entry *entries = NULL;
    uint32_t count = 0, incompatible = 0;
    int result = read_contents(reader, size, &entries, &count, &incompatible);
    if (result == 0) {
        result = check_incompatible(reader, incompatible, err);
        return result < 0 ? result : load_contents(reader, size, entries, count, err);
    }
    if (result != -ENODATA)
        return error_set(err, result, "%s: out of memory", reader->path);
    return walk(reader, size, &count, err);
}

int trace_open_native(const char *path, struct trace **ret_trace, struct error *err)
{
    CLEANUP(native_reader_unrefp) struct native_reader *reader = NULL;
    uint64_t size = 0;
    int result = reader_open(path, &reader, &size, err);
    if (result == 0)
        result = check_header(reader, size, err);
    if (result == 0)
        result = load_all(reader, size, err);
    if (result == 0)
        result = native_load_check(reader, err);
    return result < 0 ? result : make_snapshot(reader, ret_trace, err);
}

static int refresh_locked(struct trace *trace, struct native_reader *reader, struct trace **ret_trace, struct error *err)
{
    struct stat status;
    uint32_t found;
    if (fstat(reader->store->fd, &status) < 0)
        return error_set_errno(err, -errno, "%s: cannot stat", reader->path);
    int result = walk(reader, (uint64_t)status.st_size, &found, err);
    if (result == 0 && found)
        result = native_load_check(reader, err);
    if (result < 0)
        return result;
    if (found == 0 && reader->generation == trace->generation) {
        *ret_trace = trace_ref(trace);
        return 0;
    }
    return make_snapshot(reader, ret_trace, err);
}

int trace_refresh(struct trace *trace, struct trace **ret_trace, struct error *err)
{
    struct native_reader *reader = trace->reader;
    if (!reader || !trace->growing) {
        *ret_trace = trace_ref(trace);
        return 0;
    }
    struct stat status;
    bool replaced = stat(reader->path, &status) == 0 && (status.st_dev != reader->device || status.st_ino != reader->inode);
    if (replaced) /* the finished file has been put in its place: a trace of its own, with its own ids */
        return trace_open_native(reader->path, ret_trace, err);
    pthread_mutex_lock(&reader->lock);
    int result = refresh_locked(trace, reader, ret_trace, err);
    pthread_mutex_unlock(&reader->lock);
    return result;
}
