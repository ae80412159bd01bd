/* SPDX-License-Identifier: MIT */
/* The sums of MPI by rank and communicator, by their definitions. */
#include "view/summary.h"

#include "base/error.h"
#include "trace/builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define COMM 12345678901234567890u

struct field {
    unsigned position;
    uint64_t value;
};

static track_id add_rank(struct trace_builder *builder, int32_t rank)
{
    const struct trace_process process = {.node = {0}, .pid = 100 + rank, .rank = rank, .start_ns = 0, .end_ns = 1000, .parent = PROCESS_NONE,
                                          .exit_status = 0};
    process_id id;
    track_id added;
    assert_int_equal(trace_builder_add_process(builder, &process, &id), 0);
    const struct trace_track track = {.kind = TRACK_KIND_THREAD, .process = id, .tid = 100 + rank, .device = -1, .stream = -1, .start_ns = 0,
                                      .end_ns = 1000};
    assert_int_equal(trace_builder_add_track(builder, &track, &added), 0);
    return added;
}

static void add_call(struct trace_builder *builder, track_id track, enum span_kind kind, int64_t begin_ns, int64_t length_ns, const char *category,
                     enum payload_kind payload_kind, const struct field *fields)
{
    const struct span span = {.track = track, .begin_ns = begin_ns, .end_ns = begin_ns + length_ns, .name = trace_builder_string(builder, "MPI_Call"),
                              .category = trace_builder_string(builder, category), .kind = kind, .parent = SPAN_NONE, .stack = STACK_NONE};
    struct payload payload = {.kind = payload_kind};
    span_id handle;
    for (; fields && fields->position < 32; fields++) {
        payload.present |= 1u << fields->position;
        payload.fields[fields->position].u64 = fields->value;
    }
    assert_int_equal(trace_builder_add_span(builder, &span, payload_kind ? &payload : NULL, &handle), 0);
}

static struct summary *summary_of(struct trace_builder *builder, const char *where)
{
    struct trace *trace;
    struct summary *summary;
    struct trace_filter *filter = NULL;
    assert_int_equal(trace_builder_finish(builder, &trace, NULL), 0);
    trace_builder_destroy(builder);
    if (where)
        assert_int_equal(trace_filter_compile(where, &filter, NULL), 0);
    assert_int_equal(summary_create(trace, filter, NULL, &summary, NULL), 0);
    trace_filter_destroy(filter);
    trace_unref(trace);
    return summary;
}

static struct trace_builder *two_ranks(void)
{
    struct trace_builder *builder;
    node_id node;
    assert_int_equal(trace_builder_create(&(struct builder_options){0}, &builder, NULL), 0);
    assert_int_equal(trace_builder_add_node(builder, &(struct trace_node){.name = trace_builder_string(builder, "n")}, &node), 0);
    track_id second = add_rank(builder, 1), first = add_rank(builder, 0);
    const struct field sent[] = {{FIELD_MESSAGE_comm, COMM}, {FIELD_MESSAGE_send_to, 1}, {FIELD_MESSAGE_send_bytes, 80}, {32, 0}};
    const struct field nobody[] = {{FIELD_MESSAGE_comm, COMM}, {FIELD_MESSAGE_send_to, (uint64_t)-1}, {FIELD_MESSAGE_send_bytes, 80}, {32, 0}};
    const struct field received[] = {{FIELD_MESSAGE_comm, COMM}, {FIELD_MESSAGE_receive_from, 0}, {FIELD_MESSAGE_receive_bytes, 80}, {32, 0}};
    const struct field open[] = {{FIELD_MESSAGE_comm, COMM}, {FIELD_MESSAGE_any, 3}, {32, 0}};
    const struct field reduced[] = {{FIELD_COLLECTIVE_comm, 7}, {FIELD_COLLECTIVE_bytes_sent, 16}, {FIELD_COLLECTIVE_bytes_received, 8}, {32, 0}};
    add_call(builder, first, SPAN_KIND_SEND, 0, 10, "mpi", PAYLOAD_MESSAGE, sent);
    add_call(builder, first, SPAN_KIND_SEND, 20, 10, "mpi", PAYLOAD_MESSAGE, nobody);
    add_call(builder, first, SPAN_KIND_COLLECTIVE, 40, 100, "mpi", PAYLOAD_COLLECTIVE, reduced);
    add_call(builder, first, SPAN_KIND_INIT, 200, 5, "mpi", PAYLOAD_NONE, NULL);
    add_call(builder, first, SPAN_KIND_SEND, 300, 50, "other", PAYLOAD_MESSAGE, sent); /* not MPI's */
    add_call(builder, second, SPAN_KIND_RECV, 0, 30, "mpi", PAYLOAD_MESSAGE, received);
    add_call(builder, second, SPAN_KIND_RECV, 40, 1, "mpi", PAYLOAD_MESSAGE, open);
    add_call(builder, second, SPAN_KIND_PROBE, 45, 1, "mpi", PAYLOAD_MESSAGE, received); /* the same message, once */
    add_call(builder, second, SPAN_KIND_TEST, 50, 2, "mpi", PAYLOAD_NONE, NULL);
    add_call(builder, second, SPAN_KIND_RMA, 60, 3, "mpi", PAYLOAD_NONE, NULL);
    trace_builder_set_metadata(builder, "mpi.world_size", "2");
    trace_builder_set_metadata(builder, "mpi.comm.12345678901234567890", "{\"kind\":\"communicator\",\"name\":\"a \\\"b\\\"\",\"size\":2,\"ranks\":\"0-1\"}");
    return builder;
}

static void test_ranks_and_communicators(void **state)
{
    struct summary *summary = summary_of(two_ranks(), NULL);
    const struct summary_mpi *mpi = summary->mpi;
    assert_non_null(mpi);
    assert_int_equal(mpi->world_size.value, 2);
    assert_int_equal(mpi->rank_count, 2);
    const struct summary_mpi_rank *first = &mpi->ranks[0], *second = &mpi->ranks[1];
    assert_int_equal(first->rank, 0);
    assert_int_equal(first->pid, 100);
    assert_int_equal(first->calls, 4);
    assert_int_equal(first->mpi_ns, 125);
    assert_int_equal(first->send_ns, 20);
    assert_int_equal(first->collective_ns, 100);
    assert_int_equal(first->init_ns, 5);
    assert_int_equal(first->life_ns.value, 1000);
    assert_int_equal(first->messages_sent, 1);
    assert_int_equal(first->bytes_sent, 80);
    assert_int_equal(first->collective_bytes_sent, 16);
    assert_int_equal(first->collective_bytes_received, 8);
    assert_int_equal(second->receive_ns, 31);
    assert_int_equal(second->wait_ns, 3);
    assert_int_equal(second->other_ns, 3);
    assert_int_equal(second->messages_received, 1);
    assert_int_equal(second->bytes_received, 80);
    assert_int_equal(mpi->comm_count, 2);
    assert_int_equal(mpi->comms[0].comm, 7); /* the most time */
    assert_false(mpi->comms[0].size.known);
    assert_string_equal(mpi->comms[1].name, "a \\\"b\\\"");
    assert_int_equal(mpi->comms[1].size.value, 2);
    assert_int_equal(mpi->comms[1].calls, 5);
    assert_int_equal(mpi->comms[1].messages, 1);
    assert_int_equal(mpi->comms[1].time_ns, 52);
    summary_destroy(summary);
}

static void test_a_filter_chooses_calls(void **state)
{
    struct summary *summary = summary_of(two_ranks(), "rank=1,kind=test");
    assert_int_equal(summary->mpi->rank_count, 1);
    assert_int_equal(summary->mpi->ranks[0].mpi_ns, 2);
    assert_int_equal(summary->mpi->comm_count, 0);
    summary_destroy(summary);
}

static void test_the_text_has_both_tables(void **state)
{
    struct summary *summary = summary_of(two_ranks(), NULL);
    struct text out = TEXT_INIT;
    summary_draw(summary, 15, &(struct text_look){.width = 0}, &out);
    assert_non_null(strstr(out.data, "MPI  in ns, % of the rank's life; 2 ranks"));
    assert_non_null(strstr(out.data, "Communicators  in ns"));
    text_finish(&out);
    summary_destroy(summary);
}

/* A line of 80 cells has room for what tells an OpenMP construct from another; times of single calls give way. */
static void test_a_narrow_text_has_the_names(void **state)
{
    static const char name[] = "heat.c:119 implicit task in smooth";
    struct trace_builder *builder;
    node_id node;
    span_id handle;
    assert_int_equal(trace_builder_create(&(struct builder_options){0}, &builder, NULL), 0);
    assert_int_equal(trace_builder_add_node(builder, &(struct trace_node){.name = trace_builder_string(builder, "n")}, &node), 0);
    const struct span span = {.track = add_rank(builder, 0), .begin_ns = 0, .end_ns = 123456789, .name = trace_builder_string(builder, name),
                              .category = trace_builder_string(builder, "openmp"), .kind = SPAN_KIND_IMPLICIT_TASK, .parent = SPAN_NONE, .stack = STACK_NONE};
    assert_int_equal(trace_builder_add_span(builder, &span, NULL, &handle), 0);
    struct summary *summary = summary_of(builder, NULL);
    struct text out = TEXT_INIT;
    summary_draw(summary, 15, &(struct text_look){.width = 80}, &out);
    assert_non_null(strstr(out.data, name));
    text_finish(&out);
    summary_destroy(summary);
}

static void test_without_mpi_there_is_no_part(void **state)
{
    struct trace_builder *builder;
    node_id node;
    assert_int_equal(trace_builder_create(&(struct builder_options){0}, &builder, NULL), 0);
    assert_int_equal(trace_builder_add_node(builder, &(struct trace_node){.name = trace_builder_string(builder, "n")}, &node), 0);
    add_call(builder, add_rank(builder, 0), SPAN_KIND_SEND, 0, 10, "other", PAYLOAD_NONE, NULL);
    struct summary *summary = summary_of(builder, NULL);
    assert_null(summary->mpi);
    summary_destroy(summary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks_and_communicators),
        cmocka_unit_test(test_a_filter_chooses_calls),
        cmocka_unit_test(test_the_text_has_both_tables),
        cmocka_unit_test(test_a_narrow_text_has_the_names),
        cmocka_unit_test(test_without_mpi_there_is_no_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
