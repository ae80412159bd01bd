/* SPDX-License-Identifier: MIT */
/* What a filter asks for, found once for all spans and tracks. */
#include "activities.h"

#include "base/error.h"

#include <errno.h>

static int mark_spans(struct activity_set *set, const struct trace *trace, const struct trace_filter *filter,
                      struct filter_match *match, struct error *err)
{
    uint32_t columns = filter_span_columns(filter), blocks = trace_block_count(trace, FAMILY_SPANS);
    for (uint32_t b = 0; b < blocks; b++) {
        struct block_info info = trace_block_info(trace, FAMILY_SPANS, b);
        if (!filter_match_track(match, info.track))
            continue;
        struct span_block block;
        int result = trace_spans_scan(trace, b, columns, &block, err);
        if (result < 0)
            return result;
        for (uint32_t i = 0; i < block.info.count; i++) {
            uint32_t span = block.info.first + i;
            if (span < set->span_count && filter_match_span(match, &block, i)) {
                set->spans[span / 8] |= (uint8_t)(1u << span % 8);
                set->any = true;
            }
        }
        trace_spans_put(trace, &block);
    }
    return 0;
}

/* Of each track's samples of CPU time: those that match, of all. */
static int share_by_samples(struct activity_set *set, const struct trace *trace, struct filter_match *match,
                            struct error *err)
{
    CLEANUP(freep) int64_t *all = calloc((size_t)set->track_count + 1, sizeof *all);
    CLEANUP(freep) int64_t *matched = calloc((size_t)set->track_count + 1, sizeof *matched);
    const struct sample_aggregate *rows;
    uint32_t count;
    if (!all || !matched)
        return error_set(err, -ENOMEM, "out of memory while filtering");
    int result = trace_sample_aggregates(trace, &rows, &count, err);
    for (uint32_t i = 0; result == 0 && i < count; i++) {
        if (!sample_event_is_cpu(rows[i].event) || rows[i].track.index >= set->track_count)
            continue;
        all[rows[i].track.index] += rows[i].weight;
        if (filter_match_stack(match, rows[i].track, rows[i].stack, rows[i].event))
            matched[rows[i].track.index] += rows[i].weight;
    }
    for (uint32_t t = 0; result == 0 && t < set->track_count; t++) {
        set->whole_tracks[t] = filter_match_stack(match, (track_id){t}, STACK_NONE, SAMPLE_EVENT_CPU_CLOCK);
        if (set->whole_tracks[t]) /* it asks for no functions */
            set->code_shares[t] = 1;
        else if (all[t] > 0)
            set->code_shares[t] = (double)matched[t] / (double)all[t];
        set->any |= set->code_shares[t] > 0;
    }
    return result;
}

int activity_set_create(const struct trace *trace, const struct trace_filter *filter, struct activity_set **ret_set,
                        struct error *err)
{
    CLEANUP(activity_set_destroyp) struct activity_set *set = calloc(1, sizeof *set);
    if (!set)
        return error_set(err, -ENOMEM, "out of memory while filtering");
    uint64_t span_count = trace_row_count(trace, FAMILY_SPANS);
    set->span_count = span_count < UINT32_MAX ? (uint32_t)span_count : UINT32_MAX;
    trace_tracks(trace, &set->track_count);
    set->spans = calloc((size_t)set->span_count / 8 + 1, 1);
    set->code_shares = calloc((size_t)set->track_count + 1, sizeof *set->code_shares);
    set->whole_tracks = calloc((size_t)set->track_count + 1, sizeof *set->whole_tracks);
    if (!set->spans || !set->code_shares || !set->whole_tracks || filter_match_create(filter, trace, &set->match) < 0)
        return error_set(err, -ENOMEM, "out of memory while filtering");
    int result = mark_spans(set, trace, filter, set->match, err);
    if (result == 0)
        result = share_by_samples(set, trace, set->match, err);
    if (result == 0)
        *ret_set = TAKE_PTR(set);
    return result;
}

void activity_set_destroy(struct activity_set *set)
{
    if (!set)
        return;
    free(set->spans);
    free(set->code_shares);
    free(set->whole_tracks);
    filter_match_destroy(set->match);
    free(set);
}
