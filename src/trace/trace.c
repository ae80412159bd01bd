/* SPDX-License-Identifier: MIT */
/* The trace object: shared parts, small tables, block directory, and handing out decoded blocks. */
#include "trace_internal.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <string.h>

int shared_strings_create(struct string_table *table, struct shared_strings **ret_strings)
{
    struct shared_strings *strings = calloc(1, sizeof(*strings));
    if (!strings)
        return -ENOMEM;
    strings->references = 1;
    strings->table = table;
    *ret_strings = strings;
    return 0;
}

int shared_strings_copy(const struct string_table *table, struct shared_strings **ret_strings)
{
    uint64_t blob_size;
    const char *blob = string_table_blob(table, &blob_size);
    uint32_t count = string_table_count(table);
    size_t offsets_size = ((size_t)count + 1) * sizeof(uint64_t);
    CLEANUP(freep) char *blob_copy = malloc(blob_size ? blob_size : 1);
    CLEANUP(freep) uint64_t *offsets_copy = malloc(offsets_size);
    if (!blob_copy || !offsets_copy)
        return -ENOMEM;
    memcpy(blob_copy, blob, blob_size);
    memcpy(offsets_copy, string_table_offsets(table), offsets_size);
    struct string_table *mapped;
    int result = string_table_map(blob_copy, blob_size, offsets_copy, count, &mapped);
    if (result < 0)
        return result;
    result = shared_strings_create(mapped, ret_strings);
    if (result < 0) {
        string_table_destroy(mapped);
        return result;
    }
    (*ret_strings)->memory[0] = TAKE_PTR(blob_copy);
    (*ret_strings)->memory[1] = TAKE_PTR(offsets_copy);
    return 0;
}

struct shared_strings *shared_strings_ref(struct shared_strings *strings)
{
    strings->references++;
    return strings;
}

void shared_strings_unref(struct shared_strings *strings)
{
    if (!strings || --strings->references > 0)
        return;
    string_table_destroy(strings->table);
    free(strings->memory[0]);
    free(strings->memory[1]);
    free(strings);
}

int trace_create(struct block_cache *cache, struct trace **ret_trace)
{
    struct trace *trace = calloc(1, sizeof(*trace));
    if (!trace)
        return -ENOMEM;
    trace->references = 1;
    trace->cache = block_cache_ref(cache);
    pthread_mutex_init(&trace->lock, NULL);
    pthread_mutex_init(&trace->made_lock, NULL);
    *ret_trace = trace;
    return 0;
}

struct trace *trace_ref(struct trace *trace)
{
    trace->references++;
    return trace;
}

void trace_unref(struct trace *trace)
{
    if (!trace || --trace->references > 0)
        return;
    for (unsigned family = 0; family < FAMILY_COUNT; family++)
        block_array_finish(&trace->blocks[family]);
    for (unsigned table = 0; table < TABLE_COUNT; table++)
        shared_table_unref(trace->tables[table]);
    shared_strings_unref(trace->strings);
    free(trace->span_order);
    free(trace->open);
    free(trace->aggregates.spans);
    free(trace->aggregates.samples);
    lod_set_destroy(trace->lods);
    trace_made_finish(trace);
    live_aggregates_unref(trace->live);
    native_reader_unref(trace->reader);
    block_cache_unref(trace->cache);
    pthread_mutex_destroy(&trace->lock);
    free(trace);
}

static int by_first(const void *left, const void *right, void *context)
{
    const struct trace *trace = context;
    uint32_t a = trace->blocks[FAMILY_SPANS].items[*(const uint32_t *)left]->info.first;
    uint32_t b = trace->blocks[FAMILY_SPANS].items[*(const uint32_t *)right]->info.first;
    return (a > b) - (a < b);
}

static int order_spans(struct trace *trace)
{
    const struct block_array *blocks = &trace->blocks[FAMILY_SPANS];
    bool in_order = true;
    for (uint32_t i = 0; i < blocks->count; i++) {
        const struct block_info *info = &blocks->items[i]->info;
        if (info->first + info->count > trace->span_limit)
            trace->span_limit = info->first + info->count;
        in_order = in_order && (i == 0 || blocks->items[i - 1]->info.first < info->first);
    }
    if (in_order)
        return 0;
    trace->span_order = malloc((size_t)blocks->count * sizeof(uint32_t));
    if (!trace->span_order)
        return -ENOMEM;
    for (uint32_t i = 0; i < blocks->count; i++)
        trace->span_order[i] = i;
    qsort_r(trace->span_order, blocks->count, sizeof(uint32_t), by_first, trace);
    return 0;
}

int trace_seal(struct trace *trace)
{
    bool any = false;
    for (unsigned family = 0; family < FAMILY_COUNT; family++) {
        trace->rows[family] = 0;
        for (uint32_t i = 0; i < trace->blocks[family].count; i++) {
            const struct block_info *info = &trace->blocks[family].items[i]->info;
            trace->rows[family] += info->count;
            if (!family_schema((enum family)family)->per_track)
                continue;
            trace->begin_ns = !any || info->begin_ns < trace->begin_ns ? info->begin_ns : trace->begin_ns;
            trace->end_ns = !any || info->end_ns > trace->end_ns ? info->end_ns : trace->end_ns;
            any = true;
        }
    }
    return order_spans(trace);
}

uint64_t trace_generation(const struct trace *trace)
{
    return trace->generation;
}

bool trace_is_growing(const struct trace *trace)
{
    return trace->growing;
}

const struct string_table *trace_strings(const struct trace *trace)
{
    return trace->strings->table;
}

const char *trace_text(const struct trace *trace, string_id id)
{
    return string_table_text(trace->strings->table, id);
}

#define DEFINE_TABLE(function, type, table)                                                                            \
    const struct type *function(const struct trace *trace, uint32_t *ret_count)                                        \
    {                                                                                                                  \
        *ret_count = trace->tables[table]->count;                                                                      \
        return (const struct type *)(const void *)trace->tables[table]->rows;                                          \
    }
DEFINE_TABLE(trace_nodes, trace_node, TABLE_NODES)
DEFINE_TABLE(trace_processes, trace_process, TABLE_PROCESSES)
DEFINE_TABLE(trace_tracks, trace_track, TABLE_TRACKS)
DEFINE_TABLE(trace_modules, trace_module, TABLE_MODULES)
DEFINE_TABLE(trace_frames, trace_frame, TABLE_FRAMES)
DEFINE_TABLE(trace_stacks, stack_node, TABLE_STACKS)
DEFINE_TABLE(trace_groups, trace_group, TABLE_GROUPS)
DEFINE_TABLE(trace_ledger, ledger_entry, TABLE_LEDGER)

uint32_t trace_metadata_count(const struct trace *trace)
{
    return trace->tables[TABLE_METADATA]->count;
}

void trace_metadata_at(const struct trace *trace, uint32_t index, const char **ret_key, const char **ret_value)
{
    const struct metadata_entry *entries = (const void *)trace->tables[TABLE_METADATA]->rows;
    bool exists = index < trace->tables[TABLE_METADATA]->count;
    *ret_key = exists ? trace_text(trace, entries[index].key) : NULL;
    *ret_value = exists ? trace_text(trace, entries[index].value) : NULL;
}

const char *trace_metadata(const struct trace *trace, const char *wanted)
{
    for (uint32_t i = 0; i < trace_metadata_count(trace); i++) {
        const char *key, *value;
        trace_metadata_at(trace, i, &key, &value);
        if (strcmp(key, wanted) == 0)
            return value;
    }
    return NULL;
}

void trace_time_range(const struct trace *trace, int64_t *ret_begin_ns, int64_t *ret_end_ns)
{
    *ret_begin_ns = trace->begin_ns;
    *ret_end_ns = trace->end_ns;
}

bool trace_span_holds(const struct trace *trace, track_id track, uint8_t kind)
{
    uint32_t count;
    const struct trace_track *tracks = trace_tracks(trace, &count);
    bool device = track.index < count &&
                  (tracks[track.index].kind == TRACK_KIND_STREAM || tracks[track.index].kind == TRACK_KIND_DEVICE);
    return !device || kind == SPAN_KIND_GRAPH;
}

const struct open_call *trace_open_calls(const struct trace *trace, uint32_t *ret_count)
{
    *ret_count = trace->open_count;
    return trace->open;
}

int64_t trace_span_end(const struct trace *trace, track_id track, int64_t begin_ns, int64_t end_ns)
{
    if (end_ns != INT64_MIN)
        return end_ns;
    uint32_t count;
    const struct trace_track *tracks = trace_tracks(trace, &count);
    int64_t last_ns = trace->end_ns;
    if (track.index < count && tracks[track.index].end_ns != INT64_MIN && tracks[track.index].end_ns < last_ns)
        last_ns = tracks[track.index].end_ns;
    return last_ns > begin_ns ? last_ns : begin_ns;
}

const char *trace_incomplete(const struct trace *trace)
{
    if (trace->growing)
        return "the file is still being written, or its recording was cut off";
    return trace->partial ? "the file is truncated or damaged: what was whole is shown" : trace_metadata(trace, INCOMPLETE_KEY);
}

uint32_t trace_block_count(const struct trace *trace, enum family family)
{
    return trace->blocks[family].count;
}

struct block_info trace_block_info(const struct trace *trace, enum family family, uint32_t block)
{
    return trace->blocks[family].items[block]->info;
}

uint64_t trace_row_count(const struct trace *trace, enum family family)
{
    return trace->rows[family];
}

bool trace_span_find(const struct trace *trace, span_id span, uint32_t *ret_block, uint32_t *ret_row)
{
    const struct block_array *blocks = &trace->blocks[FAMILY_SPANS];
    uint32_t low = 0, high = blocks->count;
    while (low < high) { /* the first block that begins behind the span */
        uint32_t middle = low + (high - low) / 2;
        uint32_t index = trace->span_order ? trace->span_order[middle] : middle;
        if (blocks->items[index]->info.first <= span.index)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    uint32_t index = trace->span_order ? trace->span_order[low - 1] : low - 1;
    const struct block_info *info = &blocks->items[index]->info;
    if (span.index - info->first >= info->count)
        return false;
    *ret_block = index;
    *ret_row = span.index - info->first;
    return true;
}

struct block_limits trace_block_limits(const struct trace *trace)
{
    return (struct block_limits){.strings = string_table_count(trace->strings->table),
                                 .stacks = trace->tables[TABLE_STACKS]->count,
                                 .spans = trace->span_limit,
                                 .groups = trace->tables[TABLE_GROUPS]->count,
                                 .spans_may_miss = trace->partial};
}

int trace_block_decode(const void *context, const struct block *block, uint32_t columns, struct decoded **ret_decoded,
                       struct error *err)
{
    const struct trace *trace = context;
    struct block_limits limits = trace_block_limits(trace);
    bool resolve_parents = block->live && block->family == FAMILY_SPANS && (columns & SPAN_COLUMN_BIT(SPAN_COLUMN_PARENT));
    if (resolve_parents)
        columns |= SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_KIND);
    CLEANUP(decoded_freep) struct decoded *decoded = NULL;
    int result = block_decode(block, columns, &limits, &decoded, err);
    if (result == 0 && block->live && (resolve_parents || block->family == FAMILY_LINKS || block->family == FAMILY_MEMBERS))
        result = live_resolve(trace, block, decoded, err);
    if (result < 0)
        return result;
    *ret_decoded = TAKE_PTR(decoded);
    return 0;
}

static int get_block(const struct trace *trace, enum family family, uint32_t index, uint32_t columns,
                     struct decoded **ret_decoded, struct error *err)
{
    if (index >= trace->blocks[family].count)
        return error_set(err, -EINVAL, "trace: there is no block %u of %s", index, family_schema(family)->name);
    return block_cache_get(trace->cache, trace->blocks[family].items[index], columns, trace_block_decode, trace,
                           ret_decoded, err);
}

#define ALL_COLUMNS(count) ((UINT32_C(1) << (count)) - 1)

static void spans_show(const struct trace *trace, uint32_t block, struct decoded *decoded, struct span_block *ret_block)
{
    *ret_block = (struct span_block){
        .info = trace->blocks[FAMILY_SPANS].items[block]->info,
        .begin_ns = decoded->column[SPAN_COLUMN_BEGIN],
        .end_ns = decoded->column[SPAN_COLUMN_END],
        .name = decoded->column[SPAN_COLUMN_NAME],
        .category = decoded->column[SPAN_COLUMN_CATEGORY],
        .kind = decoded->column[SPAN_COLUMN_KIND],
        .parent = decoded->column[SPAN_COLUMN_PARENT],
        .correlation = decoded->column[SPAN_COLUMN_CORRELATION],
        .stack = decoded->column[SPAN_COLUMN_STACK],
        .payload_end = decoded->column[SPAN_COLUMN_PAYLOAD_END],
        .payload = decoded->column[SPAN_COLUMN_PAYLOAD],
        .hold = decoded,
    };
}

int trace_spans_get_columns(const struct trace *trace, uint32_t block, uint32_t columns, struct span_block *ret_block,
                            struct error *err)
{
    struct decoded *decoded;
    int result = get_block(trace, FAMILY_SPANS, block, columns, &decoded, err);
    if (result == 0)
        spans_show(trace, block, decoded, ret_block);
    return result;
}

int trace_spans_scan(const struct trace *trace, uint32_t block, uint32_t columns, struct span_block *ret_block,
                     struct error *err)
{
    struct decoded *decoded;
    if (block >= trace->blocks[FAMILY_SPANS].count)
        return error_set(err, -EINVAL, "trace: there is no block %u of spans", block);
    struct block *source = trace->blocks[FAMILY_SPANS].items[block];
    int result = 0;
    if (!block_cache_find(trace->cache, source, columns, &decoded))
        result = trace_block_decode(trace, source, columns, &decoded, err);
    if (result == 0)
        spans_show(trace, block, decoded, ret_block);
    return result;
}

int trace_spans_get(const struct trace *trace, uint32_t block, struct span_block *ret_block, struct error *err)
{
    uint32_t columns = ALL_COLUMNS(SPAN_COLUMN_COUNT) & ~SPAN_COLUMN_BIT(SPAN_COLUMN_ORDER);
    return trace_spans_get_columns(trace, block, columns, ret_block, err);
}

int trace_samples_get(const struct trace *trace, uint32_t block, struct sample_block *ret_block, struct error *err)
{
    struct decoded *decoded;
    int result = get_block(trace, FAMILY_SAMPLES, block, ALL_COLUMNS(SAMPLE_COLUMN_COUNT), &decoded, err);
    if (result < 0)
        return result;
    *ret_block = (struct sample_block){
        .info = trace->blocks[FAMILY_SAMPLES].items[block]->info,
        .time_ns = decoded->column[SAMPLE_COLUMN_TIME],
        .weight = decoded->column[SAMPLE_COLUMN_WEIGHT],
        .stack = decoded->column[SAMPLE_COLUMN_STACK],
        .cpu = decoded->column[SAMPLE_COLUMN_CPU],
        .event = decoded->column[SAMPLE_COLUMN_EVENT],
        .flags = decoded->column[SAMPLE_COLUMN_FLAGS],
        .hold = decoded,
    };
    return 0;
}

int trace_instants_get(const struct trace *trace, uint32_t block, struct instant_block *ret_block, struct error *err)
{
    struct decoded *decoded;
    int result = get_block(trace, FAMILY_INSTANTS, block, ALL_COLUMNS(INSTANT_COLUMN_COUNT), &decoded, err);
    if (result < 0)
        return result;
    *ret_block = (struct instant_block){
        .info = trace->blocks[FAMILY_INSTANTS].items[block]->info,
        .time_ns = decoded->column[INSTANT_COLUMN_TIME],
        .name = decoded->column[INSTANT_COLUMN_NAME],
        .category = decoded->column[INSTANT_COLUMN_CATEGORY],
        .payload_end = decoded->column[INSTANT_COLUMN_PAYLOAD_END],
        .payload = decoded->column[INSTANT_COLUMN_PAYLOAD],
        .hold = decoded,
    };
    return 0;
}

int trace_counters_get(const struct trace *trace, uint32_t block, struct counter_block *ret_block, struct error *err)
{
    struct decoded *decoded;
    int result = get_block(trace, FAMILY_COUNTERS, block, ALL_COLUMNS(COUNTER_COLUMN_COUNT), &decoded, err);
    if (result < 0)
        return result;
    *ret_block = (struct counter_block){
        .info = trace->blocks[FAMILY_COUNTERS].items[block]->info,
        .time_ns = decoded->column[COUNTER_COLUMN_TIME],
        .value = decoded->column[COUNTER_COLUMN_VALUE],
        .hold = decoded,
    };
    return 0;
}

int trace_links_get(const struct trace *trace, uint32_t block, struct link_block *ret_block, struct error *err)
{
    struct decoded *decoded;
    int result = get_block(trace, FAMILY_LINKS, block, ALL_COLUMNS(LINK_COLUMN_COUNT), &decoded, err);
    if (result < 0)
        return result;
    *ret_block = (struct link_block){
        .info = trace->blocks[FAMILY_LINKS].items[block]->info,
        .from = decoded->column[LINK_COLUMN_FROM],
        .to = decoded->column[LINK_COLUMN_TO],
        .kind = decoded->column[LINK_COLUMN_KIND],
        .confidence = decoded->column[LINK_COLUMN_CONFIDENCE],
        .hold = decoded,
    };
    return 0;
}

int trace_members_get(const struct trace *trace, uint32_t block, struct member_block *ret_block, struct error *err)
{
    struct decoded *decoded;
    int result = get_block(trace, FAMILY_MEMBERS, block, ALL_COLUMNS(MEMBER_COLUMN_COUNT), &decoded, err);
    if (result < 0)
        return result;
    *ret_block = (struct member_block){
        .info = trace->blocks[FAMILY_MEMBERS].items[block]->info,
        .group = decoded->column[MEMBER_COLUMN_GROUP],
        .span = decoded->column[MEMBER_COLUMN_SPAN],
        .rank = decoded->column[MEMBER_COLUMN_RANK],
        .hold = decoded,
    };
    return 0;
}

#define DEFINE_PUT(function, type)                                                                                     \
    void function(const struct trace *trace, struct type *block)                                                       \
    {                                                                                                                  \
        block_cache_put(trace->cache, TAKE_PTR(block->hold));                                                          \
    }
DEFINE_PUT(trace_spans_put, span_block)
DEFINE_PUT(trace_samples_put, sample_block)
DEFINE_PUT(trace_instants_put, instant_block)
DEFINE_PUT(trace_counters_put, counter_block)
DEFINE_PUT(trace_links_put, link_block)
DEFINE_PUT(trace_members_put, member_block)
