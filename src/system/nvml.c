/* SPDX-License-Identifier: MIT */
/* NVML by dlopen: our own declarations of the few functions, and of the two structures that they fill. */
#include "nvml.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef void *nvml_handle;
struct nvml_memory {
    unsigned long long total, free, used;
};
struct nvml_utilization {
    unsigned gpu, memory;
};
enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, SENSOR_GPU = 0, PCIE_SENT = 0, PCIE_RECEIVED = 1 };

/* F(name here, symbol, arguments): those that are missing answer "unknown". */
#define NVML_FUNCTIONS(F)                                                                                              \
    F(init, "nvmlInit_v2", (void))                                                                                     \
    F(shutdown, "nvmlShutdown", (void))                                                                                \
    F(get_count, "nvmlDeviceGetCount_v2", (unsigned *))                                                                    \
    F(handle, "nvmlDeviceGetHandleByIndex_v2", (unsigned, nvml_handle *))                                              \
    F(name, "nvmlDeviceGetName", (nvml_handle, char *, unsigned))                                                      \
    F(uuid, "nvmlDeviceGetUUID", (nvml_handle, char *, unsigned))                                                      \
    F(memory, "nvmlDeviceGetMemoryInfo", (nvml_handle, struct nvml_memory *))                                          \
    F(utilization, "nvmlDeviceGetUtilizationRates", (nvml_handle, struct nvml_utilization *))                          \
    F(power, "nvmlDeviceGetPowerUsage", (nvml_handle, unsigned *))                                                     \
    F(power_limit, "nvmlDeviceGetEnforcedPowerLimit", (nvml_handle, unsigned *))                                       \
    F(clock, "nvmlDeviceGetClockInfo", (nvml_handle, unsigned, unsigned *))                                            \
    F(clock_max, "nvmlDeviceGetMaxClockInfo", (nvml_handle, unsigned, unsigned *))                                     \
    F(temperature, "nvmlDeviceGetTemperature", (nvml_handle, unsigned, unsigned *))                                    \
    F(pcie, "nvmlDeviceGetPcieThroughput", (nvml_handle, unsigned, unsigned *))                                        \
    F(pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration", (nvml_handle, unsigned *))                               \
    F(pcie_width, "nvmlDeviceGetCurrPcieLinkWidth", (nvml_handle, unsigned *))                                         \
    F(bus_width, "nvmlDeviceGetMemoryBusWidth", (nvml_handle, unsigned *))                                             \
    F(capability, "nvmlDeviceGetCudaComputeCapability", (nvml_handle, int *, int *))

struct nvml {
    void *library;
    bool initialised;
    unsigned count;
    struct {
        nvml_handle handle;
        unsigned number; /* as NVML counts */
    } *devices;
#define MEMBER(name, symbol, arguments) int(*name) arguments;
    NVML_FUNCTIONS(MEMBER)
#undef MEMBER
};

static void find(void *library, const char *symbol, void *function)
{
    void *found = dlsym(library, symbol);
    memcpy(function, &found, sizeof found);
}

static bool devices_find(struct nvml *nvml)
{
    unsigned count = 0;
    if (!nvml->init || !nvml->get_count || !nvml->handle || nvml->init() != 0)
        return false;
    nvml->initialised = true;
    if (nvml->get_count(&count) != 0 || count == 0)
        return false;
    nvml->devices = calloc(count, sizeof *nvml->devices);
    for (unsigned i = 0; nvml->devices && i < count; i++)
        if (nvml->handle(i, &nvml->devices[nvml->count].handle) == 0)
            nvml->devices[nvml->count++].number = i; /* those that this user may see */
    return nvml->count > 0;
}

struct nvml *nvml_open(void)
{
    CLEANUP(nvml_closep) struct nvml *nvml = calloc(1, sizeof *nvml);
    if (!nvml)
        return NULL;
    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!nvml->library)
        return NULL;
#define FIND(name, symbol, arguments) find(nvml->library, symbol, &nvml->name);
    NVML_FUNCTIONS(FIND)
#undef FIND
    return devices_find(nvml) ? TAKE_PTR(nvml) : NULL;
}

void nvml_close(struct nvml *nvml)
{
    if (!nvml)
        return;
    if (nvml->initialised && nvml->shutdown)
        nvml->shutdown();
    if (nvml->library)
        dlclose(nvml->library);
    free(nvml->devices);
    free(nvml);
}

unsigned nvml_count(const struct nvml *nvml)
{
    return nvml->count;
}

unsigned nvml_number(const struct nvml *nvml, unsigned device)
{
    return nvml->devices[device].number;
}

void nvml_describe(struct nvml *nvml, unsigned device, struct nvml_device *ret_device)
{
    nvml_handle handle = nvml->devices[device].handle;
    struct nvml_memory memory;
    int major = 0, minor = 0;
    *ret_device = (struct nvml_device){0};
    if (nvml->name)
        nvml->name(handle, ret_device->name, sizeof ret_device->name);
    if (nvml->uuid)
        nvml->uuid(handle, ret_device->uuid, sizeof ret_device->uuid);
    if (nvml->memory && nvml->memory(handle, &memory) == 0)
        ret_device->memory_bytes = memory.total;
    if (nvml->capability && nvml->capability(handle, &major, &minor) == 0) {
        ret_device->compute_major = (unsigned)major;
        ret_device->compute_minor = (unsigned)minor;
    }
    if (nvml->clock_max) {
        nvml->clock_max(handle, CLOCK_SM, &ret_device->sm_clock_max_mhz);
        nvml->clock_max(handle, CLOCK_MEMORY, &ret_device->memory_clock_max_mhz);
    }
    if (nvml->bus_width)
        nvml->bus_width(handle, &ret_device->memory_bus_bits);
    if (nvml->pcie_generation)
        nvml->pcie_generation(handle, &ret_device->pcie_generation);
    if (nvml->pcie_width)
        nvml->pcie_width(handle, &ret_device->pcie_width);
    if (nvml->power_limit)
        nvml->power_limit(handle, &ret_device->power_limit_mw);
}

static const struct {
    const char *name, *unit;
} counters[] = {
#define NVML_COUNTER(enumerator, name, unit) {name, unit},
    NVML_COUNTERS(NVML_COUNTER)
#undef NVML_COUNTER
};

const char *nvml_counter_name(enum nvml_counter counter)
{
    return counters[counter].name;
}

const char *nvml_counter_unit(enum nvml_counter counter)
{
    return counters[counter].unit;
}

static bool read_rates(struct nvml *nvml, nvml_handle handle, bool memory, double *ret_value)
{
    struct nvml_utilization rates;
    if (!nvml->utilization || nvml->utilization(handle, &rates) != 0)
        return false;
    *ret_value = memory ? rates.memory : rates.gpu;
    return true;
}

static bool read_memory(struct nvml *nvml, nvml_handle handle, double *ret_value)
{
    struct nvml_memory memory;
    if (!nvml->memory || nvml->memory(handle, &memory) != 0)
        return false;
    *ret_value = (double)memory.used;
    return true;
}

static bool read_plain(int (*function)(nvml_handle, unsigned *), nvml_handle handle, double scale, double *ret_value)
{
    unsigned value;
    if (!function || function(handle, &value) != 0)
        return false;
    *ret_value = value * scale;
    return true;
}

static bool read_which(int (*function)(nvml_handle, unsigned, unsigned *), nvml_handle handle, unsigned which, double scale,
                       double *ret_value)
{
    unsigned value;
    if (!function || function(handle, which, &value) != 0)
        return false;
    *ret_value = value * scale;
    return true;
}

bool nvml_read(struct nvml *nvml, unsigned device, enum nvml_counter counter, double *ret_value)
{
    nvml_handle handle = nvml->devices[device].handle;
    switch (counter) {
    case NVML_UTILIZATION:
    case NVML_MEMORY_UTILIZATION:
        return read_rates(nvml, handle, counter == NVML_MEMORY_UTILIZATION, ret_value);
    case NVML_MEMORY_USED:
        return read_memory(nvml, handle, ret_value);
    case NVML_POWER:
        return read_plain(nvml->power, handle, 1e-3, ret_value);
    case NVML_SM_CLOCK:
        return read_which(nvml->clock, handle, CLOCK_SM, 1, ret_value);
    case NVML_MEMORY_CLOCK:
        return read_which(nvml->clock, handle, CLOCK_MEMORY, 1, ret_value);
    case NVML_TEMPERATURE:
        return read_which(nvml->temperature, handle, SENSOR_GPU, 1, ret_value);
    case NVML_PCIE_SENT:
        return read_which(nvml->pcie, handle, PCIE_SENT, 1e3, ret_value); /* told in KB/s */
    case NVML_PCIE_RECEIVED:
        return read_which(nvml->pcie, handle, PCIE_RECEIVED, 1e3, ret_value);
    default:
        return false;
    }
}
