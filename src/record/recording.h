/* SPDX-License-Identifier: MIT */
/* What the parts of the sampling side of one recording share: where records go, what is counted. For src/record only. */
#ifndef HP_RECORD_RECORDING_H
#define HP_RECORD_RECORDING_H

#include "record.h"
#include "sample/perf_event.h"
#include "spool.h"
#include "stack_tree.h"
#include "symbol/address_map.h"

#include <stdatomic.h>

/* Counted while recording; ends up in the ledger and the metadata. */
struct recording_counts {
    uint64_t samples_seen, samples_kept;    /* of CPU time */
    uint64_t samples_truncated, samples_no_stack;
    uint64_t samples_packed;                /* unwound after the run */
    uint64_t samples_lost;                  /* dropped by the kernel for want of room */
    uint64_t samples_outside;               /* before --delay, after --duration */
    uint64_t samples_failed;                /* by us: no memory, full disk */
    uint64_t faults_seen, faults_kept;
    uint64_t switches_seen, switches_kept;  /* stretches off the CPU */
    uint64_t sideband_lost;                 /* mappings, forks, names, switches */
    uint64_t throttles;
    int64_t cpu_ns, unsampled_ns;           /* CPU time by switch records; the part no sample stands for */
    int64_t sampled_ns;                     /* sum of the samples' weights */
    int64_t excluded_ns;                    /* CPU time in code that the kernel does not let us sample */
};

struct recording {
    struct spool *spool;
    struct stack_tree *stacks;
    struct module_table *modules;
    const struct log *log;
    struct sampling_plan plan;
    struct recording_counts counts;
    int64_t clock_shift_ns;          /* kernel time + this = our CLOCK_MONOTONIC_RAW */
    int64_t window_begin_ns, window_end_ns; /* samples outside are not kept */
    int64_t nominal_period_ns;
    atomic_bool spool_failed;        /* a failure to write was said; threads that unwind write, too */
};

/* Appends a record to the spool; a failure is remembered and said once. `lost` counts what it cost, may be NULL. */
void recording_put(struct recording *recording, unsigned flags, const struct wire_header *record, uint64_t *lost);
/* A record with text behind its fixed part. */
void recording_put_text(struct recording *recording, const struct wire_header *record, size_t fixed_bytes, const char *text,
                        size_t text_bytes);
void recording_put_metadata(struct recording *recording, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void recording_put_ledger(struct recording *recording, const char *source, uint64_t seen, uint64_t recorded, uint64_t lost,
                          const char *reason);

#endif
