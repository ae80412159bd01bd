/* SPDX-License-Identifier: MIT */
/* What the exports write of a trace that one can check by eye, and the table of formats. */
#include "base/error.h"
#include "base/file.h"
#include "formats/exports.h"
#include "random_trace.h"
#include "formats/stack_tree.h"
#include "small_trace.h"
#include "trace/select.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static char path[64];
static char *data;

static int make_path(void **state)
{
    strcpy(path, "/tmp/hp-export-XXXXXX");
    int fd = mkstemp(path);
    if (fd >= 0)
        close(fd);
    return fd < 0 ? -1 : 0;
}

static int remove_path(void **state)
{
    free(data);
    data = NULL;
    return unlink(path);
}

static const char *part_written(const struct trace_format *format, const struct trace *trace, const struct trace_part *part,
                                struct export_counts *ret_counts)
{
    struct error err = ERROR_INIT;
    size_t size;
    free(data);
    data = NULL;
    if (trace_export(trace, format, part, NULL, path, ret_counts, &err) < 0)
        print_message("%s\n", err.text);
    assert_int_equal(err.code, 0);
    assert_int_equal(file_read(path, 1 << 28, &data, &size, &err), 0);
    return data;
}

static const char *written(const struct trace_format *format, const struct trace *trace)
{
    struct export_counts counts;
    return part_written(format, trace, &(struct trace_part){0}, &counts);
}

static void test_folded_stacks_weigh_nanoseconds(void **state)
{
    struct trace *trace = small_trace_make();
    assert_string_equal(written(&format_folded, trace),
                        "demo;[truncated stack];main;work;sin 300\ndemo;main;work 100\ndemo;main;work;sin 200\n");
    struct trace_part window = {.has_window = true, .begin_ns = 1500, .end_ns = 2500};
    struct export_counts counts;
    assert_string_equal(part_written(&format_folded, trace, &window, &counts), "demo;main;work;sin 200\n");
    assert_int_equal(counts.samples, 1);
    trace_unref(trace);
}

static void test_folded_takes_spans_where_nothing_was_sampled(void **state)
{
    struct small s = {0};
    struct error err = ERROR_INIT;
    struct trace *trace;
    assert_int_equal(trace_builder_create(&(struct builder_options){0}, &s.builder, &err), 0);
    small_tables(&s);
    struct span spans[] = {{.begin_ns = 0, .end_ns = 100}, {.begin_ns = 10, .end_ns = 40}, {.begin_ns = 20, .end_ns = 30}, {.begin_ns = 100, .end_ns = 107}};
    const char *names[] = {"a", "b;c", "d", "a"};
    for (size_t i = 0; i < 4; i++) {
        spans[i].track = s.main;
        spans[i].name = small_string(&s, names[i]);
        spans[i].parent = SPAN_NONE;
        spans[i].stack = STACK_NONE;
        trace_builder_add_span(s.builder, &spans[i], NULL, NULL);
    }
    assert_int_equal(trace_builder_finish(s.builder, &trace, &err), 0);
    trace_builder_destroy(s.builder);
    assert_string_equal(written(&format_folded, trace), "demo;a 77\ndemo;a;b:c 20\ndemo;a;b:c;d 10\n");
    trace_unref(trace);
}

/* MPI_Send [0,100] from main;work; in it a copy [10,40] without a stack; work on a stream, side by side. */
static void test_spans_hang_below_their_call_stacks(void **state)
{
    struct small s = {0};
    struct error err = ERROR_INIT;
    struct trace *trace;
    assert_int_equal(trace_builder_create(&(struct builder_options){0}, &s.builder, &err), 0);
    small_tables(&s);
    struct trace_track stream = {.kind = TRACK_KIND_STREAM, .name = small_string(&s, "stream 7"), .process = {0}, .tid = -1, .device = 0,
                                 .stream = 7, .start_ns = INT64_MIN, .end_ns = INT64_MIN};
    track_id lane;
    assert_int_equal(trace_builder_add_track(s.builder, &stream, &lane), 0);
    struct span spans[] = {{.track = s.main, .begin_ns = 0, .end_ns = 100, .stack = s.in_work},
                           {.track = s.main, .begin_ns = 10, .end_ns = 40, .stack = STACK_NONE},
                           {.track = s.main, .begin_ns = 200, .end_ns = 205, .stack = s.in_main},
                           {.track = lane, .begin_ns = 0, .end_ns = 50, .stack = STACK_NONE},
                           {.track = lane, .begin_ns = 20, .end_ns = 30, .stack = STACK_NONE}};
    const char *names[] = {"MPI_Send", "copy", "MPI_Send", "kernel", "other"};
    for (size_t i = 0; i < 5; i++) {
        spans[i].name = small_string(&s, names[i]);
        spans[i].parent = SPAN_NONE;
        trace_builder_add_span(s.builder, &spans[i], NULL, NULL);
    }
    assert_int_equal(trace_builder_finish(s.builder, &trace, &err), 0);
    trace_builder_destroy(s.builder);
    assert_string_equal(written(&format_folded, trace), "demo;kernel 50\ndemo;main;MPI_Send 5\ndemo;main;work;MPI_Send 70\n"
                                                        "demo;main;work;MPI_Send;copy 30\ndemo;other 10\n");
    trace_unref(trace);
}

static void test_equal_names_of_two_modules_stay_apart(void **state)
{
    struct small s = {0};
    struct error err = ERROR_INIT;
    struct trace *trace;
    assert_int_equal(trace_builder_create(&(struct builder_options){0}, &s.builder, &err), 0);
    small_tables(&s);
    for (uint32_t module = 0; module < 2; module++) {
        struct sample sample = {.time_ns = module, .weight = 10 + module, .event = SAMPLE_EVENT_CPU_CLOCK,
                                .stack = small_stack(&s, STACK_NONE, "_start", (module_id){module}, "start.S", 1)};
        trace_builder_add_sample(s.builder, s.main, &sample);
    }
    assert_int_equal(trace_builder_finish(s.builder, &trace, &err), 0);
    trace_builder_destroy(s.builder);
    struct stack_tree tree;
    assert_int_equal(stack_tree_init(&tree, trace, NULL, &err), 0);
    assert_int_equal(tree.count, 4); /* root, program, and two of one name */
    assert_int_equal(tree.nodes[2].self, 10);
    assert_int_equal(tree.nodes[3].self, 11);
    stack_tree_finish(&tree);
    assert_non_null(strstr(written(&format_speedscope, trace), "\"samples\":[[0],[1]]"));
    trace_unref(trace);
}

static void test_speedscope_has_a_profile_for_each_thread(void **state)
{
    struct trace *trace = small_trace_make();
    assert_string_equal(
        written(&format_speedscope, trace),
        "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"hprofiler " HP_VERSION "\",\"name\":\"demo\",\n"
        "\"profiles\":[{\"type\":\"sampled\",\"name\":\"demo (100) main (100)\",\"unit\":\"nanoseconds\",\"samples\":[[0,1],[0,1,2],[3,0,1,2]],\n"
        "\"weights\":[100,200,300],\"startValue\":1000,\"endValue\":1600},\n"
        "{\"type\":\"evented\",\"name\":\"demo (100) main (100)\",\"unit\":\"nanoseconds\",\"events\":["
        "{\"type\":\"O\",\"frame\":4,\"at\":500},{\"type\":\"O\",\"frame\":5,\"at\":1000},{\"type\":\"C\",\"frame\":5,\"at\":2000},"
        "{\"type\":\"C\",\"frame\":4,\"at\":4500}],\"startValue\":500,\"endValue\":4500},\n"
        "{\"type\":\"evented\",\"name\":\"demo (100) worker, \\\"1\\\" (101)\",\"unit\":\"nanoseconds\",\"events\":["
        "{\"type\":\"O\",\"frame\":6,\"at\":1500},{\"type\":\"C\",\"frame\":6,\"at\":4500}],\"startValue\":1500,\"endValue\":4500}],\n"
        "\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[{\"name\":\"main\",\"file\":\"demo.c\",\"line\":10},\n"
        "{\"name\":\"work\",\"file\":\"demo.c\",\"line\":20},\n{\"name\":\"sin\",\"file\":\"/lib/libm.so.6\"},\n{\"name\":\"[truncated stack]\"},\n"
        "{\"name\":\"outer\"},\n{\"name\":\"inner\"},\n{\"name\":\"job\"}]}}\n");
    trace_unref(trace);
}

static void test_csv_is_one_table(void **state)
{
    struct trace *trace = small_trace_make();
    assert_string_equal(
        written(&format_csv, trace),
        "type,id,track,track_kind,track_name,node,rank,process,pid,tid,device,stream,begin_ns,end_ns,duration_ns,name,category,kind,parent,"
        "correlation,weight,value,unit,cpu,event,flags,stack,args\r\n"
        "span,0,0,thread,main,host,,demo,100,100,,,500,4500,4000,outer,user,range,,,,,,,,,,\r\n"
        "span,1,0,thread,main,host,,demo,100,100,,,1000,2000,1000,inner,user,unknown,0,,,,,,,,main;work,\"{\"\"i\"\":1}\"\r\n"
        "span,2,1,thread,\"worker, \"\"1\"\"\",host,,demo,100,101,,,1500,,,job,,fault,1,9,,,,,,,,\"{\"\"address\"\":4096,\"\"major\"\":1}\"\r\n"
        "sample,,0,thread,main,host,,demo,100,100,,,1000,,,,,,,,100,,,0,cpu-clock,,main;work,\r\n"
        "sample,,0,thread,main,host,,demo,100,100,,,2000,,,,,,,,200,,,1,cpu-clock,,main;work;sin,\r\n"
        "sample,,0,thread,main,host,,demo,100,100,,,3000,,,,,,,,300,,,,cpu-clock,truncated,main;work;sin,\r\n"
        "sample,,0,thread,main,host,,demo,100,100,,,3500,,,,,,,,5000,,,0,switch,,main,\r\n"
        "instant,,1,thread,\"worker, \"\"1\"\"\",host,,demo,100,101,,,1700,,,tick,,,,,,,,,,,,\r\n"
        "counter,,2,counter,rss,host,,demo,100,,,,0,,,rss,,,,,,1024,By,,,,,\r\n"
        "counter,,2,counter,rss,host,,demo,100,,,,2500,,,rss,,,,,,1.5,By,,,,,\r\n");
    trace_unref(trace);
}

static unsigned columns_of(const char *line, const char **ret_next)
{
    unsigned columns = 1;
    bool quoted = false;
    for (; *line && (quoted || *line != '\n'); line++) {
        quoted ^= *line == '"';
        columns += !quoted && *line == ',';
    }
    *ret_next = *line ? line + 1 : line;
    return columns;
}

static void test_csv_rows_have_all_columns_whatever_is_in_them(void **state)
{
    struct trace *trace = random_trace_make(9, 800, 300);
    unsigned rows = 0;
    for (const char *line = written(&format_csv, trace); *line; rows++)
        assert_int_equal(columns_of(line, &line), 28);
    assert_int_equal(rows, 1 + 800 + 300 * 3);
    trace_unref(trace);
}

/* As text, as ids of strings and stacks are others in the part. */
static void test_a_part_with_everything_is_the_whole(void **state)
{
    const struct trace_part everything = {0}, window = {.has_window = true, .begin_ns = INT64_MIN, .end_ns = INT64_MAX};
    for (uint64_t seed = 1; seed < 8; seed++) {
        struct trace *trace = random_trace_make(seed, 700, 200), *part;
        struct error err = ERROR_INIT;
        char *whole = strdup(written(&format_csv, trace));
        assert_int_equal(trace_select(trace, seed % 2 ? &everything : &window, NULL, &part, &err), 0);
        assert_string_equal(written(&format_csv, part), whole);
        for (unsigned family = FAMILY_LINKS; family < FAMILY_COUNT; family++)
            assert_int_equal(trace_row_count(part, (enum family)family), trace_row_count(trace, (enum family)family));
        free(whole);
        trace_unref(part);
        trace_unref(trace);
    }
}

static void test_the_flame_graph_page_keeps_its_data_apart(void **state)
{
    struct trace *trace = random_trace_make(2, 10, 500);
    const char *page = written(&format_flamegraph_html, trace);
    const char *begin = strstr(page, "<script id=\"data\" type=\"application/json\">");
    assert_non_null(begin);
    const char *end = strstr(begin, "</script>"); /* a function is called so: its '<' must not come through */
    assert_non_null(end);
    assert_non_null(strstr(end, "JSON.parse"));
    assert_null(memchr(strchr(begin, '>') + 1, '<', (size_t)(end - strchr(begin, '>') - 1)));
    assert_null(strstr(page, "/*DATA*/"));
    assert_null(strstr(page, "http://"));
    trace_unref(trace);
}

static void test_filters_choose_rows(void **state)
{
    struct trace *trace = small_trace_make();
    struct error err = ERROR_INIT;
    struct trace_filter *filter;
    assert_int_equal(trace_filter_compile("thread=main,name=inner", &filter, &err), 0);
    struct trace_part part = {.where = filter};
    struct export_counts counts;
    struct trace *again;
    part_written(&format_chrome, trace, &part, &counts);
    assert_int_equal(counts.spans, 1);
    assert_int_equal(trace_open(path, NULL, NULL, &again, &err), 0);
    assert_int_equal(trace_row_count(again, FAMILY_SPANS), 1);
    assert_int_equal(trace_row_count(again, FAMILY_LINKS), 0);
    struct span_block block;
    assert_int_equal(trace_spans_get(again, 0, &block, &err), 0);
    assert_string_equal(trace_text(again, block.name[0]), "inner");
    trace_spans_put(again, &block);
    trace_unref(again);
    trace_filter_destroy(filter);
    trace_unref(trace);
}

static void test_formats_are_found_by_name_and_ending(void **state)
{
    assert_ptr_equal(trace_format_find("chrome"), &format_chrome);
    assert_null(trace_format_find("nothing"));
    assert_ptr_equal(trace_format_for_path("a/b.hpt"), &format_native);
    assert_ptr_equal(trace_format_for_path("x.hprofiler.json"), &format_chrome);
    assert_ptr_equal(trace_format_for_path("x.speedscope.json"), &format_speedscope);
    assert_null(trace_format_for_path("x.txt"));
    assert_null(trace_format_for_path(".json"));
}

static void test_what_is_no_trace_is_said_to_be_none(void **state)
{
    static const struct {
        const char *content;
        int code;
    } cases[] = {{"", -ENODATA}, {"hello", -EPROTONOSUPPORT}, {"\x1f\x8b\x08\x00", -EPROTONOSUPPORT}, {"{\"a\":1}", -EBADMSG}, {"[1, 2]", -EPROTONOSUPPORT}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = ERROR_INIT;
        struct trace *trace;
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(cases[i].content, file);
        fclose(file);
        assert_int_equal(trace_open(path, NULL, NULL, &trace, &err), cases[i].code);
        assert_non_null(strstr(err.text, path));
    }
    struct error err = ERROR_INIT;
    struct trace *trace;
    assert_int_equal(trace_open("/nonexistent/x", NULL, NULL, &trace, &err), -ENOENT);
    assert_int_equal(trace_open("/tmp", NULL, NULL, &trace, &err), -EISDIR);
    assert_int_equal(trace_open("/dev/null", NULL, NULL, &trace, &err), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_folded_stacks_weigh_nanoseconds, make_path, remove_path),
        cmocka_unit_test_setup_teardown(test_folded_takes_spans_where_nothing_was_sampled, make_path, remove_path),
        cmocka_unit_test_setup_teardown(test_spans_hang_below_their_call_stacks, make_path, remove_path),
        cmocka_unit_test_setup_teardown(test_equal_names_of_two_modules_stay_apart, make_path, remove_path),
        cmocka_unit_test_setup_teardown(test_speedscope_has_a_profile_for_each_thread, make_path, remove_path),
        cmocka_unit_test_setup_teardown(test_csv_is_one_table, make_path, remove_path),
        cmocka_unit_test_setup_teardown(test_csv_rows_have_all_columns_whatever_is_in_them, make_path, remove_path),
        cmocka_unit_test_setup_teardown(test_a_part_with_everything_is_the_whole, make_path, remove_path),
        cmocka_unit_test_setup_teardown(test_the_flame_graph_page_keeps_its_data_apart, make_path, remove_path),
        cmocka_unit_test_setup_teardown(test_filters_choose_rows, make_path, remove_path),
        cmocka_unit_test(test_formats_are_found_by_name_and_ending),
        cmocka_unit_test_setup_teardown(test_what_is_no_trace_is_said_to_be_none, make_path, remove_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
