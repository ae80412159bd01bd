/* SPDX-License-Identifier: MIT */
/* What the two tabs of call stacks share. */
#include "stacks.h"

#include "memory.h"

#include "view/units.h"

#include <string.h>

static bool has_samples(const struct app *app)
{
    return trace_row_count(app->trace, FAMILY_SAMPLES) > 0;
}

void stacks_default_measure(struct app *app)
{
    if (!app->measure_chosen)
        app->measure = has_samples(app) || !trace_has_call_stacks(app->trace) ? CONTEXT_SAMPLES : CONTEXT_CALL_TIME;
}

static void set_measure(struct app *app, enum context_measure measure)
{
    if (measure == app->measure)
        return;
    app->measure = measure;
    app->measure_chosen = true;
    app->tabs[TAB_CALL_TREE].pending |= CHANGED_MEASURE;
    app->tabs[TAB_FLAME].pending |= CHANGED_MEASURE;
}

static bool has_devices(const struct app *app)
{
    uint32_t count;
    const struct trace_track *tracks = trace_tracks(app->trace, &count);
    for (uint32_t i = 0; i < count; i++)
        if (tracks[i].kind == TRACK_KIND_STREAM || tracks[i].kind == TRACK_KIND_DEVICE)
            return true;
    return false;
}

static enum context_measure next_measure(const struct app *app)
{
    enum context_measure next = (enum context_measure)((app->measure + 1) % CONTEXT_MEASURE_COUNT);
    if (next == CONTEXT_DEVICE_TIME && !has_devices(app))
        next = CONTEXT_SAMPLES;
    return next == CONTEXT_SAMPLES && !has_samples(app) ? CONTEXT_CALL_TIME : next;
}

void stacks_next_measure(struct app *app)
{
    if (!trace_has_call_stacks(app->trace)) {
        app_say(app, "no call has a stack here: run --call-tree takes them");
        return;
    }
    set_measure(app, next_measure(app));
    app_say(app, "shown: %s", context_measure_text(app->measure));
}

static bool has_callers(const struct trace *trace)
{
    uint32_t count;
    const struct stack_node *stacks = trace_stacks(trace, &count);
    const char *callgraph = trace_metadata(trace, "sampling.callgraph");
    if (callgraph)
        return strcmp(callgraph, "none") != 0;
    for (uint32_t i = 0; i < count; i++)
        if (stacks[i].parent.index < count)
            return true;
    return false;
}

void stacks_add_lack(const struct trace *trace, const struct calling_context *context, struct text *out)
{
    char calls[32], all[32], time[32], all_time[32];
    bool of_calls = context->measure == CONTEXT_CALL_TIME || context->measure == CONTEXT_CALL_COUNT;
    if (context->measure == CONTEXT_SAMPLES && !has_callers(trace))
        text_add_string(out, "; no stacks were recorded: callers are unknown (--perf-callgraph)");
    else if (of_calls && context->calls_with_stack < context->calls)
        text_addf(out, "; %s of %s calls have a stack (%s of %s): the others are not here",
                  format_count(calls, sizeof calls, context->calls_with_stack), format_count(all, sizeof all, context->calls),
                  format_duration(time, sizeof time, context->calls_with_stack_ns), format_duration(all_time, sizeof all_time, context->calls_ns));
}

void stacks_draw_missing(struct app *app, const struct calling_context *context, struct area area)
{
    static const char *const none[CONTEXT_MEASURE_COUNT] = {
        [CONTEXT_SAMPLES] = "No sample of CPU time", [CONTEXT_CALL_TIME] = "No traced call with a stack", [CONTEXT_CALL_COUNT] = "No traced call with a stack",
        [CONTEXT_DEVICE_TIME] = "No device work that a call with a stack launched"};
    struct canvas *canvas = &app->canvas;
    int width = area.columns - 4;
    if (app->measure == CONTEXT_SAMPLES && !has_samples(app)) {
        canvas_text(canvas, area.y + 1, 2, width, look_of(COLOUR_DEFAULT), "This trace has no samples and no calls with stacks.");
        canvas_text(canvas, area.y + 3, 2, width, look_of(COLOUR_DIM), "hprofiler run --perf-callgraph dwarf -- PROGRAM samples it with stacks;");
        canvas_text(canvas, area.y + 4, 2, width, look_of(COLOUR_DIM), "hprofiler run --call-tree -- PROGRAM takes the stack of each traced call.");
    } else if (!context || context->count <= 1) {
        canvas_textf(canvas, area.y + 1, 2, width, look_of(COLOUR_DEFAULT), app->filter ? "%s matches the filter in this window." : "%s lies in this window.",
                     none[app->measure]);
    }
}

/* --- the same thing in other tabs ------------------------------------------------------------------------------------ */

bool stacks_subject(const struct calling_context *context, uint32_t node, struct subject *ret_subject)
{
    if (!context || node == 0 || node >= context->count || !context->nodes[node].function.index)
        return false;
    const struct context_node *of = &context->nodes[node];
    bool is_span = of->flags & (CONTEXT_CALL | CONTEXT_LAUNCHED);
    *ret_subject = (struct subject){is_span ? SUBJECT_NAME : SUBJECT_FUNCTION, SPAN_NONE, of->function, is_span ? (int)of->span_kind : -1, STACK_NONE};
    return true;
}

/* What has to be counted for a subject to be there at all. */
static enum context_measure measure_for(const struct app *app, const struct subject *subject)
{
    bool of_calls = app->measure == CONTEXT_CALL_TIME || app->measure == CONTEXT_CALL_COUNT;
    if (subject->kind == SUBJECT_FUNCTION)
        return CONTEXT_SAMPLES;
    if (subject->span_kind == SPAN_KIND_KERNEL || subject->span_kind == SPAN_KIND_COPY || subject->span_kind == SPAN_KIND_FILL)
        return CONTEXT_DEVICE_TIME;
    return of_calls ? app->measure : CONTEXT_CALL_TIME;
}

uint32_t stacks_locate(struct app *app, const struct calling_context *context, bool bottom_up, const struct subject *subject)
{
    if (!context)
        return ID_NONE;
    switch (subject->kind) {
    case SUBJECT_FUNCTION:
        return context_find_function(context, subject->name);
    case SUBJECT_NAME:
        return context_find_named_span(context, subject->name, subject->span_kind);
    case SUBJECT_SPAN:
        return context->measure == CONTEXT_SAMPLES ? ID_NONE : context_find_span(app->trace, context, bottom_up, subject->span);
    default:
        return bottom_up ? ID_NONE : context_find_stack(app->trace, context, subject->stack);
    }
}

uint32_t stacks_go_to(struct app *app, const struct stacks_place *place, const struct subject *subject)
{
    enum context_measure before = app->measure;
    bool chosen = app->measure_chosen;
    uint32_t node = stacks_locate(app, place->context_of(place->state), place->bottom_up, subject);
    if (node != ID_NONE)
        return node;
    set_measure(app, measure_for(app, subject));
    app_tab_state(app, place->tab); /* hears of it */
    node = stacks_locate(app, place->context_of(place->state), place->bottom_up, subject);
    if (node == ID_NONE) {
        set_measure(app, before);
        app->measure_chosen = chosen;
        app_tab_state(app, place->tab);
    }
    return node;
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
