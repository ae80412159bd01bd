/* SPDX-License-Identifier: MIT */
/* What all shares have to show, put together: lanes in their order, then joins; edges by destination; the path's stretches one behind the other. */
#include "path_shown.h"

#include "base/array.h"
#include "base/error.h"
#include "graph_frame_hold.h"
#include "path_shown_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct shown_share {
    const struct shown_head *head;
    const uint32_t *by_lane;
    const struct shown_point *points;
    const struct shown_node *nodes;
    const struct share_stretch *stretches;
    const struct path_step *steps;
    const struct shown_edge *edges;
    const struct shown_near *near;
    const struct slack_row *slack;
    const struct activity_sum *sums;
    size_t lane_count, point_count, node_count, stretch_count, step_count, edge_count, near_count, slack_count, sum_count;
    uint32_t first_point, first_join, first_edge; /* in what is put together */
};

struct putting {
    struct graph_frame *frame;
    struct graph_builder *builder;
    struct shown_share *shares;
    uint32_t share_count;
    uint32_t *numbers; /* by number in the whole: the node's point */
    uint32_t *edges;   /* as they were added to where they are */
    struct builder_share marks;
};

static int take_share(struct parcel *parcel, struct shown_share *share)
{
    size_t heads;
    share->head = parcel_take(parcel, sizeof *share->head, &heads);
    share->by_lane = parcel_take(parcel, sizeof *share->by_lane, &share->lane_count);
    share->points = parcel_take(parcel, sizeof *share->points, &share->point_count);
    share->nodes = parcel_take(parcel, sizeof *share->nodes, &share->node_count);
    share->stretches = parcel_take(parcel, sizeof *share->stretches, &share->stretch_count);
    share->steps = parcel_take(parcel, sizeof *share->steps, &share->step_count);
    share->edges = parcel_take(parcel, sizeof *share->edges, &share->edge_count);
    share->near = parcel_take(parcel, sizeof *share->near, &share->near_count);
    share->slack = parcel_take(parcel, sizeof *share->slack, &share->slack_count);
    share->sums = parcel_take(parcel, sizeof *share->sums, &share->sum_count);
    return parcel->failed || heads != 1 || share->head->lane_points > share->point_count ? -EBADMSG : 0;
}

/* --- the graph ---------------------------------------------------------------------------------------------------- */

static void fill_point(struct putting *putting, uint32_t point, const struct shown_point *of)
{
    putting->builder->columns.time_ns[point] = of->time_ns;
    putting->builder->columns.interval[point] = of->interval;
    putting->builder->columns.interval_weight_ns[point] = of->weight_ns;
    putting->builder->columns.span[point] = (span_id){of->span};
}

static int add_lanes(struct putting *putting, struct shown_share *share, uint32_t *lane)
{
    const struct dependency_graph *frame = putting->frame->share->graph;
    uint32_t number, at = 0;
    int code = 0;
    share->first_point = putting->builder->point_count;
    for (size_t l = 0; l < share->lane_count && code == 0; l++, (*lane)++) {
        if (*lane >= frame->lane_count || share->by_lane[l] > share->head->lane_points - at)
            return -EBADMSG;
        code = graph_builder_add_lane(putting->builder, frame->lanes[*lane].track, frame->lanes[*lane].clock_bound_ns, &number);
        for (uint32_t end = at + share->by_lane[l]; at < end && code == 0; at++) {
            code = graph_builder_add_point(putting->builder, share->points[at].time_ns, INTERVAL_WORK, SPAN_NONE, 0, &number);
            if (code == 0)
                fill_point(putting, number, &share->points[at]);
        }
    }
    return code;
}

static int add_joins(struct putting *putting, struct shown_share *share)
{
    uint32_t number;
    int code = 0;
    share->first_join = putting->builder->point_count;
    for (size_t p = share->head->lane_points; p < share->point_count && code == 0; p++) {
        code = graph_builder_add_join(putting->builder, &number);
        if (code == 0)
            fill_point(putting, number, &share->points[p]);
    }
    return code;
}

static uint32_t point_of(const struct shown_share *share, uint32_t point)
{
    return point < share->head->lane_points ? share->first_point + point : share->first_join + (point - share->head->lane_points);
}

static uint32_t place_in_whole(const struct putting *putting, const struct shown_share *share, struct shown_place place)
{
    if (place.point == UINT32_MAX)
        return POINT_NONE;
    if (!place.foreign)
        return point_of(share, place.point);
    return place.point < graph_frame_number_count(putting->frame) ? putting->numbers[place.point] : POINT_NONE;
}

static int number_nodes(struct putting *putting)
{
    uint32_t count = graph_frame_number_count(putting->frame);
    putting->numbers = array_resize_exact(NULL, count, sizeof *putting->numbers);
    if (!putting->numbers)
        return -ENOMEM;
    for (uint32_t n = 0; n < count; n++)
        putting->numbers[n] = POINT_NONE;
    for (uint32_t s = 0; s < putting->share_count; s++)
        for (size_t n = 0; n < putting->shares[s].node_count; n++)
            if (putting->shares[s].nodes[n].number < count)
                putting->numbers[putting->shares[s].nodes[n].number] = point_of(&putting->shares[s], putting->shares[s].nodes[n].point);
    return 0;
}

/* Sorting moves them: meanwhile each has its number for its class. */
static int add_edges(struct putting *putting)
{
    struct graph_builder *builder = putting->builder;
    int code = 0;
    for (uint32_t s = 0; s < putting->share_count && code == 0; s++) {
        struct shown_share *share = &putting->shares[s];
        share->first_edge = builder->pending_count;
        for (size_t e = 0; e < share->edge_count && code == 0; e++) {
            const struct shown_edge *edge = &share->edges[e];
            code = graph_builder_add_edge(builder, place_in_whole(putting, share, edge->from), point_of(share, edge->to), (enum edge_rule)edge->rule,
                                          (enum confidence)edge->confidence, builder->pending_count);
        }
    }
    uint32_t count = builder->pending_count;
    putting->edges = array_resize_exact(NULL, count, sizeof *putting->edges);
    if (code == 0 && !putting->edges)
        code = -ENOMEM;
    if (code == 0)
        code = graph_number_lanes(builder);
    if (code == 0)
        code = graph_sort_edges(builder);
    for (uint32_t e = 0; e < count && code == 0; e++)
        putting->edges[builder->columns.edges[e].weight_ns] = e;
    return code;
}

static void fill_edges(struct putting *putting)
{
    for (uint32_t s = 0; s < putting->share_count; s++) {
        const struct shown_share *share = &putting->shares[s];
        for (size_t e = 0; e < share->edge_count; e++) {
            struct graph_edge *edge = &putting->builder->columns.edges[putting->edges[share->first_edge + e]];
            edge->weight_ns = share->edges[e].weight_ns;
            edge->bound = share->edges[e].bound;
        }
    }
}

static void sum_counts(const struct putting *putting, struct graph_counts *sum)
{
    *sum = (struct graph_counts){.points = putting->frame->counts.points};
    for (uint32_t s = 0; s < putting->share_count; s++) {
        const struct graph_counts *counts = &putting->shares[s].head->counts;
        sum->edges += counts->edges;
        sum->below_medium += counts->below_medium;
        sum->backward += counts->backward;
        sum->cycles += counts->cycles;
        sum->unexplained += counts->unexplained;
        sum->unexplained_ns += counts->unexplained_ns;
        if (counts->largest_backward_ns > sum->largest_backward_ns)
            sum->largest_backward_ns = counts->largest_backward_ns;
        for (size_t rule = 0; rule < EDGE_RULE_COUNT; rule++)
            for (size_t confidence = 0; confidence < CONFIDENCE_COUNT; confidence++)
                sum->by_rule[rule][confidence] += counts->by_rule[rule][confidence];
    }
}

static int make_graph(struct putting *putting, const struct trace *trace, struct dependency_graph **ret_graph)
{
    uint32_t lane = 0;
    int code = graph_builder_create(trace, &putting->builder);
    for (uint32_t s = 0; s < putting->share_count && code == 0; s++)
        code = add_lanes(putting, &putting->shares[s], &lane);
    for (uint32_t s = 0; s < putting->share_count && code == 0; s++)
        code = add_joins(putting, &putting->shares[s]);
    if (code == 0)
        code = number_nodes(putting);
    if (code == 0)
        code = add_edges(putting);
    if (code < 0)
        return code;
    struct graph_builder *builder = putting->builder;
    fill_edges(putting);
    graph_find_clocks(builder);
    putting->marks = (struct builder_share){.begin_ns = putting->frame->begin_ns, .end_ns = putting->frame->end_ns};
    builder->share = &putting->marks;
    builder->join_lane = calloc((size_t)(builder->point_count - builder->lane_point_count) + 1, sizeof *builder->join_lane); /* their times are known */
    code = builder->join_lane ? graph_find_preempted(builder, NULL) : -ENOMEM;
    code = code == 0 ? graph_builder_hand_over(builder, ret_graph) : code;
    if (code == 0)
        sum_counts(putting, &(*ret_graph)->counts);
    return code;
}

/* --- the path ----------------------------------------------------------------------------------------------------- */

static uint32_t edge_of(const struct putting *putting, const struct shown_share *share, uint32_t edge)
{
    return edge < share->edge_count ? putting->edges[share->first_edge + edge] : EDGE_NONE;
}

struct stretch_place {
    const struct shown_share *share;
    const struct share_stretch *stretch;
};

static int from_begin(const void *left, const void *right)
{
    uint32_t a = ((const struct stretch_place *)left)->stretch->place, b = ((const struct stretch_place *)right)->stretch->place;
    return (a < b) - (a > b);
}

static int make_steps(const struct putting *putting, struct critical_path *path)
{
    size_t stretches = 0, steps = 0, count = 0;
    for (uint32_t s = 0; s < putting->share_count; s++) {
        stretches += putting->shares[s].stretch_count;
        steps += putting->shares[s].step_count;
    }
    CLEANUP(freep) struct stretch_place *places = array_resize_exact(NULL, stretches, sizeof *places);
    struct path_step *all = array_resize_exact(NULL, steps, sizeof *all);
    path->steps = all;
    if (!places || !all || steps > UINT32_MAX)
        return -ENOMEM;
    for (uint32_t s = 0; s < putting->share_count; s++)
        for (size_t i = 0; i < putting->shares[s].stretch_count; i++)
            places[count++] = (struct stretch_place){&putting->shares[s], &putting->shares[s].stretches[i]};
    if (count)
        qsort(places, count, sizeof *places, from_begin);
    for (size_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < places[i].stretch->count && path->step_count < steps; k++) {
            const struct path_step *step = &places[i].share->steps[places[i].stretch->first + k];
            all[path->step_count++] = (struct path_step){point_of(places[i].share, step->point), edge_of(putting, places[i].share, step->edge)};
        }
    return 0;
}

static int by_slack(const void *left, const void *right)
{
    const struct near_path *a = left, *b = right;
    if (a->slack_ns != b->slack_ns)
        return a->slack_ns < b->slack_ns ? -1 : 1;
    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    return (a->edge > b->edge) - (a->edge < b->edge); /* beside one step edges come in their order, then the lane */
}

static int make_near(const struct putting *putting, struct critical_path *path)
{
    size_t count = 0;
    for (uint32_t s = 0; s < putting->share_count; s++)
        count += putting->shares[s].near_count;
    struct near_path *all = array_resize_exact(NULL, count, sizeof *all);
    path->near_paths = all;
    if (!all)
        return -ENOMEM;
    count = 0;
    for (uint32_t s = 0; s < putting->share_count; s++) {
        const struct shown_share *share = &putting->shares[s];
        path->near_found += share->head->near_found;
        for (size_t n = 0; n < share->near_count; n++) {
            const struct shown_near *near = &share->near[n];
            all[count++] = (struct near_path){.from = place_in_whole(putting, share, near->from),
                                              .point = near->point == POINT_NONE ? POINT_NONE : point_of(share, near->point),
                                              .edge = edge_of(putting, share, near->edge),
                                              .slack_ns = near->slack_ns,
                                              .bound_ns = near->bound_ns,
                                              .order = near->order};
        }
    }
    if (count)
        qsort(all, count, sizeof *all, by_slack);
    path->near_count = (uint32_t)(count < NEAR_PATHS_MAX ? count : NEAR_PATHS_MAX);
    return 0;
}

static int make_path(const struct putting *putting, const struct path_whole *whole, struct shown_path *shown)
{
    struct critical_path *path = shown->path = calloc(1, sizeof *path);
    if (!path)
        return -ENOMEM;
    path->graph = shown->graph;
    path->measured_ns = shown->graph->time_ns;
    path->makespan_ns = shown->graph->end_ns - shown->graph->begin_ns;
    int code = make_steps(putting, path);
    if (code == 0)
        code = make_near(putting, path);
    if (code < 0 || !path_whole_length(whole, &path->length_ns, &path->explained_ns, &path->least_confidence) || !path->step_count)
        return code;
    path->start_ns = shown->graph->time_ns[path->steps[0].point] - shown->graph->begin_ns;
    critical_path_sum_up(path);
    return 0;
}

/* --- sums --------------------------------------------------------------------------------------------------------- */

static int take_sums(const struct putting *putting, struct shown_path *shown)
{
    size_t rows = 0, sums = 0;
    for (uint32_t s = 0; s < putting->share_count; s++) {
        rows += putting->shares[s].slack_count;
        sums += putting->shares[s].sum_count;
    }
    shown->slack = array_resize_exact(NULL, rows, sizeof *shown->slack);
    shown->sums.items = array_resize_exact(NULL, sums, sizeof *shown->sums.items);
    if (!shown->slack || !shown->sums.items)
        return -ENOMEM;
    for (uint32_t s = 0; s < putting->share_count; s++) {
        const struct shown_share *share = &putting->shares[s];
        for (size_t r = 0; r < share->slack_count; r++)
            shown->slack[shown->slack_count++] = share->slack[r];
        for (size_t i = 0; i < share->sum_count; i++)
            shown->sums.items[shown->sums.count++] = share->sums[i];
    }
    return 0;
}

int path_shown_create(struct graph_frame *frame, const struct path_whole *whole, struct parcel *shown, uint32_t count, const struct trace *trace,
                      struct shown_path *ret_shown, struct error *err)
{
    struct putting putting = {.frame = frame, .share_count = count};
    *ret_shown = (struct shown_path){0};
    CLEANUP(freep) struct shown_share *shares = putting.shares = calloc((size_t)count + 1, sizeof *shares);
    int code = shares ? 0 : -ENOMEM;
    for (uint32_t s = 0; s < count && code == 0; s++)
        code = take_share(&shown[s], &putting.shares[s]);
    if (code == 0)
        code = make_graph(&putting, trace, &ret_shown->graph);
    if (code == 0)
        code = make_path(&putting, whole, ret_shown);
    if (code == 0)
        code = take_sums(&putting, ret_shown);
    graph_builder_destroy(putting.builder);
    free(putting.numbers);
    free(putting.edges);
    if (code < 0)
        shown_path_finish(ret_shown);
    return code < 0 ? error_set_errno(err, code, "the critical path") : 0;
}

void shown_path_name(struct shown_path *shown, const struct activities *activities)
{
    for (size_t r = 0; r < shown->slack_count; r++)
        shown->slack[r].activity = activity_of(activities, (span_id){shown->slack[r].activity});
    for (size_t i = 0; i < shown->sums.count; i++)
        shown->sums.items[i].activity = activity_of(activities, (span_id){shown->sums.items[i].activity});
}

void shown_path_finish(struct shown_path *shown)
{
    critical_path_destroy(shown->path);
    dependency_graph_destroy(shown->graph);
    free(shown->slack);
    free(shown->sums.items);
    *shown = (struct shown_path){0};
}
