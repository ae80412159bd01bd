/* SPDX-License-Identifier: MIT */
/*
 * Waits in one-sided communication. Active target: an access epoch for its target's post, a wait for the origin's complete (both joined
 * by links). Passive target: a lock that another process had; libraries take locks late, so that the call that waited is the one of the
 * epoch during which the other one's unlock began. Operations of neither may have waited for their target to come into MPI.
 */
#include "target_progress.h"
#include "wait_internal.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <string.h>

#define COMPARE(left, right) (((left) > (right)) - ((left) < (right)))

static bool is_call(const struct wait_building *building, uint32_t span, const char *name)
{
    return backend_of(&building->backends, building->table->category[span]) == BACKEND_MPI && strcmp(wait_span_name(building, span), name) == 0;
}

/* The first call of this kind behind `span` on its lane that was not over at time_ns. */
static bool call_during(const struct wait_building *building, uint32_t span, int64_t time_ns, uint32_t *ret_call)
{
    const struct span_table *table = building->table;
    uint32_t end = table->track_first[table->track[span] + 1];
    for (uint32_t at = span; at < end && table->begin_ns[at] < time_ns; at++)
        if (table->kind[at] == SPAN_KIND_RMA && table->end_ns[at] >= time_ns) {
            *ret_call = at;
            return true;
        }
    return false;
}

/* Adds a wait, and notes that what the call waited for is known. */
static int add_known(struct wait_building *building, const struct wait_state *state, struct map *known)
{
    int result = wait_add(building, state);
    return result ? result : map_set(known, state->span.index, 1);
}

static int add_epoch_wait(struct wait_building *building, const struct trace_link *link, bool post, struct map *known)
{
    const struct span_table *table = building->table;
    uint32_t cause = link->from.index, call = link->to.index;
    int64_t come_ns = table->begin_ns[cause];
    /* MPI_Win_start may return at once: then a later call of the epoch waited. */
    if (come_ns > table->end_ns[call] && !(post && call_during(building, call, come_ns, &call))) {
        building->out->backward += !post;
        return 0;
    }
    const struct wait_state state = {.span = {call}, .lane = {table->track[call]}, .cause = {cause}, .cause_lane = {table->track[cause]},
                                     .begin_ns = table->begin_ns[call], .time_ns = come_ns - table->begin_ns[call],
                                     .pattern = post ? WAIT_LATE_POST : WAIT_EARLY_WAIT, .confidence = (uint8_t)link->confidence};
    return add_known(building, &state, known);
}

/* One for each target or origin: the latest counts. Links come sorted by nothing, so they are sorted by call here. */
struct epoch_link {
    struct trace_link link;
    int64_t come_ns;
};

static int by_call(const void *left, const void *right)
{
    const struct epoch_link *a = left, *b = right;
    int order = COMPARE(a->link.to.index, b->link.to.index);
    order = order ? order : COMPARE(a->come_ns, b->come_ns);
    return order ? order : COMPARE(a->link.from.index, b->link.from.index);
}

static int find_epochs(struct wait_building *building, struct map *known)
{
    CLEANUP(freep) struct epoch_link *epochs = NULL;
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < building->link_count; i++) {
        const struct trace_link *link = &building->links[i];
        bool post = link->kind == LINK_KIND_SYNC && is_call(building, link->from.index, "MPI_Win_post");
        if (!post && !(link->kind == LINK_KIND_SYNC && is_call(building, link->from.index, "MPI_Win_complete") &&
                       is_call(building, link->to.index, "MPI_Win_wait")))
            continue;
        struct epoch_link *grown = array_reserve(epochs, &capacity, count + 1, sizeof *epochs);
        if (!grown)
            return -ENOMEM;
        epochs = grown;
        epochs[count++] = (struct epoch_link){*link, building->table->begin_ns[link->from.index]};
    }
    if (count)
        qsort(epochs, count, sizeof *epochs, by_call);
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++)
        if (i + 1 == count || epochs[i + 1].link.to.index != epochs[i].link.to.index)
            result = add_epoch_wait(building, &epochs[i].link, is_call(building, epochs[i].link.from.index, "MPI_Win_post"), known);
    return result;
}

/* A lock of one process on one target's window, to its unlock. */
struct tenure {
    uint64_t window;
    int64_t target, begin_ns, release_ns; /* release: the unlock's begin */
    uint32_t lock, unlock;
    bool exclusive;
};

static int by_window(const void *left, const void *right)
{
    const struct tenure *a = left, *b = right;
    int order = COMPARE(a->window, b->window);
    order = order ? order : COMPARE(a->target, b->target);
    order = order ? order : COMPARE(a->release_ns, b->release_ns);
    return order ? order : COMPARE(a->lock, b->lock);
}

struct tenures {
    struct tenure *items;
    size_t count, capacity;
};

static int tenure_begin(struct wait_building *building, struct tenures *tenures, uint32_t span)
{
    struct payload payload;
    uint64_t window = 0, target = 0;
    int result = span_table_payload(building->table, span, &payload, building->err);
    if (result < 0 || payload.kind != PAYLOAD_RMA || !payload_field(&payload, FIELD_RMA_window, &window) ||
        !payload_field(&payload, FIELD_RMA_target, &target))
        return result;
    struct tenure *items = array_reserve(tenures->items, &tenures->capacity, tenures->count + 1, sizeof *items);
    if (!items)
        return -ENOMEM;
    tenures->items = items;
    bool exclusive = payload.present >> FIELD_RMA_lock & 1 &&
                     strcmp(trace_text(building->trace, payload.fields[FIELD_RMA_lock].string), "exclusive") == 0;
    items[tenures->count++] = (struct tenure){.window = window, .target = (int64_t)target, .begin_ns = building->table->begin_ns[span],
                                              .release_ns = INT64_MAX, .lock = span, .unlock = ID_NONE, .exclusive = exclusive};
    return 0;
}

static int tenure_end(struct wait_building *building, struct tenures *tenures, uint32_t span)
{
    struct payload payload;
    uint64_t window = 0, target = 0;
    int result = span_table_payload(building->table, span, &payload, building->err);
    if (result < 0 || payload.kind != PAYLOAD_RMA)
        return result;
    payload_field(&payload, FIELD_RMA_window, &window);
    payload_field(&payload, FIELD_RMA_target, &target);
    for (size_t i = tenures->count; i-- > 0;) {
        struct tenure *tenure = &tenures->items[i];
        if (building->table->track[tenure->lock] != building->table->track[span])
            return 0;
        if (tenure->unlock != ID_NONE || tenure->window != window || tenure->target != (int64_t)target)
            continue;
        tenure->unlock = span;
        tenure->release_ns = building->table->begin_ns[span];
        return 0;
    }
    return 0;
}

static bool excludes(const struct wait_building *building, const struct tenure *self, const struct tenure *other)
{
    return self->window == other->window && self->target == other->target && (self->exclusive || other->exclusive) &&
           building->table->track[self->lock] != building->table->track[other->lock];
}

/* Who unlocked last before this one could: sorted by release, looked at backwards from this one's own. */
static int add_lock_wait(struct wait_building *building, const struct tenures *tenures, size_t index, struct map *known)
{
    const struct tenure *self = &tenures->items[index];
    const struct span_table *table = building->table;
    for (size_t i = index; i-- > 0;) {
        const struct tenure *other = &tenures->items[i];
        if (other->window != self->window || other->target != self->target || other->release_ns <= self->begin_ns)
            return 0;
        uint32_t call = self->lock;
        if (!excludes(building, self, other) || !call_during(building, self->lock, other->release_ns, &call))
            continue;
        const struct wait_state state = {.span = {call}, .lane = {table->track[call]}, .cause = {other->lock},
                                         .cause_lane = {table->track[other->lock]}, .begin_ns = table->begin_ns[call],
                                         .time_ns = other->release_ns - table->begin_ns[call], .pattern = WAIT_WINDOW_LOCK,
                                         .confidence = CONFIDENCE_HIGH};
        return add_known(building, &state, known);
    }
    return 0;
}

static int find_locks(struct wait_building *building, struct map *known)
{
    const struct span_table *table = building->table;
    struct tenures tenures = {0};
    int result = 0;
    for (uint32_t span = 0; span < table->count && result == 0; span++) {
        if (table->kind[span] != SPAN_KIND_RMA)
            continue;
        if (is_call(building, span, "MPI_Win_lock"))
            result = tenure_begin(building, &tenures, span);
        else if (is_call(building, span, "MPI_Win_unlock"))
            result = tenure_end(building, &tenures, span);
    }
    if (tenures.count)
        qsort(tenures.items, tenures.count, sizeof *tenures.items, by_window);
    for (size_t i = 0; i < tenures.count && result == 0; i++)
        if (tenures.items[i].unlock != ID_NONE)
            result = add_lock_wait(building, &tenures, i, known);
    free(tenures.items);
    return result;
}

static int gather_calls(const struct wait_building *building, struct target_calls *calls, bool *ret_any)
{
    const struct span_table *table = building->table;
    uint32_t count;
    const struct trace_process *processes = trace_processes(building->trace, &count);
    int result = 0;
    *ret_any = false;
    for (uint32_t span = 0; span < table->count && !*ret_any; span++)
        *ret_any = table->kind[span] == SPAN_KIND_RMA && is_one_sided(wait_span_name(building, span));
    for (uint32_t span = 0; span < table->count && *ret_any && result == 0; span++) {
        uint32_t process = table->tracks[table->track[span]].process.index;
        int32_t rank = process < count ? processes[process].rank : -1;
        if (rank >= 0 && backend_of(&building->backends, table->category[span]) == BACKEND_MPI)
            result = target_calls_add(calls, rank, span, table->begin_ns[span], table->end_ns[span]);
    }
    target_calls_sort(calls);
    return result;
}

static int add_progress_wait(struct wait_building *building, const struct target_calls *calls, uint32_t span)
{
    const struct span_table *table = building->table;
    struct payload payload;
    uint64_t target = 0;
    int result = span_table_payload(building->table, span, &payload, building->err);
    if (result < 0 || payload.kind != PAYLOAD_RMA || !payload_field(&payload, FIELD_RMA_target, &target))
        return result;
    const struct target_call *call = target_waited_for(calls, (int32_t)(int64_t)target, table->track[span], table->begin_ns[span], table->end_ns[span],
                                                       building->preempted);
    if (!call)
        return 0;
    const struct wait_state state = {.span = {span}, .lane = {table->track[span]}, .cause = {call->span}, .cause_lane = {table->track[call->span]},
                                     .begin_ns = table->begin_ns[span], .time_ns = call->begin_ns - table->begin_ns[span],
                                     .pattern = WAIT_PROGRESS, .confidence = CONFIDENCE_MEDIUM};
    return wait_add(building, &state);
}

static int find_progress(struct wait_building *building, const struct map *known)
{
    const struct span_table *table = building->table;
    struct target_calls calls = {0};
    uint64_t ignored;
    bool any;
    int result = gather_calls(building, &calls, &any);
    for (uint32_t span = 0; any && span < table->count && result == 0; span++)
        if (table->kind[span] == SPAN_KIND_RMA && !map_get(known, span, &ignored) && is_one_sided(wait_span_name(building, span)))
            result = add_progress_wait(building, &calls, span);
    target_calls_finish(&calls);
    return result;
}

int wait_find_windows(struct wait_building *building)
{
    struct map known; /* calls of which it is told what they waited for */
    map_init(&known);
    int result = find_epochs(building, &known);
    if (result == 0)
        result = find_locks(building, &known);
    if (result == 0)
        result = find_progress(building, &known);
    map_finish(&known);
    return result;
}
