/* SPDX-License-Identifier: MIT */
/* A critical path that the ranks of a launcher find together: each reads its share of the traces, rank 0 puts together what they found. */
#ifndef HP_CLI_RANKS_PATH_H
#define HP_CLI_RANKS_PATH_H

#include "base/rank_group.h"
#include "command.h"
#include "print_path.h"

/* In all ranks of the group; what comes out is rank 0's, the others get NULL. The report's trace has shared parts only. */
struct ranks_path {
    struct path_report *report;
    struct path_blame blame;
    struct string_table *blame_texts;
    struct trace *shared;
};
void ranks_path_finish(struct ranks_path *path);
int ranks_path_find(const struct rank_group *group, const struct invocation *invocation, enum path_dimension by, bool with_blame,
                    struct ranks_path *ret_path, struct error *err);

#endif
