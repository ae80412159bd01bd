/* SPDX-License-Identifier: MIT */
/* The test collector: a small backend of the layer `test`, with every kind of record that the runtime offers. */
#include "collector.h"
#include "../collector.h"

#include <time.h>

static uint32_t name_call, name_launch, name_work;

__attribute__((constructor)) static void collector_start(void)
{
    if (!rt_register(WIRE_LAYER_TEST, "test"))
        return;
    name_call = rt_string("test_call", 9);
    name_launch = rt_string("test_launch", 11);
    name_work = rt_string("test_work", 9);
}

static uint32_t string_of(const char *text)
{
    size_t length = 0;
    while (text[length])
        length++;
    return rt_string(text, length);
}

__attribute__((noinline)) static int work(void)
{
    __asm__ volatile("");
    return 1;
}

int test_call(void)
{
    rt_call call = rt_enter(WIRE_LAYER_TEST, name_call);
    int result = work();
    rt_leave(call, name_call, RT_SHAPE(WIRE_LAYER_TEST, SPAN_KIND_API));
    return result;
}

void test_call_with(void (*inside)(void *), void *argument)
{
    rt_call call = rt_enter(WIRE_LAYER_TEST, name_call);
    inside(argument);
    rt_leave(call, name_call, RT_SHAPE(WIRE_LAYER_TEST, SPAN_KIND_API));
}

void test_named(const char *name, uint64_t value)
{
    struct rt_span span = {.begin = rt_now(), .layer = WIRE_LAYER_TEST, .span_kind = SPAN_KIND_RANGE, .payload_kind = PAYLOAD_TEST};
    span.name = string_of(name);
    span.present = 1;
    span.fields[0] = value;
    span.end = rt_now();
    rt_span(&span);
}

void test_instant(const char *name)
{
    rt_instant(WIRE_LAYER_TEST, string_of(name), 0);
}

void test_counter(const char *name, double value)
{
    rt_counter(WIRE_LAYER_TEST, string_of(name), string_of("1"), value);
}

void test_launch(uint64_t value)
{
    uint64_t launch = rt_correlation(), task = rt_correlation();
    struct rt_span span = {.begin = rt_now(), .correlation = launch, .layer = WIRE_LAYER_TEST, .span_kind = SPAN_KIND_LAUNCH};
    span.name = name_launch;
    span.end = rt_now();
    rt_span(&span);
    span.begin = rt_now();
    span.correlation = task;
    span.name = name_work;
    span.payload_kind = PAYLOAD_TEST;
    span.present = 1;
    span.fields[0] = value;
    span.end = rt_now();
    rt_span(&span);
    rt_link(LINK_KIND_LAUNCH, CONFIDENCE_CERTAIN, WIRE_LAYER_TEST, launch, WIRE_LAYER_TEST, task);
}

void test_burst(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        test_call();
}

__attribute__((noinline)) uint32_t test_stack(void)
{
    struct rt_span span = {.begin = rt_now(), .layer = WIRE_LAYER_TEST, .span_kind = SPAN_KIND_API, .payload_kind = PAYLOAD_TEST};
    span.name = string_of("test_stack");
    span.stack = rt_stack(1);
    rt_field(&span, FIELD_TEST_value, span.stack);
    span.end = rt_now();
    rt_span(&span);
    return span.stack;
}

__attribute__((noinline)) void test_stacks(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        rt_stack(0);
}

void test_code(const void *address)
{
    rt_code(address);
}

static uint64_t device_ns(void)
{
    static uint64_t first;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    uint64_t ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    first = first ? first : ns;
    return ns - first + 1000;
}

static void bound(int32_t order, uint64_t time, uint64_t device_time)
{
    struct wire_device_clock record = {.header = {WIRE_DEVICE_CLOCK, sizeof record / 8, 1}};
    record.device_time = device_time;
    record.order = order;
    record.time = time;
    rt_append(&record.header);
}

static void device_work(uint64_t launch, uint64_t begin_ns, uint64_t end_ns)
{
    struct wire_device_span record = {.span = {.header = {WIRE_DEVICE_SPAN, sizeof record / 8, name_work}}};
    record.span.begin = begin_ns;
    record.span.end = end_ns;
    record.span.layer = WIRE_LAYER_TEST;
    record.span.span_kind = SPAN_KIND_KERNEL;
    record.queue = 7;
    record.device = 0;
    record.clock = 1;
    record.launch = launch;
    rt_append(&record.span.header);
}

/* The "device" is this thread; what makes it one is that its times are another clock's. */
void test_device(uint64_t count)
{
    struct wire_device device = {.header = {WIRE_DEVICE, sizeof device / 8, string_of("test device")}, .layer = WIRE_LAYER_TEST};
    struct wire_queue queue = {.header = {WIRE_QUEUE, sizeof queue / 8, string_of("test queue")}, .queue = 7, .layer = WIRE_LAYER_TEST};
    rt_append(&device.header);
    rt_append(&queue.header);
    for (uint64_t i = 0; i < count; i++) {
        struct rt_span span = {.begin = rt_now(), .correlation = rt_correlation(), .layer = WIRE_LAYER_TEST, .span_kind = SPAN_KIND_LAUNCH};
        span.name = name_launch;
        span.end = rt_now();
        rt_span(&span);
        uint64_t before = rt_now(), begin_ns = device_ns(), end_ns = device_ns(), after = rt_now();
        bound(1, before, begin_ns);
        bound(-1, after, end_ns);
        device_work(span.correlation, begin_ns, end_ns);
    }
}

uint64_t test_object(uint64_t bytes, uint8_t value)
{
    static uint8_t content[65536];
    __builtin_memset(content, value, sizeof content);
    return rt_object(WIRE_LAYER_TEST, WIRE_OBJECT_OTHER, string_of("test object"), content, bytes < sizeof content ? bytes : sizeof content);
}
