/* SPDX-License-Identifier: MIT */
/* The spool's bytes (docs/formats/spool.md): a file header, then blocks, each a header and a payload padded to 8 bytes. */
#ifndef HP_RECORD_SPOOL_FORMAT_H
#define HP_RECORD_SPOOL_FORMAT_H

#include <stdint.h>

#define SPOOL_MAGIC 0x314c505346525048ull /* "HPRFSPL1" */
#define SPOOL_MAJOR 1
#define SPOOL_MINOR 0
#define SPOOL_BYTE_ORDER 0x01020304u
#define SPOOL_BLOCK_MAGIC 0x31425048u /* "HPB1" */
#define SPOOL_RAW_MAXIMUM (64u << 20) /* bytes of records in one block */

struct spool_file_header {
    uint64_t magic;
    uint16_t major, minor;
    uint32_t byte_order;
    uint32_t keep;    /* 1: spool-keep */
    uint32_t number;  /* of the file, from 1 */
    uint64_t reserved[5];
};
_Static_assert(sizeof(struct spool_file_header) == 64, "the file header has 64 bytes");

enum spool_encoding { SPOOL_PACKED = 1, SPOOL_ZSTD = 2 }; /* zstd last when writing, first when reading */

struct spool_block_header {
    uint32_t magic;
    uint32_t header_bytes;   /* 96 */
    uint32_t encoding;       /* enum spool_encoding, bits; others: a newer reader is needed */
    uint32_t records;
    uint64_t sequence;       /* over both sequences of files */
    uint32_t stored_bytes;   /* of the payload, without the padding */
    uint32_t packed_bytes;   /* after zstd is undone */
    uint32_t raw_bytes;      /* of the records */
    uint32_t reserved;
    uint64_t process_key;
    int32_t pid, tid;
    uint32_t thread_serial, context, chunk, lap;
    uint64_t first, end;
    uint32_t payload_crc;    /* CRC-32C of stored_bytes */
    uint32_t header_crc;     /* CRC-32C of the header up to here */
};
_Static_assert(sizeof(struct spool_block_header) == 96, "a block's header has 96 bytes");

#endif
