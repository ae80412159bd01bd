/* SPDX-License-Identifier: MIT */
/*
 * Where the merge's records come from, in this order and once each: the spool's blocks, the process logs, then what
 * is still in chunks beyond what the spool's blocks cover. Whatever is damaged is left out and counted.
 */
#include "merge_internal.h"

#include "base/array.h"
#include "base/error.h"
#include "base/log.h"
#include "target_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SMALL_LOG 65536u
enum { FOLLOWED_MAXIMUM = 8192 }; /* programs whose files stay mapped while a recording is followed: mappings are limited in number */

static const struct merge_handler *handler_find(const struct merge *merge, uint16_t kind, enum merge_pass pass)
{
    return kind < 256 ? merge->handlers[pass][kind] : NULL;
}

static bool kind_is_known(const struct merge *merge, uint16_t kind)
{
    return handler_find(merge, kind, MERGE_LIFE) || handler_find(merge, kind, MERGE_AHEAD) ||
           handler_find(merge, kind, MERGE_ROWS) || kind == WIRE_PAD || kind == WIRE_STRING || kind == WIRE_CALIBRATION;
}

static void unknown_count(struct merge *merge, uint16_t kind)
{
    uint64_t count = 0;
    if (kind_is_known(merge, kind))
        return;
    map_get(&merge->unknown, kind, &count);
    map_set(&merge->unknown, kind, count + 1);
    merge->unknown_records++;
}

/* Walks records that may be anything: stops at the first that isn't one. One that the trace refuses (a span that ends before it
 * begins, a time beyond all bounds) costs itself: the target may have given us nonsense, or written over its chunk. */
static int records_walk(struct merge *merge, const struct merge_stream *stream, enum merge_pass pass, const uint8_t *data,
                        size_t size)
{
    for (const uint8_t *at = data, *end = data + size; at < end;) {
        const struct wire_header *record = wire_record_at(at, end);
        if (!record) {
            merge->damaged_records += pass == MERGE_ROWS;
            return 0;
        }
        const struct merge_handler *handler = handler_find(merge, record->kind, pass);
        if (pass == MERGE_ROWS && !handler)
            unknown_count(merge, record->kind);
        int code = handler ? handler->handle(merge, stream, record) : 0;
        if (code == -EINVAL)
            merge->refused_records++;
        else if (code)
            return code;
        at += wire_bytes(record);
    }
    return 0;
}

static struct merge_process *process_find(struct merge *merge, uint64_t key)
{
    size_t low = 0, high = merge->sorted_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (merge->processes[middle]->key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < merge->sorted_count && merge->processes[low]->key == key ? merge->processes[low] : NULL;
}

static uint64_t first_time(const uint8_t *data, size_t size)
{
    const struct wire_header *record = wire_record_at(data, data + size);
    if (!record || wire_bytes(record) < 16)
        return 0;
    uint64_t time;
    memcpy(&time, data + 8, sizeof time);
    return time;
}

static int thread_records(struct merge *merge, enum merge_pass pass, const struct spool_stream *id, const uint8_t *data, size_t size)
{
    struct merge_stream stream = {.id = *id, .process = process_find(merge, id->process_key), .track = TRACK_NONE};
    if (!stream.process) { /* its process file is gone: no names, no clock */
        merge->damaged_records += pass == MERGE_ROWS;
        return 0;
    }
    uint64_t index;
    if (pass == MERGE_AHEAD)
        return records_walk(merge, &stream, pass, data, size);
    if (!map_get(&stream.process->threads, id->thread_serial, &index)) {
        int64_t time_ns = merge_time(merge, &stream, first_time(data, size));
        int32_t tid = id->tid == stream.process->map->pid ? stream.process->pid : id->tid;
        index = merge_thread_at(merge, stream.process->pid, tid, time_ns).index;
        if (index == ID_NONE || map_set(&stream.process->threads, id->thread_serial, index) < 0)
            return -ENOMEM;
    }
    stream.track.index = (uint32_t)index;
    return records_walk(merge, &stream, MERGE_ROWS, data, size);
}

static uint64_t lap_key(uint64_t key, uint32_t chunk, uint32_t lap)
{
    return hash_u64(key ^ hash_u64((uint64_t)chunk << 32 | lap));
}

static int block_take(struct merge *merge, enum merge_pass pass, const struct spool_block *block)
{
    if (block->stream.process_key == 0 && pass == MERGE_AHEAD)
        return 0;
    if (block->stream.process_key == 0) {
        struct merge_stream own = {.id = block->stream, .track = TRACK_NONE};
        return records_walk(merge, &own, pass, block->data, block->size);
    }
    if (pass != MERGE_LIFE)
        return thread_records(merge, pass, &block->stream, block->data, block->size);
    if (merge->following)
        return 0;
    uint64_t covered = 0, key = lap_key(block->stream.process_key, block->stream.chunk, block->stream.lap);
    map_get(&merge->covered, key, &covered);
    return block->stream.end > covered ? map_set(&merge->covered, key, block->stream.end) : 0;
}

static int spool_pass(struct merge *merge, enum merge_pass pass, struct error *err)
{
    CLEANUP(spool_reader_destroyp) struct spool_reader *reader = NULL;
    int code = spool_reader_create_between(merge->directory_fd, merge->marks, &reader, err);
    if (code)
        return code;
    spool_reader_skip_threads(reader, pass == MERGE_LIFE);
    struct spool_block block;
    uint64_t done = 0;
    while ((code = spool_reader_next(reader, &block, err)) > 0) {
        code = __atomic_load_n(&merge->cancelled, __ATOMIC_RELAXED) ? -ECANCELED : block_take(merge, pass, &block);
        if (code)
            return error_set_errno(err, code, "%s: cannot be turned into a trace", merge->directory);
        progress_update(merge->options->progress, "reading what was recorded", done += block.size, 0);
    }
    const struct spool_damage *damage = spool_reader_damage(reader);
    if (code == 0 && pass == MERGE_ROWS && damage->first[0]) {
        log_warning(merge->options->log, "%s: %llu bytes were skipped", damage->first, (unsigned long long)damage->bytes_skipped);
        trace_builder_add_ledger(merge->builder, "spool blocks", damage->blocks_damaged, 0, damage->blocks_damaged, damage->first);
    }
    return code;
}

/* Whether the first word of a record is there: with acquire, so that what lies behind it is, too. */
static bool is_written(const uint8_t *at)
{
    return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_ACQUIRE) != 0;
}

/* The process log: records up to log_reserved; where one was reserved and never written, its first word is 0. While it grows, what
 * lies behind such a one waits. */
static int log_walk(struct merge *merge, struct merge_process *process, int (*take)(struct merge *, struct merge_process *,
                                                                                    const struct wire_header *))
{
    const struct wire_process *map = process->map;
    const uint8_t *log = (const uint8_t *)map + map->log_offset, *at = log + process->logged, *end = (const uint8_t *)map + process->size;
    uint64_t reserved = __atomic_load_n(&map->log_reserved, __ATOMIC_ACQUIRE);
    if (reserved < (uint64_t)(end - log))
        end = log + reserved / 8 * 8;
    while (at < end && (!merge->following || is_written(at))) {
        const struct wire_header *record = wire_record_at(at, end);
        int code = record && record->kind ? take(merge, process, record) : 0;
        if (code)
            return code;
        at += record && record->kind ? wire_bytes(record) : 8;
        process->logged = (uint64_t)(at - log);
    }
    return 0;
}

static int calibrations_collect(struct merge *merge, struct clock_pairs *pairs, const struct merge_process *process)
{
    const struct wire_process *map = process->map;
    const uint8_t *at = (const uint8_t *)map + map->log_offset, *end = (const uint8_t *)map + process->size;
    int code = 0;
    while (at < end && code == 0) {
        const struct wire_header *record = wire_record_at(at, end);
        if (record && record->kind == WIRE_CALIBRATION)
            code = clock_pairs_add(pairs, (const struct wire_calibration *)(const void *)record);
        at += record && record->kind ? wire_bytes(record) : 8;
    }
    return code;
}

/* The process' own pairs and, of the same counter, the recorder's. In another time namespace the process' own readings are
 * shifted against the recorder's axis, and only the recorder's count. */
static void process_line_fit(struct merge *merge, struct merge_process *process)
{
    struct clock_pairs pairs = {0};
    const struct wire_process *map = process->map;
    bool same_boot = strncmp(map->boot_id, merge->session->boot_id, sizeof map->boot_id) == 0;
    bool same_axis = same_boot && map->time_namespace == merge->session->time_namespace;
    int code = 0;
    process->line_tried = true;
    for (size_t i = 0; same_boot && i < merge->pairs.count && code == 0; i++) {
        struct wire_calibration pair = {.ticks = merge->pairs.items[i].ticks, .raw_ns = merge->pairs.items[i].raw_ns,
                                        .spread = merge->pairs.items[i].spread};
        code = clock_pairs_add(&pairs, &pair);
    }
    if (code == 0 && (same_axis || !same_boot))
        code = calibrations_collect(merge, &pairs, process);
    if (code == 0)
        clock_line_fit(&pairs, &process->line);
    free(pairs.items);
    if (!same_boot)
        log_warning(merge->options->log, "process %d ran on another machine or boot: its times are on its own clock", process->pid);
}

int64_t merge_time(struct merge *merge, const struct merge_stream *stream, uint64_t time)
{
    struct merge_process *process = stream->process;
    if (!process || process->map->clock == WIRE_CLOCK_RAW)
        return merge_time_raw(merge, (int64_t)time);
    if (!process->line_tried)
        process_line_fit(merge, process);
    if (process->line.known)
        return merge_time_raw(merge, clock_line_at(&process->line, time));
    process->untimed++;
    return merge_time_raw(merge, process->map->start_raw_ns);
}

/* Either may be anything: what is beyond all bounds is refused where it is put into the trace. */
int64_t merge_time_raw(const struct merge *merge, int64_t raw_ns)
{
    return (int64_t)((uint64_t)raw_ns - (uint64_t)merge->session->start_raw_ns);
}

static int log_record(struct merge *merge, struct merge_process *process, const struct wire_header *record)
{
    const struct merge_handler *handler = handler_find(merge, record->kind, MERGE_LIFE);
    struct merge_stream stream = {.id = {.process_key = process->key, .pid = process->map->pid}, .process = process,
                                  .track = TRACK_NONE};
    if (!handler)
        unknown_count(merge, record->kind);
    return handler ? handler->handle(merge, &stream, record) : 0;
}

/* Puts a copy of what is used of a small file in the place of its mapping. */
static bool process_copy(void **map, size_t *size)
{
    const struct wire_process *header = *map;
    uint64_t used = header->log_offset + __atomic_load_n(&header->log_reserved, __ATOMIC_ACQUIRE);
    used = used < *size ? used : *size;
    void *copy = used >= sizeof *header && used <= SMALL_LOG ? malloc(used) : NULL;
    if (!copy)
        return false;
    memcpy(copy, *map, used);
    munmap(*map, *size);
    *map = copy;
    *size = used;
    return true;
}

static int process_add(struct merge *merge, const struct merge_process *given)
{
    struct merge_process **processes =
        array_reserve(merge->processes, &merge->process_capacity, merge->process_count + 1, sizeof *processes);
    struct merge_process *process = processes ? malloc(sizeof *process) : NULL;
    if (processes)
        merge->processes = processes;
    if (!process)
        return -ENOMEM;
    *process = *given;
    processes[merge->process_count++] = process;
    return 0;
}

static int process_open(struct merge *merge, enum merge_pass pass, const struct target_name *name, const char *file)
{
    void *map;
    size_t size;
    if (merge->following && (process_find(merge, name->key) || merge->process_count >= FOLLOWED_MAXIMUM))
        return 0;
    int code = target_file_map(merge->directory_fd, file, sizeof(struct wire_process), false, &map, &size);
    if (code == -ENOMEM)
        return code;
    const struct wire_process *header = code ? NULL : map;
    if (!header || !target_process_valid(header, size)) {
        if (header)
            munmap(map, size);
        merge->look_again = true;
        if (!merge->following)
            trace_builder_add_ledger(merge->builder, "process files", 1, 0, 1, "damaged, or of another format");
        return 0;
    }
    bool mapped = merge->following || !process_copy(&map, &size);
    header = map;
    const struct merge_process process = {
        .key = name->key,
        .pid = header->outer_pid ? header->outer_pid : header->pid,
        .map = header,
        .size = size,
        .mapped = mapped,
        .process = PROCESS_NONE,
    };
    code = process_add(merge, &process);
    if (code && mapped)
        munmap(map, size);
    else if (code)
        free(map);
    return code;
}

static int by_key(const void *left, const void *right)
{
    const struct merge_process *a = *(struct merge_process *const *)left, *b = *(struct merge_process *const *)right;
    return (a->key > b->key) - (a->key < b->key);
}

/* Calls visit for every file of that kind in the directory. */
static int files_visit(struct merge *merge, enum target_file kind, enum merge_pass pass,
                       int (*visit)(struct merge *, enum merge_pass, const struct target_name *, const char *))
{
    int copy = openat(merge->directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = copy < 0 ? NULL : fdopendir(copy);
    if (!directory) {
        int code = -errno;
        closep(&copy);
        return code;
    }
    int code = 0;
    for (struct dirent *entry; code == 0 && (entry = readdir(directory));) {
        struct target_name name = target_name_parse(entry->d_name);
        if (name.kind == kind)
            code = visit(merge, pass, &name, entry->d_name);
    }
    closedir(directory);
    return code;
}

int merge_sources_open(struct merge *merge, struct error *err)
{
    uint32_t announced = __atomic_load_n(&merge->session->announced, __ATOMIC_ACQUIRE);
    if (merge->following && announced == merge->announced && !merge->look_again)
        return 0;
    merge->announced = announced;
    merge->look_again = false;
    int code = files_visit(merge, TARGET_FILE_PROCESS, MERGE_LIFE, process_open);
    if (code)
        return error_set_errno(err, code, "%s: cannot be read", merge->directory);
    if (merge->process_count)
        qsort(merge->processes, merge->process_count, sizeof *merge->processes, by_key);
    merge->sorted_count = merge->process_count;
    return 0;
}

void merge_sources_close(struct merge *merge)
{
    for (size_t i = 0; i < merge->process_count; i++) {
        struct merge_process *process = merge->processes[i];
        if (process->mapped)
            munmap((void *)(uintptr_t)process->map, process->size);
        else
            free((void *)(uintptr_t)process->map);
        map_finish(&process->strings);
        map_finish(&process->threads);
        free(process);
    }
    free(merge->processes);
    free(merge->pairs.items);
    map_finish(&merge->covered);
    map_finish(&merge->unknown);
}

/* What no block of the spool covers: [covered, commit) of the present lap. */
static int chunk_take(struct merge *merge, enum merge_pass pass, const struct target_name *name, const char *file)
{
    void *map;
    size_t size;
    int code = target_file_map(merge->directory_fd, file, sizeof(struct wire_chunk), false, &map, &size);
    if (code)
        return code == -ENOMEM ? code : 0;
    const struct wire_chunk *chunk = map;
    uint64_t commit = __atomic_load_n(&chunk->commit, __ATOMIC_ACQUIRE), covered = 0;
    bool valid = target_chunk_valid(chunk, size) && commit <= size - WIRE_CHUNK_DATA && commit % 8 == 0;
    if (!valid && chunk->magic != 0)
        merge->damaged_records += pass == MERGE_ROWS;
    map_get(&merge->covered, lap_key(name->key, name->number, chunk->lap), &covered);
    if (valid && chunk->state != WIRE_CHUNK_FREE && covered < commit) {
        struct spool_stream id = {
            .process_key = name->key,
            .pid = chunk->pid,
            .tid = chunk->tid,
            .thread_serial = chunk->thread_serial,
            .context = chunk->context,
            .chunk = name->number,
            .lap = chunk->lap,
            .first = covered,
            .end = commit,
        };
        code = thread_records(merge, pass, &id, (const uint8_t *)map + WIRE_CHUNK_DATA + covered, commit - covered);
    }
    munmap(map, size);
    return code;
}

static int note_take(struct merge *merge, enum merge_pass pass, const struct target_name *name, const char *file)
{
    void *map;
    size_t size;
    if (target_file_map(merge->directory_fd, file, 1, false, &map, &size) < 0)
        return 0;
    const char *end = memchr(map, '\n', size);
    size_t length = end ? (size_t)(end - (const char *)map) : size;
    log_warning(merge->options->log, "process %d: %.*s", name->pid, length < 400 ? (int)length : 400, (const char *)map);
    munmap(map, size);
    return 0;
}

int merge_sources_pass(struct merge *merge, enum merge_pass pass, struct error *err)
{
    int code = spool_pass(merge, pass, err);
    if (code)
        return code;
    if (pass == MERGE_LIFE)
        code = merge_life_claim(merge);
    for (size_t i = 0; code == 0 && pass == MERGE_LIFE && i < merge->process_count; i++)
        code = log_walk(merge, merge->processes[i], log_record);
    if (code == 0 && pass != MERGE_LIFE && !merge->following) /* else the recorder empties them every second */
        code = files_visit(merge, TARGET_FILE_CHUNK, pass, chunk_take);
    if (code == 0 && pass == MERGE_ROWS && !merge->following)
        code = files_visit(merge, TARGET_FILE_NOTE, pass, note_take);
    return code ? error_set_errno(err, code, "%s: cannot be turned into a trace", merge->directory) : 0;
}
