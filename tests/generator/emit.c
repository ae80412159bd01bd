/* SPDX-License-Identifier: MIT */
/* The trace: rows, payloads, links and groups as the merge of a recording writes them. */
#include "sim.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct error err;

static void check(int code, const char *what)
{
    if (code >= 0)
        return;
    fprintf(stderr, "trace_generator: %s: %s\n", what, err.code ? err.text : strerror(-code));
    exit(1);
}

void put_number(struct payload *payload, unsigned position, uint64_t value)
{
    payload->present |= 1u << position;
    payload->fields[position].u64 = value;
}

void put_signed(struct payload *payload, unsigned position, int64_t value)
{
    payload->present |= 1u << position;
    payload->fields[position].i64 = value;
}

void put_text(struct sim *sim, struct payload *payload, unsigned position, const char *text)
{
    if (!sim->builder)
        return;
    payload->present |= 1u << position;
    payload->fields[position].string = trace_builder_string(sim->builder, text);
}

uint32_t token_new(struct sim *sim)
{
    if (!sim->builder)
        return TOKEN_NONE;
    size_t row = APPEND(sim->tokens, sim->token_count, sim->token_capacity);
    sim->tokens[row] = SPAN_NONE;
    return (uint32_t)row;
}

void emit_span(struct sim *sim, const struct emitted *emitted, const struct payload *payload)
{
    if (!sim->builder)
        return;
    const struct span span = {
        .track = sim->lanes[emitted->lane].track,
        .begin_ns = emitted->begin_ns,
        .end_ns = emitted->end_ns,
        .name = sim->name_ids[emitted->name],
        .category = sim->categories[emitted->category],
        .kind = (enum span_kind)emitted->kind,
        .parent = emitted->parent == TOKEN_NONE ? SPAN_NONE : sim->tokens[emitted->parent],
        .correlation = emitted->correlation,
        .stack = STACK_NONE,
    };
    check(trace_builder_add_span(sim->builder, &span, payload, &sim->tokens[emitted->token]), "cannot add a span");
    sim->spans++;
}

void emit_call(struct sim *sim, const struct actor *actor, int64_t begin_ns, uint32_t token, uint16_t name, uint8_t kind, uint8_t category,
               const struct payload *payload)
{
    const struct emitted emitted = {.lane = actor->lane, .token = token, .parent = TOKEN_NONE, .begin_ns = begin_ns, .end_ns = actor->now.ns,
                                    .name = name, .kind = kind, .category = category};
    emit_span(sim, &emitted, payload);
}

void emit_link(struct sim *sim, uint8_t kind, uint32_t from, uint32_t to)
{
    if (!sim->builder)
        return;
    size_t row = APPEND(sim->links, sim->link_count, sim->link_capacity);
    sim->links[row] = (struct link_row){from, to, kind};
}

uint32_t emit_group(struct sim *sim, uint8_t kind, uint16_t name, uint64_t sequence)
{
    group_id id = {sim->groups};
    if (sim->builder) {
        const struct trace_group group = {.kind = (enum link_kind)kind, .name = sim->name_ids[name], .sequence = sequence};
        check(trace_builder_add_group(sim->builder, &group, &id), "cannot add a group");
    }
    sim->groups++;
    return id.index;
}

void emit_member(struct sim *sim, uint32_t group, uint32_t token, int32_t rank)
{
    if (!sim->builder)
        return;
    size_t row = APPEND(sim->members, sim->member_count, sim->member_capacity);
    sim->members[row] = (struct member_row){token, group, rank};
}

static void add_processes(struct sim *sim, node_id node)
{
    for (size_t i = 0; i < sim->rank_count; i++) {
        const struct actor *actor = &sim->actors[sim->ranks[i].main];
        const struct trace_process process = {
            .node = node, .pid = 1000 + (int32_t)i * 100, .rank = actor->rank, .start_ns = 0, .end_ns = INT64_MIN, .parent = PROCESS_NONE,
            .command = trace_builder_string(sim->builder, "generated"), .executable = STRING_NONE, .exit_status = 0, .reason = STRING_NONE};
        check(trace_builder_add_process(sim->builder, &process, &sim->ranks[i].process), "cannot add a process");
    }
}

static void lane_name(const struct sim *sim, const struct lane *lane, const struct actor *actor, char *name, size_t size)
{
    *name = '\0';
    if (lane->stream)
        snprintf(name, size, "stream %d%s, context 1", lane->number, lane->is_default ? " (default)" : "");
    else if (actor->thread == 0 && sim->rank_count > 1)
        snprintf(name, size, "rank %d", actor->rank);
}

static void add_tracks(struct sim *sim)
{
    size_t next_actor = 0;
    for (size_t i = 0; i < sim->lane_count; i++) {
        struct lane *lane = &sim->lanes[i];
        const struct actor *actor = lane->stream ? NULL : &sim->actors[next_actor++];
        char name[64];
        lane_name(sim, lane, actor, name, sizeof name);
        const struct trace_track track = {
            .kind = lane->stream ? TRACK_KIND_STREAM : TRACK_KIND_THREAD,
            .name = *name ? trace_builder_string(sim->builder, name) : STRING_NONE,
            .process = sim->ranks[lane->process].process,
            .tid = lane->stream ? -1 : 1000 + (int32_t)lane->process * 100 + actor->thread,
            .device = lane->stream ? 0 : -1,
            .stream = lane->stream ? lane->number : -1,
            .unit = STRING_NONE,
            .start_ns = INT64_MIN,
            .end_ns = INT64_MIN,
        };
        check(trace_builder_add_track(sim->builder, &track, &lane->track), "cannot add a track");
    }
}

static void set_metadata(struct sim *sim)
{
    char key[64], text[128];
    trace_builder_set_metadata(sim->builder, "command", "generated");
    trace_builder_set_metadata(sim->builder, "clock_domain", "generated:1");
    trace_builder_set_metadata(sim->builder, "start_monotonic_raw_ns", "0");
    trace_builder_set_metadata(sim->builder, "start_realtime_ns", "0");
    if (sim->rank_count < 2)
        return;
    snprintf(key, sizeof key, "mpi.comm.%" PRIu64, comm_world(sim));
    snprintf(text, sizeof text, "{\"kind\":\"communicator\",\"name\":\"MPI_COMM_WORLD\",\"size\":%zu,\"ranks\":\"0-%zu\"}", sim->rank_count,
             sim->rank_count - 1);
    trace_builder_set_metadata(sim->builder, key, text);
    snprintf(text, sizeof text, "%zu", sim->rank_count);
    trace_builder_set_metadata(sim->builder, "mpi.world_size", text);
}

void emit_start(struct sim *sim)
{
    const struct builder_options limits = {.memory_limit_bytes = (size_t)1 << 30};
    check(trace_builder_create(&limits, &sim->builder, &err), "cannot begin a trace");
    const struct trace_node row = {.name = trace_builder_string(sim->builder, "node"), .clock_domain = trace_builder_string(sim->builder, "generated:1")};
    node_id node;
    check(trace_builder_add_node(sim->builder, &row, &node), "cannot add a node");
    add_processes(sim, node);
    add_tracks(sim);
    static const char *const categories[] = {"phases", "mpi", "openmp", "cuda"};
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
        sim->categories[i] = trace_builder_string(sim->builder, categories[i]);
    sim->name_ids = calloc(sim->name_count, sizeof *sim->name_ids);
    if (!sim->name_ids)
        fail("out of memory");
    for (size_t i = 0; i < sim->name_count; i++)
        sim->name_ids[i] = trace_builder_string(sim->builder, sim->names[i]);
    set_metadata(sim);
}

void emit_end(struct sim *sim, struct trace **ret_trace)
{
    for (size_t i = 0; i < sim->link_count; i++) {
        const struct trace_link link = {.kind = (enum link_kind)sim->links[i].kind, .confidence = CONFIDENCE_CERTAIN,
                                        .from = sim->tokens[sim->links[i].from], .to = sim->tokens[sim->links[i].to]};
        check(trace_builder_add_link(sim->builder, &link), "cannot add a link");
    }
    for (size_t i = 0; i < sim->member_count; i++) {
        const struct group_member member = {.group = {sim->members[i].group}, .span = sim->tokens[sim->members[i].token],
                                            .rank = sim->members[i].rank};
        check(trace_builder_add_member(sim->builder, &member), "cannot add a member");
    }
    check(trace_builder_finish(sim->builder, ret_trace, &err), "cannot finish the trace");
}
