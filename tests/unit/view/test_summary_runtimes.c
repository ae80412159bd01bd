/* SPDX-License-Identifier: MIT */
/* The sums of devices and of parallel regions, by their definitions. */
#include "view/summary.h"

#include "base/error.h"
#include "trace/builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct field {
    unsigned position;
    uint64_t value;
};

struct fixture {
    struct trace_builder *builder;
    process_id process;
};

static struct fixture begin(void)
{
    struct fixture fixture;
    node_id node;
    assert_int_equal(trace_builder_create(&(struct builder_options){0}, &fixture.builder, NULL), 0);
    assert_int_equal(trace_builder_add_node(fixture.builder, &(struct trace_node){.name = trace_builder_string(fixture.builder, "n")}, &node), 0);
    const struct trace_process process = {.node = node, .pid = 7, .rank = -1, .parent = PROCESS_NONE, .exit_status = 0};
    assert_int_equal(trace_builder_add_process(fixture.builder, &process, &fixture.process), 0);
    return fixture;
}

static track_id add_track(struct fixture *fixture, enum track_kind kind, const char *name, int32_t device)
{
    const struct trace_track track = {.kind = kind, .name = trace_builder_string(fixture->builder, name), .process = fixture->process, .tid = -1,
                                      .device = device, .stream = -1, .start_ns = INT64_MIN, .end_ns = INT64_MIN};
    track_id id;
    assert_int_equal(trace_builder_add_track(fixture->builder, &track, &id), 0);
    return id;
}

static void add(struct fixture *fixture, track_id track, const char *name, const char *category, enum span_kind kind, int64_t begin_ns, int64_t end_ns,
                enum payload_kind payload_kind, const struct field *fields)
{
    const struct span span = {.track = track, .begin_ns = begin_ns, .end_ns = end_ns, .name = trace_builder_string(fixture->builder, name),
                              .category = trace_builder_string(fixture->builder, category), .kind = kind, .parent = SPAN_NONE, .stack = STACK_NONE};
    struct payload payload = {.kind = payload_kind};
    span_id handle;
    for (; fields && fields->position < 32; fields++) {
        payload.present |= 1u << fields->position;
        payload.fields[fields->position].u64 = fields->value;
    }
    assert_int_equal(trace_builder_add_span(fixture->builder, &span, payload_kind ? &payload : NULL, &handle), 0);
}

static struct summary *summary_of(struct fixture *fixture)
{
    struct trace *trace;
    struct summary *summary;
    assert_int_equal(trace_builder_finish(fixture->builder, &trace, NULL), 0);
    trace_builder_destroy(fixture->builder);
    assert_int_equal(summary_create(trace, NULL, NULL, &summary, NULL), 0);
    trace_unref(trace);
    return summary;
}

static void expect_text(const struct summary *summary, const char *part)
{
    struct text out = TEXT_INIT;
    summary_draw(summary, 15, &(struct text_look){.width = 0}, &out);
    if (!strstr(out.data, part))
        fail_msg("no '%s' in:\n%s", part, out.data);
    text_finish(&out);
}

/* Two lanes of device 1 overlap from 150 to 200; nothing runs from 250 to 300. */
static void test_a_device_is_busy_while_any_lane_is(void **state)
{
    struct fixture fixture = begin();
    add_track(&fixture, TRACK_KIND_DEVICE, "Chip", 1);
    track_id first = add_track(&fixture, TRACK_KIND_STREAM, "", 1), second = add_track(&fixture, TRACK_KIND_STREAM, "", 1);
    const struct field copied[] = {{FIELD_COPY_bytes, 4096}, {32, 0}};
    add(&fixture, first, "k", "cuda", SPAN_KIND_KERNEL, 100, 200, PAYLOAD_NONE, NULL);
    add(&fixture, first, "k", "cuda", SPAN_KIND_KERNEL, 300, 400, PAYLOAD_NONE, NULL);
    add(&fixture, second, "c", "cuda", SPAN_KIND_COPY, 150, 250, PAYLOAD_COPY, copied);
    add(&fixture, second, "f", "cuda", SPAN_KIND_FILL, 320, 330, PAYLOAD_NONE, NULL);
    add(&fixture, second, "wait", "cuda", SPAN_KIND_SYNC, 0, 900, PAYLOAD_NONE, NULL);
    add(&fixture, add_track(&fixture, TRACK_KIND_STREAM, "", 1), "k", "opencl", SPAN_KIND_KERNEL, 0, 5, PAYLOAD_NONE, NULL);
    struct summary *summary = summary_of(&fixture);
    assert_int_equal(summary->device_count, 2); /* cuda's and opencl's device 1 need not be the same */
    const struct summary_device *device = &summary->devices[0];
    assert_string_equal(device->category, "cuda");
    assert_string_equal(device->name, "Chip");
    assert_int_equal(device->pid, 7);
    assert_int_equal(device->lanes, 2);
    assert_int_equal(device->busy_ns, 250);
    assert_int_equal(device->idle_ns, 50);
    assert_int_equal(device->busy_kernel_ns, 200);
    assert_int_equal(device->busy_copy_ns, 50);
    assert_int_equal(device->overlap_ns, 50 + 10);
    assert_int_equal(device->idle_by_ns[DEVICE_IDLE_OTHER], 50);
    assert_int_equal(device->kernels, 2);
    assert_int_equal(device->kernel_ns, 200);
    assert_int_equal(device->copies, 1);
    assert_int_equal(device->copy_ns, 100);
    assert_int_equal(device->copy_bytes, 4096);
    assert_int_equal(device->fill_ns, 10);
    assert_int_equal(device->other_ns, 0);
    expect_text(summary, "Devices  in ns");
    summary_destroy(summary);
}

/* Two ranges of one name launch a kernel each, one of another name none; device 3 has no work of the filter's. */
static void test_ranges_are_summed_up_by_name(void **state)
{
    struct fixture fixture = begin();
    track_id main = add_track(&fixture, TRACK_KIND_THREAD, "main", -1), lane = add_track(&fixture, TRACK_KIND_STREAM, "", 1);
    add(&fixture, add_track(&fixture, TRACK_KIND_STREAM, "", 3), "k", "cuda", SPAN_KIND_KERNEL, 0, 5, PAYLOAD_NONE, NULL);
    for (int64_t at = 0; at <= 1000; at += 1000) {
        const struct field group[] = {{FIELD_RANGE_group, trace_builder_string(fixture.builder, "solver").index}, {32, 0}};
        add(&fixture, main, "step", "nvtx", SPAN_KIND_RANGE, at, at + 100, PAYLOAD_RANGE, group);
        struct span call = {.track = main, .begin_ns = at + 10, .end_ns = at + 20, .name = trace_builder_string(fixture.builder, "launch"),
                            .category = STRING_NONE, .kind = SPAN_KIND_LAUNCH, .parent = SPAN_NONE, .stack = STACK_NONE}, kernel = call;
        assert_int_equal(trace_builder_add_span(fixture.builder, &call, NULL, &kernel.parent), 0);
        kernel.track = lane;
        kernel.kind = SPAN_KIND_KERNEL;
        kernel.begin_ns = at + 50;
        kernel.end_ns = at + 350;
        span_id handle;
        assert_int_equal(trace_builder_add_span(fixture.builder, &kernel, NULL, &handle), 0);
    }
    add(&fixture, main, "nothing", "nvtx", SPAN_KIND_RANGE, 2000, 2100, PAYLOAD_NONE, NULL);
    struct trace *trace;
    struct summary *summary;
    CLEANUP(trace_filter_destroyp) struct trace_filter *where = NULL;
    assert_int_equal(trace_builder_finish(fixture.builder, &trace, NULL), 0);
    trace_builder_destroy(fixture.builder);
    assert_int_equal(trace_filter_compile("path=step*", &where, NULL), 0);
    assert_int_equal(summary_create(trace, where, NULL, &summary, NULL), 0);
    trace_unref(trace);
    assert_int_equal(summary->range_count, 1);
    const struct summary_range *range = &summary->ranges[0];
    assert_string_equal(range->name, "step");
    assert_string_equal(range->group, "solver");
    assert_int_equal(range->count, 2);
    assert_int_equal(range->works, 2);
    assert_int_equal(range->host_ns, 200);
    assert_int_equal(range->span_ns, 600);
    assert_int_equal(range->busy_ns, 600);
    assert_int_equal(summary->device_count, 1);
    assert_int_equal(summary->devices[range->device].device, 1);
    assert_int_equal(summary->devices[range->device].kernels, 2); /* below the range by their launch: a path filter picks them */
    assert_int_equal(summary->devices[range->device].idle_by_ns[DEVICE_IDLE_HOST_LATE], 660);
    expect_text(summary, "Ranges on devices  in ns");
    expect_text(summary, "Why devices were idle  in ns");
    summary_destroy(summary);
}

static void test_regions_and_their_barriers(void **state)
{
    struct fixture fixture = begin();
    track_id main = add_track(&fixture, TRACK_KIND_THREAD, "main", -1), worker = add_track(&fixture, TRACK_KIND_THREAD, "worker", -1);
    for (uint64_t i = 0; i < 2; i++) {
        const struct field region[] = {{FIELD_REGION_region, i + 1}, {FIELD_REGION_threads, 2 + i}, {32, 0}};
        const struct field barrier[] = {{FIELD_BARRIER_region, i + 1}, {FIELD_BARRIER_wait_ns, 10}, {32, 0}};
        int64_t begin_ns = 1000 * (int64_t)i;
        add(&fixture, worker, "barrier", "openmp", SPAN_KIND_BARRIER, begin_ns + 50, begin_ns + 80, PAYLOAD_BARRIER, barrier);
        add(&fixture, main, "parallel", "openmp", SPAN_KIND_PARALLEL, begin_ns, begin_ns + 100 + 50 * (int64_t)i, PAYLOAD_REGION, region);
        add(&fixture, main, "barrier", "openmp", SPAN_KIND_BARRIER, begin_ns + 60, begin_ns + 80, PAYLOAD_BARRIER, barrier);
    }
    const struct field stray[] = {{FIELD_BARRIER_region, 99}, {FIELD_BARRIER_wait_ns, 5}, {32, 0}};
    const struct field lock[] = {{FIELD_LOCK_wait_ns, 7}, {32, 0}};
    add(&fixture, main, "barrier", "openmp", SPAN_KIND_BARRIER, 5000, 5010, PAYLOAD_BARRIER, stray);
    add(&fixture, main, "critical", "openmp", SPAN_KIND_CRITICAL, 6000, 6010, PAYLOAD_LOCK, lock);
    add(&fixture, main, "task", "openmp", SPAN_KIND_TASK, 7000, 7030, PAYLOAD_TASK, (struct field[]){{FIELD_TASK_task, 1}, {32, 0}});
    struct summary *summary = summary_of(&fixture);
    const struct summary_openmp *openmp = summary->openmp;
    assert_non_null(openmp);
    assert_int_equal(openmp->region_count, 1);
    assert_string_equal(openmp->regions[0].name, "parallel");
    assert_int_equal(openmp->regions[0].count, 2);
    assert_int_equal(openmp->regions[0].total_ns, 250);
    assert_int_equal(openmp->regions[0].max_ns, 150);
    assert_int_equal(openmp->regions[0].threads.value, 3);
    assert_int_equal(openmp->regions[0].barriers, 4);
    assert_int_equal(openmp->regions[0].barrier_wait_ns, 40);
    assert_int_equal(openmp->other_wait_ns, 5);
    assert_int_equal(openmp->lock_wait_ns, 7);
    assert_int_equal(openmp->tasks, 1);
    assert_int_equal(openmp->task_ns, 30);
    expect_text(summary, "Parallel regions  in ns");
    summary_destroy(summary);
}

static void test_other_spans_make_neither(void **state)
{
    struct fixture fixture = begin();
    add(&fixture, add_track(&fixture, TRACK_KIND_THREAD, "main", -1), "parallel", "user", SPAN_KIND_PARALLEL, 0, 10, PAYLOAD_NONE, NULL);
    struct summary *summary = summary_of(&fixture);
    assert_null(summary->openmp);
    assert_int_equal(summary->device_count, 0);
    summary_destroy(summary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_device_is_busy_while_any_lane_is),
        cmocka_unit_test(test_ranges_are_summed_up_by_name),
        cmocka_unit_test(test_regions_and_their_barriers),
        cmocka_unit_test(test_other_spans_make_neither),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
