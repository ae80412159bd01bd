/* SPDX-License-Identifier: MIT */
/* What the two tabs of call stacks share. */
#include "stacks.h"

#include "memory.h"

#include <string.h>

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

#define PATH_MAX_FRAMES 512

void stacks_remember_path(const struct trace *trace, const struct calling_context *context, uint32_t node, struct text *out)
{
    uint32_t path[PATH_MAX_FRAMES], depth = 0;
    for (; node != 0 && node < context->count && depth < PATH_MAX_FRAMES; node = context->nodes[node].parent)
        path[depth++] = node;
    memory_add_number(out, depth);
    while (depth-- > 0) {
        context_node_name(trace, &context->nodes[path[depth]], out);
        text_add_char(out, '\0');
    }
}

static uint32_t child_named(const struct trace *trace, const struct calling_context *context, uint32_t parent, const char *name)
{
    uint32_t child = context->nodes[parent].first_child;
    bool same = false;
    for (; child != ID_NONE; child = context->nodes[child].next_sibling) {
        struct text text = TEXT_INIT;
        context_node_name(trace, &context->nodes[child], &text);
        same = strcmp(text.data ? text.data : "", name) == 0;
        text_finish(&text);
        if (same)
            break;
    }
    return child;
}

uint32_t stacks_recall_path(const struct trace *trace, const struct calling_context *context, struct memory *memory)
{
    uint32_t node = 0;
    for (int64_t depth = memory_number(memory); depth > 0; depth--) {
        const char *name = memory_text(memory);
        uint32_t child = child_named(trace, context, node, name);
        if (child == ID_NONE) { /* the rest of the path is read and passed over */
            while (--depth > 0)
                memory_text(memory);
            break;
        }
        node = child;
    }
    return node;
}
