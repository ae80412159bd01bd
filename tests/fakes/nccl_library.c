/* SPDX-License-Identifier: MIT */
/*
 * Stands for an old libnccl: takes what a program asks for, moves no bytes. With NCCL_FAKE_PLUGIN in the environment it takes a profiler
 * plugin, as a newer one does, when a communicator is made. As NCCL does, it calls one of its functions by its public name.
 */
#include "collect/nccl/nccl_abi.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* the functions are found by name */

struct communicator {
    int rank, ranks;
};
struct unique_id {
    char bytes[128];
};

static void pause_us(long us)
{
    const struct timespec time = {.tv_nsec = us * 1000};
    nanosleep(&time, NULL);
}

static void take_plugin(void)
{
    const char *path = getenv("NCCL_PROFILER_PLUGIN");
    void *library = path && getenv("NCCL_FAKE_PLUGIN") ? dlopen(path, RTLD_NOW) : NULL;
    const struct nccl_profiler_v4 *plugin = library ? dlsym(library, "ncclProfiler_v4") : NULL;
    void *context;
    int mask;
    if (plugin)
        plugin->init(&context, &mask, "fake", 7, 1, 1, 0, NULL);
}

int ncclGetUniqueId(struct unique_id *id)
{
    memset(id, 0, sizeof *id);
    memcpy(id->bytes, "one id for all of them", 23);
    return NCCL_SUCCESS;
}
int ncclCommInitRank(struct communicator **comm, int ranks, struct unique_id id, int rank)
{
    *comm = malloc(sizeof **comm);
    if (!*comm || id.bytes[0] != 'o')
        return NCCL_INTERNAL_ERROR;
    **comm = (struct communicator){rank, ranks};
    take_plugin();
    return NCCL_SUCCESS;
}
int ncclCommSplit(struct communicator *comm, int colour, int key, struct communicator **made, void *config)
{
    (void)config;
    *made = colour < 0 ? NULL : malloc(sizeof **made);
    if (*made)
        **made = (struct communicator){key, comm->ranks};
    return NCCL_SUCCESS;
}
int ncclCommUserRank(const struct communicator *comm, int *rank)
{
    *rank = comm->rank;
    return NCCL_SUCCESS;
}
int ncclCommDestroy(struct communicator *comm)
{
    free(comm);
    return NCCL_SUCCESS;
}
int ncclAllReduce(const void *send, void *receive, size_t count, int type, int operation, struct communicator *comm, void *stream)
{
    (void)send, (void)receive, (void)count, (void)type, (void)operation, (void)comm, (void)stream;
    pause_us(50);
    return NCCL_SUCCESS;
}
int ncclBroadcast(const void *send, void *receive, size_t count, int type, int root, struct communicator *comm, void *stream)
{
    (void)send, (void)receive, (void)count, (void)type, (void)root, (void)comm, (void)stream;
    return NCCL_SUCCESS;
}
int ncclBcast(void *buffer, size_t count, int type, int root, struct communicator *comm, void *stream)
{
    return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}
int ncclSend(const void *buffer, size_t count, int type, int peer, struct communicator *comm, void *stream)
{
    (void)buffer, (void)count, (void)type, (void)peer, (void)comm, (void)stream;
    return NCCL_SUCCESS;
}
int ncclRecv(void *buffer, size_t count, int type, int peer, struct communicator *comm, void *stream)
{
    (void)buffer, (void)count, (void)type, (void)peer, (void)comm, (void)stream;
    return NCCL_SUCCESS;
}
int ncclGroupStart(void)
{
    return NCCL_SUCCESS;
}
int ncclGroupEnd(void)
{
    pause_us(300);
    return NCCL_SUCCESS;
}
