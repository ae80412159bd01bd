/* SPDX-License-Identifier: MIT */
/* Several traces opened one by one, those with several clocks divided by clock, then merged. */
#include "open_together.h"

#include "base/array.h"
#include "base/error.h"
#include "base/log.h"
#include "formats/format.h"
#include "trace/select.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void inputs_finish(struct inputs *inputs)
{
    for (uint32_t i = 0; i < inputs->count; i++)
        trace_unref(inputs->traces[i]);
    free(inputs->traces);
    free(inputs->names);
}

/* Takes the traces. */
static int add_inputs(struct inputs *inputs, struct trace *const *traces, uint32_t count, const char *name, struct error *err)
{
    struct trace **grown = array_reserve(inputs->traces, &inputs->capacity, (size_t)inputs->count + count, sizeof *grown);
    inputs->traces = grown ? grown : inputs->traces;
    const char **names = array_reserve(inputs->names, &inputs->name_capacity, (size_t)inputs->count + count, sizeof *names);
    inputs->names = names ? names : inputs->names;
    for (uint32_t i = 0; i < count; i++) {
        if (!grown || !names) {
            trace_unref(traces[i]);
            continue;
        }
        inputs->traces[inputs->count] = traces[i];
        inputs->names[inputs->count++] = name;
    }
    return grown && names ? 0 : error_set(err, -ENOMEM, "out of memory");
}

static int add_clocks(struct inputs *inputs, const struct trace *trace, const char *name, const struct progress *progress, struct error *err)
{
    struct trace **parts;
    uint32_t count;
    int code = trace_split_clocks(trace, progress, &parts, &count, err);
    if (code)
        return code;
    code = add_inputs(inputs, parts, count, name, err);
    free(parts);
    return code;
}

static int merge_inputs(const struct inputs *inputs, const struct node_merge_options *how, const struct progress *progress,
                        struct trace **ret_trace, struct node_merge_report *ret_report, struct error *err)
{
    return node_merge((const struct trace *const *)(const void *)inputs->traces, inputs->names, inputs->count, how, progress, ret_trace,
                      ret_report, err);
}

int open_input(struct inputs *inputs, const char *path, const struct progress *progress, const struct log *log, struct error *err)
{
    CLEANUP(trace_unrefp) struct trace *trace = NULL;
    int code = trace_open(path, progress, log, &trace, err);
    if (code == 0 && trace_has_several_clocks(trace))
        return add_clocks(inputs, trace, path, progress, err);
    return code ? code : add_inputs(inputs, (struct trace *[]){trace_ref(trace)}, 1, path, err);
}

int open_together(const struct invocation *invocation, const struct node_merge_options *how, struct trace **ret_trace,
                  struct node_merge_report *ret_report, struct error *err)
{
    CLEANUP(inputs_finish) struct inputs inputs = {0};
    int code = 0;
    for (int i = 0; i < invocation->operand_count && code == 0; i++)
        code = open_input(&inputs, invocation->operands[i], invocation->progress, invocation->log, err);
    return code ? code : merge_inputs(&inputs, how, invocation->progress, ret_trace, ret_report, err);
}

int open_aligned(const char *path, const struct invocation *invocation, struct trace **ret_trace, struct error *err)
{
    static const struct node_merge_options as_measured = {0};
    CLEANUP(inputs_finish) struct inputs inputs = {0};
    CLEANUP(node_merge_report_finish) struct node_merge_report report = {0};
    CLEANUP(trace_unrefp) struct trace *trace = NULL;
    int code = trace_open(path, invocation->progress, invocation->log, &trace, err);
    if (code || !trace_has_several_clocks(trace)) {
        *ret_trace = trace;
        trace = NULL;
        return code;
    }
    code = add_clocks(&inputs, trace, path, invocation->progress, err);
    if (code == 0)
        code = merge_inputs(&inputs, &as_measured, invocation->progress, ret_trace, &report, err);
    if (code == 0)
        warn_of_merge(&report, invocation->log);
    return code;
}

void warn_of_merge(const struct node_merge_report *report, const struct log *log)
{
    const char *line = report->notes.data;
    while (line && *line) {
        size_t length = strcspn(line, "\n");
        log_warning(log, "%.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
}
