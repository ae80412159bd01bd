/* SPDX-License-Identifier: MIT */
/*
 * What we use of CUPTI's binary interface, in our own words, so that the collector builds without NVIDIA's headers; where
 * those are, abi_check.c compares. Records of CUPTI 11.8 to 13 begin as the structures here; newer ones are longer.
 */
#ifndef HP_CUDA_CUPTI_ABI_H
#define HP_CUDA_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int cupti_result; /* 0 = success */
enum { CUPTI_OK = 0, CUPTI_NO_MORE_RECORDS = 12, CUPTI_MULTIPLE_SUBSCRIBERS = 39 };
enum { CUPTI_VERSION_NULL_BUFFER = 27 }; /* CUDA 12.9: from there on a request may be answered by no buffer */

typedef struct cupti_subscriber *cupti_subscriber;
typedef struct cuda_context *cuda_context;
typedef struct cuda_stream *cuda_stream;

enum cupti_domain { CUPTI_DRIVER = 1, CUPTI_RUNTIME = 2, CUPTI_RESOURCE = 3 };
enum { CUPTI_ENTER = 0, CUPTI_EXIT = 1 };
enum {
    CUPTI_CONTEXT_CREATED = 1,
    CUPTI_CONTEXT_DESTROY = 2,
    CUPTI_STREAM_CREATED = 3,
    CUPTI_STREAM_DESTROY = 4,
    CUPTI_MODULE_LOADED = 6,
    CUPTI_NODE_CREATED = 13,
    CUPTI_NODE_CLONED = 20,
    CUPTI_NODE_UPDATED = 22,
};

enum cupti_activity_kind {
    CUPTI_MEMCPY = 1,
    CUPTI_MEMSET = 2,
    CUPTI_KERNEL_SERIAL = 3,
    CUPTI_CONTEXT = 9,
    CUPTI_KERNEL = 10,
    CUPTI_OVERHEAD = 17,
    CUPTI_MEMCPY_PEER = 22,
    CUPTI_MANAGED = 25,
    CUPTI_MEMORY = 49,
    CUPTI_MEMORY_POOL = 50,
    CUPTI_GRAPH_TRACE = 51,
    CUPTI_JIT = 52,
};

struct cupti_call {
    uint32_t site; /* CUPTI_ENTER, CUPTI_EXIT */
    const char *function;
    const void *parameters;
    void *result;
    const char *symbol;
    cuda_context context;
    uint32_t context_uid;
    uint64_t *data; /* ours, from enter to exit */
    uint32_t correlation;
};

struct cupti_resource {
    cuda_context context;
    cuda_stream stream;
    void *descriptor;
};

struct cupti_module {
    uint32_t module;
    size_t cubin_bytes;
    const char *cubin;
};

typedef struct cuda_graph_node *cuda_graph_node;
struct cupti_graph {
    void *graph, *original_graph;
    cuda_graph_node node, original_node;
    int32_t node_type;
    cuda_graph_node dependency;
    void *executable;
};

struct cupti_record {
    uint32_t kind;
};

/* Fields lie at 8-byte alignment at most; CUPTI packs to 8. */
struct cupti_kernel {
    uint32_t kind;
    uint8_t cache_config, shared_config;
    uint16_t registers;
    uint32_t partitioned_requested, partitioned_executed;
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t shared_static, shared_dynamic;
    uint32_t local, local_total;
    uint32_t correlation;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, carveout_requested, carveout, padding;
    uint32_t shared_executed;
    uint64_t graph_node;
    uint32_t shared_limit;
    uint32_t graph;
    void *access_policy;
    uint32_t channel, channel_type;
    uint32_t cluster[3];
};

struct cupti_memcpy {
    uint32_t kind;
    uint8_t copy_kind, source_kind, destination_kind, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation, runtime_correlation, padding;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
};

struct cupti_memcpy_peer {
    uint32_t kind;
    uint8_t copy_kind, source_kind, destination_kind, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t source_device, source_context, destination_device, destination_context;
    uint32_t correlation;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
};

struct cupti_memset {
    uint32_t kind;
    uint32_t value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint16_t flags, memory_kind;
    uint32_t padding;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
};

struct cupti_graph_trace {
    uint32_t kind, correlation;
    uint64_t start, end;
    uint32_t device, graph, context, stream;
};

struct cupti_overhead {
    uint32_t kind, what, object_kind, object[3];
    uint64_t start, end;
};

struct cupti_memory {
    uint32_t kind, operation, memory_kind, correlation;
    uint64_t address, bytes, time, code;
    uint32_t process, device, context, stream;
    const char *name;
    uint32_t is_async, padding;
    uint32_t pool_type, padding2;
    uint64_t pool, pool_threshold, pool_bytes, pool_used;
};
enum { CUPTI_MEMORY_MADE = 1, CUPTI_MEMORY_FREED = 2, CUPTI_POOL_LOCAL = 1 };

struct cupti_memory_pool {
    uint32_t kind, operation, type, correlation, process, device;
    size_t kept;
    uint64_t pool, bytes, threshold, time, used;
};

/* Managed memory: migrations, faults. */
struct cupti_managed {
    uint32_t kind, what;
    uint64_t value, start, end, address;
    uint32_t source, destination, stream, process, flags, padding;
};
enum { CUPTI_MANAGED_TO_DEVICE = 1, CUPTI_MANAGED_TO_HOST = 2, CUPTI_MANAGED_CPU_FAULT = 3, CUPTI_MANAGED_GPU_FAULT = 4,
       CUPTI_MANAGED_THRASHING = 5, CUPTI_MANAGED_THROTTLING = 6, CUPTI_MANAGED_REMOTE_MAP = 7, CUPTI_MANAGED_DEVICE_TO_DEVICE = 8 };
enum { CUPTI_MANAGED_ONE_DEVICE = 1 };
struct cupti_managed_setting {
    uint32_t scope, what, device, enable;
};

struct cupti_jit {
    uint32_t kind, entry, operation, device;
    uint64_t start, end;
    uint32_t correlation, padding;
    uint64_t unit, cache_bytes;
    const char *cache_path;
};

struct cupti_context {
    uint32_t kind, context, device;
    uint16_t compute_api, null_stream;
};

/* PC sampling. Every structure begins with its own size. */
enum cupti_sampling_attribute {
    CUPTI_SAMPLING_PERIOD = 1,
    CUPTI_SAMPLING_STALL_REASONS = 2,
    CUPTI_SAMPLING_HARDWARE_BUFFER = 4,
    CUPTI_SAMPLING_MODE = 5,
    CUPTI_SAMPLING_DATA_BUFFER = 8,
};
enum { CUPTI_SAMPLING_CONTINUOUS = 1, CUPTI_SAMPLING_SERIALIZED = 2 };
struct cupti_stall {
    uint32_t reason, samples;
};
struct cupti_pc {
    size_t size;
    uint64_t cubin_crc, offset;
    uint32_t function_index, padding;
    char *function; /* shared with other records of CUPTI: never freed */
    size_t stall_count;
    struct cupti_stall *stalls;
    uint32_t correlation;
};
struct cupti_samples {
    size_t size, capacity;
    uint64_t total, dropped;
    size_t count, remaining;
    uint64_t range;
    struct cupti_pc *pcs;
    uint64_t other_kernels;
    uint8_t hardware_full;
};
struct cupti_sampling_setting {
    uint32_t attribute, status;
    union {
        uint64_t whole[3];
        uint32_t number;
        size_t bytes;
        void *pointer;
        struct {
            size_t count;
            uint32_t *items;
        } reasons;
    } value;
};
struct cupti_sampling_settings {
    size_t size;
    void *reserved;
    cuda_context context;
    size_t count;
    struct cupti_sampling_setting *settings;
};
struct cupti_sampling_context { /* enable, disable, start, stop */
    size_t size;
    void *reserved;
    cuda_context context;
};
struct cupti_sampling_pointer { /* data, number of stall reasons */
    size_t size;
    void *reserved;
    cuda_context context;
    void *pointer;
};
struct cupti_sampling_reasons {
    size_t size;
    void *reserved;
    cuda_context context;
    size_t count;
    uint32_t *numbers;
    char **names;
};
struct cupti_crc {
    size_t size, cubin_bytes;
    const void *cubin;
    uint64_t crc;
};

#endif
