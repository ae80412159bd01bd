/* SPDX-License-Identifier: MIT */
/*
 * A part of a trace: its rows. A span's parent is added before it, wherever it stands, so that its handle is known and so
 * that spans which are cut to the same length keep their order of nesting.
 */
#include "select_internal.h"

#include "base/map.h"
#include "base/progress.h"

#include <errno.h>

#define CORRELATION_BITS 40
#define PARENT_DEPTH_MAX 1024 /* of parents that stand behind their children or in blocks that nothing was taken of */

/* What is known of an old span id; from SPAN_HANDLE on: a handle. */
enum span_state { SPAN_UNSEEN, SPAN_WITHOUT, SPAN_HANDLE }; /* WITHOUT: neither it nor an ancestor is kept, or on its way */

static bool in_window(const struct selected_copy *copy, int64_t time_ns)
{
    return time_ns >= copy->begin_ns && time_ns <= copy->end_ns;
}

/* Whether anything of a block may be wanted. Its greatest end says nothing of unfinished spans in it. */
static bool block_wanted(struct selected_copy *copy, enum family family, uint32_t index)
{
    struct block_info info = trace_block_info(copy->trace, family, index);
    progress_update(copy->progress, "selecting", ++copy->blocks_done, copy->blocks_total);
    if (info.track.index >= copy->track_count || info.begin_ns > copy->end_ns || (family != FAMILY_SPANS && info.end_ns < copy->begin_ns))
        return false;
    return copy->tracks[info.track.index].index != ID_NONE;
}

static void copy_payload(struct selected_copy *copy, struct payload *payload)
{
    size_t count;
    const struct payload_field *fields = payload_fields(payload->kind, &count);
    for (size_t i = 0; i < count; i++)
        if (payload->present >> i & 1 && fields[i].type == PAYLOAD_TYPE_STRING)
            payload->fields[i].string = copy_string(copy, payload->fields[i].string);
}

/* Cuts a span to the window; false when nothing of it lies inside. One that is still open when the window closes ends
 * there; one whose track ended before stays unfinished. */
static bool cut(const struct selected_copy *copy, track_id track, int64_t *begin_ns, int64_t *end_ns)
{
    int64_t last_ns = trace_span_end(copy->trace, track, *begin_ns, *end_ns);
    bool point = *begin_ns == last_ns;
    if (*begin_ns > copy->end_ns || last_ns < copy->begin_ns)
        return false;
    if (!point && (*begin_ns == copy->end_ns || last_ns == copy->begin_ns))
        return false; /* touches it only */
    if (last_ns > copy->end_ns)
        *end_ns = copy->end_ns;
    if (*begin_ns < copy->begin_ns)
        *begin_ns = copy->begin_ns;
    return true;
}

static int take_span(struct selected_copy *copy, const struct span_block *block, uint32_t row, unsigned depth, struct error *err);

/* The handle of a span, or of its nearest kept ancestor. */
static int parent_handle(struct selected_copy *copy, span_id parent, unsigned depth, span_id *ret_handle, struct error *err)
{
    *ret_handle = SPAN_NONE;
    if (parent.index >= copy->span_limit)
        return 0;
    if (copy->spans[parent.index] == SPAN_UNSEEN && depth < PARENT_DEPTH_MAX) {
        struct span_block block;
        uint32_t index, row;
        if (!trace_span_find(copy->trace, parent, &index, &row))
            return 0;
        int result = trace_spans_get(copy->trace, index, &block, err);
        if (result < 0)
            return result;
        result = take_span(copy, &block, row, depth + 1, err);
        trace_spans_put(copy->trace, &block);
        if (result < 0)
            return result;
    }
    if (copy->spans[parent.index] >= SPAN_HANDLE)
        *ret_handle = (span_id){copy->spans[parent.index] - SPAN_HANDLE};
    return 0;
}

/* Processes count from 1 each: the number of the process stands in front. What is longer than the room left is hashed, far from these. */
static uint64_t correlation_apart(const struct selected_copy *copy, track_id track, uint64_t correlation)
{
    uint32_t count;
    if (!copy->apart || !correlation)
        return correlation;
    uint64_t process = trace_tracks(copy->trace, &count)[track.index].process.index + (uint64_t)copy->process_base;
    return correlation >> CORRELATION_BITS || process >> (63 - CORRELATION_BITS)
               ? hash_u64(correlation ^ hash_u64(process)) | UINT64_C(1) << 63
               : process << CORRELATION_BITS | correlation;
}

static int add_span(struct selected_copy *copy, const struct span_block *block, uint32_t row, const struct span *cut_span,
                    span_id *ret_handle)
{
    struct payload payload;
    struct span span = *cut_span;
    span.track = copy->tracks[span.track.index];
    int result = span_payload(block, row, &payload);
    if (result < 0)
        return result;
    copy_payload(copy, &payload);
    span.name = copy_string(copy, block->name ? block->name[row] : STRING_NONE);
    span.category = copy_string(copy, block->category ? block->category[row] : STRING_NONE);
    span.kind = block->kind && block->kind[row] < SPAN_KIND_COUNT ? (enum span_kind)block->kind[row] : SPAN_KIND_UNKNOWN;
    span.correlation = block->correlation ? correlation_apart(copy, block->info.track, block->correlation[row]) : 0;
    span.begin_ns = copy_time(copy, span.begin_ns);
    span.end_ns = copy_time(copy, span.end_ns);
    span.stack = copy_stack(copy, block->stack ? block->stack[row] : STACK_NONE);
    return trace_builder_add_span(copy->builder, &span, &payload, ret_handle);
}

/* Adds a span if it is wanted and was not added yet; remembers what children are to have for a parent. */
static int take_span(struct selected_copy *copy, const struct span_block *block, uint32_t row, unsigned depth, struct error *err)
{
    uint32_t id = block->info.first + row;
    if (id >= copy->span_limit || copy->spans[id] != SPAN_UNSEEN || block->info.track.index >= copy->track_count)
        return 0;
    copy->spans[id] = SPAN_WITHOUT;
    struct span span = {.track = block->info.track, .begin_ns = block->begin_ns[row], .end_ns = block->end_ns[row]};
    bool wanted = copy->tracks[span.track.index].index != ID_NONE && cut(copy, span.track, &span.begin_ns, &span.end_ns) &&
                  (!copy->match || filter_match_span(copy->match, block, row)) &&
                  (!copy->span_kinds || copy->span_kinds >> (block->kind ? block->kind[row] : SPAN_KIND_UNKNOWN) & 1);
    int result = parent_handle(copy, block->parent ? block->parent[row] : SPAN_NONE, depth, &span.parent, err);
    if (result < 0)
        return result;
    span_id handle = span.parent;
    if (wanted) {
        result = add_span(copy, block, row, &span, &handle);
        if (result < 0)
            return result;
        copy->kept[id / 8] |= (uint8_t)(1u << id % 8);
    }
    if (handle.index != ID_NONE)
        copy->spans[id] = handle.index + SPAN_HANDLE;
    return 0;
}

static int take_spans(struct selected_copy *copy, uint32_t index, struct error *err)
{
    struct span_block block;
    int result = trace_spans_get(copy->trace, index, &block, err);
    if (result < 0)
        return result;
    for (uint32_t row = 0; row < block.info.count && result == 0; row++)
        result = take_span(copy, &block, row, 0, err);
    trace_spans_put(copy->trace, &block);
    return result;
}

static stack_id sample_stack(struct selected_copy *copy, stack_id stack)
{
    return copy->span_kinds ? copy_leaf(copy, stack) : copy_stack(copy, stack);
}

static int take_samples(struct selected_copy *copy, uint32_t index, struct error *err)
{
    struct sample_block block;
    int result = trace_samples_get(copy->trace, index, &block, err);
    if (result < 0)
        return result;
    for (uint32_t row = 0; row < block.info.count && result == 0; row++) {
        if (!in_window(copy, block.time_ns[row]) || (copy->match && !filter_match_sample(copy->match, &block, row)))
            continue;
        struct sample sample = {.time_ns = copy_time(copy, block.time_ns[row]), .weight = block.weight ? block.weight[row] : 0,
                                .stack = sample_stack(copy, block.stack ? block.stack[row] : STACK_NONE),
                                .cpu = block.cpu ? block.cpu[row] : UINT16_MAX,
                                .event = block.event ? block.event[row] : 0, .flags = block.flags ? block.flags[row] : 0};
        result = trace_builder_add_sample(copy->builder, copy->tracks[block.info.track.index], &sample);
    }
    trace_samples_put(copy->trace, &block);
    return result;
}

static int take_instants(struct selected_copy *copy, uint32_t index, struct error *err)
{
    struct instant_block block;
    int result = trace_instants_get(copy->trace, index, &block, err);
    if (result < 0)
        return result;
    for (uint32_t row = 0; row < block.info.count && result == 0; row++) {
        struct payload payload;
        string_id name = block.name ? block.name[row] : STRING_NONE, category = block.category ? block.category[row] : STRING_NONE;
        if (!in_window(copy, block.time_ns[row]) ||
            (copy->match && !filter_match_point(copy->match, block.info.track, name, category)))
            continue;
        struct instant instant = {copy_time(copy, block.time_ns[row]), copy_string(copy, name), copy_string(copy, category)};
        result = instant_payload(&block, row, &payload);
        if (result < 0)
            break;
        copy_payload(copy, &payload);
        result = trace_builder_add_instant(copy->builder, copy->tracks[block.info.track.index], &instant, &payload);
    }
    trace_instants_put(copy->trace, &block);
    return result;
}

static int take_counters(struct selected_copy *copy, uint32_t index, struct error *err)
{
    struct counter_block block;
    uint32_t tracks;
    const struct trace_track *rows = trace_tracks(copy->trace, &tracks);
    track_id track = trace_block_info(copy->trace, FAMILY_COUNTERS, index).track;
    string_id name = track.index < tracks ? rows[track.index].name : STRING_NONE;
    if (copy->match && !filter_match_point(copy->match, track, name, STRING_NONE))
        return 0;
    int result = trace_counters_get(copy->trace, index, &block, err);
    if (result < 0)
        return result;
    for (uint32_t row = 0; row < block.info.count && result == 0; row++)
        if (in_window(copy, block.time_ns[row]))
            result = trace_builder_add_counter(copy->builder, copy->tracks[track.index],
                                               &(struct counter_value){copy_time(copy, block.time_ns[row]), block.value[row]});
    trace_counters_put(copy->trace, &block);
    return result;
}

bool copy_handle(const struct selected_copy *copy, span_id id, span_id *ret_handle)
{
    if (id.index >= copy->span_limit || !(copy->kept[id.index / 8] >> id.index % 8 & 1))
        return false;
    *ret_handle = (span_id){copy->spans[id.index] - SPAN_HANDLE};
    return true;
}

static int take_links(struct selected_copy *copy, uint32_t index, struct error *err)
{
    struct link_block block;
    int result = trace_links_get(copy->trace, index, &block, err);
    if (result < 0)
        return result;
    for (uint32_t row = 0; row < block.info.count && result == 0; row++) {
        struct trace_link link = {.kind = block.kind ? (enum link_kind)block.kind[row] : 0,
                                  .confidence = block.confidence ? (enum confidence)block.confidence[row] : 0};
        if (copy_handle(copy, block.from[row], &link.from) && copy_handle(copy, block.to[row], &link.to))
            result = trace_builder_add_link(copy->builder, &link);
    }
    trace_links_put(copy->trace, &block);
    return result;
}

static int take_members(struct selected_copy *copy, uint32_t index, struct error *err)
{
    struct member_block block;
    int result = trace_members_get(copy->trace, index, &block, err);
    if (result < 0)
        return result;
    for (uint32_t row = 0; row < block.info.count && result == 0; row++) {
        struct group_member member = {.group = copy->groups ? copy->groups[block.group[row].index] : block.group[row],
                                      .rank = block.rank ? block.rank[row] : -1};
        if (copy_handle(copy, block.span[row], &member.span))
            result = trace_builder_add_member(copy->builder, &member);
    }
    trace_members_put(copy->trace, &block);
    return result;
}

/* Where the whole began and ended. */
static int mark_extent(struct selected_copy *copy)
{
    int64_t begin_ns, end_ns;
    trace_time_range(copy->trace, &begin_ns, &end_ns);
    const struct instant first = {.time_ns = begin_ns}, last = {.time_ns = end_ns};
    if (!copy->span_kinds || !copy->track_count || (begin_ns == 0 && end_ns == 0))
        return 0;
    int result = trace_builder_add_instant(copy->builder, copy->tracks[0], &first, NULL);
    return result < 0 ? result : trace_builder_add_instant(copy->builder, copy->tracks[0], &last, NULL);
}

int select_rows(struct selected_copy *copy, struct error *err)
{
    static int (*const take[FAMILY_COUNT])(struct selected_copy *, uint32_t, struct error *) = {
        [FAMILY_SPANS] = take_spans,       [FAMILY_SAMPLES] = take_samples, [FAMILY_INSTANTS] = take_instants,
        [FAMILY_COUNTERS] = take_counters, [FAMILY_LINKS] = take_links,     [FAMILY_MEMBERS] = take_members,
    };
    int result = 0;
    for (unsigned family = 0; family < FAMILY_LINKS; family++)
        copy->blocks_total += trace_block_count(copy->trace, (enum family)family);
    for (unsigned family = 0; family < FAMILY_COUNT; family++) {
        uint32_t blocks = trace_block_count(copy->trace, (enum family)family);
        if (copy->span_kinds && (family == FAMILY_INSTANTS || family == FAMILY_COUNTERS))
            continue;
        for (uint32_t i = 0; i < blocks && result == 0; i++)
            if (family >= FAMILY_LINKS || block_wanted(copy, (enum family)family, i))
                result = take[family](copy, i, err);
    }
    return result < 0 ? result : mark_extent(copy);
}
