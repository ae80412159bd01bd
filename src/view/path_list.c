/* SPDX-License-Identifier: MIT */
/* Rows of a critical path. */
#include "path_list.h"

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "display_name.h"
#include "lane_label.h"
#include "late_code.h"
#include "units.h"

#include <errno.h>
#include <string.h>

#define COMPOSITION_MAX 200
#define HOPS_MAX 2000
#define BLAME_MAX 100
#define NEAR_MAX 50

const struct grid_column path_list_columns[PATH_LIST_COLUMNS] = {
    [PATH_LIST_TIME] = {.title = "time", .width = 10, .right = true, .csv = "time_ns"},
    [PATH_LIST_PERCENT] = {.title = "%", .width = 5, .right = true, .csv = ""},
    [PATH_LIST_BAR] = {.title = "", .width = 8, .bar = true, .drop = 5},
    [PATH_LIST_COUNT] = {.title = "count", .width = 7, .right = true, .drop = 4, .csv = "count"},
    [PATH_LIST_PROOF] = {.title = "proof", .width = 11, .drop = 2, .csv = "proof"},
    [PATH_LIST_PATTERN] = {.title = "pattern", .width = 18, .drop = 6, .csv = "pattern"},
    [PATH_LIST_BEGIN] = {.title = "begin", .width = 10, .right = true, .drop = 3, .csv = "begin_ns"},
    [PATH_LIST_LANE] = {.title = "lane", .width = 22, .drop = 1, .csv = "lane"},
    [PATH_LIST_NAME] = {.title = "what", .width = 24, .csv = "what"},
};

struct filling {
    const struct trace *trace;
    const struct path_report *report;
    struct grid *grid;
    struct path_list *list;
    double whole_ns; /* what percents are of */
};

static struct path_target no_target(void)
{
    return (struct path_target){.kind = PATH_TARGET_NONE, .span = SPAN_NONE, .track = TRACK_NONE};
}

/* What a hop leads to: its span, else where it lies. */
static struct path_target target_of_hop(const struct path_hop *hop)
{
    struct path_target target = no_target();
    target.span = hop->span;
    target.track = hop->track;
    target.begin_ns = hop->begin_ns;
    target.end_ns = hop->begin_ns + hop->duration_ns;
    target.kind = hop->span.index != ID_NONE ? PATH_TARGET_SPAN : hop->track.index != ID_NONE ? PATH_TARGET_PLACE : PATH_TARGET_NONE;
    return target;
}

static struct grid_row *add_row(struct filling *filling, const struct path_target *target, int64_t time_ns, const char *name)
{
    struct path_list *list = filling->list;
    struct grid *grid = filling->grid;
    char text[32];
    struct path_target *targets = array_reserve(list->targets, &list->capacity, list->count + 1, sizeof *targets);
    if (targets)
        list->targets = targets;
    struct grid_row *row = targets ? grid_add(grid, list->count + 1, GRID_PLAIN) : NULL;
    if (!row) {
        grid->failed = true;
        return NULL;
    }
    targets[list->count++] = *target;
    grid_set(grid, PATH_LIST_TIME, (double)time_ns, format_duration(text, sizeof text, time_ns));
    grid_set(grid, PATH_LIST_PERCENT, (double)time_ns, format_percent(text, sizeof text, (double)time_ns, filling->whole_ns));
    grid_set(grid, PATH_LIST_BAR, filling->whole_ns > 0 ? (double)time_ns / filling->whole_ns : 0, "");
    grid_set(grid, PATH_LIST_NAME, 0, name);
    return row;
}

static void set_count(struct filling *filling, uint64_t count)
{
    char text[32];
    grid_set(filling->grid, PATH_LIST_COUNT, (double)count, format_count(text, sizeof text, count));
}

static void set_begin(struct filling *filling, int64_t begin_ns)
{
    char text[32];
    grid_set(filling->grid, PATH_LIST_BEGIN, (double)begin_ns, format_duration(text, sizeof text, begin_ns));
}

static void set_lane(struct filling *filling, track_id track)
{
    struct text label = TEXT_INIT;
    text_add_lane_label(&label, filling->trace, track);
    grid_set(filling->grid, PATH_LIST_LANE, 0, label.length ? label.data : "");
    filling->grid->failed |= label.failed;
    text_finish(&label);
}

static const char *proof_of(bool explained, uint8_t confidence)
{
    return explained ? confidence_name((enum confidence)confidence) : "unexplained";
}

/* --- parts ----------------------------------------------------------------------------------------------------------- */

static void add_line(struct filling *filling, const char *name, int64_t time_ns, const char *meaning)
{
    char text[32];
    if (grid_add(filling->grid, 0, GRID_FREE))
        grid_setf(filling->grid, 0, 0, "%-10s %10s  %s", name, format_duration(text, sizeof text, time_ns), meaning);
}

static void add_head(struct filling *filling)
{
    const struct critical_path *path = filling->report->path;
    char low[32], high[32], percent[16], text[120];
    grid_heading(filling->grid, "Critical path", "of the whole run");
    add_line(filling, "makespan", path->makespan_ns, "from the first begin to the last end recorded");
    add_line(filling, "length", path->length_ns, "the longest chain of dependent work and waits");
    if (path->length_low_ns != path->length_high_ns && grid_add(filling->grid, 0, GRID_FREE))
        grid_setf(filling->grid, 0, 0, "%23sas its lanes' clocks are known: %s to %s", "", format_duration(low, sizeof low, path->length_low_ns),
                  format_duration(high, sizeof high, path->length_high_ns));
    snprintf(text, sizeof text, "%s %% of it: work, and waits for something known",
             format_percent(percent, sizeof percent, (double)path->explained_ns, (double)path->length_ns));
    add_line(filling, "explained", path->explained_ns, text);
    filling->whole_ns = (double)path->length_ns;
}

static uint64_t row_key(uint32_t activity, track_id track, uint8_t state)
{
    return (uint64_t)activity << 32 | (uint64_t)(track.index & 0xffffff) << 8 | state;
}

/* Where the longest hop of a row lies: by activity, lane and state. */
static int find_longest_hops(const struct filling *filling, struct map *longest)
{
    const struct path_hops *hops = filling->report->hops;
    uint64_t known;
    for (size_t i = 0; i < hops->count; i++) {
        const struct path_hop *hop = &hops->hops[i];
        uint64_t key = row_key(hop->activity, hop->track, hop->state);
        if (map_get(longest, key, &known) && hops->hops[known].duration_ns >= hop->duration_ns)
            continue;
        if (map_set(longest, key, i) < 0)
            return -ENOMEM;
    }
    return 0;
}

static struct path_target target_of_row(const struct filling *filling, const struct map *longest, const struct path_row *row)
{
    uint32_t frame_count;
    uint64_t hop;
    const struct trace_frame *frames = trace_frames(filling->trace, &frame_count);
    struct path_target target = no_target();
    if (map_get(longest, row_key(row->part.activity, row->part.track, row->part.state), &hop))
        target = target_of_hop(&filling->report->hops->hops[hop]);
    bool by_samples = row->part.activity == ACTIVITY_NONE || row->part.by_samples;
    if (by_samples && row->part.frame.index < frame_count && frames[row->part.frame.index].function.index) {
        target.kind = PATH_TARGET_FUNCTION;
        target.name = frames[row->part.frame.index].function;
    }
    return target;
}

static int add_composition(struct filling *filling)
{
    const struct path_rows *rows = filling->report->rows;
    struct map longest;
    map_init(&longest);
    int result = find_longest_hops(filling, &longest);
    grid_heading(filling->grid, "Composition", "what was done on which lane; Enter: its longest stretch, or its function");
    for (size_t i = 0; result == 0 && i < rows->count && i < COMPOSITION_MAX; i++) {
        const struct path_row *row = &rows->rows[i];
        struct path_target target = target_of_row(filling, &longest, row);
        struct text name = TEXT_INIT;
        text_addf(&name, "%s%s", row->category, *row->category ? " " : "");
        text_add_string(&name, *row->name ? row->name : row->kind);
        struct grid_row *shown = add_row(filling, &target, row->time_ns, name.data ? name.data : "");
        set_count(filling, row->count);
        grid_set(filling->grid, PATH_LIST_PROOF, 0, proof_of(row->explained, row->confidence));
        grid_set(filling->grid, PATH_LIST_LANE, 0, row->lane);
        if (shown && !row->explained) {
            shown->style = GRID_WARN;
            grid_note(filling->grid, "unexplained: a wait or an idle time, and nothing that was recorded says what it was for");
        }
        filling->grid->failed |= name.failed;
        text_finish(&name);
    }
    map_finish(&longest);
    return result;
}

static void add_hop(struct filling *filling, const struct path_fold *fold, uint32_t at)
{
    struct path_hop hop = path_fold_hop(filling->report->hops, fold, at);
    struct path_part part = path_hop_part(&hop);
    struct path_target target = target_of_hop(&hop);
    struct text name = TEXT_INIT;
    bool unexplained = part.state == PATH_UNEXPLAINED || part.state == PATH_START;
    path_part_name(filling->trace, filling->report->activities, &part, &name);
    struct grid_row *row = add_row(filling, &target, hop.duration_ns, name.length ? name.data : path_state_name((enum path_state)hop.state));
    set_count(filling, fold->repeats);
    grid_set(filling->grid, PATH_LIST_PROOF, 0, proof_of(!unexplained, hop.confidence));
    set_begin(filling, hop.begin_ns);
    set_lane(filling, hop.track);
    if (part.state == PATH_EDGE)
        grid_note(filling->grid, edge_rule_text((enum edge_rule)part.rule));
    if (row)
        row->style = unexplained ? GRID_WARN : part.state == PATH_EDGE ? GRID_DIM : GRID_PLAIN;
    if (row)
        row->depth = fold->repeats > 1;
    filling->grid->failed |= name.failed;
    text_finish(&name);
}

static void add_hops(struct filling *filling)
{
    const struct path_hops *hops = filling->report->hops;
    size_t shown = 0, f = 0;
    filling->list->first_hop = filling->list->count + 1;
    grid_heading(filling->grid, "Hops", "in order of time; repeated sequences once, indented, with their count; Enter: on the timeline");
    for (; f < hops->fold_count && shown < HOPS_MAX; f++)
        for (uint32_t at = 0; at < hops->folds[f].period; at++, shown++)
            add_hop(filling, &hops->folds[f], at);
    if (f < hops->fold_count && grid_add(filling->grid, 0, GRID_FREE))
        grid_set(filling->grid, 0, 0, "there are more: `hprofiler critical-path --top 0` lists all");
}

/* What was waited for: a call, or the function that was sampled most in code outside of calls. */
static void add_cause(const struct filling *filling, const struct wait_blame *blame, struct text *out)
{
    const char *cause = trace_text(filling->trace, blame->cause), *function = trace_text(filling->trace, blame->function);
    if (*cause)
        text_add_string(out, cause);
    else
        text_add_late_code(out, &(struct late_code){function, blame->function_share, blame->blocked_share, blame->samples}, "code outside of calls");
}

/* "MPI_Recv of rank 1 main (101) waited for MPI_Send of rank 0 main (100)". Where nobody is to blame: why it
 * waited. */
static void add_blame_text(const struct filling *filling, const struct wait_blame *blame, struct text *out)
{
    const char *cause = trace_text(filling->trace, blame->cause), *victim = trace_text(filling->trace, blame->victim);
    if (*victim)
        text_addf(out, "%s of ", victim);
    text_add_lane_label(out, filling->trace, blame->victim_lane);
    if (!*cause && blame->cause_lane.index == ID_NONE) {
        text_addf(out, *victim ? " waited (%s); nobody is charged" : " had nothing to do (%s); nobody is charged",
                  wait_pattern_name((enum wait_pattern)blame->pattern));
        return;
    }
    text_add_string(out, *victim ? " waited for " : " had nothing to do until ");
    add_cause(filling, blame, out);
    if (blame->cause_lane.index == ID_NONE)
        return;
    text_add_string(out, " of ");
    text_add_lane_label(out, filling->trace, blame->cause_lane);
}

static void add_blame(struct filling *filling, const struct path_blame *blame)
{
    if (blame->count)
        grid_heading(filling->grid, "Blame", "waits of all lanes, on the path or not; Enter: the longest such call");
    for (size_t i = 0; i < blame->count && i < BLAME_MAX; i++) {
        const struct wait_blame *wait = &blame->rows[i];
        bool of_call = wait->victim.index != STRING_NONE.index;
        enum wait_pattern pattern = (enum wait_pattern)wait->pattern;
        struct path_target target = no_target();
        struct text name = TEXT_INIT, note = TEXT_INIT;
        target.name = of_call ? wait->victim : wait->cause;
        target.track = of_call ? wait->victim_lane : wait->cause_lane;
        target.kind = target.name.index != STRING_NONE.index && target.track.index != ID_NONE ? PATH_TARGET_LONGEST : PATH_TARGET_NONE;
        add_blame_text(filling, wait, &name);
        struct grid_row *row = add_row(filling, &target, wait->time_ns, name.data ? name.data : "");
        set_count(filling, wait->count);
        grid_set(filling->grid, PATH_LIST_PROOF, 0, confidence_name((enum confidence)wait->confidence));
        grid_set(filling->grid, PATH_LIST_PATTERN, 0, wait_pattern_name(pattern));
        text_addf(&note, "%s: %s. To remove it: %s.", wait_pattern_name(pattern), wait_pattern_text(pattern), wait_pattern_remedy(pattern));
        grid_note(filling->grid, note.data ? note.data : "");
        if (row)
            row->sentence = true;
        filling->grid->failed |= name.failed || note.failed;
        text_finish(&name);
        text_finish(&note);
    }
}

static void add_near(struct filling *filling)
{
    const struct critical_path *path = filling->report->path;
    const struct dependency_graph *graph = filling->report->graph;
    if (path->near_count)
        grid_heading(filling->grid, "Near paths", "ways that would be critical if they took so much longer; begin: where they come from");
    for (uint32_t i = 0; i < path->near_count && i < NEAR_MAX; i++) {
        const struct near_path *near = &path->near_paths[i];
        const struct graph_edge *edge = near->edge != EDGE_NONE ? &graph->edges[near->edge] : NULL;
        uint32_t lane = graph->lane[near->from];
        struct path_target target = no_target();
        target.span = graph->span[near->from];
        target.kind = target.span.index != ID_NONE ? PATH_TARGET_SPAN : PATH_TARGET_NONE;
        add_row(filling, &target, near->slack_ns, edge ? edge_rule_text(edge->rule) : "along its lane");
        grid_set(filling->grid, PATH_LIST_PROOF, 0, edge ? confidence_name(edge->confidence) : "certain");
        set_begin(filling, graph->time_ns[near->from]);
        set_lane(filling, lane != LANE_NONE ? graph->lanes[lane].track : TRACK_NONE);
    }
}

int path_list_fill(const struct trace *trace, const struct path_report *report, const struct path_blame *blame, struct grid *grid, struct path_list *list)
{
    struct filling filling = {.trace = trace, .report = report, .grid = grid, .list = list};
    add_head(&filling);
    if (add_composition(&filling) < 0)
        return -ENOMEM;
    add_blame(&filling, blame);
    add_near(&filling);
    add_hops(&filling);
    return grid->failed ? -ENOMEM : 0;
}

void path_list_finish(struct path_list *list)
{
    free(list->targets);
    *list = (struct path_list){0};
}

/* --- where a row leads ----------------------------------------------------------------------------------------------- */

uint64_t path_list_find(const struct path_list *list, const struct path_report *report, span_id span)
{
    const struct path_hops *hops = report->hops;
    uint64_t row = list->first_hop;
    for (size_t f = 0; f < hops->fold_count; row += hops->folds[f++].period) {
        const struct path_fold *fold = &hops->folds[f];
        for (uint64_t i = 0; i < (uint64_t)fold->period * fold->repeats; i++)
            if (hops->hops[fold->first + i].span.index == span.index)
                return row + i % fold->period <= list->count ? row + i % fold->period : 0;
    }
    return 0;
}

span_id path_list_longest(const struct trace *trace, string_id name, track_id track)
{
    span_id longest = SPAN_NONE;
    int64_t longest_ns = -1;
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_SPANS); i++) {
        struct block_info info = trace_block_info(trace, FAMILY_SPANS, i);
        struct span_block block;
        struct error err = ERROR_INIT;
        uint32_t columns = SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_NAME);
        if (info.track.index != track.index || trace_spans_scan(trace, i, columns, &block, &err) < 0)
            continue;
        for (uint32_t row = 0; block.name && row < info.count; row++) {
            int64_t time_ns = trace_span_end(trace, track, block.begin_ns[row], block.end_ns[row]) - block.begin_ns[row];
            if (!string_is(block.name[row], name) || time_ns <= longest_ns)
                continue;
            longest_ns = time_ns;
            longest = (span_id){info.first + row};
        }
        trace_spans_put(trace, &block);
    }
    return longest;
}
