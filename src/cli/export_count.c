/* SPDX-License-Identifier: MIT */
/* Counts what an export took: rows that overlap the window and match the filter. */
#include "export_count.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "view/units.h"

#include <errno.h>

struct counting {
    const struct trace *trace;
    const struct format_write_options *options;
    struct filter_match *match; /* NULL = no filter */
    int64_t begin_ns, end_ns;
};

static bool track_matches(const struct counting *counting, track_id track)
{
    return !counting->match || filter_match_track(counting->match, track);
}

/* An unfinished span reaches into every later window. */
static bool span_counts(const struct counting *counting, const struct span_block *block, uint32_t row)
{
    int64_t end_ns = block->end_ns[row] == INT64_MIN ? INT64_MAX : block->end_ns[row];
    return block->begin_ns[row] <= counting->end_ns && end_ns >= counting->begin_ns &&
           (!counting->match || filter_match_span(counting->match, block, row));
}

static bool sample_counts(const struct counting *counting, const struct sample_block *block, uint32_t row)
{
    return block->time_ns[row] >= counting->begin_ns && block->time_ns[row] <= counting->end_ns &&
           (!counting->match || filter_match_sample(counting->match, block, row));
}

static int count_spans(const struct counting *counting, uint64_t *count, struct error *err)
{
    uint32_t columns = SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END) |
                       filter_span_columns(counting->options->where);
    for (uint32_t i = 0; i < trace_block_count(counting->trace, FAMILY_SPANS); i++) {
        struct block_info info = trace_block_info(counting->trace, FAMILY_SPANS, i);
        struct span_block block;
        if (info.begin_ns > counting->end_ns || !track_matches(counting, info.track))
            continue;
        int result = trace_spans_scan(counting->trace, i, columns, &block, err);
        if (result < 0)
            return result;
        for (uint32_t row = 0; row < block.info.count; row++)
            *count += span_counts(counting, &block, row);
        trace_spans_put(counting->trace, &block);
    }
    return 0;
}

static int count_samples(const struct counting *counting, uint64_t *count, struct error *err)
{
    for (uint32_t i = 0; i < trace_block_count(counting->trace, FAMILY_SAMPLES); i++) {
        struct block_info info = trace_block_info(counting->trace, FAMILY_SAMPLES, i);
        struct sample_block block;
        if (info.begin_ns > counting->end_ns || info.end_ns < counting->begin_ns ||
            !track_matches(counting, info.track))
            continue;
        int result = trace_samples_get(counting->trace, i, &block, err);
        if (result < 0)
            return result;
        for (uint32_t row = 0; row < block.info.count; row++)
            *count += sample_counts(counting, &block, row);
        trace_samples_put(counting->trace, &block);
    }
    return 0;
}

int export_count(const struct trace *trace, const struct format_write_options *options,
                 struct export_counts *ret_counts, struct error *err)
{
    struct export_counts counts = {.spans = trace_row_count(trace, FAMILY_SPANS),
                                   .samples = trace_row_count(trace, FAMILY_SAMPLES)};
    struct counting counting = {.trace = trace, .options = options, .begin_ns = INT64_MIN, .end_ns = INT64_MAX};
    int result = 0;
    if (options->has_window) {
        counting.begin_ns = options->window_begin_ns;
        counting.end_ns = options->window_end_ns;
    }
    if (options->where && filter_match_create(options->where, trace, &counting.match) < 0)
        return error_set(err, -ENOMEM, "export: no memory for the filter");
    if (options->has_window || options->where) {
        counts = (struct export_counts){0};
        result = count_spans(&counting, &counts.spans, err);
        if (result == 0)
            result = count_samples(&counting, &counts.samples, err);
    }
    filter_match_destroy(counting.match);
    if (result == 0)
        *ret_counts = counts;
    return result;
}

void export_report(const struct export_counts *counts, const struct format_write_options *options, const char *path,
                   const struct log *log)
{
    char spans[32], samples[32];
    bool selected = options->has_window || options->where;
    if (selected && !counts->spans && !counts->samples)
        log_warning(log, "no span and no sample of the trace %s%s%s", options->has_window ? "lies in --window" : "",
                    options->has_window && options->where ? " and " : "", options->where ? "matches --where" : "");
    if (path)
        log_info(log, "%s written from %s span%s and %s sample%s", path,
                 format_count(spans, sizeof spans, counts->spans), counts->spans == 1 ? "" : "s",
                 format_count(samples, sizeof samples, counts->samples), counts->samples == 1 ? "" : "s");
}
