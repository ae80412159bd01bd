/* SPDX-License-Identifier: MIT */
/* Edges of OpenMP on one region of two threads made by hand. */
#include "graph_fixture.h"

struct team {
    struct trace_builder *builder;
    track_id main, worker;
};

static struct team team_of(void)
{
    struct team team = {.builder = fixture_builder(0)};
    team.main = fixture_track(team.builder, TRACK_KIND_THREAD, "main", 42);
    team.worker = fixture_track(team.builder, TRACK_KIND_THREAD, "worker", 43);
    return team;
}

/* A region from 100 to 1000: main's part 120 to 990, the worker's 150 to 990, its end barrier from `main_ns` and `worker_ns` on. */
static void region(const struct team *team, int64_t main_ns, int64_t worker_ns)
{
    span_id parallel = fixture_span(team->builder, team->main, 100, 1000, "region", SPAN_KIND_PARALLEL);
    const span_id parts[] = {fixture_span(team->builder, team->main, 120, 990, "part", SPAN_KIND_IMPLICIT_TASK),
                             fixture_span(team->builder, team->worker, 150, 990, "part", SPAN_KIND_IMPLICIT_TASK)};
    const span_id barriers[] = {fixture_span(team->builder, team->main, main_ns, 980, "barrier", SPAN_KIND_BARRIER),
                                fixture_span(team->builder, team->worker, worker_ns, 985, "barrier", SPAN_KIND_BARRIER)};
    for (int i = 0; i < 2; i++) {
        graph_link(team->builder, LINK_KIND_FORK, parallel, parts[i]);
        graph_link(team->builder, LINK_KIND_JOIN, parts[i], parallel);
    }
    graph_group(team->builder, LINK_KIND_BARRIER, barriers, 2);
}

static void test_a_region_forks_waits_and_joins(void **state)
{
    struct team team = team_of();
    region(&team, 500, 970);
    struct made_graph made = graph_made(team.builder, NULL);
    assert_edge(&made, team.main, 100, team.worker, 150, EDGE_RULE_FORK, CONFIDENCE_CERTAIN, true);
    assert_edge(&made, team.worker, 970, team.main, 980, EDGE_RULE_BARRIER, CONFIDENCE_CERTAIN, true);
    assert_edge(&made, team.worker, 990, team.main, 1000, EDGE_RULE_JOIN, CONFIDENCE_CERTAIN, false);
    assert_int_equal(edges_by(&made, EDGE_RULE_FORK), 1); /* main's own part is its own order */
    assert_int_equal(kind_before(&made, team.main, 980), INTERVAL_WAIT);
    assert_int_equal(kind_before(&made, team.worker, 985), INTERVAL_WORK); /* it came last */
    assert_int_equal(made.graph->counts.unexplained, 0);
    graph_unmade(&made);
    (void)state;
}

static void test_a_worker_is_idle_between_regions(void **state)
{
    struct team team = team_of();
    region(&team, 500, 970);
    span_id parallel = fixture_span(team.builder, team.main, 5000, 6000, "region", SPAN_KIND_PARALLEL);
    graph_link(team.builder, LINK_KIND_FORK, parallel, fixture_span(team.builder, team.worker, 5010, 5900, "part", SPAN_KIND_IMPLICIT_TASK));
    struct made_graph made = graph_made(team.builder, NULL);
    assert_int_equal(kind_before(&made, team.worker, 5010), INTERVAL_IDLE);
    assert_edge(&made, team.main, 5000, team.worker, 5010, EDGE_RULE_FORK, CONFIDENCE_CERTAIN, true);
    assert_int_equal(kind_before(&made, team.main, 5000), INTERVAL_WORK);
    graph_unmade(&made);
    (void)state;
}

static void test_a_team_of_one_waits_for_nobody(void **state)
{
    struct team team = team_of();
    span_id parallel = fixture_span(team.builder, team.main, 100, 1000, "region", SPAN_KIND_PARALLEL);
    span_id part = fixture_span(team.builder, team.main, 120, 980, "part", SPAN_KIND_IMPLICIT_TASK);
    fixture_span(team.builder, team.main, 900, 970, "barrier", SPAN_KIND_BARRIER);
    graph_link(team.builder, LINK_KIND_FORK, parallel, part);
    graph_link(team.builder, LINK_KIND_JOIN, part, parallel);
    struct made_graph made = graph_made(team.builder, NULL);
    assert_int_equal(made.graph->counts.unexplained, 0);
    assert_int_equal(kind_before(&made, team.main, 1000), INTERVAL_WORK);
    assert_int_equal(kind_before(&made, team.main, 970), INTERVAL_WORK);
    graph_unmade(&made);
    (void)state;
}

static void test_tasks_run_in_a_barrier_hold_it_up(void **state)
{
    struct team team = team_of();
    region(&team, 300, 400);
    span_id made_at = fixture_span(team.builder, team.main, 200, 210, "make", SPAN_KIND_TASK_CREATE);
    graph_link(team.builder, LINK_KIND_TASK, made_at, fixture_span(team.builder, team.worker, 450, 975, "task", SPAN_KIND_TASK));
    struct made_graph made = graph_made(team.builder, NULL);
    assert_edge(&made, team.main, 200, team.worker, 450, EDGE_RULE_TASK_CREATE, CONFIDENCE_CERTAIN, false);
    assert_edge(&made, team.worker, 975, team.main, 980, EDGE_RULE_BARRIER, CONFIDENCE_CERTAIN, true);
    assert_int_equal(kind_before(&made, team.worker, 975), INTERVAL_WORK);
    graph_unmade(&made);
    (void)state;
}

/* Who left first may make tasks that another runs before it leaves: those hold nobody up. */
static void test_tasks_from_behind_a_barrier_do_not(void **state)
{
    struct team team = team_of();
    const span_id barriers[] = {fixture_span(team.builder, team.main, 300, 310, "barrier", SPAN_KIND_BARRIER),
                                fixture_span(team.builder, team.worker, 100, 900, "barrier", SPAN_KIND_BARRIER)};
    graph_group(team.builder, LINK_KIND_BARRIER, barriers, 2);
    span_id made_at = fixture_span(team.builder, team.main, 400, 410, "make", SPAN_KIND_TASK_CREATE);
    graph_link(team.builder, LINK_KIND_TASK, made_at, fixture_span(team.builder, team.worker, 450, 890, "task", SPAN_KIND_TASK));
    struct made_graph made = graph_made(team.builder, NULL);
    assert_int_equal(made.graph->counts.backward, 0);
    assert_int_equal(kind_before(&made, team.main, 310), INTERVAL_WORK);
    assert_edge(&made, team.main, 400, team.worker, 450, EDGE_RULE_TASK_CREATE, CONFIDENCE_CERTAIN, true);
    graph_unmade(&made);
    (void)state;
}

static void test_dependences_and_waits_for_tasks(void **state)
{
    struct team team = team_of();
    span_id first = fixture_span(team.builder, team.worker, 100, 500, "first", SPAN_KIND_TASK);
    span_id second = fixture_span(team.builder, team.worker, 520, 700, "second", SPAN_KIND_TASK);
    span_id third = fixture_span(team.builder, team.main, 510, 600, "third", SPAN_KIND_TASK);
    span_id wait = fixture_span(team.builder, team.main, 50, 720, "wait", SPAN_KIND_TASKWAIT);
    graph_link(team.builder, LINK_KIND_DEPEND, first, third);
    graph_link(team.builder, LINK_KIND_JOIN, second, wait);
    graph_link(team.builder, LINK_KIND_JOIN, third, wait);
    struct made_graph made = graph_made(team.builder, NULL);
    assert_edge(&made, team.worker, 500, team.main, 510, EDGE_RULE_TASK_DEPEND, CONFIDENCE_CERTAIN, true);
    assert_edge(&made, team.worker, 700, team.main, 720, EDGE_RULE_TASKWAIT, CONFIDENCE_CERTAIN, true);
    assert_int_equal(edges_by(&made, EDGE_RULE_TASKWAIT), 1);
    graph_unmade(&made);
    (void)state;
}

static span_id lock_at(const struct team *team, track_id track, int64_t begin_ns, int64_t end_ns, uint64_t wait_ns, uint64_t held_ns, enum span_kind kind)
{
    struct payload payload = {.kind = PAYLOAD_LOCK};
    set_u64(&payload, FIELD_LOCK_lock, 7);
    set_u64(&payload, FIELD_LOCK_wait_ns, wait_ns);
    set_u64(&payload, FIELD_LOCK_held_ns, held_ns);
    return graph_span(team->builder, track, begin_ns, end_ns, "lock", kind, &payload);
}

static void test_a_critical_section_waits_for_the_one_before(void **state)
{
    struct team team = team_of();
    span_id held = lock_at(&team, team.main, 100, 500, 0, 400, SPAN_KIND_CRITICAL), asked = lock_at(&team, team.worker, 200, 900, 310, 390, SPAN_KIND_CRITICAL);
    lock_at(&team, team.main, 2000, 2100, 5, 95, SPAN_KIND_CRITICAL); /* free: having it takes 5 ns */
    graph_link(team.builder, LINK_KIND_LOCK, held, asked);
    struct made_graph made = graph_made(team.builder, NULL);
    assert_edge(&made, team.main, 500, team.worker, 510, EDGE_RULE_LOCK, CONFIDENCE_CERTAIN, true);
    assert_int_equal(kind_before(&made, team.worker, 510), INTERVAL_WAIT);
    assert_int_equal(kind_before(&made, team.worker, 900), INTERVAL_WORK);
    assert_int_equal(kind_before(&made, team.main, 2005), INTERVAL_WORK);
    assert_int_equal(made.graph->counts.unexplained, 0);
    graph_unmade(&made);
    (void)state;
}

/* omp_set_lock: the span ends with having it; giving it back is a moment of the thread's own. */
static void test_a_lock_is_given_back_outside_its_span(void **state)
{
    struct team team = team_of();
    span_id held = lock_at(&team, team.main, 100, 110, 10, 400, SPAN_KIND_LOCK), asked = lock_at(&team, team.worker, 200, 520, 320, 80, SPAN_KIND_LOCK);
    fixture_span(team.builder, team.main, 300, 700, "work", SPAN_KIND_RANGE);
    graph_link(team.builder, LINK_KIND_LOCK, held, asked);
    struct made_graph made = graph_made(team.builder, NULL);
    assert_edge(&made, team.main, 510, team.worker, 520, EDGE_RULE_LOCK, CONFIDENCE_CERTAIN, true);
    assert_int_equal(kind_before(&made, team.main, 510), INTERVAL_WORK);
    graph_unmade(&made);
    (void)state;
}

static void test_regions_are_found_without_links(void **state)
{
    struct team team = team_of();
    region(&team, 500, 970);
    struct made_graph made = graph_made(team.builder, &(struct graph_options){.infer_all = true});
    assert_edge(&made, team.main, 100, team.worker, 150, EDGE_RULE_FORK, CONFIDENCE_HIGH, true);
    assert_edge(&made, team.worker, 970, team.main, 980, EDGE_RULE_BARRIER, CONFIDENCE_HIGH, true);
    graph_unmade(&made);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_region_forks_waits_and_joins),
        cmocka_unit_test(test_a_worker_is_idle_between_regions),
        cmocka_unit_test(test_a_team_of_one_waits_for_nobody),
        cmocka_unit_test(test_tasks_run_in_a_barrier_hold_it_up),
        cmocka_unit_test(test_tasks_from_behind_a_barrier_do_not),
        cmocka_unit_test(test_dependences_and_waits_for_tasks),
        cmocka_unit_test(test_a_critical_section_waits_for_the_one_before),
        cmocka_unit_test(test_a_lock_is_given_back_outside_its_span),
        cmocka_unit_test(test_regions_are_found_without_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
