/* SPDX-License-Identifier: MIT */
/*
 * A process begins with its parent's mappings when it was forked and with none when it came from an exec. Samples come
 * nearly in order of time, so a map is carried forward, and begun anew for one that lies before.
 */
#include "merge_maps.h"

#include "base/array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

enum { TARGET_LEAD_NS = 1000000000 }; /* a target lists its mappings at most so long after they appeared */

struct noted_mapping {
    process_id process;
    int64_t time_ns;
    uint64_t start, length, file_offset;
    uint32_t number;       /* of the module in the recording */
    struct module *module; /* after merge_maps_prepare */
    int32_t pid;
    bool placed;           /* time_ns and process are the trace's */
    /* From a target's own list: its stream, and the file. */
    bool from_target;
    struct merge_stream stream;
    uint64_t device, inode;
    char *path;
};

struct timeline {
    size_t first, count;     /* of the sorted mappings */
    struct address_map *map; /* with `applied` of them */
    size_t applied;
    struct address_map *last; /* with all of them */
};

struct merge_maps {
    struct merge *merge;
    struct merge_modules *modules;
    struct noted_mapping *noted;
    size_t count, capacity;
    struct timeline *timelines; /* by process */
    size_t process_count;
    size_t sorted;         /* of the noted ones; those behind came since */
};

int merge_maps_create(struct merge *merge, struct merge_modules *modules, struct merge_maps **ret_maps)
{
    struct merge_maps *maps = calloc(1, sizeof(*maps));
    if (!maps)
        return -ENOMEM;
    maps->merge = merge;
    maps->modules = modules;
    *ret_maps = maps;
    return 0;
}

void merge_maps_destroy(struct merge_maps *maps)
{
    if (!maps)
        return;
    for (size_t i = 0; i < maps->process_count; i++) {
        address_map_destroy(maps->timelines[i].map);
        address_map_destroy(maps->timelines[i].last);
    }
    for (size_t i = 0; i < maps->count; i++)
        free(maps->noted[i].path);
    free(maps->timelines);
    free(maps->noted);
    free(maps);
}

static struct noted_mapping *add(struct merge_maps *maps)
{
    struct noted_mapping *grown = array_reserve(maps->noted, &maps->capacity, maps->count + 1, sizeof(*grown));
    if (!grown)
        return NULL;
    maps->noted = grown;
    struct noted_mapping *mapping = &maps->noted[maps->count++];
    memset(mapping, 0, sizeof(*mapping));
    return mapping;
}

int merge_maps_note(struct merge_maps *maps, const struct wire_mapping *record)
{
    struct noted_mapping *mapping = add(maps);
    if (!mapping)
        return -ENOMEM;
    mapping->time_ns = record->time_ns;
    mapping->start = record->start;
    mapping->length = record->length;
    mapping->file_offset = record->file_offset;
    mapping->number = record->header.value;
    mapping->pid = record->pid;
    return 0;
}

/* A line of /proc/PID/maps. */
static int note_line(struct merge_maps *maps, const struct merge_stream *stream, uint64_t time, const char *line)
{
    static const char deleted[] = " (deleted)";
    uint64_t start, end, offset, inode;
    unsigned device_major, device_minor;
    int path_at = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %x:%x %" SCNu64 " %n", &start, &end, &offset, &device_major,
               &device_minor, &inode, &path_at) < 6 ||
        end <= start)
        return 0;
    struct noted_mapping *mapping = add(maps);
    if (!mapping)
        return -ENOMEM;
    mapping->time_ns = (int64_t)time;
    mapping->start = start;
    mapping->length = end - start;
    mapping->file_offset = offset;
    mapping->from_target = true;
    mapping->stream = *stream;
    mapping->device = makedev(device_major, device_minor);
    mapping->inode = inode;
    mapping->path = strdup(path_at ? line + path_at : "");
    if (!mapping->path)
        return -ENOMEM;
    size_t length = strlen(mapping->path), ending = strlen(deleted);
    if (length > ending && strcmp(mapping->path + length - ending, deleted) == 0)
        mapping->path[length - ending] = '\0'; /* device and inode tell whether another file has that name now */
    return 0;
}

int merge_maps_note_target(struct merge_maps *maps, const struct merge_stream *stream, const struct wire_target_maps *record)
{
    size_t room = wire_bytes(&record->header) - sizeof(*record);
    size_t length = record->header.value < room ? record->header.value : room;
    CLEANUP(freep) char *text = strndup((const char *)(record + 1), length);
    if (!text)
        return -ENOMEM;
    int r = 0;
    char *position = NULL;
    for (char *line = strtok_r(text, "\n", &position); line && r == 0; line = strtok_r(NULL, "\n", &position))
        r = note_line(maps, stream, record->time, line);
    return r;
}

static int compare(const void *left, const void *right)
{
    const struct noted_mapping *a = left, *b = right;
    if (a->process.index != b->process.index)
        return a->process.index < b->process.index ? -1 : 1;
    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static void place(struct merge_maps *maps, struct noted_mapping *mapping)
{
    if (mapping->from_target) {
        int64_t time_ns = merge_time(maps->merge, &mapping->stream, (uint64_t)mapping->time_ns);
        mapping->process = merge_stream_process(maps->merge, &mapping->stream);
        mapping->pid = merge_stream_pid(&mapping->stream);
        mapping->time_ns = time_ns - TARGET_LEAD_NS;
        mapping->module = merge_modules_by_path(maps->modules, mapping->path, mapping->device, mapping->inode, mapping->pid);
    } else {
        mapping->time_ns = merge_time_raw(maps->merge, mapping->time_ns);
        mapping->process = merge_process_at(maps->merge, mapping->pid, mapping->time_ns);
        mapping->module = merge_modules_by_number(maps->modules, mapping->number);
    }
    if (mapping->module && module_kind_of(mapping->module) == MODULE_KIND_VDSO)
        mapping->file_offset = 0;
    mapping->placed = true;
}

static int reserve_timelines(struct merge_maps *maps, size_t count)
{
    if (count <= maps->process_count)
        return 0;
    struct timeline *grown = array_resize_exact(maps->timelines, count, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    memset(grown + maps->process_count, 0, (count - maps->process_count) * sizeof(*grown));
    maps->timelines = grown;
    maps->process_count = count;
    return 0;
}

/* What was made of mappings before newer ones came in between them, or behind them. */
static void forget_outdated(struct merge_maps *maps)
{
    for (size_t i = maps->sorted; i < maps->count; i++) {
        const struct noted_mapping *fresh = &maps->noted[i];
        if (fresh->process.index >= maps->process_count)
            continue;
        struct timeline *timeline = &maps->timelines[fresh->process.index];
        if (!timeline->applied || maps->noted[timeline->first + timeline->applied - 1].time_ns < fresh->time_ns)
            continue;
        address_map_destroy(TAKE_PTR(timeline->map));
        timeline->applied = 0;
    }
    for (size_t i = 0; i < maps->process_count; i++) {
        address_map_destroy(TAKE_PTR(maps->timelines[i].last));
        maps->timelines[i].count = 0;
    }
}

int merge_maps_prepare(struct merge_maps *maps)
{
    uint32_t most = 0;
    if (maps->sorted == maps->count)
        return 0;
    for (size_t i = 0; i < maps->count; i++) {
        if (!maps->noted[i].placed)
            place(maps, &maps->noted[i]);
        if (maps->noted[i].process.index != ID_NONE && maps->noted[i].process.index >= most)
            most = maps->noted[i].process.index + 1;
    }
    forget_outdated(maps);
    maps->sorted = maps->count;
    if (maps->count)
        qsort(maps->noted, maps->count, sizeof(*maps->noted), compare);
    int r = reserve_timelines(maps, most);
    for (size_t i = 0; i < maps->count && r == 0; i++) {
        if (maps->noted[i].process.index == ID_NONE)
            continue;
        struct timeline *timeline = &maps->timelines[maps->noted[i].process.index];
        if (!timeline->count++)
            timeline->first = i;
    }
    return r;
}

/* A target names files by what they are called; what the recorder saw there is the same, and better known. */
static bool is_there(const struct noted_mapping *mapping, const struct address_map *map)
{
    struct module_place place;
    return mapping->from_target && address_map_find(map, mapping->start, &place) &&
           module_kind_of(place.module) == module_kind_of(mapping->module) &&
           strcmp(module_path(place.module), module_path(mapping->module)) == 0;
}

static int apply_one(const struct noted_mapping *mapping, struct address_map *map)
{
    if (!mapping->module)
        return address_map_remove(map, mapping->start, mapping->length);
    if (is_there(mapping, map))
        return 0;
    return address_map_add_module(map, mapping->start, mapping->length, mapping->file_offset, mapping->module);
}

static void apply_until(const struct merge_maps *maps, const struct timeline *timeline, int64_t time_ns, struct address_map *map)
{
    for (size_t i = 0; i < timeline->count && maps->noted[timeline->first + i].time_ns <= time_ns; i++)
        apply_one(&maps->noted[timeline->first + i], map);
}

/* Carries a map forward. */
static void advance(const struct merge_maps *maps, struct timeline *timeline, int64_t time_ns)
{
    while (timeline->applied < timeline->count && maps->noted[timeline->first + timeline->applied].time_ns <= time_ns)
        apply_one(&maps->noted[timeline->first + timeline->applied++], timeline->map);
}

/* Everything of one image up to a time, on top of what its ancestors had when they forked. */
static void apply_ancestors(struct merge_maps *maps, process_id process, int64_t time_ns, struct address_map *map, unsigned depth)
{
    const struct trace_process *row = trace_builder_process(merge_builder(maps->merge), process);
    if (row && row->generation == 0 && row->parent.index != ID_NONE && depth < 64)
        apply_ancestors(maps, row->parent, row->start_ns, map, depth + 1);
    if (process.index >= maps->process_count)
        return;
    apply_until(maps, &maps->timelines[process.index], time_ns, map);
}

static size_t count_until(const struct merge_maps *maps, const struct timeline *timeline, int64_t time_ns)
{
    size_t low = 0, high = timeline->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (maps->noted[timeline->first + middle].time_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The parent's map, if it is still, or not yet, what it was at the fork: the children of a server that forks ten thousand
 * times share it. NULL: it has gone on. */
static const struct address_map *map_at_fork(struct merge_maps *maps, const struct trace_process *row)
{
    if (!row || row->generation != 0 || row->parent.index >= maps->process_count)
        return NULL;
    struct timeline *parent = &maps->timelines[row->parent.index];
    if (!parent->map || parent->applied > count_until(maps, parent, row->start_ns))
        return NULL;
    advance(maps, parent, row->start_ns);
    return parent->map;
}

static int begin_again(struct merge_maps *maps, process_id process, int64_t time_ns)
{
    struct timeline *timeline = &maps->timelines[process.index];
    const struct trace_process *row = trace_builder_process(merge_builder(maps->merge), process);
    const struct address_map *parent = map_at_fork(maps, row);
    pid_t pid = row ? row->pid : 0;
    struct address_map *map;
    int r = parent ? address_map_clone(parent, pid, &map) : address_map_create(merge_modules_table(maps->modules), pid, &map);
    if (r < 0)
        return r;
    if (parent)
        apply_until(maps, timeline, time_ns, map);
    else
        apply_ancestors(maps, process, time_ns, map, 0);
    address_map_destroy(timeline->map);
    timeline->map = map;
    timeline->applied = count_until(maps, timeline, time_ns);
    return 0;
}

struct address_map *merge_maps_at(struct merge_maps *maps, process_id process, int64_t time_ns)
{
    if (process.index == ID_NONE || reserve_timelines(maps, (size_t)process.index + 1) < 0)
        return NULL;
    struct timeline *timeline = &maps->timelines[process.index];
    bool backward = timeline->applied &&
                    maps->noted[timeline->first + timeline->applied - 1].time_ns > time_ns;
    if ((!timeline->map || backward) && begin_again(maps, process, time_ns) < 0)
        return NULL;
    advance(maps, timeline, time_ns);
    return timeline->map;
}

struct address_map *merge_maps_last(struct merge_maps *maps, process_id process)
{
    if (process.index == ID_NONE || reserve_timelines(maps, (size_t)process.index + 1) < 0)
        return NULL;
    struct timeline *timeline = &maps->timelines[process.index];
    const struct trace_process *row = trace_builder_process(merge_builder(maps->merge), process);
    if (!timeline->last && address_map_create(merge_modules_table(maps->modules), row ? row->pid : 0, &timeline->last) == 0)
        apply_ancestors(maps, process, INT64_MAX, timeline->last, 0);
    return timeline->last;
}

uint64_t merge_maps_state(const struct merge_maps *maps, process_id process, int64_t time_ns)
{
    return process.index < maps->process_count ? count_until(maps, &maps->timelines[process.index], time_ns) : 0;
}
