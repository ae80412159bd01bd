/* SPDX-License-Identifier: MIT */
/* Another network: lags of communication by latency and size. */
#include "what_if_internal.h"

#include "base/error.h"

#include <errno.h>
#include <math.h>

#define BYTES_UNKNOWN UINT64_MAX

/* By span: what it sent and received, where its payload says so. */
struct sizes {
    uint32_t span_count;
    uint64_t *sent, *received;
};

static uint64_t field_of(const struct payload *payload, unsigned field)
{
    return payload->present >> field & 1 ? payload->fields[field].u64 : BYTES_UNKNOWN;
}

static void read_row(struct sizes *sizes, const struct span_block *block, uint32_t row)
{
    struct payload payload;
    uint32_t span = block->info.first + row;
    if (span >= sizes->span_count || span_payload(block, row, &payload) < 0)
        return;
    switch (payload.kind) {
    case PAYLOAD_MESSAGE:
        sizes->sent[span] = field_of(&payload, FIELD_MESSAGE_send_bytes);
        sizes->received[span] = field_of(&payload, FIELD_MESSAGE_receive_bytes);
        break;
    case PAYLOAD_COLLECTIVE:
        sizes->sent[span] = field_of(&payload, FIELD_COLLECTIVE_bytes_sent);
        sizes->received[span] = field_of(&payload, FIELD_COLLECTIVE_bytes_received);
        break;
    case PAYLOAD_RMA: sizes->sent[span] = field_of(&payload, FIELD_RMA_bytes); break;
    default: break;
    }
}

static int read_sizes(struct sizes *sizes, const struct trace *trace, struct error *err)
{
    uint64_t count = trace_row_count(trace, FAMILY_SPANS);
    sizes->span_count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
    sizes->sent = malloc(((size_t)sizes->span_count + 1) * sizeof *sizes->sent);
    sizes->received = malloc(((size_t)sizes->span_count + 1) * sizeof *sizes->received);
    if (!sizes->sent || !sizes->received)
        return error_set(err, -ENOMEM, "out of memory while reading the sizes of messages");
    for (uint32_t s = 0; s < sizes->span_count; s++)
        sizes->sent[s] = sizes->received[s] = BYTES_UNKNOWN;
    uint32_t columns = SPAN_COLUMN_BIT(SPAN_COLUMN_PAYLOAD) | SPAN_COLUMN_BIT(SPAN_COLUMN_PAYLOAD_END);
    for (uint32_t b = 0; b < trace_block_count(trace, FAMILY_SPANS); b++) {
        struct span_block block;
        int result = trace_spans_scan(trace, b, columns, &block, err);
        if (result < 0)
            return result;
        for (uint32_t i = 0; i < block.info.count; i++)
            read_row(sizes, &block, i);
        trace_spans_put(trace, &block);
    }
    return 0;
}

bool what_if_is_network(enum edge_rule rule)
{
    return rule == EDGE_RULE_MESSAGE || rule == EDGE_RULE_RENDEZVOUS || rule == EDGE_RULE_LARGE_SEND ||
           rule == EDGE_RULE_COLLECTIVE || rule == EDGE_RULE_WINDOW_SYNC || rule == EDGE_RULE_PASSIVE_TARGET ||
           rule == EDGE_RULE_TARGET_PROGRESS;
}

static bool is_communication(enum span_kind kind)
{
    return kind == SPAN_KIND_SEND || kind == SPAN_KIND_RECV || kind == SPAN_KIND_WAIT || kind == SPAN_KIND_TEST ||
           kind == SPAN_KIND_PROBE || kind == SPAN_KIND_COLLECTIVE || kind == SPAN_KIND_RMA;
}

static uint64_t known_max(uint64_t left, uint64_t right)
{
    if (left == BYTES_UNKNOWN)
        return right;
    return right == BYTES_UNKNOWN || left > right ? left : right;
}

/* Of what begins or ends at a point: the span before it or, where that tells no size, the one after it. */
static uint64_t bytes_at(const struct changing *changing, const struct sizes *sizes, uint32_t point)
{
    const struct dependency_graph *graph = changing->graph;
    uint32_t lane = graph->lane[point], span = graph->span[point].index;
    uint64_t bytes = BYTES_UNKNOWN;
    if (lane == LANE_NONE)
        return bytes;
    if (point + 1 < graph->lanes[lane].first_point + graph->lanes[lane].point_count) {
        uint32_t after = graph->span[point + 1].index;
        if (after < sizes->span_count)
            bytes = known_max(sizes->sent[after], sizes->received[after]);
    }
    return bytes == BYTES_UNKNOWN && span < sizes->span_count ? known_max(sizes->sent[span], sizes->received[span])
                                                              : bytes;
}

static uint64_t bytes_of_edge(const struct changing *changing, const struct sizes *sizes, uint32_t edge, uint32_t to)
{
    uint32_t span = changing->graph->span[to].index, from = changing->graph->edges[edge].from;
    enum edge_rule rule = changing->graph->edges[edge].rule;
    if (rule == EDGE_RULE_MESSAGE || rule == EDGE_RULE_PASSIVE_TARGET || rule == EDGE_RULE_WINDOW_SYNC) {
        if (span < sizes->span_count && sizes->received[span] != BYTES_UNKNOWN)
            return sizes->received[span];
        return bytes_at(changing, sizes, from);
    }
    uint64_t bytes = span < sizes->span_count ? known_max(sizes->sent[span], sizes->received[span]) : BYTES_UNKNOWN;
    return bytes != BYTES_UNKNOWN ? bytes : bytes_at(changing, sizes, from);
}

static int64_t transfer_ns(const struct what_if_options *options, uint64_t bytes)
{
    double transfer = bytes == BYTES_UNKNOWN || isinf(options->bytes_per_second)
                          ? 0
                          : (double)bytes / options->bytes_per_second * 1e9;
    return options->latency_ns + (transfer < (double)MODEL_TIME_LIMIT_NS ? llround(transfer) : MODEL_TIME_LIMIT_NS);
}

static void change_point(struct changing *changing, const struct sizes *sizes, uint32_t point)
{
    const struct dependency_graph *graph = changing->graph;
    if (graph->lane[point] == LANE_NONE) /* to a join: who comes is there */
        return;
    for (uint32_t e = graph->first_edge[point]; e < graph->first_edge[point + 1]; e++) {
        if (!what_if_is_network(graph->edges[e].rule))
            continue;
        changing->edges[e].weight_ns = transfer_ns(changing->options, bytes_of_edge(changing, sizes, e, point));
        changing->result->network_edges++;
    }
    enum interval_kind kind = graph->interval[point];
    span_id span = graph->span[point];
    if ((kind != INTERVAL_WORK && kind != INTERVAL_WAIT) || span.index >= sizes->span_count ||
        !is_communication(changing->activities->rows[activity_of(changing->activities, span)].kind))
        return;
    int64_t most_ns = transfer_ns(changing->options, known_max(sizes->sent[span.index], sizes->received[span.index]));
    if (changing->interval_weight_ns[point] > most_ns)
        changing->interval_weight_ns[point] = most_ns;
}

int what_if_network(struct changing *changing, struct error *err)
{
    struct sizes sizes = {.span_count = 0};
    int result = read_sizes(&sizes, changing->graph->trace, err);
    for (uint32_t p = 0; result == 0 && p < changing->graph->point_count; p++)
        change_point(changing, &sizes, p);
    free(sizes.sent);
    free(sizes.received);
    return result;
}
