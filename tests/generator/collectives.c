/* SPDX-License-Identifier: MIT */
/*
 * Collectives of all ranks. Who must have entered before a member may leave: all of them (barrier, allreduce, alltoall, MPI_Init and
 * MPI_Finalize, which no group joins), the root (bcast, scatter: the root waits for nobody), all for the root alone (reduce, gather), all lower ranks (scan).
 */
#include "sim.h"

#include <stdlib.h>

static bool rooted_out(uint8_t kind)
{
    return kind == COLLECTIVE_BCAST || kind == COLLECTIVE_SCATTER;
}

static bool rooted_in(uint8_t kind)
{
    return kind == COLLECTIVE_REDUCE || kind == COLLECTIVE_GATHER;
}

static bool waits_for(const struct collective *collective, size_t member, size_t other)
{
    if (member == other)
        return true;
    if (rooted_out(collective->kind))
        return (int32_t)other == collective->root;
    if (rooted_in(collective->kind))
        return (int32_t)member == collective->root;
    return collective->kind != COLLECTIVE_SCAN || other < member;
}

static enum pattern pattern_of(const struct collective *collective)
{
    if (collective->kind >= COLLECTIVE_INIT)
        return collective->kind == COLLECTIVE_INIT ? PATTERN_INIT : PATTERN_FINALIZE;
    if (collective->kind == COLLECTIVE_BARRIER)
        return PATTERN_WAIT_BARRIER;
    if (rooted_out(collective->kind))
        return PATTERN_LATE_BROADCAST;
    if (rooted_in(collective->kind))
        return PATTERN_EARLY_REDUCE;
    return collective->kind == COLLECTIVE_SCAN ? PATTERN_EARLY_SCAN : PATTERN_WAIT_NXN;
}

static void put_collective(struct sim *sim, const struct collective *collective, const struct actor *actor, struct payload *payload)
{
    bool root = actor->rank == collective->root;
    uint64_t buffer = UINT64_C(0x10000000) + ((uint64_t)actor->rank << 24);
    put_number(payload, FIELD_COLLECTIVE_comm, comm_world(sim));
    put_number(payload, FIELD_COLLECTIVE_sequence, collective->sequence);
    if (collective->kind == COLLECTIVE_BARRIER)
        return;
    if (rooted_in(collective->kind) || rooted_out(collective->kind))
        put_signed(payload, FIELD_COLLECTIVE_root, collective->root);
    bool sends = !rooted_out(collective->kind) || root, receives = !rooted_in(collective->kind) || root;
    put_number(payload, FIELD_COLLECTIVE_bytes_sent, sends ? collective->bytes : 0);
    put_number(payload, FIELD_COLLECTIVE_bytes_received, receives && !(rooted_out(collective->kind) && root) ? collective->bytes : 0);
    if (sends) {
        put_number(payload, FIELD_COLLECTIVE_send_buffer, buffer);
        put_number(payload, FIELD_COLLECTIVE_send_extent, collective->bytes);
    }
    if (receives) {
        put_number(payload, FIELD_COLLECTIVE_receive_buffer, buffer + (1 << 20));
        put_number(payload, FIELD_COLLECTIVE_receive_extent, collective->bytes);
    }
    if (collective->kind == COLLECTIVE_ALLREDUCE || collective->kind == COLLECTIVE_REDUCE || collective->kind == COLLECTIVE_SCAN)
        put_text(sim, payload, FIELD_COLLECTIVE_operation, "MPI_SUM");
}

static void emit_collective(struct sim *sim, const struct collective *collective, struct actor *actor, const struct member *member, uint16_t name)
{
    struct payload payload = {.kind = PAYLOAD_COLLECTIVE};
    if (collective->sequence) {
        put_collective(sim, collective, actor, &payload);
        emit_call(sim, actor, member->entered.ns, member->token, name, SPAN_KIND_COLLECTIVE, CATEGORY_MPI, &payload);
        return;
    }
    payload.kind = PAYLOAD_MESSAGE;
    if (collective->kind == COLLECTIVE_FINALIZE)
        put_number(&payload, FIELD_MESSAGE_order, ++actor->orders);
    emit_call(sim, actor, member->entered.ns, member->token, name, SPAN_KIND_INIT, CATEGORY_MPI, &payload);
}

/* All that this member has to wait for are in. Of those only the two latest can be the cause, or be as late. */
static void leave(struct sim *sim, struct collective *collective, size_t index)
{
    struct member *member = &collective->members[index];
    struct actor *actor = &sim->actors[member->actor];
    struct pick pick = {0};
    size_t latest = index, second = index;
    for (size_t i = 0; i < sim->rank_count; i++) {
        if (!waits_for(collective, index, i) || i == latest)
            continue;
        if (collective->members[i].entered.ns >= collective->members[latest].entered.ns) {
            second = latest;
            latest = i;
        } else if (second == index || collective->members[i].entered.ns > collective->members[second].entered.ns) {
            second = i;
        }
    }
    pick_offer(sim, &pick, collective->members[latest].entered, member->cost_ns, latest == index ? RULE_LANE : RULE_COLLECTIVE);
    if (second != latest)
        pick_offer(sim, &pick, collective->members[second].entered, member->cost_ns, second == index ? RULE_LANE : RULE_COLLECTIVE);
    uint16_t name = (uint16_t)(NAME_BARRIER + collective->kind);
    actor->now = node_add(sim, actor->lane, &pick, name);
    if (collective->kind == COLLECTIVE_INIT)
        actor->init_end_ns = actor->now.ns;
    else if (collective->kind == COLLECTIVE_FINALIZE)
        actor->finalize_begin_ns = member->entered.ns;
    else
        actor->mpi_ns += actor->now.ns - member->entered.ns;
    if (latest != index)
        wait_note(sim, pattern_of(collective), actor->lane, &pick.cause, pick.cause.ns - member->entered.ns, actor->now.ns - member->entered.ns);
    member->exit_ns = actor->now.ns;
    emit_collective(sim, collective, actor, member, name);
    member->out = true;
    collective->left++;
    actor_go_on(sim, actor);
}

static bool may_leave(const struct sim *sim, const struct collective *collective, size_t index)
{
    if (!collective->members[index].in || collective->members[index].out)
        return false;
    if (collective->entered == sim->rank_count)
        return true;
    if (rooted_out(collective->kind))
        return (int32_t)index == collective->root || collective->members[collective->root].in;
    if (rooted_in(collective->kind))
        return (int32_t)index != collective->root;
    if (collective->kind != COLLECTIVE_SCAN)
        return false;
    for (size_t i = 0; i < index; i++)
        if (!collective->members[i].in)
            return false;
    return true;
}

/* From the first exit to each other one's, where all wait for all. */
static void note_completion(struct sim *sim, const struct collective *collective)
{
    enum pattern pattern = pattern_of(collective);
    int64_t first_ns = INT64_MAX;
    if (pattern != PATTERN_WAIT_BARRIER && pattern != PATTERN_WAIT_NXN)
        return;
    for (size_t i = 0; i < sim->rank_count; i++)
        first_ns = collective->members[i].exit_ns < first_ns ? collective->members[i].exit_ns : first_ns;
    for (size_t i = 0; i < sim->rank_count; i++)
        wait_note(sim, pattern == PATTERN_WAIT_NXN ? PATTERN_NXN_COMPLETION : PATTERN_BARRIER_COMPLETION, sim->actors[collective->members[i].actor].lane, NULL,
                  collective->members[i].exit_ns - first_ns, INT64_MAX);
}

static void group_add(struct sim *sim, const struct collective *collective)
{
    uint32_t group = emit_group(sim, LINK_KIND_COLLECTIVE, (uint16_t)(NAME_BARRIER + collective->kind), collective->sequence);
    for (size_t i = 0; i < sim->rank_count; i++)
        emit_member(sim, group, collective->members[i].token, (int32_t)i);
}

void collective_enter(struct sim *sim, struct actor *actor, const struct op *op)
{
    struct collective *collective = &sim->collectives[op->a];
    if (!collective->members && !(collective->members = calloc(sim->rank_count, sizeof *collective->members)))
        fail("out of memory");
    struct member *member = &collective->members[actor->rank];
    *member = (struct member){.entered = actor->now, .actor = actor_number(sim, actor), .token = token_new(sim), .in = true};
    int64_t carry_ns = (int64_t)(collective->bytes * (uint64_t)sim->costs.ns_per_kb / 1024);
    member->cost_ns = draw(sim, actor, collective->kind == COLLECTIVE_INIT ? sim->costs.init_ns : sim->costs.collective_ns) + carry_ns;
    collective->entered++;
    actor->waiting = WAIT_COLLECTIVE;
    for (size_t i = 0; i < sim->rank_count; i++)
        if (may_leave(sim, collective, i))
            leave(sim, collective, i);
    if (collective->left < sim->rank_count)
        return;
    note_completion(sim, collective);
    if (collective->sequence)
        group_add(sim, collective);
    free(collective->members);
    collective->members = NULL;
}
