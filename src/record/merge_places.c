/* SPDX-License-Identifier: MIT */
/*
 * What code addresses in the records of collectors mean: the function at one address, and the call stacks of spans. Which
 * mapping holds an address is known by the process, its mappings so far, and the address: each such is looked up once.
 */
#include "merge_places.h"

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "merge_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct call_stack {
    const struct wire_call_stack *record; /* in its process' log, which stays */
    struct merge_process *process;
    stack_id stack;
    bool resolved;
};

struct places {
    struct map known;      /* hash of (process, state of its mappings, address) -> place in locations */
    struct merge_location *locations;
    size_t location_count, location_capacity;
    struct map numbers;    /* hash of (process, number) -> place in stacks */
    struct call_stack *stacks;
    size_t stack_count, stack_capacity;
    uint64_t missing;      /* spans whose stack is not there */
};

static void places_destroy(void *state)
{
    struct places *places = state;
    if (!places)
        return;
    map_finish(&places->known);
    map_finish(&places->numbers);
    free(places->locations);
    free(places->stacks);
    free(places);
}

static int places_create(struct merge *merge, void **ret_state, struct error *err)
{
    struct places *places = calloc(1, sizeof(*places));
    if (!places)
        return error_set(err, -ENOMEM, "merge: out of memory");
    *ret_state = places;
    return 0;
}

static struct places *places_of(struct merge *merge)
{
    return merge_state(merge, &merge_part_places);
}

/* What is mapped at an address: at that time, or where the mapping was noticed only later, at the end. */
static bool find_place(struct merge *merge, process_id process, uint64_t address, int64_t time_ns, struct module_place *ret_place)
{
    struct merge_maps *maps = merge_samples_maps(merge);
    struct address_map *map = merge_maps_at(maps, process, time_ns);
    if (map && address_map_find(map, address, ret_place))
        return true;
    map = merge_maps_last(maps, process);
    return map && address_map_find(map, address, ret_place);
}

/* The reverse of merge_time_raw. */
static int64_t raw_time(const struct merge *merge, int64_t time_ns)
{
    return (int64_t)((uint64_t)time_ns - (uint64_t)merge_time_raw(merge, 0));
}

static int location_add(struct places *places, uint64_t key, const struct merge_location *location)
{
    struct merge_location *grown =
        array_reserve(places->locations, &places->location_capacity, places->location_count + 1, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    places->locations = grown;
    grown[places->location_count] = *location;
    return map_set(&places->known, key, places->location_count++);
}

int merge_locate(struct merge *merge, const struct merge_stream *stream, uint64_t address, bool caller, int64_t time_ns,
                 struct merge_location *ret_location)
{
    static const struct merge_location nowhere = {STRING_NONE, STRING_NONE, STRING_NONE, 0};
    struct places *places = places_of(merge);
    process_id process = merge_stream_process(merge, stream);
    *ret_location = nowhere;
    if (process_id_is(process, PROCESS_NONE) || address == 0)
        return 0;
    address -= caller;
    uint64_t mappings = merge_maps_state(merge_samples_maps(merge), process, time_ns), found;
    uint64_t key = hash_u64((uint64_t)process.index << 32 ^ mappings ^ hash_u64(address));
    if (map_get(&places->known, key, &found)) {
        *ret_location = places->locations[found];
        return 0;
    }
    struct module_place place;
    if (!find_place(merge, process, address, time_ns, &place))
        return location_add(places, key, &nowhere);
    int64_t raw_ns = raw_time(merge, time_ns);
    int code = merge_modules_name(merge_samples_modules(merge), place.module, place.address, raw_ns, ret_location);
    bool changes = module_kind_of(place.module) == MODULE_KIND_JIT || module_kind_of(place.module) == MODULE_KIND_ANONYMOUS;
    return code || changes ? code : location_add(places, key, ret_location);
}

static uint64_t stack_key(const struct merge_process *process, uint32_t number)
{
    return hash_u64(process->key ^ hash_u64(number));
}

static int on_call_stack(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    struct places *places = places_of(merge);
    if (!stream->process)
        return 0;
    struct call_stack *grown = array_reserve(places->stacks, &places->stack_capacity, places->stack_count + 1, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    places->stacks = grown;
    grown[places->stack_count] = (struct call_stack){
        .record = (const struct wire_call_stack *)(const void *)header, .process = stream->process, .stack = STACK_NONE};
    return map_set(&places->numbers, stack_key(stream->process, header->value), places->stack_count++);
}

/* Frames between a traced call and us: CUPTI's dispatching, our own libraries. */
static bool is_tracing(const struct module *module)
{
    static const char *const names[] = {"libcupti.so", "libhprofiler_"};
    const char *path = module ? module_path(module) : NULL, *slash = path ? strrchr(path, '/') : NULL;
    for (size_t i = 0; slash && i < sizeof names / sizeof *names; i++)
        if (strncmp(slash + 1, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static size_t tracing_frames(struct merge *merge, process_id process, const uint64_t *addresses, size_t count, int64_t time_ns)
{
    struct module_place place;
    size_t frames = 0;
    while (frames < count && find_place(merge, process, addresses[frames] - 1, time_ns, &place) && is_tracing(place.module))
        frames++;
    return frames < count ? frames : 0;
}

static int resolve(struct merge *merge, struct call_stack *entry)
{
    const struct wire_call_stack *record = entry->record;
    const struct merge_stream stream = {.process = entry->process, .track = TRACK_NONE};
    size_t room = (wire_bytes(&record->header) - sizeof(*record)) / 8, count = record->count < room ? record->count : room;
    const uint64_t *addresses = (const uint64_t *)(record + 1);
    int64_t time_ns = merge_time(merge, &stream, record->time), raw_ns = raw_time(merge, time_ns);
    process_id process = merge_stream_process(merge, &stream);
    size_t first = tracing_frames(merge, process, addresses, count, time_ns);
    stack_id stack = STACK_NONE;
    int code = 0;
    for (size_t i = count; i-- > first && code == 0;) {
        struct module_place place = {.module = NULL, .address = addresses[i]};
        if (!find_place(merge, process, addresses[i] - 1, time_ns, &place))
            place.module = NULL;
        code = merge_modules_push(merge_samples_modules(merge), stack, place.module, place.address, raw_ns, &stack);
    }
    entry->resolved = code == 0;
    entry->stack = stack;
    return code;
}

int merge_call_stack(struct merge *merge, const struct merge_stream *stream, uint32_t number, stack_id *ret_stack)
{
    struct places *places = places_of(merge);
    uint64_t index;
    *ret_stack = STACK_NONE;
    if (number == 0 || !stream->process)
        return 0;
    if (!map_get(&places->numbers, stack_key(stream->process, number), &index)) {
        places->missing++;
        return 0;
    }
    struct call_stack *entry = &places->stacks[index];
    int code = entry->resolved ? 0 : resolve(merge, entry);
    if (code == 0)
        *ret_stack = entry->stack;
    return code;
}

static int places_finish(struct merge *merge, void *state, struct error *err)
{
    const struct places *places = state;
    int code = 0;
    if (places->missing)
        code = trace_builder_add_ledger(merge_builder(merge), "call stacks", places->missing, 0, places->missing,
                                        "their addresses are not in the process' log: spans without a stack");
    return code ? error_set_errno(err, code, "merge: cannot finish call stacks") : 0;
}

static const struct merge_handler handlers[] = {
    {WIRE_CALL_STACK, MERGE_LIFE, on_call_stack},
    {0, MERGE_LIFE, NULL},
};

const struct merge_part merge_part_places = {
    .name = "places",
    .create = places_create,
    .finish = places_finish,
    .destroy = places_destroy,
    .handlers = handlers,
};
