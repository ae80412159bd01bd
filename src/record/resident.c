/* SPDX-License-Identifier: MIT */
/* A descriptor of /proc/PID/statm stays open for each process: it reads ESRCH once that process is gone, whoever has its number then. */
#include "resident.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The first reading comes when a program that ends at once has ended. The margin is for what the target still touches as a copy of us. */
enum { FIRST_NS = 100000000, PERIOD_NS = 500000000, INHERITED_MARGIN = 2 << 20 };

struct followed {
    pid_t pid;
    int fd;         /* of its statm; -1: it can't be opened, which is not tried again */
    bool listed;    /* in this round */
    uint64_t bytes; /* as last written; a counter keeps its value until the next */
};

struct resident {
    struct recording *recording;
    int64_t due_ns;
    struct followed followed[RESIDENT_MAXIMUM];
    size_t count;
    uint64_t page_bytes;
    uint64_t reads, failed;          /* values, and those of them that could not be written */
    uint64_t unreadable, left_out;   /* processes; left_out: of the round with the most of them */
};

struct resident *resident_create(struct recording *recording)
{
    struct resident *resident = calloc(1, sizeof *resident);
    if (!resident)
        return NULL;
    resident->recording = recording;
    resident->due_ns = clock_raw_ns() + FIRST_NS;
    resident->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    return resident;
}

void resident_destroy(struct resident *resident)
{
    if (!resident)
        return;
    for (size_t i = 0; i < resident->count; i++)
        closep(&resident->followed[i].fd);
    free(resident);
}

bool resident_is_due(const struct resident *resident, int64_t now_ns)
{
    return resident && now_ns >= resident->due_ns;
}

static int open_statm(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Pages, or -errno. 0: it has ended and waits for its parent, or the kernel does it without memory of its own. */
static int64_t read_pages(int fd)
{
    char text[128];
    unsigned long long size, pages;
    ssize_t got = pread(fd, text, sizeof text - 1, 0);
    if (got < 0)
        return -errno;
    text[got] = 0;
    return sscanf(text, "%llu %llu", &size, &pages) == 2 ? (int64_t)pages : -ESRCH;
}

uint64_t resident_bytes(pid_t pid)
{
    CLEANUP(closep) int fd = open_statm(pid);
    int64_t pages = fd < 0 ? 0 : read_pages(fd);
    return pages > 0 ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static struct followed *find(struct resident *resident, pid_t pid)
{
    for (size_t i = 0; i < resident->count; i++)
        if (resident->followed[i].pid == pid)
            return &resident->followed[i];
    return NULL;
}

/* One that is gone by now is none that can't be read. */
static void add(struct resident *resident, pid_t pid)
{
    int fd = open_statm(pid);
    if (fd < 0 && (errno == ENOENT || errno == ESRCH) && kill(pid, 0) < 0 && errno == ESRCH)
        return;
    resident->unreadable += fd < 0;
    resident->followed[resident->count++] = (struct followed){.pid = pid, .fd = fd, .listed = true};
}

static void note_listed(struct resident *resident, const pid_t *pids, size_t count, size_t all)
{
    uint64_t left_out = all - count;
    for (size_t i = 0; i < resident->count; i++)
        resident->followed[i].listed = false;
    for (size_t i = 0; i < count; i++) {
        struct followed *known = find(resident, pids[i]);
        if (known)
            known->listed = true;
        else if (pids[i] > 0 && resident->count < RESIDENT_MAXIMUM)
            add(resident, pids[i]);
        else
            left_out += pids[i] > 0;
    }
    resident->left_out = left_out > resident->left_out ? left_out : resident->left_out;
}

static void put(struct resident *resident, struct followed *process, uint64_t bytes, int64_t time_ns)
{
    const struct wire_resident record = {
        .header = {WIRE_RESIDENT, sizeof record / 8, 0}, .time_ns = time_ns, .bytes = bytes, .pid = process->pid};
    resident->reads++;
    process->bytes = bytes;
    recording_put(resident->recording, 0, &record.header, &resident->failed);
}

/* False when there is nothing more to read of it. */
static bool read_one(struct resident *resident, struct followed *process, int64_t now_ns)
{
    if (!process->listed)
        return false;
    int64_t pages = process->fd < 0 ? 0 : read_pages(process->fd);
    if (pages < 0)
        return false;
    uint64_t bytes = (uint64_t)pages * resident->page_bytes;
    if (bytes && bytes != process->bytes)
        put(resident, process, bytes, now_ns);
    return true;
}

void resident_round(struct resident *resident, const pid_t *pids, size_t count, size_t all, int64_t now_ns)
{
    if (!resident)
        return;
    resident->due_ns = now_ns + PERIOD_NS;
    note_listed(resident, pids, count, all);
    size_t kept = 0;
    for (size_t i = 0; i < resident->count; i++) {
        struct followed process = resident->followed[i];
        if (read_one(resident, &process, now_ns))
            resident->followed[kept++] = process;
        else
            closep(&process.fd);
    }
    resident->count = kept;
}

void resident_end(struct resident *resident, uint64_t peak_bytes, uint64_t inherited_bytes)
{
    if (!resident)
        return;
    struct recording *recording = resident->recording;
    if (peak_bytes > inherited_bytes + INHERITED_MARGIN)
        recording_put_metadata(recording, RESIDENT_PEAK_KEY, "%" PRIu64, peak_bytes);
    if (resident->failed)
        recording_put_ledger(recording, "resident memory", resident->reads, resident->reads - resident->failed, resident->failed,
                             "no memory or no room on disk");
    if (resident->unreadable)
        recording_put_ledger(recording, "resident memory", resident->unreadable, 0, resident->unreadable,
                             "processes whose /proc files may not be read");
    if (resident->left_out)
        recording_put_ledger(recording, "resident memory", resident->left_out, 0, resident->left_out,
                             "processes beyond the 256 that are read at a time");
}
