/* SPDX-License-Identifier: MIT */
/*
 * Memory: how much of it is in use on each device, by its sort and in its pools, as counters; and what managed memory does
 * behind the program's back: pages that migrate and faults, on a lane for each device.
 */
#include "cuda.h"

#include "../lane_record.h"

#include <string.h>

enum { POOLS = 64 };

uint32_t cuda_memory_word(unsigned kind)
{
    static const char *const names[] = {0, "pageable", "pinned", "device", "array", "managed", "device", "managed"};
    const char *name = kind < sizeof names / sizeof names[0] ? names[kind] : 0;
    return name ? cuda_word(name) : 0;
}

static const char *counter_of(unsigned memory_kind)
{
    static const char *const names[] = {0, "allocated: pageable", "allocated: pinned", "allocated: device", "allocated: array",
                                        "allocated: managed", "allocated: device static", "allocated: managed static"};
    return memory_kind < sizeof names / sizeof names[0] ? names[memory_kind] : 0;
}

/* Pools are numbered as they are met: their addresses differ from run to run. */
static unsigned pool_number(uint64_t pool)
{
    static uint64_t pools[POOLS];
    for (unsigned i = 0; i < POOLS; i++) {
        uint64_t expected = 0;
        if (__atomic_load_n(&pools[i], __ATOMIC_ACQUIRE) == pool ||
            __atomic_compare_exchange_n(&pools[i], &expected, pool, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) || expected == pool)
            return i + 1;
    }
    return 0; /* all the rest together would be nobody's sum */
}

static void pool_counter(unsigned pool, const char *what, uint64_t bytes, uint64_t time_ns, uint32_t device)
{
    char name[32] = "pool ", *end = name + 5;
    if (pool >= 10)
        *end++ = (char)('0' + pool / 10);
    *end++ = (char)('0' + pool % 10);
    memcpy(end, what, strlen(what) + 1);
    const struct wire_counter record = {
        .header = {WIRE_COUNTER, sizeof record / 8, cuda_word(name)},
        .time = cuda_clock_ticks(time_ns),
        .value = (double)bytes,
        .unit = cuda_word("By"),
        .device = (int32_t)device,
        .layer = CUDA_LAYER,
    };
    rt_append(&record.header);
}

static void pool_counters(uint64_t pool, uint64_t bytes, uint64_t used, uint64_t time_ns, uint32_t device)
{
    unsigned number = pool ? pool_number(pool) : 0;
    if (!number || !time_ns)
        return;
    pool_counter(number, ": reserved", bytes, time_ns, device);
    pool_counter(number, ": used", used, time_ns, device);
}

static void on_memory(const struct cupti_memory *memory)
{
    const char *name = counter_of(memory->memory_kind);
    bool of_host = memory->memory_kind == 1 || memory->memory_kind == 2;
    if (!name || !memory->time || memory->bytes > INT64_MAX)
        return;
    const struct wire_device_memory record = {
        .header = {WIRE_DEVICE_MEMORY, sizeof record / 8, cuda_word(name)},
        .time = cuda_clock_ticks(memory->time),
        .bytes = memory->operation == CUPTI_MEMORY_FREED ? -(int64_t)memory->bytes : (int64_t)memory->bytes,
        .device = of_host ? -1 : (int32_t)memory->device,
        .layer = CUDA_LAYER,
    };
    rt_append(&record.header);
    if (memory->is_async && memory->pool_type == CUPTI_POOL_LOCAL)
        pool_counters(memory->pool, memory->pool_bytes, memory->pool_used, memory->time, memory->device);
}

static void managed_fields(struct lane_record *record, const struct cupti_managed *managed)
{
    static const char *const directions[] = {[CUPTI_MANAGED_TO_DEVICE] = "host-to-device", [CUPTI_MANAGED_TO_HOST] = "device-to-host",
                                             [CUPTI_MANAGED_DEVICE_TO_DEVICE] = "device-to-device"};
    if (managed->what == CUPTI_MANAGED_CPU_FAULT || managed->what == CUPTI_MANAGED_GPU_FAULT) {
        lane_field(record, FIELD_FAULT_address, managed->address);
        if (managed->what == CUPTI_MANAGED_GPU_FAULT)
            lane_field(record, FIELD_FAULT_count, managed->value);
        return;
    }
    if (managed->what < sizeof directions / sizeof directions[0] && directions[managed->what])
        lane_field(record, FIELD_COPY_direction, cuda_word(directions[managed->what]));
    lane_field(record, FIELD_COPY_bytes, managed->value);
    lane_field(record, FIELD_COPY_source, managed->address);
    lane_field(record, FIELD_COPY_destination, managed->address);
    lane_field(record, FIELD_COPY_source_memory, cuda_word("managed"));
    lane_field(record, FIELD_COPY_destination_memory, cuda_word("managed"));
}

static void on_managed(const struct cupti_managed *managed)
{
    static const struct {
        const char *name;
        uint8_t kind, payload;
        bool at_once; /* its end means nothing */
    } sorts[] = {
        [CUPTI_MANAGED_TO_DEVICE] = {"migration host to device", SPAN_KIND_COPY, PAYLOAD_COPY, false},
        [CUPTI_MANAGED_TO_HOST] = {"migration device to host", SPAN_KIND_COPY, PAYLOAD_COPY, false},
        [CUPTI_MANAGED_DEVICE_TO_DEVICE] = {"migration device to device", SPAN_KIND_COPY, PAYLOAD_COPY, false},
        [CUPTI_MANAGED_CPU_FAULT] = {"CPU page fault", SPAN_KIND_FAULT, PAYLOAD_FAULT, true},
        [CUPTI_MANAGED_GPU_FAULT] = {"GPU page fault", SPAN_KIND_FAULT, PAYLOAD_FAULT, false},
    };
    if (managed->what >= sizeof sorts / sizeof sorts[0] || !sorts[managed->what].name || !managed->start)
        return;
    bool from_device = managed->what == CUPTI_MANAGED_TO_HOST || managed->what == CUPTI_MANAGED_GPU_FAULT;
    bool of_host = managed->what == CUPTI_MANAGED_CPU_FAULT;
    uint32_t device = of_host ? UINT32_MAX : from_device ? managed->source : managed->destination;
    struct lane_record record = {.span = {.device = (int32_t)device, .queue = cuda_own_lane(CUDA_OWN_MANAGED, device)}};
    record.span.span.begin = cuda_clock_ticks(managed->start);
    record.span.span.end = sorts[managed->what].at_once || managed->end < managed->start ? record.span.span.begin : cuda_clock_ticks(managed->end);
    record.span.span.layer = CUDA_LAYER;
    managed_fields(&record, managed);
    lane_write(&record, cuda_word(sorts[managed->what].name), sorts[managed->what].kind, sorts[managed->what].payload);
}

bool cuda_on_memory_record(const struct cupti_record *record)
{
    const void *body = record;
    const struct cupti_memory_pool *pool = body;
    if (record->kind == CUPTI_MEMORY)
        on_memory(body);
    else if (record->kind == CUPTI_MANAGED)
        on_managed(body);
    else if (record->kind == CUPTI_MEMORY_POOL && pool->type == CUPTI_POOL_LOCAL)
        pool_counters(pool->pool, pool->bytes, pool->used, pool->time, pool->device);
    else
        return record->kind == CUPTI_MEMORY_POOL;
    return true;
}

/* Watching managed memory costs every migration something: only programs that have some pay for it. */
void cuda_managed_start(uint32_t device)
{
    static uint64_t watched; /* devices, by bit */
    static const uint32_t sorts[] = {CUPTI_MANAGED_TO_DEVICE, CUPTI_MANAGED_TO_HOST, CUPTI_MANAGED_DEVICE_TO_DEVICE, CUPTI_MANAGED_CPU_FAULT,
                                     CUPTI_MANAGED_GPU_FAULT};
    struct cupti_managed_setting settings[sizeof sorts / sizeof sorts[0]];
    if (device >= 64 || !cuda.cupti.managed_set_up || __atomic_fetch_or(&watched, 1ull << device, __ATOMIC_ACQ_REL) >> device & 1)
        return;
    bool any = false;
    for (unsigned i = 0; i < sizeof sorts / sizeof sorts[0]; i++) { /* one by one: not every device has each */
        settings[i] = (struct cupti_managed_setting){CUPTI_MANAGED_ONE_DEVICE, sorts[i], device, 1};
        any |= cuda.cupti.managed_set_up(&settings[i], 1) == CUPTI_OK;
    }
    if (!any || cuda.cupti.enable(CUPTI_MANAGED) != CUPTI_OK)
        rt_note("CUPTI does not watch managed memory here: its migrations and faults are not recorded");
}
