/* SPDX-License-Identifier: MIT */
/* Changed weights on graphs of small made traces: what a filter addresses, balance, network, and what the path consists of. */
#include "../trace/trace_fixture.h"

#include "analysis/path_hops.h"
#include "analysis/path_imbalance.h"
#include "analysis/path_slack.h"
#include "analysis/what_if.h"
#include "base/error.h"

#include <errno.h>
#include <math.h>

/* Two ranks that compute, then meet in a collective twice. Rank 0: 10 + 30, rank 1: 50 + 20 of code; the collective takes 5. */
struct fixture {
    struct trace *trace;
    struct dependency_graph *graph;
    struct activities *activities;
};

static track_id add_rank(struct trace_builder *builder, int32_t rank)
{
    struct trace_process process = {.pid = 10 + rank, .rank = rank, .end_ns = INT64_MIN, .parent = PROCESS_NONE, .exit_status = -1};
    process_id id;
    node_id node;
    track_id track;
    struct trace_node host = {.name = trace_builder_string(builder, rank ? "b" : "a")};
    assert_int_equal(trace_builder_add_node(builder, &host, &node), 0);
    process.node = node;
    assert_int_equal(trace_builder_add_process(builder, &process, &id), 0);
    struct trace_track thread = {.kind = TRACK_KIND_THREAD, .process = id, .tid = 10 + rank, .device = -1, .stream = -1,
                                 .name = trace_builder_string(builder, "main"), .start_ns = INT64_MIN, .end_ns = INT64_MIN};
    assert_int_equal(trace_builder_add_track(builder, &thread, &track), 0);
    return track;
}

static void add_call(struct trace_builder *builder, track_id track, int64_t begin_ns, int64_t end_ns, uint64_t bytes)
{
    struct span span = {.track = track, .begin_ns = begin_ns, .end_ns = end_ns, .name = trace_builder_string(builder, "MPI_Allreduce"),
                        .category = trace_builder_string(builder, "mpi"), .kind = SPAN_KIND_COLLECTIVE, .parent = SPAN_NONE,
                        .stack = STACK_NONE};
    struct payload payload = {.kind = PAYLOAD_COLLECTIVE, .present = UINT32_C(1) << FIELD_COLLECTIVE_bytes_sent};
    payload.fields[FIELD_COLLECTIVE_bytes_sent].u64 = bytes;
    span_id handle;
    assert_int_equal(trace_builder_add_span(builder, &span, &payload, &handle), 0);
}

static void add_samples(struct trace_builder *builder, track_id track, const char *function, int64_t begin_ns, int count)
{
    struct trace_frame frame = {.function = trace_builder_string(builder, function), .module = MODULE_NONE,
                                .file = trace_builder_string(builder, "dir/code.c"), .line = 7};
    frame_id leaf;
    stack_id stack;
    assert_int_equal(trace_builder_add_frame(builder, &frame, &leaf), 0);
    assert_int_equal(trace_builder_add_stack(builder, STACK_NONE, leaf, &stack), 0);
    for (int i = 0; i < count; i++) {
        struct sample sample = {.time_ns = begin_ns + i, .weight = 1, .stack = stack, .cpu = UINT16_MAX, .event = SAMPLE_EVENT_CPU_CLOCK};
        assert_int_equal(trace_builder_add_sample(builder, track, &sample), 0);
    }
}

static const int64_t enter_ns[2][2] = {{10, 85}, {50, 75}}, leave_ns[2] = {55, 90};

static struct trace *make_trace(void)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id tracks[2] = {add_rank(builder, 0), add_rank(builder, 1)};
    for (int rank = 0; rank < 2; rank++)
        for (int call = 0; call < 2; call++)
            add_call(builder, tracks[rank], enter_ns[rank][call], leave_ns[call], call ? 40 : 0);
    add_samples(builder, tracks[1], "solve", 0, 30);
    add_samples(builder, tracks[1], "read", 30, 10);
    add_samples(builder, tracks[0], "solve", 60, 20);
    return fixture_finish(builder);
}

static uint32_t point(struct graph_builder *builder, int64_t time_ns, enum interval_kind kind, uint32_t span)
{
    uint32_t number;
    assert_int_equal(graph_builder_add_point(builder, time_ns, kind, (span_id){span}, 0, &number), 0);
    return number;
}

static struct fixture start(void)
{
    struct fixture fixture = {.trace = make_trace()};
    struct graph_builder *builder;
    uint32_t enter[2][2], leave[2][2], lane;
    assert_int_equal(graph_builder_create(fixture.trace, &builder), 0);
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_int_equal(graph_builder_add_lane(builder, (track_id){rank}, 0, &lane), 0);
        point(builder, 0, INTERVAL_WORK, ID_NONE);
        for (uint32_t call = 0; call < 2; call++) {
            enter[rank][call] = point(builder, enter_ns[rank][call], INTERVAL_WORK, ID_NONE);
            leave[rank][call] = point(builder, leave_ns[call], INTERVAL_WAIT, rank * 2 + call);
        }
    }
    for (uint32_t call = 0; call < 2; call++) {
        uint32_t join;
        assert_int_equal(graph_builder_add_join(builder, &join), 0);
        for (uint32_t rank = 0; rank < 2; rank++) {
            assert_int_equal(graph_builder_add_edge(builder, enter[rank][call], join, EDGE_RULE_COLLECTIVE, CONFIDENCE_CERTAIN, 0), 0);
            assert_int_equal(graph_builder_add_edge(builder, join, leave[rank][call], EDGE_RULE_COLLECTIVE, CONFIDENCE_CERTAIN, 1), 0);
        }
    }
    assert_int_equal(graph_builder_finish(builder, &fixture.graph, NULL), 0);
    graph_builder_destroy(builder);
    assert_int_equal(activities_create(fixture.trace, NULL, &fixture.activities, NULL), 0);
    return fixture;
}

static void end(struct fixture *fixture)
{
    activities_destroy(fixture->activities);
    dependency_graph_destroy(fixture->graph);
    trace_unref(fixture->trace);
}

static int64_t predict(const struct fixture *fixture, const struct what_if_options *options)
{
    struct what_if *what_if;
    struct error err = ERROR_INIT;
    int result = what_if_create(fixture->graph, fixture->activities, options, &what_if, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(result, 0);
    assert_int_equal(what_if->measured_ns, 90);
    assert_int_equal(what_if->replayed_ns, 90);
    assert_int_equal(what_if->path->length_ns, what_if->predicted_ns);
    int64_t predicted_ns = what_if->predicted_ns;
    what_if_destroy(what_if);
    return predicted_ns;
}

static int64_t scale(const struct fixture *fixture, const char *text)
{
    struct trace_filter *filter;
    struct what_if_scale scale;
    assert_int_equal(what_if_parse_scale(text, &filter, &scale.factor, NULL), 0);
    scale.filter = filter;
    struct what_if_options options = {.scales = &scale, .scale_count = 1};
    int64_t predicted_ns = predict(fixture, &options);
    trace_filter_destroy(filter);
    return predicted_ns;
}

static void test_a_filter_addresses_own_time_and_releases_not_waits(void **state)
{
    struct fixture fixture = start();
    assert_int_equal(scale(&fixture, "kind=kernel:0"), 90);
    assert_int_equal(scale(&fixture, "kind=compute,rank=1:0.5"), 25 + 5 + 30 + 5);
    assert_int_equal(scale(&fixture, "kind=compute,rank=1:0"), 10 + 5 + 30 + 5);
    assert_int_equal(scale(&fixture, "kind=compute,rank=0:0.1"), 50 + 5 + 20 + 5); /* rank 1 is the longer one now */
    assert_int_equal(scale(&fixture, "kind=compute:2"), 100 + 5 + 60 + 5);
    assert_int_equal(scale(&fixture, "kind=collective:0"), 80); /* its 5 each, not the waits */
    assert_int_equal(scale(&fixture, "category=mpi,rank=0:3"), 50 + 15 + 30 + 15);
    assert_int_equal(scale(&fixture, "rank=1:0"), 10 + 5 + 30 + 5);
    end(&fixture);
}

static void test_functions_are_scaled_by_the_samples_of_each_stretch(void **state)
{
    struct fixture fixture = start();
    /* Rank 1's first stretch: 30 of 40 samples are solve's. Its second one has none of its own: as the lane, which has the same. */
    assert_int_equal(scale(&fixture, "kind=compute,name=read,rank=1:0"), 38 + 5 + 30 + 5);
    /* Rank 0's second stretch has 20 samples, all of solve: all of it goes, and rank 1's quarter of 20 that is not solve's stays. */
    assert_int_equal(scale(&fixture, "name=solve:0"), 13 + 5 + 5 + 5);
    end(&fixture);
}

static void test_balanced_ranks_take_the_average_between_collectives(void **state)
{
    struct fixture fixture = start();
    struct what_if_options options = {.balance_ranks = true};
    assert_int_equal(predict(&fixture, &options), 30 + 5 + 25 + 5);
    end(&fixture);
}

static void test_the_network_takes_latency_and_size(void **state)
{
    struct fixture fixture = start();
    struct what_if_options options = {.network = true, .latency_ns = 0, .bytes_per_second = INFINITY};
    assert_int_equal(predict(&fixture, &options), 80);
    options.latency_ns = 7;
    assert_int_equal(predict(&fixture, &options), 50 + 7 + 30 + 7);
    options.bytes_per_second = 4e9; /* 40 bytes: 10 ns */
    assert_int_equal(predict(&fixture, &options), 50 + 7 + 30 + 17);
    end(&fixture);
}

static void test_requests_are_parsed_or_refused(void **state)
{
    struct trace_filter *filter;
    struct what_if_options options = {.network = false};
    double factor;
    assert_int_equal(what_if_parse_scale("name=a:b\\,c:1.5", &filter, &factor, NULL), 0); /* the last colon */
    assert_true(factor == 1.5);
    trace_filter_destroy(filter);
    static const char *const bad[] = {"name=a", "name=a:", "name=a:-1", "name=a:inf", "name=a:nan", "what=a:1", "kind=no:1", ":x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(what_if_parse_scale(bad[i], &filter, &factor, NULL), -EINVAL);
    assert_int_equal(what_if_parse_network("2us,10G", &options, NULL), 0);
    assert_int_equal(options.latency_ns, 2000);
    assert_true(options.bytes_per_second == 10.0 * (1 << 30));
    assert_int_equal(what_if_parse_network("0,inf", &options, NULL), 0);
    assert_true(isinf(options.bytes_per_second));
    static const char *const bad_networks[] = {"", "1us", "x,1G", "1us,", "1us,0", "1us,x", "-1,inf"};
    for (size_t i = 0; i < sizeof bad_networks / sizeof *bad_networks; i++)
        assert_int_equal(what_if_parse_network(bad_networks[i], &options, NULL), -EINVAL);
}

static void test_parts_hops_and_imbalance_of_the_path(void **state)
{
    struct fixture fixture = start();
    struct critical_path *path;
    struct path_parts *parts;
    struct path_hops *hops;
    struct path_imbalance *imbalance;
    struct path_slack *slack;
    assert_int_equal(critical_path_create(fixture.graph, &path, NULL), 0);
    assert_int_equal(path_parts_create(path, fixture.activities, NULL, &parts, NULL), 0);
    assert_int_equal(parts->total_ns, 90);
    assert_int_equal(parts->samples, 60);
    int64_t solve_ns = 0, sum_ns = 0;
    uint32_t frame_count;
    const struct trace_frame *frames = trace_frames(fixture.trace, &frame_count);
    for (size_t i = 0; i < parts->count; i++) {
        const struct path_part *part = &parts->parts[i];
        sum_ns += part->time_ns;
        if (part->frame.index < frame_count && strcmp(trace_text(fixture.trace, frames[part->frame.index].function), "solve") == 0)
            solve_ns += part->time_ns;
    }
    assert_int_equal(sum_ns, 90);
    assert_in_range(solve_ns, 37 + 30, 38 + 30); /* three quarters of 50, and all of 30 */
    assert_int_equal(path_hops_create(path, fixture.activities, NULL, &hops, NULL), 0);
    /* rank 1's code, the collective to rank 0, its code, its own last collective */
    assert_int_equal(hops->count, 4);
    assert_int_equal(hops->hops[1].state, PATH_EDGE);
    assert_int_equal(hops->hops[1].track.index, 0);
    assert_int_equal(hops->hops[2].duration_ns, 30);
    assert_int_equal(path_imbalance_create(path, fixture.activities, NULL, NULL, &imbalance, NULL), 0);
    assert_int_equal(imbalance->allocation_ns, 180);
    assert_int_equal(imbalance->critical_ns, 110 + 10); /* code; the two collectives of whom came last */
    assert_int_equal(imbalance->unused_ns, 60);
    assert_int_equal(imbalance->rows[0].activity, ACTIVITY_NONE);
    assert_int_equal(imbalance->rows[0].imbalance_ns, 80 - 55);
    /* Rank 0's code of 10 could take 40 longer, but its other stretch is critical; rank 1's second one has 10 of slack, its first none. */
    assert_int_equal(path_slack_create(path, fixture.activities, NULL, &slack, NULL), 0);
    assert_int_equal(slack->rows[0].slack_ns, 0);
    for (size_t i = 0; i < slack->count; i++)
        if (slack->rows[i].activity == ACTIVITY_NONE)
            assert_int_equal(slack->rows[i].time_ns, slack->rows[i].track.index ? 70 : 40);
    path_slack_destroy(slack);
    path_imbalance_destroy(imbalance);
    path_hops_destroy(hops);
    path_parts_destroy(parts);
    critical_path_destroy(path);
    end(&fixture);
}

/* A hundred rounds of two activities, and something else at the end. */
static void test_loops_fold(void **state)
{
    struct fixture fixture = start();
    struct graph_builder *builder;
    struct dependency_graph *graph;
    struct critical_path *path;
    struct path_hops *hops;
    uint32_t lane;
    int64_t now_ns = 0;
    assert_int_equal(graph_builder_create(fixture.trace, &builder), 0);
    assert_int_equal(graph_builder_add_lane(builder, (track_id){0}, 0, &lane), 0);
    point(builder, 0, INTERVAL_WORK, ID_NONE);
    for (int round = 0; round < 100; round++) {
        point(builder, now_ns += 3, INTERVAL_WORK, ID_NONE);
        point(builder, now_ns += 1, INTERVAL_DESCHEDULED, ID_NONE);
        point(builder, now_ns += 2, INTERVAL_WORK, 0);
    }
    point(builder, now_ns += 5, INTERVAL_WAIT, 0);
    assert_int_equal(graph_builder_finish(builder, &graph, NULL), 0);
    graph_builder_destroy(builder);
    assert_int_equal(critical_path_create(graph, &path, NULL), 0);
    assert_int_equal(path_hops_create(path, fixture.activities, NULL, &hops, NULL), 0);
    assert_int_equal(hops->fold_count, 2);
    assert_int_equal(hops->folds[0].period, 2);
    assert_int_equal(hops->folds[0].repeats, 100);
    assert_int_equal(hops->folds[0].time_ns, 600);
    struct path_hop hop = path_fold_hop(hops, &hops->folds[0], 0);
    assert_int_equal(hop.duration_ns, 400);
    assert_int_equal(hop.descheduled_ns, 100);
    assert_int_equal(hops->hops[hops->folds[1].first].state, PATH_UNEXPLAINED);
    path_hops_destroy(hops);
    critical_path_destroy(path);
    dependency_graph_destroy(graph);
    end(&fixture);
}

/* Rank 1 waits until 105 for what rank 0 does from 0 to 100, then works 20. Without an edge of medium confidence it waits that long whatever rank 0 does. */
static void test_what_rests_on_unsure_edges_is_told(void **state)
{
    static const enum confidence confidences[] = {CONFIDENCE_CERTAIN, CONFIDENCE_HIGH, CONFIDENCE_MEDIUM};
    struct trace *trace = make_trace();
    struct activities *activities;
    assert_int_equal(activities_create(trace, NULL, &activities, NULL), 0);
    for (size_t i = 0; i < sizeof confidences / sizeof *confidences; i++) {
        struct graph_builder *builder;
        struct dependency_graph *graph;
        struct trace_filter *filter;
        struct what_if_scale scale;
        struct what_if *what_if;
        uint32_t lane;
        assert_int_equal(graph_builder_create(trace, &builder), 0);
        assert_int_equal(graph_builder_add_lane(builder, (track_id){0}, 0, &lane), 0);
        point(builder, 0, INTERVAL_WORK, ID_NONE);
        uint32_t cause = point(builder, 100, INTERVAL_WORK, ID_NONE);
        assert_int_equal(graph_builder_add_lane(builder, (track_id){1}, 0, &lane), 0);
        point(builder, 0, INTERVAL_WORK, ID_NONE);
        uint32_t released = point(builder, 105, INTERVAL_WAIT, 2);
        point(builder, 125, INTERVAL_WORK, ID_NONE);
        assert_int_equal(graph_builder_add_edge(builder, cause, released, EDGE_RULE_MESSAGE, confidences[i], 1), 0);
        assert_int_equal(graph_builder_finish(builder, &graph, NULL), 0);
        graph_builder_destroy(builder);
        assert_int_equal(what_if_parse_scale("kind=compute,rank=0:0.5", &filter, &scale.factor, NULL), 0);
        scale.filter = filter;
        struct what_if_options options = {.scales = &scale, .scale_count = 1};
        assert_int_equal(what_if_create(graph, activities, &options, &what_if, NULL), 0);
        assert_int_equal(what_if->replayed_ns, 125);
        assert_int_equal(what_if->predicted_ns, 75);
        assert_int_equal(what_if->bounds.sure_edges_ns, confidences[i] == CONFIDENCE_MEDIUM ? 125 : 75);
        assert_true(fabs(what_if_unsure_share(what_if) - (confidences[i] == CONFIDENCE_MEDIUM)) < 1e-9);
        assert_int_equal(what_if->bounds.low_ns, 75);
        assert_int_equal(what_if->bounds.high_ns, what_if->bounds.sure_edges_ns);
        what_if_destroy(what_if);
        trace_filter_destroy(filter);
        dependency_graph_destroy(graph);
    }
    activities_destroy(activities);
    trace_unref(trace);
    (void)state;
}

static void test_the_unsure_share_is_one_of_what_changes(void **state)
{
    static const struct {
        int64_t replayed_ns, predicted_ns, sure_edges_ns;
        double share;
    } cases[] = {
        {100, 60, 60, 0}, {100, 60, 100, 1}, {100, 60, 80, 0.5}, {100, 140, 110, 0.75},
        {100, 99, 108, 9.0 / 17}, {100, 101, 92, 9.0 / 17}, {100, 50, 40, 10.0 / 70}, {100, 100, 110, 0.5}, /* opposite ways */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct what_if what_if = {.replayed_ns = cases[i].replayed_ns, .predicted_ns = cases[i].predicted_ns, .bounds.sure_edges_ns = cases[i].sure_edges_ns};
        assert_true(fabs(what_if_unsure_share(&what_if) - cases[i].share) < 1e-9);
    }
    struct what_if same = {.replayed_ns = 100, .predicted_ns = 100, .bounds.sure_edges_ns = 100};
    assert_true(isnan(what_if_unsure_share(&same)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_rests_on_unsure_edges_is_told),
        cmocka_unit_test(test_the_unsure_share_is_one_of_what_changes),
        cmocka_unit_test(test_a_filter_addresses_own_time_and_releases_not_waits),
        cmocka_unit_test(test_functions_are_scaled_by_the_samples_of_each_stretch),
        cmocka_unit_test(test_balanced_ranks_take_the_average_between_collectives),
        cmocka_unit_test(test_the_network_takes_latency_and_size),
        cmocka_unit_test(test_requests_are_parsed_or_refused),
        cmocka_unit_test(test_parts_hops_and_imbalance_of_the_path),
        cmocka_unit_test(test_loops_fold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
