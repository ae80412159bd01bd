/* SPDX-License-Identifier: MIT */
/* Between the front and an implementation: both are made from one wrappers.def, but may come from different builds. */
#ifndef HP_MPI_TABLE_H
#define HP_MPI_TABLE_H

#include <stdint.h>

#define MPI_TABLE_VERSION 1u

struct mpi_entry {
    const char *name;
    void *function; /* NULL: this MPI has no such function */
};
struct mpi_table {
    uint32_t version, count;
    const struct mpi_entry *entries;
};

/* Called once by the front, before any wrapper. NULL: nothing is recorded in this process, the real functions serve. */
typedef const struct mpi_table *mpi_table_function(void);
#define MPI_TABLE_SYMBOL "hprofiler_mpi_table"

#endif
