/* SPDX-License-Identifier: MIT */
/* Flame graph as one HTML file that needs nothing else: the page is flamegraph.html, with the merged stacks put in. */
#include "base/array.h"
#include "base/error.h"
#include "exports.h"
#include "json_out.h"
#include "stack_tree.h"

#include <errno.h>
#include <stdlib.h>

/* FLAMEGRAPH_PAGE: the file's path, from the build. */
__asm__(".pushsection .rodata\n"
        ".globl hp_flamegraph_page\n"
        ".hidden hp_flamegraph_page\n"
        "hp_flamegraph_page:\n"
        ".incbin \"" FLAMEGRAPH_PAGE "\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char hp_flamegraph_page[] __attribute__((visibility("hidden")));

static const char data_mark[] = "/*DATA*/";
#define FRAME_MARK 8 /* with the trace's frame flags: no function, but a note like "[truncated stack]" */

struct page_frame {
    uint32_t name, module, file, line, flags; /* the first three: strings of the page */
};

struct page {
    const struct trace *trace;
    const struct stack_tree *tree;
    struct json_out out;
    struct map strings;          /* string id, or a mark's key: string of the page */
    struct map frames;           /* hash of a frame: its number */
    struct text *texts;
    struct page_frame *page_frames;
    uint32_t *nodes;             /* by tree node: frame */
    size_t text_count, text_capacity, frame_count, frame_capacity;
};

/* A script element ends at "</script": no '<' may come through. */
static int page_string(struct page *page, uint64_t key, const char *string, uint32_t *ret_index)
{
    uint64_t found;
    if (map_get(&page->strings, key, &found)) {
        *ret_index = (uint32_t)found;
        return 0;
    }
    struct text *texts = array_reserve(page->texts, &page->text_capacity, page->text_count + 1, sizeof(*texts));
    if (!texts)
        return -ENOMEM;
    page->texts = texts;
    struct text escaped = TEXT_INIT, *safe = &texts[page->text_count];
    *safe = (struct text)TEXT_INIT;
    text_add_json(&escaped, string, strlen(string));
    for (size_t i = 0; i < escaped.length; i++) {
        if (escaped.data[i] == '<')
            text_add_string(safe, "\\u003c");
        else
            text_add_char(safe, escaped.data[i]);
    }
    bool failed = escaped.failed || safe->failed;
    text_finish(&escaped);
    *ret_index = (uint32_t)page->text_count++;
    return failed ? -ENOMEM : map_set(&page->strings, key, *ret_index);
}

static int page_id(struct page *page, string_id id, uint32_t *ret_index)
{
    return page_string(page, id.index, trace_text(page->trace, id), ret_index);
}

static int describe_node(struct page *page, uint32_t node, struct page_frame *ret_frame)
{
    uint32_t frame_count, module_count;
    const struct trace_frame *frames = trace_frames(page->trace, &frame_count);
    const struct trace_module *modules = trace_modules(page->trace, &module_count);
    const struct stack_tree_node *from = &page->tree->nodes[node];
    *ret_frame = (struct page_frame){.flags = from->mark ? FRAME_MARK : 0};
    if (from->mark)
        return page_string(page, UINT64_C(1) << 32 | (unsigned)from->mark, stack_tree_label(page->tree, node), &ret_frame->name);
    int r = page_id(page, from->label, &ret_frame->name);
    if (r < 0 || from->frame.index >= frame_count)
        return r;
    const struct trace_frame *frame = &frames[from->frame.index];
    ret_frame->line = frame->line;
    ret_frame->flags = frame->flags & 7;
    if (frame->module.index < module_count)
        r = page_id(page, modules[frame->module.index].path, &ret_frame->module);
    return r < 0 ? r : page_id(page, frame->file, &ret_frame->file);
}

static int add_node(struct page *page, uint32_t node)
{
    struct page_frame frame;
    uint64_t found;
    int r = describe_node(page, node, &frame);
    if (r < 0)
        return r;
    uint64_t key = hash_bytes(&frame, sizeof(frame));
    if (map_get(&page->frames, key, &found)) {
        page->nodes[node] = (uint32_t)found;
        return 0;
    }
    struct page_frame *frames = array_reserve(page->page_frames, &page->frame_capacity, page->frame_count + 1, sizeof(*frames));
    if (!frames)
        return -ENOMEM;
    page->page_frames = frames;
    frames[page->frame_count] = frame;
    page->nodes[node] = (uint32_t)page->frame_count;
    return map_set(&page->frames, key, page->frame_count++);
}

static void write_numbers(struct page *page, const char *name, int64_t (*value)(const struct page *, uint32_t))
{
    JSON_OUT_LITERAL(&page->out, ",\n\"");
    json_out_bytes(&page->out, name, strlen(name));
    JSON_OUT_LITERAL(&page->out, "\":[");
    for (uint32_t i = 0; i < page->tree->count; i++) {
        if (i)
            json_out_char(&page->out, ',');
        json_out_i64(&page->out, value(page, i));
    }
    json_out_char(&page->out, ']');
}

static int64_t parent_of(const struct page *page, uint32_t node)
{
    return node ? page->tree->nodes[node].parent : 0;
}

static int64_t frame_of(const struct page *page, uint32_t node)
{
    return page->nodes[node];
}

static int64_t self_of(const struct page *page, uint32_t node)
{
    return page->tree->nodes[node].self;
}

static void write_text_value(struct page *page, const char *value)
{
    uint32_t index = 0;
    if (page_string(page, UINT64_C(2) << 32, value, &index) < 0)
        return;
    json_out_char(&page->out, '"');
    json_out_bytes(&page->out, page->texts[index].data ? page->texts[index].data : "", page->texts[index].length);
    json_out_char(&page->out, '"');
}

static void write_data(struct page *page)
{
    struct json_out *out = &page->out;
    const char *command = trace_metadata(page->trace, "command");
    JSON_OUT_LITERAL(out, "{\"generator\":\"hprofiler " HP_VERSION "\",\"title\":");
    write_text_value(page, command && command[0] ? command : "Flame graph");
    JSON_OUT_LITERAL(out, ",\"from_spans\":");
    json_out_bytes(out, page->tree->from_spans ? "true" : "false", page->tree->from_spans ? 4 : 5);
    JSON_OUT_LITERAL(out, ",\"count\":");
    json_out_u64(out, page->tree->samples);
    JSON_OUT_LITERAL(out, ",\n\"strings\":[");
    for (size_t i = 0; i < page->text_count; i++) {
        if (i)
            json_out_char(out, ',');
        json_out_char(out, '"');
        json_out_bytes(out, page->texts[i].data ? page->texts[i].data : "", page->texts[i].length);
        json_out_char(out, '"');
    }
    JSON_OUT_LITERAL(out, "],\n\"frames\":[");
    for (size_t i = 0; i < page->frame_count; i++) {
        const struct page_frame *frame = &page->page_frames[i];
        const uint32_t numbers[] = {frame->name, frame->module, frame->file, frame->line, frame->flags};
        for (unsigned field = 0; field < 5; field++) {
            json_out_bytes(out, field ? "," : i ? ",[" : "[", field || !i ? 1 : 2);
            json_out_u64(out, numbers[field]);
        }
        json_out_char(out, ']');
    }
    json_out_char(out, ']');
    write_numbers(page, "parents", parent_of);
    write_numbers(page, "nodes", frame_of);
    write_numbers(page, "self", self_of);
    json_out_char(out, '}');
}

static int write_page(struct page *page, struct file_writer *file)
{
    uint32_t empty;
    int r = page_id(page, STRING_NONE, &empty);
    page->nodes = calloc(page->tree->count + 1, sizeof(*page->nodes));
    if (!page->nodes)
        return -ENOMEM;
    for (uint32_t i = 0; i < page->tree->count && r == 0; i++)
        r = add_node(page, i);
    if (r < 0)
        return r;
    const char *mark = strstr(hp_flamegraph_page, data_mark);
    file_write(file, hp_flamegraph_page, (size_t)(mark - hp_flamegraph_page));
    json_out_init(&page->out, file);
    write_data(page);
    json_out_flush(&page->out);
    file_write(file, mark + sizeof(data_mark) - 1, strlen(mark + sizeof(data_mark) - 1));
    return 0;
}

static void page_finish(struct page *page)
{
    for (size_t i = 0; i < page->text_count; i++)
        text_finish(&page->texts[i]);
    free(page->texts);
    free(page->page_frames);
    free(page->nodes);
    map_finish(&page->strings);
    map_finish(&page->frames);
}

static int flamegraph_write(const struct trace *trace, const struct progress *progress, const char *path, struct error *err)
{
    struct stack_tree tree;
    struct page page = {.trace = trace, .tree = &tree};
    CLEANUP(file_writer_destroyp) struct file_writer *file = NULL;
    map_init(&page.strings);
    map_init(&page.frames);
    int r = stack_tree_init(&tree, trace, progress, err);
    if (r == 0)
        r = file_writer_create(path, &file, err);
    if (r == 0) {
        r = write_page(&page, file);
        if (r < 0)
            error_set_errno(err, r, "export: cannot make the flame graph page");
    }
    page_finish(&page);
    stack_tree_finish(&tree);
    return r < 0 ? r : file_writer_finish(TAKE_PTR(file), err);
}

const struct trace_format format_flamegraph_html = {
    .name = "flamegraph-html",
    .extension = ".html",
    .summary = "flame graph as one HTML page that works offline",
    .write = flamegraph_write,
};
