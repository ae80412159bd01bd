/* SPDX-License-Identifier: MIT */
/* Filling a batch, for chrome_parse.c only. */
#ifndef HP_FORMATS_CHROME_BATCH_H
#define HP_FORMATS_CHROME_BATCH_H

#include "chrome_parse.h"

/* Empties the batch and keeps its memory; false without memory. */
bool batch_reset(struct chrome_batch *batch, const char *start);
/* Index of a string or track, added when it is new; without memory batch->out_of_memory is set. */
uint32_t batch_string(struct chrome_batch *batch, const struct json_view *view);
uint32_t batch_track(struct chrome_batch *batch, const struct chrome_track_key *key);
bool chrome_scalar_equal(const struct chrome_scalar *left, const struct chrome_scalar *right);

#endif
