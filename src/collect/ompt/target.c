/* SPDX-License-Identifier: MIT */
/*
 * Constructs on a device, as the host sees them. Where the runtime has the callbacks of 5.1 (EMI), operations have a begin and an
 * end; the older ones come once an operation, before or after it: those are spans of no length.
 */
#include "events.h"
#include "record.h"

static const uint8_t target_names[] = {NAME_TARGET, NAME_TARGET, NAME_TARGET_ENTER_DATA, NAME_TARGET_EXIT_DATA, NAME_TARGET_UPDATE};

void write_target(struct lane *lane, const struct frame *frame, uint64_t end)
{
    struct record record;
    uint32_t name = lane->names[target_names[frame->type]];
    if (!record_begin(&record, 4, RECORD_SHAPE(SPAN_KIND_TARGET, PAYLOAD_REGION), name, frame->begin, end))
        return;
    record_field(&record, FIELD_REGION_region, frame->id);
    record_field_if(&record, FIELD_REGION_code, frame->code);
    record_field(&record, FIELD_REGION_hook, lane->names[NAME_HOOK]);
    record_field_if(&record, FIELD_REGION_encountering_task, frame->count);
    record_end(&record, frame->stack);
}

static void target(int kind, int endpoint, union omp_data *task, const void *code)
{
    unsigned type = (unsigned)kind & ~(unsigned)OMP_TARGET_NOWAIT;
    struct lane *lane = lane_get();
    if (UNLIKELY(!lane) || type == 0 || type >= sizeof target_names)
        return;
    if (endpoint != OMP_END) {
        struct frame *frame = lane_push(lane, FRAME_TARGET);
        frame->type = (uint8_t)type;
        frame->owner = 0;
        frame->code = (uintptr_t)code;
        frame->id = lane_id(lane);
        frame->count = task ? task_id(task->value) : 0;
        frame->stack = lane_stack(lane);
        code_index(lane, frame->code, SPAN_KIND_TARGET);
        frame->begin = now();
    }
    if (endpoint != OMP_BEGIN) {
        uint64_t end = now();
        const struct frame *frame = lane_pop(lane, FRAME_TARGET, type, 0);
        if (frame)
            write_target(lane, frame, end);
    }
}

void on_target(int kind, int endpoint, int device, union omp_data *task, uint64_t id, const void *code)
{
    target(kind, endpoint, task, code);
}

void on_target_emi(int kind, int endpoint, int device, union omp_data *task, union omp_data *target_task, union omp_data *data, const void *code)
{
    target(kind, endpoint, task, code);
}

struct operation {
    int type;
    const void *source, *destination;
    int source_device, destination_device;
    size_t bytes;
    const void *code;
};

static void copy_write(struct lane *lane, const struct frame *frame, uint64_t end)
{
    struct record record;
    if (!record_begin(&record, 6, RECORD_SHAPE(SPAN_KIND_COPY, PAYLOAD_COPY), lane->names[NAME_TARGET_COPY], frame->begin, end))
        return;
    unsigned direction = frame->type == OMP_DATA_TO_DEVICE ? NAME_HOST_TO_DEVICE : NAME_DEVICE_TO_HOST;
    record_field(&record, FIELD_COPY_direction, lane->names[direction]);
    record_field(&record, FIELD_COPY_bytes, frame->count);
    record_field(&record, FIELD_COPY_source, frame->waited);
    record_field(&record, FIELD_COPY_destination, frame->done);
    record_field(&record, FIELD_COPY_source_device, (uint64_t)(int64_t)(int32_t)frame->index);
    record_field(&record, FIELD_COPY_destination_device, (uint64_t)(int64_t)(int32_t)frame->threads);
    record_end(&record, frame->stack);
}

/* Memory of the device: made, freed, or tied to the host's. */
static void memory_write(struct lane *lane, const struct frame *frame, uint64_t end)
{
    struct record record;
    bool alloc = frame->type == OMP_DATA_ALLOC, free = frame->type == OMP_DATA_DELETE;
    uint32_t name = lane->names[alloc ? NAME_TARGET_ALLOC : free ? NAME_TARGET_FREE : NAME_TARGET_ASSOCIATE];
    uint64_t shape = RECORD_SHAPE(alloc || free ? SPAN_KIND_ALLOC : SPAN_KIND_MAP, PAYLOAD_ALLOC);
    if (!record_begin(&record, 4, shape, name, frame->begin, end))
        return;
    record_field_if(&record, FIELD_ALLOC_address, free ? frame->waited : frame->done);
    record_field_if(&record, FIELD_ALLOC_bytes, frame->count);
    record_field(&record, FIELD_ALLOC_memory, lane->names[NAME_DEVICE]);
    record_field(&record, FIELD_ALLOC_device, (uint64_t)(int64_t)(int32_t)(free ? frame->index : frame->threads));
    record_end(&record, frame->stack);
}

void write_data_op(struct lane *lane, const struct frame *frame, uint64_t end)
{
    if (frame->type == OMP_DATA_TO_DEVICE || frame->type == OMP_DATA_FROM_DEVICE)
        copy_write(lane, frame, end);
    else
        memory_write(lane, frame, end);
}

static void data_op(int endpoint, const struct operation *operation)
{
    unsigned type = (unsigned)operation->type & ~(unsigned)OMP_DATA_ASYNC;
    struct lane *lane = lane_get();
    if (UNLIKELY(!lane) || type == 0 || type > OMP_DATA_DISASSOCIATE)
        return;
    if (endpoint != OMP_END) {
        struct frame *frame = lane_push(lane, FRAME_DATA_OP);
        frame->type = (uint8_t)type;
        frame->owner = 0;
        frame->stack = lane_stack(lane);
        frame->begin = now();
    }
    if (endpoint == OMP_BEGIN)
        return;
    uint64_t end = now();
    struct frame *frame = lane_pop(lane, FRAME_DATA_OP, type, 0);
    if (!frame)
        return;
    frame->count = operation->bytes; /* the end knows them all, an allocation's address too */
    frame->waited = (uintptr_t)operation->source;
    frame->done = (uintptr_t)operation->destination;
    frame->index = (uint32_t)operation->source_device;
    frame->threads = (uint32_t)operation->destination_device;
    write_data_op(lane, frame, end);
}

void on_data_op(uint64_t id, uint64_t operation_id, int type, void *source, int source_device, void *destination, int destination_device, size_t bytes, const void *code)
{
    const struct operation operation = {type, source, destination, source_device, destination_device, bytes, code};
    data_op(OMP_BEGIN_END, &operation);
}

void on_data_op_emi(int endpoint, union omp_data *target_task, union omp_data *data, uint64_t *operation_id, int type, void *source, int source_device, void *destination, int destination_device, size_t bytes, const void *code)
{
    const struct operation operation = {type, source, destination, source_device, destination_device, bytes, code};
    data_op(endpoint, &operation);
}

void write_submit(struct lane *lane, const struct frame *frame, uint64_t end)
{
    struct record record;
    if (!record_begin(&record, 0, RECORD_SHAPE(SPAN_KIND_LAUNCH, PAYLOAD_NONE), lane->names[NAME_TARGET_SUBMIT], frame->begin, end))
        return;
    record_end(&record, frame->stack);
}

static void submit(int endpoint)
{
    struct lane *lane = lane_get();
    if (UNLIKELY(!lane))
        return;
    if (endpoint != OMP_END) {
        struct frame *frame = lane_push(lane, FRAME_SUBMIT);
        frame->type = 0;
        frame->owner = 0;
        frame->stack = lane_stack(lane);
        frame->begin = now();
    }
    if (endpoint == OMP_BEGIN)
        return;
    uint64_t end = now();
    const struct frame *frame = lane_pop(lane, FRAME_SUBMIT, 0, 0);
    if (frame)
        write_submit(lane, frame, end);
}

void on_submit(uint64_t id, uint64_t operation, unsigned teams)
{
    submit(OMP_BEGIN_END);
}

void on_submit_emi(int endpoint, union omp_data *data, uint64_t *operation, unsigned teams)
{
    submit(endpoint);
}
