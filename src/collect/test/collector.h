/* SPDX-License-Identifier: MIT */
/* What a test program may call in libhprofiler_test.so, or finds absent when it isn't preloaded (declare it weak). */
#ifndef HP_COLLECT_TEST_COLLECTOR_H
#define HP_COLLECT_TEST_COLLECTOR_H

#include <stdint.h>

#define TEST_API(name) __asm__("hprofiler_test_" name) __attribute__((visibility("default"), weak))

/* A traced call: does nothing itself, records a span "test_call". Returns 1. */
int test_call(void) TEST_API("call");
/* A traced call that calls `inside` meanwhile: nesting, handlers, longjmp. */
void test_call_with(void (*inside)(void *), void *argument) TEST_API("call_with");
/* A span with a name of its own and the number as payload. */
void test_named(const char *name, uint64_t value) TEST_API("named");
void test_instant(const char *name) TEST_API("instant");
void test_counter(const char *name, double value) TEST_API("counter");
/* Two spans joined by a launch link. */
void test_launch(uint64_t value) TEST_API("launch");
/* A span "test_stack" with its caller's call stack and its number in the process as payload, which is returned; 0 = no stack. */
uint32_t test_stack(void) TEST_API("stack");
/* `count` stacks, taken in a loop inside the library: the cost of one. */
void test_stacks(uint64_t count) TEST_API("stacks");
void test_code(const void *address) TEST_API("code");
/* `count` launches of work on a device whose clock began at 0 when it was first used, and of which bounds are known only. */
void test_device(uint64_t count) TEST_API("device");
/* `bytes` bytes of code for a device, each of the value; its number, 0 = it could not be kept. */
uint64_t test_object(uint64_t bytes, uint8_t value) TEST_API("object");
/* `count` calls in a loop inside the library: the cost of one as a collector pays it. */
void test_burst(uint64_t count) TEST_API("burst");

#endif
