/* SPDX-License-Identifier: MIT */
/* Checks of chunk headers that the reader and the walk through a damaged file share. */
#include "file_format.h"

#include "crc32c.h"


uint32_t chunk_header_checksum(const struct chunk_header *header)
{
    struct chunk_header copy = *header;
    copy.header_checksum = 0;
    return crc32c(0, &copy, sizeof(copy));
}

static bool block_header_valid(const struct chunk_header *header)
{
    return header->subtype < FAMILY_COUNT && header->rows >= 1 && header->rows <= BLOCK_ROWS_MAX &&
           header->first < UINT32_MAX - BLOCK_ROWS_MAX && header->size <= UINT32_MAX - NATIVE_PAGE &&
           header->begin_ns > -MODEL_TIME_LIMIT_NS && header->end_ns < MODEL_TIME_LIMIT_NS &&
           header->begin_ns <= header->end_ns;
}

bool chunk_header_valid(const struct chunk_header *header, uint64_t left)
{
    if (header->magic != CHUNK_MAGIC || left < sizeof(*header) || header->size > left - sizeof(*header) ||
        header->header_checksum != chunk_header_checksum(header))
        return false;
    return header->type != CHUNK_BLOCK || block_header_valid(header);
}
