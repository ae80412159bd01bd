/* SPDX-License-Identifier: MIT */
/*
 * Clocks of several nodes: a process of each clock domain (boot, time namespace) compares its clock with rank 0's, by the
 * shortest of some round trips, at MPI_Init and MPI_Finalize. All ranks take part, so it must be sure that all are recorded: a program of
 * which only one rank is would wait for ever, or get our messages. The user says so (HPROFILER_MPI_PROBES=1, 0 forbids), or
 * Open MPI's launcher does, which tells what it starts. Where all ranks are on one node nothing is sent.
 */
#include "mpi_collector.h"

#include "../runtime/sys.h"

#include <asm/fcntl.h>
#include <asm/stat.h>
#include <linux/time.h>

struct timespec;
extern int clock_gettime(int clock, struct timespec *time);
extern char *getenv(const char *name);

/* The MPI's own, as everywhere here: its names lead to the front. */
#define REAL(name) ((__typeof__(&P##name))mpi_real[CALL_##name])

#define TAG 31337
#define TRIPS 20               /* and more, while none of them was quick, for a time */
#define QUICK_NS 20000
#define LONGEST_NS 50000000    /* for one domain, and for all that rank 0 serves one after the other: */
#define LONGEST_ALL_NS 2000000000
#define DOMAINS_MAX 4096

static struct {
    uint64_t domain, root_domain;
    int32_t *leaders;             /* rank 0: one of each other domain */
    int32_t count;
    int64_t longest_ns;           /* for one domain; 0 = nothing is to be done */
    bool leader;
} probes;

static int64_t raw_ns(void)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return now.tv_sec * 1000000000 + now.tv_nsec;
}

static uint64_t own_domain(void)
{
    char text[64] = "";
    struct stat info = {0};
    long fd = sys_call(__NR_openat, SYS_AT_FDCWD, "/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC, 0);
    if (fd >= 0) {
        sys_call(__NR_read, fd, text, sizeof text - 1, 0);
        sys_close((int)fd);
    }
    fd = sys_call(__NR_openat, SYS_AT_FDCWD, "/proc/self/ns/time", O_RDONLY | O_CLOEXEC, 0);
    if (fd >= 0) {
        sys_call(__NR_fstat, fd, &info, 0, 0);
        sys_close((int)fd);
    }
    return mpi_hash(mpi_hash_text(text), (uint64_t)info.st_ino);
}

static bool starts_with(const char *text, const char *start)
{
    while (*start && *text == *start)
        text++, start++;
    return !*start;
}

static const char *last_part(const char *path)
{
    const char *last = path;
    for (; *path; path++)
        if (*path == '/')
            last = path + 1;
    return last;
}

/* The launcher started hprofiler in each rank. */
static bool all_are_recorded(void)
{
    const char *command = getenv("OMPI_COMMAND"), *programs = getenv("OMPI_NUM_APP_CTX");
    return command && programs && programs[0] == '1' && !programs[1] && starts_with(last_part(command), "hprofiler");
}

static bool on_one_node(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getenv(names[i]))
            return mpi_environment_number(names[i]) == mpi_world.own->size;
    return mpi_world.own->size == 1;
}

static bool wanted(void)
{
    const char *asked = getenv("HPROFILER_MPI_PROBES");
    MPI_Comm parent = MPI_COMM_NULL;
    if (asked)
        return asked[0] == '1';
    if (on_one_node())
        return false;
    if (PMPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent != MPI_COMM_NULL)
        return false;
    if (all_are_recorded())
        return true;
    rt_note("MPI: the clocks of the nodes were not compared, as other ranks may not be recorded: set HPROFILER_MPI_PROBES=1 if all are");
    return false;
}

/* Rank 0: a rank of each domain other than its own, the lowest. */
static void find_leaders(const uint64_t *domains, int32_t size)
{
    probes.leaders = mpi_memory_take((uint64_t)size * sizeof probes.leaders[0]);
    for (int32_t rank = 1; probes.leaders && rank < size; rank++) {
        bool seen = domains[rank] == domains[0];
        for (int32_t i = 0; i < probes.count && !seen; i++)
            seen = domains[probes.leaders[i]] == domains[rank];
        if (!seen)
            probes.leaders[probes.count++] = rank;
    }
}

static bool first_of_domain(const uint64_t *domains, int32_t rank)
{
    for (int32_t i = 0; i < rank; i++)
        if (domains[i] == domains[rank])
            return false;
    return true;
}

static int32_t count_domains(const uint64_t *domains, int32_t size)
{
    int32_t count = 0;
    for (int32_t rank = 0; rank < size && count <= DOMAINS_MAX; rank++)
        count += first_of_domain(domains, rank);
    return count;
}

/* The other side says with each trip whether there will be another. */
static void serve(int32_t leader)
{
    int64_t more = 1, now;
    while (more) {
        REAL(MPI_Recv)(&more, 1, MPI_INT64_T, leader, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        now = raw_ns();
        REAL(MPI_Send)(&now, 1, MPI_INT64_T, leader, TAG, MPI_COMM_WORLD);
    }
}

static void one_trip(struct wire_clock_probe *best, int64_t more)
{
    int64_t other = 0, begin = raw_ns();
    uint64_t begin_time = rt_now();
    REAL(MPI_Send)(&more, 1, MPI_INT64_T, 0, TAG, MPI_COMM_WORLD);
    REAL(MPI_Recv)(&other, 1, MPI_INT64_T, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    uint64_t end_time = rt_now();
    int64_t end = raw_ns();
    uint64_t error = (uint64_t)(end - begin) / 2;
    best->trips++;
    if (error >= best->error_ns)
        return;
    best->error_ns = error;
    best->own_time = begin_time + (end_time - begin_time) / 2;
    best->own_raw_ns = begin + (end - begin) / 2;
    best->peer_raw_ns = other;
}

static void probe(uint32_t when)
{
    struct wire_clock_probe best = {.header = {WIRE_CLOCK_PROBE, sizeof best / 8, when}, .error_ns = UINT64_MAX,
                                    .own_domain = probes.domain, .peer_domain = probes.root_domain};
    for (int64_t began = raw_ns(), more = 1; more;) {
        more = best.trips + 1 < TRIPS || (best.error_ns > QUICK_NS && raw_ns() - began < probes.longest_ns);
        one_trip(&best, more);
    }
    rt_keep(&best.header);
}

static void run(uint32_t when)
{
    for (int32_t i = 0; i < probes.count; i++)
        serve(probes.leaders[i]);
    if (probes.leader)
        probe(when);
}

void mpi_probes_begin(void)
{
    int32_t size = mpi_world.own ? (int32_t)mpi_world.own->size : 0;
    uint64_t bytes = (uint64_t)size * sizeof(uint64_t);
    uint64_t *domains = size > 1 && wanted() ? mpi_memory_take(bytes) : 0;
    if (!domains)
        return;
    probes.domain = own_domain();
    REAL(MPI_Allgather)(&probes.domain, 1, MPI_UINT64_T, domains, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    probes.root_domain = domains[0];
    int32_t count = count_domains(domains, size);
    if (count > 1 && count <= DOMAINS_MAX) {
        probes.longest_ns = LONGEST_ALL_NS / count < LONGEST_NS ? LONGEST_ALL_NS / count : LONGEST_NS;
        if (mpi_world.rank == 0)
            find_leaders(domains, size);
        probes.leader = mpi_world.rank > 0 && first_of_domain(domains, mpi_world.rank);
        run(0);
    }
    mpi_memory_give(domains, bytes);
}

void mpi_probes_end(void)
{
    run(1);
}
