/* SPDX-License-Identifier: MIT */
/* CRC-32C: the processor's instruction where it has one, else eight table lookups for eight bytes. */
#include "crc32c.h"

#include <string.h>

#define POLYNOMIAL UINT32_C(0x82f63b78)

static uint32_t table_entry(unsigned byte, unsigned distance)
{
    uint32_t crc = byte;
    for (unsigned bit = 0; bit < 8 * (distance + 1); bit++)
        crc = crc & 1 ? (crc >> 1) ^ POLYNOMIAL : crc >> 1;
    return crc;
}

struct crc_tables {
    uint32_t entry[8][256]; /* [distance][byte]: effect of a byte that `distance` more bytes follow */
};

static void tables_fill(struct crc_tables *tables)
{
    for (unsigned distance = 0; distance < 8; distance++) {
        for (unsigned byte = 0; byte < 256; byte++)
            tables->entry[distance][byte] = table_entry(byte, distance);
    }
}

/* Small inputs are not worth the tables: bit by bit. */
static uint32_t crc_bitwise(uint32_t crc, const uint8_t *data, size_t size)
{
    while (size--) {
        crc ^= *data++;
        for (unsigned bit = 0; bit < 8; bit++)
            crc = crc & 1 ? (crc >> 1) ^ POLYNOMIAL : crc >> 1;
    }
    return crc;
}

static uint32_t crc_software(uint32_t crc, const uint8_t *data, size_t size)
{
    if (size < 32768)
        return crc_bitwise(crc, data, size);
    struct crc_tables tables;
    tables_fill(&tables);
    for (; size >= 8; data += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, data, 8);
        word ^= crc;
        crc = 0;
        for (unsigned i = 0; i < 8; i++)
            crc ^= tables.entry[7 - i][word >> (8 * i) & 0xff];
    }
    return crc_bitwise(crc, data, size);
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc_hardware(uint32_t crc, const uint8_t *data, size_t size)
{
    uint64_t wide = crc;
    for (; size >= 8; data += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, data, 8);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = (uint32_t)wide;
    while (size--)
        crc = __builtin_ia32_crc32qi(crc, *data++);
    return crc;
}
#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t size)
{
    crc = ~crc;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2"))
        return ~crc_hardware(crc, data, size);
#endif
    return ~crc_software(crc, data, size);
}
