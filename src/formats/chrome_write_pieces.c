/* SPDX-License-Identifier: MIT */
/*
 * Rows to text by several threads: the caller hands out pieces of blocks in order, workers make their text, the caller
 * writes it in the same order. Memory is bounded by the number of pieces; one whose rows come out long is made and written
 * in steps.
 */
#include "chrome_writer.h"

#include "base/array.h"
#include "base/error.h"
#include "base/thread_pool.h"

#include <errno.h>
#include <stdlib.h>

#define STEP_BYTES ((size_t)4 << 20)
#define ROWS_FOR_WORKERS 20000u /* starting threads takes longer than fewer do */

static const char *const family_names[FAMILY_COUNT] = {"spans", "samples", "instants", "counter values", "links"};

static int (*const make_row[FAMILY_COUNT])(struct chrome_piece *, uint32_t) = {
    [FAMILY_SPANS] = chrome_make_span,
    [FAMILY_SAMPLES] = chrome_make_sample,
    [FAMILY_INSTANTS] = chrome_make_instant,
    [FAMILY_COUNTERS] = chrome_make_counter,
    [FAMILY_LINKS] = chrome_make_link,
};

static void make_step(struct chrome_piece *piece)
{
    piece->out.at = piece->out.start;
    while (piece->next < piece->end && piece->result == 0 && (size_t)(piece->out.at - piece->out.start) < STEP_BYTES)
        piece->result = make_row[piece->family](piece, piece->next++);
    if (piece->result == 0 && piece->out.failed)
        piece->result = -ENOMEM;
}

static void make_job(void *context, size_t slot)
{
    struct chrome_writer *writer = context;
    make_step(&writer->pieces[slot]);
}

static int hold_block(struct chrome_piece *piece, enum family family, uint32_t index, struct error *err)
{
    const struct trace *trace = piece->writer->trace;
    piece->family = family;
    piece->index = index;
    switch (family) {
    case FAMILY_SPANS:
        return trace_spans_get(trace, index, &piece->block.spans, err);
    case FAMILY_SAMPLES:
        return trace_samples_get(trace, index, &piece->block.samples, err);
    case FAMILY_INSTANTS:
        return trace_instants_get(trace, index, &piece->block.instants, err);
    case FAMILY_LINKS:
        return trace_links_get(trace, index, &piece->block.links, err);
    default:
        return trace_counters_get(trace, index, &piece->block.counters, err);
    }
}

static void let_block_go(struct chrome_piece *piece)
{
    const struct trace *trace = piece->writer->trace;
    switch (piece->family) {
    case FAMILY_SPANS:
        trace_spans_put(trace, &piece->block.spans);
        break;
    case FAMILY_SAMPLES:
        trace_samples_put(trace, &piece->block.samples);
        break;
    case FAMILY_INSTANTS:
        trace_instants_put(trace, &piece->block.instants);
        break;
    case FAMILY_LINKS:
        trace_links_put(trace, &piece->block.links);
        break;
    default:
        trace_counters_put(trace, &piece->block.counters);
        break;
    }
}

int chrome_pieces_init(struct chrome_writer *writer, struct error *err)
{
    uint64_t rows = 0;
    for (unsigned family = 0; family < FAMILY_COUNT; family++)
        rows += trace_row_count(writer->trace, (enum family)family);
    if (rows >= ROWS_FOR_WORKERS)
        (void)thread_pool_create(0, &writer->pool); /* where no thread can be had, the caller makes all */
    int r = ordered_jobs_create(writer->pool, make_job, writer, &writer->jobs);
    size_t slots = r == 0 ? ordered_jobs_slots(writer->jobs) : 0;
    writer->pieces = calloc(slots + 1, sizeof(*writer->pieces));
    if (r < 0 || !writer->pieces)
        return error_set(err, -ENOMEM, "chrome: cannot prepare the export");
    for (; writer->piece_count < slots && r == 0; writer->piece_count++) {
        struct chrome_piece *piece = &writer->pieces[writer->piece_count];
        piece->writer = writer;
        piece->drawn = malloc(CHROME_PIECE_ROWS * sizeof(*piece->drawn));
        r = json_out_init_memory(&piece->out);
        if (!piece->drawn)
            r = -ENOMEM;
    }
    return r < 0 ? error_set(err, r, "chrome: cannot prepare the export") : 0;
}

/* After a failure there may be pieces that nobody writes any more. */
void chrome_pieces_finish(struct chrome_writer *writer)
{
    size_t slot;
    while (writer->jobs && ordered_jobs_take(writer->jobs, &slot)) {
        let_block_go(&writer->pieces[slot]);
        ordered_jobs_release(writer->jobs);
    }
    ordered_jobs_destroy(writer->jobs);
    thread_pool_destroy(writer->pool);
    for (size_t i = 0; i < writer->piece_count; i++) {
        json_out_finish_memory(&writer->pieces[i].out);
        free(writer->pieces[i].drawn);
    }
    free(writer->pieces);
}

/* Writes the oldest piece; false: there is none. */
static bool write_oldest(struct chrome_writer *writer, int *ret_result, struct error *err)
{
    size_t slot;
    if (!ordered_jobs_take(writer->jobs, &slot))
        return false;
    struct chrome_piece *piece = &writer->pieces[slot];
    for (;;) {
        if (piece->result < 0)
            break;
        file_write(writer->out.file, piece->out.start, (size_t)(piece->out.at - piece->out.start));
        if (piece->next == piece->end)
            break;
        make_step(piece);
    }
    *ret_result = piece->result;
    if (piece->result < 0)
        error_set_errno(err, piece->result, "chrome: cannot write the %s of block %u", family_names[piece->family], piece->index);
    let_block_go(piece);
    ordered_jobs_release(writer->jobs);
    return true;
}

int chrome_pieces_block(struct chrome_writer *writer, enum family family, uint32_t index,
                        int (*prepare)(struct chrome_writer *writer, struct chrome_piece *piece), struct error *err)
{
    struct block_info info = trace_block_info(writer->trace, family, index);
    walk_step(&writer->walk);
    if (family != FAMILY_LINKS && info.track.index >= writer->track_count) /* links are of no track */
        return 0;
    json_out_flush(&writer->out);
    for (uint32_t from = 0; from < info.count; from += CHROME_PIECE_ROWS) {
        size_t slot;
        int r = 0;
        if (!ordered_jobs_room(writer->jobs, &slot))
            write_oldest(writer, &r, err);
        struct chrome_piece *piece = &writer->pieces[slot];
        if (r < 0 || (r = hold_block(piece, family, index, err)) < 0)
            return r;
        piece->next = from;
        piece->end = from + CHROME_PIECE_ROWS < info.count ? from + CHROME_PIECE_ROWS : info.count;
        piece->first_event = writer->first_event;
        piece->result = prepare ? prepare(writer, piece) : 0;
        writer->first_event = false;
        writer->written[family] += piece->end - from;
        ordered_jobs_queue(writer->jobs);
    }
    return 0;
}

int chrome_pieces_end(struct chrome_writer *writer, struct error *err)
{
    int r = 0;
    while (r == 0 && write_oldest(writer, &r, err))
        ;
    return r;
}
