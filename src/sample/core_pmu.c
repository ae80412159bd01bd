/* SPDX-License-Identifier: MIT */
/* Reads /sys/bus/event_source/devices: units of unequal cores are there with their list of CPUs in a file "cpus". */
#include "core_pmu.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>

bool cpu_list_has(const char *list, int cpu)
{
    while (*list) {
        char *end;
        long first = strtol(list, &end, 10), last = first;
        if (end == list)
            return false;
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        if (cpu >= first && cpu <= last)
            return true;
        list = *end == ',' ? end + 1 : "";
    }
    return false;
}

uint64_t core_pmu_type(int cpu)
{
    static const char *const units[] = {"cpu_core", "cpu_atom", "cpu_lowpower"};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        char path[128], list[4096];
        snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/cpus", units[i]);
        CLEANUP(fclosep) FILE *cpus = fopen(path, "re");
        if (!cpus || !fgets(list, sizeof(list), cpus) || !cpu_list_has(list, cpu))
            continue;
        snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", units[i]);
        CLEANUP(fclosep) FILE *type = fopen(path, "re");
        unsigned number;
        if (type && fscanf(type, "%u", &number) == 1)
            return number;
    }
    return 0;
}
