/* SPDX-License-Identifier: MIT */
/* One pass over all spans for the advisor: sums by track of what its rules ask for. */
#include "advice_internal.h"

#include "base/array.h"
#include "base/error.h"
#include "base/progress.h"

#include <errno.h>
#include <string.h>

/* A region as often as it ran: its barriers may be read before it. */
struct instance {
    uint32_t region, process; /* region UINT32_MAX: not read (yet) */
    uint64_t threads;
    int64_t wait_ns;
};

struct survey {
    struct advice_facts *facts;
    string_id pageable, managed;
    struct map names, instances; /* name -> region; process and region's id -> instance */
    struct instance *items;
    size_t count, capacity;
    bool launched; /* on the track that is read now */
    uint32_t track;
};

static bool has(const struct payload *payload, unsigned field, uint64_t *ret_value)
{
    return payload_field(payload, field, ret_value);
}

struct span_row {
    uint32_t track, process;
    uint8_t kind;
    string_id name;
    int64_t length_ns;
    const struct payload *payload;
};

static void add(struct survey *survey, enum advice_sum sum, const struct span_row *row, int64_t time_ns)
{
    struct advice_name *longest = &survey->facts->sums.longest[sum];
    advice_sum_add(survey->facts, sum, row->track, time_ns);
    if (time_ns > longest->longest_ns)
        *longest = (struct advice_name){row->name, row->kind, time_ns};
}

/* --- devices ------------------------------------------------------------------------------------------------------------- */

static void add_copy(struct survey *survey, const struct span_row *row)
{
    struct advice_facts *facts = survey->facts;
    const struct payload *payload = row->payload;
    uint64_t bytes = 0, source = 0, destination = 0; /* 0: not said */
    if (payload->kind != PAYLOAD_COPY)
        return;
    if (payload->present >> FIELD_COPY_source_memory & 1)
        source = payload->fields[FIELD_COPY_source_memory].string.index;
    if (payload->present >> FIELD_COPY_destination_memory & 1)
        destination = payload->fields[FIELD_COPY_destination_memory].string.index;
    bool sized = has(payload, FIELD_COPY_bytes, &bytes);
    if (source && source == survey->managed.index && destination == source) {
        add(survey, ADVICE_SUM_MIGRATION, row, row->length_ns);
        facts->migration_bytes += bytes;
        return;
    }
    facts->copies++;
    facts->copy_bytes += bytes;
    if (survey->pageable.index && (source == survey->pageable.index || destination == survey->pageable.index)) {
        add(survey, ADVICE_SUM_PAGEABLE, row, row->length_ns);
        facts->pageable_bytes += bytes;
    }
    if (sized && bytes < ADVICE_SMALL_COPY_BYTES) {
        add(survey, ADVICE_SUM_SMALL_COPY, row, row->length_ns);
        facts->small_bytes += bytes;
    }
}

static void add_device_work(struct survey *survey, const struct span_row *row)
{
    uint64_t faults = 0;
    if (row->kind == SPAN_KIND_COPY)
        add_copy(survey, row);
    else if (row->kind == SPAN_KIND_FAULT && row->payload->kind == PAYLOAD_FAULT && has(row->payload, FIELD_FAULT_count, &faults)) {
        add(survey, ADVICE_SUM_MIGRATION, row, row->length_ns);
        survey->facts->gpu_faults += faults;
    }
}

static void add_device_call(struct survey *survey, const struct span_row *row)
{
    uint64_t blocking = 0;
    survey->facts->have[ADVICE_NEED_CALLS] = true;
    survey->launched |= row->kind == SPAN_KIND_LAUNCH;
    if (row->kind == SPAN_KIND_SYNC || (row->payload->kind == PAYLOAD_API && has(row->payload, FIELD_API_blocking, &blocking) && blocking))
        add(survey, ADVICE_SUM_SYNC, row, row->length_ns);
    if (row->kind == SPAN_KIND_ALLOC && survey->launched)
        add(survey, ADVICE_SUM_ALLOCATION, row, row->length_ns);
}

/* --- OpenMP -------------------------------------------------------------------------------------------------------------- */

static struct instance *instance_of(struct survey *survey, uint32_t process, uint64_t id)
{
    uint64_t key = hash_u64(hash_u64(id) ^ process), index;
    if (map_get(&survey->instances, key, &index))
        return &survey->items[index];
    struct instance *items = array_reserve(survey->items, &survey->capacity, survey->count + 1, sizeof *items);
    if (!items)
        return NULL;
    survey->items = items;
    items[survey->count] = (struct instance){.region = UINT32_MAX, .process = process};
    return map_set(&survey->instances, key, survey->count) < 0 ? NULL : &items[survey->count++];
}

static int region_of(struct survey *survey, string_id name, uint64_t *ret_index)
{
    struct advice_facts *facts = survey->facts;
    if (map_get(&survey->names, name.index, ret_index))
        return 0;
    struct advice_region *regions = array_reserve(facts->regions, &facts->region_capacity, facts->region_count + 1, sizeof *regions);
    if (!regions)
        return -ENOMEM;
    facts->regions = regions;
    regions[facts->region_count] = (struct advice_region){.name = name};
    *ret_index = facts->region_count++;
    return map_set(&survey->names, name.index, *ret_index);
}

static int add_region(struct survey *survey, const struct span_row *row)
{
    uint64_t index, id, threads = 0, level = 1;
    int result = region_of(survey, row->name, &index);
    if (result < 0)
        return result;
    struct advice_region *region = &survey->facts->regions[index];
    struct advice_process *process = &survey->facts->by_process[row->process];
    has(row->payload, FIELD_REGION_threads, &threads);
    has(row->payload, FIELD_REGION_level, &level);
    region->count++;
    add_saturated(&region->total_ns, row->length_ns);
    region->threads = threads > region->threads ? threads : region->threads;
    process->threads = threads > process->threads ? threads : process->threads;
    if (level <= 1)
        add_saturated(&process->parallel_ns, row->length_ns);
    survey->facts->have[ADVICE_NEED_OPENMP] = true;
    if (!has(row->payload, FIELD_REGION_region, &id))
        return 0;
    struct instance *instance = instance_of(survey, row->process, id);
    if (!instance)
        return -ENOMEM;
    instance->region = (uint32_t)index;
    instance->threads = threads;
    return 0;
}

static int add_barrier(struct survey *survey, const struct span_row *row)
{
    uint64_t id, wait_ns = 0;
    if (!has(row->payload, FIELD_BARRIER_region, &id) || !has(row->payload, FIELD_BARRIER_wait_ns, &wait_ns))
        return 0;
    struct instance *instance = instance_of(survey, row->process, id);
    if (!instance)
        return -ENOMEM;
    add_saturated(&instance->wait_ns, wait_ns > INT64_MAX ? INT64_MAX : (int64_t)wait_ns);
    return 0;
}

static int add_openmp(struct survey *survey, const struct span_row *row)
{
    uint64_t wait_ns = 0;
    if (row->kind == SPAN_KIND_PARALLEL && row->payload->kind == PAYLOAD_REGION)
        return add_region(survey, row);
    if (row->kind == SPAN_KIND_BARRIER && row->payload->kind == PAYLOAD_BARRIER)
        return add_barrier(survey, row);
    if (row->payload->kind == PAYLOAD_LOCK && has(row->payload, FIELD_LOCK_wait_ns, &wait_ns) && wait_ns <= INT64_MAX) {
        add(survey, ADVICE_SUM_LOCK, row, (int64_t)wait_ns);
    } else if (row->kind == SPAN_KIND_TASK) {
        survey->facts->tasks++;
        add_saturated(&survey->facts->task_ns, row->length_ns);
    } else if (row->kind == SPAN_KIND_TASK_CREATE) {
        add(survey, ADVICE_SUM_TASK_MAKING, row, row->length_ns);
    }
    return 0;
}

static void settle_regions(struct survey *survey)
{
    for (size_t i = 0; i < survey->count; i++) {
        const struct instance *instance = &survey->items[i];
        if (instance->region == UINT32_MAX)
            continue;
        struct advice_region *region = &survey->facts->regions[instance->region];
        add_saturated(&region->wait_ns, instance->wait_ns);
        if (!instance->threads)
            continue;
        region->spread_ns += (double)instance->wait_ns / (double)instance->threads;
        survey->facts->by_process[instance->process].spread_ns += (double)instance->wait_ns / (double)instance->threads;
    }
}

/* --- MPI ----------------------------------------------------------------------------------------------------------------- */

static void add_mpi(struct survey *survey, const struct span_row *row)
{
    struct advice_facts *facts = survey->facts;
    uint64_t bytes, to;
    add(survey, ADVICE_SUM_MPI, row, row->length_ns);
    if (row->kind == SPAN_KIND_INIT && strncmp(trace_text(facts->trace, row->name), "MPI_Init", 8) == 0)
        add(survey, ADVICE_SUM_INIT, row, row->length_ns);
    if (row->payload->kind != PAYLOAD_MESSAGE || !has(row->payload, FIELD_MESSAGE_send_bytes, &bytes) ||
        (has(row->payload, FIELD_MESSAGE_send_to, &to) && (int64_t)to == -1))
        return;
    facts->messages++;
    facts->message_bytes += bytes;
    if (bytes >= ADVICE_SMALL_MESSAGE_BYTES)
        return;
    facts->small_messages++;
    facts->small_message_bytes += bytes;
    if (row->kind == SPAN_KIND_SEND)
        add(survey, ADVICE_SUM_SMALL_MESSAGE, row, row->length_ns);
}

static void count_ranks(struct advice_facts *facts)
{
    for (uint32_t i = 0; i < facts->track_count; i++) {
        uint32_t number = facts->tracks[i].process.index;
        int64_t mpi_ns = facts->sums.time_ns[ADVICE_SUM_MPI][i];
        struct advice_process *process = number < facts->process_count ? &facts->by_process[number] : NULL;
        if (!process || mpi_ns <= process->mpi_ns)
            continue;
        facts->ranks += !process->mpi_ns;
        process->mpi_ns = mpi_ns;
        process->mpi_lane = (track_id){i};
    }
    facts->have[ADVICE_NEED_MPI] = facts->ranks > 1;
}

/* --- the pass ------------------------------------------------------------------------------------------------------------ */

static int add_row(struct survey *survey, const struct span_row *row, enum track_kind track, enum backend backend)
{
    bool lane = track == TRACK_KIND_STREAM || track == TRACK_KIND_DEVICE;
    if (lane)
        add_device_work(survey, row);
    else if (track != TRACK_KIND_THREAD)
        return 0;
    else if (backend == BACKEND_DEVICE)
        add_device_call(survey, row);
    else if (backend == BACKEND_OPENMP)
        return add_openmp(survey, row);
    else if (backend == BACKEND_MPI)
        add_mpi(survey, row);
    return 0;
}

static int add_block(struct survey *survey, const struct span_block *block)
{
    struct advice_facts *facts = survey->facts;
    const struct trace_track *track = &facts->tracks[block->info.track.index];
    int result = 0;
    survey->launched &= block->info.track.index == survey->track;
    survey->track = block->info.track.index;
    for (uint32_t i = 0; i < block->info.count && result == 0; i++) {
        struct payload payload;
        int64_t end_ns = trace_span_end(facts->trace, block->info.track, block->begin_ns[i], block->end_ns[i]), length_ns;
        result = span_payload(block, i, &payload);
        if (result < 0 || __builtin_sub_overflow(end_ns, block->begin_ns[i], &length_ns))
            continue;
        struct span_row row = {.track = block->info.track.index, .process = track->process.index, .payload = &payload, .length_ns = length_ns,
                               .kind = block->kind ? block->kind[i] : SPAN_KIND_UNKNOWN, .name = block->name ? block->name[i] : STRING_NONE};
        result = add_row(survey, &row, track->kind, backend_of(&facts->backends, block->category ? block->category[i] : STRING_NONE));
    }
    return result;
}

static int pass(struct survey *survey, const struct progress *progress, struct error *err)
{
    const uint32_t columns = SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_NAME) |
                             SPAN_COLUMN_BIT(SPAN_COLUMN_CATEGORY) | SPAN_COLUMN_BIT(SPAN_COLUMN_KIND) |
                             SPAN_COLUMN_BIT(SPAN_COLUMN_PAYLOAD_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_PAYLOAD);
    struct advice_facts *facts = survey->facts;
    uint32_t blocks = trace_block_count(facts->trace, FAMILY_SPANS);
    for (uint32_t i = 0; i < blocks; i++) {
        struct block_info info = trace_block_info(facts->trace, FAMILY_SPANS, i);
        struct span_block block;
        if (info.track.index >= facts->track_count || facts->tracks[info.track.index].process.index >= facts->process_count ||
            facts->tracks[info.track.index].kind == TRACK_KIND_SCHED)
            continue;
        progress_update(progress, "looking for advice", i, blocks);
        int result = trace_spans_scan(facts->trace, i, columns, &block, err);
        if (result < 0)
            return result;
        result = add_block(survey, &block);
        trace_spans_put(facts->trace, &block);
        if (result < 0)
            return error_set_errno(err, result, "cannot sum up spans for advice");
    }
    return 0;
}

int advice_survey(struct advice_facts *facts, const struct progress *progress, struct error *err)
{
    struct survey survey = {.facts = facts, .pageable = STRING_NONE, .managed = STRING_NONE, .track = ID_NONE};
    string_table_find(trace_strings(facts->trace), "pageable", strlen("pageable"), &survey.pageable);
    string_table_find(trace_strings(facts->trace), "managed", strlen("managed"), &survey.managed);
    map_init(&survey.names);
    map_init(&survey.instances);
    int result = pass(&survey, progress, err);
    if (result == 0) {
        settle_regions(&survey);
        count_ranks(facts);
    }
    map_finish(&survey.names);
    map_finish(&survey.instances);
    free(survey.items);
    return result;
}
