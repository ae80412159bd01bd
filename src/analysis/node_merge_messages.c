/* SPDX-License-Identifier: MIT */
/*
 * Clocks compared through what went between them. Of a collective it matters only who came last and who left first in each domain: that
 * gives the same limits as all pairs of its members.
 */
#include "node_merge_internal.h"

#include "base/array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

struct pair {
    uint32_t own, peer; /* own < peer */
    struct clock_fit fit;
};

struct extremes { /* of a collective in one domain, as its clock has them */
    int64_t last_cause_ns, first_effect_ns;
    bool cause, effect;
};

struct comparing {
    struct node_merging *merging;
    struct map pair_index;
    struct pair *pairs;
    size_t pair_count, pair_capacity;
    struct extremes *extremes; /* by domain */
};

static int find_pair(struct comparing *comparing, uint32_t own, uint32_t peer, struct pair **ret_pair)
{
    uint64_t index, key = (uint64_t)own << 32 | peer;
    if (map_get(&comparing->pair_index, key, &index)) {
        *ret_pair = &comparing->pairs[index];
        return 0;
    }
    struct pair *pairs = array_reserve(comparing->pairs, &comparing->pair_capacity, comparing->pair_count + 1, sizeof *pairs);
    if (!pairs)
        return -ENOMEM;
    comparing->pairs = pairs;
    pairs[comparing->pair_count] = (struct pair){.own = own, .peer = peer};
    *ret_pair = &pairs[comparing->pair_count];
    return map_set(&comparing->pair_index, key, comparing->pair_count++);
}

/* A cause at one clock's time, its effect at the other's. */
static int add_limit(struct comparing *comparing, uint32_t cause, int64_t cause_ns, uint32_t effect, int64_t effect_ns)
{
    const struct clock_domain *domains = comparing->merging->domains;
    bool known = domains[cause].source != CLOCK_BY_NOTHING && domains[effect].source != CLOCK_BY_NOTHING;
    struct pair *pair;
    if (cause == effect || known)
        return 0;
    bool own_is_cause = cause < effect;
    int code = find_pair(comparing, own_is_cause ? cause : effect, own_is_cause ? effect : cause, &pair);
    if (code)
        return code;
    /* The other clock shows at most the effect's time at the cause; at least the cause's time at the effect. */
    const struct clock_limit limit = {own_is_cause ? cause_ns : effect_ns, own_is_cause ? effect_ns - cause_ns : cause_ns - effect_ns};
    return clock_fit_add(&pair->fit, own_is_cause, limit);
}

static const struct merge_source *source_of(const struct comparing *comparing, const struct exchange_end *end)
{
    return &comparing->merging->sources[end->trace];
}

static int add_messages(struct comparing *comparing)
{
    const struct exchanges *exchanges = comparing->merging->exchanges;
    int code = 0;
    for (size_t i = 0; i < exchanges->message_count && code == 0; i++) {
        const struct exchange_end *send = &exchanges->messages[i].send, *receive = &exchanges->messages[i].receive;
        const struct merge_source *from = source_of(comparing, send), *to = source_of(comparing, receive);
        if (receive->complete_ns != EXCHANGE_UNKNOWN_NS)
            code = add_limit(comparing, from->domain, merge_raw_time(from, send->begin_ns), to->domain, merge_raw_time(to, receive->complete_ns));
    }
    return code;
}

static void note_extremes(struct comparing *comparing, const struct exchange_group *group, const struct exchange_member *member)
{
    const struct merge_source *source = source_of(comparing, &member->end);
    struct extremes *extremes = &comparing->extremes[source->domain];
    bool root = member->rank == group->root;
    bool cause = group->shape == EXCHANGE_ALL || root == (group->shape == EXCHANGE_FROM_ROOT);
    bool effect = group->shape == EXCHANGE_ALL || root == (group->shape == EXCHANGE_TO_ROOT);
    int64_t begin = merge_raw_time(source, member->end.begin_ns), end = merge_raw_time(source, member->end.complete_ns);
    if (cause && (!extremes->cause || begin > extremes->last_cause_ns)) {
        extremes->cause = true;
        extremes->last_cause_ns = begin;
    }
    if (effect && member->end.complete_ns != EXCHANGE_UNKNOWN_NS && (!extremes->effect || end < extremes->first_effect_ns)) {
        extremes->effect = true;
        extremes->first_effect_ns = end;
    }
}

static int add_group(struct comparing *comparing, const struct exchange_group *group)
{
    const struct node_merging *merging = comparing->merging;
    int code = 0;
    for (size_t i = 0; i < merging->domain_count; i++)
        comparing->extremes[i] = (struct extremes){0};
    for (uint32_t i = 0; i < group->member_count; i++)
        note_extremes(comparing, group, &merging->exchanges->members[group->first_member + i]);
    for (uint32_t from = 0; from < merging->domain_count && code == 0; from++)
        for (uint32_t to = 0; to < merging->domain_count && code == 0 && comparing->extremes[from].cause; to++)
            if (comparing->extremes[to].effect)
                code = add_limit(comparing, from, comparing->extremes[from].last_cause_ns, to, comparing->extremes[to].first_effect_ns);
    return code;
}

static int add_groups(struct comparing *comparing)
{
    const struct exchanges *exchanges = comparing->merging->exchanges;
    int code = 0;
    for (size_t i = 0; i < exchanges->group_count && code == 0; i++)
        if (exchanges->groups[i].shape != EXCHANGE_NO_ORDER && exchanges->groups[i].across)
            code = add_group(comparing, &exchanges->groups[i]);
    return code;
}

static int solve(struct comparing *comparing)
{
    struct node_merging *merging = comparing->merging;
    for (size_t i = 0; i < comparing->pair_count; i++) {
        struct pair *pair = &comparing->pairs[i];
        struct clock_knot knots[CLOCK_FIT_KNOTS];
        uint32_t count;
        int64_t contradiction_ns;
        if (clock_fit_solve(&pair->fit, knots, &count, &contradiction_ns) == -ENODATA)
            continue;
        if (contradiction_ns)
            text_addf(&merging->report->notes,
                      "the messages between %s and %s contradict each other by %" PRId64 " ns: their clocks do not drift evenly. The bound has it\n",
                      merge_node_name(merging, pair->own), merge_node_name(merging, pair->peer), contradiction_ns);
        int code = node_merge_add_comparison(merging, pair->own, pair->peer, CLOCK_BY_MESSAGES, knots, count);
        if (code)
            return code;
    }
    return 0;
}

int node_merge_compare_by_messages(struct node_merging *merging)
{
    struct comparing comparing = {.merging = merging, .extremes = calloc(merging->domain_count, sizeof *comparing.extremes)};
    int code = comparing.extremes ? add_messages(&comparing) : -ENOMEM;
    if (code == 0)
        code = add_groups(&comparing);
    if (code == 0)
        code = solve(&comparing);
    for (size_t i = 0; i < comparing.pair_count; i++)
        clock_fit_finish(&comparing.pairs[i].fit);
    free(comparing.pairs);
    free(comparing.extremes);
    map_finish(&comparing.pair_index);
    return code;
}
