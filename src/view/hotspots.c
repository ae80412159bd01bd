/* SPDX-License-Identifier: MIT */
/* Functions and spans with their sums. */
#include "hotspots.h"

#include "analysis/aggregate.h"
#include "analysis/calling_context.h"
#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "base/saturated.h"

#include <errno.h>
#include <string.h>

struct summing {
    const struct trace *trace;
    const struct hotspot_options *options;
    struct hotspots *hotspots;
    size_t capacity;
};

static struct hotspot *add_row(struct summing *summing, const struct hotspot *row)
{
    struct hotspots *hotspots = summing->hotspots;
    struct hotspot *rows = array_reserve(hotspots->rows, &summing->capacity, hotspots->count + 1, sizeof *rows);
    if (!rows)
        return NULL;
    hotspots->rows = rows;
    rows[hotspots->count] = *row;
    hotspots->group_count[row->group]++;
    return &rows[hotspots->count++];
}

static int add_spans(struct summing *summing, struct error *err)
{
    CLEANUP(freep) struct span_aggregate *rows = NULL;
    uint32_t count;
    int result = summing->options->has_window ? window_span_sums(summing->trace, summing->options, &rows, &count, err)
                                              : aggregate_spans(summing->trace, summing->options->where, NULL, &rows, &count, err);
    for (uint32_t i = 0; i < count && result == 0; i++) {
        struct hotspot row = {.group = rows[i].kind == SPAN_KIND_BLOCKED ? HOTSPOT_OFF_CPU : HOTSPOT_SPANS, .name = rows[i].name,
                              .category = rows[i].category, .module = MODULE_NONE, .kind = rows[i].kind, .count = rows[i].count,
                              .total_ns = rows[i].total_ns, .self_ns = rows[i].self_ns, .min_ns = rows[i].min_ns, .max_ns = rows[i].max_ns};
        if (!add_row(summing, &row))
            result = error_set(err, -ENOMEM, "out of memory for hotspots");
    }
    return result;
}

/* Whether the same function is further up: its total has these samples already. */
static bool is_recursion(const struct context_node *nodes, uint32_t node)
{
    for (uint32_t at = nodes[node].parent; at != ID_NONE; at = nodes[at].parent)
        if (string_is(nodes[at].function, nodes[node].function) && nodes[at].module.index == nodes[node].module.index)
            return true;
    return false;
}

static int add_node(struct summing *summing, struct map *known, const struct context_node *nodes, uint32_t node)
{
    const struct context_node *from = &nodes[node];
    uint64_t key = (uint64_t)from->function.index << 32 | from->module.index, index;
    if (!map_get(known, key, &index)) {
        struct hotspot row = {.group = HOTSPOT_SAMPLES, .name = from->function, .module = from->module};
        index = summing->hotspots->count;
        if (!add_row(summing, &row) || map_set(known, key, index) < 0)
            return -ENOMEM;
    }
    struct hotspot *row = &summing->hotspots->rows[index];
    add_saturated(&row->self_ns, from->self_weight);
    if (!is_recursion(nodes, node)) {
        add_saturated(&row->total_ns, from->total_weight);
        row->count += from->total_count;
    }
    return 0;
}

static int add_samples(struct summing *summing, struct error *err)
{
    const struct hotspot_options *from = summing->options;
    struct context_options options = {.own_frames = true, .where = from->where, .has_window = from->has_window, .window_begin_ns = from->begin_ns,
                                      .window_end_ns = from->end_ns};
    CLEANUP(calling_context_destroyp) struct calling_context *context = NULL;
    struct map known;
    int result = calling_context_create(summing->trace, &options, &context, err);
    if (result < 0)
        return result;
    map_init(&known);
    for (uint32_t i = 1; i < context->count && result == 0; i++)
        result = add_node(summing, &known, context->nodes, i);
    map_finish(&known);
    return result < 0 ? error_set(err, result, "out of memory for hotspots") : 0;
}

static int order(const void *left, const void *right)
{
    const struct hotspot *a = left, *b = right;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->self_ns != b->self_ns)
        return a->self_ns > b->self_ns ? -1 : 1;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return (a->name.index > b->name.index) - (a->name.index < b->name.index);
}

int hotspots_create(const struct trace *trace, const struct hotspot_options *options, struct hotspots **ret_hotspots, struct error *err)
{
    CLEANUP(hotspots_destroyp) struct hotspots *hotspots = calloc(1, sizeof *hotspots);
    struct summing summing = {.trace = trace, .options = options, .hotspots = hotspots};
    if (!hotspots)
        return error_set(err, -ENOMEM, "out of memory for hotspots");
    int result = add_samples(&summing, err);
    if (result == 0)
        result = add_spans(&summing, err);
    if (result < 0)
        return result;
    if (hotspots->count)
        qsort(hotspots->rows, hotspots->count, sizeof *hotspots->rows, order);
    for (size_t i = 0; i < hotspots->count; i++) {
        const struct hotspot *row = &hotspots->rows[i];
        add_saturated(&hotspots->self_ns[row->group], row->self_ns);
        if (row->total_ns > hotspots->largest_ns[row->group])
            hotspots->largest_ns[row->group] = row->total_ns;
    }
    *ret_hotspots = TAKE_PTR(hotspots);
    return 0;
}

void hotspots_destroy(struct hotspots *hotspots)
{
    if (!hotspots)
        return;
    free(hotspots->rows);
    free(hotspots);
}
