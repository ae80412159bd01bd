/* SPDX-License-Identifier: MIT */
/* What merge-nodes says of clocks and causality. */
#ifndef HP_CLI_PRINT_MERGE_H
#define HP_CLI_PRINT_MERGE_H

#include "analysis/node_merge.h"
#include "command.h"

int print_merge(const struct node_merge_report *report, const struct invocation *invocation, struct error *err);

#endif
