/* SPDX-License-Identifier: MIT */
/* Blocks and stores: reference counts, loading a body, taking a body apart and decoding its columns. */
#include "block.h"

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "crc32c.h"

#include <errno.h>
#include <string.h>

int block_store_create(int fd, const char *name, struct block_store **ret_store)
{
    struct block_store *store = calloc(1, sizeof(*store));
    char *copy = strdup(name);
    if (!store || !copy) {
        free(store);
        free(copy);
        return -ENOMEM;
    }
    store->references = 1;
    store->fd = fd;
    store->name = copy;
    *ret_store = store;
    return 0;
}

struct block_store *block_store_ref(struct block_store *store)
{
    if (store)
        store->references++;
    return store;
}

void block_store_unref(struct block_store *store)
{
    if (!store || --store->references > 0)
        return;
    close(store->fd);
    free(store->name);
    free(store);
}

struct block *block_create(enum family family, const struct block_info *info)
{
    struct block *block = calloc(1, sizeof(*block));
    if (!block)
        return NULL;
    block->references = 1;
    block->family = family;
    block->info = *info;
    return block;
}

struct block *block_ref(struct block *block)
{
    block->references++;
    return block;
}

void block_unref(struct block *block)
{
    if (!block || --block->references > 0)
        return;
    block_store_unref(block->store);
    free(block->bytes);
    free(block);
}

int block_array_add(struct block_array *array, struct block *block)
{
    struct block **items = array_reserve(array->items, &array->capacity, (size_t)array->count + 1, sizeof(struct block *));
    if (!items)
        return -ENOMEM;
    array->items = items;
    array->items[array->count++] = block;
    return 0;
}

void block_array_finish(struct block_array *array)
{
    for (uint32_t i = 0; i < array->count; i++)
        block_unref(array->items[i]);
    free(array->items);
    *array = (struct block_array){0};
}

static int block_damaged(const struct block *block, const char *what, struct error *err)
{
    const char *family = family_schema(block->family)->name;
    if (!block->store)
        return error_set(err, -EBADMSG, "trace: block of %s: %s", family, what);
    return error_set(err, -EBADMSG, "%s: offset %llu: block of %s: %s", block->store->name,
                     (unsigned long long)block->offset, family, what);
}

int block_load(const struct block *block, const uint8_t **ret_bytes, uint8_t **ret_owned, struct error *err)
{
    *ret_owned = NULL;
    if (block->bytes) {
        *ret_bytes = block->bytes;
        return 0;
    }
    CLEANUP(freep) uint8_t *bytes = malloc(block->size);
    if (!bytes)
        return error_set(err, -ENOMEM, "trace: out of memory for a block of %u bytes", block->size);
    int result = pread_all(block->store->fd, bytes, block->size, block->offset);
    if (result < 0)
        return error_set_errno(err, result, "%s: offset %llu: cannot read %u bytes", block->store->name,
                               (unsigned long long)block->offset, block->size);
    if (!block->trusted && crc32c(0, bytes, block->size) != block->checksum)
        return block_damaged(block, "checksum does not match", err);
    *ret_bytes = bytes;
    *ret_owned = TAKE_PTR(bytes);
    return 0;
}

int body_split(const uint8_t *body, uint32_t size, uint32_t rows, struct body_column columns[COLUMNS_MAX])
{
    uint32_t count;
    if (size < 8)
        return -EBADMSG;
    memcpy(&count, body, 4);
    if (count > COLUMNS_MAX || size < 8 + 16 * (uint64_t)count)
        return -EBADMSG;
    uint64_t position = 8 + 16 * (uint64_t)count;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(&columns[i].header, body + 8 + 16 * i, 16);
        const struct column_header *header = &columns[i].header;
        if (!column_header_valid(header, rows) || header->stored_size > size - position)
            return -EBADMSG;
        columns[i].data = body + position;
        position += ((uint64_t)header->stored_size + 7) & ~UINT64_C(7);
        if (position > size)
            return -EBADMSG;
    }
    return (int)count;
}

struct decoding {
    const struct block *block;
    const struct block_limits *limits; /* NULL: trusted */
    struct decoded *decoded;
    uint8_t *next;                     /* memory for the next column */
    uint64_t *values;                  /* scratch */
    uint8_t *raw;                      /* scratch for unpacking */
};

static bool ascending(const uint64_t *values, uint32_t count)
{
    uint32_t falls = 0;
    for (uint32_t i = 1; i < count; i++)
        falls |= (int64_t)values[i] < (int64_t)values[i - 1];
    return !falls;
}

/* Of ascending ones. */
static bool times_in_range(const uint64_t *values, uint32_t count)
{
    return (int64_t)values[0] > -MODEL_TIME_LIMIT_NS && (int64_t)values[count - 1] < MODEL_TIME_LIMIT_NS;
}

/* Turns stored values into the model's; false when they can't be. */
static bool transform_undo(struct decoding *decoding, const struct column_spec *spec)
{
    uint64_t *values = decoding->values;
    uint32_t count = decoding->block->info.count;
    uint32_t first = decoding->block->info.first;
    const int64_t *begins = decoding->decoded->column[SPAN_COLUMN_BEGIN];
    uint32_t bad = 0;
    switch (spec->transform) {
    case TRANSFORM_ASCENDING:
        return decoding->block->trusted || (ascending(values, count) && (spec->size < 8 || times_in_range(values, count)));
    case TRANSFORM_SPAN_END:
        for (uint32_t i = 0; i < count; i++) {
            uint64_t end = (uint64_t)begins[i] + values[i] - 1;
            bad |= values[i] && ((int64_t)end < begins[i] || (int64_t)end > MODEL_TIME_LIMIT_NS);
            values[i] = values[i] ? end : (uint64_t)INT64_MIN;
        }
        return !bad;
    case TRANSFORM_ROW_RELATIVE:
        for (uint32_t i = 0; i < count; i++) {
            uint64_t zigzag = values[i] - 1;
            uint64_t distance = (zigzag >> 1) ^ -(zigzag & 1);
            uint64_t parent = (uint64_t)first + i - distance;
            bad |= values[i] && parent >= UINT32_MAX;
            values[i] = values[i] ? parent : spec->absent;
        }
        return !bad;
    default:
        return true;
    }
}

static bool references_valid(const struct decoding *decoding, const struct column_spec *spec)
{
    const struct block_limits *limits = decoding->limits;
    if (!limits || spec->reference == REFERENCE_NONE)
        return true;
    const uint32_t limit_of[] = {[REFERENCE_STRING] = limits->strings, [REFERENCE_STACK] = limits->stacks,
                                 [REFERENCE_SPAN] = limits->spans, [REFERENCE_GROUP] = limits->groups};
    uint64_t limit = limit_of[spec->reference];
    uint32_t bad = 0;
    for (uint32_t i = 0; i < decoding->block->info.count; i++)
        bad |= decoding->values[i] >= limit && decoding->values[i] != spec->absent;
    if (!bad || spec->reference != REFERENCE_SPAN || !limits->spans_may_miss)
        return !bad;
    for (uint32_t i = 0; i < decoding->block->info.count; i++)
        decoding->values[i] = decoding->values[i] >= limit ? spec->absent : decoding->values[i];
    return true;
}

/* Numbers of enumerations that this version doesn't know: a span kind becomes unknown, others are refused. */
static bool enumeration_valid(const struct decoding *decoding, const struct column_spec *spec)
{
    uint32_t bad = 0;
    if (!spec->limit || decoding->block->trusted)
        return true;
    for (uint32_t i = 0; i < decoding->block->info.count; i++) {
        bool known = decoding->values[i] < spec->limit;
        decoding->values[i] = known ? decoding->values[i] : 0;
        bad |= !known;
    }
    return !bad || spec->zero_is_unknown;
}

#define NARROW(type)                                                                                                   \
    do {                                                                                                               \
        for (uint32_t i = 0; i < count; i++)                                                                           \
            ((type *)out)[i] = (type)values[i];                                                                        \
    } while (0)

static void values_store(const uint64_t *values, uint32_t count, uint8_t size, void *out)
{
    switch (size) {
    case 1: NARROW(uint8_t); break;
    case 2: NARROW(uint16_t); break;
    case 4: NARROW(uint32_t); break;
    default: memcpy(out, values, (size_t)count * 8);
    }
}

static const char *decode_failure(int result)
{
    return result == -EOPNOTSUPP ? "compressed with zstd, which this build of hprofiler lacks" : "cannot be decompressed";
}

#define COLUMN_ALIGNMENT ((size_t)64)

static size_t padded(size_t size)
{
    return (size + COLUMN_ALIGNMENT - 1) & ~(COLUMN_ALIGNMENT - 1);
}

static void *take_memory(struct decoding *decoding, uint8_t column, size_t size)
{
    void *memory = decoding->next;
    decoding->next += padded(size);
    decoding->decoded->column[column] = memory;
    return memory;
}

/* Columns that readers get even if they are not stored: small families rely on all, live parents are filled in later. */
static bool filled_when_missing(const struct block *block, uint8_t column)
{
    const struct family_schema *schema = family_schema(block->family);
    if (block->family == FAMILY_SPANS)
        return block->live && column == SPAN_COLUMN_PARENT;
    return !schema->per_track && schema->columns[column].transform != TRANSFORM_BYTES;
}

/* Bytes for all columns that will be there. A column that stands twice is refused before it takes any. */
static size_t memory_needed(const struct block *block, uint32_t wanted, const struct body_column *columns, int count)
{
    const struct family_schema *schema = family_schema(block->family);
    size_t size = 0;
    uint32_t stored = 0;
    for (int i = 0; i < count; i++) {
        uint8_t id = columns[i].header.id;
        if (id >= schema->column_count || !(wanted >> id & 1) || (stored >> id & 1))
            continue;
        stored |= UINT32_C(1) << id;
        size += padded(columns[i].header.encoding == COLUMN_BYTES ? (size_t)columns[i].header.base
                                                                  : (size_t)block->info.count * schema->columns[id].size);
    }
    for (uint8_t id = 0; id < schema->column_count; id++) {
        if ((wanted >> id & 1) && !(stored >> id & 1) && filled_when_missing(block, id))
            size += padded((size_t)block->info.count * schema->columns[id].size);
    }
    return size;
}

static int decode_bytes(struct decoding *decoding, const struct body_column *column, struct error *err)
{
    struct decoded *decoded = decoding->decoded;
    size_t size = (size_t)column->header.base;
    uint8_t *out = take_memory(decoding, column->header.id, size);
    decoded->payload_size = (uint32_t)size;
    int result = column_unpack(&column->header, column->data, decoding->block->info.count, out);
    return result < 0 ? block_damaged(decoding->block, decode_failure(result), err) : 0;
}

static int decode_column(struct decoding *decoding, const struct body_column *column, struct error *err)
{
    const struct block *block = decoding->block;
    const struct column_spec *spec = &family_schema(block->family)->columns[column->header.id];
    bool is_bytes = column->header.encoding == COLUMN_BYTES;
    if (is_bytes != (spec->transform == TRANSFORM_BYTES))
        return block_damaged(block, "column of another type", err);
    if (is_bytes)
        return decode_bytes(decoding, column, err);
    uint32_t count = block->info.count;
    const uint8_t *data = column->data;
    if (column->header.packing != PACKING_RAW) {
        int result = column_unpack(&column->header, data, count, decoding->raw);
        if (result < 0)
            return block_damaged(block, decode_failure(result), err);
        data = decoding->raw;
    }
    column_decode(&column->header, data, count, decoding->values);
    if (!transform_undo(decoding, spec))
        return block_damaged(block, "times out of order", err);
    if (!references_valid(decoding, spec))
        return block_damaged(block, "index out of range", err);
    if (!enumeration_valid(decoding, spec))
        return block_damaged(block, "a kind that this version does not know", err);
    values_store(decoding->values, count, spec->size, take_memory(decoding, column->header.id, (size_t)count * spec->size));
    return 0;
}

/* Payload ends must rise and stay within the payload bytes; one without the other says nothing. */
static bool payloads_valid(const struct decoding *decoding)
{
    const struct family_schema *schema = family_schema(decoding->block->family);
    const struct decoded *decoded = decoding->decoded;
    if (schema->payload >= COLUMNS_MAX || !decoded->column[schema->payload] || !decoded->column[schema->payload_end])
        return true;
    const uint32_t *ends = decoded->column[schema->payload_end];
    uint32_t previous = 0;
    for (uint32_t i = 0; i < decoding->block->info.count; i++) {
        if (ends[i] < previous || ends[i] > decoded->payload_size)
            return false;
        previous = ends[i];
    }
    return true;
}

/* Columns that are not stored: refused if they must be, else filled in where readers rely on them. */
static int fill_missing(struct decoding *decoding, uint32_t wanted, struct error *err)
{
    const struct block *block = decoding->block;
    const struct family_schema *schema = family_schema(block->family);
    for (uint8_t i = 0; i < schema->column_count; i++) {
        const struct column_spec *spec = &schema->columns[i];
        bool is_order = block->family == FAMILY_SPANS && i == SPAN_COLUMN_ORDER;
        if (decoding->decoded->column[i] || !(wanted >> i & 1))
            continue;
        if (spec->always && !is_order)
            return block_damaged(block, "a column is missing", err);
        if (!filled_when_missing(block, i))
            continue;
        for (uint32_t row = 0; row < block->info.count; row++)
            decoding->values[row] = spec->absent;
        values_store(decoding->values, block->info.count, spec->size,
                     take_memory(decoding, i, (size_t)block->info.count * spec->size));
    }
    return 0;
}

static int decode_columns(struct decoding *decoding, uint32_t wanted, const struct body_column *columns, int count,
                          struct error *err)
{
    const struct family_schema *schema = family_schema(decoding->block->family);
    for (int i = 0; i < count; i++) {
        uint8_t id = columns[i].header.id;
        if (id >= schema->column_count || !(wanted >> id & 1))
            continue; /* of a newer version, or nobody's wish */
        if (decoding->decoded->column[id])
            return block_damaged(decoding->block, "a column stands twice", err);
        if (id == SPAN_COLUMN_END && decoding->block->family == FAMILY_SPANS && !decoding->decoded->column[SPAN_COLUMN_BEGIN])
            return block_damaged(decoding->block, "ends stand before begins", err);
        int result = decode_column(decoding, &columns[i], err);
        if (result < 0)
            return result;
    }
    if (!payloads_valid(decoding))
        return block_damaged(decoding->block, "payloads out of range", err);
    return fill_missing(decoding, wanted, err);
}

int block_decode(const struct block *block, uint32_t wanted, const struct block_limits *limits,
                 struct decoded **ret_decoded, struct error *err)
{
    const uint8_t *body;
    CLEANUP(freep) uint8_t *owned = NULL;
    int result = block_load(block, &body, &owned, err);
    if (result < 0)
        return result;
    struct body_column columns[COLUMNS_MAX];
    int count = body_split(body, block->size, block->info.count, columns);
    if (count < 0)
        return block_damaged(block, "column directory is damaged", err);
    if (block->family == FAMILY_SPANS && (wanted & SPAN_COLUMN_BIT(SPAN_COLUMN_END)))
        wanted |= SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN);
    size_t head = padded(sizeof(struct decoded)), size = head + memory_needed(block, wanted, columns, count);
    CLEANUP(freep) uint64_t *values = malloc(((size_t)block->info.count + 1) * 16);
    CLEANUP(decoded_freep) struct decoded *decoded = malloc(size);
    if (!values || !decoded)
        return error_set(err, -ENOMEM, "trace: out of memory");
    *decoded = (struct decoded){.columns = wanted, .bytes = size};
    struct decoding decoding = {.block = block, .limits = block->trusted ? NULL : limits, .decoded = decoded,
                                .next = (uint8_t *)decoded + head, .values = values,
                                .raw = (uint8_t *)(values + block->info.count + 1)};
    result = decode_columns(&decoding, wanted, columns, count, err);
    if (result < 0)
        return result;
    *ret_decoded = TAKE_PTR(decoded);
    return 0;
}

void decoded_free(struct decoded *decoded)
{
    free(decoded);
}
