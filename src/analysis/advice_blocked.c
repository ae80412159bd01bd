/* SPDX-License-Identifier: MIT */
/*
 * The main thread that used the CPU most, and how long it was off its processor while no other thread of its process had work: who waits for
 * its own threads (a join, a barrier) has nothing to change there. A thread that has no processor has work all the same. What it waited for in
 * calls of MPI and of devices, at OpenMP's barriers and for its locks, other rules look at.
 */
#include "advice_internal.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <string.h>

struct stretch {
    int64_t begin_ns, end_ns;
};

struct stretches {
    struct stretch *rows;
    size_t count, capacity;
};

struct looking {
    const struct advice_facts *facts;
    uint32_t process;
    int32_t tid; /* of its main thread */
    string_id blocked;
    struct stretches waits; /* of the main thread */
    struct stretches busy;  /* others had work; then traced calls, too */
    struct stretches off;   /* of the thread that is read */
};

static int add(struct stretches *list, int64_t begin_ns, int64_t end_ns)
{
    if (begin_ns >= end_ns)
        return 0;
    struct stretch *rows = array_reserve(list->rows, &list->capacity, list->count + 1, sizeof *rows);
    if (!rows)
        return -ENOMEM;
    list->rows = rows;
    rows[list->count++] = (struct stretch){begin_ns, end_ns};
    return 0;
}

static int by_begin(const void *left, const void *right)
{
    const struct stretch *a = left, *b = right;
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static void sort(struct stretches *list)
{
    if (list->count)
        qsort(list->rows, list->count, sizeof *list->rows, by_begin);
}

/* When a lane's thread waited; *ret_any: there is any record of it. */
static int read_lane(struct looking *looking, uint32_t lane, struct stretches *into, bool *ret_any, struct error *err)
{
    const struct trace *trace = looking->facts->trace;
    const uint32_t columns = SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_NAME);
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_SPANS); i++) {
        struct span_block block;
        if (trace_block_info(trace, FAMILY_SPANS, i).track.index != lane)
            continue;
        int result = trace_spans_scan(trace, i, columns, &block, err);
        if (result < 0)
            return result;
        *ret_any |= block.info.count > 0;
        for (uint32_t row = 0; row < block.info.count && result == 0; row++)
            if (block.name && string_is(block.name[row], looking->blocked))
                result = add(into, block.begin_ns[row], trace_span_end(trace, block.info.track, block.begin_ns[row], block.end_ns[row]));
        trace_spans_put(trace, &block);
        if (result < 0)
            return error_set(err, result, "advice: out of memory");
    }
    return 0;
}

/* Between its waits a thread had work; outside of its life, and of what is recorded of it where that is not known, it is not
 * said to be. */
static int add_busy(struct looking *looking, const struct trace_track *thread, struct error *err)
{
    struct stretches *off = &looking->off;
    int result = 0;
    sort(off);
    if (!off->count && thread->start_ns == INT64_MIN)
        return 0;
    int64_t at_ns = thread->start_ns != INT64_MIN ? thread->start_ns : off->rows[0].begin_ns;
    for (size_t i = 0; i < off->count && result == 0; i++) {
        result = add(&looking->busy, at_ns, off->rows[i].begin_ns);
        at_ns = off->rows[i].end_ns > at_ns ? off->rows[i].end_ns : at_ns;
    }
    if (result == 0 && thread->end_ns != INT64_MIN)
        result = add(&looking->busy, at_ns, thread->end_ns);
    return result < 0 ? error_set(err, result, "advice: out of memory") : 0;
}

static int read_lanes(struct looking *looking, struct error *err)
{
    const struct advice_facts *facts = looking->facts;
    int result = 0;
    for (uint32_t i = 0; i < facts->track_count && result == 0; i++) {
        const struct trace_track *track = &facts->tracks[i];
        if (track->kind != TRACK_KIND_SCHED || track->process.index != looking->process)
            continue;
        bool is_main = track->tid == looking->tid;
        bool any = false;
        looking->off.count = 0;
        result = read_lane(looking, i, is_main ? &looking->waits : &looking->off, &any, err);
        if (result == 0 && !is_main && any)
            result = add_busy(looking, track, err);
    }
    return result;
}

/* How much of the waits others were busy. */
static int64_t beside(struct looking *looking)
{
    int64_t sum_ns = 0;
    size_t first = 0;
    sort(&looking->waits);
    sort(&looking->busy);
    for (size_t i = 0; i < looking->waits.count; i++) {
        const struct stretch *wait = &looking->waits.rows[i];
        int64_t at_ns = wait->begin_ns;
        for (; first < looking->busy.count && looking->busy.rows[first].begin_ns < wait->end_ns; first++) {
            const struct stretch *busy = &looking->busy.rows[first];
            int64_t from_ns = busy->begin_ns > at_ns ? busy->begin_ns : at_ns;
            int64_t to_ns = busy->end_ns < wait->end_ns ? busy->end_ns : wait->end_ns;
            if (to_ns > from_ns) {
                sum_ns += to_ns - from_ns;
                at_ns = to_ns;
            }
            if (busy->end_ns > wait->end_ns)
                break; /* the next wait may lie in it, too */
        }
    }
    return sum_ns;
}

static bool is_looked_at_elsewhere(const struct backends *backends, string_id category, uint8_t kind)
{
    switch (backend_of(backends, category)) {
    case BACKEND_MPI:
    case BACKEND_DEVICE:
    case BACKEND_NCCL: return true;
    case BACKEND_OPENMP: return kind == SPAN_KIND_BARRIER || kind == SPAN_KIND_TASKWAIT || kind == SPAN_KIND_REDUCTION || kind == SPAN_KIND_LOCK;
    default: return false;
    }
}

/* A call that waited: of critical sections and the like, which wait first, how long they did. */
static int add_call(struct looking *looking, const struct span_block *block, uint32_t row)
{
    int64_t begin_ns = block->begin_ns[row], end_ns = trace_span_end(looking->facts->trace, block->info.track, begin_ns, block->end_ns[row]);
    uint8_t kind = block->kind[row];
    struct payload payload;
    uint64_t waited_ns = 0;
    if (is_looked_at_elsewhere(&looking->facts->backends, block->category[row], kind))
        return add(&looking->busy, begin_ns, end_ns);
    if ((kind != SPAN_KIND_CRITICAL && kind != SPAN_KIND_ORDERED) || span_payload(block, row, &payload) < 0 || payload.kind != PAYLOAD_LOCK ||
        !payload_field(&payload, FIELD_LOCK_wait_ns, &waited_ns))
        return 0;
    return add(&looking->busy, begin_ns, end_ns > begin_ns && waited_ns < (uint64_t)end_ns - (uint64_t)begin_ns ? begin_ns + (int64_t)waited_ns : end_ns);
}

static int read_calls(struct looking *looking, struct error *err)
{
    const struct advice_facts *facts = looking->facts;
    const uint32_t columns = SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_CATEGORY) |
                             SPAN_COLUMN_BIT(SPAN_COLUMN_KIND) | SPAN_COLUMN_BIT(SPAN_COLUMN_PAYLOAD_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_PAYLOAD);
    for (uint32_t i = 0; i < trace_block_count(facts->trace, FAMILY_SPANS); i++) {
        struct span_block block;
        if (trace_block_info(facts->trace, FAMILY_SPANS, i).track.index != facts->busiest_main.index)
            continue;
        int result = trace_spans_scan(facts->trace, i, columns, &block, err);
        if (result < 0)
            return result;
        for (uint32_t row = 0; row < block.info.count && result == 0 && block.category && block.kind; row++)
            result = add_call(looking, &block, row);
        trace_spans_put(facts->trace, &block);
        if (result < 0)
            return error_set(err, result, "advice: out of memory");
    }
    return 0;
}

static bool is_main_of(const struct advice_facts *facts, uint32_t track)
{
    uint32_t process = facts->tracks[track].process.index;
    return process < facts->process_count && facts->tracks[track].tid == facts->processes[process].pid;
}

/* Of the process that used the CPU most: others, as a launcher, have nothing else to do than wait. */
static bool choose(struct advice_facts *facts)
{
    int64_t cpu_ns = 0;
    for (uint32_t i = 0; i < facts->track_count; i++)
        if (facts->sums.time_ns[ADVICE_SUM_CPU][i] > cpu_ns && is_main_of(facts, i)) {
            facts->busiest_main = (track_id){i};
            cpu_ns = facts->sums.time_ns[ADVICE_SUM_CPU][i];
        }
    for (uint32_t i = 0; i < facts->track_count && cpu_ns; i++)
        if (facts->tracks[i].process.index == facts->tracks[facts->busiest_main.index].process.index)
            add_saturated(&facts->busiest_cpu_ns, facts->sums.time_ns[ADVICE_SUM_CPU][i]);
    return cpu_ns > 0;
}

int advice_read_blocked(struct advice_facts *facts, struct error *err)
{
    facts->busiest_main = TRACK_NONE;
    if (!facts->have[ADVICE_NEED_SWITCHES] || !choose(facts))
        return 0;
    const struct trace_track *main = &facts->tracks[facts->busiest_main.index];
    struct looking looking = {.facts = facts, .process = main->process.index, .tid = main->tid, .blocked = STRING_NONE};
    string_table_find(trace_strings(facts->trace), "blocked", strlen("blocked"), &looking.blocked);
    int result = read_lanes(&looking, err);
    if (result == 0)
        facts->beside_ns = beside(&looking);
    if (result == 0)
        result = read_calls(&looking, err);
    if (result == 0)
        facts->explained_ns = beside(&looking);
    free(looking.waits.rows);
    free(looking.busy.rows);
    free(looking.off.rows);
    return result;
}
