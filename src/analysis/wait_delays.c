/* SPDX-License-Identifier: MIT */
/*
 * What waits cost whom. From the last wait back to the first: the time of a wait, and what has been handed to it by waits that it caused,
 * is shared out among what the late lane did more than the waiting one since both were in step (or did meanwhile) and the waits that
 * the late lane had itself in that time, which hand their shares on. Nothing is lost on the way: the costs add up to the waits.
 */
#include "wait_internal.h"

#include "base/array.h"
#include "base/error.h"
#include "base/key_sort.h"

#include <errno.h>
#include <string.h>

enum { ACTIVITY_CODE = 1, ACTIVITY_PREEMPTED }; /* keys: of code outside of calls, of time for want of a processor */
enum { STEP_LOOKS = 512 }; /* back through a lane's steps for one that both lanes were in; else since the oldest of these */

/* Something a lane did: what the costs are summed by. */
struct activity {
    uint64_t key;
    uint32_t span; /* one of them; ID_NONE: code outside of calls, or none */
    int64_t late_ns, waiting_ns;
};

struct share {
    int64_t part_ns;
    uint32_t index; /* of an activity, or of a wait state */
    bool is_wait;
};

struct charging {
    struct wait_building *building;
    uint32_t *first;         /* by lane: its first wait state; track_count + 1 entries */
    uint32_t *rank;          /* by wait state: its place in order */
    uint32_t *order;         /* wait states, last release first */
    int64_t *handed_ns;      /* by wait state: from waits that it caused */
    struct event_step {
        int64_t leave_ns;
        uint32_t lane;
    } *by_event;             /* steps sorted by event, then lane; building->steps is by lane, then time */
    uint32_t *event_end;     /* by event: behind its last place in by_event */
    uint32_t *step_first;    /* by lane: its first step; track_count + 1 entries */
    struct map activity_of;  /* key -> place in activities */
    struct activity *activities;
    size_t activity_count, activity_capacity;
    struct share *shares;
    size_t share_count, share_capacity;
    struct map delay_of;     /* key -> place in out->delays */
    size_t delay_capacity;
    bool sampled;            /* else nothing tells functions, and code outside of calls need not be kept */
    struct wait_outside *window;  /* code outside of calls of the late lane, for the wait that is looked at */
    size_t window_count, window_capacity;
    struct wait_outside *outside; /* the same for all delays */
    size_t outside_count, outside_capacity;
};

#define COMPARE(left, right) (((left) > (right)) - ((left) < (right)))

static uint64_t activity_key(const struct span_table *table, uint32_t span)
{
    if (span == ID_NONE)
        return ACTIVITY_CODE;
    uint32_t parent = table->parent[span];
    uint64_t around = parent < table->count ? table->name[parent].index : 0;
    uint64_t key = hash_u64((uint64_t)table->name[span].index << 32 | table->category[span].index);
    return hash_u64(key ^ hash_u64(around << 32 | table->stack[span].index));
}

static int activity_add_keyed(struct charging *charging, uint64_t key, uint32_t span, int64_t late_ns, int64_t waiting_ns)
{
    uint64_t place;
    if (!map_get(&charging->activity_of, key, &place)) {
        struct activity *activities =
            array_reserve(charging->activities, &charging->activity_capacity, charging->activity_count + 1, sizeof *activities);
        place = charging->activity_count;
        if (!activities || map_set(&charging->activity_of, key, place) < 0)
            return -ENOMEM;
        charging->activities = activities;
        activities[charging->activity_count++] = (struct activity){.key = key, .span = span};
    }
    add_saturated(&charging->activities[place].late_ns, late_ns);
    add_saturated(&charging->activities[place].waiting_ns, waiting_ns);
    return 0;
}

static int activity_add(struct charging *charging, uint32_t span, int64_t late_ns, int64_t waiting_ns)
{
    return activity_add_keyed(charging, activity_key(charging->building->table, span), span, late_ns, waiting_ns);
}

/* Moves what a lane was preempted for in [begin, begin + length) of a span from the span's time to that for want of a processor; back, for a wait. */
static int move_preempted(struct charging *charging, uint32_t lane, uint32_t span, int64_t begin_ns, int64_t length_ns, bool late, bool back)
{
    int64_t preempted_ns = preempted_within(charging->building->preempted, lane, begin_ns, begin_ns + length_ns);
    if (preempted_ns <= 0)
        return 0;
    preempted_ns = back ? -preempted_ns : preempted_ns;
    int result = activity_add(charging, span, late ? -preempted_ns : 0, late ? 0 : -preempted_ns);
    return result ? result : activity_add_keyed(charging, ACTIVITY_PREEMPTED, ID_NONE, late ? preempted_ns : 0, late ? 0 : preempted_ns);
}

/* The first wait state of a lane that begins at from_ns or later: states of a lane are sorted by begin. */
static uint32_t first_wait(const struct charging *charging, uint32_t lane, int64_t from_ns)
{
    uint32_t low = charging->first[lane], high = charging->first[lane + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (charging->building->out->states[middle].begin_ns < from_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int outside_add(struct wait_outside **stretches, size_t *count, size_t *capacity, const struct wait_outside *stretch)
{
    struct wait_outside *grown = array_reserve(*stretches, capacity, *count + 1, sizeof *grown);
    if (!grown)
        return -ENOMEM;
    *stretches = grown;
    grown[(*count)++] = *stretch;
    return 0;
}

static int piece_of_window(struct charging *charging, uint32_t lane, uint32_t span, int64_t begin_ns, int64_t length_ns, bool late)
{
    const struct wait_outside stretch = {.lane = lane, .begin_ns = begin_ns, .end_ns = begin_ns + length_ns};
    int result = activity_add(charging, span, late ? length_ns : 0, late ? 0 : length_ns);
    if (result == 0)
        result = move_preempted(charging, lane, span, begin_ns, length_ns, late, false);
    if (result == 0 && late && span == ID_NONE && charging->sampled)
        result = outside_add(&charging->window, &charging->window_count, &charging->window_capacity, &stretch);
    return result;
}

/* Adds what a lane did in [from, until): its pieces without the waits in them. */
static int add_window(struct charging *charging, uint32_t lane, int64_t from_ns, int64_t until_ns, bool late)
{
    const struct lane_times *times = charging->building->times;
    const struct wait_state *states = charging->building->out->states;
    size_t piece;
    int result = 0;
    if (!lane_times_find(times, lane, from_ns, &piece)) {
        piece = times->first[lane];
        int64_t begin_ns = piece < times->first[lane + 1] ? times->pieces[piece].begin_ns : until_ns;
        begin_ns = begin_ns < until_ns ? begin_ns : until_ns;
        if (begin_ns > from_ns)
            result = piece_of_window(charging, lane, ID_NONE, from_ns, begin_ns - from_ns, late);
    }
    for (; result == 0 && piece < times->first[lane + 1] && times->pieces[piece].begin_ns < until_ns; piece++) {
        int64_t begin_ns = times->pieces[piece].begin_ns > from_ns ? times->pieces[piece].begin_ns : from_ns;
        int64_t length_ns = lane_piece_end(times, lane, piece, until_ns) - begin_ns;
        if (length_ns > 0)
            result = piece_of_window(charging, lane, times->pieces[piece].span, begin_ns, length_ns, late);
    }
    for (uint32_t i = first_wait(charging, lane, from_ns); result == 0 && i < charging->first[lane + 1] && states[i].begin_ns < until_ns; i++) {
        result = activity_add(charging, states[i].span.index, late ? -states[i].time_ns : 0, late ? 0 : -states[i].time_ns);
        if (result == 0 && wait_pattern_charge(states[i].pattern) != CHARGE_NOBODY)
            result = move_preempted(charging, lane, states[i].span.index, states[i].begin_ns, states[i].time_ns, late, true);
    }
    return result;
}

static int share_add(struct charging *charging, int64_t part_ns, uint32_t index, bool is_wait)
{
    struct share *shares = array_reserve(charging->shares, &charging->share_capacity, charging->share_count + 1, sizeof *shares);
    if (!shares)
        return -ENOMEM;
    charging->shares = shares;
    shares[charging->share_count++] = (struct share){.part_ns = part_ns, .index = index, .is_wait = is_wait};
    return 0;
}

/* --- steps: when two lanes were last at the same thing --------------------------------------------------------------- */

static int by_lane_and_time(const void *left, const void *right)
{
    const struct wait_step *a = left, *b = right;
    int order = COMPARE(a->lane, b->lane);
    order = order ? order : COMPARE(a->leave_ns, b->leave_ns);
    return order ? order : COMPARE(a->event, b->event);
}

static int sort_steps(struct wait_building *building)
{
    struct wait_step *steps = building->steps;
    size_t count = building->step_count;
    CLEANUP(freep) struct sort_key *keys = array_resize_exact(NULL, count + 1, sizeof *keys);
    if (!keys)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        keys[i] = (struct sort_key){sort_key_of(steps[i].leave_ns), steps[i].lane, (uint32_t)i};
    int result = key_sort(keys, count);
    if (result < 0)
        return result;
    struct wait_step *sorted = key_sort_gather(keys, count, steps, sizeof *sorted);
    if (!sorted)
        return -ENOMEM;
    free(steps);
    building->steps = steps = sorted;
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && steps[end].leave_ns == steps[first].leave_ns && steps[end].lane == steps[first].lane;)
            end++;
        if (end - first > 1)
            qsort(steps + first, end - first, sizeof *steps, by_lane_and_time);
    }
    return 0;
}

/* Steps by event, and within each by lane: they are sorted by lane, and those of an event keep their order. */
static int sort_by_event(struct charging *charging)
{
    const struct wait_building *building = charging->building;
    uint32_t *place = charging->event_end = calloc((size_t)building->event_count + 2, sizeof *place);
    if (!place)
        return -ENOMEM;
    for (size_t i = 0; i < building->step_count; i++)
        place[building->steps[i].event + 1]++;
    for (uint32_t event = 0; event < building->event_count; event++)
        place[event + 1] += place[event];
    for (size_t i = 0; i < building->step_count; i++)
        charging->by_event[place[building->steps[i].event]++] = (struct event_step){building->steps[i].leave_ns, building->steps[i].lane}; /* in the end, where the next one begins */
    return 0;
}

/* When a lane left an event; false: it was not in it. */
static bool left_event(const struct charging *charging, uint32_t event, uint32_t lane, int64_t *ret_leave_ns)
{
    const struct event_step *steps = charging->by_event;
    size_t low = event ? charging->event_end[event - 1] : 0, end = charging->event_end[event], high = end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (steps[middle].lane < lane)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == end || steps[low].lane != lane)
        return false;
    *ret_leave_ns = steps[low].leave_ns;
    return true;
}

/* When a wait began and when the late lane came: since when are both to be compared? */
static void last_in_step(const struct charging *charging, const struct wait_state *state, int64_t *ret_waiting_ns, int64_t *ret_late_ns)
{
    const struct wait_step *steps = charging->building->steps;
    int64_t late_come_ns = state->begin_ns + state->time_ns, begin_ns, ignored;
    uint32_t lane = state->lane.index;
    size_t first = charging->step_first[lane], low = first, high = charging->step_first[lane + 1];
    trace_time_range(charging->building->trace, &begin_ns, &ignored);
    *ret_waiting_ns = *ret_late_ns = begin_ns;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (steps[middle].leave_ns <= state->begin_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low, looks = 0; i-- > first; looks++) {
        int64_t leave_ns;
        bool both = left_event(charging, steps[i].event, state->cause_lane.index, &leave_ns) && leave_ns <= late_come_ns;
        if (both || looks == STEP_LOOKS) {
            *ret_waiting_ns = steps[i].leave_ns;
            *ret_late_ns = both ? leave_ns : steps[i].leave_ns;
            return;
        }
    }
}

/* --- shares ----------------------------------------------------------------------------------------------------------- */

/* The late lane's own waits in [from, until), which are handed on: only such as are looked at later. */
static int share_waits(struct charging *charging, uint32_t state, int64_t from_ns, int64_t until_ns)
{
    const struct wait_state *states = charging->building->out->states;
    uint32_t lane = states[state].cause_lane.index;
    int result = 0;
    for (uint32_t i = first_wait(charging, lane, from_ns); i < charging->first[lane + 1] && states[i].begin_ns < until_ns && result == 0; i++)
        if (charging->rank[i] > charging->rank[state])
            result = share_add(charging, states[i].time_ns, i, true);
    return result;
}

static int share_excess(struct charging *charging, uint32_t index)
{
    const struct wait_state *state = &charging->building->out->states[index];
    int64_t waiting_from_ns, late_from_ns, come_ns = state->begin_ns + state->time_ns;
    last_in_step(charging, state, &waiting_from_ns, &late_from_ns);
    int result = add_window(charging, state->cause_lane.index, late_from_ns, come_ns, true);
    if (result == 0)
        result = add_window(charging, state->lane.index, waiting_from_ns, state->begin_ns, false);
    for (size_t i = 0; i < charging->activity_count && result == 0; i++) {
        const struct activity *activity = &charging->activities[i];
        int64_t waiting_ns = activity->waiting_ns > 0 ? activity->waiting_ns : 0;
        if (activity->late_ns > waiting_ns)
            result = share_add(charging, activity->late_ns - waiting_ns, (uint32_t)i, false);
    }
    return result ? result : share_waits(charging, index, late_from_ns, come_ns);
}

static int share_activity(struct charging *charging, uint32_t index)
{
    const struct wait_state *state = &charging->building->out->states[index];
    int64_t until_ns = state->begin_ns + state->time_ns;
    int result = add_window(charging, state->cause_lane.index, state->begin_ns, until_ns, true);
    for (size_t i = 0; i < charging->activity_count && result == 0; i++)
        if (charging->activities[i].late_ns > 0)
            result = share_add(charging, charging->activities[i].late_ns, (uint32_t)i, false);
    return result ? result : share_waits(charging, index, state->begin_ns, until_ns);
}

static int find_shares(struct charging *charging, uint32_t index)
{
    const struct wait_state *state = &charging->building->out->states[index];
    enum wait_charge charge = wait_pattern_charge(state->pattern);
    int result = 0;
    map_clear(&charging->activity_of);
    charging->activity_count = charging->share_count = charging->window_count = 0;
    if (charge == CHARGE_NOBODY || state->cause_lane.index >= charging->building->table->track_count)
        return 0;
    if (charge == CHARGE_EXCESS)
        result = share_excess(charging, index);
    else if (charge == CHARGE_ACTIVITY)
        result = share_activity(charging, index);
    if (result == 0 && charging->share_count == 0) {
        result = activity_add(charging, state->cause.index, 1, 0);
        if (result == 0)
            result = share_add(charging, 1, (uint32_t)charging->activity_count - 1, false);
    }
    return result;
}

/* --- costs -------------------------------------------------------------------------------------------------------------- */

static int delay_add(struct charging *charging, const struct wait_state *state, const struct activity *activity, int64_t direct_ns, int64_t propagated_ns)
{
    struct wait_building *building = charging->building;
    const struct span_table *table = building->table;
    struct wait_states *out = building->out;
    uint64_t key = hash_u64(activity->key ^ hash_u64((uint64_t)state->cause_lane.index << 8 | state->pattern)), place;
    if (!map_get(&charging->delay_of, key, &place)) {
        struct wait_delay *delays = array_reserve(out->delays, &charging->delay_capacity, out->delay_count + 1, sizeof *delays);
        place = out->delay_count;
        if (!delays || map_set(&charging->delay_of, key, place) < 0)
            return -ENOMEM;
        out->delays = delays;
        struct wait_delay *fresh = &delays[out->delay_count++];
        *fresh = (struct wait_delay){.lane = state->cause_lane, .pattern = state->pattern, .stack = STACK_NONE};
        if (activity->span != ID_NONE) {
            uint32_t parent = table->parent[activity->span];
            fresh->name = table->name[activity->span];
            fresh->category = table->category[activity->span];
            fresh->stack = table->stack[activity->span];
            fresh->around = parent < table->count ? table->name[parent] : STRING_NONE;
        } else if (activity->key == ACTIVITY_PREEMPTED) {
            string_table_find(trace_strings(building->trace), "preempted", strlen("preempted"), &fresh->name);
        }
    }
    out->delays[place].count++;
    add_saturated(&out->delays[place].direct_ns, direct_ns);
    add_saturated(&out->delays[place].propagated_ns, propagated_ns);
    int result = 0;
    for (size_t i = 0; i < charging->window_count && activity->key == ACTIVITY_CODE && result == 0; i++) {
        charging->window[i].delay = (uint32_t)place;
        result = outside_add(&charging->outside, &charging->outside_count, &charging->outside_capacity, &charging->window[i]);
    }
    return result;
}

/* What falls to one share of what is left; rounding goes to whoever is served last. */
static int64_t portion(int64_t part_ns, int64_t *left_parts_ns, int64_t *left_ns)
{
    int64_t taken_ns = part_ns >= *left_parts_ns ? *left_ns : (int64_t)((long double)*left_ns * part_ns / *left_parts_ns);
    if (taken_ns > *left_ns)
        taken_ns = *left_ns;
    *left_parts_ns -= part_ns;
    *left_ns -= taken_ns;
    return taken_ns;
}

static int charge_one(struct charging *charging, uint32_t index)
{
    const struct wait_state *state = &charging->building->out->states[index];
    int result = find_shares(charging, index);
    int64_t parts_ns = 0, direct_ns = state->time_ns, handed_ns = charging->handed_ns[index];
    for (size_t i = 0; i < charging->share_count; i++)
        add_saturated(&parts_ns, charging->shares[i].part_ns);
    if (result == 0 && !parts_ns) {
        add_saturated(&charging->building->out->uncharged_ns, direct_ns);
        add_saturated(&charging->building->out->uncharged_ns, handed_ns);
    }
    int64_t handed_parts_ns = parts_ns;
    for (size_t i = 0; i < charging->share_count && parts_ns && result == 0; i++) {
        const struct share *share = &charging->shares[i];
        int64_t own_ns = portion(share->part_ns, &parts_ns, &direct_ns);
        int64_t more_ns = portion(share->part_ns, &handed_parts_ns, &handed_ns);
        if (share->is_wait) {
            add_saturated(&charging->handed_ns[share->index], own_ns);
            add_saturated(&charging->handed_ns[share->index], more_ns);
        } else {
            result = delay_add(charging, state, &charging->activities[share->index], own_ns, more_ns);
        }
    }
    return result;
}

/* States by their ends, the last first. */
static int sort_by_release(const struct wait_states *states, uint32_t *order)
{
    CLEANUP(freep) struct sort_key *keys = array_resize_exact(NULL, states->count, sizeof *keys);
    if (!keys)
        return -ENOMEM;
    for (size_t i = 0; i < states->count; i++)
        keys[i] = (struct sort_key){.key = ~sort_key_of(states->states[i].begin_ns + states->states[i].time_ns), .index = (uint32_t)i};
    int result = key_sort(keys, states->count);
    for (size_t i = 0; i < states->count && result == 0; i++)
        order[i] = keys[i].index;
    return result;
}

static int by_cost(const void *left, const void *right)
{
    const struct wait_delay *a = left, *b = right;
    int64_t a_ns = a->direct_ns, b_ns = b->direct_ns;
    add_saturated(&a_ns, a->propagated_ns);
    add_saturated(&b_ns, b->propagated_ns);
    int order = COMPARE(b_ns, a_ns);
    order = order ? order : COMPARE(a->lane.index, b->lane.index);
    order = order ? order : COMPARE(a->pattern, b->pattern);
    order = order ? order : COMPARE(a->name.index, b->name.index);
    order = order ? order : COMPARE(a->around.index, b->around.index);
    return order ? order : COMPARE(a->stack.index, b->stack.index);
}

static int prepare(struct charging *charging)
{
    struct wait_building *building = charging->building;
    const struct wait_states *out = building->out;
    uint32_t tracks = building->table->track_count;
    charging->first = calloc(tracks + (size_t)1, sizeof *charging->first);
    charging->step_first = calloc(tracks + (size_t)1, sizeof *charging->step_first);
    charging->rank = array_resize_exact(NULL, out->count + 1, sizeof *charging->rank);
    charging->order = array_resize_exact(NULL, out->count + 1, sizeof *charging->order);
    charging->handed_ns = calloc(out->count + 1, sizeof *charging->handed_ns);
    charging->by_event = array_resize_exact(NULL, building->step_count + 1, sizeof *charging->by_event);
    if (!charging->first || !charging->step_first || !charging->rank || !charging->order || !charging->handed_ns || !charging->by_event || out->count >= ID_NONE ||
        building->step_count >= ID_NONE)
        return -ENOMEM;
    for (size_t i = 0, lane = 0; lane <= tracks; lane++) {
        while (i < out->count && out->states[i].lane.index < lane)
            i++;
        charging->first[lane] = (uint32_t)i;
    }
    int result = sort_by_release(out, charging->order);
    for (uint32_t i = 0; result == 0 && i < out->count; i++)
        charging->rank[charging->order[i]] = i;
    if (result == 0)
        result = sort_steps(building);
    for (size_t i = 0, lane = 0; result == 0 && lane <= tracks; lane++) {
        while (i < building->step_count && building->steps[i].lane < lane)
            i++;
        charging->step_first[lane] = (uint32_t)i;
    }
    return result ? result : sort_by_event(charging);
}

int wait_charge_delays(struct wait_building *building)
{
    struct wait_states *out = building->out;
    struct charging charging = {.building = building, .sampled = trace_block_count(building->trace, FAMILY_SAMPLES) > 0};
    if (!out->count)
        return 0;
    map_init(&charging.activity_of);
    map_init(&charging.delay_of);
    int result = prepare(&charging);
    for (size_t i = 0; i < out->count && result == 0; i++)
        result = charge_one(&charging, charging.order[i]);
    if (result == 0)
        result = wait_name_functions(building, charging.outside, charging.outside_count);
    if (out->delay_count)
        qsort(out->delays, out->delay_count, sizeof *out->delays, by_cost);
    map_finish(&charging.activity_of);
    map_finish(&charging.delay_of);
    free(charging.first);
    free(charging.rank);
    free(charging.order);
    free(charging.handed_ns);
    free(charging.by_event);
    free(charging.event_end);
    free(charging.step_first);
    free(charging.activities);
    free(charging.shares);
    free(charging.window);
    free(charging.outside);
    return result;
}
