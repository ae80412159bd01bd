/* SPDX-License-Identifier: MIT */
/* What a trace is made of, for the files of this module only. */
#ifndef HP_TRACE_TRACE_INTERNAL_H
#define HP_TRACE_TRACE_INTERNAL_H

#include "block.h"
#include "made_once.h"
#include "tables.h"

/* Strings that snapshots share: the table and, for a copy of a growing one, its memory. */
struct shared_strings {
    _Atomic uint32_t references;
    struct string_table *table;
    void *memory[2]; /* blob and offsets under a mapped table; NULL when the table owns its own */
};
int shared_strings_create(struct string_table *table, struct shared_strings **ret_strings); /* takes table on success */
int shared_strings_copy(const struct string_table *table, struct shared_strings **ret_strings);
struct shared_strings *shared_strings_ref(struct shared_strings *strings);
void shared_strings_unref(struct shared_strings *strings);

/* What is computed once, on demand, or comes with the file. */
struct trace_aggregates {
    bool spans_known, samples_known;
    struct span_aggregate *spans;
    struct sample_aggregate *samples;
    uint32_t span_count, sample_count;
};

struct trace_made { /* made_once.h */
    trace_make *make;
    void (*destroy)(void *made);
    void *what;
};

struct native_reader; /* file_reader.c */
struct live_aggregates; /* aggregate state that follows a growing trace */

struct trace {
    _Atomic uint32_t references;
    uint64_t generation;
    bool growing;
    bool partial;                 /* from a file without its table of contents: blocks may be missing */
    struct shared_strings *strings;
    struct shared_table *tables[TABLE_COUNT];
    struct block_array blocks[FAMILY_COUNT];
    uint64_t rows[FAMILY_COUNT];
    uint32_t span_limit;          /* greatest span id + 1 */
    uint32_t *span_order;         /* growing: span blocks in order of first id; NULL: they are in that order */
    int64_t begin_ns, end_ns;
    struct open_call *open;       /* by track, then begin */
    uint32_t open_count;
    struct block_cache *cache;
    pthread_mutex_t lock;         /* of aggregates */
    struct trace_aggregates aggregates;
    struct live_aggregates *live; /* shared by the snapshots of one growing trace, or NULL */
    struct native_reader *reader; /* of a trace from a file; NULL otherwise */
    struct lod_set *lods;         /* lod.c: what was computed or read, under lock */
    pthread_mutex_t made_lock;    /* of `made`; held while it is computed */
    struct trace_made *made;
    size_t made_count, made_capacity;
};

int trace_create(struct block_cache *cache, struct trace **ret_trace); /* empty, takes its own reference to the cache */
/* To be called once all blocks and tables are in: row counts, time range, order of span ids. */
int trace_seal(struct trace *trace);
struct block_limits trace_block_limits(const struct trace *trace);
/* Decodes outside of the cache (scans, writers); live handles are resolved. Matches block_decoder. */
int trace_block_decode(const void *trace, const struct block *block, uint32_t columns, struct decoded **ret_decoded,
                       struct error *err);

/* live.c: handles and nesting in blocks of a trace that is still being built. */
int live_resolve(const struct trace *trace, const struct block *block, struct decoded *decoded, struct error *err);

void native_reader_unref(struct native_reader *reader);
void live_aggregates_unref(struct live_aggregates *live);
void lod_set_destroy(struct lod_set *lods);
void trace_made_finish(struct trace *trace);

#endif
