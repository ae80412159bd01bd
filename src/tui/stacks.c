/* SPDX-License-Identifier: MIT */
/* What the two tabs of call stacks share. */
#include "stacks.h"

void stacks_draw_missing(struct app *app, const struct calling_context *context, struct area area)
{
    struct canvas *canvas = &app->canvas;
    int width = area.columns - 4;
    if (!trace_row_count(app->trace, FAMILY_SAMPLES)) {
        canvas_text(canvas, area.y + 1, 2, width, look_of(COLOUR_DEFAULT), "This trace has no samples with call stacks.");
        canvas_text(canvas, area.y + 3, 2, width, look_of(COLOUR_DIM), "hprofiler run --perf-callgraph dwarf -- PROGRAM takes them.");
    } else if (!context || context->count <= 1) {
        canvas_text(canvas, area.y + 1, 2, width, look_of(COLOUR_DEFAULT),
                    app->filter ? "No sample of CPU time matches the filter in this window." : "No sample of CPU time lies in this window.");
    }
}

bool stacks_subject(const struct calling_context *context, uint32_t node, struct subject *ret_subject)
{
    if (!context || node == 0 || node >= context->count || !context->nodes[node].function.index)
        return false;
    *ret_subject = (struct subject){SUBJECT_FUNCTION, SPAN_NONE, context->nodes[node].function, -1, STACK_NONE};
    return true;
}

uint32_t stacks_locate(struct app *app, const struct calling_context *context, bool bottom_up, const struct subject *subject)
{
    if (!context)
        return ID_NONE;
    if (subject->kind == SUBJECT_FUNCTION)
        return context_find_function(context, subject->name);
    if (subject->stack.index != ID_NONE && !bottom_up)
        return context_find_stack(app->trace, context, subject->stack);
    return ID_NONE;
}
