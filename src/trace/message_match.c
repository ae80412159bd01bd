/* SPDX-License-Identifier: MIT */
/*
 * Ends are gathered with the number of their channel, 24 bytes each in blocks that never move; then counted out by channel
 * (a counting sort), so that all is linear but for channels whose ends did not come in their order. 10 million messages take
 * some 56 bytes each.
 */
#include "message_match.h"

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "message_posting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_ENDS 4096u
#define BYTES_UNKNOWN 0xffffffffu
#define NOBODY UINT32_MAX

enum side { SENDS, RECEIVES, SIDES };

struct end {
    int64_t time_ns;
    uint32_t channel, order, span;
    uint32_t bytes; /* folded to 32 bits: only compared */
};

struct channel {
    uint64_t comm;
    int32_t source, destination, tag;
    uint32_t process[SIDES], thread[SIDES];
    uint32_t count[SIDES], first[SIDES]; /* first: in the order of channels */
    bool threads;        /* several may have posted at once */
    bool mixed;          /* one side's ends are of several threads */
    bool ambiguous;
};

struct process {
    int32_t rank;
    bool finalized;
    struct postings postings;
};

struct store {
    struct end **blocks;
    size_t block_capacity;
    uint32_t count;
    uint32_t *order; /* numbers of ends, channel by channel, in order of posting within each */
};

struct message_match {
    struct process *processes;
    size_t process_count, process_capacity;
    struct channel *channels;
    size_t channel_count, channel_capacity;
    struct map channel_index;
    struct map ranks; /* rank -> process */
    struct store stores[SIDES];
    uint64_t *scratch; /* of one channel that is out of order */
    size_t scratch_capacity;
    struct message_counts counts;
};

const char *message_reason_text(enum message_reason reason)
{
    static const char *const texts[MESSAGE_REASONS_COUNT] = {
#define MESSAGE_REASON(enumerator, text) [MESSAGE_##enumerator] = text,
        MESSAGE_REASONS
#undef MESSAGE_REASON
    };
    return reason < MESSAGE_REASONS_COUNT ? texts[reason] : "";
}

struct message_match *message_match_create(void)
{
    return calloc(1, sizeof(struct message_match));
}

void message_match_destroy(struct message_match *match)
{
    if (!match)
        return;
    for (size_t i = 0; i < match->process_count; i++)
        postings_finish(&match->processes[i].postings);
    for (unsigned side = 0; side < SIDES; side++) {
        struct store *store = &match->stores[side];
        for (uint32_t i = 0; i < store->count; i += BLOCK_ENDS)
            free(store->blocks[i / BLOCK_ENDS]);
        free(store->blocks);
        free(store->order);
    }
    free(match->processes);
    free(match->channels);
    free(match->scratch);
    map_finish(&match->channel_index);
    map_finish(&match->ranks);
    free(match);
}

const struct message_counts *message_match_counts(const struct message_match *match)
{
    return &match->counts;
}

int message_match_add_process(struct message_match *match, int32_t rank, uint32_t *ret_process)
{
    struct process *processes =
        array_reserve(match->processes, &match->process_capacity, match->process_count + 1, sizeof *processes);
    if (!processes)
        return -ENOMEM;
    match->processes = processes;
    processes[match->process_count] = (struct process){.rank = rank};
    *ret_process = (uint32_t)match->process_count++;
    return 0;
}

void message_match_finalized(struct message_match *match, uint32_t process)
{
    match->processes[process].finalized = true;
}

int message_match_add_posting(struct message_match *match, uint32_t process, uint64_t order)
{
    return order < UINT32_MAX ? postings_add(&match->processes[process].postings, (uint32_t)order) : 0;
}

void message_match_leave_out(struct message_match *match, enum message_reason reason)
{
    match->counts.left_out[reason]++;
}

/* --- gathering ---------------------------------------------------------------------------------------------------- */

static bool channel_is(const struct channel *channel, const struct message_end *end)
{
    return channel->comm == end->comm && channel->source == end->source && channel->destination == end->destination &&
           channel->tag == end->tag;
}

static int channel_add(struct message_match *match, const struct message_end *end, uint64_t key, uint32_t *ret_channel)
{
    struct channel *channels =
        array_reserve(match->channels, &match->channel_capacity, match->channel_count + 1, sizeof *channels);
    if (!channels)
        return -ENOMEM;
    match->channels = channels;
    channels[match->channel_count] = (struct channel){
        .comm = end->comm, .source = end->source, .destination = end->destination, .tag = end->tag,
        .process = {NOBODY, NOBODY}, .thread = {NOBODY, NOBODY},
    };
    *ret_channel = (uint32_t)match->channel_count++;
    return map_set(&match->channel_index, key, *ret_channel);
}

/* Two channels may have one hash: then the later one stands under the next key. */
static int channel_of(struct message_match *match, const struct message_end *end, uint32_t *ret_channel)
{
    uint64_t peers = (uint64_t)(uint32_t)end->source << 32 | (uint32_t)end->destination, index;
    uint64_t key = hash_u64(hash_u64(end->comm ^ (uint64_t)(uint32_t)end->tag << 32) + hash_u64(peers));
    for (; map_get(&match->channel_index, key, &index); key++)
        if (channel_is(&match->channels[index], end)) {
            *ret_channel = (uint32_t)index;
            return 0;
        }
    return channel_add(match, end, key, ret_channel);
}

static void channel_note(struct channel *channel, const struct message_end *end, enum side side)
{
    channel->ambiguous |= channel->process[side] != NOBODY && channel->process[side] != end->process;
    channel->mixed |= channel->count[side] && channel->thread[side] != end->thread;
    channel->threads |= end->threads;
    channel->process[side] = end->process;
    channel->thread[side] = end->thread;
    channel->count[side]++;
}

static uint32_t fold_bytes(uint64_t bytes)
{
    uint32_t folded = (uint32_t)(bytes ^ bytes >> 32);
    return bytes == UINT64_MAX ? BYTES_UNKNOWN : folded == BYTES_UNKNOWN ? 0 : folded;
}

static struct end *store_room(struct store *store)
{
    if (store->count % BLOCK_ENDS == 0) {
        size_t block = store->count / BLOCK_ENDS;
        struct end **blocks = array_reserve(store->blocks, &store->block_capacity, block + 1, sizeof *blocks);
        if (!blocks)
            return NULL;
        store->blocks = blocks;
        blocks[block] = malloc(BLOCK_ENDS * sizeof **blocks);
        if (!blocks[block])
            return NULL;
    }
    return &store->blocks[store->count / BLOCK_ENDS][store->count % BLOCK_ENDS];
}

int message_match_add(struct message_match *match, const struct message_end *end)
{
    enum side side = end->receive ? RECEIVES : SENDS;
    struct store *store = &match->stores[side];
    uint32_t channel;
    if (end->order >= UINT32_MAX) {
        message_match_leave_out(match, MESSAGE_UNNUMBERED);
        return 0;
    }
    if (store->count == UINT32_MAX - 1)
        return -EOVERFLOW;
    int code = channel_of(match, end, &channel);
    if (code == 0)
        code = message_match_add_posting(match, end->process, end->order);
    struct end *place = code ? NULL : store_room(store);
    if (!place)
        return -ENOMEM;
    *place = (struct end){.time_ns = end->time_ns, .channel = channel, .order = (uint32_t)end->order, .span = end->span,
                          .bytes = fold_bytes(end->bytes)};
    store->count++;
    channel_note(&match->channels[channel], end, side);
    return 0;
}

/* --- matching ----------------------------------------------------------------------------------------------------- */

static const struct end *end_at(const struct store *store, uint32_t number)
{
    return &store->blocks[number / BLOCK_ENDS][number % BLOCK_ENDS];
}

static int compare_u64(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Ends come thread by thread, chunk by chunk: mostly they are in order already. */
static int put_in_order(struct message_match *match, const struct store *store, uint32_t *numbers, uint32_t count)
{
    uint32_t i = 1;
    while (i < count && end_at(store, numbers[i - 1])->order <= end_at(store, numbers[i])->order)
        i++;
    if (i >= count)
        return 0;
    uint64_t *keys = array_reserve(match->scratch, &match->scratch_capacity, count, sizeof *keys);
    if (!keys)
        return -ENOMEM;
    match->scratch = keys;
    for (i = 0; i < count; i++)
        keys[i] = (uint64_t)end_at(store, numbers[i])->order << 32 | numbers[i];
    qsort(keys, count, sizeof *keys, compare_u64);
    for (i = 0; i < count; i++)
        numbers[i] = (uint32_t)keys[i];
    return 0;
}

static int count_out(struct message_match *match, enum side side)
{
    struct store *store = &match->stores[side];
    uint32_t first = 0;
    store->order = malloc(((size_t)store->count + 1) * sizeof *store->order);
    if (!store->order)
        return -ENOMEM;
    for (size_t i = 0; i < match->channel_count; i++) {
        match->channels[i].first[side] = first;
        first += match->channels[i].count[side];
    }
    for (uint32_t i = 0; i < store->count; i++)
        store->order[match->channels[end_at(store, i)->channel].first[side]++] = i;
    int code = 0;
    for (size_t i = 0; i < match->channel_count && code == 0; i++) {
        struct channel *channel = &match->channels[i];
        channel->first[side] -= channel->count[side];
        code = put_in_order(match, store, store->order + channel->first[side], channel->count[side]);
    }
    return code;
}

/* One channel while its pairs are made. */
struct pairing {
    struct message_match *match;
    struct channel *channel;
    uint32_t count[SIDES];
    bool doubtful; /* sizes have not agreed: something is missing that no gap told of */
    int (*found)(void *, const struct message_pair *);
    void *context;
};

static const struct end *channel_end(const struct pairing *pairing, enum side side, uint32_t position)
{
    const struct store *store = &pairing->match->stores[side];
    return end_at(store, store->order[pairing->channel->first[side] + position]);
}

static bool sizes_agree(const struct end *send, const struct end *receive)
{
    return send->bytes == receive->bytes || send->bytes == BYTES_UNKNOWN || receive->bytes == BYTES_UNKNOWN;
}

static int pair_found(struct pairing *pairing, uint32_t send_position, uint32_t receive_position, bool from_the_end)
{
    const struct end *send = channel_end(pairing, SENDS, send_position), *receive = channel_end(pairing, RECEIVES, receive_position);
    const struct channel *channel = pairing->channel;
    if (!sizes_agree(send, receive)) {
        pairing->match->counts.sizes_differ++;
        pairing->doubtful = true;
    }
    enum confidence confidence = pairing->doubtful                                               ? CONFIDENCE_MEDIUM
                                 : from_the_end || (channel->threads && channel->mixed) ? CONFIDENCE_HIGH
                                                                                                  : CONFIDENCE_CERTAIN;
    pairing->match->counts.pairs[confidence]++;
    const struct message_pair pair = {.send_process = channel->process[SENDS], .send_span = send->span,
                                      .receive_process = channel->process[RECEIVES], .receive_span = receive->span,
                                      .confidence = confidence};
    return pairing->found(pairing->context, &pair);
}

/* How many ends of a side lie before the first gap of its process. */
static uint32_t count_before_gap(const struct pairing *pairing, enum side side)
{
    const struct postings *postings = &pairing->match->processes[pairing->channel->process[side]].postings;
    uint32_t low = 0, high = pairing->count[side];
    if (postings_whole(postings))
        return high;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (channel_end(pairing, side, middle)->order < postings->gap_begin)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* How many lie behind its last gap, if none can be missing behind them. */
static uint32_t count_behind_gap(const struct pairing *pairing, enum side side)
{
    const struct process *process = &pairing->match->processes[pairing->channel->process[side]];
    uint32_t count = 0, all = pairing->count[side];
    if (!process->finalized)
        return 0;
    if (postings_whole(&process->postings))
        return all;
    while (count < all && channel_end(pairing, side, all - 1 - count)->order >= process->postings.gap_end)
        count++;
    return count;
}

/* Counted from the end: is each message sent before it was received, and as long? */
static bool tail_is_possible(const struct pairing *pairing, uint32_t count)
{
    for (uint32_t i = 1; i <= count; i++) {
        const struct end *send = channel_end(pairing, SENDS, pairing->count[SENDS] - i);
        const struct end *receive = channel_end(pairing, RECEIVES, pairing->count[RECEIVES] - i);
        if (!sizes_agree(send, receive) || send->time_ns > receive->time_ns)
            return false;
    }
    return true;
}

static enum message_reason reason_of(const struct pairing *pairing, enum side side)
{
    const struct message_match *match = pairing->match;
    const struct channel *channel = pairing->channel;
    int32_t peer_rank = side == SENDS ? channel->destination : channel->source;
    uint64_t peer;
    if (channel->ambiguous)
        return MESSAGE_AMBIGUOUS;
    if (!map_get(&match->ranks, (uint32_t)peer_rank, &peer))
        return MESSAGE_NO_PEER;
    if (!postings_whole(&match->processes[peer].postings) || !postings_whole(&match->processes[channel->process[side]].postings))
        return MESSAGE_LOST;
    return match->processes[peer].finalized ? MESSAGE_ALONE : MESSAGE_CUT_OFF;
}

static uint32_t least(uint32_t left, uint32_t right)
{
    return left < right ? left : right;
}

static int pair_channel(struct pairing *pairing)
{
    const uint32_t *count = pairing->count;
    uint32_t head = 0, tail = 0;
    int code = 0;
    if (count[SENDS] && count[RECEIVES] && !pairing->channel->ambiguous) {
        head = least(count_before_gap(pairing, SENDS), count_before_gap(pairing, RECEIVES));
        bool whole = head == least(count[SENDS], count[RECEIVES]);
        tail = whole ? 0 : least(count_behind_gap(pairing, SENDS), count_behind_gap(pairing, RECEIVES));
        tail = least(tail, least(count[SENDS], count[RECEIVES]) - head);
        tail = tail_is_possible(pairing, tail) ? tail : 0;
    }
    for (uint32_t i = 0; i < head && code == 0; i++)
        code = pair_found(pairing, i, i, false);
    for (uint32_t i = tail; i > 0 && code == 0; i--)
        code = pair_found(pairing, count[SENDS] - i, count[RECEIVES] - i, true);
    if (count[SENDS] > head + tail)
        pairing->match->counts.unmatched_sends[reason_of(pairing, SENDS)] += count[SENDS] - head - tail;
    if (count[RECEIVES] > head + tail)
        pairing->match->counts.unmatched_receives[reason_of(pairing, RECEIVES)] += count[RECEIVES] - head - tail;
    return code;
}

/* The processes of a rank's program that don't communicate (a shell around it) have its rank, too. */
static int index_ranks(struct message_match *match)
{
    int code = 0;
    for (size_t i = 0; i < match->process_count && code == 0; i++) {
        uint64_t known;
        bool speaks = match->processes[i].postings.greatest > 0;
        if (speaks || !map_get(&match->ranks, (uint32_t)match->processes[i].rank, &known))
            code = map_set(&match->ranks, (uint32_t)match->processes[i].rank, i);
    }
    return code;
}

int message_match_run(struct message_match *match, int (*found)(void *context, const struct message_pair *pair), void *context)
{
    int code = 0;
    for (size_t i = 0; i < match->process_count && code == 0; i++)
        code = postings_close(&match->processes[i].postings);
    if (code == 0)
        code = index_ranks(match);
    for (unsigned side = 0; side < SIDES && code == 0; side++)
        code = count_out(match, (enum side)side);
    for (size_t i = 0; i < match->channel_count && code == 0; i++) {
        struct channel *channel = &match->channels[i];
        struct pairing pairing = {.match = match, .channel = channel, .found = found, .context = context,
                                  .count = {channel->count[SENDS], channel->count[RECEIVES]}};
        code = pair_channel(&pairing);
    }
    return code;
}
