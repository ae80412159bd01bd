/* SPDX-License-Identifier: MIT */
/* When devices were busy and why they were idle, by hand-made lanes; ranges projected on devices. */
#include "../trace/trace_fixture.h"

#include "analysis/device_activity.h"

struct lanes {
    struct trace_builder *builder;
    track_id host, first, second;
};

static track_id stream(struct trace_builder *builder, int32_t device, int32_t number)
{
    struct trace_track track = {.kind = TRACK_KIND_STREAM, .name = trace_builder_string(builder, "stream"), .process = {0}, .tid = -1,
                                .device = device, .stream = number, .start_ns = INT64_MIN, .end_ns = INT64_MIN};
    track_id id;
    assert_int_equal(trace_builder_add_track(builder, &track, &id), 0);
    return id;
}

static struct lanes begin(void)
{
    struct lanes lanes = {.builder = fixture_builder(0)};
    lanes.host = fixture_track(lanes.builder, TRACK_KIND_THREAD, "main", 42);
    lanes.first = stream(lanes.builder, 0, 1);
    lanes.second = stream(lanes.builder, 0, 2);
    return lanes;
}

static void link_spans(struct lanes *lanes, enum link_kind kind, span_id from, span_id to)
{
    const struct trace_link link = {.kind = kind, .confidence = CONFIDENCE_CERTAIN, .from = from, .to = to};
    assert_int_equal(trace_builder_add_link(lanes->builder, &link), 0);
}

/* Work that a call of the main thread launched. */
static span_id work(struct lanes *lanes, track_id lane, enum span_kind kind, int64_t call_ns, int64_t return_ns, int64_t begin_ns, int64_t end_ns)
{
    span_id call = fixture_span(lanes->builder, lanes->host, call_ns, return_ns, "launch", SPAN_KIND_LAUNCH);
    span_id span = fixture_span(lanes->builder, lane, begin_ns, end_ns, "work", kind);
    link_spans(lanes, LINK_KIND_LAUNCH, call, span);
    return span;
}

static struct device_activities *finish(struct lanes *lanes, const char *where)
{
    struct trace *trace = fixture_finish(lanes->builder);
    CLEANUP(trace_filter_destroyp) struct trace_filter *filter = NULL;
    struct device_activities *activities;
    if (where)
        assert_int_equal(trace_filter_compile(where, &filter, NULL), 0);
    assert_int_equal(device_activities_create(trace, filter, NULL, &activities, NULL), 0);
    trace_unref(trace);
    return activities;
}

static void expect_idle(const struct device_activity *device, int64_t host_late_ns, int64_t latency_ns, int64_t dependency_ns, int64_t other_ns)
{
    assert_int_equal(device->idle_by_ns[DEVICE_IDLE_HOST_LATE], host_late_ns);
    assert_int_equal(device->idle_by_ns[DEVICE_IDLE_LAUNCH_LATENCY], latency_ns);
    assert_int_equal(device->idle_by_ns[DEVICE_IDLE_DEPENDENCY], dependency_ns);
    assert_int_equal(device->idle_by_ns[DEVICE_IDLE_OTHER], other_ns);
    assert_int_equal(device->idle_ns, host_late_ns + latency_ns + dependency_ns + other_ns);
}

/* Kernels on 100..200 and 180..260, copies on 150..300 and 400..450, something else on 440..470. */
static void test_what_runs_at_once_is_told_apart(void **state)
{
    struct lanes lanes = begin();
    fixture_span(lanes.builder, lanes.first, 100, 200, "k", SPAN_KIND_KERNEL);
    fixture_span(lanes.builder, lanes.second, 180, 260, "ncclDevKernel_AllReduce", SPAN_KIND_KERNEL);
    fixture_span(lanes.builder, lanes.second, 150, 300, "c", SPAN_KIND_COPY);
    fixture_span(lanes.builder, lanes.first, 400, 450, "f", SPAN_KIND_FILL);
    fixture_span(lanes.builder, lanes.second, 440, 470, "m", SPAN_KIND_MAP);
    fixture_span(lanes.builder, lanes.second, 0, 900, "wait", SPAN_KIND_SYNC);
    struct device_activities *activities = finish(&lanes, NULL);
    assert_int_equal(activities->device_count, 1);
    const struct device_activity *device = activities->devices;
    assert_int_equal(device->begin_ns, 100);
    assert_int_equal(device->end_ns, 470);
    assert_int_equal(device->kernel_ns, 160);
    assert_int_equal(device->copy_ns, 40 + 50);
    assert_int_equal(device->overlap_ns, 110);
    assert_int_equal(device->other_ns, 20);
    assert_int_equal(device->idle_ns, 100);
    assert_int_equal(device->compute_ns, 100);
    assert_int_equal(device->communication_ns, 100 + 50);
    assert_int_equal(device->kernel_sum_ns, 180);
    expect_idle(device, 0, 0, 0, 100); /* nothing is known of the launches */
    device_activities_destroy(activities);
}

static void test_a_host_that_comes_late(void **state)
{
    struct lanes lanes = begin();
    work(&lanes, lanes.first, SPAN_KIND_KERNEL, 0, 10, 20, 100);
    work(&lanes, lanes.first, SPAN_KIND_KERNEL, 170, 180, 190, 300);
    struct device_activities *activities = finish(&lanes, NULL);
    expect_idle(activities->devices, 70, 20, 0, 0);
    device_activities_destroy(activities);
}

/* The call began before the device ran dry, and its lane was empty before it returned. */
static void test_launch_latency(void **state)
{
    struct lanes lanes = begin();
    work(&lanes, lanes.first, SPAN_KIND_KERNEL, 0, 10, 20, 100);
    work(&lanes, lanes.first, SPAN_KIND_KERNEL, 95, 105, 130, 200);
    work(&lanes, lanes.second, SPAN_KIND_KERNEL, 110, 120, 207, 300); /* a lane without work before: what it does not wait for, it is late for */
    struct device_activities *activities = finish(&lanes, NULL);
    expect_idle(activities->devices, 0, 30 + 7, 0, 0);
    device_activities_destroy(activities);
}

static void test_work_that_waits_for_another_lane(void **state)
{
    struct lanes lanes = begin();
    span_id first = work(&lanes, lanes.first, SPAN_KIND_KERNEL, 0, 10, 20, 100);
    span_id second = work(&lanes, lanes.second, SPAN_KIND_KERNEL, 12, 14, 110, 200);
    link_spans(&lanes, LINK_KIND_EVENT, first, second);
    span_id marker = fixture_span(lanes.builder, lanes.first, 201, 202, "marker", SPAN_KIND_SYNC);
    link_spans(&lanes, LINK_KIND_DEPEND, second, marker);
    work(&lanes, lanes.first, SPAN_KIND_KERNEL, 16, 18, 205, 300); /* behind the marker in its lane */
    struct device_activities *activities = finish(&lanes, NULL);
    expect_idle(activities->devices, 0, 0, 10 + 5, 0);
    device_activities_destroy(activities);
}

static void test_work_behind_other_work_of_its_lane(void **state)
{
    struct lanes lanes = begin();
    span_id first = work(&lanes, lanes.first, SPAN_KIND_KERNEL, 0, 10, 20, 100);
    span_id second = work(&lanes, lanes.first, SPAN_KIND_COPY, 12, 14, 103, 200);
    link_spans(&lanes, LINK_KIND_DEPEND, first, second); /* says what the lane's order says, too */
    struct device_activities *activities = finish(&lanes, NULL);
    expect_idle(activities->devices, 0, 0, 0, 3);
    device_activities_destroy(activities);
}

static void test_devices_are_told_apart_by_number(void **state)
{
    struct lanes lanes = begin();
    track_id other = stream(lanes.builder, 1, 1), none = stream(lanes.builder, -1, 1);
    fixture_span(lanes.builder, none, 0, 1000, "what the profiler did", SPAN_KIND_API);
    fixture_span(lanes.builder, lanes.first, 0, 100, "k", SPAN_KIND_KERNEL);
    fixture_span(lanes.builder, other, 50, 200, "k", SPAN_KIND_KERNEL);
    fixture_span(lanes.builder, lanes.second, 300, 400, "k", SPAN_KIND_KERNEL);
    struct device_activities *activities = finish(&lanes, NULL);
    assert_int_equal(activities->device_count, 2);
    assert_int_equal(activities->devices[0].kernel_ns, 200);
    assert_int_equal(activities->devices[0].idle_ns, 200);
    assert_int_equal(activities->devices[0].lanes, 2);
    assert_int_equal(activities->devices[1].kernel_ns, 150);
    assert_int_equal(activities->devices[1].idle_ns, 0);
    device_activities_destroy(activities);
}


/* "step" 0..60 on the main thread launches two kernels on two lanes, "inner" 20..40 the second of them; another thread's do not count. */
static struct lanes ranges(void)
{
    struct lanes lanes = begin();
    track_id other = fixture_track(lanes.builder, TRACK_KIND_THREAD, "other", 43);
    fixture_span(lanes.builder, lanes.host, 0, 60, "step", SPAN_KIND_RANGE);
    fixture_span(lanes.builder, lanes.host, 20, 40, "inner", SPAN_KIND_RANGE);
    fixture_span(lanes.builder, lanes.host, 61, 70, "without work", SPAN_KIND_RANGE);
    fixture_span(lanes.builder, other, 0, 1000, "elsewhere", SPAN_KIND_RANGE);
    work(&lanes, lanes.first, SPAN_KIND_KERNEL, 5, 10, 100, 200);
    work(&lanes, lanes.second, SPAN_KIND_KERNEL, 25, 30, 150, 220);
    work(&lanes, lanes.first, SPAN_KIND_COPY, 50, 55, 400, 450);
    work(&lanes, lanes.first, SPAN_KIND_COPY, 60, 65, 500, 550); /* launched as the range ended: not inside */
    return lanes;
}

static void expect_range(const struct device_range *range, uint64_t count, int64_t host_ns, int64_t begin_ns, int64_t end_ns, int64_t busy_ns)
{
    assert_int_equal(range->count, count);
    assert_int_equal(range->host_ns, host_ns);
    assert_int_equal(range->begin_ns, begin_ns);
    assert_int_equal(range->end_ns, end_ns);
    assert_int_equal(range->busy_ns, busy_ns);
}

static void test_ranges_on_the_device(void **state)
{
    struct lanes lanes = ranges();
    track_id anywhere = stream(lanes.builder, -1, -1);
    fixture_span(lanes.builder, anywhere, 54, 61, "from start to end", SPAN_KIND_RANGE);
    struct device_activities *activities = finish(&lanes, NULL);
    assert_int_equal(activities->range_count, 3);
    expect_range(&activities->ranges[0], 3, 60, 100, 450, 120 + 50);
    expect_range(&activities->ranges[1], 1, 20, 150, 220, 70);
    expect_range(&activities->ranges[2], 1, 7, 500, 550, 50);
    assert_int_equal(activities->devices[0].copies, 2);
    device_activities_destroy(activities);
}

static void test_a_filter_picks_ranges_and_work(void **state)
{
    struct lanes lanes = ranges();
    struct device_activities *activities = finish(&lanes, "name=inner");
    assert_int_equal(activities->range_count, 1);
    expect_range(&activities->ranges[0], 1, 20, 150, 220, 70);
    assert_int_equal(activities->devices[0].lanes, 0);
    device_activities_destroy(activities);
    lanes = ranges();
    activities = finish(&lanes, "kind=copy");
    assert_int_equal(activities->range_count, 0);
    assert_int_equal(activities->devices[0].copies, 2);
    assert_int_equal(activities->devices[0].copy_ns, 100);
    assert_int_equal(activities->devices[0].kernels, 0);
    device_activities_destroy(activities);
}

/* Against a plain count of nanoseconds. */
static void test_random_lanes(void **state)
{
    enum { LENGTH = 4000, COUNT = 120 };
    for (uint64_t seed = 1; seed <= 50; seed++) {
        static bool kernel[LENGTH], copy[LENGTH];
        uint64_t random = seed;
        struct lanes lanes = begin();
        int64_t first = LENGTH, last = 0, busy = 0, copies = 0, both = 0;
        memset(kernel, 0, sizeof kernel);
        memset(copy, 0, sizeof copy);
        for (int i = 0; i < COUNT; i++) {
            bool is_kernel = random_next(&random) % 2;
            int64_t at = random_next(&random) % (LENGTH - 60), end = at + random_next(&random) % 40;
            memset((is_kernel ? kernel : copy) + at, true, (size_t)(end - at));
            work(&lanes, random_next(&random) % 2 ? lanes.first : lanes.second, is_kernel ? SPAN_KIND_KERNEL : SPAN_KIND_COPY, at - 30, at - 20, at, end);
            first = at < first ? at : first;
            last = end > last ? end : last;
        }
        for (int i = 0; i < LENGTH; i++) {
            busy += kernel[i];
            copies += copy[i] && !kernel[i];
            both += copy[i] && kernel[i];
        }
        struct device_activities *activities = finish(&lanes, NULL);
        const struct device_activity *device = activities->devices;
        assert_int_equal(device->kernel_ns, busy);
        assert_int_equal(device->copy_ns, copies);
        assert_int_equal(device->overlap_ns, both);
        assert_int_equal(device->idle_ns, last - first - busy - copies);
        int64_t idle_ns = 0;
        for (int i = 0; i < DEVICE_IDLE_COUNT; i++)
            idle_ns += device->idle_by_ns[i];
        assert_int_equal(idle_ns, device->idle_ns);
        device_activities_destroy(activities);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_runs_at_once_is_told_apart),
        cmocka_unit_test(test_a_host_that_comes_late),
        cmocka_unit_test(test_launch_latency),
        cmocka_unit_test(test_work_that_waits_for_another_lane),
        cmocka_unit_test(test_work_behind_other_work_of_its_lane),
        cmocka_unit_test(test_devices_are_told_apart_by_number),
        cmocka_unit_test(test_ranges_on_the_device),
        cmocka_unit_test(test_a_filter_picks_ranges_and_work),
        cmocka_unit_test(test_random_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
