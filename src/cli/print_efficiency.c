/* SPDX-License-Identifier: MIT */
/* What the formats of `efficiency` share, and its CSV. */
#include "print_efficiency.h"

#include <errno.h>
#include <string.h>

enum efficiency_model efficiency_main_model(const struct efficiency *efficiency)
{
    static const struct {
        enum efficiency_model model;
        enum efficiency_factor whole;
    } order[] = {{EFFICIENCY_MODEL_POP, EFFICIENCY_POP_PE}, {EFFICIENCY_MODEL_HYBRID, EFFICIENCY_HYBRID_PE}, {EFFICIENCY_MODEL_TALP, EFFICIENCY_TALP_PE}};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (efficiency->values[order[i].whole].status == EFFICIENCY_KNOWN)
            return order[i].model;
    return EFFICIENCY_MODEL_POP;
}

void add_lane_name(struct text *out, const struct trace *trace, track_id lane)
{
    uint32_t track_count, process_count;
    const struct trace_track *tracks = trace_tracks(trace, &track_count);
    const struct trace_process *processes = trace_processes(trace, &process_count);
    if (lane.index >= track_count) {
        text_add_string(out, "-");
        return;
    }
    const struct trace_track *track = &tracks[lane.index];
    const char *name = trace_text(trace, track->name);
    int32_t rank = track->process.index < process_count ? processes[track->process.index].rank : -1;
    if (*name)
        text_add_line(out, name, strlen(name));
    else
        text_addf(out, "thread %d", (int)track->tid);
    if (rank >= 0 && strncmp(name, "rank ", 5) != 0)
        text_addf(out, " (rank %d)", (int)rank);
    else if (track->kind == TRACK_KIND_THREAD && rank < 0 && track->tid >= 0)
        text_addf(out, " [%d]", (int)track->tid);
}

static const char *status_name(enum efficiency_status status)
{
    return status == EFFICIENCY_KNOWN ? "known" : status == EFFICIENCY_NOT_APPLICABLE ? "not applicable" : "not separable";
}

static void csv_efficiency(struct text *out, const struct efficiency_report *report)
{
    struct csv csv = {.out = out};
    static const char *const header[] = {"trace", "model", "factor", "depth", "value", "status", "formula", "reason"};
    for (size_t i = 0; i < sizeof header / sizeof *header; i++)
        csv_text(&csv, header[i]);
    csv_end(&csv);
    for (size_t run = 0; run < report->run_count; run++) {
        for (unsigned i = 0; i < EFFICIENCY_FACTOR_COUNT; i++) {
            const struct efficiency_factor_text *factor = efficiency_factor_text((enum efficiency_factor)i);
            const struct efficiency_value *value = &report->runs[run].efficiency->values[i];
            csv_text(&csv, report->runs[run].path);
            csv_text(&csv, efficiency_model_text(factor->model)->name);
            csv_text(&csv, factor->name);
            csv_u64(&csv, factor->depth);
            if (value->status == EFFICIENCY_KNOWN)
                csv_double(&csv, value->value, 6);
            else
                csv_empty(&csv);
            csv_text(&csv, status_name(value->status));
            csv_text(&csv, factor->formula);
            csv_text(&csv, value->reason);
            csv_end(&csv);
        }
    }
}

int print_efficiency(const struct efficiency_report *report, const struct invocation *invocation, struct error *err)
{
    struct text out = TEXT_INIT;
    int result = 0;
    if (invocation->format == OUTPUT_JSON)
        json_efficiency(&out, report);
    else if (invocation->format == OUTPUT_CSV)
        csv_efficiency(&out, report);
    else
        result = text_efficiency(&out, &invocation->look, report);
    if (result < 0) {
        text_finish(&out);
        return error_set(err, result, "efficiency: out of memory");
    }
    return output_text(invocation->out, &out, err);
}
