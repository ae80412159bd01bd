/* SPDX-License-Identifier: MIT */
/*
 * The identity of MPI_COMM_WORLD: the same in all its processes and another for each job of a recording. Nothing is sent for it:
 * launchers give each job a name.
 */
#include "mpi_collector.h"

#include "../runtime/sys.h"

extern char *getenv(const char *name);

static const char *const names[] = {"PMIX_NAMESPACE", "PMI_JOBID", "PMI_ID_JOB"};

/* Hydra gives no name, but its proxy made the socket of each of its processes. */
static uint64_t peer_of_socket(void)
{
    const char *text = getenv("PMI_FD");
    struct {
        int32_t pid;
        uint32_t uid, gid;
    } peer = {0, 0, 0};
    uint32_t bytes = sizeof peer;
    long fd = 0;
    for (; text && *text >= '0' && *text <= '9' && fd < 1 << 20; text++)
        fd = fd * 10 + *text - '0';
    if (!text || sys_call6(__NR_getsockopt, fd, 1 /* SOL_SOCKET */, 17 /* SO_PEERCRED */, (long)&peer, (long)&bytes, 0) < 0)
        return 0;
    return peer.pid > 0 ? (uint64_t)peer.pid : 0;
}

uint64_t mpi_environment_number(const char *name)
{
    uint64_t number = 0;
    for (const char *text = getenv(name); text && *text >= '0' && *text <= '9'; text++)
        number = number * 10 + (uint64_t)(*text - '0');
    return number;
}

uint64_t mpi_job_identity(int size)
{
    uint64_t identity = mpi_hash('W', (uint64_t)size);
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getenv(names[i]))
            return mpi_hash(identity, mpi_hash_text(getenv(names[i])));
    if (getenv("SLURM_JOB_ID") && getenv("SLURM_STEP_ID"))
        return mpi_hash(mpi_hash(identity, mpi_environment_number("SLURM_JOB_ID")), mpi_environment_number("SLURM_STEP_ID"));
    if (mpi_environment_number("MPI_LOCALNRANKS") == (uint64_t)size)
        return mpi_hash(identity, peer_of_socket());
    return identity;
}
