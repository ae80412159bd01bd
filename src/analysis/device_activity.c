/* SPDX-License-Identifier: MIT */
/* One sweep a device over its work by begin: which classes of it run between two begins is known from their latest ends. */
#include "device_work.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>

const char *device_idle_name(enum device_idle idle)
{
    static const char *const names[] = {"host_late", "launch_latency", "dependency", "other"};
    return (unsigned)idle < DEVICE_IDLE_COUNT ? names[idle] : NULL;
}

struct lane_state {
    int64_t end_ns; /* of the work before */
    bool waited;    /* a wait in the lane, for something else, lies before the next work */
};

struct sweep {
    const struct device_works *works;
    struct lane_state *lanes; /* by track */
    struct device_activity *device;
    bool begun;
    int64_t at_ns, until_ns[WORK_CLASSES]; /* by number of the class' bit */
    int64_t by_set_ns[WORK_SETS];
};

/* Adds up what runs until then. */
static void advance(struct sweep *sweep, int64_t to_ns)
{
    while (sweep->at_ns < to_ns) {
        unsigned set = 0;
        int64_t next_ns = to_ns;
        for (unsigned i = 0; i < WORK_CLASSES; i++) {
            if (sweep->until_ns[i] <= sweep->at_ns)
                continue;
            set |= 1u << i;
            next_ns = sweep->until_ns[i] < next_ns ? sweep->until_ns[i] : next_ns;
        }
        sum_time(&sweep->by_set_ns[set], sweep->at_ns, next_ns);
        sweep->at_ns = next_ns;
    }
}

static int64_t busy_until(const struct sweep *sweep)
{
    int64_t until_ns = INT64_MIN;
    for (unsigned i = 0; i < WORK_CLASSES; i++)
        until_ns = sweep->until_ns[i] > until_ns ? sweep->until_ns[i] : until_ns;
    return until_ns;
}

/* The device was idle from from_ns until this work began. */
static void explain_idle(struct sweep *sweep, const struct device_work *work, int64_t from_ns)
{
    const struct lane_state *lane = &sweep->lanes[work->lane.index];
    int64_t *by_ns = sweep->device->idle_by_ns, launched_ns = from_ns;
    enum device_idle rest = DEVICE_IDLE_OTHER;
    if (work->call_begin_ns != INT64_MIN) {
        bool late = work->call_begin_ns > from_ns;
        if (late)
            launched_ns = work->call_begin_ns < work->begin_ns ? work->call_begin_ns : work->begin_ns;
        if (!late && (work->depends || lane->waited))
            rest = DEVICE_IDLE_DEPENDENCY;
        else if (late || lane->end_ns <= work->call_end_ns)
            rest = DEVICE_IDLE_LAUNCH_LATENCY;
    }
    sum_time(&by_ns[DEVICE_IDLE_HOST_LATE], from_ns, launched_ns);
    sum_time(&by_ns[rest], launched_ns, work->begin_ns);
}

static void begin_device(struct sweep *sweep, const struct device_work *work)
{
    *sweep = (struct sweep){.works = sweep->works, .lanes = sweep->lanes, .begun = true, .at_ns = work->begin_ns,
                            .device = &sweep->works->activities->devices[work->device]};
    for (unsigned i = 0; i < WORK_CLASSES; i++)
        sweep->until_ns[i] = INT64_MIN;
    sweep->device->begin_ns = work->begin_ns;
}

static void end_device(struct sweep *sweep)
{
    struct device_activity *device = sweep->device;
    if (!sweep->begun)
        return;
    sweep->begun = false;
    device->end_ns = busy_until(sweep);
    advance(sweep, device->end_ns);
    for (unsigned set = 0; set < WORK_SETS; set++) {
        bool kernel = set & (WORK_COMPUTE | WORK_COLLECTIVE), memory = set & WORK_MEMORY;
        int64_t time_ns = sweep->by_set_ns[set];
        sum_time(kernel ? &device->kernel_ns : memory ? &device->copy_ns : set ? &device->other_ns : &device->idle_ns, 0, time_ns);
        if (kernel && memory)
            sum_time(&device->overlap_ns, 0, time_ns);
        if (set & WORK_COMPUTE)
            sum_time(&device->compute_ns, 0, time_ns);
        else if (set & (WORK_COLLECTIVE | WORK_MEMORY))
            sum_time(&device->communication_ns, 0, time_ns);
    }
}

static void add_work(struct sweep *sweep, const struct device_work *work)
{
    int64_t idle_from_ns = busy_until(sweep);
    advance(sweep, work->begin_ns);
    if (idle_from_ns < work->begin_ns && idle_from_ns != INT64_MIN)
        explain_idle(sweep, work, idle_from_ns);
    int64_t *until_ns = &sweep->until_ns[__builtin_ctz(work->class)];
    *until_ns = work->end_ns > *until_ns ? work->end_ns : *until_ns;
}

static int by_device_and_begin(const void *left, const void *right)
{
    const struct device_work *a = left, *b = right;
    int order = (a->device > b->device) - (a->device < b->device);
    order = order ? order : (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
    return order ? order : (a->span.index > b->span.index) - (a->span.index < b->span.index);
}

int device_works_sweep(struct device_works *works)
{
    struct sweep sweep = {.works = works};
    CLEANUP(freep) struct lane_state *lanes = malloc(((size_t)works->track_count + 1) * sizeof *lanes);
    if (!(sweep.lanes = lanes))
        return -ENOMEM;
    for (uint32_t i = 0; i < works->track_count; i++)
        lanes[i] = (struct lane_state){.end_ns = INT64_MIN};
    if (works->count)
        qsort(works->rows, works->count, sizeof *works->rows, by_device_and_begin);
    for (size_t i = 0; i < works->count; i++) {
        const struct device_work *work = &works->rows[i];
        struct lane_state *lane = &lanes[work->lane.index];
        if (i && work->device != work[-1].device)
            end_device(&sweep);
        if (!work->class) {
            lane->waited |= work->depends;
            continue;
        }
        if (work->chosen && !sweep.begun)
            begin_device(&sweep, work);
        if (work->chosen)
            add_work(&sweep, work);
        lane->end_ns = work->end_ns > lane->end_ns ? work->end_ns : lane->end_ns;
        lane->waited = false;
    }
    end_device(&sweep);
    return 0;
}

static int compute(struct device_works *works, const struct progress *progress)
{
    int result = device_works_read(works, progress);
    if (result == 0)
        result = device_works_sweep(works);
    return result == 0 ? device_works_project(works) : result;
}

int device_activities_create(const struct trace *trace, const struct trace_filter *where, const struct progress *progress,
                             struct device_activities **ret_activities, struct error *err)
{
    CLEANUP(device_activities_destroyp) struct device_activities *activities = calloc(1, sizeof *activities);
    CLEANUP(filter_match_destroyp) struct filter_match *match = NULL;
    if (!activities || (where && filter_match_create(where, trace, &match) < 0))
        return error_set(err, -ENOMEM, "out of memory while summing up what ran on devices");
    struct device_works works = {.trace = trace, .match = match, .activities = activities, .err = err};
    works.tracks = trace_tracks(trace, &works.track_count);
    int result = compute(&works, progress);
    free(works.rows);
    if (result == 0)
        *ret_activities = TAKE_PTR(activities);
    else if (result == -ENOMEM)
        error_set(err, result, "out of memory while summing up what ran on devices");
    return result;
}

void device_activities_destroy(struct device_activities *activities)
{
    if (!activities)
        return;
    free(activities->devices);
    free(activities->ranges);
    free(activities);
}
