/* SPDX-License-Identifier: MIT */
/* The machine from a trace's metadata: what is known, and what is said of the rest. */
#include "trace/trace_fixture.h"

#include "view/host_facts.h"

static const struct grid_column columns[] = {{.title = "", .width = 20}, {.title = "", .width = 40}};

static struct trace *make(const char *const *facts)
{
    struct trace_builder *builder = fixture_builder(0);
    for (; *facts; facts += 2)
        assert_int_equal(trace_builder_set_metadata(builder, facts[0], facts[1]), 0);
    return fixture_finish(builder);
}

static const char *value_of(const struct grid *grid, const char *title)
{
    for (size_t i = 0; i < grid->row_count; i++)
        if (strcmp(grid->rows[i].cells[0].text, title) == 0)
            return grid->rows[i].cells[1].text;
    return "(no row)";
}

static void test_facts_are_put_together(void **state)
{
    static const char *const facts[] = {"host.kernel", "Linux 6.1", "host.packages", "1", "host.cores", "4", "host.threads", "8", "host.cache_l1d_bytes", "32768",
                                        "host.cache_l1d_count", "4", "host.frequency_min_khz", "800000", "host.frequency_max_khz", "3500000",
                                        "host.memory_bytes", "8589934592", "host.memory_limit_bytes", "1073741824", "gpu.1.name", "NVIDIA H200",
                                        "gpu.1.memory_clock_max_mhz", "3201", "gpu.1.memory_bus_bits", "6144", NULL};
    struct trace *trace = make(facts);
    struct grid grid;
    (void)state;
    assert_true(host_facts_known(trace));
    grid_init(&grid, columns, 2);
    host_facts_fill(trace, &grid);
    assert_string_equal(value_of(&grid, "kernel"), "Linux 6.1");
    assert_string_equal(value_of(&grid, "topology"), "1 package, 4 cores, 8 threads");
    assert_string_equal(value_of(&grid, "caches"), "L1d 4 x 32.0 KiB");
    assert_string_equal(value_of(&grid, "frequency"), "0.80 to 3.50 GHz");
    assert_string_equal(value_of(&grid, "memory"), "8.0 GiB; the control group allows 1.0 GiB");
    assert_string_equal(value_of(&grid, "processor"), "unknown: /proc/cpuinfo does not name it");
    grid_clear(&grid);
    host_facts_fill_devices(trace, &grid);
    assert_string_equal(value_of(&grid, "GPU 1"), "NVIDIA H200, memory up to 3201 MHz on 6144 bits");
    grid_finish(&grid);
    trace_unref(trace);
}

static void test_a_trace_without_any_says_so(void **state)
{
    static const char *const facts[] = {"command", "x", NULL};
    struct trace *trace = make(facts);
    struct grid grid;
    (void)state;
    assert_false(host_facts_known(trace));
    grid_init(&grid, columns, 2);
    host_facts_fill_devices(trace, &grid);
    assert_int_equal(grid.row_count, 0);
    grid_finish(&grid);
    trace_unref(trace);
}

static void add_counter(struct trace_builder *builder, uint32_t process, const char *name, const double *values)
{
    const struct trace_track track = {.kind = TRACK_KIND_COUNTER, .name = trace_builder_string(builder, name), .process = {process}, .tid = -1, .device = -1,
                                      .stream = -1, .unit = trace_builder_string(builder, "By"), .start_ns = INT64_MIN, .end_ns = INT64_MIN};
    track_id id;
    assert_int_equal(trace_builder_add_track(builder, &track, &id), 0);
    for (int i = 0; values[i] > 0; i++) {
        const struct counter_value value = {1000 * (i + 1), values[i]};
        assert_int_equal(trace_builder_add_counter(builder, id, &value), 0);
    }
}

static void test_resident_memory_greatest_first(void **state)
{
    static const double small[] = {1048576, 3145728, 2097152, 0}, large[] = {5242880, 4194304, 0}, other[] = {1e12, 0};
    struct trace_builder *builder = fixture_builder(0);
    const struct trace_process process = {.pid = 77, .rank = -1, .command = trace_builder_string(builder, "second"), .executable = STRING_NONE};
    process_id second;
    struct grid grid;
    (void)state;
    assert_int_equal(trace_builder_add_process(builder, &process, &second), 0);
    add_counter(builder, 0, RESIDENT_TRACK, small);
    add_counter(builder, second.index, RESIDENT_TRACK, large);
    add_counter(builder, 0, "something else", other);
    assert_int_equal(trace_builder_set_metadata(builder, "host.kernel", "Linux 6.1"), 0);
    struct trace *trace = fixture_finish(builder);
    grid_init(&grid, columns, 2);
    host_facts_fill(trace, &grid);
    assert_string_equal(value_of(&grid, "resident memory"), "at most 5.0 MiB in one process, of what was read now and then");
    assert_string_equal(value_of(&grid, "  second 77"), "last 4.0 MiB, at most 5.0 MiB");
    assert_string_equal(grid.rows[grid.row_count - 1].cells[1].text, "last 2.0 MiB, at most 3.0 MiB");
    grid_finish(&grid);
    trace_unref(trace);
}

static void test_resident_memory_by_the_kernels_count(void **state)
{
    static const char *const facts[] = {"host.kernel", "Linux 6.1", RESIDENT_PEAK_KEY, "7340032", NULL};
    struct trace *trace = make(facts);
    struct grid grid;
    (void)state;
    grid_init(&grid, columns, 2);
    host_facts_fill(trace, &grid);
    assert_string_equal(value_of(&grid, "resident memory"), "at most 7.0 MiB in one process, by the kernel's count");
    grid_finish(&grid);
    trace_unref(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts_are_put_together),
        cmocka_unit_test(test_a_trace_without_any_says_so),
        cmocka_unit_test(test_resident_memory_greatest_first),
        cmocka_unit_test(test_resident_memory_by_the_kernels_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
