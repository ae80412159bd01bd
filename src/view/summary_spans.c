/* SPDX-License-Identifier: MIT */
/* Sums of spans by name, and the off-CPU times of threads. */
#include "summary_build.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <string.h>

/* Payloads are the bulk of many traces, and nothing here looks at them. */
#define COLUMNS                                                                                                        \
    (SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_NAME) |       \
     SPAN_COLUMN_BIT(SPAN_COLUMN_CATEGORY) | SPAN_COLUMN_BIT(SPAN_COLUMN_KIND) | SPAN_COLUMN_BIT(SPAN_COLUMN_PARENT) | \
     SPAN_COLUMN_BIT(SPAN_COLUMN_STACK))

static int out_of_memory(struct summary_build *build)
{
    return error_set(build->err, -ENOMEM, "out of memory while summing up spans");
}

static int add_function(struct summary_build *build, const struct span_aggregate *row)
{
    struct summary *summary = build->summary;
    struct summary_function *functions =
        array_reserve(summary->functions, &build->function_capacity, summary->function_count + 1, sizeof *functions);
    if (!functions)
        return out_of_memory(build);
    const char *name = trace_text(build->trace, row->name), *category = trace_text(build->trace, row->category);
    const char *kind = row->kind == SPAN_KIND_UNKNOWN ? "" : span_kind_name(row->kind);
    summary->functions = functions;
    functions[summary->function_count++] =
        (struct summary_function){.group = row->kind == SPAN_KIND_BLOCKED ? SUMMARY_OFF_CPU : SUMMARY_SPANS,
                                  .name = *name           ? name
                                          : kind && *kind ? kind
                                                          : "[unnamed]",
                                  .category = *category ? category
                                              : kind    ? kind
                                                        : "",
                                  .module = "",
                                  .count = row->count,
                                  .total_ns = row->total_ns,
                                  .self_ns = row->self_ns,
                                  .min_ns = row->min_ns,
                                  .max_ns = row->max_ns};
    return 0;
}

/* --- off-CPU --------------------------------------------------------------------------------------------------------
 */

static void add_off_cpu(struct summary_build *build, const struct span_block *block, uint32_t row,
                        struct summary_thread *thread)
{
    int64_t end_ns = trace_span_end(build->trace, block->info.track, block->begin_ns[row], block->end_ns[row]);
    int64_t duration_ns = time_between(block->begin_ns[row], end_ns);
    /* The span's name is the reason, as its payload has it; columns of names are cheaper to read. */
    bool preempted = block->name && strcmp(trace_text(build->trace, block->name[row]), "preempted") == 0;
    struct optional_i64 *sum = preempted ? &thread->preempted_ns : &thread->blocked_ns;
    add_time(&sum->value, duration_ns);
    add_time(preempted ? &build->summary->preempted_ns : &build->summary->blocked_ns, duration_ns);
}

static int add_off_cpu_block(struct summary_build *build, uint32_t number)
{
    struct block_info info = trace_block_info(build->trace, FAMILY_SPANS, number);
    struct span_block block;
    if (info.track.index >= build->track_count || build->tracks[info.track.index].kind != TRACK_KIND_SCHED)
        return 0;
    uint32_t thread = build->track_thread[info.track.index];
    if (thread == UINT32_MAX || (build->match && !filter_match_track(build->match, info.track)))
        return 0;
    int result = trace_spans_get_columns(build->trace, number, COLUMNS, &block, build->err);
    if (result < 0)
        return result;
    struct summary_thread *sums = &build->summary->threads[thread];
    sums->blocked_ns.known = sums->preempted_ns.known = build->summary->off_cpu_known = true;
    for (uint32_t row = 0; row < block.info.count; row++) {
        bool off = block.kind && block.kind[row] == SPAN_KIND_BLOCKED;
        if (off && (!build->match || filter_match_span(build->match, &block, row)))
            add_off_cpu(build, &block, row, sums);
    }
    trace_spans_put(build->trace, &block);
    return 0;
}

/* --- with a filter --------------------------------------------------------------------------------------------------
 * Spans of a track come in the order of their begin and nest, so that the open ones form a stack: what a child takes is
 * taken off the span on top. */

struct open_span {
    int64_t end_ns, self_ns;
    uint32_t aggregate; /* UINT32_MAX = does not match */
};

struct filtered {
    struct map index; /* name, category and kind, through ids of pairs -> aggregate */
    struct map pairs;
    struct span_aggregate *rows;
    size_t count, capacity;
    struct open_span *open;
    size_t depth, open_capacity;
    uint32_t track;
};

static void close_spans(struct filtered *filtered, int64_t until_ns)
{
    while (filtered->depth && filtered->open[filtered->depth - 1].end_ns <= until_ns) {
        struct open_span *span = &filtered->open[--filtered->depth];
        if (span->aggregate != UINT32_MAX)
            add_time(&filtered->rows[span->aggregate].self_ns, span->self_ns);
    }
}

static int find_aggregate(struct filtered *filtered, string_id name, string_id category, uint8_t kind,
                          uint32_t *ret_index)
{
    uint64_t pair_key = (uint64_t)category.index << 8 | kind, pair, value;
    if (!map_get(&filtered->pairs, pair_key, &pair)) {
        pair = filtered->pairs.count;
        if (map_set(&filtered->pairs, pair_key, pair) < 0)
            return -ENOMEM;
    }
    uint64_t key = (uint64_t)name.index << 32 | (uint32_t)pair;
    if (!map_get(&filtered->index, key, &value)) {
        struct span_aggregate *rows =
            array_reserve(filtered->rows, &filtered->capacity, filtered->count + 1, sizeof *rows);
        if (!rows)
            return -ENOMEM;
        filtered->rows = rows;
        value = filtered->count++;
        rows[value] = (struct span_aggregate){
            .name = name, .category = category, .kind = (enum span_kind)kind, .min_ns = INT64_MAX, .max_ns = INT64_MIN};
        if (map_set(&filtered->index, key, value) < 0)
            return -ENOMEM;
    }
    *ret_index = (uint32_t)value;
    return 0;
}

static int open_span(struct filtered *filtered, int64_t begin_ns, int64_t end_ns, uint32_t aggregate)
{
    int64_t duration_ns = time_between(begin_ns, end_ns);
    if (filtered->depth && end_ns <= filtered->open[filtered->depth - 1].end_ns)
        add_time(&filtered->open[filtered->depth - 1].self_ns, -duration_ns);
    struct open_span *open = array_reserve(filtered->open, &filtered->open_capacity, filtered->depth + 1, sizeof *open);
    if (!open)
        return -ENOMEM;
    filtered->open = open;
    open[filtered->depth++] = (struct open_span){end_ns, duration_ns, aggregate};
    return 0;
}

static int add_filtered_span(struct summary_build *build, struct filtered *filtered, const struct span_block *block,
                             uint32_t row)
{
    int64_t begin_ns = block->begin_ns[row];
    int64_t end_ns = trace_span_end(build->trace, block->info.track, begin_ns, block->end_ns[row]);
    uint32_t aggregate = UINT32_MAX;
    close_spans(filtered, begin_ns);
    if (filter_match_span(build->match, block, row)) {
        string_id name = block->name ? block->name[row] : STRING_NONE,
                  category = block->category ? block->category[row] : STRING_NONE;
        if (find_aggregate(filtered, name, category, block->kind ? block->kind[row] : 0, &aggregate) < 0)
            return -ENOMEM;
        struct span_aggregate *sums = &filtered->rows[aggregate];
        int64_t duration_ns = time_between(begin_ns, end_ns);
        sums->count++;
        add_time(&sums->total_ns, duration_ns);
        sums->min_ns = duration_ns < sums->min_ns ? duration_ns : sums->min_ns;
        sums->max_ns = duration_ns > sums->max_ns ? duration_ns : sums->max_ns;
    }
    return open_span(filtered, begin_ns, end_ns, aggregate);
}

static int add_filtered_block(struct summary_build *build, struct filtered *filtered, uint32_t number)
{
    struct block_info info = trace_block_info(build->trace, FAMILY_SPANS, number);
    struct span_block block;
    if (info.track.index != filtered->track) {
        close_spans(filtered, INT64_MAX);
        filtered->track = info.track.index;
    }
    if (!filter_match_track(build->match, info.track))
        return 0;
    int result = trace_spans_get_columns(build->trace, number, COLUMNS, &block, build->err);
    if (result < 0)
        return result;
    for (uint32_t row = 0; row < block.info.count && result == 0; row++)
        result = add_filtered_span(build, filtered, &block, row);
    trace_spans_put(build->trace, &block);
    return result < 0 ? out_of_memory(build) : 0;
}

static int add_filtered(struct summary_build *build)
{
    struct filtered filtered = {.track = ID_NONE};
    uint32_t blocks = trace_block_count(build->trace, FAMILY_SPANS);
    int result = 0;
    map_init(&filtered.index);
    map_init(&filtered.pairs);
    for (uint32_t i = 0; i < blocks && result == 0; i++) {
        progress_update(build->progress, "reading spans", i, blocks);
        result = add_filtered_block(build, &filtered, i);
    }
    close_spans(&filtered, INT64_MAX);
    for (size_t i = 0; i < filtered.count && result == 0; i++)
        result = add_function(build, &filtered.rows[i]);
    map_finish(&filtered.index);
    map_finish(&filtered.pairs);
    free(filtered.rows);
    free(filtered.open);
    return result;
}

int summary_add_spans(struct summary_build *build)
{
    uint32_t blocks = trace_block_count(build->trace, FAMILY_SPANS), count;
    int result = 0;
    for (uint32_t i = 0; i < blocks && result == 0; i++)
        result = add_off_cpu_block(build, i);
    if (result < 0)
        return result;
    if (build->match)
        return add_filtered(build);
    const struct span_aggregate *rows;
    result = trace_span_aggregates(build->trace, &rows, &count, build->err);
    for (uint32_t i = 0; i < count && result == 0; i++)
        result = add_function(build, &rows[i]);
    return result;
}
