/* SPDX-License-Identifier: MIT */
/* The records of queues and of what ran on them. */
#include "state.h"

static bool record_device(struct ocl_device *device)
{
    struct wire_device record = {.header = {WIRE_DEVICE, sizeof record / 8, device->name}};
    record.time = rt_now();
    record.device = device->number;
    record.layer = WIRE_LAYER_OPENCL;
    return rt_append(&record.header);
}

static bool record_queue(const struct ocl_queue *queue)
{
    struct wire_queue record = {.header = {WIRE_QUEUE, sizeof record / 8, queue->name}};
    record.time = rt_now();
    record.queue = queue->id;
    record.device = queue->device->number;
    record.stream = queue->stream;
    record.layer = WIRE_LAYER_OPENCL;
    return rt_append(&record.header);
}

void ocl_announce(struct ocl_queue *queue)
{
    if (!ocl_load(&queue->device->announced) && record_device(queue->device))
        ocl_store(&queue->device->announced, 1u);
    if (!ocl_load(&queue->announced) && record_queue(queue))
        ocl_store(&queue->announced, 1u);
}

/* Fields by position into the ascending order of the wire. */
static void fill_fields(const struct ocl_command *command, uint32_t present, const uint64_t times[4], uint64_t *out)
{
    for (uint32_t rest = present; rest; rest &= rest - 1) {
        unsigned position = (unsigned)__builtin_ctz(rest);
        if (position == command->queued_field)
            *out++ = times[2] - times[0];
        else if (position == command->submitted_field)
            *out++ = times[2] - times[1];
        else
            *out++ = command->fields[position];
    }
}

void ocl_record_command(const struct ocl_command *command, const uint64_t times[4], uint32_t clock)
{
    uint32_t present = command->present;
    if (!ocl_load(&command->queue->announced))
        ocl_announce(command->queue);
    if (command->queued_field != 255 && times[0] && times[0] <= times[2])
        present |= 1u << command->queued_field;
    if (command->submitted_field != 255 && times[1] && times[1] <= times[2])
        present |= 1u << command->submitted_field;
    uint32_t bytes = (uint32_t)sizeof(struct wire_device_span) + (uint32_t)__builtin_popcount(present) * 8;
    rt_place place = rt_open(bytes);
    struct wire_device_span *record = place.record;
    if (!record)
        return;
    *record = (struct wire_device_span){
        .span =
            {
                .header = {WIRE_DEVICE_SPAN, (uint16_t)(bytes / 8), command->name},
                .begin = times[2],
                .end = times[3],
                .correlation = command->id,
                .layer = WIRE_LAYER_OPENCL,
                .span_kind = command->span_kind,
                .payload_kind = command->payload_kind,
                .present = present,
            },
        .queue = command->queue->id,
        .device = command->queue->device->number,
        .clock = clock,
        .launch = command->launch,
    };
    fill_fields(command, present, times, (uint64_t *)(void *)(record + 1));
    rt_close(place);
}
