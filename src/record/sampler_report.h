/* SPDX-License-Identifier: MIT */
/* What a recording says of itself: the ledger of samples and switches, what was asked and what came. */
#ifndef HP_RECORD_SAMPLER_REPORT_H
#define HP_RECORD_SAMPLER_REPORT_H

#include "recording.h"
#include "sample/event_set.h"

void sampler_report(struct recording *recording, const struct event_totals *totals);

#endif
