/* SPDX-License-Identifier: MIT */
/*
 * Reading a trace. A `struct trace` is an immutable snapshot: small tables are at hand, bulk columns come in blocks that
 * are decoded on demand and held while they are used. Blocks of one family are numbered 0..count-1; a block belongs to one
 * track and is sorted by begin (or time); blocks of a finished trace are sorted by track, then begin, and its span ids are
 * positions in that order. A snapshot of a growing trace has several sorted runs a track (struct block_info.run), and the
 * ids of what it holds stay valid in later snapshots of the same trace. All readers are safe in several threads at once.
 */
#ifndef HP_TRACE_TRACE_H
#define HP_TRACE_TRACE_H

#include "base/cleanup.h"
#include "event.h"

struct error;
struct trace;

struct trace *trace_ref(struct trace *trace);
void trace_unref(struct trace *trace);
DEFINE_CLEANUP(struct trace *, trace_unref)

uint64_t trace_generation(const struct trace *trace); /* grows with each snapshot of a growing trace */
bool trace_is_growing(const struct trace *trace);

/* Small tables: arrays that live as long as the trace. */
const struct string_table *trace_strings(const struct trace *trace);
const char *trace_text(const struct trace *trace, string_id id);
const struct trace_node *trace_nodes(const struct trace *trace, uint32_t *ret_count);
const struct trace_process *trace_processes(const struct trace *trace, uint32_t *ret_count);
const struct trace_track *trace_tracks(const struct trace *trace, uint32_t *ret_count);
const struct trace_module *trace_modules(const struct trace *trace, uint32_t *ret_count);
const struct trace_frame *trace_frames(const struct trace *trace, uint32_t *ret_count);
const struct stack_node *trace_stacks(const struct trace *trace, uint32_t *ret_count);
const struct trace_group *trace_groups(const struct trace *trace, uint32_t *ret_count);
const struct ledger_entry *trace_ledger(const struct trace *trace, uint32_t *ret_count);
/* Metadata: key and value texts ("command", "exit_status", "start_realtime_ns", "sampling.event", ...); NULL if absent. */
const char *trace_metadata(const struct trace *trace, const char *key);
uint32_t trace_metadata_count(const struct trace *trace);
void trace_metadata_at(const struct trace *trace, uint32_t index, const char **ret_key, const char **ret_value);

/* Earliest begin and latest end of everything in it; both 0 for an empty trace. */
void trace_time_range(const struct trace *trace, int64_t *ret_begin_ns, int64_t *ret_end_ns);
/* Whether what lies within a span of this kind on this track is a part of it. On a device's lanes work runs side by side: there
 * only a whole graph has parts. */
bool trace_span_holds(const struct trace *trace, track_id track, uint8_t kind);
/* What threads were in when this snapshot of a recording was made, by track, then begin. Not among its spans, nor in its time range. */
const struct open_call *trace_open_calls(const struct trace *trace, uint32_t *ret_count);
/* The end of a span as far as it is known: an unfinished one ends with its track, else with the trace. */
int64_t trace_span_end(const struct trace *trace, track_id track, int64_t begin_ns, int64_t end_ns);

enum family { FAMILY_SPANS, FAMILY_SAMPLES, FAMILY_INSTANTS, FAMILY_COUNTERS, FAMILY_LINKS, FAMILY_MEMBERS, FAMILY_COUNT };

struct block_info {
    track_id track;             /* NONE for links and members */
    uint32_t run;               /* sorted run within the track; always 0 in a finished trace */
    uint32_t first;             /* id of row 0 (spans) or running number */
    uint32_t count;             /* rows, 1..65536 */
    int64_t begin_ns, end_ns;   /* least begin, greatest end */
};
uint32_t trace_block_count(const struct trace *trace, enum family family);
struct block_info trace_block_info(const struct trace *trace, enum family family, uint32_t block);
uint64_t trace_row_count(const struct trace *trace, enum family family);

/* Columns of spans, for those who need a few only (trace_spans_get_columns). Numbers are in files: append only. */
enum span_column {
    SPAN_COLUMN_BEGIN, SPAN_COLUMN_END, SPAN_COLUMN_NAME, SPAN_COLUMN_CATEGORY, SPAN_COLUMN_KIND, SPAN_COLUMN_PARENT,
    SPAN_COLUMN_CORRELATION, SPAN_COLUMN_STACK, SPAN_COLUMN_PAYLOAD_END, SPAN_COLUMN_PAYLOAD,
    SPAN_COLUMN_ORDER, /* internal to a trace that is being built */
    SPAN_COLUMN_COUNT
};
#define SPAN_COLUMN_BIT(column) (UINT32_C(1) << (column))

/* Decoded columns, `info.count` rows each. A NULL column means that every row has the absent value. */
struct span_block {
    struct block_info info;
    const int64_t *begin_ns, *end_ns;
    const string_id *name, *category;
    const uint8_t *kind;
    const span_id *parent;
    const uint64_t *correlation;
    const stack_id *stack;
    const uint32_t *payload_end; /* payload of row i is payload[payload_end[i-1] .. payload_end[i]) */
    const uint8_t *payload;
    void *hold;
};
struct sample_block {
    struct block_info info;
    const int64_t *time_ns, *weight;
    const stack_id *stack;
    const uint16_t *cpu;
    const uint8_t *event, *flags;
    void *hold;
};
struct instant_block {
    struct block_info info;
    const int64_t *time_ns;
    const string_id *name, *category;
    const uint32_t *payload_end;
    const uint8_t *payload;
    void *hold;
};
struct counter_block {
    struct block_info info;
    const int64_t *time_ns;
    const double *value;
    void *hold;
};
struct link_block {
    struct block_info info;
    const span_id *from, *to;
    const uint8_t *kind, *confidence;
    void *hold;
};
struct member_block {
    struct block_info info;
    const group_id *group;
    const span_id *span;
    const int32_t *rank;
    void *hold;
};

/* Decodes (or finds) a block and holds it until the matching _put. -EBADMSG with file and offset for a damaged one. */
int trace_spans_get(const struct trace *trace, uint32_t block, struct span_block *ret_block, struct error *err);
/* Only the columns whose bits are set are sure to be there; the others may be NULL though rows have values. Payloads are
 * the bulk of many traces: who doesn't look at them saves their decoding. */
int trace_spans_get_columns(const struct trace *trace, uint32_t block, uint32_t columns, struct span_block *ret_block,
                            struct error *err);
/* The same for who reads everything once: what isn't in the cache doesn't enter it. */
int trace_spans_scan(const struct trace *trace, uint32_t block, uint32_t columns, struct span_block *ret_block,
                     struct error *err);
void trace_spans_put(const struct trace *trace, struct span_block *block);
int trace_samples_get(const struct trace *trace, uint32_t block, struct sample_block *ret_block, struct error *err);
void trace_samples_put(const struct trace *trace, struct sample_block *block);
int trace_instants_get(const struct trace *trace, uint32_t block, struct instant_block *ret_block, struct error *err);
void trace_instants_put(const struct trace *trace, struct instant_block *block);
int trace_counters_get(const struct trace *trace, uint32_t block, struct counter_block *ret_block, struct error *err);
void trace_counters_put(const struct trace *trace, struct counter_block *block);
int trace_links_get(const struct trace *trace, uint32_t block, struct link_block *ret_block, struct error *err);
void trace_links_put(const struct trace *trace, struct link_block *block);
int trace_members_get(const struct trace *trace, uint32_t block, struct member_block *ret_block, struct error *err);
void trace_members_put(const struct trace *trace, struct member_block *block);

/* Bytes of rows that are kept at the moment: decoded columns (of all snapshots), levels of detail and tables. */
size_t trace_kept_bytes(const struct trace *trace);

/* Decodes the payload of one row; PAYLOAD_NONE when it has none; -EBADMSG for bytes that are not a payload. */
int payload_decode(const uint8_t *payload, size_t size, struct payload *ret_payload);
int span_payload(const struct span_block *block, uint32_t row, struct payload *ret_payload);
int instant_payload(const struct instant_block *block, uint32_t row, struct payload *ret_payload);

/* The block of a span, by binary search; false when there is no such span. */
bool trace_span_find(const struct trace *trace, span_id span, uint32_t *ret_block, uint32_t *ret_row);

/* Opens a native file (also one that is still being written, or truncated: what is whole is there, and says so). */
int trace_open_native(const char *path, struct trace **ret_trace, struct error *err);
/* A trace of a file that is truncated, damaged or was never finished, or made from one (which has it in INCOMPLETE_KEY): one line that
 * says so. NULL for a whole one. */
#define INCOMPLETE_KEY "recording.incomplete"
const char *trace_incomplete(const struct trace *trace);
/* For a file that was still growing: a newer snapshot, or the same trace referenced once more when nothing is new. */
int trace_refresh(struct trace *trace, struct trace **ret_trace, struct error *err);

/*
 * Per-function sums of all spans, made once (in a native file: stored, so that the first page needs no scan).
 * One row per (name, category, kind). self_ns: minus what children on the same track take.
 */
struct span_aggregate {
    string_id name, category;
    enum span_kind kind;
    uint32_t reserved; /* 0: rows may be compared as bytes */
    uint64_t count;
    int64_t total_ns, self_ns, min_ns, max_ns;
};
int trace_span_aggregates(const struct trace *trace, const struct span_aggregate **ret_rows, uint32_t *ret_count,
                          struct error *err);
/* One row per (track, leaf stack, event): count and weight of samples; stored in a native file likewise. */
struct sample_aggregate {
    track_id track;
    stack_id stack;
    uint8_t event, flags;
    uint64_t count;
    int64_t weight;
};
int trace_sample_aggregates(const struct trace *trace, const struct sample_aggregate **ret_rows, uint32_t *ret_count,
                            struct error *err);

#endif
