/* SPDX-License-Identifier: MIT */
/*
 * One column of up to 65,536 unsigned integers (or one run of bytes) as bytes. The same in memory, in spill files and in
 * native files; docs/formats/native.md has it to the byte.
 *
 *   CONSTANT  every value is base                    no data
 *   OFFSET    value = base + data[i]                 data of `width` bytes each
 *   DELTA     value[i] = value[i-1] + data[i], value[-1] = base
 *   BYTES     base bytes as they are                 (payloads)
 *
 * Packing says what was done to the data after that: nothing, zstd, or the bytes of equal significance put together
 * (all lowest bytes first) and then zstd.
 */
#ifndef HP_TRACE_COLUMN_H
#define HP_TRACE_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCK_ROWS_MAX 65536u
#define PAYLOAD_BYTES_MAX (64u << 20) /* of one block */

enum column_encoding { COLUMN_CONSTANT, COLUMN_OFFSET, COLUMN_DELTA, COLUMN_BYTES, COLUMN_ENCODING_COUNT };
enum column_packing { PACKING_RAW, PACKING_ZSTD, PACKING_ZSTD_PLANES, PACKING_COUNT };

struct column_header {
    uint8_t id, encoding, width, packing;
    uint32_t stored_size;
    uint64_t base;
};

/* Chooses the encoding: header without id, `out` needs 8 * count bytes. Data is stored_size bytes, packing RAW. */
void column_encode(const uint64_t *values, uint32_t count, bool ascending, struct column_header *ret_header, uint8_t *out);
/* data: unpacked (column_unpack). Values must have room for count. */
void column_decode(const struct column_header *header, const uint8_t *data, uint32_t count, uint64_t *values);
/* Bytes of the data when it is not packed. */
uint64_t column_raw_size(const struct column_header *header, uint32_t count);

/* Is this header possible at all, for a column of count rows? Data may be hostile, this is where it stops. */
bool column_header_valid(const struct column_header *header, uint32_t count);
/* Undoes the packing into out (column_raw_size bytes). 0, -EBADMSG, -ENOMEM, -EOPNOTSUPP (built without zstd). */
int column_unpack(const struct column_header *header, const uint8_t *data, uint32_t count, uint8_t *out);
/*
 * Packs raw data if that makes it smaller: changes header->packing and stored_size and fills out (bound bytes);
 * returns false and changes nothing if it doesn't pay, or in a build without zstd.
 */
bool column_pack(struct column_header *header, const uint8_t *data, uint32_t count, int level, uint8_t *out, size_t bound);
#define PACK_LEVEL_FILE 1
#define PACK_LEVEL_MEMORY (-4) /* while a trace is gathered: a third of the ratio is given up for three times the speed */
size_t column_pack_bound(size_t raw_size);
bool column_can_pack(void);

#endif
