/* SPDX-License-Identifier: MIT */
/* Instants ("i"), counter values ("C"), links ("s" and "f") and samples. */
#include "chrome_writer.h"

#include "base/error.h"

#include <errno.h>
#include <math.h>
#include <string.h>

void chrome_out_place(struct json_out *out, uint32_t pid, uint32_t tid, uint64_t ts_ns)
{
    json_out_need(out, 96);
    char *at = stpcpy(out->at, ",\"pid\":");
    at = format_u64(at, pid);
    at = stpcpy(at, ",\"tid\":");
    at = format_u64(at, tid);
    at = stpcpy(at, ",\"ts\":");
    out->at = format_microseconds(at, ts_ns);
}

bool chrome_make_id(struct chrome_piece *piece, string_id id)
{
    const struct json_strings_entry *entry = json_strings_known(&piece->writer->strings, id);
    const char *text = entry->length ? piece->writer->strings.text.data + entry->offset : "";
    json_out_char(&piece->out, '"');
    if (entry->length < JSON_OUT_BLOCK)
        json_out_short(&piece->out, text, entry->length);
    else
        json_out_bytes(&piece->out, text, entry->length);
    json_out_char(&piece->out, '"');
    return entry->exact;
}

int chrome_make_instant(struct chrome_piece *piece, uint32_t row)
{
    const struct chrome_writer *writer = piece->writer;
    const struct instant_block *block = &piece->block.instants;
    string_id name = block->name ? block->name[row] : STRING_NONE;
    string_id category = block->category ? block->category[row] : STRING_NONE;
    track_id track = block->info.track;
    chrome_event(&piece->out, &piece->first_event);
    JSON_OUT_LITERAL(&piece->out, "{\"ph\":\"i\",\"s\":\"t\",\"name\":");
    bool name_exact = chrome_make_id(piece, name);
    JSON_OUT_LITERAL(&piece->out, ",\"cat\":");
    bool category_exact = chrome_make_id(piece, category);
    chrome_out_place(&piece->out, chrome_pid(writer, writer->tracks[track.index].process), chrome_tid(writer, track),
                     chrome_time(writer, block->time_ns[row]));
    size_t from = row && block->payload_end ? block->payload_end[row - 1] : 0;
    size_t size = block->payload_end ? block->payload_end[row] - from : 0;
    int r = chrome_make_args(piece, size ? block->payload + from : NULL, size, name_exact, name, category_exact, category);
    json_out_char(&piece->out, '}');
    return r;
}

/* Viewers want finite numbers; the others go into a metadata event, which they ignore. */
int chrome_make_counter(struct chrome_piece *piece, uint32_t row)
{
    const struct chrome_writer *writer = piece->writer;
    const struct counter_block *block = &piece->block.counters;
    const struct trace_track *track = &writer->tracks[block->info.track.index];
    struct json_out *out = &piece->out;
    bool finite = isfinite(block->value[row]);
    chrome_event(out, &piece->first_event);
    if (finite)
        JSON_OUT_LITERAL(out, "{\"ph\":\"C\",\"name\":");
    else
        JSON_OUT_LITERAL(out, "{\"ph\":\"M\",\"name\":\"hprofiler_counter\"");
    if (finite)
        chrome_make_id(piece, track->name);
    JSON_OUT_LITERAL(out, ",\"cat\":\"\"");
    chrome_out_place(out, chrome_pid(writer, track->process), chrome_tid(writer, block->info.track),
                     chrome_time(writer, block->time_ns[row]));
    JSON_OUT_LITERAL(out, ",\"args\":{");
    if (finite && track->unit.index)
        chrome_make_id(piece, track->unit);
    else
        JSON_OUT_LITERAL(out, "\"value\"");
    json_out_char(out, ':');
    json_out_double(out, block->value[row]);
    JSON_OUT_LITERAL(out, "}}");
    return 0;
}

static int queue_family(struct chrome_writer *writer, enum family family, struct error *err)
{
    int r = 0;
    uint32_t blocks = trace_block_count(writer->trace, family);
    for (uint32_t i = 0; i < blocks && r == 0; i++)
        r = chrome_pieces_block(writer, family, i, NULL, err);
    return r;
}

int chrome_write_points(struct chrome_writer *writer, struct error *err)
{
    int r = queue_family(writer, FAMILY_INSTANTS, err);
    if (r == 0)
        r = queue_family(writer, FAMILY_COUNTERS, err);
    if (r == 0)
        r = chrome_pieces_end(writer, err);
    return r < 0 ? r : chrome_write_links(writer, err);
}

int chrome_make_sample(struct chrome_piece *piece, uint32_t row)
{
    const struct chrome_writer *writer = piece->writer;
    const struct sample_block *block = &piece->block.samples;
    struct json_out *out = &piece->out;
    track_id track = block->info.track;
    uint16_t cpu = block->cpu ? block->cpu[row] : UINT16_MAX;
    stack_id stack = block->stack ? block->stack[row] : STACK_NONE;
    const char *event = sample_event_name(block->event ? block->event[row] : 0);
    chrome_event(out, &piece->first_event);
    JSON_OUT_LITERAL(out, "{\"name\":\"");
    json_out_bytes(out, event ? event : "unknown", strlen(event ? event : "unknown"));
    json_out_char(out, '"');
    chrome_out_place(out, chrome_pid(writer, writer->tracks[track.index].process), chrome_tid(writer, track),
                     chrome_time(writer, block->time_ns[row]));
    if (cpu != UINT16_MAX) {
        JSON_OUT_LITERAL(out, ",\"cpu\":");
        json_out_u64(out, cpu);
    }
    if (stack.index != ID_NONE) {
        JSON_OUT_LITERAL(out, ",\"sf\":");
        json_out_u64(out, stack.index);
    }
    JSON_OUT_LITERAL(out, ",\"weight\":");
    json_out_i64(out, block->weight ? block->weight[row] : 0);
    if (block->flags && block->flags[row]) {
        JSON_OUT_LITERAL(out, ",\"flags\":");
        json_out_u64(out, block->flags[row]);
    }
    json_out_char(out, '}');
    return 0;
}

/* Stack nodes as viewers have them: each with its name, its module's file name as category, its parent. */
static void write_stack_frames(struct chrome_writer *writer)
{
    uint32_t count, frame_count, module_count;
    const struct stack_node *nodes = trace_stacks(writer->trace, &count);
    const struct trace_frame *frames = trace_frames(writer->trace, &frame_count);
    const struct trace_module *modules = trace_modules(writer->trace, &module_count);
    for (uint32_t i = 0; i < count; i++) {
        const struct trace_frame *frame = nodes[i].frame.index < frame_count ? &frames[nodes[i].frame.index] : NULL;
        chrome_event(&writer->out, &writer->first_event);
        json_out_char(&writer->out, '"');
        json_out_u64(&writer->out, i);
        JSON_OUT_LITERAL(&writer->out, "\":{\"name\":");
        json_out_id(&writer->out, &writer->strings, frame ? frame->function : STRING_NONE);
        if (frame && frame->module.index < module_count) {
            const char *path = trace_text(writer->trace, modules[frame->module.index].path);
            const char *slash = strrchr(path, '/');
            JSON_OUT_LITERAL(&writer->out, ",\"category\":");
            json_out_string(&writer->out, slash ? slash + 1 : path);
        }
        if (nodes[i].parent.index != ID_NONE) {
            JSON_OUT_LITERAL(&writer->out, ",\"parent\":\"");
            json_out_u64(&writer->out, nodes[i].parent.index);
            json_out_char(&writer->out, '"');
        }
        json_out_char(&writer->out, '}');
    }
}

int chrome_write_samples(struct chrome_writer *writer, struct error *err)
{
    JSON_OUT_LITERAL(&writer->out, "\n],\n\"stackFrames\":{");
    writer->first_event = true;
    write_stack_frames(writer);
    JSON_OUT_LITERAL(&writer->out, "\n},\n\"samples\":[");
    writer->first_event = true;
    int r = queue_family(writer, FAMILY_SAMPLES, err);
    return r < 0 ? r : chrome_pieces_end(writer, err);
}
