/* SPDX-License-Identifier: MIT */
/* What a critical path's parts are called and how they are gathered; the path as a track. */
#include "../trace/trace_fixture.h"

#include "base/error.h"
#include "base/text.h"
#include "view/lane_label.h"
#include "view/path_list.h"
#include "view/path_report.h"
#include "view/table.h"

struct fixture {
    struct trace *trace;
    struct path_report report; /* filled by hand: the graph is not the trace's own */
};

static span_id add_span(struct trace_builder *builder, track_id track, const char *name, enum span_kind kind, int64_t begin_ns, int64_t end_ns)
{
    span_id handle;
    struct span span = {.track = track, .begin_ns = begin_ns, .end_ns = end_ns, .name = trace_builder_string(builder, name),
                        .category = trace_builder_string(builder, "cuda"), .kind = kind, .parent = SPAN_NONE, .stack = STACK_NONE};
    assert_int_equal(trace_builder_add_span(builder, &span, NULL, &handle), 0);
    return handle;
}

/* A thread that computes 10, launches (outer 10..20, inner 12..16); a stream that idles until 25 and computes until 65. */
static struct trace *make_trace(void)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id thread = fixture_track(builder, TRACK_KIND_THREAD, "main", 7), stream;
    struct trace_track track = *trace_builder_track(builder, thread);
    track.kind = TRACK_KIND_STREAM;
    track.name = trace_builder_string(builder, "stream 3 (of a device with a long name)");
    track.tid = -1;
    track.device = 1;
    track.stream = 3;
    assert_int_equal(trace_builder_add_track(builder, &track, &stream), 0);
    add_span(builder, thread, "step", SPAN_KIND_API, 10, 20);
    add_span(builder, thread, "launch it", SPAN_KIND_LAUNCH, 12, 16);
    add_span(builder, stream, "saxpy", SPAN_KIND_KERNEL, 25, 65);
    return fixture_finish(builder);
}

static uint32_t point(struct graph_builder *builder, int64_t time_ns, enum interval_kind kind, uint32_t span)
{
    uint32_t number;
    assert_int_equal(graph_builder_add_point(builder, time_ns, kind, (span_id){span}, 0, &number), 0);
    return number;
}

static struct fixture start(void)
{
    struct fixture fixture = {.trace = make_trace()};
    struct graph_builder *builder;
    uint32_t lane;
    assert_int_equal(graph_builder_create(fixture.trace, &builder), 0);
    assert_int_equal(graph_builder_add_lane(builder, (track_id){0}, 0, &lane), 0);
    point(builder, 0, INTERVAL_WORK, ID_NONE);
    point(builder, 10, INTERVAL_WORK, ID_NONE);
    uint32_t launch = point(builder, 12, INTERVAL_WORK, 0);
    point(builder, 16, INTERVAL_WORK, 1);
    point(builder, 20, INTERVAL_WORK, 0);
    assert_int_equal(graph_builder_add_lane(builder, (track_id){1}, 0, &lane), 0);
    uint32_t begin = point(builder, 25, INTERVAL_IDLE, ID_NONE);
    point(builder, 65, INTERVAL_WORK, 2);
    assert_int_equal(graph_builder_add_edge(builder, launch, begin, EDGE_RULE_LAUNCH, CONFIDENCE_CERTAIN, 0), 0);
    struct path_report *report = &fixture.report;
    assert_int_equal(graph_builder_finish(builder, &report->graph, NULL), 0);
    graph_builder_destroy(builder);
    assert_int_equal(activities_create(fixture.trace, NULL, &report->activities, NULL), 0);
    assert_int_equal(critical_path_create(report->graph, &report->path, NULL), 0);
    assert_int_equal(path_parts_create(report->path, report->activities, NULL, &report->parts, NULL), 0);
    assert_int_equal(path_hops_create(report->path, report->activities, NULL, &report->hops, NULL), 0);
    return fixture;
}

static void end(struct fixture *fixture)
{
    path_hops_destroy(fixture->report.hops);
    path_parts_destroy(fixture->report.parts);
    critical_path_destroy(fixture->report.path);
    activities_destroy(fixture->report.activities);
    dependency_graph_destroy(fixture->report.graph);
    trace_unref(fixture->trace);
}

/* "category,name,kind,lane,time;" in order. */
static void check(const struct fixture *fixture, enum path_dimension by, const char *expected)
{
    struct path_rows *rows;
    struct text text = TEXT_INIT;
    assert_int_equal(path_rows_create(fixture->report.path, fixture->report.parts, NULL, by, &rows, NULL), 0);
    for (size_t i = 0; i < rows->count; i++)
        text_addf(&text, "%s,%s,%s,%s,%lld;", rows->rows[i].category, rows->rows[i].name, rows->rows[i].kind, rows->rows[i].lane,
                  (long long)rows->rows[i].time_ns);
    assert_string_equal(text.data, expected);
    assert_int_equal(rows->total_ns, 65);
    text_finish(&text);
    path_rows_destroy(rows);
}

static void test_rows_by_what_one_wants(void **state)
{
    struct fixture fixture = start();
    check(&fixture, PATH_BY_ACTIVITY,
          "cuda,saxpy,kernel,device 1 stream 3,40;cuda,launch,edge,device 1 stream 3,13;cpu,(code),compute,main (7),10;"
          "cuda,step,api,main (7),2;");
    check(&fixture, PATH_BY_CATEGORY, "cuda,,,,55;cpu,,,,10;");
    check(&fixture, PATH_BY_KIND, ",,kernel,,40;,,edge,,13;,,compute,,10;,,api,,2;");
    check(&fixture, PATH_BY_LANE, ",,,device 1 stream 3,53;,,,main (7),12;");
    check(&fixture, PATH_BY_PATH, "cuda,saxpy,kernel,,40;cuda,launch,edge,,13;cpu,(code),compute,,10;cuda,step,api,,2;");
    end(&fixture);
}

static void test_dimensions_have_names(void **state)
{
    for (int d = 0; d < PATH_DIMENSION_COUNT; d++)
        assert_int_equal(path_dimension_find(path_dimension_name((enum path_dimension)d)), d);
    assert_int_equal(path_dimension_find("colour"), -1);
}

static void test_the_path_becomes_a_track(void **state)
{
    struct fixture fixture = start();
    struct trace *with_path;
    uint32_t before, after;
    assert_int_equal(path_track_add(fixture.trace, &fixture.report, NULL, &with_path, NULL), 0);
    trace_tracks(fixture.trace, &before);
    const struct trace_track *tracks = trace_tracks(with_path, &after);
    assert_int_equal(after, before + 1);
    assert_string_equal(trace_text(with_path, tracks[before].name), "critical path");
    assert_int_equal(trace_row_count(with_path, FAMILY_SPANS), 3 + 4);
    trace_unref(with_path);
    end(&fixture);
}

/* Id of the first row that says this, below a heading. */
static uint64_t row_of(const struct grid *grid, const char *section, const char *name)
{
    bool inside = false;
    for (size_t i = 0; i < grid->row_count; i++) {
        const struct grid_row *row = &grid->rows[i];
        if (row->style == GRID_HEADING)
            inside = strncmp(row->cells[0].text, section, strlen(section)) == 0;
        else if (inside && strcmp(row->cells[PATH_LIST_NAME].text, name) == 0)
            return row->id;
    }
    fail_msg("%s has no row %s", section, name);
    return 0;
}

static void test_rows_of_a_screen_lead_to_spans_and_places(void **state)
{
    struct fixture fixture = start();
    struct grid grid;
    struct path_list list = {0};
    (void)state;
    assert_int_equal(path_rows_create(fixture.report.path, fixture.report.parts, NULL, PATH_BY_ACTIVITY, &fixture.report.rows, NULL), 0);
    grid_init(&grid, path_list_columns, PATH_LIST_COLUMNS);
    assert_int_equal(path_list_fill(fixture.trace, &fixture.report, &(struct path_blame){0}, &grid, &list), 0);
    const struct path_target *kernel = &list.targets[row_of(&grid, "Composition", "cuda saxpy") - 1];
    assert_int_equal(kernel->kind, PATH_TARGET_SPAN);
    assert_int_equal(kernel->span.index, 2);
    const struct path_target *code = &list.targets[row_of(&grid, "Composition", "cpu (code)") - 1];
    assert_int_equal(code->kind, PATH_TARGET_PLACE);
    assert_int_equal(code->track.index, 0);
    assert_int_equal(code->end_ns - code->begin_ns, 10);
    assert_int_equal(path_list_find(&list, &fixture.report, (span_id){2}), row_of(&grid, "Hops", "saxpy"));
    assert_int_equal(path_list_find(&list, &fixture.report, (span_id){1}), 0); /* launched, but inside what the path runs through */
    path_list_finish(&list);
    grid_finish(&grid);
    path_rows_destroy(fixture.report.rows);
    end(&fixture);
}

static void test_blame_has_its_pattern_and_may_be_nobodys(void **state)
{
    struct fixture fixture = start();
    struct grid grid;
    struct path_list list = {0};
    struct text csv = TEXT_INIT;
    struct wait_blame waits[] = {
        {.cause = STRING_NONE, .cause_lane = TRACK_NONE, .victim = STRING_NONE, .victim_lane = {0}, .function = STRING_NONE,
         .pattern = WAIT_NXN_COMPLETION, .count = 1, .time_ns = 7},
        {.cause = STRING_NONE, .cause_lane = {1}, .victim = STRING_NONE, .victim_lane = {0}, .function = STRING_NONE,
         .pattern = WAIT_NXN, .count = 1, .time_ns = 5},
        {.cause = STRING_NONE, .cause_lane = {1}, .victim = STRING_NONE, .victim_lane = {0}, .function = STRING_NONE, .function_share = 0.755, .samples = 31,
         .pattern = WAIT_NXN, .count = 1, .time_ns = 4},
    };
    const struct path_blame blame = {waits, 3};
    assert_true(string_table_find(trace_strings(fixture.trace), "main", 4, &waits[2].function));
    (void)state;
    assert_int_equal(path_rows_create(fixture.report.path, fixture.report.parts, NULL, PATH_BY_ACTIVITY, &fixture.report.rows, NULL), 0);
    grid_init(&grid, path_list_columns, PATH_LIST_COLUMNS);
    assert_int_equal(path_list_fill(fixture.trace, &fixture.report, &blame, &grid, &list), 0);
    row_of(&grid, "Blame", "main (7) had nothing to do (n x n completion); nobody is charged");
    row_of(&grid, "Blame", "main (7) had nothing to do until code outside of calls of device 1 stream 3");
    row_of(&grid, "Blame", "main (7) had nothing to do until main (76 % of its time, 31 samples) of device 1 stream 3");
    grid_add_csv(&grid, &csv);
    assert_non_null(strstr(csv.data, ",pattern,"));
    assert_non_null(strstr(csv.data, ",wait at n x n,"));
    text_finish(&csv);
    path_list_finish(&list);
    grid_finish(&grid);
    path_rows_destroy(fixture.report.rows);
    end(&fixture);
}

static void test_longest_spans_are_found_by_lane(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id first = fixture_track(builder, TRACK_KIND_THREAD, "a", 1), second = fixture_track(builder, TRACK_KIND_THREAD, "b", 2);
    string_id name = trace_builder_string(builder, "wait");
    (void)state;
    add_span(builder, first, "wait", SPAN_KIND_WAIT, 0, 50);
    add_span(builder, second, "wait", SPAN_KIND_WAIT, 0, 5);
    add_span(builder, second, "wait", SPAN_KIND_WAIT, 10, 20);
    add_span(builder, second, "other", SPAN_KIND_WAIT, 30, 90);
    struct trace *trace = fixture_finish(builder);
    assert_int_equal(path_list_longest(trace, name, second).index, 2);
    assert_int_equal(path_list_longest(trace, name, first).index, 0);
    trace_unref(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_by_what_one_wants),
        cmocka_unit_test(test_dimensions_have_names),
        cmocka_unit_test(test_the_path_becomes_a_track),
        cmocka_unit_test(test_rows_of_a_screen_lead_to_spans_and_places),
        cmocka_unit_test(test_longest_spans_are_found_by_lane),
        cmocka_unit_test(test_blame_has_its_pattern_and_may_be_nobodys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
