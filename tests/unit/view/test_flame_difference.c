/* SPDX-License-Identifier: MIT */
/* Which frames take more or less of the time than before; and siblings in the order of their names. */
#include "trace/trace_fixture.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "view/call_tree.h"
#include "view/flame.h"
#include "view/flame_difference.h"

#define MS INT64_C(1000000)
#define FUNCTIONS 5

static struct error err;

/* Samples of main's callees, each so many, the last of them in a library; `other` names first, so that the two traces number theirs differently. */
static struct trace *sampled_in(const char *library_path, const int *counts, const char *other)
{
    static const char *const functions[FUNCTIONS] = {"alpha", "beta", "gamma", "delta", "beta"};
    struct trace_builder *builder = fixture_builder(0);
    struct trace *trace;
    track_id track = fixture_track(builder, TRACK_KIND_THREAD, "main", 42);
    int64_t time_ns = 0;
    trace_builder_string(builder, other);
    for (int i = 0; i < FUNCTIONS; i++) {
        module_id module;
        frame_id frame;
        stack_id stack;
        struct trace_module library = {.path = trace_builder_string(builder, i == 4 ? library_path : "/bin/app")};
        assert_int_equal(trace_builder_add_module(builder, &library, &module), 0);
        assert_int_equal(trace_builder_add_frame(builder, &(struct trace_frame){.function = trace_builder_string(builder, "main"), .module = MODULE_NONE}, &frame), 0);
        assert_int_equal(trace_builder_add_stack(builder, STACK_NONE, frame, &stack), 0);
        assert_int_equal(trace_builder_add_frame(builder, &(struct trace_frame){.function = trace_builder_string(builder, functions[i]), .module = module}, &frame), 0);
        assert_int_equal(trace_builder_add_stack(builder, stack, frame, &stack), 0);
        for (int count = 0; count < counts[i]; count++, time_ns += MS)
            assert_int_equal(trace_builder_add_sample(builder, track, &(struct sample){time_ns, MS, stack, 0, SAMPLE_EVENT_CPU_CLOCK, 0}), 0);
    }
    assert_int_equal(trace_builder_finish(builder, &trace, &err), 0);
    trace_builder_destroy(builder);
    return trace;
}

static struct trace *sampled(const int *counts, const char *other)
{
    return sampled_in("/lib/second.so", counts, other);
}

static struct calling_context *context_of(struct trace *trace)
{
    struct calling_context *context;
    assert_int_equal(calling_context_create(trace, NULL, &context, &err), 0);
    return context;
}

/* The heaviest node of that name; ID_NONE. */
static uint32_t node_named(const struct trace *trace, const struct calling_context *context, const char *name)
{
    uint32_t best = ID_NONE;
    for (uint32_t i = 1; i < context->count; i++)
        if (strcmp(trace_text(trace, context->nodes[i].function), name) == 0 && (best == ID_NONE || context->nodes[i].total_weight > context->nodes[best].total_weight))
            best = i;
    return best;
}

struct pair {
    struct trace *before_trace, *now_trace;
    struct calling_context *before, *now;
};

/* The later tree is in the order of its names, as the one that is shown; the earlier one is not. */
static struct pair make_pair_in(const char *before_library, const int *before, const char *now_library, const int *now)
{
    struct pair pair = {.before_trace = sampled_in(before_library, before, "one"), .now_trace = sampled_in(now_library, now, "gamma")};
    pair.before = context_of(pair.before_trace);
    pair.now = context_of(pair.now_trace);
    assert_int_equal(flame_order_by_name(pair.now_trace, pair.now), 0);
    return pair;
}

static struct pair make_pair(const int *before, const int *now)
{
    return make_pair_in("/lib/second.so", before, "/lib/second.so", now);
}

static void finish_pair(struct pair *pair)
{
    calling_context_destroy(pair->before);
    calling_context_destroy(pair->now);
    trace_unref(pair->before_trace);
    trace_unref(pair->now_trace);
}

static void assert_says(const struct frame_difference *difference, bool shown_is_before, const char *sign, const char *expected)
{
    struct text text = TEXT_INIT;
    frame_difference_describe(difference, CONTEXT_SAMPLES, shown_is_before, &text);
    assert_string_equal(text.data, expected);
    assert_string_equal(frame_difference_sign(difference, shown_is_before), sign);
    text_finish(&text);
}

static void test_parts_of_the_totals_are_compared(void **state)
{
    /* The second run was twice as long. alpha: half as before; beta: 20 % instead of 40; gamma: 30 instead of 10; delta is new. */
    struct pair pair = make_pair((int[FUNCTIONS]){500, 400, 100, 0, 0}, (int[FUNCTIONS]){800, 400, 600, 200, 0});
    struct flame_side now = {pair.now_trace, pair.now, false}, before = {pair.before_trace, pair.before, false};
    struct frame_difference *differences = flame_difference_create(&now, &before, false);
    (void)state;
    assert_non_null(differences);
    const struct frame_difference *alpha = &differences[node_named(pair.now_trace, pair.now, "alpha")], *beta = &differences[node_named(pair.now_trace, pair.now, "beta")];
    const struct frame_difference *gamma = &differences[node_named(pair.now_trace, pair.now, "gamma")], *delta = &differences[node_named(pair.now_trace, pair.now, "delta")];
    assert_int_equal(differences[0].level, 0);
    assert_says(&differences[node_named(pair.now_trace, pair.now, "main")], false, "", "was 100.0 %: +0.0 points (no change), +1.000 s");
    assert_int_equal(alpha->level, -1);
    assert_says(alpha, false, "-", "was 50.0 %: -10.0 points, +300.00 ms");
    assert_int_equal(beta->level, -2);
    assert_says(beta, false, "-", "was 40.0 %: -20.0 points, +0");
    assert_int_equal(gamma->level, 3);
    assert_says(gamma, false, "+", "was 10.0 %: +20.0 points, +500.00 ms");
    assert_int_equal(delta->level, 3);
    assert_says(delta, false, "++", "not there before");
    assert_int_equal(frame_difference_colour(delta), COLOUR_SAME + 3);
    assert_int_equal(frame_difference_colour(beta), COLOUR_SAME - 2);
    free(differences);
    finish_pair(&pair);
}

static void test_all_together_have_times_and_windows_have_none(void **state)
{
    struct pair pair = make_pair((int[FUNCTIONS]){500, 400, 100, 0, 0}, (int[FUNCTIONS]){100, 400, 200, 0, 0});
    struct flame_side now = {pair.now_trace, pair.now, false}, before = {pair.before_trace, pair.before, false};
    struct frame_difference *differences = flame_difference_create(&now, &before, false);
    struct text text = TEXT_INIT;
    (void)state;
    assert_non_null(differences);
    frame_difference_describe_all(&differences[0], CONTEXT_SAMPLES, false, &text);
    assert_string_equal(text.data, "was 1.000 s: -300.00 ms");
    text_finish(&text);
    free(differences);
    now.is_part = true;
    differences = flame_difference_create(&now, &before, false);
    assert_non_null(differences);
    frame_difference_describe_all(&differences[0], CONTEXT_SAMPLES, false, &text);
    assert_int_equal(text.length, 0);
    assert_says(&differences[node_named(pair.now_trace, pair.now, "gamma")], false, "+", "was 10.0 %: +18.6 points");
    text_finish(&text);
    free(differences);
    finish_pair(&pair);
}

static void test_the_other_side_says_the_same_of_them(void **state)
{
    struct pair pair = make_pair((int[FUNCTIONS]){500, 400, 100, 0, 0}, (int[FUNCTIONS]){0, 400, 600, 1000, 0});
    struct flame_side now = {pair.now_trace, pair.now, false}, before = {pair.before_trace, pair.before, false};
    struct frame_difference *differences = flame_difference_create(&before, &now, true);
    (void)state;
    assert_non_null(differences);
    assert_says(&differences[node_named(pair.before_trace, pair.before, "alpha")], true, "--", "gone now");
    assert_int_equal(differences[node_named(pair.before_trace, pair.before, "alpha")].level, -3);
    assert_says(&differences[node_named(pair.before_trace, pair.before, "beta")], true, "-", "now 20.0 %: -20.0 points, +0");
    assert_says(&differences[node_named(pair.before_trace, pair.before, "gamma")], true, "+", "now 30.0 %: +20.0 points, +500.00 ms");
    free(differences);
    finish_pair(&pair);
}

static void test_what_chance_may_do_is_no_change(void **state)
{
    /* 30 % and 36 %: of 50 samples each that says nothing, of 5,000 it does. */
    static const int few[2][FUNCTIONS] = {{15, 35, 0, 0, 0}, {18, 32, 0, 0, 0}}, many[2][FUNCTIONS] = {{1500, 3500, 0, 0, 0}, {1800, 3200, 0, 0, 0}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct pair pair = make_pair(i ? many[0] : few[0], i ? many[1] : few[1]);
        struct flame_side now = {pair.now_trace, pair.now, false}, before = {pair.before_trace, pair.before, false};
        struct frame_difference *differences = flame_difference_create(&now, &before, false);
        assert_non_null(differences);
        assert_int_equal(differences[node_named(pair.now_trace, pair.now, "alpha")].level, i ? 1 : 0);
        assert_says(&differences[node_named(pair.now_trace, pair.now, "alpha")], false, i ? "+" : "",
                    i ? "was 30.0 %: +6.0 points, +300.00 ms" : "was 30.0 %: +6.0 points (no change), +3.00 ms");
        free(differences);
        finish_pair(&pair);
    }
}

/* What the two frames named beta say of themselves; that of the program first. */
static void assert_betas_say(const struct pair *pair, const char *const *signs, const char *in_program, const char *in_library)
{
    struct flame_side now = {pair->now_trace, pair->now, false}, before = {pair->before_trace, pair->before, false};
    struct frame_difference *differences = flame_difference_create(&now, &before, false);
    uint32_t modules, seen = 0;
    const struct trace_module *module = trace_modules(pair->now_trace, &modules);
    assert_non_null(differences);
    assert_int_equal(pair->now->count, 4); /* all, main, two of beta */
    for (uint32_t i = 2; i < pair->now->count; i++, seen++) {
        bool in_app = strcmp(trace_text(pair->now_trace, module[pair->now->nodes[i].module.index].path), "/bin/app") == 0;
        assert_says(&differences[i], false, signs[!in_app], in_app ? in_program : in_library);
    }
    assert_int_equal(seen, 2);
    free(differences);
}

static void test_functions_of_one_name_are_told_apart_by_their_files(void **state)
{
    /* Of the heaviest in each the one is the program's and the other the library's. */
    struct pair pair = make_pair((int[FUNCTIONS]){0, 400, 0, 0, 600}, (int[FUNCTIONS]){0, 800, 0, 0, 200});
    (void)state;
    assert_betas_say(&pair, (const char *[2]){"+", "-"}, "was 40.0 %: +40.0 points, +400.00 ms", "was 60.0 %: -40.0 points, -400.00 ms");
    finish_pair(&pair);
}

static void test_a_trace_against_itself_has_no_difference(void **state)
{
    static const int counts[][FUNCTIONS] = {{0, 400, 0, 0, 600}, {0, 600, 0, 0, 400}, {3, 1, 4, 1, 5}};
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct pair pair = make_pair(counts[i], counts[i]);
        struct flame_side now = {pair.now_trace, pair.now, false}, before = {pair.before_trace, pair.before, false};
        struct frame_difference *differences = flame_difference_create(&now, &before, false);
        assert_non_null(differences);
        for (uint32_t node = 0; node < pair.now->count; node++) {
            assert_false(differences[node].only_here);
            assert_int_equal(differences[node].level, 0);
            assert_true(differences[node].before == differences[node].now);
            assert_int_equal(differences[node].now_weight, pair.now->nodes[node].total_weight);
        }
        free(differences);
        finish_pair(&pair);
    }
}

static void test_what_cannot_be_told_apart_is_taken_together(void **state)
{
    struct pair pair = make_pair_in("/opt/app", (int[FUNCTIONS]){0, 400, 0, 0, 600}, "/opt/app", (int[FUNCTIONS]){0, 900, 0, 0, 100});
    (void)state;
    assert_betas_say(&pair, (const char *[2]){"", ""}, "was 100.0 %: +0.0 points (no change), +0", "was 100.0 %: +0.0 points (no change), +0");
    finish_pair(&pair);
}

static void test_a_file_with_another_name_is_the_same(void **state)
{
    struct pair pair = make_pair_in("/lib/second.so.1", (int[FUNCTIONS]){0, 600, 0, 0, 400}, "/lib/second.so.2", (int[FUNCTIONS]){0, 600, 0, 0, 400});
    (void)state;
    assert_betas_say(&pair, (const char *[2]){"", ""}, "was 60.0 %: +0.0 points (no change), +0", "was 40.0 %: +0.0 points (no change), +0");
    finish_pair(&pair);
}

static void test_nothing_to_compare_with(void **state)
{
    struct pair pair = make_pair((int[FUNCTIONS]){0}, (int[FUNCTIONS]){10, 0, 0, 0, 0});
    struct flame_side now = {pair.now_trace, pair.now, false}, before = {pair.before_trace, pair.before, false};
    struct frame_difference *differences = flame_difference_create(&now, &before, false);
    (void)state;
    assert_non_null(differences);
    assert_int_equal(differences[node_named(pair.now_trace, pair.now, "alpha")].level, 0); /* who knows */
    free(differences);
    finish_pair(&pair);
}

static void test_siblings_in_the_order_of_their_names(void **state)
{
    static const char *const expected[] = {"alpha", "beta", "gamma"};
    struct trace *trace = sampled((int[FUNCTIONS]){1, 2, 3, 0, 0}, "");
    struct calling_context *context = context_of(trace);
    uint32_t parent = node_named(trace, context, "main"), child;
    struct flame flame = {0};
    (void)state;
    assert_string_equal(trace_text(trace, context->nodes[context->nodes[parent].first_child].function), "gamma"); /* the heaviest */
    assert_int_equal(flame_order_by_name(trace, context), 0);
    child = context->nodes[parent].first_child;
    for (int i = 0; i < 3; i++, child = context->nodes[child].next_sibling)
        assert_string_equal(trace_text(trace, context->nodes[child].function), expected[i]);
    assert_int_equal(child, ID_NONE);
    assert_int_equal(flame_widest_child(context, parent), node_named(trace, context, "gamma"));
    assert_int_equal(flame_lay_out(&flame, context, 0, 60, 8), 0);
    assert_int_equal(flame_at(&flame, 2, 0)->width, 10);
    assert_int_equal(flame_at(&flame, 2, 59)->width, 30);
    flame_finish(&flame);
    calling_context_destroy(context);
    trace_unref(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_of_the_totals_are_compared),
        cmocka_unit_test(test_all_together_have_times_and_windows_have_none),
        cmocka_unit_test(test_the_other_side_says_the_same_of_them),
        cmocka_unit_test(test_what_chance_may_do_is_no_change),
        cmocka_unit_test(test_functions_of_one_name_are_told_apart_by_their_files),
        cmocka_unit_test(test_a_trace_against_itself_has_no_difference),
        cmocka_unit_test(test_what_cannot_be_told_apart_is_taken_together),
        cmocka_unit_test(test_a_file_with_another_name_is_the_same),
        cmocka_unit_test(test_nothing_to_compare_with),
        cmocka_unit_test(test_siblings_in_the_order_of_their_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
