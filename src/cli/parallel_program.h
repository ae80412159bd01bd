/* SPDX-License-Identifier: MIT */
/* The same command of all ranks of a launcher: it is the program that is linked with their MPI, which stands beside this one. */
#ifndef HP_CLI_PARALLEL_PROGRAM_H
#define HP_CLI_PARALLEL_PROGRAM_H

#include "base/rank_group.h"
#include "record/launcher.h"

/* The ranks of a program that knows its MPI. One that doesn't becomes that program, if it is there, and begins again. Else NULL, and *ret_why. */
const struct rank_group *parallel_join(const struct launcher_rank *launched, const char **ret_why, struct error *err);

#endif
