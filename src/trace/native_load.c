/* SPDX-License-Identifier: MIT */
/* Chunks of a native file become tables, strings and blocks of a reader. Nothing in them is believed. */
#include "native_reader.h"

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "crc32c.h"

#include <errno.h>
#include <string.h>

#define CHUNK_BODY_MAX (UINT64_C(1) << 40)

int native_read_body(const struct native_reader *reader, const struct stored_chunk *chunk, uint8_t **ret_body, struct error *err)
{
    /* The size was checked against the size of the file: a lie can't ask for more memory than there are bytes. */
    CLEANUP(freep) uint8_t *body = malloc(chunk->size ? chunk->size : 1);
    if (!body || chunk->size > CHUNK_BODY_MAX)
        return error_set(err, -ENOMEM, "%s: offset %llu: out of memory for %llu bytes", reader->path,
                         (unsigned long long)chunk->offset, (unsigned long long)chunk->size);
    int result = pread_all(reader->store->fd, body, chunk->size, chunk->offset);
    if (result < 0)
        return error_set_errno(err, result, "%s: offset %llu: cannot read %llu bytes", reader->path,
                               (unsigned long long)chunk->offset, (unsigned long long)chunk->size);
    if (crc32c(0, body, chunk->size) != chunk->checksum)
        return error_set(err, -EBADMSG, "%s: offset %llu: checksum does not match", reader->path,
                         (unsigned long long)chunk->offset);
    *ret_body = TAKE_PTR(body);
    return 0;
}

static int damaged(const struct native_reader *reader, uint64_t offset, const char *what, struct error *err)
{
    return error_set(err, -EBADMSG, "%s: offset %llu: %s", reader->path, (unsigned long long)offset, what);
}

static int no_memory(const struct native_reader *reader, struct error *err)
{
    return error_set(err, -ENOMEM, "%s: out of memory", reader->path);
}

/* Strings follow those that are there; offsets rise from 0 and every string ends with NUL. */
static int load_strings(struct native_reader *reader, const struct chunk_header *header, const uint8_t *body, uint64_t offset,
                        struct error *err)
{
    uint64_t head = ((uint64_t)header->rows + 1) * 8;
    if (header->first != reader->strings || header->size < head || header->rows > UINT32_MAX - 1 - reader->strings)
        return damaged(reader, offset, "strings that do not follow those before", err);
    const uint64_t *offsets = (const uint64_t *)(const void *)body;
    uint64_t bytes = header->size - head;
    if (offsets[0] != 0 || offsets[header->rows] != bytes)
        return damaged(reader, offset, "string offsets are wrong", err);
    for (uint32_t i = 0; i < header->rows; i++) {
        if (offsets[i + 1] <= offsets[i] || offsets[i + 1] > bytes || body[head + offsets[i + 1] - 1] != 0)
            return damaged(reader, offset, "string offsets are wrong", err);
    }
    uint8_t *blob = array_reserve(reader->blob, &reader->blob_capacity, reader->blob_size + bytes, 1);
    if (!blob)
        return no_memory(reader, err);
    reader->blob = blob;
    uint64_t *all = array_reserve(reader->offsets, &reader->offsets_capacity, (size_t)reader->strings + header->rows + 1, 8);
    if (!all)
        return no_memory(reader, err);
    reader->offsets = all;
    memcpy(blob + reader->blob_size, body + head, bytes);
    for (uint32_t i = 0; i <= header->rows; i++)
        all[reader->strings + i] = reader->blob_size + offsets[i];
    reader->blob_size += bytes;
    reader->strings += header->rows;
    return 0;
}

/* Rows go over those that are there or follow them. */
static int load_table(struct native_reader *reader, const struct chunk_header *header, const uint8_t *body, uint64_t offset,
                      struct error *err)
{
    if (header->subtype >= TABLE_COUNT)
        return 0; /* of a newer version: compatible features may be ignored */
    struct loaded_table *loaded = &reader->tables[header->subtype];
    const struct table_schema *schema = table_schema((enum table)header->subtype);
    bool possible = header->first <= loaded->count && header->rows < ID_NONE - header->first && header->row_size > 0 &&
                    (uint64_t)header->rows * header->row_size == header->size;
    if (!possible)
        return damaged(reader, offset, "table rows that do not follow those before", err);
    uint32_t end = header->first + header->rows;
    if (end > loaded->count) {
        void *rows = array_reserve(loaded->rows, &loaded->capacity, end, schema->row_size);
        if (!rows)
            return no_memory(reader, err);
        loaded->rows = rows;
        loaded->count = end;
    }
    table_unpack((enum table)header->subtype, body, header->row_size, header->rows,
                 (uint8_t *)loaded->rows + (size_t)header->first * schema->row_size);
    return 0;
}

static int load_block(struct native_reader *reader, const struct chunk_header *header, uint64_t body_offset, struct error *err)
{
    enum family family = (enum family)header->subtype;
    struct block_info info = {.track = {header->track}, .run = header->run, .first = header->first, .count = header->rows,
                              .begin_ns = header->begin_ns, .end_ns = header->end_ns};
    struct block *block = block_create(family, &info);
    if (!block)
        return no_memory(reader, err);
    block->store = block_store_ref(reader->store);
    block->offset = body_offset;
    block->size = (uint32_t)header->size;
    block->checksum = header->body_checksum;
    block->live = header->flags & CHUNK_LIVE;
    if (block_array_add(&reader->blocks[family], block) == 0)
        return 0;
    block_unref(block);
    return no_memory(reader, err);
}

static int note_lod(struct native_reader *reader, const struct chunk_header *header, const struct stored_chunk *chunk,
                    struct error *err)
{
    uint32_t tracks = reader->tables[TABLE_TRACKS].count;
    if (header->subtype >= LOD_FAMILIES || header->track >= tracks)
        return 0;
    if (!reader->lods) {
        reader->lods = calloc((size_t)tracks * LOD_FAMILIES, sizeof(*reader->lods));
        reader->lod_tracks = tracks;
        if (!reader->lods)
            return no_memory(reader, err);
    }
    if (header->track < reader->lod_tracks)
        reader->lods[(size_t)header->subtype * reader->lod_tracks + header->track] = *chunk;
    return 0;
}

static int load_rows(struct native_reader *reader, const struct chunk_header *header, const struct stored_chunk *chunk,
                     struct error *err)
{
    CLEANUP(freep) uint8_t *body = NULL;
    int result = native_read_body(reader, chunk, &body, err);
    if (result < 0)
        return result;
    return header->type == CHUNK_STRINGS ? load_strings(reader, header, body, chunk->offset, err)
                                         : load_table(reader, header, body, chunk->offset, err);
}

int native_load_chunk(struct native_reader *reader, const struct chunk_header *header, uint64_t body_offset, struct error *err)
{
    struct stored_chunk chunk = {.offset = body_offset, .size = header->size, .checksum = header->body_checksum,
                                 .rows = header->rows, .row_size = header->row_size};
    switch (header->type) {
    case CHUNK_STRINGS:
    case CHUNK_TABLE:
        return load_rows(reader, header, &chunk, err);
    case CHUNK_BLOCK:
        return load_block(reader, header, body_offset, err);
    case CHUNK_SPAN_SUMS:
        reader->span_sums = chunk;
        return 0;
    case CHUNK_SAMPLE_SUMS:
        reader->sample_sums = chunk;
        return 0;
    case CHUNK_LOD:
        return note_lod(reader, header, &chunk, err);
    default:
        return 0; /* the table of contents, or of a newer version */
    }
}

int native_load_check(struct native_reader *reader, struct error *err)
{
    uint32_t counts[TABLE_COUNT];
    for (unsigned table = 0; table < TABLE_COUNT; table++)
        counts[table] = reader->tables[table].count;
    for (unsigned table = 0; table < TABLE_COUNT; table++) {
        int64_t bad = table_first_bad_row((enum table)table, reader->tables[table].rows, counts[table], counts,
                                          reader->strings);
        if (bad >= 0)
            return error_set(err, -EBADMSG, "%s: row %lld of table %s refers to something that is not there", reader->path,
                             (long long)bad, table_schema((enum table)table)->name);
    }
    int64_t endless = processes_endless_row(reader->tables[TABLE_PROCESSES].rows, counts[TABLE_PROCESSES]);
    if (endless >= 0)
        return error_set(err, -EBADMSG, "%s: row %lld of table processes is its own ancestor", reader->path, (long long)endless);
    if (endless < -1)
        return no_memory(reader, err);
    for (unsigned family = 0; family < FAMILY_COUNT; family++) {
        bool per_track = family_schema((enum family)family)->per_track;
        for (uint32_t i = 0; i < reader->blocks[family].count; i++) {
            const struct block *block = reader->blocks[family].items[i];
            if (per_track && block->info.track.index >= counts[TABLE_TRACKS])
                return damaged(reader, block->offset, "a block of a track that is not there", err);
        }
    }
    return 0;
}

static int load_span_sums(const struct native_reader *reader, struct trace *trace, struct error *err)
{
    const struct stored_chunk *chunk = &reader->span_sums;
    if (chunk->row_size != sizeof(struct stored_span_sum) || (uint64_t)chunk->rows * chunk->row_size != chunk->size)
        return damaged(reader, chunk->offset, "sums of another size", err);
    CLEANUP(freep) uint8_t *body = NULL;
    int result = native_read_body(reader, chunk, &body, err);
    if (result < 0)
        return result;
    CLEANUP(freep) struct span_aggregate *rows = calloc((size_t)chunk->rows + 1, sizeof(*rows));
    if (!rows)
        return no_memory(reader, err);
    for (uint32_t i = 0; i < chunk->rows; i++) {
        struct stored_span_sum sum;
        memcpy(&sum, body + i * sizeof(sum), sizeof(sum));
        if (sum.name >= reader->strings || sum.category >= reader->strings)
            return damaged(reader, chunk->offset, "a sum of a name that is not there", err);
        rows[i] = (struct span_aggregate){
            .name = {sum.name}, .category = {sum.category}, .count = sum.count, .total_ns = sum.total_ns,
            .self_ns = sum.self_ns, .min_ns = sum.min_ns, .max_ns = sum.max_ns,
            .kind = sum.kind < SPAN_KIND_COUNT ? (enum span_kind)sum.kind : SPAN_KIND_UNKNOWN};
    }
    trace->aggregates.spans = TAKE_PTR(rows);
    trace->aggregates.span_count = chunk->rows;
    trace->aggregates.spans_known = true;
    return 0;
}

static int load_sample_sums(const struct native_reader *reader, struct trace *trace, struct error *err)
{
    const struct stored_chunk *chunk = &reader->sample_sums;
    if (chunk->row_size != sizeof(struct stored_sample_sum) || (uint64_t)chunk->rows * chunk->row_size != chunk->size)
        return damaged(reader, chunk->offset, "sums of another size", err);
    CLEANUP(freep) uint8_t *body = NULL;
    int result = native_read_body(reader, chunk, &body, err);
    if (result < 0)
        return result;
    CLEANUP(freep) struct sample_aggregate *rows = calloc((size_t)chunk->rows + 1, sizeof(*rows));
    if (!rows)
        return no_memory(reader, err);
    for (uint32_t i = 0; i < chunk->rows; i++) {
        struct stored_sample_sum sum;
        memcpy(&sum, body + i * sizeof(sum), sizeof(sum));
        bool valid = sum.track < reader->tables[TABLE_TRACKS].count && sum.event < SAMPLE_EVENT_COUNT &&
                     (sum.stack == ID_NONE || sum.stack < reader->tables[TABLE_STACKS].count);
        if (!valid)
            return damaged(reader, chunk->offset, "a sum of a stack that is not there", err);
        rows[i] = (struct sample_aggregate){.track = {sum.track}, .stack = {sum.stack}, .event = sum.event,
                                            .flags = sum.flags, .count = sum.count, .weight = sum.weight};
    }
    trace->aggregates.samples = TAKE_PTR(rows);
    trace->aggregates.sample_count = chunk->rows;
    trace->aggregates.samples_known = true;
    return 0;
}

int native_load_sums(struct native_reader *reader, struct trace *trace, struct error *err)
{
    int result = reader->span_sums.offset ? load_span_sums(reader, trace, err) : 0;
    if (result == 0 && reader->sample_sums.offset)
        result = load_sample_sums(reader, trace, err);
    return result;
}

int native_reader_lod(struct native_reader *reader, const struct trace *trace, enum family family, track_id track,
                      struct lod **ret_lod, struct error *err)
{
    if (!reader->lods || track.index >= reader->lod_tracks)
        return -ENOENT;
    const struct stored_chunk *chunk = &reader->lods[(size_t)family * reader->lod_tracks + track.index];
    if (!chunk->offset)
        return -ENOENT;
    CLEANUP(freep) uint8_t *body = NULL;
    int result = native_read_body(reader, chunk, &body, err);
    if (result < 0)
        return result;
    result = lod_unpack(body, chunk->size, string_table_count(trace->strings->table), ret_lod);
    if (result == -EBADMSG)
        return damaged(reader, chunk->offset, "a level of detail that is none", err);
    return result < 0 ? no_memory(reader, err) : 0;
}
