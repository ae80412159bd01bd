/* SPDX-License-Identifier: MIT */
/* What code outside of calls did while others waited for it, in words. */
#ifndef HP_VIEW_LATE_CODE_H
#define HP_VIEW_LATE_CODE_H

#include "base/text.h"

struct late_code {
    const char *function; /* "": nobody could be named */
    double share, blocked_share;
    uint64_t samples;
};

/* "solve (73 % of its time, 812 samples)", "off the processor (blocked)", or `nothing`, which names the code. */
void text_add_late_code(struct text *out, const struct late_code *code, const char *nothing);

#endif
