/* SPDX-License-Identifier: MIT */
/* The comparisons of clocks that processes made and that traces have in their metadata ("clock.probe.PID.N", docs/formats/native.md). */
#ifndef HP_ANALYSIS_CLOCK_PROBES_H
#define HP_ANALYSIS_CLOCK_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace;

struct clock_probe {
    int32_t peer;                 /* world rank */
    int64_t own_ns, peer_ns;      /* CLOCK_MONOTONIC_RAW of either */
    int64_t error_ns;             /* half the round trip */
    uint64_t own_domain, peer_domain; /* numbers that are equal where clocks are */
};

/* One metadata row; false if it is no probe, or a damaged one. */
bool clock_probe_parse(const char *key, const char *value, struct clock_probe *ret_probe);
/* All of a trace; free the array. 0 or -ENOMEM. */
int clock_probes_read(const struct trace *trace, struct clock_probe **ret_probes, size_t *ret_count);

#endif
