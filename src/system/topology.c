/* SPDX-License-Identifier: MIT */
/* How the processors hang together, from /sys. */
#include "topology.h"
#include "proc_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Calls visit for each number of a list such as "0-3,8,10-11". */
static void each_in_list(const char *list, void (*visit)(void *context, unsigned number), void *context)
{
    while (*list) {
        char *end;
        unsigned long first = strtoul(list, &end, 10), last = first;
        if (end == list)
            return;
        if (*end == '-') {
            list = end + 1;
            last = strtoul(list, &end, 10);
            if (end == list)
                return;
        }
        for (unsigned long number = first; number <= last && number < 65536; number++)
            visit(context, (unsigned)number);
        list = *end == ',' ? end + 1 : end;
        if (*list && (*list < '0' || *list > '9'))
            return;
    }
}

struct scan {
    const char *root;
    struct topology *topology;
};

/* A thing shared by several CPUs is counted at the first CPU of its list. */
static bool is_first_of(const char *root, const char *path, unsigned cpu)
{
    char list[256];
    return proc_read_text(root, path, list, sizeof list) && strtoul(list, NULL, 10) == cpu;
}

static void add_cache(struct topology *topology, unsigned level, char kind, uint64_t size_bytes)
{
    for (unsigned i = 0; i < topology->cache_count; i++) {
        struct cache_level *cache = &topology->caches[i];
        if (cache->level == level && cache->kind == kind && cache->size_bytes == size_bytes) {
            cache->instances++;
            return;
        }
    }
    if (topology->cache_count < TOPOLOGY_CACHES_MAX)
        topology->caches[topology->cache_count++] = (struct cache_level){level, kind, size_bytes, 1};
}

static void scan_caches(struct scan *scan, unsigned cpu)
{
    for (unsigned index = 0; index < 8; index++) {
        char path[160], kind[32], size[32];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/cache/index%u/shared_cpu_list", cpu, index);
        if (!is_first_of(scan->root, path, cpu))
            continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/cache/index%u/level", cpu, index);
        struct setting level = proc_read_number(scan->root, path);
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/cache/index%u/type", cpu, index);
        proc_read_text(scan->root, path, kind, sizeof kind);
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/cache/index%u/size", cpu, index);
        proc_read_text(scan->root, path, size, sizeof size);
        char *unit;
        uint64_t bytes = strtoull(size, &unit, 10);
        bytes *= *unit == 'K' ? 1024 : *unit == 'M' ? 1024 * 1024 : 1;
        if (level.known && level.value > 0)
            add_cache(scan->topology, (unsigned)level.value, kind[0] == 'D' ? 'd' : kind[0] == 'I' ? 'i' : 'u', bytes);
    }
}

static void scan_cpu(void *context, unsigned cpu)
{
    struct scan *scan = context;
    char path[160];
    scan->topology->threads++;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/topology/core_cpus_list", cpu);
    if (!proc_exists(scan->root, path)) /* older kernels' name */
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu);
    scan->topology->cores += is_first_of(scan->root, path, cpu);
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/topology/package_cpus_list", cpu);
    if (!proc_exists(scan->root, path))
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/topology/core_siblings_list", cpu);
    scan->topology->packages += is_first_of(scan->root, path, cpu);
    scan_caches(scan, cpu);
}

static void count_one(void *context, unsigned number)
{
    (void)number;
    ++*(unsigned *)context;
}

void topology_read(const char *root, struct topology *ret_topology)
{
    char list[4096];
    struct scan scan = {root, ret_topology};
    memset(ret_topology, 0, sizeof *ret_topology);
    if (proc_read_text(root, "/sys/devices/system/cpu/online", list, sizeof list))
        each_in_list(list, scan_cpu, &scan);
    if (proc_read_text(root, "/sys/devices/system/node/online", list, sizeof list))
        each_in_list(list, count_one, &ret_topology->numa_nodes);
}
