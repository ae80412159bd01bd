/* SPDX-License-Identifier: MIT */
/* Wait states summed by who waited in which call for what of whom: rows found by a hash of all of that. */
#include "wait_internal.h"

#include "base/array.h"
#include "base/error.h"
#include "base/parcel.h"

#include <errno.h>
#include <string.h>

#define COMPARE(left, right) (((left) > (right)) - ((left) < (right)))

enum { SLOTS_AT_FIRST = 1024 };

static bool same(const struct wait_blame *left, const struct wait_blame *right)
{
    return left->cause_lane.index == right->cause_lane.index && left->cause.index == right->cause.index &&
           left->victim_lane.index == right->victim_lane.index && left->victim.index == right->victim.index && left->pattern == right->pattern;
}

static size_t first_slot(const struct wait_blame *row, size_t slot_count)
{
    uint64_t lanes = (uint64_t)row->cause_lane.index << 32 | row->victim_lane.index, names = (uint64_t)row->cause.index << 32 | row->victim.index;
    return (size_t)hash_u64(hash_u64(lanes) ^ names ^ (uint64_t)row->pattern << 56) & (slot_count - 1);
}

/* The slot of a row's number, or the free one where it belongs. */
static uint32_t *find_slot(const struct wait_blame_sum *sum, const struct wait_blame *row)
{
    size_t at = first_slot(row, sum->slot_count);
    while (sum->slots[at] != UINT32_MAX && !same(&sum->rows[sum->slots[at]], row))
        at = (at + 1) & (sum->slot_count - 1);
    return &sum->slots[at];
}

static int more_slots(struct wait_blame_sum *sum)
{
    size_t slot_count = sum->slot_count ? sum->slot_count * 2 : SLOTS_AT_FIRST;
    uint32_t *slots = array_resize_exact(NULL, slot_count, sizeof *slots);
    if (!slots)
        return -ENOMEM;
    memset(slots, 0xff, slot_count * sizeof *slots);
    free(sum->slots);
    sum->slots = slots;
    sum->slot_count = slot_count;
    for (size_t i = 0; i < sum->count; i++)
        *find_slot(sum, &sum->rows[i]) = (uint32_t)i;
    return 0;
}

/* What the late lane did while it was waited for. */
static int note_outside(struct wait_blame_sum *sum, const struct wait_state *state, uint32_t row)
{
    if (!sum->with_functions || state->cause.index != ID_NONE || state->cause_lane.index == ID_NONE)
        return 0;
    struct wait_outside *outside = array_reserve(sum->outside, &sum->outside_capacity, sum->outside_count + 1, sizeof *outside);
    if (!outside)
        return -ENOMEM;
    sum->outside = outside;
    outside[sum->outside_count++] = (struct wait_outside){.lane = state->cause_lane.index, .delay = row, .begin_ns = state->begin_ns,
                                                          .end_ns = state->begin_ns + state->time_ns};
    return 0;
}

int wait_blame_add(struct wait_blame_sum *sum, const struct wait_state *state, string_id cause, string_id victim)
{
    const struct wait_blame one = {.cause_lane = state->cause_lane, .cause = cause, .victim_lane = state->lane, .victim = victim,
                                   .function = STRING_NONE, .pattern = state->pattern, .confidence = state->confidence, .count = 1, .time_ns = state->time_ns};
    if (sum->count >= sum->slot_count / 2 && more_slots(sum) < 0)
        return -ENOMEM;
    uint32_t *slot = find_slot(sum, &one);
    if (*slot != UINT32_MAX) {
        struct wait_blame *row = &sum->rows[*slot];
        row->count++;
        add_saturated(&row->time_ns, one.time_ns);
        row->confidence = one.confidence > row->confidence ? one.confidence : row->confidence;
        return note_outside(sum, state, *slot);
    }
    struct wait_blame *rows = array_reserve(sum->rows, &sum->capacity, sum->count + 1, sizeof *rows);
    if (!rows)
        return -ENOMEM;
    sum->rows = rows;
    *slot = (uint32_t)sum->count;
    rows[sum->count++] = one;
    return note_outside(sum, state, *slot);
}

/* A row with the texts of its names, which have the same order wherever a trace was put together. */
struct sorting {
    struct wait_blame row;
    const char *cause, *victim;
};

static int by_time(const void *left, const void *right)
{
    const struct sorting *one = left, *other = right;
    const struct wait_blame *a = &one->row, *b = &other->row;
    int order = COMPARE(b->time_ns, a->time_ns);
    order = order ? order : COMPARE(a->cause_lane.index, b->cause_lane.index);
    order = order ? order : strcmp(one->cause, other->cause);
    order = order ? order : COMPARE(a->victim_lane.index, b->victim_lane.index);
    order = order ? order : strcmp(one->victim, other->victim);
    return order ? order : COMPARE(a->pattern, b->pattern);
}

static int sort(struct wait_blame *rows, size_t count, const struct string_table *texts)
{
    struct sorting *sorted = array_resize_exact(NULL, count, sizeof *sorted);
    if (!sorted)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        sorted[i] = (struct sorting){rows[i], string_table_text(texts, rows[i].cause), string_table_text(texts, rows[i].victim)};
    qsort(sorted, count, sizeof *sorted, by_time);
    for (size_t i = 0; i < count; i++)
        rows[i] = sorted[i].row;
    free(sorted);
    return 0;
}

int wait_blame_finish(struct wait_blame_sum *sum, const struct string_table *texts, struct wait_blame **ret_rows, size_t *ret_count)
{
    if (!sum->rows && !(sum->rows = calloc(1, sizeof *sum->rows)))
        return -ENOMEM;
    if (sum->count && sort(sum->rows, sum->count, texts) < 0)
        return -ENOMEM;
    *ret_count = sum->count;
    *ret_rows = TAKE_PTR(sum->rows);
    return 0;
}

void wait_blame_clear(struct wait_blame_sum *sum)
{
    free(sum->rows);
    free(sum->slots);
    free(sum->outside);
    *sum = (struct wait_blame_sum){0};
}

/* Names of all spans by id: states name spans of all lanes in turn. */
static int read_names(const struct trace *trace, uint32_t span_count, string_id *names, struct error *err)
{
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_SPANS); i++) {
        struct span_block block;
        int result = trace_spans_scan(trace, i, SPAN_COLUMN_BIT(SPAN_COLUMN_NAME), &block, err);
        if (result < 0)
            return result;
        for (uint32_t row = 0; block.name && row < block.info.count && block.info.first + row < span_count; row++)
            names[block.info.first + row] = block.name[row];
        trace_spans_put(trace, &block);
    }
    return 0;
}

int wait_states_blame(const struct wait_states *states, const struct trace *trace, struct wait_blame **ret_rows, size_t *ret_count,
                      struct error *err)
{
    uint32_t span_count = (uint32_t)trace_row_count(trace, FAMILY_SPANS);
    CLEANUP(freep) string_id *names = calloc((size_t)span_count + 1, sizeof *names);
    struct wait_blame_sum sum = {0};
    int result = names ? 0 : -ENOMEM, read = result == 0 ? read_names(trace, span_count, names, err) : 0;
    for (size_t i = 0; i < states->count && result == 0 && read == 0; i++) {
        const struct wait_state *state = &states->states[i];
        string_id cause = state->cause.index < span_count ? names[state->cause.index] : STRING_NONE;
        string_id victim = state->span.index < span_count ? names[state->span.index] : STRING_NONE;
        result = wait_blame_add(&sum, state, cause, victim);
    }
    if (result == 0 && read == 0)
        result = wait_blame_finish(&sum, trace_strings(trace), ret_rows, ret_count);
    wait_blame_clear(&sum);
    return result < 0 ? error_set(err, result, "wait states: out of memory") : read;
}

static int join_piece(struct wait_blame_sum *sum, struct parcel *piece, struct string_table *texts)
{
    uint64_t row_count = parcel_take_u64(piece);
    for (uint64_t i = 0; i < row_count && !piece->failed; i++) {
        size_t one;
        const struct wait_blame *row = parcel_take(piece, sizeof *row, &one);
        const char *cause = parcel_take_text(piece), *victim = parcel_take_text(piece),
                   *function = parcel_take_text(piece);
        struct wait_blame *rows = array_reserve(sum->rows, &sum->capacity, sum->count + 1, sizeof *rows);
        if (!rows)
            return -ENOMEM;
        sum->rows = rows;
        if (piece->failed || one != 1)
            break;
        rows[sum->count] = *row;
        if (string_table_intern_text(texts, cause, &rows[sum->count].cause) < 0 ||
            string_table_intern_text(texts, victim, &rows[sum->count].victim) < 0 ||
            string_table_intern_text(texts, function, &rows[sum->count].function) < 0)
            return -ENOMEM;
        sum->count++;
    }
    return piece->failed ? -ENOMEM : 0;
}

/* No two pieces have the same row: who waited is of one process, what for of one scope. */
int wait_blame_join(struct parcel *pieces, size_t count, struct wait_blame **ret_rows, size_t *ret_count, struct string_table **ret_texts,
                    struct error *err)
{
    struct wait_blame_sum sum = {0};
    struct string_table *texts = NULL;
    int result = string_table_create(&texts);
    for (size_t i = 0; i < count && result == 0; i++)
        result = join_piece(&sum, &pieces[i], texts);
    if (result == 0)
        result = wait_blame_finish(&sum, texts, ret_rows, ret_count);
    wait_blame_clear(&sum);
    if (result < 0 && texts)
        string_table_destroy(texts);
    if (result < 0)
        return error_set(err, result, "wait states: out of memory");
    *ret_texts = texts;
    return 0;
}
