/* SPDX-License-Identifier: MIT */
/* Activities that take another part of their time. */
#include "code_shares.h"
#include "what_if_internal.h"

#include "base/error.h"

#include <math.h>

enum edge_binds { BINDS_START, BINDS_RELEASE };

static const uint8_t binds[] = {
#define EDGE_RULE(enumerator, name, binds, confidence, text) BINDS_##binds,
#include "edge_rules.def"
};

static int64_t scaled(int64_t weight_ns, double share, double factor)
{
    double result = (double)weight_ns * (1 - share + share * factor);
    return result < (double)MODEL_TIME_LIMIT_NS ? llround(result) : MODEL_TIME_LIMIT_NS;
}

/* What is scaled by what: shares of stretches of code are NULL where all or none of a lane's code is meant. */
struct scaling {
    const struct activity_set *set;
    const float *code_shares;
    double factor;
};

static double share_of(const struct changing *changing, const struct scaling *scaling, uint32_t lane, uint32_t point)
{
    bool code = interval_is_code(changing, point);
    double share =
        activity_set_share(scaling->set, changing->graph->lanes[lane].track, changing->graph->span[point], code);
    return code && share < 1 && scaling->code_shares ? (double)scaling->code_shares[point] : share;
}

static void scale_point(struct changing *changing, const struct scaling *scaling, uint32_t point, uint64_t *changed)
{
    const struct dependency_graph *graph = changing->graph;
    uint32_t lane = graph->lane[point];
    enum interval_kind kind = graph->interval[point];
    if (lane == LANE_NONE || kind == INTERVAL_IDLE)
        return;
    double share = share_of(changing, scaling, lane, point);
    if (share <= 0)
        return;
    if (graph_previous_point(graph, point) != POINT_NONE && changing->interval_weight_ns[point] > 0) {
        changing->interval_weight_ns[point] = scaled(changing->interval_weight_ns[point], share, scaling->factor);
        ++*changed;
    }
    for (uint32_t e = graph->first_edge[point]; e < graph->first_edge[point + 1]; e++) {
        if (binds[changing->edges[e].rule] != BINDS_RELEASE)
            continue;
        changing->edges[e].weight_ns = scaled(changing->edges[e].weight_ns, share, scaling->factor);
        ++*changed;
    }
}

int what_if_scale(struct changing *changing, const struct what_if_scale *scale, uint64_t *ret_changed,
                  struct error *err)
{
    CLEANUP(activity_set_destroyp) struct activity_set *set = NULL;
    CLEANUP(freep) float *code_shares = NULL;
    int result = activity_set_create(changing->graph->trace, scale->filter, &set, err);
    if (result == 0 && code_shares_needed(set))
        result = code_shares_create(changing->graph, changing->activities, scale->filter, set, &code_shares, err);
    struct scaling scaling = {.set = set, .code_shares = code_shares, .factor = scale->factor};
    for (uint32_t p = 0; result == 0 && p < changing->graph->point_count; p++)
        scale_point(changing, &scaling, p, ret_changed);
    return result;
}
