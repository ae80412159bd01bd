/* SPDX-License-Identifier: MIT */
/* Started by a launcher of parallel programs (mpirun, srun ...), once for each rank: which one this is. */
#ifndef HP_RECORD_LAUNCHER_H
#define HP_RECORD_LAUNCHER_H

#include <stdbool.h>
#include <stdint.h>

/* In the trace's metadata, where a launcher started the recorder. */
#define LAUNCHER_NAME_KEY "launcher.name"
#define LAUNCHER_RANK_KEY "launcher.rank"
#define LAUNCHER_SIZE_KEY "launcher.size"

struct launcher_rank {
    const char *name; /* of the launcher's family */
    int32_t rank;
    int32_t size;     /* -1 = not told */
};

/* By the variables that launchers set for each rank; false: there are none. */
bool launcher_rank_find(struct launcher_rank *ret_rank);

#endif
