/* SPDX-License-Identifier: MIT */
/* Kernels, native kernels, and what orders commands: markers and barriers. */
#include "state.h"

/* Work-groups and work-items of one. Where the program leaves the size to the runtime, neither is known. */
static void range_fields(struct ocl_enqueue *enqueue, cl_uint dimensions, const size_t *global, const size_t *local)
{
    if (!global || !local || dimensions < 1 || dimensions > 3)
        return;
    for (cl_uint i = 0; i < 3; i++) {
        size_t items = i < dimensions ? global[i] : 1, group = i < dimensions ? local[i] : 1;
        if (!group)
            return;
        ocl_enqueue_field(enqueue, FIELD_KERNEL_grid_x + i, items / group + (items % group != 0));
        ocl_enqueue_field(enqueue, FIELD_KERNEL_block_x + i, group);
    }
}

static void kernel_name(struct ocl_enqueue *enqueue, cl_kernel kernel)
{
    if (!enqueue->command)
        return;
    uint64_t value = ocl_kernel_value(kernel);
    if ((uint32_t)value)
        enqueue->command->name = (uint32_t)value;
    if (value >> 32)
        ocl_enqueue_field(enqueue, FIELD_KERNEL_object, value >> 32);
}

cl_int ocl_clEnqueueNDRangeKernel(const struct ocl_api *api, cl_command_queue queue, cl_kernel kernel,
                                  cl_uint dimensions, const size_t *offset, const size_t *global, const size_t *local,
                                  cl_uint count, const cl_event *list, cl_event *event)
{
    struct ocl_enqueue enqueue;
    ocl_enqueue_begin(&enqueue, api, OCL_FUNCTION_clEnqueueNDRangeKernel, queue, event, OCL_TEXT_KERNEL,
                      SPAN_KIND_KERNEL, PAYLOAD_KERNEL);
    cl_int result =
        api->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, list, enqueue.event);
    if (result == OCL_SUCCESS) {
        kernel_name(&enqueue, kernel);
        range_fields(&enqueue, dimensions, global, local);
    }
    return ocl_enqueue_end(&enqueue, result, 0, count, list);
}

cl_int ocl_clEnqueueTask(const struct ocl_api *api, cl_command_queue queue, cl_kernel kernel, cl_uint count,
                         const cl_event *list, cl_event *event)
{
    static const size_t one[3] = {1, 1, 1};
    struct ocl_enqueue enqueue;
    ocl_enqueue_begin(&enqueue, api, OCL_FUNCTION_clEnqueueTask, queue, event, OCL_TEXT_KERNEL, SPAN_KIND_KERNEL,
                      PAYLOAD_KERNEL);
    cl_int result = api->clEnqueueTask(queue, kernel, count, list, enqueue.event);
    if (result == OCL_SUCCESS) {
        kernel_name(&enqueue, kernel);
        range_fields(&enqueue, 1, one, one);
    }
    return ocl_enqueue_end(&enqueue, result, 0, count, list);
}

cl_int ocl_clEnqueueNativeKernel(const struct ocl_api *api, cl_command_queue queue, ocl_native function,
                                 void *arguments, size_t size, cl_uint memories, const cl_mem *list_of_memories,
                                 const void **places, cl_uint count, const cl_event *list, cl_event *event)
{
    struct ocl_enqueue enqueue;
    ocl_enqueue_begin(&enqueue, api, OCL_FUNCTION_clEnqueueNativeKernel, queue, event, OCL_TEXT_NATIVE_KERNEL,
                      SPAN_KIND_KERNEL, PAYLOAD_KERNEL);
    cl_int result = api->clEnqueueNativeKernel(queue, function, arguments, size, memories, list_of_memories, places,
                                               count, list, enqueue.event);
    return ocl_enqueue_end(&enqueue, result, 0, count, list);
}

static void sync_fields(struct ocl_enqueue *enqueue, enum ocl_text what)
{
    ocl_enqueue_field(enqueue, FIELD_DEVICE_SYNC_what, ocl_texts[what]);
}

/* Without an event it is an error of the program's: no event of ours may hide it. */
cl_int ocl_clEnqueueMarker(const struct ocl_api *api, cl_command_queue queue, cl_event *event)
{
    struct ocl_enqueue enqueue;
    ocl_enqueue_begin(&enqueue, api, OCL_FUNCTION_clEnqueueMarker, queue, event, OCL_TEXT_MARKER, SPAN_KIND_SYNC,
                      PAYLOAD_DEVICE_SYNC);
    sync_fields(&enqueue, OCL_TEXT_MARKER);
    return ocl_enqueue_end(&enqueue, api->clEnqueueMarker(queue, event), 0, 0, 0);
}

cl_int ocl_clEnqueueMarkerWithWaitList(const struct ocl_api *api, cl_command_queue queue, cl_uint count,
                                       const cl_event *list, cl_event *event)
{
    struct ocl_enqueue enqueue;
    ocl_enqueue_begin(&enqueue, api, OCL_FUNCTION_clEnqueueMarkerWithWaitList, queue, event, OCL_TEXT_MARKER,
                      SPAN_KIND_SYNC, PAYLOAD_DEVICE_SYNC);
    sync_fields(&enqueue, OCL_TEXT_MARKER);
    return ocl_enqueue_end(&enqueue, api->clEnqueueMarkerWithWaitList(queue, count, list, enqueue.event), 0, count,
                           list);
}

cl_int ocl_clEnqueueBarrierWithWaitList(const struct ocl_api *api, cl_command_queue queue, cl_uint count,
                                        const cl_event *list, cl_event *event)
{
    struct ocl_enqueue enqueue;
    ocl_enqueue_begin(&enqueue, api, OCL_FUNCTION_clEnqueueBarrierWithWaitList, queue, event, OCL_TEXT_BARRIER,
                      SPAN_KIND_SYNC, PAYLOAD_DEVICE_SYNC);
    sync_fields(&enqueue, OCL_TEXT_BARRIER);
    return ocl_enqueue_end(&enqueue, api->clEnqueueBarrierWithWaitList(queue, count, list, enqueue.event), 0, count,
                           list);
}

/* OpenCL 1.0's forms make no event: the calls are recorded, and what comes next waits for the list. */
static cl_int end_ordering(struct ocl_call *call, cl_int result)
{
    if (result)
        rt_field(&call->span, FIELD_API_result, (uint64_t)(int64_t)result);
    ocl_end(call);
    return result;
}

cl_int ocl_clEnqueueWaitForEvents(const struct ocl_api *api, cl_command_queue queue, cl_uint count,
                                  const cl_event *list)
{
    struct ocl_call call;
    ocl_begin(&call, OCL_FUNCTION_clEnqueueWaitForEvents, SPAN_KIND_API, PAYLOAD_API);
    struct ocl_queue *known = call.call.thread ? ocl_queue_find(queue) : 0;
    cl_int result = api->clEnqueueWaitForEvents(queue, count, list);
    for (cl_uint i = 0; known && result == OCL_SUCCESS && list && i < count; i++) {
        uint64_t id = ocl_event_id(list[i]);
        uint32_t place = ocl_load(&known->waiting_count);
        if (id && place < OCL_RECENT) {
            known->waiting[place] = id;
            ocl_store(&known->waiting_count, place + 1);
        }
    }
    return end_ordering(&call, result);
}

cl_int ocl_clEnqueueBarrier(const struct ocl_api *api, cl_command_queue queue)
{
    struct ocl_call call;
    ocl_begin(&call, OCL_FUNCTION_clEnqueueBarrier, SPAN_KIND_API, PAYLOAD_API);
    return end_ordering(&call, api->clEnqueueBarrier(queue));
}
