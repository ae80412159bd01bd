/* SPDX-License-Identifier: MIT */
/*
 * The traced calls that a thread is in. They stand in memory of the target, where nobody but the thread itself writes: who watches the
 * run reads them from outside (process_vm_readv), at the address that struct wire_process.open names. Entering a call costs its stores
 * there and nothing else; a reader finds a call half entered as not entered, as `frame` is stored last.
 */
#ifndef HP_WIRE_OPEN_CALLS_H
#define HP_WIRE_OPEN_CALLS_H

#include "records.h"

struct wire_open_call {
    uint64_t frame;         /* where on the stack it was entered; 0 = the thread is not in such a call */
    uint64_t begin;         /* in the process' clock */
    uint32_t name;          /* string id; 0 = not known before it ends */
    uint32_t reserved;
};

struct wire_open_thread {
    uint64_t key;           /* of the process, so that what lies there now is seen to be this; 0 = no thread */
    int32_t tid;
    uint32_t serial;
    struct wire_open_call calls[WIRE_LAYER_COUNT]; /* by layer */
};

/* Where: an array of addresses of blocks, so many of them as `count` (32 bits) holds; in each `slots` threads, `stride` bytes apart, the first one
 * `offset` bytes behind the block's begin. */
struct wire_open_place {
    uint64_t blocks, count; /* addresses; 0 = there is nothing to read */
    uint32_t slots, stride;
    uint32_t offset, reserved;
};

#endif
