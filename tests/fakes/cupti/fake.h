/* SPDX-License-Identifier: MIT */
/* What the files of the CUPTI that plays recordings share: the recording. */
#ifndef FAKES_CUPTI_FAKE_H
#define FAKES_CUPTI_FAKE_H

#include "collect/cuda/cupti_api.h"
#include "recording.h"

/* NULL behind the last one. */
const struct recording_event *event_at(size_t offset);
size_t event_end(size_t offset, const struct recording_event *event);

#endif
