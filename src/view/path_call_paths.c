/* SPDX-License-Identifier: MIT */
/* Call paths of spans: upwards from parent to parent, with one block of spans at hand, as neighbours on a path are
 * neighbours in it. */
#include "path_call_paths.h"

#include "base/error.h"
#include "base/text.h"

#include <errno.h>

#define DEPTH_MAX 256 /* what lies further out is left away */

struct path_call_paths {
    const struct trace *trace;
    uint32_t held; /* number of the block; ID_NONE */
    struct span_block block;
    struct text name;
};

int path_call_paths_create(const struct trace *trace, struct path_call_paths **ret_paths)
{
    struct path_call_paths *paths = calloc(1, sizeof *paths);
    if (!paths)
        return -ENOMEM;
    paths->trace = trace;
    paths->held = ID_NONE;
    *ret_paths = paths;
    return 0;
}

void path_call_paths_destroy(struct path_call_paths *paths)
{
    if (!paths)
        return;
    if (paths->held != ID_NONE)
        trace_spans_put(paths->trace, &paths->block);
    text_finish(&paths->name);
    free(paths);
}

struct step {
    string_id name;
    stack_id stack;
    uint32_t parent;
};

static int span_at(struct path_call_paths *paths, uint32_t span, struct step *ret_step, struct error *err)
{
    uint32_t block, row;
    uint32_t columns =
        SPAN_COLUMN_BIT(SPAN_COLUMN_NAME) | SPAN_COLUMN_BIT(SPAN_COLUMN_PARENT) | SPAN_COLUMN_BIT(SPAN_COLUMN_STACK);
    if (!trace_span_find(paths->trace, (span_id){span}, &block, &row))
        return -ENOENT;
    if (block != paths->held) {
        if (paths->held != ID_NONE)
            trace_spans_put(paths->trace, &paths->block);
        paths->held = ID_NONE;
        int result = trace_spans_get_columns(paths->trace, block, columns, &paths->block, err);
        if (result < 0)
            return result;
        paths->held = block;
    }
    *ret_step = (struct step){.name = paths->block.name ? paths->block.name[row] : STRING_NONE,
                              .stack = paths->block.stack ? paths->block.stack[row] : STACK_NONE,
                              .parent = paths->block.parent ? paths->block.parent[row].index : ID_NONE};
    return 0;
}

static void add_stack(struct path_call_paths *paths, stack_id leaf)
{
    uint32_t stack_count, frame_count;
    const struct stack_node *stacks = trace_stacks(paths->trace, &stack_count);
    const struct trace_frame *frames = trace_frames(paths->trace, &frame_count);
    string_id names[DEPTH_MAX];
    size_t depth = 0;
    for (uint32_t s = leaf.index; s < stack_count && depth < DEPTH_MAX; s = stacks[s].parent.index)
        names[depth++] = stacks[s].frame.index < frame_count ? frames[stacks[s].frame.index].function : STRING_NONE;
    while (depth-- > 0)
        text_addf(&paths->name, "%s/", trace_text(paths->trace, names[depth]));
}

int path_call_paths_name(struct path_call_paths *paths, span_id span, const char **ret_name, struct error *err)
{
    struct step chain[DEPTH_MAX];
    size_t depth = 0;
    for (uint32_t at = span.index; at != ID_NONE && depth < DEPTH_MAX; at = chain[depth - 1].parent) {
        int result = span_at(paths, at, &chain[depth], err);
        if (result == -ENOENT)
            break;
        if (result < 0)
            return result;
        depth++;
    }
    text_clear(&paths->name);
    if (depth > 0)
        add_stack(paths, chain[0].stack.index != ID_NONE ? chain[0].stack : chain[depth - 1].stack);
    while (depth-- > 0) {
        text_add_string(&paths->name, trace_text(paths->trace, chain[depth].name));
        if (depth)
            text_add_char(&paths->name, '/');
    }
    if (paths->name.failed)
        return error_set(err, -ENOMEM, "out of memory while naming call paths");
    *ret_name = paths->name.data ? paths->name.data : "";
    return 0;
}
