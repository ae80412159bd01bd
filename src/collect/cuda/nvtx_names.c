/* SPDX-License-Identifier: MIT */
/*
 * Names that a program gives to its threads, streams and devices, by NVTX's functions for that or as resources of a domain. Streams and
 * devices exist only where CUPTI is in use, too.
 */
#include "cuda.h"
#include "nvtx.h"

#include "../runtime/sys.h"

#include <string.h>

enum { CORE_THREAD_A = 14, CORE_THREAD_W = 15, CORE2_RESOURCE_CREATE = 6 };
enum { DEVICE_A = 1, DEVICE_W, CONTEXT_A, CONTEXT_W, STREAM_A, STREAM_W };      /* driver API */
enum { RUNTIME_DEVICE_A = 1, RUNTIME_DEVICE_W, RUNTIME_STREAM_A, RUNTIME_STREAM_W };
enum { RESOURCE_THREAD = 1 << 16 | 3, RESOURCE_DEVICE = 4 << 16 | 1, RESOURCE_STREAM = 4 << 16 | 3, RESOURCE_RUNTIME_DEVICE = 5 << 16,
       RESOURCE_RUNTIME_STREAM = 5 << 16 | 1 };

/* nvtxResourceAttributes_t */
struct resource {
    uint16_t version, size;
    int32_t type;
    uint64_t identifier;
    int32_t message_type;
    union {
        const char *ascii;
        const wchar_t *unicode;
    } message;
};

/* wchar_t is 32 bits here. */
size_t nvtx_narrow(const wchar_t *text, char out[NVTX_TEXT_BYTES])
{
    size_t length = 0;
    for (; text && *text && length + 4 < NVTX_TEXT_BYTES; text++) {
        uint32_t point = (uint32_t)*text;
        if (point < 0x80) {
            out[length++] = (char)point;
        } else if (point < 0x800) {
            out[length++] = (char)(0xc0 | point >> 6);
            out[length++] = (char)(0x80 | (point & 0x3f));
        } else if (point < 0x10000) {
            out[length++] = (char)(0xe0 | point >> 12);
            out[length++] = (char)(0x80 | (point >> 6 & 0x3f));
            out[length++] = (char)(0x80 | (point & 0x3f));
        } else {
            out[length++] = (char)(0xf0 | (point >> 18 & 7));
            out[length++] = (char)(0x80 | (point >> 12 & 0x3f));
            out[length++] = (char)(0x80 | (point >> 6 & 0x3f));
            out[length++] = (char)(0x80 | (point & 0x3f));
        }
    }
    out[length] = 0;
    return length;
}

uint32_t nvtx_text(const char *text)
{
    return text ? rt_string(text, strnlen(text, 4096)) : 0;
}

uint32_t nvtx_wide_text(const wchar_t *text)
{
    char narrow[NVTX_TEXT_BYTES];
    size_t length = nvtx_narrow(text, narrow);
    return text ? rt_string(narrow, length) : 0;
}

void nvtx_fill(const struct callbacks *callbacks, int module, const struct filling *fillings, size_t count)
{
    table_function **table = 0;
    unsigned size = 0;
    if (!callbacks->get_table(module, &table, &size) || !table)
        return;
    for (size_t i = 0; i < count; i++)
        if (fillings[i].id < size && table[fillings[i].id])
            *table[fillings[i].id] = fillings[i].function;
}

static void name_thread(uint32_t tid, const char *name)
{
    const struct wire_named_thread record = {
        .header = {WIRE_NAMED_THREAD, sizeof record / 8, nvtx_text(name)}, .time = rt_now(), .tid = (int32_t)tid};
    if (record.header.value)
        rt_append(&record.header);
}

static void name_stream(uint64_t handle, const char *name)
{
    struct cuda_stream_id id;
    if (name && __atomic_load_n(&cuda.active, __ATOMIC_ACQUIRE) && cuda_stream_known(handle, &id))
        cuda_lane_name(id.context, id.stream, name);
}

static void name_device(int device, const char *name)
{
    if (name && device >= 0 && __atomic_load_n(&cuda.active, __ATOMIC_ACQUIRE))
        cuda_device_rename((uint32_t)device, name);
}

#define WIDE(name, type)                                                                                               \
    static void name##_wide(type of, const wchar_t *text)                                                              \
    {                                                                                                                  \
        char narrow[NVTX_TEXT_BYTES];                                                                                  \
        nvtx_narrow(text, narrow);                                                                                     \
        name(of, text ? narrow : 0);                                                                                   \
    }
WIDE(name_thread, uint32_t)
WIDE(name_stream, uint64_t)
WIDE(name_device, int)

static void name_resource(const struct resource *resource, const char *name)
{
    if (resource->type == RESOURCE_THREAD)
        name_thread((uint32_t)resource->identifier, name);
    else if (resource->type == RESOURCE_STREAM || resource->type == RESOURCE_RUNTIME_STREAM)
        name_stream(resource->identifier, name);
    else if (resource->type == RESOURCE_DEVICE || resource->type == RESOURCE_RUNTIME_DEVICE)
        name_device((int)resource->identifier, name);
}

/* The handle that the program gets is for destroying it: what had a name keeps it. */
static void *resource_create(void *domain, const struct resource *resource)
{
    char narrow[NVTX_TEXT_BYTES];
    if (!resource)
        return 0;
    if (resource->message_type == 1)
        name_resource(resource, resource->message.ascii);
    else if (resource->message_type == 2 && nvtx_narrow(resource->message.unicode, narrow))
        name_resource(resource, narrow);
    return domain;
}

static const struct filling core[] = {FILL(CORE_THREAD_A, name_thread), FILL(CORE_THREAD_W, name_thread_wide)};
static const struct filling core2[] = {FILL(CORE2_RESOURCE_CREATE, resource_create)};
static const struct filling driver[] = {FILL(DEVICE_A, name_device), FILL(DEVICE_W, name_device_wide), FILL(STREAM_A, name_stream),
                                        FILL(STREAM_W, name_stream_wide)};
static const struct filling runtime[] = {FILL(RUNTIME_DEVICE_A, name_device), FILL(RUNTIME_DEVICE_W, name_device_wide),
                                         FILL(RUNTIME_STREAM_A, name_stream), FILL(RUNTIME_STREAM_W, name_stream_wide)};

void nvtx_names_fill(const struct callbacks *callbacks)
{
    nvtx_fill(callbacks, NVTX_CORE, core, sizeof core / sizeof core[0]);
    nvtx_fill(callbacks, NVTX_CORE2, core2, sizeof core2 / sizeof core2[0]);
    nvtx_fill(callbacks, NVTX_CUDA, driver, sizeof driver / sizeof driver[0]);
    nvtx_fill(callbacks, NVTX_CUDART, runtime, sizeof runtime / sizeof runtime[0]);
}
