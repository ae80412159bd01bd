/* SPDX-License-Identifier: MIT */
/* Whether two traces are the same, row by row and by text (string ids may differ); says where they are not. */
#ifndef HP_TESTS_TRACE_COMPARE_H
#define HP_TESTS_TRACE_COMPARE_H

#include "base/error.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct comparison {
    const struct trace *left, *right;
    char difference[256];
};

#define SAME(what, equal)                                                                                              \
    do {                                                                                                               \
        if (!(equal)) {                                                                                                \
            snprintf(c->difference, sizeof(c->difference), "%s, row %u: %s", what, row, #equal);                       \
            return false;                                                                                              \
        }                                                                                                              \
    } while (0)

static bool same_text(const struct comparison *c, string_id left, string_id right)
{
    return strcmp(trace_text(c->left, left), trace_text(c->right, right)) == 0;
}

static bool compare_processes(struct comparison *c)
{
    uint32_t n, m, row = 0;
    const struct trace_process *a = trace_processes(c->left, &n), *b = trace_processes(c->right, &m);
    SAME("processes", n == m);
    for (; row < n; row++, a++, b++) {
        SAME("process", a->node.index == b->node.index && a->pid == b->pid && a->rank == b->rank);
        SAME("process", a->start_ns == b->start_ns && a->end_ns == b->end_ns);
        SAME("process", a->parent.index == b->parent.index && a->generation == b->generation);
        SAME("process", same_text(c, a->command, b->command) && same_text(c, a->executable, b->executable));
        SAME("process", a->exit_status == b->exit_status && a->attached == b->attached && same_text(c, a->reason, b->reason));
    }
    const struct trace_node *x = trace_nodes(c->left, &n), *y = trace_nodes(c->right, &m);
    row = 0;
    SAME("nodes", n == m);
    for (; row < n; row++)
        SAME("node", same_text(c, x[row].name, y[row].name) && same_text(c, x[row].clock_domain, y[row].clock_domain));
    return true;
}

static bool compare_tracks(struct comparison *c)
{
    uint32_t n, m, row = 0;
    const struct trace_track *a = trace_tracks(c->left, &n), *b = trace_tracks(c->right, &m);
    SAME("tracks", n == m);
    for (; row < n; row++, a++, b++) {
        SAME("track", a->kind == b->kind && same_text(c, a->name, b->name) && a->process.index == b->process.index);
        SAME("track", a->tid == b->tid && a->device == b->device && a->stream == b->stream && same_text(c, a->unit, b->unit));
        SAME("track", a->start_ns == b->start_ns && a->end_ns == b->end_ns);
    }
    return true;
}

static bool compare_stacks(struct comparison *c)
{
    uint32_t n, m, row = 0;
    const struct trace_module *a = trace_modules(c->left, &n), *b = trace_modules(c->right, &m);
    SAME("modules", n == m);
    for (; row < n; row++)
        SAME("module", same_text(c, a[row].path, b[row].path) && same_text(c, a[row].build_id, b[row].build_id) && a[row].flags == b[row].flags);
    const struct trace_frame *f = trace_frames(c->left, &n), *g = trace_frames(c->right, &m);
    row = 0;
    SAME("frames", n == m);
    for (; row < n; row++, f++, g++) {
        SAME("frame", same_text(c, f->function, g->function) && f->module.index == g->module.index);
        SAME("frame", same_text(c, f->file, g->file) && f->line == g->line && f->flags == g->flags && f->address == g->address);
    }
    const struct stack_node *s = trace_stacks(c->left, &n), *t = trace_stacks(c->right, &m);
    row = 0;
    SAME("stacks", n == m);
    for (; row < n; row++)
        SAME("stack", s[row].parent.index == t[row].parent.index && s[row].frame.index == t[row].frame.index);
    return true;
}

static bool compare_rest(struct comparison *c)
{
    uint32_t n, m, row = 0;
    const struct trace_group *a = trace_groups(c->left, &n), *b = trace_groups(c->right, &m);
    SAME("groups", n == m);
    for (; row < n; row++)
        SAME("group", a[row].kind == b[row].kind && same_text(c, a[row].name, b[row].name) && a[row].sequence == b[row].sequence);
    const struct ledger_entry *l = trace_ledger(c->left, &n), *r = trace_ledger(c->right, &m);
    row = 0;
    SAME("ledger", n == m);
    for (; row < n; row++) {
        SAME("ledger", same_text(c, l[row].source, r[row].source) && same_text(c, l[row].reason, r[row].reason));
        SAME("ledger", l[row].seen == r[row].seen && l[row].recorded == r[row].recorded && l[row].lost == r[row].lost);
    }
    row = 0;
    SAME("metadata", trace_metadata_count(c->left) == trace_metadata_count(c->right));
    for (; row < trace_metadata_count(c->left); row++) {
        const char *key, *value, *other_key, *other;
        trace_metadata_at(c->left, row, &key, &value);
        trace_metadata_at(c->right, row, &other_key, &other);
        SAME("metadata", strcmp(key, other_key) == 0 && strcmp(value, other) == 0);
    }
    return true;
}

static bool same_payload(const struct comparison *c, const struct payload *a, const struct payload *b)
{
    size_t count;
    if (a->kind != b->kind)
        return false;
    if (a->kind == PAYLOAD_JSON)
        return a->json_size == b->json_size && memcmp(a->json, b->json, a->json_size) == 0;
    const struct payload_field *fields = payload_fields(a->kind, &count);
    if (a->kind && a->present != b->present)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!(a->present >> i & 1))
            continue;
        bool equal = fields[i].type == PAYLOAD_TYPE_STRING ? same_text(c, a->fields[i].string, b->fields[i].string)
                                                           : memcmp(&a->fields[i], &b->fields[i], 8) == 0;
        if (!equal)
            return false;
    }
    return true;
}

#define COLUMN(block, column, row, absent) ((block).column ? (block).column[row] : (absent))

static bool compare_span_block(struct comparison *c, uint32_t index, struct error *err)
{
    struct span_block a, b;
    uint32_t row = 0;
    SAME("span block", trace_spans_get(c->left, index, &a, err) == 0 && trace_spans_get(c->right, index, &b, err) == 0);
    SAME("span block", a.info.count == b.info.count && a.info.track.index == b.info.track.index && a.info.first == b.info.first);
    for (; row < a.info.count; row++) {
        struct payload p, q;
        const string_id none = STRING_NONE;
        SAME("span", a.begin_ns[row] == b.begin_ns[row] && a.end_ns[row] == b.end_ns[row]);
        SAME("span", same_text(c, COLUMN(a, name, row, none), COLUMN(b, name, row, none)));
        SAME("span", same_text(c, COLUMN(a, category, row, none), COLUMN(b, category, row, none)));
        SAME("span", COLUMN(a, kind, row, 0) == COLUMN(b, kind, row, 0));
        SAME("span", COLUMN(a, parent, row, SPAN_NONE).index == COLUMN(b, parent, row, SPAN_NONE).index);
        SAME("span", COLUMN(a, correlation, row, 0) == COLUMN(b, correlation, row, 0));
        SAME("span", COLUMN(a, stack, row, STACK_NONE).index == COLUMN(b, stack, row, STACK_NONE).index);
        SAME("span", span_payload(&a, row, &p) == 0 && span_payload(&b, row, &q) == 0);
        SAME("span payload", same_payload(c, &p, &q));
    }
    trace_spans_put(c->left, &a);
    trace_spans_put(c->right, &b);
    return true;
}

static bool compare_sample_block(struct comparison *c, uint32_t index, struct error *err)
{
    struct sample_block a, b;
    uint32_t row = 0;
    SAME("sample block", trace_samples_get(c->left, index, &a, err) == 0 && trace_samples_get(c->right, index, &b, err) == 0);
    SAME("sample block", a.info.count == b.info.count && a.info.track.index == b.info.track.index);
    for (; row < a.info.count; row++) {
        SAME("sample", a.time_ns[row] == b.time_ns[row] && COLUMN(a, weight, row, 0) == COLUMN(b, weight, row, 0));
        SAME("sample", COLUMN(a, stack, row, STACK_NONE).index == COLUMN(b, stack, row, STACK_NONE).index);
        SAME("sample", COLUMN(a, cpu, row, UINT16_MAX) == COLUMN(b, cpu, row, UINT16_MAX));
        SAME("sample", COLUMN(a, event, row, 0) == COLUMN(b, event, row, 0) && COLUMN(a, flags, row, 0) == COLUMN(b, flags, row, 0));
    }
    trace_samples_put(c->left, &a);
    trace_samples_put(c->right, &b);
    return true;
}

static bool compare_point_block(struct comparison *c, enum family family, uint32_t index, struct error *err)
{
    uint32_t row = 0;
    if (family == FAMILY_INSTANTS) {
        struct instant_block a, b;
        SAME("instant block", trace_instants_get(c->left, index, &a, err) == 0 && trace_instants_get(c->right, index, &b, err) == 0);
        SAME("instant block", a.info.count == b.info.count && a.info.track.index == b.info.track.index);
        for (; row < a.info.count; row++) {
            struct payload p, q;
            const string_id none = STRING_NONE;
            SAME("instant", a.time_ns[row] == b.time_ns[row]);
            SAME("instant", same_text(c, COLUMN(a, name, row, none), COLUMN(b, name, row, none)));
            SAME("instant", same_text(c, COLUMN(a, category, row, none), COLUMN(b, category, row, none)));
            SAME("instant", instant_payload(&a, row, &p) == 0 && instant_payload(&b, row, &q) == 0 && same_payload(c, &p, &q));
        }
        trace_instants_put(c->left, &a);
        trace_instants_put(c->right, &b);
        return true;
    }
    struct counter_block a, b;
    SAME("counter block", trace_counters_get(c->left, index, &a, err) == 0 && trace_counters_get(c->right, index, &b, err) == 0);
    SAME("counter block", a.info.count == b.info.count && a.info.track.index == b.info.track.index);
    for (; row < a.info.count; row++)
        SAME("counter", a.time_ns[row] == b.time_ns[row] && memcmp(&a.value[row], &b.value[row], 8) == 0);
    trace_counters_put(c->left, &a);
    trace_counters_put(c->right, &b);
    return true;
}

static bool compare_pair_block(struct comparison *c, enum family family, uint32_t index, struct error *err)
{
    uint32_t row = 0;
    if (family == FAMILY_LINKS) {
        struct link_block a, b;
        SAME("link block", trace_links_get(c->left, index, &a, err) == 0 && trace_links_get(c->right, index, &b, err) == 0);
        SAME("link block", a.info.count == b.info.count);
        for (; row < a.info.count; row++) {
            SAME("link", a.from[row].index == b.from[row].index && a.to[row].index == b.to[row].index);
            SAME("link", COLUMN(a, kind, row, 0) == COLUMN(b, kind, row, 0) && COLUMN(a, confidence, row, 0) == COLUMN(b, confidence, row, 0));
        }
        trace_links_put(c->left, &a);
        trace_links_put(c->right, &b);
        return true;
    }
    struct member_block a, b;
    SAME("member block", trace_members_get(c->left, index, &a, err) == 0 && trace_members_get(c->right, index, &b, err) == 0);
    SAME("member block", a.info.count == b.info.count);
    for (; row < a.info.count; row++)
        SAME("member", a.group[row].index == b.group[row].index && a.span[row].index == b.span[row].index &&
                           COLUMN(a, rank, row, -1) == COLUMN(b, rank, row, -1));
    trace_members_put(c->left, &a);
    trace_members_put(c->right, &b);
    return true;
}

static bool compare_family(struct comparison *c, enum family family)
{
    struct error err = ERROR_INIT;
    uint32_t row = (uint32_t)family;
    SAME("family", trace_block_count(c->left, family) == trace_block_count(c->right, family));
    for (uint32_t i = 0; i < trace_block_count(c->left, family); i++) {
        bool same = family == FAMILY_SPANS     ? compare_span_block(c, i, &err)
                    : family == FAMILY_SAMPLES ? compare_sample_block(c, i, &err)
                    : family < FAMILY_LINKS    ? compare_point_block(c, family, i, &err)
                                               : compare_pair_block(c, family, i, &err);
        if (!same)
            return false;
    }
    return true;
}

/* "" when they are the same. */
static inline const char *trace_difference(struct comparison *c, const struct trace *left, const struct trace *right)
{
    *c = (struct comparison){.left = left, .right = right};
    bool same = compare_processes(c) && compare_tracks(c) && compare_stacks(c) && compare_rest(c);
    for (unsigned family = 0; family < FAMILY_COUNT && same; family++)
        same = compare_family(c, (enum family)family);
    return c->difference;
}

#endif
