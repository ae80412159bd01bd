/* SPDX-License-Identifier: MIT */
/* What an export takes of a trace. */
#include "selection.h"

#include "base/error.h"

#include <errno.h>

int selection_init(struct selection *selection, const struct trace *trace, const struct format_write_options *options,
                   const char *what, unsigned families, struct error *err)
{
    static const struct format_write_options everything;
    if (!options)
        options = &everything;
    *selection = (struct selection){
        .trace = trace, .options = options, .begin_ns = INT64_MIN, .end_ns = INT64_MAX, .what = what};
    if (options->has_window) {
        if (options->window_begin_ns > options->window_end_ns)
            return error_set(err, -EINVAL, "export: the window ends before it begins");
        selection->begin_ns = options->window_begin_ns;
        selection->end_ns = options->window_end_ns;
    }
    for (unsigned family = 0; family < FAMILY_COUNT; family++)
        if (families >> family & 1)
            selection->blocks_total += trace_block_count(trace, (enum family)family);
    selection->everything = !options->has_window && !options->where;
    if (!options->where)
        return 0;
    int r = filter_match_create(options->where, trace, &selection->match);
    return r < 0 ? error_set(err, r, "export: no memory for the filter") : 0;
}

void selection_finish(struct selection *selection)
{
    filter_match_destroy(selection->match);
    selection->match = NULL;
}

bool selection_block(struct selection *selection, enum family family, const struct block_info *info)
{
    selection->blocks_done++;
    progress_update(selection->options->progress, selection->what, selection->blocks_done, selection->blocks_total);
    if (info->begin_ns > selection->end_ns)
        return false;
    /* A block's greatest end says nothing of unfinished spans in it: those reach into every later window. */
    if (family != FAMILY_SPANS && info->end_ns < selection->begin_ns)
        return false;
    return !selection->match || info->track.index == ID_NONE || filter_match_track(selection->match, info->track);
}

bool selection_span(const struct selection *selection, const struct span_block *block, uint32_t row)
{
    if (selection->everything)
        return true;
    int64_t begin_ns = block->begin_ns[row], end_ns = trace_span_end(selection->trace, block->info.track, begin_ns, block->end_ns[row]);
    if (begin_ns > selection->end_ns || end_ns < selection->begin_ns)
        return false;
    if (begin_ns < end_ns && (begin_ns == selection->end_ns || end_ns == selection->begin_ns))
        return false; /* touches the window only */
    return !selection->match || filter_match_span(selection->match, block, row);
}

bool selection_sample(const struct selection *selection, const struct sample_block *block, uint32_t row)
{
    if (selection->everything)
        return true;
    if (!selection_time(selection, block->time_ns[row]))
        return false;
    return !selection->match || filter_match_sample(selection->match, block, row);
}

bool selection_time(const struct selection *selection, int64_t time_ns)
{
    return time_ns >= selection->begin_ns && time_ns <= selection->end_ns;
}
