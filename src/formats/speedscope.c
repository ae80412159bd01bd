/* SPDX-License-Identifier: MIT */
/*
 * speedscope's own JSON: a "sampled" profile for each thread with on-CPU samples, an "evented" one for each lane of spans.
 * Frames are shared; they are written last, when all are known (the order of keys is free).
 */
#include "base/array.h"
#include "base/error.h"
#include "exports.h"
#include "json_out.h"
#include "labels.h"
#include "lanes.h"
#include "stack_tree.h"
#include "trace/own_code.h"
#include "walk.h"

#include <errno.h>
#include <stdlib.h>

struct shared_frame {
    string_id name, file, module;
    uint32_t line;
    enum stack_tree_mark mark;
};

struct placed_span {
    int64_t begin_ns, end_ns;
    uint32_t frame, lane;
};

struct speedscope {
    const struct trace *trace;
    struct json_out out;
    struct json_strings strings;
    struct map frame_ids;          /* name << 32 | file (marks: above any string id): the shared frame */
    struct shared_frame *frames;
    size_t frame_count, frame_capacity;
    int64_t *weights;
    size_t weight_count, weight_capacity;
    frame_id *stack;
    size_t stack_capacity;
    struct placed_span *spans;
    size_t span_count, span_capacity;
    uint32_t *open;
    size_t open_capacity;
    struct lanes lanes;
    unsigned profiles;
    int64_t first_ns, heaviest;    /* of the sampled profiles: the one that is shown first */
    unsigned heaviest_profile;
};

static int out_of_memory(struct error *err)
{
    return error_set(err, -ENOMEM, "export: out of memory for speedscope");
}

static int shared_frame(struct speedscope *sp, struct shared_frame frame, uint32_t *ret_index)
{
    const uint32_t parts[] = {frame.mark, frame.name.index, frame.file.index, frame.module.index};
    uint64_t key = hash_bytes(parts, sizeof(parts)), found;
    if (map_get(&sp->frame_ids, key, &found)) {
        *ret_index = (uint32_t)found;
        return 0;
    }
    struct shared_frame *frames = array_reserve(sp->frames, &sp->frame_capacity, sp->frame_count + 1, sizeof(*frames));
    if (!frames)
        return -ENOMEM;
    sp->frames = frames;
    frames[sp->frame_count] = frame;
    *ret_index = (uint32_t)sp->frame_count;
    return map_set(&sp->frame_ids, key, sp->frame_count++);
}

/* A frame's file: its source file, else the module. Equal names of two modules are two frames. */
static int frame_of(struct speedscope *sp, frame_id id, uint32_t *ret_index)
{
    uint32_t frame_count, module_count;
    const struct trace_frame *frames = trace_frames(sp->trace, &frame_count);
    const struct trace_module *modules = trace_modules(sp->trace, &module_count);
    if (id.index >= frame_count || !frames[id.index].function.index)
        return shared_frame(sp, (struct shared_frame){.mark = MARK_UNKNOWN}, ret_index);
    const struct trace_frame *frame = &frames[id.index];
    struct shared_frame shared = {.name = frame->function, .file = frame->file, .line = frame->line};
    if (frame->module.index < module_count)
        shared.module = modules[frame->module.index].path;
    if (!shared.file.index)
        shared.file = shared.module;
    return shared_frame(sp, shared, ret_index);
}

static void profile_begin(struct speedscope *sp, const char *type, track_id track, uint32_t lane)
{
    struct text label = TEXT_INIT;
    label_track_full(sp->trace, track, &label);
    if (lane)
        text_addf(&label, ", overlapping lane %u", lane + 1);
    if (sp->profiles++)
        JSON_OUT_LITERAL(&sp->out, ",\n");
    JSON_OUT_LITERAL(&sp->out, "{\"type\":\"");
    json_out_bytes(&sp->out, type, strlen(type));
    JSON_OUT_LITERAL(&sp->out, "\",\"name\":");
    json_out_string_n(&sp->out, label.data ? label.data : "", label.length);
    JSON_OUT_LITERAL(&sp->out, ",\"unit\":\"nanoseconds\",");
    text_finish(&label);
}

static void sampled_end(struct speedscope *sp, int64_t start_ns)
{
    int64_t sum = 0;
    JSON_OUT_LITERAL(&sp->out, "],\n\"weights\":[");
    for (size_t i = 0; i < sp->weight_count; i++) {
        if (i)
            json_out_char(&sp->out, ',');
        json_out_i64(&sp->out, sp->weights[i]);
        sum += sp->weights[i];
    }
    if (sum > sp->heaviest) {
        sp->heaviest = sum;
        sp->heaviest_profile = sp->profiles - 1;
    }
    JSON_OUT_LITERAL(&sp->out, "],\"startValue\":");
    json_out_i64(&sp->out, start_ns);
    JSON_OUT_LITERAL(&sp->out, ",\"endValue\":");
    json_out_i64(&sp->out, start_ns + sum);
    json_out_char(&sp->out, '}');
    sp->weight_count = 0;
}

static int write_frame_index(struct speedscope *sp, int r, uint32_t index, bool first)
{
    if (r < 0)
        return r;
    if (!first)
        json_out_char(&sp->out, ',');
    json_out_u64(&sp->out, index);
    return 0;
}

static int write_sample(struct speedscope *sp, const struct sample_block *block, uint32_t row)
{
    size_t depth = 0;
    uint32_t index = 0;
    if (block->stack && stack_frames(sp->trace, block->stack[row], &sp->stack, &sp->stack_capacity, &depth) < 0)
        return -ENOMEM;
    int64_t *weights = array_reserve(sp->weights, &sp->weight_capacity, sp->weight_count + 1, sizeof(*weights));
    if (!weights)
        return -ENOMEM;
    sp->weights = weights;
    json_out_need(&sp->out, 2);
    if (sp->weight_count)
        *sp->out.at++ = ',';
    *sp->out.at++ = '[';
    weights[sp->weight_count++] = block->weight ? block->weight[row] : 0;
    uint8_t flags = block->flags ? block->flags[row] : 0;
    enum stack_tree_mark mark = !depth                       ? MARK_UNKNOWN
                                : flags & SAMPLE_NO_STACK    ? MARK_NO_STACK
                                : flags & SAMPLE_TRUNCATED   ? MARK_TRUNCATED
                                                             : MARK_NONE;
    int r = 0;
    if (mark) {
        r = shared_frame(sp, (struct shared_frame){.mark = mark}, &index);
        r = write_frame_index(sp, r, index, true);
    }
    bool is_first = !mark;
    for (size_t i = 0; i < depth && r == 0; i++) {
        bool is_own = trace_frame_is_own(sp->trace, sp->stack[i]);
        if (is_own && i + 1 < depth)
            continue;
        r = is_own ? shared_frame(sp, (struct shared_frame){.mark = MARK_OWN}, &index) : frame_of(sp, sp->stack[i], &index);
        r = write_frame_index(sp, r, index, is_first);
        is_first = false;
    }
    json_out_char(&sp->out, ']');
    return r;
}

static int write_sample_block(struct speedscope *sp, uint32_t index, track_id *open_track, struct error *err)
{
    struct block_info info = trace_block_info(sp->trace, FAMILY_SAMPLES, index);
    struct sample_block block;
    int r = trace_samples_get(sp->trace, index, &block, err);
    if (r < 0)
        return r;
    for (uint32_t row = 0; row < info.count && r == 0; row++) {
        if (!sample_event_is_cpu(block.event ? block.event[row] : 0))
            continue;
        if (!track_id_is(*open_track, info.track)) {
            if (open_track->index != ID_NONE)
                sampled_end(sp, sp->first_ns);
            profile_begin(sp, "sampled", info.track, 0);
            JSON_OUT_LITERAL(&sp->out, "\"samples\":[");
            *open_track = info.track;
            sp->first_ns = block.time_ns[row];
        }
        r = write_sample(sp, &block, row);
    }
    trace_samples_put(sp->trace, &block);
    return r < 0 ? out_of_memory(err) : 0;
}

static int write_sampled(struct speedscope *sp, const struct progress *progress, struct error *err)
{
    struct walk walk = walk_begin(sp->trace, progress, "samples", 1u << FAMILY_SAMPLES);
    int r = 0;
    track_id track = TRACK_NONE;
    uint32_t blocks = trace_block_count(sp->trace, FAMILY_SAMPLES);
    for (uint32_t i = 0; i < blocks && r == 0; i++) {
        walk_step(&walk);
        r = write_sample_block(sp, i, &track, err);
    }
    if (track.index != ID_NONE)
        sampled_end(sp, sp->first_ns);
    return r;
}

static void write_event(struct speedscope *sp, char type, uint32_t frame, int64_t at_ns, bool first)
{
    json_out_need(&sp->out, 80);
    if (!first)
        *sp->out.at++ = ',';
    JSON_OUT_LITERAL(&sp->out, "{\"type\":\"");
    *sp->out.at++ = type;
    JSON_OUT_LITERAL(&sp->out, "\",\"frame\":");
    json_out_u64(&sp->out, frame);
    JSON_OUT_LITERAL(&sp->out, ",\"at\":");
    json_out_i64(&sp->out, at_ns);
    *sp->out.at++ = '}';
}

/* Closes the open spans, innermost first, that end by then. Returns how many stay open. */
static size_t close_spans(struct speedscope *sp, size_t depth, int64_t until_ns)
{
    for (; depth; depth--) {
        const struct placed_span *span = &sp->spans[sp->open[depth - 1]];
        if (span->end_ns > until_ns)
            break;
        write_event(sp, 'C', span->frame, span->end_ns, false);
    }
    return depth;
}

static int write_lane(struct speedscope *sp, track_id track, uint32_t lane)
{
    size_t depth = 0;
    bool first = true;
    int64_t start_ns = INT64_MAX, end_ns = INT64_MIN;
    profile_begin(sp, "evented", track, lane);
    JSON_OUT_LITERAL(&sp->out, "\"events\":[");
    for (size_t i = 0; i < sp->span_count; i++) {
        const struct placed_span *span = &sp->spans[i];
        if (span->lane != lane)
            continue;
        depth = close_spans(sp, depth, span->begin_ns);
        uint32_t *open = array_reserve(sp->open, &sp->open_capacity, depth + 1, sizeof(*open));
        if (!open)
            return -ENOMEM;
        sp->open = open;
        open[depth++] = (uint32_t)i;
        write_event(sp, 'O', span->frame, span->begin_ns, first);
        first = false;
        start_ns = span->begin_ns < start_ns ? span->begin_ns : start_ns;
        end_ns = span->end_ns > end_ns ? span->end_ns : end_ns;
    }
    close_spans(sp, depth, INT64_MAX);
    JSON_OUT_LITERAL(&sp->out, "],\"startValue\":");
    json_out_i64(&sp->out, start_ns);
    JSON_OUT_LITERAL(&sp->out, ",\"endValue\":");
    json_out_i64(&sp->out, end_ns);
    json_out_char(&sp->out, '}');
    return 0;
}

static int write_track_spans(struct speedscope *sp, track_id track)
{
    int r = 0;
    if (sp->span_count)
        for (uint32_t lane = 0; lane < sp->lanes.count && r == 0; lane++)
            r = write_lane(sp, track, lane);
    sp->span_count = 0;
    lanes_reset(&sp->lanes);
    return r;
}

static int gather_span(struct speedscope *sp, const struct span_block *block, uint32_t row)
{
    int64_t begin_ns = block->begin_ns[row];
    int64_t end_ns = trace_span_end(sp->trace, block->info.track, begin_ns, block->end_ns[row]);
    if (end_ns < begin_ns)
        end_ns = begin_ns;
    struct placed_span *spans = array_reserve(sp->spans, &sp->span_capacity, sp->span_count + 1, sizeof(*spans));
    if (!spans || sp->span_count >= UINT32_MAX)
        return -ENOMEM;
    sp->spans = spans;
    int64_t lane = lanes_place(&sp->lanes, begin_ns, end_ns);
    struct shared_frame frame = {.name = block->name ? block->name[row] : STRING_NONE};
    frame.mark = frame.name.index ? MARK_NONE : MARK_UNKNOWN;
    spans[sp->span_count] = (struct placed_span){.begin_ns = begin_ns, .end_ns = end_ns, .lane = (uint32_t)lane};
    int r = shared_frame(sp, frame, &spans[sp->span_count].frame);
    sp->span_count++;
    return lane < 0 ? -ENOMEM : r;
}

static int write_evented(struct speedscope *sp, const struct progress *progress, struct error *err)
{
    struct walk walk = walk_begin(sp->trace, progress, "spans", 1u << FAMILY_SPANS);
    int r = 0;
    track_id track = TRACK_NONE;
    uint32_t blocks = trace_block_count(sp->trace, FAMILY_SPANS);
    for (uint32_t i = 0; i < blocks && r == 0; i++) {
        struct block_info info = trace_block_info(sp->trace, FAMILY_SPANS, i);
        if (!track_id_is(track, info.track) && write_track_spans(sp, track) < 0)
            r = out_of_memory(err);
        track = info.track;
        walk_step(&walk);
        struct span_block block;
        if (r == 0)
            r = trace_spans_get(sp->trace, i, &block, err);
        if (r < 0)
            break;
        for (uint32_t row = 0; row < info.count && r == 0; row++)
            if (gather_span(sp, &block, row) < 0)
                r = out_of_memory(err);
        trace_spans_put(sp->trace, &block);
    }
    if (r == 0 && write_track_spans(sp, track) < 0)
        r = out_of_memory(err);
    return r;
}

static void write_shared(struct speedscope *sp)
{
    struct stack_tree_node node = {0};
    struct stack_tree marks = {.trace = sp->trace, .nodes = &node, .count = 1};
    JSON_OUT_LITERAL(&sp->out, "],\n\"activeProfileIndex\":");
    json_out_u64(&sp->out, sp->heaviest_profile);
    JSON_OUT_LITERAL(&sp->out, ",\n\"shared\":{\"frames\":[");
    for (size_t i = 0; i < sp->frame_count; i++) {
        const struct shared_frame *frame = &sp->frames[i];
        if (i)
            JSON_OUT_LITERAL(&sp->out, ",\n");
        JSON_OUT_LITERAL(&sp->out, "{\"name\":");
        node.mark = frame->mark;
        if (frame->mark)
            json_out_string(&sp->out, stack_tree_label(&marks, 0));
        else
            json_out_id(&sp->out, &sp->strings, frame->name);
        if (frame->file.index) {
            JSON_OUT_LITERAL(&sp->out, ",\"file\":");
            json_out_id(&sp->out, &sp->strings, frame->file);
        }
        if (frame->line) {
            JSON_OUT_LITERAL(&sp->out, ",\"line\":");
            json_out_u64(&sp->out, frame->line);
        }
        json_out_char(&sp->out, '}');
    }
    JSON_OUT_LITERAL(&sp->out, "]}}\n");
}

static int write_document(struct speedscope *sp, const struct progress *progress, struct error *err)
{
    const char *command = trace_metadata(sp->trace, "command");
    JSON_OUT_LITERAL(&sp->out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"hprofiler " HP_VERSION
                               "\",\"name\":");
    json_out_string(&sp->out, command ? command : "trace");
    JSON_OUT_LITERAL(&sp->out, ",\n\"profiles\":[");
    int r = write_sampled(sp, progress, err);
    if (r == 0)
        r = write_evented(sp, progress, err);
    write_shared(sp);
    json_out_flush(&sp->out);
    if (r == 0 && !sp->profiles)
        return error_set(err, -ENODATA, "export: nothing to show in speedscope: no on-CPU samples and no spans were selected");
    return r;
}

static int speedscope_write(const struct trace *trace, const struct progress *progress, const char *path, struct error *err)
{
    CLEANUP(file_writer_destroyp) struct file_writer *file = NULL;
    int r = file_writer_create(path, &file, err);
    if (r < 0)
        return r;
    struct speedscope sp = {.trace = trace};
    map_init(&sp.frame_ids);
    lanes_init(&sp.lanes);
    json_out_init(&sp.out, file);
    r = json_strings_init(&sp.strings, trace_strings(trace)) < 0 ? out_of_memory(err) : write_document(&sp, progress, err);
    json_strings_finish(&sp.strings);
    map_finish(&sp.frame_ids);
    lanes_finish(&sp.lanes);
    free(sp.frames);
    free(sp.weights);
    free(sp.stack);
    free(sp.spans);
    free(sp.open);
    return r < 0 ? r : file_writer_finish(TAKE_PTR(file), err);
}

const struct trace_format format_speedscope = {
    .name = "speedscope",
    .extension = ".speedscope.json",
    .summary = "speedscope.app: a profile for each thread",
    .write = speedscope_write,
};
