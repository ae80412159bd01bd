/* SPDX-License-Identifier: MIT */
/* Shared by the files that judge restrictions; nobody else includes it. */
#ifndef HP_SYSTEM_RESTRICTIONS_PRIVATE_H
#define HP_SYSTEM_RESTRICTIONS_PRIVATE_H

#include "restrictions.h"

struct judge {
    const struct machine *machine;
    struct restriction_list *list;
    bool failed; /* out of memory */
};

/* A text that lives as long as the list; "" and judge->failed when memory is out. */
const char *judge_text(struct judge *judge, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Each fills state, found, cost, who and remedy; all are preset to OK and "". */
void check_perf_events(struct judge *judge, struct restriction *ret);
void check_paranoid(struct judge *judge, struct restriction *ret);
void check_seccomp(struct judge *judge, struct restriction *ret);
void check_capabilities(struct judge *judge, struct restriction *ret);
void check_pmu(struct judge *judge, struct restriction *ret);
void check_branch_stack(struct judge *judge, struct restriction *ret);
void check_switches(struct judge *judge, struct restriction *ret);
void check_mlock(struct judge *judge, struct restriction *ret);
void check_sample_rate(struct judge *judge, struct restriction *ret);
void check_max_stack(struct judge *judge, struct restriction *ret);
void check_timers(struct judge *judge, struct restriction *ret);

#endif
