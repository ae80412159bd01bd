/* SPDX-License-Identifier: MIT */
/*
 * An event with `inherit` may be mapped only when it is bound to a CPU, so a task costs (roles x CPUs) descriptors. The
 * first event of a role on a CPU owns the ring; all later ones write into it (PERF_EVENT_IOC_SET_OUTPUT).
 */
#include "event_set.h"

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/map.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    RING_MAXIMUM_DWARF = 16 << 20,
    RING_MAXIMUM = 1 << 20,
    RING_MINIMUM = 128 << 10,
    RING_LEAST = 16 << 10, /* where locked memory is short */
    RINGS_TOTAL = 48 << 20, /* of all CPUs together */
    RING_COVERS_HZ = 10,    /* a ring holds the samples of a tenth of a second */
};

struct cpu_rings {
    int cpu;
    struct perf_ring samples, sideband; /* sideband is mapped only where the plan separates it */
    int samples_fd, sideband_fd;        /* the ring's owners, in `descriptors` too */
};

struct event_descriptor {
    int fd;
    enum perf_event_role role;
    size_t cpu; /* place in `cpus` */
};

struct event_set {
    struct sampling_plan plan;
    const struct log *log;
    struct cpu_rings *cpus;
    size_t cpu_count;
    struct event_descriptor *descriptors;
    size_t descriptor_count, descriptor_capacity;
    struct map roles; /* event id -> role */
    int poll_fd;
    bool mapped;      /* every CPU has its rings */
    bool no_faults;   /* the kernel refused that event once: not asked again */
    uint8_t *scratch;
    uint64_t bad_records;
};

/* The CPUs that are online, whatever the numbers between them. */
static int find_cpus(struct event_set *set, struct error *err)
{
    CLEANUP(fclosep) FILE *file = fopen("/sys/devices/system/cpu/online", "re");
    char list[4096];
    if (!file || !fgets(list, sizeof(list), file)) {
        long count = sysconf(_SC_NPROCESSORS_ONLN);
        snprintf(list, sizeof(list), "0-%ld", count > 0 ? count - 1 : 0);
    }
    size_t capacity = 0;
    for (const char *at = list; *at;) {
        char *end;
        long first = strtol(at, &end, 10), last = first;
        if (end == at)
            break;
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        for (long cpu = first; cpu <= last; cpu++) {
            struct cpu_rings *grown = array_reserve(set->cpus, &capacity, set->cpu_count + 1, sizeof(*grown));
            if (!grown)
                return error_set(err, -ENOMEM, "sampling: out of memory");
            set->cpus = grown;
            set->cpus[set->cpu_count++] = (struct cpu_rings){.cpu = (int)cpu, .samples_fd = -1, .sideband_fd = -1};
        }
        at = *end == ',' ? end + 1 : "";
    }
    return set->cpu_count ? 0 : error_set(err, -EINVAL, "sampling: no CPU is online");
}

int event_set_create(const struct sampling_plan *plan, const struct log *log, struct event_set **ret_set, struct error *err)
{
    CLEANUP(event_set_destroyp) struct event_set *set = calloc(1, sizeof(*set));
    if (!set)
        return error_set(err, -ENOMEM, "sampling: out of memory");
    set->plan = *plan;
    set->log = log;
    map_init(&set->roles);
    set->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (set->poll_fd < 0)
        return error_set_errno(err, -errno, "sampling: cannot wait for events");
    set->scratch = aligned_alloc(8, PERF_RECORD_MAXIMUM);
    if (!set->scratch)
        return error_set(err, -ENOMEM, "sampling: out of memory");
    int r = find_cpus(set, err);
    if (r < 0)
        return r;
    *ret_set = TAKE_PTR(set);
    return 0;
}

static void unmap_rings(struct event_set *set)
{
    for (size_t i = 0; i < set->cpu_count; i++) {
        perf_ring_unmap(&set->cpus[i].samples);
        perf_ring_unmap(&set->cpus[i].sideband);
    }
}

void event_set_destroy(struct event_set *set)
{
    if (!set)
        return;
    unmap_rings(set);
    for (size_t i = 0; i < set->descriptor_count; i++)
        close(set->descriptors[i].fd);
    if (set->poll_fd >= 0)
        close(set->poll_fd);
    map_finish(&set->roles);
    free(set->descriptors);
    free(set->cpus);
    free(set->scratch);
    free(set);
}

static size_t ring_bytes(const struct event_set *set)
{
    size_t most = RING_MAXIMUM;
    if (set->plan.stack == SAMPLING_STACK_DWARF) {
        uint64_t wanted = (uint64_t)set->plan.frequency_hz / RING_COVERS_HZ * (set->plan.stack_copy_bytes + 512);
        most = wanted < RING_MAXIMUM_DWARF ? (size_t)wanted * 2 : RING_MAXIMUM_DWARF;
    }
    size_t share = RINGS_TOTAL / set->cpu_count, size = RING_MINIMUM;
    while (size * 2 <= share && size < most)
        size *= 2;
    return size;
}

static int open_event(struct event_set *set, enum perf_event_role role, pid_t tid, int cpu)
{
    int fd = perf_event_open_planned(&set->plan, role, tid, cpu, true);
    while (fd == -EINVAL && sampling_plan_lower(&set->plan)) {
        log_warning(set->log, "sampling at %u Hz from now on: the kernel has lowered kernel.perf_event_max_sample_rate", set->plan.frequency_hz);
        fd = perf_event_open_planned(&set->plan, role, tid, cpu, true);
    }
    if (fd == -EMFILE && descriptor_limit_raise()) /* threads x CPUs x roles of them, when attaching */
        fd = perf_event_open_planned(&set->plan, role, tid, cpu, true);
    return fd;
}

static int remember(struct event_set *set, size_t cpu, int fd, enum perf_event_role role)
{
    struct event_descriptor *grown =
        array_reserve(set->descriptors, &set->descriptor_capacity, set->descriptor_count + 1, sizeof(*grown));
    uint64_t id = 0;
    if (!grown) {
        close(fd);
        return -ENOMEM;
    }
    set->descriptors = grown;
    set->descriptors[set->descriptor_count++] = (struct event_descriptor){fd, role, cpu};
    return ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0 ? -errno : map_set(&set->roles, id, role);
}

static int open_role(struct event_set *set, size_t cpu, enum perf_event_role role, pid_t tid, struct error *err)
{
    struct cpu_rings *rings = &set->cpus[cpu];
    int fd = open_event(set, role, tid, rings->cpu);
    if (fd == -ENODEV) /* the CPU went offline */
        return 0;
    if (fd < 0 && role == EVENT_FAULTS) {
        set->no_faults = true;
        log_info(set->log, "page faults are not sampled: %s", strerror(-fd));
        return 0;
    }
    if (fd == -EMFILE)
        return error_set(err, fd, "sampling needs more descriptors than ulimit -n allows (%zu open already)",
                         set->descriptor_count);
    if (fd < 0)
        return error_set_errno(err, fd, "cannot open a sampling event for task %d on CPU %d", (int)tid, rings->cpu);
    int r = remember(set, cpu, fd, role);
    if (r < 0)
        return error_set_errno(err, r, "sampling: cannot keep an event");
    if (!set->mapped && role == EVENT_SAMPLES)
        rings->samples_fd = fd;
    if (!set->mapped && role == EVENT_SIDEBAND)
        rings->sideband_fd = fd;
    return 0;
}

static int map_ring(struct event_set *set, int fd, size_t bytes, struct perf_ring *ring, struct error *err)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    int r = fd < 0 ? 0 : perf_ring_map(fd, bytes, ring, err);
    if (r == 0 && fd >= 0 && epoll_ctl(set->poll_fd, EPOLL_CTL_ADD, fd, &event) < 0 && errno != EEXIST)
        r = error_set_errno(err, -errno, "sampling: cannot wait for events");
    return r;
}

/* All CPUs get the same: where locked memory is short, the first ones must not take it from the others. */
static int map_rings(struct event_set *set, struct error *err)
{
    size_t wanted = ring_bytes(set), bytes = wanted;
    int r;
    for (;; bytes /= 2) {
        size_t sideband = bytes / 4 < RING_MAXIMUM / 2 ? bytes / 4 : RING_MAXIMUM / 2;
        r = 0;
        for (size_t i = 0; i < set->cpu_count && r == 0; i++) {
            r = map_ring(set, set->cpus[i].samples_fd, bytes, &set->cpus[i].samples, err);
            if (r == 0)
                r = map_ring(set, set->cpus[i].sideband_fd, sideband, &set->cpus[i].sideband, err);
        }
        if (r == 0)
            break;
        unmap_rings(set);
        if ((r != -EPERM && r != -ENOMEM) || bytes / 2 < RING_LEAST)
            return r;
    }
    if (bytes < wanted)
        log_warning(set->log, "sampling rings of %zu KiB instead of %zu: kernel.perf_event_mlock_kb and ulimit -l allow no more",
                    bytes >> 10, wanted >> 10);
    set->mapped = true;
    return 0;
}

/* Lets an event write into its CPU's ring. */
static int redirect(struct event_set *set, const struct event_descriptor *descriptor, struct error *err)
{
    const struct cpu_rings *rings = &set->cpus[descriptor->cpu];
    int owner = descriptor->role == EVENT_SIDEBAND ? rings->sideband_fd : rings->samples_fd;
    if (descriptor->fd == owner || owner < 0)
        return 0;
    return ioctl(descriptor->fd, PERF_EVENT_IOC_SET_OUTPUT, owner) < 0
               ? error_set_errno(err, -errno, "sampling: an event cannot share its CPU's ring")
               : 0;
}

int event_set_add_task(struct event_set *set, pid_t tid, struct error *err)
{
    size_t first = set->descriptor_count;
    int r = 0;
    for (size_t i = 0; i < set->cpu_count && r == 0; i++) {
        r = open_role(set, i, EVENT_SAMPLES, tid, err);
        if (r == 0 && set->plan.separate_sideband)
            r = open_role(set, i, EVENT_SIDEBAND, tid, err);
        if (r == 0 && !set->no_faults)
            r = open_role(set, i, EVENT_FAULTS, tid, err);
    }
    if (r == 0 && !set->mapped)
        r = map_rings(set, err);
    for (size_t i = first; i < set->descriptor_count && r == 0; i++)
        r = redirect(set, &set->descriptors[i], err);
    return r;
}

static int control(struct event_set *set, unsigned long request)
{
    int result = 0;
    for (size_t i = 0; i < set->descriptor_count; i++) {
        const struct event_descriptor *descriptor = &set->descriptors[i];
        if (descriptor->role == EVENT_SIDEBAND)
            continue;
        if (ioctl(descriptor->fd, request, 0) < 0)
            result = -errno;
    }
    return result;
}

int event_set_enable(struct event_set *set)
{
    return control(set, PERF_EVENT_IOC_ENABLE);
}

int event_set_disable(struct event_set *set)
{
    return control(set, PERF_EVENT_IOC_DISABLE);
}

int event_set_poll_fd(const struct event_set *set)
{
    return set->poll_fd;
}

/* A sample begins with its event's number, whatever else it has. */
static enum perf_event_role role_of(const struct event_set *set, const struct perf_event_header *header)
{
    uint64_t id, role;
    if (header->type != PERF_RECORD_SAMPLE || header->size < sizeof(*header) + sizeof(id))
        return EVENT_SAMPLES;
    memcpy(&id, header + 1, sizeof(id));
    return map_get(&set->roles, id, &role) ? (enum perf_event_role)role : EVENT_SAMPLES;
}

static int hand_over(struct event_set *set, const struct perf_event_header *header,
                     int (*handle)(void *context, const struct event_record *record), void *context)
{
    struct event_record event = {.role = role_of(set, header), .raw = header, .raw_bytes = header->size};
    struct perf_layout layout = perf_layout_of(&set->plan, event.role);
    int r = perf_record_decode(&layout, header, header->size, &event.record);
    if (r < 0) {
        set->bad_records += r == -EBADMSG;
        return 0;
    }
    uint64_t role;
    if (map_get(&set->roles, event.record.id, &role))
        event.role = (enum perf_event_role)role;
    return handle(context, &event);
}

static int read_ring(struct event_set *set, struct perf_ring *ring,
                     int (*handle)(void *context, const struct event_record *record), void *context)
{
    if (!ring->page)
        return 0;
    struct perf_ring_view view = perf_ring_view(ring);
    const struct perf_event_header *header;
    uint64_t released = view.tail;
    int r;
    while ((r = perf_ring_next(&view, set->scratch, &header)) != 0) {
        if (r < 0) {
            set->bad_records++;
            continue;
        }
        r = hand_over(set, header, handle, context);
        /* Room is given back on the way, so that a long reading doesn't make the kernel drop what comes meanwhile. */
        if (view.tail - released >= ring->data_bytes / 8) {
            perf_ring_release(ring, view.tail);
            released = view.tail;
        }
        if (r < 0)
            break;
    }
    perf_ring_release(ring, view.tail);
    return r < 0 ? r : 0;
}

int event_set_read(struct event_set *set, int (*handle)(void *context, const struct event_record *record), void *context)
{
    /* Edge-triggered: ask once, so that the next wait sleeps until a ring passes its mark again. */
    struct epoll_event events[64];
    while (epoll_wait(set->poll_fd, events, 64, 0) == 64)
        ;
    for (size_t i = 0; i < set->cpu_count; i++) {
        int r = read_ring(set, &set->cpus[i].sideband, handle, context);
        if (r == 0)
            r = read_ring(set, &set->cpus[i].samples, handle, context);
        if (r < 0)
            return r;
    }
    return 0;
}

unsigned event_set_frequency(const struct event_set *set)
{
    return set->plan.frequency_hz;
}

uint64_t event_set_lost_samples(const struct event_set *set)
{
    uint64_t lost = 0;
    for (size_t i = 0; i < set->descriptor_count; i++) {
        uint64_t values[2];
        if (set->descriptors[i].role == EVENT_SAMPLES && read(set->descriptors[i].fd, values, sizeof(values)) == sizeof(values))
            lost += values[1];
    }
    return lost;
}

void event_set_totals(const struct event_set *set, struct event_totals *ret_totals)
{
    struct event_totals totals = {.bad_records = set->bad_records};
    for (size_t i = 0; i < set->descriptor_count; i++) {
        uint64_t values[2] = {0}; /* the count, and what was lost for want of room */
        ssize_t got = read(set->descriptors[i].fd, values, sizeof(values));
        if (set->descriptors[i].role == EVENT_FAULTS && got >= 8) {
            totals.faults += values[0];
            totals.faults_known = true;
        }
        if (set->descriptors[i].role == EVENT_SAMPLES && got == 16) {
            totals.lost_samples += values[1];
            totals.lost_known = true;
        }
    }
    for (size_t i = 0; i < set->cpu_count; i++)
        totals.ring_bytes += set->cpus[i].samples.data_bytes + set->cpus[i].sideband.data_bytes;
    *ret_totals = totals;
}
