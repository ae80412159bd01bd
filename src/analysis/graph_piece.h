/* SPDX-License-Identifier: MIT */
/*
 * A dependency graph that is made in several places at once. Where some of a run's traces are (node_merge_piece.h), their lanes are cut and
 * what leads from one of them to another within a process is found; in one place the pieces become the graph of the whole: there, what waits
 * for other processes is found, by the shared parts of all traces. What comes out is the graph that dependency_graph_create makes of the
 * merged trace, to the last number: spans have the ids that they have there.
 */
#ifndef HP_ANALYSIS_GRAPH_PIECE_H
#define HP_ANALYSIS_GRAPH_PIECE_H

#include "base/parcel.h"
#include "dependency_graph.h"

/* Whether a process of a piece did something: where none of the whole did, the threads of processes that did nothing are lanes. */
int graph_piece_is_active(const struct trace *piece, bool *ret_active, struct error *err);
/* shared_kinds: as merge_shared_part had it. others_active: whether any piece is. */
int graph_piece_pack(const struct trace *piece, uint32_t first_track, uint64_t shared_kinds, bool others_active, const struct progress *progress,
                     struct parcel *parcel, struct error *err);
/* shared: merged of all traces' shared parts; pieces in the order of their traces. They are emptied on the way. */
int graph_pieces_join(const struct trace *shared, struct parcel *pieces, size_t count, const struct progress *progress,
                      struct dependency_graph **ret_graph, struct error *err);

#endif
