/* SPDX-License-Identifier: MIT */
/* Machines with unequal cores have a counter unit for each sort: a cycles event must name that of its CPU. */
#ifndef HP_SAMPLE_CORE_PMU_H
#define HP_SAMPLE_CORE_PMU_H

#include <stdbool.h>
#include <stdint.h>

/* The kernel's number of the unit that serves `cpu`; 0 on machines with one sort of core (the generic event will do). */
uint64_t core_pmu_type(int cpu);
/* Whether a kernel CPU list ("0-3,8,10-11") has this CPU. */
bool cpu_list_has(const char *list, int cpu);

#endif
