/* SPDX-License-Identifier: MIT */
/* A function with what its samples stand for, or why none is named. */
#include "late_code.h"

#include "display_name.h"

#include <inttypes.h>

void text_add_late_code(struct text *out, const struct late_code *code, const char *nothing)
{
    if (*code->function) {
        text_add_display_name(out, code->function);
        text_addf(out, " (%.0f %% of its time, %" PRIu64 " samples)", 100 * code->share, code->samples);
    } else if (code->blocked_share > 0.5) {
        text_addf(out, "off the processor (blocked %.0f %%)", 100 * code->blocked_share);
    } else {
        text_add_string(out, nothing);
        if (code->samples)
            text_addf(out, " (%" PRIu64 " sample%s: too few to name anybody)", code->samples, code->samples == 1 ? "" : "s");
    }
}
