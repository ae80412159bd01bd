/* SPDX-License-Identifier: MIT */
/* Kernels whose bottleneck is known: a chain of dependent multiplications, loads far apart, conflicts in shared memory. */
#include <cuda_runtime.h>
#include <stdio.h>

__global__ void dependent_chain(float *out, int rounds)
{
    float value = threadIdx.x;
    for (int i = 0; i < rounds; i++)
        value = value * 0.999f + 0.5f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void strided_loads(const float *in, float *out, size_t count, int rounds)
{
    size_t at = (blockIdx.x * (size_t)blockDim.x + threadIdx.x) * 4099 % count;
    float sum = 0;
    for (int i = 0; i < rounds; i++) {
        sum += in[at];
        at = (at + 1048583) % count;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void bank_conflicts(float *out, int rounds)
{
    __shared__ volatile float shared[32 * 33];
    float sum = 0;
    for (int i = threadIdx.x; i < 32 * 32; i += blockDim.x)
        shared[i] = i;
    __syncthreads();
    for (int i = 0; i < rounds; i++)
        sum += shared[(threadIdx.x % 32) * 32 + (i & 31)];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

int main()
{
    const size_t count = 1 << 28;
    float *in, *out;
    if (cudaMalloc(&in, count * sizeof(float)) != cudaSuccess || cudaMalloc(&out, 1 << 22) != cudaSuccess)
        return 1;
    cudaMemset(in, 0, count * sizeof(float));
    for (int i = 0; i < 5; i++) {
        dependent_chain<<<264, 256>>>(out, 200000);
        strided_loads<<<1056, 256>>>(in, out, count, 400);
        bank_conflicts<<<264, 256>>>(out, 40000);
    }
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    return 0;
}
