/* SPDX-License-Identifier: MIT */
/* Writing chunks of a native file; finished files and growing ones share it. */
#ifndef HP_TRACE_NATIVE_WRITER_H
#define HP_TRACE_NATIVE_WRITER_H

#include "base/file.h"
#include "file_format.h"
#include "trace_internal.h"

struct thread_pool;

struct native_writer {
    struct file_writer *file;
    struct contents_entry *contents;
    size_t contents_count, contents_capacity;
    uint64_t position;
    uint32_t incompatible;
};
void native_writer_finish(struct native_writer *writer);
int native_write_header(struct native_writer *writer, uint32_t compatible, uint32_t incompatible);
/* Writes one chunk at the next multiple of alignment; fills in magic, size, checksums, sequence. */
int native_write_chunk(struct native_writer *writer, struct chunk_header *header, const void *body, uint64_t size,
                       uint32_t alignment);
/* Strings from `first` on; rows of a table from `first` on. Nothing is written when there are none. */
int native_write_strings(struct native_writer *writer, const struct string_table *strings, uint32_t first, uint32_t alignment);
int native_write_table(struct native_writer *writer, enum table table, const struct shared_table *rows, uint32_t first,
                       uint32_t alignment);
/* Blocks [from, to) of a family, packed by the pool (or here, without one). */
int native_write_blocks(struct native_writer *writer, const struct trace *trace, enum family family, uint32_t from,
                        uint32_t to, struct thread_pool *pool, struct error *err);

#endif
