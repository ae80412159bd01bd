/* SPDX-License-Identifier: MIT */
/* Parallel regions: how often, how long, with how many threads, and what their threads waited at barriers. */
#include "summary_build.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A region that ran, or that a barrier speaks of: the barrier may come first, as lanes are read one after the other. */
struct instance {
    uint64_t region; /* place in regions; UINT64_MAX = not seen */
    uint64_t barriers;
    int64_t wait_ns;
};

struct openmp_build {
    struct summary_build *build;
    struct summary_openmp *openmp;
    size_t region_capacity, instance_count, instance_capacity;
    struct map names;        /* string id -> place in regions */
    struct map instance_of;  /* hash of (process, region id) -> place in instances */
    struct instance *instances;
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

static struct instance *find_instance(struct openmp_build *openmp, uint32_t process, uint64_t region)
{
    uint64_t place, key = instance_key(process, region);
    if (map_get(&openmp->instance_of, key, &place))
        return &openmp->instances[place];
    struct instance *instances = array_reserve(openmp->instances, &openmp->instance_capacity, openmp->instance_count + 1, sizeof *instances);
    if (!instances || map_set(&openmp->instance_of, key, openmp->instance_count) < 0)
        return NULL;
    openmp->instances = instances;
    instances[openmp->instance_count] = (struct instance){.region = UINT64_MAX};
    return &instances[openmp->instance_count++];
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
    if (!has(payload, FIELD_REGION_region))
        return 0;
    struct instance *instance = find_instance(openmp, process, payload->fields[FIELD_REGION_region].u64);
    if (!instance)
        return -ENOMEM;
    instance->region = index;
    return 0;
}

static int add_barrier(struct openmp_build *openmp, const struct payload *payload, uint32_t process)
{
    int64_t wait_ns = has(payload, FIELD_BARRIER_wait_ns) ? (int64_t)payload->fields[FIELD_BARRIER_wait_ns].u64 : 0;
    if (!has(payload, FIELD_BARRIER_region)) {
        add_saturated(&openmp->openmp->other_wait_ns, wait_ns);
        return 0;
    }
    struct instance *instance = find_instance(openmp, process, payload->fields[FIELD_BARRIER_region].u64);
    if (!instance)
        return -ENOMEM;
    instance->barriers++;
    add_saturated(&instance->wait_ns, wait_ns);
    return 0;
}

static void add_instances(struct openmp_build *openmp)
{
    for (size_t i = 0; i < openmp->instance_count; i++) {
        const struct instance *instance = &openmp->instances[i];
        if (instance->region == UINT64_MAX) {
            add_saturated(&openmp->openmp->other_wait_ns, instance->wait_ns);
            continue;
        }
        struct summary_region *region = &openmp->openmp->regions[instance->region];
        region->barriers += instance->barriers;
        add_saturated(&region->barrier_wait_ns, instance->wait_ns);
    }
}

static bool is_openmp(enum span_kind kind)
{
    return kind == SPAN_KIND_PARALLEL || kind == SPAN_KIND_BARRIER || kind == SPAN_KIND_TASK || kind == SPAN_KIND_LOCK || kind == SPAN_KIND_CRITICAL;
}

static int add_row(struct openmp_build *openmp, const struct span_block *block, uint32_t row, uint32_t process)
{
    struct summary_openmp *out = openmp->openmp;
    uint8_t kind = block->kind ? block->kind[row] : SPAN_KIND_UNKNOWN;
    struct payload payload;
    if (!is_openmp(kind) || (openmp->build->match && !filter_match_span(openmp->build->match, block, row)))
        return 0;
    int result = span_payload(block, row, &payload);
    if (result < 0)
        return result;
    int64_t end_ns = trace_span_end(openmp->build->trace, block->info.track, block->begin_ns[row], block->end_ns[row]);
    int64_t length_ns = time_between(block->begin_ns[row], end_ns);
    if (kind == SPAN_KIND_PARALLEL)
        return payload.kind == PAYLOAD_REGION ? add_region(openmp, &payload, block->name ? block->name[row] : STRING_NONE, process, length_ns) : 0;
    if (payload.kind == PAYLOAD_BARRIER && kind == SPAN_KIND_BARRIER)
        return add_barrier(openmp, &payload, process);
    if (payload.kind == PAYLOAD_TASK && kind == SPAN_KIND_TASK) {
        out->tasks++;
        add_saturated(&out->task_ns, length_ns);
    }
    if (payload.kind == PAYLOAD_LOCK && has(&payload, FIELD_LOCK_wait_ns))
        add_saturated(&out->lock_wait_ns, (int64_t)payload.fields[FIELD_LOCK_wait_ns].u64);
    return 0;
}

int summary_openmp_block(struct openmp_build *openmp, const struct span_block *block, uint32_t process)
{
    int result = 0;
    for (uint32_t row = 0; row < block->info.count && result == 0; row++)
        result = add_row(openmp, block, row, process);
    return result < 0 ? error_set_errno(openmp->build->err, result, "cannot sum up what OpenMP did") : 0;
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

int summary_openmp_begin(struct summary_build *build, struct openmp_build **ret_openmp)
{
    int result = has_openmp(build);
    if (result <= 0)
        return result;
    struct openmp_build *openmp = calloc(1, sizeof *openmp);
    build->summary->openmp = calloc(1, sizeof *build->summary->openmp);
    if (!openmp || !build->summary->openmp) {
        free(openmp);
        return error_set(build->err, -ENOMEM, "out of memory while summing up what OpenMP did");
    }
    openmp->build = build;
    openmp->openmp = build->summary->openmp;
    *ret_openmp = openmp;
    return 0;
}

void summary_openmp_end(struct openmp_build *openmp)
{
    if (!openmp)
        return;
    add_instances(openmp);
    if (openmp->openmp->region_count)
        qsort(openmp->openmp->regions, openmp->openmp->region_count, sizeof *openmp->openmp->regions, by_time);
    map_finish(&openmp->names);
    map_finish(&openmp->instance_of);
    free(openmp->instances);
    free(openmp);
}
