/* SPDX-License-Identifier: MIT */
/* Parcels that go between the ranks of a command: each agrees with the others first that all is well. */
#ifndef HP_CLI_RANKS_EXCHANGE_H
#define HP_CLI_RANKS_EXCHANGE_H

#include "base/rank_group.h"

/* Everybody's parcel in rank 0, as many as there are ranks; NULL elsewhere. */
int ranks_gather(const struct rank_group *group, struct parcel *own, struct parcel **ret_all, struct error *err);
/* Rank 0's, of which there are as many as ranks, each to its own. They are empty then. */
int ranks_scatter(const struct rank_group *group, struct parcel *all, struct parcel *own, struct error *err);
/* Rank 0's to all. */
int ranks_broadcast(const struct rank_group *group, struct parcel *parcel, struct error *err);
void ranks_parcels_free(struct parcel *parcels, int count);

#endif
