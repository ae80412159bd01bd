/* SPDX-License-Identifier: MIT */
/* NVIDIA's GPUs as their management library (NVML, opened when asked for) describes and measures them. */
#ifndef HP_SYSTEM_NVML_H
#define HP_SYSTEM_NVML_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>

struct nvml;

/* NULL: no NVML, no GPU, or no memory. */
struct nvml *nvml_open(void);
void nvml_close(struct nvml *nvml);
DEFINE_CLEANUP(struct nvml *, nvml_close)
/* Devices that this user may see, counted from 0 in the functions below. */
unsigned nvml_count(const struct nvml *nvml);
/* The device's number among all of the machine's, as NVML counts them: those that are refused leave gaps. */
unsigned nvml_number(const struct nvml *nvml, unsigned device);

/* What does not change. Numbers are 0 where the driver does not tell. */
struct nvml_device {
    char name[96], uuid[96];
    uint64_t memory_bytes;
    unsigned compute_major, compute_minor;
    unsigned sm_clock_max_mhz, memory_clock_max_mhz; /* memory: as NVML counts it, before doubling */
    unsigned memory_bus_bits;
    unsigned pcie_generation, pcie_width;
    unsigned power_limit_mw;
};
void nvml_describe(struct nvml *nvml, unsigned device, struct nvml_device *ret_device);

/* NVML_COUNTER(enumerator, name, UCUM unit): what is measured. PCIe rates take the driver 20 ms each. */
#define NVML_COUNTERS(NVML_COUNTER)                                                                                    \
    NVML_COUNTER(UTILIZATION, "GPU busy", "%")                                                                         \
    NVML_COUNTER(MEMORY_UTILIZATION, "GPU memory busy", "%")                                                           \
    NVML_COUNTER(MEMORY_USED, "GPU memory used", "By")                                                                 \
    NVML_COUNTER(POWER, "GPU power", "W")                                                                              \
    NVML_COUNTER(SM_CLOCK, "GPU SM clock", "MHz")                                                                      \
    NVML_COUNTER(MEMORY_CLOCK, "GPU memory clock", "MHz")                                                              \
    NVML_COUNTER(TEMPERATURE, "GPU temperature", "Cel")                                                                \
    NVML_COUNTER(PCIE_SENT, "GPU PCIe sent", "By/s")                                                                   \
    NVML_COUNTER(PCIE_RECEIVED, "GPU PCIe received", "By/s")
enum nvml_counter {
#define NVML_COUNTER(enumerator, name, unit) NVML_##enumerator,
    NVML_COUNTERS(NVML_COUNTER)
#undef NVML_COUNTER
    NVML_COUNTER_COUNT
};
const char *nvml_counter_name(enum nvml_counter counter);
const char *nvml_counter_unit(enum nvml_counter counter);
/* False where this GPU does not tell. */
bool nvml_read(struct nvml *nvml, unsigned device, enum nvml_counter counter, double *ret_value);

#endif
