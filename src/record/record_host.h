/* SPDX-License-Identifier: MIT */
/* The machine that is recorded on. */
#ifndef HP_RECORD_RECORD_HOST_H
#define HP_RECORD_RECORD_HOST_H

#include "recording.h"

/* Puts what is known of this machine into the trace's metadata; what isn't known is left out. */
void record_host(struct recording *recording);

#endif
