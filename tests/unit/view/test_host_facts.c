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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts_are_put_together),
        cmocka_unit_test(test_a_trace_without_any_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
