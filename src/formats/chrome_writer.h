/* SPDX-License-Identifier: MIT */
/* The parts of writing Chrome JSON, for chrome_write*.c only. The file is described in docs/formats/chrome.md. */
#ifndef HP_FORMATS_CHROME_WRITER_H
#define HP_FORMATS_CHROME_WRITER_H

#include "json_out.h"
#include "lanes.h"
#include "selection.h"
#include "trace/nesting.h"

#define CHROME_FORMAT_VERSION 1
/* A file that begins so is ours: its events carry the keys of docs/formats/chrome.md and its section is at the end. */
#define CHROME_OWN_HEAD "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"generator\":\"hprofiler\",\"format\":"

struct chrome_lane {
    uint32_t tid;
    char text[64]; /* ,"pid":1,"tid":2,"ts": */
    uint8_t length;
};

struct chrome_writer {
    const struct trace *trace;
    struct selection selection;
    struct json_out out;
    struct json_strings strings;
    struct text scratch;
    uint64_t shift_ns;              /* added to every time: written times are never negative */
    const struct trace_process *processes;
    const struct trace_track *tracks;
    uint32_t process_count, track_count;
    uint8_t *used;                  /* per track: mask of 1 << family with rows */
    bool first_event, first_key;    /* no comma before the next one */

    /* The track being written: its lanes; beyond the first, tids are drawn from next_tid. */
    struct lanes lanes;
    struct nesting nesting;
    struct chrome_lane *lane;
    size_t lane_count, lane_capacity;
    uint32_t next_tid;
    struct chrome_extra_lane {
        track_id track;
        uint32_t tid;
    } *extra;                       /* in order of tid */
    size_t extra_count, extra_capacity;

    uint32_t written_spans;
    uint32_t *ordinals;             /* by span id: its place among the spans written, UINT32_MAX = left out; NULL = the id */
    uint32_t span_count;
    struct chrome_place {
        uint64_t ts_ns;
        uint32_t pid, tid;
        bool bindable;              /* viewers can hang an arrow on it: it has a duration */
    } *places;                      /* by ordinal; only where there are links */
    uint64_t link_salt;             /* upper bits of flow ids: they stay apart when files are merged */
    uint64_t written_links, written_samples, written_instants, written_counters;
};

/* Times on the file's axis; differences of int64 are exact in uint64. */
static inline uint64_t chrome_time(const struct chrome_writer *writer, int64_t time_ns)
{
    return (uint64_t)time_ns + writer->shift_ns;
}

uint32_t chrome_pid(const struct chrome_writer *writer, process_id process);
uint32_t chrome_tid(const struct chrome_writer *writer, track_id track);
/* Starts an event: ",\n" before all but the first. */
void chrome_event(struct chrome_writer *writer);
/* The number of a span in the file; false when it was left out. */
bool chrome_ordinal(const struct chrome_writer *writer, span_id span, uint32_t *ret_ordinal);

int chrome_write_spans(struct chrome_writer *writer, struct error *err);
int chrome_write_points(struct chrome_writer *writer, struct error *err);  /* instants, counter values, flows */
int chrome_write_samples(struct chrome_writer *writer, struct error *err); /* "samples" and "stackFrames" */
int chrome_write_section(struct chrome_writer *writer, struct error *err);
/* Keys shared by spans and instants, after "ts" and "dur": payload and what strict JSON could not keep. */
int chrome_write_args(struct chrome_writer *writer, const uint8_t *payload, size_t size, bool name_exact, string_id name,
                      bool category_exact, string_id category);

#endif
