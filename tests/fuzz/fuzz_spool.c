/* SPDX-License-Identifier: MIT */
/* The spool's reader: the input as a file of its own, and as the payload of a block whose checksums are right, so that what
 * lies behind them is reached. */
#include "record/spool.h"
#include "record/spool_format.h"
#include "trace/crc32c.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(const uint8_t *data, size_t size)
{
    struct spool_reader *reader = NULL;
    struct spool_block block;
    if (spool_reader_create_memory(data, size, &reader) < 0)
        return;
    uint64_t sum = 0;
    while (spool_reader_next(reader, &block, NULL) > 0)
        for (size_t i = 0; i < block.size; i++)
            sum += block.data[i];
    if (sum == UINT64_MAX)
        abort(); /* the bytes are really read */
    spool_reader_destroy(reader);
}

/* Two bytes choose encoding and size; the rest is the payload. */
static void read_as_payload(const uint8_t *data, size_t size)
{
    if (size < 4)
        return;
    size_t payload = size - 4, total = sizeof(struct spool_file_header) + sizeof(struct spool_block_header) + payload + 8;
    uint8_t *file = calloc(1, total);
    if (!file)
        return;
    struct spool_file_header header = {.magic = SPOOL_MAGIC, .major = SPOOL_MAJOR, .byte_order = SPOOL_BYTE_ORDER};
    struct spool_block_header block = {.magic = SPOOL_BLOCK_MAGIC, .header_bytes = sizeof block, .encoding = data[0] & 7,
                                       .stored_bytes = (uint32_t)payload};
    block.raw_bytes = (uint32_t)(data[1] | data[2] << 8) * 8;
    block.packed_bytes = data[0] & SPOOL_ZSTD ? (uint32_t)data[3] * 16 : (uint32_t)payload;
    block.payload_crc = crc32c(0, data + 4, payload);
    block.header_crc = crc32c(0, &block, offsetof(struct spool_block_header, header_crc));
    memcpy(file, &header, sizeof header);
    memcpy(file + sizeof header, &block, sizeof block);
    memcpy(file + sizeof header + sizeof block, data + 4, payload);
    read_all(file, total);
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_all(data, size);
    read_as_payload(data, size);
    return 0;
}
