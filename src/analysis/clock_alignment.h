/* SPDX-License-Identifier: MIT */
/*
 * The clocks of several nodes as one. A clock domain is a boot and a time namespace: what is in one has one clock. Domains were compared
 * in pairs, by probes or through messages; along the comparisons with the least bounds, which add up, each is mapped to the
 * reference's clock. Times are those of CLOCK_MONOTONIC_RAW.
 */
#ifndef HP_ANALYSIS_CLOCK_ALIGNMENT_H
#define HP_ANALYSIS_CLOCK_ALIGNMENT_H

#include "clock_map.h"
#include "trace/ids.h"

struct error;
struct trace;

enum clock_source { /* how a domain's clock came to be known, as files and JSON have it */
#define CLOCK_SOURCE(enumerator, name) CLOCK_BY_##enumerator,
#define CLOCK_SOURCES                                                                                                  \
    CLOCK_SOURCE(NOTHING, "unknown")                                                                                   \
    CLOCK_SOURCE(BEING_REFERENCE, "reference")                                                                         \
    CLOCK_SOURCE(PROBES, "probes")                                                                                     \
    CLOCK_SOURCE(MESSAGES, "messages")                                                                                 \
    CLOCK_SOURCE(ASSUMPTION, "assumed")
    CLOCK_SOURCES
#undef CLOCK_SOURCE
    CLOCK_SOURCE_COUNT
};
const char *clock_source_name(enum clock_source source);

/* The clock of `own` against that of `peer`, at the knots. */
struct clock_comparison {
    uint32_t own, peer; /* domains */
    enum clock_source source;
    struct clock_map map;
};

struct clock_domain {
    enum clock_source source;
    uint32_t via;         /* the domain that it was compared with */
    struct clock_map map; /* to the reference's clock; no knots for the reference itself and for what is unknown */
    int64_t bound_ns;     /* the worst between its knots; 0 for the reference; -1 = not known (assumed) */
};

/* Fills in the domains that comparisons lead to, those by probes first. What is known already stays. 0 or -ENOMEM. */
int clock_alignment_spread(struct clock_domain *domains, uint32_t domain_count, const struct clock_comparison *comparisons, uint32_t count,
                           enum clock_source source);

/* A time of the domain's clock on the reference's. The domain must be known. */
int64_t clock_domain_time(const struct clock_domain *domain, int64_t own_ns);

/*
 * What a trace says of a node's clock against the others': half the width of what is possible, by which its times may be off those
 * of the reference. 0 for the reference, and for the one node of a trace that was never merged; -1: not known, the user said it.
 */
#define CLOCK_BOUND_KEY "clock.bound_ns."
int64_t clock_bound_of_node(const struct trace *trace, node_id node);

#endif
