/* SPDX-License-Identifier: MIT */
/* The advisor's advice in words, the same in every front end. */
#ifndef HP_VIEW_ADVICE_LINES_H
#define HP_VIEW_ADVICE_LINES_H

#include "analysis/advice.h"
#include "table.h"

/* "threads wait at a region's barriers: solve.c:12 parallel for" */
void text_add_advice_title(struct text *out, const struct trace *trace, const struct advice *advice);
/* "rank 3: waits 12, of all ranks 3.2 ms; 12.3 % of the run, told from 5 % on" */
void text_add_advice_evidence(struct text *out, const struct trace *trace, const struct advice *advice);
/* "14 of 27 rules judged, 2 of them speak; not judged: 9 on work of devices (no work of a device is in the trace)" */
void text_add_advice_judged(struct text *out, const struct advices *advices);
/* The first span on the lane that an advice is about, or on its device; SPAN_NONE: it is about no lane, or nothing is there. */
span_id advice_lane_span(const struct trace *trace, const struct advice *advice);
/* The section of a text for people. */
void advices_draw(const struct advices *advices, const struct trace *trace, const struct text_look *look, struct text *out);

#endif
