/* SPDX-License-Identifier: MIT */
/* What viewers show for processes and tracks. */
#ifndef HP_FORMATS_LABELS_H
#define HP_FORMATS_LABELS_H

#include "base/text.h"
#include "trace/trace.h"

void label_process(const struct trace *trace, process_id process, struct text *out); /* "command", "rank 3 command"; "process 12" */
void label_track(const struct trace *trace, track_id track, struct text *out);       /* "name (tid)", "device 0 stream 7" */
void label_track_full(const struct trace *trace, track_id track, struct text *out);  /* "command (pid) name (tid)" */

#endif
