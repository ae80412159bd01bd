/* SPDX-License-Identifier: MIT */
/*
 * An event array in pieces: workers parse ahead of the caller, who takes the batches in order. A piece starts at a guess;
 * the first piece's start is certain, and each batch's end is the next one's true start: a piece that guessed wrong is
 * parsed once more from there.
 */
#include "base/error.h"
#include "base/log.h"
#include "base/ordered_jobs.h"
#include "base/progress.h"
#include "chrome_import.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

struct piece {
    struct chrome_batch batch;
    const char *start, *limit;
};

struct pipeline {
    struct chrome_import *import;
    const char *end;
    bool as_samples;
    struct piece pieces[ORDERED_JOBS_MAX];
    struct ordered_jobs *jobs;
    const char *next_start;    /* of the next piece to queue; end = none left */
};

static void piece_parse(void *context, size_t index)
{
    struct pipeline *pipeline = context;
    struct piece *piece = &pipeline->pieces[index];
    chrome_batch_parse(&piece->batch, piece->start, piece->limit, pipeline->end, pipeline->as_samples);
}

static void queue_pieces(struct pipeline *pipeline)
{
    struct chrome_import *import = pipeline->import;
    size_t index;
    while (pipeline->next_start < pipeline->end && ordered_jobs_room(pipeline->jobs, &index)) {
        struct piece *piece = &pipeline->pieces[index];
        size_t left = (size_t)(pipeline->end - pipeline->next_start);
        piece->start = pipeline->next_start;
        piece->limit = left <= import->chunk_bytes ? pipeline->end
                                                   : chrome_guess_element(piece->start + import->chunk_bytes, pipeline->end);
        pipeline->next_start = piece->limit;
        ordered_jobs_queue(pipeline->jobs);
    }
}

/* What was read is not needed in memory any more: views that are kept fault their page in again. */
static void drop_pages(struct chrome_import *import, const char *until)
{
    size_t whole = (size_t)(until - import->data) & ~(size_t)0xffff;
    if (!import->mapped || whole <= import->dropped)
        return;
    (void)madvise((void *)(uintptr_t)(import->data + import->dropped), whole - import->dropped, MADV_DONTNEED);
    import->dropped = whole;
}

static int batch_failure(struct chrome_import *import, const struct chrome_batch *batch, struct error *err)
{
    if (batch->out_of_memory)
        return import_failed(import, -ENOMEM, err);
    if (batch->state == JSON_BAD)
        return import_syntax(import, batch->failed_at, batch->what, err);
    return 0;
}

/* Takes pieces until the array ends, the text is cut, or something fails. *at: the certain start of the next element. */
static int run(struct pipeline *pipeline, const char **at, chrome_consume *consume, struct error *err)
{
    struct chrome_import *import = pipeline->import;
    for (;;) {
        size_t index;
        queue_pieces(pipeline);
        if (!ordered_jobs_take(pipeline->jobs, &index)) {
            import->truncated = true;
            return 0;
        }
        struct piece *piece = &pipeline->pieces[index];
        struct chrome_batch *batch = &piece->batch;
        if (piece->start != *at && *at < piece->limit)
            chrome_batch_parse(batch, *at, piece->limit, pipeline->end, pipeline->as_samples);
        bool useful = batch->start == *at;
        int r = 0;
        if (useful) {
            r = consume(import, batch, err);
            if (r == 0)
                r = batch_failure(import, batch, err);
            *at = batch->end;
            import->truncated |= batch->state == JSON_CUT;
            drop_pages(import, *at);
            progress_update(import->progress, "reading", (uint64_t)(*at - import->data), import->size);
        }
        bool stop = r < 0 || (useful && (batch->array_ended || batch->state != JSON_OK));
        ordered_jobs_release(pipeline->jobs);
        if (stop)
            return r;
    }
}

int chrome_parse_array(struct chrome_import *import, struct json *json, bool as_samples, chrome_consume *consume, struct error *err)
{
    struct pipeline *pipeline = calloc(1, sizeof(*pipeline));
    if (!pipeline || ordered_jobs_create(import->pool, piece_parse, pipeline, &pipeline->jobs) < 0) {
        free(pipeline);
        return import_failed(import, -ENOMEM, err);
    }
    json_space(json);
    pipeline->import = import;
    pipeline->end = json->end;
    pipeline->as_samples = as_samples;
    pipeline->next_start = json->at;
    int r = run(pipeline, &json->at, consume, err);
    ordered_jobs_destroy(pipeline->jobs);
    for (size_t i = 0; i < ORDERED_JOBS_MAX; i++)
        chrome_batch_finish(&pipeline->pieces[i].batch);
    free(pipeline);
    return r;
}
