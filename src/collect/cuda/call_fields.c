/* SPDX-License-Identifier: MIT */
/* What a call's parameters say, as the payload of its span: letters of calls.def to fields of wire/kinds.def. */
#include "calls.h"

#include <string.h>

struct fields {
    const struct call_info *info;
    const struct cupti_call *call;
    uint64_t *values;
    uint32_t present;
};

static void put(struct fields *fields, unsigned position, uint64_t value)
{
    fields->values[position] = value;
    fields->present |= 1u << position;
}

static uint64_t parameter(const struct cupti_call *call, struct call_field field)
{
    uint64_t value;
    memcpy(&value, (const char *)call->parameters + field.offset, sizeof value);
    return value;
}

static uint64_t pointee(uint64_t address)
{
    uint64_t value = 0;
    if (address)
        memcpy(&value, (const void *)(uintptr_t)address, sizeof value);
    return value;
}

/* Results other than success; "not ready" of a query is one, too. */
static bool put_result(struct fields *fields, unsigned position)
{
    int32_t result = 0;
    if (fields->call->result)
        memcpy(&result, fields->call->result, sizeof result);
    if (result)
        put(fields, position, (uint64_t)(int64_t)result);
    return result != 0;
}

/* A stream's context need not be the thread's: then it replaces that. */
static void put_stream(struct fields *fields, uint64_t handle, unsigned stream_at, unsigned context_at)
{
    struct cuda_stream_id id;
    if (!cuda_stream_find(fields->call, handle, fields->info->per_thread, &id))
        return;
    put(fields, stream_at, id.stream);
    put(fields, context_at, id.context);
}

static void put_new_stream(struct fields *fields, uint64_t handle, uint32_t flags)
{
    struct cuda_stream_id id;
    put_stream(fields, handle, FIELD_API_stream, FIELD_API_context);
    if (cuda_stream_find(fields->call, handle, false, &id) && flags & CUDA_STREAM_NON_BLOCKING)
        cuda_lane_trait(id.context, id.stream, CUDA_LANE_NON_BLOCKING);
}

static void put_api_stream(struct fields *fields, uint64_t handle, bool failed)
{
    const struct call_info *info = fields->info;
    put_stream(fields, handle, FIELD_API_stream, FIELD_API_context);
    if (info->role == ROLE_CAPTURE_BEGIN && !failed)
        cuda_capture_begin(handle, info->per_thread);
    else if (info->role == ROLE_CAPTURE_END) /* also one that failed is over */
        cuda_capture_end(handle, info->per_thread);
}

static void api_fields(struct fields *fields)
{
    const struct call_info *info = fields->info;
    bool failed = put_result(fields, FIELD_API_result);
    uint64_t new_stream = 0;
    put(fields, FIELD_API_context, fields->call->context_uid);
    if (info->blocking)
        put(fields, FIELD_API_blocking, 1);
    for (unsigned i = 0; i < info->field_count; i++) {
        uint64_t value = parameter(fields->call, info->fields[i]);
        switch (info->fields[i].letter) {
        case 'D': put(fields, FIELD_API_destination, value); break;
        case 'S': put(fields, FIELD_API_source, value); break;
        case 'N': put(fields, FIELD_API_bytes, value); break;
        case 'Q': put_api_stream(fields, value, failed); break;
        case 'T': new_stream = failed ? 0 : pointee(value); break;
        case 'R': if (!failed) cuda_event_made(pointee(value)); break;
        default: break;
        }
        if (new_stream) /* its flags follow it at once, if it has any */
            put_new_stream(fields, new_stream, info->fields[i].letter == 'F' ? (uint32_t)value : 0);
    }
}

/* Record: (event, stream); wait of a stream: (stream, event); wait or query on the host: (event). */
static void put_event(struct fields *fields, bool failed)
{
    const struct call_info *info = fields->info;
    uint64_t first = parameter(fields->call, info->fields[0]), number = 0;
    uint64_t second = info->field_count > 1 ? parameter(fields->call, info->fields[1]) : 0;
    bool event_first = info->fields[0].letter == 'E';
    put(fields, FIELD_DEVICE_SYNC_event, event_first ? first : second);
    if (failed)
        return;
    enum cuda_event_state state = info->field_count == 1 ? cuda_event_last(first, &number)
                                  : event_first          ? cuda_event_record(first, second, info->per_thread, &number)
                                                         : cuda_event_wait(second, first, info->per_thread, &number);
    if (state == CUDA_EVENT_CAPTURED)
        put(fields, FIELD_DEVICE_SYNC_captured, 1);
    else if (state == CUDA_EVENT_NUMBERED)
        put(fields, FIELD_DEVICE_SYNC_record, number);
}

static void sync_fields(struct fields *fields)
{
    enum { NOT_READY = 600 };
    const struct call_info *info = fields->info;
    uint32_t context;
    put_result(fields, FIELD_DEVICE_SYNC_result);
    bool failed = fields->present && fields->values[FIELD_DEVICE_SYNC_result] != NOT_READY, has_event = false;
    put(fields, FIELD_DEVICE_SYNC_what, info->word);
    put(fields, FIELD_DEVICE_SYNC_context, fields->call->context_uid);
    for (unsigned i = 0; i < info->field_count; i++) {
        uint64_t value = parameter(fields->call, info->fields[i]);
        has_event |= info->fields[i].letter == 'E';
        if (info->fields[i].letter == 'Q')
            put_stream(fields, value, FIELD_DEVICE_SYNC_stream, FIELD_DEVICE_SYNC_context);
        else if (info->fields[i].letter == 'C' && cuda.cupti.context_id((cuda_context)(uintptr_t)value, &context) == CUPTI_OK)
            put(fields, FIELD_DEVICE_SYNC_context, context);
    }
    if (has_event)
        put_event(fields, failed);
}

static void alloc_fields(struct fields *fields)
{
    const struct call_info *info = fields->info;
    bool failed = put_result(fields, FIELD_ALLOC_result);
    if (info->word)
        put(fields, FIELD_ALLOC_memory, info->word);
    if (info->blocking)
        put(fields, FIELD_ALLOC_blocking, 1);
    put(fields, FIELD_ALLOC_context, fields->call->context_uid);
    for (unsigned i = 0; i < info->field_count; i++) {
        uint64_t value = parameter(fields->call, info->fields[i]);
        switch (info->fields[i].letter) {
        case 'N': put(fields, FIELD_ALLOC_bytes, value); break;
        case 'P': put(fields, FIELD_ALLOC_address, value); break;
        case 'A': if (!failed) put(fields, FIELD_ALLOC_address, pointee(value)); break;
        case 'O': put(fields, FIELD_ALLOC_pool, value); break;
        case 'Q': put_stream(fields, value, FIELD_ALLOC_stream, FIELD_ALLOC_context); break;
        default: break;
        }
    }
}

uint32_t call_fields(const struct call_info *info, const struct cupti_call *call, uint64_t values[VALUES_OF_A_CALL])
{
    struct fields fields = {.info = info, .call = call, .values = values};
    if (info->payload == PAYLOAD_API)
        api_fields(&fields);
    else if (info->payload == PAYLOAD_DEVICE_SYNC)
        sync_fields(&fields);
    else if (info->payload == PAYLOAD_ALLOC)
        alloc_fields(&fields);
    else
        put_result(&fields, FIELD_API_result); /* written as an API payload */
    return fields.present;
}
