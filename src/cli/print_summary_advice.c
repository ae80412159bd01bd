/* SPDX-License-Identifier: MIT */
/* The advice of a summary. The keys of JSON are a contract: docs/metrics.md. */
#include "print_summary.h"

#include "base/error.h"
#include "view/advice_lines.h"

#include <string.h>

enum advice_choice advice_choice_find(const char *text)
{
    if (text && strcmp(text, "all") == 0)
        return ADVICE_CHOICE_ALL;
    return text && strcmp(text, "none") == 0 ? ADVICE_CHOICE_NONE : ADVICE_CHOICE_AUTO;
}

/* A summary stands without it: what keeps it away is said in its place. */
void summary_advise(const struct summary *summary, enum advice_choice choice, const struct progress *progress, struct summary_advice *ret_advice)
{
    struct error err = ERROR_INIT;
    const struct advice_options options = {.all = choice == ADVICE_CHOICE_ALL, .devices = summary->activities, .off_cpu = summary->off_cpu};
    *ret_advice = (struct summary_advice){0};
    if (choice == ADVICE_CHOICE_NONE)
        snprintf(ret_advice->reason, sizeof ret_advice->reason, "not asked for");
    else if (summary->filtered)
        snprintf(ret_advice->reason, sizeof ret_advice->reason, "of whole runs only: without --where");
    else if (trace_is_growing(summary->trace))
        snprintf(ret_advice->reason, sizeof ret_advice->reason, "once the recording is over");
    else if (advices_create(summary->trace, &options, progress, &ret_advice->advices, &err) < 0)
        snprintf(ret_advice->reason, sizeof ret_advice->reason, "%.200s", err.text);
}

void summary_advice_finish(struct summary_advice *advice)
{
    advices_destroy(advice->advices);
    advice->advices = NULL;
}

void draw_summary_advice(const struct summary_advice *advice, const struct trace *trace, const struct text_look *look, struct text *out)
{
    if (advice->advices)
        advices_draw(advice->advices, trace, look, out);
}

static void json_evidence(struct json *json, const struct advice *advice)
{
    json_open(json, "evidence", '[');
    for (unsigned i = 0; i < advice->evidence_count; i++) {
        const struct advice_evidence *evidence = &advice->evidence[i];
        json_open(json, NULL, '{');
        json_string(json, "name", evidence->name);
        bool whole = evidence->value > -9e18 && evidence->value < 9e18 && evidence->value == (double)(int64_t)evidence->value;
        if (whole)
            json_i64(json, "value", (int64_t)evidence->value);
        else
            json_double(json, "value", evidence->value, 3);
        json_string(json, "unit", evidence->unit);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_one(struct json *json, const struct trace *trace, const struct advices *advices, const struct advice *advice)
{
    const struct advice_rule_text *rule = advice_rule_text(advice->rule);
    uint32_t track_count;
    const struct trace_track *tracks = trace_tracks(trace, &track_count);
    struct text text = TEXT_INIT;
    json_open(json, NULL, '{');
    json_string(json, "rule", rule->id);
    json_string(json, "severity", advice_severity_name(advice->severity));
    json_optional(json, "time_ns", (struct optional_i64){advice->bound_ns >= 0, advice->bound_ns});
    if (advice->bound_ns >= 0 && advices->run_ns > 0)
        json_double(json, "run_percent", 100 * (double)advice->bound_ns / (double)advices->run_ns, 3);
    else
        json_null(json, "run_percent");
    json_double(json, "share_percent", advice->share_percent, 3);
    json_double(json, "threshold_percent", rule->threshold_percent, 3);
    json_string(json, "share_of", rule->basis);
    json_string(json, "name", trace_text(trace, advice->name));
    json_string(json, "lane", advice->lane.index < track_count ? trace_text(trace, tracks[advice->lane.index].name) : NULL);
    json_evidence(json, advice);
    text_add_advice_title(&text, trace, advice);
    json_text(json, "text", text.data);
    json_string(json, "remedy", rule->remedy);
    json_close(json, '}');
    text_finish(&text);
}

void json_summary_advice(struct json *json, const struct summary_advice *advice, const struct trace *trace)
{
    const struct advices *advices = advice->advices;
    json_open(json, "advice", '[');
    for (size_t i = 0; advices && i < advices->count; i++)
        json_one(json, trace, advices, &advices->rows[i]);
    json_close(json, ']');
    json_open(json, "advice_rules", '{');
    json_optional(json, "judged", (struct optional_i64){advices != NULL, advices ? advices->judged : 0});
    json_u64(json, "count", ADVICE_RULE_COUNT);
    json_string(json, "reason", advice->reason);
    json_open(json, "not_judged", '[');
    for (unsigned i = 0; advices && i < ADVICE_NEED_COUNT; i++) {
        if (!advices->unjudged[i])
            continue;
        json_open(json, NULL, '{');
        json_string(json, "needs", advice_need_text(i));
        json_u64(json, "count", advices->unjudged[i]);
        json_string(json, "reason", advices->missing[i]);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}
