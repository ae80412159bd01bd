/* SPDX-License-Identifier: MIT */
/* Matching of messages against a simulator of what MPI does with them: wildcards, arrivals in any order, losses, threads. */
#include "trace_fixture.h"

#include "trace/message_match.h"

#define ANY (-1)
#define MOST 64

struct message {
    int source, destination, tag;
    uint64_t order;   /* of its posting */
    int sent_at;
    int receive;      /* that it met; -1 = none yet */
};
struct receive {
    int process, source, tag; /* asked for */
    uint64_t order;
    int message;      /* that it met */
    int complete_at;
};

/* One communicator of up to 4 processes. A message arrives the moment arrive() is called; those of one source to one
 * destination arrive in the order in which they were sent. */
struct simulator {
    struct message messages[MOST];
    struct receive receives[MOST];
    bool arrived[MOST];
    int message_count, receive_count, now;
    uint64_t next_order[4];
};

static bool accepts(const struct receive *receive, const struct message *message)
{
    return receive->message < 0 && message->receive < 0 && receive->process == message->destination &&
           (receive->source == ANY || receive->source == message->source) && (receive->tag == ANY || receive->tag == message->tag);
}

static void meet(struct simulator *simulator, int message, int receive)
{
    simulator->messages[message].receive = receive;
    simulator->receives[receive].message = message;
    simulator->receives[receive].complete_at = simulator->now;
}

static int send(struct simulator *simulator, int source, int destination, int tag)
{
    simulator->messages[simulator->message_count] = (struct message){source, destination, tag, ++simulator->next_order[source], simulator->now++, -1};
    return simulator->message_count++;
}

static void arrive(struct simulator *simulator, int message)
{
    simulator->arrived[message] = true;
    for (int i = 0; i < simulator->receive_count; i++)
        if (accepts(&simulator->receives[i], &simulator->messages[message])) {
            meet(simulator, message, i);
            break;
        }
    simulator->now++;
}

/* Takes the message that arrived first; arrival order is given by `arrivals`. */
static void post_receive(struct simulator *simulator, int process, int source, int tag, const int *arrivals, int arrival_count)
{
    int receive = simulator->receive_count++;
    simulator->receives[receive] = (struct receive){process, source, tag, ++simulator->next_order[process], -1, -1};
    for (int i = 0; i < arrival_count; i++)
        if (accepts(&simulator->receives[receive], &simulator->messages[arrivals[i]])) {
            meet(simulator, arrivals[i], receive);
            break;
        }
    simulator->now++;
}

/* --- what the matcher makes of it --------------------------------------------------------------------------------- */

struct outcome {
    int receive_of[MOST]; /* by message; -1 = no partner */
    enum confidence confidence[MOST];
    uint64_t pairs;
};

static int note_pair(void *context, const struct message_pair *pair)
{
    struct outcome *outcome = context;
    assert_int_equal(outcome->receive_of[pair->send_span], -1);
    outcome->receive_of[pair->send_span] = (int)pair->receive_span;
    outcome->confidence[pair->send_span] = pair->confidence;
    outcome->pairs++;
    return 0;
}

static struct message_match *match_of(const struct simulator *simulator, bool finalized, const bool *message_lost, const bool *receive_lost)
{
    struct message_match *match = message_match_create();
    for (int rank = 0; rank < 4; rank++) {
        uint32_t process;
        assert_int_equal(message_match_add_process(match, rank, &process), 0);
        if (finalized)
            message_match_finalized(match, process);
        if (finalized) /* it has a number, too: what is missing before it is seen */
            assert_int_equal(message_match_add_posting(match, process, simulator->next_order[rank] + 1), 0);
    }
    for (int i = 0; i < simulator->message_count; i++) {
        const struct message *message = &simulator->messages[i];
        const struct message_end end = {.process = (uint32_t)message->source, .source = message->source, .destination = message->destination,
                                        .tag = message->tag, .order = message->order, .bytes = UINT64_MAX, .time_ns = message->sent_at, .span = (uint32_t)i};
        if (!message_lost || !message_lost[i])
            assert_int_equal(message_match_add(match, &end), 0);
    }
    for (int i = simulator->receive_count; i-- > 0;) { /* the order of adding must not matter */
        const struct receive *receive = &simulator->receives[i];
        const struct message *message = receive->message < 0 ? NULL : &simulator->messages[receive->message];
        if (receive_lost && receive_lost[i])
            continue;
        if (!message) { /* cancelled at the end */
            assert_int_equal(message_match_add_posting(match, (uint32_t)receive->process, receive->order), 0);
            continue;
        }
        const struct message_end end = {.process = (uint32_t)receive->process, .receive = true, .source = message->source, .destination = receive->process,
                                        .tag = message->tag, .order = receive->order, .bytes = UINT64_MAX, .time_ns = receive->complete_at, .span = (uint32_t)i};
        assert_int_equal(message_match_add(match, &end), 0);
    }
    return match;
}

static struct outcome outcome_of(struct message_match *match)
{
    struct outcome outcome;
    memset(&outcome, 0, sizeof outcome);
    memset(outcome.receive_of, 0xff, sizeof outcome.receive_of);
    assert_int_equal(message_match_run(match, note_pair, &outcome), 0);
    return outcome;
}

/* --- exhaustive --------------------------------------------------------------------------------------------------- */

#define SENT 3
#define RECEIVED 3

/* Processes 0 and 1 send two messages and one to process 2: `tags` holds their tags, `schedule` which of 6 steps are arrivals,
 * `late` which arrival is the second process', `wishes` what each receive asks for. */
static void check_program(unsigned tags, unsigned wishes, unsigned schedule, int late)
{
    static const int wildcards[3] = {ANY, 0, 1};
    struct simulator simulator = {0};
    int first[2] = {send(&simulator, 0, 2, tags & 1), send(&simulator, 0, 2, tags >> 1 & 1)}, other = send(&simulator, 1, 2, tags >> 2 & 1);
    int arrivals[SENT], arrived = 0, taken = 0;
    for (int step = 0; step < SENT + RECEIVED; step++) {
        if (schedule >> step & 1) {
            arrivals[arrived] = arrived == late ? other : first[taken++];
            arrive(&simulator, arrivals[arrived]);
            arrived++;
        } else {
            post_receive(&simulator, 2, wildcards[wishes % 3], wildcards[wishes / 3 % 3], arrivals, arrived);
            wishes /= 9;
        }
    }
    struct message_match *match = match_of(&simulator, true, NULL, NULL);
    struct outcome outcome = outcome_of(match);
    for (int i = 0; i < simulator.message_count; i++) {
        assert_int_equal(outcome.receive_of[i], simulator.messages[i].receive);
        if (outcome.receive_of[i] >= 0)
            assert_int_equal(outcome.confidence[i], CONFIDENCE_CERTAIN);
    }
    message_match_destroy(match);
}

static void test_every_small_program_with_wildcards(void **state)
{
    unsigned programs = 0, step = getenv("HP_SANITIZED") ? 7 : 1; /* a sanitizer takes ten times as long */
    for (unsigned schedule = 0; schedule < 64; schedule++) {
        if (__builtin_popcount(schedule) != SENT)
            continue;
        for (unsigned tags = 0; tags < 8; tags++)
            for (unsigned wishes = 0; wishes < 729; wishes += step * (1 + tags % 2)) /* every other one for half of them: time */
                for (int late = 0; late < SENT; late++, programs++)
                    check_program(tags, wishes, schedule, late);
    }
    assert_true(programs > 200000 / step);
}

/* --- losses ------------------------------------------------------------------------------------------------------- */

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* A program in which every message is received, with some postings of each process lost: a range of its numbers, or the oldest. */
static void check_losses(uint32_t seed, uint64_t *pairs, uint64_t *possible)
{
    struct simulator simulator = {0};
    bool message_lost[MOST] = {false}, receive_lost[MOST] = {false};
    int waiting = 0, arrivals[MOST], arrived = 0;
    for (int i = 0; i < 40; i++) {
        int message = send(&simulator, (int)(next_random(&seed) % 2), 2 + (int)(next_random(&seed) % 2), (int)(next_random(&seed) % 2));
        arrive(&simulator, message);
        arrivals[arrived++] = message;
        for (; waiting < arrived && next_random(&seed) % 2; waiting++)
            post_receive(&simulator, simulator.messages[arrivals[waiting]].destination, ANY, ANY, arrivals, arrived);
    }
    for (; waiting < arrived; waiting++)
        post_receive(&simulator, simulator.messages[arrivals[waiting]].destination, ANY, ANY, arrivals, arrived);
    for (int process = 0; process < 4; process++) {
        uint64_t from = next_random(&seed) % 3 ? next_random(&seed) % 20 : 0, to = from + next_random(&seed) % 6;
        for (int i = 0; i < MOST; i++) {
            message_lost[i] |= simulator.messages[i].source == process && simulator.messages[i].order > from && simulator.messages[i].order <= to;
            receive_lost[i] |= simulator.receives[i].process == process && simulator.receives[i].order > from && simulator.receives[i].order <= to;
        }
    }
    struct message_match *match = match_of(&simulator, true, message_lost, receive_lost);
    struct outcome outcome = outcome_of(match);
    for (int i = 0; i < simulator.message_count; i++) {
        assert_true(outcome.receive_of[i] < 0 || outcome.receive_of[i] == simulator.messages[i].receive);
        *possible += !message_lost[i] && !receive_lost[simulator.messages[i].receive];
    }
    *pairs += outcome.pairs;
    message_match_destroy(match);
}

static void test_losses_shift_no_pair(void **state)
{
    uint64_t pairs = 0, possible = 0;
    for (uint32_t seed = 1; seed <= 3000; seed++)
        check_losses(seed * 7919, &pairs, &possible);
    assert_true(pairs > possible * 3 / 4); /* most of what can be known is */
}

static struct message_end end_of(bool receive, uint64_t order, uint32_t span)
{
    return (struct message_end){.process = receive, .receive = receive, .source = 0, .destination = 1, .tag = 5, .order = order, .bytes = 8,
                                .time_ns = receive ? INT64_MAX : 0, .span = span};
}

/* Two processes and a channel from 0 to 1 with the given numbers of postings; 0 ends a list. */
static struct message_match *channel_of(const uint64_t *sends, const uint64_t *receives, bool finalized)
{
    struct message_match *match = message_match_create();
    for (int32_t rank = 0; rank < 2; rank++) {
        uint32_t process;
        assert_int_equal(message_match_add_process(match, rank, &process), 0);
        if (finalized)
            message_match_finalized(match, process);
    }
    for (uint32_t i = 0; sends[i]; i++) {
        struct message_end end = end_of(false, sends[i], i);
        assert_int_equal(message_match_add(match, &end), 0);
    }
    for (uint32_t i = 0; receives[i]; i++) {
        struct message_end end = end_of(true, receives[i], i);
        assert_int_equal(message_match_add(match, &end), 0);
    }
    return match;
}

/* The flight recorder's way: of each process only what came last is there. */
static void test_the_newest_are_counted_from_the_end(void **state)
{
    struct message_match *match = channel_of((uint64_t[]){7, 8, 9, 10, 0}, (uint64_t[]){9, 10, 0}, true);
    struct outcome outcome = outcome_of(match);
    assert_int_equal(outcome.pairs, 2);
    assert_int_equal(outcome.receive_of[0], -1);
    assert_int_equal(outcome.receive_of[2], 0);
    assert_int_equal(outcome.receive_of[3], 1);
    assert_int_equal(outcome.confidence[3], CONFIDENCE_HIGH);
    assert_int_equal(message_match_counts(match)->unmatched_sends[MESSAGE_LOST], 2);
    message_match_destroy(match);
    match = channel_of((uint64_t[]){7, 8, 9, 10, 0}, (uint64_t[]){9, 10, 0}, false); /* killed: more may have come behind */
    assert_int_equal(outcome_of(match).pairs, 0);
    assert_int_equal(message_match_counts(match)->unmatched_receives[MESSAGE_LOST], 2);
    message_match_destroy(match);
}

static void test_what_lies_before_a_gap_stays_certain(void **state)
{
    struct message_match *match = channel_of((uint64_t[]){1, 2, 6, 7, 0}, (uint64_t[]){1, 2, 3, 4, 5, 6, 7, 0}, true);
    struct outcome outcome = outcome_of(match);
    assert_int_equal(outcome.pairs, 4);
    assert_int_equal(outcome.receive_of[1], 1);
    assert_int_equal(outcome.confidence[1], CONFIDENCE_CERTAIN);
    assert_int_equal(outcome.receive_of[2], 5);
    assert_int_equal(outcome.confidence[2], CONFIDENCE_HIGH);
    assert_int_equal(message_match_counts(match)->unmatched_receives[MESSAGE_LOST], 3);
    message_match_destroy(match);
}

static void test_a_killed_peer_and_a_missing_one_are_told_apart(void **state)
{
    struct message_match *match = channel_of((uint64_t[]){1, 2, 3, 0}, (uint64_t[]){1, 0}, false);
    struct message_end far = end_of(false, 4, 3);
    far.destination = 9;
    assert_int_equal(message_match_add(match, &far), 0);
    assert_int_equal(outcome_of(match).pairs, 1);
    const struct message_counts *counts = message_match_counts(match);
    assert_int_equal(counts->unmatched_sends[MESSAGE_CUT_OFF], 2);
    assert_int_equal(counts->unmatched_sends[MESSAGE_NO_PEER], 1);
    message_match_destroy(match);
    match = channel_of((uint64_t[]){1, 2, 0}, (uint64_t[]){1, 0}, true);
    assert_int_equal(outcome_of(match).pairs, 1);
    assert_int_equal(message_match_counts(match)->unmatched_sends[MESSAGE_ALONE], 1);
    message_match_destroy(match);
}

/* --- threads, sizes ----------------------------------------------------------------------------------------------- */

static enum confidence confidence_of(const uint32_t *threads, bool several)
{
    struct message_match *match = channel_of((uint64_t[]){0}, (uint64_t[]){0}, true);
    for (uint32_t i = 0; i < 2; i++) {
        struct message_end send = end_of(false, i + 1, i), receive = end_of(true, i + 1, i);
        send.thread = threads[i];
        send.threads = receive.threads = several;
        assert_int_equal(message_match_add(match, &send), 0);
        assert_int_equal(message_match_add(match, &receive), 0);
    }
    struct outcome outcome = outcome_of(match);
    assert_int_equal(outcome.pairs, 2);
    assert_int_equal(outcome.receive_of[1], 1);
    message_match_destroy(match);
    return outcome.confidence[0];
}

static void test_threads_on_one_channel_lower_the_confidence(void **state)
{
    assert_int_equal(confidence_of((uint32_t[]){4, 5}, true), CONFIDENCE_HIGH);
    assert_int_equal(confidence_of((uint32_t[]){4, 4}, true), CONFIDENCE_CERTAIN); /* one thread has the channel to itself */
    assert_int_equal(confidence_of((uint32_t[]){4, 5}, false), CONFIDENCE_CERTAIN); /* never at once: serialized */
}

static void test_sizes_that_disagree_are_told(void **state)
{
    struct message_match *match = channel_of((uint64_t[]){1, 0}, (uint64_t[]){0}, true);
    for (uint32_t i = 0; i < 3; i++) {
        struct message_end send = end_of(false, i + 2, i + 1), receive = end_of(true, i + 1, i);
        receive.bytes = i == 1 ? 16 : 8;
        assert_int_equal(message_match_add(match, &send), 0);
        assert_int_equal(message_match_add(match, &receive), 0);
    }
    struct outcome outcome = outcome_of(match);
    assert_int_equal(message_match_counts(match)->sizes_differ, 1);
    assert_int_equal(outcome.confidence[0], CONFIDENCE_CERTAIN);
    assert_int_equal(outcome.confidence[1], CONFIDENCE_MEDIUM);
    assert_int_equal(outcome.confidence[2], CONFIDENCE_MEDIUM);
    message_match_destroy(match);
}

/* --- payloads ----------------------------------------------------------------------------------------------------- */

#define SET(payload, field, member, value)                                                                             \
    ((payload)->present |= 1u << FIELD_MESSAGE_##field, (payload)->fields[FIELD_MESSAGE_##field].member = (value))

static struct payload message_payload(uint64_t order)
{
    struct payload payload = {.kind = PAYLOAD_MESSAGE};
    SET(&payload, comm, u64, 77);
    SET(&payload, order, u64, order);
    return payload;
}

static span_id add_message(struct trace_builder *builder, track_id track, const char *name, enum span_kind kind, int64_t begin_ns,
                           const struct payload *payload)
{
    const struct span span = {.track = track, .begin_ns = begin_ns, .end_ns = begin_ns + 5, .name = trace_builder_string(builder, name),
                              .kind = kind, .parent = SPAN_NONE, .stack = STACK_NONE};
    span_id handle;
    assert_int_equal(trace_builder_add_span(builder, &span, payload, &handle), 0);
    return handle;
}

/* Both exchange by one call each; rank 0 withdraws a send; rank 1 also receives from nobody, cancels once, never ends a receive from anybody,
 * and hears from a process of another world. */
static void test_the_ends_of_a_finished_trace(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id tracks[2];
    for (int rank = 0; rank < 2; rank++) {
        const struct trace_process process = {.node = {0}, .pid = 100 + rank, .rank = rank, .parent = PROCESS_NONE, .exit_status = -1};
        process_id id;
        assert_int_equal(trace_builder_add_process(builder, &process, &id), 0);
        const struct trace_track track = {.kind = TRACK_KIND_THREAD, .process = id, .tid = 100 + rank, .device = -1, .stream = -1,
                                          .start_ns = INT64_MIN, .end_ns = INT64_MIN};
        assert_int_equal(trace_builder_add_track(builder, &track, &tracks[rank]), 0);
        struct payload payload = message_payload(1);
        SET(&payload, send_to, i64, 1 - rank);
        SET(&payload, send_tag, i64, 3);
        SET(&payload, receive_from, i64, 1 - rank);
        SET(&payload, receive_tag, i64, 3);
        add_message(builder, tracks[rank], "MPI_Sendrecv", SPAN_KIND_SEND, 10, &payload);
    }
    struct payload nobody = message_payload(2), cancelled = message_payload(3), open = message_payload(4), stranger = message_payload(5);
    SET(&stranger, receive_tag, i64, 9);
    SET(&stranger, receive_bytes, u64, 4);
    SET(&nobody, receive_from, i64, -1);
    SET(&cancelled, any, u64, 3);
    SET(&cancelled, cancelled, u64, 1);
    SET(&open, any, u64, 1);
    add_message(builder, tracks[1], "MPI_Recv", SPAN_KIND_RECV, 20, &nobody);
    add_message(builder, tracks[1], "MPI_Irecv", SPAN_KIND_RECV, 30, &cancelled);
    add_message(builder, tracks[1], "MPI_Irecv", SPAN_KIND_RECV, 40, &open);
    add_message(builder, tracks[1], "MPI_Recv", SPAN_KIND_RECV, 50, &stranger);
    struct payload withdrawn = message_payload(2);
    SET(&withdrawn, send_to, i64, 1);
    SET(&withdrawn, send_tag, i64, 3);
    SET(&withdrawn, cancelled, u64, 1);
    add_message(builder, tracks[0], "MPI_Isend", SPAN_KIND_SEND, 60, &withdrawn);
    CLEANUP(trace_unrefp) struct trace *trace = fixture_finish(builder);
    struct message_match *match = message_match_create();
    uint32_t first;
    assert_int_equal(message_match_add_trace(match, trace, &first, NULL), 0);
    struct outcome outcome = outcome_of(match);
    assert_int_equal(first, 0);
    assert_int_equal(outcome.pairs, 2);
    assert_int_equal(outcome.receive_of[0], 2); /* ids of spans: rank 0's two, then rank 1's */
    assert_int_equal(outcome.receive_of[2], 0);
    assert_int_equal(message_match_counts(match)->left_out[MESSAGE_CANCELLED], 2);
    assert_int_equal(message_match_counts(match)->left_out[MESSAGE_UNRESOLVED], 1);
    assert_int_equal(message_match_counts(match)->left_out[MESSAGE_OTHER_WORLD], 1);
    message_match_destroy(match);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_small_program_with_wildcards),
        cmocka_unit_test(test_losses_shift_no_pair),
        cmocka_unit_test(test_the_newest_are_counted_from_the_end),
        cmocka_unit_test(test_what_lies_before_a_gap_stays_certain),
        cmocka_unit_test(test_a_killed_peer_and_a_missing_one_are_told_apart),
        cmocka_unit_test(test_threads_on_one_channel_lower_the_confidence),
        cmocka_unit_test(test_sizes_that_disagree_are_told),
        cmocka_unit_test(test_the_ends_of_a_finished_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
