/* SPDX-License-Identifier: MIT */
/* Ways to use OpenCL beside the plain one: order, threads, callbacks, builds, ends. */
#include "opencl.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const size_t items = 256, group = 64;

static void show_queue(const char *name, cl_command_queue queue, cl_kernel kernel)
{
    cl_command_queue_properties properties = 99;
    cl_ulong list[16] = {0}, time = 0;
    size_t size = 0;
    cl_event event;
    MUST(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, &size));
    printf("%s: properties %llu (%zu bytes)", name, (unsigned long long)properties, size);
    cl_int result = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof list, list, &size);
    printf(", array %d", result);
    for (size_t i = 0; result == CL_SUCCESS && i < size / sizeof list[0]; i++)
        printf(" %llu", (unsigned long long)list[i]);
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, 0, &items, &group, 0, 0, &event));
    MUST(clWaitForEvents(1, &event));
    size = 0;
    result = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof time, &time, &size);
    printf(", times %d %d (%zu bytes)\n", result, time != 0, size);
    MUST(clReleaseCommandQueue(queue));
    time = 0;
    result = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof time, &time, 0);
    printf("%s: after its queue was released: times %d %d\n", name, result, time != 0);
    MUST(clReleaseEvent(event));
}

static cl_command_queue queue_by_list(const cl_queue_properties *list)
{
    cl_int error;
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, list, &error);
    MUST(error);
    return queue;
}

int scenario_sees(void)
{
    open_device();
    cl_program program = make_program("");
    cl_kernel kernel = make_kernel(program, "add");
    cl_mem buffer = make_buffer(items * 4);
    set_arguments(kernel, buffer, 1);
    const cl_queue_properties unordered[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0},
                              none[] = {0};
    const cl_queue_properties timed[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    show_queue("plain", make_queue(0), kernel);
    show_queue("timed", make_queue(CL_QUEUE_PROFILING_ENABLE), kernel);
    show_queue("unordered", make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE), kernel);
    show_queue("no list", queue_by_list(0), kernel);
    show_queue("empty list", queue_by_list(none), kernel);
    show_queue("unordered list", queue_by_list(unordered), kernel);
    show_queue("timed list", queue_by_list(timed), kernel);
    cl_int error;
    cl_ulong time = 0;
    clCreateCommandQueue(context, device, 1u << 20, &error);
    printf("bad properties %d\n", error);
    cl_event user = clCreateUserEvent(context, &error);
    printf("user event: times %d\n", clGetEventProfilingInfo(user, CL_PROFILING_COMMAND_END, sizeof time, &time, 0));
    MUST(clSetUserEventStatus(user, CL_COMPLETE));
    MUST(clReleaseEvent(user));
    printf("no event: times %d\n", clGetEventProfilingInfo(0, CL_PROFILING_COMMAND_END, sizeof time, &time, 0));
    printf("no queue: %d %d\n", clFinish(0), clFlush(0));
    return 0;
}

/* a, b after a, c after the user event; barrier; d; marker with a list. Counts of links are the test's. */
int scenario_unordered(void)
{
    open_device();
    cl_int error;
    uint32_t result[256];
    cl_command_queue queue = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_program program = make_program("");
    cl_kernel add = make_kernel(program, "add"), twice = make_kernel(program, "twice");
    cl_mem first = make_buffer(items * 4), second = make_buffer(items * 4);
    cl_event a, b, c, d, fills[2], user = clCreateUserEvent(context, &error);
    const uint32_t zero = 0;
    MUST(error);
    MUST(clEnqueueFillBuffer(queue, first, &zero, 4, 0, items * 4, 0, 0, &fills[0]));
    MUST(clEnqueueFillBuffer(queue, second, &zero, 4, 0, items * 4, 0, 0, &fills[1]));
    set_arguments(add, first, 3);
    MUST(clEnqueueNDRangeKernel(queue, add, 1, 0, &items, &group, 1, &fills[0], &a));
    set_arguments(twice, first, 1);
    MUST(clEnqueueNDRangeKernel(queue, twice, 1, 0, &items, &group, 1, &a, &b));
    set_arguments(add, second, 4);
    cl_event both[2] = {fills[1], user};
    MUST(clEnqueueNDRangeKernel(queue, add, 1, 0, &items, &group, 2, both, &c));
    MUST(clSetUserEventStatus(user, CL_COMPLETE));
    MUST(clEnqueueBarrierWithWaitList(queue, 0, 0, 0));
    set_arguments(twice, second, 0);
    MUST(clEnqueueNDRangeKernel(queue, twice, 1, 0, &items, &group, 0, 0, &d));
    cl_event last[2] = {b, d};
    MUST(clWaitForEvents(2, last));
    MUST(clEnqueueReadBuffer(queue, first, CL_TRUE, 0, sizeof result, result, 2, last, 0));
    printf("first %u\n", result[255]);
    MUST(clEnqueueReadBuffer(queue, second, CL_TRUE, 0, sizeof result, result, 1, &d, 0));
    printf("second %u\n", result[255]);
    MUST(clFinish(queue));
    cl_event all[] = {a, b, c, d, fills[0], fills[1], user};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        MUST(clReleaseEvent(all[i]));
    MUST(clReleaseCommandQueue(queue));
    return 0;
}

static atomic_int built;
static void build_told(cl_program program, void *data)
{
    atomic_fetch_add(&built, program && data == &built);
}

static cl_program from_text(const char *text)
{
    cl_int error;
    cl_program program = clCreateProgramWithSource(context, 1, &text, 0, &error);
    MUST(error);
    return program;
}

int scenario_builds(void)
{
    open_device();
    cl_int error;
    make_program("-DHP_FIRST=1");
    cl_program late = from_text("__kernel void late(__global int *a) { a[get_global_id(0)]++; }");
    MUST(clBuildProgram(late, 1, &device, "-DHP_LATE=1", build_told, &built));
    while (!atomic_load(&built))
        usleep(1000);
    printf("built %d\n", atomic_load(&built));
    cl_program broken = from_text("__kernel void broken( {");
    printf("broken %d\n", clBuildProgram(broken, 1, &device, "", 0, 0));
    cl_program part = from_text("__kernel void part(__global int *a) { a[0] = 4; }");
    MUST(clCompileProgram(part, 1, &device, "", 0, 0, 0, 0, 0));
    cl_program whole = clLinkProgram(context, 1, &device, "", 1, &part, 0, 0, &error);
    printf("link %d\n", error);
    cl_kernel kernel = make_kernel(whole, "part");
    MUST(clReleaseKernel(kernel));
    return 0;
}

static cl_command_queue callback_queue;
static cl_mem callback_buffer;
static atomic_int told;
static uint32_t seven = 7;

static void event_told(cl_event event, cl_int status, void *data)
{
    cl_uint references = 0;
    clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof references, &references, 0);
    if (status == CL_COMPLETE && data == &seven)
        clEnqueueFillBuffer(callback_queue, callback_buffer, &seven, 4, 0, 64, 0, 0, 0);
    clFlush(callback_queue);
    atomic_fetch_add(&told, 1);
}

int scenario_callback(void)
{
    open_device();
    uint32_t result[16];
    callback_queue = make_queue(0);
    callback_buffer = make_buffer(64);
    cl_command_queue queue = make_queue(0);
    cl_program program = make_program("");
    cl_kernel kernel = make_kernel(program, "add");
    cl_mem buffer = make_buffer(items * 4);
    set_arguments(kernel, buffer, 1);
    for (int i = 0; i < 10; i++) {
        cl_event event;
        MUST(clEnqueueNDRangeKernel(queue, kernel, 1, 0, &items, &group, 0, 0, &event));
        MUST(clSetEventCallback(event, CL_COMPLETE, event_told, &seven));
        MUST(clReleaseEvent(event));
    }
    MUST(clFinish(queue));
    while (atomic_load(&told) < 10)
        usleep(1000);
    MUST(clEnqueueReadBuffer(callback_queue, callback_buffer, CL_TRUE, 0, 64, result, 0, 0, 0));
    printf("told %d, result %u\n", atomic_load(&told), result[15]);
    printf("bad callback %d\n", clSetEventCallback(0, CL_COMPLETE, event_told, 0));
    return 0;
}

static struct shared_work {
    cl_command_queue queue;
    cl_program program;
    int launches;
} work;

static void *launch_many(void *argument)
{
    cl_kernel kernel = make_kernel(work.program, "add");
    cl_mem buffer = make_buffer(items * 4);
    uint32_t zero = 0, result[256];
    MUST(clEnqueueFillBuffer(work.queue, buffer, &zero, 4, 0, items * 4, 0, 0, 0));
    set_arguments(kernel, buffer, 1);
    for (int i = 0; i < work.launches; i++)
        MUST(clEnqueueNDRangeKernel(work.queue, kernel, 1, 0, &items, &group, 0, 0, 0));
    MUST(clEnqueueReadBuffer(work.queue, buffer, CL_TRUE, 0, sizeof result, result, 0, 0, 0));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseMemObject(buffer));
    *(uint32_t *)argument = result[7];
    return 0;
}

int scenario_threads(int threads, int launches)
{
    open_device();
    pthread_t handles[64];
    uint32_t results[64] = {0};
    work.queue = make_queue(0);
    work.program = make_program("");
    work.launches = launches;
    for (int i = 0; i < threads && i < 64; i++)
        pthread_create(&handles[i], 0, launch_many, &results[i]);
    for (int i = 0; i < threads && i < 64; i++) {
        pthread_join(handles[i], 0);
        printf("thread %d: %u\n", i, results[i]);
    }
    MUST(clFinish(work.queue));
    return 0;
}

/* Three kernels; the last one takes long where the device is not faster than any known. */
int scenario_left(const char *how)
{
    open_device();
    cl_command_queue queue = make_queue(0);
    cl_program program = make_program("");
    cl_kernel kernel = make_kernel(program, "spin");
    cl_mem buffer = make_buffer(items * 4);
    set_arguments(kernel, buffer, 10);
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, 0, &items, &group, 0, 0, 0));
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, 0, &items, &group, 0, 0, 0));
    if (strcmp(how, "through") == 0) {
        MUST(clFinish(queue));
    } else {
        cl_event before;
        MUST(clEnqueueMarkerWithWaitList(queue, 0, 0, &before));
        MUST(clWaitForEvents(1, &before));
        set_arguments(kernel, buffer, 40000000);
        MUST(clEnqueueNDRangeKernel(queue, kernel, 1, 0, &items, &group, 0, 0, 0));
        MUST(clFlush(queue));
    }
    puts("left");
    fflush(stdout);
    if (strcmp(how, "_exit") == 0)
        _exit(5);
    exit(strcmp(how, "return") == 0 ? 0 : 6);
}

int scenario_fork(void)
{
    open_device();
    uint32_t result[256] = {0};
    cl_command_queue queue = make_queue(0);
    cl_program program = make_program("");
    cl_kernel kernel = make_kernel(program, "add");
    cl_mem buffer = make_buffer(items * 4);
    set_arguments(kernel, buffer, 1);
    MUST(clEnqueueFillBuffer(queue, buffer, &(uint32_t){0}, 4, 0, items * 4, 0, 0, 0));
    for (int i = 0; i < 3; i++)
        MUST(clEnqueueNDRangeKernel(queue, kernel, 1, 0, &items, &group, 0, 0, 0));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        exit(3); /* runs exit handlers with the parent's commands in memory */
    int status = 0;
    waitpid(child, &status, 0);
    MUST(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof result, result, 0, 0, 0));
    printf("child %d, result %u\n", WEXITSTATUS(status), result[9]);
    return 0;
}

static void launch_some(const char *name, int launches)
{
    open_device();
    uint32_t result[256] = {0};
    cl_command_queue queue = make_queue(0);
    cl_kernel kernel = make_kernel(make_program(""), name);
    cl_mem buffer = make_buffer(items * 4);
    set_arguments(kernel, buffer, 1);
    MUST(clEnqueueFillBuffer(queue, buffer, &(uint32_t){0}, 4, 0, items * 4, 0, 0, 0));
    for (int i = 0; i < launches; i++)
        MUST(clEnqueueNDRangeKernel(queue, kernel, 1, 0, &items, &group, 0, 0, 0));
    MUST(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof result, result, 0, 0, 0));
    printf("%s: %u\n", name, result[9]);
    fflush(stdout);
}

int scenario_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        launch_some("add", 3);
        exit(4);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
    launch_some("twice", 2);
    return 0;
}

int scenario_parts(void)
{
    open_device();
    const cl_device_partition_property halves[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1, 1,
                                                   CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
    cl_device_id parts[2];
    cl_uint count = 0, value = 5, back[2] = {0, 0};
    cl_int error = clCreateSubDevices(device, halves, 2, parts, &count);
    if (error != CL_SUCCESS || count != 2) {
        puts("no parts");
        return 77;
    }
    cl_context both = clCreateContext(0, 2, parts, 0, 0, &error);
    MUST(error);
    for (int i = 0; i < 2; i++) {
        cl_command_queue queue = clCreateCommandQueue(both, parts[i], 0, &error);
        MUST(error);
        cl_mem buffer = clCreateBuffer(both, CL_MEM_READ_WRITE, 64, 0, &error);
        MUST(error);
        MUST(clEnqueueFillBuffer(queue, buffer, &value, 4, 0, 64, 0, 0, 0));
        MUST(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, 4, &back[i], 0, 0, 0));
        MUST(clReleaseCommandQueue(queue));
    }
    MUST(clReleaseDevice(parts[0]));
    MUST(clReleaseDevice(parts[1]));
    printf("parts %u %u\n", back[0], back[1]);
    return 0;
}

int scenario_slow(void)
{
    open_device();
    cl_command_queue queue = make_queue(0);
    cl_mem buffer = make_buffer(1024);
    const cl_uint value = 3;
    for (int i = 0; i < 30; i++) {
        MUST(clEnqueueFillBuffer(queue, buffer, &value, 4, 0, 1024, 0, 0, 0));
        MUST(clFinish(queue));
        usleep(20000);
    }
    puts("slow");
    return 0;
}

int scenario_order(void)
{
    open_device();
    cl_program program = make_program("");
    cl_kernel kernel = make_kernel(program, "add");
    cl_mem buffer = make_buffer(items * 4);
    set_arguments(kernel, buffer, 1);
    MUST(clReleaseProgram(program));
    for (int i = 0; i < 200; i++) {
        cl_event events[2] = {0, 0};
        cl_command_queue queue = make_queue(i % 2 ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
        MUST(clRetainCommandQueue(queue));
        MUST(clEnqueueNDRangeKernel(queue, kernel, 1, 0, &items, &group, 0, 0, i % 2 ? &events[1] : 0));
        MUST(clReleaseCommandQueue(queue));
        MUST(clEnqueueNDRangeKernel(queue, kernel, 1, 0, &items, &group, 0, 0, &events[0]));
        MUST(clReleaseCommandQueue(queue)); /* both may still run */
        MUST(clWaitForEvents(i % 2 ? 2 : 1, events));
        MUST(clReleaseEvent(events[0]));
        if (events[1])
            MUST(clReleaseEvent(events[1]));
    }
    MUST(clReleaseMemObject(buffer));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseContext(context));
    puts("order");
    return 0;
}

static long peak_kb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* Half with an event of the program's, half without; a wait each 1,000, as a program must bound what is under way. */
int scenario_many(long launches)
{
    open_device();
    cl_command_queue queue = make_queue(0);
    cl_program program = make_program("");
    cl_kernel kernel = make_kernel(program, "add");
    cl_mem buffer = make_buffer(64);
    set_arguments(kernel, buffer, 1);
    const size_t one = 1;
    long early = 0;
    for (long i = 0; i < launches; i++) {
        cl_event event = 0;
        MUST(clEnqueueNDRangeKernel(queue, kernel, 1, 0, &one, &one, 0, 0, i % 2 ? &event : 0));
        if (event)
            MUST(clReleaseEvent(event));
        if (i % 1000 == 999)
            MUST(clFinish(queue));
        if (i == launches / 10)
            early = peak_kb();
    }
    MUST(clFinish(queue));
    fprintf(stderr, "peak %ld kB after a tenth, %ld kB at the end\n", early, peak_kb());
    return 0;
}

int scenario_names(void)
{
    open_device();
    cl_int error;
    cl_uint count = 0;
    cl_command_queue queue = make_queue(0);
    cl_program program = make_program("");
    cl_kernel list[4], clone;
    cl_mem buffer = make_buffer(items * 4);
    MUST(clCreateKernelsInProgram(program, 4, list, &count));
    for (cl_uint i = 0; i < count; i++) {
        set_arguments(list[i], buffer, 1);
        MUST(clEnqueueNDRangeKernel(queue, list[i], 1, 0, &items, &group, 0, 0, 0));
    }
    clone = clCloneKernel(list[0], &error);
    if (error == CL_SUCCESS)
        MUST(clEnqueueNDRangeKernel(queue, clone, 1, 0, &items, &group, 0, 0, 0));
    MUST(clFinish(queue));
    printf("%u kernels, clone %d\n", count, error);
    return 0;
}
