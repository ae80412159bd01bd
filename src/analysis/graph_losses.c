/* SPDX-License-Identifier: MIT */
/*
 * Where records are missing. The ledger says that some are, not where; but each posting of an MPI process has a number, and a gap
 * between two of them is a stretch of that process in which something else may be missing, too.
 */
#include "base/array.h"
#include "base/error.h"
#include "graph_rules.h"

#include <errno.h>
#include <string.h>

#define KIND(kind) (UINT64_C(1) << SPAN_KIND_##kind)
#define COMPARE(left, right) (((left) > (right)) - ((left) < (right)))

struct posting {
    uint32_t process;
    uint64_t order;
    int64_t begin_ns, end_ns;
};
struct postings {
    struct graph_rules *rules;
    struct posting *items;
    size_t count, capacity;
};

/* Samples and switches are no edges: only what collectors recorded counts. */
static bool has_lost_records(const struct trace *trace)
{
    static const char *const sources[] = {"runtime records", "records", "chunks", "spool blocks", "process files"};
    uint32_t count;
    const struct ledger_entry *ledger = trace_ledger(trace, &count);
    for (uint32_t i = 0; i < count; i++)
        for (size_t s = 0; s < sizeof sources / sizeof *sources && ledger[i].lost; s++)
            if (strcmp(trace_text(trace, ledger[i].source), sources[s]) == 0)
                return true;
    return false;
}

static int note_posting(void *context, const struct graph_row *row)
{
    struct postings *postings = context;
    struct payload payload;
    uint32_t count;
    if (span_payload(row->block, row->row, &payload) != 0 || payload.kind != PAYLOAD_MESSAGE || !(payload.present >> FIELD_MESSAGE_order & 1))
        return 0;
    struct posting *items = array_reserve(postings->items, &postings->capacity, postings->count + 1, sizeof *items);
    if (!items)
        return -ENOMEM;
    postings->items = items;
    items[postings->count++] = (struct posting){
        .process = trace_tracks(postings->rules->trace, &count)[row->block->info.track.index].process.index,
        .order = payload.fields[FIELD_MESSAGE_order].u64,
        .begin_ns = graph_rules_begin_ns(postings->rules, row->span),
        .end_ns = graph_rules_end_ns(postings->rules, row->span),
    };
    return 0;
}

static int by_order(const void *left, const void *right)
{
    const struct posting *a = left, *b = right;
    int order = COMPARE(a->process, b->process);
    order = order ? order : COMPARE(a->order, b->order);
    return order ? order : COMPARE(a->begin_ns, b->begin_ns);
}

static int add_loss(struct graph_rules *rules, uint32_t process, int64_t begin_ns, int64_t end_ns)
{
    struct graph_loss *losses = array_reserve(rules->losses, &rules->loss_capacity, rules->loss_count + 1, sizeof *losses);
    if (!losses)
        return -ENOMEM;
    rules->losses = losses;
    losses[rules->loss_count++] = (struct graph_loss){process, begin_ns, end_ns};
    return 0;
}

/* A process' numbers begin with 1 and have no gap. */
static int find_gaps(struct graph_rules *rules, const struct postings *postings)
{
    int code = 0;
    for (size_t i = 0; i < postings->count && code == 0; i++) {
        const struct posting *posting = &postings->items[i], *before = i ? posting - 1 : NULL;
        bool first = !before || before->process != posting->process;
        rules->numbered[posting->process] = true;
        if (posting->order > (first ? 1 : before->order + 1))
            code = add_loss(rules, posting->process, first ? INT64_MIN : before->end_ns, posting->begin_ns);
    }
    return code;
}

static int by_end(const void *left, const void *right)
{
    const struct graph_loss *a = left, *b = right;
    int order = COMPARE(a->process, b->process);
    return order ? order : COMPARE(a->end_ns, b->end_ns);
}

int graph_losses_find(struct graph_rules *rules, struct error *err)
{
    struct postings postings = {.rules = rules};
    rules->lost_anywhere = has_lost_records(rules->trace);
    if (!rules->lost_anywhere)
        return 0;
    int code = graph_rules_each_span(rules, KIND(SEND) | KIND(RECV) | KIND(PROBE) | KIND(INIT), true, note_posting, &postings, err);
    if (code == 0 && postings.count) {
        qsort(postings.items, postings.count, sizeof *postings.items, by_order);
        code = find_gaps(rules, &postings);
    }
    if (rules->loss_count)
        qsort(rules->losses, rules->loss_count, sizeof *rules->losses, by_end);
    free(postings.items);
    return code < 0 && !err->text[0] ? error_set_errno(err, code, "the dependency graph: losses") : code;
}
