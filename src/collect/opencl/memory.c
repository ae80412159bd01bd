/* SPDX-License-Identifier: MIT */
/* Platforms, contexts, and memory made and freed. */
#include "state.h"

#include <errno.h>

static void end_api(struct ocl_call *call, cl_int error)
{
    if (error)
        rt_field(&call->span, FIELD_API_result, (uint64_t)(int64_t)error);
    ocl_end(call);
}

cl_int ocl_clGetPlatformIDs(const struct ocl_api *api, cl_uint count, cl_platform_id *platforms, cl_uint *ret_count)
{
    struct ocl_call call;
    ocl_begin(&call, OCL_FUNCTION_clGetPlatformIDs, SPAN_KIND_INIT, PAYLOAD_API);
    cl_int result = api->clGetPlatformIDs(count, platforms, ret_count);
    end_api(&call, result);
    return result;
}

cl_int ocl_clGetDeviceIDs(const struct ocl_api *api, cl_platform_id platform, cl_bitfield type, cl_uint count,
                          cl_device_id *devices, cl_uint *ret_count)
{
    struct ocl_call call;
    ocl_begin(&call, OCL_FUNCTION_clGetDeviceIDs, SPAN_KIND_INIT, PAYLOAD_API);
    cl_int result = api->clGetDeviceIDs(platform, type, count, devices, ret_count);
    end_api(&call, result);
    return result;
}

cl_context ocl_clCreateContext(const struct ocl_api *api, const intptr_t *properties, cl_uint count,
                               const cl_device_id *devices, ocl_context_notify notify, void *data, cl_int *ret_error)
{
    struct ocl_call call;
    cl_int error = OCL_SUCCESS;
    ocl_begin(&call, OCL_FUNCTION_clCreateContext, SPAN_KIND_INIT, PAYLOAD_API);
    cl_context context = api->clCreateContext(properties, count, devices, notify, data, &error);
    if (ret_error)
        *ret_error = error;
    end_api(&call, error);
    return context;
}

cl_context ocl_clCreateContextFromType(const struct ocl_api *api, const intptr_t *properties, cl_bitfield type,
                                       ocl_context_notify notify, void *data, cl_int *ret_error)
{
    struct ocl_call call;
    cl_int error = OCL_SUCCESS;
    ocl_begin(&call, OCL_FUNCTION_clCreateContextFromType, SPAN_KIND_INIT, PAYLOAD_API);
    cl_context context = api->clCreateContextFromType(properties, type, notify, data, &error);
    if (ret_error)
        *ret_error = error;
    end_api(&call, error);
    return context;
}

/* Events that we hold keep their contexts alive: let go of what is through. */
cl_int ocl_clReleaseContext(const struct ocl_api *api, cl_context context)
{
    struct ocl_call call;
    ocl_begin(&call, OCL_FUNCTION_clReleaseContext, SPAN_KIND_API, PAYLOAD_API);
    cl_int result = api->clReleaseContext(context);
    end_api(&call, result);
    if (call.call.thread) {
        int saved_errno = errno;
        ocl_look_all();
        errno = saved_errno;
    }
    return result;
}

static enum ocl_text memory_kind(cl_bitfield flags)
{
    if (flags & OCL_MEM_USE_HOST_PTR)
        return OCL_TEXT_HOST;
    return flags & OCL_MEM_ALLOC_HOST_PTR ? OCL_TEXT_PINNED : OCL_TEXT_DEVICE;
}

static void end_alloc(struct ocl_call *call, const void *address, uint64_t bytes, enum ocl_text memory,
                      const void *context, cl_int error)
{
    if (address)
        rt_field(&call->span, FIELD_ALLOC_address, (uintptr_t)address);
    if (bytes)
        rt_field(&call->span, FIELD_ALLOC_bytes, bytes);
    rt_field(&call->span, FIELD_ALLOC_memory, ocl_texts[memory]);
    if (context)
        rt_field(&call->span, FIELD_ALLOC_context, (uintptr_t)context);
    if (error)
        rt_field(&call->span, FIELD_ALLOC_result, (uint64_t)(int64_t)error);
    ocl_end(call);
}

/* Of a new object, as the runtime counts them. */
static uint64_t size_of(const struct ocl_api *api, const struct ocl_call *call, cl_mem memory)
{
    size_t size = 0;
    if (!call->call.thread || !memory || !api->clGetMemObjectInfo ||
        api->clGetMemObjectInfo(memory, OCL_MEM_SIZE, sizeof size, &size, 0) != OCL_SUCCESS)
        return 0;
    return size;
}

static cl_mem end_image(const struct ocl_api *api, struct ocl_call *call, cl_mem image, cl_bitfield flags,
                        cl_context context, cl_int error, cl_int *ret_error)
{
    if (ret_error)
        *ret_error = error;
    end_alloc(call, image, size_of(api, call, image), memory_kind(flags), context, error);
    return image;
}

#define BEGIN(function) ocl_begin(&call, OCL_FUNCTION_##function, SPAN_KIND_ALLOC, PAYLOAD_ALLOC)

cl_mem ocl_clCreateBuffer(const struct ocl_api *api, cl_context context, cl_bitfield flags, size_t size, void *host,
                          cl_int *ret_error)
{
    struct ocl_call call;
    cl_int error = OCL_SUCCESS;
    BEGIN(clCreateBuffer);
    cl_mem buffer = api->clCreateBuffer(context, flags, size, host, &error);
    if (ret_error)
        *ret_error = error;
    end_alloc(&call, buffer, size, memory_kind(flags), context, error);
    return buffer;
}

cl_mem ocl_clCreateBufferWithProperties(const struct ocl_api *api, cl_context context, const cl_bitfield *properties,
                                        cl_bitfield flags, size_t size, void *host, cl_int *ret_error)
{
    struct ocl_call call;
    cl_int error = OCL_SUCCESS;
    BEGIN(clCreateBufferWithProperties);
    cl_mem buffer = api->clCreateBufferWithProperties(context, properties, flags, size, host, &error);
    if (ret_error)
        *ret_error = error;
    end_alloc(&call, buffer, size, memory_kind(flags), context, error);
    return buffer;
}

cl_mem ocl_clCreateImage2D(const struct ocl_api *api, cl_context context, cl_bitfield flags,
                           const cl_image_format *format, size_t width, size_t height, size_t pitch, void *host,
                           cl_int *ret_error)
{
    struct ocl_call call;
    cl_int error = OCL_SUCCESS;
    BEGIN(clCreateImage2D);
    cl_mem image = api->clCreateImage2D(context, flags, format, width, height, pitch, host, &error);
    return end_image(api, &call, image, flags, context, error, ret_error);
}

cl_mem ocl_clCreateImage3D(const struct ocl_api *api, cl_context context, cl_bitfield flags,
                           const cl_image_format *format, size_t width, size_t height, size_t depth, size_t pitch,
                           size_t slice, void *host, cl_int *ret_error)
{
    struct ocl_call call;
    cl_int error = OCL_SUCCESS;
    BEGIN(clCreateImage3D);
    cl_mem image = api->clCreateImage3D(context, flags, format, width, height, depth, pitch, slice, host, &error);
    return end_image(api, &call, image, flags, context, error, ret_error);
}

cl_mem ocl_clCreateImage(const struct ocl_api *api, cl_context context, cl_bitfield flags,
                         const cl_image_format *format, const cl_image_desc *description, void *host, cl_int *ret_error)
{
    struct ocl_call call;
    cl_int error = OCL_SUCCESS;
    BEGIN(clCreateImage);
    cl_mem image = api->clCreateImage(context, flags, format, description, host, &error);
    return end_image(api, &call, image, flags, context, error, ret_error);
}

cl_mem ocl_clCreateImageWithProperties(const struct ocl_api *api, cl_context context, const cl_bitfield *properties,
                                       cl_bitfield flags, const cl_image_format *format,
                                       const cl_image_desc *description, void *host, cl_int *ret_error)
{
    struct ocl_call call;
    cl_int error = OCL_SUCCESS;
    BEGIN(clCreateImageWithProperties);
    cl_mem image = api->clCreateImageWithProperties(context, properties, flags, format, description, host, &error);
    return end_image(api, &call, image, flags, context, error, ret_error);
}

/* Some runtimes let a held event keep its buffers: let go of what is through before memory is to be freed. */
cl_int ocl_clReleaseMemObject(const struct ocl_api *api, cl_mem memory)
{
    struct ocl_call call;
    int saved_errno = errno;
    BEGIN(clReleaseMemObject);
    if (call.call.thread)
        ocl_look_all();
    errno = saved_errno;
    cl_int result = api->clReleaseMemObject(memory);
    end_alloc(&call, memory, 0, OCL_TEXT_DEVICE, 0, result);
    return result;
}

void *ocl_clSVMAlloc(const struct ocl_api *api, cl_context context, cl_bitfield flags, size_t size, cl_uint alignment)
{
    struct ocl_call call;
    BEGIN(clSVMAlloc);
    void *memory = api->clSVMAlloc(context, flags, size, alignment);
    end_alloc(&call, memory, size, OCL_TEXT_SVM, context, OCL_SUCCESS);
    return memory;
}

void ocl_clSVMFree(const struct ocl_api *api, cl_context context, void *memory)
{
    struct ocl_call call;
    BEGIN(clSVMFree);
    api->clSVMFree(context, memory);
    end_alloc(&call, memory, 0, OCL_TEXT_SVM, context, OCL_SUCCESS);
}
