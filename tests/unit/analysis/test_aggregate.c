/* SPDX-License-Identifier: MIT */
/* Sums under a filter against a plain model, off-CPU times, the unwind score. */
#include "../trace/trace_fixture.h"

#include "analysis/aggregate.h"

static const char *const filters[] = {"name=f1*", "kind=api", "thread=worker*", "thread=worker1,name=*3,kind=sync",
                                      "path=f0/*", "path=*f1*/f2", "process=prog", "process=42,rank=*", "stream=*", "node=node0",
                                      "category=cat\\,1"};

static struct trace *make(uint32_t count, uint64_t seed)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id tracks[3] = {fixture_track(builder, TRACK_KIND_THREAD, "worker1", 11),
                          fixture_track(builder, TRACK_KIND_THREAD, "worker2", 12),
                          fixture_track(builder, TRACK_KIND_THREAD, "main", 10)};
    string_id category = trace_builder_string(builder, "cat,1");
    for (uint32_t i = 0; i < count; i++) {
        char name[24];
        snprintf(name, sizeof(name), "f%u", random_next(&seed) % 5);
        int64_t begin_ns = (int64_t)i * 20;
        struct span span = {.track = tracks[random_next(&seed) % 3], .begin_ns = begin_ns, .parent = SPAN_NONE,
                            .end_ns = begin_ns + 1 + random_next(&seed) % 300, .stack = STACK_NONE,
                            .name = trace_builder_string(builder, name), .category = i % 4 ? STRING_NONE : category,
                            .kind = i % 2 ? SPAN_KIND_API : SPAN_KIND_SYNC};
        span_id handle;
        assert_int_equal(trace_builder_add_span(builder, &span, NULL, &handle), 0);
    }
    return fixture_finish(builder);
}

/* Sum of self times by definition: for each matching span, its time minus the union of its direct children's. */
static void model(const struct trace *trace, const char *text, uint64_t *ret_count, int64_t *ret_total, int64_t *ret_self)
{
    struct trace_filter *filter;
    struct filter_match *match;
    assert_int_equal(trace_filter_compile(text, &filter, NULL), 0);
    assert_int_equal(filter_match_create(filter, trace, &match), 0);
    uint64_t rows = trace_row_count(trace, FAMILY_SPANS);
    int64_t *self = calloc(rows, sizeof(*self)), *covered = calloc(rows, sizeof(*covered));
    bool *matches = calloc(rows, sizeof(*matches));
    *ret_count = 0;
    *ret_total = *ret_self = 0;
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_SPANS); i++) {
        struct span_block block;
        assert_int_equal(trace_spans_get(trace, i, &block, NULL), 0);
        for (uint32_t row = 0; row < block.info.count; row++) {
            uint32_t id = block.info.first + row, parent = block.parent ? block.parent[row].index : ID_NONE;
            self[id] += block.end_ns[row] - block.begin_ns[row];
            covered[id] = block.begin_ns[row];
            matches[id] = filter_match_span(match, &block, row);
            *ret_count += matches[id];
            *ret_total += matches[id] ? block.end_ns[row] - block.begin_ns[row] : 0;
            if (parent == ID_NONE)
                continue;
            int64_t from_ns = block.begin_ns[row] > covered[parent] ? block.begin_ns[row] : covered[parent];
            if (block.end_ns[row] > from_ns) {
                self[parent] -= block.end_ns[row] - from_ns;
                covered[parent] = block.end_ns[row];
            }
        }
        trace_spans_put(trace, &block);
    }
    for (uint64_t id = 0; id < rows; id++)
        *ret_self += matches[id] ? self[id] : 0;
    free(self);
    free(covered);
    free(matches);
    filter_match_destroy(match);
    trace_filter_destroy(filter);
}

static void compare(const struct trace *trace, const char *text)
{
    uint64_t count, found_count = 0;
    int64_t total, self, found_total = 0, found_self = 0;
    model(trace, text, &count, &total, &self);
    struct trace_filter *filter;
    assert_int_equal(trace_filter_compile(text, &filter, NULL), 0);
    struct span_aggregate *rows;
    uint32_t row_count;
    assert_int_equal(aggregate_spans(trace, filter, NULL, &rows, &row_count, NULL), 0);
    for (uint32_t i = 0; i < row_count; i++) {
        found_count += rows[i].count;
        found_total += rows[i].total_ns;
        found_self += rows[i].self_ns;
    }
    assert_int_equal(found_count, count);
    assert_int_equal(found_total, total);
    assert_int_equal(found_self, self);
    free(rows);
    trace_filter_destroy(filter);
}

static void test_filtered_sums_agree_with_the_definition(void **state)
{
    struct trace *trace = make(20000, 3);
    for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++)
        compare(trace, filters[i]);
    trace_unref(trace);
}

static void test_many_threads_give_the_same_sums(void **state)
{
    struct trace *trace = make(250000, 4); /* enough to go parallel */
    compare(trace, "thread=*,name=f1");
    trace_unref(trace);
}

static void test_what_is_unknown_matches_nothing(void **state)
{
    struct trace *trace = make(100, 5);
    const char *const texts[] = {"rank=*", "device=*", "stream=*"};
    for (int i = 0; i < 3; i++) {
        struct trace_filter *filter;
        assert_int_equal(trace_filter_compile(texts[i], &filter, NULL), 0);
        struct span_aggregate *rows;
        uint32_t count;
        assert_int_equal(aggregate_spans(trace, filter, NULL, &rows, &count, NULL), 0);
        assert_int_equal(count, 0);
        free(rows);
        trace_filter_destroy(filter);
    }
    trace_unref(trace);
}

static void test_off_cpu_times_by_reason(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id sched = fixture_track(builder, TRACK_KIND_SCHED, "t", 5), thread = fixture_track(builder, TRACK_KIND_THREAD, "t", 5);
    fixture_span(builder, sched, 0, 10, "blocked", SPAN_KIND_BLOCKED);
    fixture_span(builder, sched, 20, 50, "preempted", SPAN_KIND_BLOCKED);
    fixture_span(builder, sched, 60, INT64_MIN, "blocked", SPAN_KIND_BLOCKED); /* until the trace's end, 100 */
    fixture_span(builder, thread, 0, 100, "work", SPAN_KIND_API);
    struct trace *trace = fixture_finish(builder);
    struct off_cpu_times *times;
    uint32_t count;
    assert_int_equal(aggregate_off_cpu(trace, NULL, &times, &count, NULL), 0);
    assert_int_equal(count, 2);
    assert_true(times[sched.index].blocked_known && times[sched.index].preempted_known);
    assert_false(times[thread.index].blocked_known || times[thread.index].preempted_known);
    assert_int_equal(times[sched.index].blocked_ns, 50);
    assert_int_equal(times[sched.index].preempted_ns, 30);
    assert_int_equal(times[sched.index].count, 3);
    free(times);
    trace_unref(trace);
}

static struct off_cpu_times off_cpu_where(const struct trace *trace, track_id track, const char *where)
{
    struct trace_filter *filter;
    struct off_cpu_times *times, result;
    uint32_t count;
    assert_int_equal(trace_filter_compile(where, &filter, NULL), 0);
    assert_int_equal(aggregate_off_cpu(trace, filter, &times, &count, NULL), 0);
    result = times[track.index];
    free(times);
    trace_filter_destroy(filter);
    return result;
}

static void test_off_cpu_times_under_a_filter(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id thread = fixture_track(builder, TRACK_KIND_THREAD, "worker", 5), sched = fixture_track(builder, TRACK_KIND_SCHED, "", 5);
    fixture_span(builder, sched, 0, 10, "blocked", SPAN_KIND_BLOCKED);
    fixture_span(builder, sched, 20, 50, "preempted", SPAN_KIND_BLOCKED);
    fixture_span(builder, thread, 0, 100, "hash", SPAN_KIND_API);
    struct trace *trace = fixture_finish(builder);
    struct off_cpu_times times = off_cpu_where(trace, sched, "thread=work*");
    assert_true(times.blocked_known && times.preempted_known);
    assert_int_equal(times.blocked_ns, 10);
    assert_int_equal(times.preempted_ns, 30);
    times = off_cpu_where(trace, sched, "thread=main");
    assert_false(times.blocked_known || times.preempted_known);
    times = off_cpu_where(trace, sched, "name=hash*"); /* how long it was off the CPU is not what was asked for: no 0 */
    assert_false(times.blocked_known || times.preempted_known);
    times = off_cpu_where(trace, sched, "name=preempted");
    assert_true(times.preempted_known && !times.blocked_known);
    assert_int_equal(times.preempted_ns, 30);
    trace_unref(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filtered_sums_agree_with_the_definition),
        cmocka_unit_test(test_many_threads_give_the_same_sums),
        cmocka_unit_test(test_what_is_unknown_matches_nothing),
        cmocka_unit_test(test_off_cpu_times_by_reason),
        cmocka_unit_test(test_off_cpu_times_under_a_filter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
