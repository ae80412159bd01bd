/* SPDX-License-Identifier: MIT */
/* Code for a device, kept as a file of the session. */
#include "runtime.h"

static uint32_t object_store(const char *name, const void *bytes, uint64_t size)
{
    struct rt_file file;
    uint32_t reason = (uint32_t)rt_file_create(name, size, size, false, &file);
    if (reason)
        return reason;
    if (file.by_pwrite)
        reason = (uint32_t)rt_file_write(name, bytes, size, 0);
    else
        __builtin_memcpy(file.map, bytes, size);
    sys_call(__NR_munmap, file.map, file.mapped_bytes, 0, 0);
    return reason;
}

uint64_t rt_object(unsigned layer, unsigned kind, uint32_t name, const void *bytes, uint64_t size)
{
    char file[64];
    if (!size || !rt_thread_get() || !__atomic_load_n(&rt.session->active, __ATOMIC_RELAXED))
        return 0;
    uint32_t number = rt_add(&rt.object_number, 1u) + 1;
    rt_name_object(file, number);
    uint32_t reason = object_store(file, bytes, size);
    if (reason) {
        rt_lost(reason - 1, 1);
        return 0;
    }
    struct wire_object record = {.header = {WIRE_OBJECT, sizeof record / 8, name}};
    record.time = rt_clock();
    record.object = number;
    record.bytes = size;
    record.layer = (uint8_t)layer;
    record.kind = (uint8_t)kind;
    return rt_append(&record.header) ? number : 0;
}
