/* SPDX-License-Identifier: MIT */
/* Efficiencies: products and sums of factors hold for any inputs, what is unknown stays so, and a small run's times are added up right. */
#include "../trace/trace_fixture.h"

#include "analysis/efficiency.h"
#include "trace/select.h"

#include <math.h>

static double drawn(uint64_t *seed, double low, double high)
{
    return low + (high - low) * random_next(seed) / 2147483648.0;
}

/* Sums that could be: nobody is useful for longer than the run, averages under their maxima, parts within wholes. */
static struct efficiency_inputs draw_inputs(uint64_t *seed)
{
    struct efficiency_inputs inputs = {.mpi = true, .openmp = true, .devices = true, .nccl = true};
    double *value = inputs.value, run = drawn(seed, 1e6, 1e9);
    for (unsigned i = 0; i < EFFICIENCY_INPUT_COUNT; i++)
        value[i] = drawn(seed, 0.01, 0.3) * run;
    value[EFFICIENCY_INPUT_R] = run;
    value[EFFICIENCY_INPUT_P] = 4;
    value[EFFICIENCY_INPUT_T] = 8;
    value[EFFICIENCY_INPUT_N_DEVICES] = 2;
    value[EFFICIENCY_INPUT_SUM_U] = 8 * value[EFFICIENCY_INPUT_AVG_U];
    value[EFFICIENCY_INPUT_MAX_U] = drawn(seed, 0.4, 0.6) * run;
    value[EFFICIENCY_INPUT_MAX_O] = drawn(seed, 0.6, 0.9) * run;
    value[EFFICIENCY_INPUT_IDEAL] = drawn(seed, 0.9, 1) * run;
    value[EFFICIENCY_INPUT_I] = value[EFFICIENCY_INPUT_I_SER] + value[EFFICIENCY_INPUT_I_LB] + value[EFFICIENCY_INPUT_I_SCH];
    return inputs;
}

static void assert_near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-9 * fmax(1, fabs(expected))))
        fail_msg("%.12g, expected %.12g", found, expected);
}

static void test_factors_multiply_or_add_up_to_what_they_are_parts_of(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (int round = 0; round < 1000; round++) {
        struct efficiency_value at[EFFICIENCY_FACTOR_COUNT];
        struct efficiency_inputs inputs = draw_inputs(&seed);
        efficiency_compute(&inputs, at);
        assert_near(at[EFFICIENCY_HYBRID_PE].value, at[EFFICIENCY_HYBRID_LB].value * at[EFFICIENCY_HYBRID_COMM].value);
        assert_near(at[EFFICIENCY_HYBRID_PE].value, at[EFFICIENCY_HYBRID_MPI_PE].value * at[EFFICIENCY_HYBRID_OMP_PE].value);
        assert_near(at[EFFICIENCY_HYBRID_LB].value, at[EFFICIENCY_HYBRID_MPI_LB].value * at[EFFICIENCY_HYBRID_OMP_LB].value);
        assert_near(at[EFFICIENCY_HYBRID_COMM].value, at[EFFICIENCY_HYBRID_MPI_COMM].value * at[EFFICIENCY_HYBRID_OMP_COMM].value);
        assert_near(at[EFFICIENCY_HYBRID_MPI_COMM].value, at[EFFICIENCY_HYBRID_MPI_SER].value * at[EFFICIENCY_HYBRID_MPI_TRANSFER].value);
        assert_near(at[EFFICIENCY_ADD_PE].value, at[EFFICIENCY_ADD_PROCESS].value + at[EFFICIENCY_ADD_THREAD].value - 1);
        assert_near(at[EFFICIENCY_ADD_PROCESS].value, at[EFFICIENCY_ADD_PLB].value + at[EFFICIENCY_ADD_PCOMM].value - 1);
        assert_near(at[EFFICIENCY_ADD_PCOMM].value, at[EFFICIENCY_ADD_PTRANSFER].value + at[EFFICIENCY_ADD_PSER].value - 1);
        assert_near(at[EFFICIENCY_ADD_REGION].value, at[EFFICIENCY_ADD_REGION_LB].value + at[EFFICIENCY_ADD_REGION_REST].value - 1);
        assert_near(at[EFFICIENCY_TALP_OMP_PE].value,
                    at[EFFICIENCY_TALP_OMP_SER].value * at[EFFICIENCY_TALP_OMP_LB].value * at[EFFICIENCY_TALP_OMP_SCH].value);
        assert_near(at[EFFICIENCY_TALP_MPI_PE].value, at[EFFICIENCY_TALP_MPI_LB].value * at[EFFICIENCY_TALP_MPI_COMM].value);
        assert_near(at[EFFICIENCY_TALP_MPI_LB].value, at[EFFICIENCY_TALP_MPI_LB_IN].value * at[EFFICIENCY_TALP_MPI_LB_OUT].value);
        assert_near(at[EFFICIENCY_DEV_PE].value, at[EFFICIENCY_DEV_LB].value * at[EFFICIENCY_DEV_COMM].value * at[EFFICIENCY_DEV_ORCH].value);
        assert_near(at[EFFICIENCY_DEVN_PE].value, at[EFFICIENCY_DEVN_LB].value * at[EFFICIENCY_DEVN_COMM].value * at[EFFICIENCY_DEVN_ORCH].value);
        assert_int_equal(at[EFFICIENCY_POP_PE].status, EFFICIENCY_NOT_APPLICABLE); /* both: the hybrid models say it */
    }
}

static void test_what_is_not_known_is_said_and_not_guessed(void **state)
{
    (void)state;
    uint64_t seed = 3;
    struct efficiency_value at[EFFICIENCY_FACTOR_COUNT];
    struct efficiency_inputs inputs = draw_inputs(&seed);
    inputs.openmp = inputs.devices = inputs.nccl = false;
    inputs.value[EFFICIENCY_INPUT_IDEAL] = (double)NAN;
    inputs.ideal_reason = "no graph";
    efficiency_compute(&inputs, at);
    assert_int_equal(at[EFFICIENCY_POP_COMM].status, EFFICIENCY_KNOWN);
    assert_int_equal(at[EFFICIENCY_POP_SER].status, EFFICIENCY_NOT_SEPARABLE);
    assert_string_equal(at[EFFICIENCY_POP_SER].reason, "no graph");
    assert_int_equal(at[EFFICIENCY_HYBRID_PE].status, EFFICIENCY_NOT_APPLICABLE);
    assert_int_equal(at[EFFICIENCY_TALP_OMP_PE].status, EFFICIENCY_NOT_APPLICABLE);
    assert_int_equal(at[EFFICIENCY_DEV_PE].status, EFFICIENCY_NOT_APPLICABLE);
    for (unsigned i = 0; i < EFFICIENCY_FACTOR_COUNT; i++) {
        assert_true((at[i].status == EFFICIENCY_KNOWN) == (bool)isfinite(at[i].value));
        assert_true((at[i].status == EFFICIENCY_KNOWN) == !at[i].reason);
    }
}

struct world {
    struct trace_builder *builder;
    track_id lanes[4]; /* main thread and a worker of rank 0, then of rank 1 */
};

static span_id add(struct world *world, int lane, int64_t begin_ns, int64_t end_ns, const char *category, const char *name, enum span_kind kind)
{
    struct span span = {.track = world->lanes[lane], .begin_ns = begin_ns, .end_ns = end_ns, .kind = kind, .parent = SPAN_NONE, .stack = STACK_NONE,
                        .name = trace_builder_string(world->builder, name), .category = trace_builder_string(world->builder, category)};
    span_id handle;
    assert_int_equal(trace_builder_add_span(world->builder, &span, NULL, &handle), 0);
    return handle;
}

static void fork_part(struct world *world, span_id region, int lane, int64_t begin_ns, int64_t end_ns)
{
    struct trace_link link = {.kind = LINK_KIND_FORK, .confidence = CONFIDENCE_CERTAIN, .from = region};
    link.to = add(world, lane, begin_ns, end_ns, "openmp", "implicit task", SPAN_KIND_IMPLICIT_TASK);
    assert_int_equal(trace_builder_add_link(world->builder, &link), 0);
}

/* Both ranks leave MPI_Init at 100 and come to MPI_Finalize at 1100: one region each from 300, with a barrier at its end, then a barrier of MPI. */
static struct world two_ranks_begun(void)
{
    struct world world = {.builder = fixture_builder(0)};
    for (int32_t i = 0; i < 4; i++) {
        struct trace_process process = {.node = {0}, .pid = 100 + i, .rank = i / 2, .end_ns = 2000, .parent = PROCESS_NONE,
                                        .command = trace_builder_string(world.builder, "prog"), .exit_status = -1};
        process_id id = {(uint32_t)(1 + i / 2)};
        if (i % 2 == 0)
            assert_int_equal(trace_builder_add_process(world.builder, &process, &id), 0);
        struct trace_track track = {.kind = TRACK_KIND_THREAD, .name = trace_builder_string(world.builder, "thread"), .process = id, .tid = 100 + i,
                                    .device = -1, .stream = -1, .start_ns = INT64_MIN, .end_ns = INT64_MIN};
        assert_int_equal(trace_builder_add_track(world.builder, &track, &world.lanes[i]), 0);
    }
    for (int rank = 0; rank < 2; rank++) {
        int main = 2 * rank, worker = main + 1;
        int64_t end_ns = rank ? 900 : 700;
        add(&world, main, 0, 100, "mpi", "MPI_Init", SPAN_KIND_INIT);
        span_id region = add(&world, main, 300, end_ns, "openmp", "parallel", SPAN_KIND_PARALLEL);
        fork_part(&world, region, main, 310, end_ns);
        fork_part(&world, region, worker, 320, end_ns);
        add(&world, main, end_ns - 100, end_ns, "openmp", "barrier", SPAN_KIND_BARRIER);
        add(&world, worker, end_ns - 200, end_ns, "openmp", "barrier", SPAN_KIND_BARRIER);
        add(&world, worker, end_ns - 150, end_ns - 140, "openmp", "task", SPAN_KIND_TASK);
        add(&world, main, 1000, 1100, "mpi", "MPI_Barrier", SPAN_KIND_COLLECTIVE);
        add(&world, main, 1100, 1200, "mpi", "MPI_Finalize", SPAN_KIND_INIT);
    }
    return world;
}

static struct trace *two_ranks(void)
{
    struct world world = two_ranks_begun();
    return fixture_finish(world.builder);
}

static void test_times_of_a_small_run(void **state)
{
    (void)state;
    struct trace *trace = two_ranks();
    struct efficiency *run = NULL;
    struct error err = ERROR_INIT;
    if (efficiency_create(trace, NULL, NULL, &run, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(run->process_count, 2);
    assert_int_equal(run->thread_count, 4);
    assert_int_equal(run->end_ns - run->begin_ns, 1000);
    assert_false(run->whole_life);
    /* Main threads: 200 before the region, parts without barriers, 1000 - end behind it. Workers: parts and a task. */
    const int64_t useful_ns[4] = {200 + 290 + 300, 180 + 10, 200 + 490 + 100, 380 + 10}, openmp_ns[4] = {10 + 100, 190, 110, 190};
    for (int i = 0; i < 4; i++) {
        const struct efficiency_thread *thread = &run->threads[i];
        assert_int_equal(thread->useful_ns, useful_ns[i]);
        assert_int_equal(thread->openmp_ns, openmp_ns[i]);
        assert_int_equal(thread->mpi_ns, i % 2 ? 0 : 100);
        assert_int_equal(thread->idle_in_mpi_ns, i % 2 ? 100 : 0);
        assert_int_equal(thread->useful_ns + thread->openmp_ns + thread->mpi_ns + thread->device_ns + thread->idle_ns, 1000);
    }
    const struct efficiency_process *first = &run->processes[0];
    assert_int_equal(first->serial_useful_ns, 500);
    assert_int_equal(first->regions_ns, 400);
    assert_int_equal(first->regions_useful_ns, 290 + 190);
    assert_int_equal(first->imbalance_ns, 290 * 2 - 480);
    assert_int_equal(first->regions_idle_ns, 110 + 210);
    assert_int_equal(first->regions_idle_least_ns, 110 * 2);
    const double *value = run->inputs.value;
    assert_near(value[EFFICIENCY_INPUT_SUM_U], 790 + 190 + 790 + 390);
    assert_near(value[EFFICIENCY_INPUT_U] + value[EFFICIENCY_INPUT_M] + value[EFFICIENCY_INPUT_I] + value[EFFICIENCY_INPUT_G], 1000);
    assert_near(value[EFFICIENCY_INPUT_I], value[EFFICIENCY_INPUT_I_SER] + value[EFFICIENCY_INPUT_I_LB] + value[EFFICIENCY_INPUT_I_SCH]);
    assert_near(run->values[EFFICIENCY_HYBRID_PE].value, 2160.0 / 4 / 1000);
    assert_true(isnan(value[EFFICIENCY_INPUT_V])); /* nobody says who had a processor */
    efficiency_destroy(run);
    trace_unref(trace);
}

/* The scheduler's lane of one of rank 0's threads. */
static void off_processor(struct world *world, int32_t tid, size_t count, const int64_t (*times_ns)[2], const char *const *names)
{
    struct trace_track track = {.kind = TRACK_KIND_SCHED, .name = trace_builder_string(world->builder, ""), .process = {1}, .tid = tid, .device = -1,
                                .stream = -1, .start_ns = INT64_MIN, .end_ns = INT64_MIN};
    track_id lane;
    assert_int_equal(trace_builder_add_track(world->builder, &track, &lane), 0);
    for (size_t i = 0; i < count; i++)
        fixture_span(world->builder, lane, times_ns[i][0], times_ns[i][1], names[i], SPAN_KIND_BLOCKED);
}

/* Of main: 100 before the region and 50 in it; who sleeps or is at a barrier loses no use by it. Of its worker: 50. */
static void test_a_thread_without_a_processor_is_not_useful(void **state)
{
    (void)state;
    static const int64_t main_ns[][2] = {{150, 250}, {260, 280}, {350, 400}, {650, 690}}, worker_ns[][2] = {{400, 450}};
    static const char *const main_names[] = {"preempted", "blocked", "preempted", "preempted"}, *const worker_names[] = {"preempted"};
    struct world world = two_ranks_begun();
    off_processor(&world, 100, 4, main_ns, main_names);
    off_processor(&world, 101, 1, worker_ns, worker_names);
    struct trace *trace = fixture_finish(world.builder);
    struct efficiency *run = NULL;
    assert_int_equal(efficiency_create(trace, NULL, NULL, &run, NULL), 0);
    const int64_t useful_ns[4] = {790 - 150, 190 - 50, 790, 390}, preempted_ns[4] = {150, 50, 0, 0};
    for (int i = 0; i < 4; i++) {
        const struct efficiency_thread *thread = &run->threads[i];
        assert_int_equal(thread->useful_ns, useful_ns[i]);
        assert_int_equal(thread->preempted_ns, preempted_ns[i]);
        assert_int_equal(thread->useful_ns + thread->preempted_ns + thread->openmp_ns + thread->mpi_ns + thread->idle_ns, 1000);
    }
    assert_int_equal(run->processes[0].serial_useful_ns, 500 - 100);
    assert_int_equal(run->processes[0].regions_useful_ns, 480 - 100);
    assert_int_equal(run->processes[0].regions_ns, 400);
    const double *value = run->inputs.value;
    assert_near(value[EFFICIENCY_INPUT_V], 200.0 / 4);
    assert_near(value[EFFICIENCY_INPUT_U] + value[EFFICIENCY_INPUT_V] + value[EFFICIENCY_INPUT_M] + value[EFFICIENCY_INPUT_I], 1000);
    assert_near(run->values[EFFICIENCY_HYBRID_PE].value, 1960.0 / 4 / 1000);
    assert_near(run->values[EFFICIENCY_ADD_PE].value, run->values[EFFICIENCY_ADD_PROCESS].value + run->values[EFFICIENCY_ADD_THREAD].value - 1);
    efficiency_destroy(run);
    trace_unref(trace);
}

static void test_a_window_cuts_all_times(void **state)
{
    (void)state;
    struct trace *trace = two_ranks();
    struct efficiency *run = NULL;
    const struct efficiency_options options = {.has_window = true, .begin_ns = 200, .end_ns = 650};
    assert_int_equal(efficiency_create(trace, &options, NULL, &run, NULL), 0);
    assert_int_equal(run->threads[0].useful_ns, 100 + 290);
    assert_int_equal(run->threads[0].openmp_ns, 10 + 50);
    assert_int_equal(run->threads[0].mpi_ns, 0);
    assert_int_equal(run->threads[3].idle_ns, 120);
    efficiency_destroy(run);
    trace_unref(trace);
}

/* The lives are 0 to 2000; what was recorded is between MPI_Init and MPI_Finalize. */
static void test_a_recording_that_is_a_part_is_no_longer_than_it(void **state)
{
    (void)state;
    struct world world = two_ranks_begun();
    assert_int_equal(trace_builder_set_metadata(world.builder, "recording.begin_ns", "150"), 0);
    assert_int_equal(trace_builder_set_metadata(world.builder, "recording.end_ns", "1050"), 0);
    struct trace *trace = fixture_finish(world.builder), *part;
    struct error err = ERROR_INIT;
    const struct trace_part options = {.has_window = true, .begin_ns = 150, .end_ns = 1050};
    struct efficiency *run = NULL;
    if (trace_select(trace, &options, NULL, &part, &err) < 0 || efficiency_create(part, NULL, NULL, &run, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(run->process_count, 2);
    assert_int_equal(run->begin_ns, 150);
    assert_int_equal(run->end_ns, 1050);
    assert_int_equal(run->threads[0].mpi_ns, 50);
    efficiency_destroy(run);
    trace_unref(part);
    trace_unref(trace);
}

/* A kernel from 100 to 200, one of NCCL's from 150 to 300, a copy from 290 to 400, on three streams; the process lives from 0 to 1000. */
static void test_nccl_is_use_of_a_device_or_communication(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum span_kind kind;
        int64_t begin_ns, end_ns;
    } works[] = {{"axpy", SPAN_KIND_KERNEL, 100, 200}, {"ncclDevKernel_AllReduce_Sum_f32_RING_LL", SPAN_KIND_KERNEL, 150, 300}, {"copy", SPAN_KIND_COPY, 290, 400}};
    struct world world = {.builder = fixture_builder(0)};
    struct trace_process *process = trace_builder_process(world.builder, (process_id){0});
    process->start_ns = 0;
    process->end_ns = 1000;
    world.lanes[0] = fixture_track(world.builder, TRACK_KIND_THREAD, "main", 42);
    for (int i = 0; i < 3; i++) {
        struct trace_track track = {.kind = TRACK_KIND_STREAM, .name = trace_builder_string(world.builder, "stream"), .process = {0}, .tid = -1,
                                    .device = 0, .stream = i, .start_ns = INT64_MIN, .end_ns = INT64_MIN};
        assert_int_equal(trace_builder_add_track(world.builder, &track, &world.lanes[1 + i]), 0);
        struct trace_link link = {.kind = LINK_KIND_LAUNCH, .confidence = CONFIDENCE_CERTAIN};
        link.from = add(&world, 0, 10 + 10 * i, 15 + 10 * i, "cuda", "call", SPAN_KIND_LAUNCH);
        link.to = add(&world, 1 + i, works[i].begin_ns, works[i].end_ns, "cuda", works[i].name, works[i].kind);
        assert_int_equal(trace_builder_add_link(world.builder, &link), 0);
    }
    struct trace *trace = fixture_finish(world.builder);
    struct efficiency *run = NULL;
    struct error err = ERROR_INIT;
    if (efficiency_create(trace, NULL, NULL, &run, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(run->inputs.devices && run->inputs.nccl);
    assert_near(run->inputs.value[EFFICIENCY_INPUT_R], 1000);
    assert_near(run->values[EFFICIENCY_DEV_PE].value, 0.2);
    assert_near(run->values[EFFICIENCY_DEV_COMM].value, 200.0 / 300);
    assert_near(run->values[EFFICIENCY_DEVN_PE].value, 0.1);
    assert_near(run->values[EFFICIENCY_DEVN_COMM].value, 100.0 / 300);
    assert_near(run->values[EFFICIENCY_DEVN_ORCH].value, 0.3);
    assert_near(run->values[EFFICIENCY_TALP_OFFLOAD].value, 985.0 / 1000);
    efficiency_destroy(run);
    trace_unref(trace);
}

static void test_a_trace_without_runtimes_is_refused(void **state)
{
    (void)state;
    struct trace_builder *builder = fixture_builder(0);
    fixture_span(builder, fixture_track(builder, TRACK_KIND_THREAD, "main", 42), 0, 100, "work", SPAN_KIND_RANGE);
    struct trace *trace = fixture_finish(builder);
    struct efficiency *run = NULL;
    struct error err = ERROR_INIT;
    assert_int_equal(efficiency_create(trace, NULL, NULL, &run, &err), -ENODATA);
    assert_non_null(strstr(err.text, "no MPI, no OpenMP"));
    trace_unref(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_factors_multiply_or_add_up_to_what_they_are_parts_of),
        cmocka_unit_test(test_what_is_not_known_is_said_and_not_guessed),
        cmocka_unit_test(test_times_of_a_small_run),
        cmocka_unit_test(test_a_thread_without_a_processor_is_not_useful),
        cmocka_unit_test(test_a_window_cuts_all_times),
        cmocka_unit_test(test_a_recording_that_is_a_part_is_no_longer_than_it),
        cmocka_unit_test(test_nccl_is_use_of_a_device_or_communication),
        cmocka_unit_test(test_a_trace_without_runtimes_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
