/* SPDX-License-Identifier: MIT */
/* Progress of long work: the worker reports, the host (a terminal, nobody) shows. A NULL progress is allowed everywhere. */
#ifndef HP_BASE_PROGRESS_H
#define HP_BASE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
    void (*update)(void *context, const char *what, uint64_t done, uint64_t total); /* total 0 = unknown; any thread */
    void *context;
    bool (*cancelled)(void *context); /* whether nobody waits for the result any more; any thread; NULL = never */
};

static inline void progress_update(const struct progress *progress, const char *what, uint64_t done, uint64_t total)
{
    if (progress && progress->update)
        progress->update(progress->context, what, done, total);
}

/* Long work asks between its steps, and ends with -ECANCELED. */
static inline bool progress_cancelled(const struct progress *progress)
{
    return progress && progress->cancelled && progress->cancelled(progress->context);
}

#endif
