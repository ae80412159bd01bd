/* SPDX-License-Identifier: MIT */
/* mpi.h of the MPI that this implementation is built for, and what the two families say in ways of their own. */
#ifndef HP_MPI_API_H
#define HP_MPI_API_H

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#pragma GCC diagnostic ignored "-Wold-style-definition"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wwrite-strings"
#include <mpi.h>
#pragma GCC diagnostic pop

#include <stdbool.h>
#include <stdint.h>

/*
 * What is called beside the wrapped functions. Weak, so that the library loads whatever the MPI lacks, and needs no library by
 * name: the front has found the one that the process uses.
 */
#pragma weak PMPI_Cart_shift
#pragma weak PMPI_Cartdim_get
#pragma weak PMPI_Comm_compare
#pragma weak PMPI_Comm_get_name
#pragma weak PMPI_Comm_get_parent
#pragma weak PMPI_Comm_group
#pragma weak PMPI_Comm_rank
#pragma weak PMPI_Comm_remote_group
#pragma weak PMPI_Comm_remote_size
#pragma weak PMPI_Comm_size
#pragma weak PMPI_Comm_test_inter
#pragma weak PMPI_Dist_graph_neighbors
#pragma weak PMPI_Dist_graph_neighbors_count
#pragma weak PMPI_File_get_atomicity
#pragma weak PMPI_File_get_position
#pragma weak PMPI_Finalized
#pragma weak PMPI_Get_count
#pragma weak PMPI_Get_library_version
#pragma weak PMPI_Graph_neighbors
#pragma weak PMPI_Graph_neighbors_count
#pragma weak PMPI_Group_free
#pragma weak PMPI_Group_rank
#pragma weak PMPI_Group_size
#pragma weak PMPI_Group_translate_ranks
#pragma weak PMPI_Initialized
#pragma weak PMPI_Query_thread
#pragma weak PMPI_Test_cancelled
#pragma weak PMPI_Topo_test
#pragma weak PMPI_Type_get_extent
#pragma weak PMPI_Type_get_true_extent
#pragma weak PMPI_Type_size
#pragma weak PMPI_Win_get_group

#ifdef OPEN_MPI
#include "openmpi_weak.h"
#endif

/* A handle as a number: Open MPI has pointers, MPICH has int. */
#define MPI_HANDLE(handle) ((uint64_t)(uintptr_t)(handle))

/* Bytes that a status tells of. Both families fix the layout of their status in the ABI; others are asked. */
static inline uint64_t mpi_status_bytes(const MPI_Status *status)
{
#if defined(OPEN_MPI)
    return status->_ucount;
#elif defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 30100000
    return (uint64_t)(uint32_t)status->count_lo | (uint64_t)((uint32_t)status->count_hi_and_cancelled >> 1) << 32;
#else
    int bytes = 0;
    PMPI_Get_count((MPI_Status *)(uintptr_t)status, MPI_BYTE, &bytes);
    return bytes > 0 ? (uint64_t)bytes : 0;
#endif
}

static inline bool mpi_status_cancelled(const MPI_Status *status)
{
#if defined(OPEN_MPI)
    return status->_cancelled != 0;
#elif defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 30100000
    return (status->count_hi_and_cancelled & 1) != 0;
#else
    int cancelled = 0;
    PMPI_Test_cancelled((MPI_Status *)(uintptr_t)status, &cancelled);
    return cancelled != 0;
#endif
}

#endif
