/* SPDX-License-Identifier: MIT */
/* Critical paths as JSON and CSV, and the blame. */
#include "print_path.h"

#include "base/file.h"
#include "view/display_name.h"
#include "view/late_code.h"
#include "view/lane_label.h"
#include "view/units.h"

#include <inttypes.h>
#include <math.h>

static size_t limit(uint64_t top, size_t count)
{
    return top && top < count ? (size_t)top : count;
}

void json_composition(struct json *json, const struct path_rows *rows, int64_t whole_ns, uint64_t top)
{
    json_open(json, "composition", '[');
    for (size_t i = 0; i < limit(top, rows->count); i++) {
        const struct path_row *row = &rows->rows[i];
        json_open(json, NULL, '{');
        json_string(json, "category", row->category);
        json_string(json, "name", row->name);
        json_string(json, "kind", row->kind);
        json_string(json, "lane", row->lane);
        json_i64(json, "time_ns", row->time_ns);
        json_double(json, "percent", whole_ns > 0 ? 100.0 * (double)row->time_ns / (double)whole_ns : 0, 3);
        json_string(json, "confidence", row->explained ? confidence_name((enum confidence)row->confidence) : NULL);
        json_u64(json, "count", row->count);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_lane(struct json *json, const char *key, const struct trace *trace, track_id track)
{
    struct text lane = TEXT_INIT;
    text_add_lane_label(&lane, trace, track);
    json_string(json, key, lane.data);
    text_finish(&lane);
}

/* What hops are printed with: there can be millions. */
struct hop_texts {
    struct text name;
    struct text *lanes; /* labels by track, as they are asked for */
    uint32_t track_count;
};

static const char *lane_text(struct hop_texts *texts, const struct trace *trace, track_id track)
{
    if (track.index >= texts->track_count)
        return NULL;
    struct text *lane = &texts->lanes[track.index];
    if (!lane->data)
        text_add_lane_label(lane, trace, track);
    return lane->data;
}

/* Hops of a sequence that repeats have its number and the time of all repeats. */
static void json_hop(struct json *json, const struct path_report *report, const struct path_fold *fold, uint32_t at,
                     size_t sequence, struct hop_texts *texts)
{
    struct path_hop hop = path_fold_hop(report->hops, fold, at);
    const struct trace *trace = report->graph->trace;
    struct path_part part = path_hop_part(&hop);
    text_clear(&texts->name);
    path_part_name(trace, report->activities, &part, &texts->name);
    json_open(json, NULL, '{');
    json_i64(json, "begin_ns", hop.begin_ns);
    json_i64(json, "duration_ns", hop.duration_ns);
    json_i64(json, "descheduled_ns", hop.descheduled_ns);
    json_string(json, "lane", lane_text(texts, trace, hop.track));
    json_string(json, "name", texts->name.data);
    json_string(json, "category", path_part_category(trace, report->activities, &part));
    json_string(json, "kind", path_part_kind(report->activities, &part));
    json_string(json, "rule", part.state == PATH_EDGE ? edge_rule_name((enum edge_rule)part.rule) : NULL);
    bool explained = part.state != PATH_UNEXPLAINED && part.state != PATH_START &&
                     !(part.state == PATH_EDGE && part.rule == EDGE_RULE_LANE_START);
    json_string(json, "confidence", explained ? confidence_name((enum confidence)part.confidence) : NULL);
    if (hop.span.index != ID_NONE)
        json_u64(json, "span", hop.span.index);
    else
        json_null(json, "span");
    json_u64(json, "repeats", fold->repeats);
    if (fold->repeats > 1)
        json_u64(json, "sequence", sequence);
    else
        json_null(json, "sequence");
    json_close(json, '}');
}

enum { PRINTED_AT_ONCE = 1 << 20 };

/* Written as they come, so that the text of a long path never lies in memory as a whole. */
static void json_hops(struct json *json, const struct path_report *report, struct file_writer *writer)
{
    struct hop_texts texts = {.name = TEXT_INIT};
    trace_tracks(report->graph->trace, &texts.track_count);
    texts.lanes = calloc((size_t)texts.track_count + 1, sizeof *texts.lanes);
    json->out->failed |= !texts.lanes;
    json_open(json, "hops", '[');
    for (size_t f = 0; texts.lanes && f < report->hops->fold_count; f++) {
        for (uint32_t at = 0; at < report->hops->folds[f].period; at++)
            json_hop(json, report, &report->hops->folds[f], at, f, &texts);
        if (json->out->length < PRINTED_AT_ONCE || json->out->failed)
            continue;
        file_write(writer, json->out->data, json->out->length);
        text_clear(json->out);
    }
    json_close(json, ']');
    for (uint32_t i = 0; texts.lanes && i < texts.track_count; i++)
        text_finish(&texts.lanes[i]);
    free(texts.lanes);
    text_finish(&texts.name);
}

static void json_near(struct json *json, const struct path_report *report)
{
    const struct critical_path *path = report->path;
    const struct dependency_graph *graph = report->graph;
    json_open(json, "near_paths", '[');
    for (uint32_t i = 0; i < path->near_count; i++) {
        const struct near_path *near = &path->near_paths[i];
        uint32_t lane = graph->lane[near->from];
        json_open(json, NULL, '{');
        json_lane(json, "lane", graph->trace, lane != LANE_NONE ? graph->lanes[lane].track : TRACK_NONE);
        json_i64(json, "at_ns", graph->time_ns[near->point != POINT_NONE ? near->point : near->from]);
        json_string(json, "rule", near->edge != EDGE_NONE ? edge_rule_name(graph->edges[near->edge].rule) : NULL);
        json_i64(json, "slack_ns", near->slack_ns);
        json_i64(json, "bound_ns", near->bound_ns);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_u64(json, "near_paths_found", path->near_found);
}

static void json_imbalance(struct json *json, const struct path_report *report)
{
    const struct path_imbalance *imbalance = report->imbalance;
    json_open(json, "allocation", '{');
    json_u64(json, "threads", imbalance->threads);
    json_i64(json, "total_ns", imbalance->allocation_ns);
    json_i64(json, "critical_ns", imbalance->critical_ns);
    json_i64(json, "non_critical_ns", imbalance->non_critical_ns);
    json_i64(json, "unused_ns", imbalance->unused_ns);
    json_close(json, '}');
    json_open(json, "imbalance", '[');
    for (size_t i = 0; i < imbalance->count; i++) {
        const struct imbalance_row *row = &imbalance->rows[i];
        struct path_part part = {
            .activity = row->activity, .track = TRACK_NONE, .frame = FRAME_NONE, .state = PATH_WORK};
        struct text name = TEXT_INIT;
        path_part_name(report->graph->trace, report->activities, &part, &name);
        json_open(json, NULL, '{');
        json_string(json, "category", path_part_category(report->graph->trace, report->activities, &part));
        json_string(json, "name", name.data);
        json_string(json, "kind", path_part_kind(report->activities, &part));
        json_u64(json, "lanes", row->locations);
        json_i64(json, "path_ns", row->path_ns);
        json_i64(json, "total_ns", row->total_ns);
        json_i64(json, "average_ns", row->average_ns);
        json_i64(json, "imbalance_ns", row->imbalance_ns);
        json_close(json, '}');
        text_finish(&name);
    }
    json_close(json, ']');
}

static void json_slack(struct json *json, const struct path_report *report, uint64_t top)
{
    const struct trace *trace = report->graph->trace;
    json_open(json, "slack", '[');
    for (size_t i = 0; i < limit(top, report->slack->count); i++) {
        const struct slack_row *row = &report->slack->rows[i];
        struct path_part part = {
            .activity = row->activity, .track = row->track, .frame = FRAME_NONE, .state = PATH_WORK};
        struct text name = TEXT_INIT;
        path_part_name(trace, report->activities, &part, &name);
        json_open(json, NULL, '{');
        json_string(json, "category", path_part_category(trace, report->activities, &part));
        json_string(json, "name", name.data);
        json_string(json, "kind", path_part_kind(report->activities, &part));
        json_lane(json, "lane", trace, row->track);
        json_i64(json, "time_ns", row->time_ns);
        json_i64(json, "slack_ns", row->slack_ns);
        json_u64(json, "count", row->count);
        json_close(json, '}');
        text_finish(&name);
    }
    json_close(json, ']');
}

static void json_graph(struct json *json, const struct dependency_graph *graph)
{
    json_open(json, "graph", '{');
    json_u64(json, "points", graph->counts.points);
    json_u64(json, "edges", graph->counts.edges);
    json_u64(json, "below_medium", graph->counts.below_medium);
    json_u64(json, "backward", graph->counts.backward);
    json_i64(json, "largest_backward_ns", graph->counts.largest_backward_ns);
    json_u64(json, "cycles", graph->counts.cycles);
    json_u64(json, "unexplained", graph->counts.unexplained);
    json_i64(json, "unexplained_ns", graph->counts.unexplained_ns);
    json_close(json, '}');
    json_open(json, "edges", '[');
    for (int rule = 0; rule < EDGE_RULE_COUNT; rule++)
        for (int confidence = 0; confidence < CONFIDENCE_LOW; confidence++) {
            if (!graph->counts.by_rule[rule][confidence])
                continue;
            json_open(json, NULL, '{');
            json_string(json, "rule", edge_rule_name((enum edge_rule)rule));
            json_string(json, "confidence", confidence_name((enum confidence)confidence));
            json_u64(json, "count", graph->counts.by_rule[rule][confidence]);
            json_close(json, '}');
        }
    json_close(json, ']');
}

static void json_blame(struct json *json, const struct trace *trace, const struct path_blame *blame)
{
    json_open(json, "blame", '[');
    for (size_t i = 0; i < blame->count; i++) {
        const struct wait_blame *row = &blame->rows[i];
        json_open(json, NULL, '{');
        json_string(json, "cause", string_table_text(blame->texts, row->cause));
        json_lane(json, "cause_lane", trace, row->cause_lane);
        json_string(json, "function", string_table_text(blame->texts, row->function));
        json_double(json, "function_share", *string_table_text(blame->texts, row->function) ? row->function_share : (double)NAN, 4);
        json_u64(json, "samples", row->samples);
        json_double(json, "blocked_share", *string_table_text(blame->texts, row->cause) ? (double)NAN : row->blocked_share, 4);
        json_string(json, "victim", string_table_text(blame->texts, row->victim));
        json_lane(json, "victim_lane", trace, row->victim_lane);
        json_string(json, "pattern", wait_pattern_name((enum wait_pattern)row->pattern));
        json_i64(json, "time_ns", row->time_ns);
        json_u64(json, "count", row->count);
        json_string(json, "confidence", confidence_name((enum confidence)row->confidence));
        json_close(json, '}');
    }
    json_close(json, ']');
}

void print_path_json(const struct path_report *report, const struct path_blame *blame, uint64_t top, struct text *out,
                     struct file_writer *writer)
{
    const struct critical_path *path = report->path;
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_i64(&json, "makespan_ns", path->makespan_ns);
    json_i64(&json, "length_ns", path->length_ns);
    json_i64(&json, "length_low_ns", path->length_low_ns);
    json_i64(&json, "length_high_ns", path->length_high_ns);
    json_i64(&json, "explained_ns", path->explained_ns);
    json_open(&json, "confidence", '{');
    for (int confidence = 0; confidence < CONFIDENCE_LOW; confidence++)
        json_i64(&json, confidence_name((enum confidence)confidence), path->confidence_ns[confidence]);
    json_i64(&json, "unexplained", path->length_ns - path->explained_ns);
    json_close(&json, '}');
    json_string(&json, "least_confidence", confidence_name(path->least_confidence));
    json_string(&json, "by", path_dimension_name(report->by));
    json_composition(&json, report->rows, path->length_ns, top);
    json_hops(&json, report, writer);
    json_blame(&json, report->graph->trace, blame);
    json_near(&json, report);
    json_imbalance(&json, report);
    json_slack(&json, report, top);
    json_graph(&json, report->graph);
    json_close(&json, '}');
}

void print_path_csv(const struct path_rows *rows, int64_t whole_ns, uint64_t top, struct text *out)
{
    struct csv csv = {.out = out};
    text_add_string(out, "category,name,kind,lane,time_ns,percent,confidence,count\n");
    for (size_t i = 0; i < limit(top, rows->count); i++) {
        const struct path_row *row = &rows->rows[i];
        csv_text(&csv, row->category);
        csv_text(&csv, row->name);
        csv_text(&csv, row->kind);
        csv_text(&csv, row->lane);
        csv_i64(&csv, row->time_ns);
        csv_double(&csv, whole_ns > 0 ? 100.0 * (double)row->time_ns / (double)whole_ns : 0, 3);
        csv_text(&csv, row->explained ? confidence_name((enum confidence)row->confidence) : NULL);
        csv_u64(&csv, row->count);
        csv_end(&csv);
    }
}

static void blame_side(struct table *table, const struct trace *trace, const struct text *of, track_id lane)
{
    struct text text = TEXT_INIT;
    text_add_string(&text, of->data ? of->data : "");
    if (lane.index != ID_NONE) {
        text_add_string(&text, " @ ");
        text_add_lane_label(&text, trace, lane);
    }
    table_cell(table, text.data ? text.data : "");
    text_finish(&text);
}

static void blame_victim(struct table *table, const struct trace *trace, const struct path_blame *blame, const struct wait_blame *row)
{
    const char *name = string_table_text(blame->texts, row->victim);
    struct text of = TEXT_INIT;
    text_add_string(&of, *name ? name : "(nothing to do)");
    blame_side(table, trace, &of, row->victim_lane);
    text_finish(&of);
}

static void blame_cause(struct table *table, const struct trace *trace, const struct path_blame *blame, const struct wait_blame *row)
{
    const char *name = string_table_text(blame->texts, row->cause), *function = string_table_text(blame->texts, row->function);
    struct text of = TEXT_INIT;
    if (*name || row->cause_lane.index == ID_NONE) {
        text_add_string(&of, *name ? name : "(not known)");
    } else {
        text_add_late_code(&of, &(struct late_code){function, row->function_share, row->blocked_share, row->samples}, "(code)");
    }
    blame_side(table, trace, &of, row->cause_lane);
    text_finish(&of);
}

void print_path_blame(const struct trace *trace, const struct path_blame *blame, uint64_t top,
                      const struct text_look *look, struct text *out)
{
    const struct table_column columns[] = {
        {"time", ALIGN_RIGHT, SHRINK_NEVER, 0},      {"count", ALIGN_RIGHT, SHRINK_DROP, 0},
        {"pattern", ALIGN_LEFT, SHRINK_END, 10},     {"who waited", ALIGN_LEFT, SHRINK_MIDDLE, 14},
        {"for whom", ALIGN_LEFT, SHRINK_MIDDLE, 14},
    };
    CLEANUP(table_destroyp) struct table *table = NULL;
    size_t shown = limit(top, blame->count);
    if (!shown)
        return;
    const struct time_unit *unit = time_unit_for(blame->rows[0].time_ns);
    text_add_char(out, '\n');
    text_add_styled(out, look, STYLE_BOLD, "Who waited for whom");
    text_addf(out, " (%s)  ", unit->name);
    text_add_styled(out, look, STYLE_DIM, "in the whole run, on the path or not");
    text_add_char(out, '\n');
    if (table_create(columns, sizeof columns / sizeof *columns, &table) < 0) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < shown; i++) {
        const struct wait_blame *row = &blame->rows[i];
        char time[32], count[32];
        table_row(table);
        table_cell(table, format_in_unit(time, sizeof time, row->time_ns, unit));
        table_cell(table, format_count(count, sizeof count, row->count));
        table_cell(table, wait_pattern_name((enum wait_pattern)row->pattern));
        blame_victim(table, trace, blame, row);
        blame_cause(table, trace, blame, row);
    }
    table_draw(table, look, 2, out);
    if (shown < blame->count)
        text_addf(out, "  and %zu more rows (--top 0 shows all)\n", blame->count - shown);
}
