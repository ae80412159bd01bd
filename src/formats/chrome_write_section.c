/* SPDX-License-Identifier: MIT */
/* The top-level sections behind the events: "metadata" for people, "hprofiler" for the way back. */
#include "chrome_writer.h"

#include <errno.h>

/* A string that is no UTF-8 stands as {"hex":"..."}: strict JSON, and nothing is lost. */
static void write_text(struct json_out *out, const char *text, size_t length)
{
    if (utf8_valid(text, length)) {
        json_out_string_n(out, text, length);
        return;
    }
    JSON_OUT_LITERAL(out, "{\"hex\":");
    json_out_hex(out, text, length);
    json_out_char(out, '}');
}

static void write_id(struct chrome_writer *writer, string_id id)
{
    write_text(&writer->out, trace_text(writer->trace, id), string_table_length(trace_strings(writer->trace), id));
}

static void key(struct chrome_writer *writer, const char *name)
{
    if (!writer->first_key)
        json_out_char(&writer->out, ',');
    writer->first_key = false;
    json_out_char(&writer->out, '"');
    json_out_bytes(&writer->out, name, strlen(name));
    JSON_OUT_LITERAL(&writer->out, "\":");
}

/* Opens an object on a line of its own. */
static void row(struct chrome_writer *writer, bool first)
{
    if (!first)
        json_out_char(&writer->out, ',');
    JSON_OUT_LITERAL(&writer->out, "\n{");
    writer->first_key = true;
}

static void key_id(struct chrome_writer *writer, const char *name, string_id id)
{
    if (!id.index)
        return;
    key(writer, name);
    write_id(writer, id);
}

static void key_i64(struct chrome_writer *writer, const char *name, int64_t value, int64_t absent)
{
    if (value == absent)
        return;
    key(writer, name);
    json_out_i64(&writer->out, value);
}

static void key_u64(struct chrome_writer *writer, const char *name, uint64_t value, uint64_t absent)
{
    if (value == absent)
        return;
    key(writer, name);
    json_out_u64(&writer->out, value);
}

static void begin_table(struct chrome_writer *writer, const char *name)
{
    JSON_OUT_LITERAL(&writer->out, ",\n\"");
    json_out_bytes(&writer->out, name, strlen(name));
    JSON_OUT_LITERAL(&writer->out, "\":[");
}

static void write_nodes(struct chrome_writer *writer)
{
    uint32_t count;
    const struct trace_node *nodes = trace_nodes(writer->trace, &count);
    begin_table(writer, "nodes");
    for (uint32_t i = 0; i < count; i++) {
        row(writer, i == 0);
        key_id(writer, "name", nodes[i].name);
        key_id(writer, "clock_domain", nodes[i].clock_domain);
        json_out_char(&writer->out, '}');
    }
    json_out_char(&writer->out, ']');
}

static void write_processes(struct chrome_writer *writer)
{
    begin_table(writer, "processes");
    for (uint32_t i = 0; i < writer->process_count; i++) {
        const struct trace_process *process = &writer->processes[i];
        row(writer, i == 0);
        key_u64(writer, "node", process->node.index, ID_NONE);
        key_i64(writer, "pid", process->pid, INT64_MIN);
        key_i64(writer, "rank", process->rank, -1);
        key_i64(writer, "start_ns", process->start_ns, INT64_MIN);
        key_i64(writer, "end_ns", process->end_ns, INT64_MIN);
        key_u64(writer, "parent", process->parent.index, ID_NONE);
        key_u64(writer, "generation", process->generation, 0);
        key_id(writer, "command", process->command);
        key_id(writer, "executable", process->executable);
        key_i64(writer, "exit_status", process->exit_status, -1);
        if (process->attached) {
            key(writer, "attached");
            JSON_OUT_LITERAL(&writer->out, "true");
        }
        key_id(writer, "reason", process->reason);
        json_out_char(&writer->out, '}');
    }
    json_out_char(&writer->out, ']');
}

/* The tids of a track: the first follows from its number, the others were drawn while writing, in order of track. */
static void write_tids(struct chrome_writer *writer, uint32_t track, size_t *extra)
{
    key(writer, "tids");
    json_out_char(&writer->out, '[');
    json_out_u64(&writer->out, chrome_tid(writer, (track_id){track}));
    for (; *extra < writer->extra_count && writer->extra[*extra].track.index == track; ++*extra) {
        json_out_char(&writer->out, ',');
        json_out_u64(&writer->out, writer->extra[*extra].tid);
    }
    json_out_char(&writer->out, ']');
}

static void write_tracks(struct chrome_writer *writer)
{
    size_t extra = 0;
    begin_table(writer, "tracks");
    for (uint32_t i = 0; i < writer->track_count; i++) {
        const struct trace_track *track = &writer->tracks[i];
        const char *kind = track_kind_name(track->kind);
        row(writer, i == 0);
        key(writer, "kind");
        json_out_string(&writer->out, kind ? kind : "thread");
        key_id(writer, "name", track->name);
        key_u64(writer, "process", track->process.index, ID_NONE);
        key_i64(writer, "tid", track->tid, -1);
        key_i64(writer, "device", track->device, -1);
        key_i64(writer, "stream", track->stream, -1);
        key_id(writer, "unit", track->unit);
        key_i64(writer, "start_ns", track->start_ns, INT64_MIN);
        key_i64(writer, "end_ns", track->end_ns, INT64_MIN);
        write_tids(writer, i, &extra);
        json_out_char(&writer->out, '}');
    }
    json_out_char(&writer->out, ']');
}

static void write_modules(struct chrome_writer *writer)
{
    uint32_t count;
    const struct trace_module *modules = trace_modules(writer->trace, &count);
    begin_table(writer, "modules");
    for (uint32_t i = 0; i < count; i++) {
        row(writer, i == 0);
        key_id(writer, "path", modules[i].path);
        key_id(writer, "build_id", modules[i].build_id);
        key_u64(writer, "flags", modules[i].flags, 0);
        json_out_char(&writer->out, '}');
    }
    json_out_char(&writer->out, ']');
}

static void write_frames(struct chrome_writer *writer)
{
    uint32_t count;
    const struct trace_frame *frames = trace_frames(writer->trace, &count);
    begin_table(writer, "frames");
    for (uint32_t i = 0; i < count; i++) {
        row(writer, i == 0);
        key_id(writer, "function", frames[i].function);
        key_u64(writer, "module", frames[i].module.index, ID_NONE);
        key_id(writer, "file", frames[i].file);
        key_u64(writer, "line", frames[i].line, 0);
        key_u64(writer, "flags", frames[i].flags, 0);
        key_u64(writer, "address", frames[i].address, 0);
        json_out_char(&writer->out, '}');
    }
    json_out_char(&writer->out, ']');
}

/* [parent, frame] of each stack node, by its number, which "sf" names; a root's parent is null. */
static void write_stacks(struct chrome_writer *writer)
{
    uint32_t count;
    const struct stack_node *nodes = trace_stacks(writer->trace, &count);
    begin_table(writer, "stacks");
    for (uint32_t i = 0; i < count; i++) {
        json_out_need(&writer->out, 64);
        if (i)
            *writer->out.at++ = ',';
        *writer->out.at++ = '[';
        if (nodes[i].parent.index == ID_NONE)
            JSON_OUT_LITERAL(&writer->out, "null");
        else
            json_out_u64(&writer->out, nodes[i].parent.index);
        *writer->out.at++ = ',';
        json_out_u64(&writer->out, nodes[i].frame.index);
        *writer->out.at++ = ']';
    }
    json_out_char(&writer->out, ']');
}

static void write_groups(struct chrome_writer *writer)
{
    uint32_t count;
    const struct trace_group *groups = trace_groups(writer->trace, &count);
    begin_table(writer, "groups");
    for (uint32_t i = 0; i < count; i++) {
        const char *kind = link_kind_name(groups[i].kind);
        row(writer, i == 0);
        key(writer, "kind");
        json_out_string(&writer->out, kind ? kind : "unknown");
        key_id(writer, "name", groups[i].name);
        key_u64(writer, "sequence", groups[i].sequence, 0);
        json_out_char(&writer->out, '}');
    }
    json_out_char(&writer->out, ']');
}

/* [group, span, rank]; spans by their number in the file. */
static int write_members(struct chrome_writer *writer, struct error *err)
{
    uint32_t blocks = trace_block_count(writer->trace, FAMILY_MEMBERS);
    bool first = true;
    begin_table(writer, "members");
    for (uint32_t i = 0; i < blocks; i++) {
        struct member_block block;
        int r = trace_members_get(writer->trace, i, &block, err);
        if (r < 0)
            return r;
        for (uint32_t at = 0; at < block.info.count; at++) {
            uint32_t ordinal;
            if (!chrome_ordinal(writer, block.span[at], &ordinal))
                continue;
            json_out_need(&writer->out, 80);
            if (!first)
                *writer->out.at++ = ',';
            first = false;
            *writer->out.at++ = '[';
            json_out_u64(&writer->out, block.group[at].index);
            *writer->out.at++ = ',';
            json_out_u64(&writer->out, ordinal);
            *writer->out.at++ = ',';
            json_out_i64(&writer->out, block.rank ? block.rank[at] : -1);
            *writer->out.at++ = ']';
        }
        trace_members_put(writer->trace, &block);
    }
    json_out_char(&writer->out, ']');
    return 0;
}

static void write_ledger(struct chrome_writer *writer)
{
    uint32_t count;
    const struct ledger_entry *ledger = trace_ledger(writer->trace, &count);
    begin_table(writer, "ledger");
    for (uint32_t i = 0; i < count; i++) {
        row(writer, i == 0);
        key_id(writer, "source", ledger[i].source);
        key_u64(writer, "seen", ledger[i].seen, 0);
        key_u64(writer, "recorded", ledger[i].recorded, 0);
        key_u64(writer, "lost", ledger[i].lost, 0);
        key_id(writer, "reason", ledger[i].reason);
        json_out_char(&writer->out, '}');
    }
    json_out_char(&writer->out, ']');
}

static void write_metadata_pairs(struct chrome_writer *writer)
{
    uint32_t count = trace_metadata_count(writer->trace);
    begin_table(writer, "metadata");
    for (uint32_t i = 0; i < count; i++) {
        const char *name, *value;
        trace_metadata_at(writer->trace, i, &name, &value);
        JSON_OUT_LITERAL(&writer->out, "\n[");
        write_text(&writer->out, name, strlen(name));
        json_out_char(&writer->out, ',');
        write_text(&writer->out, value, strlen(value));
        json_out_char(&writer->out, ']');
        if (i + 1 < count)
            json_out_char(&writer->out, ',');
    }
    json_out_char(&writer->out, ']');
}

/* The same for people and viewers, as an object. */
static void write_metadata_object(struct chrome_writer *writer)
{
    uint32_t count = trace_metadata_count(writer->trace);
    JSON_OUT_LITERAL(&writer->out, "\n],\n\"metadata\":{");
    for (uint32_t i = 0; i < count; i++) {
        const char *name, *value;
        trace_metadata_at(writer->trace, i, &name, &value);
        if (i)
            json_out_char(&writer->out, ',');
        json_out_char(&writer->out, '\n');
        json_out_string(&writer->out, name);
        json_out_char(&writer->out, ':');
        json_out_string(&writer->out, value);
    }
    json_out_char(&writer->out, '}');
}

int chrome_write_section(struct chrome_writer *writer, struct error *err)
{
    struct json_out *out = &writer->out;
    write_metadata_object(writer);
    JSON_OUT_LITERAL(out, ",\n\"hprofiler\":");
    json_out_flush(out);
    uint64_t offset = file_writer_position(out->file);
    json_out_init(out, out->file);
    JSON_OUT_LITERAL(out, "{\"format\":");
    json_out_u64(out, CHROME_FORMAT_VERSION);
    JSON_OUT_LITERAL(out, ",\"time_shift_ns\":");
    json_out_u64(out, writer->shift_ns);
    JSON_OUT_LITERAL(out, ",\"spans\":");
    json_out_u64(out, writer->written[FAMILY_SPANS]);
    JSON_OUT_LITERAL(out, ",\"instants\":");
    json_out_u64(out, writer->written[FAMILY_INSTANTS]);
    JSON_OUT_LITERAL(out, ",\"counters\":");
    json_out_u64(out, writer->written[FAMILY_COUNTERS]);
    JSON_OUT_LITERAL(out, ",\"links\":");
    json_out_u64(out, writer->written_links);
    JSON_OUT_LITERAL(out, ",\"samples\":");
    json_out_u64(out, writer->written[FAMILY_SAMPLES]);
    write_metadata_pairs(writer);
    write_nodes(writer);
    write_processes(writer);
    write_tracks(writer);
    write_modules(writer);
    write_frames(writer);
    write_stacks(writer);
    write_groups(writer);
    write_ledger(writer);
    int r = write_members(writer, err);
    /* Where the section begins, as the last number of the file: readers find it without reading all events first. */
    JSON_OUT_LITERAL(out, ",\n\"offset\":");
    json_out_u64(out, offset);
    JSON_OUT_LITERAL(out, "}}\n");
    return r;
}
