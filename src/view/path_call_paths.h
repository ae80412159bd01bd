/* SPDX-License-Identifier: MIT */
/* Names of spans with those of what encloses them: "main/solve/MPI_Allreduce". Call stacks that were taken at spans
 * stand in front. */
#ifndef HP_VIEW_PATH_CALL_PATHS_H
#define HP_VIEW_PATH_CALL_PATHS_H

#include "trace/trace.h"

struct path_call_paths;

int path_call_paths_create(const struct trace *trace, struct path_call_paths **ret_paths);
void path_call_paths_destroy(struct path_call_paths *paths);
/* The name lives until the next call. */
int path_call_paths_name(struct path_call_paths *paths, span_id span, const char **ret_name, struct error *err);

#endif
