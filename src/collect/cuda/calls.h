/* SPDX-License-Identifier: MIT */
/* What is known of a call before it is made: found once by its name, then looked up by CUPTI's number. */
#ifndef HP_CUDA_CALLS_H
#define HP_CUDA_CALLS_H

#include "cuda.h"

enum { FIELDS_OF_A_CALL = 5, VALUES_OF_A_CALL = 16 };

struct call_field {
    char letter;    /* calls.def */
    uint8_t offset; /* in the parameters */
};
enum call_role { ROLE_NONE, ROLE_KERNEL, ROLE_CAPTURE_BEGIN, ROLE_CAPTURE_END, ROLE_MANAGED };
struct call_info {
    uint32_t name, word; /* string ids; name 0 = not traced */
    uint8_t kind, payload, role, field_count;
    bool blocking;       /* returns when the device is through */
    bool per_thread;     /* stream 0 is the thread's own default stream */
    struct call_field fields[FIELDS_OF_A_CALL];
};

/* The payload's values at the end of a call, by position; the bits of those that are known. */
uint32_t call_fields(const struct call_info *info, const struct cupti_call *call, uint64_t values[VALUES_OF_A_CALL]);

#endif
