/* SPDX-License-Identifier: MIT */
/* MPI's records in the merge: ranks, communicators, resolved receives, links of messages and requests, groups, what is missing. */
#include "session_fixture.h"

#define US 1000
#define WORLD 4711u
#define RANKS 3

enum text { MPI, SEND, RECV, ISEND, IRECV, WAIT, BARRIER, DUP, FINALIZE, PUT, FENCE, LOCK, FLUSH, UNLOCK, LIBRARY, WORLD_NAME, TEXTS };
static const char *const texts[] = {
    [MPI] = "mpi", [SEND] = "MPI_Send", [RECV] = "MPI_Recv", [ISEND] = "MPI_Isend", [IRECV] = "MPI_Irecv", [WAIT] = "MPI_Wait",
    [BARRIER] = "MPI_Barrier", [DUP] = "MPI_Comm_dup", [FINALIZE] = "MPI_Finalize", [LIBRARY] = "A library 1.0",
    [WORLD_NAME] = "MPI_COMM_WORLD", [PUT] = "MPI_Put", [FENCE] = "MPI_Win_fence", [LOCK] = "MPI_Win_lock", [FLUSH] = "MPI_Win_flush",
    [UNLOCK] = "MPI_Win_unlock", [TEXTS] = NULL,
};

/* The records of one rank, as its only thread writes them. */
struct rank {
    uint64_t words[2048];
    size_t bytes;
    uint32_t ids[TEXTS];
    uint64_t now, order, correlation;
    int32_t number;
};

struct job {
    struct fixture *fixture;
    struct rank ranks[RANKS];
    int size;
};

static void append(struct rank *rank, const void *record)
{
    uint32_t bytes = wire_bytes(record);
    assert_true(rank->bytes + bytes <= sizeof rank->words);
    memcpy((uint8_t *)rank->words + rank->bytes, record, bytes);
    rank->bytes += bytes;
}

struct field {
    unsigned position;
    uint64_t value;
};
#define END_OF_FIELDS {32, 0}

/* A span of 10 us; fields must come in ascending order. Returns its correlation. */
static uint64_t add_span(struct rank *rank, enum text name, enum span_kind kind, enum payload_kind payload, const struct field *fields)
{
    struct {
        struct wire_span span;
        uint64_t values[32];
    } record = {.span = {.header = {WIRE_SPAN, 0, rank->ids[name]}, .begin = rank->now, .end = rank->now + 10 * US, .layer = WIRE_LAYER_MPI,
                         .span_kind = kind, .payload_kind = payload, .correlation = ++rank->correlation}};
    uint32_t count = 0;
    for (; fields[count].position < 32; count++) {
        record.span.present |= 1u << fields[count].position;
        record.values[count] = fields[count].value;
    }
    record.span.header.words = (uint16_t)(sizeof record.span / 8 + count);
    append(rank, &record);
    rank->now += 20 * US;
    return rank->correlation;
}

static uint64_t add_send(struct rank *rank, enum text name, int to, int tag, uint64_t bytes)
{
    return add_span(rank, name, SPAN_KIND_SEND, PAYLOAD_MESSAGE,
                    (struct field[]){{FIELD_MESSAGE_comm, WORLD}, {FIELD_MESSAGE_order, ++rank->order}, {FIELD_MESSAGE_send_to, (uint64_t)to},
                                     {FIELD_MESSAGE_send_tag, (uint64_t)tag}, {FIELD_MESSAGE_send_bytes, bytes}, END_OF_FIELDS});
}

static uint64_t add_receive(struct rank *rank, int from, int tag, uint64_t bytes)
{
    return add_span(rank, RECV, SPAN_KIND_RECV, PAYLOAD_MESSAGE,
                    (struct field[]){{FIELD_MESSAGE_comm, WORLD}, {FIELD_MESSAGE_order, ++rank->order}, {FIELD_MESSAGE_receive_from, (uint64_t)from},
                                     {FIELD_MESSAGE_receive_tag, (uint64_t)tag}, {FIELD_MESSAGE_receive_bytes, bytes}, END_OF_FIELDS});
}

static uint64_t add_receive_from_anybody(struct rank *rank)
{
    return add_span(rank, IRECV, SPAN_KIND_RECV, PAYLOAD_MESSAGE,
                    (struct field[]){{FIELD_MESSAGE_comm, WORLD}, {FIELD_MESSAGE_order, ++rank->order}, {FIELD_MESSAGE_any, 3}, END_OF_FIELDS});
}

static uint64_t add_wait(struct rank *rank)
{
    return add_span(rank, WAIT, SPAN_KIND_WAIT, PAYLOAD_WAIT, (struct field[]){{FIELD_WAIT_requests, 1}, {FIELD_WAIT_completed, 1}, END_OF_FIELDS});
}

static void add_complete(struct rank *rank, uint64_t request, uint64_t wait, int source, int tag, uint64_t bytes, uint32_t flags)
{
    const struct wire_mpi_complete record = {.header = {WIRE_MPI_COMPLETE, sizeof record / 8, flags}, .time = rank->now, .request = request, .wait = wait,
                                             .source = source, .tag = tag, .bytes = bytes};
    append(rank, &record);
}

static void add_collective(struct rank *rank, enum text name, uint64_t comm, uint64_t sequence)
{
    add_span(rank, name, SPAN_KIND_COLLECTIVE, PAYLOAD_COLLECTIVE,
             (struct field[]){{FIELD_COLLECTIVE_comm, comm}, {FIELD_COLLECTIVE_sequence, sequence}, END_OF_FIELDS});
}

static void add_finalize(struct rank *rank)
{
    add_span(rank, FINALIZE, SPAN_KIND_INIT, PAYLOAD_MESSAGE, (struct field[]){{FIELD_MESSAGE_order, ++rank->order}, END_OF_FIELDS});
}

static void add_comm(struct rank *rank, uint64_t comm, uint32_t name, uint32_t flags, int size)
{
    struct {
        struct wire_mpi_comm comm;
        int32_t ranks[4];
    } record = {.comm = {.header = {WIRE_MPI_COMM, sizeof record / 8, name}, .time = rank->now, .comm = comm, .size = (uint32_t)size,
                         .listed = (uint32_t)size, .rank = rank->number, .flags = flags},
                .ranks = {0, 1, 2, 3}};
    append(rank, &record);
}

static struct job *job_begin(struct fixture *fixture, int size)
{
    struct job *job = calloc(1, sizeof *job);
    job->fixture = fixture;
    job->size = size;
    for (int i = 0; i < size; i++) {
        struct rank *rank = &job->ranks[i];
        int64_t start = session_start_raw_ns(fixture->session);
        fixture_process_with(fixture, 5000 + i, FIXTURE_KEY + (uint64_t)i, 0, start, texts, rank->ids, MPI);
        rank->now = (uint64_t)start + 1000 * US;
        rank->number = i;
        const struct wire_mpi_rank record = {.header = {WIRE_MPI_RANK, sizeof record / 8, rank->ids[LIBRARY]}, .time = rank->now, .rank = i,
                                             .size = size, .world = WORLD};
        append(rank, &record);
        add_comm(rank, WORLD, rank->ids[WORLD_NAME], 0, size);
    }
    return job;
}

static struct trace *job_end(struct job *job)
{
    for (int i = 0; i + 1 < job->size; i++) {
        const struct spool_stream stream = {.process_key = FIXTURE_KEY + (uint64_t)i, .pid = 5000 + i, .tid = 5000 + i, .lap = 1,
                                            .end = job->ranks[i].bytes};
        assert_int_equal(spool_append(session_spool(job->fixture->session), &stream, 0, job->ranks[i].words, job->ranks[i].bytes), 0);
    }
    int last = job->size - 1; /* it was killed, and its chunk was not packed */
    fixture_chunk(job->fixture, 5000 + last, FIXTURE_KEY + (uint64_t)last, 0, WIRE_CHUNK_ACTIVE, job->ranks[last].words, job->ranks[last].bytes);
    struct trace *trace = fixture_merge(job->fixture);
    free(job);
    return trace;
}

/* --- looking at the trace ----------------------------------------------------------------------------------------- */

/* "name@rank" of a span. */
static void describe(const struct trace *trace, span_id span, char *out, size_t size)
{
    uint32_t index, row, count;
    struct span_block block;
    assert_true(trace_span_find(trace, span, &index, &row));
    assert_int_equal(trace_spans_get(trace, index, &block, NULL), 0);
    const struct trace_track *track = &trace_tracks(trace, &count)[block.info.track.index];
    snprintf(out, size, "%s@%d", trace_text(trace, block.name[row]), trace_processes(trace, &count)[track->process.index].rank);
    trace_spans_put(trace, &block);
}

/* All links as "kind from to confidence;". */
static void expect_links(const struct trace *trace, const char *expected)
{
    char text[2048] = "";
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_LINKS); i++) {
        struct link_block block;
        assert_int_equal(trace_links_get(trace, i, &block, NULL), 0);
        for (uint32_t row = 0; row < block.info.count; row++) {
            char from[64], to[64];
            describe(trace, block.from[row], from, sizeof from);
            describe(trace, block.to[row], to, sizeof to);
            size_t used = strlen(text);
            snprintf(text + used, sizeof text - used, "%s %s %s %s;", link_kind_name(block.kind ? block.kind[row] : 0), from, to,
                     confidence_name(block.confidence ? block.confidence[row] : 0));
        }
        trace_links_put(trace, &block);
    }
    assert_string_equal(text, expected);
}

static uint64_t count_links(const struct trace *trace)
{
    return trace_row_count(trace, FAMILY_LINKS);
}

/* All groups as "name#sequence: member, member;". */
static void expect_groups(const struct trace *trace, const char *expected)
{
    char text[2048] = "";
    uint32_t count;
    const struct trace_group *groups = trace_groups(trace, &count);
    for (uint32_t group = 0; group < count; group++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s#%u:", trace_text(trace, groups[group].name), (unsigned)groups[group].sequence);
        for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_MEMBERS); i++) {
            struct member_block block;
            assert_int_equal(trace_members_get(trace, i, &block, NULL), 0);
            for (uint32_t row = 0; row < block.info.count; row++) {
                if (block.group[row].index != group)
                    continue;
                char member[64];
                describe(trace, block.span[row], member, sizeof member);
                used = strlen(text);
                snprintf(text + used, sizeof text - used, " %s", member);
            }
            trace_members_put(trace, &block);
        }
        strcat(text, ";");
    }
    assert_string_equal(text, expected);
}

static struct payload payload_of(const struct trace *trace, const char *name)
{
    struct payload payload = {0};
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_SPANS); i++) {
        struct span_block block;
        assert_int_equal(trace_spans_get(trace, i, &block, NULL), 0);
        for (uint32_t row = 0; row < block.info.count; row++)
            if (strcmp(trace_text(trace, block.name[row]), name) == 0)
                assert_int_equal(span_payload(&block, row, &payload), 0);
        trace_spans_put(trace, &block);
    }
    return payload;
}

/* --- tests -------------------------------------------------------------------------------------------------------- */

static void test_ranks_name_processes_and_threads(void **state)
{
    struct job *job = job_begin(*state, 2);
    add_collective(&job->ranks[0], BARRIER, WORLD, 1);
    add_collective(&job->ranks[1], BARRIER, WORLD, 1);
    CLEANUP(trace_unrefp) struct trace *trace = job_end(job);
    uint32_t count;
    const struct trace_process *processes = trace_processes(trace, &count);
    assert_int_equal(count, 2);
    assert_int_equal(processes[0].rank + processes[1].rank, 1);
    const struct trace_track *tracks = trace_tracks(trace, &count);
    for (uint32_t i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "rank %d", processes[tracks[i].process.index].rank);
        assert_string_equal(trace_text(trace, tracks[i].name), name);
    }
    assert_string_equal(trace_metadata(trace, "mpi.library"), "A library 1.0");
    assert_string_equal(trace_metadata(trace, "mpi.world_size"), "2");
    assert_string_equal(trace_metadata(trace, "mpi.comm.4711"), "{\"kind\":\"communicator\",\"name\":\"MPI_COMM_WORLD\",\"size\":2,\"ranks\":\"0-1\"}");
}

static void test_a_message_links_its_two_calls(void **state)
{
    struct job *job = job_begin(*state, 2);
    add_send(&job->ranks[0], SEND, 1, 7, 100);
    add_receive(&job->ranks[1], 0, 7, 100);
    add_send(&job->ranks[1], SEND, -1, 7, 100); /* MPI_PROC_NULL */
    CLEANUP(trace_unrefp) struct trace *trace = job_end(job);
    expect_links(trace, "message MPI_Send@0 MPI_Recv@1 certain;");
    assert_int_equal(fixture_lost(trace, ""), 0);
}

/* The receive from anybody gets its source by the wait's record, and is the message's end; a link leads on to the wait. */
static void test_a_request_leads_from_its_posting_to_its_wait(void **state)
{
    struct job *job = job_begin(*state, 2);
    struct rank *sender = &job->ranks[0], *receiver = &job->ranks[1];
    uint64_t receive = add_receive_from_anybody(receiver);
    uint64_t send = add_send(sender, ISEND, 1, 5, 64), send_wait = add_wait(sender);
    add_complete(sender, send, send_wait, 0, 0, 0, 0);
    uint64_t receive_wait = add_wait(receiver);
    add_complete(receiver, receive, receive_wait, 0, 5, 64, WIRE_MPI_STATUS);
    CLEANUP(trace_unrefp) struct trace *trace = job_end(job);
    expect_links(trace, "request MPI_Isend@0 MPI_Wait@0 certain;request MPI_Irecv@1 MPI_Wait@1 certain;"
                        "message MPI_Isend@0 MPI_Irecv@1 certain;");
    struct payload payload = payload_of(trace, "MPI_Irecv");
    assert_int_equal(payload.fields[FIELD_MESSAGE_receive_from].i64, 0);
    assert_int_equal(payload.fields[FIELD_MESSAGE_receive_tag].i64, 5);
    assert_int_equal(payload.fields[FIELD_MESSAGE_receive_bytes].u64, 64);
    assert_false(payload_of(trace, "MPI_Isend").present >> FIELD_MESSAGE_receive_from & 1);
}

static void test_a_cancelled_receive_takes_no_message(void **state)
{
    struct job *job = job_begin(*state, 2);
    uint64_t cancelled = add_receive_from_anybody(&job->ranks[1]);
    add_complete(&job->ranks[1], cancelled, add_wait(&job->ranks[1]), 0, 0, 0, WIRE_MPI_CANCELLED);
    add_send(&job->ranks[0], SEND, 1, 7, 8);
    add_receive(&job->ranks[1], 0, 7, 8);
    CLEANUP(trace_unrefp) struct trace *trace = job_end(job);
    expect_links(trace, "request MPI_Irecv@1 MPI_Wait@1 certain;message MPI_Send@0 MPI_Recv@1 certain;");
    assert_int_equal(payload_of(trace, "MPI_Irecv").fields[FIELD_MESSAGE_cancelled].u64, 1);
    assert_int_equal(fixture_lost(trace, "cancelled"), 1);
}

/* Between two of rank 0's sends three are missing: what lies behind is counted from the end. */
static void test_a_gap_shifts_no_message(void **state)
{
    struct job *job = job_begin(*state, 2);
    for (int i = 0; i < 6; i++) {
        if (i == 2)
            job->ranks[0].order += 3;
        if (i < 2 || i == 5)
            add_send(&job->ranks[0], SEND, 1, 7, 100 + (uint64_t)i);
        add_receive(&job->ranks[1], 0, 7, 100 + (uint64_t)i);
    }
    add_finalize(&job->ranks[0]);
    add_finalize(&job->ranks[1]);
    CLEANUP(trace_unrefp) struct trace *trace = job_end(job);
    expect_links(trace, "message MPI_Send@0 MPI_Recv@1 certain;message MPI_Send@0 MPI_Recv@1 certain;message MPI_Send@0 MPI_Recv@1 high;");
    assert_int_equal(fixture_lost(trace, "were lost around it"), 3);
}

/* Nothing at all of the receives from anybody may be assumed when their ends are not there. */
static void test_a_killed_rank_leaves_its_peer_unmatched(void **state)
{
    struct job *job = job_begin(*state, 2);
    for (int i = 0; i < 3; i++)
        add_send(&job->ranks[0], SEND, 1, 7, 8);
    add_finalize(&job->ranks[0]);
    add_receive(&job->ranks[1], 0, 7, 8);
    add_receive_from_anybody(&job->ranks[1]);
    CLEANUP(trace_unrefp) struct trace *trace = job_end(job);
    assert_int_equal(count_links(trace), 1);
    assert_int_equal(fixture_lost(trace, "not recorded to its MPI_Finalize"), 2);
    assert_int_equal(fixture_lost(trace, "whose end was not recorded"), 1);
}

static void test_collectives_are_groups(void **state)
{
    struct job *job = job_begin(*state, 3);
    for (int i = 0; i < 3; i++) {
        add_collective(&job->ranks[i], BARRIER, WORLD, 1);
        add_span(&job->ranks[i], DUP, SPAN_KIND_COMM, PAYLOAD_COMM,
                 (struct field[]){{FIELD_COMM_comm, 99}, {FIELD_COMM_parent, WORLD}, {FIELD_COMM_sequence, 2}, END_OF_FIELDS});
        add_comm(&job->ranks[i], 99, 0, 0, 3);
        if (i < 2)
            add_collective(&job->ranks[i], BARRIER, 99, 1);
    }
    CLEANUP(trace_unrefp) struct trace *trace = job_end(job);
    expect_groups(trace, "MPI_Barrier#1: MPI_Barrier@0 MPI_Barrier@1 MPI_Barrier@2;MPI_Comm_dup#2: MPI_Comm_dup@0 MPI_Comm_dup@1 MPI_Comm_dup@2;"
                         "MPI_Barrier#1: MPI_Barrier@0 MPI_Barrier@1;");
    assert_int_equal(fixture_lost(trace, "incomplete: a rank was not recorded"), 1);
}

/* An identity that only its process knows joins nothing. */
static void test_a_communicator_without_an_identity_joins_nobody(void **state)
{
    struct job *job = job_begin(*state, 2);
    for (int i = 0; i < 2; i++) {
        add_comm(&job->ranks[i], 5, 0, WIRE_MPI_COMM_LOCAL, 2);
        add_collective(&job->ranks[i], BARRIER, 5, 1);
        add_span(&job->ranks[i], SEND, SPAN_KIND_SEND, PAYLOAD_MESSAGE,
                 (struct field[]){{FIELD_MESSAGE_comm, 5}, {FIELD_MESSAGE_order, ++job->ranks[i].order}, {FIELD_MESSAGE_send_to, 1}, END_OF_FIELDS});
    }
    CLEANUP(trace_unrefp) struct trace *trace = job_end(job);
    assert_int_equal(count_links(trace), 0);
    expect_groups(trace, "");
    assert_int_equal(fixture_lost(trace, "identity"), 4);
}

static void add_access(struct rank *rank, enum text name, int target, uint64_t epoch, uint64_t bytes)
{
    const struct field whole[] = {{FIELD_RMA_window, 88}, {FIELD_RMA_target, (uint64_t)target}, {FIELD_RMA_epoch, epoch}, {FIELD_RMA_bytes, bytes}, END_OF_FIELDS};
    const struct field call[] = {{FIELD_RMA_window, 88}, {FIELD_RMA_target, (uint64_t)target}, {FIELD_RMA_epoch, epoch}, END_OF_FIELDS};
    const struct field fence[] = {{FIELD_RMA_window, 88}, {FIELD_RMA_epoch, epoch}, {FIELD_RMA_sequence, epoch + 1}, END_OF_FIELDS};
    add_span(rank, name, SPAN_KIND_RMA, PAYLOAD_RMA, bytes ? whole : target < 0 ? fence : call);
}

static void test_accesses_lead_to_what_completes_them(void **state)
{
    struct job *job = job_begin(*state, 2);
    for (int i = 0; i < 2; i++) {
        add_comm(&job->ranks[i], 88, 0, WIRE_MPI_COMM_WINDOW, 2);
        add_access(&job->ranks[i], FENCE, -1, 0, 0);
        add_access(&job->ranks[i], PUT, 1 - i, 1, 8);
        add_access(&job->ranks[i], FENCE, -1, 1, 0);
    }
    struct rank *rank = &job->ranks[0];
    add_access(rank, LOCK, 1, 2, 0);
    add_access(rank, PUT, 1, 2, 8);
    add_access(rank, FLUSH, 1, 2, 0);
    add_access(rank, PUT, 1, 2, 8);
    add_access(rank, UNLOCK, 1, 2, 0);
    add_access(rank, PUT, 1, 3, 8); /* killed before the next */
    CLEANUP(trace_unrefp) struct trace *trace = job_end(job);
    expect_links(trace, "sync MPI_Put@0 MPI_Win_fence@0 certain;sync MPI_Put@0 MPI_Win_unlock@0 high;sync MPI_Put@0 MPI_Win_flush@0 high;"
                        "sync MPI_Put@1 MPI_Win_fence@1 certain;");
    expect_groups(trace, "MPI_Win_fence#1: MPI_Win_fence@0 MPI_Win_fence@1;MPI_Win_fence#2: MPI_Win_fence@0 MPI_Win_fence@1;");
    assert_int_equal(fixture_lost(trace, "completes them was not recorded"), 1);
}

static void test_probes_of_clocks_are_kept(void **state)
{
    struct job *job = job_begin(*state, 1);
    uint64_t now = job->ranks[0].now;
    const struct wire_clock_probe probe = {.header = {WIRE_CLOCK_PROBE, sizeof probe / 8, 1}, .own_time = now, .own_raw_ns = 5, .peer_raw_ns = -7,
                                           .error_ns = 900, .peer_rank = 3, .trips = 10, .own_domain = 0xab, .peer_domain = 0xcd};
    append(&job->ranks[0], &probe);
    CLEANUP(trace_unrefp) struct trace *trace = job_end(job);
    assert_string_equal(trace_metadata(trace, "clock.probe.5000.0"),
                        "{\"rank\":0,\"peer\":3,\"when\":\"end\",\"time_ns\":1000000,\"own_raw_ns\":5,\"peer_raw_ns\":-7,\"error_ns\":900,\"trips\":10,"
                        "\"own_domain\":\"00000000000000ab\",\"peer_domain\":\"00000000000000cd\"}");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_ranks_name_processes_and_threads),
        TEST(test_a_message_links_its_two_calls),
        TEST(test_a_request_leads_from_its_posting_to_its_wait),
        TEST(test_a_cancelled_receive_takes_no_message),
        TEST(test_a_gap_shifts_no_message),
        TEST(test_a_killed_rank_leaves_its_peer_unmatched),
        TEST(test_collectives_are_groups),
        TEST(test_a_communicator_without_an_identity_joins_nobody),
        TEST(test_accesses_lead_to_what_completes_them),
        TEST(test_probes_of_clocks_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
