/* SPDX-License-Identifier: MIT */
/* Sizes of data: predefined types are asked once, others at each call, as their handles are reused. */
#include "mpi_collector.h"

struct mpi_type mpi_types[MPI_TYPES];


struct mpi_type mpi_type_ask(MPI_Datatype datatype)
{
    struct mpi_type type = {.handle = MPI_HANDLE(datatype)};
    int bytes = 0;
    MPI_Aint begin = 0, extent = 0, true_begin = 0, true_extent = 0;
    if (mpi_load(&mpi.phase) != MPI_RUNNING || datatype == MPI_DATATYPE_NULL)
        return type;
    if (PMPI_Type_size(datatype, &bytes) == MPI_SUCCESS && bytes > 0)
        type.bytes = (uint64_t)bytes;
    PMPI_Type_get_extent(datatype, &begin, &extent);
    PMPI_Type_get_true_extent(datatype, &true_begin, &true_extent);
    type.extent = extent;
    type.true_begin = true_begin;
    type.true_extent = true_extent;
    return type;
}

static void add(MPI_Datatype datatype)
{
    uint64_t handle = MPI_HANDLE(datatype);
    if (!handle || datatype == MPI_DATATYPE_NULL)
        return;
    uint32_t place = mpi_type_place(handle);
    while (mpi_types[place].handle && mpi_types[place].handle != handle)
        place = (place + 1) % MPI_TYPES;
    struct mpi_type type = mpi_type_ask(datatype);
    if (type.bytes)
        mpi_types[place] = type;
}

void mpi_types_start(void)
{
#define TYPE(name) add(MPI_##name);
#include "types.def"
#undef TYPE
}
