/* SPDX-License-Identifier: MIT */
/* Wait states and their costs in small traces whose waits one can see: each pattern's exact time, and who is charged with it. */
#include "../trace/trace_fixture.h"

#include "analysis/wait_states.h"

struct world {
    struct trace_builder *builder;
    track_id lanes[4];
    process_id processes[4];
    uint64_t order[4];
};

/* Processes of ranks 0 to 3, each with a thread; the fixture's own process has nothing. */
static void world_start(struct world *world)
{
    *world = (struct world){.builder = fixture_builder(0)};
    for (int32_t rank = 0; rank < 4; rank++) {
        struct trace_process process = {.node = {0}, .pid = 100 + rank, .rank = rank, .end_ns = 100000, .parent = PROCESS_NONE,
                                        .command = trace_builder_string(world->builder, "prog"), .exit_status = -1};
        assert_int_equal(trace_builder_add_process(world->builder, &process, &world->processes[rank]), 0);
        char name[16];
        snprintf(name, sizeof name, "rank %d", rank);
        struct trace_track track = {.kind = TRACK_KIND_THREAD, .name = trace_builder_string(world->builder, name), .process = world->processes[rank], .tid = 100 + rank,
                                    .device = -1, .stream = -1, .start_ns = INT64_MIN, .end_ns = INT64_MIN};
        assert_int_equal(trace_builder_add_track(world->builder, &track, &world->lanes[rank]), 0);
    }
}

static span_id add(struct world *world, track_id lane, int64_t begin_ns, int64_t end_ns, const char *category, const char *name, enum span_kind kind,
                   const struct payload *payload)
{
    struct span span = {.track = lane, .begin_ns = begin_ns, .end_ns = end_ns, .kind = kind, .parent = SPAN_NONE, .stack = STACK_NONE,
                        .name = trace_builder_string(world->builder, name), .category = trace_builder_string(world->builder, category)};
    span_id handle;
    assert_int_equal(trace_builder_add_span(world->builder, &span, payload, &handle), 0);
    return handle;
}

static void link_spans(struct world *world, enum link_kind kind, span_id from, span_id to)
{
    struct trace_link link = {.kind = kind, .confidence = CONFIDENCE_CERTAIN, .from = from, .to = to};
    assert_int_equal(trace_builder_add_link(world->builder, &link), 0);
}

static void set(struct payload *payload, unsigned field, uint64_t value)
{
    payload->present |= 1u << field;
    payload->fields[field].u64 = value;
}

static span_id send_at(struct world *world, int rank, int64_t begin_ns, int64_t end_ns, const char *mode, uint64_t bytes)
{
    struct payload payload = {.kind = PAYLOAD_MESSAGE};
    set(&payload, FIELD_MESSAGE_send_bytes, bytes);
    payload.present |= 1u << FIELD_MESSAGE_mode;
    payload.fields[FIELD_MESSAGE_mode].string = trace_builder_string(world->builder, mode);
    return add(world, world->lanes[rank], begin_ns, end_ns, "mpi", "MPI_Send", SPAN_KIND_SEND, &payload);
}

static span_id receive_at(struct world *world, int rank, int64_t begin_ns, int64_t end_ns)
{
    return add(world, world->lanes[rank], begin_ns, end_ns, "mpi", "MPI_Recv", SPAN_KIND_RECV, NULL);
}

/* Sums are the same, whether states are kept or not. */
static void assert_same_blame(const struct wait_states *states, const struct trace *trace)
{
    CLEANUP(freep) struct wait_blame *kept = NULL;
    CLEANUP(freep) struct wait_blame *direct = NULL;
    size_t kept_count, direct_count;
    int64_t time_ns = 0;
    assert_int_equal(wait_states_blame(states, trace, &kept, &kept_count, NULL), 0);
    assert_int_equal(wait_blame_create(trace, NULL, &direct, &direct_count, NULL), 0);
    assert_int_equal(kept_count, direct_count);
    for (size_t i = 0; i < kept_count; i++) {
        assert_int_equal(kept[i].cause_lane.index, direct[i].cause_lane.index);
        assert_int_equal(kept[i].cause.index, direct[i].cause.index);
        assert_int_equal(kept[i].victim_lane.index, direct[i].victim_lane.index);
        assert_int_equal(kept[i].victim.index, direct[i].victim.index);
        assert_int_equal(kept[i].pattern, direct[i].pattern);
        assert_int_equal(kept[i].confidence, direct[i].confidence);
        assert_int_equal(kept[i].count, direct[i].count);
        assert_int_equal(kept[i].time_ns, direct[i].time_ns);
        assert_true(i == 0 || kept[i].time_ns <= kept[i - 1].time_ns);
        time_ns += kept[i].time_ns;
    }
    assert_int_equal(time_ns, states->waited_ns);
}

static struct wait_states *finish(struct world *world, struct trace **ret_trace)
{
    struct wait_states *states;
    struct error err = ERROR_INIT;
    *ret_trace = fixture_finish(world->builder);
    if (wait_states_create(*ret_trace, NULL, &states, &err) < 0)
        fail_msg("%s", err.text);
    int64_t sum_ns = states->uncharged_ns, waited_ns = 0;
    for (size_t i = 0; i < states->delay_count; i++)
        sum_ns += states->delays[i].direct_ns + states->delays[i].propagated_ns;
    for (size_t i = 0; i < states->count; i++)
        waited_ns += states->states[i].time_ns;
    assert_int_equal(sum_ns, states->waited_ns);
    assert_int_equal(waited_ns, states->waited_ns);
    assert_same_blame(states, *ret_trace);
    return states;
}

static void assert_waits(const struct wait_states *states, enum wait_pattern pattern, uint64_t count, int64_t time_ns)
{
    if (states->sums[pattern].count != count || states->sums[pattern].time_ns != time_ns)
        fail_msg("%s: %llu times, %lld ns; expected %llu times, %lld ns", wait_pattern_name(pattern),
                 (unsigned long long)states->sums[pattern].count, (long long)states->sums[pattern].time_ns, (unsigned long long)count, (long long)time_ns);
}

static void test_a_receive_waits_until_its_send_begins(void **state)
{
    (void)state;
    struct world world;
    struct trace *trace;
    world_start(&world);
    link_spans(&world, LINK_KIND_MESSAGE, send_at(&world, 0, 500, 520, "standard", 8), receive_at(&world, 1, 100, 560));
    link_spans(&world, LINK_KIND_MESSAGE, send_at(&world, 0, 600, 610, "standard", 8), receive_at(&world, 1, 700, 720)); /* was there */
    struct wait_states *states = finish(&world, &trace);
    assert_int_equal(states->count, 1);
    assert_waits(states, WAIT_LATE_SENDER, 1, 400);
    assert_int_equal(states->states[0].begin_ns, 100);
    assert_true(track_id_is(states->states[0].lane, world.lanes[1]) && track_id_is(states->states[0].cause_lane, world.lanes[0]));
    assert_int_equal(states->backward, 0);
    wait_states_destroy(states);
    trace_unref(trace);
}

static void test_a_message_that_is_sent_after_it_came_is_no_wait(void **state)
{
    (void)state;
    struct world world;
    struct trace *trace;
    world_start(&world);
    link_spans(&world, LINK_KIND_MESSAGE, send_at(&world, 0, 500, 520, "standard", 8), receive_at(&world, 1, 100, 300));
    struct wait_states *states = finish(&world, &trace);
    assert_int_equal(states->count, 0);
    assert_int_equal(states->backward, 1);
    wait_states_destroy(states);
    trace_unref(trace);
}

static void test_waiting_for_several_is_waiting_for_the_latest(void **state)
{
    (void)state;
    struct world world;
    struct trace *trace;
    world_start(&world);
    span_id posts[2], wait;
    for (int i = 0; i < 2; i++)
        posts[i] = add(&world, world.lanes[0], 10 + 10 * i, 15 + 10 * i, "mpi", "MPI_Irecv", SPAN_KIND_RECV, NULL);
    wait = add(&world, world.lanes[0], 100, 900, "mpi", "MPI_Waitall", SPAN_KIND_WAIT, NULL);
    for (int i = 0; i < 2; i++) {
        link_spans(&world, LINK_KIND_REQUEST, posts[i], wait);
        link_spans(&world, LINK_KIND_MESSAGE, send_at(&world, 1 + i, 800 - 300 * i, 810 - 300 * i, "standard", 8), posts[i]);
    }
    struct wait_states *states = finish(&world, &trace);
    assert_int_equal(states->count, 1);
    assert_waits(states, WAIT_LATE_SENDER, 1, 700);
    assert_true(track_id_is(states->states[0].cause_lane, world.lanes[1]));
    wait_states_destroy(states);
    trace_unref(trace);
}

static void test_a_wait_is_in_the_wrong_order_while_a_later_message_is_there(void **state)
{
    (void)state;
    struct world world;
    struct trace *trace;
    world_start(&world);
    link_spans(&world, LINK_KIND_MESSAGE, send_at(&world, 0, 900, 910, "standard", 8), receive_at(&world, 1, 100, 950));
    link_spans(&world, LINK_KIND_MESSAGE, send_at(&world, 0, 300, 310, "standard", 8), receive_at(&world, 1, 960, 970));
    struct wait_states *states = finish(&world, &trace);
    assert_waits(states, WAIT_LATE_SENDER, 1, 200);
    assert_waits(states, WAIT_WRONG_ORDER_SAME, 1, 600);
    wait_states_destroy(states);
    trace_unref(trace);
}

/* A send of 100 bytes was over before its receive was posted: so none of up to 100 bytes waits for one. One of 101 may have; one of 200
 * was seen to, as it ended right after the posting. */
static void test_only_sends_that_cannot_be_buffered_wait_for_receives(void **state)
{
    (void)state;
    struct world world;
    struct trace *trace;
    world_start(&world);
    link_spans(&world, LINK_KIND_MESSAGE, send_at(&world, 0, 10, 20, "standard", 100), receive_at(&world, 1, 50, 60));
    link_spans(&world, LINK_KIND_MESSAGE, send_at(&world, 0, 100, 300, "standard", 100), receive_at(&world, 1, 200, 310));
    link_spans(&world, LINK_KIND_MESSAGE, send_at(&world, 0, 400, 600, "standard", 101), receive_at(&world, 1, 450, 610));
    link_spans(&world, LINK_KIND_MESSAGE, send_at(&world, 0, 700, 900, "synchronous", 1), receive_at(&world, 1, 770, 910));
    link_spans(&world, LINK_KIND_MESSAGE, send_at(&world, 0, 1000, 1900, "buffered", 1000), receive_at(&world, 1, 1500, 1910));
    link_spans(&world, LINK_KIND_MESSAGE, send_at(&world, 0, 2000, 2900, "standard", 200), receive_at(&world, 1, 2800, 2910));
    struct wait_states *states = finish(&world, &trace);
    assert_waits(states, WAIT_LATE_RECEIVER, 3, 50 + 70 + 800);
    assert_int_equal(states->states[0].confidence, CONFIDENCE_MEDIUM);
    assert_int_equal(states->states[1].confidence, CONFIDENCE_CERTAIN);
    assert_int_equal(states->states[2].confidence, CONFIDENCE_HIGH);
    wait_states_destroy(states);
    trace_unref(trace);
}

static void collective(struct world *world, const char *name, int64_t root, const int64_t begins[4], int64_t end_ns)
{
    group_id group;
    struct trace_group row = {.kind = LINK_KIND_COLLECTIVE, .name = trace_builder_string(world->builder, name)};
    assert_int_equal(trace_builder_add_group(world->builder, &row, &group), 0);
    for (int rank = 0; rank < 4; rank++) {
        struct payload payload = {.kind = PAYLOAD_COLLECTIVE};
        if (root >= 0)
            set(&payload, FIELD_COLLECTIVE_root, (uint64_t)root);
        struct group_member member = {.group = group, .rank = rank};
        member.span = add(world, world->lanes[rank], begins[rank], end_ns + rank, "mpi", name, SPAN_KIND_COLLECTIVE, &payload);
        assert_int_equal(trace_builder_add_member(world->builder, &member), 0);
    }
}

static void test_collectives_wait_by_their_kind(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t root;
        enum wait_pattern pattern;
        uint64_t count;
        int64_t time_ns;
    } cases[] = {
        {"MPI_Barrier", -1, WAIT_BARRIER, 3, 100 + 200 + 400}, {"MPI_Allreduce", -1, WAIT_NXN, 3, 700}, {"MPI_Alltoallv", -1, WAIT_NXN, 3, 700},
        {"MPI_Reduce", 1, WAIT_EARLY_REDUCE, 1, 200},          {"MPI_Gatherv", 3, WAIT_EARLY_REDUCE, 0, 0},
        {"MPI_Bcast", 3, WAIT_LATE_BROADCAST, 3, 700},         {"MPI_Scatter", 1, WAIT_LATE_BROADCAST, 1, 200},
        {"MPI_Scan", -1, WAIT_EARLY_SCAN, 2, 200 + 100},       {"MPI_Exscan", -1, WAIT_EARLY_SCAN, 2, 300},
    };
    static const int64_t begins[2][4] = {{1000, 900, 700, 1100}, {800, 600, 700, 900}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world world;
        struct trace *trace;
        world_start(&world);
        bool prefix = cases[i].pattern == WAIT_EARLY_SCAN;
        collective(&world, cases[i].name, cases[i].root, begins[prefix], 2000);
        struct wait_states *states = finish(&world, &trace);
        assert_waits(states, cases[i].pattern, cases[i].count, cases[i].time_ns);
        if (cases[i].pattern == WAIT_BARRIER)
            assert_waits(states, WAIT_BARRIER_COMPLETION, 3, 1 + 2 + 3);
        else if (cases[i].pattern == WAIT_NXN)
            assert_waits(states, WAIT_NXN_COMPLETION, 3, 6);
        wait_states_destroy(states);
        trace_unref(trace);
    }
}

/*
 * In step at 1000. Rank 0 then works 500 in `slow`, rank 1 100 there; rank 2 waits for rank 1, which waits for rank 0. All that rank 0 did
 * more is charged with both waits.
 */
static void test_costs_go_back_to_the_first_cause(void **state)
{
    (void)state;
    struct world world;
    struct trace *trace;
    world_start(&world);
    collective(&world, "MPI_Barrier", -1, (const int64_t[]){990, 990, 990, 990}, 1000);
    add(&world, world.lanes[0], 1010, 1510, "user", "slow", SPAN_KIND_RANGE, NULL);
    add(&world, world.lanes[1], 1010, 1110, "user", "slow", SPAN_KIND_RANGE, NULL);
    link_spans(&world, LINK_KIND_MESSAGE, send_at(&world, 0, 1511, 1512, "standard", 8), receive_at(&world, 1, 1111, 1513));
    link_spans(&world, LINK_KIND_MESSAGE, send_at(&world, 1, 1514, 1515, "standard", 8), receive_at(&world, 2, 1014, 1516));
    struct wait_states *states = finish(&world, &trace);
    assert_waits(states, WAIT_LATE_SENDER, 2, 400 + 500);
    const struct wait_delay *delay = &states->delays[0];
    assert_true(track_id_is(delay->lane, world.lanes[0]));
    assert_string_equal(trace_text(trace, delay->name), "slow");
    /* Rank 0 excess over 1: 400 in slow. Rank 1 over 2 (waited from 1014): 100 in slow, 98 outside and the calls' own, and 400 of waiting. */
    assert_true(delay->direct_ns >= 395 && delay->direct_ns <= 400);
    assert_true(delay->propagated_ns >= 380 && delay->propagated_ns <= 400);
    wait_states_destroy(states);
    trace_unref(trace);
}

static void sample_at(struct world *world, int rank, int64_t time_ns, const char *function, int64_t weight)
{
    struct trace_frame user = {.function = trace_builder_string(world->builder, function), .module = MODULE_NONE};
    struct trace_frame kernel = {.function = trace_builder_string(world->builder, "clear_page"), .module = MODULE_NONE, .flags = FRAME_KERNEL};
    frame_id frames[2];
    stack_id stack;
    assert_int_equal(trace_builder_add_frame(world->builder, &user, &frames[0]), 0);
    assert_int_equal(trace_builder_add_frame(world->builder, &kernel, &frames[1]), 0);
    assert_int_equal(trace_builder_add_stack(world->builder, STACK_NONE, frames[0], &stack), 0);
    assert_int_equal(trace_builder_add_stack(world->builder, stack, frames[1], &stack), 0);
    struct sample sample = {.time_ns = time_ns, .weight = weight, .stack = stack, .cpu = 0, .event = SAMPLE_EVENT_CPU_CLOCK};
    assert_int_equal(trace_builder_add_sample(world->builder, world->lanes[rank], &sample), 0);
}

/* Rank 0 computes from 1000 to 2000, rank 1 waits for it; what was sampled before and in the call itself is not what made it late. */
static void test_code_outside_of_calls_is_named_by_its_samples(void **state)
{
    (void)state;
    struct world world;
    struct trace *trace;
    world_start(&world);
    collective(&world, "MPI_Barrier", -1, (const int64_t[]){990, 990, 990, 990}, 1000);
    sample_at(&world, 0, 500, "before", 1000);
    for (int i = 0; i < 20; i++)
        sample_at(&world, 0, 1005 + 49 * i, i % 4 == 1 ? "quick" : "slow", 50);
    sample_at(&world, 0, 2005, "in_the_call", 1000);
    link_spans(&world, LINK_KIND_MESSAGE, send_at(&world, 0, 2000, 2010, "standard", 8), receive_at(&world, 1, 1010, 2020));
    struct wait_states *states = finish(&world, &trace);
    assert_waits(states, WAIT_LATE_SENDER, 1, 990);
    assert_string_equal(trace_text(trace, states->delays[0].function), "slow");
    assert_true(states->delays[0].function_share > 0.74 && states->delays[0].function_share < 0.76);
    assert_int_equal(states->delays[0].samples, 15);
    struct wait_blame *rows;
    size_t count;
    assert_int_equal(wait_blame_create_named(trace, NULL, &rows, &count, NULL), 0);
    for (size_t i = 0; i < count; i++) /* calls are blamed, not code */
        assert_string_equal(trace_text(trace, rows[i].function), "");
    free(rows);
    wait_states_destroy(states);
    trace_unref(trace);
}

/* Rank 0's 1000 ns outside of calls with so many samples of 50 ns each, in code of a module, and so long blocked. */
static void late_code(int samples, const char *module, int64_t blocked_ns, const char *function, double share)
{
    struct world world;
    struct trace *trace;
    world_start(&world);
    struct trace_module own = {.path = trace_builder_string(world.builder, module)};
    module_id id;
    frame_id frames[2];
    stack_id stack;
    track_id sched;
    assert_int_equal(trace_builder_add_module(world.builder, &own, &id), 0);
    collective(&world, "MPI_Barrier", -1, (const int64_t[]){990, 990, 990, 990}, 1000);
    struct trace_frame frame = {.function = trace_builder_string(world.builder, "solve"), .module = MODULE_NONE};
    assert_int_equal(trace_builder_add_frame(world.builder, &frame, &frames[0]), 0);
    frame = (struct trace_frame){.function = trace_builder_string(world.builder, "leaf"), .module = id};
    assert_int_equal(trace_builder_add_frame(world.builder, &frame, &frames[1]), 0);
    assert_int_equal(trace_builder_add_stack(world.builder, STACK_NONE, frames[0], &stack), 0);
    assert_int_equal(trace_builder_add_stack(world.builder, stack, frames[1], &stack), 0);
    for (int i = 0; i < samples; i++) {
        struct sample sample = {.time_ns = 1005 + 40 * i, .weight = 50, .stack = stack, .event = SAMPLE_EVENT_CPU_CLOCK};
        assert_int_equal(trace_builder_add_sample(world.builder, world.lanes[0], &sample), 0);
    }
    const struct trace_track thread = {.kind = TRACK_KIND_SCHED, .name = STRING_NONE, .process = world.processes[0], .tid = 100, .device = -1, .stream = -1,
                                       .start_ns = INT64_MIN, .end_ns = INT64_MIN};
    assert_int_equal(trace_builder_add_track(world.builder, &thread, &sched), 0);
    if (blocked_ns)
        add(&world, sched, 1990 - blocked_ns, 1990, "sched", "blocked", SPAN_KIND_UNKNOWN, NULL);
    link_spans(&world, LINK_KIND_MESSAGE, send_at(&world, 0, 2000, 2010, "standard", 8), receive_at(&world, 1, 1010, 2020));
    struct wait_states *states = finish(&world, &trace);
    assert_waits(states, WAIT_LATE_SENDER, 1, 990);
    assert_string_equal(trace_text(trace, states->delays[0].function), function);
    assert_true(states->delays[0].function_share > share - 0.02 && states->delays[0].function_share < share + 0.02);
    assert_true(states->delays[0].blocked_share > (double)blocked_ns / 1000 - 0.02 && states->delays[0].blocked_share < (double)blocked_ns / 1000 + 0.02);
    wait_states_destroy(states);
    trace_unref(trace);
}

static void test_only_what_samples_stand_for_is_named(void **state)
{
    (void)state;
    late_code(20, "/usr/bin/program", 0, "leaf", 1);
    late_code(8, "/usr/bin/program", 0, "leaf", 0.4);
    late_code(4, "/usr/bin/program", 0, "", 0);         /* too few */
    late_code(6, "/usr/bin/program", 300, "leaf", 0.3);
    late_code(6, "/usr/bin/program", 700, "", 0);       /* asleep */
    late_code(20, "/usr/lib/libhprofiler_mpi.so", 0, "solve", 1); /* the profiler's own code: its caller */
}

static span_id barrier_at(struct world *world, int lane, int64_t begin_ns, int64_t end_ns, const char *type)
{
    struct payload payload = {.kind = PAYLOAD_BARRIER};
    set(&payload, FIELD_BARRIER_wait_start_ns, 0);
    set(&payload, FIELD_BARRIER_wait_ns, (uint64_t)(end_ns - begin_ns));
    payload.present |= 1u << FIELD_BARRIER_type;
    payload.fields[FIELD_BARRIER_type].string = trace_builder_string(world->builder, type);
    return add(world, world->lanes[lane], begin_ns, end_ns, "openmp", "barrier", SPAN_KIND_BARRIER, &payload);
}

/* The last thread comes at 500, its task ends at 700; another thread runs a task of 100 while it waits. */
static void test_tasks_at_a_barrier_are_no_waiting(void **state)
{
    (void)state;
    struct world world;
    struct trace *trace;
    world_start(&world);
    group_id group;
    struct trace_group row = {.kind = LINK_KIND_BARRIER, .name = trace_builder_string(world.builder, "barrier")};
    assert_int_equal(trace_builder_add_group(world.builder, &row, &group), 0);
    span_id parts[3] = {barrier_at(&world, 0, 100, 710, "implicit"), barrier_at(&world, 1, 200, 710, "implicit"), barrier_at(&world, 2, 500, 710, "implicit")};
    for (int i = 0; i < 3; i++) {
        struct group_member member = {.group = group, .span = parts[i], .rank = -1};
        assert_int_equal(trace_builder_add_member(world.builder, &member), 0);
    }
    add(&world, world.lanes[1], 300, 400, "openmp", "task", SPAN_KIND_TASK, NULL);
    add(&world, world.lanes[2], 510, 700, "openmp", "task", SPAN_KIND_TASK, NULL);
    struct wait_states *states = finish(&world, &trace);
    assert_waits(states, WAIT_OMP_IMPLICIT_BARRIER, 2, 600 + 400);
    assert_waits(states, WAIT_OMP_BARRIER_COMPLETION, 3, 30);
    assert_true(track_id_is(states->states[0].cause_lane, world.lanes[2]));
    wait_states_destroy(states);
    trace_unref(trace);
}

static void test_a_lock_is_charged_to_its_holder(void **state)
{
    (void)state;
    struct world world;
    struct trace *trace;
    world_start(&world);
    struct payload payload = {.kind = PAYLOAD_LOCK};
    set(&payload, FIELD_LOCK_wait_ns, 0);
    span_id holder = add(&world, world.lanes[0], 100, 500, "openmp", "gate", SPAN_KIND_CRITICAL, &payload);
    set(&payload, FIELD_LOCK_wait_ns, 310);
    link_spans(&world, LINK_KIND_LOCK, holder, add(&world, world.lanes[1], 200, 700, "openmp", "gate", SPAN_KIND_CRITICAL, &payload));
    struct wait_states *states = finish(&world, &trace);
    assert_waits(states, WAIT_OMP_CRITICAL, 1, 310);
    assert_int_equal(states->delay_count, 1);
    assert_int_equal(states->delays[0].direct_ns, 310);
    assert_true(track_id_is(states->delays[0].lane, world.lanes[0]));
    wait_states_destroy(states);
    trace_unref(trace);
}

static track_id stream_of(struct world *world, int32_t stream)
{
    struct trace_track track = {.kind = TRACK_KIND_STREAM, .name = trace_builder_string(world->builder, "stream"), .process = {1}, .tid = -1,
                                .device = 0, .stream = stream, .start_ns = INT64_MIN, .end_ns = INT64_MIN};
    track_id id;
    assert_int_equal(trace_builder_add_track(world->builder, &track, &id), 0);
    return id;
}

static span_id launch(struct world *world, int64_t call_ns, track_id lane, int64_t begin_ns, int64_t end_ns, enum span_kind kind, int64_t call_length_ns)
{
    span_id call = add(world, world->lanes[0], call_ns, call_ns + call_length_ns, "cuda", "call", kind == SPAN_KIND_COPY ? SPAN_KIND_API : SPAN_KIND_LAUNCH, NULL);
    span_id work = add(world, lane, begin_ns, end_ns, "cuda", kind == SPAN_KIND_COPY ? "copy" : "kernel", kind, NULL);
    link_spans(world, LINK_KIND_LAUNCH, call, work);
    return work;
}

/* Two streams; the host synchronises the first, then launches more only at 1000, then copies and waits for it. */
/* Three ranks of NCCL, each with its lanes of operations and of kernels, whose kernels begin at 100, 300 and 200 and end at 400. */
static int64_t device_collective(const char *name, uint64_t root)
{
    struct world world;
    struct trace *trace;
    group_id group;
    world_start(&world);
    const struct trace_group row = {.kind = LINK_KIND_COLLECTIVE, .name = trace_builder_string(world.builder, name), .sequence = 5};
    assert_int_equal(trace_builder_add_group(world.builder, &row, &group), 0);
    for (int rank = 0; rank < 3; rank++) {
        static const int64_t begins_ns[] = {100, 300, 200};
        track_id operations = stream_of(&world, 0), kernels = stream_of(&world, 0);
        struct payload payload = {.kind = PAYLOAD_COLLECTIVE};
        set(&payload, FIELD_COLLECTIVE_root, root);
        const track_id lanes[] = {operations, kernels};
        for (int i = 0; i < 2; i++) {
            trace_builder_track(world.builder, lanes[i])->device = -1;
            trace_builder_track(world.builder, lanes[i])->process = trace_builder_track(world.builder, world.lanes[rank])->process;
        }
        span_id span = add(&world, operations, 50, 410, "nccl", name, SPAN_KIND_COLLECTIVE, &payload);
        add(&world, kernels, 20, 40, "nccl", "an earlier one", SPAN_KIND_KERNEL, NULL);
        add(&world, kernels, begins_ns[rank], 400, "nccl", "kernel", SPAN_KIND_KERNEL, NULL);
        const struct group_member member = {.group = group, .span = span, .rank = rank};
        assert_int_equal(trace_builder_add_member(world.builder, &member), 0);
    }
    struct wait_states *states = finish(&world, &trace);
    int64_t waited_ns = states->sums[WAIT_DEVICE_COLLECTIVE].time_ns;
    assert_int_equal(states->waited_ns, waited_ns);
    wait_states_destroy(states);
    trace_unref(trace);
    return waited_ns;
}

static void test_devices_wait_for_the_last_rank(void **state)
{
    (void)state;
    assert_int_equal(device_collective("AllReduce", 0), 200 + 100);
    assert_int_equal(device_collective("Broadcast", 2), 100); /* rank 0; rank 1 came after the root */
    assert_int_equal(device_collective("Broadcast", 0), 0);
    assert_int_equal(device_collective("Reduce", 2), 100);    /* the root alone */
}

static void test_hosts_and_devices_wait_for_each_other(void **state)
{
    (void)state;
    struct world world;
    struct trace *trace;
    world_start(&world);
    track_id first = stream_of(&world, 7), second = stream_of(&world, 8);
    launch(&world, 100, first, 120, 500, SPAN_KIND_KERNEL, 10);
    launch(&world, 115, second, 130, 600, SPAN_KIND_KERNEL, 10);
    struct payload payload = {.kind = PAYLOAD_DEVICE_SYNC};
    set(&payload, FIELD_DEVICE_SYNC_stream, 7);
    payload.present |= 1u << FIELD_DEVICE_SYNC_what;
    payload.fields[FIELD_DEVICE_SYNC_what].string = trace_builder_string(world.builder, "stream");
    add(&world, world.lanes[0], 200, 610, "cuda", "cudaStreamSynchronize", SPAN_KIND_SYNC, &payload);
    payload.fields[FIELD_DEVICE_SYNC_what].string = trace_builder_string(world.builder, "event record");
    add(&world, world.lanes[0], 620, 990, "cuda", "cudaEventRecord", SPAN_KIND_SYNC, &payload);
    launch(&world, 1000, second, 1020, 1300, SPAN_KIND_KERNEL, 10);
    launch(&world, 1030, first, 1310, 1400, SPAN_KIND_COPY, 380);
    struct wait_states *states = finish(&world, &trace);
    assert_waits(states, WAIT_HOST_BLOCKED, 1, 300);     /* until the first stream's kernel ended, not the second's */
    assert_waits(states, WAIT_DEVICE_IDLE, 1, 400);      /* 600 to the launch at 1000; 1300 to 1310 was launched in time */
    assert_waits(states, WAIT_BLOCKING_TRANSFER, 1, 370);
    wait_states_destroy(states);
    trace_unref(trace);
}

/* Two regions of rank 0 with a thread of rank 1's lane in the first: idle between and around, less parallel in the second. */
/* Threads without work wait for what the one did that begins the next region. */
static void assert_idle_for_serial(const struct trace *trace)
{
    struct wait_blame *rows;
    size_t count, named = 0;
    assert_int_equal(wait_blame_create_named(trace, NULL, &rows, &count, NULL), 0);
    for (size_t i = 0; i < count; i++) {
        if (!*trace_text(trace, rows[i].function))
            continue;
        assert_int_equal(rows[i].pattern, WAIT_OMP_IDLE);
        assert_string_equal(trace_text(trace, rows[i].cause), "");
        assert_string_equal(trace_text(trace, rows[i].function), "serial");
        assert_true(rows[i].function_share > 1499.0 / 96000 && rows[i].function_share < 1501.0 / 96000); /* ten of 150 ns of all that time */
        assert_int_equal(rows[i].samples, 10);
        named++;
    }
    assert_int_equal(named, 1);
    free(rows);
}

static void test_threads_without_work(void **state)
{
    (void)state;
    struct world world;
    struct trace *trace;
    world_start(&world);
    span_id regions[2] = {add(&world, world.lanes[0], 1000, 2000, "openmp", "parallel", SPAN_KIND_PARALLEL, NULL),
                          add(&world, world.lanes[0], 5000, 8000, "openmp", "parallel", SPAN_KIND_PARALLEL, NULL)};
    span_id part = add(&world, world.lanes[1], 1100, 1900, "openmp", "implicit task", SPAN_KIND_IMPLICIT_TASK, NULL);
    link_spans(&world, LINK_KIND_FORK, regions[0], part);
    for (int i = 0; i < 2; i++)
        link_spans(&world, LINK_KIND_FORK, regions[i], add(&world, world.lanes[0], 1010 + 4000 * i, 1990 + 4000 * i, "openmp", "implicit task", SPAN_KIND_IMPLICIT_TASK, NULL));
    for (int i = 0; i < 20; i++) /* of equal ones the first by name, whichever came first */
        sample_at(&world, 0, 2100 + 145 * i, i % 2 ? "serial" : "then_this", 150);
    sample_at(&world, 0, 6000, "in_the_region", 1000);
    struct wait_states *states = finish(&world, &trace);
    assert_waits(states, WAIT_OMP_FORK, 2, 100 + 100);
    assert_waits(states, WAIT_OMP_LIMITED, 1, 3000);
    assert_waits(states, WAIT_OMP_IDLE, 3, 1000 + 3000 + (100000 - 8000));
    assert_idle_for_serial(trace);
    wait_states_destroy(states);
    trace_unref(trace);
}

static void test_an_empty_trace_has_no_waits(void **state)
{
    (void)state;
    struct world world;
    struct trace *trace;
    struct wait_blame *rows;
    size_t count;
    world_start(&world);
    struct wait_states *states = finish(&world, &trace);
    assert_int_equal(states->count + states->delay_count + (size_t)states->waited_ns, 0);
    assert_int_equal(wait_states_blame(states, trace, &rows, &count, NULL), 0);
    assert_int_equal(count, 0);
    free(rows);
    wait_states_destroy(states);
    trace_unref(trace);
}

static span_id access_at(struct world *world, int rank, int64_t begin_ns, int64_t end_ns, const char *name, int64_t target, const char *lock)
{
    struct payload payload = {.kind = PAYLOAD_RMA};
    set(&payload, FIELD_RMA_window, 1);
    set(&payload, FIELD_RMA_target, (uint64_t)target);
    if (lock) {
        payload.present |= 1u << FIELD_RMA_lock;
        payload.fields[FIELD_RMA_lock].string = trace_builder_string(world->builder, lock);
    }
    return add(world, world->lanes[rank], begin_ns, end_ns, "mpi", name, SPAN_KIND_RMA, &payload);
}

/* Ranks 0 and 2 want what only rank 1 can give, which comes at 200 us. Rank 2's lock is held by rank 0 until 300 us: that is what it waited for. */
static void test_one_sided_calls_wait_for_their_target_to_come(void **state)
{
    (void)state;
    struct world world;
    struct trace *trace;
    world_start(&world);
    access_at(&world, 0, 50000, 204000, "MPI_Win_lock", 1, "exclusive");
    access_at(&world, 0, 210000, 211000, "MPI_Put", 1, NULL);
    access_at(&world, 0, 300000, 301000, "MPI_Win_unlock", 1, NULL);
    access_at(&world, 2, 60000, 302000, "MPI_Win_lock", 1, "exclusive");
    access_at(&world, 2, 310000, 311000, "MPI_Win_unlock", 1, NULL);
    receive_at(&world, 1, 200000, 400000);
    struct wait_states *states = finish(&world, &trace);
    assert_waits(states, WAIT_PROGRESS, 1, 150000);
    assert_waits(states, WAIT_WINDOW_LOCK, 1, 240000);
    assert_int_equal(states->states[0].confidence, CONFIDENCE_MEDIUM);
    assert_true(track_id_is(states->states[0].lane, world.lanes[0]) && track_id_is(states->states[0].cause_lane, world.lanes[1]));
    wait_states_destroy(states);
    trace_unref(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_receive_waits_until_its_send_begins),
        cmocka_unit_test(test_a_message_that_is_sent_after_it_came_is_no_wait),
        cmocka_unit_test(test_waiting_for_several_is_waiting_for_the_latest),
        cmocka_unit_test(test_a_wait_is_in_the_wrong_order_while_a_later_message_is_there),
        cmocka_unit_test(test_only_sends_that_cannot_be_buffered_wait_for_receives),
        cmocka_unit_test(test_collectives_wait_by_their_kind),
        cmocka_unit_test(test_costs_go_back_to_the_first_cause),
        cmocka_unit_test(test_code_outside_of_calls_is_named_by_its_samples),
        cmocka_unit_test(test_only_what_samples_stand_for_is_named),
        cmocka_unit_test(test_tasks_at_a_barrier_are_no_waiting),
        cmocka_unit_test(test_a_lock_is_charged_to_its_holder),
        cmocka_unit_test(test_hosts_and_devices_wait_for_each_other),
        cmocka_unit_test(test_devices_wait_for_the_last_rank),
        cmocka_unit_test(test_threads_without_work),
        cmocka_unit_test(test_one_sided_calls_wait_for_their_target_to_come),
        cmocka_unit_test(test_an_empty_trace_has_no_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
