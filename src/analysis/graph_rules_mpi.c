/* SPDX-License-Identifier: MIT */
/*
 * MPI's messages: who receives waits for who sends; who sends waits for who receives where the library has no room for the message. How
 * much room that is nobody says: the largest message seen to be gone before its receive was posted is a lower limit.
 */
#include "base/array.h"
#include "base/error.h"
#include "graph_mpi.h"

#include <errno.h>
#include <inttypes.h>

#define KIND(kind) (UINT64_C(1) << SPAN_KIND_##kind)
#define CERTAINLY_ROOM 65536 /* bytes: below it nothing is said where nothing was seen */

struct message_rules {
    struct mpi_rules *mpi;
    struct map eager; /* pair of nodes -> largest standard message seen to be gone before its receive was posted, plus 1 */
    struct probe {
        uint64_t comm;
        int64_t source, tag;
        uint32_t span;
    } *probes;        /* of one thread, not yet followed by their receive */
    size_t probe_count, probe_capacity;
    track_id probe_track;
    struct map probed; /* receive's span -> probe's */
};

static int message_edge(void *context, const struct trace_link *link)
{
    struct message_rules *messages = context;
    struct mpi_rules *mpi = messages->mpi;
    struct mpi_fact *send = mpi_fact_of(mpi, link->from), *receive = mpi_fact_of(mpi, link->to);
    if (!send || !receive)
        return 0;
    uint32_t from = graph_rules_begin(mpi->rules, link->from), to = mpi_completion(mpi, receive);
    uint64_t nodes = graph_rules_nodes(mpi->rules, from, graph_rules_begin(mpi->rules, link->to)), known, probe;
    struct mpi_fact *blocked = mpi_blocked_in(mpi, receive);
    send->flags |= MPI_MATCHED;
    receive->flags |= MPI_MATCHED;
    if (blocked)
        blocked->flags |= MPI_RELEASED;
    uint32_t gone = mpi_completion(mpi, send);
    int64_t posted_ns = graph_rules_begin_ns(mpi->rules, link->to);
    if (send->flags & MPI_STANDARD && gone != POINT_NONE && graph_rules_time(mpi->rules, gone) < posted_ns &&
        (!map_get(&messages->eager, nodes, &known) || known < send->bytes + 1) && map_set(&messages->eager, nodes, send->bytes + 1) < 0)
        return -ENOMEM;
    int code = graph_rules_edge(mpi->rules, from, to, EDGE_RULE_MESSAGE, link->confidence, graph_rules_class(EDGE_RULE_MESSAGE, nodes, send->bytes + 1));
    if (code == 0 && map_get(&messages->probed, link->to.index, &probe)) {
        mpi_fact_of(mpi, (span_id){(uint32_t)probe})->flags |= MPI_RELEASED;
        code = graph_rules_edge(mpi->rules, from, graph_rules_end(mpi->rules, (span_id){(uint32_t)probe}), EDGE_RULE_MESSAGE, link->confidence,
                                graph_rules_class(EDGE_RULE_MESSAGE, nodes, 1));
    }
    return code;
}

/* Who sends waits for the receive to be posted: surely in synchronous mode, else where the message is larger than any that did not. */
static int send_edge(void *context, const struct trace_link *link)
{
    struct message_rules *messages = context;
    struct mpi_rules *mpi = messages->mpi;
    struct mpi_fact *send = mpi_fact_of(mpi, link->from), *receive = mpi_fact_of(mpi, link->to);
    struct mpi_fact *blocked = send && receive && send != receive ? mpi_blocked_in(mpi, send) : NULL;
    uint32_t to = blocked ? mpi_completion(mpi, send) : POINT_NONE, from = blocked ? graph_rules_begin(mpi->rules, link->to) : POINT_NONE;
    if (!blocked || !(send->flags & (MPI_SYNCHRONOUS | MPI_STANDARD)))
        return 0;
    uint64_t nodes = graph_rules_nodes(mpi->rules, graph_rules_begin(mpi->rules, link->from), from), eager = 0;
    uint64_t size = send->bytes + 1;
    if (send->flags & MPI_SYNCHRONOUS) {
        blocked->flags |= MPI_RELEASED;
        return graph_rules_edge(mpi->rules, from, to, EDGE_RULE_RENDEZVOUS, link->confidence, graph_rules_class(EDGE_RULE_RENDEZVOUS, nodes, size));
    }
    bool known = map_get(&messages->eager, nodes, &eager);
    int64_t posted_ns = graph_rules_time(mpi->rules, from);
    if (size <= (known ? eager : CERTAINLY_ROOM) || posted_ns <= graph_rules_begin_ns(mpi->rules, (span_id){blocked->span}) || posted_ns > graph_rules_time(mpi->rules, to))
        return 0;
    blocked->flags |= MPI_RELEASED;
    enum confidence confidence = known || link->confidence > CONFIDENCE_HIGH ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM;
    return graph_rules_edge(mpi->rules, from, to, EDGE_RULE_LARGE_SEND, confidence, graph_rules_class(EDGE_RULE_LARGE_SEND, nodes, size));
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
    map_init(&messages.eager);
    map_init(&messages.probed);
    int code = graph_rules_each_span(mpi->rules, KIND(PROBE) | KIND(RECV), true, find_probed, &messages, err);
    if (code == 0)
        code = graph_rules_each_link(mpi->rules, 1u << LINK_KIND_MESSAGE, message_edge, &messages, err);
    if (code == 0)
        code = graph_rules_each_link(mpi->rules, 1u << LINK_KIND_MESSAGE, send_edge, &messages, err);
    map_finish(&messages.eager);
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
