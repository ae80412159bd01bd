/* SPDX-License-Identifier: MIT */
/* Calls that will have ended before anybody has read of them are left out: their spans come soon enough. */
#include "merge_open.h"

#include "base/array.h"
#include "base/clock.h"
#include "open_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_NS 100000000 /* so long a call has lasted before it is shown as open */

struct look {
    struct merge *merge;
    struct merge_process *process;
    struct open_list *found;
    int64_t before_ns; /* what began later is left out */
};

static int add(struct look *look, const struct merge_stream *stream, unsigned layer, const struct wire_open_call *call)
{
    struct open_list *found = look->found;
    int64_t begin_ns = merge_time(look->merge, stream, call->begin);
    if (begin_ns > look->before_ns || begin_ns < 0)
        return 0;
    track_id track = merge_thread_at(look->merge, look->process->pid, stream->id.tid, begin_ns);
    struct open_call *grown = array_reserve(found->items, &found->capacity, found->count + 1, sizeof *grown);
    if (!grown || track.index == ID_NONE)
        return -ENOMEM;
    found->items = grown;
    grown[found->count++] = (struct open_call){.track = track, .begin_ns = begin_ns, .name = merge_string(look->merge, stream, call->name),
                                               .category = merge_category(look->merge, stream, 0, (uint8_t)layer)};
    return 0;
}

static int visit(void *context, const struct wire_open_thread *thread)
{
    struct look *look = context;
    int32_t tid = thread->tid == look->process->map->pid ? look->process->pid : thread->tid;
    const struct merge_stream stream = {.id = {.process_key = look->process->key, .pid = look->process->map->pid, .tid = tid, .thread_serial = thread->serial},
                                        .process = look->process, .track = TRACK_NONE};
    int code = 0;
    for (unsigned layer = 0; layer < WIRE_LAYER_COUNT && code == 0; layer++)
        if (thread->calls[layer].frame)
            code = add(look, &stream, layer, &thread->calls[layer]);
    return code;
}

static bool same(const struct open_list *left, const struct open_list *right)
{
    for (size_t i = 0; left->count == right->count && i < left->count; i++)
        if (left->items[i].track.index != right->items[i].track.index || left->items[i].name.index != right->items[i].name.index ||
            llabs(left->items[i].begin_ns - right->items[i].begin_ns) > 1000) /* lines between clocks get better */
            return false;
    return left->count == right->count;
}

int merge_open_look(struct merge *merge, struct open_list *last, bool *ret_changed)
{
    struct open_list found = {0};
    struct look look = {.merge = merge, .found = &found, .before_ns = merge_time_raw(merge, clock_raw_ns()) - LEAST_NS};
    int code = 0;
    for (size_t i = 0; i < merge->process_count && code != -ENOMEM; i++) {
        look.process = merge->processes[i];
        if (look.process->unreadable || look.process->process.index == ID_NONE)
            continue;
        code = open_calls_read(look.process->pid, look.process->map, visit, &look);
        look.process->unreadable = code == -ESRCH || code == -EPERM; /* gone for good, or not ours to look into */
    }
    *ret_changed = !same(&found, last);
    code = code == -ENOMEM ? code : trace_builder_set_open(merge->builder, found.items, (uint32_t)found.count);
    free(last->items);
    *last = found;
    return code;
}
