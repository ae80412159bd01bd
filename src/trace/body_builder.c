/* SPDX-License-Identifier: MIT */
/* Putting a block's body together, column by column. */
#include "block.h"

#include "base/array.h"

#include <errno.h>
#include <string.h>

int body_builder_init(struct body_builder *builder)
{
    *builder = (struct body_builder){0};
    builder->values = malloc((size_t)BLOCK_ROWS_MAX * 8);
    builder->begins = malloc((size_t)BLOCK_ROWS_MAX * 8);
    if (builder->values && builder->begins)
        return 0;
    body_builder_finish(builder);
    return -ENOMEM;
}

void body_builder_finish(struct body_builder *builder)
{
    free(builder->values);
    free(builder->begins);
    free(builder->bytes);
    *builder = (struct body_builder){0};
}

void body_begin(struct body_builder *builder, enum family family, uint32_t rows, uint32_t first)
{
    builder->size = 0;
    builder->header_count = 0;
    builder->family = family;
    builder->rows = rows;
    builder->first = first;
}

static int reserve(struct body_builder *builder, size_t size)
{
    uint8_t *bytes = array_reserve(builder->bytes, &builder->capacity, builder->size + size + 8, 1);
    if (!bytes)
        return -ENOMEM;
    builder->bytes = bytes;
    return 0;
}

/* Closes the column whose data was put at the end. */
static void commit(struct body_builder *builder, const struct column_header *header)
{
    builder->headers[builder->header_count++] = *header;
    size_t padding = -(size_t)header->stored_size & 7;
    memset(builder->bytes + builder->size + header->stored_size, 0, padding);
    builder->size += header->stored_size + padding;
}

static void transform_apply(struct body_builder *builder, const struct column_spec *spec)
{
    uint64_t *values = builder->values;
    uint32_t rows = builder->rows;
    switch (spec->transform) {
    case TRANSFORM_SPAN_END:
        for (uint32_t i = 0; i < rows; i++)
            values[i] = values[i] == (uint64_t)INT64_MIN ? 0 : values[i] - builder->begins[i] + 1;
        break;
    case TRANSFORM_ROW_RELATIVE:
        for (uint32_t i = 0; i < rows; i++) {
            int64_t distance = (int64_t)builder->first + i - (int64_t)values[i];
            uint64_t zigzag = ((uint64_t)distance << 1) ^ (uint64_t)(distance >> 63);
            values[i] = (uint32_t)values[i] == UINT32_MAX ? 0 : zigzag + 1;
        }
        break;
    default:
        break;
    }
}

int body_add_values(struct body_builder *builder, uint8_t column)
{
    const struct column_spec *spec = &family_schema(builder->family)->columns[column];
    if (builder->family == FAMILY_SPANS && column == SPAN_COLUMN_BEGIN)
        memcpy(builder->begins, builder->values, (size_t)builder->rows * 8);
    transform_apply(builder, spec);
    int result = reserve(builder, (size_t)builder->rows * 8);
    if (result < 0)
        return result;
    struct column_header header = {.id = column};
    bool is_ascending = spec->transform == TRANSFORM_ASCENDING;
    column_encode(builder->values, builder->rows, is_ascending, &header, builder->bytes + builder->size);
    uint64_t absent = spec->transform == TRANSFORM_ROW_RELATIVE ? 0 : spec->absent;
    if (header.encoding == COLUMN_CONSTANT && header.base == absent && !spec->always)
        return 0;
    commit(builder, &header);
    return 0;
}

int body_add_bytes(struct body_builder *builder, uint8_t column, const void *data, size_t size, bool pack)
{
    struct column_header header = {.id = column, .encoding = COLUMN_BYTES, .width = 1, .packing = PACKING_RAW,
                                   .stored_size = (uint32_t)size, .base = size};
    size_t bound = pack ? column_pack_bound(size) : size;
    int result = reserve(builder, bound > size ? bound : size);
    if (result < 0)
        return result;
    if (!pack || !column_pack(&header, data, builder->rows, PACK_LEVEL_MEMORY, builder->bytes + builder->size, bound))
        memcpy(builder->bytes + builder->size, data, size);
    commit(builder, &header);
    return 0;
}

int body_add_copy(struct body_builder *builder, const struct body_column *column)
{
    int result = reserve(builder, column->header.stored_size);
    if (result < 0)
        return result;
    memcpy(builder->bytes + builder->size, column->data, column->header.stored_size);
    commit(builder, &column->header);
    return 0;
}

int body_end(struct body_builder *builder, uint8_t **ret_bytes, uint32_t *ret_size)
{
    size_t head = 8 + 16 * (size_t)builder->header_count;
    uint8_t *bytes = malloc(head + builder->size);
    if (!bytes)
        return -ENOMEM;
    uint32_t start[2] = {builder->header_count, 0};
    memcpy(bytes, start, 8);
    memcpy(bytes + 8, builder->headers, 16 * (size_t)builder->header_count);
    if (builder->size)
        memcpy(bytes + head, builder->bytes, builder->size);
    *ret_bytes = bytes;
    *ret_size = (uint32_t)(head + builder->size);
    return 0;
}
