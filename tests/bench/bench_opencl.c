/* SPDX-License-Identifier: MIT */
/*
 * What one OpenCL enqueue costs the program, bare and under hprofiler, in turns:
 *
 *     bench_opencl HPROFILER [ROUNDS]
 *
 * Each round starts this program twice. It launches an empty kernel and waits after each 1,000; the CPU time of the
 * launching thread over launches and waits, divided by the launches, is its result: what we add shows there wherever we
 * do it. "own" asks for no event, so that we take one of our own; "program" asks for one and releases it.
 */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LAUNCHES 50000
#define BETWEEN_WAITS 1000
#define ROUNDS_MAXIMUM 100

static double now_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static cl_context context;
static cl_command_queue queue;
static cl_kernel kernel;

static int prepare(void)
{
    static const char *text = "__kernel void empty(void) {}";
    cl_platform_id platform;
    cl_device_id device;
    cl_int error = clGetPlatformIDs(1, &platform, 0);
    if (!error)
        error = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, 0);
    if (!error)
        context = clCreateContext(0, 1, &device, 0, 0, &error);
    if (!error)
        queue = clCreateCommandQueue(context, device, 0, &error);
    cl_program program = error ? 0 : clCreateProgramWithSource(context, 1, &text, 0, &error);
    if (!error)
        error = clBuildProgram(program, 1, &device, "", 0, 0);
    if (!error)
        kernel = clCreateKernel(program, "empty", &error);
    return error;
}

static double launch_ns(int with_event)
{
    const size_t one = 1;
    double begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < LAUNCHES; i++) {
        cl_event event = 0;
        clEnqueueNDRangeKernel(queue, kernel, 1, 0, &one, &one, 0, 0, with_event ? &event : 0);
        if (event)
            clReleaseEvent(event);
        if (i % BETWEEN_WAITS == BETWEEN_WAITS - 1)
            clFinish(queue);
    }
    return (now_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / LAUNCHES;
}

static int measure(void)
{
    if (prepare())
        return 77;
    launch_ns(0);
    printf("%f %f\n", launch_ns(0), launch_ns(1));
    return 0;
}

/* Runs a command and reads its two numbers. */
static int run(const char *command, double ret_ns[2])
{
    FILE *output = popen(command, "r");
    int read = output ? fscanf(output, "%lf %lf", &ret_ns[0], &ret_ns[1]) : 0;
    return output && pclose(output) == 0 && read == 2;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, ascending);
    return values[count / 2];
}

int main(int count, char **arguments)
{
    static double bare[2][ROUNDS_MAXIMUM], ours[2][ROUNDS_MAXIMUM];
    if (count == 2 && strcmp(arguments[1], "--measure") == 0)
        return measure();
    int rounds = count > 2 ? atoi(arguments[2]) : 11;
    if (count < 2 || rounds < 1 || rounds > ROUNDS_MAXIMUM) {
        fputs("usage: bench_opencl HPROFILER [ROUNDS]\n", stderr);
        return 2;
    }
    char own[4096], plain[8192], profiled[16384];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length < 0 ? 0 : length] = 0;
    snprintf(plain, sizeof plain, "'%s' --measure", own);
    snprintf(profiled, sizeof profiled, "'%s' run -b opencl --no-summary -o /tmp/bench_opencl-%d.hpt -- %s 2>/dev/null",
             arguments[1], (int)getpid(), plain);
    for (int i = 0; i < rounds; i++) {
        double a[2], b[2];
        if (!run(plain, a) || !run(profiled, b)) {
            fputs("bench_opencl: no OpenCL device, or a run failed\n", stderr);
            return 1;
        }
        for (int which = 0; which < 2; which++) {
            bare[which][i] = a[which];
            ours[which][i] = b[which];
        }
    }
    snprintf(plain, sizeof plain, "/tmp/bench_opencl-%d.hpt", (int)getpid());
    unlink(plain);
    printf("%-8s %10s %10s %10s   ns of the launching thread's CPU time per launch, median of %d\n", "event", "bare",
           "profiled", "added", rounds);
    for (int which = 0; which < 2; which++) {
        double without = median(bare[which], rounds), with = median(ours[which], rounds);
        printf("%-8s %10.0f %10.0f %10.0f\n", which ? "program" : "own", without, with, with - without);
    }
    return 0;
}
