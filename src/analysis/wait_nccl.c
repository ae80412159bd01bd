/* SPDX-License-Identifier: MIT */
/*
 * Waits of NCCL's ranks for each other. A rank's kernel of an operation (communicator and number) that begins before another rank's waits on its device until
 * the last of those has begun that it needs data from. An operation's kernel is that of its lane of NCCL's kernels whose end was seen at the operation's.
 */
#include "wait_internal.h"

#include "base/array.h"

#include <errno.h>
#include <string.h>

struct rank_kernel {
    int64_t end_ns;
    uint32_t process, span;
    int32_t lane; /* number of the communicator in the process */
};

struct operation {
    uint32_t kernel;
    int32_t rank;
};

enum shape { SHAPE_ALL, SHAPE_FROM_ROOT, SHAPE_TO_ROOT };

struct ranks {
    struct wait_building *building;
    struct rank_kernel *kernels; /* by process, lane and end */
    size_t count, capacity;
    struct operation *operations; /* of one group */
    size_t operation_count, operation_capacity;
    enum shape shape;
    int64_t root;
};

#define COMPARE(left, right) (((left) > (right)) - ((left) < (right)))

static int by_lane_and_end(const void *left, const void *right)
{
    const struct rank_kernel *a = left, *b = right;
    int order = COMPARE(a->process, b->process);
    order = order ? order : COMPARE(a->lane, b->lane);
    order = order ? order : COMPARE(a->end_ns, b->end_ns);
    return order ? order : COMPARE(a->span, b->span);
}

/* NCCL's own lanes are streams of no device. */
static int read_kernels(struct ranks *ranks)
{
    const struct span_table *table = ranks->building->table;
    for (uint32_t track = 0; track < table->track_count; track++) {
        const struct trace_track *row = &table->tracks[track];
        if (row->kind != TRACK_KIND_STREAM || row->device >= 0)
            continue;
        for (uint32_t span = table->track_first[track]; span < table->track_first[track + 1]; span++) {
            if (table->kind[span] != SPAN_KIND_KERNEL)
                continue;
            struct rank_kernel *kernels = array_reserve(ranks->kernels, &ranks->capacity, ranks->count + 1, sizeof *kernels);
            if (!kernels)
                return -ENOMEM;
            ranks->kernels = kernels;
            kernels[ranks->count++] = (struct rank_kernel){table->end_ns[span], row->process.index, span, row->stream};
        }
    }
    if (ranks->count)
        qsort(ranks->kernels, ranks->count, sizeof *ranks->kernels, by_lane_and_end);
    return 0;
}

static bool same_lane(const struct ranks *ranks, size_t index, const struct rank_kernel *key)
{
    return index < ranks->count && ranks->kernels[index].process == key->process && ranks->kernels[index].lane == key->lane;
}

/* The kernel whose end is nearest to the operation's, if it ran in its time; ID_NONE. */
static uint32_t kernel_of(const struct ranks *ranks, uint32_t operation)
{
    const struct span_table *table = ranks->building->table;
    const struct trace_track *track = &table->tracks[table->track[operation]];
    const struct rank_kernel key = {.end_ns = table->end_ns[operation], .process = track->process.index, .lane = track->stream};
    size_t low = 0, high = ranks->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_lane_and_end(&ranks->kernels[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct rank_kernel *next = same_lane(ranks, low, &key) ? &ranks->kernels[low] : NULL;
    const struct rank_kernel *before = low && same_lane(ranks, low - 1, &key) ? &ranks->kernels[low - 1] : NULL;
    const struct rank_kernel *nearest = !next || (before && key.end_ns - before->end_ns <= next->end_ns - key.end_ns) ? before : next;
    bool during = nearest && table->begin_ns[nearest->span] < key.end_ns && nearest->end_ns > table->begin_ns[operation];
    return during ? nearest->span : ID_NONE;
}

static int read_shape(struct ranks *ranks, uint32_t operation)
{
    struct payload payload;
    uint64_t root;
    const char *name = wait_span_name(ranks->building, operation);
    int result = span_table_payload(ranks->building->table, operation, &payload, ranks->building->err);
    name += strncmp(name, "nccl", 4) == 0 ? 4 : 0;
    ranks->shape = SHAPE_ALL;
    if (result < 0 || payload.kind != PAYLOAD_COLLECTIVE || !payload_field(&payload, FIELD_COLLECTIVE_root, &root))
        return result;
    ranks->root = (int64_t)root;
    if (strncmp(name, "Broadcast", 9) == 0 || strcmp(name, "Bcast") == 0)
        ranks->shape = SHAPE_FROM_ROOT;
    else if (strcmp(name, "Reduce") == 0)
        ranks->shape = SHAPE_TO_ROOT;
    return 0;
}

/* The last to begin of those that somebody needs: of a broadcast, the root. */
static uint32_t last_needed(const struct ranks *ranks)
{
    const int64_t *begin_ns = ranks->building->table->begin_ns;
    uint32_t last = ID_NONE;
    for (size_t i = 0; i < ranks->operation_count; i++) {
        const struct operation *operation = &ranks->operations[i];
        if ((ranks->shape != SHAPE_FROM_ROOT || operation->rank == ranks->root) && (last == ID_NONE || begin_ns[operation->kernel] > begin_ns[last]))
            last = operation->kernel;
    }
    return last;
}

static int add_waits(struct ranks *ranks)
{
    const struct span_table *table = ranks->building->table;
    uint32_t last = last_needed(ranks);
    int result = 0;
    for (size_t i = 0; i < ranks->operation_count && last != ID_NONE && result == 0; i++) {
        uint32_t kernel = ranks->operations[i].kernel;
        bool waits = ranks->shape != SHAPE_TO_ROOT || ranks->operations[i].rank == ranks->root;
        int64_t until_ns = table->begin_ns[last] < table->end_ns[kernel] ? table->begin_ns[last] : table->end_ns[kernel];
        const struct wait_state state = {.span = {kernel}, .lane = {table->track[kernel]}, .cause = {last}, .cause_lane = {table->track[last]},
                                         .begin_ns = table->begin_ns[kernel], .time_ns = until_ns - table->begin_ns[kernel],
                                         .pattern = WAIT_DEVICE_COLLECTIVE, .confidence = CONFIDENCE_HIGH};
        if (waits && kernel != last)
            result = wait_add(ranks->building, &state);
    }
    return result;
}

static int add_member(struct ranks *ranks, const struct group_member *member)
{
    const struct span_table *table = ranks->building->table;
    if (table->tracks[table->track[member->span.index]].kind != TRACK_KIND_STREAM)
        return 0; /* of MPI */
    uint32_t kernel = kernel_of(ranks, member->span.index);
    if (kernel == ID_NONE)
        return 0;
    struct operation *operations = array_reserve(ranks->operations, &ranks->operation_capacity, ranks->operation_count + 1, sizeof *operations);
    if (!operations)
        return -ENOMEM;
    ranks->operations = operations;
    operations[ranks->operation_count++] = (struct operation){kernel, member->rank};
    return ranks->operation_count == 1 ? read_shape(ranks, member->span.index) : 0;
}

static int find_waits(struct ranks *ranks)
{
    const struct wait_building *building = ranks->building;
    int result = 0;
    for (size_t i = 0; i < building->member_count && result == 0; i++) {
        if (i == 0 || building->members[i].group.index != building->members[i - 1].group.index)
            ranks->operation_count = 0;
        result = add_member(ranks, &building->members[i]);
        bool last = i + 1 == building->member_count || building->members[i + 1].group.index != building->members[i].group.index;
        if (result == 0 && last && ranks->operation_count > 1)
            result = add_waits(ranks);
    }
    return result;
}

int wait_find_nccl(struct wait_building *building)
{
    struct ranks ranks = {.building = building};
    int result = read_kernels(&ranks);
    if (result == 0 && ranks.count)
        result = find_waits(&ranks);
    free(ranks.kernels);
    free(ranks.operations);
    return result;
}
