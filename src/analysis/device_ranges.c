/* SPDX-License-Identifier: MIT */
/*
 * Ranges that the program named, projected on devices. The work of a range is what was launched while it was open: by its thread,
 * or, for ranges on a lane of their own, which any thread may end, by any thread of the process.
 */
#include "device_work.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

enum { RANGES_OPEN_MAXIMUM = 1024 }; /* in one process: the cost is work times ranges around it */

struct range {
    span_id span;
    process_id process;
    track_id thread; /* TRACK_NONE: any of the process */
    int64_t begin_ns, end_ns;
    string_id name, group;
};

struct range_work {
    uint32_t range; /* in ranges */
    uint32_t device;
    int64_t begin_ns, end_ns;
};

struct projection {
    struct device_works *works;
    struct range *ranges;
    size_t range_count, range_capacity;
    struct range_work *pieces;
    size_t piece_count, piece_capacity;
    size_t row_capacity; /* of activities->ranges */
    uint32_t open[RANGES_OPEN_MAXIMUM];
    size_t open_count;
};

static process_id process_of(const struct device_works *works, track_id track)
{
    return track.index < works->track_count ? works->tracks[track.index].process : PROCESS_NONE;
}

static string_id group_of(const struct span_block *block, uint32_t row)
{
    struct payload payload;
    bool known = span_payload(block, row, &payload) == 0 && payload.kind == PAYLOAD_RANGE && payload.present >> FIELD_RANGE_group & 1;
    return known ? payload.fields[FIELD_RANGE_group].string : STRING_NONE;
}

static int add_range(struct projection *projection, const struct span_block *block, uint32_t row)
{
    const struct device_works *works = projection->works;
    track_id track = block->info.track;
    struct range *ranges = array_reserve(projection->ranges, &projection->range_capacity, projection->range_count + 1, sizeof *ranges);
    if (!ranges)
        return -ENOMEM;
    projection->ranges = ranges;
    bool on_thread = works->tracks[track.index].kind == TRACK_KIND_THREAD;
    ranges[projection->range_count++] = (struct range){
        .span = {block->info.first + row}, .process = process_of(works, track), .thread = on_thread ? track : TRACK_NONE,
        .begin_ns = block->begin_ns[row], .end_ns = trace_span_end(works->trace, track, block->begin_ns[row], block->end_ns[row]),
        .name = block->name ? block->name[row] : STRING_NONE, .group = group_of(block, row)};
    return 0;
}

static bool has_ranges(const struct span_block *block)
{
    for (uint32_t row = 0; block->kind && row < block->info.count; row++)
        if (block->kind[row] == SPAN_KIND_RANGE)
            return true;
    return false;
}

static int read_block(struct projection *projection, uint32_t number)
{
    const struct device_works *works = projection->works;
    uint32_t kinds = SPAN_COLUMN_BIT(SPAN_COLUMN_KIND), looked_at = kinds | SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END) |
             SPAN_COLUMN_BIT(SPAN_COLUMN_NAME) | SPAN_COLUMN_BIT(SPAN_COLUMN_PAYLOAD_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_PAYLOAD);
    uint32_t columns = works->match ? SPAN_COLUMN_BIT(SPAN_COLUMN_ORDER) - 1 : looked_at; /* a filter may ask for any */
    struct span_block block;
    int result = trace_spans_scan(works->trace, number, kinds, &block, works->err);
    if (result < 0)
        return result;
    bool any = has_ranges(&block);
    trace_spans_put(works->trace, &block);
    if (any)
        result = trace_spans_scan(works->trace, number, columns, &block, works->err);
    if (!any || result < 0)
        return result;
    for (uint32_t row = 0; row < block.info.count && result == 0; row++)
        if (block.kind[row] == SPAN_KIND_RANGE && (!works->match || filter_match_span(works->match, &block, row)))
            result = add_range(projection, &block, row);
    trace_spans_put(works->trace, &block);
    return result;
}

/* The stored sums by kind tell, without a look at a row, that most traces have no range. */
static int trace_has_ranges(const struct device_works *works, bool *ret_has)
{
    const struct span_aggregate *rows;
    uint32_t count;
    int result = trace_span_aggregates(works->trace, &rows, &count, works->err);
    *ret_has = false;
    for (uint32_t i = 0; i < count && result == 0; i++)
        *ret_has |= rows[i].kind == SPAN_KIND_RANGE;
    return result;
}

static int read_ranges(struct projection *projection)
{
    const struct device_works *works = projection->works;
    bool has;
    int result = trace_has_ranges(works, &has);
    for (uint32_t i = 0; has && result == 0 && i < trace_block_count(works->trace, FAMILY_SPANS); i++) {
        track_id track = trace_block_info(works->trace, FAMILY_SPANS, i).track;
        enum track_kind kind = track.index < works->track_count ? works->tracks[track.index].kind : TRACK_KIND_COUNTER;
        if ((kind == TRACK_KIND_THREAD || kind == TRACK_KIND_STREAM) && (!works->match || filter_match_track(works->match, track)))
            result = read_block(projection, i);
    }
    return result;
}

static int by_process_and_begin(const void *left, const void *right)
{
    const struct range *a = left, *b = right;
    int order = (a->process.index > b->process.index) - (a->process.index < b->process.index);
    order = order ? order : (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
    return order ? order : (a->span.index > b->span.index) - (a->span.index < b->span.index);
}

struct launch {
    uint32_t process, row;
    int64_t begin_ns;
};

static int by_process_and_time(const void *left, const void *right)
{
    const struct launch *a = left, *b = right;
    int order = (a->process > b->process) - (a->process < b->process);
    order = order ? order : (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
    return order ? order : (a->row > b->row) - (a->row < b->row);
}

static int collect_launches(const struct device_works *works, struct launch **ret_launches, size_t *ret_count)
{
    struct launch *launches = malloc((works->count + 1) * sizeof *launches);
    size_t count = 0;
    if (!launches)
        return -ENOMEM;
    for (size_t i = 0; i < works->count; i++) {
        const struct device_work *work = &works->rows[i];
        if (work->class && work->call_begin_ns != INT64_MIN)
            launches[count++] = (struct launch){process_of(works, work->thread).index, (uint32_t)i, work->call_begin_ns};
    }
    qsort(launches, count, sizeof *launches, by_process_and_time);
    *ret_launches = launches;
    *ret_count = count;
    return 0;
}

static void open_range(struct projection *projection, uint32_t range)
{
    if (projection->open_count < RANGES_OPEN_MAXIMUM)
        projection->open[projection->open_count++] = range;
    else
        projection->works->activities->ranges_left_out++;
}

/* Gives the work to the ranges that were open on its launch; those that are over are closed. */
static int add_pieces(struct projection *projection, const struct device_work *work)
{
    size_t kept = 0;
    struct range_work *pieces = array_reserve(projection->pieces, &projection->piece_capacity,
                                              projection->piece_count + projection->open_count + 1, sizeof *pieces);
    if (!pieces)
        return -ENOMEM;
    projection->pieces = pieces;
    for (size_t i = 0; i < projection->open_count; i++) {
        const struct range *range = &projection->ranges[projection->open[i]];
        if (range->end_ns <= work->call_begin_ns)
            continue;
        projection->open[kept++] = projection->open[i];
        if (track_id_is(range->thread, TRACK_NONE) || track_id_is(range->thread, work->thread))
            pieces[projection->piece_count++] =
                (struct range_work){projection->open[kept - 1], work->device, work->begin_ns, work->end_ns};
    }
    projection->open_count = kept;
    return 0;
}

static int match_launches(struct projection *projection)
{
    CLEANUP(freep) struct launch *launches = NULL;
    size_t count, next = 0;
    uint32_t process = ID_NONE;
    if (projection->range_count)
        qsort(projection->ranges, projection->range_count, sizeof *projection->ranges, by_process_and_begin);
    int result = collect_launches(projection->works, &launches, &count);
    for (size_t i = 0; i < count && result == 0; i++) {
        if (launches[i].process != process)
            projection->open_count = 0;
        process = launches[i].process;
        for (; next < projection->range_count; next++) {
            const struct range *range = &projection->ranges[next];
            if (range->process.index > process || (range->process.index == process && range->begin_ns > launches[i].begin_ns))
                break;
            if (range->process.index == process && range->end_ns > launches[i].begin_ns)
                open_range(projection, (uint32_t)next);
        }
        result = add_pieces(projection, &projection->works->rows[launches[i].row]);
    }
    return result;
}

static int by_range_and_begin(const void *left, const void *right)
{
    const struct range_work *a = left, *b = right;
    int order = (a->range > b->range) - (a->range < b->range);
    order = order ? order : (a->device > b->device) - (a->device < b->device);
    return order ? order : (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static int new_row(struct projection *projection, const struct range_work *piece)
{
    struct device_activities *activities = projection->works->activities;
    const struct range *range = &projection->ranges[piece->range];
    struct device_range *rows = array_reserve(activities->ranges, &projection->row_capacity, activities->range_count + 1, sizeof *rows);
    if (!rows)
        return -ENOMEM;
    activities->ranges = rows;
    struct device_range *row = &rows[activities->range_count++];
    *row = (struct device_range){.range = range->span, .name = range->name, .group = range->group, .process = range->process,
                                 .device = piece->device, .begin_ns = piece->begin_ns, .end_ns = piece->begin_ns};
    sum_time(&row->host_ns, range->begin_ns, range->end_ns);
    return 0;
}

static int sum_pieces(struct projection *projection)
{
    struct device_activities *activities = projection->works->activities;
    if (projection->piece_count)
        qsort(projection->pieces, projection->piece_count, sizeof *projection->pieces, by_range_and_begin);
    for (size_t i = 0; i < projection->piece_count; i++) {
        const struct range_work *piece = &projection->pieces[i];
        if (i == 0 || piece->range != piece[-1].range || piece->device != piece[-1].device) {
            int result = new_row(projection, piece);
            if (result < 0)
                return result;
        }
        struct device_range *row = &activities->ranges[activities->range_count - 1];
        row->count++;
        if (piece->end_ns <= row->end_ns)
            continue;
        sum_time(&row->busy_ns, piece->begin_ns > row->end_ns ? piece->begin_ns : row->end_ns, piece->end_ns);
        row->end_ns = piece->end_ns;
    }
    return 0;
}

int device_works_project(struct device_works *works)
{
    CLEANUP(freep) struct projection *projection = calloc(1, sizeof *projection);
    if (!projection)
        return -ENOMEM;
    projection->works = works;
    int result = works->count ? read_ranges(projection) : 0;
    if (result == 0 && projection->range_count)
        result = match_launches(projection);
    if (result == 0)
        result = sum_pieces(projection);
    free(projection->ranges);
    free(projection->pieces);
    return result;
}
