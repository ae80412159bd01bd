/* SPDX-License-Identifier: MIT */
/*
 * What processes do together: a collective, the making of a communicator, a fence of a window, collective I/O. Spans of one
 * (communicator, sequence number, name) are one group; the name is part of it so that a process whose numbers
 * went astray makes an incomplete group and never joins a wrong one.
 */
#include "merge_mpi.h"

#include "base/array.h"

#include <errno.h>

struct place {
    uint64_t comm, sequence;
};

static bool two_fields(const struct payload *payload, unsigned comm, unsigned sequence, struct place *ret_place)
{
    if (!payload_has(payload, comm) || !payload_has(payload, sequence))
        return false;
    *ret_place = (struct place){payload->fields[comm].u64, payload->fields[sequence].u64};
    return true;
}

static bool place_of(const struct payload *payload, struct place *ret_place)
{
    switch (payload->kind) {
    case PAYLOAD_COLLECTIVE:
        return two_fields(payload, FIELD_COLLECTIVE_comm, FIELD_COLLECTIVE_sequence, ret_place);
    case PAYLOAD_COMM:
        return two_fields(payload, FIELD_COMM_parent, FIELD_COMM_sequence, ret_place) ||
               two_fields(payload, FIELD_COMM_comm, FIELD_COMM_sequence, ret_place);
    case PAYLOAD_FILE_IO:
        return two_fields(payload, FIELD_FILE_IO_comm, FIELD_FILE_IO_sequence, ret_place);
    case PAYLOAD_RMA:
        return two_fields(payload, FIELD_RMA_window, FIELD_RMA_sequence, ret_place);
    default:
        return false;
    }
}

static int group_add(struct merge_mpi *mpi, const struct mpi_group *fresh, uint64_t key, uint64_t *ret_index)
{
    struct mpi_group *groups = array_reserve(mpi->groups, &mpi->group_capacity, mpi->group_count + 1, sizeof *groups);
    if (!groups)
        return -ENOMEM;
    mpi->groups = groups;
    groups[mpi->group_count] = *fresh;
    const struct trace_group row = {.kind = LINK_KIND_COLLECTIVE, .name = fresh->name, .sequence = fresh->sequence};
    int code = trace_builder_add_group(mpi->merge->builder, &row, &groups[mpi->group_count].group);
    *ret_index = mpi->group_count++;
    return code ? code : map_set(&mpi->group_index, key, *ret_index);
}

static int group_find(struct merge_mpi *mpi, const struct place *place, string_id name, uint64_t *ret_index)
{
    uint64_t key = hash_u64(place->comm ^ hash_u64(place->sequence ^ (uint64_t)name.index << 32));
    for (; map_get(&mpi->group_index, key, ret_index); key++) {
        const struct mpi_group *group = &mpi->groups[*ret_index];
        if (group->comm == place->comm && group->sequence == place->sequence && string_is(group->name, name))
            return 0;
    }
    const struct mpi_group fresh = {.comm = place->comm, .sequence = place->sequence, .name = name,
                                    .expected = merge_mpi_members(mpi, place->comm)};
    return group_add(mpi, &fresh, key, ret_index);
}

int merge_mpi_add_member(struct merge_mpi *mpi, const struct mpi_process *process, const struct merge_span *span, span_id handle)
{
    struct place place;
    uint64_t index;
    if (!place_of(span->payload, &place) || merge_mpi_members(mpi, place.comm) == 1)
        return 0;
    if (merge_mpi_is_local(mpi, process->process, place.comm)) {
        mpi->local_collectives++;
        return 0;
    }
    int code = group_find(mpi, &place, span->span->name, &index);
    if (code)
        return code;
    mpi->groups[index].members++;
    const struct group_member member = {.group = mpi->groups[index].group, .span = handle, .rank = process->rank};
    return trace_builder_add_member(mpi->merge->builder, &member);
}

static const char ranks_elsewhere[] = "incomplete: not all ranks are in the trace"; /* no loss of this recording */

/* Why members are missing, as far as the processes of the trace tell. */
static const char *reason_of(const struct merge_mpi *mpi)
{
    size_t ranks = 0;
    int32_t size = 0;
    bool all_finalized = true;
    for (size_t i = 0; i < mpi->process_count; i++) {
        const struct mpi_process *process = &mpi->processes[i];
        for (int reason = 0; reason < WIRE_LOST_COUNT; reason++)
            if (process->process->map->lost[reason])
                return "incomplete: records were lost";
        ranks += process->rank >= 0;
        size = process->size > size ? process->size : size;
        all_finalized &= process->finalized || process->rank < 0;
    }
    if (mpi->merge->recycled)
        return "incomplete: the oldest records were recycled by --buffer-limit";
    if ((int64_t)ranks < size)
        return ranks_elsewhere;
    return all_finalized ? "incomplete: not all members called it" : "incomplete: a rank was not recorded to its MPI_Finalize";
}

int merge_mpi_close_groups(struct merge_mpi *mpi)
{
    uint64_t complete = 0, incomplete = 0, crowded = 0;
    struct trace_builder *builder = mpi->merge->builder;
    for (size_t i = 0; i < mpi->group_count; i++) {
        const struct mpi_group *group = &mpi->groups[i];
        complete += !group->expected || group->members == group->expected;
        incomplete += group->members < group->expected;
        crowded += group->expected && group->members > group->expected;
    }
    int code = complete ? trace_builder_add_ledger(builder, "MPI collectives", complete, complete, 0, "") : 0;
    const char *reason = reason_of(mpi);
    if (code == 0 && incomplete)
        code = trace_builder_add_ledger(builder, "MPI collectives", incomplete, reason == ranks_elsewhere ? incomplete : 0,
                                        reason == ranks_elsewhere ? 0 : incomplete, reason);
    if (code == 0 && crowded)
        code = trace_builder_add_ledger(builder, "MPI collectives", crowded, 0, crowded, "more members than the communicator has");
    if (code == 0 && mpi->local_collectives)
        code = trace_builder_add_ledger(builder, "MPI collectives", mpi->local_collectives, 0, mpi->local_collectives,
                                        "calls on a communicator without an identity that its processes share");
    return code;
}
