/* SPDX-License-Identifier: MIT */
/* Metadata host.* and gpu.N.* (docs/fields.md) as rows. */
#include "host_facts.h"

#include "resident.h"
#include "units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES_MAX 64

static const char *text_of(const struct trace *trace, const char *key)
{
    const char *value = trace_metadata(trace, key);
    return value ? value : "";
}

static uint64_t number_of(const struct trace *trace, const char *key)
{
    return strtoull(text_of(trace, key), NULL, 10);
}

static void add(struct grid *grid, const char *title, const char *value, enum grid_style style)
{
    struct grid_row *row = grid_add(grid, grid->row_count + 1, style);
    if (!row)
        return;
    row->sentence = true;
    grid_set(grid, 0, 0, title);
    grid_set(grid, 1, 0, value);
}

static void add_or_unknown(struct grid *grid, const char *title, const struct text *value, const char *needed)
{
    char unknown[200];
    snprintf(unknown, sizeof unknown, "unknown: %s", needed);
    add(grid, title, value->length ? value->data : unknown, value->length ? GRID_PLAIN : GRID_DIM);
}

bool host_facts_known(const struct trace *trace)
{
    return trace_metadata(trace, "host.kernel") != NULL;
}

bool host_facts_have_key(const char *key)
{
    return strncmp(key, "host.", 5) == 0 || strncmp(key, "gpu.", 4) == 0;
}

/* --- parts ----------------------------------------------------------------------------------------------------------- */

static void add_names(const struct trace *trace, struct grid *grid)
{
    static const struct {
        const char *title, *key, *needed;
    } rows[] = {
        {"name", "host.name", "the kernel gave none"},
        {"system", "host.system", "there is no /etc/os-release"},
        {"kernel", "host.kernel", ""},
        {"architecture", "host.architecture", ""},
        {"processor", "host.cpu", "/proc/cpuinfo does not name it"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct text value = TEXT_INIT;
        text_add_string(&value, text_of(trace, rows[i].key));
        add_or_unknown(grid, rows[i].title, &value, rows[i].needed);
        text_finish(&value);
    }
}

static void add_count(struct text *out, const struct trace *trace, const char *key, const char *one, const char *many)
{
    uint64_t count = number_of(trace, key);
    if (count)
        text_addf(out, "%s%llu %s", out->length ? ", " : "", (unsigned long long)count, count == 1 ? one : many);
}

static void add_topology(const struct trace *trace, struct grid *grid)
{
    struct text value = TEXT_INIT;
    add_count(&value, trace, "host.packages", "package", "packages");
    add_count(&value, trace, "host.cores", "core", "cores");
    add_count(&value, trace, "host.threads", "thread", "threads");
    add_count(&value, trace, "host.numa_nodes", "NUMA node", "NUMA nodes");
    add_count(&value, trace, "host.cpus_usable", "thread usable", "threads usable");
    add_or_unknown(grid, "topology", &value, "/sys/devices/system/cpu can't be read");
    text_finish(&value);
}

static void add_caches(const struct trace *trace, struct grid *grid)
{
    static const char *const names[] = {"1d", "1i", "1", "2", "3", "4"};
    struct text value = TEXT_INIT;
    char key[64], size[32];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(key, sizeof key, "host.cache_l%s_bytes", names[i]);
        uint64_t bytes = number_of(trace, key);
        snprintf(key, sizeof key, "host.cache_l%s_count", names[i]);
        if (bytes)
            text_addf(&value, "%sL%s %llu x %s", value.length ? ", " : "", names[i], (unsigned long long)number_of(trace, key), format_bytes(size, sizeof size, bytes));
    }
    add_or_unknown(grid, "caches", &value, "the kernel does not tell; usual in virtual machines");
    text_finish(&value);
}

static void add_frequency(const struct trace *trace, struct grid *grid)
{
    struct text value = TEXT_INIT;
    uint64_t least = number_of(trace, "host.frequency_min_khz"), greatest = number_of(trace, "host.frequency_max_khz");
    if (greatest)
        text_addf(&value, "%.2f to %.2f GHz", (double)least / 1e6, (double)greatest / 1e6);
    if (*text_of(trace, "host.governor"))
        text_addf(&value, "%sgovernor %s", value.length ? ", " : "", text_of(trace, "host.governor"));
    add_or_unknown(grid, "frequency", &value, "the kernel has no cpufreq; usual in virtual machines");
    text_finish(&value);
}

static void add_memory(const struct trace *trace, struct grid *grid)
{
    struct text value = TEXT_INIT;
    char size[32];
    uint64_t memory = number_of(trace, "host.memory_bytes"), limit = number_of(trace, "host.memory_limit_bytes");
    if (memory)
        text_addf(&value, "%s", format_bytes(size, sizeof size, memory));
    if (limit)
        text_addf(&value, "; the control group allows %s", format_bytes(size, sizeof size, limit));
    add_or_unknown(grid, "memory", &value, "/proc/meminfo can't be read");
    text_finish(&value);
}

static void add_place(const struct trace *trace, struct grid *grid)
{
    static const char *const keys[] = {"host.container", "host.hypervisor"};
    for (size_t i = 0; i < 2; i++)
        if (*text_of(trace, keys[i]))
            add(grid, "runs in", text_of(trace, keys[i]), GRID_PLAIN);
    if (*text_of(trace, "host.cpu_limit"))
        add(grid, "processors allowed", text_of(trace, "host.cpu_limit"), GRID_PLAIN);
    if (*text_of(trace, "host.clocksource"))
        add(grid, "clock", text_of(trace, "host.clocksource"), GRID_PLAIN);
    if (*text_of(trace, "host.perf_event_paranoid"))
        add(grid, "perf_event_paranoid", text_of(trace, "host.perf_event_paranoid"), GRID_PLAIN);
}

static bool has_counter(const struct trace *trace, const char *word)
{
    uint32_t count;
    const struct trace_track *tracks = trace_tracks(trace, &count);
    for (uint32_t i = 0; i < count; i++)
        if (tracks[i].kind == TRACK_KIND_COUNTER && strcasestr(trace_text(trace, tracks[i].name), word))
            return true;
    return false;
}

/* What no file of the kernel says: it has to be measured. */
static const struct {
    const char *title, *word, *needed;
} measured[] = {
    {"peak FLOP rates", "FLOP", "unknown: nothing in this trace measured them"},
    {"memory bandwidth", "bandwidth", "unknown: nothing in this trace measured it"},
    {"instructions per cycle", "IPC", "unknown: it takes hardware counters, of which none is in this trace"},
    {"cache and branch misses", "misses", "unknown: they take hardware counters, of which none is in this trace"},
};

#define RESIDENT_ROWS 16 /* processes; the rest is on the Timeline */

static const char *command_of(const struct trace *trace, const struct trace_process *process)
{
    const char *name = trace_text(trace, process->command);
    return *name ? name : "process";
}

static void add_resident_process(const struct trace *trace, const struct resident_process *item, struct grid *grid)
{
    char title[64] = "process", most[32], last[32], value[80];
    uint32_t count;
    const struct trace_process *processes = trace_processes(trace, &count);
    if (item->process.index < count)
        snprintf(title, sizeof title, "  %.40s %d", command_of(trace, &processes[item->process.index]), (int)processes[item->process.index].pid);
    snprintf(value, sizeof value, "last %s, at most %s", format_bytes(last, sizeof last, (uint64_t)item->last_bytes),
             format_bytes(most, sizeof most, (uint64_t)item->peak_bytes));
    add(grid, title, value, GRID_PLAIN);
}

static void add_resident(const struct trace *trace, struct grid *grid)
{
    struct resident_memory memory;
    char most[32], text[200];
    if (resident_memory_read(trace, &memory, NULL) < 0)
        return;
    snprintf(text, sizeof text, "at most %s in one process, %s", format_bytes(most, sizeof most, (uint64_t)memory.peak_bytes),
             memory.counted ? "by the kernel's count" : "of what was read now and then");
    bool known = memory.peak_bytes > 0;
    add(grid, "resident memory", known ? text : "unknown: the trace has no counter of it, nor the kernel's count", known ? GRID_PLAIN : GRID_DIM);
    for (size_t i = 0; i < memory.count && i < RESIDENT_ROWS; i++)
        add_resident_process(trace, &memory.processes[i], grid);
    if (memory.count > RESIDENT_ROWS) {
        snprintf(text, sizeof text, "and %zu more processes, on the Timeline", memory.count - RESIDENT_ROWS);
        add(grid, "", text, GRID_DIM);
    }
    resident_memory_finish(&memory);
}

void host_facts_fill(const struct trace *trace, struct grid *grid)
{
    add_names(trace, grid);
    add_topology(trace, grid);
    add_caches(trace, grid);
    add_frequency(trace, grid);
    add_memory(trace, grid);
    add_place(trace, grid);
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++)
        add(grid, measured[i].title, has_counter(trace, measured[i].word) ? "on the Timeline, as a counter" : measured[i].needed,
            has_counter(trace, measured[i].word) ? GRID_PLAIN : GRID_DIM);
    add_resident(trace, grid);
}

/* --- devices --------------------------------------------------------------------------------------------------------- */

static uint64_t device_number(const struct trace *trace, unsigned device, const char *what)
{
    char key[64];
    snprintf(key, sizeof key, "gpu.%u.%s", device, what);
    return number_of(trace, key);
}

static void add_device(const struct trace *trace, unsigned device, const char *name, struct grid *grid)
{
    struct text value = TEXT_INIT;
    char key[64], size[32], title[24];
    uint64_t memory = device_number(trace, device, "memory_bytes"), clock = device_number(trace, device, "sm_clock_max_mhz");
    uint64_t memory_clock = device_number(trace, device, "memory_clock_max_mhz"), bus = device_number(trace, device, "memory_bus_bits");
    uint64_t pcie = device_number(trace, device, "pcie_generation"), power = device_number(trace, device, "power_limit_mw");
    text_add_string(&value, name);
    snprintf(key, sizeof key, "gpu.%u.compute_capability", device);
    if (*text_of(trace, key))
        text_addf(&value, ", compute capability %s", text_of(trace, key));
    if (memory)
        text_addf(&value, ", %s", format_bytes(size, sizeof size, memory));
    if (clock)
        text_addf(&value, ", SM up to %llu MHz", (unsigned long long)clock);
    if (memory_clock && bus)
        text_addf(&value, ", memory up to %llu MHz on %llu bits", (unsigned long long)memory_clock, (unsigned long long)bus);
    if (pcie)
        text_addf(&value, ", PCIe %llu x %llu", (unsigned long long)pcie, (unsigned long long)device_number(trace, device, "pcie_width"));
    if (power)
        text_addf(&value, ", up to %.0f W", (double)power / 1000);
    snprintf(title, sizeof title, "GPU %u", device);
    add(grid, title, value.data ? value.data : "", GRID_PLAIN);
    text_finish(&value);
}

void host_facts_fill_devices(const struct trace *trace, struct grid *grid)
{
    bool any = false;
    for (unsigned device = 0; device < DEVICES_MAX; device++) {
        char key[64];
        snprintf(key, sizeof key, "gpu.%u.name", device);
        if (!*text_of(trace, key))
            continue;
        if (!any)
            grid_heading(grid, "Devices", "as their driver described them");
        any = true;
        add_device(trace, device, text_of(trace, key), grid);
    }
}
