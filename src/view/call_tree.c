/* SPDX-License-Identifier: MIT */
/* Calling context trees as rows. */
#include "call_tree.h"

#include "base/error.h"
#include "display_name.h"
#include "units.h"

#include <errno.h>
#include <string.h>

/* COLUMNS(unit of weights in CSV, what is counted, what a row is) */
#define COLUMNS(unit, count_title, name_title)                                                                         \
    {                                                                                                                  \
        [CALL_TREE_TOTAL] = {.title = "total", .width = 9, .right = true, .csv = "total" unit},                        \
        [CALL_TREE_PERCENT] = {.title = "%", .width = 5, .right = true, .csv = ""},                                    \
        [CALL_TREE_BAR] = {.title = "", .width = 8, .bar = true, .drop = 3},                                           \
        [CALL_TREE_SELF] = {.title = "self", .width = 9, .right = true, .drop = 1, .csv = "self" unit},                \
        [CALL_TREE_COUNT] = {.title = count_title, .width = 8, .right = true, .drop = 4, .csv = count_title},          \
        [CALL_TREE_PLACE] = {.title = "file:line", .width = 22, .drop = 5, .csv = "place"},                            \
        [CALL_TREE_NAME] = {.title = name_title, .width = 30, .csv = "name"},                                          \
    }

const struct grid_column *call_tree_columns(enum context_measure measure)
{
    static const struct grid_column of_samples[CALL_TREE_COLUMNS] = COLUMNS("_ns", "samples", "function");
    static const struct grid_column of_times[CALL_TREE_COLUMNS] = COLUMNS("_ns", "count", "function or call");
    static const struct grid_column of_counts[CALL_TREE_COLUMNS] = COLUMNS("", "count", "function or call");
    return measure == CONTEXT_SAMPLES ? of_samples : measure == CONTEXT_CALL_COUNT ? of_counts : of_times;
}

int call_tree_create(const struct trace *trace, const struct context_options *options, struct call_tree **ret_tree, struct error *err)
{
    CLEANUP(call_tree_destroyp) struct call_tree *tree = calloc(1, sizeof *tree);
    if (!tree)
        return error_set(err, -ENOMEM, "out of memory for a call tree");
    tree->trace = trace;
    int result = calling_context_create(trace, options, &tree->context, err);
    if (result < 0)
        return result;
    tree->open = calloc(tree->context->count + (size_t)1, sizeof *tree->open);
    if (!tree->open)
        return error_set(err, -ENOMEM, "out of memory for a call tree");
    *ret_tree = TAKE_PTR(tree);
    return 0;
}

void call_tree_destroy(struct call_tree *tree)
{
    if (!tree)
        return;
    calling_context_destroy(tree->context);
    free(tree->open);
    free(tree);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static const char *module_path(const struct trace *trace, module_id module)
{
    uint32_t count;
    const struct trace_module *modules = trace_modules(trace, &count);
    return module.index < count ? trace_text(trace, modules[module.index].path) : "";
}

void context_node_name(const struct trace *trace, const struct context_node *node, struct text *out)
{
    const char *name = trace_text(trace, node->function);
    if (node->parent == ID_NONE)
        text_add_string(out, "all");
    else if (node->flags & CONTEXT_TRUNCATED)
        text_add_string(out, "[callers unknown]");
    else if (node->flags & CONTEXT_NO_STACK)
        text_add_string(out, "[no stack]");
    else if (node->flags & CONTEXT_OWN)
        text_add_string(out, "[hprofiler]");
    else if (!*name && node->flags & (CONTEXT_CALL | CONTEXT_LAUNCHED))
        text_add_string(out, span_kind_name((enum span_kind)node->span_kind));
    else if (*name)
        text_add_display_name(out, name);
    else
        text_add_string(out, "[unknown]");
}

void context_node_file(const struct trace *trace, const struct context_node *node, struct text *out)
{
    bool is_call = node->flags & (CONTEXT_CALL | CONTEXT_LAUNCHED);
    text_add_string(out, is_call ? trace_text(trace, node->category) : base_name(module_path(trace, node->module)));
}

void context_node_place(const struct trace *trace, const struct context_node *node, struct text *out)
{
    uint32_t count;
    const struct trace_frame *frames = trace_frames(trace, &count);
    const char *file = node->frame.index < count ? trace_text(trace, frames[node->frame.index].file) : "";
    if (*file && !(node->flags & (CONTEXT_CALL | CONTEXT_LAUNCHED)))
        text_addf(out, "%s:%u", base_name(file), frames[node->frame.index].line);
    else
        context_node_file(trace, node, out);
}

enum colour context_node_colour(const struct context_node *node)
{
    if (!(node->flags & (CONTEXT_CALL | CONTEXT_LAUNCHED)))
        return palette_for_frame(node->module.index, node->function.index, node->flags & CONTEXT_KERNEL);
    return span_kind_waits((enum span_kind)node->span_kind) ? COLOUR_WAIT : palette_for_span((enum span_kind)node->span_kind, node->category, node->function);
}

const char *context_measure_text(enum context_measure measure)
{
    static const char *const texts[] = {
#define CONTEXT_MEASURE(enumerator, text) text,
        CONTEXT_MEASURES
#undef CONTEXT_MEASURE
    };
    return (unsigned)measure < CONTEXT_MEASURE_COUNT ? texts[measure] : "";
}

const char *context_measure_unit(enum context_measure measure)
{
    return measure == CONTEXT_SAMPLES ? "samples" : measure == CONTEXT_DEVICE_TIME ? "commands" : "calls";
}

const char *context_weight_text(char *text, size_t size, enum context_measure measure, int64_t weight, const struct time_unit *unit)
{
    if (measure == CONTEXT_CALL_COUNT)
        return format_count(text, size, (uint64_t)weight);
    return unit ? format_in_unit(text, size, weight, unit) : format_duration(text, size, weight);
}

static void add_row(const struct call_tree *tree, struct grid *grid, uint32_t index, const struct time_unit *unit)
{
    const struct context_node *node = &tree->context->nodes[index];
    double whole = (double)tree->context->nodes[0].total_weight;
    struct text name = TEXT_INIT, place = TEXT_INIT;
    char text[32];
    struct grid_row *row = grid_add(grid, index, GRID_PLAIN);
    if (!row)
        return;
    context_node_name(tree->trace, node, &name);
    context_node_place(tree->trace, node, &place);
    row->depth = (uint8_t)(node->depth - 1 < 60 ? node->depth - 1 : 60);
    row->fold = node->first_child == ID_NONE ? 0 : tree->open[index] ? 'o' : 'c';
    enum context_measure measure = tree->context->measure;
    enum colour colour = context_node_colour(node);
    row->colour = (uint8_t)(colour == COLOUR_WAIT ? COLOUR_WAIT_TEXT : colour);
    grid_set(grid, CALL_TREE_TOTAL, (double)node->total_weight, context_weight_text(text, sizeof text, measure, node->total_weight, unit));
    grid_set(grid, CALL_TREE_PERCENT, (double)node->total_weight, format_percent(text, sizeof text, (double)node->total_weight, whole));
    grid_set(grid, CALL_TREE_BAR, whole > 0 ? (double)node->total_weight / whole : 0, "");
    grid_set(grid, CALL_TREE_SELF, (double)node->self_weight, context_weight_text(text, sizeof text, measure, node->self_weight, unit));
    grid_set(grid, CALL_TREE_COUNT, (double)node->total_count, format_count(text, sizeof text, node->total_count));
    grid_set(grid, CALL_TREE_PLACE, 0, place.data ? place.data : "");
    grid_set(grid, CALL_TREE_NAME, 0, name.data ? name.data : "");
    grid->failed |= name.failed || place.failed;
    text_finish(&name);
    text_finish(&place);
}

/* The next node in the order of the tree, not into `node` unless it is open. */
static uint32_t next_shown(const struct call_tree *tree, uint32_t node)
{
    const struct context_node *nodes = tree->context->nodes;
    if (nodes[node].first_child != ID_NONE && (tree->open[node] || node == 0))
        return nodes[node].first_child;
    while (node != ID_NONE && nodes[node].next_sibling == ID_NONE)
        node = nodes[node].parent;
    return node == ID_NONE ? ID_NONE : nodes[node].next_sibling;
}

void call_tree_fill(const struct call_tree *tree, struct grid *grid)
{
    const struct time_unit *unit = time_unit_for(tree->context->nodes[0].total_weight);
    grid_clear(grid);
    for (uint32_t node = next_shown(tree, 0); node != ID_NONE; node = next_shown(tree, node))
        add_row(tree, grid, node, unit);
}

void call_tree_open_hottest(struct call_tree *tree)
{
    const struct context_node *nodes = tree->context->nodes;
    for (uint32_t node = nodes[0].first_child; node != ID_NONE; node = nodes[node].first_child) {
        tree->open[node] = true;
        if (nodes[node].self_weight * 2 > nodes[node].total_weight)
            break; /* most of the time is spent here */
    }
}

void call_tree_close_all(struct call_tree *tree)
{
    memset(tree->open, 0, tree->context->count * sizeof *tree->open);
}

void call_tree_reveal(struct call_tree *tree, uint32_t node)
{
    if (node >= tree->context->count)
        return;
    for (uint32_t at = tree->context->nodes[node].parent; at != ID_NONE; at = tree->context->nodes[at].parent)
        tree->open[at] = true;
}
