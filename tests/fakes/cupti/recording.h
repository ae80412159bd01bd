/* SPDX-License-Identifier: MIT */
/*
 * What CUPTI said in a real run, as a file: events one after the other, each a header and its body, padded to 8 bytes. Made by
 * recorder.c on a machine with a GPU, played back by fake.c where there is none. Times are CUPTI's, that is the collector's clock.
 */
#ifndef FAKES_CUPTI_RECORDING_H
#define FAKES_CUPTI_RECORDING_H

#include "collect/cuda/cupti_abi.h"

#include <string.h>

enum recording_kind {
    RECORDING_VERSION = 1, /* a u32 */
    RECORDING_NAME = 2,    /* u32 domain, u32 id, text with its NUL */
    RECORDING_CALL = 3,    /* struct recorded_call */
    RECORDING_CONTEXT = 4, /* u32 device: a context was made */
    RECORDING_BUFFER = 5,  /* u32 count of records: they follow */
    RECORDING_RECORD = 6,  /* struct recorded_record, the record's bytes, its text (a kernel's name) with its NUL */
    RECORDING_RESOURCE = 7, /* struct recorded_resource */
    RECORDING_STREAM = 8,  /* struct recorded_stream: what a handle means */
    RECORDING_STALL = 9,   /* u32 number, text with its NUL: a reason of PC sampling */
    RECORDING_SAMPLES = 10, /* struct recorded_samples: PCs follow */
    RECORDING_PC = 11,     /* struct recorded_pc, its struct cupti_stall of more than none, its function's name with its NUL */
};

struct recording_event {
    uint32_t kind, bytes; /* of the body, without the padding */
};

enum { RECORDED_PARAMETERS = 64 };
static inline int recording_is_allocation(const char *function)
{
    return strstr(function, "alloc") || strstr(function, "Alloc") || strstr(function, "StreamCreate") || strstr(function, "EventCreate");
}

struct recorded_call {
    uint64_t time_ns;
    uint32_t domain, id, site, correlation, context_uid, thread;
    int32_t result;
    uint32_t has_pointee;
    uint64_t pointee; /* what the first parameter points to at the exit of a call that allocates */
    uint8_t parameters[RECORDED_PARAMETERS];
};

/* A callback about a resource; nodes of graphs by their numbers, 0 = none. */
struct recorded_resource {
    uint32_t id, context_uid, device, thread;
    uint64_t stream, node, original_node;
};

struct recorded_stream {
    uint64_t handle;
    uint32_t context_uid, per_thread, id, reserved;
};

struct recorded_samples {
    uint32_t count, at_disable;
    uint64_t dropped;
};

struct recorded_pc {
    uint64_t cubin_crc, offset;
    uint32_t stalls, name_bytes, correlation, reserved;
};

struct recorded_record {
    uint32_t bytes;      /* of the record */
    uint32_t name_bytes; /* 0 = no name */
};

#endif
