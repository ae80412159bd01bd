/* SPDX-License-Identifier: MIT */
/* The builder's life and its small tables: strings, nodes, processes, tracks, modules, frames, stacks, groups, ledger. */
#include "builder_internal.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

int builder_fail(struct trace_builder *builder, int code, const char *format, ...)
{
    if (builder->failure)
        return builder->failure;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(builder->failure_text, sizeof(builder->failure_text), format, arguments);
    va_end(arguments);
    return builder->failure = code;
}

int trace_builder_create(const struct builder_options *options, struct trace_builder **ret_builder, struct error *err)
{
    CLEANUP(trace_builder_destroyp) struct trace_builder *builder = calloc(1, sizeof(*builder));
    if (!builder)
        return error_set(err, -ENOMEM, "trace builder: out of memory");
    pthread_mutex_init(&builder->place_lock, NULL);
    map_init(&builder->frame_map);
    map_init(&builder->stack_map);
    map_init(&builder->metadata_map);
    map_init(&builder->ledger_map);
    if (options)
        builder->memory_limit_bytes = options->memory_limit_bytes;
    if (options && options->spill_directory)
        builder->spill_directory = strdup(options->spill_directory);
    builder->order = malloc(BLOCK_ROWS_MAX * sizeof(uint32_t));
    bool failed = !builder->order || (options && options->spill_directory && !builder->spill_directory) ||
                  body_builder_init(&builder->body) < 0 || string_table_create(&builder->strings) < 0 ||
                  block_cache_create(BLOCK_CACHE_BYTES, &builder->cache) < 0;
    if (failed)
        return error_set(err, -ENOMEM, "trace builder: out of memory");
    *ret_builder = TAKE_PTR(builder);
    return 0;
}

void open_rows_finish(struct open_rows *open)
{
    free(open->rows);
    free(open->payload);
    open->rows = open->payload = NULL;
    open->capacity = open->payload_capacity = open->payload_size = 0;
    open->count = 0;
}

void trace_builder_destroy(struct trace_builder *builder)
{
    if (!builder)
        return;
    for (uint32_t track = 0; builder->tracks && track < builder->tables[TABLE_TRACKS].count; track++) {
        for (unsigned family = 0; family < TRACK_FAMILIES; family++) {
            if (builder->tracks[track].open[family])
                open_rows_finish(builder->tracks[track].open[family]);
            free(builder->tracks[track].open[family]);
        }
    }
    free(builder->tracks);
    for (unsigned i = 0; i < FAMILY_COUNT - TRACK_FAMILIES; i++)
        open_rows_finish(&builder->pairs[i]);
    for (unsigned family = 0; family < FAMILY_COUNT; family++)
        block_array_finish(&builder->sealed[family]);
    for (unsigned table = 0; table < TABLE_COUNT; table++) {
        free(builder->tables[table].rows);
        shared_table_unref(builder->tables[table].shared);
    }
    map_finish(&builder->frame_map);
    map_finish(&builder->stack_map);
    map_finish(&builder->metadata_map);
    map_finish(&builder->ledger_map);
    shared_strings_unref(builder->shared_strings);
    string_table_destroy(builder->strings);
    body_builder_finish(&builder->body);
    live_aggregates_unref(builder->live);
    free(builder->open);
    block_cache_unref(builder->cache);
    block_store_unref(builder->spill);
    free(builder->order);
    free(builder->spill_directory);
    pthread_mutex_destroy(&builder->place_lock);
    free(builder);
}

struct string_table *trace_builder_strings(struct trace_builder *builder)
{
    return builder->strings;
}

string_id trace_builder_string(struct trace_builder *builder, const char *text)
{
    string_id id;
    int result = string_table_intern_text(builder->strings, text, &id);
    if (result == 0)
        return id;
    builder_fail(builder, result, "trace builder: no room for another string");
    return STRING_NONE;
}

/* Adds a row to a small table. */
static int add_row(struct trace_builder *builder, enum table table, const void *row, uint32_t *ret_index)
{
    if (builder->failure)
        return builder->failure;
    struct growing_table *growing = &builder->tables[table];
    const struct table_schema *schema = table_schema(table);
    if (growing->count == ID_NONE - 1)
        return builder_fail(builder, -EOVERFLOW, "trace builder: too many %s", schema->name);
    void *rows = array_reserve(growing->rows, &growing->capacity, (size_t)growing->count + 1, schema->row_size);
    if (!rows)
        return builder_fail(builder, -ENOMEM, "trace builder: out of memory for %s", schema->name);
    growing->rows = rows;
    memcpy((uint8_t *)rows + (size_t)growing->count * schema->row_size, row, schema->row_size);
    *ret_index = growing->count++;
    return 0;
}

void *builder_row(struct trace_builder *builder, enum table table, uint32_t index)
{
    struct growing_table *growing = &builder->tables[table];
    return index < growing->count ? (uint8_t *)growing->rows + (size_t)index * table_schema(table)->row_size : NULL;
}

int trace_builder_add_node(struct trace_builder *builder, const struct trace_node *node, node_id *ret_id)
{
    return add_row(builder, TABLE_NODES, node, &ret_id->index);
}

int trace_builder_add_process(struct trace_builder *builder, const struct trace_process *process, process_id *ret_id)
{
    return add_row(builder, TABLE_PROCESSES, process, &ret_id->index);
}

struct trace_process *trace_builder_process(struct trace_builder *builder, process_id id)
{
    return builder_row(builder, TABLE_PROCESSES, id.index);
}

int trace_builder_add_track(struct trace_builder *builder, const struct trace_track *track, track_id *ret_id)
{
    uint32_t count = builder->tables[TABLE_TRACKS].count;
    struct track_rows *tracks = array_reserve(builder->tracks, &builder->track_capacity, (size_t)count + 1, sizeof(*tracks));
    if (!tracks)
        return builder_fail(builder, -ENOMEM, "trace builder: out of memory for tracks");
    builder->tracks = tracks;
    tracks[count] = (struct track_rows){0};
    return add_row(builder, TABLE_TRACKS, track, &ret_id->index);
}

struct trace_track *trace_builder_track(struct trace_builder *builder, track_id id)
{
    return builder_row(builder, TABLE_TRACKS, id.index);
}

int trace_builder_add_module(struct trace_builder *builder, const struct trace_module *module, module_id *ret_id)
{
    return add_row(builder, TABLE_MODULES, module, &ret_id->index);
}

static bool frame_equal(const struct trace_frame *left, const struct trace_frame *right)
{
    return string_is(left->function, right->function) && module_id_is(left->module, right->module) &&
           string_is(left->file, right->file) && left->line == right->line && left->flags == right->flags &&
           left->address == right->address;
}

int trace_builder_add_frame(struct trace_builder *builder, const struct trace_frame *frame, frame_id *ret_id)
{
    uint64_t hash = hash_u64(frame->address ^ hash_u64((uint64_t)frame->function.index << 32 | frame->module.index) ^
                             hash_u64((uint64_t)frame->file.index << 32 | frame->line) * 3 ^ frame->flags);
    uint64_t index;
    for (; map_get(&builder->frame_map, hash, &index); hash++) {
        if (frame_equal(builder_row(builder, TABLE_FRAMES, (uint32_t)index), frame)) {
            ret_id->index = (uint32_t)index;
            return 0;
        }
    }
    struct trace_frame copy = *frame;
    int result = add_row(builder, TABLE_FRAMES, &copy, &ret_id->index);
    if (result == 0 && map_set(&builder->frame_map, hash, ret_id->index) < 0)
        return builder_fail(builder, -ENOMEM, "trace builder: out of memory for frames");
    return result;
}

int trace_builder_add_stack(struct trace_builder *builder, stack_id parent, frame_id frame, stack_id *ret_id)
{
    uint64_t key = (uint64_t)parent.index << 32 | frame.index, index;
    if (map_get(&builder->stack_map, key, &index)) {
        ret_id->index = (uint32_t)index;
        return 0;
    }
    bool exists = frame.index < builder->tables[TABLE_FRAMES].count &&
                  (parent.index == ID_NONE || parent.index < builder->tables[TABLE_STACKS].count);
    if (!exists)
        return -EINVAL;
    struct stack_node node = {parent, frame};
    int result = add_row(builder, TABLE_STACKS, &node, &ret_id->index);
    if (result == 0 && map_set(&builder->stack_map, key, ret_id->index) < 0)
        return builder_fail(builder, -ENOMEM, "trace builder: out of memory for stacks");
    return result;
}

int trace_builder_add_group(struct trace_builder *builder, const struct trace_group *group, group_id *ret_id)
{
    return add_row(builder, TABLE_GROUPS, group, &ret_id->index);
}

int trace_builder_add_ledger(struct trace_builder *builder, const char *source, uint64_t seen, uint64_t recorded,
                             uint64_t lost, const char *reason)
{
    struct ledger_entry entry = {.source = trace_builder_string(builder, source), .seen = seen, .recorded = recorded,
                                 .lost = lost, .reason = trace_builder_string(builder, reason)};
    uint64_t key = (uint64_t)entry.source.index << 32 | entry.reason.index, place;
    uint32_t index;
    if (map_get(&builder->ledger_map, key, &place)) {
        struct ledger_entry *known = builder_row(builder, TABLE_LEDGER, (uint32_t)place);
        known->seen += seen;
        known->recorded += recorded;
        known->lost += lost;
        return builder->failure;
    }
    int result = add_row(builder, TABLE_LEDGER, &entry, &index);
    if (result == 0 && map_set(&builder->ledger_map, key, index) < 0)
        return builder_fail(builder, -ENOMEM, "trace builder: out of memory for the ledger");
    return result;
}

/* The value first: it may be a text of our own table, which moves when the key is put there. */
int trace_builder_set_metadata(struct trace_builder *builder, const char *key, const char *value)
{
    struct metadata_entry entry = {.value = trace_builder_string(builder, value)};
    uint64_t place;
    uint32_t index;
    entry.key = trace_builder_string(builder, key);
    if (map_get(&builder->metadata_map, entry.key.index, &place)) {
        struct metadata_entry *known = builder_row(builder, TABLE_METADATA, (uint32_t)place);
        known->value = entry.value;
        return builder->failure;
    }
    int result = add_row(builder, TABLE_METADATA, &entry, &index);
    if (result == 0 && map_set(&builder->metadata_map, entry.key.index, index) < 0)
        return builder_fail(builder, -ENOMEM, "trace builder: out of memory for metadata");
    return result;
}

int builder_check_tables(struct trace_builder *builder)
{
    uint32_t counts[TABLE_COUNT], strings = string_table_count(builder->strings);
    for (unsigned table = 0; table < TABLE_COUNT; table++)
        counts[table] = builder->tables[table].count;
    for (unsigned table = 0; table < TABLE_COUNT; table++) {
        int64_t bad = table_first_bad_row((enum table)table, builder->tables[table].rows, counts[table], counts, strings);
        if (bad >= 0)
            return builder_fail(builder, -EINVAL, "trace builder: row %lld of %s refers to something that is not there",
                                (long long)bad, table_schema((enum table)table)->name);
    }
    int64_t endless;
    while ((endless = processes_endless_row(builder->tables[TABLE_PROCESSES].rows, counts[TABLE_PROCESSES])) >= 0)
        trace_builder_process(builder, (process_id){(uint32_t)endless})->parent = PROCESS_NONE;
    return endless < -1 ? builder_fail(builder, -ENOMEM, "trace builder: out of memory") : 0;
}
