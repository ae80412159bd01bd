/* SPDX-License-Identifier: MIT */
/* What a timeline shows of a stretch of time, as rows of data: spans of its lanes, and values of its counters. */
#include "timeline_internal.h"

#include "base/text.h"
#include "trace/filter.h"

#include <inttypes.h>
#include <string.h>

struct writing {
    struct timeline *timeline;
    struct text *out;
    const char *process, *lane;
    struct row_slots slots;
    uint64_t rows, most;
};

static void add_text(struct writing *writing, const char *text)
{
    text_add_csv(writing->out, text, strlen(text));
    text_add_char(writing->out, ',');
}

static int add_span(void *context, const struct visited_span *span)
{
    struct writing *writing = context;
    const struct span_block *block = span->block;
    const struct trace *trace = writing->timeline->trace;
    struct filter_match *match = inside_of(writing->timeline)->match;
    unsigned depth = row_slots_take(&writing->slots, span->begin_ns, span->end_ns);
    if (match && !filter_match_span(match, block, span->row))
        return 0;
    if (writing->rows++ >= writing->most)
        return 1;
    add_text(writing, writing->process);
    add_text(writing, writing->lane);
    text_addf(writing->out, "%u,", depth);
    add_text(writing, trace_text(trace, block->name ? block->name[span->row] : STRING_NONE));
    add_text(writing, trace_text(trace, block->category ? block->category[span->row] : STRING_NONE));
    text_addf(writing->out, "%s,%" PRId64 ",", span_kind_name(block->kind ? block->kind[span->row] : SPAN_KIND_UNKNOWN), span->begin_ns);
    if (!span->open && block->end_ns[span->row] != INT64_MIN) /* else nobody knows it */
        text_addf(writing->out, "%" PRId64, span->end_ns);
    text_add_string(writing->out, ",\n");
    return 0;
}

static int add_value(struct writing *writing, string_id unit, int64_t time_ns, double value)
{
    if (writing->rows++ >= writing->most)
        return 1;
    add_text(writing, writing->process);
    add_text(writing, writing->lane);
    text_add_char(writing->out, ',');
    add_text(writing, trace_text(writing->timeline->trace, unit));
    text_addf(writing->out, ",counter,%" PRId64 ",,%.17g\n", time_ns, value);
    return 0;
}

/* 1: there are more than may be written. */
static int add_values(struct writing *writing, const struct timeline_lane *lane, int64_t begin_ns, int64_t end_ns, struct error *err)
{
    const struct trace *trace = writing->timeline->trace;
    uint32_t count;
    string_id unit = trace_tracks(trace, &count)[lane->track.index].unit;
    int result = 0;
    end_ns = timeline_end(writing->timeline, end_ns);
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_COUNTERS) && result == 0; i++) {
        struct counter_block block;
        struct block_info info = trace_block_info(trace, FAMILY_COUNTERS, i);
        if (info.track.index != lane->track.index || info.begin_ns >= end_ns || info.end_ns < begin_ns)
            continue;
        result = trace_counters_get(trace, i, &block, err);
        if (result < 0)
            return result;
        for (uint32_t row = 0; result == 0 && row < info.count; row++)
            if (block.time_ns[row] >= begin_ns && block.time_ns[row] < end_ns)
                result = add_value(writing, unit, block.time_ns[row], block.value[row]);
        trace_counters_put(trace, &block);
    }
    return result;
}

static int add_lane(struct writing *writing, uint32_t index, int64_t begin_ns, int64_t end_ns, struct error *err)
{
    const struct timeline *timeline = writing->timeline;
    const struct timeline_lane *lane = &timeline->lanes[index];
    uint32_t columns = SPAN_COLUMN_BIT(SPAN_COLUMN_NAME) | SPAN_COLUMN_BIT(SPAN_COLUMN_CATEGORY) | SPAN_COLUMN_BIT(SPAN_COLUMN_KIND);
    const struct trace_filter *filter = inside_of(timeline)->filter;
    writing->lane = lane->name;
    writing->process = lane->parent < timeline->lane_count ? timeline->lanes[lane->parent].name : "";
    writing->slots = (struct row_slots){.limit = TIMELINE_DEPTH_MAX};
    if (lane->kind == LANE_COUNTER)
        return add_values(writing, lane, begin_ns, end_ns, err);
    if (!lane->spans && !lane->calls)
        return 0;
    return timeline_visit(timeline, index, begin_ns, end_ns, columns | (filter ? filter_span_columns(filter) : 0), add_span, writing, err);
}

int timeline_csv(struct timeline *timeline, int64_t begin_ns, int64_t end_ns, uint64_t most, struct text *out, bool *ret_cut, struct error *err)
{
    struct writing writing = {.timeline = timeline, .out = out, .most = most};
    int result = 0;
    text_add_string(out, "process,lane,depth,name,category,kind,begin_ns,end_ns,value\n");
    for (uint32_t i = 0; i < timeline->shown_count && result == 0; i++)
        if (timeline->lanes[timeline->shown[i]].kind > LANE_PROCESS)
            result = add_lane(&writing, timeline->shown[i], begin_ns, end_ns, err);
    *ret_cut = result > 0;
    return result < 0 ? result : 0;
}
