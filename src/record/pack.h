/* SPDX-License-Identifier: MIT */
/*
 * Packing of records, as fast as spans arrive: plain spans shrink to 3 to 8 bytes, anything else is copied.
 *
 *   control byte   bits 0-2: bytes of the end's difference to the last end, minus 1
 *                  bits 3-5: bytes of the duration, minus 1
 *                  bits 6-7: 0 same shape as the last span, 1 shape by slot number (one byte follows), 3 a raw record follows
 *   then           [slot] [difference, little-endian] [duration, little-endian]
 *
 * A span's shape is its words 0, 4 and 5 (kind, size, name, layer, category, ...). Packer and unpacker keep the same table of
 * 256 slots; every span that goes by raw enters it at slot hash(shape).
 */
#ifndef HP_RECORD_PACK_H
#define HP_RECORD_PACK_H

#include <stddef.h>
#include <stdint.h>

/* Room that packing may need for `size` bytes of records. */
static inline size_t pack_bound(size_t size)
{
    return size + size / 8 + 64;
}

/* Packs whole records; returns the packed size and their number; 0 if the bytes are no records. */
size_t pack_records(const uint8_t *records, size_t size, uint8_t *out, uint32_t *ret_count);

/* Unpacks to exactly raw_size bytes; -EBADMSG if that is not what comes out. The input may be hostile. */
int unpack_records(const uint8_t *packed, size_t size, uint8_t *out, size_t raw_size);

#endif
