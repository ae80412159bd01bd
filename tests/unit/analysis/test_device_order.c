/* SPDX-License-Identifier: MIT */
/* What CUDA's rules say of streams, events and waits, each on a small run of its own. */
#include "cuda_fixture.h"

#include "analysis/device_order.h"

static const char *const kind_names[] = {"event", "default", "order", "node", "sync", "copy", "launch"};

static const char *name_of(const struct trace *trace, span_id span)
{
    uint32_t number, row;
    struct span_block block;
    assert_true(trace_span_find(trace, span, &number, &row));
    assert_int_equal(trace_spans_get(trace, number, &block, NULL), 0);
    const char *name = trace_text(trace, block.name[row]);
    trace_spans_put(trace, &block);
    return name;
}

static int compare_lines(const void *left, const void *right)
{
    return strcmp(left, right);
}

/* "kind from to confidence" a line, sorted; "idle NAME" for calls that had nothing to wait for. */
static void expect(struct cuda *cuda, const char *expected)
{
    struct trace *trace = fixture_finish(cuda->builder);
    const struct device_order *order, *again;
    static char lines[64][96];
    char text[sizeof lines] = "";
    size_t count = 0;
    assert_int_equal(device_order_of(trace, &order, NULL), 0);
    assert_true(device_order_of(trace, &again, NULL) == 0 && again == order);
    for (size_t i = 0; i < order->relation_count; i++) {
        const struct device_relation *relation = &order->relations[i];
        snprintf(lines[count++], sizeof lines[0], "%s %s %s %s\n", kind_names[relation->kind], name_of(trace, relation->from),
                 name_of(trace, relation->to), confidence_name(relation->confidence));
    }
    for (size_t i = 0; i < order->idle_call_count; i++)
        snprintf(lines[count++], sizeof lines[0], "idle %s\n", name_of(trace, order->idle_calls[i]));
    qsort(lines, count, sizeof lines[0], compare_lines);
    for (size_t i = 0; i < count; i++)
        strcat(text, lines[i]);
    assert_string_equal(text, expected);
    trace_unref(trace);
}

static void test_a_stream_waits_for_what_an_event_covers(void **state)
{
    struct cuda cuda = cuda_begin();
    track_id one = cuda_stream(&cuda, 13, "stream 13, context 1"), two = cuda_stream(&cuda, 14, "stream 14, context 1");
    cuda_kernel(&cuda, one, "a", 0, 100, 200);
    cuda_kernel(&cuda, one, "b", 10, 200, 300);
    cuda_sync(&cuda, "event record", "record", 13, 1, 20, 21);
    cuda_kernel(&cuda, one, "late", 30, 300, 400); /* behind the record: not covered */
    cuda_sync(&cuda, "stream wait", "wait", 14, 1, 40, 41);
    cuda_kernel(&cuda, two, "c", 50, 310, 320);
    cuda_kernel(&cuda, two, "d", 60, 320, 330); /* behind c anyway */
    expect(&cuda, "event b c certain\n");
}

static void test_a_record_before_any_work_covers_nothing(void **state)
{
    struct cuda cuda = cuda_begin();
    track_id one = cuda_stream(&cuda, 13, "stream 13"), two = cuda_stream(&cuda, 14, "stream 14");
    cuda_sync(&cuda, "event record", "record", 13, 1, 0, 1);
    cuda_kernel(&cuda, one, "a", 10, 100, 200);
    cuda_sync(&cuda, "stream wait", "wait", 14, 1, 20, 21);
    cuda_kernel(&cuda, two, "b", 30, 40, 50);
    cuda_sync(&cuda, "event", "sync", -1, 1, 60, 61);
    cuda_sync(&cuda, "event", "never", -1, 0, 70, 71);
    cuda_sync(&cuda, "event", "unknown", -1, -1, 80, 81);
    cuda_sync(&cuda, "event", "lost", -1, 77, 90, 91);
    expect(&cuda, "idle never\nidle sync\n");
}

static void test_each_recording_of_an_event_is_its_own(void **state)
{
    struct cuda cuda = cuda_begin();
    track_id one = cuda_stream(&cuda, 13, "stream 13"), two = cuda_stream(&cuda, 14, "stream 14");
    cuda_kernel(&cuda, one, "a", 0, 100, 200);
    cuda_sync(&cuda, "event record", "record", 13, 1, 10, 11);
    cuda_sync(&cuda, "stream wait", "wait", 14, 1, 12, 13);
    cuda_kernel(&cuda, one, "b", 20, 200, 300);
    cuda_sync(&cuda, "event record", "record", 13, 2, 30, 31);
    cuda_kernel(&cuda, two, "c", 40, 210, 220); /* waits for the first */
    cuda_sync(&cuda, "event", "sync", -1, 2, 50, 305);
    expect(&cuda, "event a c certain\nsync b sync certain\n");
}

static void test_waiting_twice_is_waiting_once(void **state)
{
    struct cuda cuda = cuda_begin();
    track_id one = cuda_stream(&cuda, 13, "stream 13"), two = cuda_stream(&cuda, 14, "stream 14");
    cuda_kernel(&cuda, one, "a", 0, 100, 200);
    cuda_sync(&cuda, "event record", "record", 13, 1, 10, 11);
    cuda_sync(&cuda, "stream wait", "wait", 14, 1, 12, 13);
    cuda_sync(&cuda, "stream wait", "wait", 14, 1, 14, 15);
    cuda_sync(&cuda, "stream wait", "own", 13, 1, 16, 17); /* of the stream it was recorded on */
    cuda_kernel(&cuda, two, "b", 20, 210, 220);
    cuda_kernel(&cuda, one, "c", 30, 210, 220);
    expect(&cuda, "event a b certain\n");
}

/* No command lies between the wait and the record: what is recorded is what was waited for. */
static void test_waits_pass_through_empty_streams(void **state)
{
    struct cuda cuda = cuda_begin();
    track_id one = cuda_stream(&cuda, 13, "stream 13"), three = cuda_stream(&cuda, 15, "stream 15");
    cuda_kernel(&cuda, one, "a", 0, 100, 200);
    cuda_sync(&cuda, "event record", "record", 13, 1, 10, 11);
    cuda_sync(&cuda, "stream wait", "wait", 14, 1, 12, 13);
    cuda_sync(&cuda, "event record", "record", 14, 2, 14, 15);
    cuda_sync(&cuda, "stream wait", "wait", 15, 2, 16, 17);
    cuda_kernel(&cuda, three, "b", 20, 210, 220);
    cuda_sync(&cuda, "stream", "sync", 14, -1, 30, 205);
    expect(&cuda, "event a b certain\nsync a sync certain\n");
}

static void test_syncs_wait_for_the_last_work_of_each_stream(void **state)
{
    struct cuda cuda = cuda_begin();
    track_id one = cuda_stream(&cuda, 13, "stream 13"), two = cuda_stream(&cuda, 14, "stream 14");
    cuda_kernel(&cuda, one, "a", 0, 100, 200);
    cuda_kernel(&cuda, one, "b", 10, 200, 300);
    cuda_kernel(&cuda, two, "c", 20, 150, 250);
    cuda_sync(&cuda, "stream", "stream13", 13, -1, 30, 305);
    cuda_sync(&cuda, "context", "device", -1, -1, 310, 312); /* late: c was over; b is not waited for again */
    cuda_sync(&cuda, "context", "again", -1, -1, 320, 321);
    cuda_sync(&cuda, "stream", "empty", 14, -1, 330, 331);
    cuda_sync(&cuda, "stream", "unheard", 99, -1, 340, 341);
    expect(&cuda, "idle again\nidle empty\nidle unheard\nsync b stream13 certain\nsync c device certain\n");
}

/* What another thread was launching as the sync began may be covered, or not. */
static void test_a_launch_at_the_same_time_is_less_sure(void **state)
{
    struct cuda cuda = cuda_begin();
    track_id one = cuda_stream(&cuda, 13, "stream 13");
    span_id call = cuda_span(&cuda, cuda.other, SPAN_KIND_LAUNCH, "launch", 0, 50, NULL);
    cuda_kernel_of(&cuda, one, call, "a", 60, 100);
    cuda_sync(&cuda, "stream", "sync", 13, -1, 30, 105);
    expect(&cuda, "sync a sync high\n");
}

static void test_freeing_memory_waits_for_its_context(void **state)
{
    struct cuda cuda = cuda_begin();
    track_id one = cuda_stream(&cuda, 13, "stream 13");
    struct payload payload = {.kind = PAYLOAD_ALLOC};
    cuda_field(&payload, FIELD_ALLOC_context, 1);
    cuda_span(&cuda, cuda.host, SPAN_KIND_ALLOC, "freeAsync", 12, 13, &payload);
    cuda_field(&payload, FIELD_ALLOC_blocking, 1);
    cuda_kernel(&cuda, one, "a", 0, 100, 200);
    cuda_span(&cuda, cuda.host, SPAN_KIND_ALLOC, "free", 10, 205, &payload);
    expect(&cuda, "sync a free high\n");
}

static void test_the_default_stream_and_the_others_wait_for_each_other(void **state)
{
    struct cuda cuda = cuda_begin();
    track_id null = cuda_stream(&cuda, 7, "stream 7 (default), context 1"), one = cuda_stream(&cuda, 13, "stream 13, context 1"),
             free_one = cuda_stream(&cuda, 14, "stream 14 (non-blocking), context 1");
    cuda_kernel(&cuda, one, "a", 0, 100, 200);
    cuda_kernel(&cuda, free_one, "f", 10, 100, 500);
    cuda_kernel(&cuda, null, "d", 20, 200, 300);
    cuda_kernel(&cuda, null, "e", 30, 300, 310);
    cuda_kernel(&cuda, one, "b", 40, 310, 320);
    cuda_kernel(&cuda, one, "c", 50, 320, 330);
    cuda_kernel(&cuda, free_one, "g", 60, 500, 510);
    cuda_sync(&cuda, "stream", "sync", 7, -1, 70, 335); /* behind one's last, too */
    expect(&cuda, "default a d high\ndefault e b high\nsync c sync high\nsync e sync certain\n");
}

static void test_blocking_copies(void **state)
{
    struct cuda cuda = cuda_begin();
    track_id one = cuda_stream(&cuda, 7, "stream 7 (default)");
    cuda_copy(&cuda, one, "read", "device-to-host", "device", true, 0, 120, 50, 100);
    cuda_copy(&cuda, one, "taken", "host-to-device", "pageable", true, 200, 210, 205, 230); /* returned once the bytes were taken */
    cuda_copy(&cuda, one, "within", "device-to-device", "device", true, 300, 310, 305, 308);
    cuda_copy(&cuda, one, "async", "device-to-host", "pinned", false, 400, 405, 402, 404);
    cuda_copy(&cuda, one, "pageable", "device-to-host", "pageable", false, 500, 560, 520, 550);
    cuda_copy(&cuda, one, "small", "host-to-device", "pageable", false, 600, 660, 620, 650);
    cuda_copy(&cuda, one, "large", "host-to-device", "pageable", false, 700, 760, 720, 750);
    expect(&cuda, "copy copy large high\ncopy copy pageable high\ncopy copy read high\nidle taken\nidle within\n");
}

/* Nodes of one launch on two streams; the second launch of the graph is behind all of the first. */
static void test_nodes_of_graphs(void **state)
{
    struct cuda cuda = cuda_begin();
    track_id one = cuda_stream(&cuda, 13, "stream 13");
    for (int64_t at = 0; at <= 1000; at += 1000) {
        span_id call = cuda_span(&cuda, cuda.host, SPAN_KIND_LAUNCH, "cudaGraphLaunch", at / 100, at / 100 + 5, NULL);
        cuda_kernel_of(&cuda, one, call, at ? "a2" : "a1", at + 100, at + 200);
        cuda_kernel_of(&cuda, one, call, at ? "b2" : "b1", at + 210, at + 400);
        cuda_kernel_of(&cuda, one, call, at ? "c2" : "c1", at + 211, at + 300);
        cuda_kernel_of(&cuda, one, call, at ? "d2" : "d1", at + 410, at + 500);
    }
    expect(&cuda, "node a1 b1 medium\nnode a1 c1 medium\nnode a2 b2 medium\nnode a2 c2 medium\nnode b1 d1 medium\nnode b2 d2 medium\n"
                  "order d1 a2 certain\norder d1 b2 certain\norder d1 c2 certain\norder d1 d2 certain\n");
}

/* Nothing names the launch of a conditional node's body: it is no later than the last into its stream before it began. */
static void test_bodies_of_conditional_nodes(void **state)
{
    struct cuda cuda = cuda_begin();
    track_id one = cuda_stream(&cuda, 13, "stream 13");
    struct payload api = {.kind = PAYLOAD_API}, kernel = {.kind = PAYLOAD_KERNEL};
    cuda_field(&api, FIELD_API_context, 1);
    cuda_field(&api, FIELD_API_stream, 13);
    cuda_field(&kernel, FIELD_KERNEL_context, 1);
    cuda_span(&cuda, cuda.host, SPAN_KIND_LAUNCH, "first", 0, 5, &api);
    cuda_span(&cuda, cuda.host, SPAN_KIND_LAUNCH, "second", 10, 15, &api);
    cuda_span(&cuda, one, SPAN_KIND_KERNEL, "a", 8, 20, &kernel);
    cuda_span(&cuda, one, SPAN_KIND_KERNEL, "b", 20, 200, &kernel);
    cuda_span(&cuda, cuda_stream(&cuda, 14, "stream 14"), SPAN_KIND_KERNEL, "c", 205, 206, &kernel); /* the device's own stream */
    cuda_sync(&cuda, "stream", "sync", 13, -1, 18, 210);
    expect(&cuda, "launch first a medium\nlaunch second b medium\nlaunch second c medium\nsync c sync high\n");
}

static void test_captured_and_failed_calls_order_nothing(void **state)
{
    struct cuda cuda = cuda_begin();
    track_id one = cuda_stream(&cuda, 13, "stream 13"), two = cuda_stream(&cuda, 14, "stream 14");
    struct payload payload = {.kind = PAYLOAD_DEVICE_SYNC};
    cuda_kernel(&cuda, one, "a", 0, 100, 200);
    cuda_word(&cuda, &payload, FIELD_DEVICE_SYNC_what, "context");
    cuda_field(&payload, FIELD_DEVICE_SYNC_context, 1);
    cuda_field(&payload, FIELD_DEVICE_SYNC_result, 700);
    cuda_span(&cuda, cuda.host, SPAN_KIND_SYNC, "failed", 10, 11, &payload);
    cuda_sync(&cuda, "event record", "record", 13, 1, 20, 21);
    payload = (struct payload){.kind = PAYLOAD_DEVICE_SYNC};
    cuda_word(&cuda, &payload, FIELD_DEVICE_SYNC_what, "stream wait");
    cuda_field(&payload, FIELD_DEVICE_SYNC_context, 1);
    cuda_field(&payload, FIELD_DEVICE_SYNC_stream, 14);
    cuda_field(&payload, FIELD_DEVICE_SYNC_record, 1);
    cuda_field(&payload, FIELD_DEVICE_SYNC_captured, 1);
    cuda_span(&cuda, cuda.host, SPAN_KIND_API, "captured", 30, 31, &payload);
    cuda_kernel(&cuda, two, "b", 40, 100, 200);
    expect(&cuda, "");
}

static void test_other_backends_are_left_to_their_links(void **state)
{
    struct cuda cuda = cuda_begin();
    track_id lane = cuda_stream(&cuda, 0, "queue 0");
    fixture_span(cuda.builder, lane, 10, 20, "k", SPAN_KIND_KERNEL);
    fixture_span(cuda.builder, cuda.host, 5, 25, "clFinish", SPAN_KIND_SYNC);
    expect(&cuda, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stream_waits_for_what_an_event_covers),
        cmocka_unit_test(test_a_record_before_any_work_covers_nothing),
        cmocka_unit_test(test_each_recording_of_an_event_is_its_own),
        cmocka_unit_test(test_waiting_twice_is_waiting_once),
        cmocka_unit_test(test_waits_pass_through_empty_streams),
        cmocka_unit_test(test_syncs_wait_for_the_last_work_of_each_stream),
        cmocka_unit_test(test_a_launch_at_the_same_time_is_less_sure),
        cmocka_unit_test(test_freeing_memory_waits_for_its_context),
        cmocka_unit_test(test_the_default_stream_and_the_others_wait_for_each_other),
        cmocka_unit_test(test_blocking_copies),
        cmocka_unit_test(test_nodes_of_graphs),
        cmocka_unit_test(test_bodies_of_conditional_nodes),
        cmocka_unit_test(test_captured_and_failed_calls_order_nothing),
        cmocka_unit_test(test_other_backends_are_left_to_their_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
