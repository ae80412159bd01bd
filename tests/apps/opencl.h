/* SPDX-License-Identifier: MIT */
/* Shared by the parts of opencl_target: one device, one context, and calls that end the program when they fail. */
#ifndef HP_TESTS_APPS_OPENCL_H
#define HP_TESTS_APPS_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>

extern cl_platform_id platform;
extern cl_device_id device;
extern cl_context context;

#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        cl_int must_result = (call);                                                                                   \
        if (must_result != CL_SUCCESS) {                                                                               \
            printf("%s:%d: %s = %d\n", __FILE__, __LINE__, #call, must_result);                                        \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

void open_device(void);
cl_command_queue make_queue(cl_command_queue_properties properties);
cl_program make_program(const char *options);
cl_kernel make_kernel(cl_program program, const char *name);
cl_mem make_buffer(size_t bytes);
/* kernel(buffer, count) with arguments set */
void set_arguments(cl_kernel kernel, cl_mem buffer, cl_uint number);

int scenario_each(void);      /* every kind of command, a known number of times */
int scenario_sees(void);      /* what the program is told of its queues and events */
int scenario_unordered(void); /* an out-of-order queue, wait lists, barriers, user events */
int scenario_builds(void);    /* builds, failing ones, asynchronous ones, compile and link */
int scenario_callback(void);  /* OpenCL inside an event callback */
int scenario_threads(int threads, int launches);
int scenario_left(const char *how); /* work in flight at the end: return, exit, _exit */
int scenario_fork(void);
int scenario_child(void);             /* a child of fork uses OpenCL, then its parent */
int scenario_parts(void);             /* queues on two sub-devices */
int scenario_slow(void);              /* 30 commands, each waited for, in 0.6 s */
int scenario_order(void);         /* releases in an odd order, many queues made and released */
int scenario_many(long launches); /* a long run without waits: prints peak memory on stderr */
int scenario_names(void);         /* kernels by every way to get them */

#endif
