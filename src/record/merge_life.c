/* SPDX-License-Identifier: MIT */
/*
 * Life of processes and threads: program images of a pid in order of time, tracks of their threads, what they are called, and
 * the recorder's metadata and ledger. An image is made at first mention, so that rows of an interrupted recording find a place.
 */
#include "base/array.h"
#include "base/error.h"
#include "base/log.h"
#include "launcher.h"
#include "merge_internal.h"
#include "overhead.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_INDEX UINT32_MAX
#define TIME_UNKNOWN INT64_MIN

struct image { /* one program in one process */
    int64_t start_ns;
    uint64_t claimed;    /* key of the runtime that was in it; 0 = none seen */
    uint32_t process;    /* process_id */
    uint32_t older;      /* image of the same pid, or NO_INDEX */
    uint32_t flags;      /* enum wire_process_flags */
    uint32_t generation;
    bool executed;
};

struct lane { /* a thread's life */
    int64_t start_ns;
    uint32_t track;
    uint32_t older;
    bool ended;
};

struct life {
    struct merge *merge;
    struct image *images;
    size_t image_count, image_capacity;
    struct map newest;   /* pid -> newest image */
    struct lane *lanes;
    size_t lane_count, lane_capacity;
    struct map threads;  /* hash of (process, tid, kind) -> newest lane */
};

static void life_destroy(void *state)
{
    struct life *life = state;
    if (!life)
        return;
    free(life->images);
    free(life->lanes);
    map_finish(&life->newest);
    map_finish(&life->threads);
    free(life);
}

static int life_create(struct merge *merge, void **ret_state, struct error *err)
{
    struct life *life = calloc(1, sizeof *life);
    if (!life)
        return error_set(err, -ENOMEM, "merge: out of memory");
    life->merge = merge;
    *ret_state = life;
    return 0;
}

static struct life *life_of(struct merge *merge)
{
    return merge_state(merge, &merge_part_life);
}

/* The image of a pid at a time: the last that had begun, else the first there is; NULL for a pid never seen. */
static struct image *image_find(struct life *life, int32_t pid, int64_t time_ns)
{
    uint64_t index;
    if (!map_get(&life->newest, (uint32_t)pid, &index))
        return NULL;
    struct image *image = &life->images[index];
    while (image->start_ns > time_ns && image->older != NO_INDEX)
        image = &life->images[image->older];
    return image;
}

/* Links the image in where its start belongs. */
static int image_link(struct life *life, int32_t pid, uint32_t index)
{
    struct image *image = &life->images[index];
    uint64_t newest;
    if (!map_get(&life->newest, (uint32_t)pid, &newest) || life->images[newest].start_ns <= image->start_ns) {
        image->older = map_get(&life->newest, (uint32_t)pid, &newest) ? (uint32_t)newest : NO_INDEX;
        return map_set(&life->newest, (uint32_t)pid, index);
    }
    struct image *later = &life->images[newest];
    while (later->older != NO_INDEX && life->images[later->older].start_ns > image->start_ns)
        later = &life->images[later->older];
    image->older = later->older;
    later->older = index;
    return 0;
}

static int image_add(struct life *life, int32_t pid, const struct image *given, process_id parent, uint32_t *ret_index)
{
    struct image *images = array_reserve(life->images, &life->image_capacity, life->image_count + 1, sizeof *images);
    if (!images)
        return -ENOMEM;
    life->images = images;
    struct trace_process process = {
        .node = life->merge->node,
        .pid = pid,
        .rank = -1,
        .start_ns = given->start_ns,
        .end_ns = TIME_UNKNOWN,
        .parent = parent,
        .generation = given->generation,
        .exit_status = -1,
        .attached = given->flags & WIRE_PROCESS_ATTACHED,
    };
    if (given->flags & WIRE_PROCESS_STATIC)
        process.reason = trace_builder_string(life->merge->builder, "static program: samples only");
    process_id id;
    int code = trace_builder_add_process(life->merge->builder, &process, &id);
    if (code)
        return code;
    uint32_t index = (uint32_t)life->image_count++;
    images[index] = *given;
    images[index].process = id.index;
    images[index].older = NO_INDEX;
    *ret_index = index;
    return image_link(life, pid, index);
}

static struct trace_process *process_of(struct life *life, const struct image *image)
{
    return trace_builder_process(life->merge->builder, (process_id){image->process});
}

static process_id process_at(struct life *life, int32_t pid, int64_t time_ns, bool make)
{
    struct image *image = image_find(life, pid, time_ns);
    uint32_t index;
    if (image)
        return (process_id){image->process};
    struct image fresh = {.start_ns = time_ns};
    if (!make || image_add(life, pid, &fresh, PROCESS_NONE, &index) < 0)
        return PROCESS_NONE;
    return (process_id){life->images[index].process};
}

process_id merge_process_at(struct merge *merge, int32_t pid, int64_t time_ns)
{
    return process_at(life_of(merge), pid, time_ns, true);
}

static int track_add(struct life *life, process_id process, int32_t tid, enum track_kind kind, int64_t start_ns, uint32_t *ret_track)
{
    struct trace_track track = {
        .kind = kind,
        .process = process,
        .tid = tid,
        .device = -1,
        .stream = -1,
        .start_ns = start_ns,
        .end_ns = TIME_UNKNOWN,
    };
    track_id id;
    int code = trace_builder_add_track(life->merge->builder, &track, &id);
    if (code == 0)
        *ret_track = id.index;
    return code;
}

static uint64_t lane_key(process_id process, int32_t tid, enum track_kind kind)
{
    return hash_u64((uint64_t)process.index << 32 | (uint32_t)tid) + kind;
}

static int lane_add(struct life *life, uint64_t key, uint32_t track, int64_t start_ns)
{
    struct lane *lanes = array_reserve(life->lanes, &life->lane_capacity, life->lane_count + 1, sizeof *lanes);
    if (!lanes)
        return -ENOMEM;
    life->lanes = lanes;
    uint64_t older;
    uint32_t index = (uint32_t)life->lane_count++;
    lanes[index] = (struct lane){.start_ns = start_ns, .track = track,
                                 .older = map_get(&life->threads, key, &older) ? (uint32_t)older : NO_INDEX};
    return map_set(&life->threads, key, index);
}

static struct lane *lane_find(struct life *life, uint64_t key, int64_t time_ns)
{
    uint64_t index;
    if (!map_get(&life->threads, key, &index))
        return NULL;
    struct lane *lane = &life->lanes[index];
    while (lane->start_ns > time_ns && lane->older != NO_INDEX)
        lane = &life->lanes[lane->older];
    return lane;
}

static track_id lane_at(struct merge *merge, int32_t pid, int32_t tid, int64_t time_ns, enum track_kind kind)
{
    struct life *life = life_of(merge);
    process_id process = merge_process_at(merge, pid, time_ns);
    if (process_id_is(process, PROCESS_NONE))
        return TRACK_NONE;
    uint64_t key = lane_key(process, tid, kind);
    int64_t start_ns = kind == TRACK_KIND_THREAD ? time_ns : TIME_UNKNOWN;
    if (kind == TRACK_KIND_SCHED) { /* a later thread of the same number has a lane of its own, told by when the thread began */
        const struct lane *thread = lane_find(life, lane_key(process, tid, TRACK_KIND_THREAD), time_ns);
        bool later = thread && thread->older != NO_INDEX;
        key = later ? hash_u64(key ^ (uint64_t)thread->track << 32) : key;
        start_ns = later ? thread->start_ns : start_ns;
    }
    const struct lane *lane = lane_find(life, key, time_ns);
    if (lane)
        return (track_id){lane->track};
    uint32_t track = ID_NONE;
    if (track_add(life, process, tid, kind, start_ns, &track) < 0 || lane_add(life, key, track, start_ns) < 0)
        return TRACK_NONE;
    return (track_id){track};
}

track_id merge_thread_at(struct merge *merge, int32_t pid, int32_t tid, int64_t time_ns)
{
    return lane_at(merge, pid, tid, time_ns, TRACK_KIND_THREAD);
}

track_id merge_sched_at(struct merge *merge, int32_t pid, int32_t tid, int64_t time_ns)
{
    return lane_at(merge, pid, tid, time_ns, TRACK_KIND_SCHED);
}

/* The text behind a record's fixed part, cut to what is there and at a NUL. */
static string_id tail_string(struct merge *merge, const struct wire_header *record, uint32_t length)
{
    uint32_t fixed = wire_kind_size(record->kind), room = wire_bytes(record) - fixed;
    const char *text = (const char *)record + fixed;
    string_id id = STRING_NONE;
    length = length < room ? length : room;
    string_table_intern(trace_builder_strings(merge->builder), text, strnlen(text, length), &id);
    return id;
}

static string_id base_name(struct merge *merge, string_id path)
{
    const char *text = string_table_text(trace_builder_strings(merge->builder), path);
    const char *slash = strrchr(text, '/');
    if (!slash)
        return path;
    char copy[256]; /* interning may move what text points to */
    snprintf(copy, sizeof copy, "%s", slash + 1);
    return trace_builder_string(merge->builder, copy);
}

static int on_process_start(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    struct life *life = life_of(merge);
    const struct wire_process_start *record = (const struct wire_process_start *)(const void *)header;
    int64_t time_ns = merge_time_raw(merge, record->time_ns);
    const struct image fresh = {.start_ns = time_ns, .flags = record->flags, .generation = record->generation};
    process_id parent = process_at(life, record->parent_pid, time_ns, false);
    uint32_t index;
    int code = image_add(life, record->pid, &fresh, parent, &index);
    if (code)
        return code;
    struct trace_process *process = process_of(life, &life->images[index]);
    process->command = tail_string(merge, header, header->value);
    if (string_is(process->command, STRING_NONE) && !process_id_is(parent, PROCESS_NONE))
        process->command = trace_builder_process(merge->builder, parent)->command; /* a fork is called as its parent */
    return 0;
}

/* The main thread's life begins with its program, not while it waits for our word to start it. */
static void begin_lane(struct life *life, const struct image *image, int32_t pid, int64_t time_ns)
{
    struct lane *lane = lane_find(life, lane_key((process_id){image->process}, pid, TRACK_KIND_THREAD), time_ns);
    if (!lane)
        return;
    lane->start_ns = time_ns;
    trace_builder_track(life->merge->builder, (track_id){lane->track})->start_ns = time_ns;
}

/* What the main thread does from its exec on is another program's: its lane in the old one ends. */
static void end_lane(struct life *life, const struct image *image, int32_t pid, int64_t time_ns)
{
    struct lane *lane = lane_find(life, lane_key((process_id){image->process}, pid, TRACK_KIND_THREAD), time_ns);
    struct trace_track *track = lane ? trace_builder_track(life->merge->builder, (track_id){lane->track}) : NULL;
    if (track && track->end_ns == TIME_UNKNOWN)
        track->end_ns = time_ns;
}

static int on_process_exec(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    struct life *life = life_of(merge);
    const struct wire_process_exec *record = (const struct wire_process_exec *)(const void *)header;
    int64_t time_ns = merge_time_raw(merge, record->time_ns);
    struct image *old = image_find(life, record->pid, time_ns);
    uint32_t index;
    if (old && !old->executed && ((old->flags & WIRE_PROCESS_ROOT) || (record->flags & WIRE_PROCESS_ATTACHED))) {
        /* Before its first exec the root was us, waiting to become the target: no image of its own. And a process that was
         * attached to is only told here what it runs. */
        if (old->flags & WIRE_PROCESS_ROOT)
            begin_lane(life, old, record->pid, time_ns);
        old->executed = true;
        old->start_ns = time_ns;
        index = (uint32_t)(old - life->images);
        process_of(life, old)->start_ns = time_ns;
    } else {
        struct image fresh = {.start_ns = time_ns, .flags = record->flags, .executed = true};
        process_id parent = PROCESS_NONE;
        if (old) {
            struct trace_process *process = process_of(life, old);
            process->end_ns = time_ns;
            end_lane(life, old, record->pid, time_ns);
            parent = process->parent;
            fresh.generation = old->generation + 1;
        }
        int code = image_add(life, record->pid, &fresh, parent, &index);
        if (code)
            return code;
    }
    string_id path = tail_string(merge, header, header->value), name = base_name(merge, path);
    struct trace_process *process = process_of(life, &life->images[index]);
    process->executable = path;
    process->command = name;
    if ((record->flags & WIRE_PROCESS_STATIC) && string_is(process->reason, STRING_NONE))
        process->reason = trace_builder_string(merge->builder, "static program: samples only");
    return 0;
}

static int on_process_exit(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    struct life *life = life_of(merge);
    const struct wire_process_exit *record = (const struct wire_process_exit *)(const void *)header;
    int64_t time_ns = merge_time_raw(merge, record->time_ns);
    struct image *image = image_find(life, record->pid, time_ns);
    if (!image)
        return 0;
    struct trace_process *process = process_of(life, image);
    process->end_ns = time_ns;
    process->exit_status = record->wait_status;
    return 0;
}

static int on_task_start(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    struct life *life = life_of(merge);
    const struct wire_task_start *record = (const struct wire_task_start *)(const void *)header;
    int64_t time_ns = merge_time_raw(merge, record->time_ns);
    process_id process = merge_process_at(merge, record->pid, time_ns);
    uint64_t key = lane_key(process, record->tid, TRACK_KIND_THREAD);
    const struct lane *lane = lane_find(life, key, time_ns);
    if (lane && !lane->ended)
        return 0;
    uint32_t track = ID_NONE;
    int code = track_add(life, process, record->tid, TRACK_KIND_THREAD, time_ns, &track);
    return code ? code : lane_add(life, key, track, time_ns);
}

static int on_task_exit(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    struct life *life = life_of(merge);
    const struct wire_task_exit *record = (const struct wire_task_exit *)(const void *)header;
    int64_t time_ns = merge_time_raw(merge, record->time_ns);
    process_id process = process_at(life, record->pid, time_ns, false);
    struct lane *lane = lane_find(life, lane_key(process, record->tid, TRACK_KIND_THREAD), time_ns);
    if (!lane)
        return 0;
    lane->ended = true;
    trace_builder_track(merge->builder, (track_id){lane->track})->end_ns = time_ns;
    return 0;
}

static int on_task_name(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_task_name *record = (const struct wire_task_name *)(const void *)header;
    int64_t time_ns = merge_time_raw(merge, record->time_ns);
    string_id name = tail_string(merge, header, header->value);
    track_id id = merge_thread_at(merge, record->pid, record->tid, time_ns);
    if (track_id_is(id, TRACK_NONE))
        return -ENOMEM;
    struct trace_track *track = trace_builder_track(merge->builder, id);
    track->name = name;
    if (record->pid == record->tid)
        trace_builder_process(merge->builder, track->process)->command = name;
    return 0;
}

static int on_thread_start(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_thread_start *record = (const struct wire_thread_start *)(const void *)header;
    struct trace_track *track = trace_builder_track(merge->builder, stream->track);
    if (track && track->start_ns == TIME_UNKNOWN)
        track->start_ns = merge_time(merge, stream, record->time);
    return 0;
}

static int on_thread_name(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_thread_name *record = (const struct wire_thread_name *)(const void *)header;
    struct trace_track *track = trace_builder_track(merge->builder, stream->track);
    char name[sizeof record->name + 1];
    snprintf(name, sizeof name, "%.*s", (int)sizeof record->name, record->name);
    if (track && name[0])
        track->name = trace_builder_string(merge->builder, name);
    return 0;
}

/* In a namespace of its own a process' thread numbers are not ours, but for its first thread's. */
static int on_named_thread(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_named_thread *record = (const struct wire_named_thread *)(const void *)header;
    const string_id name = merge_string(merge, stream, header->value);
    if (!stream->process || string_is(name, STRING_NONE))
        return 0;
    int32_t own_pid = stream->process->map->pid, pid = merge_stream_pid(stream), tid = record->tid == own_pid ? pid : record->tid;
    if (own_pid != pid && tid != pid)
        return 0;
    track_id id = merge_thread_at(merge, pid, tid, merge_time(merge, stream, record->time));
    if (track_id_is(id, TRACK_NONE))
        return -ENOMEM;
    trace_builder_track(merge->builder, id)->name = name;
    return 0;
}

static int on_thread_end(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_thread_end *record = (const struct wire_thread_end *)(const void *)header;
    struct trace_track *track = trace_builder_track(merge->builder, stream->track);
    if (track && track->end_ns == TIME_UNKNOWN)
        track->end_ns = merge_time(merge, stream, record->time);
    return 0;
}

/* Two texts behind the fixed part, each with its NUL. False where they aren't. */
static bool two_texts(const struct wire_header *record, const char **ret_first, const char **ret_second)
{
    uint32_t fixed = wire_kind_size(record->kind), room = wire_bytes(record) - fixed;
    uint32_t length = record->value < room ? record->value : room;
    const char *first = (const char *)record + fixed, *end = first + length;
    const char *second = memchr(first, 0, length);
    if (!second || !memchr(second + 1, 0, (size_t)(end - second - 1)))
        return false;
    *ret_first = first;
    *ret_second = second + 1;
    return true;
}

static int on_metadata(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const char *key, *value;
    if (!two_texts(header, &key, &value))
        return 0;
    merge->finished |= strcmp(key, OVERHEAD_TOTAL) == 0;
    if (strcmp(key, LAUNCHER_RANK_KEY) == 0) {
        merge->launcher_rank_known = true;
        merge->launcher_rank = (int32_t)strtol(value, NULL, 10);
    }
    return trace_builder_set_metadata(merge->builder, key, value);
}

static int on_ledger(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_ledger *record = (const struct wire_ledger *)(const void *)header;
    const char *source, *reason;
    if (!two_texts(header, &source, &reason))
        return 0;
    merge->recycled |= record->lost && strstr(reason, "--buffer-limit");
    return trace_builder_add_ledger(merge->builder, source, record->seen, record->recorded, record->lost, reason);
}

/* A collector's own row. In the first pass the targets' streams are not always shown: it counts in the second only. */
static int on_recorder_ledger(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    return stream->process ? 0 : on_ledger(merge, stream, header);
}

static int on_target_ledger(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    return stream->process ? on_ledger(merge, stream, header) : 0;
}

static int on_calibration(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    if (stream->process)
        return 0; /* its own are collected where its line is fitted */
    return clock_pairs_add(&merge->pairs, (const struct wire_calibration *)(const void *)header);
}

static void note_collector(struct merge *merge, const char *name)
{
    for (size_t i = 0; merge_parts[i]; i++)
        merge->ahead |= merge_parts[i]->ahead && strncmp(name, merge_parts[i]->ahead, strlen(merge_parts[i]->ahead)) == 0;
}

static int on_process_info(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_process_info *record = (const struct wire_process_info *)(const void *)header;
    string_id text = merge_string(merge, stream, header->value);
    if (record->topic == WIRE_INFO_COLLECTOR)
        note_collector(merge, string_table_text(trace_builder_strings(merge->builder), text));
    if (record->topic != WIRE_INFO_NOTE || !stream->process)
        return 0;
    trace_builder_process(merge->builder, stream->process->process)->reason = text;
    log_warning(merge->options->log, "process %d: %s", stream->process->pid,
                string_table_text(trace_builder_strings(merge->builder), text));
    return 0;
}

/* Program images with a runtime, in the order in which they began. */
static int by_start(const void *left, const void *right)
{
    const struct merge_process *a = *(struct merge_process *const *)left, *b = *(struct merge_process *const *)right;
    return (a->map->start_raw_ns > b->map->start_raw_ns) - (a->map->start_raw_ns < b->map->start_raw_ns);
}

/* An image that another runtime already was in is an older program of this pid: the exec between was not seen. */
static int image_claim(struct life *life, struct merge_process *process)
{
    struct merge *merge = life->merge;
    struct merge_stream stream = {.process = process};
    int64_t time_ns = merge_time(merge, &stream, process->map->start_time);
    struct image *image = image_find(life, process->pid, time_ns);
    if (!image || image->claimed) {
        struct image fresh = {.start_ns = time_ns, .generation = image ? image->generation + 1 : 0};
        process_id parent = image ? process_of(life, image)->parent : process_at(life, process->map->parent_pid, time_ns, false);
        if (image)
            process_of(life, image)->end_ns = time_ns;
        uint32_t index;
        int code = image_add(life, process->pid, &fresh, parent, &index);
        if (code)
            return code;
        image = &life->images[index];
    }
    image->claimed = process->key;
    process->process.index = image->process;
    struct trace_process *row = process_of(life, image);
    if (!string_is(row->executable, STRING_NONE))
        return 0;
    char path[sizeof process->map->executable + 1];
    snprintf(path, sizeof path, "%.*s", (int)sizeof process->map->executable, process->map->executable);
    string_id executable = trace_builder_string(merge->builder, path), name = base_name(merge, executable);
    row = process_of(life, image);
    row->executable = executable;
    if (string_is(row->command, STRING_NONE))
        row->command = name;
    return 0;
}

int merge_life_claim(struct merge *merge)
{
    struct merge_process **order = calloc(merge->process_count + 1, sizeof *order);
    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < merge->process_count; i++)
        order[i] = merge->processes[i];
    qsort(order, merge->process_count, sizeof *order, by_start);
    int code = 0;
    for (size_t i = 0; i < merge->process_count && code == 0; i++)
        code = process_id_is(order[i]->process, PROCESS_NONE) ? image_claim(life_of(merge), order[i]) : 0;
    free(order);
    return code;
}

int32_t merge_stream_pid(const struct merge_stream *stream)
{
    return stream->process ? stream->process->pid : stream->id.pid;
}

process_id merge_stream_process(struct merge *merge, const struct merge_stream *stream)
{
    return stream->process ? stream->process->process : PROCESS_NONE;
}

/* A scheduler's lane is called as its thread, whose names have all been seen by now. */
static int life_finish(struct merge *merge, void *state, struct error *err)
{
    struct life *life = state;
    for (size_t i = 0; i < life->lane_count; i++) {
        struct trace_track *track = trace_builder_track(merge->builder, (track_id){life->lanes[i].track});
        if (track->kind != TRACK_KIND_SCHED)
            continue;
        const struct lane *thread = lane_find(life, lane_key(track->process, track->tid, TRACK_KIND_THREAD), life->lanes[i].start_ns);
        if (thread)
            track->name = trace_builder_track(merge->builder, (track_id){thread->track})->name;
    }
    return 0;
}

static const struct merge_handler handlers[] = {
    {WIRE_CALIBRATION, MERGE_LIFE, on_calibration},
    {WIRE_PROCESS_START, MERGE_LIFE, on_process_start},
    {WIRE_PROCESS_EXEC, MERGE_LIFE, on_process_exec},
    {WIRE_PROCESS_EXIT, MERGE_LIFE, on_process_exit},
    {WIRE_TASK_START, MERGE_LIFE, on_task_start},
    {WIRE_TASK_EXIT, MERGE_LIFE, on_task_exit},
    {WIRE_TASK_NAME, MERGE_LIFE, on_task_name},
    {WIRE_METADATA, MERGE_LIFE, on_metadata},
    {WIRE_LEDGER, MERGE_LIFE, on_recorder_ledger},
    {WIRE_LEDGER, MERGE_ROWS, on_target_ledger},
    {WIRE_PROCESS_INFO, MERGE_LIFE, on_process_info},
    {WIRE_THREAD_START, MERGE_ROWS, on_thread_start},
    {WIRE_THREAD_END, MERGE_ROWS, on_thread_end},
    {WIRE_THREAD_NAME, MERGE_ROWS, on_thread_name},
    {WIRE_NAMED_THREAD, MERGE_ROWS, on_named_thread},
    {0, MERGE_LIFE, NULL},
};

const struct merge_part merge_part_life = {
    .name = "life",
    .create = life_create,
    .finish = life_finish,
    .round = life_finish,
    .destroy = life_destroy,
    .handlers = handlers,
};
