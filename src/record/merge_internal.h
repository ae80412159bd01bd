/* SPDX-License-Identifier: MIT */
/* The merge's insides, shared by merge*.c of the core: sources, clocks, life of processes. */
#ifndef HP_RECORD_MERGE_INTERNAL_H
#define HP_RECORD_MERGE_INTERNAL_H

#include "base/map.h"
#include "merge.h"

/* ticks -> ns as one line: exact over any length of run, one multiplication a time. */
struct clock_line {
    bool known;
    uint64_t ticks;
    int64_t ns;
    uint64_t factor; /* ns per tick, times 2^48 */
};

struct clock_pair {
    uint64_t ticks;
    int64_t raw_ns;
    uint64_t spread;
};
struct clock_pairs {
    struct clock_pair *items;
    size_t count, capacity;
};
int clock_pairs_add(struct clock_pairs *pairs, const struct wire_calibration *record);
/* The line through two good pairs far apart. Leaves known = false when there are not two. Sorts the pairs. */
void clock_line_fit(struct clock_pairs *pairs, struct clock_line *ret_line);
int64_t clock_line_at(const struct clock_line *line, uint64_t ticks);

/* One program image that had a runtime in it: its process file. */
struct merge_process {
    uint64_t key;
    int32_t pid;              /* in the recorder's namespace */
    const struct wire_process *map; /* the file: a copy if it is small, as mappings are limited in number */
    size_t size;
    bool mapped;
    struct clock_line line;
    bool line_tried;
    uint64_t untimed;         /* times that could not be placed */
    process_id process;       /* NONE until the life of processes is known */
    uint64_t logged;          /* bytes of its log that were read: more may come when the recording is followed */
    struct map strings;       /* id -> string_id + 1 */
    struct map threads;       /* serial -> track */
    bool unreadable;          /* while following: what its threads are in cannot be seen */
};

enum { MERGE_PARTS_MAXIMUM = 16 };

struct merge {
    const char *directory;
    int directory_fd;
    const struct merge_options *options;
    const struct wire_session *session;
    size_t session_bytes;
    bool local;               /* of this boot: pids may still live, ticks compare */
    struct trace_builder *builder;
    node_id node;
    struct merge_process **processes; /* sorted by key; each stays where it is */
    size_t process_count, process_capacity;
    size_t sorted_count;      /* of them; the others came with the present look at the directory */
    uint32_t announced;       /* while following: what targets had announced at the last look */
    bool look_again;          /* a file was still being made */
    struct clock_pairs pairs; /* the recorder's */
    struct clock_line line;
    bool line_tried;
    struct map covered;       /* hash of (key, chunk, lap) -> bytes that are in the spool */
    bool launcher_rank_known; /* the launcher started one recorder a rank: this is the whole recording's */
    int32_t launcher_rank;
    bool recycled;            /* --buffer-limit dropped the oldest records */
    bool ahead;               /* a part asks for MERGE_AHEAD */
    bool finished;            /* the recorder wrote its last word: else the recording was cut off */
    bool cancelled;           /* atomic: nobody wants to know any more, while following */
    bool following;           /* it goes on: sources are read on from where they ended, and parts place what they can by now */
    int64_t lines_length_ns;  /* of the pairs when lines were last drawn, while following */
    struct spool_marks *marks; /* where to read on in the spool, while following */
    void *states[MERGE_PARTS_MAXIMUM];
    const struct merge_handler *handlers[MERGE_PASSES][256]; /* by kind */
    struct map unknown;       /* kind -> count */
    uint64_t unknown_records, damaged_records, refused_records;
};

extern const struct merge_part *const merge_parts[MERGE_PARTS_MAXIMUM]; /* ends with NULL */

/* merge_events.c: adds a span of a target, shown to the parts that want to see its layer. */
int merge_add_span(struct merge *merge, struct merge_span *span, span_id *ret_handle);

/* What a span's or instant's fixed part says of its payload. Durations are in the stream's clock, or `raw`: in ns already. */
void merge_payload(struct merge *merge, const struct merge_stream *stream, const struct wire_header *record, uint8_t kind,
                   uint32_t present, bool raw, struct payload *payload);
string_id merge_category(struct merge *merge, const struct merge_stream *stream, uint32_t category, uint8_t layer);

/* merge_devices.c: what ran on devices comes into the trace after everything of hosts, and before links are resolved. */
int merge_devices_place(struct merge *merge);
/* The track of a device as a whole; made if there is none yet. */
int merge_device_track(struct merge *merge, const struct merge_process *process, uint8_t layer, int32_t device, track_id *ret_track);

/* merge.c */
enum merge_moment { MERGE_BETWEEN, MERGE_FINISH, MERGE_ROUND };
int merge_open(struct merge *merge, struct error *err);
int merge_take(struct merge *merge, struct error *err); /* all that its sources have; while following: what is new in them */
int merge_parts_call(struct merge *merge, enum merge_moment moment, struct error *err);
void merge_close(struct merge *merge);

/* merge_clock.c */
void merge_lines_forget(struct merge *merge); /* there are pairs farther apart now */

/* merge_sources.c */
int merge_sources_open(struct merge *merge, struct error *err);
void merge_sources_close(struct merge *merge);
int merge_sources_pass(struct merge *merge, enum merge_pass pass, struct error *err);

/* merge_life.c */
int merge_life_claim(struct merge *merge); /* gives each process file its program image, once the spool's life is known */

#endif
