/* SPDX-License-Identifier: MIT */
/* Spans, links and members of a trace as arrays. */
#include "span_table.h"

#include "base/array.h"
#include "base/error.h"
#include "base/progress.h"

#include <errno.h>
#include <string.h>

static int allocate(struct span_table *table)
{
    size_t count = table->count + (size_t)1;
    table->begin_ns = array_resize_exact(NULL, count, sizeof *table->begin_ns);
    table->end_ns = array_resize_exact(NULL, count, sizeof *table->end_ns);
    table->track = array_resize_exact(NULL, count, sizeof *table->track);
    table->parent = array_resize_exact(NULL, count, sizeof *table->parent);
    table->name = array_resize_exact(NULL, count, sizeof *table->name);
    table->category = array_resize_exact(NULL, count, sizeof *table->category);
    table->kind = array_resize_exact(NULL, count, sizeof *table->kind);
    table->stack = array_resize_exact(NULL, count, sizeof *table->stack);
    table->track_first = array_resize_exact(NULL, table->track_count + (size_t)1, sizeof *table->track_first);
    return table->begin_ns && table->end_ns && table->track && table->parent && table->name && table->category && table->kind && table->stack &&
                   table->track_first ? 0 : -ENOMEM;
}

static void copy_block(struct span_table *table, const struct span_block *block)
{
    uint32_t first = block->info.first, track = block->info.track.index;
    for (uint32_t row = 0; row < block->info.count; row++) {
        uint32_t span = first + row;
        table->begin_ns[span] = block->begin_ns[row];
        table->end_ns[span] = trace_span_end(table->trace, block->info.track, block->begin_ns[row], block->end_ns[row]);
        table->track[span] = track;
        table->parent[span] = block->parent ? block->parent[row].index : ID_NONE;
        table->name[span] = block->name ? block->name[row] : STRING_NONE;
        table->category[span] = block->category ? block->category[row] : STRING_NONE;
        table->kind[span] = block->kind ? block->kind[row] : SPAN_KIND_UNKNOWN;
        table->stack[span] = block->stack ? block->stack[row] : STACK_NONE;
    }
}

int spans_are_whole(const struct trace *trace, struct error *err)
{
    uint32_t track_count, next_track = 0, next_span = 0;
    trace_tracks(trace, &track_count);
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_SPANS); i++) {
        struct block_info info = trace_block_info(trace, FAMILY_SPANS, i);
        if (info.run || info.track.index >= track_count || info.track.index < next_track || info.first != next_span)
            return error_set(err, -EINVAL, "the trace is not finished, or damaged: `hprofiler recover` or a later look gives a whole one");
        next_track = info.track.index;
        next_span += info.count;
    }
    return 0;
}

static int read_blocks(struct span_table *table, const struct progress *progress, struct error *err)
{
    uint32_t blocks = trace_block_count(table->trace, FAMILY_SPANS), next_track = 0, next_span = 0;
    uint32_t columns = SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_NAME) |
                       SPAN_COLUMN_BIT(SPAN_COLUMN_CATEGORY) | SPAN_COLUMN_BIT(SPAN_COLUMN_KIND) | SPAN_COLUMN_BIT(SPAN_COLUMN_STACK) |
                       SPAN_COLUMN_BIT(SPAN_COLUMN_PARENT);
    for (uint32_t i = 0; i < blocks; i++) {
        struct block_info info = trace_block_info(table->trace, FAMILY_SPANS, i);
        struct span_block block;
        int result = trace_spans_scan(table->trace, i, columns, &block, err);
        if (result < 0)
            return result;
        while (next_track <= info.track.index)
            table->track_first[next_track++] = info.first;
        copy_block(table, &block);
        trace_spans_put(table->trace, &block);
        next_span += info.count;
        progress_update(progress, "reading spans", i + 1, blocks);
    }
    while (next_track <= table->track_count)
        table->track_first[next_track++] = next_span;
    return 0;
}

int span_table_create(const struct trace *trace, const struct progress *progress, struct span_table **ret_table, struct error *err)
{
    CLEANUP(span_table_destroyp) struct span_table *table = calloc(1, sizeof *table);
    if (!table)
        return error_set(err, -ENOMEM, "spans: out of memory");
    int result = spans_are_whole(trace, err);
    if (result < 0)
        return result;
    uint64_t rows = trace_row_count(trace, FAMILY_SPANS);
    table->trace = trace;
    table->tracks = trace_tracks(trace, &table->track_count);
    table->count = (uint32_t)rows;
    if (rows >= ID_NONE || allocate(table) < 0)
        return error_set(err, -ENOMEM, "spans: out of memory");
    result = read_blocks(table, progress, err);
    if (result < 0)
        return result;
    *ret_table = TAKE_PTR(table);
    return 0;
}

int span_table_share(const struct span_table *table, struct span_table **ret_table)
{
    struct span_table *share = malloc(sizeof *share);
    if (!share)
        return -ENOMEM;
    *share = *table;
    share->shared = true;
    memset(share->blocks, 0, sizeof share->blocks);
    *ret_table = share;
    return 0;
}

static void free_columns(struct span_table *table)
{
    free(table->begin_ns);
    free(table->end_ns);
    free(table->track);
    free(table->parent);
    free(table->name);
    free(table->category);
    free(table->kind);
    free(table->stack);
    free(table->track_first);
}

void span_table_destroy(struct span_table *table)
{
    if (!table)
        return;
    for (unsigned i = 0; i < SPAN_TABLE_BLOCKS; i++)
        if (table->blocks[i].used)
            trace_spans_put(table->trace, &table->blocks[i].rows);
    if (!table->shared)
        free_columns(table);
    free(table);
}

int span_table_payload(struct span_table *table, uint32_t span, struct payload *ret_payload, struct error *err)
{
    uint32_t block, row;
    *ret_payload = (struct payload){.kind = PAYLOAD_NONE};
    if (!trace_span_find(table->trace, (span_id){span}, &block, &row))
        return 0;
    struct span_table_block *held = &table->blocks[block % SPAN_TABLE_BLOCKS];
    if (held->used && held->block != block) {
        trace_spans_put(table->trace, &held->rows);
        held->used = false;
    }
    if (!held->used) {
        uint32_t columns = SPAN_COLUMN_BIT(SPAN_COLUMN_PAYLOAD_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_PAYLOAD);
        int result = trace_spans_get_columns(table->trace, block, columns, &held->rows, err);
        if (result < 0)
            return result;
        held->used = true;
        held->block = block;
    }
    int result = span_payload(&held->rows, row, ret_payload);
    return result < 0 ? error_set_errno(err, result, "span %u has a damaged payload", span) : 0;
}

int trace_links_read(const struct trace *trace, struct trace_link **ret_links, size_t *ret_count, struct error *err)
{
    size_t count = trace_row_count(trace, FAMILY_LINKS), filled = 0;
    CLEANUP(freep) struct trace_link *links = array_resize_exact(NULL, count + 1, sizeof *links);
    if (!links)
        return error_set(err, -ENOMEM, "links: out of memory");
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_LINKS); i++) {
        struct link_block block;
        int result = trace_links_get(trace, i, &block, err);
        if (result < 0)
            return result;
        for (uint32_t row = 0; row < block.info.count && filled < count; row++)
            links[filled++] = (struct trace_link){
                .kind = block.kind ? block.kind[row] : 0, .confidence = block.confidence ? block.confidence[row] : CONFIDENCE_CERTAIN,
                .from = block.from[row], .to = block.to[row]};
        trace_links_put(trace, &block);
    }
    *ret_links = TAKE_PTR(links);
    *ret_count = filled;
    return 0;
}

static int by_group(const void *left, const void *right)
{
    const struct group_member *a = left, *b = right;
    int order = (a->group.index > b->group.index) - (a->group.index < b->group.index);
    return order ? order : (a->span.index > b->span.index) - (a->span.index < b->span.index);
}

int trace_members_read(const struct trace *trace, struct group_member **ret_members, size_t *ret_count, struct error *err)
{
    size_t count = trace_row_count(trace, FAMILY_MEMBERS), filled = 0;
    CLEANUP(freep) struct group_member *members = array_resize_exact(NULL, count + 1, sizeof *members);
    if (!members)
        return error_set(err, -ENOMEM, "members of groups: out of memory");
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_MEMBERS); i++) {
        struct member_block block;
        int result = trace_members_get(trace, i, &block, err);
        if (result < 0)
            return result;
        for (uint32_t row = 0; row < block.info.count && filled < count; row++)
            members[filled++] = (struct group_member){
                .group = block.group[row], .span = block.span[row], .rank = block.rank ? block.rank[row] : -1};
        trace_members_put(trace, &block);
    }
    qsort(members, filled, sizeof *members, by_group);
    *ret_members = TAKE_PTR(members);
    *ret_count = filled;
    return 0;
}
