/* SPDX-License-Identifier: MIT */
/* Every kind of command: each function's number of calls and bytes are what tests/cli/test_opencl.py expects. */
#include "opencl.h"

#include <stdint.h>
#include <string.h>

#define WORDS 4096u
#define BYTES (WORDS * 4u)

static uint32_t host[WORDS], back[WORDS];

static uint32_t sum(const uint32_t *data, size_t count)
{
    uint32_t total = 0;
    for (size_t i = 0; i < count; i++)
        total = total * 31 + data[i];
    return total;
}

static void buffers(cl_command_queue queue, cl_mem a, cl_mem b)
{
    const size_t origin[3] = {0, 0, 0}, region[3] = {64, 16, 1};
    const uint32_t pattern = 7;
    MUST(clEnqueueWriteBuffer(queue, a, CL_TRUE, 0, BYTES, host, 0, 0, 0));
    MUST(clEnqueueWriteBuffer(queue, b, CL_FALSE, 0, BYTES / 2, host, 0, 0, 0));
    MUST(clEnqueueCopyBuffer(queue, a, b, 0, BYTES / 2, BYTES / 2, 0, 0, 0));
    MUST(clEnqueueFillBuffer(queue, a, &pattern, sizeof pattern, 1024, 2048, 0, 0, 0));
    MUST(clEnqueueWriteBufferRect(queue, a, CL_FALSE, origin, origin, region, 64, 0, 64, 0, host, 0, 0, 0));
    MUST(clEnqueueCopyBufferRect(queue, a, b, origin, origin, region, 64, 0, 64, 0, 0, 0, 0));
    MUST(clEnqueueReadBufferRect(queue, b, CL_TRUE, origin, origin, region, 64, 0, 64, 0, back, 0, 0, 0));
    printf("rect %08x\n", sum(back, 256));
    MUST(clEnqueueMigrateMemObjects(queue, 1, &a, 0, 0, 0, 0));
    MUST(clEnqueueMigrateMemObjects(queue, 1, &a, CL_MIGRATE_MEM_OBJECT_HOST, 0, 0, 0));
    MUST(clEnqueueReadBuffer(queue, a, CL_FALSE, 0, BYTES, back, 0, 0, 0));
    MUST(clFinish(queue));
    printf("buffer %08x\n", sum(back, WORDS));
}

static void maps(cl_command_queue queue, cl_mem a)
{
    cl_int error;
    uint32_t *place = clEnqueueMapBuffer(queue, a, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, 4096, 0, 0, 0, &error);
    MUST(error);
    for (int i = 0; i < 1024; i++)
        place[i] += 1;
    MUST(clEnqueueUnmapMemObject(queue, a, place, 0, 0, 0));
    place = clEnqueueMapBuffer(queue, a, CL_FALSE, CL_MAP_WRITE_INVALIDATE_REGION, 4096, 4096, 0, 0, 0, 0);
    MUST(clFinish(queue));
    memset(place, 1, 4096);
    MUST(clEnqueueUnmapMemObject(queue, a, place, 0, 0, 0));
    MUST(clEnqueueReadBuffer(queue, a, CL_TRUE, 0, BYTES, back, 0, 0, 0));
    printf("map %08x\n", sum(back, WORDS));
}

static cl_mem make_image(size_t width, size_t height)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    cl_image_desc description = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = width, .image_height = height};
    cl_int error;
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &description, 0, &error);
    MUST(error);
    return image;
}

/* 32 x 32 pixels of 4 bytes. */
static void images(cl_command_queue queue, cl_mem buffer)
{
    const size_t origin[3] = {0, 0, 0}, region[3] = {32, 32, 1};
    const cl_uint colour[4] = {1, 2, 3, 4};
    size_t pitch = 0;
    cl_int error;
    cl_mem a = make_image(32, 32), b = make_image(32, 32);
    MUST(clEnqueueWriteImage(queue, a, CL_TRUE, origin, region, 0, 0, host, 0, 0, 0));
    MUST(clEnqueueFillImage(queue, b, colour, origin, region, 0, 0, 0));
    MUST(clEnqueueCopyImage(queue, a, b, origin, origin, region, 0, 0, 0));
    MUST(clEnqueueCopyImageToBuffer(queue, b, buffer, origin, region, 0, 0, 0, 0));
    MUST(clEnqueueCopyBufferToImage(queue, buffer, a, 0, origin, region, 0, 0, 0));
    uint32_t *place = clEnqueueMapImage(queue, a, CL_TRUE, CL_MAP_READ, origin, region, &pitch, 0, 0, 0, 0, &error);
    MUST(error);
    printf("pixel %08x\n", place[5]);
    MUST(clEnqueueUnmapMemObject(queue, a, place, 0, 0, 0));
    MUST(clEnqueueReadImage(queue, a, CL_TRUE, origin, region, 0, 0, back, 0, 0, 0));
    printf("image %08x\n", sum(back, 1024));
    MUST(clReleaseMemObject(a));
    MUST(clReleaseMemObject(b));
}

static void shared(cl_command_queue queue)
{
    const uint32_t pattern = 3;
    uint32_t *a = clSVMAlloc(context, CL_MEM_READ_WRITE, BYTES, 0),
             *b = clSVMAlloc(context, CL_MEM_READ_WRITE, BYTES, 0);
    if (!a || !b) {
        puts("no shared virtual memory");
        exit(77);
    }
    MUST(clEnqueueSVMMemFill(queue, a, &pattern, sizeof pattern, BYTES, 0, 0, 0));
    MUST(clEnqueueSVMMemcpy(queue, CL_TRUE, b, a, BYTES, 0, 0, 0));
    MUST(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, b, BYTES, 0, 0, 0));
    printf("svm %08x\n", sum(b, WORDS));
    MUST(clEnqueueSVMUnmap(queue, b, 0, 0, 0));
    MUST(clFinish(queue));
    void *list[1] = {a};
    MUST(clEnqueueSVMFree(queue, 1, list, 0, 0, 0, 0, 0));
    MUST(clFinish(queue));
    clSVMFree(context, b);
}

static void kernels(cl_command_queue queue, cl_mem a)
{
    cl_program program = make_program("");
    cl_kernel add = make_kernel(program, "add"), flat = make_kernel(program, "flat"),
              twice = make_kernel(program, "twice");
    const size_t global = 1024, local = 64, square[2] = {32, 16}, tile[2] = {8, 4};
    set_arguments(add, a, 5);
    set_arguments(flat, a, 9);
    set_arguments(twice, a, 1);
    for (int i = 0; i < 3; i++)
        MUST(clEnqueueNDRangeKernel(queue, add, 1, 0, &global, &local, 0, 0, 0));
    MUST(clEnqueueNDRangeKernel(queue, flat, 2, 0, square, tile, 0, 0, 0));
    MUST(clEnqueueNDRangeKernel(queue, twice, 1, 0, &global, 0, 0, 0, 0));
    MUST(clEnqueueTask(queue, twice, 0, 0, 0));
    MUST(clEnqueueReadBuffer(queue, a, CL_TRUE, 0, BYTES, back, 0, 0, 0));
    printf("kernels %08x\n", sum(back, WORDS));
    MUST(clReleaseKernel(add));
    MUST(clReleaseKernel(flat));
    MUST(clReleaseKernel(twice));
    MUST(clReleaseProgram(program));
}

static void native(void *arguments)
{
    uint32_t *data = *(uint32_t **)arguments;
    data[0] += 1;
}

/* What a device cannot do must fail in the same way. */
static void others(cl_command_queue queue, cl_mem a)
{
    void *arguments[1] = {0};
    const void *places[1] = {&arguments[0]};
    cl_int result = clEnqueueNativeKernel(queue, native, arguments, sizeof arguments, 1, &a, places, 0, 0, 0);
    printf("native %d\n", result);
    MUST(clFlush(queue));
    cl_event marker;
    MUST(clEnqueueMarker(queue, &marker));
    MUST(clEnqueueMarkerWithWaitList(queue, 0, 0, 0));
    MUST(clEnqueueBarrier(queue));
    MUST(clEnqueueBarrierWithWaitList(queue, 0, 0, 0));
    MUST(clWaitForEvents(1, &marker));
    MUST(clReleaseEvent(marker));
    printf("no event %d\n", clEnqueueMarker(queue, 0));
    printf("bad %d\n", clEnqueueReadBuffer(queue, a, CL_TRUE, 0, BYTES * 2, back, 0, 0, 0));
    printf("null %d\n", clEnqueueCopyBuffer(queue, a, 0, 0, 0, 16, 0, 0, 0));
    MUST(clFinish(queue));
}

int scenario_each(void)
{
    open_device();
    for (uint32_t i = 0; i < WORDS; i++)
        host[i] = i * 2654435761u;
    cl_command_queue queue = make_queue(0);
    cl_mem a = make_buffer(BYTES), b = make_buffer(BYTES);
    buffers(queue, a, b);
    maps(queue, a);
    images(queue, b);
    shared(queue);
    kernels(queue, a);
    others(queue, a);
    MUST(clReleaseMemObject(a));
    MUST(clReleaseMemObject(b));
    MUST(clReleaseCommandQueue(queue));
    MUST(clUnloadPlatformCompiler(platform));
    MUST(clReleaseContext(context));
    return 0;
}
