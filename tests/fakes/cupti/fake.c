/* SPDX-License-Identifier: MIT */
/*
 * A CUPTI that says again what a real one said (recording.h, the file in CUPTI_RECORDING), in the same order and on as many
 * threads, when cupti_fake_play is called. Device times keep their distance from the recording's first time. Contexts and nodes of
 * graphs are handed out by their numbers.
 */
#include "collect/cuda/cupti_api.h"
#include "pace.h"
#include "recording.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* the functions are found by name */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 64, CALLS = 2048, OPEN_CALLS = 4096 };

static uint8_t *bytes;
static size_t size;
static const char *names[4][CALLS];
static uint8_t enabled[4][CALLS];
static uint32_t version;
static cupti_callback callback;
static void *callback_context;
static cupti_buffer_requested requested;
static cupti_buffer_completed completed;
static uint64_t (*clock_ns)(void);
static int64_t shift_ns;

/* The buffer that is being read. */
static struct cupti_record *records[1 << 16];
static uint32_t record_count, record_next;

const struct recording_event *event_at(size_t offset)
{
    const struct recording_event *event = (const void *)(bytes + offset);
    return offset + sizeof *event <= size && offset + sizeof *event + event->bytes <= size ? event : NULL;
}

size_t event_end(size_t offset, const struct recording_event *event)
{
    return offset + sizeof *event + ((event->bytes + 7u) & ~7u);
}

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("CUPTI_RECORDING");
    FILE *file = path ? fopen(path, "rb") : NULL;
    if (!file) {
        fprintf(stderr, "fake cupti: CUPTI_RECORDING must name a recording\n");
        exit(1);
    }
    fseek(file, 0, SEEK_END);
    size = (size_t)ftell(file);
    rewind(file);
    bytes = malloc(size);
    if (!bytes || fread(bytes, 1, size, file) != size)
        exit(1);
    fclose(file);
    const struct recording_event *event;
    for (size_t at = 0; (event = event_at(at)); at = event_end(at, event)) {
        const uint32_t *numbers = (const void *)(event + 1);
        if (event->kind == RECORDING_VERSION)
            version = numbers[0];
        if (event->kind == RECORDING_NAME && numbers[0] < 4 && numbers[1] < CALLS)
            names[numbers[0]][numbers[1]] = (const char *)(numbers + 2);
    }
}

static void shift(uint64_t *time)
{
    if (*time)
        *time = (uint64_t)((int64_t)*time + (pace_count ? pace_shift(*time) : shift_ns));
}

/* Both by what the beginning is shifted: a length stays what it was. */
static void shift_both(uint64_t *start, uint64_t *end)
{
    uint64_t length = *end - *start;
    shift(start);
    *end = *start ? *start + length : *end;
}

static void shift_other_times(struct cupti_record *record)
{
    void *body = record;
    struct cupti_graph_trace *graph = body;
    struct cupti_overhead *overhead = body;
    struct cupti_managed *managed = body;
    struct cupti_memory *memory = body;
    struct cupti_memory_pool *pool = body;
    struct cupti_jit *jit = body;
    switch (record->kind) {
    case CUPTI_GRAPH_TRACE: shift_both(&graph->start, &graph->end); break;
    case CUPTI_OVERHEAD: shift_both(&overhead->start, &overhead->end); break;
    case CUPTI_MANAGED: shift_both(&managed->start, &managed->end); break;
    case CUPTI_JIT: shift_both(&jit->start, &jit->end); break;
    case CUPTI_MEMORY: shift(&memory->time); break;
    case CUPTI_MEMORY_POOL: shift(&pool->time); break;
    default: break;
    }
}

static void shift_times(struct cupti_record *record, const char *name)
{
    void *body = record;
    struct cupti_kernel *kernel = body;
    struct cupti_memcpy *copy = body;
    struct cupti_memset *fill = body;
    if (record->kind == CUPTI_KERNEL || record->kind == CUPTI_KERNEL_SERIAL) {
        shift_both(&kernel->start, &kernel->end);
        kernel->name = name;
    } else if (record->kind == CUPTI_MEMCPY || record->kind == CUPTI_MEMCPY_PEER) {
        shift_both(&copy->start, &copy->end); /* at one place in both */
    } else if (record->kind == CUPTI_MEMSET) {
        shift_both(&fill->start, &fill->end);
    } else {
        shift_other_times(record);
    }
}

/* Plays a buffer and the records behind it; returns where they end. */
static size_t play_buffer(size_t at, const struct recording_event *event)
{
    uint32_t count = *(const uint32_t *)(const void *)(event + 1);
    uint8_t *buffer = NULL;
    size_t room = 0, limit = 0, used = 0;
    requested(&buffer, &room, &limit);
    record_count = record_next = 0;
    at = event_end(at, event);
    for (uint32_t i = 0; i < count && (event = event_at(at)) && event->kind == RECORDING_RECORD; i++, at = event_end(at, event)) {
        const struct recorded_record *head = (const void *)(event + 1);
        if (!buffer || used + head->bytes > room || record_count == sizeof records / sizeof records[0])
            continue;
        struct cupti_record *record = (void *)(buffer + used);
        memcpy(record, head + 1, head->bytes);
        shift_times(record, head->name_bytes ? (const char *)(head + 1) + head->bytes : NULL);
        records[record_count++] = record;
        used += head->bytes;
    }
    completed(NULL, 0, buffer, room, used);
    return at;
}

static uint64_t *call_data(uint32_t correlation, uint32_t domain)
{
    static uint64_t data[OPEN_CALLS];
    return &data[(correlation * 2 + domain) % OPEN_CALLS];
}

/* The runtime calls the driver: that is further down the stack, and collectors may tell by it. */
static __attribute__((noinline)) void call_back(const struct recorded_call *recorded, const struct cupti_call *call)
{
    volatile char depth[512];
    depth[0] = 0;
    callback(callback_context, recorded->domain, recorded->id, call);
    depth[sizeof depth - 1] = depth[0];
}

static void play_call(const struct recorded_call *recorded)
{
    if (recorded->domain >= 4 || recorded->id >= CALLS || !enabled[recorded->domain][recorded->id])
        return;
    int32_t result = recorded->result;
    uint8_t parameters[RECORDED_PARAMETERS];
    const void *pointee = &recorded->pointee;
    memcpy(parameters, recorded->parameters, sizeof parameters);
    const char *name = names[recorded->domain][recorded->id];
    if (recorded->has_pointee || (name && recording_is_allocation(name))) /* else it would point into another process */
        memcpy(parameters, &pointee, sizeof pointee);
    const struct cupti_call call = {
        .site = recorded->site,
        .function = name,
        .parameters = parameters,
        .result = &result,
        .symbol = "",
        .context = (cuda_context)(uintptr_t)recorded->context_uid,
        .context_uid = recorded->context_uid,
        .data = call_data(recorded->correlation, recorded->domain),
        .correlation = recorded->correlation,
    };
    if (recorded->domain == CUPTI_DRIVER)
        call_back(recorded, &call);
    else
        callback(callback_context, recorded->domain, recorded->id, &call);
}

static uint32_t context_device;

static void play_resource(const struct recorded_resource *recorded)
{
    struct cupti_graph graph = {.node = (cuda_graph_node)(uintptr_t)recorded->node, .original_node = (cuda_graph_node)(uintptr_t)recorded->original_node};
    const struct cupti_resource resource = {
        .context = (cuda_context)(uintptr_t)recorded->context_uid, .stream = (cuda_stream)(uintptr_t)recorded->stream, .descriptor = recorded->node ? &graph : NULL};
    if (recorded->id == CUPTI_CONTEXT_CREATED)
        context_device = recorded->device;
    if (recorded->id < CALLS && enabled[CUPTI_RESOURCE][recorded->id])
        callback(callback_context, CUPTI_RESOURCE, recorded->id, &resource);
}

static void play_event(const struct recording_event *event)
{
    const struct recorded_call *recorded = (const void *)(event + 1);
    if (event->kind == RECORDING_CALL) {
        if (pace_count)
            pace_wait(recorded->time_ns, clock_ns);
        play_call(recorded);
        if (pace_count)
            pace_done(recorded->time_ns, clock_ns);
    }
    if (event->kind == RECORDING_RESOURCE)
        play_resource((const void *)(event + 1));
}

static uint32_t thread_of(const struct recording_event *event)
{
    const void *body = event + 1;
    return event->kind == RECORDING_CALL ? ((const struct recorded_call *)body)->thread : ((const struct recorded_resource *)body)->thread;
}

/* Each thread of the recording has a thread here; they take turns in the recording's order. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static uint32_t whose;
static const struct recording_event *what;
static int over;

static void *player(void *argument)
{
    uint32_t own = (uint32_t)(uintptr_t)argument;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (whose != own && !over)
            pthread_cond_wait(&turn, &lock);
        if (over)
            break;
        play_event(what);
        whose = 0;
        pthread_cond_broadcast(&turn);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static pthread_t players[THREADS];
static uint8_t playing[THREADS];

static void hand_over(const struct recording_event *event)
{
    uint32_t thread = thread_of(event);
    if (thread >= THREADS)
        return;
    if (thread <= 1) {
        play_event(event);
        return;
    }
    if (!playing[thread]) {
        playing[thread] = 1;
        pthread_create(&players[thread], NULL, player, (void *)(uintptr_t)thread);
    }
    pthread_mutex_lock(&lock);
    what = event;
    whose = thread;
    pthread_cond_broadcast(&turn);
    while (whose)
        pthread_cond_wait(&turn, &lock);
    pthread_mutex_unlock(&lock);
}

static uint64_t first_time(void)
{
    const struct recording_event *event;
    for (size_t at = 0; (event = event_at(at)); at = event_end(at, event))
        if (event->kind == RECORDING_CALL)
            return ((const struct recorded_call *)(const void *)(event + 1))->time_ns;
    return 0;
}

int cupti_fake_play(void)
{
    shift_ns = (int64_t)clock_ns() - (int64_t)first_time();
    if (pace_is_on())
        pace_add(first_time(), shift_ns);
    const struct recording_event *event;
    for (size_t at = 0; (event = event_at(at));) {
        if (event->kind == RECORDING_BUFFER) {
            at = play_buffer(at, event);
            continue;
        }
        if (event->kind == RECORDING_CALL || event->kind == RECORDING_RESOURCE)
            hand_over(event);
        at = event_end(at, event);
    }
    pthread_mutex_lock(&lock);
    over = 1;
    pthread_cond_broadcast(&turn);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < THREADS; i++)
        if (playing[i])
            pthread_join(players[i], NULL);
    return 0;
}

cupti_result cuptiGetVersion(uint32_t *out)
{
    *out = version;
    return CUPTI_OK;
}
cupti_result cuptiSubscribe(cupti_subscriber *out, cupti_callback function, void *context)
{
    *out = (cupti_subscriber)(uintptr_t)1;
    callback = function;
    callback_context = context;
    return CUPTI_OK;
}
cupti_result cuptiEnableCallback(uint32_t enable, cupti_subscriber subscriber, uint32_t domain, uint32_t id)
{
    (void)subscriber;
    if (domain < 4 && id < CALLS)
        enabled[domain][id] = (uint8_t)enable;
    return CUPTI_OK;
}
cupti_result cuptiGetCallbackName(uint32_t domain, uint32_t id, const char **name)
{
    *name = domain < 4 && id < CALLS ? names[domain][id] : NULL;
    return *name ? CUPTI_OK : 1;
}
cupti_result cuptiActivityRegisterTimestampCallback(uint64_t (*clock)(void))
{
    clock_ns = clock;
    return CUPTI_OK;
}
cupti_result cuptiActivityRegisterCallbacks(cupti_buffer_requested request, cupti_buffer_completed complete)
{
    requested = request;
    completed = complete;
    return CUPTI_OK;
}
cupti_result cuptiActivityEnable(uint32_t kind)
{
    return kind ? CUPTI_OK : 1;
}
cupti_result cuptiActivityFlushAll(uint32_t forced)
{
    (void)forced;
    return CUPTI_OK;
}
cupti_result cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, struct cupti_record **record)
{
    (void)buffer;
    (void)valid;
    if (record_next == record_count)
        return CUPTI_NO_MORE_RECORDS;
    *record = records[record_next++];
    return CUPTI_OK;
}
cupti_result cuptiActivityGetNumDroppedRecords(cuda_context context, uint32_t stream, size_t *dropped)
{
    (void)context;
    (void)stream;
    *dropped = 0;
    return CUPTI_OK;
}
/* As the real one answered, whenever it was. */
cupti_result cuptiGetStreamIdEx(cuda_context context, cuda_stream stream, uint8_t per_thread, uint32_t *id)
{
    const struct recording_event *event;
    for (size_t at = 0; (event = event_at(at)); at = event_end(at, event)) {
        const struct recorded_stream *recorded = (const void *)(event + 1);
        if (event->kind != RECORDING_STREAM || recorded->handle != (uintptr_t)stream || recorded->per_thread != per_thread ||
            recorded->context_uid != (uintptr_t)context || recorded->id == UINT32_MAX)
            continue;
        *id = recorded->id;
        return CUPTI_OK;
    }
    return 1;
}
cupti_result cuptiGetContextId(cuda_context context, uint32_t *id)
{
    *id = (uint32_t)(uintptr_t)context;
    return context ? CUPTI_OK : 1;
}
cupti_result cuptiGetGraphNodeId(cuda_graph_node node, uint64_t *id)
{
    *id = (uintptr_t)node;
    return node ? CUPTI_OK : 1;
}
cupti_result cuptiActivityConfigureUnifiedMemoryCounter(struct cupti_managed_setting *settings, uint32_t count)
{
    return settings && count ? CUPTI_OK : 1;
}
cupti_result cuptiGetDeviceId(cuda_context context, uint32_t *id)
{
    (void)context;
    *id = context_device;
    return CUPTI_OK;
}
