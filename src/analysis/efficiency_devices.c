/* SPDX-License-Identifier: MIT */
/* Inputs of the models of devices: unions of kernels and copies by device, with NCCL's kernels as kernels and as communication. */
#include "efficiency_internal.h"

#include "device_activity.h"

static void keep_most(double *most, double value)
{
    if (value > *most)
        *most = value;
}

int efficiency_sum_devices(struct efficiency_reading *reading)
{
    CLEANUP(device_activities_destroyp) struct device_activities *activities = NULL;
    int result = device_activities_create(reading->trace, NULL, reading->progress, &activities, reading->err);
    if (result < 0 || !activities->device_count)
        return result;
    struct efficiency_inputs *inputs = &reading->out->inputs;
    double *value = inputs->value, collectives_ns = 0;
    static const enum efficiency_input used[] = {EFFICIENCY_INPUT_SUM_G, EFFICIENCY_INPUT_MAX_G, EFFICIENCY_INPUT_MAX_A,
                                                 EFFICIENCY_INPUT_SUM_GC, EFFICIENCY_INPUT_MAX_GC, EFFICIENCY_INPUT_MAX_AC};
    for (unsigned i = 0; i < sizeof used / sizeof *used; i++)
        value[used[i]] = 0;
    value[EFFICIENCY_INPUT_N_DEVICES] = (double)activities->device_count;
    for (size_t i = 0; i < activities->device_count; i++) {
        const struct device_activity *device = &activities->devices[i];
        double kernels = (double)device->kernel_ns, computing = (double)device->compute_ns;
        value[EFFICIENCY_INPUT_SUM_G] += kernels;
        value[EFFICIENCY_INPUT_SUM_GC] += computing;
        keep_most(&value[EFFICIENCY_INPUT_MAX_G], kernels);
        keep_most(&value[EFFICIENCY_INPUT_MAX_GC], computing);
        keep_most(&value[EFFICIENCY_INPUT_MAX_A], kernels + (double)device->copy_ns);
        keep_most(&value[EFFICIENCY_INPUT_MAX_AC], kernels + (double)device->copy_ns);
        collectives_ns += kernels - computing;
    }
    inputs->devices = true;
    inputs->nccl = collectives_ns > 0;
    return 0;
}
