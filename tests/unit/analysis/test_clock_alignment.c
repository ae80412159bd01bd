/* SPDX-License-Identifier: MIT */
/* Clocks that differ by known lines: whatever messages and probes say, the truth lies within the bound. */
#include "analysis/clock_alignment.h"
#include "analysis/clock_fit.h"
#include "analysis/clock_probes.h"

#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 88172645463325252u;

static uint64_t random_u64(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static int64_t random_between(int64_t least, int64_t most)
{
    return least + (int64_t)(random_u64() % (uint64_t)(most - least + 1));
}

/* Another clock: offset at time 0 of this one, and how many ns it gains in 10^9. */
struct truth {
    int64_t offset_ns, gain;
};

static int64_t other_time(const struct truth *truth, int64_t own_ns)
{
    return own_ns + truth->offset_ns + (int64_t)((__int128)own_ns * truth->gain / 1000000000);
}

static struct truth random_truth(void)
{
    return (struct truth){random_between(-INT64_C(5000000000000), INT64_C(5000000000000)), random_between(-400000, 400000)};
}

static int64_t distance(int64_t left, int64_t right)
{
    return left > right ? left - right : right - left;
}

static void test_a_map_goes_through_its_knots(void **unused)
{
    const struct clock_knot knots[] = {{2000, 12100, 30}, {1000, 11000, 10}, {1000, 11007, 50}};
    struct clock_map map;
    assert_int_equal(clock_map_init(&map, knots, 3), 0);
    assert_int_equal(map.count, 2);
    assert_int_equal(clock_map_at(&map, 1000), 11000);
    assert_int_equal(clock_map_at(&map, 2000), 12100);
    assert_int_equal(clock_map_at(&map, 1500), 11550);
    assert_int_equal(clock_map_bound(&map, 1000), 10);
    assert_int_equal(clock_map_worst_bound(&map), 30);
    assert_in_range(clock_map_bound(&map, 1500), 20, 21);
    assert_int_equal(clock_map_at(&map, 3000), 13160); /* 100 gained, of which 40 may be the bounds': 60 in 1000 are sure */
    clock_map_finish(&map);
}

static void test_a_map_that_goes_back_is_refused(void **unused)
{
    const struct clock_knot knots[] = {{1000, 500, 1}, {2000, 500, 1}};
    struct clock_map map;
    assert_int_equal(clock_map_init(&map, knots, 2), -EINVAL);
    assert_int_equal(clock_map_init(&map, knots, 0), -EINVAL);
}

static void test_large_times_lose_nothing(void **unused)
{
    const int64_t year = INT64_C(365) * 86400 * 1000000000;
    const struct clock_knot knots[] = {{10 * year, 3 * year, 0}, {11 * year, 4 * year + 1000000007, 0}};
    struct clock_map map;
    assert_int_equal(clock_map_init(&map, knots, 2), 0);
    assert_int_equal(clock_map_at(&map, 10 * year + year / 2), 3 * year + year / 2 + 500000004);
    clock_map_finish(&map);
}

/* Messages both ways, of a delay of at least `least`, some much longer, more so in one direction. */
static void add_messages(struct clock_fit *fit, const struct truth *truth, int messages, int64_t length_ns, int64_t least)
{
    for (int i = 0; i < messages; i++) {
        int64_t own = random_between(0, length_ns), other = other_time(truth, own);
        int64_t delay = least + random_between(0, 1 << random_between(3, 24));
        bool upper = i % 2; /* sent here, received there: the other clock shows the arrival */
        delay = upper ? delay * 3 : delay;
        struct clock_limit limit = {own, upper ? other + delay - own : other - delay - own};
        assert_int_equal(clock_fit_add(fit, upper, limit), 0);
    }
}

static void test_the_truth_is_within_the_bound_of_messages(void **unused)
{
    for (int round = 0; round < 400; round++) {
        struct truth truth = random_truth();
        struct clock_fit fit = {0};
        struct clock_knot knots[CLOCK_FIT_KNOTS];
        struct clock_map map;
        uint32_t count;
        int64_t contradiction, length = random_between(1000, INT64_C(100000000000));
        add_messages(&fit, &truth, (int)random_between(2, 300), length, 1000);
        assert_int_equal(clock_fit_solve(&fit, knots, &count, &contradiction), 0);
        assert_int_equal(contradiction, 0);
        assert_int_equal(clock_map_init(&map, knots, count), 0);
        for (int i = 0; i < 50; i++) {
            int64_t own = random_between(map.knots[0].own_ns, map.knots[map.count - 1].own_ns);
            assert_true(distance(clock_map_at(&map, own), other_time(&truth, own)) <= clock_map_bound(&map, own));
        }
        for (int i = 0; i < 50; i++) { /* beyond the messages, too */
            int64_t own = random_between(-length, 2 * length);
            assert_true(distance(clock_map_at(&map, own), other_time(&truth, own)) <= clock_map_bound(&map, own));
        }
        clock_map_finish(&map);
        clock_fit_finish(&fit);
    }
}

static void test_many_messages_make_a_narrow_bound(void **unused)
{
    struct truth truth = {INT64_C(123456789012), 50000};
    struct clock_fit fit = {0};
    struct clock_knot knots[CLOCK_FIT_KNOTS];
    uint32_t count;
    int64_t contradiction;
    add_messages(&fit, &truth, 300000, INT64_C(10000000000), 1000);
    assert_int_equal(clock_fit_solve(&fit, knots, &count, &contradiction), 0);
    assert_true(fit.lower.count < 1000 && fit.upper.count < 1000);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(knots[i].bound_ns < 2500); /* half of 1000 + 3000, and something */
        assert_true(distance(knots[i].other_ns, other_time(&truth, knots[i].own_ns)) <= knots[i].bound_ns);
    }
    clock_fit_finish(&fit);
}

static void test_messages_in_one_direction_say_nothing(void **unused)
{
    struct clock_fit fit = {0};
    struct clock_knot knots[CLOCK_FIT_KNOTS];
    uint32_t count;
    int64_t contradiction;
    assert_int_equal(clock_fit_add(&fit, true, (struct clock_limit){5, 7}), 0);
    assert_int_equal(clock_fit_solve(&fit, knots, &count, &contradiction), -ENODATA);
    clock_fit_finish(&fit);
}

static void test_limits_that_contradict_each_other_are_told(void **unused)
{
    struct clock_fit fit = {0};
    struct clock_knot knots[CLOCK_FIT_KNOTS];
    uint32_t count;
    int64_t contradiction;
    assert_int_equal(clock_fit_add(&fit, true, (struct clock_limit){0, 100}), 0);
    assert_int_equal(clock_fit_add(&fit, false, (struct clock_limit){0, 300}), 0);
    assert_int_equal(clock_fit_solve(&fit, knots, &count, &contradiction), 0);
    assert_in_range(contradiction, 100, 102);
    assert_int_equal(count, 1);
    assert_in_range(knots[0].other_ns, 199, 201);
    clock_fit_finish(&fit);
}

/* Domains on a tree or ring of comparisons by probes; each knows its own truth against domain 0. */
static void test_bounds_add_up_over_the_tree(void **unused)
{
    enum { DOMAINS = 12, COMPARISONS = 40 };
    for (int round = 0; round < 200; round++) {
        struct truth truths[DOMAINS] = {{0, 0}};
        struct clock_domain domains[DOMAINS] = {{.source = CLOCK_BY_BEING_REFERENCE}};
        struct clock_comparison comparisons[COMPARISONS];
        int64_t length = random_between(1000000, INT64_C(1000000000000));
        for (int i = 1; i < DOMAINS; i++)
            truths[i] = random_truth();
        for (int i = 0; i < COMPARISONS; i++) {
            uint32_t own = i + 1 < DOMAINS ? (uint32_t)i + 1 : (uint32_t)random_between(0, DOMAINS - 1);
            uint32_t peer = i + 1 < DOMAINS ? (uint32_t)random_between(0, i) : (own + 1 + (uint32_t)random_between(0, DOMAINS - 2)) % DOMAINS;
            struct clock_knot knots[2];
            for (int k = 0; k < 2; k++) { /* both clocks are lines of domain 0's time */
                int64_t now = k * length, bound = random_between(1, 20000);
                knots[k] = (struct clock_knot){other_time(&truths[own], now), other_time(&truths[peer], now) + random_between(-bound, bound), bound};
            }
            comparisons[i] = (struct clock_comparison){.own = own, .peer = peer, .source = CLOCK_BY_PROBES};
            assert_int_equal(clock_map_init(&comparisons[i].map, knots, 2), 0);
        }
        assert_int_equal(clock_alignment_spread(domains, DOMAINS, comparisons, COMPARISONS, CLOCK_BY_PROBES), 0);
        for (uint32_t i = 1; i < DOMAINS; i++) {
            assert_int_equal(domains[i].source, CLOCK_BY_PROBES);
            assert_true(domains[i].bound_ns <= 20000 * (DOMAINS - 1));
            for (int k = 0; k < 20; k++) {
                int64_t now = random_between(0, length), own = other_time(&truths[i], now);
                assert_true(distance(clock_domain_time(&domains[i], own), now) <= clock_map_bound(&domains[i].map, own) + DOMAINS);
            }
        }
        for (int i = 0; i < DOMAINS; i++)
            clock_map_finish(&domains[i].map);
        for (int i = 0; i < COMPARISONS; i++)
            clock_map_finish(&comparisons[i].map);
    }
}

static void test_the_way_with_the_least_bound_is_taken(void **unused)
{
    const struct clock_knot worse = {0, 0, 100}, good = {0, 0, 10};
    struct clock_domain domains[3] = {{.source = CLOCK_BY_BEING_REFERENCE}};
    struct clock_comparison comparisons[3] = {{.own = 1, .peer = 0, .source = CLOCK_BY_PROBES}, {.own = 2, .peer = 0, .source = CLOCK_BY_PROBES},
                                              {.own = 2, .peer = 1, .source = CLOCK_BY_PROBES}};
    assert_int_equal(clock_map_init(&comparisons[0].map, &good, 1), 0);
    assert_int_equal(clock_map_init(&comparisons[1].map, &worse, 1), 0);
    assert_int_equal(clock_map_init(&comparisons[2].map, &good, 1), 0);
    assert_int_equal(clock_alignment_spread(domains, 3, comparisons, 3, CLOCK_BY_PROBES), 0);
    assert_int_equal(domains[2].via, 1);
    assert_int_equal(domains[2].bound_ns, 20);
    for (int i = 0; i < 3; i++) {
        clock_map_finish(&comparisons[i].map);
        clock_map_finish(&domains[i].map);
    }
}

static void test_probes_are_read_as_they_are_written(void **unused)
{
    static const char good[] = "{\"rank\":1,\"peer\":0,\"when\":\"begin\",\"time_ns\":-5,\"own_raw_ns\":13034229716939,\"peer_raw_ns\":12934229717293,"
                               "\"error_ns\":8426,\"trips\":20,\"own_domain\":\"49e7623d4fb7761f\",\"peer_domain\":\"297237bab845e8a7\"}";
    struct clock_probe probe;
    assert_true(clock_probe_parse("clock.probe.77.0", good, &probe));
    assert_int_equal(probe.peer, 0);
    assert_int_equal(probe.own_ns, 13034229716939);
    assert_int_equal(probe.peer_ns, 12934229717293);
    assert_int_equal(probe.error_ns, 8426);
    assert_int_equal(probe.own_domain, 0x49e7623d4fb7761fu);
    assert_false(clock_probe_parse("clock.domain", good, &probe));
    char cut[sizeof good];
    for (size_t length = 0; length < sizeof good - 2; length++) {
        memcpy(cut, good, length);
        cut[length] = '\0';
        assert_false(clock_probe_parse("clock.probe.77.0", cut, &probe));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_map_goes_through_its_knots),
        cmocka_unit_test(test_a_map_that_goes_back_is_refused),
        cmocka_unit_test(test_large_times_lose_nothing),
        cmocka_unit_test(test_the_truth_is_within_the_bound_of_messages),
        cmocka_unit_test(test_many_messages_make_a_narrow_bound),
        cmocka_unit_test(test_messages_in_one_direction_say_nothing),
        cmocka_unit_test(test_limits_that_contradict_each_other_are_told),
        cmocka_unit_test(test_bounds_add_up_over_the_tree),
        cmocka_unit_test(test_the_way_with_the_least_bound_is_taken),
        cmocka_unit_test(test_probes_are_read_as_they_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
