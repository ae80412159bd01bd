/* SPDX-License-Identifier: MIT */
/* Folded stacks: one line a stack, "program;outermost;...;leaf weight", sorted by bytes; weights in ns. */
#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "exports.h"
#include "stack_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The format has no escapes: a ';' in a name would split the frame, a newline the line. */
static void add_label(struct text *line, const char *label)
{
    size_t length = strlen(label);
    for (size_t i = 0; i < length;) {
        uint32_t code;
        size_t taken = utf8_decode(label + i, length - i, &code);
        if (code == ';')
            text_add_char(line, ':');
        else if (code < 0x20 || (code >= 0x7f && code < 0xa0))
            text_add_char(line, ' ');
        else if (code == 0xfffd)
            text_add_string(line, "\xef\xbf\xbd");
        else
            text_add(line, label + i, taken);
        i += taken;
    }
}

static void add_path(struct text *line, const struct stack_tree *tree, uint32_t node)
{
    uint32_t path[4096]; /* deeper than any unwinder goes; what is above it is cut from the outermost end, with a mark */
    size_t depth = 0;
    for (; node != 0 && depth < sizeof(path) / sizeof(path[0]); node = tree->nodes[node].parent)
        path[depth++] = node;
    if (node != 0)
        text_add_string(line, "[deeper];");
    while (depth-- > 0) {
        add_label(line, stack_tree_label(tree, path[depth]));
        if (depth)
            text_add_char(line, ';');
    }
}

static int compare_lines(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void free_lines(char **lines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(lines[i]);
    free(lines);
}

/* Lines that became equal by the replacements above stay separate: every reader adds them up. */
static int write_lines(const struct stack_tree *tree, struct file_writer *file, struct error *err)
{
    char **lines = NULL;
    size_t count = 0, capacity = 0;
    for (uint32_t node = 1; node < tree->count; node++) {
        if (tree->nodes[node].self <= 0)
            continue;
        struct text line = TEXT_INIT;
        add_path(&line, tree, node);
        text_addf(&line, " %lld", (long long)tree->nodes[node].self);
        char **grown = array_reserve(lines, &capacity, count + 1, sizeof(*lines));
        char *text = text_take(&line);
        if (!grown || !text) {
            free(text);
            free_lines(grown ? grown : lines, count);
            return error_set(err, -ENOMEM, "export: out of memory for folded stacks");
        }
        lines = grown;
        lines[count++] = text;
    }
    if (count)
        qsort(lines, count, sizeof(*lines), compare_lines);
    for (size_t i = 0; i < count; i++) {
        file_write(file, lines[i], strlen(lines[i]));
        file_write(file, "\n", 1);
    }
    free_lines(lines, count);
    return 0;
}

static int folded_write(const struct trace *trace, const struct progress *progress, const char *path, struct error *err)
{
    struct stack_tree tree;
    CLEANUP(file_writer_destroyp) struct file_writer *file = NULL;
    int r = stack_tree_init(&tree, trace, progress, err);
    if (r == 0)
        r = file_writer_create(path, &file, err);
    if (r == 0)
        r = write_lines(&tree, file, err);
    stack_tree_finish(&tree);
    return r < 0 ? r : file_writer_finish(TAKE_PTR(file), err);
}

const struct trace_format format_folded = {
    .name = "folded",
    .extension = ".folded",
    .summary = "folded stacks, one line each, for flame graph tools",
    .write = folded_write,
};
