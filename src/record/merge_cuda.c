/* SPDX-License-Identifier: MIT */
/*
 * CUDA: kernels have C++ names as the linker knows them, and get people's names for them, each made once. Samples of program
 * counters become stacks of two frames on the device's track: the kernel, at its instruction, and what its warps waited for.
 */
#include "base/error.h"
#include "base/map.h"
#include "merge_internal.h"
#include "symbol/demangle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct merge_cuda {
    struct map names;   /* string_id as recorded -> string_id demangled */
    struct map modules; /* hash of a cubin's checksum -> module */
    uint64_t samples;
};

static void cuda_destroy(void *state)
{
    struct merge_cuda *cuda = state;
    if (!cuda)
        return;
    map_finish(&cuda->names);
    map_finish(&cuda->modules);
    free(cuda);
}

static int cuda_create(struct merge *merge, void **ret_state, struct error *err)
{
    (void)merge;
    *ret_state = calloc(1, sizeof(struct merge_cuda));
    return *ret_state ? 0 : error_set(err, -ENOMEM, "merge: out of memory");
}

static int name_demangle(struct merge *merge, struct merge_cuda *cuda, string_id *name)
{
    uint64_t known;
    if (name->index == STRING_NONE.index)
        return 0;
    if (map_get(&cuda->names, name->index, &known)) {
        name->index = (uint32_t)known;
        return 0;
    }
    char *text = demangle(string_table_text(trace_builder_strings(merge->builder), *name));
    string_id demangled = text ? trace_builder_string(merge->builder, text) : *name;
    free(text);
    int code = map_set(&cuda->names, name->index, demangled.index);
    *name = demangled;
    return code;
}

static int cuda_prepare(struct merge *merge, void *state, struct merge_span *span)
{
    return span->span->kind == SPAN_KIND_KERNEL ? name_demangle(merge, state, &span->span->name) : 0;
}

static int module_get(struct merge *merge, struct merge_cuda *cuda, uint64_t crc, module_id *ret_module)
{
    uint64_t index;
    if (map_get(&cuda->modules, hash_u64(crc), &index)) {
        ret_module->index = (uint32_t)index;
        return 0;
    }
    char path[32];
    snprintf(path, sizeof path, "[cubin %016" PRIx64 "]", crc);
    const struct trace_module module = {.path = trace_builder_string(merge->builder, path), .build_id = STRING_NONE};
    int code = trace_builder_add_module(merge->builder, &module, ret_module);
    return code ? code : map_set(&cuda->modules, hash_u64(crc), ret_module->index);
}

/* "stalled: long_scoreboard" from "smsp__pcsamp_warps_issue_stalled_long_scoreboard". */
static string_id reason_name(struct merge *merge, string_id reason)
{
    const char *text = string_table_text(trace_builder_strings(merge->builder), reason);
    const char *found = text ? strstr(text, "stalled_") : NULL;
    char name[160];
    if (!found)
        return reason;
    snprintf(name, sizeof name, "stalled: %s", found + strlen("stalled_"));
    return trace_builder_string(merge->builder, name);
}

static int sample_stack(struct merge *merge, const struct merge_stream *stream, const struct wire_gpu_samples *record, stack_id *ret_stack)
{
    struct merge_cuda *cuda = merge_state(merge, &merge_part_cuda);
    struct trace_frame kernel = {.function = merge_string(merge, stream, record->header.value), .file = STRING_NONE, .address = record->offset};
    struct trace_frame reason = {.function = reason_name(merge, merge_string(merge, stream, record->reason)), .module = MODULE_NONE, .file = STRING_NONE};
    frame_id frame;
    int code = name_demangle(merge, cuda, &kernel.function);
    if (code == 0)
        code = module_get(merge, cuda, record->cubin_crc, &kernel.module);
    if (code == 0)
        code = trace_builder_add_frame(merge->builder, &kernel, &frame);
    if (code == 0)
        code = trace_builder_add_stack(merge->builder, STACK_NONE, frame, ret_stack);
    if (code == 0 && record->reason)
        code = trace_builder_add_frame(merge->builder, &reason, &frame);
    if (code == 0 && record->reason)
        code = trace_builder_add_stack(merge->builder, *ret_stack, frame, ret_stack);
    return code;
}

static int on_gpu_samples(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_gpu_samples *record = (const struct wire_gpu_samples *)(const void *)header;
    struct merge_cuda *cuda = merge_state(merge, &merge_part_cuda);
    struct sample sample = {.time_ns = merge_time(merge, stream, record->time), .weight = (int64_t)record->samples, .cpu = UINT16_MAX,
                            .event = SAMPLE_EVENT_GPU_PC};
    track_id track;
    if (!stream->process || record->samples > INT64_MAX)
        return 0;
    int code = sample_stack(merge, stream, record, &sample.stack);
    if (code == 0)
        code = merge_device_track(merge, stream->process, WIRE_LAYER_CUDA, record->device, &track);
    cuda->samples += code == 0 ? record->samples : 0;
    return code ? code : trace_builder_add_sample(merge->builder, track, &sample);
}

static int cuda_finish(struct merge *merge, void *state, struct error *err)
{
    const struct merge_cuda *cuda = state;
    int code = cuda->samples ? trace_builder_add_ledger(merge->builder, "gpu pc samples", cuda->samples, cuda->samples, 0, "") : 0;
    return code ? error_set_errno(err, code, "merge: cannot add to the ledger") : 0;
}

static const struct merge_handler handlers[] = {
    {WIRE_GPU_SAMPLES, MERGE_ROWS, on_gpu_samples},
    {0, MERGE_LIFE, NULL},
};

const struct merge_part merge_part_cuda = {
    .name = "cuda",
    .layers = 1u << WIRE_LAYER_CUDA,
    .create = cuda_create,
    .destroy = cuda_destroy,
    .finish = cuda_finish,
    .prepare = cuda_prepare,
    .handlers = handlers,
};
