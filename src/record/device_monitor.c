/* SPDX-License-Identifier: MIT */
/* A thread that asks NVML ten times a second; PCIe rates, which take the driver long, once a second. */
#include "device_monitor.h"

#include "base/clock.h"
#include "system/nvml.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PERIOD_NS = 100000000, SLOW_ROUNDS = 10 };

struct device_monitor {
    struct recording *recording;
    struct nvml *nvml;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool ending;
};

static void put_value(struct device_monitor *monitor, unsigned device, enum nvml_counter counter, double value)
{
    const char *name = nvml_counter_name(counter), *unit = nvml_counter_unit(counter);
    size_t name_bytes = strlen(name) + 1, unit_bytes = strlen(unit) + 1;
    struct wire_device_counter record = {.header = {WIRE_DEVICE_COUNTER, 0, (uint32_t)(name_bytes + unit_bytes)},
                                         .time_ns = clock_raw_ns(),
                                         .value = value,
                                         .device = (int32_t)nvml_number(monitor->nvml, device)};
    char text[64];
    memcpy(text, name, name_bytes);
    memcpy(text + name_bytes, unit, unit_bytes);
    recording_put_text(monitor->recording, &record.header, sizeof record, text, name_bytes + unit_bytes);
}

static void read_all(struct device_monitor *monitor, bool slow)
{
    for (unsigned device = 0; device < nvml_count(monitor->nvml); device++)
        for (int counter = 0; counter < NVML_COUNTER_COUNT; counter++) {
            double value;
            bool is_slow = counter == NVML_PCIE_SENT || counter == NVML_PCIE_RECEIVED;
            if ((!is_slow || slow) && nvml_read(monitor->nvml, device, (enum nvml_counter)counter, &value))
                put_value(monitor, device, (enum nvml_counter)counter, value);
        }
}

static bool wait_a_period(struct device_monitor *monitor)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += PERIOD_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&monitor->lock);
    int r = 0;
    while (!monitor->ending && r == 0)
        r = pthread_cond_timedwait(&monitor->wake, &monitor->lock, &until);
    bool ending = monitor->ending;
    pthread_mutex_unlock(&monitor->lock);
    return !ending;
}

static void put_description(struct device_monitor *monitor, unsigned device)
{
    struct nvml_device facts;
    char key[64];
    unsigned number = nvml_number(monitor->nvml, device);
    nvml_describe(monitor->nvml, device, &facts);
    const struct {
        const char *name;
        unsigned long long value;
    } numbers[] = {
        {"memory_bytes", facts.memory_bytes},
        {"sm_clock_max_mhz", facts.sm_clock_max_mhz},
        {"memory_clock_max_mhz", facts.memory_clock_max_mhz},
        {"memory_bus_bits", facts.memory_bus_bits},
        {"pcie_generation", facts.pcie_generation},
        {"pcie_width", facts.pcie_width},
        {"power_limit_mw", facts.power_limit_mw},
    };
    snprintf(key, sizeof key, "gpu.%u.name", number);
    recording_put_metadata(monitor->recording, key, "%s", facts.name);
    snprintf(key, sizeof key, "gpu.%u.uuid", number);
    recording_put_metadata(monitor->recording, key, "%s", facts.uuid);
    snprintf(key, sizeof key, "gpu.%u.compute_capability", number);
    if (facts.compute_major)
        recording_put_metadata(monitor->recording, key, "%u.%u", facts.compute_major, facts.compute_minor);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        snprintf(key, sizeof key, "gpu.%u.%s", number, numbers[i].name);
        if (numbers[i].value)
            recording_put_metadata(monitor->recording, key, "%llu", numbers[i].value);
    }
}

/* Opening NVML takes long: not for targets that are over by then, and not in the way of the others. */
static void *monitor_main(void *argument)
{
    struct device_monitor *monitor = argument;
    if (!wait_a_period(monitor))
        return NULL;
    monitor->nvml = nvml_open();
    for (unsigned device = 0; monitor->nvml && device < nvml_count(monitor->nvml); device++)
        put_description(monitor, device);
    for (unsigned round = 0; monitor->nvml && wait_a_period(monitor); round++)
        read_all(monitor, round % SLOW_ROUNDS == 0);
    if (monitor->nvml)
        read_all(monitor, false);
    return NULL;
}

static int wake_init(pthread_cond_t *wake)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    int r = pthread_cond_init(wake, &attributes);
    pthread_condattr_destroy(&attributes);
    return r;
}

struct device_monitor *device_monitor_start(struct recording *recording)
{
    struct device_monitor *monitor = calloc(1, sizeof *monitor);
    if (!monitor)
        return NULL;
    monitor->recording = recording;
    pthread_mutex_init(&monitor->lock, NULL);
    if (wake_init(&monitor->wake) != 0 || pthread_create(&monitor->thread, NULL, monitor_main, monitor) != 0) {
        free(monitor);
        return NULL;
    }
    return monitor;
}

void device_monitor_stop(struct device_monitor *monitor)
{
    if (!monitor)
        return;
    pthread_mutex_lock(&monitor->lock);
    monitor->ending = true;
    pthread_cond_signal(&monitor->wake);
    pthread_mutex_unlock(&monitor->lock);
    pthread_join(monitor->thread, NULL);
    pthread_cond_destroy(&monitor->wake);
    pthread_mutex_destroy(&monitor->lock);
    nvml_close(monitor->nvml);
    free(monitor);
}
