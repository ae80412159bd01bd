/* SPDX-License-Identifier: MIT */
/*
 * Waits in what the processes of a communicator do together. Who must have come before whom may go on follows from the operation: all
 * from all, all from the root, the root from all, each from the lower ranks. A nonblocking operation is come to where it is posted and
 * waited for in its wait.
 */
#include "wait_internal.h"

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

enum shape { SHAPE_ALL, SHAPE_TO_ROOT, SHAPE_FROM_ROOT, SHAPE_PREFIX };

struct operation {
    const char *name;
    enum shape shape;
    uint8_t wait, completion; /* completion: WAIT_PATTERN_COUNT = none */
};

#define NONE WAIT_PATTERN_COUNT
static const struct operation operations[] = {
    {"barrier", SHAPE_ALL, WAIT_BARRIER, WAIT_BARRIER_COMPLETION},
    {"reduce", SHAPE_TO_ROOT, WAIT_EARLY_REDUCE, NONE},
    {"gather", SHAPE_TO_ROOT, WAIT_EARLY_REDUCE, NONE},
    {"gatherv", SHAPE_TO_ROOT, WAIT_EARLY_REDUCE, NONE},
    {"bcast", SHAPE_FROM_ROOT, WAIT_LATE_BROADCAST, NONE},
    {"scatter", SHAPE_FROM_ROOT, WAIT_LATE_BROADCAST, NONE},
    {"scatterv", SHAPE_FROM_ROOT, WAIT_LATE_BROADCAST, NONE},
    {"scan", SHAPE_PREFIX, WAIT_EARLY_SCAN, NONE},
    {"exscan", SHAPE_PREFIX, WAIT_EARLY_SCAN, NONE},
};
/* All that have data from everybody: allreduce, allgather, alltoall, reduce_scatter, their neighbourhood kin. */
static const struct operation from_all = {"", SHAPE_ALL, WAIT_NXN, WAIT_NXN_COMPLETION};
static const struct operation making = {"", SHAPE_ALL, WAIT_COMM, NONE}, files = {"", SHAPE_ALL, WAIT_IO, NONE},
                              fences = {"", SHAPE_ALL, WAIT_FENCE, NONE}, starting = {"", SHAPE_ALL, WAIT_INIT, NONE},
                              ending = {"", SHAPE_ALL, WAIT_FINALIZE, NONE};

struct arrival {
    uint32_t span, call, lane;
    int32_t rank;
    bool waits; /* somebody waited in `call` */
    int64_t come_ns, begin_ns, end_ns; /* the last two: of the call */
    const char *nothing_from;          /* ranks of which this one gets nothing; NULL = none known */
};

struct group {
    struct wait_building *building;
    const struct operation *operation;
    struct arrival *items;
    size_t count, capacity;
    int32_t root; /* -1 = unknown */
    uint8_t confidence;
};

static const struct operation *operation_of(const struct wait_building *building, uint32_t span, bool nonblocking)
{
    switch (building->table->kind[span]) {
    case SPAN_KIND_COMM: return &making;
    case SPAN_KIND_IO: return &files;
    case SPAN_KIND_RMA: return &fences;
    default: break;
    }
    const char *name = wait_span_name(building, span);
    if (strncmp(name, "MPI_", 4) != 0)
        return NULL;
    name += 4 + (nonblocking && name[4] == 'I');
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (strcasecmp(name, operations[i].name) == 0)
            return &operations[i];
    return &from_all;
}

static int arrival_add(struct group *group, uint32_t span, int32_t rank, const char *nothing_from)
{
    struct wait_building *building = group->building;
    const struct span_table *table = building->table;
    struct arrival *items = array_reserve(group->items, &group->capacity, group->count + 1, sizeof *items);
    if (!items)
        return -ENOMEM;
    group->items = items;
    struct arrival *arrival = &items[group->count++];
    *arrival = (struct arrival){.span = span, .lane = table->track[span], .rank = rank, .come_ns = table->begin_ns[span], .nothing_from = nothing_from};
    arrival->waits = wait_call_of(building, span, &arrival->call);
    arrival->begin_ns = table->begin_ns[arrival->call];
    arrival->end_ns = table->end_ns[arrival->call];
    return 0;
}

static int member_add(struct group *group, const struct group_member *member)
{
    struct wait_building *building = group->building;
    struct payload payload;
    uint64_t value = 0, nonblocking = 0;
    uint32_t span = member->span.index;
    const char *nothing_from = NULL;
    int result = span_table_payload(building->table, span, &payload, building->err);
    if (result < 0)
        return result;
    if (payload.kind == PAYLOAD_COLLECTIVE) {
        if (payload_field(&payload, FIELD_COLLECTIVE_root, &value))
            group->root = (int32_t)(int64_t)value;
        payload_field(&payload, FIELD_COLLECTIVE_nonblocking, &nonblocking);
        if (payload.present >> FIELD_COLLECTIVE_no_data_from & 1)
            nothing_from = trace_text(building->trace, payload.fields[FIELD_COLLECTIVE_no_data_from].string);
    }
    if (group->count == 0)
        group->operation = operation_of(building, span, nonblocking != 0);
    return arrival_add(group, span, member->rank, nothing_from);
}

/* Whether `self` needs `other` to have come. */
static bool needs(const struct group *group, const struct arrival *self, const struct arrival *other)
{
    if (self == other || (self->nothing_from && wait_ranks_have(self->nothing_from, other->rank)))
        return false;
    switch (group->operation->shape) {
    case SHAPE_TO_ROOT: return self->rank == group->root;
    case SHAPE_FROM_ROOT: return other->rank == group->root;
    case SHAPE_PREFIX: return other->rank < self->rank;
    default: return true;
    }
}

/* The last one that all wait for, where that is one and the same; else each member is looked at with all others. */
static const struct arrival *last_needed(const struct group *group, const struct arrival *self, const struct arrival *last)
{
    if (last != self && needs(group, self, last))
        return last;
    const struct arrival *found = NULL;
    for (size_t i = 0; i < group->count; i++)
        if (needs(group, self, &group->items[i]) && (!found || group->items[i].come_ns > found->come_ns))
            found = &group->items[i];
    return found;
}

static int wait_of(struct group *group, const struct arrival *self, const struct arrival *last)
{
    const struct arrival *cause = self->waits && self != last ? last_needed(group, self, last) : NULL;
    if (!cause || cause->come_ns <= self->begin_ns)
        return 0;
    if (cause->come_ns > self->end_ns) {
        group->building->out->backward++;
        return 0;
    }
    const struct wait_state state = {.span = {self->call}, .lane = {self->lane}, .cause = {cause->span}, .cause_lane = {cause->lane},
                                     .begin_ns = self->begin_ns, .time_ns = cause->come_ns - self->begin_ns,
                                     .pattern = group->operation->wait, .confidence = group->confidence};
    return wait_add(group->building, &state);
}

/* From the first exit to each one's. */
static int completions(struct group *group, int64_t last_ns)
{
    int64_t first_exit_ns = INT64_MAX;
    int result = 0;
    for (size_t i = 0; i < group->count; i++)
        if (group->items[i].waits && group->items[i].end_ns < first_exit_ns)
            first_exit_ns = group->items[i].end_ns;
    if (first_exit_ns < last_ns)
        return 0;
    for (size_t i = 0; i < group->count && result == 0; i++) {
        const struct arrival *self = &group->items[i];
        int64_t from_ns = first_exit_ns > self->begin_ns ? first_exit_ns : self->begin_ns;
        const struct wait_state state = {.span = {self->call}, .lane = {self->lane}, .cause = SPAN_NONE, .cause_lane = TRACK_NONE,
                                         .begin_ns = from_ns, .time_ns = self->end_ns - from_ns,
                                         .pattern = group->operation->completion, .confidence = group->confidence};
        if (self->waits)
            result = wait_add_released(group->building, &state);
    }
    return result;
}

static int steps(struct group *group)
{
    uint32_t event = group->building->event_count++;
    int result = 0;
    for (size_t i = 0; i < group->count && result == 0; i++)
        if (group->items[i].waits)
            result = wait_add_step(group->building, group->items[i].lane, event, group->items[i].end_ns);
    return result;
}

static int group_waits(struct group *group)
{
    const struct arrival *last = &group->items[0];
    int result = 0;
    for (size_t i = 1; i < group->count; i++)
        if (group->items[i].come_ns > last->come_ns)
            last = &group->items[i];
    for (size_t i = 0; i < group->count && result == 0; i++)
        result = wait_of(group, &group->items[i], last);
    if (result == 0 && group->operation->completion != NONE)
        result = completions(group, last->come_ns);
    return result ? result : steps(group);
}

static bool is_looked_at(const struct wait_building *building, const struct group_member *member, const struct trace_group *groups, uint32_t group_count)
{
    const struct span_table *table = building->table;
    uint32_t span = member->span.index;
    return member->group.index < group_count && groups[member->group.index].kind == LINK_KIND_COLLECTIVE &&
           table->tracks[table->track[span]].kind == TRACK_KIND_THREAD &&
           backend_of(&building->backends, table->category[span]) == BACKEND_MPI;
}

/* MPI_Init and MPI_Finalize: all ranks of the one world that the trace has whole. */
static int world_calls(struct group *group, const char *name, const char *threaded, const struct operation *operation)
{
    struct wait_building *building = group->building;
    const struct span_table *table = building->table;
    const char *size_text = trace_metadata(building->trace, "mpi.world_size");
    uint64_t size = 0;
    uint32_t process_count;
    const struct trace_process *processes = trace_processes(building->trace, &process_count);
    group->count = 0;
    group->operation = operation;
    group->confidence = CONFIDENCE_MEDIUM; /* all MPIs synchronise here, no standard says so */
    if (!size_text || parse_u64(size_text, &size) < 0)
        return 0;
    for (uint32_t span = 0; span < table->count; span++) {
        if (backend_of(&building->backends, table->category[span]) != BACKEND_MPI)
            continue;
        const char *text = wait_span_name(building, span);
        uint32_t process = table->tracks[table->track[span]].process.index;
        int32_t rank = process < process_count ? processes[process].rank : -1;
        if (rank >= 0 && (strcmp(text, name) == 0 || (threaded && strcmp(text, threaded) == 0)) && arrival_add(group, span, rank, NULL) < 0)
            return -ENOMEM;
    }
    return group->count == size && size > 1 ? group_waits(group) : 0;
}

int wait_find_collectives(struct wait_building *building)
{
    uint32_t group_count;
    const struct trace_group *groups = trace_groups(building->trace, &group_count);
    struct group group = {.building = building};
    int result = 0;
    for (size_t first = 0, next; first < building->member_count && result == 0; first = next) {
        const struct group_member *members = building->members;
        group.count = 0;
        group.root = -1;
        group.confidence = CONFIDENCE_CERTAIN;
        for (next = first; next < building->member_count && members[next].group.index == members[first].group.index && result == 0; next++)
            if (is_looked_at(building, &members[next], groups, group_count))
                result = member_add(&group, &members[next]);
        if (result == 0 && group.count > 1 && group.operation)
            result = group_waits(&group);
        building->out->incomplete_groups += group.count == 1;
    }
    if (result == 0)
        result = world_calls(&group, "MPI_Init", "MPI_Init_thread", &starting);
    if (result == 0)
        result = world_calls(&group, "MPI_Finalize", NULL, &ending);
    free(group.items);
    return result;
}
