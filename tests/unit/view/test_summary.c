/* SPDX-License-Identifier: MIT */
/* A summary of a small made-up trace has exactly the numbers that its definitions give. */
#include "view/summary.h"
#include "view/summary_draw.h"

#include "base/error.h"
#include "trace/builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
    struct trace_builder *builder;
    process_id process;
    track_id worker, main, sched;
    stack_id main_stack, recursive, leaf, kernel;
};

static frame_id add_frame(struct trace_builder *builder, const char *function, module_id module)
{
    frame_id id;
    struct trace_frame frame = {.function = trace_builder_string(builder, function), .module = module};
    assert_int_equal(trace_builder_add_frame(builder, &frame, &id), 0);
    return id;
}

static stack_id add_stack(struct trace_builder *builder, stack_id parent, frame_id frame)
{
    stack_id id;
    assert_int_equal(trace_builder_add_stack(builder, parent, frame, &id), 0);
    return id;
}

static track_id add_track(struct fixture *fixture, enum track_kind kind, const char *name, int32_t tid)
{
    track_id id;
    struct trace_track track = {.kind = kind,
                                .name = trace_builder_string(fixture->builder, name),
                                .process = fixture->process,
                                .tid = tid,
                                .device = -1,
                                .stream = -1,
                                .start_ns = 0,
                                .end_ns = 1000};
    assert_int_equal(trace_builder_add_track(fixture->builder, &track, &id), 0);
    return id;
}

static void add_sample(struct fixture *fixture, track_id track, int64_t time_ns, int64_t weight, stack_id stack,
                       uint8_t flags)
{
    struct sample sample = {.time_ns = time_ns,
                            .weight = weight,
                            .stack = stack,
                            .cpu = 0,
                            .event = SAMPLE_EVENT_CPU_CLOCK,
                            .flags = flags};
    assert_int_equal(trace_builder_add_sample(fixture->builder, track, &sample), 0);
}

static void add_off_cpu(struct fixture *fixture, int64_t begin_ns, int64_t end_ns, const char *reason)
{
    span_id handle;
    string_id name = trace_builder_string(fixture->builder, reason);
    struct span span = {.track = fixture->sched,
                        .begin_ns = begin_ns,
                        .end_ns = end_ns,
                        .name = name,
                        .kind = SPAN_KIND_BLOCKED,
                        .category = trace_builder_string(fixture->builder, "cpu"),
                        .parent = SPAN_NONE,
                        .stack = STACK_NONE};
    assert_int_equal(trace_builder_add_span(fixture->builder, &span, NULL, &handle), 0);
}

static void add_span(struct fixture *fixture, const char *name, int64_t begin_ns, int64_t end_ns)
{
    span_id handle;
    struct span span = {.track = fixture->worker,
                        .begin_ns = begin_ns,
                        .end_ns = end_ns,
                        .name = trace_builder_string(fixture->builder, name),
                        .kind = SPAN_KIND_RANGE,
                        .parent = SPAN_NONE,
                        .stack = STACK_NONE};
    assert_int_equal(trace_builder_add_span(fixture->builder, &span, NULL, &handle), 0);
}

static void add_tables(struct fixture *fixture)
{
    struct trace_builder *builder = fixture->builder;
    module_id app, kernel;
    struct trace_process process = {.node = NODE_NONE,
                                    .pid = 42,
                                    .rank = -1,
                                    .start_ns = 0,
                                    .end_ns = 1000,
                                    .parent = PROCESS_NONE,
                                    .command = trace_builder_string(builder, "app"),
                                    .exit_status = 3 << 8};
    assert_int_equal(trace_builder_add_process(builder, &process, &fixture->process), 0);
    assert_int_equal(trace_builder_add_module(
                         builder, &(struct trace_module){.path = trace_builder_string(builder, "/bin/app")}, &app),
                     0);
    assert_int_equal(trace_builder_add_module(builder,
                                              &(struct trace_module){.path = trace_builder_string(builder, "[kernel]"),
                                                                     .flags = MODULE_KERNEL},
                                              &kernel),
                     0);
    fixture->main = add_track(fixture, TRACK_KIND_THREAD, "app", 42);
    fixture->worker = add_track(fixture, TRACK_KIND_THREAD, "worker", 43);
    fixture->sched = add_track(fixture, TRACK_KIND_SCHED, "worker", 43);
    frame_id main_frame = add_frame(builder, "main", app), walk = add_frame(builder, "walk", app),
             leaf = add_frame(builder, "leaf", app);
    fixture->main_stack = add_stack(builder, STACK_NONE, main_frame);
    fixture->recursive = add_stack(builder, add_stack(builder, fixture->main_stack, walk), walk);
    fixture->leaf = add_stack(builder, fixture->recursive, leaf);
    fixture->kernel = add_stack(builder, fixture->main_stack, add_frame(builder, "do_syscall", kernel));
}

static struct trace *make_trace(void)
{
    struct fixture fixture = {0};
    struct error err = ERROR_INIT;
    struct trace *trace = NULL;
    assert_int_equal(trace_builder_create(&(struct builder_options){0}, &fixture.builder, &err), 0);
    add_tables(&fixture);
    add_sample(&fixture, fixture.main, 10, 100, fixture.main_stack, 0);
    add_sample(&fixture, fixture.main, 20, 100, fixture.kernel, SAMPLE_KERNEL);
    for (int i = 0; i < 3; i++)
        add_sample(&fixture, fixture.worker, 30 + i, 100, fixture.recursive, 0);
    for (int i = 0; i < 5; i++)
        add_sample(&fixture, fixture.worker, 40 + i, 100, fixture.leaf, i == 0 ? SAMPLE_TRUNCATED | SAMPLE_CUT_COPY_ENDED << SAMPLE_CUT_SHIFT : 0);
    add_off_cpu(&fixture, 100, 150, "blocked");
    add_off_cpu(&fixture, 200, 230, "preempted");
    add_span(&fixture, "outer", 500, 600);
    add_span(&fixture, "inner", 510, 530);
    add_span(&fixture, "inner", 540, 550);
    assert_int_equal(trace_builder_add_ledger(fixture.builder, "cpu samples", 11, 10, 1, "the kernel's ring was full"),
                     0);
    assert_int_equal(trace_builder_set_metadata(fixture.builder, "overhead_ns", "77"), 0);
    assert_int_equal(trace_builder_finish(fixture.builder, &trace, &err), 0);
    trace_builder_destroy(fixture.builder);
    return trace;
}

static struct summary *summarise(const char *where)
{
    struct error err = ERROR_INIT;
    struct trace_filter *filter = NULL;
    struct summary *summary = NULL;
    struct trace *trace = make_trace();
    if (where)
        assert_int_equal(trace_filter_compile(where, &filter, &err), 0);
    assert_int_equal(summary_create(trace, filter, NULL, &summary, &err), 0);
    trace_filter_destroy(filter);
    trace_unref(trace);
    return summary;
}

static const struct summary_function *find(const struct summary *summary, const char *name)
{
    for (size_t i = 0; i < summary->function_count; i++)
        if (strcmp(summary->functions[i].name, name) == 0)
            return &summary->functions[i];
    return NULL;
}

static void test_recursion_counts_once_and_self_is_the_leaf(void **state)
{
    (void)state;
    struct summary *summary = summarise(NULL);
    assert_int_equal(summary->group_count[SUMMARY_SAMPLES], 4);
    const struct summary_function *walk = find(summary, "walk"), *leaf = find(summary, "leaf"),
                                  *main_ = find(summary, "main");
    assert_string_equal(summary->functions[0].name, "leaf");
    assert_int_equal(leaf->self_ns, 500);
    assert_int_equal(leaf->total_ns, 500);
    assert_int_equal(walk->self_ns, 300);
    assert_int_equal(walk->total_ns, 800);
    assert_int_equal(walk->count, 8);
    assert_int_equal(main_->self_ns, 100);
    assert_int_equal(main_->total_ns, 1000);
    assert_int_equal((int)leaf->percent, 50);
    assert_string_equal(leaf->module, "/bin/app");
    summary_destroy(summary);
}

/* The kernel gave a number to two threads of one process, one after the other. */
static void test_a_thread_number_that_is_used_again_is_another_thread(void **state)
{
    (void)state;
    struct fixture fixture = {0};
    struct error err = ERROR_INIT;
    struct trace *trace = NULL;
    struct summary *summary = NULL;
    assert_int_equal(trace_builder_create(&(struct builder_options){0}, &fixture.builder, &err), 0);
    add_tables(&fixture);
    track_id later = add_track(&fixture, TRACK_KIND_THREAD, "later", 43);
    track_id later_sched = add_track(&fixture, TRACK_KIND_SCHED, "", 43);
    trace_builder_track(fixture.builder, later)->start_ns = trace_builder_track(fixture.builder, later_sched)->start_ns = 500;
    trace_builder_track(fixture.builder, fixture.sched)->start_ns = INT64_MIN;
    add_sample(&fixture, fixture.worker, 10, 300, fixture.main_stack, 0);
    add_sample(&fixture, later, 510, 100, fixture.main_stack, 0);
    add_off_cpu(&fixture, 100, 150, "blocked");
    fixture.sched = later_sched;
    add_off_cpu(&fixture, 600, 607, "blocked");
    assert_int_equal(trace_builder_finish(fixture.builder, &trace, &err), 0);
    trace_builder_destroy(fixture.builder);
    assert_int_equal(summary_create(trace, NULL, NULL, &summary, &err), 0);
    assert_int_equal(summary->thread_count, 3);
    assert_string_equal(summary->threads[0].name, "worker");
    assert_int_equal(summary->threads[0].blocked_ns.value, 50);
    assert_int_equal(summary->threads[0].life_ns.value, 1000);
    assert_string_equal(summary->threads[1].name, "later");
    assert_int_equal(summary->threads[1].cpu_ns, 100);
    assert_int_equal(summary->threads[1].blocked_ns.value, 7);
    assert_int_equal(summary->threads[1].life_ns.value, 500);
    summary_destroy(summary);
    trace_unref(trace);
}

static void test_totals_threads_and_trust(void **state)
{
    (void)state;
    struct summary *summary = summarise(NULL);
    assert_int_equal(summary->samples, 10);
    assert_int_equal(summary->sampled_ns, 1000);
    assert_int_equal(summary->kernel_ns, 100);
    assert_int_equal(summary->samples_truncated, 1);
    assert_int_equal(summary->samples_cut[SAMPLE_CUT_COPY_ENDED], 1);
    assert_int_equal(summary->samples_cut[SAMPLE_CUT_UNKNOWN], 0);
    assert_int_equal(summary->blocked_ns.value, 50);
    assert_int_equal(summary->preempted_ns.value, 30);
    assert_int_equal(summary->thread_count, 2);
    assert_string_equal(summary->threads[0].name, "worker");
    assert_int_equal(summary->threads[0].cpu_ns, 800);
    assert_int_equal(summary->threads[0].blocked_ns.value, 50);
    assert_false(summary->threads[1].blocked_ns.known); /* nobody looked: not 0 */
    assert_int_equal(summary->processes[0].cpu_ns, 1000);
    assert_int_equal(summary->exit_status.value, 3);
    assert_int_equal(summary->overhead_ns.value, 77);
    assert_int_equal(summary->duration_ns, 1000);
    assert_string_equal(summary->modules[0].name, "/bin/app");
    assert_int_equal(summary->modules[0].self_ns, 900);
    summary_destroy(summary);
}

static void test_spans_have_self_time_and_extremes(void **state)
{
    (void)state;
    static const char *const filters[] = {NULL, "thread=worker"};
    for (size_t i = 0; i < 2; i++) { /* stored sums, and sums made by reading the spans */
        struct summary *summary = summarise(filters[i]);
        const struct summary_function *outer = find(summary, "outer"), *inner = find(summary, "inner");
        assert_int_equal(outer->self_ns, 70);
        assert_int_equal(outer->total_ns, 100);
        assert_int_equal(inner->count, 2);
        assert_int_equal(inner->self_ns, 30);
        assert_int_equal(inner->min_ns, 10);
        assert_int_equal(inner->max_ns, 20);
        assert_int_equal(find(summary, "blocked")->group, SUMMARY_OFF_CPU);
        summary_destroy(summary);
    }
}

static void test_filter_leaves_out_threads_and_functions(void **state)
{
    (void)state;
    struct summary *summary = summarise("thread=app");
    assert_true(summary->filtered);
    assert_int_equal(summary->samples, 2);
    assert_int_equal(summary->thread_count, 1);
    assert_null(find(summary, "walk"));
    assert_null(find(summary, "outer"));
    assert_non_null(find(summary, "do_syscall"));
    summary_destroy(summary);
}

static void test_processes_outside_of_the_recorded_part_are_not_listed(void **state)
{
    (void)state;
    static const struct {
        int32_t pid;
        int64_t start_ns, end_ns;
    } lives[] = {{10, 0, INT64_MIN}, {11, 20, 199}, {12, 20, 200}, {13, 300, 900}, {14, 401, 500}};
    struct error err = ERROR_INIT;
    struct trace_builder *builder;
    struct trace *trace;
    struct summary *summary;
    assert_int_equal(trace_builder_create(&(struct builder_options){0}, &builder, &err), 0);
    for (size_t i = 0; i < sizeof lives / sizeof *lives; i++) {
        process_id id;
        struct trace_process process = {.pid = lives[i].pid, .start_ns = lives[i].start_ns, .end_ns = lives[i].end_ns, .node = {ID_NONE},
                                        .parent = {ID_NONE}, .rank = -1, .exit_status = -1};
        assert_int_equal(trace_builder_add_process(builder, &process, &id), 0);
    }
    trace_builder_set_metadata(builder, "recording.begin_ns", "200");
    trace_builder_set_metadata(builder, "recording.end_ns", "400");
    assert_int_equal(trace_builder_finish(builder, &trace, &err), 0);
    trace_builder_destroy(builder);
    assert_int_equal(summary_create(trace, NULL, NULL, &summary, &err), 0);
    assert_int_equal(summary->process_count, 3);
    assert_int_equal(summary->processes[0].pid, 10);
    assert_int_equal(summary->processes[1].pid, 12);
    assert_int_equal(summary->processes[2].pid, 13);
    summary_destroy(summary);
    trace_unref(trace);
}

static void test_what_is_left_out_is_counted_in_good_grammar(void **state)
{
    (void)state;
    struct text_look look = {.width = 80};
    struct summary *summary = summarise(NULL);
    struct text out = TEXT_INIT;
    summary_draw(summary, summary->group_count[SUMMARY_SAMPLES] - 1, &look, &out);
    assert_non_null(strstr(out.data, "\n  1 more function (--top 0 shows all), "));
    text_finish(&out);
    struct drawing drawing = {.out = &out};
    draw_rest(&drawing, 2, 3, "processes", -1);
    draw_rest(&drawing, 1, 3, "processes", -1);
    assert_string_equal(out.data, "  1 more process\n  2 more processes\n");
    text_finish(&out);
    summary_destroy(summary);
}

static void test_drawing_names_everything_and_cuts_to_the_width(void **state)
{
    (void)state;
    struct text out = TEXT_INIT;
    struct text_look look = {.width = 80, .utf8 = true};
    struct summary *summary = summarise(NULL);
    summary_draw(summary, 2, &look, &out);
    assert_false(out.failed);
    static const char *const expected[] = {"exit status 3",
                                           "leaf",
                                           "walk",
                                           "2 more functions",
                                           "90.0 % of 10 samples",
                                           "worker",
                                           "the kernel's ring was full",
                                           "outer"};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_non_null(strstr(out.data, expected[i]));
    for (const char *line = out.data; *line; line += strcspn(line, "\n") + 1)
        assert_true(text_cells(line, strcspn(line, "\n")) <= 80);
    text_finish(&out);
    summary_destroy(summary);
}

/* _start and clone3 call everything, which tells nothing; a call by the function itself is none. */
static void test_callers_of_a_function_and_what_starts_a_thread(void **state)
{
    (void)state;
    struct fixture fixture = {0};
    struct error err = ERROR_INIT;
    struct trace *trace = NULL;
    struct summary *summary = NULL;
    struct text out = TEXT_INIT;
    struct text_look look = {.width = 100, .utf8 = true};
    assert_int_equal(trace_builder_create(&(struct builder_options){0}, &fixture.builder, &err), 0);
    add_tables(&fixture);
    module_id none = MODULE_NONE;
    stack_id start = add_stack(fixture.builder, STACK_NONE, add_frame(fixture.builder, "_start", none)),
             clone = add_stack(fixture.builder, STACK_NONE, add_frame(fixture.builder, "clone3", none));
    frame_id hot = add_frame(fixture.builder, "hot", none);
    stack_id one = add_stack(fixture.builder, add_stack(fixture.builder, start, add_frame(fixture.builder, "one", none)), hot);
    stack_id two = add_stack(fixture.builder, add_stack(fixture.builder, clone, add_frame(fixture.builder, "two", none)), hot);
    add_sample(&fixture, fixture.main, 10, 100, add_stack(fixture.builder, one, hot), 0);
    add_sample(&fixture, fixture.main, 11, 600, two, 0);
    add_sample(&fixture, fixture.main, 12, 50, add_stack(fixture.builder, clone, hot), 0);
    add_sample(&fixture, fixture.main, 13, 20, add_stack(fixture.builder, STACK_NONE, hot), SAMPLE_TRUNCATED);
    assert_int_equal(trace_builder_finish(fixture.builder, &trace, &err), 0);
    trace_builder_destroy(fixture.builder);
    assert_int_equal(summary_create(trace, NULL, NULL, &summary, &err), 0);
    static const struct {
        const char *name;
        int64_t self_ns;
    } callers[] = {{"two", 600}, {"one", 100}, {"[start of the thread]", 50}, {"[unknown]", 20}};
    const struct summary_function *function = find(summary, "hot");
    assert_int_equal(function->caller_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(function->callers[i].name, callers[i].name);
        assert_int_equal(function->callers[i].self_ns, callers[i].self_ns);
    }
    assert_int_equal(find(summary, "two")->caller_count, 0);
    summary_draw(summary, 15, &look, &out);
    assert_non_null(strstr(out.data, "77.9  hot       two\n"));
    assert_null(strstr(out.data, "clone3"));
    assert_null(strstr(out.data, "_start"));
    text_finish(&out);
    summary_destroy(summary);
    trace_unref(trace);
}

/* What ended stacks is said with what helps. */
static void test_cut_stacks_come_with_their_remedy(void **state)
{
    (void)state;
    static const struct {
        const char *callgraph;
        enum sample_cut cut;
        const char *said;
    } cases[] = {
        {"fp", SAMPLE_CUT_UNKNOWN, "50.0 % lose their callers on the way (code without frame pointers: use --perf-callgraph dwarf)"},
        {"dwarf,32768", SAMPLE_CUT_COPY_ENDED, "50.0 % end with the copied piece of the stack (copy more: --perf-callgraph dwarf,64K)"},
        {"dwarf,64512", SAMPLE_CUT_COPY_ENDED, "(it was the largest that there is)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture = {0};
        struct error err = ERROR_INIT;
        struct trace *trace = NULL;
        struct summary *summary = NULL;
        struct text out = TEXT_INIT;
        assert_int_equal(trace_builder_create(&(struct builder_options){0}, &fixture.builder, &err), 0);
        add_tables(&fixture);
        add_sample(&fixture, fixture.main, 10, 100, fixture.main_stack, 0);
        add_sample(&fixture, fixture.main, 20, 100, fixture.leaf, (uint8_t)(SAMPLE_TRUNCATED | cases[i].cut << SAMPLE_CUT_SHIFT));
        assert_int_equal(trace_builder_set_metadata(fixture.builder, "sampling.callgraph", cases[i].callgraph), 0);
        assert_int_equal(trace_builder_finish(fixture.builder, &trace, &err), 0);
        trace_builder_destroy(fixture.builder);
        assert_int_equal(summary_create(trace, NULL, NULL, &summary, &err), 0);
        summary_draw(summary, 15, &(struct text_look){.utf8 = true}, &out);
        assert_non_null(strstr(out.data, cases[i].said));
        text_finish(&out);
        summary_destroy(summary);
        trace_unref(trace);
    }
}

/* A thread that never ran on a CPU: its other times tell the unit. */
static void test_a_tables_unit_suits_all_its_times(void **state)
{
    (void)state;
    struct fixture fixture = {0};
    struct error err = ERROR_INIT;
    struct trace *trace = NULL;
    struct summary *summary = NULL;
    struct text out = TEXT_INIT;
    struct text_look look = {0};
    assert_int_equal(trace_builder_create(&(struct builder_options){0}, &fixture.builder, &err), 0);
    add_tables(&fixture);
    trace_builder_track(fixture.builder, fixture.worker)->end_ns = INT64_MIN;
    add_off_cpu(&fixture, 100, 20004040500, "blocked");
    assert_int_equal(trace_builder_finish(fixture.builder, &trace, &err), 0);
    trace_builder_destroy(fixture.builder);
    assert_int_equal(summary_create(trace, NULL, NULL, &summary, &err), 0);
    summary_draw(summary, 15, &look, &out);
    assert_non_null(strstr(out.data, "Threads  in s\n"));
    assert_non_null(strstr(out.data, " 20.004 "));
    text_finish(&out);
    summary_destroy(summary);
    trace_unref(trace);
}

/* Switches may be among the notes that the kernel's ring had no room for. */
static void test_times_off_the_cpu_are_lower_bounds_where_notes_were_lost(void **state)
{
    (void)state;
    for (uint64_t lost = 0; lost < 2; lost++) {
        struct fixture fixture = {0};
        struct error err = ERROR_INIT;
        struct trace *trace = NULL;
        struct summary *summary = NULL;
        struct text out = TEXT_INIT;
        assert_int_equal(trace_builder_create(&(struct builder_options){0}, &fixture.builder, &err), 0);
        add_tables(&fixture);
        add_off_cpu(&fixture, 100, 150, "blocked");
        assert_int_equal(trace_builder_add_ledger(fixture.builder, "kernel notes", lost, 0, lost, ""), 0);
        assert_int_equal(trace_builder_finish(fixture.builder, &trace, &err), 0);
        trace_builder_destroy(fixture.builder);
        assert_int_equal(summary_create(trace, NULL, NULL, &summary, &err), 0);
        summary_draw(summary, 15, &(struct text_look){0}, &out);
        assert_int_equal(strstr(out.data, "at least 50 ns blocked") != NULL, lost);
        assert_non_null(strstr(out.data, "50 ns blocked"));
        text_finish(&out);
        summary_destroy(summary);
        trace_unref(trace);
    }
}

static size_t longest_line(const char *text)
{
    size_t longest = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        longest = text_cells(line, strcspn(line, "\n")) > longest ? text_cells(line, strcspn(line, "\n")) : longest;
    return longest;
}

static void test_long_names_cost_no_columns_and_no_long_lines(void **state)
{
    (void)state;
    struct fixture fixture = {0};
    struct error err = ERROR_INIT;
    struct trace *trace = NULL;
    struct summary *summary = NULL;
    char name[700];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_int_equal(trace_builder_create(&(struct builder_options){0}, &fixture.builder, &err), 0);
    add_tables(&fixture);
    add_sample(&fixture, fixture.main, 10, 1000000, add_stack(fixture.builder, fixture.main_stack, add_frame(fixture.builder, name, MODULE_NONE)), 0);
    assert_int_equal(trace_builder_finish(fixture.builder, &trace, &err), 0);
    trace_builder_destroy(fixture.builder);
    assert_int_equal(summary_create(trace, NULL, NULL, &summary, &err), 0);
    static const unsigned widths[] = {100, 80, 48, 0};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        struct text out = TEXT_INIT;
        struct text_look look = {.width = widths[i], .utf8 = true};
        summary_draw(summary, 15, &look, &out);
        const char *heading = strstr(out.data, "Functions  in"), *header = strchr(heading, '\n');
        *strchr(header + 1, '\n') = '\0';
        assert_int_equal(strstr(header, "total") != NULL, widths[i] != 48);
        assert_int_equal(strstr(heading, "total: with what they call") != NULL, widths[i] != 48);
        text_finish(&out);
        summary_draw(summary, 15, &look, &out);
        assert_true(longest_line(out.data) <= (widths[i] ? widths[i] : 200));
        text_finish(&out);
    }
    struct text narrow = TEXT_INIT; /* its first lines, which are words */
    summary_draw(summary, 15, &(struct text_look){.width = 40, .utf8 = true}, &narrow);
    *strstr(narrow.data, "Functions  in") = '\0';
    assert_true(longest_line(narrow.data) <= 40);
    text_finish(&narrow);
    assert_int_equal(strlen(find(summary, name)->name), sizeof name - 1); /* whole, for machines */
    summary_destroy(summary);
    trace_unref(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recursion_counts_once_and_self_is_the_leaf),
        cmocka_unit_test(test_a_thread_number_that_is_used_again_is_another_thread),
        cmocka_unit_test(test_totals_threads_and_trust),
        cmocka_unit_test(test_spans_have_self_time_and_extremes),
        cmocka_unit_test(test_filter_leaves_out_threads_and_functions),
        cmocka_unit_test(test_processes_outside_of_the_recorded_part_are_not_listed),
        cmocka_unit_test(test_what_is_left_out_is_counted_in_good_grammar),
        cmocka_unit_test(test_drawing_names_everything_and_cuts_to_the_width),
        cmocka_unit_test(test_callers_of_a_function_and_what_starts_a_thread),
        cmocka_unit_test(test_cut_stacks_come_with_their_remedy),
        cmocka_unit_test(test_a_tables_unit_suits_all_its_times),
        cmocka_unit_test(test_times_off_the_cpu_are_lower_bounds_where_notes_were_lost),
        cmocka_unit_test(test_long_names_cost_no_columns_and_no_long_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
