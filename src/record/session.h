/* SPDX-License-Identifier: MIT */
/*
 * The recorder's side of a session directory. Life: session_create; hand session_environment to the target; spool_append /
 * spool_put at will; session_finish when everything that records has ended. A thread of the session's own drains the
 * targets' chunks into the spool meanwhile and flushes what spool_put gathered.
 */
#ifndef HP_RECORD_SESSION_H
#define HP_RECORD_SESSION_H

#include "base/cleanup.h"
#include "record.h"
#include "spool.h"

struct session;

struct session_options {
    const char *parent;           /* --session-dir; NULL = $TMPDIR or /tmp */
    const char *command;          /* program name for `recover`; NULL = "" */
    uint64_t buffer_limit_bytes;  /* --buffer-limit: of the spool's bulk; 0 = keep everything */
    uint64_t chunk_limit_bytes;   /* of all chunks of the targets; 0 = 512 MiB */
    uint32_t sampling;            /* enum wire_sampling: timers in the target */
    uint64_t sampling_period_ns;
    uint32_t sampling_stack_bytes;
    uint32_t flags;               /* enum wire_session_flags */
    bool inactive;                /* start with recording off (--delay): session_set_active(session, true) later */
    bool raw_clock;               /* never ticks (tests) */
    bool no_shared_map;           /* targets write by pwrite (tests) */
    bool no_drain;                /* no thread: session_drain_once is called instead (tests) */
    const struct log *log;
};

int session_create(const struct session_options *options, struct session **ret_session, struct error *err);
/* Stops the drain thread; leaves the directory as it is (recover and merge find it). */
void session_destroy(struct session *session);
DEFINE_CLEANUP(struct session *, session_destroy)

const char *session_directory(const struct session *session);
int session_directory_fd(const struct session *session); /* the session's, not to be closed */
struct spool *session_spool(struct session *session);
int64_t session_start_raw_ns(const struct session *session);
void session_set_active(struct session *session, bool active); /* collectors and timers record or pass through */

/*
 * The environment for the target: a copy of `environment` (NULL-terminated) with HPROFILER_SESSION set and `preload`
 * (':'-separated absolute paths, NULL = nothing) put behind the user's LD_PRELOAD. The runtime must be named itself, first: as a
 * mere dependency of a collector it would come behind the C library, and pthread_create and seccomp would pass it by. Caller frees the array by
 * session_environment_free. -EINVAL with a text if a path has a colon or blank, which LD_PRELOAD can't carry.
 */
int session_environment(const struct session *session, char *const environment[], const char *preload, char ***ret_environment,
                        struct error *err);
void session_environment_free(char **environment);

/* Where libhprofiler_<name>.so is: `directory` (NULL = found relative to the running program: ../lib, ../lib/hprofiler, .). */
int session_library_path(const char *directory, const char *name, char *ret_path, size_t size, struct error *err);

/* Packs what the targets have finished; with `final` also chunks that are not full, of processes that are gone. Returns the
 * number of bytes packed, or -errno. For sessions without a thread, and for the last round. */
int64_t session_drain_once(struct session *session, bool final);

/* As drain_pids. Waits for a round of draining that goes on. */
size_t session_pids(struct session *session, int32_t *pids, size_t room);

/* After the last target has ended: the last round, the last flush, ledger rows. The directory stays. */
int session_finish(struct session *session, struct error *err);

#endif
