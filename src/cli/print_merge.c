/* SPDX-License-Identifier: MIT */
/* One row a node; then what went between them, and whether it came in before it went out. */
#include "print_merge.h"

#include "view/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* --- text --------------------------------------------------------------------------------------------------------- */

static void add_node(const struct node_report *node, struct table *table)
{
    char begin[32], end[32], bound[32];
    bool reference = node->source == CLOCK_BY_BEING_REFERENCE;
    table_row(table);
    table_cell(table, node->name);
    table_cell(table, node->ranks.data ? node->ranks.data : "");
    table_cell(table, format_duration(begin, sizeof begin, node->begin_ns));
    table_cell(table, format_duration(end, sizeof end, node->end_ns));
    table_cellf(table, "%+.9f s", (double)node->offset_ns / 1e9);
    table_cellf(table, "%+.3f", node->drift_ppm);
    table_cell(table, reference ? "0" : node->bound_ns < 0 ? "unknown" : format_duration(bound, sizeof bound, node->bound_ns));
    table_cellf(table, "%s%s%s", clock_source_name(node->source), node->via ? " via " : "", node->via ? node->via : "");
}

static int add_nodes(const struct node_merge_report *report, const struct text_look *look, struct text *out)
{
    static const struct table_column columns[] = {
        {"node", ALIGN_LEFT, SHRINK_END, 8},         {"ranks", ALIGN_LEFT, SHRINK_END, 6},
        {"begin", ALIGN_RIGHT, SHRINK_DROP, 0},      {"end", ALIGN_RIGHT, SHRINK_DROP, 0},
        {"offset", ALIGN_RIGHT, SHRINK_NEVER, 0},    {"drift (ppm)", ALIGN_RIGHT, SHRINK_NEVER, 0},
        {"bound (+/-)", ALIGN_RIGHT, SHRINK_NEVER, 0}, {"clock by", ALIGN_LEFT, SHRINK_NEVER, 0}};
    CLEANUP(table_destroyp) struct table *table = NULL;
    if (table_create(columns, sizeof columns / sizeof *columns, &table) < 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < report->node_count; i++)
        add_node(&report->nodes[i], table);
    table_draw(table, look, 0, out);
    return 0;
}

static void add_exchanges(const struct node_merge_report *report, struct text *out)
{
    char messages[32], collectives[32], alone[32];
    text_addf(out, "\n%s messages and %s collectives joined across traces", format_count(messages, sizeof messages, report->messages),
              format_count(collectives, sizeof collectives, report->collectives));
    if (report->unmatched_ends)
        text_addf(out, "; %s sends and receives without their other half", format_count(alone, sizeof alone, report->unmatched_ends));
    if (report->incomplete_collectives)
        text_addf(out, "; %s collectives are incomplete", format_count(alone, sizeof alone, report->incomplete_collectives));
    text_add_string(out, ".\n");
}

static void add_violations(const struct causal_violations *found, const char *when, struct text *out)
{
    char effects[32], count[32], worst[32], beyond[32];
    text_addf(out, "%sof %s arrivals between clocks ", when, format_count(effects, sizeof effects, found->effects));
    if (!found->violations) {
        text_add_string(out, "none comes before what it needs.\n");
        return;
    }
    text_addf(out, "%s come%s before what %s, by up to %s", format_count(count, sizeof count, found->violations),
              found->violations == 1 ? "s" : "", found->violations == 1 ? "it needs" : "they need",
              format_duration(worst, sizeof worst, found->worst_ns));
    if (found->beyond_bound)
        text_addf(out, "; %s by more than the clocks' bounds", format_count(beyond, sizeof beyond, found->beyond_bound));
    text_add_string(out, ".\n");
}

static void add_causality(const struct node_merge_report *report, struct text *out)
{
    char moved[32], shift[32];
    if (report->settled_ns) {
        add_violations(&report->measured, "By the clocks as measured, ", out);
        text_addf(out, "Clocks were moved within their bounds, by up to %s.\n", format_duration(shift, sizeof shift, report->settled_ns));
    }
    add_violations(&report->before, report->repaired ? "Before the repair, " : "Causality: ", out);
    if (!report->repaired) {
        if (report->before.violations)
            text_add_string(out, "--repair-causality moves them.\n");
        return;
    }
    text_addf(out, "Moved: %s ends of messages and collectives, by up to %s.\n", format_count(moved, sizeof moved, report->moved_events),
              report->largest_shift_ns ? format_duration(shift, sizeof shift, report->largest_shift_ns) : "0");
    add_violations(&report->after, "After it, ", out);
}

/* --- programs ----------------------------------------------------------------------------------------------------- */

static void node_json(const struct node_report *node, struct json *json)
{
    json_open(json, NULL, '{');
    json_string(json, "name", node->name);
    json_string(json, "ranks", node->ranks.data);
    json_i64(json, "begin_ns", node->begin_ns);
    json_i64(json, "end_ns", node->end_ns);
    json_i64(json, "offset_ns", node->offset_ns);
    json_double(json, "drift_ppm", node->drift_ppm, 6);
    if (node->bound_ns < 0)
        json_null(json, "bound_ns");
    else
        json_i64(json, "bound_ns", node->bound_ns);
    json_string(json, "source", clock_source_name(node->source));
    json_string(json, "via", node->via);
    json_close(json, '}');
}

static void violations_json(const struct causal_violations *found, const char *key, struct json *json)
{
    json_open(json, key, '{');
    json_u64(json, "checked", found->effects);
    json_u64(json, "violations", found->violations);
    json_u64(json, "beyond_bound", found->beyond_bound);
    json_i64(json, "worst_ns", found->worst_ns);
    json_close(json, '}');
}

static void report_json(const struct node_merge_report *report, struct text *out)
{
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_open(&json, "nodes", '[');
    for (uint32_t i = 0; i < report->node_count; i++)
        node_json(&report->nodes[i], &json);
    json_close(&json, ']');
    json_u64(&json, "ranks", report->ranks);
    if (report->world_size)
        json_u64(&json, "world_size", report->world_size);
    else
        json_null(&json, "world_size");
    json_u64(&json, "messages", report->messages);
    json_u64(&json, "collectives", report->collectives);
    json_u64(&json, "unmatched_ends", report->unmatched_ends);
    json_u64(&json, "incomplete_collectives", report->incomplete_collectives);
    violations_json(&report->measured, "measured", &json);
    json_i64(&json, "settled_ns", report->settled_ns);
    violations_json(&report->before, "causality", &json);
    if (report->repaired) {
        violations_json(&report->after, "repaired", &json);
        json_u64(&json, "moved_events", report->moved_events);
        json_i64(&json, "largest_shift_ns", report->largest_shift_ns);
    }
    json_close(&json, '}');
}

static void report_csv(const struct node_merge_report *report, struct text *out)
{
    struct csv csv = {.out = out};
    text_add_string(out, "node,ranks,begin_ns,end_ns,offset_ns,drift_ppm,bound_ns,source,via\n");
    for (uint32_t i = 0; i < report->node_count; i++) {
        const struct node_report *node = &report->nodes[i];
        csv_text(&csv, node->name);
        csv_text(&csv, node->ranks.data);
        csv_i64(&csv, node->begin_ns);
        csv_i64(&csv, node->end_ns);
        csv_i64(&csv, node->offset_ns);
        csv_double(&csv, node->drift_ppm, 6);
        if (node->bound_ns < 0)
            csv_empty(&csv);
        else
            csv_i64(&csv, node->bound_ns);
        csv_text(&csv, clock_source_name(node->source));
        csv_text(&csv, node->via);
        csv_end(&csv);
    }
}

int print_merge(const struct node_merge_report *report, const struct invocation *invocation, struct error *err)
{
    struct text text = TEXT_INIT;
    if (invocation->format == OUTPUT_JSON) {
        report_json(report, &text);
    } else if (invocation->format == OUTPUT_CSV) {
        report_csv(report, &text);
    } else {
        text.failed |= add_nodes(report, &invocation->look, &text) < 0;
        add_exchanges(report, &text);
        add_causality(report, &text);
    }
    return output_text(invocation->out, &text, err);
}
