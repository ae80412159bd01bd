/* SPDX-License-Identifier: MIT */
/* Chrome JSON as other programs write it: every event type and form, spellings, damage. */
#include "base/error.h"
#include "base/log.h"
#include "formats/chrome_reader.h"
#include "trace_compare.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static char warnings[1024];

static void remember_warning(void *context, enum log_level level, const char *line)
{
    strncat(warnings, line, sizeof(warnings) - strlen(warnings) - 2);
    strcat(warnings, "\n");
}

static struct trace *read_text(const char *text)
{
    struct error err = ERROR_INIT;
    struct trace *trace = NULL;
    const struct log log = {remember_warning, NULL};
    warnings[0] = 0;
    if (chrome_read_memory("test.json", text, strlen(text), 0, &log, &trace, &err) < 0)
        print_message("%s\n", err.text);
    assert_int_equal(err.code, 0);
    assert_non_null(trace);
    return trace;
}

/* "track: name begin..end <parent [args]" of every span, a line each. */
static const char *spans_of(const struct trace *trace)
{
    static char text[8192];
    size_t length = 0;
    struct error err = ERROR_INIT;
    text[0] = 0;
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_SPANS); i++) {
        struct span_block block;
        assert_int_equal(trace_spans_get(trace, i, &block, &err), 0);
        for (uint32_t row = 0; row < block.info.count; row++) {
            struct payload payload;
            uint32_t count, parent = COLUMN(block, parent, row, SPAN_NONE).index;
            assert_int_equal(span_payload(&block, row, &payload), 0);
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%s: %s ",
                                       trace_text(trace, trace_tracks(trace, &count)[block.info.track.index].name),
                                       trace_text(trace, COLUMN(block, name, row, STRING_NONE)));
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%lld..", (long long)block.begin_ns[row]);
            if (block.end_ns[row] != INT64_MIN)
                length += (size_t)snprintf(text + length, sizeof(text) - length, "%lld", (long long)block.end_ns[row]);
            if (parent != ID_NONE)
                length += (size_t)snprintf(text + length, sizeof(text) - length, " <%u", parent);
            if (payload.kind == PAYLOAD_JSON)
                length += (size_t)snprintf(text + length, sizeof(text) - length, " %.*s", (int)payload.json_size, payload.json);
            length += (size_t)snprintf(text + length, sizeof(text) - length, "\n");
        }
        trace_spans_put(trace, &block);
    }
    return text;
}

static void expect_spans(const char *json, const char *expected)
{
    struct trace *trace = read_text(json);
    assert_string_equal(spans_of(trace), expected);
    trace_unref(trace);
}

static uint64_t lost(const struct trace *trace, const char *reason)
{
    uint32_t count;
    const struct ledger_entry *ledger = trace_ledger(trace, &count);
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(trace_text(trace, ledger[i].reason), reason) == 0)
            return ledger[i].lost;
    return 0;
}

static void test_forms_of_the_file(void **state)
{
    const char *expected = ": a 1000..3500\n";
    expect_spans("[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2.5,\"pid\":1,\"tid\":2}]", expected);
    expect_spans("{\"traceEvents\":[{\"tid\":2,\"pid\":1,\"dur\":2.5,\"ts\":1,\"name\":\"a\",\"ph\":\"X\"}]}", expected);
    expect_spans(" \n[ { \"ph\" : \"X\" , \"name\" : \"a\" , \"ts\" : 1.0 , \"dur\" : 25e-1 , \"pid\" : 1 , \"tid\" : 2 } , ] ", expected);
    expect_spans("\xef\xbb\xbf[{\"ph\":\"X\",\"name\":\"a\",\"ts\":\"1\",\"dur\":\"2.5\",\"pid\":\"1\",\"tid\":\"2\"}]", expected);
    expect_spans("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"v\":[1,{\"x\":null}]},\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2.5,"
                 "\"pid\":1,\"tid\":2,\"unknown\":{\"deep\":[[[1]]]}}],\"stackFrames\":{}}", expected);
    assert_string_equal(warnings, "");
}

static void test_an_unterminated_array_is_read(void **state)
{
    const char *event = "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2.5,\"pid\":1,\"tid\":2}";
    char text[400];
    snprintf(text, sizeof(text), "[%s,\n%s", event, event);
    expect_spans(text, ": a 1000..3500\n: a 1000..3500 <0\n");
    assert_non_null(strstr(warnings, "ends in the middle"));
    snprintf(text, sizeof(text), "{\"traceEvents\":[%s,%.20s", event, event);
    expect_spans(text, ": a 1000..3500\n");
    snprintf(text, sizeof(text), "[%s,\n", event);
    expect_spans(text, ": a 1000..3500\n");
    expect_spans("[", "");
}

static void test_begins_and_ends_pair_up(void **state)
{
    expect_spans("[{\"ph\":\"B\",\"name\":\"a\",\"ts\":1,\"pid\":1,\"tid\":1,\"args\":{\"x\":1}},{\"ph\":\"B\",\"name\":\"b\",\"ts\":2,\"pid\":1,\"tid\":1},"
                 "{\"ph\":\"B\",\"name\":\"other\",\"ts\":2,\"pid\":1,\"tid\":2},"
                 "{\"ph\":\"E\",\"ts\":3,\"pid\":1,\"tid\":1,\"args\":{\"y\":2}},{\"ph\":\"E\",\"ts\":4,\"pid\":1,\"tid\":1,\"args\":{\"z\":3}},"
                 "{\"ph\":\"E\",\"ts\":5,\"pid\":1,\"tid\":1}]",
                 ": a 1000..4000 {\"x\":1,\"z\":3}\n: b 2000..3000 <0 {\"y\":2}\n: other 2000..\n");
}

static void test_an_end_without_a_begin_is_counted(void **state)
{
    struct trace *trace = read_text("[{\"ph\":\"E\",\"ts\":3,\"pid\":1,\"tid\":1},{\"ph\":\"X\",\"ts\":true,\"pid\":1,\"tid\":1},{\"ph\":\"?\",\"ts\":1},7]");
    uint32_t count;
    const struct ledger_entry *ledger = trace_ledger(trace, &count);
    assert_int_equal(ledger[0].seen, 4);
    assert_int_equal(ledger[0].recorded, 0);
    assert_int_equal(lost(trace, "end without a begin"), 1);
    assert_int_equal(lost(trace, "event without a usable time"), 1);
    assert_int_equal(lost(trace, "event type that is not known"), 1);
    assert_int_equal(lost(trace, "element that is no event object"), 1);
    trace_unref(trace);
}

static void test_times_are_exact(void **state)
{
    expect_spans("[{\"ph\":\"X\",\"ts\":1700000000123456.789,\"dur\":0.001,\"pid\":1},{\"ph\":\"X\",\"ts\":-5.0005,\"dur\":1e3,\"pid\":1},"
                 "{\"ph\":\"X\",\"ts\":0.0004999,\"dur\":0.0005,\"pid\":1},{\"ph\":\"X\",\"ts\":123456789e-3,\"dur\":0,\"pid\":1}]",
                 ":  -5001..994999\n:  0..1 <0\n:  123456789..123456789\n:  1700000000123456789..1700000000123456790\n");
}

static void test_asynchronous_spans_get_lanes(void **state)
{
    expect_spans("[{\"ph\":\"b\",\"cat\":\"io\",\"id\":\"0x1\",\"name\":\"r\",\"ts\":1,\"pid\":1},{\"ph\":\"b\",\"cat\":\"io\",\"id\":\"0x2\",\"name\":\"w\",\"ts\":2,\"pid\":1},"
                 "{\"ph\":\"b\",\"cat\":\"io\",\"id\":\"0x1\",\"name\":\"inner\",\"ts\":3,\"pid\":1},{\"ph\":\"e\",\"cat\":\"io\",\"id\":\"0x1\",\"ts\":4,\"pid\":1},"
                 "{\"ph\":\"e\",\"cat\":\"io\",\"id\":\"0x1\",\"ts\":5,\"pid\":1},{\"ph\":\"e\",\"cat\":\"io\",\"id\":\"0x2\",\"ts\":6,\"pid\":1},"
                 "{\"ph\":\"S\",\"cat\":\"io\",\"id\":3,\"name\":\"old\",\"ts\":7,\"pid\":1},{\"ph\":\"F\",\"cat\":\"io\",\"id\":3,\"name\":\"old\",\"ts\":8,\"pid\":1}]",
                 "io: r 1000..5000\nio: inner 3000..4000 <0\nio: w 2000..6000\nio: old 7000..8000\n");
}

static void test_names_come_from_metadata_events(void **state)
{
    struct trace *trace = read_text("[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"pid\":7,\"tid\":8},"
                                    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":7,\"tid\":8,\"args\":{\"name\":\"work\\u0065r\"}},"
                                    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":7,\"args\":{\"labels\":1,\"name\":\"prog\"}},"
                                    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":\"GPU 0\",\"args\":{\"name\":\"device\"}}]");
    uint32_t count;
    const struct trace_process *processes = trace_processes(trace, &count);
    assert_int_equal(count, 2);
    assert_string_equal(trace_text(trace, processes[0].command), "prog");
    assert_int_equal(processes[0].pid, 7);
    assert_string_equal(trace_text(trace, processes[1].command), "device");
    assert_int_equal(processes[1].pid, -1);
    const struct trace_track *tracks = trace_tracks(trace, &count);
    assert_string_equal(trace_text(trace, tracks[0].name), "worker");
    assert_int_equal(tracks[0].tid, 8);
    trace_unref(trace);
}

static void test_counters_and_instants(void **state)
{
    struct error err = ERROR_INIT;
    struct trace *trace = read_text("[{\"ph\":\"C\",\"name\":\"mem\",\"ts\":1,\"pid\":1,\"args\":{\"used\":1.5,\"free\":2e3}},"
                                    "{\"ph\":\"C\",\"name\":\"mem\",\"ts\":2,\"pid\":1,\"args\":{\"used\":-3}},{\"ph\":\"C\",\"name\":\"bad\",\"ts\":2,\"pid\":1,\"args\":{\"used\":\"x\"}},"
                                    "{\"ph\":\"i\",\"name\":\"mark\",\"ts\":3,\"pid\":1,\"tid\":2,\"s\":\"t\",\"args\":{\"k\":1}},{\"ph\":\"I\",\"name\":\"all\",\"ts\":4,\"pid\":1,\"s\":\"g\"}]");
    struct counter_block used, free_block;
    uint32_t count;
    assert_int_equal(trace_block_count(trace, FAMILY_COUNTERS), 2);
    assert_int_equal(trace_counters_get(trace, 0, &used, &err), 0);
    assert_int_equal(trace_counters_get(trace, 1, &free_block, &err), 0);
    assert_string_equal(trace_text(trace, trace_tracks(trace, &count)[used.info.track.index].name), "mem.used");
    assert_int_equal(used.info.count, 2);
    assert_true(used.value[0] == 1.5 && used.value[1] == -3 && free_block.value[0] == 2000);
    trace_counters_put(trace, &used);
    trace_counters_put(trace, &free_block);
    assert_int_equal(lost(trace, "counter value that is no number"), 1);
    assert_int_equal(trace_row_count(trace, FAMILY_INSTANTS), 2);
    trace_unref(trace);
}

static void test_flows_become_links(void **state)
{
    struct error err = ERROR_INIT;
    struct trace *trace = read_text("[{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":5,\"ts\":2,\"pid\":1,\"tid\":1},"
                                    "{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":5,\"ts\":12,\"pid\":1,\"tid\":2},"
                                    "{\"ph\":\"f\",\"cat\":\"other\",\"name\":\"next\",\"id\":5,\"ts\":9,\"pid\":1,\"tid\":2},"
                                    "{\"ph\":\"s\",\"cat\":\"other\",\"name\":\"next\",\"id\":5,\"ts\":3,\"pid\":1,\"tid\":1},"
                                    "{\"ph\":\"s\",\"cat\":\"lost\",\"name\":\"lost\",\"id\":6,\"ts\":300,\"pid\":1,\"tid\":1},"
                                    "{\"ph\":\"X\",\"name\":\"call\",\"ts\":1,\"dur\":5,\"pid\":1,\"tid\":1},{\"ph\":\"X\",\"name\":\"launch\",\"ts\":2,\"dur\":1,\"pid\":1,\"tid\":1},"
                                    "{\"ph\":\"X\",\"name\":\"kernel\",\"ts\":10,\"dur\":5,\"pid\":1,\"tid\":2},"
                                    "{\"ph\":\"X\",\"name\":\"out\",\"ts\":20,\"dur\":1,\"pid\":1,\"tid\":3,\"bind_id\":\"0x9\",\"flow_out\":true},"
                                    "{\"ph\":\"X\",\"name\":\"in\",\"ts\":30,\"dur\":1,\"pid\":1,\"tid\":3,\"bind_id\":\"0x9\",\"flow_in\":true}]");
    struct link_block block;
    char text[256] = "";
    assert_int_equal(trace_row_count(trace, FAMILY_LINKS), 3);
    assert_int_equal(trace_links_get(trace, 0, &block, &err), 0);
    bool seen[3] = {false};
    for (uint32_t row = 0; row < 3; row++) {
        snprintf(text, sizeof(text), "%u>%u", block.from[row].index, block.to[row].index);
        seen[0] |= strcmp(text, "1>2") == 0 && (block.kind ? block.kind[row] : 0) == LINK_KIND_LAUNCH;
        seen[1] |= strcmp(text, "1>2") == 0 && block.kind && block.kind[row] == LINK_KIND_DEPEND;
        seen[2] |= strcmp(text, "3>4") == 0;
    }
    trace_links_put(trace, &block);
    assert_true(seen[0] && seen[1] && seen[2]);
    assert_int_equal(lost(trace, "flow without a span to hang on"), 1);
    trace_unref(trace);
}

static void test_flows_without_any_span_are_counted(void **state)
{
    struct trace *trace = read_text("[{\"ph\":\"s\",\"id\":5,\"ts\":2,\"pid\":1},{\"ph\":\"f\",\"id\":5,\"ts\":3,\"pid\":1}]");
    assert_int_equal(trace_row_count(trace, FAMILY_LINKS), 0);
    assert_int_equal(lost(trace, "flow without a span to hang on"), 2);
    trace_unref(trace);
}

/* The table of stacks may stand on either side of the events. */
static void test_samples_find_their_stacks(void **state)
{
    static const char *const texts[] = {
        "{\"stackFrames\":{\"2\":{\"name\":\"leaf\",\"category\":\"libc\",\"parent\":\"1\"},\"1\":{\"name\":\"root\"}},"
        "\"traceEvents\":[{\"ph\":\"P\",\"name\":\"s\",\"ts\":1,\"pid\":1,\"tid\":1,\"sf\":2},{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"pid\":1,\"sf\":\"1\"}],"
        "\"samples\":[{\"cpu\":3,\"tid\":1,\"ts\":2,\"name\":\"s\",\"sf\":1,\"weight\":7},{\"tid\":1,\"ts\":3,\"sf\":99}]}",
        "{\"samples\":[{\"cpu\":3,\"tid\":1,\"ts\":2,\"name\":\"s\",\"sf\":1,\"weight\":7},{\"tid\":1,\"ts\":3,\"sf\":99}],"
        "\"traceEvents\":[{\"ph\":\"P\",\"name\":\"s\",\"ts\":1,\"pid\":1,\"tid\":1,\"sf\":2},{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"pid\":1,\"sf\":\"1\"}],"
        "\"stackFrames\":{\"2\":{\"name\":\"leaf\",\"category\":\"libc\",\"parent\":\"1\"},\"1\":{\"name\":\"root\"}}}",
    };
    for (size_t i = 0; i < 2; i++) {
        struct error err = ERROR_INIT;
        struct trace *trace = read_text(texts[i]);
        uint32_t count;
        const struct stack_node *stacks = trace_stacks(trace, &count);
        assert_int_equal(count, 2);
        assert_int_equal(stacks[1].parent.index, 0);
        assert_string_equal(trace_text(trace, trace_frames(trace, &count)[stacks[1].frame.index].function), "leaf");
        assert_int_equal(trace_row_count(trace, FAMILY_SAMPLES), 3);
        assert_int_equal(lost(trace, "stack frame that is not in the file"), 1);
        for (uint32_t block_index = 0; block_index < trace_block_count(trace, FAMILY_SAMPLES); block_index++) {
            struct sample_block block;
            assert_int_equal(trace_samples_get(trace, block_index, &block, &err), 0);
            for (uint32_t row = 0; row < block.info.count; row++)
                if (block.time_ns[row] == 2000)
                    assert_true(block.stack[row].index == 0 && block.weight[row] == 7 && block.cpu[row] == 3);
            trace_samples_put(trace, &block);
        }
        trace_unref(trace);
    }
}

static void test_strings_are_decoded(void **state)
{
    expect_spans("[{\"ph\":\"X\",\"name\":\"\\\"\\\\\\/\\b\\u00e9\\ud83d\\ude00\\ud800\\u0000\",\"ts\":0,\"dur\":0,\"pid\":1,\"tid\":1}]",
                 ": \"\\/\b\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbd\xef\xbf\xbd 0..0\n");
}

static void test_damage_is_told_with_its_place(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"[{\"ph\":\"X\",1}]", "offset 11: expected a string"},
        {"[{\"ph\":\"X\"} {\"ph\":\"X\"}]", "offset 12: expected ',' or ']' behind an event"},
        {"[{\"ph\":\"X\",\"name\":\"a\nb\"}]", "offset 20: expected no control character in a string"},
        {"[{\"ph\":\"\\x\"}]", "offset 9: expected a known escape in a string"},
        {"[{\"ts\":1.}]", "offset 9: expected digits behind the point"},
        {"[{\"ts\":nul}]", "offset 7: expected true, false or null"},
        {"{\"traceEvents\":7}", "offset 15: expected an array of events"},
        {"{\"other\":[]}", "there is no \"traceEvents\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = ERROR_INIT;
        struct trace *trace;
        assert_int_equal(chrome_read_memory("f.json", cases[i].text, strlen(cases[i].text), 0, NULL, &trace, &err), -EBADMSG);
        if (!strstr(err.text, cases[i].message) || strncmp(err.text, "f.json: ", 8) != 0)
            fail_msg("%s", err.text);
    }
}

static void test_depth_is_bounded(void **state)
{
    static char text[100000];
    struct error err = ERROR_INIT;
    struct trace *trace;
    strcpy(text, "[{\"args\":");
    memset(text + strlen(text), '[', 90000);
    assert_int_equal(chrome_read_memory("f.json", text, strlen(text), 0, NULL, &trace, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "at most 256 nested"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms_of_the_file),
        cmocka_unit_test(test_an_unterminated_array_is_read),
        cmocka_unit_test(test_begins_and_ends_pair_up),
        cmocka_unit_test(test_an_end_without_a_begin_is_counted),
        cmocka_unit_test(test_times_are_exact),
        cmocka_unit_test(test_asynchronous_spans_get_lanes),
        cmocka_unit_test(test_names_come_from_metadata_events),
        cmocka_unit_test(test_counters_and_instants),
        cmocka_unit_test(test_flows_become_links),
        cmocka_unit_test(test_flows_without_any_span_are_counted),
        cmocka_unit_test(test_samples_find_their_stacks),
        cmocka_unit_test(test_strings_are_decoded),
        cmocka_unit_test(test_damage_is_told_with_its_place),
        cmocka_unit_test(test_depth_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
