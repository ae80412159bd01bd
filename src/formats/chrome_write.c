/* SPDX-License-Identifier: MIT */
/*
 * Chrome Trace Event JSON: the file as a whole. Viewers read "traceEvents" (and "stackFrames", "samples"); the section
 * "hprofiler" at the end holds what they ignore, so that reading gives the same trace back. See docs/formats/chrome.md.
 */
#include "chrome_writer.h"

#include "base/error.h"
#include "base/map.h"
#include "chrome_reader.h"
#include "exports.h"
#include "labels.h"

#include <errno.h>
#include <stdlib.h>

/* Viewers tell threads apart by tid alone: pids and tids are drawn from one row of small numbers, so that they never meet. */
uint32_t chrome_pid(const struct chrome_writer *writer, process_id process)
{
    return process.index < writer->process_count ? process.index + 1 : writer->process_count + 1;
}

uint32_t chrome_tid(const struct chrome_writer *writer, track_id track)
{
    return writer->process_count + 2 + track.index;
}

bool chrome_ordinal(const struct chrome_writer *writer, span_id span, uint32_t *ret_ordinal)
{
    uint32_t block, row;
    *ret_ordinal = span.index;
    if (!writer->block_ordinals)
        return span.index < writer->span_count;
    if (!trace_span_find(writer->trace, span, &block, &row) || writer->block_ordinals[block] == UINT32_MAX)
        return false;
    *ret_ordinal = writer->block_ordinals[block] + row;
    return true;
}

static int find_used_tracks(struct chrome_writer *writer)
{
    writer->used = calloc((size_t)writer->track_count + 1, 1);
    if (!writer->used)
        return -ENOMEM;
    for (unsigned family = 0; family < FAMILY_COUNT; family++) {
        uint32_t blocks = trace_block_count(writer->trace, (enum family)family);
        for (uint32_t i = 0; i < blocks; i++) {
            struct block_info info = trace_block_info(writer->trace, (enum family)family, i);
            if (info.track.index < writer->track_count)
                writer->used[info.track.index] |= (uint8_t)(1u << family);
        }
    }
    return 0;
}

static void write_metadata_event(struct chrome_writer *writer, const char *name, uint32_t pid, uint32_t tid)
{
    chrome_event(&writer->out, &writer->first_event);
    JSON_OUT_LITERAL(&writer->out, "{\"ph\":\"M\",\"name\":");
    json_out_string(&writer->out, name);
    JSON_OUT_LITERAL(&writer->out, ",\"cat\":\"__metadata\",\"ts\":0,\"pid\":");
    json_out_u64(&writer->out, pid);
    if (tid) {
        JSON_OUT_LITERAL(&writer->out, ",\"tid\":");
        json_out_u64(&writer->out, tid);
    }
    JSON_OUT_LITERAL(&writer->out, ",\"args\":{");
}

static void write_named(struct chrome_writer *writer, const char *event, uint32_t pid, uint32_t tid, const struct text *label,
                        const char *real_key, int32_t real)
{
    write_metadata_event(writer, event, pid, tid);
    JSON_OUT_LITERAL(&writer->out, "\"name\":");
    json_out_string_n(&writer->out, label->data ? label->data : "", label->length);
    if (real >= 0) {
        JSON_OUT_LITERAL(&writer->out, ",\"");
        json_out_bytes(&writer->out, real_key, strlen(real_key));
        JSON_OUT_LITERAL(&writer->out, "\":");
        json_out_i64(&writer->out, real);
    }
    JSON_OUT_LITERAL(&writer->out, "}}");
}

static void write_sort_index(struct chrome_writer *writer, const char *event, uint32_t pid, uint32_t tid, uint32_t index)
{
    write_metadata_event(writer, event, pid, tid);
    JSON_OUT_LITERAL(&writer->out, "\"sort_index\":");
    json_out_u64(&writer->out, index);
    JSON_OUT_LITERAL(&writer->out, "}}");
}

static void write_track_name(struct chrome_writer *writer, track_id track, uint32_t tid, unsigned lane)
{
    uint32_t pid = chrome_pid(writer, writer->tracks[track.index].process);
    struct text label = TEXT_INIT;
    label_track(writer->trace, track, &label);
    if (lane)
        text_addf(&label, " +%u", lane);
    write_named(writer, "thread_name", pid, tid, &label, "tid", writer->tracks[track.index].tid);
    write_sort_index(writer, "thread_sort_index", pid, tid, track.index);
    text_finish(&label);
}

static void write_names(struct chrome_writer *writer)
{
    for (uint32_t i = 0; i < writer->process_count; i++) {
        struct text label = TEXT_INIT;
        label_process(writer->trace, (process_id){i}, &label);
        write_named(writer, "process_name", i + 1, 0, &label, "pid", writer->processes[i].pid);
        write_sort_index(writer, "process_sort_index", i + 1, 0, i);
        text_finish(&label);
    }
    /* Counters are drawn by process: a name would make an empty thread of them. */
    unsigned drawn = 1u << FAMILY_SPANS | 1u << FAMILY_INSTANTS | 1u << FAMILY_SAMPLES;
    for (uint32_t i = 0; i < writer->track_count; i++)
        if (writer->used[i] & drawn)
            write_track_name(writer, (track_id){i}, chrome_tid(writer, (track_id){i}), 0);
}

static void write_extra_names(struct chrome_writer *writer)
{
    track_id track = TRACK_NONE;
    unsigned lane = 0;
    for (size_t i = 0; i < writer->extra_count; i++) {
        lane = track_id_is(track, writer->extra[i].track) ? lane + 1 : 1;
        track = writer->extra[i].track;
        write_track_name(writer, track, writer->extra[i].tid, lane);
    }
}

/* In a growing trace, and in one that blocks were lost of, the place of a span in the file is not its id. */
static int number_spans(struct chrome_writer *writer)
{
    uint32_t blocks = trace_block_count(writer->trace, FAMILY_SPANS);
    uint64_t next = 0;
    bool differ = false;
    uint32_t *ordinals = malloc(((size_t)blocks + 1) * sizeof(*ordinals));
    if (!ordinals)
        return -ENOMEM;
    for (uint32_t i = 0; i < blocks; i++) {
        struct block_info info = trace_block_info(writer->trace, FAMILY_SPANS, i);
        bool written = info.track.index < writer->track_count;
        ordinals[i] = written ? (uint32_t)next : UINT32_MAX;
        differ |= !written || info.first != next;
        next += written ? info.count : 0;
    }
    writer->span_count = (uint32_t)next;
    if (differ)
        writer->block_ordinals = ordinals;
    else
        free(ordinals);
    return next < UINT32_MAX ? 0 : -EOVERFLOW;
}

static int allocate_for_links(struct chrome_writer *writer)
{
    if (!trace_block_count(writer->trace, FAMILY_LINKS))
        return 0;
    writer->places = malloc(((size_t)writer->span_count + 1) * sizeof(*writer->places));
    return writer->places ? 0 : -ENOMEM;
}

/* Flow ids keep apart when files of several ranks are merged: what tells runs apart goes into 21 bits above the number. */
static uint64_t link_salt(const struct trace *trace)
{
    static const char *const keys[] = {"start_realtime_ns", "start_monotonic_raw_ns", "command", "host"};
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *value = trace_metadata(trace, keys[i]);
        hash = hash_u64(hash ^ (value ? hash_bytes(value, strlen(value)) : 0));
    }
    uint32_t count;
    const struct trace_process *processes = trace_processes(trace, &count);
    if (count)
        hash = hash_u64(hash ^ ((uint64_t)(uint32_t)processes[0].pid << 32 | (uint32_t)processes[0].rank));
    return (hash & 0x1fffff) << 32;
}

static int writer_init(struct chrome_writer *writer, const struct trace *trace, const struct progress *progress,
                       struct file_writer *file, struct error *err)
{
    *writer = (struct chrome_writer){.trace = trace, .first_event = true};
    writer->processes = trace_processes(trace, &writer->process_count);
    writer->tracks = trace_tracks(trace, &writer->track_count);
    writer->next_tid = writer->process_count + 2 + writer->track_count;
    writer->link_salt = link_salt(trace);
    writer->walk = walk_begin(trace, progress, "chrome json",
                              1u << FAMILY_SPANS | 1u << FAMILY_SAMPLES | 1u << FAMILY_INSTANTS | 1u << FAMILY_COUNTERS | 1u << FAMILY_LINKS);
    int64_t begin_ns, end_ns;
    trace_time_range(trace, &begin_ns, &end_ns);
    writer->shift_ns = begin_ns < 0 ? 0 - (uint64_t)begin_ns : 0;
    lanes_init(&writer->lanes);
    json_out_init(&writer->out, file);
    int r = json_strings_init(&writer->strings, trace_strings(trace));
    if (r == 0)
        r = json_strings_make_all(&writer->strings);
    if (r == 0)
        r = chrome_phrases_make(writer);
    if (r == 0 && (r = find_used_tracks(writer)) == 0 && (r = number_spans(writer)) == 0)
        r = allocate_for_links(writer);
    return r < 0 ? error_set_errno(err, r, "chrome: cannot prepare the export") : chrome_pieces_init(writer, err);
}

static void writer_finish(struct chrome_writer *writer)
{
    chrome_pieces_finish(writer);
    json_strings_finish(&writer->strings);
    lanes_finish(&writer->lanes);
    nesting_finish(&writer->nesting);
    free(writer->phrases);
    free(writer->used);
    free(writer->lane_tids);
    free(writer->extra);
    free(writer->block_ordinals);
    free(writer->places);
    free(writer->request_ends);
}

static int write_document(struct chrome_writer *writer, struct error *err)
{
    JSON_OUT_LITERAL(&writer->out, CHROME_OWN_HEAD);
    json_out_u64(&writer->out, CHROME_FORMAT_VERSION);
    JSON_OUT_LITERAL(&writer->out, ",\"version\":\"" HP_VERSION "\"},\n\"traceEvents\":[");
    write_names(writer);
    int r = chrome_write_spans(writer, err);
    write_extra_names(writer);
    if (r == 0)
        r = chrome_write_points(writer, err);
    if (r == 0)
        r = chrome_write_samples(writer, err);
    if (r == 0)
        r = chrome_write_section(writer, err);
    json_out_flush(&writer->out);
    return r;
}

static int chrome_write(const struct trace *trace, const struct progress *progress, const char *path, struct error *err)
{
    CLEANUP(file_writer_destroyp) struct file_writer *file = NULL;
    int r = file_writer_create(path, &file, err);
    if (r < 0)
        return r;
    struct chrome_writer writer;
    r = writer_init(&writer, trace, progress, file, err);
    if (r == 0)
        r = write_document(&writer, err);
    writer_finish(&writer);
    return r < 0 ? r : file_writer_finish(TAKE_PTR(file), err);
}

const struct trace_format format_chrome = {
    .name = "chrome",
    .extension = ".json",
    .summary = "Chrome Trace Event JSON for the Perfetto UI and chrome://tracing; reads back losslessly",
    .probe = chrome_probe,
    .read = chrome_read,
    .write = chrome_write,
};
