/* SPDX-License-Identifier: MIT */
/*
 * A device as CUDA's: a stream runs its commands in turn; each begins after the call that launched it, after the one before it, after
 * the events that the stream was told to wait for; work in the default stream and in others wait for each other.
 */
#include "sim.h"

static void offer_end(struct sim *sim, struct pick *pick, const struct lane *lane, int64_t lag_ns, uint8_t rule)
{
    if (lane->end.ns != INT64_MIN)
        pick_offer(sim, pick, lane->end, lag_ns, rule);
}

static void command_offers(struct sim *sim, struct actor *actor, uint32_t number, struct pick *pick)
{
    const struct rank *rank = &sim->ranks[actor->process];
    struct lane *lane = &sim->lanes[number];
    int64_t gap_ns = draw(sim, actor, sim->costs.stream_gap_ns);
    pick_offer(sim, pick, actor->now, draw(sim, actor, sim->costs.launch_ns), RULE_LAUNCH);
    offer_end(sim, pick, lane, gap_ns, RULE_STREAM_ORDER);
    if (lane->gate.ns != INT64_MIN)
        pick_offer(sim, pick, lane->gate, gap_ns, RULE_EVENT_WAIT);
    lane->gate.ns = INT64_MIN;
    if (!lane->is_default) {
        offer_end(sim, pick, &sim->lanes[rank->default_stream], gap_ns, RULE_DEFAULT_STREAM);
        return;
    }
    for (uint32_t i = 0; i < rank->stream_count; i++)
        if (rank->first_stream + i != number)
            offer_end(sim, pick, &sim->lanes[rank->first_stream + i], gap_ns, RULE_DEFAULT_STREAM);
}

/* The command's place on its stream; returns its begin. */
static int64_t command_run(struct sim *sim, struct actor *actor, const struct op *op)
{
    struct lane *lane = &sim->lanes[op->a];
    struct pick pick = {0};
    command_offers(sim, actor, (uint32_t)op->a, &pick);
    struct moment begin = node_add(sim, (uint32_t)op->a, &pick, NAME_NONE);
    int64_t ns = scaled(sim, op->name, op->ns);
    const struct pick run = {.cause = begin, .at_ns = begin.ns + ns, .rule = RULE_LANE};
    lane->end = node_add(sim, (uint32_t)op->a, &run, op->name);
    lane->busy_ns += ns;
    return begin.ns;
}

static void emit_command(struct sim *sim, const struct op *op, int64_t begin_ns, uint32_t call, const struct payload *payload)
{
    const struct emitted emitted = {
        .lane = (uint32_t)op->a, .token = token_new(sim), .parent = call, .begin_ns = begin_ns, .end_ns = sim->lanes[op->a].end.ns, .name = op->name,
        .kind = op->kind == OP_LAUNCH ? SPAN_KIND_KERNEL : SPAN_KIND_COPY, .category = CATEGORY_CUDA};
    emit_span(sim, &emitted, payload);
    emit_link(sim, LINK_KIND_LAUNCH, call, emitted.token);
}

static void emit_host(struct sim *sim, struct actor *actor, int64_t begin_ns, uint32_t token, uint16_t name, uint8_t kind, const struct payload *payload)
{
    const struct emitted emitted = {.lane = actor->lane, .token = token, .parent = TOKEN_NONE, .begin_ns = begin_ns, .end_ns = actor->now.ns,
                                    .name = name, .kind = kind, .category = CATEGORY_CUDA, .correlation = ++actor->correlation};
    emit_span(sim, &emitted, payload);
}

void device_launch(struct sim *sim, struct actor *actor, const struct op *op)
{
    uint32_t call = token_new(sim);
    int64_t call_ns = actor->now.ns, begin_ns = command_run(sim, actor, op);
    actor_advance(sim, actor, draw(sim, actor, sim->costs.launch_call_ns), NAME_LAUNCH);
    emit_host(sim, actor, call_ns, call, NAME_LAUNCH, SPAN_KIND_LAUNCH, NULL);
    struct payload payload = {.kind = PAYLOAD_KERNEL};
    static const struct { unsigned position; uint64_t value; } shape[] = {
        {FIELD_KERNEL_grid_x, 256}, {FIELD_KERNEL_grid_y, 1}, {FIELD_KERNEL_grid_z, 1}, {FIELD_KERNEL_block_x, 256}, {FIELD_KERNEL_block_y, 1},
        {FIELD_KERNEL_block_z, 1}, {FIELD_KERNEL_registers, 16}, {FIELD_KERNEL_context, 1}};
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
        put_number(&payload, shape[i].position, shape[i].value);
    emit_command(sim, op, begin_ns, call, &payload);
    actor_go_on(sim, actor);
}

static void copy_over(struct sim *sim, struct actor *actor, const struct op *op, struct moment entered, int64_t cost_ns)
{
    struct pick pick = {0};
    uint16_t name = op->flags & OP_BLOCKING ? NAME_MEMCPY : NAME_MEMCPY_ASYNC;
    pick_offer(sim, &pick, entered, cost_ns, RULE_LANE);
    if (op->flags & OP_BLOCKING)
        pick_offer(sim, &pick, sim->lanes[op->a].end, cost_ns, RULE_BLOCKING_COPY);
    actor->now = node_add(sim, actor->lane, &pick, name);
    if (op->flags & OP_BLOCKING)
        wait_note(sim, PATTERN_BLOCKING_COPY, actor->lane, &sim->lanes[op->a].end, sim->lanes[op->a].end.ns - entered.ns, actor->now.ns - entered.ns);
}

void device_copy(struct sim *sim, struct actor *actor, const struct op *op)
{
    const struct lane *lane = &sim->lanes[op->a];
    bool blocking = op->flags & OP_BLOCKING, in = op->name == NAME_COPY_IN;
    uint32_t call = token_new(sim);
    struct moment entered = actor->now;
    int64_t begin_ns = command_run(sim, actor, op);
    copy_over(sim, actor, op, entered, draw(sim, actor, sim->costs.launch_call_ns));
    uint64_t host = UINT64_C(0x700000000000), device = UINT64_C(0x7f0000000000);
    struct payload api = {.kind = PAYLOAD_API}, payload = {.kind = PAYLOAD_COPY};
    put_number(&api, FIELD_API_context, 1);
    if (blocking)
        put_number(&api, FIELD_API_blocking, 1);
    else
        put_number(&api, FIELD_API_stream, (uint64_t)lane->number);
    put_number(&api, FIELD_API_bytes, (uint64_t)op->b);
    put_number(&api, FIELD_API_source, in ? host : device);
    put_number(&api, FIELD_API_destination, in ? device : host);
    emit_host(sim, actor, entered.ns, call, blocking ? NAME_MEMCPY : NAME_MEMCPY_ASYNC, SPAN_KIND_API, &api);
    put_text(sim, &payload, FIELD_COPY_direction, in ? "host-to-device" : "device-to-host");
    put_number(&payload, FIELD_COPY_bytes, (uint64_t)op->b);
    put_text(sim, &payload, FIELD_COPY_source_memory, in ? "pinned" : "device");
    put_text(sim, &payload, FIELD_COPY_destination_memory, in ? "device" : "pinned");
    put_number(&payload, FIELD_COPY_context, 1);
    emit_command(sim, op, begin_ns, call, &payload);
    actor_go_on(sim, actor);
}

static void put_sync(struct sim *sim, const struct op *op, const char *what, struct payload *payload)
{
    put_text(sim, payload, FIELD_DEVICE_SYNC_what, what);
    put_number(payload, FIELD_DEVICE_SYNC_context, 1);
    if (!(op->flags & OP_DEVICE) && !(op->kind == OP_SYNC && (op->flags & OP_EVENT)))
        put_number(payload, FIELD_DEVICE_SYNC_stream, (uint64_t)sim->lanes[op->a].number);
    if (op->kind == OP_SYNC && !(op->flags & OP_EVENT))
        return;
    put_number(payload, FIELD_DEVICE_SYNC_event, 0x9000 + (uint64_t)op->b * 16);
    put_number(payload, FIELD_DEVICE_SYNC_record, sim->events[op->b].record);
}

static void quick_call(struct sim *sim, struct actor *actor, const struct op *op, const char *what, uint16_t name)
{
    int64_t begin_ns = actor->now.ns;
    struct payload payload = {.kind = PAYLOAD_DEVICE_SYNC};
    put_sync(sim, op, what, &payload);
    actor_advance(sim, actor, draw(sim, actor, sim->costs.launch_call_ns / 4), name);
    emit_host(sim, actor, begin_ns, token_new(sim), name, SPAN_KIND_API, &payload);
    actor_go_on(sim, actor);
}

/* A wait that no command stands behind yet is work of its stream, too. */
void device_record(struct sim *sim, struct actor *actor, const struct op *op)
{
    const struct lane *lane = &sim->lanes[op->a];
    sim->events[op->b].covered = lane->gate.ns > lane->end.ns ? lane->gate : lane->end;
    sim->events[op->b].record = ++sim->ranks[actor->process].records;
    quick_call(sim, actor, op, "event record", NAME_EVENT_RECORD);
}

void device_stream_wait(struct sim *sim, struct actor *actor, const struct op *op)
{
    struct lane *lane = &sim->lanes[op->a];
    if (sim->events[op->b].covered.ns > lane->gate.ns)
        lane->gate = sim->events[op->b].covered;
    quick_call(sim, actor, op, "stream wait", NAME_STREAM_WAIT);
}

void device_sync(struct sim *sim, struct actor *actor, const struct op *op)
{
    const struct rank *rank = &sim->ranks[actor->process];
    struct moment entered = actor->now;
    struct pick pick = {0};
    int64_t cost_ns = draw(sim, actor, sim->costs.sync_ns);
    uint16_t name = op->flags & OP_DEVICE ? NAME_DEVICE_SYNC : op->flags & OP_EVENT ? NAME_EVENT_SYNC : NAME_STREAM_SYNC;
    pick_offer(sim, &pick, entered, cost_ns, RULE_LANE);
    if (op->flags & OP_DEVICE) {
        for (uint32_t i = 0; i < rank->stream_count; i++)
            offer_end(sim, &pick, &sim->lanes[rank->first_stream + i], cost_ns, RULE_DEVICE_SYNC);
    } else if (op->flags & OP_EVENT) {
        if (sim->events[op->b].covered.ns != INT64_MIN)
            pick_offer(sim, &pick, sim->events[op->b].covered, cost_ns, RULE_DEVICE_SYNC);
    } else {
        offer_end(sim, &pick, &sim->lanes[op->a], cost_ns, RULE_DEVICE_SYNC);
        if (sim->lanes[op->a].gate.ns != INT64_MIN)
            pick_offer(sim, &pick, sim->lanes[op->a].gate, cost_ns, RULE_DEVICE_SYNC);
    }
    actor->now = node_add(sim, actor->lane, &pick, name);
    wait_note(sim, PATTERN_DEVICE_SYNC, actor->lane, &pick.cause, pick.cause.ns - entered.ns, actor->now.ns - entered.ns);
    struct payload payload = {.kind = PAYLOAD_DEVICE_SYNC};
    put_sync(sim, op, op->flags & OP_DEVICE ? "context" : op->flags & OP_EVENT ? "event" : "stream", &payload);
    emit_host(sim, actor, entered.ns, token_new(sim), name, SPAN_KIND_SYNC, &payload);
    actor_go_on(sim, actor);
}
