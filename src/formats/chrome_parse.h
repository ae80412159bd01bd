/* SPDX-License-Identifier: MIT */
/*
 * A piece of an event array, parsed into a batch: fixed-size events, the piece's distinct strings and tracks once. Pieces
 * are parsed in parallel from guessed starts; whoever takes the batches in order checks that each began where its
 * predecessor ended, so that a wrong guess costs time and nothing else.
 */
#ifndef HP_FORMATS_CHROME_PARSE_H
#define HP_FORMATS_CHROME_PARSE_H

#include "json_scan.h"

enum chrome_event_flags {
    EVENT_HAS_TS = 1,
    EVENT_HAS_DUR = 2,
    EVENT_BAD_TIME = 4,   /* no number, negative duration, or beyond what the trace model holds */
    EVENT_NOT_OBJECT = 8, /* an element of the array that is no event at all */
};

struct chrome_event {
    int64_t ts_ns, dur_ns;
    uint32_t name, category;    /* of the batch's strings; 0 = none */
    uint32_t track;             /* of the batch's tracks */
    uint32_t args_at, args_size;/* the args object, from the batch's start; size 0 = none */
    uint32_t extra;             /* of the batch's extras; 0 = none */
    char phase;                 /* 0 = missing or longer than a character */
    uint8_t flags;
};

/* What few events have. Absent views have no data. */
struct chrome_extra {
    struct json_view id, scope, bind_id, sf, stack;
    struct json_view kind, payload, name_hex, cat_hex, args_hex, cpu, weight, correlation, parent, sample_flags; /* ours */
    bool id_local;              /* id2.local: belongs to the process */
    bool flow_in, flow_out;
    bool bind_enclosing;        /* "bp":"e" */
    char instant_scope;         /* 'g', 'p', 't'; 0 = not said */
};

/* pid or tid: an integer as it is, anything else by its text. */
struct chrome_scalar {
    enum { SCALAR_NONE, SCALAR_INTEGER, SCALAR_TEXT } type;
    int64_t value;
    struct json_view text;      /* SCALAR_TEXT */
};
struct chrome_track_key {
    struct chrome_scalar pid, tid;
};

struct chrome_batch {
    const char *start, *end;    /* first element; where the next one starts (or what stopped us) */
    bool array_ended;           /* end is behind the ']' */
    enum json_state state;      /* JSON_OK, or what failed at `failed_at` */
    const char *failed_at, *what;
    struct chrome_event *events;
    size_t event_count, event_capacity;
    struct chrome_extra *extras;
    size_t extra_count, extra_capacity;
    struct json_view *strings;
    size_t string_count, string_capacity;
    struct chrome_track_key *tracks;
    size_t track_count, track_capacity;
    uint32_t *string_slots, *track_slots; /* hash tables of indexes */
    size_t string_slot_count, track_slot_count;
    bool out_of_memory;
};

void chrome_batch_finish(struct chrome_batch *batch);
/*
 * Parses elements from `start` (an element, or the ']') until one starts at or behind `limit`, the array ends, or something
 * fails. end: of the whole text. as_samples: elements are of the "samples" array and have no phase.
 */
void chrome_batch_parse(struct chrome_batch *batch, const char *start, const char *limit, const char *end, bool as_samples);
/* Where an element probably starts at or behind `at`: after "}, {" outside of what looks like a string; `end` if nowhere. */
const char *chrome_guess_element(const char *at, const char *end);

#endif
