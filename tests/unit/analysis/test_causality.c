/* SPDX-License-Identifier: MIT */
/* Violations are counted, and mended without breaking anything else: nothing is left, order is kept, nothing moves back. */
#include "analysis/causality.h"
#include "analysis/clock_settle.h"

#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 362436069u;

static int64_t random_between(int64_t least, int64_t most)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return least + (int64_t)(state % (uint64_t)(most - least + 1));
}

static void test_violations_are_counted(void **unused)
{
    const struct causal_event events[] = {
        {100, 0, 0, false}, {60, 1, 0, true},                      /* 40 too early */
        {100, 0, 1, false}, {100, 1, 1, true},                     /* at the same time: none */
        {10, 0, 2, false}, {30, 1, 2, false}, {31, 0, 2, true}, {25, 1, 2, true}, /* a collective: 5 */
        {5, 1, 3, true},                                           /* no cause known */
    };
    const int64_t bounds[] = {0, 20}, unknown[] = {0, -1};
    struct causal_violations found;
    assert_int_equal(causality_check(events, 9, 4, bounds, &found), 0);
    assert_int_equal(found.effects, 4);
    assert_int_equal(found.violations, 2);
    assert_int_equal(found.worst_ns, 40);
    assert_int_equal(found.beyond_bound, 1);
    assert_int_equal(causality_check(events, 9, 4, unknown, &found), 0);
    assert_int_equal(found.beyond_bound, 0);
}

static void test_a_jump_is_spread_and_decays(void **unused)
{
    struct causal_event events[] = {
        {1000, 0, 0, false}, {960, 1, 0, true},
        {900, 1, 1, false}, {2000, 0, 1, true},                   /* before the jump, free to move */
        {800, 1, 2, false}, {815, 0, 2, true},                    /* may move by 15 */
        {1960, 1, 3, false}, {9999, 0, 3, true},
    };
    struct causal_repair repair;
    assert_int_equal(causality_repair(events, 8, 4, 2, &repair), 0);
    assert_int_equal(repair.clocks[0].count, 0);
    assert_int_equal(causal_repair_time(&repair, 1, 960), 1000);
    assert_int_equal(causal_repair_time(&repair, 1, 900), 934);   /* 40 less a tenth of 60 */
    assert_int_equal(causal_repair_time(&repair, 1, 800), 815);   /* 24 are wanted */
    assert_int_equal(causal_repair_time(&repair, 1, 1960), 1990); /* a hundredth of 1000 is made up for */
    assert_int_equal(causal_repair_time(&repair, 1, 1960 + 3000), 1960 + 3000);
    assert_int_equal(causal_repair_time(&repair, 1, 800 - 150), 800 - 150);
    assert_int_equal(causal_repair_time(&repair, 0, 12345), 12345);
    assert_int_equal(repair.largest_shift_ns, 40);
    assert_int_equal(repair.moved_events, 4);
    assert_int_equal(repair.unmended, 0);
    causal_repair_finish(&repair);
}

static void test_without_violations_nothing_moves(void **unused)
{
    struct causal_event events[] = {{1, 0, 0, false}, {2, 1, 0, true}, {3, 1, 1, false}, {4, 0, 1, true}};
    struct causal_repair repair;
    assert_int_equal(causality_repair(events, 4, 2, 2, &repair), 0);
    assert_int_equal(repair.moved_events, 0);
    assert_int_equal(repair.clocks[0].count + repair.clocks[1].count, 0);
    causal_repair_finish(&repair);
}

static void test_a_ring_that_cannot_be_is_left(void **unused)
{
    struct causal_event events[] = {{1, 0, 0, true}, {2, 0, 1, false}, {1, 1, 1, true}, {2, 1, 0, false}, {50, 1, 2, false}, {40, 0, 2, true}};
    struct causal_repair repair;
    assert_int_equal(causality_repair(events, 6, 3, 2, &repair), 0);
    assert_int_equal(repair.unmended, 1);
    assert_true(causal_repair_time(&repair, 0, 40) >= causal_repair_time(&repair, 1, 50)); /* the rest is mended */
    causal_repair_finish(&repair);
}

/* What happened in truth, on clocks that are off: time_ns is what the clock said. */
struct world {
    struct causal_event *events;
    size_t count;
    uint32_t exchanges, clocks;
    int64_t offset[16], gain[16];
};

static void happens(struct world *world, int64_t true_ns, uint32_t clock, bool effect)
{
    int64_t time = true_ns + world->offset[clock] + true_ns / 1000000 * world->gain[clock];
    world->events[world->count++] = (struct causal_event){time, clock, world->exchanges, effect};
}

static void make_world(struct world *world, int exchanges, int64_t off_ns, int64_t drift)
{
    *world = (struct world){.clocks = (uint32_t)random_between(2, 16), .events = calloc((size_t)exchanges * 32, sizeof *world->events)};
    assert_non_null(world->events);
    for (uint32_t i = 0; i < world->clocks; i++) {
        world->offset[i] = random_between(-off_ns, off_ns);
        world->gain[i] = random_between(-drift, drift);
    }
    int64_t now = 1000000000;
    for (int i = 0; i < exchanges; i++, world->exchanges++) {
        now += random_between(0, 1 << random_between(1, 20));
        uint32_t one = (uint32_t)random_between(0, world->clocks - 1), root = (uint32_t)random_between(0, world->clocks - 1);
        bool all = random_between(0, 9) == 0, from_root = random_between(0, 9) == 0;
        if (!all && !from_root) { /* a message; one from a clock to itself, too */
            happens(world, now, one, false);
            happens(world, now + random_between(0, 3000), root, true);
            continue;
        }
        for (uint32_t clock = 0; clock < world->clocks; clock++)
            if (all || clock == root)
                happens(world, now - random_between(0, 5000), clock, false);
        for (uint32_t clock = 0; clock < world->clocks; clock++)
            if (all || clock != root)
                happens(world, now + random_between(0, 5000), clock, true);
    }
}

static int by_clock(const void *left, const void *right)
{
    const struct causal_event *a = left, *b = right;
    if (a->clock != b->clock)
        return a->clock < b->clock ? -1 : 1;
    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

/* Order and distances of all that lies on a clock, events or not. */
static void check_order(const struct world *world, const struct causal_repair *repair)
{
    for (size_t i = 0; i < world->count; i++) {
        const struct causal_event *event = &world->events[i];
        int64_t there = causal_repair_time(repair, event->clock, event->time_ns);
        assert_true(there >= event->time_ns && there - event->time_ns <= repair->largest_shift_ns);
        assert_true(causal_repair_time(repair, event->clock, event->time_ns + 1) >= there);
        assert_true(causal_repair_time(repair, event->clock, event->time_ns - 1) <= there);
        if (i && event[-1].clock == event->clock) {
            int64_t before = event->time_ns - event[-1].time_ns;
            int64_t after = there - causal_repair_time(repair, event->clock, event[-1].time_ns);
            assert_true(before ? after >= before - before / 100 && after > 0 : after == 0);
        }
    }
}

static void test_random_worlds_are_mended(void **unused)
{
    uint64_t violated = 0;
    for (int round = 0; round < 300; round++) {
        struct world world;
        struct causal_repair repair;
        struct causal_violations before, after;
        make_world(&world, (int)random_between(1, 300), 1 << random_between(1, 18), 50);
        assert_int_equal(causality_check(world.events, world.count, world.exchanges, NULL, &before), 0);
        assert_int_equal(causality_repair(world.events, world.count, world.exchanges, world.clocks, &repair), 0);
        qsort(world.events, world.count, sizeof *world.events, by_clock);
        check_order(&world, &repair);
        for (size_t i = 0; i < world.count; i++)
            world.events[i].time_ns = causal_repair_time(&repair, world.events[i].clock, world.events[i].time_ns);
        assert_int_equal(causality_check(world.events, world.count, world.exchanges, NULL, &after), 0);
        assert_int_equal(repair.unmended, 0);
        assert_int_equal(after.violations, 0);
        assert_true(before.violations || repair.moved_events == 0);
        violated += before.violations;
        causal_repair_finish(&repair);
        free(world.events);
    }
    assert_true(violated > 1000);
}

/* --- settling ----------------------------------------------------------------------------------------------------- */

static void test_clocks_settle_by_as_little_as_needed(void **unused)
{
    const struct causal_event events[] = {{100, 0, 0, false}, {90, 1, 0, true}, {50, 1, 1, false}, {80, 0, 1, true}};
    const int64_t bounds[] = {0, 20};
    int64_t moves[2];
    assert_int_equal(clock_settle(events, 4, 2, 0, bounds, moves), 0);
    assert_int_equal(moves[0], 0);
    assert_int_equal(moves[1], 10);
    const int64_t narrow[] = {0, 9}, unknown[] = {0, -1};
    assert_int_equal(clock_settle(events, 4, 2, 0, narrow, moves), -ERANGE);
    assert_int_equal(clock_settle(events, 4, 2, 0, unknown, moves), -ERANGE);
    const struct causal_event ring[] = {{100, 0, 0, false}, {90, 1, 0, true}, {50, 1, 1, false}, {55, 0, 1, true}};
    assert_int_equal(clock_settle(ring, 4, 2, 0, bounds, moves), -ERANGE); /* 10 forward and at most 5 */
}

/* Clocks that are off by something constant within their bounds: the truth is one solution, so there is one. */
static void test_constant_errors_are_settled(void **unused)
{
    for (int round = 0; round < 300; round++) {
        struct world world;
        struct causal_violations after;
        int64_t bounds[16], moves[16], off = 1 << random_between(1, 18);
        make_world(&world, (int)random_between(1, 300), off, 0);
        for (uint32_t i = 0; i < world.clocks; i++)
            bounds[i] = 2 * off * world.clocks;
        assert_int_equal(clock_settle(world.events, world.count, world.clocks, 0, bounds, moves), 0);
        assert_int_equal(moves[0], 0);
        for (size_t i = 0; i < world.count; i++)
            world.events[i].time_ns += moves[world.events[i].clock];
        assert_int_equal(causality_check(world.events, world.count, world.exchanges, NULL, &after), 0);
        assert_int_equal(after.violations, 0);
        free(world.events);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_violations_are_counted),
        cmocka_unit_test(test_a_jump_is_spread_and_decays),
        cmocka_unit_test(test_without_violations_nothing_moves),
        cmocka_unit_test(test_a_ring_that_cannot_be_is_left),
        cmocka_unit_test(test_random_worlds_are_mended),
        cmocka_unit_test(test_clocks_settle_by_as_little_as_needed),
        cmocka_unit_test(test_constant_errors_are_settled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
