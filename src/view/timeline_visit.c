/* SPDX-License-Identifier: MIT */
/* Going through the spans of a lane, by begin, and the rows that they take. */
#include "timeline_internal.h"

#include "base/array.h"
#include "base/error.h"

unsigned row_slots_take(struct row_slots *slots, int64_t begin_ns, int64_t end_ns)
{
    unsigned row = 0;
    while (row < slots->used && slots->end_ns[row] > begin_ns)
        row++;
    if (row >= slots->limit)
        row = slots->limit - 1;
    if (row >= slots->used)
        slots->used = row + 1;
    slots->end_ns[row] = end_ns;
    return row;
}

int timeline_visit_open(const struct timeline *timeline, struct open_cursor *calls, int64_t before_ns, int64_t begin_ns,
                        int (*visit)(void *context, const struct visited_span *span), void *context)
{
    uint32_t call;
    int result = 0;
    while (result == 0 && open_cursor_next(timeline, calls, before_ns, &call)) {
        struct open_row row;
        open_row_fill(timeline, call, &row);
        const struct visited_span span = {open_call_id(call), row.call.begin_ns, row.end_ns, &row.block, 0, true};
        if (row.end_ns >= begin_ns)
            result = visit(context, &span);
    }
    return result;
}

static bool may_meet(const struct block_info *info, track_id track, int64_t begin_ns, int64_t end_ns)
{
    return info->track.index == track.index && info->begin_ns < end_ns && info->end_ns >= begin_ns;
}

int timeline_visit(const struct timeline *timeline, uint32_t lane_index, int64_t begin_ns, int64_t end_ns, uint32_t columns,
                   int (*visit)(void *context, const struct visited_span *span), void *context, struct error *err)
{
    const struct timeline_lane *lane = &timeline->lanes[lane_index];
    struct open_cursor calls = open_cursor_of(lane);
    int result = 0;
    end_ns = timeline_end(timeline, end_ns);
    columns |= SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END);
    for (uint32_t i = lane->first_block; i < lane->end_block && result == 0; i++) {
        struct block_info info = trace_block_info(timeline->trace, FAMILY_SPANS, i);
        struct span_block block;
        if (!may_meet(&info, lane->track, begin_ns, end_ns))
            continue;
        result = trace_spans_get_columns(timeline->trace, i, columns, &block, err);
        if (result < 0)
            return result;
        uint32_t last = array_count_below(block.begin_ns, info.count, end_ns);
        for (uint32_t row = 0; row < last && result == 0; row++) {
            int64_t span_end_ns = block.end_ns[row];
            if (span_end_ns < begin_ns && span_end_ns != INT64_MIN)
                continue;
            span_end_ns = trace_span_end(timeline->trace, info.track, block.begin_ns[row], span_end_ns);
            struct visited_span span = {{info.first + row}, block.begin_ns[row], span_end_ns, &block, row, false};
            result = timeline_visit_open(timeline, &calls, span.begin_ns, begin_ns, visit, context);
            if (result == 0)
                result = visit(context, &span);
        }
        trace_spans_put(timeline->trace, &block);
    }
    return result ? result : timeline_visit_open(timeline, &calls, end_ns, begin_ns, visit, context);
}
