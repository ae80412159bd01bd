/* SPDX-License-Identifier: MIT */
/* Compares our declarations with NVIDIA's, where those are installed. Compiled, never linked. */
#include "cupti_abi.h"

#include <cupti.h>
#include <cupti_pcsampling.h>

#define SAME_OFFSET(ours, our_field, theirs, their_field)                                                              \
    _Static_assert(offsetof(struct ours, our_field) == offsetof(theirs, their_field) &&                                \
                       sizeof(((struct ours *)0)->our_field) == sizeof(((theirs *)0)->their_field),                    \
                   #ours "." #our_field)
#define SAME_NUMBER(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)

SAME_NUMBER(CUPTI_OK, CUPTI_SUCCESS);
SAME_NUMBER(CUPTI_NO_MORE_RECORDS, CUPTI_ERROR_MAX_LIMIT_REACHED);
SAME_NUMBER(CUPTI_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME_NUMBER(CUPTI_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
SAME_NUMBER(CUPTI_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
SAME_NUMBER(CUPTI_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
SAME_NUMBER(CUPTI_ENTER, CUPTI_API_ENTER);
SAME_NUMBER(CUPTI_EXIT, CUPTI_API_EXIT);
SAME_NUMBER(CUPTI_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
SAME_NUMBER(CUPTI_CONTEXT_DESTROY, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
SAME_NUMBER(CUPTI_STREAM_CREATED, CUPTI_CBID_RESOURCE_STREAM_CREATED);
SAME_NUMBER(CUPTI_STREAM_DESTROY, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING);
SAME_NUMBER(CUPTI_NODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
SAME_NUMBER(CUPTI_NODE_CLONED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
SAME_NUMBER(CUPTI_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
SAME_NUMBER(CUPTI_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_LOADED);
SAME_NUMBER(CUPTI_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME_NUMBER(CUPTI_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
SAME_NUMBER(CUPTI_KERNEL_SERIAL, CUPTI_ACTIVITY_KIND_KERNEL);
SAME_NUMBER(CUPTI_CONTEXT, CUPTI_ACTIVITY_KIND_CONTEXT);
SAME_NUMBER(CUPTI_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME_NUMBER(CUPTI_MEMCPY_PEER, CUPTI_ACTIVITY_KIND_MEMCPY2);

SAME_OFFSET(cupti_call, function, CUpti_CallbackData, functionName);
SAME_OFFSET(cupti_call, parameters, CUpti_CallbackData, functionParams);
SAME_OFFSET(cupti_call, result, CUpti_CallbackData, functionReturnValue);
SAME_OFFSET(cupti_call, symbol, CUpti_CallbackData, symbolName);
SAME_OFFSET(cupti_call, context, CUpti_CallbackData, context);
SAME_OFFSET(cupti_call, context_uid, CUpti_CallbackData, contextUid);
SAME_OFFSET(cupti_call, data, CUpti_CallbackData, correlationData);
SAME_OFFSET(cupti_call, correlation, CUpti_CallbackData, correlationId);
SAME_OFFSET(cupti_resource, stream, CUpti_ResourceData, resourceHandle.stream);
SAME_OFFSET(cupti_resource, descriptor, CUpti_ResourceData, resourceDescriptor);
SAME_OFFSET(cupti_module, cubin_bytes, CUpti_ModuleResourceData, cubinSize);
SAME_OFFSET(cupti_graph, node, CUpti_GraphData, node);
SAME_OFFSET(cupti_graph, original_node, CUpti_GraphData, originalNode);
SAME_OFFSET(cupti_graph, node_type, CUpti_GraphData, nodeType);
SAME_OFFSET(cupti_graph, executable, CUpti_GraphData, graphExec);
SAME_OFFSET(cupti_module, cubin, CUpti_ModuleResourceData, pCubin);

#if CUPTI_API_VERSION >= 130000
SAME_NUMBER(CUPTI_NODE_UPDATED, CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED);
typedef CUpti_ActivityGraphTrace2 their_graph_trace;
typedef CUpti_ActivityKernel10 their_kernel;
typedef CUpti_ActivityMemcpy6 their_memcpy;
typedef CUpti_ActivityMemcpyPtoP4 their_memcpy_peer;
typedef CUpti_ActivityContext3 their_context;
#else
typedef CUpti_ActivityGraphTrace their_graph_trace;
typedef CUpti_ActivityKernel8 their_kernel;
typedef CUpti_ActivityMemcpy5 their_memcpy;
typedef CUpti_ActivityMemcpyPtoP4 their_memcpy_peer;
typedef CUpti_ActivityContext their_context;
#endif
SAME_OFFSET(cupti_kernel, registers, their_kernel, registersPerThread);
SAME_OFFSET(cupti_kernel, start, their_kernel, start);
SAME_OFFSET(cupti_kernel, end, their_kernel, end);
SAME_OFFSET(cupti_kernel, device, their_kernel, deviceId);
SAME_OFFSET(cupti_kernel, context, their_kernel, contextId);
SAME_OFFSET(cupti_kernel, stream, their_kernel, streamId);
SAME_OFFSET(cupti_kernel, grid[0], their_kernel, gridX);
SAME_OFFSET(cupti_kernel, block[2], their_kernel, blockZ);
SAME_OFFSET(cupti_kernel, shared_static, their_kernel, staticSharedMemory);
SAME_OFFSET(cupti_kernel, shared_dynamic, their_kernel, dynamicSharedMemory);
SAME_OFFSET(cupti_kernel, local, their_kernel, localMemoryPerThread);
SAME_OFFSET(cupti_kernel, correlation, their_kernel, correlationId);
SAME_OFFSET(cupti_kernel, name, their_kernel, name);
SAME_OFFSET(cupti_kernel, queued, their_kernel, queued);
SAME_OFFSET(cupti_kernel, submitted, their_kernel, submitted);
SAME_OFFSET(cupti_kernel, shared_executed, their_kernel, sharedMemoryExecuted);
SAME_OFFSET(cupti_kernel, graph_node, their_kernel, graphNodeId);
SAME_OFFSET(cupti_kernel, graph, their_kernel, graphId);
SAME_OFFSET(cupti_kernel, cluster[0], their_kernel, clusterX);
SAME_OFFSET(cupti_memcpy, copy_kind, their_memcpy, copyKind);
SAME_OFFSET(cupti_memcpy, bytes, their_memcpy, bytes);
SAME_OFFSET(cupti_memcpy, start, their_memcpy, start);
SAME_OFFSET(cupti_memcpy, stream, their_memcpy, streamId);
SAME_OFFSET(cupti_memcpy, correlation, their_memcpy, correlationId);
SAME_OFFSET(cupti_memcpy, graph_node, their_memcpy, graphNodeId);
SAME_OFFSET(cupti_memcpy, graph, their_memcpy, graphId);
SAME_OFFSET(cupti_memcpy_peer, source_device, their_memcpy_peer, srcDeviceId);
SAME_OFFSET(cupti_memcpy_peer, destination_device, their_memcpy_peer, dstDeviceId);
SAME_OFFSET(cupti_memcpy_peer, correlation, their_memcpy_peer, correlationId);
SAME_OFFSET(cupti_memcpy_peer, graph_node, their_memcpy_peer, graphNodeId);
SAME_OFFSET(cupti_memcpy_peer, graph, their_memcpy_peer, graphId);
SAME_OFFSET(cupti_memset, value, CUpti_ActivityMemset4, value);
SAME_OFFSET(cupti_memset, bytes, CUpti_ActivityMemset4, bytes);
SAME_OFFSET(cupti_memset, start, CUpti_ActivityMemset4, start);
SAME_OFFSET(cupti_memset, correlation, CUpti_ActivityMemset4, correlationId);
SAME_OFFSET(cupti_memset, memory_kind, CUpti_ActivityMemset4, memoryKind);
SAME_OFFSET(cupti_memset, graph_node, CUpti_ActivityMemset4, graphNodeId);
SAME_OFFSET(cupti_memset, graph, CUpti_ActivityMemset4, graphId);
SAME_OFFSET(cupti_graph_trace, correlation, their_graph_trace, correlationId);
SAME_OFFSET(cupti_graph_trace, start, their_graph_trace, start);
SAME_OFFSET(cupti_graph_trace, device, their_graph_trace, deviceId);
SAME_OFFSET(cupti_graph_trace, graph, their_graph_trace, graphId);
SAME_OFFSET(cupti_graph_trace, context, their_graph_trace, contextId);
SAME_OFFSET(cupti_graph_trace, stream, their_graph_trace, streamId);
SAME_NUMBER(CUPTI_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD);
SAME_NUMBER(CUPTI_MANAGED, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
SAME_NUMBER(CUPTI_MEMORY, CUPTI_ACTIVITY_KIND_MEMORY2);
SAME_NUMBER(CUPTI_MEMORY_POOL, CUPTI_ACTIVITY_KIND_MEMORY_POOL);
SAME_OFFSET(cupti_overhead, what, CUpti_ActivityOverhead, overheadKind);
SAME_OFFSET(cupti_overhead, object, CUpti_ActivityOverhead, objectId);
SAME_OFFSET(cupti_overhead, start, CUpti_ActivityOverhead, start);
SAME_OFFSET(cupti_overhead, end, CUpti_ActivityOverhead, end);
SAME_OFFSET(cupti_memory, memory_kind, CUpti_ActivityMemory3, memoryKind);
SAME_OFFSET(cupti_memory, bytes, CUpti_ActivityMemory3, bytes);
SAME_OFFSET(cupti_memory, time, CUpti_ActivityMemory3, timestamp);
SAME_OFFSET(cupti_memory, device, CUpti_ActivityMemory3, deviceId);
SAME_OFFSET(cupti_memory, pool_type, CUpti_ActivityMemory3, memoryPoolConfig.memoryPoolType);
SAME_OFFSET(cupti_memory, pool, CUpti_ActivityMemory3, memoryPoolConfig.address);
SAME_OFFSET(cupti_memory, pool_bytes, CUpti_ActivityMemory3, memoryPoolConfig.pool.size);
SAME_OFFSET(cupti_memory, pool_used, CUpti_ActivityMemory3, memoryPoolConfig.utilizedSize);
SAME_OFFSET(cupti_memory_pool, operation, CUpti_ActivityMemoryPool2, memoryPoolOperationType);
SAME_OFFSET(cupti_memory_pool, device, CUpti_ActivityMemoryPool2, deviceId);
SAME_OFFSET(cupti_memory_pool, pool, CUpti_ActivityMemoryPool2, address);
SAME_OFFSET(cupti_memory_pool, bytes, CUpti_ActivityMemoryPool2, size);
SAME_OFFSET(cupti_memory_pool, time, CUpti_ActivityMemoryPool2, timestamp);
SAME_OFFSET(cupti_memory_pool, used, CUpti_ActivityMemoryPool2, utilizedSize);
SAME_OFFSET(cupti_managed, what, CUpti_ActivityUnifiedMemoryCounter2, counterKind);
SAME_OFFSET(cupti_managed, value, CUpti_ActivityUnifiedMemoryCounter2, value);
SAME_OFFSET(cupti_managed, start, CUpti_ActivityUnifiedMemoryCounter2, start);
SAME_OFFSET(cupti_managed, address, CUpti_ActivityUnifiedMemoryCounter2, address);
SAME_OFFSET(cupti_managed, source, CUpti_ActivityUnifiedMemoryCounter2, srcId);
SAME_OFFSET(cupti_managed, destination, CUpti_ActivityUnifiedMemoryCounter2, dstId);
SAME_OFFSET(cupti_managed, flags, CUpti_ActivityUnifiedMemoryCounter2, flags);
_Static_assert(sizeof(struct cupti_managed_setting) == sizeof(CUpti_ActivityUnifiedMemoryCounterConfig), "managed setting");
SAME_OFFSET(cupti_managed_setting, what, CUpti_ActivityUnifiedMemoryCounterConfig, kind);
#if CUPTI_API_VERSION >= 130000
SAME_NUMBER(CUPTI_JIT, CUPTI_ACTIVITY_KIND_JIT);
SAME_OFFSET(cupti_jit, operation, CUpti_ActivityJit2, jitOperationType);
SAME_OFFSET(cupti_jit, start, CUpti_ActivityJit2, start);
SAME_OFFSET(cupti_jit, correlation, CUpti_ActivityJit2, correlationId);
SAME_OFFSET(cupti_jit, cache_bytes, CUpti_ActivityJit2, cacheSize);
SAME_OFFSET(cupti_jit, cache_path, CUpti_ActivityJit2, cachePath);
#endif
SAME_OFFSET(cupti_context, device, their_context, deviceId);
SAME_OFFSET(cupti_context, null_stream, their_context, nullStreamId);

SAME_NUMBER(CUPTI_SAMPLING_PERIOD, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD);
SAME_NUMBER(CUPTI_SAMPLING_STALL_REASONS, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON);
SAME_NUMBER(CUPTI_SAMPLING_HARDWARE_BUFFER, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE);
SAME_NUMBER(CUPTI_SAMPLING_MODE, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE);
SAME_NUMBER(CUPTI_SAMPLING_DATA_BUFFER, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER);
SAME_NUMBER(CUPTI_SAMPLING_CONTINUOUS, CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS);
SAME_OFFSET(cupti_pc, offset, CUpti_PCSamplingPCData, pcOffset);
SAME_OFFSET(cupti_pc, function, CUpti_PCSamplingPCData, functionName);
SAME_OFFSET(cupti_pc, stalls, CUpti_PCSamplingPCData, stallReason);
SAME_OFFSET(cupti_pc, correlation, CUpti_PCSamplingPCData, correlationId);
SAME_OFFSET(cupti_samples, total, CUpti_PCSamplingData, totalSamples);
SAME_OFFSET(cupti_samples, remaining, CUpti_PCSamplingData, remainingNumPcs);
SAME_OFFSET(cupti_samples, pcs, CUpti_PCSamplingData, pPcData);
SAME_OFFSET(cupti_samples, hardware_full, CUpti_PCSamplingData, hardwareBufferFull);
_Static_assert(sizeof(struct cupti_sampling_setting) == sizeof(CUpti_PCSamplingConfigurationInfo), "setting");
SAME_OFFSET(cupti_sampling_settings, settings, CUpti_PCSamplingConfigurationInfoParams, pPCSamplingConfigurationInfo);
SAME_OFFSET(cupti_sampling_pointer, pointer, CUpti_PCSamplingGetDataParams, pcSamplingData);
SAME_OFFSET(cupti_sampling_reasons, names, CUpti_PCSamplingGetStallReasonsParams, stallReasons);
SAME_OFFSET(cupti_crc, crc, CUpti_GetCubinCrcParams, cubinCrc);
