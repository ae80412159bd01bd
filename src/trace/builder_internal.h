/* SPDX-License-Identifier: MIT */
/* The builder's parts, for its own files. */
#ifndef HP_TRACE_BUILDER_INTERNAL_H
#define HP_TRACE_BUILDER_INTERNAL_H

#include "base/map.h"
#include "builder.h"
#include "trace_internal.h"

#define TRACK_FAMILIES FAMILY_LINKS /* families before this one are per track */
#define FIRST_BLOCK_ROWS 1024u      /* a track's first block; each later one may be four times as large, up to 65,536 */
#define OPEN_BYTES_MAX ((size_t)96 << 20)
#define OPEN_PAYLOAD_MAX ((size_t)8 << 20)
#define ROW_PAYLOAD_MAX ((size_t)16 << 20)

/* Rows of one family (and track) that are not sealed yet. */
struct open_rows {
    uint8_t *rows;
    size_t capacity;
    uint32_t count, limit;  /* sealed when count reaches limit */
    uint32_t next_limit;
    uint32_t first;         /* spans: handle of row 0; handles up to first + limit are reserved */
    uint32_t runs;          /* blocks sealed so far */
    bool unsorted, has_parents;
    int64_t last_begin_ns, last_end_ns;
    uint8_t *payload;
    size_t payload_size, payload_capacity;
};

struct track_rows {
    struct open_rows *open[TRACK_FAMILIES]; /* NULL until the first row */
};

struct growing_table {
    void *rows;
    uint32_t count;
    size_t capacity;
    struct shared_table *shared; /* what the last snapshot got; reused while nothing was added or changed */
};

struct trace_builder {
    size_t memory_limit_bytes;
    char *spill_directory;
    struct string_table *strings;
    struct shared_strings *shared_strings;
    struct growing_table tables[TABLE_COUNT];
    struct map frame_map, stack_map, metadata_map, ledger_map;
    struct track_rows *tracks;
    size_t track_capacity;
    struct open_rows pairs[FAMILY_COUNT - TRACK_FAMILIES]; /* links, members */
    size_t open_bytes;                                     /* of all open rows */
    struct block_array sealed[FAMILY_COUNT];
    uint64_t sealed_rows[FAMILY_COUNT];
    uint32_t next_handle;
    struct body_builder body;
    uint32_t *order;                                       /* BLOCK_ROWS_MAX, for sorting */
    uint64_t generation;
    struct block_cache *cache;
    struct live_aggregates *live;
    struct open_call *open;                                /* what threads are in, for the next snapshots */
    uint32_t open_count;
    /* Places of sealed blocks; finish places blocks from several threads. */
    pthread_mutex_t place_lock;
    size_t sealed_bytes;
    struct block_store *spill;
    uint64_t spill_size;
    int failure;
    char failure_text[256];
};

int builder_fail(struct trace_builder *builder, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
void *builder_row(struct trace_builder *builder, enum table table, uint32_t index);
/* Seals one batch of open rows, or all there are. 0 or a failure that sticks. */
int builder_seal(struct trace_builder *builder, enum family family, track_id track, struct open_rows *open);
/* Do the small tables' references hold? Processes that are their own ancestors lose their parent. */
int builder_check_tables(struct trace_builder *builder);
int builder_seal_all(struct trace_builder *builder);
/* Keeps a body in memory or puts it into the spill file. Takes bytes in any case. Any thread. */
int builder_place(struct trace_builder *builder, struct block *block, uint8_t *bytes, uint32_t size);
/* Gives back what a block that is no longer needed takes. */
void builder_displace(struct trace_builder *builder, struct block *block);
void open_rows_finish(struct open_rows *open);

#endif
