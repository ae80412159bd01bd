/* SPDX-License-Identifier: MIT */
/* The test collector: a small backend of the layer `test`, with every kind of record that the runtime offers. */
#include "collector.h"
#include "../collector.h"

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
    rt_call call = rt_enter(WIRE_LAYER_TEST);
    int result = work();
    rt_leave(call, name_call, RT_SHAPE(WIRE_LAYER_TEST, SPAN_KIND_API));
    return result;
}

void test_call_with(void (*inside)(void *), void *argument)
{
    rt_call call = rt_enter(WIRE_LAYER_TEST);
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
