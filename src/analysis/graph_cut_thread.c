/* SPDX-License-Identifier: MIT */
/*
 * A host thread's spans, which nest, made into one row of points. Begins come in the order of the trace; ends, and the moments at which locks were
 * had and given back, wait in heaps until it is their turn; the scheduler's lane says when the thread was off its processor.
 */
#include "base/array.h"
#include "graph_cut.h"

#include <errno.h>

struct open_span {
    int64_t end_ns, from_ns; /* from: when waiting begins (CUT_GROUP) or ends (CUT_LOCK) */
    uint32_t span, class_of_wait;
    uint8_t class;
    bool parted;             /* CUT_FORK: the thread's own part of the region is over */
};
struct moment {
    int64_t time_ns;
    uint32_t span;
    uint8_t which;
};
struct off_cpu {
    int64_t begin_ns, end_ns;
    bool preempted;
};

struct cutter {
    struct cut_track *track;
    struct open_span *open;  /* a heap, soonest end first: nested spans' innermost is its top */
    size_t open_count, open_capacity;
    struct moment *moments;  /* a heap */
    size_t moment_count, moment_capacity;
    struct span_block block, sched;
    bool block_held, sched_held;
    uint32_t sched_block, sched_row; /* the next */
    struct off_cpu next_off; /* begin INT64_MAX: none left */
    int64_t off_until_ns;    /* INT64_MAX: on the processor */
    enum interval_kind off_kind;
};

static bool ends_sooner(const struct open_span *left, const struct open_span *right)
{
    return left->end_ns != right->end_ns ? left->end_ns < right->end_ns : left->span > right->span;
}

static void open_swap(struct open_span *left, struct open_span *right)
{
    const struct open_span kept = *left;
    *left = *right;
    *right = kept;
}

static int open_push(struct cutter *cutter, const struct open_span *fresh)
{
    struct open_span *open = array_reserve(cutter->open, &cutter->open_capacity, cutter->open_count + 1, sizeof *open);
    if (!open)
        return -ENOMEM;
    cutter->open = open;
    size_t at = cutter->open_count++;
    open[at] = *fresh;
    for (; at > 0 && ends_sooner(&open[at], &open[(at - 1) / 2]); at = (at - 1) / 2)
        open_swap(&open[at], &open[(at - 1) / 2]);
    return 0;
}

static void open_pop(struct cutter *cutter)
{
    struct open_span *open = cutter->open;
    open[0] = open[--cutter->open_count];
    for (size_t at = 0;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < cutter->open_count && ends_sooner(&open[child + 1], &open[child]))
            child++;
        if (child >= cutter->open_count || !ends_sooner(&open[child], &open[at]))
            return;
        open_swap(&open[at], &open[child]);
        at = child;
    }
}

/* Few wait at a time: a sorted row, the soonest last. */
static int moment_push(struct cutter *cutter, const struct moment *fresh)
{
    struct moment *moments = array_reserve(cutter->moments, &cutter->moment_capacity, cutter->moment_count + 1, sizeof *moments);
    if (!moments)
        return -ENOMEM;
    cutter->moments = moments;
    size_t at = cutter->moment_count++;
    for (; at > 0 && moments[at - 1].time_ns <= fresh->time_ns; at--)
        moments[at] = moments[at - 1];
    moments[at] = *fresh;
    return 0;
}

static bool waits(const struct open_span *span, int64_t until_ns)
{
    switch (span->class) {
    case CUT_WAIT:
    case CUT_TASKS:
        return true;
    case CUT_LOCK:
        return until_ns <= span->from_ns;
    case CUT_GROUP:
        return until_ns > span->from_ns;
    default:
        return false;
    }
}

/* What the lane did from its last point until this time; `begun`: kind of the span that begins there, SPAN_KIND_COUNT: none does. */
static enum interval_kind kind_until(const struct cutter *cutter, int64_t until_ns, unsigned begun)
{
    if (cutter->off_until_ns != INT64_MAX)
        return cutter->off_kind;
    if (cutter->open_count == 0 && cutter->track->unknown)
        return INTERVAL_WAIT;
    if (cutter->open_count == 0)
        return cutter->track->worker && begun == SPAN_KIND_IMPLICIT_TASK ? INTERVAL_IDLE : INTERVAL_WORK;
    const struct open_span *top = &cutter->open[0];
    if (!waits(top, until_ns))
        return INTERVAL_WORK;
    if (begun == SPAN_KIND_COUNT || begun == SPAN_KIND_TASK)
        return INTERVAL_WAIT;
    return INTERVAL_WORK; /* who calls something isn't blocked */
}

static int add_point(struct cutter *cutter, int64_t time_ns, enum interval_kind kind)
{
    const struct open_span *top = cutter->open_count ? &cutter->open[0] : NULL;
    return cut_add_point(cutter->track, time_ns, kind, top ? top->span : ID_NONE, top ? top->class_of_wait : 1);
}

static int end_span(struct cutter *cutter)
{
    const struct open_span top = cutter->open[0];
    struct graph_rules *rules = cutter->track->rules;
    enum interval_kind kind = kind_until(cutter, top.end_ns, SPAN_KIND_COUNT);
    if (top.class == CUT_FORK && top.parted && kind == INTERVAL_WORK)
        kind = INTERVAL_WAIT;
    int code = add_point(cutter, top.end_ns, kind);
    if (code)
        return code;
    rules->end_point[top.span] = (uint32_t)cutter->track->count - 1;
    cutter->off_until_ns = INT64_MAX;
    open_pop(cutter);
    if (rules->kind[top.span] == SPAN_KIND_IMPLICIT_TASK && cutter->open_count && cutter->open[0].class == CUT_FORK)
        cutter->open[0].parted = true;
    return 0;
}

static int come_to_moment(struct cutter *cutter)
{
    const struct moment moment = cutter->moments[--cutter->moment_count];
    struct cut_track *track = cutter->track;
    int code = add_point(cutter, moment.time_ns, kind_until(cutter, moment.time_ns, SPAN_KIND_COUNT));
    struct cut_extra *extras = array_reserve(track->extras, &track->extra_capacity, track->extra_count + 1, sizeof *extras);
    if (!extras)
        return -ENOMEM;
    track->extras = extras;
    extras[track->extra_count++] = (struct cut_extra){moment.span, (uint32_t)track->count - 1, moment.which};
    return code;
}

/* The next time off the processor, in the order of the scheduler's lane. */
static int next_off_cpu(struct cutter *cutter)
{
    struct cut_track *track = cutter->track;
    const struct trace *trace = track->rules->trace;
    if (cutter->sched_held && cutter->sched_row == cutter->sched.info.count) {
        trace_spans_put(trace, &cutter->sched);
        cutter->sched_held = false;
    }
    if (!cutter->sched_held) {
        cutter->next_off.begin_ns = INT64_MAX;
        if (cutter->sched_block == track->sched_block_count)
            return 0;
        const uint32_t columns = SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_NAME);
        int code = trace_spans_get_columns(trace, track->sched_first_block + cutter->sched_block++, columns, &cutter->sched, &track->err);
        if (code < 0)
            return code;
        cutter->sched_held = true;
        cutter->sched_row = 0;
    }
    uint32_t row = cutter->sched_row++;
    int64_t begin_ns = cutter->sched.begin_ns[row];
    cutter->next_off = (struct off_cpu){
        .begin_ns = begin_ns,
        .end_ns = trace_span_end(trace, track->sched, begin_ns, cutter->sched.end_ns[row]),
        .preempted = cutter->sched.name && string_is(cutter->sched.name[row], track->preempted),
    };
    return 0;
}

/* Off the processor within a wait is a part of it, within another call only preemption is none of its own. */
static int leave_cpu(struct cutter *cutter)
{
    const struct off_cpu off = cutter->next_off;
    bool counts;
    if (cutter->open_count == 0) {
        counts = !cutter->track->worker;
    } else {
        const struct open_span *top = &cutter->open[0];
        bool code = top->class == CUT_CODE || top->class == CUT_LOCK || top->class == CUT_GROUP; /* a fork is the runtime's own */
        counts = !waits(top, off.begin_ns + 1) && !top->parted && (code || off.preempted);
    }
    int code = next_off_cpu(cutter);
    if (!counts || code || off.end_ns <= off.begin_ns || cutter->track->count == 0)
        return code;
    code = add_point(cutter, off.begin_ns, INTERVAL_WORK);
    cutter->off_until_ns = off.end_ns;
    cutter->off_kind = off.preempted ? INTERVAL_DESCHEDULED : INTERVAL_WAIT;
    return code;
}

static int return_to_cpu(struct cutter *cutter)
{
    int code = cut_add_point(cutter->track, cutter->off_until_ns, cutter->off_kind,
                             cutter->open_count ? cutter->open[0].span : ID_NONE, 1);
    cutter->off_until_ns = INT64_MAX;
    return code;
}

/* Everything up to a time, in the order in which it happened. */
static int advance(struct cutter *cutter, int64_t until_ns)
{
    int code = 0;
    while (code == 0) {
        int64_t end_ns = cutter->open_count ? cutter->open[0].end_ns : INT64_MAX;
        int64_t moment_ns = cutter->moment_count ? cutter->moments[cutter->moment_count - 1].time_ns : INT64_MAX;
        int64_t off_ns = cutter->next_off.begin_ns, on_ns = cutter->off_until_ns;
        if (on_ns <= until_ns && on_ns != INT64_MAX && on_ns <= end_ns && on_ns <= moment_ns && on_ns <= off_ns)
            code = return_to_cpu(cutter);
        else if (moment_ns <= until_ns && moment_ns != INT64_MAX && moment_ns <= end_ns && moment_ns <= off_ns)
            code = come_to_moment(cutter);
        else if (end_ns <= until_ns && end_ns != INT64_MAX && end_ns <= off_ns)
            code = end_span(cutter);
        else if (off_ns < until_ns && off_ns != INT64_MAX)
            code = on_ns != INT64_MAX ? next_off_cpu(cutter) : leave_cpu(cutter);
        else
            break;
    }
    return code;
}

static int64_t later(int64_t time_ns, const struct payload *payload, unsigned field, int64_t limit_ns)
{
    int64_t sum;
    if (!(payload->present >> field & 1) || payload->fields[field].u64 > INT64_MAX ||
        __builtin_add_overflow(time_ns, (int64_t)payload->fields[field].u64, &sum))
        return time_ns;
    return sum < limit_ns ? sum : limit_ns;
}

/* When the lock was had, and when given back, if that is at no end of its span. */
static int open_lock(struct cutter *cutter, struct open_span *span, int64_t begin_ns, const struct payload *payload)
{
    const uint32_t both = 1u << FIELD_LOCK_wait_ns | 1u << FIELD_LOCK_held_ns;
    span->from_ns = begin_ns;
    if (payload->kind != PAYLOAD_LOCK)
        return 0;
    span->from_ns = later(begin_ns, payload, FIELD_LOCK_wait_ns, span->end_ns);
    int64_t released_ns = later(span->from_ns, payload, FIELD_LOCK_held_ns, INT64_MAX / 4);
    int code = 0;
    if (span->from_ns > begin_ns && span->from_ns < span->end_ns)
        code = moment_push(cutter, &(struct moment){span->from_ns, span->span, GRAPH_EXTRA_HAD});
    if (code == 0 && (payload->present & both) == both && released_ns != span->end_ns)
        code = moment_push(cutter, &(struct moment){released_ns, span->span, GRAPH_EXTRA_RELEASED});
    return code;
}

static int open_by_payload(struct cutter *cutter, struct open_span *span, uint32_t row, int64_t begin_ns)
{
    struct payload payload;
    int code = span_payload(&cutter->block, row, &payload);
    if (code < 0)
        payload = (struct payload){.kind = PAYLOAD_NONE}; /* damaged: says nothing */
    if (span->class == CUT_LOCK)
        return open_lock(cutter, span, begin_ns, &payload);
    if (span->class == CUT_GROUP) {
        bool known = payload.kind == PAYLOAD_BARRIER && payload.present >> FIELD_BARRIER_wait_start_ns & 1;
        span->from_ns = known ? later(begin_ns, &payload, FIELD_BARRIER_wait_start_ns, span->end_ns) : begin_ns;
        return span->from_ns > begin_ns ? moment_push(cutter, &(struct moment){span->from_ns, span->span, GRAPH_EXTRA_WAITS}) : 0;
    }
    bool blocks = payload.kind == PAYLOAD_API && payload.present >> FIELD_API_blocking & 1 && payload.fields[FIELD_API_blocking].u64 == 1;
    span->class = blocks ? CUT_WAIT : CUT_CALL;
    return 0;
}

static int begin_span(struct cutter *cutter, uint32_t row)
{
    struct cut_track *track = cutter->track;
    const struct span_block *block = &cutter->block;
    uint32_t id = block->info.first + row;
    int64_t begin_ns = block->begin_ns[row];
    string_id name = block->name ? block->name[row] : STRING_NONE;
    uint8_t kind = block->kind ? block->kind[row] : SPAN_KIND_UNKNOWN;
    struct open_span span = {
        .end_ns = trace_span_end(track->rules->trace, track->track, begin_ns, block->end_ns[row]),
        .span = id,
        .class_of_wait = cut_class_of_wait(track->text_numbers[name.index], kind),
        .class = (uint8_t)cut_class_of((enum span_kind)kind, track->names[name.index]),
    };
    int code = advance(cutter, begin_ns);
    if (code == 0)
        code = add_point(cutter, begin_ns, kind_until(cutter, begin_ns, kind));
    if (code)
        return code;
    cutter->off_until_ns = INT64_MAX; /* the thread is running */
    track->rules->kind[id] = kind;
    track->rules->begin_point[id] = (uint32_t)track->count - 1;
    if (span.class == CUT_LOCK || span.class == CUT_GROUP || span.class == CUT_PAYLOAD)
        code = open_by_payload(cutter, &span, row, begin_ns);
    return code ? code : open_push(cutter, &span);
}

static bool needs_payload(const struct span_block *block)
{
    for (uint32_t row = 0; block->kind && row < block->info.count; row++) {
        enum cut_class class = cut_class_of((enum span_kind)block->kind[row], 0);
        if (class == CUT_LOCK || class == CUT_GROUP || class == CUT_PAYLOAD)
            return true;
    }
    return false;
}

static int hold_block(struct cutter *cutter, uint32_t number)
{
    struct cut_track *track = cutter->track;
    const struct trace *trace = track->rules->trace;
    uint32_t columns = SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_NAME) |
                       SPAN_COLUMN_BIT(SPAN_COLUMN_KIND);
    int code = trace_spans_scan(trace, number, columns, &cutter->block, &track->err);
    if (code < 0 || !needs_payload(&cutter->block)) {
        cutter->block_held = code == 0;
        return code;
    }
    trace_spans_put(trace, &cutter->block);
    columns |= SPAN_COLUMN_BIT(SPAN_COLUMN_PAYLOAD_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_PAYLOAD);
    code = trace_spans_scan(trace, number, columns, &cutter->block, &track->err);
    cutter->block_held = code == 0;
    return code;
}

static int cut_block(struct cutter *cutter, uint32_t number)
{
    int code = hold_block(cutter, number);
    if (code < 0)
        return code;
    struct cut_track *track = cutter->track;
    if (track->count == 0 && track->start_ns != INT64_MIN) {
        int64_t first_ns = cutter->block.begin_ns[0];
        code = cut_add_point(track, track->start_ns < first_ns ? track->start_ns : first_ns, INTERVAL_WORK, ID_NONE, 1);
    }
    for (uint32_t row = 0; code == 0 && row < cutter->block.info.count; row++)
        code = begin_span(cutter, row);
    trace_spans_put(track->rules->trace, &cutter->block);
    cutter->block_held = false;
    return code;
}

/* To the last end; then, of a thread whose own life is told, to that. */
static int close_lane(struct cutter *cutter)
{
    struct cut_track *track = cutter->track;
    int code = track->count == 0 && track->start_ns != INT64_MIN ? cut_add_point(track, track->start_ns, INTERVAL_WORK, ID_NONE, 1) : 0;
    while (code == 0 && (cutter->open_count || cutter->moment_count))
        code = advance(cutter, cutter->open_count ? cutter->open[0].end_ns : cutter->moments[cutter->moment_count - 1].time_ns);
    if (code || track->end_ns == INT64_MIN || track->count == 0 || track->end_ns <= track->points[track->count - 1].time_ns)
        return code;
    code = advance(cutter, track->end_ns);
    return code ? code : add_point(cutter, track->end_ns, kind_until(cutter, track->end_ns, SPAN_KIND_COUNT));
}

int cut_thread(struct cut_track *track)
{
    struct cutter cutter = {.track = track, .off_until_ns = INT64_MAX};
    int code = next_off_cpu(&cutter);
    while (code == 0 && track->count == 0 && cutter.next_off.begin_ns != INT64_MAX && track->start_ns != INT64_MIN &&
           cutter.next_off.begin_ns < track->start_ns)
        code = next_off_cpu(&cutter); /* before its life as far as it is told */
    for (uint32_t i = 0; code == 0 && i < track->block_count; i++)
        code = cut_block(&cutter, track->first_block + i);
    if (code == 0)
        code = close_lane(&cutter);
    if (track->count)
        track->points[track->count - 1].last = true;
    if (cutter.block_held)
        trace_spans_put(track->rules->trace, &cutter.block);
    if (cutter.sched_held)
        trace_spans_put(track->rules->trace, &cutter.sched);
    free(cutter.open);
    free(cutter.moments);
    return code;
}
