/* SPDX-License-Identifier: MIT */
/*
 * What holds the pieces of a graph together while each stays where it was made. A piece's frame are the points at which it can meet others: begins and ends of spans that
 * are in the shared parts, and what the rule of processors looks at. In one place the frames become one thin graph, in which what goes
 * between processes is found by the same rules as ever; each piece gets back the edges into its points, and the foreign points they come from, and
 * becomes a share of the whole graph (graph_share.h). Joins of several processes are a share as well, that of the frame.
 *
 * Points' numbers in the frame are what path_share.h calls their numbers in the whole.
 */
#ifndef HP_ANALYSIS_GRAPH_FRAME_H
#define HP_ANALYSIS_GRAPH_FRAME_H

#include "base/parcel.h"
#include "dependency_graph.h"

/* Of a packed piece (graph_piece.h), which stays as it is; an empty parcel is a piece without anything. */
int graph_frame_pack(const struct parcel *piece, struct parcel *frame);

struct graph_frame;
/* frames: in the order of their traces. They are emptied on the way. shared: as graph_pieces_join has it. */
int graph_frame_create(const struct trace *shared, struct parcel *frames, uint32_t count, const struct progress *progress,
                       struct graph_frame **ret_frame, struct error *err);
void graph_frame_destroy(struct graph_frame *frame);
DEFINE_CLEANUP(struct graph_frame *, graph_frame_destroy)

/* What piece `number` needs to become a share. */
int graph_frame_pack_share(struct graph_frame *frame, uint32_t number, struct parcel *share);
/* No more are packed: what only they need goes. */
void graph_frame_packed(struct graph_frame *frame);
/* The share of the frame itself, which stays its owner. */
struct graph_share *graph_frame_share(struct graph_frame *frame);
uint32_t graph_frame_number_count(const struct graph_frame *frame);

#endif
