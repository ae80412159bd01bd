/* SPDX-License-Identifier: MIT */
/* Column transforms: constant, offset from a base, ascending differences; byte planes and zstd on top. */
#include "column.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef HP_HAVE_ZSTD
#include <zstd.h>
#endif

#define PACK_MIN_BYTES 64 /* below this zstd's frame header eats the gain */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "columns are little-endian and stored as they are in memory");

static uint8_t width_of(uint64_t range)
{
    if (range == 0)
        return 0;
    if (range <= UINT8_MAX)
        return 1;
    if (range <= UINT16_MAX)
        return 2;
    return range <= UINT32_MAX ? 4 : 8;
}

/* The loops are written out by width, so that the compiler makes vector code of each. */
#define DEFINE_PACK(type)                                                                                              \
    static void pack_offset_##type(const uint64_t *values, uint32_t count, uint64_t base, uint8_t *out)                \
    {                                                                                                                  \
        type *narrow = (type *)(void *)out;                                                                            \
        for (uint32_t i = 0; i < count; i++)                                                                           \
            narrow[i] = (type)(values[i] - base);                                                                      \
    }                                                                                                                  \
    static void pack_delta_##type(const uint64_t *values, uint32_t count, uint8_t *out)                                \
    {                                                                                                                  \
        type *narrow = (type *)(void *)out;                                                                            \
        narrow[0] = 0;                                                                                                 \
        for (uint32_t i = 1; i < count; i++)                                                                           \
            narrow[i] = (type)(values[i] - values[i - 1]);                                                             \
    }                                                                                                                  \
    static void unpack_offset_##type(const uint8_t *data, uint32_t count, uint64_t base, uint64_t *values)             \
    {                                                                                                                  \
        const type *narrow = (const type *)(const void *)data;                                                         \
        for (uint32_t i = 0; i < count; i++)                                                                           \
            values[i] = base + narrow[i];                                                                              \
    }                                                                                                                  \
    static void unpack_delta_##type(const uint8_t *data, uint32_t count, uint64_t base, uint64_t *values)              \
    {                                                                                                                  \
        const type *narrow = (const type *)(const void *)data;                                                         \
        for (uint32_t i = 0; i < count; i++)                                                                           \
            values[i] = base += narrow[i];                                                                             \
    }
DEFINE_PACK(uint8_t)
DEFINE_PACK(uint16_t)
DEFINE_PACK(uint32_t)
DEFINE_PACK(uint64_t)

static void pack_offset(const uint64_t *values, uint32_t count, uint64_t base, uint8_t width, uint8_t *out)
{
    switch (width) {
    case 1: pack_offset_uint8_t(values, count, base, out); break;
    case 2: pack_offset_uint16_t(values, count, base, out); break;
    case 4: pack_offset_uint32_t(values, count, base, out); break;
    case 8: pack_offset_uint64_t(values, count, base, out); break;
    default: break;
    }
}

static void pack_delta(const uint64_t *values, uint32_t count, uint8_t width, uint8_t *out)
{
    switch (width) {
    case 1: pack_delta_uint8_t(values, count, out); break;
    case 2: pack_delta_uint16_t(values, count, out); break;
    case 4: pack_delta_uint32_t(values, count, out); break;
    case 8: pack_delta_uint64_t(values, count, out); break;
    default: break;
    }
}

void column_encode(const uint64_t *values, uint32_t count, bool ascending, struct column_header *ret_header, uint8_t *out)
{
    uint64_t least = values[0], greatest = values[0];
    if (ascending) {
        greatest = 0;
        for (uint32_t i = 1; i < count; i++) {
            uint64_t delta = values[i] - values[i - 1];
            greatest = delta > greatest ? delta : greatest;
        }
        ret_header->width = width_of(greatest);
        ret_header->encoding = ret_header->width ? COLUMN_DELTA : COLUMN_CONSTANT;
        pack_delta(values, count, ret_header->width, out);
    } else {
        for (uint32_t i = 1; i < count; i++) {
            least = values[i] < least ? values[i] : least;
            greatest = values[i] > greatest ? values[i] : greatest;
        }
        ret_header->width = width_of(greatest - least);
        ret_header->encoding = ret_header->width ? COLUMN_OFFSET : COLUMN_CONSTANT;
        pack_offset(values, count, least, ret_header->width, out);
    }
    ret_header->base = least;
    ret_header->packing = PACKING_RAW;
    ret_header->stored_size = ret_header->width * count;
}

void column_decode(const struct column_header *header, const uint8_t *data, uint32_t count, uint64_t *values)
{
    uint64_t base = header->base;
    bool delta = header->encoding == COLUMN_DELTA;
    switch (header->width) {
    case 1: (delta ? unpack_delta_uint8_t : unpack_offset_uint8_t)(data, count, base, values); break;
    case 2: (delta ? unpack_delta_uint16_t : unpack_offset_uint16_t)(data, count, base, values); break;
    case 4: (delta ? unpack_delta_uint32_t : unpack_offset_uint32_t)(data, count, base, values); break;
    case 8: (delta ? unpack_delta_uint64_t : unpack_offset_uint64_t)(data, count, base, values); break;
    default:
        for (uint32_t i = 0; i < count; i++)
            values[i] = base;
    }
}

uint64_t column_raw_size(const struct column_header *header, uint32_t count)
{
    return header->encoding == COLUMN_BYTES ? header->base : (uint64_t)header->width * count;
}

bool column_header_valid(const struct column_header *header, uint32_t count)
{
    if (header->encoding >= COLUMN_ENCODING_COUNT || header->packing >= PACKING_COUNT || count > BLOCK_ROWS_MAX)
        return false;
    uint8_t width = header->width;
    switch (header->encoding) {
    case COLUMN_CONSTANT:
        if (width != 0)
            return false;
        break;
    case COLUMN_BYTES:
        if (width != 1 || header->base > PAYLOAD_BYTES_MAX)
            return false;
        break;
    default:
        if (width != 1 && width != 2 && width != 4 && width != 8)
            return false;
    }
    return header->packing != PACKING_RAW || header->stored_size == column_raw_size(header, count);
}

#ifdef HP_HAVE_ZSTD
static void planes_split(const uint8_t *data, uint32_t count, uint8_t width, uint8_t *out)
{
    for (uint8_t plane = 0; plane < width; plane++) {
        for (uint32_t i = 0; i < count; i++)
            *out++ = data[(size_t)i * width + plane];
    }
}

static void planes_join(const uint8_t *planes, uint32_t count, uint8_t width, uint8_t *out)
{
    for (uint8_t plane = 0; plane < width; plane++) {
        for (uint32_t i = 0; i < count; i++)
            out[(size_t)i * width + plane] = *planes++;
    }
}

static int unpack_zstd(const struct column_header *header, const uint8_t *data, size_t raw_size, uint8_t *out)
{
    size_t size = ZSTD_decompress(out, raw_size, data, header->stored_size);
    return ZSTD_isError(size) || size != raw_size ? -EBADMSG : 0;
}

int column_unpack(const struct column_header *header, const uint8_t *data, uint32_t count, uint8_t *out)
{
    size_t raw_size = (size_t)column_raw_size(header, count);
    if (header->packing == PACKING_RAW) {
        memcpy(out, data, raw_size);
        return 0;
    }
    if (header->packing == PACKING_ZSTD || header->encoding == COLUMN_BYTES)
        return unpack_zstd(header, data, raw_size, out);
    uint8_t *planes = malloc(raw_size ? raw_size : 1);
    if (!planes)
        return -ENOMEM;
    int result = unpack_zstd(header, data, raw_size, planes);
    if (result == 0)
        planes_join(planes, count, header->width, out);
    free(planes);
    return result;
}

bool column_pack(struct column_header *header, const uint8_t *data, uint32_t count, int level, uint8_t *out, size_t bound)
{
    size_t raw_size = (size_t)column_raw_size(header, count);
    if (header->packing != PACKING_RAW || raw_size < PACK_MIN_BYTES)
        return false;
    bool planes = header->encoding != COLUMN_BYTES && header->width > 1;
    uint8_t *split = NULL;
    if (planes) {
        split = malloc(raw_size);
        if (!split)
            return false; /* the column stays as it is: larger, but right */
        planes_split(data, count, header->width, split);
    }
    size_t size = ZSTD_compress(out, bound, planes ? split : data, raw_size, level);
    free(split);
    if (ZSTD_isError(size) || size + 16 >= raw_size)
        return false;
    header->packing = planes ? PACKING_ZSTD_PLANES : PACKING_ZSTD;
    header->stored_size = (uint32_t)size;
    return true;
}

size_t column_pack_bound(size_t raw_size)
{
    return ZSTD_compressBound(raw_size);
}

bool column_can_pack(void)
{
    return true;
}
#else
int column_unpack(const struct column_header *header, const uint8_t *data, uint32_t count, uint8_t *out)
{
    if (header->packing != PACKING_RAW)
        return -EOPNOTSUPP;
    memcpy(out, data, (size_t)column_raw_size(header, count));
    return 0;
}

bool column_pack(struct column_header *header, const uint8_t *data, uint32_t count, int level, uint8_t *out, size_t bound)
{
    return false;
}

size_t column_pack_bound(size_t raw_size)
{
    return raw_size;
}

bool column_can_pack(void)
{
    return false;
}
#endif
