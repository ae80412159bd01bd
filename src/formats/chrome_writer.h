/* SPDX-License-Identifier: MIT */
/* The parts of writing Chrome JSON, for chrome_write*.c only. The file is described in docs/formats/chrome.md. */
#ifndef HP_FORMATS_CHROME_WRITER_H
#define HP_FORMATS_CHROME_WRITER_H

#include "base/ordered_jobs.h"
#include "json_out.h"
#include "lanes.h"
#include "trace/nesting.h"
#include "walk.h"

#define CHROME_FORMAT_VERSION 1
/* A file that begins so is ours: its events carry the keys of docs/formats/chrome.md and its section is at the end. */
#define CHROME_OWN_HEAD "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"generator\":\"hprofiler\",\"format\":"

#define CHROME_PIECE_ROWS 4096u

/* Text that stands in many events, copied whole. */
struct chrome_phrase {
    uint8_t length;
    char text[63];
};

/* Rows of one block on their way to text. Workers make it; all that depends on rows before is found when it is queued. */
struct chrome_piece {
    const struct chrome_writer *writer;
    struct json_out out;     /* in memory */
    enum family family;
    union {
        struct span_block spans;
        struct sample_block samples;
        struct instant_block instants;
        struct counter_block counters;
        struct link_block links;
    } block;                 /* held until the text is written */
    uint32_t index;          /* of the block */
    uint32_t next, end;      /* rows still to make */
    bool first_event;        /* no comma before the next one */
    int result;
    struct chrome_drawn {
        uint32_t tid;        /* of the lane */
        uint32_t nested_in;  /* id of the span around it on its track */
    } *drawn;                /* spans: of the rows from `drawn_from` on */
    uint32_t drawn_from;
    uint64_t link_number;    /* links: of the last one written before */
    uint32_t place_tid;      /* 0: none yet */
    uint8_t place_length;
    char place[64];          /* ,"pid":1,"tid":2,"ts": of that tid */
};

struct chrome_writer {
    const struct trace *trace;
    struct walk walk;
    struct json_out out;
    struct json_strings strings;
    uint64_t shift_ns;              /* added to every time: written times are never negative */
    const struct trace_process *processes;
    const struct trace_track *tracks;
    uint32_t process_count, track_count;
    uint8_t *used;                  /* per track: mask of 1 << family with rows */
    bool first_event, first_key;    /* no comma before the next one */

    struct chrome_phrases {
        struct chrome_phrase payloads[PAYLOAD_COUNT];                   /* ,"payload":"message" */
        struct chrome_phrase fields[PAYLOAD_COUNT][PAYLOAD_FIELDS_MAX]; /* "bytes": */
    } *phrases;

    struct thread_pool *pool;       /* NULL: no workers */
    struct ordered_jobs *jobs;
    struct chrome_piece *pieces;    /* one a slot of the jobs */
    size_t piece_count;

    /* The track being written: the tids of its lanes; beyond the first, they are drawn from next_tid. */
    struct lanes lanes;
    struct nesting nesting;
    uint32_t *lane_tids;
    size_t lane_count, lane_capacity;
    uint32_t next_tid;
    struct chrome_extra_lane {
        track_id track;
        uint32_t tid;
    } *extra;                       /* in order of tid */
    size_t extra_count, extra_capacity;

    uint32_t *block_ordinals;       /* by block of spans: the number of its first one in the file; NULL: numbers are ids */
    uint32_t span_count;
    struct chrome_place {
        uint64_t ts_ns, end_ts_ns;  /* equal: it has no duration, and viewers cannot hang an arrow on it */
        uint32_t pid, tid;
    } *places;                      /* by ordinal; only where there are links */
    uint32_t *request_ends;         /* by ordinal of what posted a request: what ended it; UINT32_MAX = nothing */
    uint64_t link_salt;             /* upper bits of flow ids: they stay apart when files are merged */
    uint64_t written_links, written[FAMILY_COUNT];
};

/* Times on the file's axis; differences of int64 are exact in uint64. */
static inline uint64_t chrome_time(const struct chrome_writer *writer, int64_t time_ns)
{
    return (uint64_t)time_ns + writer->shift_ns;
}

/* Starts an event: ",\n" before all but the first. */
static inline void chrome_event(struct json_out *out, bool *first)
{
    json_out_need(out, 2);
    if (!*first)
        *out->at++ = ',';
    *out->at++ = '\n';
    *first = false;
}

static inline void chrome_out_phrase(struct json_out *out, const struct chrome_phrase *phrase)
{
    json_out_need(out, sizeof(phrase->text));
    memcpy(out->at, phrase->text, sizeof(phrase->text)); /* a fixed size copies fastest */
    out->at += phrase->length;
}

uint32_t chrome_pid(const struct chrome_writer *writer, process_id process);
uint32_t chrome_tid(const struct chrome_writer *writer, track_id track);
/* The number of a span in the file; false when it is not in it. */
bool chrome_ordinal(const struct chrome_writer *writer, span_id span, uint32_t *ret_ordinal);
void chrome_out_place(struct json_out *out, uint32_t pid, uint32_t tid, uint64_t ts_ns); /* ,"pid":1,"tid":2,"ts":3.000 */

int chrome_phrases_make(struct chrome_writer *writer); /* 0 or -errno */
int chrome_write_spans(struct chrome_writer *writer, struct error *err);
int chrome_write_points(struct chrome_writer *writer, struct error *err);  /* instants, counter values, links */
int chrome_write_links(struct chrome_writer *writer, struct error *err);
int chrome_write_samples(struct chrome_writer *writer, struct error *err); /* "samples" and "stackFrames" */
int chrome_write_section(struct chrome_writer *writer, struct error *err);

/* Rows in pieces that workers make while the caller queues the next ones and writes those before. */
int chrome_pieces_init(struct chrome_writer *writer, struct error *err);
void chrome_pieces_finish(struct chrome_writer *writer);
/* Queues all rows of a block. prepare: finds what depends on rows before, as they are queued; NULL = nothing does. */
int chrome_pieces_block(struct chrome_writer *writer, enum family family, uint32_t index,
                        int (*prepare)(struct chrome_writer *writer, struct chrome_piece *piece), struct error *err);
int chrome_pieces_end(struct chrome_writer *writer, struct error *err); /* all that were queued are written */

int chrome_make_span(struct chrome_piece *piece, uint32_t row);
int chrome_make_sample(struct chrome_piece *piece, uint32_t row);
int chrome_make_instant(struct chrome_piece *piece, uint32_t row);
int chrome_make_counter(struct chrome_piece *piece, uint32_t row);
int chrome_make_link(struct chrome_piece *piece, uint32_t row);
bool chrome_make_id(struct chrome_piece *piece, string_id id); /* quoted; whether that reads back exactly */
/* Keys shared by spans and instants, after "ts" and "dur": payload and what strict JSON could not keep. */
int chrome_make_args(struct chrome_piece *piece, const uint8_t *payload, size_t size, bool name_exact, string_id name,
                     bool category_exact, string_id category);

#endif
