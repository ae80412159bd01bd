/* SPDX-License-Identifier: MIT */
/*
 * The spool: append-only blocks of packed records (docs/formats/spool.md). A block is written by one write, so that what
 * has been appended survives SIGKILL. Two sequences of files in the session directory: `spool-keep` (SPOOL_KEEP: names,
 * modules, life of processes, ledger) and `spool-00000001` ... (the bulk), whose oldest files go when --buffer-limit is reached.
 * Appending is safe in several threads at once.
 */
#ifndef HP_RECORD_SPOOL_H
#define HP_RECORD_SPOOL_H

#include "base/cleanup.h"
#include "wire/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct spool;

/* Whose records a block holds. The recorder's own streams have pid 0 and key 0; their tid tells them apart. */
struct spool_stream {
    uint64_t process_key;   /* 0 = the recorder's own */
    int32_t pid, tid;       /* of a target's thread as its process sees them */
    uint32_t thread_serial;
    uint32_t context;
    uint32_t chunk, lap;    /* where it came from: number of the chunk in its process and its lap */
    uint64_t first, end;    /* bytes of that lap */
};

enum spool_flags {
    SPOOL_KEEP = 1,  /* must outlive --buffer-limit */
    SPOOL_DENSE = 2, /* worth zstd (samples, strings); ignored where zstd is missing */
};

struct spool_options {
    uint64_t limit_bytes;   /* --buffer-limit; 0 = keep everything */
};

/* directory_fd stays the caller's and must outlive the spool. */
int spool_create(int directory_fd, const struct spool_options *options, struct spool **ret_spool, struct error *err);
void spool_destroy(struct spool *spool);
DEFINE_CLEANUP(struct spool *, spool_destroy)

/* Appends whole records as one block. 0, or -errno (-ENOSPC, -EFBIG ...): then nothing has been appended. */
int spool_append(struct spool *spool, const struct spool_stream *stream, unsigned flags, const void *records, size_t bytes);

/* The same for small things of the recorder's own stream 0: gathered, and written when 64 KiB are there, or 200 ms have
 * passed at the next call of spool_flush (the drain thread calls it every 50 ms). Keeps the order among themselves. */
int spool_put(struct spool *spool, unsigned flags, const struct wire_header *record);
int spool_flush(struct spool *spool, bool now);

struct spool_statistics {
    uint64_t blocks, records, raw_bytes, stored_bytes;
    uint64_t recycled_blocks, recycled_records, recycled_bytes; /* by --buffer-limit */
    uint64_t failed_appends, failed_records;
    int last_error;
};
void spool_statistics(struct spool *spool, struct spool_statistics *ret_statistics);

/* Reading: all blocks, spool-keep first, then the others in order. Hostile input is expected: what is damaged is skipped. */
struct spool_reader;
int spool_reader_create(int directory_fd, struct spool_reader **ret_reader, struct error *err);
/* One file's bytes in memory, which must outlive the reader (tests, fuzzing). */
int spool_reader_create_memory(const uint8_t *data, size_t size, struct spool_reader **ret_reader);
/*
 * Of a spool that still grows: what came between two marks, for as many readings as are wanted, one after the other. take sets the second
 * mark to what is there now (names before what uses them: so it flushes `spool`; without one it is what was there at the last time);
 * pass sets the first to the second.
 */
struct spool_marks;
int spool_marks_create(struct spool_marks **ret_marks);
void spool_marks_destroy(struct spool_marks *marks);
DEFINE_CLEANUP(struct spool_marks *, spool_marks_destroy)
int spool_marks_take(struct spool_marks *marks, int directory_fd, struct spool *spool);
void spool_marks_pass(struct spool_marks *marks);
bool spool_marks_empty(const struct spool_marks *marks); /* nothing between the two */
int spool_reader_create_between(int directory_fd, struct spool_marks *marks, struct spool_reader **ret_reader, struct error *err);
void spool_reader_destroy(struct spool_reader *reader);
DEFINE_CLEANUP(struct spool_reader *, spool_reader_destroy)

struct spool_block {
    struct spool_stream stream;
    uint64_t sequence;
    uint32_t records;
    unsigned flags;         /* SPOOL_KEEP */
    const uint8_t *data;    /* decoded records, valid until the next call */
    size_t size;
};
/* 1 = a block, 0 = the end, -errno = no memory or a file that can't be read. */
int spool_reader_next(struct spool_reader *reader, struct spool_block *ret_block, struct error *err);
/* Whether blocks of targets' threads are only looked at, not decoded (their data is NULL). */
void spool_reader_skip_threads(struct spool_reader *reader, bool skip);

struct spool_damage {
    uint64_t bytes_skipped, blocks_damaged;
    char first[160];        /* file and offset of the first damage, "" = none */
};
const struct spool_damage *spool_reader_damage(const struct spool_reader *reader);

#endif
