/* SPDX-License-Identifier: MIT */
/* Parallel regions: how often, how long, with how many threads, and what their threads waited at barriers. */
#include "summary_build.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct openmp_build {
    struct summary_build *build;
    struct summary_openmp *openmp;
    size_t region_capacity;
    struct map names;     /* string id -> place in regions */
    struct map instances; /* hash of (process, region id) -> place in regions */
};

void summary_destroy_openmp(struct summary_openmp *openmp)
{
    if (!openmp)
        return;
    free(openmp->regions);
    free(openmp);
}

static bool has(const struct payload *payload, unsigned field)
{
    return payload->present >> field & 1;
}

static uint64_t instance_key(uint32_t process, uint64_t region)
{
    return hash_u64(hash_u64(region) ^ process);
}

static int region_of(struct openmp_build *openmp, string_id name, uint64_t *ret_index)
{
    struct summary_openmp *out = openmp->openmp;
    if (map_get(&openmp->names, name.index, ret_index))
        return 0;
    struct summary_region *regions = array_reserve(out->regions, &openmp->region_capacity, out->region_count + 1, sizeof *regions);
    if (!regions)
        return -ENOMEM;
    out->regions = regions;
    regions[out->region_count] = (struct summary_region){.name = trace_text(openmp->build->trace, name)};
    *ret_index = out->region_count++;
    return map_set(&openmp->names, name.index, *ret_index);
}

static int add_region(struct openmp_build *openmp, const struct payload *payload, string_id name, uint32_t process, int64_t length_ns)
{
    uint64_t index;
    int result = region_of(openmp, name, &index);
    if (result < 0)
        return result;
    struct summary_region *region = &openmp->openmp->regions[index];
    region->count++;
    add_saturated(&region->total_ns, length_ns);
    region->max_ns = length_ns > region->max_ns ? length_ns : region->max_ns;
    if (has(payload, FIELD_REGION_threads)) {
        int64_t threads = (int64_t)payload->fields[FIELD_REGION_threads].u64;
        region->threads.value = threads > region->threads.value ? threads : region->threads.value;
        region->threads.known = true;
    }
    return has(payload, FIELD_REGION_region) ? map_set(&openmp->instances, instance_key(process, payload->fields[FIELD_REGION_region].u64), index) : 0;
}

static void add_barrier(struct openmp_build *openmp, const struct payload *payload, uint32_t process)
{
    int64_t wait_ns = has(payload, FIELD_BARRIER_wait_ns) ? (int64_t)payload->fields[FIELD_BARRIER_wait_ns].u64 : 0;
    uint64_t index;
    if (!has(payload, FIELD_BARRIER_region) ||
        !map_get(&openmp->instances, instance_key(process, payload->fields[FIELD_BARRIER_region].u64), &index)) {
        add_saturated(&openmp->openmp->other_wait_ns, wait_ns);
        return;
    }
    struct summary_region *region = &openmp->openmp->regions[index];
    region->barriers++;
    add_saturated(&region->barrier_wait_ns, wait_ns);
}

/* Regions in the first pass, what refers to them in the second. */
static int add_row(struct openmp_build *openmp, const struct span_block *block, uint32_t row, uint32_t process, bool regions)
{
    struct summary_openmp *out = openmp->openmp;
    uint8_t kind = block->kind ? block->kind[row] : SPAN_KIND_UNKNOWN;
    bool wanted = regions ? kind == SPAN_KIND_PARALLEL : kind == SPAN_KIND_BARRIER || kind == SPAN_KIND_TASK || kind == SPAN_KIND_LOCK || kind == SPAN_KIND_CRITICAL;
    struct payload payload;
    if (!wanted || (openmp->build->match && !filter_match_span(openmp->build->match, block, row)))
        return 0;
    int result = span_payload(block, row, &payload);
    if (result < 0)
        return result;
    int64_t end_ns = trace_span_end(openmp->build->trace, block->info.track, block->begin_ns[row], block->end_ns[row]);
    int64_t length_ns = time_between(block->begin_ns[row], end_ns);
    if (regions && payload.kind == PAYLOAD_REGION)
        return add_region(openmp, &payload, block->name ? block->name[row] : STRING_NONE, process, length_ns);
    if (payload.kind == PAYLOAD_BARRIER && kind == SPAN_KIND_BARRIER)
        add_barrier(openmp, &payload, process);
    if (payload.kind == PAYLOAD_TASK && kind == SPAN_KIND_TASK) {
        out->tasks++;
        add_saturated(&out->task_ns, length_ns);
    }
    if (payload.kind == PAYLOAD_LOCK && has(&payload, FIELD_LOCK_wait_ns))
        add_saturated(&out->lock_wait_ns, (int64_t)payload.fields[FIELD_LOCK_wait_ns].u64);
    return 0;
}

static int add_blocks(struct openmp_build *openmp, bool regions)
{
    struct summary_build *build = openmp->build;
    uint32_t columns = SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_NAME) |
                       SPAN_COLUMN_BIT(SPAN_COLUMN_KIND) | SPAN_COLUMN_BIT(SPAN_COLUMN_PAYLOAD_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_PAYLOAD) |
                       (build->where ? filter_span_columns(build->where) : 0);
    int result = 0;
    for (uint32_t i = 0; i < trace_block_count(build->trace, FAMILY_SPANS) && result == 0; i++) {
        struct block_info info = trace_block_info(build->trace, FAMILY_SPANS, i);
        uint32_t process = info.track.index < build->track_count ? build->tracks[info.track.index].process.index : ID_NONE;
        struct span_block block;
        if (process >= build->process_count || build->tracks[info.track.index].kind != TRACK_KIND_THREAD ||
            (build->match && !filter_match_track(build->match, info.track)))
            continue;
        result = trace_spans_scan(build->trace, i, columns, &block, build->err);
        if (result < 0)
            return result;
        for (uint32_t row = 0; row < info.count && result == 0; row++)
            result = add_row(openmp, &block, row, process, regions);
        trace_spans_put(build->trace, &block);
    }
    return result < 0 ? error_set_errno(build->err, result, "cannot sum up what OpenMP did") : 0;
}

static int by_time(const void *left, const void *right)
{
    const struct summary_region *a = left, *b = right;
    int order = (a->total_ns < b->total_ns) - (a->total_ns > b->total_ns);
    return order ? order : strcmp(a->name, b->name);
}

static int has_openmp(struct summary_build *build)
{
    const struct span_aggregate *rows;
    uint32_t count;
    int result = trace_span_aggregates(build->trace, &rows, &count, build->err);
    for (uint32_t i = 0; i < count && result == 0; i++)
        if (strcmp(trace_text(build->trace, rows[i].category), "openmp") == 0)
            return 1;
    return result;
}

int summary_add_openmp(struct summary_build *build)
{
    struct openmp_build openmp = {.build = build};
    int result = has_openmp(build);
    if (result <= 0)
        return result;
    openmp.openmp = build->summary->openmp = calloc(1, sizeof *openmp.openmp);
    if (!openmp.openmp)
        return error_set(build->err, -ENOMEM, "out of memory while summing up what OpenMP did");
    result = add_blocks(&openmp, true);
    if (result == 0)
        result = add_blocks(&openmp, false);
    map_finish(&openmp.names);
    map_finish(&openmp.instances);
    if (openmp.openmp->region_count)
        qsort(openmp.openmp->regions, openmp.openmp->region_count, sizeof *openmp.openmp->regions, by_time);
    return result;
}
