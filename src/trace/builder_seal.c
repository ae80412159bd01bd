/* SPDX-License-Identifier: MIT */
/* Sealing: open rows become a sorted, encoded block in memory or in the spill file. */
#include "builder_internal.h"

#include "row_sort.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* Times and ids of one column, in sorted order (order NULL: as they were added). */
#define GATHER(type)                                                                                                   \
    do {                                                                                                               \
        for (uint32_t i = 0; i < count; i++) {                                                                         \
            type value;                                                                                                \
            memcpy(&value, base + (order ? order[i] : i) * row_size, sizeof(value));                                   \
            values[i] = value;                                                                                         \
        }                                                                                                              \
    } while (0)

static void gather(const uint8_t *base, size_t row_size, uint32_t count, uint8_t size, const uint32_t *order,
                   uint64_t *values)
{
    switch (size) {
    case 1: GATHER(uint8_t); break;
    case 2: GATHER(uint16_t); break;
    case 4: GATHER(uint32_t); break;
    default: GATHER(uint64_t);
    }
}

static const uint32_t *payload_fields_of(enum family family, const uint8_t *row)
{
    size_t offset = family == FAMILY_SPANS ? offsetof(struct span_row, payload_begin)
                                           : offsetof(struct instant_row, payload_begin);
    return (const uint32_t *)(const void *)(row + offset); /* begin, size */
}

/* Payload bytes in row order, and where each ends. */
static int add_payloads(struct trace_builder *builder, enum family family, const struct open_rows *open,
                        const uint32_t *order)
{
    const struct family_schema *schema = family_schema(family);
    if (open->payload_size == 0)
        return 0;
    uint8_t *sorted = NULL;
    if (order) {
        sorted = malloc(open->payload_size);
        if (!sorted)
            return -ENOMEM;
    }
    uint64_t end = 0;
    for (uint32_t i = 0; i < open->count; i++) {
        const uint32_t *payload = payload_fields_of(family, open->rows + (size_t)(order ? order[i] : i) * schema->row_size);
        if (sorted && payload[1])
            memcpy(sorted + end, open->payload + payload[0], payload[1]);
        end += payload[1];
        builder->body.values[i] = end;
    }
    int result = body_add_values(&builder->body, schema->payload_end);
    if (result == 0)
        result = body_add_bytes(&builder->body, schema->payload, sorted ? sorted : open->payload, open->payload_size, true);
    free(sorted);
    return result;
}

/* What refers to nothing would make a file that no reader accepts: it is the adder's mistake, and said here. */
static bool references_exist(const struct trace_builder *builder, const struct column_spec *spec, uint32_t count)
{
    const uint64_t limit_of[] = {[REFERENCE_STRING] = string_table_count(builder->strings),
                                 [REFERENCE_STACK] = builder->tables[TABLE_STACKS].count,
                                 [REFERENCE_SPAN] = builder->next_handle,
                                 [REFERENCE_GROUP] = builder->tables[TABLE_GROUPS].count};
    uint32_t bad = 0;
    for (uint32_t i = 0; spec->reference != REFERENCE_NONE && i < count; i++)
        bad |= builder->body.values[i] >= limit_of[spec->reference] && builder->body.values[i] != spec->absent;
    return !bad;
}

static int encode_rows(struct trace_builder *builder, enum family family, const struct open_rows *open,
                       const uint32_t *order, struct block_info *info)
{
    const struct family_schema *schema = family_schema(family);
    struct body_builder *body = &builder->body;
    body_begin(body, family, open->count, info->first);
    for (uint8_t column = 0; column < schema->column_count; column++) {
        const struct column_spec *spec = &schema->columns[column];
        bool is_order = family == FAMILY_SPANS && column == SPAN_COLUMN_ORDER;
        bool unused = family == FAMILY_SPANS && column == SPAN_COLUMN_PARENT && !open->has_parents;
        if (column == schema->payload || column == schema->payload_end || is_order || unused)
            continue;
        gather(open->rows + spec->row_offset, schema->row_size, open->count, spec->size, order, body->values);
        if (!references_exist(builder, spec, open->count))
            return -EINVAL;
        int result = body_add_values(body, column);
        if (result < 0)
            return result;
    }
    if (family == FAMILY_SPANS && order) {
        for (uint32_t i = 0; i < open->count; i++)
            body->values[i] = order[i];
        int result = body_add_values(body, SPAN_COLUMN_ORDER);
        if (result < 0)
            return result;
    }
    return schema->payload < COLUMNS_MAX ? add_payloads(builder, family, open, order) : 0;
}

static int64_t row_time(const struct open_rows *open, size_t row_size, uint32_t row, size_t offset)
{
    int64_t value;
    memcpy(&value, open->rows + row * row_size + offset, 8);
    return value;
}

static void describe(const struct open_rows *open, enum family family, const uint32_t *order, struct block_info *info,
                     int64_t *ret_last_ns)
{
    size_t row_size = family_schema(family)->row_size;
    info->begin_ns = row_time(open, row_size, order ? order[0] : 0, 0);
    info->end_ns = *ret_last_ns = row_time(open, row_size, order ? order[open->count - 1] : open->count - 1, 0);
    for (uint32_t i = 0; family == FAMILY_SPANS && i < open->count; i++) {
        int64_t end_ns = row_time(open, row_size, i, offsetof(struct span_row, end_ns));
        info->end_ns = end_ns > info->end_ns ? end_ns : info->end_ns;
    }
}

static void open_reset(struct trace_builder *builder, enum family family, struct open_rows *open)
{
    open->first += open->count; /* what is left of the reserved handles serves the next block */
    open->limit -= open->count;
    open->count = 0;
    open->runs++;
    open->payload_size = 0;
    open->unsorted = open->has_parents = false;
    if (open->payload_capacity > OPEN_PAYLOAD_MAX / 4) {
        builder->open_bytes -= open->payload_capacity;
        free(open->payload);
        open->payload = NULL;
        open->payload_capacity = 0;
    }
}

static int seal_block(struct trace_builder *builder, enum family family, track_id track, struct open_rows *open)
{
    const struct family_schema *schema = family_schema(family);
    const uint32_t *order = NULL;
    if (schema->per_track && open->unsorted) {
        if (rows_sort(open->rows, schema->row_size, open->count, family == FAMILY_SPANS, builder->order) < 0)
            return -ENOMEM;
        order = builder->order;
    }
    struct block_info info = {.track = track, .run = open->runs, .count = open->count,
                              .first = family == FAMILY_SPANS ? open->first : (uint32_t)builder->sealed_rows[family]};
    int64_t last_ns = 0;
    if (schema->per_track)
        describe(open, family, order, &info, &last_ns);
    int result = encode_rows(builder, family, open, order, &info);
    if (result < 0)
        return result;
    uint8_t *bytes;
    uint32_t size;
    result = body_end(&builder->body, &bytes, &size);
    if (result < 0)
        return result;
    CLEANUP(block_unrefp) struct block *block = block_create(family, &info);
    if (!block) {
        free(bytes);
        return -ENOMEM;
    }
    block->trusted = block->live = true;
    block->last_begin_ns = last_ns;
    for (uint32_t i = 0; i < builder->body.header_count; i++)
        block->columns |= UINT32_C(1) << builder->body.headers[i].id;
    result = builder_place(builder, block, bytes, size);
    if (result == 0 && (result = block_array_add(&builder->sealed[family], block)) == 0)
        TAKE_PTR(block);
    builder->sealed_rows[family] += open->count;
    return result;
}

int builder_seal(struct trace_builder *builder, enum family family, track_id track, struct open_rows *open)
{
    if (builder->failure || open->count == 0)
        return builder->failure;
    int result = seal_block(builder, family, track, open);
    if (result < 0)
        return builder_fail(builder, result, "trace builder: %s %s",
                            result == -ENOMEM   ? "out of memory for a block of"
                            : result == -EINVAL ? "a name or a stack that is not there in"
                                                : "cannot write the spill file for",
                            family_schema(family)->name);
    open_reset(builder, family, open);
    return 0;
}

int builder_seal_all(struct trace_builder *builder)
{
    for (uint32_t track = 0; track < builder->tables[TABLE_TRACKS].count; track++) {
        for (unsigned family = 0; family < TRACK_FAMILIES; family++) {
            struct open_rows *open = builder->tracks[track].open[family];
            if (!open)
                continue;
            builder_seal(builder, (enum family)family, (track_id){track}, open);
            builder->open_bytes -= open->capacity * family_schema((enum family)family)->row_size + open->payload_capacity;
            open_rows_finish(open);
        }
    }
    for (unsigned family = TRACK_FAMILIES; family < FAMILY_COUNT; family++)
        builder_seal(builder, (enum family)family, TRACK_NONE, &builder->pairs[family - TRACK_FAMILIES]);
    return builder->failure;
}

static int spill_open(struct trace_builder *builder)
{
    const char *directory = builder->spill_directory ? builder->spill_directory : getenv("TMPDIR");
    if (!directory || !*directory)
        directory = "/tmp";
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) { /* a file system without unnamed files */
        char path[4096];
        int length = snprintf(path, sizeof(path), "%s/hprofiler-spill-XXXXXX", directory);
        if (length < 0 || (size_t)length >= sizeof(path))
            return -ENAMETOOLONG;
        fd = mkostemp(path, O_CLOEXEC);
        if (fd < 0)
            return -errno;
        unlink(path);
    }
    int result = block_store_create(fd, "spill file", &builder->spill);
    if (result < 0)
        close(fd);
    return result;
}

static int place_in_spill(struct trace_builder *builder, struct block *block, const uint8_t *bytes, uint32_t size)
{
    pthread_mutex_lock(&builder->place_lock);
    int result = builder->spill ? 0 : spill_open(builder);
    uint64_t offset = builder->spill_size;
    if (result == 0)
        builder->spill_size += size;
    pthread_mutex_unlock(&builder->place_lock);
    for (uint32_t done = 0; result == 0 && done < size;) {
        ssize_t written = pwrite(builder->spill->fd, bytes + done, size - done, (off_t)(offset + done));
        if (written > 0)
            done += (uint32_t)written;
        else if (written == 0 || errno != EINTR)
            result = written == 0 ? -EIO : -errno;
    }
    if (result == 0) {
        block->store = block_store_ref(builder->spill);
        block->offset = offset;
        block->size = size;
    }
    return result;
}

int builder_place(struct trace_builder *builder, struct block *block, uint8_t *bytes, uint32_t size)
{
    pthread_mutex_lock(&builder->place_lock);
    bool in_memory = builder->memory_limit_bytes == 0 || builder->sealed_bytes + size <= builder->memory_limit_bytes;
    if (in_memory)
        builder->sealed_bytes += size;
    pthread_mutex_unlock(&builder->place_lock);
    if (in_memory) {
        block->bytes = bytes;
        block->size = size;
        return 0;
    }
    int result = place_in_spill(builder, block, bytes, size);
    free(bytes);
    return result;
}

void builder_displace(struct trace_builder *builder, struct block *block)
{
    pthread_mutex_lock(&builder->place_lock);
    if (block->bytes)
        builder->sealed_bytes -= block->size;
    else if (block->references == 1) /* the disk space, too; a file system that can't just keeps it until the end */
        (void)fallocate(block->store->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)block->offset, block->size);
    pthread_mutex_unlock(&builder->place_lock);
    block_unref(block);
}
