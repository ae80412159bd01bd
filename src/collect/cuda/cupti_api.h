/* SPDX-License-Identifier: MIT */
/* CUPTI's functions, found by dlopen: beside the toolkit, in Python wheels, or in the process already. */
#ifndef HP_CUDA_CUPTI_API_H
#define HP_CUDA_CUPTI_API_H

#include "cupti_abi.h"

#include <stdbool.h>

typedef void (*cupti_callback)(void *context, uint32_t domain, uint32_t id, const void *data);
typedef void (*cupti_buffer_requested)(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_records);
typedef void (*cupti_buffer_completed)(cuda_context context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

/* CUPTI(result, name here, symbol, arguments): all must be there. */
#define CUPTI_FUNCTIONS(CUPTI)                                                                                         \
    CUPTI(get_version, "cuptiGetVersion", (uint32_t *))                                                                \
    CUPTI(subscribe, "cuptiSubscribe", (cupti_subscriber *, cupti_callback, void *))                                   \
    CUPTI(enable_callback, "cuptiEnableCallback", (uint32_t enable, cupti_subscriber, uint32_t domain, uint32_t id))   \
    CUPTI(callback_name, "cuptiGetCallbackName", (uint32_t domain, uint32_t id, const char **))                        \
    CUPTI(register_timestamp, "cuptiActivityRegisterTimestampCallback", (uint64_t(*)(void)))                           \
    CUPTI(register_buffers, "cuptiActivityRegisterCallbacks", (cupti_buffer_requested, cupti_buffer_completed))        \
    CUPTI(enable, "cuptiActivityEnable", (uint32_t kind))                                                              \
    CUPTI(flush, "cuptiActivityFlushAll", (uint32_t forced))                                                           \
    CUPTI(next_record, "cuptiActivityGetNextRecord", (uint8_t *, size_t, struct cupti_record **))                      \
    CUPTI(dropped, "cuptiActivityGetNumDroppedRecords", (cuda_context, uint32_t stream, size_t *))                     \
    CUPTI(stream_id, "cuptiGetStreamIdEx", (cuda_context, cuda_stream, uint8_t per_thread, uint32_t *))                \
    CUPTI(context_id, "cuptiGetContextId", (cuda_context, uint32_t *))                                                 \
    CUPTI(device_id, "cuptiGetDeviceId", (cuda_context, uint32_t *))

/* Only for PC sampling: newer, and all or none. */
#define CUPTI_SAMPLING_FUNCTIONS(CUPTI)                                                                                \
    CUPTI(sampling_enable, "cuptiPCSamplingEnable", (struct cupti_sampling_context *))                                 \
    CUPTI(sampling_disable, "cuptiPCSamplingDisable", (struct cupti_sampling_context *))                               \
    CUPTI(sampling_reason_count, "cuptiPCSamplingGetNumStallReasons", (struct cupti_sampling_pointer *))               \
    CUPTI(sampling_reasons, "cuptiPCSamplingGetStallReasons", (struct cupti_sampling_reasons *))                       \
    CUPTI(sampling_configure, "cuptiPCSamplingSetConfigurationAttribute", (struct cupti_sampling_settings *))          \
    CUPTI(sampling_data, "cuptiPCSamplingGetData", (struct cupti_sampling_pointer *))                                  \
    CUPTI(cubin_crc, "cuptiGetCubinCrc", (struct cupti_crc *))

/* Each may be missing in an older CUPTI: NULL then. */
#define CUPTI_OPTIONAL_FUNCTIONS(CUPTI)                                                                                \
    CUPTI(node_id, "cuptiGetGraphNodeId", (cuda_graph_node, uint64_t *))                                               \
    CUPTI(managed_set_up, "cuptiActivityConfigureUnifiedMemoryCounter", (struct cupti_managed_setting *, uint32_t))

struct cupti_api {
    bool samples;     /* the functions of PC sampling are there */
    uint32_t version; /* 18 = CUDA 11.8, 28 = 12.9 update 1, 130001 = 13.0 */
#define CUPTI_MEMBER(name, symbol, arguments) cupti_result(*name) arguments;
    CUPTI_FUNCTIONS(CUPTI_MEMBER)
    CUPTI_SAMPLING_FUNCTIONS(CUPTI_MEMBER)
    CUPTI_OPTIONAL_FUNCTIONS(CUPTI_MEMBER)
#undef CUPTI_MEMBER
};

/* False: there is no CUPTI, or not one that we know; *ret_problem says which, for people. */
bool cupti_open(struct cupti_api *ret_api, const char **ret_problem);

#endif
