/* SPDX-License-Identifier: MIT */
/*
 * MPI's messages: who receives waits for who sends; who sends waits for who receives where the library has no room for the message. How
 * much room that is nobody says: send_limits.h tells it from what was seen.
 */
#include "base/array.h"
#include "base/error.h"
#include "graph_mpi.h"
#include "send_limits.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define KIND(kind) (UINT64_C(1) << SPAN_KIND_##kind)

struct message_rules {
    struct mpi_rules *mpi;
    struct send_limits limits;
    struct probe {
        uint64_t comm;
        int64_t source, tag;
        uint32_t span;
    } *probes;        /* of one thread, not yet followed by their receive */
    size_t probe_count, probe_capacity;
    track_id probe_track;
    struct map probed; /* receive's span -> probe's */
};

void mpi_sent_message(const struct mpi_rules *mpi, span_id send, span_id receive, struct sent_message *ret_sent)
{
    const struct graph_rules *rules = mpi->rules;
    struct mpi_fact *sent = mpi_fact_of(mpi, send), *received = mpi_fact_of(mpi, receive);
    const struct mpi_fact *sender = mpi_blocked_in(mpi, sent), *receiver = mpi_blocked_in(mpi, received);
    uint32_t gone = mpi_completion(mpi, sent), came = mpi_completion(mpi, received);
    *ret_sent = (struct sent_message){
        .nodes = graph_rules_nodes(rules, graph_rules_begin(rules, send), graph_rules_begin(rules, receive)),
        .bytes = sent->bytes,
        .sent_ns = graph_rules_begin_ns(rules, send),
        .posted_ns = graph_rules_begin_ns(rules, receive),
        .gone_ns = gone == POINT_NONE ? INT64_MAX : graph_rules_time(rules, gone),
        .came_ns = came == POINT_NONE ? INT64_MAX : graph_rules_time(rules, came),
        .waits_ns = sender ? graph_rules_begin_ns(rules, (span_id){sender->span}) : INT64_MIN,
        .sender = sender && sent != received ? sender->span : UINT32_MAX,
        .receiver = receiver ? receiver->span : UINT32_MAX,
        .mode = sent->flags & MPI_SYNCHRONOUS ? SENT_SYNCHRONOUS : sent->flags & MPI_STANDARD ? SENT_STANDARD : SENT_OTHERWISE,
    };
}

static int message_edge(void *context, const struct trace_link *link)
{
    struct message_rules *messages = context;
    struct mpi_rules *mpi = messages->mpi;
    struct mpi_fact *send = mpi_fact_of(mpi, link->from), *receive = mpi_fact_of(mpi, link->to);
    if (!send || !receive)
        return 0;
    uint32_t from = graph_rules_begin(mpi->rules, link->from), to = mpi_completion(mpi, receive);
    uint64_t nodes = graph_rules_nodes(mpi->rules, from, graph_rules_begin(mpi->rules, link->to)), probe;
    struct mpi_fact *blocked = mpi_blocked_in(mpi, receive);
    struct sent_message sent;
    send->flags |= MPI_MATCHED;
    receive->flags |= MPI_MATCHED;
    if (blocked)
        blocked->flags |= MPI_RELEASED;
    mpi_sent_message(mpi, link->from, link->to, &sent);
    if (send_limits_look(&messages->limits, &sent) < 0)
        return -ENOMEM;
    int code = graph_rules_edge(mpi->rules, from, to, EDGE_RULE_MESSAGE, link->confidence, graph_rules_class(EDGE_RULE_MESSAGE, nodes, send->bytes + 1));
    if (code == 0 && map_get(&messages->probed, link->to.index, &probe)) {
        mpi_fact_of(mpi, (span_id){(uint32_t)probe})->flags |= MPI_RELEASED;
        code = graph_rules_edge(mpi->rules, from, graph_rules_end(mpi->rules, (span_id){(uint32_t)probe}), EDGE_RULE_MESSAGE, link->confidence,
                                graph_rules_class(EDGE_RULE_MESSAGE, nodes, 1));
    }
    return code;
}

static int look_again(void *context, const struct trace_link *link)
{
    struct message_rules *messages = context;
    struct sent_message sent;
    if (!mpi_fact_of(messages->mpi, link->from) || !mpi_fact_of(messages->mpi, link->to))
        return 0;
    mpi_sent_message(messages->mpi, link->from, link->to, &sent);
    send_limits_look_again(&messages->limits, &sent);
    return 0;
}

bool mpi_send_waits(const struct send_limits *limits, const struct sent_message *sent, enum confidence *confidence)
{
    enum send_hold hold = sent->mode == SENT_STANDARD ? send_limits_hold(limits, sent->nodes, sent->bytes) : SEND_FREE;
    enum confidence best = hold == SEND_HELD ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM;
    *confidence = best > *confidence ? best : *confidence;
    return hold == SEND_HELD ? sent->posted_ns <= sent->gone_ns : hold == SEND_MAYBE_HELD && sent_message_overlaps(sent);
}

/* Who sends waits for the receive to be posted: surely in synchronous mode, else where the message is larger than the library has room for. */
static int send_edge(void *context, const struct trace_link *link)
{
    struct message_rules *messages = context;
    struct mpi_rules *mpi = messages->mpi;
    struct mpi_fact *send = mpi_fact_of(mpi, link->from), *receive = mpi_fact_of(mpi, link->to);
    struct mpi_fact *blocked = send && receive && send != receive ? mpi_blocked_in(mpi, send) : NULL;
    struct sent_message sent;
    if (!blocked)
        return 0;
    mpi_sent_message(mpi, link->from, link->to, &sent);
    enum confidence confidence = link->confidence;
    enum edge_rule rule = sent.mode == SENT_SYNCHRONOUS ? EDGE_RULE_RENDEZVOUS : EDGE_RULE_LARGE_SEND;
    if (sent.mode != SENT_SYNCHRONOUS && !mpi_send_waits(&messages->limits, &sent, &confidence))
        return 0;
    blocked->flags |= MPI_RELEASED;
    return graph_rules_edge(mpi->rules, graph_rules_begin(mpi->rules, link->to), mpi_completion(mpi, send), rule, confidence,
                            graph_rules_class(rule, sent.nodes, sent.bytes + 1));
}

/* The receive that a probe announced is the next of its thread with the same communicator, source and tag. */
static int find_probed(void *context, const struct graph_row *row)
{
    struct message_rules *messages = context;
    struct graph_rules *rules = messages->mpi->rules;
    struct mpi_fact *fact = mpi_fact_of(messages->mpi, row->span);
    struct payload payload;
    bool probe = rules->kind[row->span.index] == SPAN_KIND_PROBE;
    const uint32_t needed = 1u << FIELD_MESSAGE_comm | 1u << FIELD_MESSAGE_receive_from | 1u << FIELD_MESSAGE_receive_tag;
    if (!track_id_is(row->block->info.track, messages->probe_track))
        messages->probe_count = 0;
    messages->probe_track = row->block->info.track;
    if (!fact || (probe && fact->flags & MPI_IMMEDIATE) || (!probe && messages->probe_count == 0))
        return 0;
    if (span_payload(row->block, row->row, &payload) != 0 || payload.kind != PAYLOAD_MESSAGE || (payload.present & needed) != needed)
        return 0;
    const struct probe mine = {payload.fields[FIELD_MESSAGE_comm].u64, payload.fields[FIELD_MESSAGE_receive_from].i64,
                               payload.fields[FIELD_MESSAGE_receive_tag].i64, row->span.index};
    for (size_t i = 0; !probe && i < messages->probe_count; i++) {
        const struct probe asked = messages->probes[i];
        if (asked.comm != mine.comm || asked.source != mine.source || asked.tag != mine.tag)
            continue;
        messages->probes[i] = messages->probes[--messages->probe_count];
        return map_set(&messages->probed, row->span.index, asked.span);
    }
    if (!probe)
        return 0;
    if (messages->probe_count == 1024)
        messages->probe_count = 0; /* probes that no receive follows */
    struct probe *probes = array_reserve(messages->probes, &messages->probe_capacity, messages->probe_count + 1, sizeof *probes);
    if (!probes)
        return -ENOMEM;
    messages->probes = probes;
    probes[messages->probe_count++] = mine;
    return 0;
}

/* What a wait waited for that the trace doesn't have. */
static void mark_unresolved(struct mpi_rules *mpi)
{
    for (size_t i = 0; i < mpi->count; i++) {
        struct mpi_fact *fact = &mpi->facts[i], *blocked = mpi_blocked_in(mpi, fact);
        bool message = fact->flags & MPI_RECEIVES || (fact->flags & MPI_SENDS && fact->flags & MPI_SYNCHRONOUS);
        if (blocked && message && !(fact->flags & (MPI_MATCHED | MPI_NOBODY)))
            blocked->flags |= MPI_UNRESOLVED;
    }
}

/* Sends that the library took over, receives from nobody, waits for such: nothing was to be waited for. */
static void explain_rest(struct mpi_rules *mpi)
{
    mark_unresolved(mpi);
    for (size_t i = 0; i < mpi->count; i++) {
        const struct mpi_fact *fact = &mpi->facts[i];
        if (fact->flags & (MPI_IMMEDIATE | MPI_RELEASED | MPI_UNRESOLVED))
            continue;
        bool known;
        switch (mpi->rules->kind[fact->span]) {
        case SPAN_KIND_SEND:
            known = true;
            break;
        case SPAN_KIND_RECV:
            known = fact->flags & (MPI_NOBODY | MPI_SENDS);
            break;
        case SPAN_KIND_WAIT:
            known = fact->flags & MPI_HAS_REQUESTS;
            break;
        case SPAN_KIND_PROBE:
            known = fact->flags & MPI_NOBODY;
            break;
        default:
            known = false;
        }
        if (known)
            graph_rules_explain(mpi->rules, graph_rules_end(mpi->rules, (span_id){fact->span}));
    }
}

static int find_messages(struct mpi_rules *mpi, struct error *err)
{
    struct message_rules messages = {.mpi = mpi, .probe_track = TRACK_NONE};
    send_limits_init(&messages.limits);
    map_init(&messages.probed);
    bool probes = memchr(mpi->rules->kind, SPAN_KIND_PROBE, mpi->rules->span_count);
    int code = probes ? graph_rules_each_span(mpi->rules, KIND(PROBE) | KIND(RECV), true, find_probed, &messages, err) : 0;
    if (code == 0)
        code = graph_rules_each_link(mpi->rules, 1u << LINK_KIND_MESSAGE, message_edge, &messages, err);
    if (code == 0)
        code = graph_rules_each_link(mpi->rules, 1u << LINK_KIND_MESSAGE, look_again, &messages, err);
    if (code == 0)
        code = send_limits_decide(&messages.limits);
    if (code == 0)
        code = graph_rules_each_link(mpi->rules, 1u << LINK_KIND_MESSAGE, send_edge, &messages, err);
    send_limits_finish(&messages.limits);
    map_finish(&messages.probed);
    free(messages.probes);
    return code;
}

int graph_rules_mpi(struct graph_rules *rules, struct error *err)
{
    struct mpi_rules mpi = {.rules = rules};
    int code = mpi_facts_gather(&mpi, err);
    if (code == 0 && mpi.count) {
        code = find_messages(&mpi, err);
        if (code == 0)
            code = graph_rules_collective(&mpi, err);
        if (code == 0)
            code = graph_rules_window(&mpi, err);
        if (code == 0)
            explain_rest(&mpi);
    }
    mpi_facts_finish(&mpi);
    return code < 0 && !err->text[0] ? error_set_errno(err, code, "edges of MPI") : code;
}
