/* SPDX-License-Identifier: MIT */
/*
 * Reading native files. One reader belongs to one open file and serves all snapshots of it: it keeps what was loaded so
 * far and how far the walk through the chunks came. Everything is read with pread, nothing is mapped: a file that shrinks
 * or is damaged while it is open gives an error, never SIGBUS.
 */
#ifndef HP_TRACE_NATIVE_READER_H
#define HP_TRACE_NATIVE_READER_H

#include "file_format.h"
#include "lod_internal.h"
#include "trace_internal.h"

struct stored_chunk {
    uint64_t offset; /* of its body; 0 = absent */
    uint64_t size;
    uint32_t checksum, rows, row_size;
};

struct loaded_table {
    void *rows;
    uint32_t count;
    size_t capacity;
};

struct native_reader {
    _Atomic uint32_t references;
    pthread_mutex_t lock;          /* of refresh */
    char *path;
    struct block_store *store;
    uint64_t device, inode;
    uint64_t position;             /* the walk goes on here */
    uint64_t generation;
    bool complete;                 /* by a table of contents */
    bool stream;                   /* written while the trace grew */
    struct block_cache *cache;
    struct live_aggregates *live;
    /* What was loaded so far. */
    uint8_t *blob;
    size_t blob_size, blob_capacity;
    uint64_t *offsets;
    size_t offsets_capacity;
    uint32_t strings;
    struct loaded_table tables[TABLE_COUNT];
    struct block_array blocks[FAMILY_COUNT];
    struct stored_chunk span_sums, sample_sums;
    struct stored_chunk *lods;     /* [family * tracks + track], complete files only */
    uint32_t lod_tracks;
};

/* The stored pyramid of a track; -ENOENT when the file has none. */
int native_reader_lod(struct native_reader *reader, const struct trace *trace, enum family family, track_id track,
                      struct lod **ret_lod, struct error *err);

/* native_load.c: one chunk whose header was checked becomes part of what is loaded; body_offset in the file. */
int native_load_chunk(struct native_reader *reader, const struct chunk_header *header, uint64_t body_offset, struct error *err);
/* Checks everything that refers to something, once all chunks of a snapshot are loaded. */
int native_load_check(struct native_reader *reader, struct error *err);
/* Reads a chunk's body and checks its sum; the caller frees *ret_body (8-byte aligned). */
int native_read_body(const struct native_reader *reader, const struct stored_chunk *chunk, uint8_t **ret_body, struct error *err);
int native_load_sums(struct native_reader *reader, struct trace *trace, struct error *err);

#endif
