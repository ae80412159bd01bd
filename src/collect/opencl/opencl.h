/* SPDX-License-Identifier: MIT */
/*
 * The OpenCL ABI as far as we use it, in our own words: types, numbers and the table of functions. abi_check.c compares all of it with
 * CL/cl.h and CL/cl_icd.h where they are installed.
 */
#ifndef HP_COLLECT_OPENCL_OPENCL_H
#define HP_COLLECT_OPENCL_OPENCL_H

#include <stddef.h>
#include <stdint.h>

typedef int32_t cl_int;
typedef uint32_t cl_uint, cl_bool;
typedef uint64_t cl_ulong, cl_bitfield;
typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_program *cl_program;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_event *cl_event;
#ifndef OCL_HAS_HEADERS
typedef struct cl_image_format cl_image_format;
typedef struct cl_image_desc cl_image_desc;
#endif

typedef void (*ocl_context_notify)(const char *, const void *, size_t, void *);
typedef void (*ocl_program_notify)(cl_program, void *);
typedef void (*ocl_event_notify)(cl_event, cl_int, void *);
typedef void (*ocl_native)(void *);
typedef void (*ocl_free_notify)(cl_command_queue, cl_uint, void **, void *);

/* OCL(name without CL_, number): for the enum and for the comparison with the headers. */
#define OCL_NUMBERS                                                                                                    \
    OCL(SUCCESS, 0)                                                                                                    \
    OCL(PROFILING_INFO_NOT_AVAILABLE, -7)                                                                              \
    OCL(INVALID_VALUE, -30)                                                                                            \
    OCL(INVALID_QUEUE_PROPERTIES, -35)                                                                                 \
    OCL(INVALID_OPERATION, -59)                                                                                        \
    OCL(COMPLETE, 0)                                                                                                   \
    OCL(DEVICE_NAME, 0x102B)                                                                                           \
    OCL(DEVICE_PARENT_DEVICE, 0x1042)                                                                                  \
    OCL(QUEUE_CONTEXT, 0x1090)                                                                                         \
    OCL(QUEUE_DEVICE, 0x1091)                                                                                          \
    OCL(QUEUE_PROPERTIES, 0x1093)                                                                                      \
    OCL(QUEUE_PROPERTIES_ARRAY, 0x1098)                                                                                \
    OCL(QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 1)                                                                        \
    OCL(QUEUE_PROFILING_ENABLE, 2)                                                                                     \
    OCL(QUEUE_ON_DEVICE, 4)                                                                                            \
    OCL(MEM_USE_HOST_PTR, 8)                                                                                           \
    OCL(MEM_ALLOC_HOST_PTR, 16)                                                                                        \
    OCL(MEM_SIZE, 0x1102)                                                                                              \
    OCL(MEM_REFERENCE_COUNT, 0x1105)                                                                                   \
    OCL(MEM_ASSOCIATED_MEMOBJECT, 0x1107)                                                                              \
    OCL(IMAGE_ELEMENT_SIZE, 0x1111)                                                                                    \
    OCL(MAP_WRITE_INVALIDATE_REGION, 4)                                                                                \
    OCL(MIGRATE_MEM_OBJECT_HOST, 1)                                                                                    \
    OCL(PROGRAM_NUM_DEVICES, 0x1162)                                                                                   \
    OCL(PROGRAM_DEVICES, 0x1163)                                                                                       \
    OCL(PROGRAM_BINARY_SIZES, 0x1165)                                                                                  \
    OCL(PROGRAM_BINARIES, 0x1166)                                                                                      \
    OCL(PROGRAM_BUILD_STATUS, 0x1181)                                                                                  \
    OCL(KERNEL_FUNCTION_NAME, 0x1190)                                                                                  \
    OCL(KERNEL_PROGRAM, 0x1194)                                                                                        \
    OCL(EVENT_COMMAND_QUEUE, 0x11D0)                                                                                   \
    OCL(EVENT_COMMAND_EXECUTION_STATUS, 0x11D3)                                                                        \
    OCL(PROFILING_COMMAND_QUEUED, 0x1280)                                                                              \
    OCL(PROFILING_COMMAND_SUBMIT, 0x1281)                                                                              \
    OCL(PROFILING_COMMAND_START, 0x1282)                                                                               \
    OCL(PROFILING_COMMAND_END, 0x1283)

enum ocl_number {
#define OCL(name, number) OCL_##name = (number),
    OCL_NUMBERS
#undef OCL
};
#define OCL_LAYER_API_VERSION 0x4240 /* CL/cl_layer.h */
#define OCL_LAYER_NAME 0x4241
#define OCL_LAYER_VERSION_100 100u

#define OCL_DISPATCH_MAXIMUM 512 /* entries of a loader's table that we can carry */

/* Real functions: of the loader or the vendor's library (preload), or of the next layer. NULL: it has none. */
struct ocl_api {
#define WRAP(index, returns, name, missing, params, args) returns(*name) params;
#define WRAP_NOTHING(index, name, params, args) void(*name) params;
#define CALL(index, returns, name, params) returns(*name) params;
#include "wrappers.def"
};

/* Numbers of the wrapped functions: their names' string ids stand in ocl_names. */
enum ocl_function {
#define WRAP(index, returns, name, missing, params, args) OCL_FUNCTION_##name,
#define WRAP_NOTHING(index, name, params, args) OCL_FUNCTION_##name,
#include "wrappers.def"
    OCL_FUNCTION_COUNT
};

/* The wrappers: each gets the table by which the program's call goes on. */
#define OCL_UNPACK(...) __VA_ARGS__
#define WRAP(index, returns, name, missing, params, args) returns ocl_##name(const struct ocl_api *api, OCL_UNPACK params);
#define WRAP_NOTHING(index, name, params, args) void ocl_##name(const struct ocl_api *api, OCL_UNPACK params);
#include "wrappers.def"

#endif
