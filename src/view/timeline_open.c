/* SPDX-License-Identifier: MIT */
/* Calls that threads are in while a run is watched: among the spans of their lanes, until now. */
#include "timeline_internal.h"

void timeline_set_now(struct timeline *timeline, int64_t now_ns)
{
    const struct timeline_inside *inside = inside_of(timeline);
    uint32_t count;
    trace_open_calls(timeline->trace, &count);
    if (now_ns <= timeline->now_ns)
        return;
    if (count && timeline->now_ns < inside->end_ns)
        timeline_forget_pictures(timeline);
    timeline->now_ns = now_ns;
}

void open_row_fill(const struct timeline *timeline, uint32_t call, struct open_row *row)
{
    uint32_t count;
    const struct open_call *calls = trace_open_calls(timeline->trace, &count);
    *row = (struct open_row){.call = calls[call], .end_ns = timeline->now_ns};
    if (row->end_ns <= row->call.begin_ns)
        row->end_ns = row->call.begin_ns + 1;
    row->kind = timeline_name(timeline, row->call.name)->kind; /* as others of that name were */
    if (!timeline_name(timeline, row->call.name)->known)
        row->kind = SPAN_KIND_API;
    row->block = (struct span_block){.info = {.track = row->call.track, .first = open_call_id(call).index, .count = 1, .begin_ns = row->call.begin_ns, .end_ns = row->end_ns},
                                     .begin_ns = &row->call.begin_ns, .end_ns = &row->end_ns, .name = &row->call.name, .category = &row->call.category,
                                     .kind = &row->kind};
}

bool open_cursor_next(const struct timeline *timeline, struct open_cursor *cursor, int64_t before_ns, uint32_t *ret_call)
{
    uint32_t count;
    const struct open_call *calls = trace_open_calls(timeline->trace, &count);
    if (cursor->next >= cursor->end || calls[cursor->next].begin_ns > before_ns)
        return false;
    *ret_call = cursor->next++;
    return true;
}

bool timeline_open_call(const struct timeline *timeline, span_id span, struct span_facts *ret_facts)
{
    uint32_t count, call = ID_NONE - 1 - span.index;
    struct open_row row;
    trace_open_calls(timeline->trace, &count);
    if (span.index == ID_NONE || call >= count)
        return false;
    open_row_fill(timeline, call, &row);
    *ret_facts = (struct span_facts){
        .id = span,
        .span = {.track = row.call.track, .begin_ns = row.call.begin_ns, .end_ns = INT64_MIN, .name = row.call.name, .category = row.call.category,
                 .kind = row.kind, .parent = SPAN_NONE, .stack = STACK_NONE},
        .lane = timeline_lane_of(timeline, row.call.track),
        .end_ns = row.end_ns,
        .unfinished = true,
        .open = true,
        .payload = {.kind = PAYLOAD_NONE},
    };
    return true;
}
