/* SPDX-License-Identifier: MIT */
/* Arrows of links: viewers take events in the order of time and hang each end on the slice around it. */
#include "formats/exports.h"

#include "base/error.h"
#include "base/file.h"
#include "trace/builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
    struct trace_builder *builder;
    track_id tracks[2];
};

static struct fixture begin(void)
{
    struct fixture fixture;
    node_id node;
    process_id process;
    assert_int_equal(trace_builder_create(&(struct builder_options){0}, &fixture.builder, NULL), 0);
    assert_int_equal(trace_builder_add_node(fixture.builder, &(struct trace_node){.name = trace_builder_string(fixture.builder, "n")}, &node), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(trace_builder_add_process(fixture.builder, &(struct trace_process){.node = node, .pid = i, .rank = i, .parent = PROCESS_NONE}, &process), 0);
        const struct trace_track track = {.kind = TRACK_KIND_THREAD, .process = process, .tid = i, .device = -1, .stream = -1};
        assert_int_equal(trace_builder_add_track(fixture.builder, &track, &fixture.tracks[i]), 0);
    }
    return fixture;
}

static span_id add(struct fixture *fixture, int track, int64_t begin_ns, int64_t end_ns)
{
    const struct span span = {.track = fixture->tracks[track], .begin_ns = begin_ns, .end_ns = end_ns, .name = trace_builder_string(fixture->builder, "call"),
                              .parent = SPAN_NONE, .stack = STACK_NONE};
    span_id handle;
    assert_int_equal(trace_builder_add_span(fixture->builder, &span, NULL, &handle), 0);
    return handle;
}

static void link_spans(struct fixture *fixture, enum link_kind kind, span_id from, span_id to)
{
    assert_int_equal(trace_builder_add_link(fixture->builder, &(struct trace_link){.kind = kind, .from = from, .to = to}), 0);
}

static double ts_of(const char *event)
{
    return strtod(strstr(event, "\"ts\":") + 5, NULL);
}

/* The flows of the file: "kind begin>end;" in us, in its order. */
static void expect_arrows(struct fixture *fixture, const char *expected)
{
    char path[] = "/tmp/hp-arrows-XXXXXX", text[512] = "";
    struct trace *trace;
    struct error err = ERROR_INIT;
    struct file_map map;
    close(mkstemp(path));
    assert_int_equal(trace_builder_finish(fixture->builder, &trace, &err), 0);
    trace_builder_destroy(fixture->builder);
    assert_int_equal(format_chrome.write(trace, NULL, path, &err), 0);
    assert_int_equal(file_map_open(path, &map, &err), 0);
    char *json = strndup((const char *)map.data, map.size);
    for (const char *at = json; (at = strstr(at, "{\"ph\":\"s\",")); at++) {
        const char *end = strstr(at, "{\"ph\":\"f\","), *kind = strstr(at, "\"name\":\"") + 8;
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%.*s %g>%g;", (int)strcspn(kind, "\""), kind, ts_of(at), ts_of(end));
    }
    assert_string_equal(text, expected);
    free(json);
    file_map_close(&map);
    trace_unref(trace);
    unlink(path);
}

static void test_a_receive_that_waited_is_reached_when_the_message_is_sent(void **state)
{
    struct fixture fixture = begin();
    span_id receive = add(&fixture, 1, 1000, 5000), send = add(&fixture, 0, 3000, 4000), late = add(&fixture, 1, 6000, 7000);
    link_spans(&fixture, LINK_KIND_MESSAGE, send, receive);
    link_spans(&fixture, LINK_KIND_MESSAGE, send, late);
    expect_arrows(&fixture, "message 3>3;message 3>6;");
}

static void test_a_receive_posted_before_is_reached_in_its_wait(void **state)
{
    struct fixture fixture = begin();
    span_id receive = add(&fixture, 1, 1000, 1100), send = add(&fixture, 0, 3000, 4000), wait = add(&fixture, 1, 2000, 5000);
    link_spans(&fixture, LINK_KIND_MESSAGE, send, receive);
    link_spans(&fixture, LINK_KIND_REQUEST, receive, wait);
    expect_arrows(&fixture, "message 3>3;request 1>2;");
}

static void test_no_arrow_leads_back_in_time(void **state)
{
    struct fixture fixture = begin();
    span_id early = add(&fixture, 1, 1000, 1100), late = add(&fixture, 0, 3000, 4000), point = add(&fixture, 1, 5000, 5000);
    link_spans(&fixture, LINK_KIND_MESSAGE, late, early);
    link_spans(&fixture, LINK_KIND_DEPEND, late, point);
    expect_arrows(&fixture, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_receive_that_waited_is_reached_when_the_message_is_sent),
        cmocka_unit_test(test_a_receive_posted_before_is_reached_in_its_wait),
        cmocka_unit_test(test_no_arrow_leads_back_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
