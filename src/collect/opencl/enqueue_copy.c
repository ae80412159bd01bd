/* SPDX-License-Identifier: MIT */
/* Reads, writes, copies and fills of buffers and images. */
#include "state.h"

static uint64_t handle_of(const void *handle)
{
    return (uintptr_t)handle;
}

static uint64_t volume(const size_t *region)
{
    return region ? (uint64_t)region[0] * region[1] * region[2] : 0;
}

/* Of a region of an image; 0 = unknown. */
static uint64_t image_bytes(const struct ocl_enqueue *enqueue, cl_mem image, const size_t *region)
{
    size_t element = 0;
    if (!enqueue->command || !enqueue->table->clGetImageInfo ||
        enqueue->table->clGetImageInfo(image, OCL_IMAGE_ELEMENT_SIZE, sizeof element, &element, 0) != OCL_SUCCESS)
        return 0;
    return volume(region) * element;
}

static void copy_fields(struct ocl_enqueue *enqueue, enum ocl_text direction, uint64_t bytes, const void *from,
                        const void *to)
{
    ocl_enqueue_field(enqueue, FIELD_COPY_direction, ocl_texts[direction]);
    if (bytes)
        ocl_enqueue_field(enqueue, FIELD_COPY_bytes, bytes);
    ocl_enqueue_field(enqueue, FIELD_COPY_source, handle_of(from));
    ocl_enqueue_field(enqueue, FIELD_COPY_destination, handle_of(to));
}

#define BEGIN(function, name, kind)                                                                                    \
    ocl_enqueue_begin(&enqueue, api, OCL_FUNCTION_##function, queue, event, OCL_TEXT_##name, SPAN_KIND_##kind,         \
                      PAYLOAD_##kind)

cl_int ocl_clEnqueueReadBuffer(const struct ocl_api *api, cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                               size_t offset, size_t size, void *host, cl_uint count, const cl_event *list,
                               cl_event *event)
{
    struct ocl_enqueue enqueue;
    BEGIN(clEnqueueReadBuffer, READ_BUFFER, COPY);
    copy_fields(&enqueue, OCL_TEXT_READ, size, buffer, host);
    ocl_enqueue_field(&enqueue, FIELD_COPY_source_offset, offset);
    cl_int result = api->clEnqueueReadBuffer(queue, buffer, blocking, offset, size, host, count, list, enqueue.event);
    return ocl_enqueue_end(&enqueue, result, blocking, count, list);
}

cl_int ocl_clEnqueueWriteBuffer(const struct ocl_api *api, cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                size_t offset, size_t size, const void *host, cl_uint count, const cl_event *list,
                                cl_event *event)
{
    struct ocl_enqueue enqueue;
    BEGIN(clEnqueueWriteBuffer, WRITE_BUFFER, COPY);
    copy_fields(&enqueue, OCL_TEXT_WRITE, size, host, buffer);
    ocl_enqueue_field(&enqueue, FIELD_COPY_destination_offset, offset);
    cl_int result = api->clEnqueueWriteBuffer(queue, buffer, blocking, offset, size, host, count, list, enqueue.event);
    return ocl_enqueue_end(&enqueue, result, blocking, count, list);
}

cl_int ocl_clEnqueueCopyBuffer(const struct ocl_api *api, cl_command_queue queue, cl_mem from, cl_mem to,
                               size_t from_offset, size_t to_offset, size_t size, cl_uint count, const cl_event *list,
                               cl_event *event)
{
    struct ocl_enqueue enqueue;
    BEGIN(clEnqueueCopyBuffer, COPY_BUFFER, COPY);
    copy_fields(&enqueue, OCL_TEXT_INSIDE, size, from, to);
    ocl_enqueue_field(&enqueue, FIELD_COPY_source_offset, from_offset);
    ocl_enqueue_field(&enqueue, FIELD_COPY_destination_offset, to_offset);
    cl_int result = api->clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, size, count, list, enqueue.event);
    return ocl_enqueue_end(&enqueue, result, 0, count, list);
}

cl_int ocl_clEnqueueReadBufferRect(const struct ocl_api *api, cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                   const size_t *origin, const size_t *host_origin, const size_t *region, size_t pitch,
                                   size_t slice, size_t host_pitch, size_t host_slice, void *host, cl_uint count,
                                   const cl_event *list, cl_event *event)
{
    struct ocl_enqueue enqueue;
    BEGIN(clEnqueueReadBufferRect, READ_BUFFER, COPY);
    copy_fields(&enqueue, OCL_TEXT_READ, volume(region), buffer, host);
    cl_int result = api->clEnqueueReadBufferRect(queue, buffer, blocking, origin, host_origin, region, pitch, slice,
                                                 host_pitch, host_slice, host, count, list, enqueue.event);
    return ocl_enqueue_end(&enqueue, result, blocking, count, list);
}

cl_int ocl_clEnqueueWriteBufferRect(const struct ocl_api *api, cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                    const size_t *origin, const size_t *host_origin, const size_t *region, size_t pitch,
                                    size_t slice, size_t host_pitch, size_t host_slice, const void *host, cl_uint count,
                                    const cl_event *list, cl_event *event)
{
    struct ocl_enqueue enqueue;
    BEGIN(clEnqueueWriteBufferRect, WRITE_BUFFER, COPY);
    copy_fields(&enqueue, OCL_TEXT_WRITE, volume(region), host, buffer);
    cl_int result = api->clEnqueueWriteBufferRect(queue, buffer, blocking, origin, host_origin, region, pitch, slice,
                                                  host_pitch, host_slice, host, count, list, enqueue.event);
    return ocl_enqueue_end(&enqueue, result, blocking, count, list);
}

cl_int ocl_clEnqueueCopyBufferRect(const struct ocl_api *api, cl_command_queue queue, cl_mem from, cl_mem to,
                                   const size_t *from_origin, const size_t *to_origin, const size_t *region,
                                   size_t from_pitch, size_t from_slice, size_t to_pitch, size_t to_slice,
                                   cl_uint count, const cl_event *list, cl_event *event)
{
    struct ocl_enqueue enqueue;
    BEGIN(clEnqueueCopyBufferRect, COPY_BUFFER, COPY);
    copy_fields(&enqueue, OCL_TEXT_INSIDE, volume(region), from, to);
    cl_int result = api->clEnqueueCopyBufferRect(queue, from, to, from_origin, to_origin, region, from_pitch,
                                                 from_slice, to_pitch, to_slice, count, list, enqueue.event);
    return ocl_enqueue_end(&enqueue, result, 0, count, list);
}

cl_int ocl_clEnqueueReadImage(const struct ocl_api *api, cl_command_queue queue, cl_mem image, cl_bool blocking,
                              const size_t *origin, const size_t *region, size_t pitch, size_t slice, void *host,
                              cl_uint count, const cl_event *list, cl_event *event)
{
    struct ocl_enqueue enqueue;
    BEGIN(clEnqueueReadImage, READ_IMAGE, COPY);
    copy_fields(&enqueue, OCL_TEXT_READ, image_bytes(&enqueue, image, region), image, host);
    cl_int result =
        api->clEnqueueReadImage(queue, image, blocking, origin, region, pitch, slice, host, count, list, enqueue.event);
    return ocl_enqueue_end(&enqueue, result, blocking, count, list);
}

cl_int ocl_clEnqueueWriteImage(const struct ocl_api *api, cl_command_queue queue, cl_mem image, cl_bool blocking,
                               const size_t *origin, const size_t *region, size_t pitch, size_t slice, const void *host,
                               cl_uint count, const cl_event *list, cl_event *event)
{
    struct ocl_enqueue enqueue;
    BEGIN(clEnqueueWriteImage, WRITE_IMAGE, COPY);
    copy_fields(&enqueue, OCL_TEXT_WRITE, image_bytes(&enqueue, image, region), host, image);
    cl_int result = api->clEnqueueWriteImage(queue, image, blocking, origin, region, pitch, slice, host, count, list,
                                             enqueue.event);
    return ocl_enqueue_end(&enqueue, result, blocking, count, list);
}

cl_int ocl_clEnqueueCopyImage(const struct ocl_api *api, cl_command_queue queue, cl_mem from, cl_mem to,
                              const size_t *from_origin, const size_t *to_origin, const size_t *region, cl_uint count,
                              const cl_event *list, cl_event *event)
{
    struct ocl_enqueue enqueue;
    BEGIN(clEnqueueCopyImage, COPY_IMAGE, COPY);
    copy_fields(&enqueue, OCL_TEXT_INSIDE, image_bytes(&enqueue, from, region), from, to);
    cl_int result =
        api->clEnqueueCopyImage(queue, from, to, from_origin, to_origin, region, count, list, enqueue.event);
    return ocl_enqueue_end(&enqueue, result, 0, count, list);
}

cl_int ocl_clEnqueueCopyImageToBuffer(const struct ocl_api *api, cl_command_queue queue, cl_mem from, cl_mem to,
                                      const size_t *origin, const size_t *region, size_t offset, cl_uint count,
                                      const cl_event *list, cl_event *event)
{
    struct ocl_enqueue enqueue;
    BEGIN(clEnqueueCopyImageToBuffer, IMAGE_TO_BUFFER, COPY);
    copy_fields(&enqueue, OCL_TEXT_INSIDE, image_bytes(&enqueue, from, region), from, to);
    cl_int result =
        api->clEnqueueCopyImageToBuffer(queue, from, to, origin, region, offset, count, list, enqueue.event);
    return ocl_enqueue_end(&enqueue, result, 0, count, list);
}

cl_int ocl_clEnqueueCopyBufferToImage(const struct ocl_api *api, cl_command_queue queue, cl_mem from, cl_mem to,
                                      size_t offset, const size_t *origin, const size_t *region, cl_uint count,
                                      const cl_event *list, cl_event *event)
{
    struct ocl_enqueue enqueue;
    BEGIN(clEnqueueCopyBufferToImage, BUFFER_TO_IMAGE, COPY);
    copy_fields(&enqueue, OCL_TEXT_INSIDE, image_bytes(&enqueue, to, region), from, to);
    cl_int result =
        api->clEnqueueCopyBufferToImage(queue, from, to, offset, origin, region, count, list, enqueue.event);
    return ocl_enqueue_end(&enqueue, result, 0, count, list);
}

static void fill_fields(struct ocl_enqueue *enqueue, uint64_t bytes, const void *to, const void *pattern,
                        size_t pattern_size)
{
    uint64_t value = 0;
    if (bytes)
        ocl_enqueue_field(enqueue, FIELD_FILL_bytes, bytes);
    ocl_enqueue_field(enqueue, FIELD_FILL_destination, handle_of(to));
    if (!pattern || !pattern_size || pattern_size > sizeof value)
        return;
    __builtin_memcpy(&value, pattern, pattern_size);
    ocl_enqueue_field(enqueue, FIELD_FILL_value, value);
}

cl_int ocl_clEnqueueFillBuffer(const struct ocl_api *api, cl_command_queue queue, cl_mem buffer, const void *pattern,
                               size_t pattern_size, size_t offset, size_t size, cl_uint count, const cl_event *list,
                               cl_event *event)
{
    struct ocl_enqueue enqueue;
    BEGIN(clEnqueueFillBuffer, FILL_BUFFER, FILL);
    fill_fields(&enqueue, size, buffer, pattern, pattern_size);
    cl_int result =
        api->clEnqueueFillBuffer(queue, buffer, pattern, pattern_size, offset, size, count, list, enqueue.event);
    return ocl_enqueue_end(&enqueue, result, 0, count, list);
}

cl_int ocl_clEnqueueFillImage(const struct ocl_api *api, cl_command_queue queue, cl_mem image, const void *colour,
                              const size_t *origin, const size_t *region, cl_uint count, const cl_event *list,
                              cl_event *event)
{
    struct ocl_enqueue enqueue;
    BEGIN(clEnqueueFillImage, FILL_IMAGE, FILL);
    fill_fields(&enqueue, image_bytes(&enqueue, image, region), image, 0, 0);
    cl_int result = api->clEnqueueFillImage(queue, image, colour, origin, region, count, list, enqueue.event);
    return ocl_enqueue_end(&enqueue, result, 0, count, list);
}

cl_int ocl_clEnqueueSVMMemcpy(const struct ocl_api *api, cl_command_queue queue, cl_bool blocking, void *to,
                              const void *from, size_t size, cl_uint count, const cl_event *list, cl_event *event)
{
    struct ocl_enqueue enqueue;
    BEGIN(clEnqueueSVMMemcpy, SVM_COPY, COPY);
    ocl_enqueue_field(&enqueue, FIELD_COPY_bytes, size);
    ocl_enqueue_field(&enqueue, FIELD_COPY_source, handle_of(from));
    ocl_enqueue_field(&enqueue, FIELD_COPY_destination, handle_of(to));
    cl_int result = api->clEnqueueSVMMemcpy(queue, blocking, to, from, size, count, list, enqueue.event);
    return ocl_enqueue_end(&enqueue, result, blocking, count, list);
}

cl_int ocl_clEnqueueSVMMemFill(const struct ocl_api *api, cl_command_queue queue, void *to, const void *pattern,
                               size_t pattern_size, size_t size, cl_uint count, const cl_event *list, cl_event *event)
{
    struct ocl_enqueue enqueue;
    BEGIN(clEnqueueSVMMemFill, SVM_FILL, FILL);
    fill_fields(&enqueue, size, to, pattern, pattern_size);
    cl_int result = api->clEnqueueSVMMemFill(queue, to, pattern, pattern_size, size, count, list, enqueue.event);
    return ocl_enqueue_end(&enqueue, result, 0, count, list);
}
