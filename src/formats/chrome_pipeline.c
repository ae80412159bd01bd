/* SPDX-License-Identifier: MIT */
/*
 * An event array in pieces: workers parse ahead of the caller, who takes the batches in order. A piece starts at a guess;
 * the first piece's start is certain, and each batch's end is the next one's true start: a piece that guessed wrong is
 * parsed once more from there. Whoever waits for a piece that nobody has begun parses it himself.
 */
#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/thread_pool.h"
#include "chrome_import.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

enum piece_state { PIECE_FREE, PIECE_QUEUED, PIECE_RUNNING, PIECE_DONE };

struct pipeline;
struct piece {
    struct pipeline *pipeline;
    struct chrome_batch batch;
    const char *start, *limit;
    atomic_int state;
};

#define PIECES_MAX 34
struct pipeline {
    struct chrome_import *import;
    const char *end;
    bool as_samples;
    struct piece pieces[PIECES_MAX];
    size_t piece_count;
    uint64_t queued, taken;    /* pieces so far; piece n is in pieces[n % piece_count] */
    const char *next_start;    /* of the next piece to queue; end = none left */
    pthread_mutex_t lock;
    pthread_cond_t done;
};

static void piece_parse(struct piece *piece)
{
    chrome_batch_parse(&piece->batch, piece->start, piece->limit, piece->pipeline->end, piece->pipeline->as_samples);
}

/* A worker may come late, when the caller has parsed the piece and queued another in its place: then it takes that. */
static void piece_job(void *context)
{
    struct piece *piece = context;
    int expected = PIECE_QUEUED;
    if (!atomic_compare_exchange_strong(&piece->state, &expected, PIECE_RUNNING))
        return;
    piece_parse(piece);
    pthread_mutex_lock(&piece->pipeline->lock);
    atomic_store(&piece->state, PIECE_DONE);
    pthread_cond_broadcast(&piece->pipeline->done);
    pthread_mutex_unlock(&piece->pipeline->lock);
}

static void queue_pieces(struct pipeline *pipeline)
{
    struct chrome_import *import = pipeline->import;
    while (pipeline->next_start < pipeline->end && pipeline->queued - pipeline->taken < pipeline->piece_count) {
        struct piece *piece = &pipeline->pieces[pipeline->queued % pipeline->piece_count];
        size_t left = (size_t)(pipeline->end - pipeline->next_start);
        piece->start = pipeline->next_start;
        piece->limit = left <= import->chunk_bytes ? pipeline->end
                                                   : chrome_guess_element(piece->start + import->chunk_bytes, pipeline->end);
        pipeline->next_start = piece->limit;
        atomic_store(&piece->state, PIECE_QUEUED);
        pipeline->queued++;
        if (import->pool)
            (void)thread_pool_submit(import->pool, piece_job, piece); /* refused: the caller parses it */
    }
}

static struct piece *take_piece(struct pipeline *pipeline)
{
    struct piece *piece = &pipeline->pieces[pipeline->taken % pipeline->piece_count];
    int expected = PIECE_QUEUED;
    if (atomic_compare_exchange_strong(&piece->state, &expected, PIECE_RUNNING)) {
        piece_parse(piece);
        atomic_store(&piece->state, PIECE_DONE);
        return piece;
    }
    pthread_mutex_lock(&pipeline->lock);
    while (atomic_load(&piece->state) != PIECE_DONE)
        pthread_cond_wait(&pipeline->done, &pipeline->lock);
    pthread_mutex_unlock(&pipeline->lock);
    return piece;
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
        queue_pieces(pipeline);
        if (pipeline->taken == pipeline->queued) {
            import->truncated = true;
            return 0;
        }
        struct piece *piece = take_piece(pipeline);
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
        atomic_store(&piece->state, PIECE_FREE);
        pipeline->taken++;
        if (stop)
            return r;
    }
}

int chrome_parse_array(struct chrome_import *import, struct json *json, bool as_samples, chrome_consume *consume, struct error *err)
{
    struct pipeline *pipeline = calloc(1, sizeof(*pipeline));
    if (!pipeline)
        return import_failed(import, -ENOMEM, err);
    json_space(json);
    pipeline->import = import;
    pipeline->end = json->end;
    pipeline->as_samples = as_samples;
    pipeline->next_start = json->at;
    pipeline->piece_count = import->pool ? thread_pool_size(import->pool) + 2 : 1;
    if (pipeline->piece_count > PIECES_MAX)
        pipeline->piece_count = PIECES_MAX;
    for (size_t i = 0; i < pipeline->piece_count; i++)
        pipeline->pieces[i].pipeline = pipeline;
    pthread_mutex_init(&pipeline->lock, NULL);
    pthread_cond_init(&pipeline->done, NULL);
    int r = run(pipeline, &json->at, consume, err);
    /* What was queued in vain must not start any more; what runs must end before its memory goes. */
    for (size_t i = 0; i < pipeline->piece_count; i++) {
        int expected = PIECE_QUEUED;
        atomic_compare_exchange_strong(&pipeline->pieces[i].state, &expected, PIECE_FREE);
    }
    if (import->pool)
        thread_pool_wait(import->pool);
    for (size_t i = 0; i < pipeline->piece_count; i++)
        chrome_batch_finish(&pipeline->pieces[i].batch);
    pthread_cond_destroy(&pipeline->done);
    pthread_mutex_destroy(&pipeline->lock);
    free(pipeline);
    return r;
}
