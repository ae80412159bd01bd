/* SPDX-License-Identifier: MIT */
/* Does known numbers of things with CUDA and says how many: `cuda_counts MODE [NUMBER]`. Each line of output: word, count. */
#include <cuda.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t error_ = (call);                                                                                   \
        if (error_ != cudaSuccess) {                                                                                   \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_));                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

__global__ void empty_kernel() {}
__global__ void add_kernel(float *data, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        data[i] += 1.0f;
}
__global__ void spin_kernel(long long clocks)
{
    long long begin = clock64();
    while (clock64() - begin < clocks)
        ;
}

static double now_us()
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e6 + now.tv_nsec * 1e-3;
}

enum { COUNT = 1 << 16 };

static void plain()
{
    float *data, *host;
    cudaStream_t streams[3];
    CHECK(cudaMalloc(&data, COUNT * sizeof(float)));
    CHECK(cudaMallocHost(&host, COUNT * sizeof(float)));
    memset(host, 0, COUNT * sizeof(float));
    for (int i = 0; i < 3; i++)
        CHECK(cudaStreamCreate(&streams[i]));
    for (int i = 0; i < 50; i++)
        CHECK(cudaMemsetAsync(data, 0, COUNT * sizeof(float), streams[i % 3]));
    for (int i = 0; i < 100; i++)
        CHECK(cudaMemcpyAsync(data, host, 4096, cudaMemcpyHostToDevice, streams[i % 3]));
    for (int i = 0; i < 1000; i++)
        add_kernel<<<COUNT / 256, 256, 0, streams[i % 3]>>>(data, COUNT);
    for (int i = 0; i < 100; i++)
        CHECK(cudaMemcpyAsync(host, data, 8192, cudaMemcpyDeviceToHost, streams[i % 3]));
    CHECK(cudaMemcpy(host, data, COUNT * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    printf("kernel 1000\ncopy 201\nfill 50\nbytes %zu\n", 100 * 4096 + 100 * 8192 + COUNT * sizeof(float));
}

static void graph()
{
    float *data;
    cudaStream_t stream;
    cudaGraph_t captured;
    cudaGraphExec_t executable;
    CHECK(cudaMalloc(&data, COUNT * sizeof(float)));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemsetAsync(data, 0, COUNT * sizeof(float), stream));
    for (int i = 0; i < 10; i++)
        add_kernel<<<COUNT / 256, 256, 0, stream>>>(data, COUNT);
    CHECK(cudaStreamEndCapture(stream, &captured));
    CHECK(cudaGraphInstantiateWithFlags(&executable, captured, 0));
    for (int i = 0; i < 20; i++)
        CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("kernel 200\ncopy 0\nfill 20\n");
}

static const char ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
                          ".visible .entry jit_kernel(.param .u64 out)\n{\n.reg .u64 %rd<3>;\n.reg .u32 %r<2>;\n"
                          "ld.param.u64 %rd1, [out];\ncvta.to.global.u64 %rd2, %rd1;\nmov.u32 %r1, 7;\n"
                          "st.global.u32 [%rd2], %r1;\nret;\n}\n";

static void driver()
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUdeviceptr data;
    CUstream stream;
    unsigned result = 0;
    cuInit(0);
    cuDeviceGet(&device, 0);
    cuDevicePrimaryCtxRetain(&context, device);
    cuCtxSetCurrent(context);
    if (cuModuleLoadData(&module, ptx) != CUDA_SUCCESS || cuModuleGetFunction(&function, module, "jit_kernel") != CUDA_SUCCESS)
        exit(1);
    cuMemAlloc(&data, 4096);
    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    void *arguments[] = {&data};
    for (int i = 0; i < 100; i++)
        cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, NULL);
    cuStreamSynchronize(stream);
    cuMemcpyDtoH(&result, data, sizeof result);
    printf("kernel 100\ncopy 1\nfill 0\nresult %u\n", result);
}

static void *thread_main(void *)
{
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < 500; i++)
        empty_kernel<<<1, 32, 0, stream>>>();
    CHECK(cudaStreamSynchronize(stream));
    return NULL;
}

static void threads()
{
    pthread_t all[8];
    for (auto &thread : all)
        pthread_create(&thread, NULL, thread_main, NULL);
    for (auto &thread : all)
        pthread_join(thread, NULL);
    printf("kernel 4000\ncopy 0\nfill 0\n");
}

static void events()
{
    cudaStream_t first, second;
    cudaEvent_t event;
    CHECK(cudaStreamCreate(&first));
    CHECK(cudaStreamCreate(&second));
    CHECK(cudaEventCreate(&event));
    for (int i = 0; i < 10; i++) {
        spin_kernel<<<1, 1, 0, first>>>(100000);
        CHECK(cudaEventRecord(event, first));
        CHECK(cudaStreamWaitEvent(second, event, 0));
        spin_kernel<<<1, 1, 0, second>>>(10000);
        CHECK(cudaEventSynchronize(event));
    }
    CHECK(cudaDeviceSynchronize());
    printf("kernel 20\ncopy 0\nfill 0\n");
}

static void nvtx()
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("solver");
    nvtxEventAttributes_t attributes = {};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = "inner";
    attributes.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    attributes.payload.llValue = -5;
    for (int i = 0; i < 100; i++) {
        nvtxRangePushA("outer");
        nvtxDomainRangePushEx(domain, &attributes);
        nvtxDomainRangePop(domain);
        nvtxRangePop();
    }
    for (int i = 0; i < 50; i++) {
        nvtxRangeId_t a = nvtxRangeStartA("first"), b = nvtxRangeStartA("second");
        nvtxRangeEnd(a);
        nvtxRangeEnd(b);
    }
    for (int i = 0; i < 20; i++)
        nvtxMarkA("mark");
    printf("range 300\nkernel 0\ncopy 0\nfill 0\n");
}

static void launches(long count)
{
    empty_kernel<<<1, 1>>>();
    CHECK(cudaDeviceSynchronize());
    double begin = now_us();
    for (long i = 0; i < count; i++)
        empty_kernel<<<1, 1>>>();
    double issued = now_us();
    CHECK(cudaDeviceSynchronize());
    printf("kernel %ld\ncopy 0\nfill 0\nlaunch_us %.3f\nwhole_us %.3f\n", count + 1, (issued - begin) / count, (now_us() - begin) / count);
}

static void spins()
{
    for (int i = 1; i <= 10; i++)
        spin_kernel<<<1, 32>>>(i * 20000LL);
    CHECK(cudaDeviceSynchronize());
    printf("kernel 10\ncopy 0\nfill 0\n");
}

static void forked()
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 100; i++)
            empty_kernel<<<1, 1>>>();
        CHECK(cudaDeviceSynchronize());
        exit(0);
    }
    for (int i = 0; i < 200; i++)
        empty_kernel<<<1, 1>>>();
    CHECK(cudaDeviceSynchronize());
    waitpid(child, NULL, 0);
    printf("kernel 300\ncopy 0\nfill 0\n");
}

static void in_flight()
{
    for (int i = 0; i < 100; i++)
        spin_kernel<<<1, 1>>>(20000);
    printf("kernel 100\ncopy 0\nfill 0\n");
    exit(0);
}

static void reset()
{
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 100; i++)
            empty_kernel<<<1, 1>>>();
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaDeviceReset());
    }
    printf("kernel 200\ncopy 0\nfill 0\n");
}

/* Work that is done before a signal ends the program: what it waited for longer ago than the flushing takes. */
static void aborted()
{
    for (int i = 0; i < 1000; i++)
        empty_kernel<<<1, 1>>>();
    CHECK(cudaDeviceSynchronize());
    printf("kernel 1000\ncopy 0\nfill 0\n");
    fflush(stdout);
    usleep(500000);
    abort();
}

static void managed()
{
    float *data;
    CHECK(cudaMallocManaged(&data, COUNT * sizeof(float)));
    for (int i = 0; i < COUNT; i++)
        data[i] = 1;
    for (int i = 0; i < 10; i++)
        add_kernel<<<COUNT / 256, 256>>>(data, COUNT);
    CHECK(cudaDeviceSynchronize());
    printf("kernel 10\ncopy 0\nfill 0\nresult %.0f\n", data[5]);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "plain";
    const struct {
        const char *name;
        void (*run)();
    } modes[] = {{"plain", plain}, {"graph", graph},   {"driver", driver}, {"threads", threads}, {"events", events},
                 {"nvtx", nvtx},   {"spins", spins}, {"fork", forked},   {"reset", reset},   {"aborted", aborted}, {"managed", managed}, {"in_flight", in_flight}};
    if (strcmp(mode, "launches") == 0)
        launches(argc > 2 ? atol(argv[2]) : 100000);
    for (const auto &each : modes)
        if (strcmp(each.name, mode) == 0)
            each.run();
    return 0;
}
