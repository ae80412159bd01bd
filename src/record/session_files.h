/* SPDX-License-Identifier: MIT */
/* Small helpers of a session: facts of this machine and records of the recorder's own. */
#ifndef HP_RECORD_SESSION_FILES_H
#define HP_RECORD_SESSION_FILES_H

#include "spool.h"

void session_boot_id(char out[40]);
/* A pair of clocks, where ticks can be read: for processes whose own pairs are too close together. */
int session_calibrate(struct spool *spool);
int session_ledger(struct spool *spool, const char *source, const char *reason, uint64_t seen, uint64_t recorded, uint64_t lost);

#endif
