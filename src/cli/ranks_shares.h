/* SPDX-License-Identifier: MIT */
/* The path of a graph whose pieces stay with the ranks that made them: each has its share of it (analysis/path_share.h), rank 0 has the nodes. */
#ifndef HP_CLI_RANKS_SHARES_H
#define HP_CLI_RANKS_SHARES_H

#include "analysis/path_shown.h"
#include "base/rank_group.h"

/*
 * In all ranks. piece: packed (graph_piece.h), empty in a rank without traces; it is emptied as soon as it is not needed any more. activities: of
 * its spans, preempted: of its threads, NULL without a piece. shared and what comes out are rank 0's. ret_circle, in all ranks: edges go round in a circle; which of them
 * are to go only the whole graph says, and nothing came out.
 */
int ranks_shares_find(const struct rank_group *group, const struct trace *shared, struct parcel *piece, const struct activities *activities,
                      const struct preempted *preempted, const struct progress *progress, struct shown_path *ret_shown, bool *ret_circle, struct error *err);

#endif
