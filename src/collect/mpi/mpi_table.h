/* SPDX-License-Identifier: MIT */
/* Between the front and an implementation: both are made from one wrappers.def, but may come from different builds. */
#ifndef HP_MPI_TABLE_H
#define HP_MPI_TABLE_H

#include <stdint.h>

#define MPI_TABLE_VERSION 2u

struct mpi_entry {
    const char *name; /* PMPI_Send */
    void *function; /* NULL: this MPI has no such function */
};
struct mpi_table {
    uint32_t version, count;
    const struct mpi_entry *entries;
};

/* A function of the process' MPI, by the name that starts with P; NULL: there is none. */
typedef void *mpi_real_function(const char *name);
/* Called once by the front, before any wrapper. NULL: nothing is recorded in this process, the real functions serve. */
typedef const struct mpi_table *mpi_table_function(mpi_real_function *real);
#define MPI_TABLE_SYMBOL "hprofiler_mpi_table"

#endif
