/* SPDX-License-Identifier: MIT */
/* Draining chunks: looking for new files when targets announce some, packing what is finished, removing what the dead left. */
#include "drain.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/map.h"
#include "target_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LOOK_CHEAP_NS 3000000

struct drain_process {
    uint64_t key;
    int32_t pid;          /* in our namespace; 0 = not found: it was gone already */
    uint64_t start_ticks;
    bool dead;
};

struct drain_chunk {
    struct wire_chunk *map;
    size_t size;
    uint64_t key;
    uint32_t number;
    int32_t pid;          /* in the file's name */
    bool damaged;
};

struct drain {
    int directory_fd;
    struct wire_session *session;
    struct spool *spool;
    struct drain_process *processes;
    size_t process_count, process_capacity;
    struct drain_chunk *chunks;
    size_t chunk_count, chunk_capacity;
    struct map known;         /* hash of (kind, key, number) of every file that was opened */
    uint32_t announced;       /* value at the last look into the directory */
    bool look_again;          /* a file was still being made */
    int64_t look_cost_ns;     /* our CPU time for the last look */
    int64_t looked_ns;        /* when it ended */
};

int drain_create(int directory_fd, struct wire_session *session, struct spool *spool, struct drain **ret_drain, struct error *err)
{
    struct drain *drain = calloc(1, sizeof *drain);
    if (!drain)
        return error_set(err, -ENOMEM, "drain: out of memory");
    drain->directory_fd = directory_fd;
    drain->session = session;
    drain->spool = spool;
    drain->look_again = true;
    map_init(&drain->known);
    *ret_drain = drain;
    return 0;
}

void drain_destroy(struct drain *drain)
{
    if (!drain)
        return;
    for (size_t i = 0; i < drain->chunk_count; i++)
        munmap(drain->chunks[i].map, drain->chunks[i].size);
    free(drain->chunks);
    free(drain->processes);
    map_finish(&drain->known);
    free(drain);
}

static uint64_t known_key(const struct target_name *name)
{
    return hash_u64(name->key ^ (uint64_t)name->kind << 56) + hash_u64(name->number);
}

/* Only on proof: the files of one who lives must not be removed under it. A process of another PID namespace that isn't found, or
 * one of ours where there is no /proc, may live. */
static bool process_is_dead(const struct drain_process *process)
{
    if (process->pid == 0)
        return false;
    if (kill(process->pid, 0) < 0 && errno == ESRCH)
        return true;
    return process_start_ticks(process->pid) != process->start_ticks || (process->start_ticks == 0 && process_start_ticks(getpid()) != 0);
}

static int process_add(struct drain *drain, const struct target_name *name, const char *file)
{
    struct drain_process *processes =
        array_reserve(drain->processes, &drain->process_capacity, drain->process_count + 1, sizeof *processes);
    if (!processes)
        return -ENOMEM;
    drain->processes = processes;
    struct wire_process *map;
    size_t size;
    int code = target_file_map(drain->directory_fd, file, sizeof *map, true, (void **)&map, &size);
    if (code)
        return code;
    code = target_process_valid(map, size) ? 0 : map->magic == 0 ? -ENODATA : -EINVAL;
    if (code == 0) {
        struct drain_process process = {.key = name->key, .pid = target_outer_pid(map)};
        if (process.pid != map->pid)
            map->outer_pid = process.pid;
        process.start_ticks = process.pid ? process_start_ticks(process.pid) : 0;
        process.dead = process_is_dead(&process);
        processes[drain->process_count++] = process;
    }
    munmap(map, size); /* a build has more processes than we may have mappings */
    return code;
}

static int chunk_add(struct drain *drain, const struct target_name *name, const char *file)
{
    struct drain_chunk *chunks = array_reserve(drain->chunks, &drain->chunk_capacity, drain->chunk_count + 1, sizeof *chunks);
    if (!chunks)
        return -ENOMEM;
    drain->chunks = chunks;
    struct drain_chunk chunk = {.key = name->key, .number = name->number, .pid = name->pid};
    int code = target_file_map(drain->directory_fd, file, sizeof(struct wire_chunk), true, (void **)&chunk.map, &chunk.size);
    if (code)
        return code;
    if (!target_chunk_valid(chunk.map, chunk.size)) {
        bool unfinished = chunk.map->magic == 0;
        munmap(chunk.map, chunk.size);
        return unfinished ? -ENODATA : -EINVAL;
    }
    chunks[drain->chunk_count++] = chunk;
    return 0;
}

/* A build leaves a file of each of its processes: going through a hundred thousand names for each new one would take a CPU. So
 * a look that is dear is not the next one's turn before 20 times as long; chunks have room until then. */
static bool may_look(const struct drain *drain)
{
    return drain->look_cost_ns < LOOK_CHEAP_NS || clock_monotonic_ns() - drain->looked_ns > 20 * drain->look_cost_ns;
}

/* Opens what is new in the directory. What is still being made is looked for again at the next round. */
static int look(struct drain *drain)
{
    int64_t begin_ns = clock_thread_cpu_ns();
    int copy = openat(drain->directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = copy < 0 ? NULL : fdopendir(copy);
    if (!directory) {
        closep(&copy);
        return -errno;
    }
    drain->look_again = false;
    for (struct dirent *entry; (entry = readdir(directory));) {
        struct target_name name = target_name_parse(entry->d_name);
        uint64_t seen, key = known_key(&name);
        if ((name.kind != TARGET_FILE_PROCESS && name.kind != TARGET_FILE_CHUNK) || map_get(&drain->known, key, &seen))
            continue;
        int code = name.kind == TARGET_FILE_PROCESS ? process_add(drain, &name, entry->d_name)
                                                    : chunk_add(drain, &name, entry->d_name);
        if (code == -ENODATA || code == -ENOMEM || code == -EMFILE || code == -ENFILE)
            drain->look_again = true;
        else
            map_set(&drain->known, key, 1);
    }
    closedir(directory);
    drain->look_cost_ns = clock_thread_cpu_ns() - begin_ns;
    drain->looked_ns = clock_monotonic_ns();
    return 0;
}

static const struct drain_process *process_find(const struct drain *drain, uint64_t key)
{
    for (size_t i = drain->process_count; i-- > 0;)
        if (drain->processes[i].key == key)
            return &drain->processes[i];
    return NULL;
}

/* Dear with many: each is asked of /proc. */
static void check_processes(struct drain *drain)
{
    for (size_t i = 0; i < drain->process_count; i++) {
        struct drain_process *process = &drain->processes[i];
        process->dead = process->dead || process_is_dead(process);
    }
}

/* Packs [packed, commit) of a chunk. */
static int64_t chunk_pack(struct drain *drain, struct drain_chunk *chunk)
{
    struct wire_chunk *map = chunk->map;
    uint64_t commit = __atomic_load_n(&map->commit, __ATOMIC_ACQUIRE), packed = map->packed;
    if (commit > chunk->size - WIRE_CHUNK_DATA || packed > commit || (commit | packed) % 8) {
        chunk->damaged = true;
        return 0;
    }
    if (packed == commit)
        return 0;
    struct spool_stream stream = {
        .process_key = chunk->key,
        .pid = map->pid,
        .tid = map->tid,
        .thread_serial = map->thread_serial,
        .context = map->context,
        .chunk = chunk->number,
        .lap = map->lap,
        .first = packed,
        .end = commit,
    };
    int code = spool_append(drain->spool, &stream, 0, wire_chunk_data(map) + packed, commit - packed);
    if (code == -EINVAL) { /* not records: left for the merge, which says so */
        chunk->damaged = true;
        return 0;
    }
    if (code)
        return code;
    __atomic_store_n(&map->packed, commit, __ATOMIC_RELEASE);
    return (int64_t)(commit - packed);
}

static void chunk_remove(struct drain *drain, size_t index)
{
    struct drain_chunk *chunk = &drain->chunks[index];
    char name[80];
    snprintf(name, sizeof name, "chunk-%d-%016llx-%u", chunk->pid, (unsigned long long)chunk->key, chunk->number);
    unlinkat(drain->directory_fd, name, 0);
    munmap(chunk->map, chunk->size);
    __atomic_fetch_sub(&drain->session->used_bytes, chunk->size, __ATOMIC_ACQ_REL);
    drain->chunks[index] = drain->chunks[--drain->chunk_count];
}

/* Returns bytes packed, or -errno; *ret_gone if the chunk was removed (another has its index now). */
static int64_t chunk_visit(struct drain *drain, size_t index, enum drain_how how, bool *ret_gone)
{
    struct drain_chunk *chunk = &drain->chunks[index];
    uint32_t state = __atomic_load_n(&chunk->map->state, __ATOMIC_ACQUIRE);
    bool finished = state == WIRE_CHUNK_FULL || state == WIRE_CHUNK_ENDED;
    bool dead = false;
    if (how == DRAIN_FINAL) {
        const struct drain_process *process = process_find(drain, chunk->key);
        dead = process && process->dead;
    }
    int64_t bytes = 0;
    if (!chunk->damaged && (finished || (state == WIRE_CHUNK_ACTIVE && how != DRAIN_FULL)))
        bytes = chunk_pack(drain, chunk);
    if (bytes < 0 || chunk->damaged)
        return bytes;
    bool abandoned = __atomic_load_n(&chunk->map->abandoned, __ATOMIC_ACQUIRE) && (finished || state == WIRE_CHUNK_FREE);
    if (abandoned || dead) {
        chunk_remove(drain, index);
        *ret_gone = true;
    } else if (finished) {
        __atomic_store_n(&chunk->map->state, (uint32_t)WIRE_CHUNK_FREE, __ATOMIC_RELEASE);
    }
    return bytes;
}

int64_t drain_round(struct drain *drain, enum drain_how how)
{
    uint32_t announced = __atomic_load_n(&drain->session->announced, __ATOMIC_ACQUIRE);
    if (how == DRAIN_FINAL)
        check_processes(drain);
    if (how == DRAIN_FINAL || ((announced != drain->announced || drain->look_again) && may_look(drain))) {
        drain->announced = announced;
        int code = look(drain);
        if (code)
            return code;
    }
    int64_t total = 0;
    for (size_t i = 0; i < drain->chunk_count;) {
        bool gone = false;
        int64_t bytes = chunk_visit(drain, i, how, &gone);
        if (bytes < 0)
            return bytes;
        total += bytes;
        i += !gone;
    }
    return total;
}

size_t drain_pids(const struct drain *drain, int32_t *pids, size_t room)
{
    size_t count = 0;
    for (size_t i = 0; i < drain->process_count; i++) {
        const struct drain_process *process = &drain->processes[i];
        if (process->pid <= 0 || process->dead)
            continue;
        if (count < room)
            pids[count] = process->pid;
        count++;
    }
    return count;
}
