/* SPDX-License-Identifier: MIT */
/* Several traces opened one by one, then merged. */
#include "open_together.h"

#include "base/error.h"
#include "base/log.h"
#include "formats/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct inputs {
    struct trace **traces;
    int count;
};

static void inputs_finish(struct inputs *inputs)
{
    for (int i = 0; i < inputs->count; i++)
        trace_unref(inputs->traces[i]);
    free(inputs->traces);
}

static int open_inputs(const struct invocation *invocation, struct inputs *inputs, struct error *err)
{
    int code = 0;
    inputs->traces = calloc((size_t)invocation->operand_count + 1, sizeof(*inputs->traces));
    if (!inputs->traces)
        return error_set(err, -ENOMEM, "out of memory");
    for (int i = 0; i < invocation->operand_count && code == 0; i++) {
        code = trace_open(invocation->operands[i], invocation->progress, invocation->log, &inputs->traces[i], err);
        inputs->count += code == 0;
    }
    return code;
}

int open_together(const struct invocation *invocation, const struct node_merge_options *how, struct trace **ret_trace,
                  struct node_merge_report *ret_report, struct error *err)
{
    CLEANUP(inputs_finish) struct inputs inputs = {0};
    int code = open_inputs(invocation, &inputs, err);
    return code ? code
                : node_merge((const struct trace *const *)(const void *)inputs.traces,
                             (const char *const *)(const void *)invocation->operands, (uint32_t)inputs.count, how,
                             invocation->progress, ret_trace, ret_report, err);
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
