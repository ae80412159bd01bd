/* SPDX-License-Identifier: MIT */
/* The advisor's rules on devices: one function a rule, its numbers in the advice. */
#include "advice_internal.h"

/* The device that has most of something. */
static const struct device_activity *most(const struct advice_facts *facts, int64_t (*of)(const struct device_activity *device))
{
    const struct device_activity *found = NULL;
    for (size_t i = 0; i < facts->devices->device_count; i++)
        if (!found || of(&facts->devices->devices[i]) > of(found))
            found = &facts->devices->devices[i];
    return found;
}

static void about_device(const struct advice_facts *facts, const struct device_activity *device, struct advice *advice)
{
    for (uint32_t i = 0; i < facts->track_count; i++) {
        const struct trace_track *track = &facts->tracks[i];
        bool of_it = track->process.index == device->process.index && track->device == device->device;
        if (of_it && (track->kind == TRACK_KIND_DEVICE || (track->kind == TRACK_KIND_STREAM && advice->lane.index == ID_NONE)))
            advice->lane = (track_id){i};
    }
    advice_evidence(advice, "device", "", (double)device->device);
}

static int64_t host_late_of(const struct device_activity *device)
{
    return device->idle_by_ns[DEVICE_IDLE_HOST_LATE];
}

bool advice_judge_HOST_LATE(const struct advice_facts *facts, struct advice *advice)
{
    const struct device_activity *device = most(facts, host_late_of);
    if (!device)
        return false;
    about_device(facts, device, advice);
    advice_bound_by(facts, advice, host_late_of(device));
    advice_evidence(advice, "idle", "ns", (double)device->idle_ns);
    advice_evidence(advice, "of that the host late", "ns", (double)host_late_of(device));
    advice_evidence(advice, "kernels", "", (double)device->kernels);
    return true;
}

static int64_t latency_of(const struct device_activity *device)
{
    return device->idle_by_ns[DEVICE_IDLE_LAUNCH_LATENCY];
}

bool advice_judge_SHORT_KERNELS(const struct advice_facts *facts, struct advice *advice)
{
    const struct device_activity *device = most(facts, latency_of);
    if (!device || !facts->kernels || !facts->launches)
        return false;
    double kernel_ns = (double)facts->kernel_ns / (double)facts->kernels, launch_ns = (double)facts->launch_ns / (double)facts->launches;
    about_device(facts, device, advice);
    advice_bound_by(facts, advice, latency_of(device));
    advice_evidence(advice, "kernels", "", (double)facts->kernels);
    advice_evidence(advice, "mean kernel", "ns", kernel_ns);
    advice_evidence(advice, "mean launching call", "ns", launch_ns);
    advice_evidence(advice, "idle for launches", "ns", (double)latency_of(device));
    return kernel_ns < launch_ns;
}

static int64_t alone_of(const struct device_activity *device)
{
    int64_t kernels_ns = device->kernel_ns - device->overlap_ns;
    return device->copy_ns < kernels_ns ? device->copy_ns : kernels_ns;
}

bool advice_judge_COPIES_ALONE(const struct advice_facts *facts, struct advice *advice)
{
    const struct device_activity *device = most(facts, alone_of);
    if (!device)
        return false;
    about_device(facts, device, advice);
    advice_bound_by(facts, advice, alone_of(device));
    advice_evidence(advice, "copies alone", "ns", (double)device->copy_ns);
    advice_evidence(advice, "kernels alone", "ns", (double)(device->kernel_ns - device->overlap_ns));
    advice_evidence(advice, "both at once", "ns", (double)device->overlap_ns);
    return true;
}

static int64_t busy_of(const struct device_activity *device)
{
    return device->end_ns - device->begin_ns - device->idle_ns;
}

bool advice_judge_DEVICE_IMBALANCE(const struct advice_facts *facts, struct advice *advice)
{
    const struct device_activity *device = most(facts, busy_of);
    double sum_ns = 0;
    if (!device || facts->devices->device_count < 2)
        return false;
    for (size_t i = 0; i < facts->devices->device_count; i++)
        sum_ns += (double)busy_of(&facts->devices->devices[i]);
    double average_ns = sum_ns / (double)facts->devices->device_count;
    about_device(facts, device, advice);
    advice_bound_by(facts, advice, busy_of(device) - (int64_t)average_ns);
    advice_evidence(advice, "busy", "ns", (double)busy_of(device));
    advice_evidence(advice, "average", "ns", average_ns);
    advice_evidence(advice, "devices", "", (double)facts->devices->device_count);
    return true;
}

/* --- calls and copies ---------------------------------------------------------------------------------------------------- */

bool advice_judge_PAGEABLE_COPIES(const struct advice_facts *facts, struct advice *advice)
{
    if (!advice_by_lane_and_name(facts, ADVICE_SUM_PAGEABLE, advice))
        return false;
    advice_evidence(advice, "pageable copies", "", (double)facts->sums.count[ADVICE_SUM_PAGEABLE]);
    advice_evidence(advice, "of all copies", "", (double)facts->copies);
    advice_evidence(advice, "bytes", "By", (double)facts->pageable_bytes);
    advice_evidence(advice, "time of all threads", "ns", (double)facts->sums.total_ns[ADVICE_SUM_PAGEABLE]);
    return true;
}

bool advice_judge_SMALL_COPIES(const struct advice_facts *facts, struct advice *advice)
{
    double small = (double)facts->sums.count[ADVICE_SUM_SMALL_COPY];
    if (!advice_by_lane_and_name(facts, ADVICE_SUM_SMALL_COPY, advice))
        return false;
    advice_evidence(advice, "copies below 64 KiB", "", small);
    advice_evidence(advice, "of all copies", "", (double)facts->copies);
    advice_evidence(advice, "mean size", "By", (double)facts->small_bytes / small);
    advice_evidence(advice, "time of all threads", "ns", (double)facts->sums.total_ns[ADVICE_SUM_SMALL_COPY]);
    return 2 * small > (double)facts->copies;
}

bool advice_judge_SYNC_BLOCKS(const struct advice_facts *facts, struct advice *advice)
{
    if (!advice_by_lane_and_name(facts, ADVICE_SUM_SYNC, advice))
        return false;
    int64_t waited_ns = advice->bound_ns, rest_ns = facts->run_ns - waited_ns;
    advice_bound_by(facts, advice, waited_ns < rest_ns ? waited_ns : rest_ns);
    advice_evidence(advice, "waited", "ns", (double)waited_ns);
    advice_evidence(advice, "calls of all threads", "", (double)facts->sums.count[ADVICE_SUM_SYNC]);
    advice_evidence(advice, "rest of the run", "ns", (double)rest_ns);
    return true;
}

bool advice_judge_STEADY_ALLOCATION(const struct advice_facts *facts, struct advice *advice)
{
    if (!advice_by_lane_and_name(facts, ADVICE_SUM_ALLOCATION, advice))
        return false;
    advice_evidence(advice, "calls after the first launch", "", (double)facts->sums.count[ADVICE_SUM_ALLOCATION]);
    advice_evidence(advice, "time of all threads", "ns", (double)facts->sums.total_ns[ADVICE_SUM_ALLOCATION]);
    return true;
}

bool advice_judge_PAGE_MIGRATION(const struct advice_facts *facts, struct advice *advice)
{
    if (!advice_by_lane_and_name(facts, ADVICE_SUM_MIGRATION, advice))
        return false;
    advice_evidence(advice, "migrations and groups of faults", "", (double)facts->sums.count[ADVICE_SUM_MIGRATION]);
    advice_evidence(advice, "bytes", "By", (double)facts->migration_bytes);
    advice_evidence(advice, "faults of devices", "", (double)facts->gpu_faults);
    advice_evidence(advice, "time on all lanes", "ns", (double)facts->sums.total_ns[ADVICE_SUM_MIGRATION]);
    return true;
}
