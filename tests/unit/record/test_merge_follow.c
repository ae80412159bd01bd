/* SPDX-License-Identifier: MIT */
/* Following a recording: what is new is read once, whatever moment it is looked at; what is there in part waits. */
#include "session_fixture.h"

#include "base/clock.h"
#include "base/map.h"
#include "record/merge_follow.h"
#include "record/spool_marks.h"

#include <unistd.h>

#define MS 1000000

static const char *const names[] = {"first", "second", NULL};

static struct merge_follow *follow_begin(struct fixture *fixture)
{
    struct merge_follow *follow = NULL;
    struct error err = ERROR_INIT;
    assert_int_equal(merge_follow_create(fixture->directory, session_spool(fixture->session), &follow, &err), 0);
    return follow;
}

/* A process file as its runtime makes it: and it says so. */
static void announce_process(struct fixture *fixture, int32_t pid, uint64_t key, int64_t start_ns, uint32_t *ret_ids)
{
    uint32_t announced;
    fixture_process(fixture, pid, key, 0, start_ns, names, ret_ids);
    CLEANUP(closep) int file = openat(session_directory_fd(fixture->session), "session", O_RDWR);
    assert_int_equal(pread(file, &announced, sizeof announced, offsetof(struct wire_session, announced)), sizeof announced);
    announced++;
    assert_int_equal(pwrite(file, &announced, sizeof announced, offsetof(struct wire_session, announced)), sizeof announced);
}

/* The snapshot of a round, or the last one where nothing was new. */
static void follow_round(struct merge_follow *follow, struct trace **trace)
{
    struct trace *newer = NULL;
    struct error err = ERROR_INIT;
    assert_int_equal(merge_follow_round(follow, &newer, &err), 0);
    if (!newer)
        return;
    trace_unref(*trace);
    *trace = newer;
}

/* Spans [first, end) of a thread, put into the spool as one block. */
static void put_spans(struct fixture *fixture, uint64_t key, uint32_t name, int first, int end)
{
    int64_t start = session_start_raw_ns(fixture->session);
    struct wire_span spans[64];
    assert_true(end - first <= 64);
    for (int i = first; i < end; i++)
        spans[i - first] = (struct wire_span){.header = {WIRE_SPAN, sizeof(struct wire_span) / 8, name},
                                              .begin = (uint64_t)(start + i * MS), .end = (uint64_t)(start + i * MS + 5)};
    const struct spool_stream stream = {.process_key = key, .pid = 4242, .tid = 4242, .chunk = 3, .lap = 1,
                                        .first = (uint64_t)first * sizeof spans[0], .end = (uint64_t)end * sizeof spans[0]};
    assert_int_equal(spool_append(session_spool(fixture->session), &stream, 0, spans, (size_t)(end - first) * sizeof spans[0]), 0);
}

static void test_each_record_once(void **state)
{
    struct fixture *fixture = *state;
    uint32_t ids[2];
    struct trace *trace = NULL;
    CLEANUP(merge_follow_destroyp) struct merge_follow *follow = follow_begin(fixture);
    follow_round(follow, &trace);
    assert_true(!trace || trace_row_count(trace, FAMILY_SPANS) == 0);
    announce_process(fixture, 4242, FIXTURE_KEY, session_start_raw_ns(fixture->session), ids);
    put_spans(fixture, FIXTURE_KEY, ids[0], 0, 3);
    follow_round(follow, &trace);
    assert_int_equal(trace_row_count(trace, FAMILY_SPANS), 3);
    assert_true(trace_is_growing(trace));
    uint64_t generation = trace_generation(trace);
    follow_round(follow, &trace);
    assert_int_equal(trace_generation(trace), generation); /* nothing came: no snapshot */
    put_spans(fixture, FIXTURE_KEY, ids[1], 3, 10);
    put_spans(fixture, FIXTURE_KEY, ids[0], 10, 20);
    follow_round(follow, &trace);
    assert_int_equal(trace_row_count(trace, FAMILY_SPANS), 20);
    assert_true(trace_generation(trace) > generation);
    CLEANUP(trace_unrefp) struct trace *whole = fixture_merge(fixture);
    assert_int_equal(trace_row_count(whole, FAMILY_SPANS), 20);
    uint32_t count, followed;
    trace_tracks(whole, &count);
    trace_tracks(trace, &followed);
    assert_int_equal(count, followed);
    trace_unref(trace);
}

/* A program that starts later has its own file; the first one's stays where it is. */
static void test_processes_come(void **state)
{
    struct fixture *fixture = *state;
    uint32_t ids[2], later_ids[2];
    int64_t start = session_start_raw_ns(fixture->session);
    struct trace *trace = NULL;
    CLEANUP(merge_follow_destroyp) struct merge_follow *follow = follow_begin(fixture);
    announce_process(fixture, 4242, FIXTURE_KEY, start, ids);
    put_spans(fixture, FIXTURE_KEY, ids[0], 0, 3);
    follow_round(follow, &trace);
    for (int i = 0; i < 40; i++) {
        if (i == 20) /* the key of the first */
            continue;
        announce_process(fixture, 5000 + i, FIXTURE_KEY - 20 + (uint64_t)i, start + MS, later_ids);
        put_spans(fixture, FIXTURE_KEY - 20 + (uint64_t)i, later_ids[1], 3, 5);
        put_spans(fixture, FIXTURE_KEY, ids[0], 3 + i, 4 + i);
        follow_round(follow, &trace);
    }
    assert_int_equal(trace_row_count(trace, FAMILY_SPANS), 3 + 39 * 3);
    uint32_t count;
    trace_processes(trace, &count);
    assert_int_equal(count, 40);
    trace_unref(trace);
}

/* A block that is being written while we look is not damage: it is read when it is whole. */
static void test_half_a_block_waits(void **state)
{
    struct fixture *fixture = *state;
    uint32_t ids[2];
    struct trace *trace = NULL;
    struct stat whole;
    char bytes[4096];
    CLEANUP(merge_follow_destroyp) struct merge_follow *follow = follow_begin(fixture);
    announce_process(fixture, 4242, FIXTURE_KEY, session_start_raw_ns(fixture->session), ids);
    put_spans(fixture, FIXTURE_KEY, ids[0], 0, 3);
    CLEANUP(closep) int file = openat(session_directory_fd(fixture->session), "spool-00000001", O_RDWR);
    assert_int_equal(fstat(file, &whole), 0);
    put_spans(fixture, FIXTURE_KEY, ids[1], 3, 10);
    off_t before = whole.st_size;
    assert_int_equal(fstat(file, &whole), 0);
    size_t length = (size_t)(whole.st_size - before);
    assert_true(length < sizeof bytes && pread(file, bytes, length, before) == (ssize_t)length);
    for (size_t cut = 0; cut < length; cut += 40) {
        assert_int_equal(ftruncate(file, before), 0);
        assert_int_equal(pwrite(file, bytes, cut, before), (ssize_t)cut);
        follow_round(follow, &trace);
        assert_int_equal(trace_row_count(trace, FAMILY_SPANS), 3);
    }
    assert_int_equal(pwrite(file, bytes, length, before), (ssize_t)length);
    follow_round(follow, &trace);
    assert_int_equal(trace_row_count(trace, FAMILY_SPANS), 10);
    trace_unref(trace);
}

/* The sampler writes the nodes of stacks at the end of its round: samples that came first are not left without. */
static void test_samples_wait_for_their_stacks(void **state)
{
    struct fixture *fixture = *state;
    struct trace *trace = NULL;
    struct spool *spool = session_spool(fixture->session);
    int64_t start = session_start_raw_ns(fixture->session);
    CLEANUP(merge_follow_destroyp) struct merge_follow *follow = follow_begin(fixture);
    const struct wire_process_start process = {.header = {WIRE_PROCESS_START, sizeof process / 8, 0}, .time_ns = start, .pid = 4242};
    struct wire_sample sample = {.header = {WIRE_SAMPLE, sizeof sample / 8, 1}, .time_ns = start + MS, .weight = 1, .pid = 4242, .tid = 4242};
    struct {
        struct wire_stack_nodes head;
        struct wire_stack_node node;
    } nodes = {.head = {.header = {WIRE_STACK_NODES, sizeof nodes / 8, 1}, .time_ns = start, .first = 1}, .node = {.module = UINT32_MAX}};
    assert_int_equal(spool_put(spool, SPOOL_KEEP, &process.header), 0);
    assert_int_equal(spool_put(spool, 0, &sample.header), 0);
    assert_int_equal(spool_flush(spool, true), 0);
    follow_round(follow, &trace);
    assert_int_equal(trace_row_count(trace, FAMILY_SAMPLES), 0);
    assert_int_equal(spool_put(spool, SPOOL_KEEP, &nodes.head.header), 0);
    follow_round(follow, &trace);
    struct sample_block block;
    assert_int_equal(trace_row_count(trace, FAMILY_SAMPLES), 1);
    assert_int_equal(trace_samples_get(trace, 0, &block, NULL), 0);
    assert_true(block.stack && block.stack[0].index != ID_NONE);
    trace_samples_put(trace, &block);
    sample.header.value = 77; /* a node that never comes: after a round the sample stands without a stack */
    assert_int_equal(spool_put(spool, 0, &sample.header), 0);
    assert_int_equal(spool_flush(spool, true), 0);
    follow_round(follow, &trace);
    assert_int_equal(trace_row_count(trace, FAMILY_SAMPLES), 1);
    assert_int_equal(spool_put(spool, SPOOL_KEEP, &process.header), 0);
    follow_round(follow, &trace);
    assert_int_equal(trace_row_count(trace, FAMILY_SAMPLES), 2);
    trace_unref(trace);
}

/* Work of a device is placed in the round that brings it; its call may come in a later one than others' work. */
static void test_work_of_devices_is_placed(void **state)
{
    struct fixture *fixture = *state;
    uint32_t ids[2];
    struct trace *trace = NULL;
    int64_t start = session_start_raw_ns(fixture->session);
    CLEANUP(merge_follow_destroyp) struct merge_follow *follow = follow_begin(fixture);
    announce_process(fixture, 4242, FIXTURE_KEY, start, ids);
    for (unsigned round = 0; round < 3; round++) {
        int64_t at = start + (int64_t)round * MS;
        const struct {
            struct wire_device_span work;
            struct wire_span call;
        } records = {
            .work = {.span = {.header = {WIRE_DEVICE_SPAN, sizeof records.work / 8, ids[1]}, .begin = (uint64_t)at + 100, .end = (uint64_t)at + 200,
                              .layer = WIRE_LAYER_CUDA, .correlation = round + 10, .span_kind = SPAN_KIND_KERNEL},
                     .queue = 5, .launch = round + 1},
            .call = {.header = {WIRE_SPAN, sizeof records.call / 8, ids[0]}, .begin = (uint64_t)at, .end = (uint64_t)at + 50,
                     .layer = WIRE_LAYER_CUDA, .correlation = round + 1},
        };
        const struct spool_stream stream = {.process_key = FIXTURE_KEY, .pid = 4242, .tid = 4242, .chunk = 3, .lap = 1,
                                            .first = round * sizeof records, .end = (round + 1) * sizeof records};
        assert_int_equal(spool_append(session_spool(fixture->session), &stream, 0, &records, sizeof records), 0);
        follow_round(follow, &trace);
        assert_int_equal(trace_row_count(trace, FAMILY_SPANS), 2 * (round + 1));
        assert_int_equal(trace_row_count(trace, FAMILY_LINKS), round + 1);
    }
    CLEANUP(trace_unrefp) struct trace *whole = fixture_merge(fixture);
    assert_int_equal(trace_row_count(whole, FAMILY_LINKS), 3);
    trace_unref(trace);
}

static void put_record(struct fixture *fixture, uint32_t chunk, const struct wire_header *record)
{
    const struct spool_stream stream = {.process_key = FIXTURE_KEY, .pid = 4242, .tid = 4242, .chunk = chunk, .lap = 1, .end = wire_bytes(record)};
    assert_int_equal(spool_append(session_spool(fixture->session), &stream, 0, record, wire_bytes(record)), 0);
}

static void test_work_waits_for_its_call(void **state)
{
    struct fixture *fixture = *state;
    uint32_t ids[2];
    struct trace *trace = NULL;
    int64_t start = session_start_raw_ns(fixture->session);
    CLEANUP(merge_follow_destroyp) struct merge_follow *follow = follow_begin(fixture);
    announce_process(fixture, 4242, FIXTURE_KEY, start, ids);
    struct wire_device_span work = {.span = {.header = {WIRE_DEVICE_SPAN, sizeof work / 8, ids[1]}, .begin = (uint64_t)start + 100,
                                             .end = (uint64_t)start + 200, .layer = WIRE_LAYER_CUDA, .span_kind = SPAN_KIND_KERNEL},
                                    .queue = 5, .launch = 1};
    const struct wire_span call = {.header = {WIRE_SPAN, sizeof call / 8, ids[0]}, .begin = (uint64_t)start, .end = (uint64_t)start + 50,
                                   .layer = WIRE_LAYER_CUDA, .correlation = 1};
    put_record(fixture, 1, &work.span.header);
    follow_round(follow, &trace);
    assert_int_equal(trace_row_count(trace, FAMILY_SPANS), 0);
    put_record(fixture, 2, &call.header);
    follow_round(follow, &trace);
    assert_int_equal(trace_row_count(trace, FAMILY_SPANS), 2);
    assert_int_equal(trace_row_count(trace, FAMILY_LINKS), 1);
    work.launch = 77; /* never recorded: some rounds later it stands alone */
    put_record(fixture, 3, &work.span.header);
    for (uint32_t round = 0; round < 8; round++) {
        put_record(fixture, 4 + round, &call.header);
        follow_round(follow, &trace);
    }
    assert_int_equal(trace_row_count(trace, FAMILY_SPANS), 11);
    assert_int_equal(trace_row_count(trace, FAMILY_LINKS), 1);
    trace_unref(trace);
}

/* With --buffer-limit files go between two looks: what is still there is read on. */
static void test_follows_files_that_went_unseen(void **state)
{
    struct fixture *fixture = *state;
    const struct spool_options options = {.limit_bytes = 64 << 10};
    const struct spool_stream stream = {.process_key = FIXTURE_KEY, .pid = 4242, .tid = 4242, .chunk = 3, .lap = 1};
    struct error err = ERROR_INIT;
    struct spool_statistics statistics = {0};
    struct spool_mark *mark;
    uint32_t oldest = 0;
    char directory[128], name[32];
    static uint64_t noise[1024];
    snprintf(directory, sizeof directory, "%s/limited", fixture->parent);
    assert_int_equal(mkdir(directory, 0700), 0);
    CLEANUP(closep) int directory_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CLEANUP(spool_destroyp) struct spool *spool = NULL;
    CLEANUP(spool_marks_destroyp) struct spool_marks *marks = NULL;
    assert_int_equal(spool_create(directory_fd, &options, &spool, &err), 0);
    assert_int_equal(spool_marks_create(&marks), 0);
    assert_int_equal(spool_marks_take(marks, directory_fd, spool), 0);
    spool_marks_pass(marks);
    for (uint64_t i = 0; statistics.recycled_blocks < 4; i++) {
        for (size_t word = 1; word < 1024; word++)
            noise[word] = hash_u64(i << 10 | word);
        memcpy(noise, &(struct wire_header){WIRE_SPAN, 1024, 0}, sizeof *noise);
        assert_int_equal(spool_append(spool, &stream, 0, noise, sizeof noise), 0);
        spool_statistics(spool, &statistics);
    }
    do
        snprintf(name, sizeof name, "spool-%08u", ++oldest);
    while (oldest < 1000 && (oldest < 3 || faccessat(directory_fd, name, F_OK, 0) != 0));
    assert_true(oldest > 3 && oldest < 1000);
    assert_int_equal(spool_marks_take(marks, directory_fd, spool), 0);
    assert_null(spool_marks_find(marks, false, 2));
    assert_non_null(mark = spool_marks_find(marks, false, oldest));
    assert_true(mark->end > mark->begin);
}

/* What a target's runtime keeps in its memory: here in ours. */
static struct {
    uint64_t blocks[2];
    uint32_t count;
    struct {
        uint64_t other;
        struct wire_open_thread thread;
    } slots[2][3];
} memory;

static void expose(struct fixture *fixture, int32_t pid, uint64_t key)
{
    memset(&memory, 0, sizeof memory);
    memory.blocks[0] = (uintptr_t)memory.slots[0];
    memory.blocks[1] = (uintptr_t)memory.slots[1];
    memory.count = 2;
    const struct wire_open_place place = {.blocks = (uintptr_t)memory.blocks, .count = (uintptr_t)&memory.count, .slots = 3,
                                          .stride = sizeof memory.slots[0][0], .offset = offsetof(__typeof__(memory.slots[0][0]), thread)};
    char name[80];
    snprintf(name, sizeof name, "process-%d-%016llx", pid, (unsigned long long)key);
    CLEANUP(closep) int file = openat(session_directory_fd(fixture->session), name, O_RDWR);
    assert_int_equal(pwrite(file, &place, sizeof place, offsetof(struct wire_process, open)), sizeof place);
}

static void test_calls_that_have_not_ended_are_in_snapshots(void **state)
{
    struct fixture *fixture = *state;
    uint32_t ids[2], count;
    int64_t start = session_start_raw_ns(fixture->session), begin = clock_raw_ns();
    struct trace *trace = NULL;
    CLEANUP(merge_follow_destroyp) struct merge_follow *follow = follow_begin(fixture);
    announce_process(fixture, getpid(), FIXTURE_KEY, start, ids);
    expose(fixture, getpid(), FIXTURE_KEY);
    struct wire_open_thread *thread = &memory.slots[1][2].thread;
    *thread = (struct wire_open_thread){.key = FIXTURE_KEY, .tid = 777, .serial = 5};
    thread->calls[WIRE_LAYER_MPI] = (struct wire_open_call){.frame = 1, .begin = (uint64_t)begin, .name = ids[1]};
    thread->calls[WIRE_LAYER_CUDA] = (struct wire_open_call){.begin = (uint64_t)begin, .name = ids[1]}; /* left, or not yet entered */
    memory.slots[0][0].thread = *thread;
    memory.slots[0][0].thread.key = FIXTURE_KEY + 1; /* what lay there before */
    usleep(150000); /* shorter ones are not shown */
    put_spans(fixture, FIXTURE_KEY, ids[0], 0, 3);
    follow_round(follow, &trace);
    const struct open_call *calls = trace_open_calls(trace, &count);
    assert_int_equal(count, 1);
    assert_string_equal(trace_text(trace, calls[0].name), "second");
    assert_string_equal(trace_text(trace, calls[0].category), "mpi");
    assert_int_equal(calls[0].begin_ns, begin - start);
    const struct trace_track *tracks = trace_tracks(trace, &count);
    assert_int_equal(tracks[calls[0].track.index].tid, 777);
    assert_int_equal(trace_row_count(trace, FAMILY_SPANS), 3); /* it is none of them */
    thread->calls[WIRE_LAYER_MPI].frame = 0;
    follow_round(follow, &trace); /* nothing was recorded, but it has ended */
    trace_open_calls(trace, &count);
    assert_int_equal(count, 0);
    trace_unref(trace);
}

#define test(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_each_record_once),
        test(test_processes_come),
        test(test_half_a_block_waits),
        test(test_samples_wait_for_their_stacks),
        test(test_work_of_devices_is_placed),
        test(test_work_waits_for_its_call),
        test(test_follows_files_that_went_unseen),
        test(test_calls_that_have_not_ended_are_in_snapshots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
