/* SPDX-License-Identifier: MIT */
/* The name of the trace that `run` writes: placeholders, and ranks kept apart. */
#ifndef HP_CLI_RUN_OUTPUT_H
#define HP_CLI_RUN_OUTPUT_H

#include "recording.h"
#include "record/launcher.h"

/*
 * `output` (-o; NULL = PROGRAM.hprofiler.json) with %r, %h, %p and %% replaced. Where a launcher runs several ranks and the name
 * does not tell them apart by %r, ".rankN" is put before its ending. `launcher` NULL: none was found; then %r is an error.
 */
int run_output_prepare(const char *output, const char *program, const struct launcher_rank *launcher, struct output_file *ret_file,
                       struct error *err);

#endif
