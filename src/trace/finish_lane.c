/* SPDX-License-Identifier: MIT */
/*
 * One lane of a trace that is being finished. Lanes whose blocks follow each other keep their encoded columns: only the
 * parents are new. Others are merged and encoded anew.
 */
#include "finish.h"

#include "base/error.h"

#include <errno.h>
#include <string.h>

int finish_worker_init(struct finish_worker *worker, struct finish *finish)
{
    *worker = (struct finish_worker){.finish = finish};
    worker->rows = malloc(BLOCK_ROWS_MAX * sizeof(*worker->rows));
    worker->parents = malloc(BLOCK_ROWS_MAX * sizeof(*worker->parents));
    worker->nesting.closed = span_accumulator_closed;
    worker->nesting.context = &worker->spans;
    if (worker->rows && worker->parents && body_builder_init(&worker->body) == 0)
        return 0;
    finish_worker_finish(worker);
    return -ENOMEM;
}

void finish_worker_finish(struct finish_worker *worker)
{
    free(worker->rows);
    free(worker->parents);
    nesting_finish(&worker->nesting);
    span_accumulator_finish(&worker->spans);
    body_builder_finish(&worker->body);
}

/* Parents and sums of rows that follow each other on a track, from id `first` on; fills worker->parents. */
static int sweep(struct finish_worker *worker, track_id track, const struct decoded *decoded, uint32_t count, uint32_t first)
{
    const int64_t *begins = decoded->column[SPAN_COLUMN_BEGIN], *ends = decoded->column[SPAN_COLUMN_END];
    const string_id *names = decoded->column[SPAN_COLUMN_NAME], *categories = decoded->column[SPAN_COLUMN_CATEGORY];
    const uint8_t *kinds = decoded->column[SPAN_COLUMN_KIND];
    const uint32_t *handles = decoded->column[SPAN_COLUMN_PARENT];
    string_id name = STRING_NONE, category = STRING_NONE;
    uint32_t row = UINT32_MAX;
    uint8_t kind = 0;
    for (uint32_t i = 0; i < count; i++) {
        string_id row_name = names ? names[i] : STRING_NONE, row_category = categories ? categories[i] : STRING_NONE;
        uint8_t row_kind = kinds ? kinds[i] : 0;
        if (row == UINT32_MAX || !string_is(name, row_name) || !string_is(category, row_category) || kind != row_kind) {
            name = row_name;
            category = row_category;
            kind = row_kind;
            row = span_accumulator_row(&worker->spans, name, category, kind);
            if (row == UINT32_MAX)
                return -ENOMEM;
        }
        int64_t end_ns = trace_span_end(worker->finish->trace, track, begins[i], ends[i]);
        span_accumulator_add(&worker->spans, row, end_ns - begins[i]);
        bool holds = trace_span_holds(worker->finish->trace, track, row_kind);
        int result = nesting_add(&worker->nesting, begins[i], end_ns, first + i, row, holds, &worker->parents[i]);
        if (result < 0)
            return result;
        if (handles && handles[i] != ID_NONE) {
            uint32_t parent = references_id(&worker->finish->references, handles[i]);
            if (parent != ID_NONE && parent != first + i)
                worker->parents[i] = parent;
        }
    }
    return 0;
}

static int output_block(struct finish_worker *worker, struct finish_lane *lane, const struct block_info *info)
{
    uint8_t *bytes;
    uint32_t size;
    int result = body_end(&worker->body, &bytes, &size);
    if (result < 0)
        return result;
    CLEANUP(block_unrefp) struct block *block = block_create(lane->family, info);
    if (!block) {
        free(bytes);
        return -ENOMEM;
    }
    block->trusted = true;
    result = builder_place(worker->finish->builder, block, bytes, size);
    if (result == 0 && (result = block_array_add(&lane->output, block)) == 0)
        TAKE_PTR(block);
    return result;
}

static int add_parents(struct finish_worker *worker, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        worker->body.values[i] = worker->parents[i];
    return body_add_values(&worker->body, SPAN_COLUMN_PARENT);
}

/* A block of spans that stays as it is but for its parents. */
static int keep_spans(struct finish_worker *worker, struct finish_lane *lane, struct block *block, uint32_t first,
                      struct error *err)
{
    uint32_t columns = SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END) |
                       SPAN_COLUMN_BIT(SPAN_COLUMN_NAME) | SPAN_COLUMN_BIT(SPAN_COLUMN_CATEGORY) |
                       SPAN_COLUMN_BIT(SPAN_COLUMN_KIND) | SPAN_COLUMN_BIT(SPAN_COLUMN_PARENT);
    CLEANUP(decoded_freep) struct decoded *decoded = NULL;
    int result = block_decode(block, columns, NULL, &decoded, err);
    if (result < 0)
        return result;
    struct block_info info = block->info;
    info.first = first;
    info.run = 0;
    result = sweep(worker, lane->track, decoded, info.count, first);
    if (result < 0)
        return result;
    const uint8_t *body;
    CLEANUP(freep) uint8_t *owned = NULL;
    result = block_load(block, &body, &owned, err);
    if (result < 0)
        return result;
    struct body_column stored[COLUMNS_MAX];
    int stored_count = body_split(body, block->size, info.count, stored);
    body_begin(&worker->body, FAMILY_SPANS, info.count, first);
    for (int i = 0; i < stored_count && result == 0; i++) {
        if (stored[i].header.id != SPAN_COLUMN_PARENT && stored[i].header.id != SPAN_COLUMN_ORDER)
            result = body_add_copy(&worker->body, &stored[i]);
    }
    if (result == 0)
        result = add_parents(worker, info.count);
    return result < 0 ? result : output_block(worker, lane, &info);
}

/* A block that only gets another number. Snapshots may hold the old one, so it is a new object on the same bytes. */
static int keep_block(struct finish_worker *worker, struct finish_lane *lane, struct block *block, uint32_t first,
                      struct error *err)
{
    const uint8_t *body;
    CLEANUP(freep) uint8_t *owned = NULL;
    int result = block_load(block, &body, &owned, err);
    if (result < 0)
        return result;
    struct body_column stored[COLUMNS_MAX];
    int stored_count = body_split(body, block->size, block->info.count, stored);
    body_begin(&worker->body, lane->family, block->info.count, first);
    for (int i = 0; i < stored_count && result == 0; i++)
        result = body_add_copy(&worker->body, &stored[i]);
    struct block_info info = block->info;
    info.first = first;
    info.run = 0;
    return result < 0 ? result : output_block(worker, lane, &info);
}

static int keep_lane(struct finish_worker *worker, struct finish_lane *lane, struct error *err)
{
    uint32_t first = lane->first;
    for (uint32_t i = 0; i < lane->count; i++) {
        struct block *block = TAKE_PTR(lane->blocks[i]);
        uint32_t count = block->info.count;
        int result = lane->family == FAMILY_SPANS ? keep_spans(worker, lane, block, first, err)
                                                  : keep_block(worker, lane, block, first, err);
        builder_displace(worker->finish->builder, block);
        if (result < 0)
            return result;
        first += count;
    }
    return 0;
}

#define COLLECT(type)                                                                                                  \
    do {                                                                                                               \
        type *target = out;                                                                                            \
        for (uint32_t i = 0; i < count; i++) {                                                                         \
            const type *column = merge->sources[rows[i].source].decoded->column[id];                                   \
            target[i] = column ? column[rows[i].row] : (type)spec->absent;                                             \
        }                                                                                                              \
    } while (0)

/* One column of merged rows as an array; NULL out if no source has it. */
static int collect_column(const struct merge *merge, const struct column_spec *spec, uint8_t id,
                          const struct merge_row *rows, uint32_t count, void **ret_column)
{
    bool stored = false;
    for (uint32_t i = 0; i < count && !stored; i++)
        stored = merge->sources[rows[i].source].decoded->column[id] != NULL;
    *ret_column = NULL;
    if (!stored)
        return 0;
    void *out = malloc((size_t)count * spec->size);
    if (!out)
        return -ENOMEM;
    switch (spec->size) {
    case 1: COLLECT(uint8_t); break;
    case 2: COLLECT(uint16_t); break;
    case 4: COLLECT(uint32_t); break;
    default: COLLECT(uint64_t);
    }
    *ret_column = out;
    return 0;
}

static const uint8_t *payload_at(const struct merge *merge, const struct family_schema *schema, struct merge_row row,
                                 uint32_t *ret_size)
{
    const struct decoded *decoded = merge->sources[row.source].decoded;
    const uint32_t *ends = decoded->column[schema->payload_end];
    *ret_size = 0;
    if (!ends || !decoded->column[schema->payload])
        return NULL;
    uint32_t begin = row.row ? ends[row.row - 1] : 0;
    *ret_size = ends[row.row] - begin;
    return (const uint8_t *)decoded->column[schema->payload] + begin;
}

static int add_merged_payloads(struct finish_worker *worker, const struct merge *merge, const struct family_schema *schema,
                               const struct merge_row *rows, uint32_t count)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size;
        payload_at(merge, schema, rows[i], &size);
        total += size;
        worker->body.values[i] = total;
    }
    if (total == 0)
        return 0;
    CLEANUP(freep) uint8_t *bytes = malloc(total);
    if (!bytes)
        return -ENOMEM;
    size_t position = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size;
        const uint8_t *payload = payload_at(merge, schema, rows[i], &size);
        if (size)
            memcpy(bytes + position, payload, size);
        position += size;
    }
    int result = body_add_values(&worker->body, schema->payload_end);
    return result < 0 ? result : body_add_bytes(&worker->body, schema->payload, bytes, total, true);
}

static void widen(const void *column, uint8_t size, uint32_t count, uint64_t *values)
{
    for (uint32_t i = 0; i < count; i++) {
        switch (size) {
        case 1: values[i] = ((const uint8_t *)column)[i]; break;
        case 2: values[i] = ((const uint16_t *)column)[i]; break;
        case 4: values[i] = ((const uint32_t *)column)[i]; break;
        default: values[i] = ((const uint64_t *)column)[i];
        }
    }
}

static void describe_merged(const struct decoded *decoded, enum family family, struct block_info *info)
{
    const int64_t *begins = decoded->column[0], *ends = decoded->column[SPAN_COLUMN_END];
    info->begin_ns = begins[0];
    info->end_ns = begins[info->count - 1];
    for (uint32_t i = 0; family == FAMILY_SPANS && i < info->count; i++)
        info->end_ns = ends[i] > info->end_ns ? ends[i] : info->end_ns;
}

static void columns_freep(void ***columns)
{
    for (unsigned i = 0; i < COLUMNS_MAX; i++)
        free((*columns)[i]);
}

/* Writes count merged rows as one block. */
static int write_merged(struct finish_worker *worker, struct finish_lane *lane, const struct merge *merge,
                        const struct merge_row *rows, uint32_t count, uint32_t first)
{
    const struct family_schema *schema = family_schema(lane->family);
    bool spans = lane->family == FAMILY_SPANS;
    struct decoded gathered = {0}, *decoded = &gathered;
    CLEANUP(columns_freep) void **columns = gathered.column;
    int result = 0;
    for (uint8_t id = 0; id < schema->column_count && result == 0; id++) {
        if (id != schema->payload && id != schema->payload_end && !(spans && id == SPAN_COLUMN_ORDER))
            result = collect_column(merge, &schema->columns[id], id, rows, count, &decoded->column[id]);
    }
    if (result < 0)
        return result;
    struct block_info info = {.track = lane->track, .first = first, .count = count};
    describe_merged(decoded, lane->family, &info);
    body_begin(&worker->body, lane->family, count, first);
    for (uint8_t id = 0; id < schema->column_count && result == 0; id++) {
        if (!decoded->column[id] || (spans && id == SPAN_COLUMN_PARENT))
            continue;
        widen(decoded->column[id], schema->columns[id].size, count, worker->body.values);
        result = body_add_values(&worker->body, id);
    }
    if (result == 0 && spans && (result = sweep(worker, lane->track, decoded, count, first)) == 0)
        result = add_parents(worker, count);
    if (result == 0 && schema->payload < COLUMNS_MAX)
        result = add_merged_payloads(worker, merge, schema, rows, count);
    return result < 0 ? result : output_block(worker, lane, &info);
}

/* Rows that one block can take: all that were merged, or as many as have payloads of bounded size. */
static uint32_t rows_that_fit(const struct merge *merge, const struct family_schema *schema, const struct merge_row *rows,
                              uint32_t count)
{
    size_t total = 0;
    for (uint32_t i = 0; schema->payload < COLUMNS_MAX && i < count; i++) {
        uint32_t size;
        payload_at(merge, schema, rows[i], &size);
        total += size;
        if (total > PAYLOAD_BYTES_MAX / 2 && i > 0)
            return i;
    }
    return count;
}

static void displace_source(void *context, struct merge_source *source)
{
    struct finish_worker *worker = context;
    builder_displace(worker->finish->builder, TAKE_PTR(source->block));
}

static int merge_lane(struct finish_worker *worker, struct finish_lane *lane, struct error *err)
{
    const struct family_schema *schema = family_schema(lane->family);
    struct merge merge;
    if (merge_init(&merge, lane->blocks, lane->count, UINT32_MAX) < 0)
        return error_set(err, -ENOMEM, "trace builder: out of memory");
    memset(lane->blocks, 0, lane->count * sizeof(struct block *)); /* the merge has the references now */
    merge.retire = displace_source;
    merge.context = worker;
    uint32_t first = lane->first, count = 0;
    int result;
    while ((result = merge_next(&merge, worker->rows, BLOCK_ROWS_MAX, &count, err)) == 0 && count) {
        for (uint32_t done = 0; done < count && result == 0;) {
            uint32_t part = rows_that_fit(&merge, schema, worker->rows + done, count - done);
            result = write_merged(worker, lane, &merge, worker->rows + done, part, first);
            done += part;
            first += part;
        }
        if (result < 0)
            break;
    }
    for (uint32_t i = 0; i < merge.source_count; i++)
        block_unref(merge.sources[i].block);
    merge_finish(&merge);
    return result;
}

int finish_lane_write(struct finish_worker *worker, struct finish_lane *lane, struct error *err)
{
    int result = lane->in_order ? keep_lane(worker, lane, err) : merge_lane(worker, lane, err);
    nesting_close_all(&worker->nesting);
    return result;
}

/* The id of each added row of a block whose rows got ids first.. in sorted order. */
static int resolve_block(struct finish_worker *worker, const struct block *block, uint32_t first, struct error *err)
{
    struct references *references = &worker->finish->references;
    if (!references_any(references, block->info.first, block->info.count))
        return 0;
    CLEANUP(decoded_freep) struct decoded *decoded = NULL;
    int result = block_decode(block, SPAN_COLUMN_BIT(SPAN_COLUMN_ORDER), NULL, &decoded, err);
    if (result < 0)
        return result;
    const uint32_t *order = decoded->column[SPAN_COLUMN_ORDER];
    for (uint32_t row = 0; row < block->info.count; row++)
        references_set(references, block->info.first + (order ? order[row] : row), first + row);
    return 0;
}

int finish_lane_resolve(struct finish_worker *worker, struct finish_lane *lane, struct error *err)
{
    uint32_t first = lane->first, count = 0;
    int result = 0;
    if (lane->in_order) {
        for (uint32_t i = 0; i < lane->count && result == 0; i++) {
            result = resolve_block(worker, lane->blocks[i], first, err);
            first += lane->blocks[i]->info.count;
        }
        return result;
    }
    struct merge merge;
    uint32_t columns = SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END) |
                       SPAN_COLUMN_BIT(SPAN_COLUMN_ORDER);
    if (merge_init(&merge, lane->blocks, lane->count, columns) < 0)
        return error_set(err, -ENOMEM, "trace builder: out of memory");
    while ((result = merge_next(&merge, worker->rows, BLOCK_ROWS_MAX, &count, err)) == 0 && count) {
        for (uint32_t i = 0; i < count; i++) {
            const struct merge_source *source = &merge.sources[worker->rows[i].source];
            const uint32_t *order = source->decoded->column[SPAN_COLUMN_ORDER];
            uint32_t row = worker->rows[i].row;
            references_set(&worker->finish->references, source->block->info.first + (order ? order[row] : row), first++);
        }
    }
    merge_finish(&merge);
    return result;
}
