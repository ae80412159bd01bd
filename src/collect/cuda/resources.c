/* SPDX-License-Identifier: MIT */
/* Devices as contexts come up, and the code that modules bring. */
#include "cuda.h"

#include "../loader.h"

#include <string.h>

static uint64_t devices_named; /* bit by number */

static void write_device(uint32_t device, const char *name)
{
    const struct wire_device record = {
        .header = {WIRE_DEVICE, sizeof record / 8, rt_string(name, strlen(name))},
        .time = rt_now(),
        .device = (int32_t)device,
        .layer = CUDA_LAYER,
    };
    rt_append(&record.header);
}

static void name_device(uint32_t device)
{
    if (device >= 64 || __atomic_fetch_or(&devices_named, 1ull << device, __ATOMIC_ACQ_REL) >> device & 1)
        return;
    int (*get_name)(char *, int, int) = 0;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *found = library ? dlsym(library, "cuDeviceGetName") : 0;
    memcpy(&get_name, &found, sizeof found);
    char name[256] = "device";
    cuda_own_calls(true);
    if (get_name)
        get_name(name, (int)sizeof name, (int)device);
    cuda_own_calls(false);
    name[sizeof name - 1] = 0;
    write_device(device, name);
}

void cuda_device_rename(uint32_t device, const char *name)
{
    if (device < 64)
        __atomic_fetch_or(&devices_named, 1ull << device, __ATOMIC_ACQ_REL);
    write_device(device, name);
}

static void keep_module(const struct cupti_module *module)
{
    if (!module || !module->cubin || !module->cubin_bytes || !(rt_flags() & WIRE_SESSION_KEEP_CODE))
        return;
    struct cupti_crc crc = {.size = sizeof crc, .cubin_bytes = module->cubin_bytes, .cubin = module->cubin};
    char name[24] = "cubin ";
    if (cuda.cupti.samples && cuda.cupti.cubin_crc(&crc) == CUPTI_OK)
        for (int i = 0; i < 16; i++)
            name[6 + i] = "0123456789abcdef"[crc.crc >> (60 - 4 * i) & 15];
    rt_object(CUDA_LAYER, WIRE_OBJECT_CUBIN, cuda_word(name), module->cubin, module->cubin_bytes);
}

void cuda_on_resource(uint32_t id, const struct cupti_resource *resource)
{
    uint32_t device;
    if (id == CUPTI_CONTEXT_CREATED && cuda.cupti.device_id(resource->context, &device) == CUPTI_OK) {
        name_device(device);
        cuda_sampling_begin(resource->context, device);
    } else if (id == CUPTI_CONTEXT_DESTROY) {
        cuda_sampling_end(resource->context);
    } else if (id == CUPTI_MODULE_LOADED) {
        keep_module(resource->descriptor);
    } else if (id == CUPTI_STREAM_CREATED) {
        cuda_stream_made(resource->context, resource->stream);
    } else if (id == CUPTI_STREAM_DESTROY) {
        cuda_stream_gone(resource->stream);
    } else {
        cuda_on_node(id, resource->descriptor);
    }
}

void cuda_resources_start(void)
{
    static const uint32_t ids[] = {CUPTI_CONTEXT_CREATED, CUPTI_CONTEXT_DESTROY, CUPTI_STREAM_CREATED, CUPTI_STREAM_DESTROY, CUPTI_MODULE_LOADED};
    for (unsigned i = 0; i < sizeof ids / sizeof ids[0]; i++)
        cuda.cupti.enable_callback(1, cuda.subscriber, CUPTI_RESOURCE, ids[i]);
    cuda_graphs_start();
}
