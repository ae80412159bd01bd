/* SPDX-License-Identifier: MIT */
/* Resident memory as it is read: of processes that live, of some that are gone, and of more than are read at a time. */
#include "session_fixture.h"

#include "record/recording.h"
#include "record/resident.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES (64u << 20)

struct reading {
    struct recording recording;
    struct resident *resident;
};

static void begin(void **state, struct reading *reading)
{
    struct fixture *fixture = *state;
    *reading = (struct reading){.recording.spool = session_spool(fixture->session)};
    reading->resident = resident_create(&reading->recording);
    assert_non_null(reading->resident);
}

static int64_t now_ns(void **state, int seconds)
{
    return session_start_raw_ns(((struct fixture *)*state)->session) + seconds * INT64_C(1000000000);
}

static struct trace *end(void **state, struct reading *reading)
{
    resident_destroy(reading->resident);
    assert_int_equal(spool_flush(reading->recording.spool, true), 0);
    return fixture_merge(*state);
}

/* Values of the one track there is. */
static size_t read_values(const struct trace *trace, double *values, size_t room)
{
    struct counter_block block;
    assert_int_equal(trace_block_count(trace, FAMILY_COUNTERS), 1);
    assert_int_equal(trace_counters_get(trace, 0, &block, NULL), 0);
    size_t count = block.info.count < room ? block.info.count : room;
    memcpy(values, block.value, count * sizeof *values);
    trace_counters_put(trace, &block);
    return count;
}

static void test_memory_comes_and_goes(void **state)
{
    struct reading reading;
    begin(state, &reading);
    pid_t pids[] = {getpid()};
    double values[4];
    resident_round(reading.resident, pids, 1, 1, now_ns(state, 1));
    void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    memset(memory, 1, BYTES);
    resident_round(reading.resident, pids, 1, 1, now_ns(state, 2));
    assert_int_equal(munmap(memory, BYTES), 0);
    resident_round(reading.resident, pids, 1, 1, now_ns(state, 3));
    struct trace *trace = end(state, &reading);
    assert_int_equal(read_values(trace, values, 4), 3);
    assert_true(values[1] > values[0] + 0.9 * BYTES && values[2] < values[1] - 0.9 * BYTES);
    trace_unref(trace);
}

static void test_one_that_is_gone_is_no_loss(void **state)
{
    struct reading reading;
    begin(state, &reading);
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    double values[4];
    pid_t pids[] = {child};
    resident_round(reading.resident, pids, 1, 1, now_ns(state, 1));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    resident_round(reading.resident, pids, 1, 1, now_ns(state, 2)); /* its descriptor says so */
    resident_round(reading.resident, pids, 1, 1, now_ns(state, 3)); /* there is nothing to open */
    resident_end(reading.resident, 0, 0);
    struct trace *trace = end(state, &reading);
    assert_int_equal(read_values(trace, values, 4), 1);
    assert_int_equal(fixture_lost(trace, "processes"), 0);
    assert_null(trace_metadata(trace, RESIDENT_PEAK_KEY));
    trace_unref(trace);
}

static void test_those_beyond_the_limit_are_counted(void **state)
{
    struct reading reading;
    begin(state, &reading);
    pid_t pids[] = {getpid()};
    resident_round(reading.resident, pids, 1, 300, now_ns(state, 1));
    resident_round(reading.resident, pids, 1, 10, now_ns(state, 2));
    resident_end(reading.resident, 100 << 20, 10 << 20);
    struct trace *trace = end(state, &reading);
    assert_int_equal(fixture_lost(trace, "beyond the 256"), 299);
    assert_string_equal(trace_metadata(trace, RESIDENT_PEAK_KEY), "104857600");
    trace_unref(trace);
}

static void test_what_the_target_had_of_ours_is_not_its_own(void **state)
{
    struct reading reading;
    begin(state, &reading);
    resident_end(reading.resident, 10 << 20, 9 << 20);
    struct trace *trace = end(state, &reading);
    assert_null(trace_metadata(trace, RESIDENT_PEAK_KEY));
    trace_unref(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_memory_comes_and_goes, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_one_that_is_gone_is_no_loss, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_those_beyond_the_limit_are_counted, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_what_the_target_had_of_ours_is_not_its_own, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
