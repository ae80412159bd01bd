/* SPDX-License-Identifier: MIT */
/* Memory mapped into the host, moved between devices, freed in a queue: buffers, images and shared virtual memory. */
#include "state.h"

static struct ocl_map mapped; /* where the program got memory mapped to: bytes */

static uint64_t handle_of(const void *handle)
{
    return (uintptr_t)handle;
}

#define BEGIN(function, name, span_kind)                                                                               \
    ocl_enqueue_begin(&enqueue, api, OCL_FUNCTION_##function, queue, event, OCL_TEXT_##name, SPAN_KIND_##span_kind,    \
                      PAYLOAD_COPY)

static void map_fields(struct ocl_enqueue *enqueue, cl_bitfield flags, uint64_t bytes, const void *memory)
{
    if (!(flags & OCL_MAP_WRITE_INVALIDATE_REGION)) /* else nothing is brought over */
        ocl_enqueue_field(enqueue, FIELD_COPY_direction, ocl_texts[OCL_TEXT_READ]);
    if (bytes)
        ocl_enqueue_field(enqueue, FIELD_COPY_bytes, bytes);
    ocl_enqueue_field(enqueue, FIELD_COPY_source, handle_of(memory));
}

static void unmap_fields(struct ocl_enqueue *enqueue, const void *place, const void *memory)
{
    uint64_t bytes = enqueue->command ? ocl_map_get(&mapped, place) : 0;
    ocl_enqueue_field(enqueue, FIELD_COPY_direction, ocl_texts[OCL_TEXT_WRITE]);
    if (bytes)
        ocl_enqueue_field(enqueue, FIELD_COPY_bytes, bytes);
    ocl_enqueue_field(enqueue, FIELD_COPY_source, handle_of(place));
    if (memory)
        ocl_enqueue_field(enqueue, FIELD_COPY_destination, handle_of(memory));
}

static void *end_map(struct ocl_enqueue *enqueue, void *place, uint64_t bytes, cl_int error, cl_int *ret_error,
                     cl_bool blocking, cl_uint count, const cl_event *list)
{
    if (ret_error)
        *ret_error = error;
    if (place && enqueue->command) {
        ocl_map_put(&mapped, place, bytes);
        ocl_enqueue_field(enqueue, FIELD_COPY_destination, handle_of(place));
    }
    ocl_enqueue_end(enqueue, error, blocking, count, list);
    return place;
}

void *ocl_clEnqueueMapBuffer(const struct ocl_api *api, cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                             cl_bitfield flags, size_t offset, size_t size, cl_uint count, const cl_event *list,
                             cl_event *event, cl_int *ret_error)
{
    struct ocl_enqueue enqueue;
    cl_int error = OCL_SUCCESS;
    BEGIN(clEnqueueMapBuffer, MAP_BUFFER, MAP);
    map_fields(&enqueue, flags, size, buffer);
    ocl_enqueue_field(&enqueue, FIELD_COPY_source_offset, offset);
    void *place =
        api->clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, count, list, enqueue.event, &error);
    return end_map(&enqueue, place, size, error, ret_error, blocking, count, list);
}

void *ocl_clEnqueueMapImage(const struct ocl_api *api, cl_command_queue queue, cl_mem image, cl_bool blocking,
                            cl_bitfield flags, const size_t *origin, const size_t *region, size_t *ret_pitch,
                            size_t *ret_slice, cl_uint count, const cl_event *list, cl_event *event, cl_int *ret_error)
{
    struct ocl_enqueue enqueue;
    cl_int error = OCL_SUCCESS;
    size_t element = 0;
    uint64_t bytes = 0;
    BEGIN(clEnqueueMapImage, MAP_IMAGE, MAP);
    if (enqueue.command && region && api->clGetImageInfo &&
        api->clGetImageInfo(image, OCL_IMAGE_ELEMENT_SIZE, sizeof element, &element, 0) == OCL_SUCCESS)
        bytes = (uint64_t)element * region[0] * region[1] * region[2];
    map_fields(&enqueue, flags, bytes, image);
    void *place = api->clEnqueueMapImage(queue, image, blocking, flags, origin, region, ret_pitch, ret_slice, count,
                                         list, enqueue.event, &error);
    return end_map(&enqueue, place, bytes, error, ret_error, blocking, count, list);
}

cl_int ocl_clEnqueueUnmapMemObject(const struct ocl_api *api, cl_command_queue queue, cl_mem memory, void *place,
                                   cl_uint count, const cl_event *list, cl_event *event)
{
    struct ocl_enqueue enqueue;
    BEGIN(clEnqueueUnmapMemObject, UNMAP, MAP);
    unmap_fields(&enqueue, place, memory);
    cl_int result = api->clEnqueueUnmapMemObject(queue, memory, place, count, list, enqueue.event);
    return ocl_enqueue_end(&enqueue, result, 0, count, list);
}

cl_int ocl_clEnqueueSVMMap(const struct ocl_api *api, cl_command_queue queue, cl_bool blocking, cl_bitfield flags,
                           void *memory, size_t size, cl_uint count, const cl_event *list, cl_event *event)
{
    struct ocl_enqueue enqueue;
    BEGIN(clEnqueueSVMMap, SVM_MAP, MAP);
    map_fields(&enqueue, flags, size, memory);
    cl_int result = api->clEnqueueSVMMap(queue, blocking, flags, memory, size, count, list, enqueue.event);
    if (result == OCL_SUCCESS && enqueue.command)
        ocl_map_put(&mapped, memory, size);
    return ocl_enqueue_end(&enqueue, result, blocking, count, list);
}

cl_int ocl_clEnqueueSVMUnmap(const struct ocl_api *api, cl_command_queue queue, void *memory, cl_uint count,
                             const cl_event *list, cl_event *event)
{
    struct ocl_enqueue enqueue;
    BEGIN(clEnqueueSVMUnmap, SVM_UNMAP, MAP);
    unmap_fields(&enqueue, memory, 0);
    cl_int result = api->clEnqueueSVMUnmap(queue, memory, count, list, enqueue.event);
    return ocl_enqueue_end(&enqueue, result, 0, count, list);
}

static void migrate_fields(struct ocl_enqueue *enqueue, cl_bitfield flags, uint64_t bytes)
{
    ocl_enqueue_field(enqueue, FIELD_COPY_direction,
                      ocl_texts[flags & OCL_MIGRATE_MEM_OBJECT_HOST ? OCL_TEXT_READ : OCL_TEXT_WRITE]);
    if (bytes)
        ocl_enqueue_field(enqueue, FIELD_COPY_bytes, bytes);
}

cl_int ocl_clEnqueueMigrateMemObjects(const struct ocl_api *api, cl_command_queue queue, cl_uint memories,
                                      const cl_mem *list_of_memories, cl_bitfield flags, cl_uint count,
                                      const cl_event *list, cl_event *event)
{
    struct ocl_enqueue enqueue;
    uint64_t bytes = 0;
    BEGIN(clEnqueueMigrateMemObjects, MIGRATE, COPY);
    for (cl_uint i = 0; enqueue.command && list_of_memories && i < memories; i++) {
        size_t size = 0;
        if (api->clGetMemObjectInfo &&
            api->clGetMemObjectInfo(list_of_memories[i], OCL_MEM_SIZE, sizeof size, &size, 0) == OCL_SUCCESS)
            bytes += size;
    }
    migrate_fields(&enqueue, flags, bytes);
    cl_int result =
        api->clEnqueueMigrateMemObjects(queue, memories, list_of_memories, flags, count, list, enqueue.event);
    return ocl_enqueue_end(&enqueue, result, 0, count, list);
}

cl_int ocl_clEnqueueSVMMigrateMem(const struct ocl_api *api, cl_command_queue queue, cl_uint pointers,
                                  const void **pointer_list, const size_t *sizes, cl_bitfield flags, cl_uint count,
                                  const cl_event *list, cl_event *event)
{
    struct ocl_enqueue enqueue;
    uint64_t bytes = 0;
    BEGIN(clEnqueueSVMMigrateMem, SVM_MIGRATE, COPY);
    for (cl_uint i = 0; sizes && i < pointers; i++)
        bytes += sizes[i]; /* 0 = the whole allocation: then the sum is a lower bound, so it is left out */
    for (cl_uint i = 0; i < pointers; i++)
        bytes = sizes && sizes[i] ? bytes : 0;
    migrate_fields(&enqueue, flags, bytes);
    cl_int result =
        api->clEnqueueSVMMigrateMem(queue, pointers, pointer_list, sizes, flags, count, list, enqueue.event);
    return ocl_enqueue_end(&enqueue, result, 0, count, list);
}

cl_int ocl_clEnqueueSVMFree(const struct ocl_api *api, cl_command_queue queue, cl_uint pointers, void **pointer_list,
                            ocl_free_notify notify, void *data, cl_uint count, const cl_event *list, cl_event *event)
{
    struct ocl_enqueue enqueue;
    ocl_enqueue_begin(&enqueue, api, OCL_FUNCTION_clEnqueueSVMFree, queue, event, OCL_TEXT_SVM_FREE, SPAN_KIND_ALLOC,
                      PAYLOAD_ALLOC);
    if (pointers == 1 && pointer_list)
        ocl_enqueue_field(&enqueue, FIELD_ALLOC_address, handle_of(pointer_list[0]));
    ocl_enqueue_field(&enqueue, FIELD_ALLOC_memory, ocl_texts[OCL_TEXT_SVM]);
    cl_int result = api->clEnqueueSVMFree(queue, pointers, pointer_list, notify, data, count, list, enqueue.event);
    return ocl_enqueue_end(&enqueue, result, 0, count, list);
}
