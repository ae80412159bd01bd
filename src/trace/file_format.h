/* SPDX-License-Identifier: MIT */
/*
 * The native file (.hpt), little-endian; docs/formats/native.md has every byte.
 *
 *   header page (4096)  magic, version, feature words
 *   chunks              each: chunk header (80) and body; starts at a multiple of 64, tables of a finished file at
 *                       multiples of 4096; zeros between
 *   table of contents   a chunk, too: the headers of all others, with their offsets
 *   footer (32)         where the table of contents is; a file without one is read by walking through its chunks
 */
#ifndef HP_TRACE_FILE_FORMAT_H
#define HP_TRACE_FILE_FORMAT_H

#include "block.h"
#include "tables.h"

#define NATIVE_MAGIC "\x89HPT\r\n\x1a\n"
#define NATIVE_MAGIC_SIZE 8
#define NATIVE_MAJOR 1
#define NATIVE_MINOR 0
#define NATIVE_PAGE 4096u
#define CHUNK_ALIGNMENT 64u
#define CHUNK_MAGIC UINT32_C(0x4b435048)  /* "HPCK" */
#define FOOTER_MAGIC UINT32_C(0x54465048) /* "HPFT" */

/* A reader refuses a file with incompatible features that it doesn't know; compatible ones it may ignore. */
enum native_compatible { NATIVE_COMPATIBLE_STREAM = 1 /* written while the trace grew; a finished file replaces it */ };
enum native_incompatible { NATIVE_INCOMPATIBLE_ZSTD = 1 };
#define NATIVE_INCOMPATIBLE_KNOWN 1u

struct native_header {
    uint8_t magic[NATIVE_MAGIC_SIZE];
    uint16_t major, minor;
    uint32_t header_size; /* of this struct; more may follow in newer versions */
    uint32_t compatible, incompatible;
    uint32_t reserved;
    uint32_t checksum;    /* CRC-32C of what stands before it */
};
_Static_assert(sizeof(struct native_header) == 32, "the header is as documented");

/* Numbers are in files: append only. */
enum chunk_type {
    CHUNK_STRINGS = 1, /* offsets (8 each, rows + 1), then the bytes */
    CHUNK_TABLE,       /* subtype: enum table */
    CHUNK_BLOCK,       /* subtype: enum family */
    CHUNK_SPAN_SUMS,
    CHUNK_SAMPLE_SUMS,
    CHUNK_LOD,         /* subtype: enum family */
    CHUNK_CONTENTS,
};
enum chunk_flags { CHUNK_LIVE = 1 /* of a growing trace: parents are handles */ };

struct chunk_header {
    uint32_t magic;
    uint16_t type, subtype;
    uint64_t size;            /* of the body */
    uint32_t body_checksum;   /* CRC-32C */
    uint32_t header_checksum; /* of this struct with 0 here */
    uint64_t sequence;        /* number of the chunk in the file */
    uint32_t rows, first;     /* rows in it; number of the first */
    uint32_t track, run;
    int64_t begin_ns, end_ns;
    uint32_t row_size;        /* tables and sums: bytes a row */
    uint32_t flags;
    uint64_t reserved;
};
_Static_assert(sizeof(struct chunk_header) == 80, "chunk headers are as documented");

struct contents_entry {
    struct chunk_header header;
    uint64_t offset; /* of the chunk's header in the file */
};
_Static_assert(sizeof(struct contents_entry) == 88, "entries are as documented");

struct native_footer {
    uint32_t magic, checksum; /* of the footer with 0 here */
    uint64_t contents_offset; /* of its chunk header */
    uint64_t file_size;       /* with the footer */
    uint32_t incompatible;    /* features that turned out to be used; as in the header */
    uint32_t reserved;
};
_Static_assert(sizeof(struct native_footer) == 32, "the footer is as documented");

/* Sums as they are stored. */
struct stored_span_sum {
    uint32_t name, category, kind, reserved;
    uint64_t count;
    int64_t total_ns, self_ns, min_ns, max_ns;
};
struct stored_sample_sum {
    uint32_t track, stack;
    uint8_t event, flags;
    uint16_t reserved[3];
    uint64_t count;
    int64_t weight;
};
_Static_assert(sizeof(struct stored_span_sum) == 56 && sizeof(struct stored_sample_sum) == 32, "sums are as documented");

uint32_t chunk_header_checksum(const struct chunk_header *header);
/* Is this a chunk header that can be of a file that ends `left` bytes behind the header's begin? */
bool chunk_header_valid(const struct chunk_header *header, uint64_t left);

#endif
