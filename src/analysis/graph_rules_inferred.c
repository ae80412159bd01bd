/* SPDX-License-Identifier: MIT */
/*
 * The same edges without the identities that collectors recorded: messages by channel and order in time, collectives by communicator and
 * their number, forks by what region was open, barriers by their number in it, launches by their number. It is what can be done for a trace that has no links; run on traces that
 * have, it tells how often such reasoning is right (docs/edge-precision.md).
 */
#include "base/array.h"
#include "base/error.h"
#include "graph_mpi.h"
#include "send_limits.h"

#include <errno.h>

#define KIND(kind) (UINT64_C(1) << SPAN_KIND_##kind)
#define COMPARE(left, right) (((left) > (right)) - ((left) < (right)))

/* Something that belongs to what has the same key: the n-th of one side to the n-th of the other, in the order of time. */
struct item {
    uint64_t key;
    int64_t time_ns;
    uint32_t span, side; /* side: a message's end, a collective's or a barrier's member */
    uint64_t bytes;
};
struct items {
    struct item *rows;
    size_t count, capacity;
};

struct inferred {
    struct graph_rules *rules;
    struct mpi_rules mpi;
    struct items messages, sized, collectives;
    struct items regions, parts, barriers, launches;
    struct send_limits limits;
};

static int item_add(struct items *items, const struct item *fresh)
{
    struct item *rows = array_reserve(items->rows, &items->capacity, items->count + 1, sizeof *rows);
    if (!rows)
        return -ENOMEM;
    items->rows = rows;
    rows[items->count++] = *fresh;
    return 0;
}

static int by_key(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    int order = COMPARE(a->key, b->key);
    order = order ? order : COMPARE(a->side, b->side);
    order = order ? order : COMPARE(a->time_ns, b->time_ns);
    return order ? order : COMPARE(a->span, b->span);
}

static void items_sort(struct items *items)
{
    if (items->count)
        qsort(items->rows, items->count, sizeof *items->rows, by_key);
}

static uint32_t process_of(const struct graph_rules *rules, track_id track)
{
    uint32_t count;
    return trace_tracks(rules->trace, &count)[track.index].process.index;
}

static int32_t rank_of(const struct graph_rules *rules, track_id track)
{
    uint32_t count, process = process_of(rules, track);
    return trace_processes(rules->trace, &count)[process].rank;
}

static bool has(const struct payload *payload, unsigned field)
{
    return payload->present >> field & 1;
}

/* One end of a message: by all that tells a channel, and by what a poorer record would have, its ends and size. */
static int add_end(struct inferred *inferred, const struct graph_row *row, bool receive, int64_t source, int64_t destination, const struct payload *payload)
{
    unsigned tag = receive ? FIELD_MESSAGE_receive_tag : FIELD_MESSAGE_send_tag, bytes = receive ? FIELD_MESSAGE_receive_bytes : FIELD_MESSAGE_send_bytes;
    if (source < 0 || destination < 0 || !has(payload, tag) || !has(payload, bytes) || !has(payload, FIELD_MESSAGE_comm))
        return 0;
    uint64_t size = payload->fields[bytes].u64, ends = hash_u64((uint64_t)source << 32 | (uint32_t)destination);
    struct item item = {.key = hash_u64(ends ^ hash_u64(payload->fields[FIELD_MESSAGE_comm].u64 ^ hash_u64((uint64_t)payload->fields[tag].i64))),
                        .time_ns = row->block->begin_ns[row->row], .span = row->span.index, .side = receive, .bytes = size};
    int code = item_add(&inferred->messages, &item);
    item.key = ends ^ hash_u64(size);
    return code ? code : item_add(&inferred->sized, &item);
}

static int note_message(void *context, const struct graph_row *row)
{
    struct inferred *inferred = context;
    struct payload payload;
    int64_t rank = rank_of(inferred->rules, row->block->info.track);
    if (span_payload(row->block, row->row, &payload) != 0 || payload.kind != PAYLOAD_MESSAGE ||
        (has(&payload, FIELD_MESSAGE_cancelled) && payload.fields[FIELD_MESSAGE_cancelled].u64))
        return 0;
    int code = 0;
    if (has(&payload, FIELD_MESSAGE_send_to))
        code = add_end(inferred, row, false, rank, payload.fields[FIELD_MESSAGE_send_to].i64, &payload);
    if (code == 0 && has(&payload, FIELD_MESSAGE_receive_from))
        code = add_end(inferred, row, true, payload.fields[FIELD_MESSAGE_receive_from].i64, rank, &payload);
    return code;
}

static struct sent_message sent_message(const struct mpi_rules *mpi, const struct item *send, const struct item *receive)
{
    struct sent_message sent;
    mpi_sent_message(mpi, (span_id){send->span}, (span_id){receive->span}, &sent);
    sent.bytes = send->bytes;
    sent.mode = SENT_STANDARD; /* nobody tells */
    return sent;
}

static int pair_edges(struct inferred *inferred, const struct item *send, const struct item *receive, bool sized)
{
    struct mpi_rules *mpi = &inferred->mpi;
    const struct mpi_fact *from = mpi_fact_of(mpi, (span_id){send->span}), *to = mpi_fact_of(mpi, (span_id){receive->span});
    enum edge_rule rule = sized ? EDGE_RULE_TIME : EDGE_RULE_MESSAGE;
    uint32_t begin = graph_rules_begin(mpi->rules, (span_id){send->span}), posted = graph_rules_begin(mpi->rules, (span_id){receive->span});
    uint64_t nodes = graph_rules_nodes(mpi->rules, begin, posted);
    int code = graph_rules_edge(mpi->rules, begin, mpi_completion(mpi, to), rule, sized ? CONFIDENCE_MEDIUM : CONFIDENCE_HIGH,
                                graph_rules_class(rule, nodes, send->bytes + 1));
    if (sized || code || from == to)
        return code;
    const struct sent_message sent = sent_message(mpi, send, receive);
    return send_limits_look(&inferred->limits, &sent);
}

/* Whether a message waited for its receive, its mode unknown. */
static int send_edge(struct inferred *inferred, const struct item *send, const struct item *receive)
{
    struct mpi_rules *mpi = &inferred->mpi;
    const struct sent_message sent = sent_message(mpi, send, receive);
    enum confidence confidence = CONFIDENCE_HIGH;
    if (sent.sender == UINT32_MAX || !mpi_send_waits(&inferred->limits, &sent, &confidence))
        return 0;
    return graph_rules_edge(mpi->rules, graph_rules_begin(mpi->rules, (span_id){receive->span}),
                            graph_rules_end(mpi->rules, (span_id){sent.sender}), EDGE_RULE_LARGE_SEND, confidence,
                            graph_rules_class(EDGE_RULE_LARGE_SEND, sent.nodes, send->bytes + 1));
}

enum pairing { PAIR_CHANNEL, PAIR_SIZE, PAIR_AGAIN, PAIR_SENDS };

static int pair(struct inferred *inferred, const struct item *send, const struct item *receive, enum pairing pairing)
{
    if (pairing == PAIR_SENDS)
        return send_edge(inferred, send, receive);
    if (pairing != PAIR_AGAIN)
        return pair_edges(inferred, send, receive, pairing == PAIR_SIZE);
    const struct sent_message sent = sent_message(&inferred->mpi, send, receive);
    send_limits_look_again(&inferred->limits, &sent);
    return 0;
}

/* Sends come before receives of one key; the n-th goes with the n-th. */
static int pair_messages(struct inferred *inferred, struct items *items, enum pairing pairing)
{
    int code = 0;
    for (size_t first = 0, middle, end; first < items->count && code == 0; first = end) {
        uint64_t key = items->rows[first].key;
        for (middle = first; middle < items->count && items->rows[middle].key == key && !items->rows[middle].side;)
            middle++;
        for (end = middle; end < items->count && items->rows[end].key == key;)
            end++;
        for (size_t i = 0; first + i < middle && middle + i < end && code == 0; i++)
            code = pair(inferred, &items->rows[first + i], &items->rows[middle + i], pairing);
    }
    return code;
}

/* The collectives of a process on a communicator, in order of time: their number is what MPI says it has to be. */
static int note_collective(void *context, const struct graph_row *row)
{
    struct inferred *inferred = context;
    struct mpi_fact *fact = mpi_fact_of(&inferred->mpi, row->span);
    if (!fact || !fact->comm || (fact->op != MPI_OP_BARRIER && fact->op != MPI_OP_ALL))
        return 0;
    return item_add(&inferred->collectives, &(struct item){.key = fact->comm, .time_ns = row->block->begin_ns[row->row], .span = row->span.index,
                                                           .side = process_of(inferred->rules, row->block->info.track),
                                                           .bytes = !string_is(fact->no_data_from, STRING_NONE)});
}

/* Members of the n-th call each: keys become those of the calls. */
static void number_items(struct items *items)
{
    uint64_t number = 0, key_before = 0;
    items_sort(items);
    for (size_t i = 0; i < items->count; i++) {
        struct item *item = &items->rows[i];
        bool goes_on = i > 0 && key_before == item->key && items->rows[i - 1].side == item->side;
        number = goes_on ? number + 1 : 0;
        key_before = item->key;
        item->key = hash_u64(item->key ^ hash_u64(number + 1));
    }
    items_sort(items);
}

/* Where a member comes, and where it is let go. */
static uint32_t entry_of(const struct inferred *inferred, const struct item *member, enum edge_rule rule)
{
    const span_id span = {member->span};
    return rule == EDGE_RULE_BARRIER ? graph_rules_end(inferred->rules, span) - 1 : graph_rules_begin(inferred->rules, span);
}

static uint32_t exit_of(const struct inferred *inferred, const struct item *member, enum edge_rule rule)
{
    const span_id span = {member->span};
    return rule == EDGE_RULE_BARRIER ? graph_rules_end(inferred->rules, span) : mpi_completion(&inferred->mpi, mpi_fact_of(&inferred->mpi, span));
}

static int join_group(struct inferred *inferred, const struct item *first, size_t count, enum edge_rule rule)
{
    struct graph_rules *rules = inferred->rules;
    uint32_t join, class = graph_rules_class(rule, count, 0);
    if (count < 2)
        return 0;
    int code = graph_builder_add_join(rules->builder, &join);
    for (size_t i = 0; i < count && code == 0; i++)
        code = graph_rules_edge(rules, entry_of(inferred, &first[i], rule), join, rule, CONFIDENCE_HIGH, class);
    for (size_t i = 0; i < count && code == 0; i++) /* who gets nothing from some is not let go by all */
        code = first[i].bytes ? 0 : graph_rules_edge(rules, join, exit_of(inferred, &first[i], rule), rule, CONFIDENCE_HIGH, class);
    return code;
}

static int join_groups(struct inferred *inferred, const struct items *items, enum edge_rule rule)
{
    int code = 0;
    for (size_t first = 0, end; first < items->count && code == 0; first = end) {
        for (end = first + 1; end < items->count && items->rows[end].key == items->rows[first].key;)
            end++;
        code = join_group(inferred, &items->rows[first], end - first, rule);
    }
    return code;
}

static int note_region(void *context, const struct graph_row *row)
{
    struct inferred *inferred = context;
    uint8_t kind = inferred->rules->kind[row->span.index];
    struct items *items = kind == SPAN_KIND_PARALLEL ? &inferred->regions : kind == SPAN_KIND_BARRIER ? &inferred->barriers : &inferred->parts;
    return item_add(items, &(struct item){.key = process_of(inferred->rules, row->block->info.track), .time_ns = row->block->begin_ns[row->row],
                                          .span = row->span.index, .side = 0});
}

/* The latest region that was open then; `ret_alone`: no other one was. UINT32_MAX: none. */
static uint32_t open_region(const struct inferred *inferred, uint64_t process, int64_t time_ns, bool *ret_alone)
{
    const struct items *regions = &inferred->regions;
    size_t low = 0, high = regions->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct item *region = &regions->rows[middle];
        if (region->key < process || (region->key == process && region->time_ns <= time_ns))
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t found = UINT32_MAX;
    *ret_alone = true;
    for (size_t i = low, looks = 0; i-- > 0 && regions->rows[i].key == process && looks < 64; looks++) {
        if (graph_rules_end_ns(inferred->rules, (span_id){regions->rows[i].span}) < time_ns)
            continue;
        *ret_alone &= found == UINT32_MAX;
        found = found == UINT32_MAX ? regions->rows[i].span : found;
    }
    return found;
}

static int fork_edges(struct inferred *inferred)
{
    struct graph_rules *rules = inferred->rules;
    int code = 0;
    for (size_t i = 0; i < inferred->parts.count && code == 0; i++) {
        const struct item *part = &inferred->parts.rows[i];
        bool alone;
        uint32_t region = open_region(inferred, part->key, part->time_ns, &alone), to = graph_rules_begin(rules, (span_id){part->span});
        if (region == UINT32_MAX)
            continue;
        uint32_t from = graph_rules_begin(rules, (span_id){region});
        if (graph_rules_lane(rules, from) == graph_rules_lane(rules, to))
            continue;
        code = graph_rules_edge(rules, from, to, EDGE_RULE_FORK, alone ? CONFIDENCE_HIGH : CONFIDENCE_LOW, graph_rules_class(EDGE_RULE_FORK, 0, 0));
    }
    return code;
}

/* A barrier belongs to the region that was open when it began, if only one was; its number counts by thread. */
static int barrier_edges(struct inferred *inferred)
{
    struct graph_rules *rules = inferred->rules;
    size_t kept = 0;
    for (size_t i = 0; i < inferred->barriers.count; i++) {
        struct item barrier = inferred->barriers.rows[i];
        bool alone;
        uint32_t region = open_region(inferred, barrier.key, barrier.time_ns, &alone);
        if (region == UINT32_MAX || !alone)
            continue;
        barrier.key = (uint64_t)region + 1;
        barrier.side = graph_rules_lane(rules, graph_rules_begin(rules, (span_id){barrier.span}));
        inferred->barriers.rows[kept++] = barrier;
    }
    inferred->barriers.count = kept;
    number_items(&inferred->barriers);
    return join_groups(inferred, &inferred->barriers, EDGE_RULE_BARRIER);
}

static int infer_mpi(struct inferred *inferred, struct error *err)
{
    struct graph_rules *rules = inferred->rules;
    int code = mpi_facts_gather(&inferred->mpi, err);
    if (code == 0)
        code = graph_rules_each_span(rules, KIND(SEND) | KIND(RECV), true, note_message, inferred, err);
    if (code == 0)
        code = graph_rules_each_span(rules, KIND(COLLECTIVE), true, note_collective, inferred, err);
    if (code)
        return code;
    items_sort(&inferred->messages);
    items_sort(&inferred->sized);
    code = pair_messages(inferred, &inferred->messages, PAIR_CHANNEL);
    if (code == 0)
        code = pair_messages(inferred, &inferred->messages, PAIR_AGAIN);
    if (code == 0)
        code = send_limits_decide(&inferred->limits);
    if (code == 0)
        code = pair_messages(inferred, &inferred->messages, PAIR_SENDS);
    if (code == 0)
        code = pair_messages(inferred, &inferred->sized, PAIR_SIZE);
    number_items(&inferred->collectives);
    return code ? code : join_groups(inferred, &inferred->collectives, EDGE_RULE_COLLECTIVE);
}

static int infer_openmp(struct inferred *inferred, struct error *err)
{
    int code = graph_rules_each_span(inferred->rules, KIND(PARALLEL) | KIND(IMPLICIT_TASK) | KIND(BARRIER), false, note_region, inferred, err);
    items_sort(&inferred->regions);
    items_sort(&inferred->parts);
    if (code == 0)
        code = fork_edges(inferred);
    return code ? code : barrier_edges(inferred);
}

/* A process' launches, and what its devices ran of kernels. */
static int note_launch(void *context, const struct graph_row *row)
{
    struct inferred *inferred = context;
    uint32_t count;
    bool on_device = trace_tracks(inferred->rules->trace, &count)[row->block->info.track.index].kind == TRACK_KIND_STREAM;
    if (on_device != (inferred->rules->kind[row->span.index] == SPAN_KIND_KERNEL))
        return 0;
    return item_add(&inferred->launches, &(struct item){.key = process_of(inferred->rules, row->block->info.track), .time_ns = row->block->begin_ns[row->row],
                                                        .span = row->span.index, .side = on_device});
}

/* The n-th launch of a process goes with the n-th kernel, where there are as many: several queues may overtake each other. */
static int launch_edges(struct inferred *inferred)
{
    struct graph_rules *rules = inferred->rules;
    const struct items *items = &inferred->launches;
    int code = 0;
    for (size_t first = 0, middle, end; first < items->count && code == 0; first = end) {
        uint64_t key = items->rows[first].key;
        for (middle = first; middle < items->count && items->rows[middle].key == key && !items->rows[middle].side;)
            middle++;
        for (end = middle; end < items->count && items->rows[end].key == key;)
            end++;
        enum confidence confidence = middle - first == end - middle ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
        for (size_t i = 0; first + i < middle && middle + i < end && code == 0; i++)
            code = graph_rules_edge(rules, graph_rules_begin(rules, (span_id){items->rows[first + i].span}),
                                    graph_rules_begin(rules, (span_id){items->rows[middle + i].span}), EDGE_RULE_LAUNCH, confidence,
                                    graph_rules_class(EDGE_RULE_LAUNCH, 0, 0));
    }
    return code;
}

static int infer_devices(struct inferred *inferred, struct error *err)
{
    int code = graph_rules_each_span(inferred->rules, KIND(LAUNCH) | KIND(KERNEL), false, note_launch, inferred, err);
    items_sort(&inferred->launches);
    return code ? code : launch_edges(inferred);
}

int graph_rules_inferred(struct graph_rules *rules, struct error *err)
{
    struct inferred inferred = {.rules = rules, .mpi = {.rules = rules}};
    send_limits_init(&inferred.limits);
    int code = infer_mpi(&inferred, err);
    if (code == 0)
        code = infer_openmp(&inferred, err);
    if (code == 0)
        code = infer_devices(&inferred, err);
    struct items *const all[] = {&inferred.messages, &inferred.sized, &inferred.collectives, &inferred.regions, &inferred.parts, &inferred.barriers, &inferred.launches};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]->rows);
    send_limits_finish(&inferred.limits);
    mpi_facts_finish(&inferred.mpi);
    return code < 0 && !err->text[0] ? error_set_errno(err, code, "edges from time") : code;
}
