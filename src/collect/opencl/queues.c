/* SPDX-License-Identifier: MIT */
/*
 * Devices and queues. A queue is made with profiling whether the program asks for it or not; what the program is told
 * of its queue, and of its events' times, is what it would be told without us.
 */
#include "state.h"

#include <errno.h>
#include <unistd.h>

#define DEVICES 256

extern int __cxa_atexit(void (*function)(void *), void *argument, void *library);

static struct ocl_device devices[DEVICES];
static uint32_t device_count, devices_busy;
static struct ocl_pool queues = {.item_bytes = sizeof(struct ocl_queue)};
static struct ocl_map queue_of;
static uint32_t leaving_asked;

static void leave(void *argument)
{
    (void)argument;
    int saved_errno = errno;
    ocl_leave_process();
    errno = saved_errno;
}

/* After the runtime has set up its own, so that ours runs before them: it may still be called then. */
static void ask_to_leave(void)
{
    if (!ocl_swap(&leaving_asked, 1u))
        __cxa_atexit(leave, 0, 0);
}

static uint32_t text_end(const char *text)
{
    uint32_t length = 0;
    while (text[length])
        length++;
    return length;
}

static void device_name(struct ocl_device *device)
{
    static const char part[] = " (sub-device)";
    const struct ocl_api *api = ocl_direct();
    cl_device_id parent = 0;
    char *text = device->text;
    const size_t room = sizeof device->text - sizeof part;
    if (api->clGetDeviceInfo(device->handle, OCL_DEVICE_NAME, room, text, 0) != OCL_SUCCESS)
        text[0] = 0;
    text[room - 1] = 0;
    device->text_length = text_end(text);
    if (api->clGetDeviceInfo(device->handle, OCL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, 0) == OCL_SUCCESS &&
        parent) {
        __builtin_memcpy(text + device->text_length, part, sizeof part);
        device->text_length += sizeof part - 1;
    }
    device->name = rt_string(text, device->text_length);
}

static struct ocl_device *device_make(cl_device_id handle)
{
    uint32_t count = ocl_load(&device_count);
    for (uint32_t i = 0; i < count; i++)
        if (devices[i].handle == handle)
            return &devices[i];
    if (count == DEVICES)
        return 0;
    struct ocl_device *device = &devices[count];
    device->handle = handle;
    device->number = (int32_t)count;
    device_name(device);
    ocl_clock_begin(device);
    ocl_store(&device_count, count + 1);
    return device;
}

struct ocl_device *ocl_device_find(cl_device_id handle)
{
    uint32_t count = ocl_load(&device_count);
    for (uint32_t i = 0; i < count; i++)
        if (devices[i].handle == handle)
            return &devices[i];
    while (ocl_swap(&devices_busy, 1u)) /* rare: a new device, met by two threads at once */
        __asm__ volatile("" ::: "memory");
    struct ocl_device *device = device_make(handle);
    ocl_store(&devices_busy, 0u);
    return device;
}

void ocl_forget_devices(void)
{
    ocl_store(&device_count, 0u);
    ocl_store(&devices_busy, 0u);
    for (unsigned i = 0; i < DEVICES; i++)
        devices[i] = (struct ocl_device){.handle = 0};
}

void ocl_flush_clocks(void)
{
    for (uint32_t i = 0; i < ocl_load(&device_count); i++)
        ocl_clock_flush(&devices[i]);
}

struct ocl_queue *ocl_queue_at(uint32_t number)
{
    return ocl_pool_at(&queues, number);
}

static void queue_name(struct ocl_queue *queue)
{
    char text[200], digits[12];
    uint32_t length = 0, count = 0, number = (uint32_t)queue->stream;
    for (const char *word = queue->flags & OCL_IS_DEVICE ? "device queue " : "queue "; *word; word++)
        text[length++] = *word;
    do {
        digits[count++] = (char)('0' + number % 10);
    } while (number /= 10);
    while (count)
        text[length++] = digits[--count];
    text[length++] = ' ';
    text[length++] = '(';
    for (uint32_t i = 0; i < queue->device->text_length; i++)
        text[length++] = queue->device->text[i];
    text[length++] = ')';
    queue->name = rt_string(text, length);
}

static struct ocl_queue *queue_make(cl_command_queue handle, cl_device_id device, uint32_t flags)
{
    struct ocl_device *known = ocl_device_find(device);
    struct ocl_queue *queue = known ? ocl_pool_take(&queues) : 0;
    if (!queue)
        return 0;
    struct ocl_item item = queue->item;
    *queue = (struct ocl_queue){.item = item, .flags = flags, .references = 1, .handle = handle, .device = known};
    queue->pid = ocl_pid = (int32_t)getpid();
    queue->id = rt_correlation();
    queue->stream = (int32_t)ocl_add(&known->queues, 1u);
    queue_name(queue);
    ocl_announce(queue);
    ocl_store(&queue->used, 1u);
    ocl_map_put(&queue_of, handle, (uintptr_t)queue);
    ask_to_leave();
    return queue;
}

#define GONE_HIDDEN 1u /* in place of a released queue whose profiling was ours: its events may live on */

static struct ocl_queue *known_queue(cl_command_queue handle)
{
    uint64_t value = ocl_map_get(&queue_of, handle);
    return value == GONE_HIDDEN ? 0 : (struct ocl_queue *)(uintptr_t)value;
}

static bool hidden_queue(cl_command_queue handle)
{
    uint64_t value = ocl_map_get(&queue_of, handle);
    return value == GONE_HIDDEN || (value && ((struct ocl_queue *)(uintptr_t)value)->flags & OCL_IS_HIDDEN);
}

/* A queue that came to be without us: by an extension, or before we were there. */
struct ocl_queue *ocl_queue_find(cl_command_queue handle)
{
    struct ocl_queue *queue = known_queue(handle);
    if (queue || !handle)
        return queue;
    const struct ocl_api *api = ocl_direct();
    cl_device_id device = 0;
    cl_bitfield properties = 0;
    if (!api->clGetCommandQueueInfo ||
        api->clGetCommandQueueInfo(handle, OCL_QUEUE_DEVICE, sizeof device, &device, 0) != OCL_SUCCESS ||
        api->clGetCommandQueueInfo(handle, OCL_QUEUE_PROPERTIES, sizeof properties, &properties, 0) != OCL_SUCCESS)
        return 0;
    return queue_make(handle, device,
                      (properties & OCL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE ? OCL_IS_UNORDERED : 0u) |
                          (properties & OCL_QUEUE_PROFILING_ENABLE ? 0u : OCL_IS_UNTIMED));
}

void ocl_queue_finished(struct ocl_queue *queue)
{
    if (ocl_load(&queue->references) > 0 || ocl_load(&queue->inbox) || ocl_load(&queue->head) ||
        ocl_swap(&queue->busy, 1u))
        return;
    uint32_t used = 1;
    if (ocl_change(&queue->used, &used, 0u))
        ocl_pool_give(&queues, queue);
    ocl_store(&queue->busy, 0u);
}

static uint32_t flags_of(cl_bitfield properties)
{
    uint32_t flags = properties & OCL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE ? OCL_IS_UNORDERED : 0u;
    if (properties & OCL_QUEUE_ON_DEVICE)
        return flags | OCL_IS_DEVICE | (properties & OCL_QUEUE_PROFILING_ENABLE ? 0u : OCL_IS_UNTIMED);
    return flags | (properties & OCL_QUEUE_PROFILING_ENABLE ? 0u : OCL_IS_HIDDEN);
}

static void end_api(struct ocl_call *call, cl_int error)
{
    if (error)
        rt_field(&call->span, FIELD_API_result, (uint64_t)(int64_t)error);
    ocl_end(call);
}

cl_command_queue ocl_clCreateCommandQueue(const struct ocl_api *api, cl_context context, cl_device_id device,
                                          cl_bitfield properties, cl_int *ret_error)
{
    struct ocl_call call;
    cl_int error = OCL_SUCCESS;
    ocl_begin(&call, OCL_FUNCTION_clCreateCommandQueue, SPAN_KIND_API, PAYLOAD_API);
    uint32_t flags = flags_of(properties);
    cl_bitfield asked = properties | (ocl_ready() && flags & OCL_IS_HIDDEN ? OCL_QUEUE_PROFILING_ENABLE : 0);
    cl_command_queue queue = api->clCreateCommandQueue(context, device, asked, &error);
    if (error != OCL_SUCCESS && asked != properties) {
        flags = (flags & ~(uint32_t)OCL_IS_HIDDEN) | OCL_IS_UNTIMED;
        queue = api->clCreateCommandQueue(context, device, properties, &error);
    }
    if (ret_error)
        *ret_error = error;
    end_api(&call, error);
    if (error == OCL_SUCCESS && ocl_ready())
        queue_make(queue, device, flags);
    return queue;
}

/* The program's list of pairs with profiling in it. False: there is nothing to change, or it is too long. */
static bool list_with_profiling(const cl_bitfield *list, cl_bitfield *out, uint32_t *ret_count, uint32_t *ret_flags)
{
    uint32_t count = 0, at = 0;
    for (; list && list[count]; count += 2) {
        if (count + 5 > OCL_PROPERTIES)
            return false;
        out[count] = list[count];
        out[count + 1] = list[count + 1];
        if (list[count] == OCL_QUEUE_PROPERTIES)
            at = count + 1;
    }
    *ret_count = list ? count + 1 : 0;
    *ret_flags = flags_of(at ? out[at] : 0);
    if (!at) {
        out[count] = OCL_QUEUE_PROPERTIES;
        out[count + 1] = 0;
        at = count + 1;
        count += 2;
    }
    out[at] |= OCL_QUEUE_PROFILING_ENABLE;
    out[count] = 0;
    return *ret_flags & OCL_IS_HIDDEN;
}

typedef cl_command_queue (*create_function)(cl_context, cl_device_id, const cl_bitfield *, cl_int *);

static cl_command_queue create_by_list(create_function create, cl_context context, cl_device_id device,
                                       const cl_bitfield *list, cl_int *ret_error)
{
    cl_bitfield changed[OCL_PROPERTIES];
    uint32_t count = 0, flags = OCL_IS_UNTIMED;
    bool change = ocl_ready() && list_with_profiling(list, changed, &count, &flags);
    cl_command_queue queue = create(context, device, change ? changed : list, ret_error);
    if (*ret_error != OCL_SUCCESS && change) {
        flags = (flags & ~(uint32_t)OCL_IS_HIDDEN) | OCL_IS_UNTIMED;
        queue = create(context, device, list, ret_error);
    }
    struct ocl_queue *made =
        *ret_error == OCL_SUCCESS && ocl_ready() ? queue_make(queue, device, flags | OCL_IS_ARRAY) : 0;
    if (made && list && count <= OCL_PROPERTIES)
        __builtin_memcpy(made->properties, list, count * sizeof *list);
    if (made)
        made->property_count = count;
    return queue;
}

cl_command_queue ocl_clCreateCommandQueueWithProperties(const struct ocl_api *api, cl_context context,
                                                        cl_device_id device, const cl_bitfield *properties,
                                                        cl_int *ret_error)
{
    struct ocl_call call;
    cl_int error = OCL_SUCCESS;
    ocl_begin(&call, OCL_FUNCTION_clCreateCommandQueueWithProperties, SPAN_KIND_API, PAYLOAD_API);
    cl_command_queue queue =
        create_by_list(api->clCreateCommandQueueWithProperties, context, device, properties, &error);
    if (ret_error)
        *ret_error = error;
    end_api(&call, error);
    return queue;
}

static create_function real_create_khr;

static bool same_text(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

cl_command_queue ocl_create_queue_khr(cl_context context, cl_device_id device, const cl_bitfield *properties,
                                      cl_int *ret_error)
{
    cl_int error = OCL_SUCCESS;
    cl_command_queue queue = create_by_list(real_create_khr, context, device, properties, &error);
    if (ret_error)
        *ret_error = error;
    return queue;
}

/* Extensions are the program's own affair but for the one that makes queues. */
void *ocl_extension(const char *name, void *found)
{
    create_function own = ocl_create_queue_khr;
    if (!found || !name || !ocl_ready() || !same_text(name, "clCreateCommandQueueWithPropertiesKHR"))
        return found;
    __builtin_memcpy(&real_create_khr, &found, sizeof found);
    __builtin_memcpy(&found, &own, sizeof found);
    return found;
}

void *ocl_clGetExtensionFunctionAddress(const struct ocl_api *api, const char *name)
{
    return ocl_extension(name, api->clGetExtensionFunctionAddress(name));
}

void *ocl_clGetExtensionFunctionAddressForPlatform(const struct ocl_api *api, cl_platform_id platform, const char *name)
{
    return ocl_extension(name, api->clGetExtensionFunctionAddressForPlatform(platform, name));
}

cl_int ocl_clRetainCommandQueue(const struct ocl_api *api, cl_command_queue handle)
{
    cl_int result = api->clRetainCommandQueue(handle);
    struct ocl_queue *queue = result == OCL_SUCCESS ? known_queue(handle) : 0;
    if (queue)
        ocl_add(&queue->references, 1);
    return result;
}

cl_int ocl_clReleaseCommandQueue(const struct ocl_api *api, cl_command_queue handle)
{
    struct ocl_call call;
    struct ocl_queue *queue = known_queue(handle);
    ocl_begin(&call, OCL_FUNCTION_clReleaseCommandQueue, SPAN_KIND_API, PAYLOAD_API);
    bool last = queue && ocl_add(&queue->references, -1) == 1;
    if (last)
        ocl_map_put(&queue_of, handle, queue->flags & OCL_IS_HIDDEN ? GONE_HIDDEN : 0);
    cl_int result = api->clReleaseCommandQueue(handle);
    end_api(&call, result);
    if (queue && !ocl_load(&ocl_off))
        ocl_look(queue, ~0u);
    if (last)
        ocl_queue_finished(queue);
    return result;
}

/* As the runtime would answer without us. */
static cl_int answer(size_t size, void *value, size_t *ret_size, const void *from, size_t bytes)
{
    if (value && size < bytes)
        return OCL_INVALID_VALUE;
    if (value)
        __builtin_memcpy(value, from, bytes);
    if (ret_size)
        *ret_size = bytes;
    return OCL_SUCCESS;
}

cl_int ocl_clGetCommandQueueInfo(const struct ocl_api *api, cl_command_queue handle, cl_uint what, size_t size,
                                 void *value, size_t *ret_size)
{
    struct ocl_queue *queue = known_queue(handle);
    size_t array_bytes = 0;
    cl_int result;
    if (queue && queue->flags & OCL_IS_HIDDEN && what == OCL_QUEUE_PROPERTIES_ARRAY && queue->flags & OCL_IS_ARRAY) {
        result =
            api->clGetCommandQueueInfo(handle, what, 0, 0, &array_bytes); /* whether it knows the question at all */
        size_t bytes = queue->property_count * sizeof queue->properties[0];
        return result == OCL_SUCCESS ? answer(size, value, ret_size, queue->properties, bytes) : result;
    }
    result = api->clGetCommandQueueInfo(handle, what, size, value, ret_size);
    if (result == OCL_SUCCESS && queue && queue->flags & OCL_IS_HIDDEN && what == OCL_QUEUE_PROPERTIES && value &&
        size >= sizeof(cl_bitfield)) {
        cl_bitfield properties;
        __builtin_memcpy(&properties, value, sizeof properties);
        properties &= ~(cl_bitfield)OCL_QUEUE_PROFILING_ENABLE;
        __builtin_memcpy(value, &properties, sizeof properties);
    }
    return result;
}

/* OpenCL 1.0's way to switch profiling: ours stays on, what the program sees changes. */
cl_int ocl_clSetCommandQueueProperty(const struct ocl_api *api, cl_command_queue handle, cl_bitfield properties,
                                     cl_bool enable, cl_bitfield *ret_old)
{
    struct ocl_queue *queue = known_queue(handle);
    cl_bitfield ours = OCL_QUEUE_PROFILING_ENABLE, handed = properties;
    bool hidden = queue && queue->flags & OCL_IS_HIDDEN;
    if (queue && !(queue->flags & OCL_IS_UNTIMED) && !enable)
        handed &= ~ours;
    cl_int result = api->clSetCommandQueueProperty(handle, handed, enable, ret_old);
    if (result != OCL_SUCCESS || !queue)
        return result;
    if (hidden && ret_old)
        *ret_old &= ~ours;
    if (properties & ours && !(queue->flags & OCL_IS_UNTIMED))
        queue->flags = enable ? queue->flags & ~(uint32_t)OCL_IS_HIDDEN : queue->flags | OCL_IS_HIDDEN;
    if (properties & OCL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
        queue->flags = enable ? queue->flags | OCL_IS_UNORDERED : queue->flags & ~(uint32_t)OCL_IS_UNORDERED;
    return result;
}

cl_int ocl_clGetEventProfilingInfo(const struct ocl_api *api, cl_event event, cl_uint what, size_t size, void *value,
                                   size_t *ret_size)
{
    cl_command_queue handle = 0;
    const struct ocl_api *direct = ocl_direct();
    if (direct->clGetEventInfo &&
        direct->clGetEventInfo(event, OCL_EVENT_COMMAND_QUEUE, sizeof handle, &handle, 0) == OCL_SUCCESS && handle &&
        hidden_queue(handle))
        return OCL_PROFILING_INFO_NOT_AVAILABLE;
    return api->clGetEventProfilingInfo(event, what, size, value, ret_size);
}
