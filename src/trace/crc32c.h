/* SPDX-License-Identifier: MIT */
/* CRC-32C (Castagnoli, reflected 0x82f63b78, initial and final complement): the checksum of native files. */
#ifndef HP_TRACE_CRC32C_H
#define HP_TRACE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues from `crc` (0 to begin with). */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);

#endif
