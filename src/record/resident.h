/* SPDX-License-Identifier: MIT */
/* How much memory of each process that is followed is resident: read from /proc twice a second, nothing in the target. */
#ifndef HP_RECORD_RESIDENT_H
#define HP_RECORD_RESIDENT_H

#include "base/cleanup.h"
#include "recording.h"

struct resident;

/* NULL when there is no memory: then nothing is read. The recording must outlive it. */
struct resident *resident_create(struct recording *recording);
void resident_destroy(struct resident *resident); /* NULL is allowed, here and below */
DEFINE_CLEANUP(struct resident *, resident_destroy)

bool resident_is_due(const struct resident *resident, int64_t now_ns);
/* Reads of each of the `pids`, of which only the first may be given; `all`: how many there are. */
void resident_round(struct resident *resident, const pid_t *pids, size_t count, size_t all, int64_t now_ns);
enum { RESIDENT_MAXIMUM = 256 }; /* processes that are read at a time: more would take descriptors that others need */

/* Bytes of a process at this moment; 0: it is gone, or may not be read. */
uint64_t resident_bytes(pid_t pid);
/* What was missed, into the ledger. The kernel's own count of the greatest there was, 0 = unknown, into the metadata: but what the
 * target had of ours before it became its own program (inherited_bytes) is no word about it. */
void resident_end(struct resident *resident, uint64_t peak_bytes, uint64_t inherited_bytes);

#endif
