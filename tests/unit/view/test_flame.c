/* SPDX-License-Identifier: MIT */
/* Flame graphs, call trees as rows, hotspots of a window, and grids. */
#include "trace/trace_fixture.h"

#include "base/cleanup.h"
#include "view/call_tree.h"
#include "view/flame.h"
#include "view/hotspots.h"

#define MS INT64_C(1000000)

static struct error err;

static stack_id stack_of(struct trace_builder *builder, const char *const *functions)
{
    stack_id stack = STACK_NONE;
    for (; *functions; functions++) {
        frame_id frame;
        struct trace_frame facts = {.function = trace_builder_string(builder, *functions), .module = MODULE_NONE};
        assert_int_equal(trace_builder_add_frame(builder, &facts, &frame), 0);
        assert_int_equal(trace_builder_add_stack(builder, stack, frame, &stack), 0);
    }
    return stack;
}

/* main: 6 samples in hot, 3 in warm which calls itself, 1 in cold; and spans of which the window cuts one. */
static struct trace *sampled(void)
{
    static const char *const stacks[][5] = {{"main", "hot", NULL}, {"main", "warm", "warm", NULL}, {"main", "cold", NULL}};
    static const int turns[] = {0, 0, 0, 0, 0, 0, 1, 1, 1, 2};
    struct trace_builder *builder = fixture_builder(0);
    struct trace *trace;
    track_id track = fixture_track(builder, TRACK_KIND_THREAD, "main", 42);
    for (int i = 0; i < 10; i++) {
        struct sample sample = {i * MS, MS, stack_of(builder, stacks[turns[i]]), 0, SAMPLE_EVENT_CPU_CLOCK, 0};
        assert_int_equal(trace_builder_add_sample(builder, track, &sample), 0);
    }
    fixture_span(builder, track, 0, 10 * MS, "around", SPAN_KIND_RANGE);
    fixture_span(builder, track, 2 * MS, 4 * MS, "inside", SPAN_KIND_API);
    assert_int_equal(trace_builder_finish(builder, &trace, &err), 0);
    trace_builder_destroy(builder);
    return trace;
}

static void test_frames_have_the_width_of_their_time(void **state)
{
    CLEANUP(trace_unrefp) struct trace *trace = sampled();
    CLEANUP(calling_context_destroyp) struct calling_context *context = NULL;
    struct flame flame = {0};
    (void)state;
    assert_int_equal(calling_context_create(trace, NULL, &context, &err), 0);
    assert_int_equal(flame_lay_out(&flame, context, 0, 100, 64), 0);
    const struct flame_box *hot = flame_at(&flame, 2, 0), *warm = flame_at(&flame, 2, 60), *cold = flame_at(&flame, 2, 99);
    assert_true(hot && warm && cold && hot != warm && warm != cold);
    assert_int_equal(hot->width, 60);
    assert_int_equal(warm->width, 30);
    assert_int_equal(cold->width, 10);
    assert_int_equal(flame_at(&flame, 3, 65)->column, 60); /* below its caller, as wide */
    assert_null(flame_at(&flame, 3, 10));
    assert_int_equal(flame_lay_out(&flame, context, warm->node, 100, 64), 0);
    assert_int_equal(flame_at(&flame, 1, 50)->width, 100);
    flame_finish(&flame);
}

static void test_what_is_too_narrow_is_shown_as_such(void **state)
{
    CLEANUP(trace_unrefp) struct trace *trace = sampled();
    CLEANUP(calling_context_destroyp) struct calling_context *context = NULL;
    struct flame flame = {0};
    (void)state;
    assert_int_equal(calling_context_create(trace, NULL, &context, &err), 0);
    assert_int_equal(flame_lay_out(&flame, context, 0, 4, 64), 0);
    for (size_t i = 0; i < flame.count; i++)
        assert_true(flame.boxes[i].column + flame.boxes[i].width <= 4);
    assert_non_null(flame_at(&flame, 2, 3));
    flame_finish(&flame);
}

static void test_a_call_tree_lists_what_is_open(void **state)
{
    CLEANUP(trace_unrefp) struct trace *trace = sampled();
    CLEANUP(call_tree_destroyp) struct call_tree *tree = NULL;
    struct grid grid;
    (void)state;
    assert_int_equal(call_tree_create(trace, NULL, &tree, &err), 0);
    grid_init(&grid, call_tree_columns(CONTEXT_SAMPLES), CALL_TREE_COLUMNS);
    call_tree_fill(tree, &grid);
    assert_int_equal(grid.row_count, 1);
    call_tree_open_hottest(tree);
    call_tree_fill(tree, &grid);
    assert_int_equal(grid.row_count, 4);
    assert_string_equal(grid.rows[1].cells[CALL_TREE_NAME].text, "hot");
    assert_string_equal(grid.rows[1].cells[CALL_TREE_PERCENT].text, "60.0");
    grid_finish(&grid);
}

/* A call of "solve" that launches a kernel, and one of "main" which waits. */
static struct trace *traced_calls(span_id *ret_launch, span_id *ret_kernel)
{
    struct trace_builder *builder = fixture_builder(0);
    struct trace *trace;
    track_id thread = fixture_track(builder, TRACK_KIND_THREAD, "main", 42), stream = fixture_track(builder, TRACK_KIND_STREAM, "s", -1);
    struct span launch = {.track = thread, .begin_ns = 0, .end_ns = MS, .kind = SPAN_KIND_LAUNCH, .parent = SPAN_NONE, .category = trace_builder_string(builder, "cuda"),
                          .name = trace_builder_string(builder, "launch"), .stack = stack_of(builder, (const char *const[]){"main", "solve", NULL})};
    struct span wait = launch;
    wait.kind = SPAN_KIND_SYNC;
    wait.begin_ns = 2 * MS;
    wait.end_ns = 9 * MS;
    wait.name = trace_builder_string(builder, "wait");
    wait.stack = stack_of(builder, (const char *const[]){"main", NULL});
    span_id waited;
    assert_int_equal(trace_builder_add_span(builder, &launch, NULL, ret_launch), 0);
    assert_int_equal(trace_builder_add_span(builder, &wait, NULL, &waited), 0);
    *ret_kernel = fixture_span(builder, stream, MS, 8 * MS, "kernel", SPAN_KIND_KERNEL);
    assert_int_equal(trace_builder_add_link(builder, &(struct trace_link){LINK_KIND_LAUNCH, CONFIDENCE_CERTAIN, *ret_launch, *ret_kernel}), 0);
    assert_int_equal(trace_builder_finish(builder, &trace, &err), 0);
    trace_builder_destroy(builder);
    *ret_launch = (span_id){0}; /* ids of a finished trace: by track, then time */
    *ret_kernel = (span_id){2};
    return trace;
}

static void test_calls_are_rows_below_their_callers(void **state)
{
    span_id launch, kernel;
    CLEANUP(trace_unrefp) struct trace *trace = traced_calls(&launch, &kernel);
    CLEANUP(call_tree_destroyp) struct call_tree *tree = NULL;
    struct grid grid;
    (void)state;
    assert_int_equal(call_tree_create(trace, &(struct context_options){.measure = CONTEXT_CALL_TIME}, &tree, &err), 0);
    grid_init(&grid, call_tree_columns(CONTEXT_CALL_TIME), CALL_TREE_COLUMNS);
    call_tree_open_hottest(tree);
    call_tree_fill(tree, &grid);
    assert_int_equal(grid.row_count, 3);
    assert_string_equal(grid.rows[1].cells[CALL_TREE_NAME].text, "wait");
    assert_string_equal(grid.rows[1].cells[CALL_TREE_PLACE].text, "cuda");
    assert_string_equal(grid.rows[1].cells[CALL_TREE_COUNT].text, "1");
    assert_int_equal(grid.rows[1].colour, COLOUR_WAIT_TEXT);
    grid_finish(&grid);
}

static void test_spans_are_found_where_they_count(void **state)
{
    span_id launch, kernel;
    CLEANUP(trace_unrefp) struct trace *trace = traced_calls(&launch, &kernel);
    (void)state;
    for (int bottom_up = 0; bottom_up < 2; bottom_up++) {
        struct context_options options = {.measure = CONTEXT_CALL_TIME, .bottom_up = bottom_up};
        CLEANUP(calling_context_destroyp) struct calling_context *calls = NULL;
        CLEANUP(calling_context_destroyp) struct calling_context *work = NULL;
        assert_int_equal(calling_context_create(trace, &options, &calls, &err), 0);
        options.measure = CONTEXT_DEVICE_TIME;
        assert_int_equal(calling_context_create(trace, &options, &work, &err), 0);
        uint32_t node = context_find_span(trace, calls, bottom_up, launch), of_kernel = context_find_span(trace, work, bottom_up, kernel);
        assert_true(node < calls->count && of_kernel < work->count);
        assert_string_equal(trace_text(trace, calls->nodes[node].function), bottom_up ? "main" : "launch");
        assert_int_equal(calls->nodes[node].self_weight, MS);
        assert_string_equal(trace_text(trace, work->nodes[of_kernel].function), bottom_up ? "main" : "kernel");
        assert_int_equal(work->nodes[of_kernel].self_weight, 7 * MS);
        assert_int_equal(context_find_span(trace, calls, bottom_up, kernel), ID_NONE);
    }
}

static const struct hotspot *find(const struct trace *trace, const struct hotspots *hotspots, const char *name)
{
    for (size_t i = 0; i < hotspots->count; i++)
        if (strcmp(trace_text(trace, hotspots->rows[i].name), name) == 0)
            return &hotspots->rows[i];
    return NULL;
}

static void test_hotspots_of_a_window_count_what_lies_in_it(void **state)
{
    CLEANUP(trace_unrefp) struct trace *trace = sampled();
    CLEANUP(hotspots_destroyp) struct hotspots *all = NULL;
    CLEANUP(hotspots_destroyp) struct hotspots *part = NULL;
    struct hotspot_options options = {.has_window = true, .begin_ns = 3 * MS, .end_ns = 7 * MS};
    (void)state;
    assert_int_equal(hotspots_create(trace, &(struct hotspot_options){0}, &all, &err), 0);
    assert_int_equal(find(trace, all, "warm")->total_ns, 3 * MS); /* recursion counts once */
    assert_int_equal(find(trace, all, "around")->self_ns, 8 * MS);
    assert_int_equal(hotspots_create(trace, &options, &part, &err), 0);
    assert_int_equal(find(trace, part, "around")->total_ns, 4 * MS);
    assert_int_equal(find(trace, part, "around")->self_ns, 3 * MS);
    assert_int_equal(find(trace, part, "inside")->total_ns, 1 * MS);
    assert_null(find(trace, part, "cold"));
}

static void test_grids_sort_within_sections_and_find(void **state)
{
    static const struct grid_column columns[] = {{.title = "n", .right = true, .csv = "n_ns"}, {.title = "%", .right = true, .csv = ""}, {.title = "", .bar = true}, {.title = "name"}};
    struct grid grid;
    struct text csv = TEXT_INIT;
    regex_t pattern;
    (void)state;
    grid_init(&grid, columns, 4);
    for (int section = 0; section < 2; section++) {
        grid_heading(&grid, "Section", "which is explained");
        for (int i = 0; i < 3; i++) {
            grid_add(&grid, 1, GRID_PLAIN);
            grid_setf(&grid, 0, i, "%d ns", i);
            grid_set(&grid, 3, 0, i == 1 ? "a,\"b\"" : "c");
        }
    }
    grid_sort(&grid, 0, false);
    assert_string_equal(grid.rows[1].cells[0].text, "2 ns");
    assert_int_equal(grid.rows[0].style, GRID_HEADING);
    assert_string_equal(grid.rows[grid.row_count - 1].cells[0].text, "0 ns");
    assert_int_equal(regcomp(&pattern, "^a", REG_NOSUB), 0);
    assert_int_equal(grid_search(&grid, &pattern), 2);
    regfree(&pattern);
    grid_add_csv(&grid, &csv);
    assert_string_equal(csv.data, "section,n_ns,name\nSection,2,c\nSection,1,\"a,\"\"b\"\"\"\nSection,0,c\n"
                                  "Section,2,c\nSection,1,\"a,\"\"b\"\"\"\nSection,0,c\n");
    text_finish(&csv);
    grid_finish(&grid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_have_the_width_of_their_time),
        cmocka_unit_test(test_what_is_too_narrow_is_shown_as_such),
        cmocka_unit_test(test_a_call_tree_lists_what_is_open),
        cmocka_unit_test(test_calls_are_rows_below_their_callers),
        cmocka_unit_test(test_spans_are_found_where_they_count),
        cmocka_unit_test(test_hotspots_of_a_window_count_what_lies_in_it),
        cmocka_unit_test(test_grids_sort_within_sections_and_find),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
