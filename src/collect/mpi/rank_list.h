/* SPDX-License-Identifier: MIT */
/* World ranks as text: "3,5-9". */
#ifndef HP_MPI_RANK_LIST_H
#define HP_MPI_RANK_LIST_H

#include "mpi_collector.h"

#define RANK_LIST_BYTES 4096u

struct rank_list {
    unsigned length;
    bool full;             /* it didn't fit: nothing is said then */
    int32_t first, last;   /* the range that may grow; first = -1: none */
    char text[RANK_LIST_BYTES];
};

void rank_list_begin(struct rank_list *list) MPI_HIDDEN;
void rank_list_add(struct rank_list *list, int32_t rank) MPI_HIDDEN;
uint32_t rank_list_end(struct rank_list *list) MPI_HIDDEN; /* its string id; 0 = empty */

#endif
