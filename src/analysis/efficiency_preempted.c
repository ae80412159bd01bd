/* SPDX-License-Identifier: MIT */
/* When threads could run but had no processor, as the scheduler's records say: such time is nobody's use. */
#include "efficiency_internal.h"

#include "base/map.h"

#include <errno.h>
#include <string.h>

static uint64_t thread_key(const struct trace_track *track)
{
    return hash_u64((uint64_t)track->process.index << 32 | (uint32_t)track->tid);
}

/* A thread's number may be used again: then the lane that began when it did is its own. */
static uint64_t exact_key(const struct trace_track *track)
{
    return hash_u64(thread_key(track) ^ (uint64_t)track->start_ns);
}

static int find_lanes(struct efficiency_reading *reading, struct map *lanes)
{
    const struct span_table *table = reading->table;
    int result = 0;
    for (uint32_t i = 0; i < table->track_count && result == 0; i++) {
        if (table->tracks[i].kind != TRACK_KIND_SCHED || table->track_first[i] == table->track_first[i + 1])
            continue;
        reading->preempted_known = true;
        result = map_set(lanes, thread_key(&table->tracks[i]), i);
        if (result == 0 && table->tracks[i].start_ns != INT64_MIN)
            result = map_set(lanes, exact_key(&table->tracks[i]), i);
    }
    return result;
}

int efficiency_find_preempted(struct efficiency_reading *reading)
{
    const struct span_table *table = reading->table;
    const struct string_table *strings = trace_strings(reading->trace);
    struct map lanes;
    uint64_t lane;
    reading->preempted = STRING_NONE;
    string_table_find(strings, "preempted", strlen("preempted"), &reading->preempted);
    reading->sched = malloc((table->track_count + (size_t)1) * sizeof *reading->sched);
    if (!reading->sched)
        return -ENOMEM;
    map_init(&lanes);
    int result = find_lanes(reading, &lanes);
    for (uint32_t i = 0; i < table->track_count; i++) {
        const struct trace_track *track = &table->tracks[i];
        bool known = track->kind == TRACK_KIND_THREAD && ((track->start_ns != INT64_MIN && map_get(&lanes, exact_key(track), &lane)) ||
                                                          map_get(&lanes, thread_key(track), &lane));
        reading->sched[i] = known ? (uint32_t)lane : ID_NONE;
    }
    map_finish(&lanes);
    return result;
}

/* Spans of a scheduler's lane do not overlap. */
int64_t efficiency_preempted_in(const struct efficiency_reading *reading, uint32_t track, int64_t begin_ns, int64_t end_ns)
{
    const struct span_table *table = reading->table;
    uint32_t lane = reading->sched[track];
    int64_t sum_ns = 0;
    if (lane == ID_NONE || string_is(reading->preempted, STRING_NONE))
        return 0;
    uint32_t low = table->track_first[lane], high = table->track_first[lane + 1];
    while (low < high) { /* the first that ends behind begin_ns */
        uint32_t middle = low + (high - low) / 2;
        if (table->end_ns[middle] <= begin_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < table->track_first[lane + 1] && table->begin_ns[low] < end_ns; low++) {
        int64_t from_ns = table->begin_ns[low] > begin_ns ? table->begin_ns[low] : begin_ns;
        int64_t to_ns = table->end_ns[low] < end_ns ? table->end_ns[low] : end_ns;
        if (string_is(table->name[low], reading->preempted) && to_ns > from_ns)
            sum_ns += to_ns - from_ns;
    }
    return sum_ns;
}
