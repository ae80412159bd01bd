/* SPDX-License-Identifier: MIT */
/* What the targets' threads are in while a recording is followed, as spans that are open. */
#ifndef HP_RECORD_MERGE_OPEN_H
#define HP_RECORD_MERGE_OPEN_H

#include "merge_internal.h"

struct open_list {
    struct open_call *items;
    size_t count, capacity;
};

/* Looks into the targets and hands what it finds to the builder, for the next snapshot. *ret_changed: it is not what `last` holds, which is
 * what was found the last time. */
int merge_open_look(struct merge *merge, struct open_list *last, bool *ret_changed);

#endif
