/* SPDX-License-Identifier: MIT */
/* What the machine was when the recording began, as metadata `host.*` (docs/fields.md): files of the kernel are read, nothing is probed. */
#include "record_host.h"

#include "system/host.h"
#include "system/proc_file.h"
#include "system/topology.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void put_text(struct recording *recording, const char *key, const char *text)
{
    if (*text)
        recording_put_metadata(recording, key, "%s", text);
}

static void put_number(struct recording *recording, const char *key, uint64_t number)
{
    if (number)
        recording_put_metadata(recording, key, "%" PRIu64, number);
}

static void put_topology(struct recording *recording)
{
    struct topology topology;
    char key[64];
    topology_read("", &topology);
    put_number(recording, "host.packages", topology.packages);
    put_number(recording, "host.cores", topology.cores);
    put_number(recording, "host.threads", topology.threads);
    put_number(recording, "host.numa_nodes", topology.numa_nodes);
    for (unsigned i = 0; i < topology.cache_count; i++) {
        const struct cache_level *cache = &topology.caches[i];
        const char *kind = cache->kind == 'd' ? "d" : cache->kind == 'i' ? "i" : "";
        snprintf(key, sizeof key, "host.cache_l%u%s_bytes", cache->level, kind);
        put_number(recording, key, cache->size_bytes);
        snprintf(key, sizeof key, "host.cache_l%u%s_count", cache->level, kind);
        put_number(recording, key, cache->instances);
    }
}

/* Of the first processor: others differ where some are smaller. */
static void put_frequencies(struct recording *recording)
{
    char governor[64];
    struct setting least = proc_read_number("", "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_min_freq");
    struct setting greatest = proc_read_number("", "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
    if (least.known && least.value > 0)
        put_number(recording, "host.frequency_min_khz", (uint64_t)least.value);
    if (greatest.known && greatest.value > 0)
        put_number(recording, "host.frequency_max_khz", (uint64_t)greatest.value);
    if (proc_read_text("", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor, sizeof governor))
        put_text(recording, "host.governor", governor);
}

/* The control group's own limits, as far as this namespace shows them; those of groups above it are not looked at. */
static void put_limits(struct recording *recording)
{
    char text[128];
    long long quota, period;
    if (proc_read_text("", "/sys/fs/cgroup/cpu.max", text, sizeof text) && sscanf(text, "%lld %lld", &quota, &period) == 2 && quota > 0 && period > 0)
        recording_put_metadata(recording, "host.cpu_limit", "%.2f", (double)quota / (double)period);
    struct setting memory = proc_read_number("", "/sys/fs/cgroup/memory.max");
    if (memory.known && memory.value > 0)
        put_number(recording, "host.memory_limit_bytes", (uint64_t)memory.value);
    struct setting paranoid = proc_read_number("", "/proc/sys/kernel/perf_event_paranoid");
    if (paranoid.known)
        recording_put_metadata(recording, "host.perf_event_paranoid", "%ld", paranoid.value);
}

void record_host(struct recording *recording)
{
    struct host host;
    host_read("", &host);
    put_text(recording, "host.name", host.name);
    put_text(recording, "host.system", host.distribution);
    put_text(recording, "host.kernel", host.kernel);
    put_text(recording, "host.architecture", host.architecture);
    put_text(recording, "host.cpu", host.cpu_model);
    put_text(recording, "host.hypervisor", host.hypervisor);
    put_text(recording, "host.container", host.container);
    put_number(recording, "host.cpus_usable", host.cpus_usable);
    put_number(recording, "host.memory_bytes", host.memory_bytes);
    put_text(recording, "host.clocksource", host.clocksource);
    put_topology(recording);
    put_frequencies(recording);
    put_limits(recording);
}
