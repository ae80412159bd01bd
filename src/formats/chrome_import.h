/* SPDX-License-Identifier: MIT */
/* From parsed events to a trace: the state of one import, shared by the chrome_*.c files. */
#ifndef HP_FORMATS_CHROME_IMPORT_H
#define HP_FORMATS_CHROME_IMPORT_H

#include "base/map.h"
#include "chrome_parse.h"
#include "trace/builder.h"

struct log;
struct progress;
struct thread_pool;

/* Why an event was not taken: counted by reason and put into the ledger. */
#define CHROME_LOSSES(X)                                                                                               \
    X(TIME, "event without a usable time")                                                                             \
    X(NOT_EVENT, "element that is no event object")                                                                    \
    X(PHASE, "event type that is not known")                                                                           \
    X(OBJECT, "object, memory and clock events")                                                                       \
    X(END, "end without a begin")                                                                                      \
    X(COUNTER, "counter value that is no number")                                                                      \
    X(FLOW, "flow without a span to hang on")                                                                          \
    X(METADATA, "metadata event without a use")                                                                        \
    X(STACK, "stack frame that is not in the file")                                                                    \
    X(ARGS, "arguments over 16 MiB")
enum chrome_loss {
#define X(enumerator, text) CHROME_LOSS_##enumerator,
    CHROME_LOSSES(X)
#undef X
    CHROME_LOSS_COUNT
};

struct import_process {
    process_id id;
    track_id whole;         /* track of the whole process, made when needed */
    int64_t first_ns;       /* earliest event; INT64_MAX before any */
    bool named;
};

struct open_span {
    struct span span;
    const char *args;       /* in the file; NULL = none */
    uint32_t args_size;
};

struct import_thread {
    uint32_t process;       /* of the import */
    track_id track;
    struct open_span *open; /* "B" without "E" yet, outermost first */
    size_t open_count, open_capacity;
};

/* Where and what of each span, for flows: kept until the end of a foreign file. */
struct placed {
    int64_t begin_ns, end_ns;
    uint32_t track, handle;
};

struct flow_point {
    uint64_t key;           /* of category, name and id */
    int64_t ts_ns;
    uint32_t track;
    uint32_t handle;        /* of the span, when it is known; else ID_NONE */
    uint32_t order;         /* in the file */
    bool is_next;           /* binds to the next span that begins, not to the enclosing one */
    bool is_launch;
};

struct async_group;

struct chrome_import {
    const char *name;       /* in errors */
    const char *data;
    size_t size, chunk_bytes;
    bool mapped;            /* pages can be dropped once they were read */
    size_t dropped;
    const struct log *log;
    const struct progress *progress;
    struct thread_pool *pool; /* NULL = parse here */

    struct trace_builder *builder;
    struct string_table *strings;
    struct text scratch, scratch_other;
    string_id *string_ids;  /* of the batch; UINT32_MAX = not interned yet */
    size_t string_id_capacity;
    uint32_t *thread_ids;   /* of the batch's tracks: thread of the import; UINT32_MAX = not looked up yet */
    size_t thread_id_capacity;

    /* foreign */
    node_id node;
    struct map process_map, thread_map;
    struct import_process *processes;
    size_t process_count, process_capacity;
    struct import_thread *threads;
    size_t thread_count, thread_capacity;
    struct map counter_map; /* process, name, id, series: track */
    struct map async_map, async_group_map;
    struct async_open *async;
    size_t async_count, async_capacity;
    struct async_group *async_groups;
    size_t async_group_count, async_group_capacity;
    struct placed *placed;
    size_t placed_count, placed_capacity;
    struct flow_point *flows;
    size_t flow_count, flow_capacity;
    struct map frame_map;   /* key of a stackFrames entry: stack id */
    bool frames_sought;
    const char *behind_events; /* where stackFrames may still come, while the events are read; NULL = nowhere */
    uint64_t seen, lost[CHROME_LOSS_COUNT];

    /* ours */
    bool own_keys;          /* written by us */
    bool own;               /* and its section was found: tracks and stacks are known */
    bool ordinals_valid;    /* nobody changed the file: spans can be named by their number */
    uint64_t shift_ns;
    struct chrome_own *own_state;

    bool truncated;
};

/* 0 or a failure with err set. */
typedef int chrome_consume(struct chrome_import *import, const struct chrome_batch *batch, struct error *err);

int import_failed(struct chrome_import *import, int code, struct error *err); /* of the builder or memory */
int import_syntax(struct chrome_import *import, const char *at, const char *expected, struct error *err);
string_id import_string(struct chrome_import *import, const struct json_view *view);
/* Clears the per-batch tables. */
int import_begin_batch(struct chrome_import *import, const struct chrome_batch *batch);
string_id import_batch_string(struct chrome_import *import, const struct chrome_batch *batch, uint32_t index);
/* Bytes of a hex view into scratch; false if it is no hex. */
bool import_hex(struct chrome_import *import, const struct json_view *view, struct text *out);

/* chrome_pipeline.c: all elements of the array whose '[' was taken; json->at moves behind its end. */
int chrome_parse_array(struct chrome_import *import, struct json *json, bool as_samples, chrome_consume *consume, struct error *err);

/* chrome_foreign.c */
int foreign_begin(struct chrome_import *import, struct error *err);
int foreign_consume(struct chrome_import *import, const struct chrome_batch *batch, struct error *err);
int foreign_end(struct chrome_import *import, struct error *err);
void foreign_finish(struct chrome_import *import);
int foreign_add_span(struct chrome_import *import, const struct span *span, const char *args, uint32_t args_size, uint32_t *ret_handle);
int foreign_add_instant(struct chrome_import *import, track_id track, const struct instant *instant,
                        const struct chrome_batch *batch, const struct chrome_event *event);
void foreign_lose(struct chrome_import *import, enum chrome_loss loss);
int foreign_whole_track(struct chrome_import *import, uint32_t process, track_id *ret_track);

/* chrome_async.c: what is not bound to a thread, and counters */
int async_event(struct chrome_import *import, const struct chrome_batch *batch, const struct chrome_event *event, uint32_t thread);
int async_end(struct chrome_import *import);
void async_finish(struct chrome_import *import);
int counter_event(struct chrome_import *import, const struct chrome_batch *batch, const struct chrome_event *event, uint32_t thread);

/* chrome_flow.c */
int flow_event(struct chrome_import *import, const struct chrome_batch *batch, const struct chrome_event *event, uint32_t track);
int flow_bind(struct chrome_import *import, const struct chrome_extra *extra, int64_t ts_ns, uint32_t handle);
int flow_end(struct chrome_import *import);

/* chrome_stacks.c */
int stacks_read(struct chrome_import *import, struct json *json, struct error *err);
int stacks_find(struct chrome_import *import, const struct json_view *frame, stack_id *ret_stack, struct error *err);

/* chrome_section.c, chrome_own.c */
int own_begin(struct chrome_import *import, struct error *err); /* finds the section; import->own says whether */
int own_consume(struct chrome_import *import, const struct chrome_batch *batch, struct error *err);
int own_end(struct chrome_import *import, struct error *err);
void own_finish(struct chrome_import *import);

#endif
