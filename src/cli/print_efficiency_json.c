/* SPDX-License-Identifier: MIT */
/* `efficiency --format json`: docs/efficiency.md has its keys. */
#include "print_efficiency.h"

#include <errno.h>
#include <math.h>

static void json_lane(struct json *json, const char *key, const struct trace *trace, track_id lane)
{
    struct text name = TEXT_INIT;
    if (lane.index == ID_NONE) {
        json_null(json, key);
        return;
    }
    add_lane_name(&name, trace, lane);
    json_string(json, key, name.data);
    text_finish(&name);
}

static void json_factors(struct json *json, const struct efficiency *efficiency, enum efficiency_model model)
{
    json_open(json, "factors", '[');
    for (unsigned i = 0; i < EFFICIENCY_FACTOR_COUNT; i++) {
        const struct efficiency_factor_text *factor = efficiency_factor_text((enum efficiency_factor)i);
        const struct efficiency_value *value = &efficiency->values[i];
        if (factor->model != model)
            continue;
        json_open(json, NULL, '{');
        json_string(json, "name", factor->name);
        json_double(json, "value", value->value, 6);
        json_string(json, "formula", factor->formula);
        json_bool(json, "applicable", value->status != EFFICIENCY_NOT_APPLICABLE);
        json_bool(json, "separable", value->status == EFFICIENCY_KNOWN);
        json_string(json, "reason", value->reason);
        json_u64(json, "depth", factor->depth);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_models(struct json *json, const struct efficiency *efficiency)
{
    json_open(json, "models", '[');
    for (unsigned i = 0; i < EFFICIENCY_MODEL_COUNT; i++) {
        const struct efficiency_model_text *model = efficiency_model_text((enum efficiency_model)i);
        json_open(json, NULL, '{');
        json_string(json, "model", model->name);
        json_string(json, "source", model->source);
        json_factors(json, efficiency, (enum efficiency_model)i);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_inputs(struct json *json, const struct efficiency *efficiency)
{
    json_open(json, "inputs", '[');
    for (unsigned i = 0; i < EFFICIENCY_INPUT_COUNT; i++) {
        const struct efficiency_input_text *input = efficiency_input_text((enum efficiency_input)i);
        json_open(json, NULL, '{');
        json_string(json, "symbol", input->symbol);
        json_double(json, "value", efficiency->inputs.value[i], 0);
        json_string(json, "unit", input->unit);
        json_string(json, "meaning", input->text);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_threads(struct json *json, const struct efficiency_run *run)
{
    uint32_t process_count;
    const struct trace_process *processes = trace_processes(run->trace, &process_count);
    json_open(json, "threads", '[');
    for (size_t i = 0; i < run->efficiency->process_count; i++) {
        const struct efficiency_process *process = &run->efficiency->processes[i];
        for (uint32_t j = 0; j < process->thread_count; j++) {
            const struct efficiency_thread *thread = &run->efficiency->threads[process->first_thread + j];
            json_open(json, NULL, '{');
            json_lane(json, "lane", run->trace, thread->track);
            json_i64(json, "pid", processes[process->process.index].pid);
            if (processes[process->process.index].rank >= 0)
                json_i64(json, "rank", processes[process->process.index].rank);
            else
                json_null(json, "rank");
            json_bool(json, "main", thread->main);
            json_i64(json, "useful_ns", thread->useful_ns);
            if (isfinite(run->efficiency->inputs.value[EFFICIENCY_INPUT_V]))
                json_i64(json, "preempted_ns", thread->preempted_ns);
            else
                json_null(json, "preempted_ns");
            json_i64(json, "mpi_ns", thread->mpi_ns);
            json_i64(json, "openmp_ns", thread->openmp_ns);
            json_i64(json, "device_ns", thread->device_ns);
            json_i64(json, "idle_ns", thread->idle_ns);
            json_close(json, '}');
        }
    }
    json_close(json, ']');
}

static size_t shown(size_t count, uint64_t top)
{
    return top && top < count ? (size_t)top : count;
}

static void json_waits(struct json *json, const struct efficiency_run *run, uint64_t top)
{
    json_open(json, "patterns", '[');
    for (unsigned i = 0; i < WAIT_PATTERN_COUNT; i++) {
        if (!run->waits->sums[i].count)
            continue;
        json_open(json, NULL, '{');
        json_string(json, "pattern", wait_pattern_name((enum wait_pattern)i));
        json_u64(json, "count", run->waits->sums[i].count);
        json_i64(json, "time_ns", run->waits->sums[i].time_ns);
        json_string(json, "meaning", wait_pattern_text((enum wait_pattern)i));
        json_close(json, '}');
    }
    json_close(json, ']');
    json_open(json, "waits", '[');
    for (size_t i = 0; i < shown(run->blame_count, top); i++) {
        const struct wait_blame *row = &run->blame[i];
        json_open(json, NULL, '{');
        json_string(json, "pattern", wait_pattern_name(row->pattern));
        json_string(json, "cause", trace_text(run->trace, row->cause));
        json_lane(json, "cause_lane", run->trace, row->cause_lane);
        json_string(json, "victim", trace_text(run->trace, row->victim));
        json_lane(json, "victim_lane", run->trace, row->victim_lane);
        json_u64(json, "count", row->count);
        json_i64(json, "time_ns", row->time_ns);
        json_string(json, "confidence", confidence_name(row->confidence));
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_delays(struct json *json, const struct efficiency_run *run, uint64_t top)
{
    json_i64(json, "waited_ns", run->waits->waited_ns);
    json_i64(json, "uncharged_ns", run->waits->uncharged_ns);
    json_open(json, "delays", '[');
    for (size_t i = 0; i < shown(run->waits->delay_count, top); i++) {
        const struct wait_delay *delay = &run->waits->delays[i];
        json_open(json, NULL, '{');
        json_lane(json, "lane", run->trace, delay->lane);
        json_string(json, "activity", trace_text(run->trace, delay->name));
        json_string(json, "function", trace_text(run->trace, delay->function));
        json_double(json, "function_share", *trace_text(run->trace, delay->function) ? delay->function_share : (double)NAN, 4);
        json_u64(json, "samples", delay->samples);
        json_double(json, "blocked_share", *trace_text(run->trace, delay->name) ? (double)NAN : delay->blocked_share, 4);
        json_string(json, "within", trace_text(run->trace, delay->around));
        json_string(json, "category", trace_text(run->trace, delay->category));
        json_string(json, "pattern", wait_pattern_name(delay->pattern));
        json_u64(json, "count", delay->count);
        json_i64(json, "direct_ns", delay->direct_ns);
        json_i64(json, "propagated_ns", delay->propagated_ns);
        json_string(json, "remedy", wait_pattern_remedy(delay->pattern));
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_run(struct json *json, const struct efficiency_run *run, uint64_t top)
{
    const struct efficiency *efficiency = run->efficiency;
    json_open(json, NULL, '{');
    json_string(json, "trace", run->path);
    json_i64(json, "begin_ns", efficiency->begin_ns);
    json_i64(json, "end_ns", efficiency->end_ns);
    json_bool(json, "whole_life", efficiency->whole_life);
    json_u64(json, "processes", efficiency->process_count);
    json_u64(json, "threads_counted", efficiency->thread_count);
    json_u64(json, "threads_not_counted", efficiency->other_threads);
    json_models(json, efficiency);
    json_inputs(json, efficiency);
    json_threads(json, run);
    json_waits(json, run, top);
    json_delays(json, run, top);
    json_close(json, '}');
}

static void json_scaling(struct json *json, const struct efficiency_report *report)
{
    static const char no_counters[] = "no counts of instructions and cycles in the trace";
    if (report->run_count < 2) {
        json_null(json, "scaling");
        return;
    }
    json_open(json, "scaling", '{');
    json_string(json, "kind", report->weak ? "weak" : "strong");
    json_string(json, "formula", report->weak ? "sum(u_ref) / sum(u) * T / T_ref" : "sum(u_ref) / sum(u)");
    json_open(json, "runs", '[');
    for (size_t i = 0; i < report->run_count; i++) {
        const struct efficiency_run *run = &report->runs[i];
        json_open(json, NULL, '{');
        json_string(json, "trace", run->path);
        json_u64(json, "threads", run->efficiency->thread_count);
        json_double(json, "speedup", run->scaling.speedup, 6);
        json_double(json, "computation_scalability", run->scaling.computation, 6);
        json_double(json, "parallel_efficiency", run->scaling.parallel, 6);
        json_double(json, "global_efficiency", run->scaling.global, 6);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_null(json, "ipc_scalability");
    json_null(json, "instruction_scalability");
    json_null(json, "frequency_scalability");
    json_string(json, "not_separable", no_counters);
    json_close(json, '}');
}

void json_efficiency(struct text *out, const struct efficiency_report *report)
{
    struct json json = {.out = out};
    const struct efficiency *first = report->runs[0].efficiency;
    enum efficiency_model model = efficiency_main_model(first);
    json_open(&json, NULL, '{');
    json_string(&json, "model", efficiency_model_text(model)->name);
    json_factors(&json, first, model);
    json_open(&json, "runs", '[');
    for (size_t i = 0; i < report->run_count; i++)
        json_run(&json, &report->runs[i], report->top);
    json_close(&json, ']');
    json_scaling(&json, report);
    json_close(&json, '}');
    text_add_char(out, '\n');
}
