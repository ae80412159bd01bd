/* SPDX-License-Identifier: MIT */
/* Spans numbered by what they are. */
#include "activities.h"

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "base/parcel.h"
#include "base/progress.h"

#include <errno.h>

struct numbering {
    struct activities *activities;
    size_t capacity;
    struct map first, next; /* hash of what a row is to its number; number to the next one of the same hash */
};

static uint64_t activity_hash(const struct activity *activity)
{
    return hash_u64(((uint64_t)activity->name.index << 32 | activity->category.index) ^
                    hash_u64((uint64_t)activity->kind + 1));
}

static bool same(const struct activity *left, const struct activity *right)
{
    return left->name.index == right->name.index && left->category.index == right->category.index &&
           left->kind == right->kind;
}

static int find_or_add(struct numbering *numbering, const struct activity *activity, uint32_t *ret_number)
{
    struct activities *activities = numbering->activities;
    uint64_t hash = activity_hash(activity), number, newest = UINT64_MAX;
    for (bool found = map_get(&numbering->first, hash, &number); found;
         found = map_get(&numbering->next, number, &number)) {
        newest = newest == UINT64_MAX ? number : newest;
        if (same(&activities->rows[number], activity)) {
            *ret_number = (uint32_t)number;
            return 0;
        }
    }
    struct activity *rows =
        array_reserve(activities->rows, &numbering->capacity, (size_t)activities->count + 1, sizeof *rows);
    if (!rows)
        return -ENOMEM;
    activities->rows = rows;
    if (map_set(&numbering->first, hash, activities->count) < 0 ||
        (newest != UINT64_MAX && map_set(&numbering->next, activities->count, newest) < 0))
        return -ENOMEM;
    rows[activities->count] = *activity;
    *ret_number = activities->count++;
    return 0;
}

static int number_block(struct numbering *numbering, const struct span_block *block)
{
    struct activities *activities = numbering->activities;
    struct activity last = {.name = STRING_NONE, .category = STRING_NONE};
    uint32_t number = UINT32_MAX;
    for (uint32_t i = 0; i < block->info.count && block->info.first + i < activities->span_count; i++) {
        struct activity activity = {.name = block->name ? block->name[i] : STRING_NONE,
                                    .category = block->category ? block->category[i] : STRING_NONE,
                                    .kind = block->kind ? (enum span_kind)block->kind[i] : SPAN_KIND_UNKNOWN};
        if (number == UINT32_MAX || !same(&activity, &last)) {
            int result = find_or_add(numbering, &activity, &number);
            if (result < 0)
                return result;
            last = activity;
        }
        activities->of_span[block->info.first + i] = number;
    }
    return 0;
}

static int number_spans(struct numbering *numbering, const struct trace *trace, const struct progress *progress,
                        struct error *err)
{
    uint32_t columns =
        SPAN_COLUMN_BIT(SPAN_COLUMN_NAME) | SPAN_COLUMN_BIT(SPAN_COLUMN_CATEGORY) | SPAN_COLUMN_BIT(SPAN_COLUMN_KIND);
    uint32_t blocks = trace_block_count(trace, FAMILY_SPANS);
    for (uint32_t b = 0; b < blocks; b++) {
        struct span_block block;
        progress_update(progress, "naming activities", b, blocks);
        int result = trace_spans_scan(trace, b, columns, &block, err);
        if (result < 0)
            return result;
        result = number_block(numbering, &block);
        trace_spans_put(trace, &block);
        if (result < 0)
            return error_set(err, result, "out of memory while naming activities");
    }
    return 0;
}

int activities_create(const struct trace *trace, const struct progress *progress, struct activities **ret_activities,
                      struct error *err)
{
    CLEANUP(activities_destroyp) struct activities *activities = calloc(1, sizeof *activities);
    if (!activities)
        return error_set(err, -ENOMEM, "out of memory while naming activities");
    uint64_t span_count = trace_row_count(trace, FAMILY_SPANS);
    activities->span_count = span_count < UINT32_MAX ? (uint32_t)span_count : UINT32_MAX;
    activities->of_span = calloc((size_t)activities->span_count + 1, sizeof *activities->of_span);
    struct numbering numbering = {.activities = activities};
    map_init(&numbering.first);
    map_init(&numbering.next);
    struct activity none = {.name = STRING_NONE, .category = STRING_NONE, .kind = SPAN_KIND_COMPUTE};
    uint32_t number;
    int result = activities->of_span ? find_or_add(&numbering, &none, &number) : -ENOMEM;
    result = result < 0 ? error_set(err, result, "out of memory while naming activities")
                        : number_spans(&numbering, trace, progress, err);
    map_finish(&numbering.first);
    map_finish(&numbering.next);
    if (result == 0)
        *ret_activities = TAKE_PTR(activities);
    return result;
}

void activities_pack(const struct activities *activities, const struct trace *trace, struct parcel *parcel)
{
    parcel_put_u64(parcel, activities->count);
    for (uint32_t i = 0; i < activities->count; i++) {
        parcel_put_text(parcel, trace_text(trace, activities->rows[i].name));
        parcel_put_text(parcel, trace_text(trace, activities->rows[i].category));
        parcel_put_u64(parcel, activities->rows[i].kind);
    }
    parcel_put(parcel, activities->of_span, activities->span_count, sizeof *activities->of_span);
}

static int take_rows(struct numbering *numbering, struct parcel *piece, uint32_t *numbers, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        struct activity activity;
        const char *name = parcel_take_text(piece), *category = parcel_take_text(piece);
        activity.kind = (enum span_kind)parcel_take_u64(piece);
        if (piece->failed || string_table_intern_text(numbering->activities->own_texts, name, &activity.name) < 0 ||
            string_table_intern_text(numbering->activities->own_texts, category, &activity.category) < 0 ||
            find_or_add(numbering, &activity, &numbers[i]) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int join_piece(struct numbering *numbering, struct parcel *piece)
{
    struct activities *activities = numbering->activities;
    uint64_t row_count = parcel_take_u64(piece);
    CLEANUP(freep) uint32_t *numbers = row_count <= piece->size ? calloc(row_count + 1, sizeof *numbers) : NULL;
    if (!numbers || take_rows(numbering, piece, numbers, row_count) < 0)
        return -ENOMEM;
    size_t count;
    const uint32_t *of_span = parcel_take(piece, sizeof *of_span, &count);
    if (piece->failed || count > UINT32_MAX - activities->span_count)
        return -ENOMEM;
    uint32_t *grown = array_resize_exact(activities->of_span, activities->span_count + count + 1, sizeof *grown);
    if (!grown)
        return -ENOMEM;
    activities->of_span = grown;
    for (size_t i = 0; i < count; i++)
        grown[activities->span_count + i] = of_span[i] < row_count ? numbers[of_span[i]] : ACTIVITY_NONE;
    activities->span_count += (uint32_t)count;
    return 0;
}

int activities_join(struct parcel *pieces, size_t count, struct activities **ret_activities, struct error *err)
{
    CLEANUP(activities_destroyp) struct activities *activities = calloc(1, sizeof *activities);
    struct numbering numbering = {.activities = activities};
    const struct activity none = {.name = STRING_NONE, .category = STRING_NONE, .kind = SPAN_KIND_COMPUTE};
    uint32_t number;
    map_init(&numbering.first);
    map_init(&numbering.next);
    int result = activities ? string_table_create(&activities->own_texts) : -ENOMEM;
    if (result == 0)
        result = find_or_add(&numbering, &none, &number);
    for (size_t i = 0; i < count && result == 0; i++)
        result = join_piece(&numbering, &pieces[i]);
    map_finish(&numbering.first);
    map_finish(&numbering.next);
    if (result < 0)
        return error_set(err, result, "out of memory while naming activities");
    activities->texts = activities->own_texts;
    *ret_activities = TAKE_PTR(activities);
    return 0;
}

void activities_destroy(struct activities *activities)
{
    if (!activities)
        return;
    if (activities->own_texts)
        string_table_destroy(activities->own_texts);
    free(activities->rows);
    free(activities->of_span);
    free(activities);
}

bool span_kind_is_code(enum span_kind kind)
{
    switch (kind) {
    case SPAN_KIND_COMPUTE:
    case SPAN_KIND_IMPLICIT_TASK:
    case SPAN_KIND_LOOP:
    case SPAN_KIND_SECTIONS:
    case SPAN_KIND_SINGLE:
    case SPAN_KIND_TASK:
    case SPAN_KIND_CRITICAL:
    case SPAN_KIND_RANGE:
    case SPAN_KIND_ORDERED:
    case SPAN_KIND_MASKED:
    case SPAN_KIND_WORKSHARE: return true;
    default: return false;
    }
}
