/* SPDX-License-Identifier: MIT */
/*
 * Waits between hosts and devices, both ways: a synchronisation or a copy call until the work it waits for is over, and a device on
 * which nothing runs until somebody launches the next work.
 */
#include "wait_internal.h"

#include "base/array.h"
#include "device_order.h"

#include <errno.h>
#include <string.h>

#define CLOCK_SLACK_NS 20000 /* by which a device's clock may be late against the host's call that saw its work end */

struct work {
    uint32_t span, launch, process, lane;
    int32_t device, stream;
    int64_t begin_ns, end_ns, launched_ns; /* launched: begin of the call */
};

struct works {
    struct wait_building *building;
    struct work *items;
    size_t count, capacity;
};

#define COMPARE(left, right) (((left) > (right)) - ((left) < (right)))

static int by_end(const void *left, const void *right)
{
    const struct work *a = left, *b = right;
    int order = COMPARE(a->process, b->process);
    order = order ? order : COMPARE(a->end_ns, b->end_ns);
    return order ? order : COMPARE(a->span, b->span);
}

static int by_device(const void *left, const void *right)
{
    const struct work *a = left, *b = right;
    int order = COMPARE(a->process, b->process);
    order = order ? order : COMPARE(a->device, b->device);
    order = order ? order : COMPARE(a->begin_ns, b->begin_ns);
    return order ? order : COMPARE(a->span, b->span);
}

static bool is_work(uint8_t kind)
{
    return kind == SPAN_KIND_KERNEL || kind == SPAN_KIND_COPY || kind == SPAN_KIND_FILL || kind == SPAN_KIND_GRAPH;
}

static int read_works(struct works *works)
{
    const struct wait_building *building = works->building;
    const struct span_table *table = building->table;
    for (size_t i = 0; i < building->link_count; i++) {
        const struct trace_link *link = &building->links[i];
        uint32_t span = link->to.index, launch = link->from.index;
        if (link->kind != LINK_KIND_LAUNCH || !is_work(table->kind[span]))
            continue;
        const struct trace_track *track = &table->tracks[table->track[span]];
        struct work *items = array_reserve(works->items, &works->capacity, works->count + 1, sizeof *items);
        if (!items)
            return -ENOMEM;
        works->items = items;
        items[works->count++] = (struct work){.span = span, .launch = launch, .process = track->process.index, .lane = table->track[span],
                                              .device = track->device, .stream = track->stream, .begin_ns = table->begin_ns[span],
                                              .end_ns = table->end_ns[span], .launched_ns = table->begin_ns[launch]};
    }
    return 0;
}

static int add_blocked(struct wait_building *building, uint32_t call, const struct work *work, uint8_t pattern, enum confidence confidence)
{
    const struct span_table *table = building->table;
    int64_t until_ns = work->end_ns < table->end_ns[call] ? work->end_ns : table->end_ns[call];
    const struct wait_state state = {.span = {call}, .lane = {table->track[call]}, .cause = {work->span}, .cause_lane = {work->lane},
                                     .begin_ns = table->begin_ns[call], .time_ns = until_ns - table->begin_ns[call], .pattern = pattern,
                                     .confidence = (uint8_t)confidence};
    return wait_add(building, &state);
}

/* Which stream a synchronisation waits for; false: it does not wait, or is none. */
static int read_sync(struct wait_building *building, uint32_t span, bool *ret_blocks, int64_t *ret_stream)
{
    struct payload payload;
    uint64_t stream;
    int result = span_table_payload(building->table, span, &payload, building->err);
    *ret_blocks = true;
    *ret_stream = -1;
    if (result < 0 || payload.kind != PAYLOAD_DEVICE_SYNC || !(payload.present >> FIELD_DEVICE_SYNC_what & 1))
        return result;
    const char *what = trace_text(building->trace, payload.fields[FIELD_DEVICE_SYNC_what].string);
    *ret_blocks = strcmp(what, "event record") != 0 && strcmp(what, "stream wait") != 0;
    if (strcmp(what, "stream") == 0 && payload_field(&payload, FIELD_DEVICE_SYNC_stream, &stream))
        *ret_stream = (int64_t)stream;
    return 0;
}

/* The last work of the process that had been launched and ended within the call; works are sorted by end. */
static const struct work *awaited(const struct works *works, uint32_t call, int64_t stream)
{
    enum { LOOKS = 4096 };
    const struct span_table *table = works->building->table;
    uint32_t process = table->tracks[table->track[call]].process.index;
    int64_t limit_ns = table->end_ns[call] + CLOCK_SLACK_NS;
    size_t low = 0, high = works->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct work *work = &works->items[middle];
        if (work->process < process || (work->process == process && work->end_ns <= limit_ns))
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low, looks = 0; i-- > 0 && looks < LOOKS; looks++) {
        const struct work *work = &works->items[i];
        if (work->process != process || work->end_ns <= table->begin_ns[call])
            return NULL;
        if (work->launched_ns < table->begin_ns[call] && (stream < 0 || work->stream < 0 || work->stream == stream))
            return work;
    }
    return NULL;
}

/* By call: what it waited for, where that was recorded. */
struct awaited_work {
    uint32_t work; /* what ended last of it; SYNC_IDLE: nothing, SYNC_UNKNOWN: nobody knows */
    uint8_t confidence;
};
#define SYNC_UNKNOWN UINT32_MAX
#define SYNC_IDLE (UINT32_MAX - 1)

static void note_awaited(const struct works *works, const uint32_t *of_span, struct awaited_work *of_call, span_id from, span_id to,
                         uint8_t confidence)
{
    const struct span_table *table = works->building->table;
    if (from.index >= table->count || to.index >= table->count || of_span[from.index] == SYNC_UNKNOWN)
        return;
    struct awaited_work *last = &of_call[to.index];
    if (last->work >= SYNC_IDLE || of_span[from.index] > last->work) /* sorted by end */
        *last = (struct awaited_work){of_span[from.index], confidence};
}

/* By OpenCL's links, by CUDA's rules: as the dependency graph has it. */
static int read_order(const struct works *works, struct awaited_work **ret_of_call)
{
    const struct wait_building *building = works->building;
    uint32_t count = building->table->count;
    const struct device_order *order = NULL;
    CLEANUP(freep) uint32_t *of_span = malloc(((size_t)count + 1) * sizeof *of_span);
    CLEANUP(freep) struct awaited_work *of_call = malloc(((size_t)count + 1) * sizeof *of_call);
    if (!of_span || !of_call)
        return -ENOMEM;
    memset(of_span, 0xff, ((size_t)count + 1) * sizeof *of_span);
    memset(of_call, 0xff, ((size_t)count + 1) * sizeof *of_call);
    int result = device_order_of(building->trace, &order, building->err);
    if (result < 0)
        return result;
    for (size_t i = 0; i < works->count; i++)
        of_span[works->items[i].span] = (uint32_t)i;
    for (size_t i = 0; i < order->idle_call_count; i++)
        of_call[order->idle_calls[i].index].work = SYNC_IDLE;
    for (size_t i = 0; i < order->relation_count; i++)
        if (order->relations[i].kind == DEVICE_RELATION_SYNC)
            note_awaited(works, of_span, of_call, order->relations[i].from, order->relations[i].to, order->relations[i].confidence);
    for (size_t i = 0; i < building->link_count; i++)
        if (building->links[i].kind == LINK_KIND_SYNC)
            note_awaited(works, of_span, of_call, building->links[i].from, building->links[i].to, (uint8_t)building->links[i].confidence);
    *ret_of_call = TAKE_PTR(of_call);
    return 0;
}

static int sync_waits(const struct works *works, uint32_t span, const struct awaited_work *known)
{
    struct wait_building *building = works->building;
    bool blocks;
    int64_t stream;
    int result = read_sync(building, span, &blocks, &stream);
    if (result < 0 || !blocks || known->work == SYNC_IDLE)
        return result;
    bool told = known->work != SYNC_UNKNOWN;
    const struct work *work = told ? &works->items[known->work] : awaited(works, span, stream);
    enum confidence guess = stream >= 0 ? CONFIDENCE_CERTAIN : CONFIDENCE_HIGH;
    return work ? add_blocked(building, span, work, WAIT_HOST_BLOCKED, told ? (enum confidence)known->confidence : guess) : 0;
}

static int find_syncs(struct works *works)
{
    const struct wait_building *building = works->building;
    const struct span_table *table = building->table;
    CLEANUP(freep) struct awaited_work *known = NULL;
    int result = read_order(works, &known);
    for (uint32_t span = 0; span < table->count && result == 0; span++)
        if (table->kind[span] == SPAN_KIND_SYNC && table->tracks[table->track[span]].kind == TRACK_KIND_THREAD &&
            backend_of(&building->backends, table->category[span]) == BACKEND_DEVICE)
            result = sync_waits(works, span, &known[span]);
    return result;
}

/* A call that returned after the end of its own copy. */
static int find_transfers(struct works *works)
{
    struct wait_building *building = works->building;
    const struct span_table *table = building->table;
    int result = 0;
    for (size_t i = 0; i < works->count && result == 0; i++) {
        const struct work *work = &works->items[i];
        struct payload payload;
        uint64_t blocking = 0;
        if (table->kind[work->span] != SPAN_KIND_COPY || work->end_ns > table->end_ns[work->launch] ||
            table->tracks[table->track[work->launch]].kind != TRACK_KIND_THREAD)
            continue;
        result = span_table_payload(building->table, work->launch, &payload, building->err);
        if (result == 0 && payload.kind == PAYLOAD_API)
            payload_field(&payload, FIELD_API_blocking, &blocking);
        if (result == 0)
            result = add_blocked(building, work->launch, work, WAIT_BLOCKING_TRANSFER, blocking ? CONFIDENCE_CERTAIN : CONFIDENCE_MEDIUM);
    }
    return result;
}

static int find_gaps(struct works *works)
{
    struct wait_building *building = works->building;
    const struct span_table *table = building->table;
    int64_t covered_ns = INT64_MIN;
    int result = 0;
    for (size_t i = 0; i < works->count && result == 0; i++) {
        const struct work *work = &works->items[i];
        if (i == 0 || work->process != work[-1].process || work->device != work[-1].device)
            covered_ns = work->end_ns;
        int64_t until_ns = work->launched_ns < work->begin_ns ? work->launched_ns : work->begin_ns;
        const struct wait_state state = {.span = SPAN_NONE, .lane = {work->lane}, .cause = {work->launch}, .cause_lane = {table->track[work->launch]},
                                         .begin_ns = covered_ns, .time_ns = until_ns - covered_ns, .pattern = WAIT_DEVICE_IDLE,
                                         .confidence = CONFIDENCE_CERTAIN};
        if (until_ns > covered_ns)
            result = wait_add(building, &state);
        covered_ns = work->end_ns > covered_ns ? work->end_ns : covered_ns;
    }
    return result;
}

int wait_find_devices(struct wait_building *building)
{
    struct works works = {.building = building};
    int result = read_works(&works);
    if (result == 0 && works.count) {
        qsort(works.items, works.count, sizeof *works.items, by_end);
        result = find_syncs(&works);
        if (result == 0)
            result = find_transfers(&works);
        qsort(works.items, works.count, sizeof *works.items, by_device);
        if (result == 0)
            result = find_gaps(&works);
    }
    free(works.items);
    return result;
}
