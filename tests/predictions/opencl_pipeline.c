/* SPDX-License-Identifier: MIT */
/* Chunks go to the device by one queue, are worked on by another, and come back, while the host prepares the next one. */
#define CL_TARGET_OPENCL_VERSION 120
#include "work.h"

#include <CL/cl.h>

enum { CHUNKS = 40, FLOATS = 1 << 20, ITEMS = 64 };

static const char source[] = "kernel void transform(global float *data, int rounds) {"
                             "    int i = get_global_id(0); float x = data[i];"
                             "    for (int round = 0; round < rounds; round++) x = sqrt(x + round);"
                             "    data[i] = x; }"
                             "kernel void finish_up(global float *data, int rounds) {"
                             "    int i = get_global_id(0); float x = data[i];"
                             "    for (int round = 0; round < rounds; round++) x = sqrt(x + 2 * round);"
                             "    data[i] = x; }";

static void must(cl_int code, const char *what)
{
    if (code == CL_SUCCESS)
        return;
    fprintf(stderr, "%s: %d\n", what, code);
    exit(1);
}

static ACTIVITY void prepare(float *data, long units)
{
    work(units);
    data[0] = (float)units;
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int code, transform_rounds = (cl_int)scaled("transform", 200000), finish_rounds = (cl_int)scaled("finish_up", 100000);
    long prepare_units = scaled("prepare", 1e6);
    static float data[FLOATS];
    must(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    must(code, "clCreateContext");
    cl_command_queue copies = clCreateCommandQueue(context, device, 0, &code), kernels = clCreateCommandQueue(context, device, 0, &code);
    must(code, "clCreateCommandQueue");
    const char *text = source;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    must(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    cl_kernel transform = clCreateKernel(program, "transform", &code), finish = clCreateKernel(program, "finish_up", &code);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof data, NULL, &code);
    must(code, "clCreateBuffer");
    must(clSetKernelArg(transform, 0, sizeof buffer, &buffer) | clSetKernelArg(finish, 0, sizeof buffer, &buffer), "clSetKernelArg");
    must(clSetKernelArg(transform, 1, sizeof transform_rounds, &transform_rounds), "clSetKernelArg");
    must(clSetKernelArg(finish, 1, sizeof finish_rounds, &finish_rounds), "clSetKernelArg");
    size_t items = ITEMS;
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        cl_event there, through, finished;
        prepare(data, prepare_units);
        must(clEnqueueWriteBuffer(copies, buffer, CL_FALSE, 0, sizeof data, data, 0, NULL, &there), "clEnqueueWriteBuffer");
        must(clFlush(copies), "clFlush");
        must(clEnqueueNDRangeKernel(kernels, transform, 1, NULL, &items, NULL, 1, &there, &through), "clEnqueueNDRangeKernel");
        must(clEnqueueNDRangeKernel(kernels, finish, 1, NULL, &items, NULL, 1, &through, &finished), "clEnqueueNDRangeKernel");
        must(clFlush(kernels), "clFlush");
        must(clEnqueueReadBuffer(copies, buffer, CL_TRUE, 0, sizeof data, data, 1, &finished, NULL), "clEnqueueReadBuffer");
        clReleaseEvent(there), clReleaseEvent(through), clReleaseEvent(finished);
    }
    clFinish(copies);
    return 0;
}
