/* SPDX-License-Identifier: MIT */
/*
 * Does to a profiler plugin what NCCL does, as its interface is published: `nccl_drive VERSION RANKS COLLECTIVES`. Each rank is
 * a communicator's context and a thread; a collective's own event ends when it is enqueued, its kernel's two channels later, on
 * another thread. NCCL_PROFILER_PLUGIN names the plugin. `nccl_drive VERSION late`: a communicator is closed before the channels of
 * its last collective end, which they do while another communicator's collective is under way.
 */
#include "collect/nccl/nccl_abi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHANNELS = 2, COUNT = 1024 };

static int version, collectives, ranks;
static const struct nccl_profiler_v4 *v4;
static const struct nccl_profiler_v5 *v5;

static uint64_t device_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return 1000000000000000ull + (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec; /* another clock's zero */
}

static void event_start(void *context, void **handle, uint64_t type, void *parent, int rank, const union nccl_body *body)
{
    if (version == 4) {
        struct nccl_v4 event = {.type = (uint8_t)type, .parent = parent, .rank = rank, .of = *body};
        v4->start(context, handle, &event);
    } else {
        struct nccl_v5 event = {.type = type, .parent = parent, .rank = rank, .of = *body};
        v5->start(context, handle, &event);
    }
}

static void event_stop(void *handle)
{
    (version == 4 ? v4->stop : v5->stop)(handle);
}

static void channel_stop(void *handle)
{
    union nccl_state state = {.device_ns = device_ns()};
    (version == 4 ? v4->state : v5->state)(handle, NCCL_STATE_KERNEL_STOP, &state);
    event_stop(handle);
}

struct kernel {
    void *context, *operation;
    int rank;
};

/* What NCCL's own thread sees of a kernel. */
static void *kernel_main(void *argument)
{
    const struct kernel *kernel = argument;
    const struct timespec pause = {.tv_nsec = 200000};
    void *channels[CHANNELS];
    nanosleep(&pause, NULL);
    for (int i = 0; i < CHANNELS; i++) {
        const union nccl_body body = {.kernel = {.channel = (uint8_t)i, .device_ns = device_ns()}};
        event_start(kernel->context, &channels[i], NCCL_KERNEL_CHANNEL, kernel->operation, kernel->rank, &body);
    }
    nanosleep(&pause, NULL);
    for (int i = 0; i < CHANNELS; i++)
        channel_stop(channels[i]);
    return NULL;
}

static void collective(void *context, int rank, uint64_t sequence)
{
    const union nccl_body body = {.coll = {.sequence = sequence, .function = "AllReduce", .send = &collectives, .receive = &ranks,
                                           .count = COUNT, .root = 0, .datatype = "ncclFloat32", .channels = CHANNELS, .warps = 8,
                                           .algorithm = "RING", .protocol = "LL"}};
    struct kernel kernel = {.context = context, .rank = rank};
    pthread_t thread;
    event_start(context, &kernel.operation, NCCL_COLL, NULL, rank, &body);
    event_stop(kernel.operation);
    pthread_create(&thread, NULL, kernel_main, &kernel);
    pthread_join(thread, NULL);
}

static void *comm_open(uint64_t comm, int rank)
{
    int mask = 0;
    void *context = NULL;
    if (version == 4)
        v4->init(&context, &mask, "world", comm, 1, ranks, rank, NULL);
    else
        v5->init(&context, comm, &mask, "world", 1, ranks, rank, NULL);
    if (!context || !(mask & NCCL_COLL) || !(mask & NCCL_KERNEL_CHANNEL))
        exit(2);
    return context;
}

static void comm_close(void *context)
{
    (version == 4 ? v4->finalize : v5->finalize)(context);
}

static void *rank_main(void *argument)
{
    int rank = (int)(intptr_t)argument;
    void *context = comm_open(0xabcdef, rank);
    for (int i = 0; i < collectives; i++)
        collective(context, rank, (uint64_t)i);
    comm_close(context);
    return NULL;
}

static void late(void)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    const union nccl_body body = {.coll = {.function = "AllReduce", .count = COUNT, .root = -1, .datatype = "ncclFloat32", .channels = CHANNELS}};
    void *contexts[2], *operations[2], *channels[2][CHANNELS];
    for (int i = 0; i < 2; i++) {
        contexts[i] = comm_open(0x100 + (uint64_t)i, 0);
        event_start(contexts[i], &operations[i], NCCL_COLL, NULL, 0, &body);
        event_stop(operations[i]);
        for (int channel = 0; channel < CHANNELS; channel++) {
            const union nccl_body kernel = {.kernel = {.channel = (uint8_t)channel, .device_ns = device_ns()}};
            event_start(contexts[i], &channels[i][channel], NCCL_KERNEL_CHANNEL, operations[i], 0, &kernel);
        }
        if (i == 0)
            comm_close(contexts[0]);
    }
    for (int i = 0; i < 2; i++) {
        for (int channel = 0; channel < CHANNELS; channel++)
            channel_stop(channels[i][channel]);
        nanosleep(&pause, NULL);
    }
    comm_close(contexts[1]);
}

int main(int argc, char **argv)
{
    const char *path = getenv("NCCL_PROFILER_PLUGIN");
    char name[32];
    pthread_t threads[64];
    version = argc > 1 ? atoi(argv[1]) : 5;
    ranks = argc > 2 ? atoi(argv[2]) : 2;
    collectives = argc > 3 ? atoi(argv[3]) : 10;
    snprintf(name, sizeof name, "ncclProfiler_v%d", version);
    void *plugin = path ? dlopen(path, RTLD_NOW) : NULL, *table = plugin ? dlsym(plugin, name) : NULL;
    if (!table || version < 4 || ranks > 64) {
        fprintf(stderr, "nccl_drive: no %s in NCCL_PROFILER_PLUGIN\n", name);
        return 1;
    }
    v4 = table;
    v5 = table;
    if (argc > 2 && strcmp(argv[2], "late") == 0) {
        ranks = 1;
        late();
        return 0;
    }
    for (int i = 0; i < ranks; i++)
        pthread_create(&threads[i], NULL, rank_main, (void *)(intptr_t)i);
    for (int i = 0; i < ranks; i++)
        pthread_join(threads[i], NULL);
    printf("collectives %d\nbytes %d\n", ranks * collectives, ranks * collectives * COUNT * 4);
    return 0;
}
