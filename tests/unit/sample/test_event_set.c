/* SPDX-License-Identifier: MIT */
/* Real events on a real child: armed by its exec, followed into its children, read in full. Skipped where the kernel refuses events. */
#include "unit.h"

#include "base/error.h"
#include "sample/event_set.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct seen {
    unsigned samples, forks, execs, exits, switches, maps, other_pids;
    pid_t child;
};

static int look(void *context, const struct event_record *event)
{
    struct seen *seen = context;
    switch (event->record.type) {
    case PERF_RECORD_SAMPLE:
        seen->samples += event->role == EVENT_SAMPLES;
        seen->other_pids += (pid_t)event->record.pid != seen->child;
        break;
    case PERF_RECORD_FORK:
        seen->forks++;
        break;
    case PERF_RECORD_EXIT:
        seen->exits++;
        break;
    case PERF_RECORD_COMM:
        seen->execs += event->record.u.comm.exec;
        break;
    case PERF_RECORD_SWITCH:
        seen->switches++;
        break;
    case PERF_RECORD_MMAP2:
        seen->maps++;
        break;
    default:
        break;
    }
    assert_true(event->record.time_ns > 0);
    return 0;
}

static struct sampling_plan plan_of(enum sampling_stack stack)
{
    const struct sampling_request request = {.frequency_hz = 997, .stack = stack, .enable_on_exec = true};
    struct sampling_plan plan;
    struct error err = ERROR_INIT;
    if (sampling_plan_make(&request, NULL, &plan, &err) < 0) {
        print_message("%s\n", err.text);
        exit(77);
    }
    return plan;
}

/* A child that waits at a gate, then runs a shell command. */
static pid_t start(const char *command, int *ret_gate)
{
    int gate[2];
    assert_int_equal(pipe(gate), 0);
    pid_t child = fork();
    if (child == 0) {
        char go;
        close(gate[1]);
        if (read(gate[0], &go, 1) == 1)
            execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(99);
    }
    close(gate[0]);
    *ret_gate = gate[1];
    return child;
}

static struct seen follow(const struct sampling_plan *plan, const char *command)
{
    CLEANUP(event_set_destroyp) struct event_set *set = NULL;
    struct error err = ERROR_INIT;
    struct seen seen = {0};
    int gate, status;
    seen.child = start(command, &gate);
    assert_int_equal(event_set_create(plan, NULL, &set, &err), 0);
    assert_int_equal(event_set_add_task(set, seen.child, &err), 0);
    assert_int_equal(event_set_read(set, look, &seen), 0);
    assert_int_equal(seen.samples + seen.execs + seen.switches, 0); /* nothing before the exec */
    assert_int_equal(write(gate, "", 1), 1);
    close(gate);
    while (waitpid(seen.child, &status, WNOHANG) == 0) {
        assert_int_equal(event_set_read(set, look, &seen), 0);
        usleep(2000);
    }
    assert_int_equal(event_set_read(set, look, &seen), 0);
    struct event_totals totals;
    event_set_totals(set, &totals);
    assert_int_equal(totals.bad_records, 0);
    assert_true(totals.faults_known && totals.faults > 20);
    return seen;
}

#define BURN "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; "

static void test_a_child_from_its_exec_to_its_end(void **state)
{
    struct sampling_plan plan = plan_of(SAMPLING_STACK_FP);
    struct seen seen = follow(&plan, BURN "exit 0");
    assert_int_equal(seen.execs, 1);
    assert_true(seen.samples > 0); /* how many is the kernel's affair: it throttles them */
    assert_int_equal(seen.other_pids, 0);
    assert_true(seen.maps > 1);
    assert_true(seen.exits >= 1);
}

static void test_its_children_too(void **state)
{
    struct sampling_plan plan = plan_of(SAMPLING_STACK_NONE);
    struct seen seen = follow(&plan, "(" BURN ") & (" BURN ") & wait");
    assert_true(seen.forks >= 2);
    assert_true(seen.other_pids > 0);
}

static void test_stack_copies_have_a_ring_of_their_own(void **state)
{
    struct sampling_plan plan = plan_of(SAMPLING_STACK_DWARF);
    assert_true(plan.separate_sideband);
    struct seen seen = follow(&plan, BURN "exit 0");
    assert_int_equal(seen.execs, 1);
    assert_true(seen.samples > 0); /* how many is the kernel's affair: it throttles them */
}

/* As when the kernel lowers its limit between the plan and an event. */
static void test_a_frequency_that_is_no_longer_allowed_is_lowered(void **state)
{
    struct sampling_plan plan = plan_of(SAMPLING_STACK_NONE);
    long maximum = perf_sysctl("perf_event_max_sample_rate");
    if (maximum <= 0)
        skip();
    plan.frequency_hz = (unsigned)maximum + 1;
    follow(&plan, "exit 0"); /* no longer: so many interrupts leave no time for anything else */
    assert_true(sampling_plan_lower(&plan) && plan.frequency_hz <= (unsigned)maximum && !sampling_plan_lower(&plan));
}

static void test_a_task_that_is_gone(void **state)
{
    struct sampling_plan plan = plan_of(SAMPLING_STACK_NONE);
    CLEANUP(event_set_destroyp) struct event_set *set = NULL;
    struct error err = ERROR_INIT;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    assert_int_equal(event_set_create(&plan, NULL, &set, &err), 0);
    assert_int_equal(event_set_add_task(set, child, &err), -ESRCH);
    assert_non_null(strstr(err.text, "cannot open"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_child_from_its_exec_to_its_end),
        cmocka_unit_test(test_its_children_too),
        cmocka_unit_test(test_stack_copies_have_a_ring_of_their_own),
        cmocka_unit_test(test_a_frequency_that_is_no_longer_allowed_is_lowered),
        cmocka_unit_test(test_a_task_that_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
