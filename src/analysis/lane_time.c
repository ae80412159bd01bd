/* SPDX-License-Identifier: MIT */
/*
 * Cutting lanes into pieces. A span whose state changes within it (a critical section waits, then runs) gets a part of its own for the
 * waiting; spans and parts of one lane are then swept by a stack.
 */
#include "lane_time.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <string.h>

void backends_find(const struct trace *trace, struct backends *ret_backends)
{
    static const char *const devices[] = {"cuda", "opencl", "rocm"};
    const struct string_table *strings = trace_strings(trace);
    *ret_backends = (struct backends){0};
    string_table_find(strings, "mpi", 3, &ret_backends->mpi);
    string_table_find(strings, "openmp", 6, &ret_backends->openmp);
    string_table_find(strings, "nccl", 4, &ret_backends->nccl);
    for (unsigned i = 0; i < 3; i++)
        string_table_find(strings, devices[i], strlen(devices[i]), &ret_backends->devices[i]);
}

enum backend backend_of(const struct backends *backends, string_id category)
{
    if (string_is(category, STRING_NONE))
        return BACKEND_OTHER;
    if (string_is(category, backends->mpi))
        return BACKEND_MPI;
    if (string_is(category, backends->openmp))
        return BACKEND_OPENMP;
    if (string_is(category, backends->nccl))
        return BACKEND_NCCL;
    for (unsigned i = 0; i < 3; i++)
        if (string_is(category, backends->devices[i]))
            return BACKEND_DEVICE;
    return BACKEND_OTHER;
}

#define STATE_INHERITED 0xff

struct part {
    int64_t begin_ns, end_ns;
    uint32_t span;
    uint8_t state;
    bool within; /* of the span itself: lies inside it */
};

struct cutting {
    struct span_table *table;
    struct backends backends;
    struct lane_times *times;
    size_t capacity, count;
    struct part *parts, *inner, *stack; /* inner: those of the lane within spans, until they are merged into parts */
    size_t part_count, part_capacity, inner_count, inner_capacity, stack_capacity, depth;
    struct error *err;
};

static uint8_t openmp_state(uint8_t kind)
{
    switch (kind) {
    case SPAN_KIND_IMPLICIT_TASK:
    case SPAN_KIND_TASK:
    case SPAN_KIND_CRITICAL:
    case SPAN_KIND_ORDERED:
    case SPAN_KIND_TASKGROUP:
        return LANE_USEFUL;
    case SPAN_KIND_PARALLEL:
    case SPAN_KIND_BARRIER:
    case SPAN_KIND_TASKWAIT:
    case SPAN_KIND_REDUCTION:
    case SPAN_KIND_LOCK:
    case SPAN_KIND_TASK_CREATE:
        return LANE_OPENMP;
    case SPAN_KIND_TARGET:
    case SPAN_KIND_COPY:
    case SPAN_KIND_ALLOC:
    case SPAN_KIND_LAUNCH:
        return LANE_DEVICE;
    default:
        return STATE_INHERITED;
    }
}

static uint8_t state_of(const struct cutting *cutting, uint32_t span)
{
    uint8_t kind = cutting->table->kind[span];
    if (kind == SPAN_KIND_RANGE || kind == SPAN_KIND_COMPUTE)
        return STATE_INHERITED;
    switch (backend_of(&cutting->backends, cutting->table->category[span])) {
    case BACKEND_MPI: return LANE_MPI;
    case BACKEND_OPENMP: return openmp_state(kind);
    case BACKEND_DEVICE:
    case BACKEND_NCCL: return LANE_DEVICE;
    default: return STATE_INHERITED;
    }
}

static int part_add(struct part **parts, size_t *count, size_t *capacity, const struct part *part)
{
    struct part *grown = array_reserve(*parts, capacity, *count + 1, sizeof *grown);
    if (!grown)
        return -ENOMEM;
    *parts = grown;
    grown[(*count)++] = *part;
    return 0;
}

/* The waiting part of a span that is not all waiting. */
static int waiting_part(struct cutting *cutting, const struct part *whole, uint8_t kind)
{
    struct payload payload;
    uint64_t from_ns = 0, length_ns = 0;
    int result = span_table_payload(cutting->table, whole->span, &payload, cutting->err);
    if (result < 0)
        return result;
    if (payload.kind == PAYLOAD_LOCK && kind != SPAN_KIND_TASKGROUP)
        payload_field(&payload, FIELD_LOCK_wait_ns, &length_ns);
    else if (payload.kind == PAYLOAD_BARRIER && payload_field(&payload, FIELD_BARRIER_wait_start_ns, &from_ns))
        payload_field(&payload, FIELD_BARRIER_wait_ns, &length_ns);
    uint64_t whole_ns = (uint64_t)(whole->end_ns - whole->begin_ns);
    if (!length_ns || from_ns >= whole_ns)
        return 0;
    struct part part = *whole;
    part.begin_ns += (int64_t)from_ns;
    part.end_ns = length_ns < whole_ns - from_ns ? part.begin_ns + (int64_t)length_ns : whole->end_ns;
    part.state = LANE_OPENMP;
    part.within = true;
    return part_add(&cutting->inner, &cutting->inner_count, &cutting->inner_capacity, &part);
}

static int by_begin(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    int order = (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
    order = order ? order : (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns);
    order = order ? order : (a->span > b->span) - (a->span < b->span);
    return order ? order : a->within - b->within;
}

static void sort(struct part *parts, size_t count)
{
    size_t sorted = 1;
    while (sorted < count && by_begin(&parts[sorted - 1], &parts[sorted]) <= 0)
        sorted++;
    if (sorted < count)
        qsort(parts, count, sizeof *parts, by_begin);
}

/* Spans are in order as they are read, and so are nearly all parts within them: merging costs far less than sorting them together. */
static int merge_inner(struct cutting *cutting)
{
    size_t spans = cutting->part_count, inner = cutting->inner_count, place = spans + inner;
    if (!inner)
        return 0;
    struct part *parts = array_reserve(cutting->parts, &cutting->part_capacity, place, sizeof *parts);
    if (!parts)
        return -ENOMEM;
    cutting->parts = parts;
    cutting->part_count = place;
    sort(parts, spans);
    sort(cutting->inner, inner);
    while (inner) {
        bool span_last = spans && by_begin(&parts[spans - 1], &cutting->inner[inner - 1]) > 0;
        parts[--place] = span_last ? parts[--spans] : cutting->inner[--inner];
    }
    return 0;
}

static int piece_add(struct cutting *cutting, int64_t begin_ns, size_t first)
{
    struct lane_times *times = cutting->times;
    const struct part *top = cutting->depth ? &cutting->stack[cutting->depth - 1] : NULL;
    struct lane_piece fresh = {.begin_ns = begin_ns, .span = top ? top->span : ID_NONE, .state = top ? top->state : LANE_OUTSIDE};
    if (cutting->count > first && times->pieces[cutting->count - 1].begin_ns >= begin_ns) {
        times->pieces[cutting->count - 1] = fresh;
        return 0;
    }
    struct lane_piece *pieces = array_reserve(times->pieces, &cutting->capacity, cutting->count + 1, sizeof *pieces);
    if (!pieces)
        return -ENOMEM;
    times->pieces = pieces;
    pieces[cutting->count++] = fresh;
    return 0;
}

static int leave_until(struct cutting *cutting, int64_t time_ns, size_t first)
{
    int result = 0;
    while (result == 0 && cutting->depth && cutting->stack[cutting->depth - 1].end_ns <= time_ns) {
        int64_t end_ns = cutting->stack[--cutting->depth].end_ns;
        result = piece_add(cutting, end_ns, first);
    }
    return result;
}

static int sweep(struct cutting *cutting)
{
    size_t first = cutting->count;
    int result = merge_inner(cutting);
    for (size_t i = 0; i < cutting->part_count && result == 0; i++) {
        struct part part = cutting->parts[i];
        result = leave_until(cutting, part.begin_ns, first);
        const struct part *top = cutting->depth ? &cutting->stack[cutting->depth - 1] : NULL;
        if (part.state == STATE_INHERITED)
            part.state = top ? top->state : LANE_OUTSIDE;
        if (top && part.end_ns > top->end_ns)
            part.end_ns = top->end_ns;
        struct part *stack = array_reserve(cutting->stack, &cutting->stack_capacity, cutting->depth + 1, sizeof *stack);
        if (!stack)
            return -ENOMEM;
        cutting->stack = stack;
        stack[cutting->depth++] = part;
        if (result == 0)
            result = piece_add(cutting, part.begin_ns, first);
    }
    return result ? result : leave_until(cutting, INT64_MAX, first);
}

static int cut_lane(struct cutting *cutting, uint32_t track)
{
    const struct span_table *table = cutting->table;
    cutting->part_count = cutting->inner_count = 0;
    for (uint32_t span = table->track_first[track]; span < table->track_first[track + 1]; span++) {
        struct part part = {.begin_ns = table->begin_ns[span], .end_ns = table->end_ns[span], .span = span, .state = state_of(cutting, span)};
        uint8_t kind = table->kind[span];
        int result = part_add(&cutting->parts, &cutting->part_count, &cutting->part_capacity, &part);
        bool mixed = kind == SPAN_KIND_CRITICAL || kind == SPAN_KIND_ORDERED || kind == SPAN_KIND_TASKGROUP;
        if (result == 0 && mixed && part.state == LANE_USEFUL)
            result = waiting_part(cutting, &part, kind);
        if (result < 0)
            return result;
    }
    return cutting->part_count ? sweep(cutting) : 0;
}

int lane_times_create(struct span_table *table, struct lane_times **ret_times, struct error *err)
{
    CLEANUP(lane_times_destroyp) struct lane_times *times = calloc(1, sizeof *times);
    struct cutting cutting = {.table = table, .times = times, .err = err};
    if (!times || !(times->first = calloc(table->track_count + (size_t)1, sizeof *times->first)))
        return error_set(err, -ENOMEM, "threads' times: out of memory");
    backends_find(table->trace, &cutting.backends);
    times->track_count = table->track_count;
    int result = 0;
    for (uint32_t track = 0; track < table->track_count && result == 0; track++) {
        times->first[track] = cutting.count;
        if (table->tracks[track].kind == TRACK_KIND_THREAD)
            result = cut_lane(&cutting, track);
    }
    times->first[table->track_count] = cutting.count;
    free(cutting.parts);
    free(cutting.inner);
    free(cutting.stack);
    if (result == -ENOMEM)
        return error_set(err, -ENOMEM, "threads' times: out of memory");
    if (result < 0)
        return result;
    *ret_times = TAKE_PTR(times);
    return 0;
}

void lane_times_destroy(struct lane_times *times)
{
    if (!times)
        return;
    free(times->pieces);
    free(times->first);
    free(times);
}

bool lane_times_find(const struct lane_times *times, uint32_t track, int64_t time_ns, size_t *ret_piece)
{
    size_t low = times->first[track], high = times->first[track + 1], first = low;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (times->pieces[middle].begin_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == first)
        return false;
    *ret_piece = low - 1;
    return true;
}

int64_t lane_piece_end(const struct lane_times *times, uint32_t track, size_t piece, int64_t until_ns)
{
    if (piece + 1 >= times->first[track + 1] || times->pieces[piece + 1].begin_ns > until_ns)
        return until_ns;
    return times->pieces[piece + 1].begin_ns;
}
