/* SPDX-License-Identifier: MIT */
/*
 * What the wrappers of GCC's libgomp write in records of their own. A thread of a team other than the one that met the region
 * never learns when the region ends: its record has the end of its work, and the region's end, which a look ahead has
 * found, closes its implicit task and its wait at the barrier. Depend clauses are addresses: who waits for whom follows from the
 * order in which one task creates its children.
 */
#include "base/array.h"
#include "base/error.h"
#include "merge_internal.h"
#include "merge_places.h"
#include "wire/kinds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX
/* Each of N readers before each of M tasks of an inoutset is N x M dependences: no more of them than a program's few such sets need. */
#define TOLD_ANYWAY (1u << 20)
#define TOLD_EACH 64u

/* A list of tasks: `next` leads to the one before. */
struct task_node {
    uint64_t task;
    uint32_t next;
};

/* How the children of one task have used one address so far. */
struct place {
    uint32_t writers, readers; /* since the last of the others; heads of lists */
    uint32_t base;             /* what the writers wait for, where several may write (inoutset) */
    bool several;
};

struct gomp {
    struct map ends;           /* hash of (process, region) -> its end in the process' clock */
    struct map places;         /* hash of (process, parent task, address) -> index of its place */
    struct place *place_list;
    struct task_node *nodes;
    size_t place_count, place_capacity, node_count, node_capacity;
    uint64_t regions, told, untold; /* told: dependences */
    string_id hook, parallel, teams, implicit_task, barrier;
};

static void gomp_destroy(void *state)
{
    struct gomp *gomp = state;
    if (!gomp)
        return;
    map_finish(&gomp->ends);
    map_finish(&gomp->places);
    free(gomp->place_list);
    free(gomp->nodes);
    free(gomp);
}

static int gomp_create(struct merge *merge, void **ret_state, struct error *err)
{
    struct gomp *gomp = calloc(1, sizeof *gomp);
    if (!gomp)
        return error_set(err, -ENOMEM, "merge: out of memory");
    gomp->hook = trace_builder_string(merge->builder, "gomp");
    gomp->parallel = trace_builder_string(merge->builder, "parallel");
    gomp->teams = trace_builder_string(merge->builder, "teams");
    gomp->implicit_task = trace_builder_string(merge->builder, "implicit task");
    gomp->barrier = trace_builder_string(merge->builder, "barrier");
    *ret_state = gomp;
    return 0;
}

static struct gomp *gomp_of(struct merge *merge)
{
    return merge_state(merge, &merge_part_gomp);
}

static uint64_t region_key(const struct merge_stream *stream, uint64_t region)
{
    return hash_u64(stream->process->key ^ hash_u64(region));
}

static int ahead_region(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_gomp_region *record = (const struct wire_gomp_region *)(const void *)header;
    if (record->threads <= 1 || record->teams)
        return 0;
    return map_set(&gomp_of(merge)->ends, region_key(stream, record->region), record->end);
}

static void set_number(struct payload *payload, unsigned position, uint64_t value)
{
    payload->present |= 1u << position;
    payload->fields[position].u64 = value;
}

static void set_text(struct payload *payload, unsigned position, string_id text)
{
    payload->present |= 1u << position;
    payload->fields[position].string = text;
}

static int add(struct merge *merge, const struct merge_stream *stream, string_id name, enum span_kind kind, uint64_t begin,
               uint64_t end, struct payload *payload, stack_id stack)
{
    struct span span = {
        .track = stream->track,
        .begin_ns = merge_time(merge, stream, begin),
        .end_ns = merge_time(merge, stream, end),
        .name = name,
        .category = merge_category(merge, stream, 0, WIRE_LAYER_OPENMP),
        .kind = kind,
        .parent = SPAN_NONE,
        .stack = stack,
    };
    struct merge_span merge_span = {.stream = stream, .layer = WIRE_LAYER_OPENMP, .span = &span, .payload = payload};
    span_id handle;
    int code = merge_add_span(merge, &merge_span, &handle);
    return code == -EINVAL ? 0 : code;
}

/* A thread's part of a region: its implicit task up to the region's end, and the wait there. */
struct part {
    uint64_t begin, work_end, end; /* end 0: not known */
    uint64_t region, code, task;
    uint32_t thread, threads, sequence;
};

static int add_part(struct merge *merge, const struct merge_stream *stream, const struct part *part)
{
    struct gomp *gomp = gomp_of(merge);
    struct payload team = {.kind = PAYLOAD_TEAM}, wait = {.kind = PAYLOAD_BARRIER};
    set_number(&team, FIELD_TEAM_region, part->region);
    set_number(&team, FIELD_TEAM_thread, part->thread);
    set_number(&team, FIELD_TEAM_threads, part->threads);
    set_number(&team, FIELD_TEAM_code, part->code);
    if (part->task)
        set_number(&team, FIELD_TEAM_task, part->task);
    uint64_t end = part->end > part->work_end ? part->end : part->work_end;
    int code = add(merge, stream, gomp->implicit_task, SPAN_KIND_IMPLICIT_TASK, part->begin, end, &team, STACK_NONE);
    if (code || !part->end)
        return code;
    set_number(&wait, FIELD_BARRIER_region, part->region);
    set_text(&wait, FIELD_BARRIER_type, gomp->parallel);
    set_number(&wait, FIELD_BARRIER_sequence, part->sequence);
    set_number(&wait, FIELD_BARRIER_wait_start_ns, 0);
    set_number(&wait, FIELD_BARRIER_wait_ns, merge_duration(merge, stream, end - part->work_end));
    set_number(&wait, FIELD_BARRIER_code, part->code);
    return add(merge, stream, gomp->barrier, SPAN_KIND_BARRIER, part->work_end, end, &wait, STACK_NONE);
}

static int add_region(struct merge *merge, const struct merge_stream *stream, const struct wire_gomp_region *record)
{
    struct gomp *gomp = gomp_of(merge);
    struct payload payload = {.kind = PAYLOAD_REGION};
    stack_id stack = STACK_NONE;
    int code = merge_call_stack(merge, stream, record->header.value, &stack);
    if (code)
        return code;
    set_number(&payload, FIELD_REGION_region, record->region);
    set_number(&payload, FIELD_REGION_requested, record->requested);
    if (record->threads)
        set_number(&payload, FIELD_REGION_threads, record->threads);
    if (record->level)
        set_number(&payload, FIELD_REGION_level, record->level);
    set_number(&payload, FIELD_REGION_code, record->code);
    set_text(&payload, FIELD_REGION_hook, gomp->hook);
    if (record->task)
        set_number(&payload, FIELD_REGION_encountering_task, record->task);
    return add(merge, stream, record->teams ? gomp->teams : gomp->parallel, SPAN_KIND_PARALLEL, record->begin, record->end, &payload, stack);
}

static int on_region(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_gomp_region *record = (const struct wire_gomp_region *)(const void *)header;
    if (!stream->process)
        return 0;
    gomp_of(merge)->regions++;
    int code = add_region(merge, stream, record);
    if (code || record->teams || !record->threads)
        return code;
    const struct part part = {
        .begin = record->work_begin,
        .work_end = record->work_end,
        .end = record->end,
        .region = record->region,
        .code = record->code,
        .task = record->own_task,
        .threads = record->threads,
        .sequence = record->sequence,
    };
    return add_part(merge, stream, &part);
}

static int on_part(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_gomp_part *record = (const struct wire_gomp_part *)(const void *)header;
    struct gomp *gomp = gomp_of(merge);
    if (!stream->process)
        return 0;
    struct part part = {
        .begin = record->begin,
        .work_end = record->end,
        .region = record->region,
        .code = record->code,
        .task = record->task,
        .thread = record->thread,
        .threads = record->threads,
        .sequence = header->value,
    };
    map_get(&gomp->ends, region_key(stream, record->region), &part.end);
    return add_part(merge, stream, &part);
}

/* Tells the part that knows tasks by their ids: `first` must end before `second` begins. */
static int tell_dependence(struct merge *merge, const struct merge_stream *stream, uint64_t time, uint64_t first, uint64_t second)
{
    const struct merge_handler *handler = merge->handlers[MERGE_ROWS][WIRE_OPENMP_FACT];
    const struct wire_openmp_fact fact = {
        .header = {WIRE_OPENMP_FACT, sizeof fact / 8, WIRE_OPENMP_DEPEND | SPAN_KIND_TASK << 8},
        .time = time,
        .first = first,
        .second = second,
    };
    return handler && first != second ? handler->handle(merge, stream, &fact.header) : 0;
}

static int tell_list(struct merge *merge, const struct merge_stream *stream, const struct wire_gomp_depend *record, uint32_t head)
{
    struct gomp *gomp = gomp_of(merge);
    uint64_t most = TOLD_ANYWAY + TOLD_EACH * (uint64_t)gomp->node_count;
    uint32_t at = head;
    int code = 0;
    for (; at != NOBODY && code == 0 && gomp->told < most; at = gomp->nodes[at].next, gomp->told++)
        code = tell_dependence(merge, stream, record->time, gomp->nodes[at].task, record->task);
    gomp->untold += at != NOBODY && code == 0;
    return code;
}

static int list_put(struct gomp *gomp, uint64_t task, uint32_t *head)
{
    struct task_node *nodes = array_reserve(gomp->nodes, &gomp->node_capacity, gomp->node_count + 1, sizeof *nodes);
    if (!nodes || gomp->node_count >= NOBODY)
        return -ENOMEM;
    gomp->nodes = nodes;
    nodes[gomp->node_count] = (struct task_node){task, *head};
    *head = (uint32_t)gomp->node_count++;
    return 0;
}

static struct place *place_get(struct gomp *gomp, const struct merge_stream *stream, uint64_t parent, uint64_t address)
{
    uint64_t key = region_key(stream, hash_u64(parent) ^ address), index;
    if (map_get(&gomp->places, key, &index))
        return &gomp->place_list[index];
    struct place *list = array_reserve(gomp->place_list, &gomp->place_capacity, gomp->place_count + 1, sizeof *list);
    if (!list)
        return NULL;
    gomp->place_list = list;
    list[gomp->place_count] = (struct place){NOBODY, NOBODY, NOBODY, false};
    return map_set(&gomp->places, key, gomp->place_count) ? NULL : &list[gomp->place_count++];
}

static int use_place(struct merge *merge, const struct merge_stream *stream, const struct wire_gomp_depend *record, uint64_t address, uint8_t access)
{
    struct gomp *gomp = gomp_of(merge);
    struct place *place = place_get(gomp, stream, record->parent, address);
    if (!place)
        return -ENOMEM;
    if (access == WIRE_GOMP_IN) {
        int code = tell_list(merge, stream, record, place->writers);
        return code ? code : list_put(gomp, record->task, &place->readers);
    }
    if (!(access == WIRE_GOMP_INOUTSET && place->several && place->readers == NOBODY)) {
        place->base = place->readers != NOBODY ? place->readers : place->writers;
        place->writers = place->readers = NOBODY;
        place->several = access == WIRE_GOMP_INOUTSET;
    }
    int code = tell_list(merge, stream, record, place->base);
    return code ? code : list_put(gomp, record->task, &place->writers);
}

static int on_depend(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_gomp_depend *record = (const struct wire_gomp_depend *)(const void *)header;
    size_t count = header->value, room = wire_bytes(header) - sizeof *record;
    if (!stream->process || count > room / 9)
        return 0;
    const uint8_t *addresses = (const uint8_t *)(record + 1), *kinds = addresses + count * 8;
    int code = 0;
    for (size_t i = 0; i < count && code == 0; i++) {
        uint64_t address;
        memcpy(&address, addresses + i * 8, sizeof address);
        code = use_place(merge, stream, record, address, kinds[i]);
    }
    return code;
}

static int gomp_finish(struct merge *merge, void *state, struct error *err)
{
    (void)err;
    const struct gomp *gomp = state;
    int code = 0;
    if (gomp->untold)
        code = trace_builder_add_ledger(merge->builder, "openmp dependences", gomp->untold, 0, gomp->untold, "too many in one inoutset: tasks with some of them only");
    if (code || !gomp->regions)
        return code;
    return trace_builder_add_ledger(merge->builder, "openmp", 0, 0, 0,
                                    "not observable in GCC's libgomp: loops that GCC shares out itself (static schedule), masked, atomic, the end of single nowait");
}

static const struct merge_handler handlers[] = {
    {WIRE_GOMP_REGION, MERGE_AHEAD, ahead_region},
    {WIRE_GOMP_REGION, MERGE_ROWS, on_region},
    {WIRE_GOMP_PART, MERGE_ROWS, on_part},
    {WIRE_GOMP_DEPEND, MERGE_ROWS, on_depend},
    {0, 0, NULL},
};

const struct merge_part merge_part_gomp = {
    .name = "gomp",
    .create = gomp_create,
    .ahead = "gomp",
    .finish = gomp_finish,
    .destroy = gomp_destroy,
    .handlers = handlers,
};
