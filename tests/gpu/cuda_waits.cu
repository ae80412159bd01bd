/* SPDX-License-Identifier: MIT */
/*
 * Which calls wait for work that is under way: each is timed while a kernel of 20 ms runs, on an ordinary stream and on one that is not
 * ordered with the default stream. Lines: call, ms beside ordinary work, ms beside work apart. What waits takes about 20.
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

__global__ void spin_kernel(long long clocks)
{
    long long begin = clock64();
    while (clock64() - begin < clocks)
        ;
}
__global__ void empty_kernel() {}

static double now_ms()
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

enum { SMALL = 4096, LARGE = 4 << 20 };
static cudaStream_t busy, idle; /* the kernel's; another one, apart */
static char *device, *other, *pageable, *pinned, *spare;
static cudaEvent_t event;
static cudaGraph_t graph;
static cudaGraphExec_t executable;
__device__ char symbol[SMALL];

static void none() {}
static void take() { cudaMalloc(&spare, LARGE); }
static void give() { cudaFree(spare); }
static void take_pinned() { cudaMallocHost(&spare, LARGE); }
static void give_pinned() { cudaFreeHost(spare); }
static void take_managed() { cudaMallocManaged(&spare, LARGE); }
static void take_pages() { spare = (char *)aligned_alloc(4096, LARGE); memset(spare, 0, LARGE); }
static void lock_pages() { cudaHostRegister(spare, LARGE, 0); }
static void unlock_pages() { cudaHostUnregister(spare); }
static void take_locked() { take_pages(); lock_pages(); }
static void drop_pages() { free(spare); }
static void drop_locked() { unlock_pages(); free(spare); }
static void take_async() { cudaMallocAsync(&spare, LARGE, idle); }
static void give_async() { cudaFreeAsync(spare, idle); }
static void down_pageable_small() { cudaMemcpy(device, pageable, SMALL, cudaMemcpyHostToDevice); }
static void down_pageable_large() { cudaMemcpy(device, pageable, LARGE, cudaMemcpyHostToDevice); }
static void down_pinned() { cudaMemcpy(device, pinned, LARGE, cudaMemcpyHostToDevice); }
static void up_pageable() { cudaMemcpy(pageable, device, SMALL, cudaMemcpyDeviceToHost); }
static void across() { cudaMemcpy(other, device, LARGE, cudaMemcpyDeviceToDevice); }
static void fill() { cudaMemset(device, 0, LARGE); }
static void to_symbol() { cudaMemcpyToSymbol(symbol, pageable, SMALL); }
static void async_down_small() { cudaMemcpyAsync(device, pageable, SMALL, cudaMemcpyHostToDevice, busy); }
static void async_down_large() { cudaMemcpyAsync(device, pageable, LARGE, cudaMemcpyHostToDevice, busy); }
static void async_up_small() { cudaMemcpyAsync(pageable, device, SMALL, cudaMemcpyDeviceToHost, busy); }
static void async_up_large() { cudaMemcpyAsync(pageable, device, LARGE, cudaMemcpyDeviceToHost, busy); }
static void async_down_pinned() { cudaMemcpyAsync(device, pinned, LARGE, cudaMemcpyHostToDevice, busy); }
static void async_apart_up() { cudaMemcpyAsync(pageable, device, SMALL, cudaMemcpyDeviceToHost, idle); }
static cudaStream_t made;
static void stream_create() { cudaStreamCreate(&made); }
static void stream_destroy() { cudaStreamDestroy(made); }
static void make_event() { cudaEventCreate(&event); cudaEventRecord(event, busy); }
static void event_destroy() { cudaEventDestroy(event); }
static void instantiate() { cudaGraphInstantiateWithFlags(&executable, graph, 0); }
static void drop_graph() { cudaGraphExecDestroy(executable); }
static void default_launch() { empty_kernel<<<1, 1>>>(); }
static void stream_sync() { cudaStreamSynchronize(busy); }
static void default_sync() { cudaStreamSynchronize(0); }
static void idle_sync() { cudaStreamSynchronize(idle); }
static void device_sync() { cudaDeviceSynchronize(); }
static void event_sync() { cudaEventSynchronize(event); }

static const struct {
    const char *name;
    void (*before)(), (*call)(), (*after)();
} calls[] = {
    {"cudaMalloc", none, take, give},
    {"cudaFree", take, give, none},
    {"cudaFree, managed", take_managed, give, none},
    {"cudaMallocManaged", none, take_managed, give},
    {"cudaMallocHost", none, take_pinned, give_pinned},
    {"cudaFreeHost", take_pinned, give_pinned, none},
    {"cudaHostRegister", take_pages, lock_pages, drop_locked},
    {"cudaHostUnregister", take_locked, unlock_pages, drop_pages},
    {"cudaMallocAsync", none, take_async, give_async},
    {"cudaFreeAsync", take_async, give_async, none},
    {"cudaMemcpy to device, pageable, 4 KB", none, down_pageable_small, none},
    {"cudaMemcpy to device, pageable, 4 MB", none, down_pageable_large, none},
    {"cudaMemcpy to device, pinned", none, down_pinned, none},
    {"cudaMemcpy to host", none, up_pageable, none},
    {"cudaMemcpy device to device", none, across, none},
    {"cudaMemset", none, fill, none},
    {"cudaMemcpyToSymbol", none, to_symbol, none},
    {"cudaMemcpyAsync to device, pageable, 4 KB, same stream", none, async_down_small, none},
    {"cudaMemcpyAsync to device, pageable, 4 MB, same stream", none, async_down_large, none},
    {"cudaMemcpyAsync to host, pageable, 4 KB, same stream", none, async_up_small, none},
    {"cudaMemcpyAsync to host, pageable, 4 MB, same stream", none, async_up_large, none},
    {"cudaMemcpyAsync to device, pinned, same stream", none, async_down_pinned, none},
    {"cudaMemcpyAsync to host, pageable, stream apart", none, async_apart_up, none},
    {"cudaStreamCreate", none, stream_create, stream_destroy},
    {"cudaStreamDestroy", stream_create, stream_destroy, none},
    {"cudaEventDestroy", make_event, event_destroy, none},
    {"cudaGraphInstantiate", none, instantiate, drop_graph},
    {"cudaGraphExecDestroy", instantiate, drop_graph, none},
    {"launch on the default stream", none, default_launch, none},
    {"cudaStreamSynchronize, same stream", none, stream_sync, none},
    {"cudaStreamSynchronize, default stream", none, default_sync, none},
    {"cudaStreamSynchronize, stream apart", none, idle_sync, none},
    {"cudaEventSynchronize", make_event, event_sync, event_destroy},
    {"cudaDeviceSynchronize", none, device_sync, none},
};

static double measure(unsigned which, cudaStream_t stream)
{
    busy = stream;
    bool with_event = calls[which].before == make_event;
    if (!with_event)
        calls[which].before();
    cudaDeviceSynchronize();
    spin_kernel<<<1, 1, 0, busy>>>(36000000);
    if (with_event)
        calls[which].before();
    double begin = now_ms();
    calls[which].call();
    double taken = now_ms() - begin;
    cudaDeviceSynchronize();
    calls[which].after();
    return taken;
}

int main()
{
    cudaStream_t ordinary, apart;
    cudaStreamCreate(&ordinary);
    cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&idle, cudaStreamNonBlocking);
    cudaMalloc(&device, LARGE);
    cudaMalloc(&other, LARGE);
    cudaMallocHost(&pinned, LARGE);
    pageable = (char *)malloc(LARGE);
    memset(pageable, 0, LARGE);
    cudaStreamBeginCapture(idle, cudaStreamCaptureModeGlobal);
    empty_kernel<<<1, 1, 0, idle>>>();
    cudaStreamEndCapture(idle, &graph);
    empty_kernel<<<1, 1>>>();
    for (unsigned i = 0; i < sizeof calls / sizeof calls[0]; i++)
        for (int warm = 1; warm >= 0; warm--) {
            double beside = measure(i, ordinary), beyond = measure(i, apart);
            if (!warm)
                printf("%-56s %8.3f %8.3f\n", calls[i].name, beside, beyond);
        }
    printf("last error: %s\n", cudaGetErrorString(cudaGetLastError()));
    return 0;
}
