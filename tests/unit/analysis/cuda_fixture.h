/* SPDX-License-Identifier: MIT */
/* Hand-made CUDA: one process, one context, streams, launches and calls on a host thread, with the payloads that the collector gives. */
#ifndef HP_TESTS_CUDA_FIXTURE_H
#define HP_TESTS_CUDA_FIXTURE_H

#include "../trace/trace_fixture.h"

struct cuda {
    struct trace_builder *builder;
    track_id host, other; /* threads */
};

static inline struct cuda cuda_begin(void)
{
    struct cuda cuda = {.builder = fixture_builder(0)};
    cuda.host = fixture_track(cuda.builder, TRACK_KIND_THREAD, "main", 42);
    cuda.other = fixture_track(cuda.builder, TRACK_KIND_THREAD, "other", 43);
    return cuda;
}

static inline track_id cuda_stream(struct cuda *cuda, int32_t number, const char *name)
{
    const struct trace_track track = {.kind = TRACK_KIND_STREAM, .name = trace_builder_string(cuda->builder, name), .process = {0}, .tid = -1,
                                      .device = 0, .stream = number, .start_ns = INT64_MIN, .end_ns = INT64_MIN};
    track_id id;
    assert_int_equal(trace_builder_add_track(cuda->builder, &track, &id), 0);
    return id;
}

static inline void cuda_field(struct payload *payload, unsigned field, uint64_t value)
{
    payload->present |= 1u << field;
    payload->fields[field].u64 = value;
}

static inline void cuda_word(struct cuda *cuda, struct payload *payload, unsigned field, const char *text)
{
    payload->present |= 1u << field;
    payload->fields[field].string = trace_builder_string(cuda->builder, text);
}

static inline span_id cuda_span(struct cuda *cuda, track_id track, enum span_kind kind, const char *name, int64_t begin_ns, int64_t end_ns,
                                const struct payload *payload)
{
    const struct span span = {.track = track, .begin_ns = begin_ns, .end_ns = end_ns, .kind = kind, .parent = SPAN_NONE, .stack = STACK_NONE,
                              .name = trace_builder_string(cuda->builder, name), .category = trace_builder_string(cuda->builder, "cuda")};
    span_id handle;
    assert_int_equal(trace_builder_add_span(cuda->builder, &span, payload, &handle), 0);
    return handle;
}

static inline void cuda_link(struct cuda *cuda, enum link_kind kind, span_id from, span_id to)
{
    const struct trace_link link = {.kind = kind, .confidence = CONFIDENCE_CERTAIN, .from = from, .to = to};
    assert_int_equal(trace_builder_add_link(cuda->builder, &link), 0);
}

/* A kernel, and the call that launched it: 5 ns from call_ns on. */
static inline span_id cuda_kernel_of(struct cuda *cuda, track_id stream, span_id call, const char *name, int64_t begin_ns, int64_t end_ns)
{
    struct payload payload = {.kind = PAYLOAD_KERNEL};
    cuda_field(&payload, FIELD_KERNEL_context, 1);
    span_id kernel = cuda_span(cuda, stream, SPAN_KIND_KERNEL, name, begin_ns, end_ns, &payload);
    cuda_link(cuda, LINK_KIND_LAUNCH, call, kernel);
    return kernel;
}

static inline span_id cuda_kernel(struct cuda *cuda, track_id stream, const char *name, int64_t call_ns, int64_t begin_ns, int64_t end_ns)
{
    span_id call = cuda_span(cuda, cuda->host, SPAN_KIND_LAUNCH, "cudaLaunchKernel", call_ns, call_ns + 5, NULL);
    return cuda_kernel_of(cuda, stream, call, name, begin_ns, end_ns);
}

/* A call with a device_sync payload; stream, record: -1 = the field is absent. */
static inline span_id cuda_sync(struct cuda *cuda, const char *what, const char *name, int64_t stream, int64_t record, int64_t begin_ns, int64_t end_ns)
{
    struct payload payload = {.kind = PAYLOAD_DEVICE_SYNC};
    bool waits = strcmp(what, "event") == 0 || strcmp(what, "stream") == 0 || strcmp(what, "context") == 0;
    cuda_word(cuda, &payload, FIELD_DEVICE_SYNC_what, what);
    cuda_field(&payload, FIELD_DEVICE_SYNC_context, 1);
    if (stream >= 0)
        cuda_field(&payload, FIELD_DEVICE_SYNC_stream, (uint64_t)stream);
    if (record >= 0)
        cuda_field(&payload, FIELD_DEVICE_SYNC_record, (uint64_t)record);
    return cuda_span(cuda, cuda->host, waits ? SPAN_KIND_SYNC : SPAN_KIND_API, name, begin_ns, end_ns, &payload);
}

/* A copy and its call. */
static inline span_id cuda_copy(struct cuda *cuda, track_id stream, const char *name, const char *direction, const char *memory, bool blocking,
                                int64_t call_ns, int64_t return_ns, int64_t begin_ns, int64_t end_ns)
{
    struct payload api = {.kind = PAYLOAD_API}, copy = {.kind = PAYLOAD_COPY};
    cuda_field(&api, FIELD_API_context, 1);
    if (blocking)
        cuda_field(&api, FIELD_API_blocking, 1);
    cuda_field(&copy, FIELD_COPY_context, 1);
    cuda_word(cuda, &copy, FIELD_COPY_direction, direction);
    cuda_word(cuda, &copy, FIELD_COPY_source_memory, memory);
    cuda_field(&copy, FIELD_COPY_bytes, strstr(name, "small") ? 4096 : 1 << 20);
    span_id call = cuda_span(cuda, cuda->host, SPAN_KIND_API, name, call_ns, return_ns, &api);
    span_id span = cuda_span(cuda, stream, SPAN_KIND_COPY, "copy", begin_ns, end_ns, &copy);
    cuda_link(cuda, LINK_KIND_LAUNCH, call, span);
    return call;
}

#endif
