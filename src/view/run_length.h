/* SPDX-License-Identifier: MIT */
/* How long a run was, as every command says it in its head. */
#ifndef HP_VIEW_RUN_LENGTH_H
#define HP_VIEW_RUN_LENGTH_H

#include "trace/trace.h"

/* From the earliest to the latest thing in the trace, the lives of its processes (a launcher's, too) included. */
struct run_length {
    int64_t recorded_ns; /* of what was recorded */
    bool partial;        /* the recording left out a part of the run: */
    int64_t run_ns;      /* all of it */
};
struct run_length run_length_of(const struct trace *trace);

#endif
