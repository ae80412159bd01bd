/* SPDX-License-Identifier: MIT */
/* Resident memory of processes, from the counters that the recorder read and from the kernel's own count of the main process. */
#ifndef HP_VIEW_RESIDENT_H
#define HP_VIEW_RESIDENT_H

#include "trace/trace.h"

#include <stddef.h>

struct resident_process {
    process_id process;
    double peak_bytes, last_bytes; /* of what was read, twice a second: there may have been more in between */
};
struct resident_memory {
    struct resident_process *processes; /* greatest peak first */
    size_t count;
    double peak_bytes;  /* of the one that had the most; 0 = unknown */
    bool counted;       /* the peak is the kernel's own count: nothing in between was missed */
};
int resident_memory_read(const struct trace *trace, struct resident_memory *ret_memory, struct error *err);
void resident_memory_finish(struct resident_memory *memory);

#endif
