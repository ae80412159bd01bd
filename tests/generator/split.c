/* SPDX-License-Identifier: MIT */
/* A generated trace as the traces that each rank would have left: its processes' rows, and of links and groups what lies within it. */
#include "sim.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

struct part {
    const struct trace *whole;
    struct trace_builder *builder;
    uint32_t process;
    track_id *tracks;  /* by track of the whole; NONE: of other ranks */
    span_id *spans;    /* by span of the whole: its handle; NONE: of other ranks */
    struct error err;
};

static string_id text(struct part *part, string_id id)
{
    return trace_builder_string(part->builder, trace_text(part->whole, id));
}

static void need(const struct part *part, int code)
{
    if (code < 0)
        fail(part->err.code ? part->err.text : "cannot split the trace");
}

static void copy_tables(struct part *part)
{
    uint32_t count;
    node_id node;
    process_id process;
    group_id group;
    const struct trace_node *nodes = trace_nodes(part->whole, &count);
    for (uint32_t i = 0; i < count; i++)
        need(part, trace_builder_add_node(part->builder, &(struct trace_node){text(part, nodes[i].name), text(part, nodes[i].clock_domain)}, &node));
    struct trace_process own = trace_processes(part->whole, &count)[part->process];
    own.command = text(part, own.command);
    own.executable = text(part, own.executable);
    own.reason = text(part, own.reason);
    own.parent = PROCESS_NONE;
    need(part, trace_builder_add_process(part->builder, &own, &process));
    const struct trace_track *tracks = trace_tracks(part->whole, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct trace_track track = tracks[i];
        part->tracks[i] = TRACK_NONE;
        if (track.process.index != part->process)
            continue;
        track.process = process;
        track.name = text(part, track.name);
        track.unit = text(part, track.unit);
        need(part, trace_builder_add_track(part->builder, &track, &part->tracks[i]));
    }
    const struct trace_group *groups = trace_groups(part->whole, &count);
    for (uint32_t i = 0; i < count; i++)
        need(part, trace_builder_add_group(part->builder, &(struct trace_group){groups[i].kind, text(part, groups[i].name), groups[i].sequence}, &group));
    for (uint32_t i = 0; i < trace_metadata_count(part->whole); i++) {
        const char *key, *value;
        trace_metadata_at(part->whole, i, &key, &value);
        need(part, trace_builder_set_metadata(part->builder, key, value));
    }
}

static void copy_span(struct part *part, const struct span_block *block, uint32_t row)
{
    struct payload payload;
    size_t count;
    need(part, span_payload(block, row, &payload));
    const struct payload_field *fields = payload_fields(payload.kind, &count);
    for (size_t i = 0; i < count; i++)
        if (payload.present >> i & 1 && fields[i].type == PAYLOAD_TYPE_STRING)
            payload.fields[i].string = text(part, payload.fields[i].string);
    const struct span span = {.track = part->tracks[block->info.track.index], .begin_ns = block->begin_ns[row], .end_ns = block->end_ns[row],
                              .name = text(part, block->name ? block->name[row] : STRING_NONE),
                              .category = text(part, block->category ? block->category[row] : STRING_NONE),
                              .kind = block->kind ? (enum span_kind)block->kind[row] : SPAN_KIND_UNKNOWN, .parent = SPAN_NONE, .stack = STACK_NONE,
                              .correlation = block->correlation ? block->correlation[row] : 0};
    need(part, trace_builder_add_span(part->builder, &span, &payload, &part->spans[block->info.first + row]));
}

static void copy_spans(struct part *part)
{
    struct span_block block;
    for (uint32_t i = 0; i < trace_block_count(part->whole, FAMILY_SPANS); i++) {
        const struct block_info info = trace_block_info(part->whole, FAMILY_SPANS, i);
        bool own = part->tracks[info.track.index].index != ID_NONE;
        for (uint32_t row = 0; row < info.count; row++)
            part->spans[info.first + row] = SPAN_NONE;
        if (!own)
            continue;
        need(part, trace_spans_get(part->whole, i, &block, &part->err));
        for (uint32_t row = 0; row < info.count; row++)
            copy_span(part, &block, row);
        trace_spans_put(part->whole, &block);
    }
}

static void copy_relations(struct part *part)
{
    struct link_block links;
    struct member_block members;
    for (uint32_t i = 0; i < trace_block_count(part->whole, FAMILY_LINKS); i++) {
        need(part, trace_links_get(part->whole, i, &links, &part->err));
        for (uint32_t row = 0; row < links.info.count; row++) {
            const struct trace_link link = {.kind = links.kind ? (enum link_kind)links.kind[row] : 0, .from = part->spans[links.from[row].index],
                                            .to = part->spans[links.to[row].index],
                                            .confidence = links.confidence ? (enum confidence)links.confidence[row] : CONFIDENCE_CERTAIN};
            if (link.from.index != ID_NONE && link.to.index != ID_NONE)
                need(part, trace_builder_add_link(part->builder, &link));
        }
        trace_links_put(part->whole, &links);
    }
    for (uint32_t i = 0; i < trace_block_count(part->whole, FAMILY_MEMBERS); i++) {
        need(part, trace_members_get(part->whole, i, &members, &part->err));
        for (uint32_t row = 0; row < members.info.count; row++) {
            const struct group_member member = {members.group[row], part->spans[members.span[row].index], members.rank ? members.rank[row] : -1};
            if (member.span.index != ID_NONE)
                need(part, trace_builder_add_member(part->builder, &member));
        }
        trace_members_put(part->whole, &members);
    }
}

static void write_part(const struct trace *whole, uint32_t process, const char *path)
{
    uint32_t tracks;
    const struct builder_options limits = {.memory_limit_bytes = (size_t)1 << 30};
    struct part part = {.whole = whole, .process = process};
    struct trace *trace;
    trace_tracks(whole, &tracks);
    part.tracks = calloc((size_t)tracks + 1, sizeof *part.tracks);
    part.spans = calloc((size_t)trace_row_count(whole, FAMILY_SPANS) + 1, sizeof *part.spans);
    if (!part.tracks || !part.spans)
        fail("out of memory");
    need(&part, trace_builder_create(&limits, &part.builder, &part.err));
    copy_tables(&part);
    copy_spans(&part);
    copy_relations(&part);
    need(&part, trace_builder_finish(part.builder, &trace, &part.err));
    need(&part, trace_write_native(trace, path, NULL, &part.err));
    trace_unref(trace);
    trace_builder_destroy(part.builder);
    free(part.tracks);
    free(part.spans);
}

void split_write(const struct trace *whole, const char *pattern)
{
    const char *place = strstr(pattern, "%r");
    uint32_t count;
    char path[4096];
    trace_processes(whole, &count);
    for (uint32_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%.*s%u%s", (int)(place - pattern), pattern, i, place + 2);
        write_part(whole, i, path);
    }
}
