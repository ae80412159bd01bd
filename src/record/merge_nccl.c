/* SPDX-License-Identifier: MIT */
/* NCCL: the ranks' spans of one (communicator, sequence number, name) are one group; a process can have several ranks. */
#include "base/error.h"
#include "base/map.h"
#include "merge_internal.h"
#include "trace/payload.h"

#include <errno.h>
#include <stdlib.h>

struct merge_nccl {
    struct map groups; /* hash of (communicator, sequence, name) -> group */
};

static void nccl_destroy(void *state)
{
    struct merge_nccl *nccl = state;
    if (!nccl)
        return;
    map_finish(&nccl->groups);
    free(nccl);
}

static int nccl_create(struct merge *merge, void **ret_state, struct error *err)
{
    (void)merge;
    *ret_state = calloc(1, sizeof(struct merge_nccl));
    return *ret_state ? 0 : error_set(err, -ENOMEM, "merge: out of memory");
}

static int group_get(struct merge *merge, struct merge_nccl *nccl, uint64_t comm, uint64_t sequence, string_id name, group_id *ret_group)
{
    uint64_t key = hash_u64(comm ^ hash_u64(sequence ^ (uint64_t)name.index << 32)), index;
    if (map_get(&nccl->groups, key, &index)) {
        ret_group->index = (uint32_t)index;
        return 0;
    }
    const struct trace_group group = {.kind = LINK_KIND_COLLECTIVE, .name = name, .sequence = sequence};
    int code = trace_builder_add_group(merge->builder, &group, ret_group);
    return code ? code : map_set(&nccl->groups, key, ret_group->index);
}

static int nccl_note(struct merge *merge, void *state, const struct merge_span *span, span_id handle)
{
    const struct payload *payload = span->payload;
    const uint32_t needed = 1u << FIELD_COLLECTIVE_comm | 1u << FIELD_COLLECTIVE_sequence;
    if (payload->kind != PAYLOAD_COLLECTIVE || (payload->present & needed) != needed)
        return 0;
    struct group_member member = {.span = handle, .rank = -1};
    if (payload->present >> FIELD_COLLECTIVE_rank & 1)
        member.rank = (int32_t)payload->fields[FIELD_COLLECTIVE_rank].i64;
    int code = group_get(merge, state, payload->fields[FIELD_COLLECTIVE_comm].u64, payload->fields[FIELD_COLLECTIVE_sequence].u64,
                         span->span->name, &member.group);
    return code ? code : trace_builder_add_member(merge->builder, &member);
}

const struct merge_part merge_part_nccl = {
    .name = "nccl",
    .layers = 1u << WIRE_LAYER_NCCL,
    .create = nccl_create,
    .destroy = nccl_destroy,
    .note = nccl_note,
};
