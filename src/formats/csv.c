/* SPDX-License-Identifier: MIT */
/*
 * CSV (RFC 4180): one table of spans, samples, instants and counter values, told apart by the first column. Absent is
 * empty. The columns are documented in docs/formats/csv.md and don't change meaning; new ones join at the end.
 */
#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "exports.h"
#include "json_out.h"
#include "payload_json.h"
#include "stack_tree.h"
#include "walk.h"

#include <errno.h>
#include <stdlib.h>

static const char header[] = "type,id,track,track_kind,track_name,node,rank,process,pid,tid,device,stream,begin_ns,end_ns,"
                             "duration_ns,name,category,kind,parent,correlation,weight,value,unit,cpu,event,flags,stack,args\r\n";

struct csv {
    const struct trace *trace;
    struct file_writer *file;
    struct walk walk;
    struct text row, field, track_columns; /* the columns that all rows of a track share, made once a block */
    frame_id *stack;
    size_t stack_capacity;
};

static void add_i64(struct text *row, int64_t value)
{
    char number[24];
    text_add(row, number, (size_t)(format_i64(number, value) - number));
}

static void add_string_column(struct text *row, const char *text)
{
    text_add_char(row, ',');
    text_add_csv(row, text, strlen(text));
}

static void add_i64_column(struct text *row, int64_t value, bool present)
{
    text_add_char(row, ',');
    if (present)
        add_i64(row, value);
}

static void add_empty_columns(struct text *row, unsigned count)
{
    while (count--)
        text_add_char(row, ',');
}

/* track .. stream */
static void make_track_columns(struct csv *csv, track_id id)
{
    uint32_t track_count, process_count, node_count;
    const struct trace_track *tracks = trace_tracks(csv->trace, &track_count);
    const struct trace_process *processes = trace_processes(csv->trace, &process_count);
    const struct trace_node *nodes = trace_nodes(csv->trace, &node_count);
    static const struct trace_track no_track = {.process = {ID_NONE}, .tid = -1, .device = -1, .stream = -1};
    static const struct trace_process no_process = {.node = {ID_NONE}, .pid = -1, .rank = -1};
    const struct trace_track *track = id.index < track_count ? &tracks[id.index] : &no_track;
    const struct trace_process *process =
        track->process.index < process_count ? &processes[track->process.index] : &no_process;
    struct text *out = &csv->track_columns;
    const char *kind = track_kind_name(track->kind);
    text_clear(out);
    add_i64_column(out, id.index, id.index < track_count);
    add_string_column(out, kind ? kind : "");
    add_string_column(out, trace_text(csv->trace, track->name));
    add_string_column(out, process->node.index < node_count ? trace_text(csv->trace, nodes[process->node.index].name) : "");
    add_i64_column(out, process->rank, process->rank >= 0);
    add_string_column(out, trace_text(csv->trace, process->command));
    add_i64_column(out, process->pid, process->pid >= 0);
    add_i64_column(out, track->tid, track->tid >= 0);
    add_i64_column(out, track->device, track->device >= 0);
    add_i64_column(out, track->stream, track->stream >= 0);
}

static int add_stack_column(struct csv *csv, stack_id stack)
{
    uint32_t frame_count;
    const struct trace_frame *frames = trace_frames(csv->trace, &frame_count);
    size_t depth;
    text_add_char(&csv->row, ',');
    if (stack_frames(csv->trace, stack, &csv->stack, &csv->stack_capacity, &depth) < 0)
        return -ENOMEM;
    text_clear(&csv->field);
    for (size_t i = 0; i < depth; i++) {
        if (i)
            text_add_char(&csv->field, ';');
        frame_id frame = csv->stack[i];
        const char *function = frame.index < frame_count ? trace_text(csv->trace, frames[frame.index].function) : "";
        text_add_string(&csv->field, function[0] ? function : "[unknown]");
    }
    text_add_csv(&csv->row, csv->field.data ? csv->field.data : "", csv->field.length);
    return 0;
}

static int end_row(struct csv *csv, const struct payload *payload)
{
    text_clear(&csv->field);
    text_add_char(&csv->row, ',');
    if (payload)
        payload_add_json(&csv->field, csv->trace, payload);
    if (csv->field.length)
        text_add_csv(&csv->row, csv->field.data, csv->field.length);
    text_add(&csv->row, "\r\n", 2);
    if (csv->row.failed || csv->field.failed)
        return -ENOMEM;
    file_write(csv->file, csv->row.data, csv->row.length);
    return 0;
}

static void begin_row(struct csv *csv, const char *type)
{
    text_clear(&csv->row);
    text_add_string(&csv->row, type);
}

static int span_row(struct csv *csv, const struct span_block *block, uint32_t row)
{
    struct text *out = &csv->row;
    struct payload payload;
    int r = span_payload(block, row, &payload);
    if (r < 0)
        return r;
    bool finished = block->end_ns[row] != INT64_MIN;
    const char *kind = block->kind ? span_kind_name(block->kind[row]) : "unknown";
    uint32_t parent = block->parent ? block->parent[row].index : ID_NONE;
    uint64_t correlation = block->correlation ? block->correlation[row] : 0;
    begin_row(csv, "span");
    add_i64_column(out, (int64_t)block->info.first + row, true);
    text_add(out, csv->track_columns.data, csv->track_columns.length);
    add_i64_column(out, block->begin_ns[row], true);
    add_i64_column(out, block->end_ns[row], finished);
    add_i64_column(out, finished ? (int64_t)((uint64_t)block->end_ns[row] - (uint64_t)block->begin_ns[row]) : 0, finished);
    add_string_column(out, block->name ? trace_text(csv->trace, block->name[row]) : "");
    add_string_column(out, block->category ? trace_text(csv->trace, block->category[row]) : "");
    add_string_column(out, kind ? kind : "");
    add_i64_column(out, parent, parent != ID_NONE);
    text_add_char(out, ',');
    if (correlation) {
        char number[24];
        text_add(out, number, (size_t)(format_u64(number, correlation) - number));
    }
    add_empty_columns(out, 6);
    r = add_stack_column(csv, block->stack ? block->stack[row] : STACK_NONE);
    return r < 0 ? r : end_row(csv, &payload);
}

static int sample_row(struct csv *csv, const struct sample_block *block, uint32_t row)
{
    struct text *out = &csv->row;
    uint8_t flags = block->flags ? block->flags[row] : 0;
    uint16_t cpu = block->cpu ? block->cpu[row] : UINT16_MAX;
    const char *event = sample_event_name(block->event ? block->event[row] : 0);
    begin_row(csv, "sample");
    add_empty_columns(out, 1);
    text_add(out, csv->track_columns.data, csv->track_columns.length);
    add_i64_column(out, block->time_ns[row], true);
    add_empty_columns(out, 7);
    add_i64_column(out, block->weight ? block->weight[row] : 0, block->weight);
    add_empty_columns(out, 2);
    add_i64_column(out, cpu, cpu != UINT16_MAX);
    add_string_column(out, event ? event : "");
    text_clear(&csv->field);
    static const char *const flag_names[] = {"truncated", "kernel", "no-stack"};
    for (unsigned i = 0; i < 3; i++)
        if (flags >> i & 1)
            text_addf(&csv->field, "%s%s", csv->field.length ? " " : "", flag_names[i]);
    if (flags & SAMPLE_EXCLUDED)
        text_addf(&csv->field, "%sexcluded", csv->field.length ? " " : "");
    const char *cut = sample_cut_of(flags) ? sample_cut_name(sample_cut_of(flags)) : NULL;
    if (cut)
        text_addf(&csv->field, " %s", cut);
    add_string_column(out, csv->field.length ? csv->field.data : "");
    int r = add_stack_column(csv, block->stack ? block->stack[row] : STACK_NONE);
    return r < 0 ? r : end_row(csv, NULL);
}

static int instant_row(struct csv *csv, const struct instant_block *block, uint32_t row)
{
    struct payload payload;
    int r = instant_payload(block, row, &payload);
    if (r < 0)
        return r;
    begin_row(csv, "instant");
    add_empty_columns(&csv->row, 1);
    text_add(&csv->row, csv->track_columns.data, csv->track_columns.length);
    add_i64_column(&csv->row, block->time_ns[row], true);
    add_empty_columns(&csv->row, 2);
    add_string_column(&csv->row, block->name ? trace_text(csv->trace, block->name[row]) : "");
    add_string_column(&csv->row, block->category ? trace_text(csv->trace, block->category[row]) : "");
    add_empty_columns(&csv->row, 10);
    return end_row(csv, &payload);
}

static int counter_row(struct csv *csv, const struct counter_block *block, uint32_t row)
{
    uint32_t track_count;
    const struct trace_track *tracks = trace_tracks(csv->trace, &track_count);
    bool known = block->info.track.index < track_count;
    char number[40];
    begin_row(csv, "counter");
    add_empty_columns(&csv->row, 1);
    text_add(&csv->row, csv->track_columns.data, csv->track_columns.length);
    add_i64_column(&csv->row, block->time_ns[row], true);
    add_empty_columns(&csv->row, 2);
    add_string_column(&csv->row, known ? trace_text(csv->trace, tracks[block->info.track.index].name) : "");
    add_empty_columns(&csv->row, 5);
    char *end = format_double(number, block->value[row]);
    text_add_char(&csv->row, ',');
    bool quoted = number[0] == '"'; /* NaN and the infinities come as JSON strings */
    text_add(&csv->row, number + quoted, (size_t)(end - number) - 2 * (size_t)quoted);
    add_string_column(&csv->row, known ? trace_text(csv->trace, tracks[block->info.track.index].unit) : "");
    add_empty_columns(&csv->row, 4);
    return end_row(csv, NULL);
}

static int write_spans(struct csv *csv, uint32_t index, struct error *err)
{
    struct span_block block;
    int r = trace_spans_get(csv->trace, index, &block, err);
    if (r < 0)
        return r;
    for (uint32_t row = 0; row < block.info.count && r == 0; row++)
        r = span_row(csv, &block, row);
    trace_spans_put(csv->trace, &block);
    return r < 0 ? error_set_errno(err, r, "export: cannot write span rows of block %u as csv", index) : 0;
}

static int write_samples(struct csv *csv, uint32_t index, struct error *err)
{
    struct sample_block block;
    int r = trace_samples_get(csv->trace, index, &block, err);
    if (r < 0)
        return r;
    for (uint32_t row = 0; row < block.info.count && r == 0; row++)
        r = sample_row(csv, &block, row);
    trace_samples_put(csv->trace, &block);
    return r < 0 ? error_set_errno(err, r, "export: cannot write sample rows of block %u as csv", index) : 0;
}

static int write_instants(struct csv *csv, uint32_t index, struct error *err)
{
    struct instant_block block;
    int r = trace_instants_get(csv->trace, index, &block, err);
    if (r < 0)
        return r;
    for (uint32_t row = 0; row < block.info.count && r == 0; row++)
        r = instant_row(csv, &block, row);
    trace_instants_put(csv->trace, &block);
    return r < 0 ? error_set_errno(err, r, "export: cannot write instant rows of block %u as csv", index) : 0;
}

static int write_counters(struct csv *csv, uint32_t index, struct error *err)
{
    struct counter_block block;
    int r = trace_counters_get(csv->trace, index, &block, err);
    if (r < 0)
        return r;
    for (uint32_t row = 0; row < block.info.count && r == 0; row++)
        r = counter_row(csv, &block, row);
    trace_counters_put(csv->trace, &block);
    return r < 0 ? error_set_errno(err, r, "export: cannot write counter rows of block %u as csv", index) : 0;
}

static int write_family(struct csv *csv, enum family family, int (*write)(struct csv *, uint32_t, struct error *),
                        struct error *err)
{
    int r = 0;
    uint32_t blocks = trace_block_count(csv->trace, family);
    for (uint32_t i = 0; i < blocks && r == 0; i++) {
        walk_step(&csv->walk);
        make_track_columns(csv, trace_block_info(csv->trace, family, i).track);
        r = write(csv, i, err);
    }
    return r;
}

static int write_all_rows(struct csv *csv, struct error *err)
{
    int r = write_family(csv, FAMILY_SPANS, write_spans, err);
    if (r == 0)
        r = write_family(csv, FAMILY_SAMPLES, write_samples, err);
    if (r == 0)
        r = write_family(csv, FAMILY_INSTANTS, write_instants, err);
    return r < 0 ? r : write_family(csv, FAMILY_COUNTERS, write_counters, err);
}

static int csv_write(const struct trace *trace, const struct progress *progress, const char *path, struct error *err)
{
    struct csv csv = {.trace = trace};
    CLEANUP(file_writer_destroyp) struct file_writer *file = NULL;
    csv.walk = walk_begin(trace, progress, "csv",
                          1u << FAMILY_SPANS | 1u << FAMILY_SAMPLES | 1u << FAMILY_INSTANTS | 1u << FAMILY_COUNTERS);
    int r = file_writer_create(path, &file, err);
    if (r == 0) {
        csv.file = file;
        file_write(file, header, sizeof(header) - 1);
        r = write_all_rows(&csv, err);
    }
    text_finish(&csv.row);
    text_finish(&csv.field);
    text_finish(&csv.track_columns);
    free(csv.stack);
    return r < 0 ? r : file_writer_finish(TAKE_PTR(file), err);
}

const struct trace_format format_csv = {
    .name = "csv",
    .extension = ".csv",
    .summary = "one table of spans, samples, instants and counter values",
    .write = csv_write,
};
