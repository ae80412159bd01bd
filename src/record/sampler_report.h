/* SPDX-License-Identifier: MIT */
/* What a recording says of itself: the ledger of samples and switches, what was asked and what came. */
#ifndef HP_RECORD_SAMPLER_REPORT_H
#define HP_RECORD_SAMPLER_REPORT_H

#include "recording.h"
#include "sample/event_set.h"

/* At the start: what was agreed with the kernel, so that an interrupted recording has it too. */
void sampler_report_plan(struct recording *recording);
/* At the end. */
void sampler_report(struct recording *recording, const struct event_totals *totals);

#endif
