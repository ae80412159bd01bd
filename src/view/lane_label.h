/* SPDX-License-Identifier: MIT */
/* What a lane is called on a screen: "rank 3 worker (1234)", "device 0 stream 7". */
#ifndef HP_VIEW_LANE_LABEL_H
#define HP_VIEW_LANE_LABEL_H

#include "base/text.h"
#include "trace/trace.h"

/* With the rank, or the program's name where a trace has several processes and no ranks, unless the thread has it. Nothing for TRACK_NONE. */
void text_add_lane_label(struct text *out, const struct trace *trace, track_id track);

#endif
