/* SPDX-License-Identifier: MIT */
/* Where the host waits for devices, what it tells them by user events, and its own functions that runtimes call. */
#include "state.h"

#include <errno.h>

/* A callback of the program and what it wants to be given. */
struct event_notice {
    struct ocl_item item;
    ocl_event_notify notify;
    void *data;
};
static struct ocl_pool notices = {.item_bytes = sizeof(struct event_notice)};

static void end_sync(struct ocl_call *call, enum ocl_text what, const struct ocl_queue *queue, cl_int result)
{
    rt_field(&call->span, FIELD_DEVICE_SYNC_what, ocl_texts[what]);
    if (queue)
        rt_field(&call->span, FIELD_DEVICE_SYNC_stream, queue->id);
    if (result)
        rt_field(&call->span, FIELD_DEVICE_SYNC_result, (uint64_t)(int64_t)result);
    ocl_end(call);
}

cl_int ocl_clWaitForEvents(const struct ocl_api *api, cl_uint count, const cl_event *list)
{
    struct ocl_call call;
    ocl_begin(&call, OCL_FUNCTION_clWaitForEvents, SPAN_KIND_SYNC, PAYLOAD_DEVICE_SYNC);
    cl_int result = api->clWaitForEvents(count, list);
    if (!call.call.thread)
        return result;
    int saved_errno = errno;
    end_sync(&call, OCL_TEXT_EVENT, 0, result);
    for (cl_uint i = 0; list && i < count; i++)
        ocl_link(LINK_KIND_SYNC, ocl_event_id(list[i]), call.correlation);
    ocl_look_all();
    errno = saved_errno;
    return result;
}

#define PENDING 512

/* What the wait is over for: in order the last command stands for all before it. */
static uint32_t awaited(struct ocl_queue *queue, uint64_t *ids)
{
    if (queue->flags & OCL_IS_UNORDERED)
        return ocl_pending(queue, ids, PENDING);
    ids[0] = ocl_load(&queue->last);
    return ids[0] != 0;
}

cl_int ocl_clFinish(const struct ocl_api *api, cl_command_queue handle)
{
    struct ocl_call call;
    uint64_t ids[PENDING];
    ocl_begin(&call, OCL_FUNCTION_clFinish, SPAN_KIND_SYNC, PAYLOAD_DEVICE_SYNC);
    struct ocl_queue *queue = call.call.thread ? ocl_queue_find(handle) : 0;
    uint32_t count = queue ? awaited(queue, ids) : 0;
    cl_int result = api->clFinish(handle);
    if (!call.call.thread)
        return result;
    int saved_errno = errno;
    end_sync(&call, OCL_TEXT_QUEUE, queue, result);
    for (uint32_t i = 0; i < count && result == OCL_SUCCESS; i++)
        ocl_link(LINK_KIND_SYNC, ids[i], call.correlation);
    if (queue)
        ocl_look(queue, ~0u);
    errno = saved_errno;
    return result;
}

cl_int ocl_clFlush(const struct ocl_api *api, cl_command_queue handle)
{
    struct ocl_call call;
    ocl_begin(&call, OCL_FUNCTION_clFlush, SPAN_KIND_API, PAYLOAD_API);
    struct ocl_queue *queue = call.call.thread ? ocl_queue_find(handle) : 0;
    cl_int result = api->clFlush(handle);
    if (result)
        rt_field(&call.span, FIELD_API_result, (uint64_t)(int64_t)result);
    if (queue)
        rt_field(&call.span, FIELD_API_stream, queue->id);
    ocl_end(&call);
    return result;
}

/* The event stands for the call that will set it. */
cl_event ocl_clCreateUserEvent(const struct ocl_api *api, cl_context context, cl_int *ret_error)
{
    cl_event event = api->clCreateUserEvent(context, ret_error);
    if (event && ocl_ready())
        ocl_event_set(event, rt_correlation());
    return event;
}

cl_int ocl_clSetUserEventStatus(const struct ocl_api *api, cl_event event, cl_int status)
{
    struct ocl_call call;
    ocl_begin(&call, OCL_FUNCTION_clSetUserEventStatus, SPAN_KIND_API, PAYLOAD_API);
    uint64_t id = call.call.thread ? ocl_event_id(event) : 0;
    cl_int result = api->clSetUserEventStatus(event, status);
    if (id)
        call.span.correlation = id;
    if (result && call.call.thread)
        rt_field(&call.span, FIELD_API_result, (uint64_t)(int64_t)result);
    ocl_end(&call);
    return result;
}

static void event_notified(cl_event event, cl_int status, void *object)
{
    struct event_notice notice = *(struct event_notice *)object;
    ocl_pool_give(&notices, object);
    struct ocl_outer left = ocl_step_out();
    notice.notify(event, status, notice.data);
    ocl_step_back(left);
}

cl_int ocl_clSetEventCallback(const struct ocl_api *api, cl_event event, cl_int type, ocl_event_notify notify,
                              void *data)
{
    struct event_notice *notice = notify && ocl_ready() ? ocl_pool_take(&notices) : 0;
    if (!notice)
        return api->clSetEventCallback(event, type, notify, data);
    notice->notify = notify;
    notice->data = data;
    cl_int result = api->clSetEventCallback(event, type, event_notified, notice);
    if (result != OCL_SUCCESS)
        ocl_pool_give(&notices, notice);
    return result;
}
