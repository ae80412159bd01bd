/* SPDX-License-Identifier: MIT */
/*
 * NCCL. An operation is known from its enqueuing to the moment that its kernel's end was seen; the kernel by the device's timer on a lane of
 * NCCL's, and, where CUDA was recorded as well, in its stream. Both are found by time: an operation ends with its kernel. The ranks' kernels
 * of one operation (communicator and number) wait in it for the last of them.
 */
#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "graph_rules_nccl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct kernel {
    int64_t begin_ns, end_ns;
    uint32_t process;
    int32_t lane; /* number of the communicator in the process; -1: in a stream of CUDA's */
    uint32_t span;
    bool taken;
};

struct nccl_rules {
    struct graph_rules *rules;
    const struct trace_track *tracks;
    struct kernel *kernels; /* by process, lane and end */
    size_t count, capacity;
    uint32_t *members;      /* kernels of one operation */
    size_t member_capacity;
};

#define COMPARE(left, right) (((left) > (right)) - ((left) < (right)))

static int by_lane_and_end(const void *left, const void *right)
{
    const struct kernel *a = left, *b = right;
    int order = COMPARE(a->process, b->process);
    order = order ? order : COMPARE(a->lane, b->lane);
    order = order ? order : COMPARE(a->end_ns, b->end_ns);
    return order ? order : COMPARE(a->span, b->span);
}

static const struct trace_track *track_of(const struct nccl_rules *nccl, span_id span)
{
    return &nccl->tracks[graph_rules_track(nccl->rules, graph_rules_begin(nccl->rules, span)).index];
}

/* On lanes of no device, which are NCCL's own, or by the names that all of its kernels have. */
static int on_kernel(void *context, const struct graph_row *row)
{
    struct nccl_rules *nccl = context;
    const struct trace_track *track = &nccl->tracks[row->block->info.track.index];
    const char *name = row->block->name ? trace_text(nccl->rules->trace, row->block->name[row->row]) : "";
    if (track->device >= 0 && strncmp(name, "nccl", 4) != 0)
        return 0;
    struct kernel *kernels = array_reserve(nccl->kernels, &nccl->capacity, nccl->count + 1, sizeof *kernels);
    if (!kernels)
        return -ENOMEM;
    nccl->kernels = kernels;
    kernels[nccl->count++] = (struct kernel){graph_rules_begin_ns(nccl->rules, row->span), graph_rules_end_ns(nccl->rules, row->span),
                                             track->process.index, track->device >= 0 ? -1 : track->stream, row->span.index, false};
    return 0;
}

/* The first kernel of a lane that ends at a time or later; nccl->count: none. */
static size_t first_from(const struct nccl_rules *nccl, uint32_t process, int32_t lane, int64_t end_ns)
{
    size_t low = 0, high = nccl->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct kernel key = {.process = process, .lane = lane, .end_ns = end_ns, .span = 0};
        if (by_lane_and_end(&nccl->kernels[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_of(const struct nccl_rules *nccl, size_t index, uint32_t process, int32_t lane)
{
    return index < nccl->count && nccl->kernels[index].process == process && nccl->kernels[index].lane == lane;
}

/* The kernel of a lane whose end is nearest to a time. */
static const struct kernel *nearest(const struct nccl_rules *nccl, uint32_t process, int32_t lane, int64_t end_ns)
{
    size_t after = first_from(nccl, process, lane, end_ns);
    const struct kernel *next = is_of(nccl, after, process, lane) ? &nccl->kernels[after] : NULL;
    const struct kernel *before = after && is_of(nccl, after - 1, process, lane) ? &nccl->kernels[after - 1] : NULL;
    if (!next || !before)
        return next ? next : before;
    return next->end_ns - end_ns < end_ns - before->end_ns ? next : before;
}

static bool overlap(const struct kernel *kernel, int64_t begin_ns, int64_t end_ns)
{
    return kernel && kernel->begin_ns < end_ns && kernel->end_ns > begin_ns;
}

/* The same kernel in one of the process' streams, by its times: begin and end together differ by a quarter of its length at most, by nobody's less.
 * A process can have several ranks, whose kernels run at once. */
static struct kernel *in_stream(const struct nccl_rules *nccl, const struct kernel *own)
{
    int64_t best_ns = (own->end_ns - own->begin_ns) / 4;
    struct kernel *best = NULL;
    for (size_t i = first_from(nccl, own->process, -1, own->end_ns - best_ns);
         is_of(nccl, i, own->process, -1) && nccl->kernels[i].end_ns <= own->end_ns + best_ns; i++) {
        struct kernel *kernel = &nccl->kernels[i];
        int64_t apart_ns = llabs(kernel->begin_ns - own->begin_ns) + llabs(kernel->end_ns - own->end_ns);
        if (kernel->taken || apart_ns > best_ns)
            continue;
        best = kernel;
        best_ns = apart_ns;
    }
    return best;
}

/* An operation's kernel: in a stream of CUDA's if it is there, else on NCCL's lane. SPAN_NONE: its time is not known. */
static int kernel_of(struct nccl_rules *nccl, span_id operation, span_id *ret_kernel)
{
    struct graph_rules *rules = nccl->rules;
    const struct trace_track *track = track_of(nccl, operation);
    int64_t begin_ns = graph_rules_begin_ns(rules, operation), end_ns = graph_rules_end_ns(rules, operation);
    uint32_t begin = graph_rules_begin(rules, operation), process = track->process.index;
    const struct kernel *own = nearest(nccl, process, track->stream, end_ns);
    *ret_kernel = SPAN_NONE;
    graph_rules_explain(rules, begin); /* what lies before an operation in its lane is nobody's doing */
    if (!overlap(own, begin_ns, end_ns))
        return 0;
    struct kernel *streams = in_stream(nccl, own);
    *ret_kernel = (span_id){streams ? streams->span : own->span};
    if (streams)
        streams->taken = true;
    return graph_rules_edge(rules, begin, graph_rules_begin(rules, (span_id){own->span}), EDGE_RULE_LAUNCH, CONFIDENCE_HIGH,
                            graph_rules_class(EDGE_RULE_LAUNCH, SPAN_KIND_COLLECTIVE, 0));
}

enum shape { SHAPE_ALL, SHAPE_FROM_ROOT, SHAPE_TO_ROOT };

static enum shape shape_of(const struct nccl_rules *nccl, const struct graph_group *group)
{
    const char *name = trace_text(nccl->rules->trace, group->group->name);
    if (strncmp(name, "nccl", 4) == 0)
        name += 4;
    return strncmp(name, "Broadcast", 9) == 0 || strcmp(name, "Bcast") == 0 ? SHAPE_FROM_ROOT : strcmp(name, "Reduce") == 0 ? SHAPE_TO_ROOT : SHAPE_ALL;
}

static bool root_of(struct nccl_rules *nccl, span_id operation, int64_t *ret_root, uint64_t *ret_bytes)
{
    struct payload payload;
    if (graph_rules_payload(nccl->rules, operation, &payload) < 0 || payload.kind != PAYLOAD_COLLECTIVE)
        return false;
    *ret_bytes = payload.present >> FIELD_COLLECTIVE_bytes_sent & 1 ? payload.fields[FIELD_COLLECTIVE_bytes_sent].u64 : 0;
    *ret_root = payload.fields[FIELD_COLLECTIVE_root].i64;
    return payload.present >> FIELD_COLLECTIVE_root & 1;
}

/* Who has to be there before this member can end; the root of a broadcast needs nobody, the others of a reduction do not either. */
static int join_members(struct nccl_rules *nccl, const struct graph_group *group, size_t count)
{
    struct graph_rules *rules = nccl->rules;
    int64_t root = 0;
    uint64_t bytes = 0;
    uint32_t join;
    bool rooted = root_of(nccl, group->members[0].span, &root, &bytes);
    enum shape shape = rooted ? shape_of(nccl, group) : SHAPE_ALL;
    const char *name = trace_text(rules->trace, group->group->name);
    uint32_t class_of_lag = graph_rules_class(EDGE_RULE_DEVICE_COLLECTIVE, hash_bytes(name, strlen(name)), bytes);
    int code = count > 1 ? graph_builder_add_join(rules->builder, &join) : 0;
    for (size_t i = 0; count > 1 && i < count && code == 0; i++) {
        span_id kernel = {nccl->members[2 * i]};
        bool is_root = (int32_t)nccl->members[2 * i + 1] == root;
        if (shape != SHAPE_FROM_ROOT || is_root)
            code = graph_rules_edge(rules, graph_rules_begin(rules, kernel), join, EDGE_RULE_DEVICE_COLLECTIVE, CONFIDENCE_HIGH, class_of_lag);
        if (code || (shape == SHAPE_FROM_ROOT && is_root) || (shape == SHAPE_TO_ROOT && !is_root))
            continue;
        graph_rules_await(rules, graph_rules_end(rules, kernel));
        code = graph_rules_edge(rules, join, graph_rules_end(rules, kernel), EDGE_RULE_DEVICE_COLLECTIVE, CONFIDENCE_HIGH, class_of_lag);
    }
    return code;
}

static int on_group(void *context, const struct graph_group *group)
{
    struct nccl_rules *nccl = context;
    size_t count = 0;
    int code = 0;
    uint32_t *members = array_reserve(nccl->members, &nccl->member_capacity, 2 * (size_t)group->count, sizeof *members);
    if (!members)
        return -ENOMEM;
    nccl->members = members;
    for (uint32_t i = 0; i < group->count && code == 0; i++) {
        span_id kernel;
        if (track_of(nccl, group->members[i].span)->kind != TRACK_KIND_STREAM)
            return 0; /* of MPI */
        code = kernel_of(nccl, group->members[i].span, &kernel);
        if (code || span_id_is(kernel, SPAN_NONE))
            continue;
        members[2 * count] = kernel.index;
        members[2 * count++ + 1] = (uint32_t)group->members[i].rank;
    }
    return code ? code : join_members(nccl, group, count);
}

int graph_rules_nccl(struct graph_rules *rules, struct error *err)
{
    struct nccl_rules nccl = {.rules = rules};
    uint32_t groups, tracks;
    string_id word;
    trace_groups(rules->trace, &groups);
    nccl.tracks = trace_tracks(rules->trace, &tracks);
    if (!groups || !string_table_find(trace_strings(rules->trace), "nccl", strlen("nccl"), &word))
        return 0;
    int code = graph_rules_each_span(rules, UINT64_C(1) << SPAN_KIND_KERNEL, false, on_kernel, &nccl, err);
    if (nccl.count)
        qsort(nccl.kernels, nccl.count, sizeof *nccl.kernels, by_lane_and_end);
    if (code == 0 && nccl.count)
        code = graph_rules_each_group(rules, LINK_KIND_COLLECTIVE, on_group, &nccl, err);
    free(nccl.kernels);
    free(nccl.members);
    return code;
}
