/* SPDX-License-Identifier: MIT */
/* Wait states from first to last: what the parts share, their order, sums and names. */
#include "wait_internal.h"

#include "base/array.h"
#include "base/error.h"
#include "base/key_sort.h"
#include "base/parcel.h"

#include <errno.h>
#include <string.h>

struct pattern {
    const char *name, *text, *remedy;
    enum wait_charge charge;
};

static const struct pattern patterns[] = {
#define WAIT_PATTERN(enumerator, name, charged, text, remedy) {name, text, remedy, CHARGE_##charged},
#include "wait_patterns.def"
};

const char *wait_pattern_name(enum wait_pattern pattern)
{
    return (unsigned)pattern < WAIT_PATTERN_COUNT ? patterns[pattern].name : NULL;
}

const char *wait_pattern_text(enum wait_pattern pattern)
{
    return (unsigned)pattern < WAIT_PATTERN_COUNT ? patterns[pattern].text : NULL;
}

const char *wait_pattern_remedy(enum wait_pattern pattern)
{
    return (unsigned)pattern < WAIT_PATTERN_COUNT ? patterns[pattern].remedy : NULL;
}

enum wait_charge wait_pattern_charge(enum wait_pattern pattern)
{
    return patterns[pattern].charge;
}

int wait_add(struct wait_building *building, const struct wait_state *state)
{
    if (state->time_ns <= 0)
        return 0;
    struct wait_states *out = building->out;
    if (building->blame) {
        const string_id *names = building->table->name;
        return wait_blame_add(building->blame, state, state->cause.index != ID_NONE ? names[state->cause.index] : STRING_NONE,
                              state->span.index != ID_NONE ? names[state->span.index] : STRING_NONE);
    }
    struct wait_state *states = array_reserve(out->states, &building->capacity, out->count + 1, sizeof *states);
    if (!states)
        return -ENOMEM;
    out->states = states;
    states[out->count++] = *state;
    add_saturated(&out->waited_ns, state->time_ns);
    out->sums[state->pattern].count++;
    add_saturated(&out->sums[state->pattern].time_ns, state->time_ns);
    return 0;
}

int wait_add_released(struct wait_building *building, const struct wait_state *state)
{
    struct wait_state own = *state;
    if (own.time_ns > 0)
        own.time_ns -= preempted_within(building->preempted, own.lane.index, own.begin_ns, own.begin_ns + own.time_ns);
    return wait_add(building, &own);
}

int wait_add_step(struct wait_building *building, uint32_t lane, uint32_t event, int64_t leave_ns)
{
    if (building->blame)
        return 0;
    struct wait_step *steps = array_reserve(building->steps, &building->step_capacity, building->step_count + 1, sizeof *steps);
    if (!steps)
        return -ENOMEM;
    building->steps = steps;
    steps[building->step_count++] = (struct wait_step){.lane = lane, .event = event, .leave_ns = leave_ns};
    return 0;
}

bool wait_call_of(const struct wait_building *building, uint32_t span, uint32_t *ret_call)
{
    uint64_t call;
    const char *name = wait_span_name(building, span);
    if (map_get(&building->requests, span, &call)) {
        *ret_call = (uint32_t)call;
        return building->table->kind[call] != SPAN_KIND_TEST;
    }
    *ret_call = span;
    /* MPI_Isend, MPI_Ibarrier, MPI_Start, ...: a posting whose end was not recorded. */
    bool posts = (strncmp(name, "MPI_I", 5) == 0 && name[5] >= 'a' && name[5] <= 'z' && strncmp(name, "MPI_Init", 8) != 0) ||
                 strncmp(name, "MPI_Start", 9) == 0;
    return !posts;
}

bool wait_ranks_have(const char *list, int32_t rank)
{
    while (*list) {
        char *end;
        long first = strtol(list, &end, 10), last = first;
        if (end == list)
            return false;
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        if (rank >= first && rank <= last)
            return true;
        list = *end ? end + 1 : end;
    }
    return false;
}

static int find_requests(struct wait_building *building)
{
    int result = 0;
    for (size_t i = 0; i < building->link_count && result == 0; i++)
        if (building->links[i].kind == LINK_KIND_REQUEST)
            result = map_set(&building->requests, building->links[i].from.index, building->links[i].to.index);
    return result;
}

/* Links and members of spans that aren't there would lead out of the columns: a damaged file. */
static int check_ids(const struct wait_building *building)
{
    for (size_t i = 0; i < building->link_count; i++)
        if (building->links[i].from.index >= building->table->count || building->links[i].to.index >= building->table->count)
            return error_set(building->err, -EBADMSG, "the trace has a link to a span that it does not have");
    for (size_t i = 0; i < building->member_count; i++)
        if (building->members[i].span.index >= building->table->count)
            return error_set(building->err, -EBADMSG, "the trace has a group with a span that it does not have");
    return 0;
}

#define COMPARE(left, right) (((left) > (right)) - ((left) < (right)))

static int by_lane(const void *left, const void *right)
{
    const struct wait_state *a = left, *b = right;
    int order = COMPARE(a->lane.index, b->lane.index);
    order = order ? order : COMPARE(a->begin_ns, b->begin_ns);
    order = order ? order : COMPARE(a->span.index, b->span.index);
    order = order ? order : COMPARE(a->pattern, b->pattern);
    return order ? order : COMPARE(a->time_ns, b->time_ns);
}

/* By lane and begin first; only states that agree in both are compared. */
static int sort_states(struct wait_states *out)
{
    CLEANUP(freep) struct sort_key *keys = array_resize_exact(NULL, out->count + 1, sizeof *keys);
    if (!keys || out->count >= ID_NONE)
        return -ENOMEM;
    for (size_t i = 0; i < out->count; i++)
        keys[i] = (struct sort_key){sort_key_of(out->states[i].begin_ns), out->states[i].lane.index, (uint32_t)i};
    int result = key_sort(keys, out->count);
    if (result < 0)
        return result;
    struct wait_state *sorted = key_sort_gather(keys, out->count, out->states, sizeof *sorted);
    if (!sorted)
        return -ENOMEM;
    free(out->states);
    out->states = sorted;
    for (size_t first = 0, end; first < out->count; first = end) {
        const struct wait_state *state = &out->states[first];
        for (end = first + 1; end < out->count && out->states[end].begin_ns == state->begin_ns && track_id_is(out->states[end].lane, state->lane);)
            end++;
        if (end - first > 1)
            qsort(out->states + first, end - first, sizeof *out->states, by_lane);
    }
    return 0;
}

static int find_all(struct wait_building *building)
{
    static const struct {
        int (*find)(struct wait_building *building);
        enum wait_scope scope;
    } parts[] = {
        {wait_find_messages, WAITS_BETWEEN_PROCESSES}, {wait_find_collectives, WAITS_BETWEEN_PROCESSES},
        {wait_find_windows, WAITS_BETWEEN_PROCESSES},  {wait_find_openmp, WAITS_WITHIN_PROCESSES},
        {wait_find_idle_threads, WAITS_WITHIN_PROCESSES}, {wait_find_devices, WAITS_WITHIN_PROCESSES},
        {wait_find_nccl, WAITS_BETWEEN_PROCESSES},
    };
    int result = find_requests(building);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && result == 0; i++)
        if (!building->scopes || building->scopes >> parts[i].scope & 1)
            result = parts[i].find(building);
    if (building->blame)
        return result;
    if (result == 0)
        result = sort_states(building->out);
    return result ? result : wait_charge_delays(building);
}

static void building_finish(struct wait_building *building)
{
    map_finish(&building->requests);
    free(building->steps);
    free(building->members);
    span_table_destroy(building->table);
    run_reading_unref(building->run);
}

static int read_trace(struct wait_building *building, const struct progress *progress)
{
    int result = building->run ? 0 : run_reading_create(building->trace, !building->blame, progress, &building->run, building->err);
    if (result < 0)
        return result;
    building->times = building->run->times;
    building->links = building->run->links;
    building->link_count = building->run->link_count;
    result = span_table_share(building->run->table, &building->table);
    if (result == 0)
        result = preempted_of_trace(building->trace, &building->preempted, building->err);
    if (result == 0)
        result = trace_members_read(building->trace, &building->members, &building->member_count, building->err);
    return result ? result : check_ids(building);
}

static int build(struct wait_building *building, const struct progress *progress, struct error *err)
{
    const struct error *own = building->err;
    map_init(&building->requests);
    backends_find(building->trace, &building->backends);
    int result = read_trace(building, progress);
    if (result == 0)
        result = find_all(building);
    building_finish(building);
    return result < 0 ? error_set(err, result, "%s", own->code ? own->text : "wait states: out of memory") : 0;
}

static int states_create(const struct trace *trace, struct run_reading *run, const struct progress *progress, struct wait_states **ret_states,
                         struct error *err)
{
    CLEANUP(wait_states_destroyp) struct wait_states *states = calloc(1, sizeof *states);
    if (!states)
        return error_set(err, -ENOMEM, "wait states: out of memory");
    struct error own = ERROR_INIT;
    struct wait_building building = {.trace = trace, .run = run ? run_reading_ref(run) : NULL, .out = states, .err = &own};
    int result = build(&building, progress, err);
    if (result < 0)
        return result;
    *ret_states = TAKE_PTR(states);
    return 0;
}

int wait_states_create(const struct trace *trace, const struct progress *progress, struct wait_states **ret_states, struct error *err)
{
    return states_create(trace, NULL, progress, ret_states, err);
}

int wait_states_create_from(struct run_reading *run, struct wait_states **ret_states, struct error *err)
{
    return states_create(run->table->trace, run, NULL, ret_states, err);
}

static int name_rows(const struct trace *trace, struct wait_blame_sum *sum, struct error *err)
{
    CLEANUP(freep) struct wait_function *found = calloc(sum->count + 1, sizeof *found);
    int result = found ? wait_functions_find(trace, sum->outside, sum->outside_count, found, sum->count, err) : -ENOMEM;
    for (size_t i = 0; i < sum->count && result == 0; i++) {
        sum->rows[i].function = found[i].function;
        sum->rows[i].function_share = found[i].share;
        sum->rows[i].samples = found[i].samples;
        sum->rows[i].blocked_share = found[i].blocked_share;
    }
    return result;
}

static int blame_create(const struct trace *trace, unsigned scopes, bool with_functions, const struct progress *progress,
                        struct wait_blame **ret_rows, size_t *ret_count, struct error *err)
{
    struct wait_states counts = {0};
    struct wait_blame_sum sum = {.with_functions = with_functions};
    struct error own = ERROR_INIT;
    struct wait_building building = {.trace = trace, .out = &counts, .scopes = scopes, .blame = &sum, .err = &own};
    int result = build(&building, progress, err);
    if (result == 0 && name_rows(trace, &sum, &own) < 0)
        result = error_set(err, own.code ? own.code : -ENOMEM, "%s", own.code ? own.text : "wait states: out of memory");
    if (result == 0 && wait_blame_finish(&sum, trace_strings(trace), ret_rows, ret_count) < 0)
        result = error_set(err, -ENOMEM, "wait states: out of memory");
    wait_blame_clear(&sum);
    return result;
}

int wait_blame_create(const struct trace *trace, const struct progress *progress, struct wait_blame **ret_rows, size_t *ret_count,
                      struct error *err)
{
    return blame_create(trace, 0, false, progress, ret_rows, ret_count, err);
}

int wait_blame_create_named(const struct trace *trace, const struct progress *progress, struct wait_blame **ret_rows, size_t *ret_count,
                            struct error *err)
{
    return blame_create(trace, 0, true, progress, ret_rows, ret_count, err);
}

static track_id placed(track_id track, uint32_t first_track)
{
    return track.index == ID_NONE ? TRACK_NONE : (track_id){track.index + first_track};
}

int wait_blame_pack(const struct trace *trace, enum wait_scope scope, uint32_t first_track, struct parcel *parcel, struct error *err)
{
    CLEANUP(freep) struct wait_blame *rows = NULL;
    size_t count;
    int result = blame_create(trace, 1u << scope, true, NULL, &rows, &count, err);
    if (result < 0)
        return result;
    parcel_put_u64(parcel, count);
    for (size_t i = 0; i < count; i++) {
        rows[i].cause_lane = placed(rows[i].cause_lane, first_track);
        rows[i].victim_lane = placed(rows[i].victim_lane, first_track);
        parcel_put(parcel, &rows[i], 1, sizeof *rows);
        parcel_put_text(parcel, trace_text(trace, rows[i].cause));
        parcel_put_text(parcel, trace_text(trace, rows[i].victim));
        parcel_put_text(parcel, trace_text(trace, rows[i].function));
    }
    return 0;
}

void wait_states_destroy(struct wait_states *states)
{
    if (!states)
        return;
    free(states->states);
    free(states->delays);
    free(states);
}
