/* SPDX-License-Identifier: MIT */
/*
 * Blocks: up to 65,536 rows of one family as encoded bytes ("body"), in memory or in a file, and what they decode to.
 *
 *   body:  column count (4 bytes), 0 (4) | column headers (16 bytes each: column.h) | data, each padded to 8 bytes
 */
#ifndef HP_TRACE_BLOCK_H
#define HP_TRACE_BLOCK_H

#include "column.h"
#include "schema.h"

#include <pthread.h>

struct error;

/* A file that holds blocks: shared by all blocks in it, closed with the last. */
struct block_store {
    _Atomic uint32_t references;
    int fd;
    char *name; /* for messages */
};
int block_store_create(int fd, const char *name, struct block_store **ret_store); /* takes fd on success */
struct block_store *block_store_ref(struct block_store *store);
void block_store_unref(struct block_store *store);
DEFINE_CLEANUP(struct block_store *, block_store_unref)

struct decoded;
struct block {
    _Atomic uint32_t references;
    enum family family;
    struct block_info info;
    int64_t last_begin_ns;      /* begin (time) of the last row; known to whoever built the block */
    uint32_t columns;           /* bit i: column i is stored; known to whoever built the block */
    bool trusted;               /* made by this process: contents need no checks */
    bool live;                  /* of a growing in-memory trace: parents are handles, still to be resolved */
    uint8_t *bytes;             /* the body in memory, or NULL: in the store */
    struct block_store *store;
    uint64_t offset;            /* of the body in the store */
    uint32_t size;
    uint32_t checksum;          /* CRC-32C of the body; only checked when it is in a file that we did not just write */
    struct decoded *decoded;    /* cache entry, guarded by the cache's lock */
};
struct block *block_create(enum family family, const struct block_info *info);
struct block *block_ref(struct block *block);
void block_unref(struct block *block);
DEFINE_CLEANUP(struct block *, block_unref)

struct block_array {
    struct block **items;
    uint32_t count;
    size_t capacity;
};
int block_array_add(struct block_array *array, struct block *block); /* takes the reference on success */
void block_array_finish(struct block_array *array);                   /* drops all references */

/* The body in memory: *ret_bytes is the block's own or *ret_owned, which the caller frees. */
int block_load(const struct block *block, const uint8_t **ret_bytes, uint8_t **ret_owned, struct error *err);

/* What indexes in a block may be, at most; NULL limits: not checked. */
struct block_limits {
    uint32_t strings, stacks, spans, groups;
    bool spans_may_miss; /* of a truncated file: a span that is not there becomes none */
};

struct decoded {
    struct block *block;         /* while it is in a cache */
    uint32_t columns;            /* asked for; absent ones are NULL */
    uint32_t pins;
    size_t bytes;
    uint32_t payload_size;
    void *column[COLUMNS_MAX];   /* all in one piece of memory with this struct: decoding again finds it warm */
    struct decoded *newer, *older;
};
/* Decodes the wanted columns (bits). -EBADMSG with file and offset for a damaged block. */
int block_decode(const struct block *block, uint32_t columns, const struct block_limits *limits,
                 struct decoded **ret_decoded, struct error *err);
void decoded_free(struct decoded *decoded);
DEFINE_CLEANUP(struct decoded *, decoded_free)

/* One entry of a body. data points into the body. */
struct body_column {
    struct column_header header;
    const uint8_t *data;
};
/* Splits a body of `size` bytes; checks headers and lengths. Returns the number of columns or -EBADMSG. */
int body_split(const uint8_t *body, uint32_t size, uint32_t rows, struct body_column columns[COLUMNS_MAX]);

/* Building a body column by column. */
struct body_builder {
    uint64_t *values;          /* BLOCK_ROWS_MAX: the caller fills it for body_add_values */
    uint64_t *begins;          /* kept from the begin column, ends are relative to it */
    uint8_t *bytes;            /* grows; data only */
    size_t size, capacity;
    struct column_header headers[COLUMNS_MAX];
    uint32_t header_count;
    enum family family;
    uint32_t rows, first;
};
int body_builder_init(struct body_builder *builder);
void body_builder_finish(struct body_builder *builder);
void body_begin(struct body_builder *builder, enum family family, uint32_t rows, uint32_t first);
int body_add_values(struct body_builder *builder, uint8_t column);  /* builder->values hold rows values: they are destroyed */
int body_add_bytes(struct body_builder *builder, uint8_t column, const void *data, size_t size, bool pack);
int body_add_copy(struct body_builder *builder, const struct body_column *column);
int body_end(struct body_builder *builder, uint8_t **ret_bytes, uint32_t *ret_size); /* exact allocation */

/* The cache of decoded blocks of one trace and its snapshots. */
struct block_cache;
#define BLOCK_CACHE_BYTES ((size_t)256 << 20)
int block_cache_create(size_t limit_bytes, struct block_cache **ret_cache);
struct block_cache *block_cache_ref(struct block_cache *cache);
size_t block_cache_bytes(struct block_cache *cache); /* of all that is in it */
void block_cache_unref(struct block_cache *cache);
typedef int block_decoder(const void *context, const struct block *block, uint32_t columns, struct decoded **ret_decoded,
                          struct error *err);
int block_cache_get(struct block_cache *cache, struct block *block, uint32_t columns, block_decoder *decode,
                    const void *context, struct decoded **ret_decoded, struct error *err);
/* Only if it is there; to be put like the others. */
bool block_cache_find(struct block_cache *cache, struct block *block, uint32_t columns, struct decoded **ret_decoded);
/* Also for what never was in the cache (decoded->block is NULL): frees it. */
void block_cache_put(struct block_cache *cache, struct decoded *decoded);

#endif
