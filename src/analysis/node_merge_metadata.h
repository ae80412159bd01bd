/* SPDX-License-Identifier: MIT */
/* What a merged trace says of itself: metadata of its parts and of its clocks, and the ledger. */
#ifndef HP_ANALYSIS_NODE_MERGE_METADATA_H
#define HP_ANALYSIS_NODE_MERGE_METADATA_H

#include "node_merge_internal.h"
#include "trace/builder.h"

int node_merge_add_metadata(const struct node_merging *merging, struct trace_builder *builder);
int node_merge_add_ledger(const struct node_merging *merging, struct trace_builder *builder);

#endif
