/* SPDX-License-Identifier: MIT */
/* String ids of texts and of the names of reductions. */
#include "mpi_collector.h"

uint32_t mpi_string(const char *text)
{
    size_t length = 0;
    while (text[length])
        length++;
    return length ? rt_string(text, length) : 0;
}

static const struct {
    MPI_Op op;
    const char *name;
} operations[] = {
    {MPI_SUM, "MPI_SUM"},   {MPI_MAX, "MPI_MAX"},   {MPI_MIN, "MPI_MIN"},   {MPI_PROD, "MPI_PROD"},     {MPI_LAND, "MPI_LAND"},
    {MPI_BAND, "MPI_BAND"}, {MPI_LOR, "MPI_LOR"},   {MPI_BOR, "MPI_BOR"},   {MPI_LXOR, "MPI_LXOR"},     {MPI_BXOR, "MPI_BXOR"},
    {MPI_MAXLOC, "MPI_MAXLOC"}, {MPI_MINLOC, "MPI_MINLOC"}, {MPI_REPLACE, "MPI_REPLACE"}, {MPI_NO_OP, "MPI_NO_OP"},
};

/* The runtime gives the same id for the same text: nothing needs to be kept. */
uint32_t mpi_operation(MPI_Op op)
{
    for (unsigned i = 0; i < sizeof operations / sizeof operations[0]; i++)
        if (operations[i].op == op)
            return mpi_string(operations[i].name);
    return mpi.words[WORD_USER];
}
