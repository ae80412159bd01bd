/* SPDX-License-Identifier: MIT */
/* Efficiencies of runs, their waits and what delayed them, on stdout. */
#ifndef HP_CLI_PRINT_EFFICIENCY_H
#define HP_CLI_PRINT_EFFICIENCY_H

#include "command.h"

#include "analysis/efficiency.h"
#include "analysis/wait_states.h"

struct efficiency_run {
    const char *path;
    struct trace *trace;
    struct efficiency *efficiency;
    struct wait_states *waits;
    struct wait_blame *blame;
    size_t blame_count;
    struct efficiency_scaling scaling; /* against the first run; unused where there is one run */
};

struct efficiency_report {
    struct efficiency_run *runs;
    size_t run_count;
    bool weak;
    uint64_t top; /* waits and delays; 0 = all */
};

/* The model that says most of a run: what the contract's "model" and "factors" are of. */
enum efficiency_model efficiency_main_model(const struct efficiency *efficiency);
int print_efficiency(const struct efficiency_report *report, const struct invocation *invocation, struct error *err);

/* print_efficiency_json.c, print_efficiency_text.c */
void json_efficiency(struct text *out, const struct efficiency_report *report);
int text_efficiency(struct text *out, const struct text_look *look, const struct efficiency_report *report);

/* "rank 3", "worker 2 of rank 0", "GPU 0 stream 7": the lane's name, with the rank where the name does not tell it. */
void add_lane_name(struct text *out, const struct trace *trace, track_id lane);

#endif
