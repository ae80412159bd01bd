/* SPDX-License-Identifier: MIT */
/*
 * What libhprofiler_runtime.so offers to the collectors of a process. A wrapper looks like this:
 *
 *     int fsync(int fd)
 *     {
 *         rt_call call = rt_enter(WIRE_LAYER_USER, NAME_FSYNC);
 *         int result = real_fsync(fd);
 *         rt_leave(call, NAME_FSYNC, RT_SHAPE(WIRE_LAYER_USER, SPAN_IO));
 *         return result;
 *     }
 *
 * Nothing here touches errno, takes a lock, or allocates by malloc; everything may be called in signal handlers, in children
 * of fork and vfork, after exit has begun. When nothing is recorded, call.thread is NULL and leaving does nothing.
 */
#ifndef HP_COLLECT_COLLECTOR_H
#define HP_COLLECT_COLLECTOR_H

#include "wire/kinds.h"
#include "wire/records.h"

#include <stdbool.h>
#include <stddef.h>

#define RT_API(name) __asm__("hprofiler_" name) __attribute__((visibility("default")))

struct rt_thread;
typedef struct {
    struct rt_thread *thread; /* NULL: our own call, a nested call of the same layer, or nothing is being recorded */
    uint64_t begin;
} rt_call;

#define RT_SHAPE(layer, span_kind) ((uint32_t)(layer) | (uint32_t)(span_kind) << 8)

/* Marks the layer as entered on this thread and reads the clock. The name is for who watches while the call lasts; 0: not known yet. */
rt_call rt_enter(unsigned layer, uint32_t name) RT_API("enter");
/* Reads the clock, records the span, marks the layer as left. */
void rt_leave(rt_call call, uint32_t name, uint32_t shape) RT_API("leave");
/* Marks the layer as left without a record. */
void rt_cancel(rt_call call, unsigned layer) RT_API("cancel");

/* The long form: begin and end are the caller's (rt_now), fields follow `present` (wire/kinds.def). */
struct rt_span {
    uint64_t begin, end, correlation;
    uint32_t name, category, stack, present;
    uint8_t layer, span_kind, payload_kind;
    uint64_t fields[32]; /* one for each bit of `present`, in ascending order */
};
void rt_span(const struct rt_span *span) RT_API("span");
/* rt_span with begin from `call`, end = now, and the layer left. */
void rt_leave_span(rt_call call, struct rt_span *span) RT_API("leave_span");

/* Appends a field to a span: positions (FIELD_..., wire/kinds.h) must come in ascending order. */
static inline void rt_field(struct rt_span *span, unsigned position, uint64_t value)
{
    span->fields[__builtin_popcount(span->present)] = value;
    span->present |= 1u << position;
}

/* For hot paths and other kinds of records: room for one record, to be filled in place and closed by the same function.
 * record is NULL when nothing is recorded (a loss is counted already). A record is `bytes` long, a multiple of 8. */
typedef struct {
    struct rt_thread *thread;
    void *record;
    uint32_t index, bytes;
} rt_place;
rt_place rt_open(uint32_t bytes) RT_API("open");
void rt_close(rt_place place) RT_API("close");
/* The same where every ns counts, as no struct is handed over: the room, or NULL; rt_commit publishes `bytes` of it, which may be fewer
 * than were asked for, and must be called when there was room. */
void *rt_record(uint32_t bytes) RT_API("record");
void rt_commit(uint32_t bytes) RT_API("commit");
/* A whole record of four words, handed over in registers. */
void rt_put4(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth) RT_API("put4");

void rt_instant(unsigned layer, uint32_t name, uint32_t category) RT_API("instant");
void rt_counter(unsigned layer, uint32_t name, uint32_t unit, double value) RT_API("counter");
/* kind and confidence: enums of the trace model. */
void rt_link(unsigned kind, unsigned confidence, unsigned from_layer, uint64_t from, unsigned to_layer, uint64_t to) RT_API("link");
/* Any record, copied as it is. False if it was lost (and counted). */
bool rt_append(const struct wire_header *record) RT_API("append");
/* The same for what is written seldom and must outlive --buffer-limit and --delay (ranks, communicators): into the process log, beside
 * the names, whose room it leaves alone when half of it is full. */
bool rt_keep(const struct wire_header *record) RT_API("keep");

uint64_t rt_now(void) RT_API("now");                 /* the clock of this process' records */
uint64_t rt_correlation(void) RT_API("correlation"); /* a new id, unique in the process */
/* The id of a text, the same for the same text; 0 when there is no room. Lock-free; one load chain when it is known. */
uint32_t rt_string(const char *text, size_t length) RT_API("string");
/* Called once by a collector when it is loaded: makes the process' file and the calling thread's first chunk, so that a later
 * chroot or setuid doesn't matter. False: nothing will be recorded in this process. */
bool rt_register(unsigned layer, const char *collector) RT_API("register");
/* enum wire_session_flags of the session: what the user asked for; 0 when nothing is recorded. */
uint32_t rt_flags(void) RT_API("flags");
/* With --call-tree: the number of the calling thread's stack, without its innermost `skip` frames (the caller of rt_stack is frame
 * 0), for the field `stack` of a span; the same stack has the same number. 0: not asked for, or not to be had. Through the
 * platform's unwinder: not in signal handlers. */
uint32_t rt_stack(unsigned skip) RT_API("stack");
/* Says that this code address stands in records: the mapping that holds it is listed in the process log if it is not yet. Cheap
 * for an address seen before; collectors call it once an address where they can. */
void rt_code(const void *address) RT_API("code");
/* Writes a file of the session (object-...) and its record; the object's number, or 0 on failure, which is counted. */
uint64_t rt_object(unsigned layer, unsigned kind, uint32_t name, const void *bytes, uint64_t size) RT_API("object");
/* A line for people, kept with the process. */
void rt_note(const char *text) RT_API("note");

#endif
