/* SPDX-License-Identifier: MIT */
/* Levels of detail: every level holds all rows and all busy time, and names what took most of a bucket. */
#include "trace_fixture.h"

#include "trace/lod.h"

static const struct lod *lod_of(const struct trace *trace, enum family family, uint32_t track)
{
    const struct lod *lod;
    assert_int_equal(trace_lod(trace, family, (track_id){track}, &lod, NULL), 0);
    return lod;
}

static void check_levels(const struct lod *lod, uint64_t rows, int64_t busy_ns, int64_t longest_ns)
{
    assert_true(lod->level_count >= 1);
    for (uint32_t i = 0; i < lod->level_count; i++) {
        const struct lod_level *level = &lod->levels[i];
        uint64_t count = 0;
        int64_t busy = 0, longest = 0;
        for (uint32_t bucket = 0; bucket < level->count; bucket++) {
            const struct lod_bucket *at = &level->buckets[bucket];
            assert_true(at->busy_ns <= level->width_ns);
            count += at->count;
            busy += at->busy_ns;
            longest = at->count && at->longest_ns > longest ? at->longest_ns : longest;
        }
        assert_int_equal(count, rows);
        assert_int_equal(busy, busy_ns);
        assert_int_equal(longest, longest_ns);
        if (i)
            assert_int_equal(level->width_ns, lod->levels[i - 1].width_ns * 4);
    }
    assert_true(lod->levels[lod->level_count - 1].count <= 5);
}

static void test_levels_hold_all_time_and_rows(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id track = fixture_track(builder, TRACK_KIND_THREAD, "t", 1);
    fixture_track(builder, TRACK_KIND_THREAD, "empty", 2);
    int64_t busy_ns = 0, begin_ns = -70000;
    uint64_t seed = 8, rows = 0;
    for (int i = 0; i < 20000; i++) {
        int64_t length_ns = 10 + random_next(&seed) % 90;
        fixture_span(builder, track, begin_ns, begin_ns + length_ns, "outer", SPAN_KIND_API);
        fixture_span(builder, track, begin_ns + 1, begin_ns + 5, "inner", SPAN_KIND_API);
        busy_ns += length_ns;
        rows += 2;
        begin_ns += length_ns + random_next(&seed) % 50;
    }
    fixture_span(builder, track, begin_ns + 10, begin_ns + 5010, "long", SPAN_KIND_API);
    struct trace *trace = fixture_finish(builder);
    check_levels(lod_of(trace, FAMILY_SPANS, track.index), rows + 1, busy_ns + 5000, 5000);
    assert_int_equal(lod_of(trace, FAMILY_SPANS, track.index + 1)->level_count, 0);
    assert_ptr_equal(lod_of(trace, FAMILY_SPANS, 0), lod_of(trace, FAMILY_SPANS, 0));
    trace_unref(trace);
}

/* Partly overlapping spans: time counts once, and no bucket is fuller than it is wide. */
static void test_overlaps_count_once(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id track = fixture_track(builder, TRACK_KIND_STREAM, "s", -1);
    for (int i = 0; i < 5000; i++)
        fixture_span(builder, track, i * 10, i * 10 + 35, "k", SPAN_KIND_KERNEL);
    struct trace *trace = fixture_finish(builder);
    check_levels(lod_of(trace, FAMILY_SPANS, track.index), 5000, 4999 * 10 + 35, 35);
    trace_unref(trace);
}

static void test_the_dominant_name_is_the_innermost_that_took_most(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id track = fixture_track(builder, TRACK_KIND_THREAD, "t", 1);
    fixture_span(builder, track, 0, 1 << 20, "outer", SPAN_KIND_API);
    for (int i = 0; i < 1000; i++)
        fixture_span(builder, track, i * 1000 + 100, i * 1000 + 900, "inner", SPAN_KIND_API);
    struct trace *trace = fixture_finish(builder);
    const struct lod *lod = lod_of(trace, FAMILY_SPANS, track.index);
    const struct lod_level *top = &lod->levels[lod->level_count - 1];
    assert_string_equal(trace_text(trace, top->buckets[0].name), "inner");
    assert_string_equal(trace_text(trace, top->buckets[0].longest_name), "outer");
    trace_unref(trace);
}

static void test_counters_keep_their_extremes(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id counter = fixture_track(builder, TRACK_KIND_COUNTER, "c", -1);
    for (int i = 0; i < 3000; i++) {
        struct counter_value value = {i * 100, i == 1500 ? -4.5 : i};
        assert_int_equal(trace_builder_add_counter(builder, counter, &value), 0);
    }
    struct trace *trace = fixture_finish(builder);
    const struct lod *lod = lod_of(trace, FAMILY_COUNTERS, counter.index);
    for (uint32_t i = 0; i < lod->level_count; i++) {
        double minimum = 0, maximum = 0;
        for (uint32_t bucket = 0; bucket < lod->levels[i].count; bucket++) {
            const struct lod_bucket *at = &lod->levels[i].buckets[bucket];
            minimum = at->count && at->minimum < minimum ? at->minimum : minimum;
            maximum = at->count && at->maximum > maximum ? at->maximum : maximum;
        }
        assert_true(minimum == -4.5 && maximum == 2999);
    }
    trace_unref(trace);
}

/* Snapshots go on with what earlier ones added up; an older one that is asked late sums by itself. */
static void test_growing_traces_add_only_what_is_new(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id track = fixture_track(builder, TRACK_KIND_THREAD, "t", 1);
    struct trace *first = NULL;
    int64_t begin_ns = 0;
    for (int step = 0; step < 5; step++) {
        int64_t length_ns = 10 << step; /* the time range grows fast: levels get coarser */
        for (int i = 0; i < 3000; i++, begin_ns += 2 * length_ns)
            fixture_span(builder, track, begin_ns, begin_ns + length_ns, "f", SPAN_KIND_API);
        struct trace *snapshot;
        assert_int_equal(trace_builder_snapshot(builder, &snapshot, NULL), 0);
        check_levels(lod_of(snapshot, FAMILY_SPANS, track.index), 3000 * (uint64_t)(step + 1), begin_ns / 2, length_ns);
        if (step)
            trace_unref(snapshot);
        else
            first = snapshot;
    }
    struct trace *late, *last;
    assert_int_equal(trace_builder_snapshot(builder, &late, NULL), 0);
    fixture_span(builder, track, begin_ns, begin_ns + 7, "f", SPAN_KIND_API);
    assert_int_equal(trace_builder_snapshot(builder, &last, NULL), 0);
    check_levels(lod_of(last, FAMILY_SPANS, track.index), 15001, begin_ns / 2 + 7, 160);
    check_levels(lod_of(late, FAMILY_SPANS, track.index), 15000, begin_ns / 2, 160);
    check_levels(lod_of(first, FAMILY_SPANS, track.index), 3000, 30000, 10);
    trace_unref(first);
    trace_unref(late);
    trace_unref(last);
    trace_builder_destroy(builder);
}

static void test_the_level_for_a_width(void **state)
{
    struct lod lod = {.level_count = 3, .levels = {{.width_ns = 16}, {.width_ns = 64}, {.width_ns = 256}}};
    assert_null(lod_level_for(&lod, 15));
    assert_int_equal(lod_level_for(&lod, 16)->width_ns, 16);
    assert_int_equal(lod_level_for(&lod, 255)->width_ns, 64);
    assert_int_equal(lod_level_for(&lod, 100000)->width_ns, 256);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels_hold_all_time_and_rows),
        cmocka_unit_test(test_overlaps_count_once),
        cmocka_unit_test(test_the_dominant_name_is_the_innermost_that_took_most),
        cmocka_unit_test(test_counters_keep_their_extremes),
        cmocka_unit_test(test_growing_traces_add_only_what_is_new),
        cmocka_unit_test(test_the_level_for_a_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
