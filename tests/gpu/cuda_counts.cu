/* SPDX-License-Identifier: MIT */
/* Does known numbers of things with CUDA and says how many: `cuda_counts MODE [NUMBER]`. Each line of output: word, count. */
#include <cuda.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
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

static cudaGraph_t capture_adds(cudaStream_t stream, float *data, int count)
{
    cudaGraph_t captured;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < count; i++)
        add_kernel<<<COUNT / 256, 256, 0, stream>>>(data, COUNT);
    CHECK(cudaStreamEndCapture(stream, &captured));
    return captured;
}

static void launch_graph(cudaGraph_t graph, cudaStream_t stream, int times)
{
    cudaGraphExec_t executable;
    CHECK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    for (int i = 0; i < times; i++)
        CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(executable));
}

/* A clone, a child of another graph, a node made by hand, an executable graph that is updated. */
static void graphs()
{
    float *data;
    int count = COUNT;
    cudaStream_t stream;
    cudaGraph_t clone, parent, made;
    cudaGraphNode_t node;
    CHECK(cudaMalloc(&data, COUNT * sizeof(float)));
    CHECK(cudaStreamCreate(&stream));
    cudaGraph_t captured = capture_adds(stream, data, 5), other = capture_adds(stream, data, 5);
    CHECK(cudaGraphClone(&clone, captured));
    launch_graph(clone, stream, 10);
    CHECK(cudaGraphCreate(&parent, 0));
    CHECK(cudaGraphAddChildGraphNode(&node, parent, NULL, 0, captured));
    launch_graph(parent, stream, 10);
    void *arguments[] = {&data, &count};
    cudaKernelNodeParams params = {};
    params.func = (void *)add_kernel;
    params.gridDim = dim3(COUNT / 256);
    params.blockDim = dim3(256);
    params.kernelParams = arguments;
    CHECK(cudaGraphCreate(&made, 0));
    CHECK(cudaGraphAddKernelNode(&node, made, NULL, 0, &params));
    launch_graph(made, stream, 10);
    cudaGraphExec_t executable;
    cudaGraphExecUpdateResultInfo info;
    CHECK(cudaGraphInstantiateWithFlags(&executable, captured, 0));
    CHECK(cudaGraphExecUpdate(executable, other, &info));
    for (int i = 0; i < 10; i++)
        CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("kernel 160\ncopy 0\nfill 0\n");
}

/* A graph that decides on the device whether a part of it runs. */
static void conditional()
{
    float *data;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphConditionalHandle handle;
    CHECK(cudaMalloc(&data, COUNT * sizeof(float)));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handle;
    params.conditional.type = cudaGraphCondTypeIf;
    params.conditional.size = 1;
    CHECK(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    CHECK(cudaStreamBeginCaptureToGraph(stream, params.conditional.phGraph_out[0], NULL, NULL, 0, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 3; i++)
        add_kernel<<<COUNT / 256, 256, 0, stream>>>(data, COUNT);
    CHECK(cudaStreamEndCapture(stream, NULL));
    launch_graph(graph, stream, 10);
    printf("kernel 30\ncopy 0\nfill 0\n");
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

/* What synchronises with what: recordings, waits, queries, a capture among them, streams of all sorts. */
static void order()
{
    cudaStream_t first, second, apart;
    cudaEvent_t event, other, never;
    cudaGraph_t captured;
    float *data, *host = (float *)malloc(COUNT * sizeof(float));
    CHECK(cudaStreamCreate(&first));
    CHECK(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithPriority(&second, cudaStreamDefault, 0));
    CHECK(cudaEventCreate(&event));
    CHECK(cudaEventCreateWithFlags(&other, cudaEventDisableTiming));
    CHECK(cudaEventCreate(&never));
    CHECK(cudaMalloc(&data, COUNT * sizeof(float)));
    memset(host, 0, COUNT * sizeof(float));
    for (int i = 0; i < 4; i++) {
        spin_kernel<<<1, 1, 0, first>>>(200000);
        CHECK(cudaEventRecord(event, first));
        CHECK(cudaStreamWaitEvent(second, event, 0));
        spin_kernel<<<1, 1, 0, second>>>(50000);
        CHECK(cudaEventRecord(other, second));
        CHECK(cudaStreamWaitEvent(apart, other, 0));
        spin_kernel<<<1, 1, 0, apart>>>(50000);
        spin_kernel<<<1, 1>>>(50000);
        CHECK(cudaEventSynchronize(other));
        CHECK(cudaStreamSynchronize(apart));
    }
    CHECK(cudaEventSynchronize(never));
    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
    spin_kernel<<<1, 1, 0, first>>>(10000);
    CHECK(cudaEventRecord(event, first));
    CHECK(cudaStreamWaitEvent(second, event, 0));
    spin_kernel<<<1, 1, 0, second>>>(10000);
    CHECK(cudaEventRecord(other, second));
    CHECK(cudaStreamWaitEvent(first, other, 0));
    CHECK(cudaStreamEndCapture(first, &captured));
    launch_graph(captured, first, 2);
    spin_kernel<<<1, 1, 0, first>>>(200000);
    CHECK(cudaMemcpyAsync(host, data, COUNT * sizeof(float), cudaMemcpyDeviceToHost, first));
    CHECK(cudaMemcpyAsync(data, host, 4096, cudaMemcpyHostToDevice, first));
    spin_kernel<<<1, 1, 0, second>>>(200000);
    CHECK(cudaFree(data));
    CHECK(cudaDeviceSynchronize());
    printf("kernel 22\ncopy 2\nfill 0\n");
}

static void *worker_main(void *)
{
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "solver worker number one");
    usleep(20000);
    empty_kernel<<<1, 1>>>();
    CHECK(cudaDeviceSynchronize());
    return NULL;
}

static void names()
{
    cudaStream_t halo;
    pthread_t worker;
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamCreateWithFlags(&halo, cudaStreamNonBlocking));
    nvtxNameCudaDeviceA(0, "the fast one");
    nvtxNameCudaStreamA(halo, "halo exchange");
    empty_kernel<<<1, 1, 0, halo>>>();
    CHECK(cudaStreamSynchronize(halo));
    pthread_create(&worker, NULL, worker_main, NULL);
    pthread_join(worker, NULL);
    printf("kernel 2\ncopy 0\nfill 0\n");
}

/* Allocations of all sorts: 8 MB of the device at most, 4 of them from a pool of the program's own. */
static void pools()
{
    void *plain, *pinned, *pooled, *ordered;
    cudaStream_t stream;
    cudaMemPool_t pool;
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemPoolCreate(&pool, &properties));
    CHECK(cudaMalloc(&plain, 2 << 20));
    CHECK(cudaMallocHost(&pinned, 1 << 20));
    CHECK(cudaMallocFromPoolAsync(&pooled, 4 << 20, pool, stream));
    CHECK(cudaMallocAsync(&ordered, 2 << 20, stream));
    CHECK(cudaFreeAsync(ordered, stream));
    CHECK(cudaFreeAsync(pooled, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolTrimTo(pool, 0));
    CHECK(cudaFree(plain));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaMemPoolDestroy(pool));
    printf("kernel 0\ncopy 0\nfill 0\n");
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

/* A graph of 1,000 nodes, launched again and again. */
static void replays(long count)
{
    float *data;
    cudaStream_t stream;
    cudaGraphExec_t executable;
    CHECK(cudaMalloc(&data, COUNT * sizeof(float)));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaGraphInstantiateWithFlags(&executable, capture_adds(stream, data, 1000), 0));
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    double begin = now_us();
    for (long i = 0; i < count; i++)
        CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("kernel %ld\ncopy 0\nfill 0\nnode_us %.4f\n", (count + 1) * 1000, (now_us() - begin) / count / 1000);
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

/* A child that is made while kernels run and has nothing to do with CUDA. */
static void fork_in_flight()
{
    for (int i = 0; i < 100; i++)
        spin_kernel<<<1, 1>>>(200000);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        exit(3);
    for (int i = 0; i < 100; i++)
        empty_kernel<<<1, 1>>>();
    CHECK(cudaDeviceSynchronize());
    waitpid(child, NULL, 0);
    printf("kernel 200\ncopy 0\nfill 0\n");
}

/* The program twice more, each by itself. */
static void processes()
{
    fflush(stdout);
    pid_t children[2];
    for (auto &child : children)
        if ((child = fork()) == 0) {
            if (!freopen("/dev/null", "w", stdout))
                _exit(126);
            execl("/proc/self/exe", "cuda_counts", "spins", (char *)NULL);
            _exit(127);
        }
    for (int i = 0; i < 10; i++)
        empty_kernel<<<1, 1>>>();
    CHECK(cudaDeviceSynchronize());
    for (auto child : children)
        waitpid(child, NULL, 0);
    printf("kernel 30\ncopy 0\nfill 0\n");
}

static void no_callback(void *, int, int, const void *) {}

/* Another user of CUPTI in the process, before CUDA starts or after. */
static void other_client(bool early)
{
    void *library = NULL;
    for (const char *name : {"libcupti.so.13", "libcupti.so.12", "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so", "/usr/local/cuda/lib64/libcupti.so"})
        library = library ? library : dlopen(name, RTLD_NOW);
    auto subscribe = library ? (int (*)(void **, void (*)(void *, int, int, const void *), void *))dlsym(library, "cuptiSubscribe") : NULL;
    void *subscriber;
    if (!early)
        CHECK(cudaFree(0));
    int result = subscribe ? subscribe(&subscriber, no_callback, NULL) : -1;
    fprintf(stderr, "cuptiSubscribe: %d\n", result);
    for (int i = 0; i < 100; i++)
        empty_kernel<<<1, 1>>>();
    CHECK(cudaDeviceSynchronize());
    printf("kernel 100\ncopy 0\nfill 0\n");
}
static void client_first() { other_client(true); }
static void client_second() { other_client(false); }

static const char nvrtc_source[] = "extern \"C\" __global__ void made_at_run_time(int *out) { *out = 11; }";

static void nvrtc()
{
    void *library = dlopen("libnvrtc.so.13", RTLD_NOW), *program;
    library = library ? library : dlopen("libnvrtc.so.12", RTLD_NOW);
    if (!library)
        exit(1);
    auto create = (int (*)(void **, const char *, const char *, int, const char **, const char **))dlsym(library, "nvrtcCreateProgram");
    auto compile = (int (*)(void *, int, const char **))dlsym(library, "nvrtcCompileProgram");
    auto size_of = (int (*)(void *, size_t *))dlsym(library, "nvrtcGetPTXSize");
    auto get = (int (*)(void *, char *))dlsym(library, "nvrtcGetPTX");
    const char *options[] = {"--gpu-architecture=compute_80"};
    size_t size = 0;
    int *data, result = 0;
    CUmodule module;
    CUfunction function;
    if (create(&program, nvrtc_source, "made.cu", 0, NULL, NULL) || compile(program, 1, options) || size_of(program, &size))
        exit(1);
    char *text = (char *)malloc(size);
    get(program, text);
    CHECK(cudaMalloc(&data, sizeof *data));
    if (cuModuleLoadData(&module, text) != CUDA_SUCCESS || cuModuleGetFunction(&function, module, "made_at_run_time") != CUDA_SUCCESS)
        exit(1);
    void *arguments[] = {&data};
    for (int i = 0; i < 50; i++)
        cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL);
    CHECK(cudaMemcpy(&result, data, sizeof result, cudaMemcpyDeviceToHost));
    printf("kernel 50\ncopy 1\nfill 0\nresult %d\n", result);
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
    float sum = 0;
    for (int i = 0; i < COUNT; i += 1024)
        sum += data[i];
    printf("kernel 10\ncopy 0\nfill 0\nresult %.0f\n", sum);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "plain";
    const struct {
        const char *name;
        void (*run)();
    } modes[] = {{"plain", plain}, {"graph", graph},   {"driver", driver}, {"threads", threads}, {"events", events},
                 {"nvtx", nvtx},   {"spins", spins}, {"fork", forked},   {"reset", reset},   {"aborted", aborted}, {"managed", managed}, {"in_flight", in_flight},
                 {"graphs", graphs}, {"conditional", conditional}, {"order", order}, {"names", names}, {"pools", pools},
                 {"fork_in_flight", fork_in_flight}, {"processes", processes}, {"client_first", client_first},
                 {"client_second", client_second}, {"nvrtc", nvrtc}};
    if (strcmp(mode, "launches") == 0)
        launches(argc > 2 ? atol(argv[2]) : 100000);
    if (strcmp(mode, "replays") == 0)
        replays(argc > 2 ? atol(argv[2]) : 100);
    for (const auto &each : modes)
        if (strcmp(each.name, mode) == 0)
            each.run();
    return 0;
}
