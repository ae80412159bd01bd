/* SPDX-License-Identifier: MIT */
/* Events as the Trace Event Format has them, from whichever program: threads, spans, instants, names, samples. */
#include "base/array.h"
#include "base/error.h"
#include "chrome_import.h"

#include <errno.h>
#include <stdlib.h>

#define NOT_LOOKED_UP UINT32_MAX

void foreign_lose(struct chrome_import *import, enum chrome_loss loss)
{
    import->lost[loss]++;
}

static uint64_t scalar_key(const struct chrome_scalar *scalar)
{
    if (scalar->type == SCALAR_TEXT)
        return hash_u64(hash_bytes(scalar->text.data, scalar->text.length) ^ 1);
    return scalar->type == SCALAR_INTEGER ? hash_u64((uint64_t)scalar->value) : hash_u64(UINT64_MAX / 3);
}

/* What a pid or tid that is no small number is called. */
static string_id scalar_name(struct chrome_import *import, const struct chrome_scalar *scalar)
{
    if (scalar->type == SCALAR_TEXT)
        return import_string(import, &scalar->text);
    if (scalar->type == SCALAR_NONE || (scalar->value >= 0 && scalar->value <= INT32_MAX))
        return STRING_NONE;
    struct text name = TEXT_INIT;
    text_addf(&name, "%lld", (long long)scalar->value);
    string_id id = trace_builder_string(import->builder, name.data ? name.data : "");
    text_finish(&name);
    return id;
}

static int32_t scalar_number(const struct chrome_scalar *scalar)
{
    return scalar->type == SCALAR_INTEGER && scalar->value >= 0 && scalar->value <= INT32_MAX ? (int32_t)scalar->value : -1;
}

static int find_process(struct chrome_import *import, const struct chrome_scalar *pid, uint32_t *ret_process)
{
    uint64_t key = scalar_key(pid), found;
    if (map_get(&import->process_map, key, &found)) {
        *ret_process = (uint32_t)found;
        return 0;
    }
    struct import_process *processes =
        array_reserve(import->processes, &import->process_capacity, import->process_count + 1, sizeof(*processes));
    if (!processes)
        return -ENOMEM;
    import->processes = processes;
    struct trace_process process = {.node = import->node, .pid = scalar_number(pid), .rank = -1, .end_ns = INT64_MIN,
                                    .parent = PROCESS_NONE, .command = scalar_name(import, pid), .exit_status = -1,
                                    .attached = true};
    struct import_process *added = &processes[import->process_count];
    *added = (struct import_process){.whole = TRACK_NONE, .first_ns = INT64_MAX};
    int r = trace_builder_add_process(import->builder, &process, &added->id);
    if (r < 0)
        return r;
    *ret_process = (uint32_t)import->process_count++;
    return map_set(&import->process_map, key, *ret_process);
}

int foreign_whole_track(struct chrome_import *import, uint32_t index, track_id *ret_track)
{
    struct import_process *process = &import->processes[index];
    if (process->whole.index == ID_NONE) {
        struct trace_track track = {.kind = TRACK_KIND_PROCESS, .process = process->id, .tid = -1, .device = -1, .stream = -1,
                                    .start_ns = INT64_MIN, .end_ns = INT64_MIN};
        int r = trace_builder_add_track(import->builder, &track, &process->whole);
        if (r < 0)
            return r;
    }
    *ret_track = process->whole;
    return 0;
}

static int find_thread(struct chrome_import *import, const struct chrome_track_key *key, uint32_t *ret_thread)
{
    const struct chrome_scalar *tid = key->tid.type == SCALAR_NONE ? &key->pid : &key->tid;
    uint64_t hash = hash_u64(scalar_key(&key->pid) ^ (scalar_key(tid) << 1 | 1)), found;
    if (map_get(&import->thread_map, hash, &found)) {
        *ret_thread = (uint32_t)found;
        return 0;
    }
    struct import_thread *threads =
        array_reserve(import->threads, &import->thread_capacity, import->thread_count + 1, sizeof(*threads));
    if (!threads)
        return -ENOMEM;
    import->threads = threads;
    uint32_t process;
    int r = find_process(import, &key->pid, &process);
    if (r < 0)
        return r;
    threads[import->thread_count] = (struct import_thread){.process = process, .track = TRACK_NONE};
    struct trace_track track = {.kind = TRACK_KIND_THREAD, .name = scalar_name(import, tid),
                                .process = import->processes[process].id, .tid = scalar_number(tid), .device = -1,
                                .stream = -1, .start_ns = INT64_MIN, .end_ns = INT64_MIN};
    r = trace_builder_add_track(import->builder, &track, &threads[import->thread_count].track);
    if (r < 0)
        return r;
    *ret_thread = (uint32_t)import->thread_count++;
    return map_set(&import->thread_map, hash, *ret_thread);
}

int foreign_add_span(struct chrome_import *import, const struct span *span, const char *args, uint32_t args_size, uint32_t *ret_handle)
{
    struct payload payload = {.kind = PAYLOAD_JSON, .json = args, .json_size = args_size};
    struct placed *placed = import->placed;
    if (import->placed_count == import->placed_capacity) {
        placed = array_reserve(placed, &import->placed_capacity, import->placed_count + 1, sizeof(*placed));
        if (!placed)
            return -ENOMEM;
        import->placed = placed;
    }
    span_id handle;
    int r = trace_builder_add_span(import->builder, span, args_size ? &payload : NULL, &handle);
    if (r == -EINVAL && args_size) {
        r = trace_builder_add_span(import->builder, span, NULL, &handle);
        import->lost[CHROME_LOSS_ARGS] += r == 0;
    }
    if (r == -EINVAL) { /* the sum of begin and duration is out of range */
        foreign_lose(import, CHROME_LOSS_TIME);
        if (ret_handle)
            *ret_handle = ID_NONE;
        return 0;
    }
    if (r < 0)
        return r;
    placed[import->placed_count++] = (struct placed){
        .begin_ns = span->begin_ns, .end_ns = span->end_ns, .track = span->track.index, .handle = handle.index};
    if (ret_handle)
        *ret_handle = handle.index;
    return 0;
}

int foreign_add_instant(struct chrome_import *import, track_id track, const struct instant *instant,
                        const struct chrome_batch *batch, const struct chrome_event *event)
{
    struct payload payload = {.kind = PAYLOAD_JSON, .json = batch->start + event->args_at, .json_size = event->args_size};
    int r = trace_builder_add_instant(import->builder, track, instant, event->args_size ? &payload : NULL);
    if (r == -EINVAL && event->args_size) {
        r = trace_builder_add_instant(import->builder, track, instant, NULL);
        import->lost[CHROME_LOSS_ARGS] += r == 0;
    }
    return r;
}

/* What a span has from its event; kinds only in a file of ours that lost its section. */
static int fill_span(struct chrome_import *import, const struct chrome_batch *batch, const struct chrome_event *event,
                     struct span *ret_span, struct error *err)
{
    const struct chrome_extra *extra = &batch->extras[event->extra];
    *ret_span = (struct span){
        .begin_ns = event->ts_ns, .end_ns = INT64_MIN, .name = import_batch_string(import, batch, event->name),
        .category = import_batch_string(import, batch, event->category), .parent = SPAN_NONE, .stack = STACK_NONE};
    if (!event->extra)
        return 0;
    if (extra->sf.data) {
        int r = stacks_find(import, &extra->sf, &ret_span->stack, err);
        if (r < 0)
            return r;
    }
    char kind[32];
    if (import->own_keys && extra->kind.data && extra->kind.length < sizeof(kind)) {
        memcpy(kind, extra->kind.data, extra->kind.length);
        kind[extra->kind.length] = 0;
        int found = span_kind_find(kind);
        ret_span->kind = found < 0 ? SPAN_KIND_UNKNOWN : (enum span_kind)found;
    }
    return 0;
}

static const char *event_args(const struct chrome_batch *batch, const struct chrome_event *event)
{
    return event->args_size ? batch->start + event->args_at : NULL;
}

static int complete_event(struct chrome_import *import, const struct chrome_batch *batch, const struct chrome_event *event,
                          const struct import_thread *thread, struct error *err)
{
    struct span span;
    uint32_t handle;
    int r = fill_span(import, batch, event, &span, err);
    if (r < 0)
        return r;
    span.track = thread->track;
    if (event->flags & EVENT_HAS_DUR)
        span.end_ns = event->ts_ns + event->dur_ns;
    r = foreign_add_span(import, &span, event_args(batch, event), event->args_size, &handle);
    const struct chrome_extra *extra = &batch->extras[event->extra];
    if (r == 0 && handle != ID_NONE && (extra->flow_in || extra->flow_out))
        r = flow_bind(import, extra, event->ts_ns, handle);
    return r;
}

static int begin_event(struct chrome_import *import, const struct chrome_batch *batch, const struct chrome_event *event,
                       struct import_thread *thread, struct error *err)
{
    struct open_span *open = array_reserve(thread->open, &thread->open_capacity, thread->open_count + 1, sizeof(*open));
    if (!open)
        return -ENOMEM;
    thread->open = open;
    int r = fill_span(import, batch, event, &open[thread->open_count].span, err);
    if (r < 0)
        return r;
    open = &open[thread->open_count++];
    open->span.track = thread->track;
    open->args = event_args(batch, event);
    open->args_size = event->args_size;
    return 0;
}

/* {"a":1} and {"b":2} become {"a":1,"b":2}: an end may bring arguments of its own. */
static void join_args(struct text *out, const char *left, uint32_t left_size, const char *right, uint32_t right_size)
{
    text_clear(out);
    text_add(out, left, left_size - 1);
    while (out->length > 1 && strchr(", \n\r\t", out->data[out->length - 1]))
        out->length--;
    if (out->length > 1)
        text_add_char(out, ',');
    text_add(out, right + 1, right_size - 1);
}

static int end_event(struct chrome_import *import, const struct chrome_batch *batch, const struct chrome_event *event,
                     struct import_thread *thread)
{
    if (!thread->open_count) {
        foreign_lose(import, CHROME_LOSS_END);
        return 0;
    }
    struct open_span *open = &thread->open[--thread->open_count];
    open->span.end_ns = event->ts_ns;
    if (event->ts_ns < open->span.begin_ns) {
        foreign_lose(import, CHROME_LOSS_TIME);
        open->span.end_ns = INT64_MIN; /* an end before the begin is no end */
    }
    const char *args = event_args(batch, event);
    if (!args || !open->args)
        return foreign_add_span(import, &open->span, args ? args : open->args, args ? event->args_size : open->args_size, NULL);
    join_args(&import->scratch, open->args, open->args_size, args, event->args_size);
    if (import->scratch.failed)
        return -ENOMEM;
    return foreign_add_span(import, &open->span, import->scratch.data, (uint32_t)import->scratch.length, NULL);
}

static int instant_event(struct chrome_import *import, const struct chrome_batch *batch, const struct chrome_event *event,
                         const struct import_thread *thread)
{
    struct instant instant = {.time_ns = event->ts_ns, .name = import_batch_string(import, batch, event->name),
                              .category = import_batch_string(import, batch, event->category)};
    char scope = batch->extras[event->extra].instant_scope;
    track_id track = thread->track;
    if (scope == 'g' || scope == 'p') {
        int r = foreign_whole_track(import, thread->process, &track);
        if (r < 0)
            return r;
    }
    return foreign_add_instant(import, track, &instant, batch, event);
}

/* A sample's weight stays as it came; without one, a sample counts 1. */
static int sample_event(struct chrome_import *import, const struct chrome_batch *batch, const struct chrome_event *event,
                        const struct import_thread *thread, struct error *err)
{
    const struct chrome_extra *extra = &batch->extras[event->extra];
    struct sample sample = {.time_ns = event->ts_ns, .weight = 1, .stack = STACK_NONE, .cpu = UINT16_MAX,
                            .event = SAMPLE_EVENT_CPU_CLOCK};
    double weight;
    uint64_t cpu;
    if (extra->weight.data && json_view_double(&extra->weight, &weight) && weight > -9e18 && weight < 9e18)
        sample.weight = (int64_t)weight;
    if (extra->cpu.data && json_view_u64(&extra->cpu, &cpu) && cpu < UINT16_MAX)
        sample.cpu = (uint16_t)cpu;
    if (extra->sf.data) {
        int r = stacks_find(import, &extra->sf, &sample.stack, err);
        if (r < 0)
            return r;
    }
    return trace_builder_add_sample(import->builder, thread->track, &sample);
}

/* The string under "name" of a metadata event's args. */
static string_id name_argument(struct chrome_import *import, const char *args, uint32_t size)
{
    struct json json;
    struct json_view key, value;
    string_id name = STRING_NONE;
    json_init(&json, args, size);
    for (bool more = size && json_object(&json, &key); more; more = json_object_next(&json, &key)) {
        if (json_view_is(&key, "name") && json_peek(&json) == '"' && json_string(&json, &value))
            name = import_string(import, &value);
        else if (!json_skip(&json, NULL))
            break;
    }
    return name;
}

static void metadata_event(struct chrome_import *import, const struct chrome_batch *batch, const struct chrome_event *event,
                           const struct import_thread *thread)
{
    const struct json_view *what = &batch->strings[event->name];
    bool of_process = json_view_is(what, "process_name");
    if (!of_process && !json_view_is(what, "thread_name")) {
        if (!json_view_is(what, "process_sort_index") && !json_view_is(what, "thread_sort_index"))
            foreign_lose(import, CHROME_LOSS_METADATA);
        return;
    }
    string_id name = name_argument(import, batch->start + event->args_at, event->args_size);
    if (!name.index)
        return;
    if (of_process)
        trace_builder_process(import->builder, import->processes[thread->process].id)->command = name;
    else
        trace_builder_track(import->builder, thread->track)->name = name;
}

static void note_time(struct chrome_import *import, const struct chrome_event *event, const struct import_thread *thread)
{
    struct import_process *process = &import->processes[thread->process];
    if (event->ts_ns < process->first_ns)
        process->first_ns = event->ts_ns;
}

static int timed_event(struct chrome_import *import, const struct chrome_batch *batch, const struct chrome_event *event,
                       uint32_t thread_index, struct error *err)
{
    struct import_thread *thread = &import->threads[thread_index];
    switch (event->phase) {
    case 'X':
        return complete_event(import, batch, event, thread, err);
    case 'B':
        return begin_event(import, batch, event, thread, err);
    case 'E':
        return end_event(import, batch, event, thread);
    case 'i': case 'I': case 'R':
        return instant_event(import, batch, event, thread);
    case 'C':
        return counter_event(import, batch, event, thread_index);
    case 'b': case 'e': case 'n': case 'S': case 'F': case 'T': case 'p':
        return async_event(import, batch, event, thread_index);
    case 's': case 't': case 'f':
        return flow_event(import, batch, event, thread->track.index);
    case 'P':
        return sample_event(import, batch, event, thread, err);
    }
    bool known = event->phase && strchr("NODvVc(),=", event->phase);
    foreign_lose(import, known ? CHROME_LOSS_OBJECT : CHROME_LOSS_PHASE);
    return 0;
}

static int consume_event(struct chrome_import *import, const struct chrome_batch *batch, const struct chrome_event *event,
                         struct error *err)
{
    import->seen++;
    if (event->flags & EVENT_NOT_OBJECT) {
        foreign_lose(import, CHROME_LOSS_NOT_EVENT);
        return 0;
    }
    uint32_t *thread = &import->thread_ids[event->track];
    if (*thread == NOT_LOOKED_UP) {
        int r = find_thread(import, &batch->tracks[event->track], thread);
        if (r < 0)
            return r;
    }
    if (event->phase == 'M') {
        metadata_event(import, batch, event, &import->threads[*thread]);
        return 0;
    }
    if ((event->flags & EVENT_BAD_TIME) || !(event->flags & EVENT_HAS_TS)) {
        foreign_lose(import, CHROME_LOSS_TIME);
        return 0;
    }
    note_time(import, event, &import->threads[*thread]);
    return timed_event(import, batch, event, *thread, err);
}

int foreign_consume(struct chrome_import *import, const struct chrome_batch *batch, struct error *err)
{
    int r = import_begin_batch(import, batch);
    for (size_t i = 0; i < batch->event_count && r == 0; i++)
        r = consume_event(import, batch, &batch->events[i], err);
    return r < 0 ? import_failed(import, r, err) : 0;
}

int foreign_begin(struct chrome_import *import, struct error *err)
{
    struct trace_node node = {.name = STRING_NONE};
    map_init(&import->process_map);
    map_init(&import->thread_map);
    map_init(&import->counter_map);
    map_init(&import->async_map);
    map_init(&import->async_group_map);
    map_init(&import->frame_map);
    int r = trace_builder_add_node(import->builder, &node, &import->node);
    if (r == 0)
        r = trace_builder_set_metadata(import->builder, "source_format", "chrome-json");
    return r < 0 ? import_failed(import, r, err) : 0;
}

/* Spans that nobody ended stay unfinished: outermost first, so that they nest. */
static int add_unfinished(struct chrome_import *import)
{
    for (size_t i = 0; i < import->thread_count; i++) {
        struct import_thread *thread = &import->threads[i];
        for (size_t at = 0; at < thread->open_count; at++) {
            int r = foreign_add_span(import, &thread->open[at].span, thread->open[at].args, thread->open[at].args_size, NULL);
            if (r < 0)
                return r;
        }
        thread->open_count = 0;
    }
    return 0;
}

static int add_ledger(struct chrome_import *import)
{
    static const char *const reasons[] = {
#define X(enumerator, text) text,
        CHROME_LOSSES(X)
#undef X
    };
    uint64_t lost = 0;
    for (size_t i = 0; i < CHROME_LOSS_COUNT; i++)
        if (i != CHROME_LOSS_STACK && i != CHROME_LOSS_ARGS) /* those events were taken, but for that */
            lost += import->lost[i];
    uint64_t recorded = import->seen > lost ? import->seen - lost : 0;
    int r = trace_builder_add_ledger(import->builder, "chrome json events", import->seen, recorded, 0, NULL);
    for (size_t i = 0; i < CHROME_LOSS_COUNT && r == 0; i++)
        if (import->lost[i])
            r = trace_builder_add_ledger(import->builder, "chrome json events", 0, 0, import->lost[i], reasons[i]);
    if (r == 0 && import->truncated)
        r = trace_builder_add_ledger(import->builder, "chrome json events", 0, 0, 0, "the file ends in the middle: what came before was read");
    return r;
}

int foreign_end(struct chrome_import *import, struct error *err)
{
    int r = add_unfinished(import);
    if (r == 0)
        r = async_end(import);
    if (r == 0)
        r = flow_end(import);
    for (size_t i = 0; i < import->process_count && r == 0; i++)
        if (import->processes[i].first_ns != INT64_MAX)
            trace_builder_process(import->builder, import->processes[i].id)->start_ns = import->processes[i].first_ns;
    if (r == 0)
        r = add_ledger(import);
    return r < 0 ? import_failed(import, r, err) : 0;
}

void foreign_finish(struct chrome_import *import)
{
    for (size_t i = 0; i < import->thread_count; i++)
        free(import->threads[i].open);
    async_finish(import);
    map_finish(&import->process_map);
    map_finish(&import->thread_map);
    map_finish(&import->counter_map);
    map_finish(&import->frame_map);
    free(import->processes);
    free(import->threads);
    free(import->placed);
    free(import->flows);
}
