/* SPDX-License-Identifier: MIT */
/* Two streams with copies and kernels, tied by events; the host waits for each round: one stream's work is hidden behind the other's. */
#include <cstdio>
#include <cstdlib>

static long scaled(const char *activity, double units)
{
    char name[64];
    snprintf(name, sizeof name, "SCALE_%s", activity);
    const char *factor = getenv(name);
    return (long)(units * (factor ? atof(factor) : 1));
}

static void must(cudaError_t code)
{
    if (code == cudaSuccess)
        return;
    fprintf(stderr, "%s\n", cudaGetErrorString(code));
    exit(1);
}

__global__ void chain(float *data, long rounds)
{
    float x = data[threadIdx.x];
    for (long i = 0; i < rounds; i++)
        x = x * 0.999f + 0.001f;
    data[threadIdx.x] = x;
}

__global__ void beside(float *data, long rounds)
{
    float x = data[threadIdx.x];
    for (long i = 0; i < rounds; i++)
        x = x * 0.998f + 0.002f;
    data[threadIdx.x] = x;
}

int main()
{
    const size_t bytes = 32 << 20;
    float *host, *first, *second;
    cudaStream_t main_stream, other;
    cudaEvent_t ready, joined;
    long chain_rounds = scaled("chain", 200000), beside_rounds = scaled("beside", 100000);
    must(cudaMallocHost(&host, bytes));
    must(cudaMalloc(&first, bytes));
    must(cudaMalloc(&second, bytes));
    must(cudaStreamCreate(&main_stream));
    must(cudaStreamCreate(&other));
    must(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    must(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
    for (int round = 0; round < 400; round++) {
        must(cudaMemcpyAsync(first, host, bytes, cudaMemcpyHostToDevice, main_stream));
        must(cudaEventRecord(ready, main_stream));
        must(cudaStreamWaitEvent(other, ready, 0));
        chain<<<1, 32, 0, main_stream>>>(first, chain_rounds);
        beside<<<1, 32, 0, other>>>(second, beside_rounds);
        must(cudaEventRecord(joined, other));
        must(cudaStreamWaitEvent(main_stream, joined, 0));
        must(cudaMemcpyAsync(host, first, bytes / 8, cudaMemcpyDeviceToHost, main_stream));
        must(cudaStreamSynchronize(main_stream));
    }
    return 0;
}
