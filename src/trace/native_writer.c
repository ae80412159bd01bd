/* SPDX-License-Identifier: MIT */
/* Chunks of a native file: aligned, checksummed, numbered; block columns are packed on the way. */
#include "native_writer.h"

#include "base/array.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "crc32c.h"

#include <errno.h>
#include <string.h>

#define BATCH_BLOCKS 16u

void native_writer_finish(struct native_writer *writer)
{
    file_writer_destroy(writer->file);
    free(writer->contents);
    *writer = (struct native_writer){0};
}

static void write_zeros(struct native_writer *writer, uint64_t count)
{
    static const uint8_t zeros[NATIVE_PAGE];
    for (uint64_t part; count; count -= part) {
        part = count < sizeof(zeros) ? count : sizeof(zeros);
        file_write(writer->file, zeros, part);
        writer->position += part;
    }
}

int native_write_header(struct native_writer *writer, uint32_t compatible, uint32_t incompatible)
{
    struct native_header header = {.magic = NATIVE_MAGIC, .major = NATIVE_MAJOR, .minor = NATIVE_MINOR,
                                   .header_size = sizeof(header), .compatible = compatible, .incompatible = incompatible};
    header.checksum = crc32c(0, &header, offsetof(struct native_header, checksum));
    file_write(writer->file, &header, sizeof(header));
    writer->position = sizeof(header);
    write_zeros(writer, NATIVE_PAGE - sizeof(header));
    return 0;
}

int native_write_chunk(struct native_writer *writer, struct chunk_header *header, const void *body, uint64_t size,
                       uint32_t alignment)
{
    struct contents_entry *contents = array_reserve(writer->contents, &writer->contents_capacity,
                                                    writer->contents_count + 1, sizeof(*contents));
    if (!contents)
        return -ENOMEM;
    writer->contents = contents;
    write_zeros(writer, -writer->position & (alignment - 1));
    header->magic = CHUNK_MAGIC;
    header->size = size;
    header->body_checksum = crc32c(0, body, size);
    header->sequence = writer->contents_count;
    header->header_checksum = chunk_header_checksum(header);
    contents[writer->contents_count++] = (struct contents_entry){*header, writer->position};
    file_write(writer->file, header, sizeof(*header));
    file_write(writer->file, body, size);
    writer->position += sizeof(*header) + size;
    return file_writer_failed(writer->file) ? -EIO : 0;
}

int native_write_strings(struct native_writer *writer, const struct string_table *strings, uint32_t first, uint32_t alignment)
{
    uint32_t count = string_table_count(strings);
    if (first >= count)
        return 0;
    uint64_t blob_size;
    const char *blob = string_table_blob(strings, &blob_size);
    const uint64_t *offsets = string_table_offsets(strings);
    uint64_t rows = count - first, bytes = offsets[count] - offsets[first], head = (rows + 1) * 8;
    CLEANUP(freep) uint8_t *body = malloc(head + bytes);
    if (!body)
        return -ENOMEM;
    for (uint64_t i = 0; i <= rows; i++) {
        uint64_t offset = offsets[first + i] - offsets[first];
        memcpy(body + i * 8, &offset, 8);
    }
    memcpy(body + head, blob + offsets[first], bytes);
    struct chunk_header header = {.type = CHUNK_STRINGS, .rows = (uint32_t)rows, .first = first};
    return native_write_chunk(writer, &header, body, head + bytes, alignment);
}

int native_write_table(struct native_writer *writer, enum table table, const struct shared_table *rows, uint32_t first,
                       uint32_t alignment)
{
    if (first >= rows->count)
        return 0;
    uint32_t count = rows->count - first, row_size = table_packed_row_size(table);
    CLEANUP(freep) uint8_t *body = malloc((size_t)count * row_size);
    if (!body)
        return -ENOMEM;
    table_pack(table, rows->rows + (size_t)first * table_schema(table)->row_size, count, body);
    struct chunk_header header = {.type = CHUNK_TABLE, .subtype = (uint16_t)table, .rows = count, .first = first,
                                  .row_size = row_size};
    return native_write_chunk(writer, &header, body, (uint64_t)count * row_size, alignment);
}

/* Packing of one batch of blocks, several at a time. */
struct packing {
    const struct trace *trace;
    enum family family;
    uint32_t first;
    struct packed {
        uint8_t *bytes;
        uint32_t size;
        int result;
        struct error err;
    } blocks[BATCH_BLOCKS];
};

static int add_packed(struct body_builder *builder, const struct body_column *column, uint32_t rows)
{
    struct body_column packed = *column;
    size_t raw_size = (size_t)column_raw_size(&column->header, rows);
    if (column->header.packing != PACKING_RAW || raw_size == 0)
        return body_add_copy(builder, column);
    size_t bound = column_pack_bound(raw_size);
    CLEANUP(freep) uint8_t *out = malloc(bound);
    if (!out)
        return -ENOMEM;
    if (column_pack(&packed.header, column->data, rows, PACK_LEVEL_FILE, out, bound))
        packed.data = out;
    return body_add_copy(builder, &packed);
}

static int pack_block(const struct block *block, struct body_builder *builder, struct packed *packed)
{
    const uint8_t *body;
    CLEANUP(freep) uint8_t *owned = NULL;
    int result = block_load(block, &body, &owned, &packed->err);
    if (result < 0)
        return result;
    struct body_column columns[COLUMNS_MAX];
    int count = body_split(body, block->size, block->info.count, columns);
    if (count < 0)
        return error_set(&packed->err, count, "trace: a block's column directory is damaged");
    body_begin(builder, block->family, block->info.count, block->info.first);
    for (int i = 0; i < count && result == 0; i++)
        result = add_packed(builder, &columns[i], block->info.count);
    return result < 0 ? result : body_end(builder, &packed->bytes, &packed->size);
}

static void pack_job(void *context, size_t index)
{
    struct packing *packing = context;
    struct packed *packed = &packing->blocks[index];
    struct body_builder builder;
    packed->result = body_builder_init(&builder);
    if (packed->result == 0)
        packed->result = pack_block(packing->trace->blocks[packing->family].items[packing->first + index], &builder, packed);
    body_builder_finish(&builder);
}

static int write_packed(struct native_writer *writer, const struct packing *packing, uint32_t index)
{
    const struct block *block = packing->trace->blocks[packing->family].items[packing->first + index];
    struct chunk_header header = {.type = CHUNK_BLOCK, .subtype = (uint16_t)packing->family, .rows = block->info.count,
                                  .first = block->info.first, .track = block->info.track.index, .run = block->info.run,
                                  .begin_ns = block->info.begin_ns, .end_ns = block->info.end_ns,
                                  .flags = block->live ? CHUNK_LIVE : 0};
    return native_write_chunk(writer, &header, packing->blocks[index].bytes, packing->blocks[index].size, CHUNK_ALIGNMENT);
}

static int write_batch(struct native_writer *writer, struct packing *packing, uint32_t count, struct thread_pool *pool,
                       struct error *err)
{
    memset(packing->blocks, 0, sizeof(packing->blocks));
    if (pool)
        thread_pool_for(pool, count, pack_job, packing);
    else
        for (uint32_t i = 0; i < count; i++)
            pack_job(packing, i);
    int result = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (result == 0 && packing->blocks[i].result < 0)
            result = error_set(err, packing->blocks[i].result, "%s",
                               packing->blocks[i].err.code ? packing->blocks[i].err.text : "trace: out of memory");
        if (result == 0)
            result = write_packed(writer, packing, i);
        free(packing->blocks[i].bytes);
    }
    return result;
}

int native_write_blocks(struct native_writer *writer, const struct trace *trace, enum family family, uint32_t from,
                        uint32_t to, struct thread_pool *pool, struct error *err)
{
    CLEANUP(freep) struct packing *packing = malloc(sizeof(*packing));
    if (!packing)
        return -ENOMEM;
    packing->trace = trace;
    packing->family = family;
    for (packing->first = from; packing->first < to; packing->first += BATCH_BLOCKS) {
        uint32_t left = to - packing->first, count = left < BATCH_BLOCKS ? left : BATCH_BLOCKS;
        int result = write_batch(writer, packing, count, pool, err);
        if (result < 0)
            return result;
    }
    return 0;
}
