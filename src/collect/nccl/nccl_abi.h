/* SPDX-License-Identifier: MIT */
/*
 * The binary interface of NCCL's profiler plugins, versions 1 to 6, in our own words (published with NCCL; RCCL's is the same).
 * Only what we read is named; the rest is there to keep the layout.
 */
#ifndef HP_NCCL_NCCL_ABI_H
#define HP_NCCL_NCCL_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { NCCL_SUCCESS = 0, NCCL_INTERNAL_ERROR = 3 };

enum nccl_event {
    NCCL_GROUP = 1 << 0,
    NCCL_COLL = 1 << 1,
    NCCL_P2P = 1 << 2,
    NCCL_KERNEL_CHANNEL = 1 << 6,
    NCCL_GROUP_API = 1 << 8, /* from version 5 on */
    NCCL_COLL_API = 1 << 9,
    NCCL_P2P_API = 1 << 10,
    NCCL_KERNEL_LAUNCH = 1 << 11,
};
enum { NCCL_STATE_KERNEL_STOP = 22 };

/* Version 1: names are numbers. */
struct nccl_v1 {
    uint8_t type;
    void *parent;
    int rank;
    union {
        struct {
            const char *name;
            uint64_t comm, sequence;
            uint8_t function;
            const void *send;
            void *receive;
            size_t count;
            int root;
            uint8_t datatype;
            uint32_t operation;
            size_t traffic_bytes;
            uint8_t channels, warps, algorithm, protocol;
        } coll;
        struct {
            const char *name;
            uint64_t comm;
            uint8_t function;
            void *buffer;
            uint8_t datatype;
            size_t count;
            int peer;
        } p2p;
    } of;
};

/* Versions 2 and 3 differ in one field of collectives. */
struct nccl_v2 {
    uint8_t type;
    void *parent;
    int rank;
    union {
        struct {
            const char *name;
            uint64_t comm, sequence;
            const char *function;
            const void *send;
            void *receive;
            size_t count;
            int root;
            const char *datatype;
            size_t traffic_bytes;
            uint8_t channels, warps;
            const char *algorithm, *protocol;
        } coll;
        struct {
            const char *name;
            uint64_t comm;
            const char *function;
            void *buffer;
            const char *datatype;
            size_t count;
            int peer;
        } p2p;
    } of;
};
struct nccl_v3 {
    uint8_t type;
    void *parent;
    int rank;
    union {
        struct {
            const char *name;
            uint64_t comm, sequence;
            const char *function;
            const void *send;
            void *receive;
            size_t count;
            int root;
            const char *datatype;
            uint8_t channels, warps;
            const char *algorithm, *protocol;
        } coll;
        struct {
            const char *name;
            uint64_t comm;
            const char *function;
            void *buffer;
            const char *datatype;
            size_t count;
            int peer;
        } p2p;
    } of;
};

/* From version 4 on the communicator is told at init. Version 4's type is a byte, 5's and 6's 64 bits; the rest lies alike. */
union nccl_body {
    struct {
        uint64_t sequence;
        const char *function;
        const void *send;
        void *receive;
        size_t count;
        int root;
        const char *datatype;
        uint8_t channels, warps;
        const char *algorithm, *protocol;
    } coll;
    struct {
        const char *function;
        void *buffer;
        const char *datatype;
        size_t count;
        int peer;
        uint8_t channels;
    } p2p;
    struct {
        const char *function;
        size_t count;
        const char *datatype;
    } api; /* of collective and point-to-point calls alike */
    struct {
        uint8_t channel;
        uint64_t device_ns;
    } kernel;
};
struct nccl_v4 {
    uint8_t type;
    void *parent;
    int rank;
    union nccl_body of;
};
struct nccl_v5 {
    uint64_t type;
    void *parent;
    int rank;
    union nccl_body of;
};

/* What a state brings along: at the end of a kernel's channel the device's time (version 4 on). */
union nccl_state {
    uint64_t device_ns;
};

struct nccl_profiler_v1 { /* and 2 and 3 */
    const char *name;
    int (*init)(void **context, int *mask);
    int (*start)(void *context, void **handle, void *event);
    int (*stop)(void *handle);
    int (*state)(void *handle, int state, union nccl_state *arguments);
    int (*finalize)(void *context);
};
struct nccl_profiler_v4 {
    const char *name;
    int (*init)(void **context, int *mask, const char *name, uint64_t comm, int nodes, int ranks, int rank, void *log);
    int (*start)(void *context, void **handle, void *event);
    int (*stop)(void *handle);
    int (*state)(void *handle, int state, union nccl_state *arguments);
    int (*finalize)(void *context);
};
struct nccl_profiler_v5 { /* and 6 */
    const char *name;
    int (*init)(void **context, uint64_t comm, int *mask, const char *name, int nodes, int ranks, int rank, void *log);
    int (*start)(void *context, void **handle, void *event);
    int (*stop)(void *handle);
    int (*state)(void *handle, int state, union nccl_state *arguments);
    int (*finalize)(void *context);
};

#endif
