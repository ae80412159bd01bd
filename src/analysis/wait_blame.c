/* SPDX-License-Identifier: MIT */
/* Wait states summed by who waited in which call for what of whom. */
#include "wait_states.h"

#include "span_table.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>

#define COMPARE(left, right) (((left) > (right)) - ((left) < (right)))

static int by_who(const void *left, const void *right)
{
    const struct wait_blame *a = left, *b = right;
    int order = COMPARE(a->cause_lane.index, b->cause_lane.index);
    order = order ? order : COMPARE(a->cause.index, b->cause.index);
    order = order ? order : COMPARE(a->victim_lane.index, b->victim_lane.index);
    order = order ? order : COMPARE(a->victim.index, b->victim.index);
    return order ? order : COMPARE(a->pattern, b->pattern);
}

static int by_time(const void *left, const void *right)
{
    const struct wait_blame *a = left, *b = right;
    int order = COMPARE(b->time_ns, a->time_ns);
    return order ? order : by_who(left, right);
}

static int name_of(const struct trace *trace, span_id span, string_id *ret_name, struct error *err)
{
    uint32_t block, row;
    struct span_block rows;
    *ret_name = STRING_NONE;
    if (span.index == ID_NONE || !trace_span_find(trace, span, &block, &row))
        return 0;
    int result = trace_spans_get_columns(trace, block, SPAN_COLUMN_BIT(SPAN_COLUMN_NAME), &rows, err);
    if (result < 0)
        return result;
    *ret_name = rows.name ? rows.name[row] : STRING_NONE;
    trace_spans_put(trace, &rows);
    return 0;
}

static size_t sum_up(struct wait_blame *rows, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct wait_blame *last = kept ? &rows[kept - 1] : NULL;
        if (!last || by_who(last, &rows[i]) != 0) {
            rows[kept++] = rows[i];
            continue;
        }
        last->count++;
        last->time_ns += rows[i].time_ns;
        last->confidence = rows[i].confidence > last->confidence ? rows[i].confidence : last->confidence;
    }
    return kept;
}

int wait_states_blame(const struct wait_states *states, const struct trace *trace, struct wait_blame **ret_rows, size_t *ret_count,
                      struct error *err)
{
    CLEANUP(freep) struct wait_blame *rows = array_resize_exact(NULL, states->count + 1, sizeof *rows);
    if (!rows)
        return error_set(err, -ENOMEM, "wait states: out of memory");
    for (size_t i = 0; i < states->count; i++) {
        const struct wait_state *state = &states->states[i];
        rows[i] = (struct wait_blame){.cause_lane = state->cause_lane, .victim_lane = state->lane, .pattern = state->pattern,
                                      .confidence = state->confidence, .count = 1, .time_ns = state->time_ns};
        int result = name_of(trace, state->cause, &rows[i].cause, err);
        if (result == 0)
            result = name_of(trace, state->span, &rows[i].victim, err);
        if (result < 0)
            return result;
    }
    qsort(rows, states->count, sizeof *rows, by_who);
    *ret_count = sum_up(rows, states->count);
    qsort(rows, *ret_count, sizeof *rows, by_time);
    *ret_rows = TAKE_PTR(rows);
    return 0;
}
