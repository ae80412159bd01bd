/* SPDX-License-Identifier: MIT */
/*
 * Stands before the real CUPTI and writes down what it says:
 *
 *   CUPTI_REAL=/path/to/libcupti.so.13 CUPTI_RECORDING=file HPROFILER_CUPTI=libcupti_recorder.so hprofiler run -b cuda -- program
 */
#include "collect/cuda/cupti_api.h"
#include "recording.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* the functions are found by name */

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cupti_api real;
static FILE *file;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cupti_callback user_callback;
static void *user_context;
static cupti_buffer_completed user_completed;
static uint64_t (*user_clock)(void);
static uint32_t threads;
static __thread uint32_t own_thread; /* from 1 */

static void put(uint32_t kind, const void *a, size_t a_bytes, const void *b, size_t b_bytes, const void *c, size_t c_bytes)
{
    static const char zeros[8];
    struct recording_event event = {kind, (uint32_t)(a_bytes + b_bytes + c_bytes)};
    fwrite(&event, sizeof event, 1, file);
    fwrite(a, 1, a_bytes, file);
    fwrite(b, 1, b_bytes, file);
    fwrite(c, 1, c_bytes, file);
    fwrite(zeros, 1, -event.bytes & 7u, file);
}

static void *must_find(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "recorder: no %s in CUPTI_REAL\n", name);
        exit(1);
    }
    return found;
}

__attribute__((constructor)) static void start(void)
{
    const char *library_path = getenv("CUPTI_REAL"), *path = getenv("CUPTI_RECORDING");
    void *library = library_path ? dlopen(library_path, RTLD_NOW) : NULL;
    file = path ? fopen(path, "wb") : NULL;
    if (!library || !file) {
        fprintf(stderr, "recorder: CUPTI_REAL and CUPTI_RECORDING must name a library and a file\n");
        exit(1);
    }
#define FIND(name, symbol, arguments)                                                                                  \
    {                                                                                                                  \
        void *found = must_find(library, symbol);                                                                      \
        memcpy(&real.name, &found, sizeof found);                                                                      \
    }
    CUPTI_FUNCTIONS(FIND)
    CUPTI_SAMPLING_FUNCTIONS(FIND)
    CUPTI_OPTIONAL_FUNCTIONS(FIND)
#undef FIND
}

static uint32_t context_number(cuda_context context)
{
    uint32_t number = 0;
    return context && real.context_id(context, &number) == CUPTI_OK ? number : 0;
}

static uint64_t node_number(cuda_graph_node node)
{
    uint64_t number = 0;
    return node && real.node_id(node, &number) == CUPTI_OK ? number : 0;
}

static void put_resource(uint32_t id, const struct cupti_resource *resource)
{
    struct recorded_resource record = {.id = id, .context_uid = context_number(resource->context), .stream = (uintptr_t)resource->stream,
                                       .thread = own_thread};
    if (id == CUPTI_CONTEXT_CREATED)
        real.device_id(resource->context, &record.device);
    if (id == CUPTI_NODE_CREATED || id == CUPTI_NODE_CLONED || id == CUPTI_NODE_UPDATED) {
        const struct cupti_graph *graph = resource->descriptor;
        record.node = node_number(graph->node);
        record.original_node = node_number(graph->original_node);
    }
    put(RECORDING_RESOURCE, &record, sizeof record, "", 0, "", 0);
}

static void put_call(uint32_t domain, uint32_t id, const struct cupti_call *call)
{
    struct recorded_call record = {.time_ns = user_clock(), .domain = domain, .id = id, .site = call->site,
                                   .correlation = call->correlation, .context_uid = call->context_uid, .thread = own_thread};
    if (call->site == CUPTI_EXIT && call->result)
        memcpy(&record.result, call->result, sizeof record.result);
    if (call->parameters)
        memcpy(record.parameters, call->parameters, sizeof record.parameters);
    if (call->site == CUPTI_EXIT && record.result == 0 && recording_is_allocation(call->function)) {
        const void *first;
        memcpy(&first, record.parameters, sizeof first);
        memcpy(&record.pointee, first, sizeof record.pointee);
        record.has_pointee = 1;
    }
    put(RECORDING_CALL, &record, sizeof record, "", 0, "", 0);
}

static void on_callback(void *context, uint32_t domain, uint32_t id, const void *data)
{
    (void)context;
    if (!own_thread)
        own_thread = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&lock);
    if (domain == CUPTI_RESOURCE)
        put_resource(id, data);
    else
        put_call(domain, id, data);
    pthread_mutex_unlock(&lock);
    user_callback(user_context, domain, id, data);
}

static const char *name_of(const struct cupti_record *record)
{
    const void *body = record;
    const struct cupti_kernel *kernel = body;
    return record->kind == CUPTI_KERNEL || record->kind == CUPTI_KERNEL_SERIAL ? kernel->name : NULL;
}

static void on_completed(cuda_context context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    struct cupti_record *records[1 << 16], *record = NULL;
    uint32_t count = 0;
    while (buffer && count < 1 << 16 && real.next_record(buffer, valid, &record) == CUPTI_OK)
        records[count++] = record;
    pthread_mutex_lock(&lock);
    put(RECORDING_BUFFER, &count, sizeof count, "", 0, "", 0);
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *end = i + 1 < count ? (const uint8_t *)records[i + 1] : buffer + valid;
        const char *name = name_of(records[i]);
        struct recorded_record head = {(uint32_t)(end - (const uint8_t *)records[i]), name ? (uint32_t)strlen(name) + 1 : 0};
        put(RECORDING_RECORD, &head, sizeof head, records[i], head.bytes, name, head.name_bytes);
    }
    fflush(file);
    pthread_mutex_unlock(&lock);
    user_completed(context, stream, buffer, size, valid);
}

cupti_result cuptiGetVersion(uint32_t *version)
{
    cupti_result result = real.get_version(version);
    put(RECORDING_VERSION, version, sizeof *version, "", 0, "", 0);
    return result;
}
cupti_result cuptiSubscribe(cupti_subscriber *subscriber, cupti_callback callback, void *context)
{
    user_callback = callback;
    user_context = context;
    return real.subscribe(subscriber, on_callback, NULL);
}
cupti_result cuptiGetCallbackName(uint32_t domain, uint32_t id, const char **name)
{
    cupti_result result = real.callback_name(domain, id, name);
    const uint32_t numbers[] = {domain, id};
    if (result == CUPTI_OK && *name)
        put(RECORDING_NAME, numbers, sizeof numbers, *name, strlen(*name) + 1, "", 0);
    return result;
}
cupti_result cuptiActivityRegisterTimestampCallback(uint64_t (*clock)(void))
{
    user_clock = clock;
    return real.register_timestamp(clock);
}
cupti_result cuptiActivityRegisterCallbacks(cupti_buffer_requested requested, cupti_buffer_completed completed)
{
    user_completed = completed;
    return real.register_buffers(requested, on_completed);
}
cupti_result cuptiEnableCallback(uint32_t enable, cupti_subscriber subscriber, uint32_t domain, uint32_t id)
{
    return real.enable_callback(enable, subscriber, domain, id);
}
cupti_result cuptiActivityEnable(uint32_t kind) { return real.enable(kind); }
cupti_result cuptiActivityFlushAll(uint32_t forced)
{
    cupti_result result = real.flush(forced);
    fflush(file);
    return result;
}
cupti_result cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, struct cupti_record **record)
{
    return real.next_record(buffer, valid, record);
}
cupti_result cuptiActivityGetNumDroppedRecords(cuda_context context, uint32_t stream, size_t *dropped)
{
    return real.dropped(context, stream, dropped);
}
cupti_result cuptiGetStreamIdEx(cuda_context context, cuda_stream stream, uint8_t per_thread, uint32_t *id)
{
    cupti_result result = real.stream_id(context, stream, per_thread, id);
    const struct recorded_stream record = {(uintptr_t)stream, context_number(context), per_thread, result == CUPTI_OK ? *id : UINT32_MAX, 0};
    pthread_mutex_lock(&lock);
    put(RECORDING_STREAM, &record, sizeof record, "", 0, "", 0);
    pthread_mutex_unlock(&lock);
    return result;
}
cupti_result cuptiGetContextId(cuda_context context, uint32_t *id) { return real.context_id(context, id); }
cupti_result cuptiGetGraphNodeId(cuda_graph_node node, uint64_t *id) { return real.node_id(node, id); }
cupti_result cuptiGetDeviceId(cuda_context context, uint32_t *id) { return real.device_id(context, id); }
cupti_result cuptiActivityConfigureUnifiedMemoryCounter(struct cupti_managed_setting *settings, uint32_t count)
{
    return real.managed_set_up(settings, count);
}

/* PC sampling: reasons once, then what came by asking for data and at the end. */
static struct cupti_samples *data_buffer;

static void put_pc(const struct cupti_pc *pc)
{
    struct cupti_stall stalls[256];
    struct recorded_pc record = {pc->cubin_crc, pc->offset, 0, pc->function ? (uint32_t)strlen(pc->function) + 1 : 0, pc->correlation, 0};
    for (size_t i = 0; i < pc->stall_count && record.stalls < 256; i++)
        if (pc->stalls[i].samples)
            stalls[record.stalls++] = pc->stalls[i];
    put(RECORDING_PC, &record, sizeof record, stalls, record.stalls * sizeof stalls[0], pc->function, record.name_bytes);
}

static void put_samples(const struct cupti_samples *samples, uint32_t at_disable)
{
    const struct recorded_samples record = {(uint32_t)samples->count, at_disable, samples->dropped};
    if (!samples->count)
        return;
    pthread_mutex_lock(&lock);
    put(RECORDING_SAMPLES, &record, sizeof record, "", 0, "", 0);
    for (size_t i = 0; i < samples->count; i++)
        put_pc(&samples->pcs[i]);
    pthread_mutex_unlock(&lock);
}

cupti_result cuptiPCSamplingEnable(struct cupti_sampling_context *context) { return real.sampling_enable(context); }
cupti_result cuptiPCSamplingDisable(struct cupti_sampling_context *context)
{
    cupti_result result = real.sampling_disable(context);
    if (result == CUPTI_OK && data_buffer)
        put_samples(data_buffer, 1);
    return result;
}
cupti_result cuptiPCSamplingGetNumStallReasons(struct cupti_sampling_pointer *count) { return real.sampling_reason_count(count); }
cupti_result cuptiPCSamplingGetStallReasons(struct cupti_sampling_reasons *reasons)
{
    cupti_result result = real.sampling_reasons(reasons);
    for (size_t i = 0; result == CUPTI_OK && i < reasons->count; i++)
        put(RECORDING_STALL, &reasons->numbers[i], sizeof reasons->numbers[i], reasons->names[i], strlen(reasons->names[i]) + 1, "", 0);
    return result;
}
cupti_result cuptiPCSamplingSetConfigurationAttribute(struct cupti_sampling_settings *settings)
{
    for (size_t i = 0; i < settings->count; i++)
        if (settings->settings[i].attribute == CUPTI_SAMPLING_DATA_BUFFER)
            data_buffer = settings->settings[i].value.pointer;
    return real.sampling_configure(settings);
}
cupti_result cuptiPCSamplingGetData(struct cupti_sampling_pointer *data)
{
    cupti_result result = real.sampling_data(data);
    if (result == CUPTI_OK)
        put_samples(data->pointer, 0);
    return result;
}
cupti_result cuptiGetCubinCrc(struct cupti_crc *crc) { return real.cubin_crc(crc); }
