/* SPDX-License-Identifier: MIT */
/*
 * Blocks of a trace that is still being built name spans by handle: the position at which a row was added. Here handles
 * become the ids that snapshots show (block's first + row in sorted order), and nesting is found within each block.
 */
#include "trace_internal.h"

#include "base/error.h"
#include "nesting.h"

#include <errno.h>
#include <string.h>

/* The sorted row of each added row of one block, remembered between look-ups that fall into the same block. */
struct resolver {
    const struct trace *trace;
    uint32_t block; /* UINT32_MAX: none yet */
    bool identity;
    uint32_t row_of[BLOCK_ROWS_MAX];
};

static int resolver_load(struct resolver *resolver, uint32_t index, struct error *err)
{
    const struct block *block = resolver->trace->blocks[FAMILY_SPANS].items[index];
    CLEANUP(decoded_freep) struct decoded *decoded = NULL;
    int result = block_decode(block, SPAN_COLUMN_BIT(SPAN_COLUMN_ORDER), NULL, &decoded, err);
    if (result < 0)
        return result;
    const uint32_t *order = decoded->column[SPAN_COLUMN_ORDER];
    resolver->identity = order == NULL;
    memset(resolver->row_of, 0, block->info.count * sizeof(resolver->row_of[0])); /* a damaged order names some twice */
    for (uint32_t row = 0; order && row < block->info.count; row++) {
        if (order[row] >= block->info.count)
            return error_set(err, -EBADMSG, "trace: a block's order is damaged");
        resolver->row_of[order[row]] = row;
    }
    resolver->block = index;
    return 0;
}

static int resolve(struct resolver *resolver, uint32_t handle, uint32_t *ret_id, struct error *err)
{
    uint32_t block, row;
    *ret_id = ID_NONE;
    if (handle == ID_NONE || !trace_span_find(resolver->trace, (span_id){handle}, &block, &row))
        return 0;
    if (block != resolver->block) {
        int result = resolver_load(resolver, block, err);
        if (result < 0)
            return result;
    }
    *ret_id = resolver->identity ? handle : handle - row + resolver->row_of[row];
    return 0;
}

static int resolve_column(struct resolver *resolver, uint32_t *values, uint32_t count, struct error *err)
{
    for (uint32_t i = 0; values && i < count; i++) {
        int result = resolve(resolver, values[i], &values[i], err);
        if (result < 0)
            return result;
    }
    return 0;
}

static int fill_parents(const struct trace *trace, const struct block *block, struct decoded *decoded)
{
    uint32_t count = block->info.count;
    const int64_t *begins = decoded->column[SPAN_COLUMN_BEGIN], *ends = decoded->column[SPAN_COLUMN_END];
    uint32_t *parents = decoded->column[SPAN_COLUMN_PARENT];
    const uint8_t *kinds = decoded->column[SPAN_COLUMN_KIND];
    struct nesting nesting = {0};
    int result = 0;
    for (uint32_t i = 0; i < count && result == 0; i++) {
        uint32_t parent;
        int64_t end_ns = trace_span_end(trace, block->info.track, begins[i], ends[i]);
        bool holds = trace_span_holds(trace, block->info.track, kinds ? kinds[i] : 0);
        result = nesting_add(&nesting, begins[i], end_ns, block->info.first + i, 0, holds, &parent);
        if (result == 0 && parents[i] == ID_NONE)
            parents[i] = parent;
    }
    nesting_finish(&nesting);
    return result;
}

int live_resolve(const struct trace *trace, const struct block *block, struct decoded *decoded, struct error *err)
{
    CLEANUP(freep) struct resolver *resolver = malloc(sizeof(*resolver));
    if (!resolver)
        return error_set(err, -ENOMEM, "trace: out of memory");
    resolver->trace = trace;
    resolver->block = UINT32_MAX;
    uint32_t count = block->info.count;
    int result;
    switch (block->family) {
    case FAMILY_SPANS:
        result = resolve_column(resolver, decoded->column[SPAN_COLUMN_PARENT], count, err);
        if (result == 0 && fill_parents(trace, block, decoded) < 0)
            return error_set(err, -ENOMEM, "trace: out of memory");
        return result;
    case FAMILY_LINKS:
        result = resolve_column(resolver, decoded->column[LINK_COLUMN_FROM], count, err);
        return result < 0 ? result : resolve_column(resolver, decoded->column[LINK_COLUMN_TO], count, err);
    case FAMILY_MEMBERS:
        return resolve_column(resolver, decoded->column[MEMBER_COLUMN_SPAN], count, err);
    default:
        return 0;
    }
}
