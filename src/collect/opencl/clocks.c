/* SPDX-License-Identifier: MIT */
/*
 * Where a device's times lie on the host's clock. Three ways, the surest first: the runtime reads both clocks together
 * (clGetDeviceAndHostTimer); the device's times are one of the host's clocks, which commands must have shown by being
 * queued within the calls that enqueued them; else bounds: a command starts after its enqueue, has ended when it is
 * seen complete, and was queued within its call, unless begins and ends contradict that. Pairs and bounds go into the
 * records with the times that were read; nothing is shifted here. The first 64 commands and one in 64 after them are
 * compared with the clock that was chosen: if they don't fit, bounds are all that is left.
 */
#include "state.h"

#include <errno.h>
#include <time.h>

#define TOLERANCE_NS 2000
#define WINDOW_DECIDES_NS 1000000u /* a call that took longer tells clocks apart badly */
#define FITS_NEEDED 2u
#define INTERVAL_NS 100000000ull
#define CHECK_EVERY 64u
#define CORRIDOR_NS 100000
#define UNKNOWN UINT64_MAX /* this thread was held up while it compared: no verdict */

static const clockid_t host_clocks[] = {CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC, CLOCK_REALTIME};
#define HOST_CLOCKS (sizeof host_clocks / sizeof host_clocks[0])

static uint64_t read_clock(clockid_t clock)
{
    struct timespec time = {0, 0};
    int saved_errno = errno;
    clock_gettime(clock, &time);
    errno = saved_errno;
    return (uint64_t)time.tv_sec * 1000000000ull + (uint64_t)time.tv_nsec;
}

uint64_t ocl_raw_ns(void)
{
    return read_clock(CLOCK_MONOTONIC_RAW);
}

bool ocl_clock_wants_begin(struct ocl_device *device)
{
    uint32_t mode = ocl_load(&device->clock.mode);
    if (mode == OCL_CLOCK_OPEN || mode == OCL_CLOCK_BOUNDS)
        return true;
    uint32_t number = ocl_add(&device->clock.count, 1u);
    return number < CHECK_EVERY || number % CHECK_EVERY == 0;
}

/* Unique in the process with those of other layers. */
uint32_t ocl_clock_number(struct ocl_device *device)
{
    return (uint32_t)WIRE_LAYER_OPENCL << 16 | ((uint32_t)device->number + 1);
}

static void write_record(struct ocl_device *device, uint64_t time, uint64_t device_time, uint64_t spread, int32_t order)
{
    struct wire_device_clock record = {.header = {WIRE_DEVICE_CLOCK, sizeof record / 8, ocl_clock_number(device)}};
    record.time = time;
    record.device_time = device_time;
    record.spread = spread;
    record.order = order;
    rt_append(&record.header);
}

/* ns in units of the process' clock, by how both went since the first command. */
static uint64_t in_process_units(const struct ocl_clock *clock, uint64_t ns)
{
    uint64_t elapsed = ns ? ocl_raw_ns() - clock->first[0].device_time : 0;
    return elapsed ? ns * ((rt_now() - clock->first[0].time) * 16 / elapsed + 1) / 16 : ns;
}

static struct ocl_reading read_together(unsigned which)
{
    struct ocl_reading best = {0, 0, ~0ull};
    for (int i = 0; i < 3; i++) {
        uint64_t before = rt_now(), now = read_clock(host_clocks[which]), after = rt_now();
        if (after - before < best.spread)
            best = (struct ocl_reading){before + (after - before) / 2, now, after - before};
    }
    return best;
}

static void write_pair(struct ocl_device *device, const struct ocl_reading *reading)
{
    uint64_t rounded = device->clock.worst[device->clock.host_clock];
    write_record(device, reading->time, reading->device_time,
                 reading->spread + 2 * in_process_units(&device->clock, rounded), 0);
}

static void write_host_pair(struct ocl_device *device)
{
    struct ocl_reading reading = read_together(device->clock.host_clock);
    write_pair(device, &reading);
}

static bool write_timer_pair(struct ocl_device *device)
{
    const struct ocl_api *api = ocl_direct();
    cl_ulong there = 0, host = 0;
    if (!api->clGetDeviceAndHostTimer)
        return false;
    uint64_t before = rt_now();
    if (api->clGetDeviceAndHostTimer(device->handle, &there, &host) != OCL_SUCCESS || !there)
        return false;
    uint64_t after = rt_now();
    device->clock.pair_raw = ocl_raw_ns();
    device->clock.pair_device = there;
    write_record(device, before + (after - before) / 2, there, after - before, 0);
    return true;
}

/* The host's clocks before the first command: with a pair from here on, no time has to be guessed backwards. */
void ocl_clock_begin(struct ocl_device *device)
{
    for (unsigned i = 0; i < HOST_CLOCKS; i++)
        device->clock.first[i] = read_together(i);
    if (write_timer_pair(device))
        device->clock.mode = OCL_CLOCK_TIMER;
}

static void write_bound(struct ocl_device *device, struct ocl_bound *bound, int32_t order)
{
    if (bound->known)
        write_record(device, bound->time, bound->device_time, 0, order);
    bound->known = 0;
}

/*
 * Queued times may be of another clock than begins and ends. They are believed once begins and ends alone have left a
 * narrow corridor that they lay in, and never again after they lay outside of one.
 */
static void judge_queued(struct ocl_clock *clock)
{
    if (!clock->after.known || !clock->before.known || !clock->queued_after.known)
        return;
    if (clock->queued_after.distance + TOLERANCE_NS < clock->before.distance ||
        clock->queued_before.distance > clock->after.distance + TOLERANCE_NS)
        clock->queued = OCL_QUEUED_ODD;
    else if (clock->queued == OCL_QUEUED_UNKNOWN && clock->after.distance - clock->before.distance < CORRIDOR_NS)
        clock->queued = OCL_QUEUED_SAME;
}

static void write_bounds(struct ocl_device *device)
{
    struct ocl_clock *clock = &device->clock;
    judge_queued(clock);
    write_bound(device, &clock->after, 1);
    write_bound(device, &clock->before, -1);
    if (clock->queued != OCL_QUEUED_SAME)
        clock->queued_after.known = clock->queued_before.known = 0;
    write_bound(device, &clock->queued_after, 1);
    write_bound(device, &clock->queued_before, -1);
}

/* Keeps the tightest of a side since the last records: the least distance of "after", the greatest of "before". */
static void keep(struct ocl_bound *bound, bool after, uint64_t device_time, uint64_t raw, uint64_t time)
{
    int64_t distance = (int64_t)(device_time - raw);
    if (!bound->known || (after ? distance < bound->distance : distance > bound->distance))
        *bound = (struct ocl_bound){distance, time, device_time, 1};
}

static void take_bounds(struct ocl_clock *clock, const struct ocl_command *command, const uint64_t times[4],
                        uint64_t now_raw)
{
    keep(&clock->after, true, times[2], command->begin_raw, command->begin);
    keep(&clock->before, false, times[3], now_raw, rt_now());
    if (clock->queued == OCL_QUEUED_ODD || !times[0] || times[0] > times[2])
        return;
    keep(&clock->queued_after, true, times[0], command->begin_raw, command->begin);
    keep(&clock->queued_before, false, times[0], command->enqueued_raw, command->enqueued);
}

static uint64_t beyond(uint64_t earlier, uint64_t later)
{
    return earlier > later ? earlier - later : 0;
}

/* What one of the host's clocks showed when the raw one showed raw_ns, moments ago. False: this thread was held up
 * meanwhile. */
static bool host_time_at(unsigned which, uint64_t raw_ns, uint64_t *ret_ns)
{
    *ret_ns = raw_ns;
    if (which == 0)
        return true;
    uint64_t before = ocl_raw_ns(), there = read_clock(host_clocks[which]), after = ocl_raw_ns();
    *ret_ns = there - (before - raw_ns);
    return after - before < TOLERANCE_NS / 2 && after - raw_ns < 1000000;
}

/* By how much the command's times lie outside of what this clock of the host allows: queued within the call that
 * enqueued it, ended before now. */
static uint64_t misfit(unsigned which, const struct ocl_command *command, const uint64_t times[4], uint64_t now_raw)
{
    uint64_t now, under_way = now_raw - command->begin_raw;
    uint64_t slewed = which ? under_way / 1000 : 0; /* the others run up to 0.05 % faster or slower than the raw one */
    if (!host_time_at(which, now_raw, &now))
        return UNKNOWN;
    uint64_t early = beyond(now - under_way - slewed, times[0]);
    uint64_t late = beyond(times[0], now - (now_raw - command->enqueued_raw) + slewed), ended = beyond(times[3], now);
    uint64_t most = early > late ? early : late;
    return most > ended ? most : ended;
}

/* What is outside by no more than the tolerance goes into the error bound: some runtimes round their times. */
static bool tolerates(struct ocl_clock *clock, unsigned which, uint64_t outside)
{
    if (outside > TOLERANCE_NS)
        return false;
    if (outside > clock->worst[which])
        clock->worst[which] = outside;
    return true;
}

static void decide(struct ocl_device *device)
{
    struct ocl_clock *clock = &device->clock;
    if (!clock->candidates) {
        ocl_store(&clock->mode, (uint32_t)OCL_CLOCK_BOUNDS);
        return;
    }
    clock->host_clock = (uint32_t)__builtin_ctz(clock->candidates);
    ocl_store(&clock->mode, (uint32_t)OCL_CLOCK_HOST);
    write_pair(device, &clock->first[clock->host_clock]);
    write_host_pair(device);
}

static void choose(struct ocl_device *device, const struct ocl_command *command, const uint64_t times[4],
                   uint64_t now_raw)
{
    struct ocl_clock *clock = &device->clock;
    uint64_t outside[HOST_CLOCKS];
    uint32_t fitting = 0;
    if (command->enqueued_raw - command->begin_raw > WINDOW_DECIDES_NS)
        return;
    for (unsigned i = 0; i < HOST_CLOCKS; i++) {
        outside[i] = misfit(i, command, times, now_raw);
        if (outside[i] == UNKNOWN)
            return;
    }
    for (unsigned i = 0; i < HOST_CLOCKS; i++)
        fitting |= (uint32_t)tolerates(clock, i, outside[i]) << i;
    clock->candidates = clock->fitted++ ? clock->candidates & fitting : fitting;
    if (clock->fitted >= FITS_NEEDED)
        decide(device);
}

/* The chosen clock against one more command. */
static void check(struct ocl_device *device, const struct ocl_command *command, const uint64_t times[4],
                  uint64_t now_raw)
{
    struct ocl_clock *clock = &device->clock;
    bool fits = true;
    if (clock->mode == OCL_CLOCK_HOST) {
        uint64_t outside = misfit(clock->host_clock, command, times, now_raw);
        fits = outside == UNKNOWN || tolerates(clock, clock->host_clock, outside);
    } else if (clock->mode == OCL_CLOCK_TIMER) {
        int64_t since = (int64_t)(command->begin_raw - clock->pair_raw);
        int64_t slack = 20000 + (since < 0 ? -since : since) / 1000;
        fits = (int64_t)(times[2] - clock->pair_device) >= since - slack;
    }
    if (fits || ++clock->misfits < 2)
        return;
    rt_note("OpenCL: the device's clock left the host's; its times are placed by bounds from here on");
    ocl_store(&clock->mode, (uint32_t)OCL_CLOCK_BOUNDS);
}

static void write_due(struct ocl_device *device)
{
    uint64_t now = ocl_raw_ns();
    if (now < device->clock.next_ns)
        return;
    device->clock.next_ns = now + INTERVAL_NS;
    if (device->clock.mode == OCL_CLOCK_HOST)
        write_host_pair(device);
    else if (device->clock.mode == OCL_CLOCK_TIMER)
        write_timer_pair(device);
    else
        write_bounds(device); /* at once for the first command, too: the process may be killed before the next */
}

void ocl_clock_note(struct ocl_device *device, const struct ocl_command *command, const uint64_t times[4])
{
    struct ocl_clock *clock = &device->clock;
    bool known = clock->mode == OCL_CLOCK_HOST || clock->mode == OCL_CLOCK_TIMER;
    if ((known && !command->begin_raw && clock->count % 16) || ocl_swap(&clock->busy, 1u))
        return;
    if (command->begin_raw) {
        uint64_t now_raw = ocl_raw_ns();
        if (clock->mode == OCL_CLOCK_OPEN)
            choose(device, command, times, now_raw);
        else
            check(device, command, times, now_raw);
        if (clock->mode == OCL_CLOCK_OPEN || clock->mode == OCL_CLOCK_BOUNDS)
            take_bounds(clock, command, times, now_raw);
    }
    write_due(device);
    ocl_store(&clock->busy, 0u);
}

void ocl_clock_flush(struct ocl_device *device)
{
    struct ocl_clock *clock = &device->clock;
    if (!clock->next_ns || ocl_swap(&clock->busy, 1u)) /* no command was recorded */
        return;
    if (clock->mode == OCL_CLOCK_OPEN && clock->fitted) /* a single command must do */
        decide(device);
    else if (clock->mode == OCL_CLOCK_HOST)
        write_host_pair(device);
    else if (clock->mode == OCL_CLOCK_TIMER)
        write_timer_pair(device);
    if (clock->mode == OCL_CLOCK_OPEN || clock->mode == OCL_CLOCK_BOUNDS)
        write_bounds(device);
    ocl_store(&clock->busy, 0u);
}
