/* SPDX-License-Identifier: MIT */
/*
 * Which stream a handle means, and which recording of an event is its last. CUPTI tells a stream's number for its handle, but only
 * in its own context, which need not be the calling thread's: so its context is kept from when it was made. Open addressing; where
 * a table is full the number stays unknown.
 */
#include "cuda.h"

enum { STREAMS = 1 << 12, EVENTS = 1 << 14, TRIES = 16, LEGACY = 1, PER_THREAD = 2 /* handles with a meaning */ };

static struct stream {
    uint64_t handle;      /* 0 = free; stays when the stream is gone, as handles come again */
    cuda_context context; /* atomic; NULL: gone */
    uint64_t id;          /* atomic: context << 32 | stream, as cuda_lane; 0 = not asked yet */
    uint64_t capture;     /* atomic: handle of the stream that the capture began on which it is part of; 0 = none */
} streams[STREAMS];

static struct event {
    uint64_t handle;
    uint64_t record;  /* atomic: number of the last recording, plus 1; 1 = never recorded; 0 = unknown */
    uint64_t capture; /* atomic: != 0: its last recording became part of this capture */
} events[EVENTS];
static uint64_t event_records;
static uint32_t captures; /* that are under way in the process */

bool cuda_capturing(void)
{
    return __atomic_load_n(&captures, __ATOMIC_ACQUIRE) != 0;
}

static uint32_t place_of(uint64_t handle)
{
    return (uint32_t)(handle * 0x9e3779b97f4a7c15ull >> 40);
}

/* The entry whose first member is the handle; with `make` it takes a free one. NULL: none. */
static void *entry_of(void *table, size_t bytes, uint32_t count, uint64_t handle, bool make)
{
    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t expected = 0, *entry = (uint64_t *)(void *)((char *)table + bytes * ((place_of(handle) + i) & (count - 1)));
        uint64_t known = __atomic_load_n(entry, __ATOMIC_ACQUIRE);
        if (known == handle)
            return entry;
        if (known == 0 && !make)
            return 0;
        if (known == 0 && (__atomic_compare_exchange_n(entry, &expected, handle, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) || expected == handle))
            return entry;
    }
    return 0;
}

static struct stream *stream_entry(uint64_t handle, bool make)
{
    return entry_of(streams, sizeof streams[0], STREAMS, handle, make);
}

void cuda_stream_made(cuda_context context, cuda_stream handle)
{
    struct stream *stream = handle ? stream_entry((uintptr_t)handle, true) : 0;
    if (!stream)
        return;
    __atomic_store_n(&stream->id, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&stream->context, context, __ATOMIC_RELEASE);
}

void cuda_stream_gone(cuda_stream handle)
{
    struct stream *stream = handle ? stream_entry((uintptr_t)handle, false) : 0;
    if (stream)
        __atomic_store_n(&stream->context, 0, __ATOMIC_RELEASE);
}

static bool ask(cuda_context context, uint64_t handle, bool per_thread, struct cuda_stream_id *ret_id)
{
    return context && cuda.cupti.context_id(context, &ret_id->context) == CUPTI_OK &&
           cuda.cupti.stream_id(context, (cuda_stream)(uintptr_t)handle, per_thread, &ret_id->stream) == CUPTI_OK;
}

static bool find_default(cuda_context context, bool per_thread, struct cuda_stream_id *ret_id)
{
    if (!ask(context, 0, per_thread, ret_id))
        return false;
    if (per_thread)
        cuda_lane_trait(ret_id->context, ret_id->stream, CUDA_LANE_PER_THREAD);
    return true;
}

void cuda_stream_defaults(const struct cupti_call *call, bool per_thread)
{
    static uint64_t asked; /* contexts, by bit, of which the legacy one is known */
    static __thread uint32_t own_context; /* of which this thread's own is known */
    struct cuda_stream_id id;
    uint32_t context = call->context_uid;
    if (!call->context || context == 0)
        return;
    if (context < 64 && !(__atomic_load_n(&asked, __ATOMIC_RELAXED) >> context & 1)) {
        __atomic_fetch_or(&asked, 1ull << context, __ATOMIC_RELAXED);
        if (find_default(call->context, false, &id))
            cuda_lane_null_stream(id.context, id.stream);
    }
    if (per_thread && own_context != context) {
        own_context = context;
        find_default(call->context, true, &id);
    }
}

bool cuda_stream_find(const struct cupti_call *call, uint64_t handle, bool per_thread, struct cuda_stream_id *ret_id)
{
    if (handle <= PER_THREAD)
        return find_default(call->context, handle == PER_THREAD || (handle == 0 && per_thread), ret_id);
    struct stream *stream = stream_entry(handle, false);
    cuda_context context = stream ? __atomic_load_n(&stream->context, __ATOMIC_ACQUIRE) : 0;
    uint64_t id = context ? __atomic_load_n(&stream->id, __ATOMIC_ACQUIRE) : 0;
    if (id) {
        *ret_id = (struct cuda_stream_id){(uint32_t)(id >> 32), (uint32_t)id};
        return true;
    }
    if (!ask(context ? context : call->context, handle, per_thread, ret_id))
        return false;
    if (context)
        __atomic_store_n(&stream->id, cuda_lane(ret_id->context, ret_id->stream), __ATOMIC_RELEASE);
    return true;
}

bool cuda_stream_known(uint64_t handle, struct cuda_stream_id *ret_id)
{
    const struct cupti_call call = {0};
    return handle > PER_THREAD && cuda_stream_find(&call, handle, false, ret_id);
}

/* A capture is passed on from stream to stream by events that are recorded and waited for in it. */
static struct stream *capture_entry(uint64_t handle, bool per_thread, bool make)
{
    static __thread char own; /* its address stands for the thread's own default stream; the legacy one cannot be captured */
    if (handle == PER_THREAD || (handle == 0 && per_thread))
        handle = (uintptr_t)&own;
    return handle <= PER_THREAD ? 0 : stream_entry(handle, make);
}

static uint64_t capture_of(uint64_t handle, bool per_thread)
{
    const struct stream *stream = cuda_capturing() ? capture_entry(handle, per_thread, false) : 0;
    return stream ? __atomic_load_n(&stream->capture, __ATOMIC_ACQUIRE) : 0;
}

void cuda_capture_begin(uint64_t handle, bool per_thread)
{
    struct stream *stream = capture_entry(handle, per_thread, true);
    if (stream && __atomic_exchange_n(&stream->capture, stream->handle, __ATOMIC_ACQ_REL) == 0)
        __atomic_fetch_add(&captures, 1, __ATOMIC_ACQ_REL);
}

void cuda_capture_end(uint64_t handle, bool per_thread)
{
    uint64_t capture = capture_of(handle, per_thread);
    if (!capture)
        return;
    for (unsigned i = 0; i < STREAMS; i++) {
        uint64_t expected = capture;
        __atomic_compare_exchange_n(&streams[i].capture, &expected, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    }
    __atomic_fetch_sub(&captures, 1, __ATOMIC_ACQ_REL);
}

static struct event *event_entry(uint64_t handle)
{
    return entry_of(events, sizeof events[0], EVENTS, handle, true);
}

void cuda_event_made(uint64_t handle)
{
    struct event *event = handle ? event_entry(handle) : 0;
    if (event)
        __atomic_store_n(&event->record, 1, __ATOMIC_RELEASE);
    if (event)
        __atomic_store_n(&event->capture, 0, __ATOMIC_RELEASE);
}

enum cuda_event_state cuda_event_record(uint64_t handle, uint64_t stream, bool per_thread, uint64_t *ret_number)
{
    struct event *event = event_entry(handle);
    uint64_t capture = capture_of(stream, per_thread);
    if (event)
        __atomic_store_n(&event->capture, capture, __ATOMIC_RELEASE);
    if (capture)
        return CUDA_EVENT_CAPTURED;
    *ret_number = __atomic_add_fetch(&event_records, 1, __ATOMIC_ACQ_REL);
    if (event)
        __atomic_store_n(&event->record, *ret_number + 1, __ATOMIC_RELEASE);
    return CUDA_EVENT_NUMBERED;
}

enum cuda_event_state cuda_event_last(uint64_t handle, uint64_t *ret_number)
{
    const struct event *event = event_entry(handle);
    uint64_t record = event ? __atomic_load_n(&event->record, __ATOMIC_ACQUIRE) : 0;
    *ret_number = record - 1;
    return record && !__atomic_load_n(&event->capture, __ATOMIC_ACQUIRE) ? CUDA_EVENT_NUMBERED : CUDA_EVENT_UNKNOWN;
}

enum cuda_event_state cuda_event_wait(uint64_t handle, uint64_t stream, bool per_thread, uint64_t *ret_number)
{
    const struct event *event = event_entry(handle);
    uint64_t capture = event && cuda_capturing() ? __atomic_load_n(&event->capture, __ATOMIC_ACQUIRE) : 0;
    struct stream *joining = capture ? capture_entry(stream, per_thread, true) : 0;
    if (joining)
        __atomic_store_n(&joining->capture, capture, __ATOMIC_RELEASE);
    return capture || capture_of(stream, per_thread) ? CUDA_EVENT_CAPTURED : cuda_event_last(handle, ret_number);
}
