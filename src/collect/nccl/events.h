/* SPDX-License-Identifier: MIT */
/* The events of NCCL's operations as we keep them, whatever version of the interface they come by. */
#ifndef HP_NCCL_EVENTS_H
#define HP_NCCL_EVENTS_H

#include "../collector.h"
#include "nccl_abi.h"

struct nccl_comm {
    uint64_t comm;       /* NCCL's hash, the same in all its ranks */
    int32_t rank;        /* -1 = unknown (before version 4) */
    bool has_kernels;    /* its operations' kernels tell of their channels */
    uint32_t used;
};

/* An operation as its event describes it; texts live in NCCL. */
struct nccl_operation {
    uint64_t type, comm, sequence;
    void *parent;
    int rank, root, peer;
    const char *function, *datatype, *algorithm, *protocol;
    const void *send;
    void *receive;
    size_t count;
    unsigned channels;
    uint64_t device_ns;  /* of a kernel's channel; 0 = unknown */
};

/* plugin.c: whether this process records; texts of numbers that early versions use. */
bool nccl_ready(void);
const char *nccl_datatype_name(uint8_t number);
/* calls.c: NCCL has taken the plugin, the wrappers are not needed. */
void nccl_calls_stop(void);

struct nccl_comm *nccl_comm_open(uint64_t comm, int rank, bool has_kernels);
void nccl_comm_close(struct nccl_comm *comm);

/* NULL: not wanted, or no room (counted). */
void *nccl_event_start(struct nccl_comm *comm, const struct nccl_operation *operation);
void nccl_event_stop(void *handle);
void nccl_event_kernel_end(void *handle, uint64_t device_ns);

#endif
