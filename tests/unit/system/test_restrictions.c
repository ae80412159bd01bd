/* SPDX-License-Identifier: MIT */
/* Each restriction of a made-up machine is named with its cost, who can lift it, and how. */
#include "system/restrictions.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PERFMON (1ULL << 38)

/* A machine on which nothing is restricted, for an ordinary user. */
static struct machine *free_machine(void)
{
    struct machine *machine = calloc(1, sizeof *machine);
    struct probe_result works = {.works = true};
    assert_non_null(machine);
    machine->probe = (struct sampling_probe){works, works, works, works, works, works, works};
    machine->privileges =
        (struct privileges){.known = true, .initial_user_namespace = true, .user = 1000, .pid_namespace_depth = 1};
    machine->settings = (struct kernel_settings){.perf_events = true,
                                                 .paranoid = {true, 1},
                                                 .mlock_kb = {true, 516},
                                                 .max_sample_rate = {true, 100000},
                                                 .cpu_time_max_percent = {true, 25},
                                                 .max_stack = {true, 127},
                                                 .kernel_symbols_readable = true};
    machine->session =
        (struct session_place){.path = "/tmp", .exists = true, .writable = true, .free_bytes = 1ULL << 34};
    machine->open_files = (struct setting){true, 20000};
    machine->libc_debug_info = machine->runtime_library = true;
    strcpy(machine->host.architecture, "x86_64");
    strcpy(machine->host.clocksource, "tsc");
    machine->host.tsc_invariant = true;
    machine->host.cpus_online = machine->host.cpus_usable = 4;
    strcpy(machine->program, "/opt/hp/bin/hprofiler");
    return machine;
}

static const struct restriction *find(const struct restriction_list *list, const char *id)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].id, id) == 0)
            return &list->items[i];
    fail_msg("no check is called %s", id);
    return NULL;
}

/* Judges and frees the machine; checks the rule that whatever is not ok says what it costs and who can act. */
static void judge(struct machine *machine, struct restriction_list *list)
{
    assert_int_equal(restrictions_judge(machine, list), 0);
    free(machine);
    for (size_t i = 0; i < list->count; i++) {
        const struct restriction *item = &list->items[i];
        assert_true(*item->found);
        if (item->state == RESTRICTION_LIMITED || item->state == RESTRICTION_BLOCKED) {
            assert_true(*item->cost);
            assert_true(*item->who);
        }
    }
}

static void test_a_free_machine_has_no_restriction(void **state)
{
    (void)state;
    struct restriction_list list;
    judge(free_machine(), &list);
    for (size_t i = 0; i < list.count; i++)
        assert_int_equal(list.items[i].state, RESTRICTION_OK);
    restriction_list_finish(&list);
}

static void test_paranoid_levels(void **state)
{
    (void)state;
    static const struct {
        long level;
        uint64_t capabilities;
        bool initial_namespace;
        enum restriction_state expected;
    } cases[] = {{-1, 0, true, RESTRICTION_OK},
                 {1, 0, true, RESTRICTION_OK},
                 {2, 0, true, RESTRICTION_LIMITED},
                 {3, 0, true, RESTRICTION_BLOCKED},
                 {4, 0, true, RESTRICTION_BLOCKED},
                 {4, PERFMON, true, RESTRICTION_OK},
                 {4, PERFMON, false, RESTRICTION_BLOCKED}, /* root of a rootless container */
                 {4, 0, true, RESTRICTION_LIMITED} /* a kernel without such levels lets us sample */};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct restriction_list list;
        struct machine *machine = free_machine();
        machine->settings.paranoid.value = cases[i].level;
        machine->privileges.effective = cases[i].capabilities;
        machine->privileges.initial_user_namespace = cases[i].initial_namespace;
        if (cases[i].expected == RESTRICTION_BLOCKED)
            machine->probe.cpu_clock = machine->probe.cycles = (struct probe_result){.error = EACCES};
        judge(machine, &list);
        const struct restriction *item = find(&list, "perf_event_paranoid");
        assert_int_equal(item->state, cases[i].expected);
        if (item->state != RESTRICTION_OK) {
            assert_non_null(strstr(item->remedy, "sysctl kernel.perf_event_paranoid=1"));
            assert_non_null(strstr(item->remedy, "setcap cap_perfmon=ep /opt/hp/bin/hprofiler"));
        }
        restriction_list_finish(&list);
    }
}

static struct machine *machine_without_perf(int error)
{
    struct machine *machine = free_machine();
    struct probe_result refused = {.error = error};
    machine->probe = (struct sampling_probe){refused, refused, refused, refused, refused, refused, {.works = true}};
    return machine;
}

static void test_seccomp_is_blamed_only_when_it_refused(void **state)
{
    (void)state;
    struct restriction_list list;
    struct machine *machine = machine_without_perf(EPERM);
    machine->privileges.seccomp_mode = 2;
    judge(machine, &list);
    assert_int_equal(find(&list, "seccomp")->state, RESTRICTION_BLOCKED);
    assert_non_null(strstr(find(&list, "seccomp")->remedy, "--cap-add PERFMON"));
    assert_non_null(strstr(find(&list, "perf_events")->who, "seccomp"));
    restriction_list_finish(&list);

    machine = machine_without_perf(EACCES); /* the paranoid level's errno */
    machine->privileges.seccomp_mode = 2;
    judge(machine, &list);
    assert_int_equal(find(&list, "seccomp")->state, RESTRICTION_OK);
    assert_int_equal(find(&list, "perf_events")->state, RESTRICTION_BLOCKED);
    assert_non_null(strstr(find(&list, "perf_events")->who, "paranoid"));
    restriction_list_finish(&list);
}

static void test_missing_pmu_of_a_virtual_machine_names_its_host(void **state)
{
    (void)state;
    struct restriction_list list;
    struct machine *machine = free_machine();
    machine->probe.cycles = machine->probe.branch_stack = (struct probe_result){.error = ENOENT};
    strcpy(machine->host.hypervisor, "KVM");
    judge(machine, &list);
    assert_int_equal(find(&list, "pmu")->state, RESTRICTION_LIMITED);
    assert_non_null(strstr(find(&list, "pmu")->found, "KVM"));
    assert_non_null(strstr(find(&list, "pmu")->remedy, "pmu=on"));
    assert_int_equal(find(&list, "perf_events")->state, RESTRICTION_OK);
    assert_int_equal(find(&list, "lbr")->state, RESTRICTION_LIMITED);
    restriction_list_finish(&list);
}

static void test_no_way_at_all_is_blocked_and_said(void **state)
{
    (void)state;
    struct restriction_list list;
    struct machine *machine = machine_without_perf(ENOSYS);
    machine->settings.perf_events = false;
    machine->settings.paranoid.known = false;
    machine->probe.timers.works = false;
    machine->probe.timers.error = EPERM;
    judge(machine, &list);
    assert_non_null(strstr(find(&list, "perf_events")->remedy, "CONFIG_PERF_EVENTS"));
    assert_int_equal(find(&list, "thread_timers")->state, RESTRICTION_BLOCKED);
    assert_string_equal(find(&list, "thread_timers")->cost, "no CPU samples at all");
    assert_int_equal(find(&list, "perf_event_paranoid")->state, RESTRICTION_UNKNOWN);
    restriction_list_finish(&list);
}

static void test_hidden_kernel_symbols_name_the_setting_that_hides_them(void **state)
{
    (void)state;
    static const struct {
        long kptr_restrict, paranoid;
        const char *found;
    } cases[] = {{0, 2, "perf_event_paranoid is 2"}, {1, 1, "kptr_restrict is 1"}, {2, 4, "kptr_restrict is 2"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct restriction_list list;
        struct machine *machine = free_machine();
        machine->settings.kernel_symbols_readable = false;
        machine->settings.kptr_restrict = (struct setting){true, cases[i].kptr_restrict};
        machine->settings.paranoid.value = cases[i].paranoid;
        judge(machine, &list);
        assert_non_null(strstr(find(&list, "kernel_symbols")->found, cases[i].found));
        restriction_list_finish(&list);
    }
}

static void test_small_limits_are_named_with_their_values(void **state)
{
    (void)state;
    struct restriction_list list;
    struct machine *machine = free_machine();
    machine->settings.mlock_kb.value = 64;
    machine->settings.max_sample_rate.value = 500;
    machine->settings.max_stack.value = 16;
    machine->settings.kernel_symbols_readable = false;
    machine->settings.kptr_restrict = (struct setting){true, 1};
    machine->libc_debug_info = false;
    strcpy(machine->libc_path, "/lib/libc.so.6");
    machine->session.in_memory = true;
    machine->open_files.value = 100;
    machine->cpu_quota = 1.5;
    machine->time_namespace = true;
    strcpy(machine->timens_offsets, "monotonic 100 0");
    machine->host.tsc_invariant = false;
    machine->hidden_processes = true;
    judge(machine, &list);
    static const struct {
        const char *id, *found;
    } cases[] = {{"perf_event_mlock_kb", "64 KiB"},
                 {"perf_event_max_sample_rate", "500 Hz"},
                 {"perf_event_max_stack", "16 frames"},
                 {"kernel_symbols", "kptr_restrict is 1"},
                 {"debug_info", "none installed"},
                 {"session_directory", "tmpfs"},
                 {"open_files", "100 descriptors"},
                 {"cpu_quota", "1.50 CPUs"},
                 {"time_namespace", "monotonic 100 0"},
                 {"clock", "no invariant"},
                 {"attach", "hidepid"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct restriction *item = find(&list, cases[i].id);
        assert_int_equal(item->state, RESTRICTION_LIMITED);
        assert_non_null(strstr(item->found, cases[i].found));
    }
    restriction_list_finish(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_free_machine_has_no_restriction),
        cmocka_unit_test(test_paranoid_levels),
        cmocka_unit_test(test_seccomp_is_blamed_only_when_it_refused),
        cmocka_unit_test(test_missing_pmu_of_a_virtual_machine_names_its_host),
        cmocka_unit_test(test_no_way_at_all_is_blocked_and_said),
        cmocka_unit_test(test_hidden_kernel_symbols_name_the_setting_that_hides_them),
        cmocka_unit_test(test_small_limits_are_named_with_their_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
