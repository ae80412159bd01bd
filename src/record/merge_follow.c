/* SPDX-License-Identifier: MIT */
/* The merge of a recording that goes on: one merge that is never finished, and a mark in each of its sources. */
#include "merge_follow.h"

#include "base/error.h"
#include "merge_open.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct merge_follow {
    struct merge merge;
    struct merge_options options;
    struct spool *spool;
    struct open_list open; /* what threads were in when it was looked at last */
};

int merge_follow_create(const char *session_directory, struct spool *spool, struct merge_follow **ret_follow, struct error *err)
{
    CLEANUP(merge_follow_destroyp) struct merge_follow *follow = calloc(1, sizeof *follow);
    if (!follow)
        return error_set(err, -ENOMEM, "out of memory");
    follow->spool = spool;
    follow->options.keep_session = true; /* and no log: what there is to say is said by the merge in the end */
    follow->merge = (struct merge){.directory = session_directory, .directory_fd = -1, .options = &follow->options,
                                   .node = NODE_NONE, .following = true, .look_again = true};
    if (spool_marks_create(&follow->merge.marks) < 0)
        return error_set(err, -ENOMEM, "out of memory");
    int code = merge_open(&follow->merge, err);
    if (code)
        return code;
    *ret_follow = TAKE_PTR(follow);
    return 0;
}

void merge_follow_destroy(struct merge_follow *follow)
{
    if (!follow)
        return;
    merge_close(&follow->merge);
    spool_marks_destroy(follow->merge.marks);
    free(follow->open.items);
    free(follow);
}

void merge_follow_cancel(struct merge_follow *follow)
{
    __atomic_store_n(&follow->merge.cancelled, true, __ATOMIC_RELAXED);
}

/* What was recorded since the last round; *ret_changed: there was something. */
static int take_new(struct merge_follow *follow, bool *ret_changed, struct error *err)
{
    struct merge *merge = &follow->merge;
    int code = spool_marks_take(merge->marks, merge->directory_fd, follow->spool);
    if (code)
        return error_set_errno(err, code, "%s: cannot be followed", merge->directory);
    *ret_changed = !spool_marks_empty(merge->marks);
    if (!*ret_changed)
        return 0;
    merge_lines_forget(merge);
    code = merge_take(merge, err);
    if (code == 0)
        code = merge_parts_call(merge, MERGE_ROUND, err);
    if (code == 0)
        spool_marks_pass(merge->marks);
    return code;
}

int merge_follow_round(struct merge_follow *follow, struct trace **ret_snapshot, struct error *err)
{
    struct merge *merge = &follow->merge;
    *ret_snapshot = NULL;
    bool recorded = false, entered = false;
    int code = take_new(follow, &recorded, err);
    if (code)
        return code;
    code = merge_open_look(merge, &follow->open, &entered);
    if (code)
        return error_set_errno(err, code, "%s: cannot be followed", merge->directory);
    return recorded || entered ? trace_builder_snapshot(merge->builder, ret_snapshot, err) : 0;
}
