/* SPDX-License-Identifier: MIT */
/* The merge: each record once, whatever died when; other versions' records are stepped over and counted; life of processes. */
#include "session_fixture.h"

#define MS 1000000

static struct wire_span span_of(uint32_t name, int64_t begin, int64_t end)
{
    return (struct wire_span){.header = {WIRE_SPAN, sizeof(struct wire_span) / 8, name}, .begin = (uint64_t)begin, .end = (uint64_t)end};
}

static const char *const names[] = {"first", "second", NULL};

static void test_names_times_and_threads(void **state)
{
    struct fixture *fixture = *state;
    int64_t start = session_start_raw_ns(fixture->session);
    uint32_t ids[2];
    fixture_process(fixture, 4242, FIXTURE_KEY, 0, start, names, ids);
    struct wire_span spans[2] = {span_of(ids[0], start + MS, start + 3 * MS), span_of(ids[1], start + 2 * MS, start + 3 * MS)};
    fixture_chunk(fixture, 4242, FIXTURE_KEY, 0, WIRE_CHUNK_ACTIVE, spans, sizeof spans);
    CLEANUP(trace_unrefp) struct trace *trace = fixture_merge(fixture);
    struct span_block block;
    assert_int_equal(trace_row_count(trace, FAMILY_SPANS), 2);
    assert_int_equal(trace_spans_get(trace, 0, &block, NULL), 0);
    assert_int_equal(block.begin_ns[0], MS);
    assert_int_equal(block.end_ns[1], 3 * MS);
    assert_string_equal(trace_text(trace, block.name[1]), "second");
    assert_string_equal(trace_text(trace, block.category[0]), "test");
    assert_int_equal(block.parent[1].index, 0); /* found by nesting */
    trace_spans_put(trace, &block);
    uint32_t count;
    const struct trace_process *processes = trace_processes(trace, &count);
    assert_int_equal(count, 1);
    assert_int_equal(processes[0].pid, 4242);
    assert_string_equal(trace_text(trace, processes[0].command), "made");
    const struct trace_track *tracks = trace_tracks(trace, &count);
    assert_int_equal(tracks[0].tid, 4242);
    assert_string_equal(trace_metadata(trace, "command"), "made");
}

/* The recorder died between writing a block and giving the chunk back: the records are in both. */
static void test_what_is_in_spool_and_chunk_counts_once(void **state)
{
    struct fixture *fixture = *state;
    int64_t start = session_start_raw_ns(fixture->session);
    uint32_t ids[2];
    fixture_process(fixture, 4242, FIXTURE_KEY, 0, start, names, ids);
    struct wire_span spans[10];
    for (int i = 0; i < 10; i++)
        spans[i] = span_of(ids[0], start + i * MS, start + i * MS + 5);
    struct spool_stream stream = {.process_key = FIXTURE_KEY, .pid = 4242, .tid = 4242, .chunk = 3, .lap = 1, .end = 6 * sizeof spans[0]};
    assert_int_equal(spool_append(session_spool(fixture->session), &stream, 0, spans, 6 * sizeof spans[0]), 0);
    fixture_chunk(fixture, 4242, FIXTURE_KEY, 3, WIRE_CHUNK_FULL, spans, sizeof spans);
    CLEANUP(trace_unrefp) struct trace *trace = fixture_merge(fixture);
    assert_int_equal(trace_row_count(trace, FAMILY_SPANS), 10);
}

/* An earlier lap of the chunk is in the spool: the present one is another matter. */
static void test_laps_are_told_apart(void **state)
{
    struct fixture *fixture = *state;
    int64_t start = session_start_raw_ns(fixture->session);
    uint32_t ids[2];
    fixture_process(fixture, 4242, FIXTURE_KEY, 0, start, names, ids);
    struct wire_span span = span_of(ids[0], start, start + 5);
    struct spool_stream stream = {.process_key = FIXTURE_KEY, .pid = 4242, .tid = 4242, .chunk = 3, .lap = 0, .end = sizeof span};
    assert_int_equal(spool_append(session_spool(fixture->session), &stream, 0, &span, sizeof span), 0);
    fixture_chunk(fixture, 4242, FIXTURE_KEY, 3, WIRE_CHUNK_ACTIVE, &span, sizeof span);
    fixture_chunk(fixture, 4242, FIXTURE_KEY, 4, WIRE_CHUNK_FREE, &span, sizeof span); /* given back: in the spool already */
    CLEANUP(trace_unrefp) struct trace *trace = fixture_merge(fixture);
    assert_int_equal(trace_row_count(trace, FAMILY_SPANS), 2);
}

/* A runtime of a later minor version: longer header, kinds that we don't know, longer records of those we do. */
static void test_two_versions_in_one_run(void **state)
{
    struct fixture *fixture = *state;
    int64_t start = session_start_raw_ns(fixture->session);
    uint32_t ids[2], later_ids[2];
    fixture_process(fixture, 4242, FIXTURE_KEY, 0, start, names, ids);
    fixture_process(fixture, 4243, FIXTURE_KEY + 1, 3, start, names, later_ids);
    struct {
        struct wire_span plain;
        struct wire_header unknown;
        uint64_t unknown_words[3];
        struct wire_span longer;
        uint64_t longer_words[2];
        struct wire_header far;
    } records = {.plain = span_of(later_ids[0], start, start + 1), .unknown = {250, 4, 0}, .longer = span_of(later_ids[1], start + 2, start + 3),
                 .far = {4000, 1, 0}};
    records.longer.header.words += 2;
    fixture_chunk(fixture, 4242, FIXTURE_KEY, 0, WIRE_CHUNK_ACTIVE, &records.plain, sizeof records.plain);
    fixture_chunk(fixture, 4243, FIXTURE_KEY + 1, 0, WIRE_CHUNK_ACTIVE, &records, sizeof records);
    CLEANUP(trace_unrefp) struct trace *trace = fixture_merge(fixture);
    assert_int_equal(trace_row_count(trace, FAMILY_SPANS), 3);
    assert_int_equal(fixture_lost(trace, "doesn't know (250)"), 1);
    assert_int_equal(fixture_lost(trace, "doesn't know (4000)"), 1);
}

static void test_damaged_files_cost_themselves(void **state)
{
    struct fixture *fixture = *state;
    int64_t start = session_start_raw_ns(fixture->session);
    uint32_t ids[2];
    fixture_process(fixture, 4242, FIXTURE_KEY, 0, start, names, ids);
    struct wire_span span = span_of(ids[0], start, start + 1), bad = span;
    bad.header.words = 5000; /* beyond the commit */
    bad.category = 0xffffffff; /* no such string */
    struct wire_span pair[2] = {span, bad};
    fixture_chunk(fixture, 4242, FIXTURE_KEY, 0, WIRE_CHUNK_ACTIVE, pair, sizeof pair);
    fixture_write(fixture, "chunk-4242-1234567890abcdef-1", "short", 5);
    fixture_write(fixture, "chunk-4242-1234567890abcdef-2", pair, sizeof pair);
    fixture_write(fixture, "process-77-00000000000000aa", "x", 1);
    fixture_write(fixture, "chunk-77-00000000000000ab-1", "x", 1);
    fixture_write(fixture, "note-77-00000000000000ab", "why\n", 4);
    bad = span;
    bad.category = 0x1fffffff;
    fixture_chunk(fixture, 4242, FIXTURE_KEY, 5, WIRE_CHUNK_ACTIVE, &bad, sizeof bad);
    fixture_chunk(fixture, 99, 0xbadull, 0, WIRE_CHUNK_ACTIVE, &span, sizeof span); /* no process file */
    CLEANUP(trace_unrefp) struct trace *trace = fixture_merge(fixture);
    assert_int_equal(trace_row_count(trace, FAMILY_SPANS), 2);
    assert_true(fixture_lost(trace, "damaged") >= 3);
}

/* A collector's clock went backwards, or the target wrote over its chunk: all else is kept. */
static void test_an_impossible_record_costs_itself_only(void **state)
{
    struct fixture *fixture = *state;
    int64_t start = session_start_raw_ns(fixture->session);
    uint32_t ids[2];
    fixture_process(fixture, 4242, FIXTURE_KEY, 0, start, names, ids);
    struct wire_span spans[4] = {span_of(ids[0], start, start + 1), span_of(ids[0], start + 9, start + 2),
                                 span_of(ids[0], INT64_MAX - 5, INT64_MAX), span_of(ids[1], start + 3, start + 4)};
    fixture_chunk(fixture, 4242, FIXTURE_KEY, 0, WIRE_CHUNK_ACTIVE, spans, sizeof spans);
    CLEANUP(trace_unrefp) struct trace *trace = fixture_merge(fixture);
    assert_int_equal(trace_row_count(trace, FAMILY_SPANS), 2);
    assert_int_equal(fixture_lost(trace, "impossible"), 2);
}

static void put_start(struct spool *spool, int32_t pid, int32_t parent, int64_t time_ns)
{
    struct wire_process_start record = {.header = {WIRE_PROCESS_START, sizeof record / 8, 0}, .time_ns = time_ns, .pid = pid,
                                        .parent_pid = parent};
    assert_int_equal(spool_put(spool, SPOOL_KEEP, &record.header), 0);
}

static void put_exec(struct spool *spool, int32_t pid, int64_t time_ns, const char *path)
{
    struct {
        struct wire_process_exec record;
        char path[64];
    } exec = {.record = {.header = {WIRE_PROCESS_EXEC, sizeof exec / 8, (uint32_t)strlen(path)}, .time_ns = time_ns, .pid = pid}};
    strcpy(exec.path, path);
    assert_int_equal(spool_put(spool, SPOOL_KEEP, &exec.record.header), 0);
}

static void put_exit(struct spool *spool, int32_t pid, int64_t time_ns, int32_t status)
{
    struct wire_process_exit record = {.header = {WIRE_PROCESS_EXIT, sizeof record / 8, 0}, .time_ns = time_ns, .pid = pid, .wait_status = status};
    assert_int_equal(spool_put(spool, SPOOL_KEEP, &record.header), 0);
}

static void put_module(struct spool *spool, uint32_t number, const char *path)
{
    struct {
        struct wire_module record;
        char path[8];
    } module = {.record = {.header = {WIRE_MODULE, sizeof module / 8, (uint32_t)strlen(path)}, .number = number}};
    strcpy(module.path, path);
    assert_int_equal(spool_put(spool, SPOOL_KEEP, &module.record.header), 0);
}

static void put_mapping(struct spool *spool, int32_t pid, uint32_t module, uint64_t start, int64_t time_ns)
{
    struct wire_mapping record = {.header = {WIRE_MAPPING, sizeof record / 8, module}, .time_ns = time_ns, .pid = pid,
                                  .start = start, .length = 0x1000};
    assert_int_equal(spool_put(spool, SPOOL_KEEP, &record.header), 0);
}

static void put_chain(struct spool *spool, int32_t pid, int64_t time_ns)
{
    struct {
        struct wire_chain_sample record;
        uint64_t address;
    } chain = {.record = {.header = {WIRE_CHAIN_SAMPLE, sizeof chain / 8, 1}, .time = (uint64_t)time_ns, .weight = 1, .pid = pid,
                          .tid = pid}, .address = 0x5010};
    assert_int_equal(spool_put(spool, 0, &chain.record.header), 0);
}

/* What was mapped at one address when its process was sampled at that time. */
static const char *module_at(const struct trace *trace, int32_t pid, int64_t time_ns)
{
    uint32_t count;
    const struct trace_track *tracks = trace_tracks(trace, &count);
    const struct trace_frame *frames = trace_frames(trace, &count);
    const char *found = "?";
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_SAMPLES); i++) {
        struct sample_block block;
        assert_int_equal(trace_samples_get(trace, i, &block, NULL), 0);
        for (uint32_t row = 0; row < block.info.count; row++) {
            const struct stack_node *stacks = trace_stacks(trace, &count);
            module_id module = frames[stacks[block.stack[row].index].frame.index].module;
            if (tracks[block.info.track.index].tid == pid && block.time_ns[row] == time_ns)
                found = module.index == ID_NONE ? "none" : trace_text(trace, trace_modules(trace, &count)[module.index].path);
        }
        trace_samples_put(trace, &block);
    }
    return found;
}

/* A child has what its parent had at the fork, whether the parent's samples were looked at up to then, beyond it or not yet. */
static void test_children_begin_with_the_mappings_of_the_fork(void **state)
{
    struct fixture *fixture = *state;
    struct spool *spool = session_spool(fixture->session);
    int64_t start = session_start_raw_ns(fixture->session);
    put_module(spool, 1, "/one");
    put_module(spool, 2, "/two");
    put_start(spool, 100, 1, start);
    put_mapping(spool, 100, 1, 0x5000, start + 10);
    put_start(spool, 101, 100, start + 20);
    put_start(spool, 102, 100, start + 20);
    put_start(spool, 103, 102, start + 25);
    put_start(spool, 104, 100, start + 60);
    put_mapping(spool, 101, 2, 0x5000, start + 30);
    put_mapping(spool, 100, 2, 0x5000, start + 50);
    static const struct {
        int32_t pid;
        int64_t at;
        const char *module;
    } samples[] = {{103, 26, "/one"}, {100, 15, "/one"}, {101, 25, "/one"}, {101, 35, "/two"}, {101, 28, "/one"}, {100, 55, "/two"},
                   {102, 70, "/one"}, {104, 65, "/two"}, {100, 5, "none"}};
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++)
        put_chain(spool, samples[i].pid, start + samples[i].at);
    assert_int_equal(spool_flush(spool, true), 0);
    CLEANUP(trace_unrefp) struct trace *trace = fixture_merge(fixture);
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++)
        assert_string_equal(module_at(trace, samples[i].pid, samples[i].at), samples[i].module);
}

static void put_life(struct spool *spool, int32_t pid, int32_t tid, int64_t begin_ns, int64_t end_ns)
{
    struct wire_task_start start = {.header = {WIRE_TASK_START, sizeof start / 8, 0}, .time_ns = begin_ns, .pid = pid, .tid = tid};
    struct wire_task_exit end = {.header = {WIRE_TASK_EXIT, sizeof end / 8, 0}, .time_ns = end_ns, .pid = pid, .tid = tid};
    struct wire_off_cpu off = {.header = {WIRE_OFF_CPU, sizeof off / 8, WIRE_OFF_CPU_BLOCKED}, .begin_ns = begin_ns + 1,
                               .end_ns = end_ns - 1, .pid = pid, .tid = tid};
    assert_int_equal(spool_put(spool, SPOOL_KEEP, &start.header), 0);
    assert_int_equal(spool_put(spool, SPOOL_KEEP, &end.header), 0);
    assert_int_equal(spool_put(spool, 0, &off.header), 0);
}

static void put_task_name(struct spool *spool, int32_t pid, int32_t tid, int64_t time_ns, const char *name)
{
    struct {
        struct wire_task_name record;
        char text[16];
    } named = {.record = {.header = {WIRE_TASK_NAME, sizeof named / 8, (uint32_t)strlen(name)}, .time_ns = time_ns, .pid = pid, .tid = tid}};
    snprintf(named.text, sizeof named.text, "%s", name);
    assert_int_equal(spool_put(spool, SPOOL_KEEP, &named.record.header), 0);
}

static void test_threads_of_one_number_have_lanes_of_their_own(void **state)
{
    struct fixture *fixture = *state;
    struct spool *spool = session_spool(fixture->session);
    int64_t start = session_start_raw_ns(fixture->session);
    put_start(spool, 100, 1, start);
    put_life(spool, 100, 101, start + 10, start + 20);
    put_task_name(spool, 100, 101, start + 15, "first");
    put_life(spool, 100, 101, start + 30, start + 40);
    put_task_name(spool, 100, 101, start + 35, "second");
    assert_int_equal(spool_flush(spool, true), 0);
    CLEANUP(trace_unrefp) struct trace *trace = fixture_merge(fixture);
    uint32_t count, threads = 0;
    const struct trace_track *tracks = trace_tracks(trace, &count);
    int64_t sched_start_ns[2] = {-1, -1};
    const char *sched_name[2] = {"", ""};
    for (uint32_t i = 0, sched = 0; i < count; i++) {
        threads += tracks[i].kind == TRACK_KIND_THREAD;
        if (tracks[i].kind == TRACK_KIND_SCHED && sched < 2) {
            sched_name[sched] = trace_text(trace, tracks[i].name);
            sched_start_ns[sched++] = tracks[i].start_ns;
        }
    }
    assert_int_equal(count, 4);
    assert_int_equal(threads, 2);
    assert_int_equal(sched_start_ns[0], INT64_MIN); /* the first of its number is told by the number */
    assert_int_equal(sched_start_ns[1], 30);
    assert_string_equal(sched_name[0], "first");
    assert_string_equal(sched_name[1], "second");
}

static void test_fork_exec_and_reused_pids(void **state)
{
    struct fixture *fixture = *state;
    struct spool *spool = session_spool(fixture->session);
    int64_t start = session_start_raw_ns(fixture->session);
    put_start(spool, 10, 1, start + MS);
    put_exec(spool, 10, start + 2 * MS, "/bin/sh");
    put_start(spool, 11, 10, start + 3 * MS);
    put_exec(spool, 11, start + 4 * MS, "/usr/bin/cc");
    put_exit(spool, 11, start + 5 * MS, 256);
    put_start(spool, 11, 10, start + 6 * MS); /* the number comes again */
    uint32_t ids[2];
    fixture_process(fixture, 11, FIXTURE_KEY, 0, start + 4 * MS + 5, names, ids);
    struct wire_span span = span_of(ids[0], start + 4 * MS + 10, start + 4 * MS + 20);
    fixture_chunk(fixture, 11, FIXTURE_KEY, 0, WIRE_CHUNK_ACTIVE, &span, sizeof span);
    spool_flush(spool, true);
    CLEANUP(trace_unrefp) struct trace *trace = fixture_merge(fixture);
    uint32_t count;
    const struct trace_process *rows = trace_processes(trace, &count);
    assert_int_equal(count, 5);
    assert_int_equal(rows[1].generation, 1);
    assert_string_equal(trace_text(trace, rows[1].command), "sh");
    assert_int_equal(rows[1].start_ns, 2 * MS);
    assert_int_equal(rows[2].parent.index, 1);
    assert_string_equal(trace_text(trace, rows[3].executable), "/usr/bin/cc");
    assert_int_equal(rows[3].exit_status, 256);
    assert_int_equal(rows[3].end_ns, 5 * MS);
    assert_int_equal(rows[4].start_ns, 6 * MS);
    assert_int_equal(rows[4].end_ns, INT64_MIN);
    const struct trace_track *tracks = trace_tracks(trace, &count);
    assert_int_equal(tracks[0].process.index, 3); /* the runtime's records belong to cc */
}

static void test_links_and_counters(void **state)
{
    struct fixture *fixture = *state;
    int64_t start = session_start_raw_ns(fixture->session);
    uint32_t ids[2];
    fixture_process(fixture, 4242, FIXTURE_KEY, 0, start, names, ids);
    struct {
        struct wire_link early, dangling;
        struct wire_span launch, work;
        struct wire_counter counter;
        struct wire_instant instant;
    } records = {
        .early = {.header = {WIRE_LINK, sizeof(struct wire_link) / 8, LINK_KIND_LAUNCH}, .from = 1, .to = 2},
        .dangling = {.header = {WIRE_LINK, sizeof(struct wire_link) / 8, LINK_KIND_LAUNCH}, .from = 1, .to = 99},
        .launch = span_of(ids[0], start, start + 1),
        .work = span_of(ids[1], start + 2, start + 3),
        .counter = {.header = {WIRE_COUNTER, sizeof(struct wire_counter) / 8, ids[0]}, .time = (uint64_t)start + 4, .value = 2.5, .device = -1},
        .instant = {.header = {WIRE_INSTANT, sizeof(struct wire_instant) / 8, ids[1]}, .time = (uint64_t)start + 5},
    };
    records.launch.correlation = 1;
    records.work.correlation = 2;
    fixture_chunk(fixture, 4242, FIXTURE_KEY, 0, WIRE_CHUNK_ACTIVE, &records, sizeof records);
    CLEANUP(trace_unrefp) struct trace *trace = fixture_merge(fixture);
    assert_int_equal(trace_row_count(trace, FAMILY_LINKS), 1);
    assert_int_equal(trace_row_count(trace, FAMILY_COUNTERS), 1);
    assert_int_equal(trace_row_count(trace, FAMILY_INSTANTS), 1);
    assert_int_equal(fixture_lost(trace, "an end of them"), 1);
}

static void test_no_session_is_an_error(void **state)
{
    struct error err = ERROR_INIT;
    struct trace *trace;
    assert_true(session_merge("/nonexistent", NULL, &trace, &err) < 0);
    assert_non_null(strstr(err.text, "/nonexistent"));
    assert_true(session_merge("/tmp", NULL, &trace, &err) < 0);
    assert_non_null(strstr(err.text, "session"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names_times_and_threads, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_what_is_in_spool_and_chunk_counts_once, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_laps_are_told_apart, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_two_versions_in_one_run, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_damaged_files_cost_themselves, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_an_impossible_record_costs_itself_only, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_children_begin_with_the_mappings_of_the_fork, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_threads_of_one_number_have_lanes_of_their_own, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_fork_exec_and_reused_pids, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_links_and_counters, fixture_setup, fixture_teardown),
        cmocka_unit_test(test_no_session_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
