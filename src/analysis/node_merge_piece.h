/* SPDX-License-Identifier: MIT */
/*
 * Some of the traces of a merged one, as they are there, without the others: made in several places at once, each where its traces are. What
 * all places need of the whole goes to them in a parcel: where each trace lies, nodes, metadata, ledger, extent. Tracks and spans are
 * numbered from 0 in each piece; in the whole the pieces follow each other in the order of their traces.
 */
#ifndef HP_ANALYSIS_NODE_MERGE_PIECE_H
#define HP_ANALYSIS_NODE_MERGE_PIECE_H

#include "base/parcel.h"
#include "node_merge.h"

/*
 * What the others need of a trace: MPI's and NCCL's calls, and where the program was sampled. Merged, such parts have the same clocks, nodes,
 * processes, tracks and groups as the whole traces have.
 */
uint64_t merge_shared_kinds(const struct trace *trace); /* bits by enum span_kind */
int merge_shared_part(const struct trace *trace, uint64_t shared_kinds, const struct progress *progress, struct trace **ret_part, struct error *err);

/* whole: merged of all traces' shared parts. */
void merge_frame_pack(const struct trace *whole, const struct node_merge_report *report, struct parcel *frame);
/* Traces `first` to first + count of the whole. ret_first_track: what the piece's first track is there. */
int node_merge_piece(struct parcel *frame, const struct trace *const *traces, uint32_t first, uint32_t count, const struct progress *progress,
                     struct trace **ret_piece, uint32_t *ret_first_track, struct error *err);

#endif
