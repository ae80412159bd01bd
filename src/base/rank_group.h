/* SPDX-License-Identifier: MIT */
/*
 * The processes of one command that a launcher started several times, and what goes between them. All of them call the same functions in the
 * same order. What failed in one fails in all: agree is called before each exchange, with what it had to say.
 */
#ifndef HP_BASE_RANK_GROUP_H
#define HP_BASE_RANK_GROUP_H

#include "error.h"
#include "parcel.h"

struct rank_group {
    int rank, count;
    /* The code of the lowest rank whose own is not 0, with its text, in all ranks; 0: all are well. */
    int (*agree)(const struct rank_group *group, int code, struct error *err);
    /* Everybody's parcel to rank 0: `count` of them, by rank. The others' *all stay as they are. Each gives its own away. */
    int (*gather)(const struct rank_group *group, struct parcel *own, struct parcel *all);
    /* Of rank 0's `count` parcels to each its own. They are given away. */
    int (*scatter)(const struct rank_group *group, struct parcel *all, struct parcel *own);
    /* Rank 0's to all. */
    int (*broadcast)(const struct rank_group *group, struct parcel *parcel);
};

/* Of the program that this process runs: NULL where it is not one of MPI's. Joins the others at the first call, and leaves them when the process
 * ends. */
const struct rank_group *rank_group_join(struct error *err);

#endif
