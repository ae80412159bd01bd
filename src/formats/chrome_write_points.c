/* SPDX-License-Identifier: MIT */
/* Instants ("i"), counter values ("C"), links ("s" and "f") and samples. */
#include "chrome_writer.h"

#include "base/error.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static void write_place(struct chrome_writer *writer, uint32_t pid, uint32_t tid, uint64_t ts_ns)
{
    json_out_need(&writer->out, 96);
    char *at = stpcpy(writer->out.at, ",\"pid\":");
    at = format_u64(at, pid);
    at = stpcpy(at, ",\"tid\":");
    at = format_u64(at, tid);
    at = stpcpy(at, ",\"ts\":");
    writer->out.at = format_microseconds(at, ts_ns);
}

static int write_instant(struct chrome_writer *writer, const struct instant_block *block, uint32_t row)
{
    string_id name = block->name ? block->name[row] : STRING_NONE;
    string_id category = block->category ? block->category[row] : STRING_NONE;
    track_id track = block->info.track;
    chrome_event(writer);
    JSON_OUT_LITERAL(&writer->out, "{\"ph\":\"i\",\"s\":\"t\",\"name\":");
    bool name_exact = json_out_id(&writer->out, &writer->strings, name);
    JSON_OUT_LITERAL(&writer->out, ",\"cat\":");
    bool category_exact = json_out_id(&writer->out, &writer->strings, category);
    write_place(writer, chrome_pid(writer, writer->tracks[track.index].process), chrome_tid(writer, track),
                chrome_time(writer, block->time_ns[row]));
    size_t from = row && block->payload_end ? block->payload_end[row - 1] : 0;
    size_t size = block->payload_end ? block->payload_end[row] - from : 0;
    int r = chrome_write_args(writer, size ? block->payload + from : NULL, size, name_exact, name, category_exact, category);
    json_out_char(&writer->out, '}');
    writer->written_instants++;
    return r;
}

static int write_instants(struct chrome_writer *writer, uint32_t index, struct error *err)
{
    struct instant_block block;
    int r = trace_instants_get(writer->trace, index, &block, err);
    if (r < 0)
        return r;
    for (uint32_t row = 0; row < block.info.count && r == 0; row++)
        if (selection_time(&writer->selection, block.time_ns[row]))
            r = write_instant(writer, &block, row);
    trace_instants_put(writer->trace, &block);
    return r < 0 ? error_set_errno(err, r, "chrome: cannot write the instants of block %u", index) : 0;
}

/* Viewers want finite numbers; the others go into a metadata event, which they ignore. */
static void write_counter(struct chrome_writer *writer, track_id id, int64_t time_ns, double value)
{
    const struct trace_track *track = &writer->tracks[id.index];
    bool finite = isfinite(value);
    chrome_event(writer);
    if (finite)
        JSON_OUT_LITERAL(&writer->out, "{\"ph\":\"C\",\"name\":");
    else
        JSON_OUT_LITERAL(&writer->out, "{\"ph\":\"M\",\"name\":\"hprofiler_counter\"");
    if (finite)
        json_out_id(&writer->out, &writer->strings, track->name);
    JSON_OUT_LITERAL(&writer->out, ",\"cat\":\"\"");
    write_place(writer, chrome_pid(writer, track->process), chrome_tid(writer, id), chrome_time(writer, time_ns));
    JSON_OUT_LITERAL(&writer->out, ",\"args\":{");
    if (finite && track->unit.index)
        json_out_id(&writer->out, &writer->strings, track->unit);
    else
        JSON_OUT_LITERAL(&writer->out, "\"value\"");
    json_out_char(&writer->out, ':');
    json_out_double(&writer->out, value);
    JSON_OUT_LITERAL(&writer->out, "}}");
    writer->written_counters++;
}

static int write_counters(struct chrome_writer *writer, uint32_t index, struct error *err)
{
    struct counter_block block;
    int r = trace_counters_get(writer->trace, index, &block, err);
    if (r < 0)
        return r;
    for (uint32_t row = 0; row < block.info.count; row++)
        if (selection_time(&writer->selection, block.time_ns[row]))
            write_counter(writer, block.info.track, block.time_ns[row], block.value[row]);
    trace_counters_put(writer->trace, &block);
    return 0;
}

static int write_family(struct chrome_writer *writer, enum family family,
                        int (*write)(struct chrome_writer *, uint32_t, struct error *), struct error *err)
{
    int r = 0;
    uint32_t blocks = trace_block_count(writer->trace, family);
    for (uint32_t i = 0; i < blocks && r == 0; i++) {
        struct block_info info = trace_block_info(writer->trace, family, i);
        if (info.track.index < writer->track_count && selection_block(&writer->selection, family, &info))
            r = write(writer, i, err);
    }
    return r;
}

static void write_link_args(struct chrome_writer *writer, uint32_t from, uint32_t to, uint8_t kind, uint8_t confidence)
{
    const char *name = confidence_name(confidence);
    JSON_OUT_LITERAL(&writer->out, ",\"args\":{\"from\":");
    json_out_u64(&writer->out, from);
    JSON_OUT_LITERAL(&writer->out, ",\"to\":");
    json_out_u64(&writer->out, to);
    JSON_OUT_LITERAL(&writer->out, ",\"kind\":");
    json_out_string(&writer->out, link_kind_name(kind) ? link_kind_name(kind) : "unknown");
    JSON_OUT_LITERAL(&writer->out, ",\"confidence\":");
    json_out_string(&writer->out, name ? name : "low");
    JSON_OUT_LITERAL(&writer->out, "}}");
}

/* One point of a flow: it lies at the begin of its span, which viewers then take as the enclosing slice. */
static void write_flow_point(struct chrome_writer *writer, bool start, uint32_t ordinal, uint64_t id, const char *kind)
{
    const struct chrome_place *place = &writer->places[ordinal];
    chrome_event(writer);
    if (start)
        JSON_OUT_LITERAL(&writer->out, "{\"ph\":\"s\",\"id\":");
    else
        JSON_OUT_LITERAL(&writer->out, "{\"ph\":\"f\",\"bp\":\"e\",\"id\":");
    json_out_u64(&writer->out, id);
    JSON_OUT_LITERAL(&writer->out, ",\"cat\":");
    json_out_string(&writer->out, kind);
    JSON_OUT_LITERAL(&writer->out, ",\"name\":");
    json_out_string(&writer->out, kind);
    write_place(writer, place->pid, place->tid, place->ts_ns);
}

static void write_link(struct chrome_writer *writer, uint32_t from, uint32_t to, uint8_t kind, uint8_t confidence)
{
    const char *name = link_kind_name(kind) ? link_kind_name(kind) : "unknown";
    uint64_t id = writer->link_salt | ++writer->written_links;
    if (writer->places[from].bindable && writer->places[to].bindable) {
        write_flow_point(writer, true, from, id, name);
        write_link_args(writer, from, to, kind, confidence);
        write_flow_point(writer, false, to, id, name);
        json_out_char(&writer->out, '}');
        return;
    }
    /* Spans without duration enclose nothing: an arrow on one would be an import error. */
    chrome_event(writer);
    JSON_OUT_LITERAL(&writer->out, "{\"ph\":\"M\",\"name\":\"hprofiler_link\",\"cat\":\"\"");
    write_place(writer, writer->places[from].pid, writer->places[from].tid, writer->places[from].ts_ns);
    write_link_args(writer, from, to, kind, confidence);
}

static int write_links(struct chrome_writer *writer, struct error *err)
{
    uint32_t blocks = trace_block_count(writer->trace, FAMILY_LINKS);
    for (uint32_t i = 0; i < blocks; i++) {
        struct link_block block;
        int r = trace_links_get(writer->trace, i, &block, err);
        if (r < 0)
            return r;
        for (uint32_t row = 0; row < block.info.count; row++) {
            uint32_t from, to;
            if (chrome_ordinal(writer, block.from[row], &from) && chrome_ordinal(writer, block.to[row], &to))
                write_link(writer, from, to, block.kind ? block.kind[row] : 0, block.confidence ? block.confidence[row] : 0);
        }
        trace_links_put(writer->trace, &block);
    }
    return 0;
}

int chrome_write_points(struct chrome_writer *writer, struct error *err)
{
    int r = write_family(writer, FAMILY_INSTANTS, write_instants, err);
    if (r == 0)
        r = write_family(writer, FAMILY_COUNTERS, write_counters, err);
    return r < 0 ? r : write_links(writer, err);
}

static void write_sample(struct chrome_writer *writer, const struct sample_block *block, uint32_t row)
{
    struct json_out *out = &writer->out;
    track_id track = block->info.track;
    uint16_t cpu = block->cpu ? block->cpu[row] : UINT16_MAX;
    stack_id stack = block->stack ? block->stack[row] : STACK_NONE;
    const char *event = sample_event_name(block->event ? block->event[row] : 0);
    chrome_event(writer);
    JSON_OUT_LITERAL(out, "{\"name\":\"");
    json_out_bytes(out, event ? event : "unknown", strlen(event ? event : "unknown"));
    json_out_char(out, '"');
    write_place(writer, chrome_pid(writer, writer->tracks[track.index].process), chrome_tid(writer, track),
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
    writer->written_samples++;
}

static int write_samples(struct chrome_writer *writer, uint32_t index, struct error *err)
{
    struct sample_block block;
    int r = trace_samples_get(writer->trace, index, &block, err);
    if (r < 0)
        return r;
    for (uint32_t row = 0; row < block.info.count; row++)
        if (selection_sample(&writer->selection, &block, row))
            write_sample(writer, &block, row);
    trace_samples_put(writer->trace, &block);
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
        chrome_event(writer);
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
    return write_family(writer, FAMILY_SAMPLES, write_samples, err);
}
