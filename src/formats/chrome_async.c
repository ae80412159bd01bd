/* SPDX-License-Identifier: MIT */
/*
 * Events that belong to no thread: asynchronous spans (b n e, S T p F), told apart by an id, and counters. Asynchronous
 * spans of one process and category share tracks: each id takes one that is free and leaves it when its outermost span ends.
 */
#include "base/array.h"
#include "chrome_import.h"

#include <errno.h>
#include <stdlib.h>

/* All spans of one id that are open. */
struct async_open {
    uint32_t group, lane;
    struct open_span *open;
    size_t open_count, open_capacity;
};

struct async_group {
    uint32_t process;
    string_id category;
    track_id *lanes;
    size_t lane_count, lane_capacity;
    uint32_t *vacant;        /* lanes nobody is on */
    size_t vacant_count, vacant_capacity;
};

static uint64_t view_hash(const struct json_view *view)
{
    return view->data ? hash_bytes(view->data, view->length) : 0;
}

static int find_group(struct chrome_import *import, uint32_t process, string_id category, uint32_t *ret_group)
{
    uint64_t key = (uint64_t)process << 32 | category.index, found;
    if (map_get(&import->async_group_map, key, &found)) {
        *ret_group = (uint32_t)found;
        return 0;
    }
    struct async_group *groups =
        array_reserve(import->async_groups, &import->async_group_capacity, import->async_group_count + 1, sizeof(*groups));
    if (!groups)
        return -ENOMEM;
    import->async_groups = groups;
    groups[import->async_group_count] = (struct async_group){.process = process, .category = category};
    *ret_group = (uint32_t)import->async_group_count++;
    return map_set(&import->async_group_map, key, *ret_group);
}

static int add_lane(struct chrome_import *import, struct async_group *group, uint32_t *ret_lane)
{
    track_id *lanes = array_reserve(group->lanes, &group->lane_capacity, group->lane_count + 1, sizeof(*lanes));
    if (!lanes)
        return -ENOMEM;
    group->lanes = lanes;
    uint32_t *vacant = array_reserve(group->vacant, &group->vacant_capacity, group->lane_count + 1, sizeof(*vacant));
    if (!vacant)
        return -ENOMEM;
    group->vacant = vacant;
    struct trace_track track = {.kind = TRACK_KIND_PROCESS, .name = group->category,
                                .process = import->processes[group->process].id, .tid = -1, .device = -1, .stream = -1,
                                .start_ns = INT64_MIN, .end_ns = INT64_MIN};
    if (!track.name.index)
        track.name = trace_builder_string(import->builder, "async");
    int r = trace_builder_add_track(import->builder, &track, &lanes[group->lane_count]);
    *ret_lane = (uint32_t)group->lane_count;
    group->lane_count += r == 0;
    return r;
}

/* The spans of an id; made, and put on a lane, if `make`. *ret_async NULL: there is none. */
static int find_async(struct chrome_import *import, uint64_t key, uint32_t process, string_id category, bool make,
                      struct async_open **ret_async)
{
    uint64_t found;
    *ret_async = NULL;
    if (map_get(&import->async_map, key, &found)) {
        *ret_async = &import->async[found];
    } else if (make) {
        struct async_open *async = array_reserve(import->async, &import->async_capacity, import->async_count + 1, sizeof(*async));
        uint32_t group;
        if (!async || find_group(import, process, category, &group) < 0)
            return -ENOMEM;
        import->async = async;
        async[import->async_count] = (struct async_open){.group = group};
        if (map_set(&import->async_map, key, import->async_count) < 0)
            return -ENOMEM;
        *ret_async = &async[import->async_count++];
    }
    if (!*ret_async || !make || (*ret_async)->open_count)
        return 0;
    struct async_group *group = &import->async_groups[(*ret_async)->group];
    if (group->vacant_count) {
        (*ret_async)->lane = group->vacant[--group->vacant_count];
        return 0;
    }
    return add_lane(import, group, &(*ret_async)->lane);
}

static void leave_lane(struct chrome_import *import, struct async_open *async)
{
    struct async_group *group = &import->async_groups[async->group];
    if (!async->open_count)
        group->vacant[group->vacant_count++] = async->lane;
}

static int async_begin(struct chrome_import *import, const struct chrome_batch *batch, const struct chrome_event *event,
                       struct async_open *async)
{
    struct open_span *open = array_reserve(async->open, &async->open_capacity, async->open_count + 1, sizeof(*open));
    if (!open)
        return -ENOMEM;
    async->open = open;
    open[async->open_count++] = (struct open_span){
        .span = {.track = import->async_groups[async->group].lanes[async->lane], .begin_ns = event->ts_ns, .end_ns = INT64_MIN,
                 .name = import_batch_string(import, batch, event->name),
                 .category = import_batch_string(import, batch, event->category), .parent = SPAN_NONE, .stack = STACK_NONE},
        .args = event->args_size ? batch->start + event->args_at : NULL,
        .args_size = event->args_size};
    return 0;
}

static int async_finish_span(struct chrome_import *import, const struct chrome_event *event, struct async_open *async)
{
    struct open_span *open = &async->open[--async->open_count];
    open->span.end_ns = event->ts_ns;
    if (event->ts_ns < open->span.begin_ns) {
        foreign_lose(import, CHROME_LOSS_TIME);
        open->span.end_ns = INT64_MIN;
    }
    leave_lane(import, async);
    return foreign_add_span(import, &open->span, open->args, open->args_size, NULL);
}

static int async_instant(struct chrome_import *import, const struct chrome_batch *batch, const struct chrome_event *event,
                         const struct async_open *async, uint32_t process)
{
    struct instant instant = {.time_ns = event->ts_ns, .name = import_batch_string(import, batch, event->name),
                              .category = import_batch_string(import, batch, event->category)};
    track_id track;
    if (async && async->open_count) {
        track = import->async_groups[async->group].lanes[async->lane];
    } else {
        int r = foreign_whole_track(import, process, &track);
        if (r < 0)
            return r;
    }
    return foreign_add_instant(import, track, &instant, batch, event);
}

int async_event(struct chrome_import *import, const struct chrome_batch *batch, const struct chrome_event *event, uint32_t thread)
{
    const struct chrome_extra *extra = &batch->extras[event->extra];
    uint32_t process = import->threads[thread].process;
    string_id category = import_batch_string(import, batch, event->category);
    bool nestable = strchr("bne", event->phase), begins = event->phase == 'b' || event->phase == 'S';
    /* Legacy spans are told apart by name as well; they do not nest. */
    uint64_t key = hash_u64(view_hash(&extra->id) ^ hash_u64(view_hash(&extra->scope) + category.index));
    key = hash_u64(key + (nestable ? 0 : UINT64_C(1) << 32 | import_batch_string(import, batch, event->name).index));
    key = hash_u64(key ^ ((uint64_t)process << 1 | nestable));
    struct async_open *async;
    int r = find_async(import, key, process, category, begins, &async);
    if (r < 0)
        return r;
    if (begins)
        return async_begin(import, batch, event, async);
    if (event->phase != 'e' && event->phase != 'F')
        return async_instant(import, batch, event, async, process);
    if (!async || !async->open_count) {
        foreign_lose(import, CHROME_LOSS_END);
        return 0;
    }
    return async_finish_span(import, event, async);
}

int async_end(struct chrome_import *import)
{
    for (size_t i = 0; i < import->async_count; i++)
        for (size_t at = 0; at < import->async[i].open_count; at++) {
            const struct open_span *open = &import->async[i].open[at];
            int r = foreign_add_span(import, &open->span, open->args, open->args_size, NULL);
            if (r < 0)
                return r;
        }
    return 0;
}

void async_finish(struct chrome_import *import)
{
    for (size_t i = 0; i < import->async_count; i++)
        free(import->async[i].open);
    for (size_t i = 0; i < import->async_group_count; i++) {
        free(import->async_groups[i].lanes);
        free(import->async_groups[i].vacant);
    }
    free(import->async);
    free(import->async_groups);
    map_finish(&import->async_map);
    map_finish(&import->async_group_map);
}

/* One track for each process, counter name, id and series. */
static int counter_track(struct chrome_import *import, uint32_t process, string_id name, const struct json_view *id,
                         string_id series, track_id *ret_track)
{
    uint64_t found;
    uint64_t key = hash_u64(hash_u64((uint64_t)process << 32 | name.index) ^ hash_u64(view_hash(id) + series.index));
    if (map_get(&import->counter_map, key, &found)) {
        ret_track->index = (uint32_t)found;
        return 0;
    }
    struct trace_track track = {.kind = TRACK_KIND_COUNTER, .name = name, .process = import->processes[process].id, .tid = -1,
                                .device = -1, .stream = -1, .start_ns = INT64_MIN, .end_ns = INT64_MIN};
    const char *series_text = string_table_text(import->strings, series);
    if (series_text[0] && strcmp(series_text, "value") != 0) {
        struct text full = TEXT_INIT;
        text_add_string(&full, string_table_text(import->strings, name));
        text_addf(&full, "%s%s", full.length ? "." : "", series_text);
        track.name = trace_builder_string(import->builder, full.data ? full.data : "");
        text_finish(&full);
    }
    int r = trace_builder_add_track(import->builder, &track, ret_track);
    return r < 0 ? r : map_set(&import->counter_map, key, ret_track->index);
}

int counter_event(struct chrome_import *import, const struct chrome_batch *batch, const struct chrome_event *event, uint32_t thread)
{
    struct json json;
    struct json_view series, value;
    string_id name = import_batch_string(import, batch, event->name);
    unsigned taken = 0;
    json_init(&json, batch->start + event->args_at, event->args_size);
    for (bool more = event->args_size && json_object(&json, &series); more; more = json_object_next(&json, &series)) {
        double number;
        bool numeric = strchr("-0123456789", json_peek(&json)) && json_peek(&json);
        if (!(numeric ? json_number(&json, &value) : json_skip(&json, &value)))
            break;
        if (!numeric || !json_view_double(&value, &number))
            continue;
        track_id track;
        string_id series_id = import_string(import, &series);
        int r = counter_track(import, import->threads[thread].process, name, &batch->extras[event->extra].id, series_id, &track);
        if (r == 0)
            r = trace_builder_add_counter(import->builder, track, &(struct counter_value){.time_ns = event->ts_ns, .value = number});
        if (r < 0)
            return r;
        taken++;
    }
    if (!taken)
        foreign_lose(import, CHROME_LOSS_COUNTER);
    return 0;
}
