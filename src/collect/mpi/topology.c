/* SPDX-License-Identifier: MIT */
/* A communicator's neighbours by its topology, asked once, when a neighbourhood collective needs them. */
#include "mpi_collector.h"

static struct mpi_ranks *ranks_make(int size)
{
    struct mpi_ranks *ranks = mpi_memory_take(sizeof *ranks + (uint64_t)size * sizeof ranks->world[0]);
    if (ranks) {
        ranks->references = 1;
        ranks->size = (uint32_t)size;
    }
    return ranks;
}

static void to_world(const struct mpi_comm *comm, struct mpi_ranks *ranks)
{
    for (uint32_t i = 0; i < ranks->size; i++)
        ranks->world[i] = mpi_peer(comm, ranks->world[i]);
}

/* Two in each dimension, before and behind: the order that the standard gives. */
static struct mpi_ranks *grid(MPI_Comm handle)
{
    int dimensions = 0;
    if (PMPI_Cartdim_get(handle, &dimensions) != MPI_SUCCESS || dimensions < 0)
        return 0;
    struct mpi_ranks *ranks = ranks_make(2 * dimensions);
    for (int i = 0; ranks && i < dimensions; i++)
        PMPI_Cart_shift(handle, i, 1, &ranks->world[2 * i], &ranks->world[2 * i + 1]);
    return ranks;
}

static struct mpi_ranks *graph(MPI_Comm handle, int rank)
{
    int count = 0;
    if (PMPI_Graph_neighbors_count(handle, rank, &count) != MPI_SUCCESS || count < 0)
        return 0;
    struct mpi_ranks *ranks = ranks_make(count);
    if (ranks)
        PMPI_Graph_neighbors(handle, rank, count, ranks->world);
    return ranks;
}

static bool distributed(struct mpi_comm *comm, MPI_Comm handle)
{
    int in = 0, out = 0, weighted = 0;
    if (PMPI_Dist_graph_neighbors_count(handle, &in, &out, &weighted) != MPI_SUCCESS || in < 0 || out < 0)
        return false;
    uint64_t bytes = ((uint64_t)in + (uint64_t)out + 1) * sizeof(int);
    int *weights = mpi_memory_take(bytes);
    comm->from = ranks_make(in);
    comm->to = ranks_make(out);
    bool made = comm->from && comm->to && weights;
    if (made) {
        PMPI_Dist_graph_neighbors(handle, in, comm->from->world, weights, out, comm->to->world, weights + in);
        to_world(comm, comm->from);
        to_world(comm, comm->to);
    }
    mpi_memory_give(weights, bytes);
    return made;
}

bool mpi_topology(struct mpi_comm *comm, MPI_Comm handle)
{
    int kind = MPI_UNDEFINED;
    if (comm->to && comm->from)
        return true;
    if (PMPI_Topo_test(handle, &kind) != MPI_SUCCESS)
        return false;
    if (kind == MPI_DIST_GRAPH)
        return distributed(comm, handle);
    struct mpi_ranks *both = kind == MPI_CART ? grid(handle) : kind == MPI_GRAPH ? graph(handle, comm->rank) : 0;
    if (!both)
        return false;
    to_world(comm, both);
    comm->from = both;
    comm->to = mpi_ranks_share(both);
    return true;
}
