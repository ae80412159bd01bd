/* SPDX-License-Identifier: MIT */
/* How the processors hang together: packages, cores, hardware threads, NUMA nodes, caches; from /sys. 0 = unknown. */
#ifndef HP_SYSTEM_TOPOLOGY_H
#define HP_SYSTEM_TOPOLOGY_H

#include <stdint.h>

struct cache_level {
    unsigned level;
    char kind;           /* 'd' data, 'i' instruction, 'u' unified */
    uint64_t size_bytes; /* of one */
    unsigned instances;  /* how many in the machine */
};

#define TOPOLOGY_CACHES_MAX 8
struct topology {
    unsigned packages, cores, threads, numa_nodes;
    struct cache_level caches[TOPOLOGY_CACHES_MAX];
    unsigned cache_count;
};

void topology_read(const char *root, struct topology *ret_topology);

#endif
