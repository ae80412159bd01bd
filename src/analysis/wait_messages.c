/* SPDX-License-Identifier: MIT */
/*
 * Waits for messages. Each matched message may have held up its receive (until the send began) or its send (until the receive was
 * posted); a call that waits for several (MPI_Waitall, MPI_Sendrecv) waited for the latest, MPI_Waitsome and MPI_Waitany for the earliest.
 */
#include "send_limits.h"
#include "wait_internal.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <string.h>

/* What may have released a call. */
struct release {
    uint32_t call, cause;
    int64_t time_ns;
    uint8_t pattern, confidence;
};

struct message {
    uint64_t bytes;
    uint32_t send, receive, call, sender; /* call, sender: in which the receive and the send ended */
    uint8_t confidence, mode;             /* mode: enum sent_mode */
    bool waits, sender_waits;             /* somebody waited in those calls */
};

/* By receiving call, from the last: the earliest send among the messages that are received after it on the same lane. */
struct later {
    int64_t sent_ns;
    uint32_t send;
};

struct matching {
    struct wait_building *building;
    struct message *messages;
    struct later *later;
    size_t count;
    struct release *releases;
    size_t release_count, release_capacity;
    struct send_limits limits;
};

#define COMPARE(left, right) (((left) > (right)) - ((left) < (right)))

static int by_call(const void *left, const void *right)
{
    const struct message *a = left, *b = right;
    int order = COMPARE(a->call, b->call);
    order = order ? order : COMPARE(a->receive, b->receive);
    return order ? order : COMPARE(a->send, b->send);
}

static int by_call_and_time(const void *left, const void *right)
{
    const struct release *a = left, *b = right;
    int order = COMPARE(a->call, b->call);
    order = order ? order : COMPARE(a->time_ns, b->time_ns);
    return order ? order : COMPARE(a->cause, b->cause);
}

static int read_messages(struct matching *matching)
{
    struct wait_building *building = matching->building;
    size_t count = 0;
    for (size_t i = 0; i < building->link_count; i++)
        count += building->links[i].kind == LINK_KIND_MESSAGE;
    matching->messages = array_resize_exact(NULL, count + 1, sizeof *matching->messages);
    matching->later = array_resize_exact(NULL, count + 1, sizeof *matching->later);
    if (!matching->messages || !matching->later)
        return -ENOMEM;
    for (size_t i = 0; i < building->link_count; i++) {
        const struct trace_link *link = &building->links[i];
        if (link->kind != LINK_KIND_MESSAGE)
            continue;
        struct message *message = &matching->messages[matching->count++];
        *message = (struct message){.send = link->from.index, .receive = link->to.index, .confidence = (uint8_t)link->confidence};
        message->waits = wait_call_of(building, message->receive, &message->call);
        message->sender_waits = wait_call_of(building, message->send, &message->sender);
    }
    qsort(matching->messages, matching->count, sizeof *matching->messages, by_call);
    return 0;
}

/* later[i]: over all messages behind i with another call of the same lane. */
static void find_later(struct matching *matching)
{
    const struct span_table *table = matching->building->table;
    struct later ahead = {INT64_MAX, ID_NONE}, behind = ahead; /* ahead: incl. those of the current call */
    for (size_t i = matching->count; i-- > 0;) {
        const struct message *message = &matching->messages[i];
        bool last = i + 1 == matching->count;
        if (last || table->track[message->call] != table->track[message[1].call])
            ahead = behind = (struct later){INT64_MAX, ID_NONE};
        else if (message->call != message[1].call)
            behind = ahead;
        matching->later[i] = behind;
        if (table->begin_ns[message->send] < ahead.sent_ns)
            ahead = (struct later){table->begin_ns[message->send], message->send};
    }
}

static int release_add(struct matching *matching, const struct release *release)
{
    struct release *releases =
        array_reserve(matching->releases, &matching->release_capacity, matching->release_count + 1, sizeof *releases);
    if (!releases)
        return -ENOMEM;
    matching->releases = releases;
    releases[matching->release_count++] = *release;
    return 0;
}

static int read_mode(struct wait_building *building, struct message *message)
{
    struct payload payload;
    int result = span_table_payload(building->table, message->send, &payload, building->err);
    if (result < 0 || payload.kind != PAYLOAD_MESSAGE)
        return result;
    payload_field(&payload, FIELD_MESSAGE_send_bytes, &message->bytes);
    bool told = payload.present >> FIELD_MESSAGE_mode & 1; /* MPI_Sendrecv has none: standard */
    const char *mode = told ? trace_text(building->trace, payload.fields[FIELD_MESSAGE_mode].string) : "standard";
    message->mode = strcmp(mode, "standard") == 0 ? SENT_STANDARD : strcmp(mode, "synchronous") == 0 ? SENT_SYNCHRONOUS : SENT_OTHERWISE;
    return 0;
}

/* In the order of the sends, as their payloads are read block by block. */
static int read_modes(struct matching *matching)
{
    struct wait_building *building = matching->building;
    uint32_t span_count = building->table->count;
    CLEANUP(freep) uint32_t *of_send = malloc(((size_t)span_count + 1) * sizeof *of_send);
    int result = of_send ? 0 : -ENOMEM;
    for (uint32_t span = 0; of_send && span < span_count; span++)
        of_send[span] = ID_NONE;
    for (size_t i = 0; of_send && i < matching->count; i++)
        of_send[matching->messages[i].send] = (uint32_t)i;
    for (uint32_t span = 0; span < span_count && result == 0; span++)
        if (of_send[span] != ID_NONE)
            result = read_mode(building, &matching->messages[of_send[span]]);
    return result;
}

static uint64_t node_of(const struct matching *matching, uint32_t span)
{
    uint32_t count;
    const struct trace_process *processes = trace_processes(matching->building->trace, &count);
    const struct span_table *table = matching->building->table;
    return processes[table->tracks[table->track[span]].process.index].node.index;
}

static struct sent_message sent_message(const struct matching *matching, const struct message *message)
{
    const struct span_table *table = matching->building->table;
    return (struct sent_message){
        .nodes = node_of(matching, message->send) << 32 | node_of(matching, message->receive),
        .bytes = message->bytes,
        .sent_ns = table->begin_ns[message->send],
        .posted_ns = table->begin_ns[message->receive],
        .gone_ns = message->sender_waits || message->sender != message->send ? table->end_ns[message->sender] : INT64_MAX,
        .came_ns = message->waits ? table->end_ns[message->call] : INT64_MAX,
        .waits_ns = table->begin_ns[message->sender],
        .sender = message->sender_waits && message->send != message->receive ? message->sender : UINT32_MAX,
        .receiver = message->waits ? message->call : UINT32_MAX,
        .mode = message->mode,
    };
}

/* Up to which size sends are taken over before anybody receives them. Of no interest where none was held up. */
static int find_limits(struct matching *matching)
{
    bool held = false;
    for (size_t i = 0; i < matching->count && !held; i++) {
        const struct sent_message sent = sent_message(matching, &matching->messages[i]);
        held = sent_message_overlaps(&sent);
    }
    int result = held ? read_modes(matching) : 0;
    for (size_t i = 0; held && i < matching->count && result == 0; i++) {
        const struct sent_message sent = sent_message(matching, &matching->messages[i]);
        result = send_limits_look(&matching->limits, &sent);
    }
    for (size_t i = 0; held && i < matching->count && result == 0; i++) {
        const struct sent_message sent = sent_message(matching, &matching->messages[i]);
        send_limits_look_again(&matching->limits, &sent);
    }
    return result ? result : send_limits_decide(&matching->limits);
}

/* A send that was not over when its receive was posted may have waited for it. */
static int send_release(struct matching *matching, const struct message *message)
{
    const struct sent_message sent = sent_message(matching, message);
    if (!sent_message_overlaps(&sent) || sent.mode == SENT_OTHERWISE)
        return 0;
    struct release release = {.call = message->sender, .cause = message->receive, .time_ns = sent.posted_ns, .pattern = WAIT_LATE_RECEIVER,
                              .confidence = message->confidence};
    if (sent.mode == SENT_STANDARD) {
        enum send_hold hold = send_limits_hold(&matching->limits, sent.nodes, sent.bytes);
        if (hold == SEND_FREE)
            return 0;
        release.confidence = hold == SEND_HELD ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM;
    }
    return release_add(matching, &release);
}

static int find_releases(struct matching *matching)
{
    const struct span_table *table = matching->building->table;
    for (size_t i = 0; i < matching->count; i++) {
        const struct message *message = &matching->messages[i];
        int64_t sent_ns = table->begin_ns[message->send];
        struct release release = {.call = message->call, .cause = message->send, .time_ns = sent_ns, .pattern = WAIT_LATE_SENDER,
                                  .confidence = message->confidence};
        if (message->waits && sent_ns > table->end_ns[message->call])
            matching->building->out->backward++;
        else if (message->waits && release_add(matching, &release) < 0)
            return -ENOMEM;
        int result = send_release(matching, message);
        if (result < 0)
            return result;
    }
    if (matching->release_count)
        qsort(matching->releases, matching->release_count, sizeof *matching->releases, by_call_and_time);
    return 0;
}

static const struct later *later_of(const struct matching *matching, uint32_t call)
{
    size_t low = 0, high = matching->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (matching->messages[middle].call <= call)
            low = middle + 1;
        else
            high = middle;
    }
    return low && matching->messages[low - 1].call == call ? &matching->later[low - 1] : NULL;
}

/* A wait for a message, cut where one that is received later was there already. */
static int add_late_sender(struct matching *matching, struct wait_state *state)
{
    const struct span_table *table = matching->building->table;
    const struct later *later = later_of(matching, state->span.index);
    int64_t end_ns = state->begin_ns + state->time_ns;
    if (!later || later->sent_ns >= end_ns)
        return wait_add(matching->building, state);
    struct wait_state wrong = *state;
    if (later->sent_ns > wrong.begin_ns)
        wrong.begin_ns = later->sent_ns;
    wrong.time_ns = end_ns - wrong.begin_ns;
    wrong.pattern = table->track[later->send] == state->cause_lane.index ? WAIT_WRONG_ORDER_SAME : WAIT_WRONG_ORDER_OTHER;
    state->time_ns -= wrong.time_ns;
    int result = wait_add(matching->building, state);
    return result ? result : wait_add(matching->building, &wrong);
}

static int add_wait(struct matching *matching, const struct release *release)
{
    const struct span_table *table = matching->building->table;
    uint32_t call = release->call;
    struct wait_state state = {.span = {call}, .lane = {table->track[call]}, .cause = {release->cause}, .cause_lane = {table->track[release->cause]},
                               .begin_ns = table->begin_ns[call], .time_ns = release->time_ns - table->begin_ns[call],
                               .pattern = release->pattern, .confidence = release->confidence};
    if (state.time_ns <= 0)
        return 0;
    return state.pattern == WAIT_LATE_SENDER ? add_late_sender(matching, &state) : wait_add(matching->building, &state);
}

static bool ends_with_one(const struct wait_building *building, uint32_t call)
{
    const char *name = wait_span_name(building, call);
    return strcmp(name, "MPI_Waitsome") == 0 || strcmp(name, "MPI_Waitany") == 0;
}

static int add_waits(struct matching *matching)
{
    int result = 0;
    for (size_t first = 0, next; first < matching->release_count && result == 0; first = next) {
        const struct release *releases = matching->releases;
        for (next = first + 1; next < matching->release_count && releases[next].call == releases[first].call;)
            next++;
        bool earliest = ends_with_one(matching->building, releases[first].call);
        result = add_wait(matching, &releases[earliest ? first : next - 1]);
    }
    return result;
}

/* Who received a message knows that its sender came so far. */
static int add_steps(struct matching *matching)
{
    struct wait_building *building = matching->building;
    const struct span_table *table = building->table;
    int result = 0;
    for (size_t i = 0; i < matching->count && result == 0; i++) {
        const struct message *message = &matching->messages[i];
        uint32_t event = building->event_count++;
        result = wait_add_step(building, table->track[message->send], event, table->end_ns[message->send]);
        if (result == 0 && message->waits)
            result = wait_add_step(building, table->track[message->call], event, table->end_ns[message->call]);
    }
    return result;
}

/* A blocking probe waits for the message that the next receive of its source and tag takes. */
static int probe_release(struct matching *matching, uint32_t probe)
{
    struct wait_building *building = matching->building;
    const struct span_table *table = building->table;
    struct payload wanted, found;
    enum { LOOKS = 32 };
    int result = span_table_payload(building->table, probe, &wanted, building->err);
    size_t low = 0, high = matching->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (matching->messages[middle].call < probe)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; result == 0 && i < matching->count && i < low + LOOKS; i++) {
        const struct message *message = &matching->messages[i];
        if (table->track[message->receive] != table->track[probe])
            break;
        result = span_table_payload(building->table, message->receive, &found, building->err);
        uint64_t source = 0, tag = 0, other_source = 1, other_tag = 1;
        if (result < 0 || !payload_field(&wanted, FIELD_MESSAGE_receive_from, &source) || !payload_field(&wanted, FIELD_MESSAGE_receive_tag, &tag))
            return result;
        payload_field(&found, FIELD_MESSAGE_receive_from, &other_source);
        payload_field(&found, FIELD_MESSAGE_receive_tag, &other_tag);
        if (message->receive < probe || source != other_source || tag != other_tag)
            continue;
        struct release release = {.call = probe, .cause = message->send, .time_ns = table->begin_ns[message->send],
                                  .pattern = WAIT_LATE_SENDER, .confidence = CONFIDENCE_HIGH};
        return release.time_ns > table->end_ns[probe] ? 0 : release_add(matching, &release);
    }
    return result;
}

static int find_probes(struct matching *matching)
{
    struct wait_building *building = matching->building;
    const struct span_table *table = building->table;
    int result = 0;
    for (uint32_t span = 0; span < table->count && result == 0; span++)
        if (table->kind[span] == SPAN_KIND_PROBE && backend_of(&building->backends, table->category[span]) == BACKEND_MPI &&
            strncmp(wait_span_name(building, span), "MPI_I", 5) != 0)
            result = probe_release(matching, span);
    return result;
}

int wait_find_messages(struct wait_building *building)
{
    struct matching matching = {.building = building};
    send_limits_init(&matching.limits);
    int result = read_messages(&matching);
    if (result == 0) {
        find_later(&matching);
        result = find_limits(&matching);
    }
    if (result == 0)
        result = find_probes(&matching);
    if (result == 0)
        result = find_releases(&matching);
    if (result == 0)
        result = add_waits(&matching);
    if (result == 0)
        result = add_steps(&matching);
    send_limits_finish(&matching.limits);
    free(matching.messages);
    free(matching.later);
    free(matching.releases);
    return result;
}
