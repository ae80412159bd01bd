/* SPDX-License-Identifier: MIT */
/* A session directory and what the recorder does with it while targets run: see session.h. */
#include "session.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/shrunk_file.h"
#include "drain.h"
#include "session_files.h"
#include "target_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define TMPFS_MAGIC_NUMBER 0x01021994
#define CHUNK_FIRST_BYTES (64u << 10)
#define CHUNK_MAX_BYTES (1u << 20)
#define THREAD_LIMIT_BYTES (160ull << 20)
#define TOTAL_LIMIT_BYTES (512ull << 20)

struct session {
    char directory[4096];
    int directory_fd;
    struct wire_session *map;
    size_t map_bytes;
    struct spool *spool;
    struct drain *drain;
    pthread_mutex_t lock;     /* the drain, and `stop` */
    pthread_cond_t wake;
    pthread_t thread;
    bool threaded, stop;
};

static void kind_rows_fill(struct wire_kind_row *rows)
{
    static const struct wire_kind_row all[] = {
#define X(kind_number, enumerator, kind_name, bytes) {.kind = kind_number, .size = bytes, .name = #kind_name},
#include "wire/records.def"
#undef X
    };
    memcpy(rows, all, sizeof all);
}

enum {
#define X(kind_number, enumerator, kind_name, bytes) KIND_ROW_##enumerator,
#include "wire/records.def"
#undef X
    KIND_ROWS
};

static void header_fill(const struct session_options *options, struct wire_session *header)
{
    *header = (struct wire_session){
        .magic = WIRE_SESSION_MAGIC,
        .major = WIRE_MAJOR,
        .minor = WIRE_MINOR,
        .byte_order = WIRE_BYTE_ORDER,
        .header_bytes = sizeof *header,
        .kind_count = KIND_ROWS,
        .kind_offset = sizeof *header,
        .recorder_pid = (int32_t)getpid(),
        .recorder_start_ticks = process_start_ticks(getpid()),
        .start_raw_ns = clock_raw_ns(),
        .start_realtime_ns = clock_realtime_ns(),
        .time_namespace = own_namespace("/proc/self/ns/time"),
        .pid_namespace = own_namespace("/proc/self/ns/pid"),
        .chunk_first_bytes = CHUNK_FIRST_BYTES,
        .chunk_max_bytes = CHUNK_MAX_BYTES,
        .thread_limit_bytes = THREAD_LIMIT_BYTES,
        .total_limit_bytes = options->chunk_limit_bytes ? options->chunk_limit_bytes : TOTAL_LIMIT_BYTES,
        .sampling = options->sampling,
        .sampling_stack_bytes = options->sampling_stack_bytes,
        .sampling_period_ns = options->sampling_period_ns,
        .active = !options->inactive,
        .clock_choice = options->raw_clock,
        .flags = options->flags | (options->no_shared_map ? WIRE_SESSION_NO_SHARED_MAP : 0),
    };
    snprintf(header->build_id, sizeof header->build_id, "%s", HP_VERSION);
    snprintf(header->command, sizeof header->command, "%s", options->command ? options->command : "");
    session_boot_id(header->boot_id);
}

static int session_file_make(struct session *session, const struct session_options *options, struct error *err)
{
    CLEANUP(closep) int fd = openat(session->directory_fd, "session", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set_errno(err, -errno, "%s/session: cannot be made", session->directory);
    size_t bytes = sizeof(struct wire_session) + KIND_ROWS * sizeof(struct wire_kind_row);
    int code = posix_fallocate(fd, 0, (off_t)bytes);
    if (code)
        return error_set_errno(err, -code, "%s/session: cannot be made", session->directory);
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return error_set_errno(err, -errno, "%s: this file system can't share mapped files; choose another by --session-dir",
                               session->directory);
    session->map = map;
    session->map_bytes = bytes;
    header_fill(options, session->map);
    kind_rows_fill((struct wire_kind_row *)(session->map + 1));
    return 0;
}

static int directory_make(struct session *session, const struct session_options *options, struct error *err)
{
    const char *parent = options->parent ? options->parent : getenv("TMPDIR");
    if (!parent || !*parent)
        parent = "/tmp";
    char real[PATH_MAX];
    if (!realpath(parent, real))
        return error_set_errno(err, -errno, "%s: no directory for the session; choose one by --session-dir", parent);
    if ((size_t)snprintf(session->directory, sizeof session->directory, "%s/hprofiler-XXXXXX", real) >= 3900)
        return error_set(err, -ENAMETOOLONG, "%s: the path is too long for a session directory", real);
    if (!mkdtemp(session->directory)) {
        int code = -errno;
        session->directory[0] = 0;
        return error_set_errno(err, code, "%s: no session directory can be made there; choose another by --session-dir", real);
    }
    session->directory_fd = open(session->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (session->directory_fd < 0)
        return error_set_errno(err, -errno, "%s: cannot be opened", session->directory);
    struct statfs info;
    if (fstatfs(session->directory_fd, &info) == 0 && (unsigned long)info.f_type == TMPFS_MAGIC_NUMBER)
        log_info(options->log, "the session is kept in memory: %s is a tmpfs (--session-dir chooses another place)", real);
    return 0;
}

/* How long to sleep after a round: short while records come, longer and longer when none do. */
static int64_t pause_ns(int64_t packed, int64_t last)
{
    if (packed < 0)
        return 200000000; /* disk full: no use in hurrying */
    if (packed > 0)
        return 500000;
    return last * 3 / 2 < 20000000 ? last * 3 / 2 : 20000000;
}

static void *drain_thread(void *object)
{
    struct session *session = object;
    int64_t pause = 500000, checked = 0, calibrated = 0;
    pthread_mutex_lock(&session->lock);
    while (!session->stop) {
        int64_t now = clock_monotonic_ns();
        bool check = now - checked > 1000000000;
        if (now - calibrated > 1000000000) {
            session_calibrate(session->spool);
            calibrated = now;
        }
        int64_t packed = drain_round(session->drain, check ? DRAIN_FINAL : DRAIN_FULL);
        checked = check ? now : checked;
        spool_flush(session->spool, false);
        pause = pause_ns(packed, pause);
        struct timespec until;
        int64_t wake_ns = clock_monotonic_ns() + pause;
        until.tv_sec = wake_ns / 1000000000;
        until.tv_nsec = wake_ns % 1000000000;
        pthread_cond_timedwait(&session->wake, &session->lock, &until);
    }
    pthread_mutex_unlock(&session->lock);
    return NULL;
}

static int thread_start(struct session *session, struct error *err)
{
    sigset_t all, old;
    signals_of_others(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int code = pthread_create(&session->thread, NULL, drain_thread, session);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (code)
        return error_set_errno(err, -code, "cannot start the thread that drains the session");
    session->threaded = true;
    return 0;
}

static void thread_stop(struct session *session)
{
    if (!session->threaded)
        return;
    pthread_mutex_lock(&session->lock);
    session->stop = true;
    pthread_cond_signal(&session->wake);
    pthread_mutex_unlock(&session->lock);
    pthread_join(session->thread, NULL);
    session->threaded = false;
}

static void locks_init(struct session *session)
{
    pthread_condattr_t attributes;
    pthread_mutex_init(&session->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&session->wake, &attributes);
    pthread_condattr_destroy(&attributes);
}

int session_create(const struct session_options *options, struct session **ret_session, struct error *err)
{
    CLEANUP(session_destroyp) struct session *session = calloc(1, sizeof *session);
    if (!session)
        return error_set(err, -ENOMEM, "session: out of memory");
    session->directory_fd = -1;
    locks_init(session);
    int code = directory_make(session, options, err);
    if (code == 0)
        code = session_file_make(session, options, err);
    struct spool_options spool_options = {.limit_bytes = options->buffer_limit_bytes};
    if (code == 0)
        code = spool_create(session->directory_fd, &spool_options, &session->spool, err);
    if (code == 0)
        code = drain_create(session->directory_fd, session->map, session->spool, &session->drain, err);
    if (code == 0 && !options->no_drain)
        code = thread_start(session, err);
    if (code) {
        if (session->directory[0])
            directory_remove(session->directory, NULL);
        return code;
    }
    session_calibrate(session->spool);
    *ret_session = TAKE_PTR(session);
    return 0;
}

void session_destroy(struct session *session)
{
    if (!session)
        return;
    thread_stop(session);
    drain_destroy(session->drain);
    spool_destroy(session->spool);
    if (session->map)
        munmap(session->map, session->map_bytes);
    closep(&session->directory_fd);
    pthread_cond_destroy(&session->wake);
    pthread_mutex_destroy(&session->lock);
    free(session);
}

const char *session_directory(const struct session *session)
{
    return session->directory;
}

int session_directory_fd(const struct session *session)
{
    return session->directory_fd;
}

struct spool *session_spool(struct session *session)
{
    return session->spool;
}

int64_t session_start_raw_ns(const struct session *session)
{
    return session->map->start_raw_ns;
}

void session_set_active(struct session *session, bool active)
{
    __atomic_store_n(&session->map->active, (uint32_t)active, __ATOMIC_RELEASE);
}

int64_t session_drain_once(struct session *session, bool final)
{
    pthread_mutex_lock(&session->lock);
    int64_t bytes = drain_round(session->drain, final ? DRAIN_FINAL : DRAIN_FULL);
    pthread_mutex_unlock(&session->lock);
    return bytes;
}

size_t session_pids(struct session *session, int32_t *pids, size_t room)
{
    pthread_mutex_lock(&session->lock);
    size_t count = drain_pids(session->drain, pids, room);
    pthread_mutex_unlock(&session->lock);
    return count;
}

int session_finish(struct session *session, struct error *err)
{
    thread_stop(session);
    session_set_active(session, false);
    int64_t bytes = drain_round(session->drain, DRAIN_FINAL);
    session_calibrate(session->spool);
    struct spool_statistics statistics;
    spool_statistics(session->spool, &statistics);
    if (statistics.recycled_records)
        session_ledger(session->spool, "records", "oldest recycled by --buffer-limit", 0, 0, statistics.recycled_records);
    int code = spool_flush(session->spool, true);
    spool_statistics(session->spool, &statistics);
    if (bytes < 0 || code < 0)
        return error_set_errno(err, code < 0 ? code : (int)bytes, "%s: not everything could be written, `hprofiler recover` makes a trace of what was", session->directory);
    return 0;
}
