/* SPDX-License-Identifier: MIT */
/* The advisor's advice in words. */
#include "advice_lines.h"

#include "display_name.h"
#include "lane_label.h"
#include "units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define INDENT 20 /* of what belongs to an advice: behind its bound and percent */

void text_add_advice_title(struct text *out, const struct trace *trace, const struct advice *advice)
{
    text_add_string(out, advice_rule_text(advice->rule)->title);
    const char *name = trace_text(trace, advice->name);
    if (!*name)
        return;
    text_add_string(out, ": ");
    text_add_display_name(out, name);
}

static void add_value(struct text *out, const struct advice_evidence *evidence)
{
    char value[32];
    double number = evidence->value < 0 ? 0 : evidence->value > 9e18 ? 9e18 : evidence->value;
    text_add_string(out, evidence->name);
    text_add_char(out, ' ');
    if (strcmp(evidence->unit, "ns") == 0)
        text_add_string(out, format_duration(value, sizeof value, llround(number)));
    else if (strcmp(evidence->unit, "By") == 0)
        text_add_string(out, format_bytes(value, sizeof value, (uint64_t)llround(number)));
    else
        text_add_string(out, format_count(value, sizeof value, (uint64_t)llround(number)));
    if (strcmp(evidence->unit, "%") == 0)
        text_add_string(out, " %");
}

void text_add_advice_evidence(struct text *out, const struct trace *trace, const struct advice *advice)
{
    const struct advice_rule_text *rule = advice_rule_text(advice->rule);
    size_t before = out->length;
    text_add_lane_label(out, trace, advice->lane);
    if (out->length > before)
        text_add_string(out, ": ");
    for (unsigned i = 0; i < advice->evidence_count; i++) {
        if (i)
            text_add_string(out, ", ");
        add_value(out, &advice->evidence[i]);
    }
    text_addf(out, "; %.1f %% of the %s, told from %g %% on", advice->share_percent, rule->basis, rule->threshold_percent);
}

void text_add_advice_judged(struct text *out, const struct advices *advices)
{
    const char *between = "not judged";
    if (!advices->count)
        text_add_string(out, "nothing above its threshold: ");
    text_addf(out, "%u of %u rules judged", advices->judged, (unsigned)ADVICE_RULE_COUNT);
    if (advices->count)
        text_addf(out, ", %zu of them speak%s", advices->count, advices->count == 1 ? "s" : "");
    for (unsigned i = 0; i < ADVICE_NEED_COUNT; i++) {
        if (!advices->unjudged[i])
            continue;
        text_addf(out, "; %s%s%u on %s (%s)", between, *between ? ": " : "", advices->unjudged[i], advice_need_text(i), advices->missing[i]);
        between = "";
    }
}

span_id advice_lane_span(const struct trace *trace, const struct advice *advice)
{
    uint32_t count, found = ID_NONE;
    const struct trace_track *tracks = trace_tracks(trace, &count);
    if (advice->lane.index >= count)
        return SPAN_NONE;
    const struct trace_track *lane = &tracks[advice->lane.index];
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_SPANS); i++) {
        struct block_info info = trace_block_info(trace, FAMILY_SPANS, i);
        if (info.track.index == advice->lane.index)
            return (span_id){info.first};
        if (found != ID_NONE || info.track.index >= count || lane->device < 0)
            continue;
        const struct trace_track *track = &tracks[info.track.index];
        if (track->kind == TRACK_KIND_STREAM && track->process.index == lane->process.index && track->device == lane->device)
            found = info.first;
    }
    return (span_id){found};
}

static void draw_wrapped(const struct text_look *look, struct text *out, const char *text)
{
    text_addf(out, "%*s", INDENT, "");
    text_add_wrapped(out, look, INDENT, INDENT, text);
}

static void draw_one(const struct advices *advices, const struct advice *advice, const struct trace *trace, const struct text_look *look, struct text *out)
{
    const struct advice_rule_text *rule = advice_rule_text(advice->rule);
    char bound[32] = "", percent[32] = "";
    struct text line = TEXT_INIT;
    if (advice->bound_ns >= 0) {
        format_duration(bound, sizeof bound, advice->bound_ns);
        format_percent(percent, sizeof percent, (double)advice->bound_ns, (double)advices->run_ns);
    }
    text_addf(out, "  %9s  %5s  ", advice->bound_ns >= 0 ? bound : "data", percent);
    text_add_advice_title(&line, trace, advice);
    text_add_wrapped(out, look, INDENT, INDENT, line.data ? line.data : "");
    text_clear(&line);
    text_add_advice_evidence(&line, trace, advice);
    draw_wrapped(look, out, line.data ? line.data : "");
    text_clear(&line);
    text_addf(&line, "%s (%s)", rule->remedy, rule->id);
    draw_wrapped(look, out, line.data ? line.data : "");
    text_finish(&line);
}

void advices_draw(const struct advices *advices, const struct trace *trace, const struct text_look *look, struct text *out)
{
    struct text line = TEXT_INIT;
    text_add_char(out, '\n');
    text_add_styled(out, look, STYLE_BOLD, "Advice");
    text_add_string(out, "  ");
    text_add_wrapped(out, look, 8, 2, advices->count ? "what each could give back at most, and % of the run; they overlap: no sums (docs/advisor.md)" : "");
    for (size_t i = 0; i < advices->count; i++)
        draw_one(advices, &advices->rows[i], trace, look, out);
    text_add_advice_judged(&line, advices);
    text_add_string(out, "  ");
    text_add_wrapped(out, look, 2, 2, line.data ? line.data : "");
    text_finish(&line);
}
