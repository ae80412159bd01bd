/* SPDX-License-Identifier: MIT */
/*
 * From a session directory to a trace: the spool, whole or not, and the chunks that were never packed, record by record
 * through a table of handlers by kind. merge.c knows processes, threads, clocks and strings; each handler turns its kinds
 * into rows of the trace.
 *
 * Two passes over everything: MERGE_LIFE (processes, threads, names, calibration, strings, modules), then MERGE_ROWS. Between
 * them, where a part asks for it, MERGE_AHEAD over the targets' threads: for what must be known before the rows.
 *
 * A recording that goes on is followed (merge_follow.h): the same passes, again and again, each over what is new; `between` comes each
 * time, `round` in the place of `finish`.
 */
#ifndef HP_RECORD_MERGE_H
#define HP_RECORD_MERGE_H

#include "record.h"
#include "spool.h"
#include "trace/builder.h"
#include "wire/session.h"

struct merge;

enum merge_pass { MERGE_LIFE, MERGE_AHEAD, MERGE_ROWS, MERGE_PASSES };

/* The spool's own stream and a process log come before the streams of threads. The stream a record came from. `process` is NULL in the recorder's own streams: times are ns, strings are inline. */
struct merge_process;
struct merge_stream {
    struct spool_stream id;
    struct merge_process *process;
    track_id track;            /* of the thread, in a target's stream; NONE before MERGE_ROWS and in the recorder's streams */
};

struct merge_handler {
    uint16_t kind;             /* enum wire_kind; the record is at least wire_kind_size(kind) bytes */
    enum merge_pass pass;
    int (*handle)(struct merge *merge, const struct merge_stream *stream, const struct wire_header *record); /* 0, -errno ends the merge */
};

/* A span of a target, on its way into the trace. */
struct merge_span {
    const struct merge_stream *stream;
    uint8_t layer;             /* enum wire_layer */
    struct span *span;
    struct payload *payload;   /* kind PAYLOAD_NONE = none */
};

/* A module of the merge with state of its own: created before the first pass, finished after the last. All may be NULL. */
struct merge_part {
    const char *name;
    uint32_t layers;           /* bit of each enum wire_layer whose spans it wants to see */
    int (*prepare)(struct merge *merge, void *state, struct merge_span *span);                      /* may still change it */
    int (*note)(struct merge *merge, void *state, const struct merge_span *span, span_id handle);   /* it is in the builder */
    int (*create)(struct merge *merge, void **ret_state, struct error *err);
    const char *ahead;         /* MERGE_AHEAD is made if a process had a collector whose name begins so */
    int (*between)(struct merge *merge, void *state, struct error *err);  /* after MERGE_LIFE and MERGE_AHEAD */
    int (*finish)(struct merge *merge, void *state, struct error *err);   /* after MERGE_ROWS */
    int (*round)(struct merge *merge, void *state, struct error *err);    /* while following: places what is known by now */
    void (*destroy)(void *state);
    const struct merge_handler *handlers; /* ends with kind 0 */
};
extern const struct merge_part merge_part_life;     /* merge_life.c: processes, threads, metadata, ledger */
extern const struct merge_part merge_part_events;   /* merge_events.c: spans, instants, counters, links */
extern const struct merge_part merge_part_samples;  /* merge_samples.c: everything of sampling */
extern const struct merge_part merge_part_devices;  /* merge_devices.c: devices, queues and what ran on them */
extern const struct merge_part merge_part_openmp;   /* merge_openmp.c: names of regions, fork, join, barriers, tasks, locks */
extern const struct merge_part merge_part_gomp;     /* merge_gomp.c: what libgomp's wrappers leave to the merge */
extern const struct merge_part merge_part_counters; /* merge_counters.c: counters of devices, read by the recorder */
extern const struct merge_part merge_part_cuda;     /* merge_cuda.c: names of kernels */
extern const struct merge_part merge_part_memory;   /* merge_memory.c: memory in use on devices */
extern const struct merge_part merge_part_nccl;     /* merge_nccl.c: groups of collectives */
extern const struct merge_part merge_part_mpi;      /* merge_mpi.c: ranks, communicators, requests, messages, collectives */

void *merge_state(struct merge *merge, const struct merge_part *part);
struct trace_builder *merge_builder(struct merge *merge);
const struct merge_options *merge_get_options(const struct merge *merge);
bool merge_same_boot(const struct merge *merge); /* recorded since this machine was started: kernel addresses mean the same */
const char *merge_directory(const struct merge *merge);
bool merge_is_following(const struct merge *merge); /* of a recording that goes on */

/* A time of a stream on the trace's axis (ns since the session's start). */
int64_t merge_time(struct merge *merge, const struct merge_stream *stream, uint64_t time);
/* ns of CLOCK_MONOTONIC_RAW of the recorder on the trace's axis. */
int64_t merge_time_raw(const struct merge *merge, int64_t raw_ns);
/* A duration of a stream in ns. */
uint64_t merge_duration(struct merge *merge, const struct merge_stream *stream, uint64_t duration);
/* The text of a process' string id in the trace's table; STRING_NONE when unknown. */
string_id merge_string(struct merge *merge, const struct merge_stream *stream, uint32_t id);

/* The program image of a pid (recorder's namespace) at a time on the trace's axis; made if there is none yet. */
process_id merge_process_at(struct merge *merge, int32_t pid, int64_t time_ns);
/* A thread's track in it; made if there is none yet. */
track_id merge_thread_at(struct merge *merge, int32_t pid, int32_t tid, int64_t time_ns);
/* The thread's on/off-CPU lane (TRACK_SCHED) beside it. */
track_id merge_sched_at(struct merge *merge, int32_t pid, int32_t tid, int64_t time_ns);
/* In a target's stream: the process as the recorder numbers it. */
int32_t merge_stream_pid(const struct merge_stream *stream);
process_id merge_stream_process(struct merge *merge, const struct merge_stream *stream);

/* Between MERGE_ROWS and the end: the span of a correlation, NONE if it was not recorded. */
span_id merge_span_find(struct merge *merge, const struct merge_process *process, unsigned layer, uint64_t correlation);

/* What lies at a code address of a process: names as the symbolizer has them. `caller`: the address is a return address. From
 * `between` on. */
struct merge_location {
    string_id function, module, file; /* function: demangled, not what is inlined into it, or module+0xoffset; NONE: nothing is known */
    uint32_t line;                    /* 0 = unknown */
    uint32_t inner_line;              /* where the source has it: of what is inlined there, innermost; 0 = unknown, as are the other two then */
    string_id inner_function, inner_file;
};
int merge_locate(struct merge *merge, const struct merge_stream *stream, uint64_t address, bool caller, int64_t time_ns,
                 struct merge_location *ret_location);

#endif
