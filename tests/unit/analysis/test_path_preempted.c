/* SPDX-License-Identifier: MIT */
/* Ranks that poll and have their processor taken away: what is a wait, what is the call's own work, and what is neither. */
#include "graph_fixture.h"

#include "analysis/path_hops.h"
#include "analysis/path_imbalance.h"
#include "analysis/path_slack.h"
#include "analysis/wait_states.h"

#include <string.h>

struct run {
    struct trace_builder *builder;
    track_id rank[2], sched[2];
};

static struct run run_of_two(void)
{
    struct run run = {.builder = fixture_builder(0)};
    for (int32_t i = 0; i < 2; i++) {
        run.rank[i] = graph_rank(run.builder, i);
        const struct trace_track *thread = trace_builder_track(run.builder, run.rank[i]);
        const struct trace_track track = {.kind = TRACK_KIND_SCHED, .name = trace_builder_string(run.builder, ""), .process = thread->process,
                                          .tid = thread->tid, .device = -1, .stream = -1, .start_ns = INT64_MIN, .end_ns = INT64_MIN};
        assert_int_equal(trace_builder_add_track(run.builder, &track, &run.sched[i]), 0);
    }
    return run;
}

static span_id call(struct run *run, int rank, int64_t begin_ns, int64_t end_ns, const char *name, enum span_kind kind, struct payload payload)
{
    const struct span span = {.track = run->rank[rank], .begin_ns = begin_ns, .end_ns = end_ns, .kind = kind, .parent = SPAN_NONE, .stack = STACK_NONE,
                              .name = trace_builder_string(run->builder, name), .category = trace_builder_string(run->builder, "mpi")};
    span_id handle;
    assert_int_equal(trace_builder_add_span(run->builder, &span, payload.kind ? &payload : NULL, &handle), 0);
    return handle;
}

static void message(struct run *run, int64_t send_ns, int64_t sent_ns, int64_t receive_ns, int64_t received_ns, uint64_t order)
{
    span_id send = call(run, 0, send_ns, sent_ns, "MPI_Send", SPAN_KIND_SEND, send_payload(run->builder, 1, 8, "standard", order));
    span_id receive = call(run, 1, receive_ns, received_ns, "MPI_Recv", SPAN_KIND_RECV, receive_payload(0, 8, order));
    graph_link(run->builder, LINK_KIND_MESSAGE, send, receive);
}

static void preempt(struct run *run, int rank, int64_t begin_ns, int64_t end_ns)
{
    graph_span(run->builder, run->sched[rank], begin_ns, end_ns, "preempted", SPAN_KIND_BLOCKED, NULL);
}

struct looked_at {
    struct made_graph made;
    struct critical_path *path;
    struct activities *activities;
    struct path_parts *parts;
    struct path_hops *hops;
};

static struct looked_at look(struct run *run)
{
    struct looked_at at = {.made = graph_made(run->builder, NULL)};
    assert_int_equal(critical_path_create(at.made.graph, &at.path, NULL), 0);
    assert_int_equal(activities_create(at.made.trace, NULL, &at.activities, NULL), 0);
    assert_int_equal(path_parts_create(at.path, at.activities, NULL, &at.parts, NULL), 0);
    assert_int_equal(path_hops_create(at.path, at.activities, NULL, &at.hops, NULL), 0);
    assert_int_equal(at.parts->total_ns, at.path->length_ns);
    return at;
}

static void look_away(struct looked_at *at)
{
    path_hops_destroy(at->hops);
    path_parts_destroy(at->parts);
    activities_destroy(at->activities);
    critical_path_destroy(at->path);
    graph_unmade(&at->made);
}

/* Time on the path in a state, of a call or (NULL) of everything. */
static int64_t part_ns(const struct looked_at *at, enum path_state state, const char *name)
{
    int64_t sum_ns = 0;
    for (size_t i = 0; i < at->parts->count; i++) {
        const struct path_part *part = &at->parts->parts[i];
        const char *of = trace_text(at->made.trace, at->activities->rows[part->activity].name);
        sum_ns += part->state == state && (!name || strcmp(of, name) == 0) ? part->time_ns : 0;
    }
    return sum_ns;
}

/* A send that waits for nobody has 30 of its 40 us no processor: 10 are its work, on the path and beside it. */
static void test_a_send_without_a_processor_does_not_work(void **state)
{
    struct run run = run_of_two();
    message(&run, 1000, 41000, 500, 2000, 0);
    message(&run, 45000, 45100, 3000, 46000, 1);
    preempt(&run, 0, 5000, 35000);
    struct looked_at at = look(&run);
    assert_int_equal(part_ns(&at, PATH_WORK, "MPI_Send"), 10000);
    assert_int_equal(part_ns(&at, PATH_DESCHEDULED, "MPI_Send"), 30000);
    int64_t off_ns = 0;
    for (size_t i = 0; i < at.hops->count; i++)
        off_ns += at.hops->hops[i].descheduled_ns;
    assert_int_equal(off_ns, 30000);
    struct path_imbalance *imbalance;
    assert_int_equal(path_imbalance_create(at.path, at.activities, NULL, NULL, &imbalance, NULL), 0);
    for (size_t i = 0; i < imbalance->count; i++) {
        const char *name = trace_text(at.made.trace, at.activities->rows[imbalance->rows[i].activity].name);
        assert_true(strcmp(name, "MPI_Send") != 0 || (imbalance->rows[i].path_ns == 10000 && imbalance->rows[i].total_ns == 10100));
    }
    path_imbalance_destroy(imbalance);
    struct path_slack *slack;
    assert_int_equal(path_slack_create(at.path, at.activities, NULL, &slack, NULL), 0);
    for (size_t i = 0; i < slack->count; i++) {
        const char *name = trace_text(at.made.trace, at.activities->rows[slack->rows[i].activity].name);
        assert_true(strcmp(name, "MPI_Send") != 0 || slack->rows[i].time_ns == 10100);
    }
    path_slack_destroy(slack);
    look_away(&at);
    (void)state;
}

/* A receive without a processor waits until the message is sent, whatever its thread could have done; from then on it waits for a processor. */
static void test_a_wait_ends_with_its_release(void **state)
{
    struct run run = run_of_two();
    message(&run, 10000, 10100, 500, 60000, 0);
    preempt(&run, 1, 600, 8000);
    preempt(&run, 1, 9000, 59000);
    struct looked_at at = look(&run);
    assert_int_equal(part_ns(&at, PATH_EDGE, NULL), 1000);
    assert_int_equal(part_ns(&at, PATH_DESCHEDULED, NULL), 49000);
    struct wait_states *waits;
    assert_int_equal(wait_states_create(at.made.trace, NULL, &waits, NULL), 0);
    assert_int_equal(waits->sums[WAIT_LATE_SENDER].time_ns, 10000 - 500);
    wait_states_destroy(waits);
    look_away(&at);
    (void)state;
}

/*
 * A barrier: rank 0, without a processor for 6 of the 9 us since both were in step, comes last. Rank 1 waits 8 us for it, 6 of them for the processor that rank 0 had not, and
 * is preempted for 3 of the 5 us between rank 0's exit and its own.
 */
static void test_waits_are_charged_to_the_want_of_a_processor(void **state)
{
    struct run run = run_of_two();
    const int64_t begins[2][2] = {{1000, 1000}, {10000, 2000}}, ends[2][2] = {{1000, 1000}, {11000, 16000}};
    for (int i = 0; i < 2; i++) {
        struct payload payload = {.kind = PAYLOAD_COLLECTIVE};
        const span_id members[] = {call(&run, 0, begins[i][0], ends[i][0], "MPI_Barrier", SPAN_KIND_COLLECTIVE, payload),
                                   call(&run, 1, begins[i][1], ends[i][1], "MPI_Barrier", SPAN_KIND_COLLECTIVE, payload)};
        graph_group(run.builder, LINK_KIND_COLLECTIVE, members, 2);
    }
    preempt(&run, 0, 2000, 8000);
    preempt(&run, 1, 12000, 15000);
    struct looked_at at = look(&run);
    struct wait_states *waits;
    assert_int_equal(wait_states_create(at.made.trace, NULL, &waits, NULL), 0);
    assert_int_equal(waits->sums[WAIT_BARRIER].time_ns, 8000);
    assert_int_equal(waits->sums[WAIT_BARRIER_COMPLETION].time_ns, 5000 - 3000);
    int64_t preempted_ns = 0, all_ns = 0;
    for (size_t i = 0; i < waits->delay_count; i++) {
        all_ns += waits->delays[i].direct_ns;
        preempted_ns += strcmp(trace_text(at.made.trace, waits->delays[i].name), "preempted") == 0 ? waits->delays[i].direct_ns : 0;
    }
    assert_int_equal(all_ns, 8000);
    assert_int_equal(preempted_ns, 6000);
    assert_int_equal(part_ns(&at, PATH_DESCHEDULED, NULL), 6000 + 3000);
    wait_states_destroy(waits);
    look_away(&at);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_send_without_a_processor_does_not_work),
        cmocka_unit_test(test_a_wait_ends_with_its_release),
        cmocka_unit_test(test_waits_are_charged_to_the_want_of_a_processor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
