/* SPDX-License-Identifier: MIT */
/* The variables of launchers. Several may be set (srun under which mpirun ran): the innermost launcher's come first. */
#include "launcher.h"

#include "base/text.h"

#include <stdlib.h>

static const struct {
    const char *name, *rank, *size; /* size NULL: it has no variable */
    bool needs_size;                /* without it the rank says nothing */
} launchers[] = {
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", false},
    {"MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", false},
    {"PALS", "PALS_RANKID", "PMI_SIZE", false},
    {"PMI", "PMI_RANK", "PMI_SIZE", false},
    {"PMIx", "PMIX_RANK", NULL, false},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", true}, /* a batch script has SLURM_PROCID, too: it is no rank */
};

static int32_t number_of(const char *variable)
{
    const char *text = variable ? getenv(variable) : NULL;
    uint64_t value;
    return text && parse_u64(text, &value) == 0 && value <= INT32_MAX ? (int32_t)value : -1;
}

bool launcher_rank_find(struct launcher_rank *ret_rank)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        struct launcher_rank found = {launchers[i].name, number_of(launchers[i].rank), number_of(launchers[i].size)};
        if (found.rank < 0 || (launchers[i].needs_size && found.size < 0))
            continue;
        *ret_rank = found;
        return true;
    }
    return false;
}
