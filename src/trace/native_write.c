/* SPDX-License-Identifier: MIT */
/* Writing a finished trace as a native file: small things first, then the bulk, the table of contents, the footer. */
#include "builder.h"
#include "lod_internal.h"
#include "native_writer.h"

#include "base/error.h"
#include "base/progress.h"
#include "base/thread_pool.h"
#include "crc32c.h"

#include <errno.h>
#include <string.h>

static int write_span_sums(struct native_writer *writer, const struct trace *trace, struct error *err)
{
    const struct span_aggregate *rows;
    uint32_t count;
    int result = trace_span_aggregates(trace, &rows, &count, err);
    if (result < 0)
        return result;
    CLEANUP(freep) struct stored_span_sum *sums = calloc((size_t)count + 1, sizeof(*sums));
    if (!sums)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        sums[i] = (struct stored_span_sum){.name = rows[i].name.index, .category = rows[i].category.index,
                                           .kind = (uint32_t)rows[i].kind, .count = rows[i].count,
                                           .total_ns = rows[i].total_ns, .self_ns = rows[i].self_ns,
                                           .min_ns = rows[i].min_ns, .max_ns = rows[i].max_ns};
    struct chunk_header header = {.type = CHUNK_SPAN_SUMS, .rows = count, .row_size = sizeof(*sums)};
    return native_write_chunk(writer, &header, sums, (uint64_t)count * sizeof(*sums), NATIVE_PAGE);
}

static int write_sample_sums(struct native_writer *writer, const struct trace *trace, struct error *err)
{
    const struct sample_aggregate *rows;
    uint32_t count;
    int result = trace_sample_aggregates(trace, &rows, &count, err);
    if (result < 0)
        return result;
    CLEANUP(freep) struct stored_sample_sum *sums = calloc((size_t)count + 1, sizeof(*sums));
    if (!sums)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        sums[i] = (struct stored_sample_sum){.track = rows[i].track.index, .stack = rows[i].stack.index,
                                             .event = rows[i].event, .flags = rows[i].flags, .count = rows[i].count,
                                             .weight = rows[i].weight};
    struct chunk_header header = {.type = CHUNK_SAMPLE_SUMS, .rows = count, .row_size = sizeof(*sums)};
    return native_write_chunk(writer, &header, sums, (uint64_t)count * sizeof(*sums), NATIVE_PAGE);
}

/* Pyramids of all tracks are made in parallel and remembered by the trace. */
struct lod_jobs {
    const struct trace *trace;
    uint32_t tracks;
    pthread_mutex_t lock;
    struct error *err;
    int failure;
};

static void lod_job(void *context, size_t index)
{
    struct lod_jobs *jobs = context;
    for (unsigned family = 0; family < LOD_FAMILIES; family++) {
        const struct lod *lod;
        struct error err = ERROR_INIT;
        int result = trace_lod(jobs->trace, (enum family)family, (track_id){(uint32_t)index}, &lod, &err);
        if (result == 0)
            continue;
        pthread_mutex_lock(&jobs->lock);
        if (!jobs->failure)
            error_set(jobs->err, jobs->failure = result, "%s", err.text);
        pthread_mutex_unlock(&jobs->lock);
    }
}

static int compute_lods(const struct trace *trace, struct thread_pool *pool, struct error *err)
{
    uint32_t tracks = trace->tables[TABLE_TRACKS]->count;
    struct lod_jobs jobs = {.trace = trace, .tracks = tracks, .err = err};
    pthread_mutex_init(&jobs.lock, NULL);
    if (pool)
        thread_pool_for(pool, tracks, lod_job, &jobs);
    else
        for (uint32_t track = 0; track < tracks; track++)
            lod_job(&jobs, track);
    pthread_mutex_destroy(&jobs.lock);
    return jobs.failure;
}

static int write_lods(struct native_writer *writer, const struct trace *trace, struct thread_pool *pool, struct error *err)
{
    int result = compute_lods(trace, pool, err);
    uint32_t tracks = trace->tables[TABLE_TRACKS]->count;
    for (unsigned family = 0; family < LOD_FAMILIES; family++) {
        for (uint32_t track = 0; track < tracks && result == 0; track++) {
            const struct lod *lod;
            result = trace_lod(trace, (enum family)family, (track_id){track}, &lod, err);
            if (result < 0 || lod->level_count == 0)
                continue;
            size_t size = lod_packed_size(lod);
            CLEANUP(freep) uint8_t *body = malloc(size);
            if (!body)
                return -ENOMEM;
            lod_pack(lod, body);
            struct chunk_header header = {.type = CHUNK_LOD, .subtype = (uint16_t)family, .track = track,
                                          .rows = lod->level_count};
            result = native_write_chunk(writer, &header, body, size, CHUNK_ALIGNMENT);
        }
    }
    return result;
}

static int write_contents(struct native_writer *writer)
{
    struct chunk_header header = {.type = CHUNK_CONTENTS, .rows = (uint32_t)writer->contents_count};
    uint64_t size = writer->contents_count * sizeof(struct contents_entry);
    CLEANUP(freep) struct contents_entry *entries = malloc(size + 1);
    if (!entries)
        return -ENOMEM;
    memcpy(entries, writer->contents, size);
    int result = native_write_chunk(writer, &header, entries, size, NATIVE_PAGE);
    if (result < 0)
        return result;
    uint64_t offset = writer->contents[writer->contents_count - 1].offset;
    struct native_footer footer = {.magic = FOOTER_MAGIC, .contents_offset = offset,
                                   .file_size = writer->position + sizeof(footer), .incompatible = writer->incompatible};
    footer.checksum = crc32c(0, &footer, sizeof(footer));
    file_write(writer->file, &footer, sizeof(footer));
    writer->position += sizeof(footer);
    return 0;
}

static int write_all_blocks(struct native_writer *writer, const struct trace *trace, struct thread_pool *pool,
                            const struct progress *progress, struct error *err)
{
    uint64_t done = 0, total = 0;
    for (unsigned family = 0; family < FAMILY_COUNT; family++)
        total += trace_block_count(trace, (enum family)family);
    for (unsigned family = 0; family < FAMILY_COUNT; family++) {
        uint32_t count = trace_block_count(trace, (enum family)family);
        for (uint32_t from = 0; from < count; from += 64) {
            uint32_t to = count - from < 64 ? count : from + 64;
            int result = native_write_blocks(writer, trace, (enum family)family, from, to, pool, err);
            if (result < 0)
                return result;
            done += to - from;
            progress_update(progress, "writing the trace", done, total);
        }
    }
    return 0;
}

static int write_everything(struct native_writer *writer, const struct trace *trace, struct thread_pool *pool,
                            const struct progress *progress, struct error *err)
{
    writer->incompatible = column_can_pack() ? NATIVE_INCOMPATIBLE_ZSTD : 0;
    int result = native_write_header(writer, 0, writer->incompatible);
    if (result == 0)
        result = native_write_strings(writer, trace_strings(trace), 0, NATIVE_PAGE);
    for (unsigned table = 0; table < TABLE_COUNT && result == 0; table++)
        result = native_write_table(writer, (enum table)table, trace->tables[table], 0, NATIVE_PAGE);
    if (result == 0)
        result = write_span_sums(writer, trace, err);
    if (result == 0)
        result = write_sample_sums(writer, trace, err);
    if (result == 0)
        result = write_lods(writer, trace, pool, err);
    if (result == 0)
        result = write_all_blocks(writer, trace, pool, progress, err);
    return result < 0 ? result : write_contents(writer);
}

int trace_write_native(const struct trace *trace, const char *path, const struct progress *progress, struct error *err)
{
    if (trace->growing)
        return error_set(err, -EINVAL, "%s: a trace that still grows is written as a stream", path);
    struct native_writer writer = {0};
    int result = file_writer_create(path, &writer.file, err);
    if (result < 0)
        return result;
    CLEANUP(thread_pool_destroyp) struct thread_pool *pool = NULL;
    if (trace_row_count(trace, FAMILY_SPANS) + trace_row_count(trace, FAMILY_SAMPLES) > BLOCK_ROWS_MAX &&
        thread_pool_create(0, &pool) < 0)
        pool = NULL;
    struct error reason = ERROR_INIT;
    result = write_everything(&writer, trace, pool, progress, &reason);
    if (result == 0 || result == -EIO) { /* a failed write: the writer knows which error it was */
        result = file_writer_finish(TAKE_PTR(writer.file), err);
    } else if (reason.code) {
        error_set(err, result, "%s: %s", path, reason.text);
    } else {
        error_set_errno(err, result, "%s: cannot write the trace", path);
    }
    native_writer_finish(&writer);
    return result;
}
