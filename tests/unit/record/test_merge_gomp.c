/* SPDX-License-Identifier: MIT */
/* What libgomp's wrappers leave to the merge: parts that end with their region, tasks that wait for each other by addresses. */
#include "session_fixture.h"

#define US 1000
#define START (1000 * US)

static const char *const texts[] = {"gomp", "complete", NULL};
enum { COLLECTOR, COMPLETE };

struct records {
    uint64_t words[6000];
    size_t bytes;
    uint32_t ids[2];
    uint64_t now;
};

static void append(struct records *records, const void *record)
{
    uint32_t bytes = wire_bytes(record);
    assert_true(records->bytes + bytes <= sizeof records->words);
    memcpy((uint8_t *)records->words + records->bytes, record, bytes);
    records->bytes += bytes;
}

static void begin(struct fixture *fixture, struct records *records)
{
    *records = (struct records){.now = START};
    fixture_process_with(fixture, 70, FIXTURE_KEY, 0, START, texts, records->ids, COLLECTOR);
}

static struct trace *finish(struct fixture *fixture, const struct records *records)
{
    fixture_chunk(fixture, 70, FIXTURE_KEY, 0, WIRE_CHUNK_ACTIVE, records->words, records->bytes);
    return fixture_merge(fixture);
}

static void add_region(struct records *records, uint64_t region, uint32_t threads)
{
    const struct wire_gomp_region record = {
        .header = {WIRE_GOMP_REGION, sizeof record / 8, 0}, .begin = START + 100 * US, .end = START + 200 * US, .work_begin = START + 110 * US,
        .work_end = START + 150 * US, .region = region, .code = 0x1000, .requested = threads, .threads = threads, .level = 1, .sequence = 4,
    };
    append(records, &record);
}

static void add_part(struct records *records, uint64_t region)
{
    const struct wire_gomp_part record = {
        .header = {WIRE_GOMP_PART, sizeof record / 8, 4}, .begin = START + 120 * US, .end = START + 180 * US, .region = region, .code = 0x1000,
        .thread = 1, .threads = 2,
    };
    append(records, &record);
}

/* A task of 10 us, all of one parent, that uses these addresses: address, how, address, how, ... 0. */
static void add_task(struct records *records, uint64_t task, const uint64_t *uses)
{
    struct {
        struct wire_gomp_depend depend;
        uint64_t words[16];
    } depend = {.depend = {.task = task, .parent = 7}};
    uint32_t count = 0;
    for (; uses[count * 2]; count++)
        depend.words[count] = uses[count * 2];
    for (uint32_t i = 0; i < count; i++)
        ((uint8_t *)&depend.words[count])[i] = (uint8_t)uses[i * 2 + 1];
    depend.depend.header = (struct wire_header){WIRE_GOMP_DEPEND, (uint16_t)(sizeof depend.depend / 8 + count + (count + 7) / 8), count};
    append(records, &depend);
    struct {
        struct wire_span span;
        uint64_t fields[2];
    } run = {.span = {.header = {WIRE_SPAN, sizeof run / 8, 0}, .begin = records->now, .end = records->now + 10 * US, .layer = WIRE_LAYER_OPENMP,
                      .span_kind = SPAN_KIND_TASK, .payload_kind = PAYLOAD_TASK, .present = 1u << FIELD_TASK_task | 1u << FIELD_TASK_end},
             .fields = {task, records->ids[COMPLETE]}};
    append(records, &run);
    records->now += 20 * US;
}

/* The task's number: FIELD_TASK_task of a span. */
static uint64_t task_of(const struct trace *trace, span_id span)
{
    uint32_t index, row;
    struct span_block block;
    struct payload payload;
    assert_true(trace_span_find(trace, span, &index, &row));
    assert_int_equal(trace_spans_get(trace, index, &block, NULL), 0);
    assert_int_equal(span_payload(&block, row, &payload), 0);
    trace_spans_put(trace, &block);
    return payload.fields[FIELD_TASK_task].u64;
}

static int compare_text(const void *left, const void *right)
{
    return strcmp(left, right);
}

/* All links of the kind depend as "1>2 ", sorted. */
static void expect_depends(const struct trace *trace, const char *expected)
{
    char items[64][16], text[1024] = "";
    size_t count = 0;
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_LINKS); i++) {
        struct link_block block;
        assert_int_equal(trace_links_get(trace, i, &block, NULL), 0);
        for (uint32_t row = 0; row < block.info.count && count < 64; row++)
            if (block.kind && block.kind[row] == LINK_KIND_DEPEND)
                snprintf(items[count++], sizeof items[0], "%d>%d ", (int)task_of(trace, block.from[row]), (int)task_of(trace, block.to[row]));
        trace_links_put(trace, &block);
    }
    qsort(items, count, sizeof items[0], compare_text);
    for (size_t i = 0; i < count; i++)
        strcat(text, items[i]);
    assert_string_equal(text, expected);
}

/* All spans as "kind begin-end " in us since the session's start of this process, in their order. */
static void expect_spans(const struct trace *trace, const char *expected)
{
    char text[1024] = "";
    int64_t first = 0;
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_SPANS); i++) {
        struct span_block block;
        assert_int_equal(trace_spans_get(trace, i, &block, NULL), 0);
        first = i == 0 ? block.begin_ns[0] : first;
        for (uint32_t row = 0; row < block.info.count; row++) {
            size_t used = strlen(text);
            snprintf(text + used, sizeof text - used, "%s %d-%d ", span_kind_name(block.kind[row]), (int)((block.begin_ns[row] - first) / US),
                     (int)((block.end_ns[row] - first) / US));
        }
        trace_spans_put(trace, &block);
    }
    assert_string_equal(text, expected);
}

static void test_a_thread_waits_until_its_region_ends_however_late_that_is_recorded(void **state)
{
    struct records records;
    begin(*state, &records);
    add_part(&records, 5);
    add_region(&records, 5, 2);
    struct trace *trace = finish(*state, &records);
    expect_spans(trace, "parallel 0-100 implicit_task 10-100 implicit_task 20-100 barrier 50-100 barrier 80-100 ");
    assert_int_equal(fixture_lost(trace, ""), 0);
    trace_unref(trace);
}

static void test_a_part_whose_region_never_ended_ends_with_its_work(void **state)
{
    struct records records;
    begin(*state, &records);
    add_part(&records, 6);
    struct trace *trace = finish(*state, &records);
    expect_spans(trace, "implicit_task 0-60 ");
    trace_unref(trace);
}

static void test_a_region_that_nothing_ran_has_no_parts(void **state)
{
    struct records records;
    begin(*state, &records);
    add_region(&records, 5, 0);
    struct trace *trace = finish(*state, &records);
    expect_spans(trace, "parallel 0-100 ");
    trace_unref(trace);
}

#define IN WIRE_GOMP_IN
#define OUT WIRE_GOMP_OUT
#define SET WIRE_GOMP_INOUTSET

static void test_readers_wait_for_the_writer_and_the_next_writer_for_them(void **state)
{
    struct records records;
    begin(*state, &records);
    add_task(&records, 1, (uint64_t[]){0x10, OUT, 0});
    add_task(&records, 2, (uint64_t[]){0x10, IN, 0});
    add_task(&records, 3, (uint64_t[]){0x10, IN, 0x20, OUT, 0});
    add_task(&records, 4, (uint64_t[]){0x10, OUT, 0});
    add_task(&records, 5, (uint64_t[]){0x30, IN, 0});
    add_task(&records, 6, (uint64_t[]){0x20, IN, 0x10, IN, 0});
    struct trace *trace = finish(*state, &records);
    expect_depends(trace, "1>2 1>3 2>4 3>4 3>6 4>6 ");
    trace_unref(trace);
}

static void test_members_of_an_inoutset_wait_for_the_same_and_not_for_each_other(void **state)
{
    struct records records;
    begin(*state, &records);
    add_task(&records, 1, (uint64_t[]){0x10, OUT, 0});
    add_task(&records, 2, (uint64_t[]){0x10, SET, 0});
    add_task(&records, 3, (uint64_t[]){0x10, SET, 0});
    add_task(&records, 4, (uint64_t[]){0x10, IN, 0});
    add_task(&records, 5, (uint64_t[]){0x10, SET, 0});
    struct trace *trace = finish(*state, &records);
    expect_depends(trace, "1>2 1>3 2>4 3>4 4>5 ");
    trace_unref(trace);
}

static void test_a_count_beyond_the_record_is_not_followed(void **state)
{
    struct records records;
    begin(*state, &records);
    const struct wire_gomp_depend depend = {.header = {WIRE_GOMP_DEPEND, sizeof depend / 8, 1000}, .task = 1, .parent = 7};
    append(&records, &depend);
    add_task(&records, 1, (uint64_t[]){0x10, OUT, 0});
    struct trace *trace = finish(*state, &records);
    expect_depends(trace, "");
    trace_unref(trace);
}

/* One address, named so often by two records that the dependences between them are some millions. */
static void test_dependences_of_few_bytes_do_not_fill_the_memory(void **state)
{
    enum { USES = 2500 };
    struct records records;
    begin(*state, &records);
    for (uint64_t task = 1; task <= 2; task++) {
        struct {
            struct wire_gomp_depend depend;
            uint64_t addresses[USES];
            uint8_t kinds[(USES + 7) / 8 * 8];
        } record = {.depend = {.header = {WIRE_GOMP_DEPEND, sizeof record / 8, USES}, .task = task, .parent = 7}};
        memset(record.kinds, task == 1 ? IN : SET, sizeof record.kinds);
        append(&records, &record);
    }
    struct trace *trace = finish(*state, &records);
    assert_true(fixture_lost(trace, "too many in one inoutset: tasks with some of them only") > 1000);
    trace_unref(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_thread_waits_until_its_region_ends_however_late_that_is_recorded, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_a_part_whose_region_never_ended_ends_with_its_work, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_a_region_that_nothing_ran_has_no_parts, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_readers_wait_for_the_writer_and_the_next_writer_for_them, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_members_of_an_inoutset_wait_for_the_same_and_not_for_each_other, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_a_count_beyond_the_record_is_not_followed, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_dependences_of_few_bytes_do_not_fill_the_memory, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
