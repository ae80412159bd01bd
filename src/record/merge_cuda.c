/* SPDX-License-Identifier: MIT */
/* CUDA's kernels have C++ names as the linker knows them: people's names for them, each made once. */
#include "base/error.h"
#include "base/map.h"
#include "merge_internal.h"
#include "symbol/demangle.h"

#include <errno.h>
#include <stdlib.h>

struct merge_cuda {
    struct map names; /* string_id as recorded -> string_id demangled */
};

static void cuda_destroy(void *state)
{
    struct merge_cuda *cuda = state;
    if (!cuda)
        return;
    map_finish(&cuda->names);
    free(cuda);
}

static int cuda_create(struct merge *merge, void **ret_state, struct error *err)
{
    (void)merge;
    *ret_state = calloc(1, sizeof(struct merge_cuda));
    return *ret_state ? 0 : error_set(err, -ENOMEM, "merge: out of memory");
}

static int cuda_prepare(struct merge *merge, void *state, struct merge_span *span)
{
    struct merge_cuda *cuda = state;
    uint64_t known;
    if (span->span->kind != SPAN_KIND_KERNEL || span->span->name.index == STRING_NONE.index)
        return 0;
    if (map_get(&cuda->names, span->span->name.index, &known)) {
        span->span->name.index = (uint32_t)known;
        return 0;
    }
    const struct string_table *strings = trace_builder_strings(merge->builder);
    char *name = demangle(string_table_text(strings, span->span->name));
    string_id demangled = name ? trace_builder_string(merge->builder, name) : span->span->name;
    free(name);
    int code = map_set(&cuda->names, span->span->name.index, demangled.index);
    span->span->name = demangled;
    return code;
}

const struct merge_part merge_part_cuda = {
    .name = "cuda",
    .layers = 1u << WIRE_LAYER_CUDA,
    .create = cuda_create,
    .destroy = cuda_destroy,
    .prepare = cuda_prepare,
};
