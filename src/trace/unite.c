/* SPDX-License-Identifier: MIT */
/* Several traces as one: one copy after the other into one builder, block by block. Span numbers of all parts are kept for links. */
#include "unite.h"

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "select_internal.h"

#include <errno.h>
#include <stdlib.h>

#define MEMORY_LIMIT_BYTES ((size_t)1 << 30) /* of sealed blocks; more goes to a spill file */

struct trace_unite {
    struct trace_builder *builder;
    const struct progress *progress;
    struct selected_copy *copies;
    size_t copy_count, copy_capacity;
    uint32_t process_count;
    struct map module_index;      /* hash of path, build id and flags -> module */
    struct trace_module *modules; /* strings are the builder's */
    size_t module_count, module_capacity;
};

int trace_unite_create(const struct progress *progress, struct trace_unite **ret_unite, struct error *err)
{
    CLEANUP(trace_unite_destroyp) struct trace_unite *unite = calloc(1, sizeof(*unite));
    const struct builder_options options = {.memory_limit_bytes = MEMORY_LIMIT_BYTES};
    if (!unite)
        return error_set(err, -ENOMEM, "out of memory");
    unite->progress = progress;
    int result = trace_builder_create(&options, &unite->builder, err);
    if (result == 0)
        *ret_unite = TAKE_PTR(unite);
    return result;
}

void trace_unite_destroy(struct trace_unite *unite)
{
    if (!unite)
        return;
    for (size_t i = 0; i < unite->copy_count; i++)
        selected_copy_finish(&unite->copies[i]);
    free(unite->copies);
    free(unite->modules);
    map_finish(&unite->module_index);
    if (unite->builder)
        trace_builder_destroy(unite->builder);
    free(unite);
}

struct trace_builder *trace_unite_builder(struct trace_unite *unite)
{
    return unite->builder;
}

static bool is_module(const struct trace_module *left, const struct trace_module *right)
{
    return string_is(left->path, right->path) && string_is(left->build_id, right->build_id) && left->flags == right->flags;
}

/* The same file in several traces is one module, so that its frames and functions are one, too. */
static int take_module(struct trace_unite *unite, const struct trace_module *module, module_id *ret_id)
{
    uint64_t known, key = hash_u64((uint64_t)module->path.index << 32 | module->build_id.index) + module->flags;
    for (; map_get(&unite->module_index, key, &known); key++)
        if (is_module(&unite->modules[known], module)) {
            *ret_id = (module_id){(uint32_t)known};
            return 0;
        }
    struct trace_module *modules = array_reserve(unite->modules, &unite->module_capacity, unite->module_count + 1, sizeof(*modules));
    if (!modules)
        return -ENOMEM;
    unite->modules = modules;
    modules[unite->module_count++] = *module;
    int result = trace_builder_add_module(unite->builder, module, ret_id);
    return result < 0 ? result : map_set(&unite->module_index, key, ret_id->index);
}

static int take_modules(struct trace_unite *unite, struct selected_copy *copy, module_id **ret_ids)
{
    uint32_t count;
    int result = 0;
    const struct trace_module *modules = trace_modules(copy->trace, &count);
    module_id *ids = malloc(((size_t)count + 1) * sizeof(*ids));
    if (!ids)
        return -ENOMEM;
    for (uint32_t i = 0; i < count && result == 0; i++) {
        const struct trace_module module = {copy_string(copy, modules[i].path), copy_string(copy, modules[i].build_id), modules[i].flags};
        result = take_module(unite, &module, &ids[i]);
    }
    *ret_ids = ids;
    return result;
}

static int copy_part(struct trace_unite *unite, struct selected_copy *copy, struct error *err)
{
    CLEANUP(freep) module_id *modules = NULL;
    int result = selected_copy_prepare(copy);
    if (result == 0)
        result = take_modules(unite, copy, &modules);
    copy->modules = modules;
    if (result == 0)
        result = copy_processes(copy);
    if (result == 0)
        result = copy_tracks(copy);
    if (result == 0)
        result = select_rows(copy, err);
    copy->modules = NULL;
    return result;
}

int trace_unite_add(struct trace_unite *unite, const struct unite_part *part, uint32_t *ret_process, struct error *err)
{
    uint32_t processes;
    struct selected_copy *copies = array_reserve(unite->copies, &unite->copy_capacity, unite->copy_count + 1, sizeof(*copies));
    if (!copies)
        return error_set(err, -ENOMEM, "out of memory");
    unite->copies = copies;
    struct selected_copy *copy = &copies[unite->copy_count++];
    *copy = (struct selected_copy){
        .trace = part->trace, .builder = unite->builder, .progress = unite->progress, .begin_ns = INT64_MIN, .end_ns = INT64_MAX,
        .nodes = part->nodes, .groups = part->groups, .process_base = unite->process_count, .apart = true,
        .time = part->time, .time_context = part->time_context,
    };
    trace_processes(part->trace, &processes);
    *ret_process = unite->process_count;
    unite->process_count += processes;
    struct error detail = ERROR_INIT;
    int result = copy_part(unite, copy, &detail);
    if (result < 0 && !detail.code)
        return error_set_errno(err, result, "cannot take over a trace");
    return result < 0 ? error_set(err, result, "%s", detail.text) : 0;
}

int trace_unite_link(struct trace_unite *unite, uint32_t from_part, uint32_t to_part, const struct trace_link *link)
{
    struct trace_link there = *link;
    if (from_part >= unite->copy_count || to_part >= unite->copy_count ||
        !copy_handle(&unite->copies[from_part], link->from, &there.from) || !copy_handle(&unite->copies[to_part], link->to, &there.to))
        return -EINVAL;
    return trace_builder_add_link(unite->builder, &there);
}

int trace_unite_finish(struct trace_unite *unite, struct trace **ret_trace, struct error *err)
{
    return trace_builder_finish(unite->builder, ret_trace, err);
}
