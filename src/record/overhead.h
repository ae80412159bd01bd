/* SPDX-License-Identifier: MIT */
/* What the recording itself cost, as far as it can be measured. */
#ifndef HP_RECORD_OVERHEAD_H
#define HP_RECORD_OVERHEAD_H

#include "recording.h"

/* The metadata that ends every recording: a session without it was cut off. */
#define OVERHEAD_TOTAL "overhead_ns"

/* own_cpu_ns: CPU time of this process, workers included. With `sampling` the interrupts' cost is estimated too. */
void overhead_report(struct recording *recording, bool sampling, int64_t own_cpu_ns);

#endif
