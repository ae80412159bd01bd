/* SPDX-License-Identifier: MIT */
/*
 * Messages. An eager one is on its way `inject` after its send began, and arrives a latency later, whoever waits for it. One by
 * rendezvous (synchronous, or larger than the eager limit) only announces itself so; it is carried over when it has been announced and
 * its receive is posted. Announcements of one channel don't overtake each other; receives take what arrived first of all that fits.
 */
#include "sim.h"

#include <stdlib.h>

uint64_t comm_world(const struct sim *sim)
{
    return mix(sim->options->seed) | 1;
}

static int64_t transfer_ns(const struct sim *sim, uint64_t bytes)
{
    return sim->costs.latency_ns + (int64_t)(bytes * (uint64_t)sim->costs.ns_per_kb / 1024);
}

static uint32_t request_add(struct actor *actor, uint8_t kind, uint32_t token, int64_t cost_ns)
{
    size_t row = APPEND(actor->requests, actor->request_count, actor->request_capacity);
    actor->requests[row] = (struct request){.kind = kind, .posted = actor->now, .end_ns = INT64_MIN, .cost_ns = cost_ns, .token = token};
    return (uint32_t)row;
}

static void put_message(struct sim *sim, const struct actor *actor, const struct request *request, struct payload *payload)
{
    uint64_t buffer = UINT64_C(0x10000000) + ((uint64_t)actor->rank << 24);
    put_number(payload, FIELD_MESSAGE_comm, comm_world(sim));
    if (request->kind == SPAN_KIND_SEND) {
        put_signed(payload, FIELD_MESSAGE_send_to, request->message.to);
        put_signed(payload, FIELD_MESSAGE_send_tag, request->message.tag);
        put_number(payload, FIELD_MESSAGE_send_bytes, request->message.bytes);
        put_number(payload, FIELD_MESSAGE_send_buffer, buffer);
        put_number(payload, FIELD_MESSAGE_send_extent, request->message.bytes);
        put_text(sim, payload, FIELD_MESSAGE_mode, request->message.synchronous ? "synchronous" : "standard");
        return;
    }
    put_signed(payload, FIELD_MESSAGE_receive_from, request->message.from);
    put_signed(payload, FIELD_MESSAGE_receive_tag, request->message.tag);
    put_number(payload, FIELD_MESSAGE_receive_bytes, request->message.bytes);
    put_number(payload, FIELD_MESSAGE_receive_buffer, buffer + (1 << 20));
    put_number(payload, FIELD_MESSAGE_receive_extent, request->message.bytes);
    if (request->message.any)
        put_number(payload, FIELD_MESSAGE_any, 1);
}

/* The span of a nonblocking call, when all that it will say is known. */
static void emit_posting(struct sim *sim, const struct actor *actor, const struct request *request)
{
    struct payload payload = {.kind = PAYLOAD_MESSAGE};
    put_message(sim, actor, request, &payload);
    put_number(&payload, FIELD_MESSAGE_order, request->message.order);
    const struct emitted emitted = {
        .lane = actor->lane, .token = request->token, .parent = TOKEN_NONE, .begin_ns = request->posted.ns, .end_ns = request->end_ns,
        .name = request->kind == SPAN_KIND_SEND ? NAME_ISEND : NAME_IRECV, .kind = request->kind, .category = CATEGORY_MPI,
        .correlation = request->message.order};
    emit_span(sim, &emitted, &payload);
}

static uint16_t blocking_name(const struct actor *actor, const struct request *requests)
{
    if (actor->wait_count == 2)
        return NAME_SENDRECV;
    if (requests->kind == SPAN_KIND_RECV)
        return NAME_RECV;
    return requests->message.synchronous ? NAME_SSEND : NAME_SEND;
}

static void emit_waited(struct sim *sim, struct actor *actor, const struct op *op, uint16_t name)
{
    const struct request *requests = &actor->requests[actor->wait_first];
    struct payload payload = {.kind = op->kind == OP_WAIT ? PAYLOAD_WAIT : PAYLOAD_MESSAGE};
    if (op->kind == OP_WAIT) {
        put_number(&payload, FIELD_WAIT_requests, actor->wait_count);
        put_number(&payload, FIELD_WAIT_completed, actor->wait_count);
        for (size_t i = 0; i < actor->wait_count; i++)
            emit_link(sim, LINK_KIND_REQUEST, requests[i].token, actor->token);
        emit_call(sim, actor, actor->begin_ns, actor->token, name, SPAN_KIND_WAIT, CATEGORY_MPI, &payload);
        return;
    }
    for (size_t i = 0; i < actor->wait_count; i++)
        put_message(sim, actor, &requests[i], &payload);
    put_number(&payload, FIELD_MESSAGE_order, requests->message.order);
    emit_call(sim, actor, actor->begin_ns, actor->token, name, actor->wait_count == 2 ? (uint8_t)SPAN_KIND_RECV : requests->kind, CATEGORY_MPI, &payload);
}

/* A call waits for the latest of all that it waits for. */
static void note_waits(struct sim *sim, const struct actor *actor)
{
    const struct request *latest = NULL;
    for (size_t i = 0; i < actor->wait_count; i++) {
        const struct request *request = &actor->requests[actor->wait_first + i];
        if (request->count && (!latest || request->peer.ns > latest->peer.ns))
            latest = request;
    }
    if (latest)
        wait_note(sim, latest->kind == SPAN_KIND_RECV ? PATTERN_LATE_SENDER : PATTERN_LATE_RECEIVER, actor->lane, &latest->peer,
                  latest->peer.ns - actor->begin_ns, actor->now.ns - actor->begin_ns);
}

/* Requests of one's own past don't come from elsewhere: what they still cost is waited for here. */
static void offer_requests(struct sim *sim, const struct actor *actor, struct pick *pick)
{
    for (size_t i = 0; i < actor->wait_count; i++) {
        const struct request *request = &actor->requests[actor->wait_first + i];
        for (unsigned k = 0; k < request->count; k++) {
            struct moment cause = request->offers[k].cause;
            int64_t lag_ns = request->offers[k].lag_ns;
            if (request->offers[k].rule == RULE_LANE) {
                lag_ns += cause.ns - actor->entered.ns;
                cause = actor->entered;
            }
            pick_offer(sim, pick, cause, lag_ns, request->offers[k].rule);
        }
    }
}

static void wait_over(struct sim *sim, struct actor *actor)
{
    const struct op *op = &actor->ops[actor->at];
    struct pick pick = {0};
    uint16_t name = op->kind == OP_WAIT ? (actor->wait_count > 1 ? NAME_WAITALL : NAME_WAIT) : blocking_name(actor, &actor->requests[actor->wait_first]);
    pick_offer(sim, &pick, actor->entered, actor->wait_cost_ns, RULE_LANE);
    offer_requests(sim, actor, &pick);
    actor->now = node_add(sim, actor->lane, &pick, name);
    actor->mpi_ns += actor->now.ns - actor->begin_ns;
    note_waits(sim, actor);
    emit_waited(sim, actor, op, name);
    if (op->kind == OP_WAIT)
        actor->request_first += actor->wait_count;
    else
        actor->request_count -= actor->wait_count;
    if (actor->request_first == actor->request_count)
        actor->request_first = actor->request_count = 0;
    actor_go_on(sim, actor);
}

static void wait_begin(struct sim *sim, struct actor *actor, size_t first, size_t count, int64_t cost_ns, uint32_t token)
{
    actor->begin_ns = actor->now.ns;
    actor->entered = actor->now;
    actor->token = token;
    actor->wait_first = first;
    actor->wait_count = count;
    actor->wait_cost_ns = cost_ns;
    actor->pending = 0;
    for (size_t i = 0; i < count; i++)
        actor->pending += !actor->requests[first + i].done;
    actor->waiting = WAIT_REQUESTS;
    if (!actor->pending)
        wait_over(sim, actor);
}

static void request_end(struct sim *sim, struct actor *actor, uint32_t number)
{
    struct request *request = &actor->requests[number];
    request->done = true;
    if (request->own_span)
        emit_posting(sim, actor, request);
    if (actor->waiting == WAIT_REQUESTS && number >= actor->wait_first && number < actor->wait_first + actor->wait_count && --actor->pending == 0)
        wait_over(sim, actor);
}

static void request_offer(struct request *request, struct moment cause, int64_t lag_ns, uint8_t rule)
{
    request->offers[request->count].cause = cause;
    request->offers[request->count].lag_ns = lag_ns;
    request->offers[request->count++].rule = rule;
}

static void match(struct sim *sim, uint32_t message_number, uint32_t receive_number)
{
    struct message *message = &sim->messages[message_number];
    struct receive *receive = &sim->receives[receive_number];
    struct actor *receiver = &sim->actors[receive->actor], *sender = &sim->actors[message->actor];
    struct request *request = &receiver->requests[receive->request];
    struct moment posted = request->posted, sent = message->sent;
    int64_t carry_ns = message->rendezvous ? transfer_ns(sim, message->bytes) : 0;
    request->peer = sent;
    request->message.from = message->from;
    request->message.tag = message->tag;
    request->message.bytes = message->bytes;
    request_offer(request, sent, message->arrival_ns - sent.ns + carry_ns + request->cost_ns / 2, RULE_MESSAGE);
    request_offer(request, posted, request->cost_ns + carry_ns, RULE_LANE);
    emit_link(sim, LINK_KIND_MESSAGE, message->token, request->token);
    if (request->message.any)
        decide(sim, (uint64_t)message->from << 32 ^ message->order);
    uint32_t receive_request = receive->request, send_request = message->rendezvous ? message->request : NOWHERE;
    if (send_request != NOWHERE) {
        struct request *sending = &sender->requests[send_request];
        sending->peer = posted;
        request_offer(sending, posted, request->cost_ns + carry_ns + sending->cost_ns, RULE_RENDEZVOUS);
        request_offer(sending, sent, message->arrival_ns - sent.ns + carry_ns + sending->cost_ns, RULE_LANE);
    }
    message->next = sim->free_message;
    sim->free_message = message_number;
    receive->next = sim->free_receive;
    sim->free_receive = receive_number;
    request_end(sim, receiver, receive_request);
    if (send_request != NOWHERE)
        request_end(sim, sender, send_request);
}

static bool fits(const struct message *message, const struct receive *receive)
{
    return (receive->from == ANY || receive->from == message->from) && receive->tag == message->tag;
}

void mpi_arrive(struct sim *sim, uint32_t number)
{
    struct message *message = &sim->messages[number];
    struct rank *rank = &sim->ranks[message->to];
    for (uint32_t before = NOWHERE, at = rank->posted_first; at != NOWHERE; before = at, at = sim->receives[at].next) {
        if (!fits(message, &sim->receives[at]))
            continue;
        *(before == NOWHERE ? &rank->posted_first : &sim->receives[before].next) = sim->receives[at].next;
        if (rank->posted_last == at)
            rank->posted_last = before;
        match(sim, number, at);
        return;
    }
    message->next = NOWHERE;
    *(rank->arrived_last == NOWHERE ? &rank->arrived_first : &sim->messages[rank->arrived_last].next) = number;
    rank->arrived_last = number;
}

static void receive_post(struct sim *sim, struct actor *actor, int32_t from, int32_t tag, uint32_t request)
{
    struct rank *rank = &sim->ranks[actor->process];
    uint32_t number = sim->free_receive;
    if (number == NOWHERE)
        number = (uint32_t)APPEND(sim->receives, sim->receive_count, sim->receive_capacity);
    else
        sim->free_receive = sim->receives[number].next;
    sim->receives[number] = (struct receive){.actor = actor_number(sim, actor), .request = request, .from = from, .tag = tag, .next = NOWHERE};
    for (uint32_t before = NOWHERE, at = rank->arrived_first; at != NOWHERE; before = at, at = sim->messages[at].next) {
        if (!fits(&sim->messages[at], &sim->receives[number]))
            continue;
        *(before == NOWHERE ? &rank->arrived_first : &sim->messages[before].next) = sim->messages[at].next;
        if (rank->arrived_last == at)
            rank->arrived_last = before;
        match(sim, at, number);
        return;
    }
    *(rank->posted_last == NOWHERE ? &rank->posted_first : &sim->receives[rank->posted_last].next) = number;
    rank->posted_last = number;
}

static void message_start(struct sim *sim, struct actor *actor, int32_t to, int32_t tag, uint64_t bytes, bool rendezvous, uint32_t request, uint64_t order)
{
    uint32_t number = sim->free_message;
    if (number == NOWHERE)
        number = (uint32_t)APPEND(sim->messages, sim->message_count, sim->message_capacity);
    else
        sim->free_message = sim->messages[number].next;
    int64_t *channel_ns = &sim->ranks[to].channel_ns[actor->rank];
    int64_t arrival_ns = actor->now.ns + draw(sim, actor, sim->costs.inject_ns) + transfer_ns(sim, rendezvous ? 0 : bytes);
    if (arrival_ns <= *channel_ns)
        arrival_ns = *channel_ns + 1;
    *channel_ns = arrival_ns;
    sim->messages[number] = (struct message){
        .from = actor->rank, .to = to, .tag = tag, .bytes = bytes, .rendezvous = rendezvous, .sent = actor->now, .arrival_ns = arrival_ns,
        .token = actor->requests[request].token, .actor = actor_number(sim, actor), .request = request, .order = order};
    wake_add(sim, arrival_ns, 1, number);
}

static uint32_t send_post(struct sim *sim, struct actor *actor, const struct op *op, int32_t tag, uint32_t token, int64_t cost_ns)
{
    uint64_t bytes = (uint64_t)op->ns;
    bool rendezvous = (op->flags & OP_SYNCHRONOUS) || bytes > sim->costs.eager_bytes;
    uint32_t number = request_add(actor, SPAN_KIND_SEND, token, cost_ns);
    struct request *request = &actor->requests[number];
    request->message = (struct payload_message){.to = op->a, .tag = tag, .bytes = bytes, .synchronous = op->flags & OP_SYNCHRONOUS};
    request->message.order = actor->orders;
    request->own_span = op->flags & OP_NONBLOCKING;
    request->done = !rendezvous;
    message_start(sim, actor, op->a, tag, bytes, rendezvous, number, actor->orders);
    return number;
}

static uint32_t receive_request(struct sim *sim, struct actor *actor, int32_t from, bool nonblocking, uint32_t token)
{
    uint32_t number = request_add(actor, SPAN_KIND_RECV, token, draw(sim, actor, sim->costs.receive_ns));
    actor->requests[number].own_span = nonblocking;
    actor->requests[number].message = (struct payload_message){.order = actor->orders, .any = from == ANY};
    return number;
}

/* The end of a call that only posts. */
static void posting_over(struct sim *sim, struct actor *actor, uint16_t name)
{
    int64_t begin_ns = actor->now.ns;
    actor_advance(sim, actor, draw(sim, actor, sim->costs.post_ns), name);
    actor->mpi_ns += actor->now.ns - begin_ns;
}

void mpi_send(struct sim *sim, struct actor *actor, const struct op *op)
{
    uint32_t token = token_new(sim);
    bool nonblocking = op->flags & OP_NONBLOCKING;
    actor->orders++;
    int64_t cost_ns = draw(sim, actor, sim->costs.send_ns);
    uint32_t number = send_post(sim, actor, op, op->b, token, nonblocking ? 0 : cost_ns / 4);
    if (!nonblocking) {
        wait_begin(sim, actor, number, 1, cost_ns, token);
        return;
    }
    posting_over(sim, actor, NAME_ISEND);
    actor->requests[number].end_ns = actor->now.ns;
    if (actor->requests[number].done) {
        emit_posting(sim, actor, &actor->requests[number]);
        actor->requests[number].own_span = false;
    }
    actor_go_on(sim, actor);
}

void mpi_receive(struct sim *sim, struct actor *actor, const struct op *op)
{
    uint32_t token = token_new(sim);
    bool nonblocking = op->flags & OP_NONBLOCKING;
    actor->orders++;
    uint32_t number = receive_request(sim, actor, op->a, nonblocking, token);
    if (!nonblocking) {
        int64_t cost_ns = actor->requests[number].cost_ns;
        actor->waiting = WAIT_NOTHING;
        receive_post(sim, actor, op->a, op->b, number);
        wait_begin(sim, actor, number, 1, cost_ns, token);
        return;
    }
    /* Its span's end has to be known before a message that is there already ends the request. */
    uint64_t draws = actor->draws;
    actor->requests[number].end_ns = actor->now.ns + draw(sim, actor, sim->costs.post_ns);
    actor->draws = draws;
    receive_post(sim, actor, op->a, op->b, number);
    posting_over(sim, actor, NAME_IRECV);
    actor_go_on(sim, actor);
}

void mpi_sendrecv(struct sim *sim, struct actor *actor, const struct op *op)
{
    uint32_t token = token_new(sim);
    actor->orders++;
    int64_t cost_ns = draw(sim, actor, sim->costs.send_ns);
    uint32_t first = send_post(sim, actor, op, 9, token, cost_ns / 4);
    uint32_t second = receive_request(sim, actor, op->b, false, token);
    receive_post(sim, actor, op->b, 9, second);
    wait_begin(sim, actor, first, 2, cost_ns, token);
}

void mpi_wait(struct sim *sim, struct actor *actor, const struct op *op)
{
    size_t open = actor->request_count - actor->request_first, count = (size_t)op->a < open ? (size_t)op->a : open;
    wait_begin(sim, actor, actor->request_first, count, draw(sim, actor, sim->costs.wait_ns), token_new(sim));
}
