/* SPDX-License-Identifier: MIT */
/* The longest ways over the nodes of all shares: one pass in their order, one against it. */
#include "path_whole.h"

#include "base/array.h"
#include "path_share_internal.h"

#include <errno.h>
#include <stdlib.h>

struct whole_share {
    struct parcel ways;
    uint32_t *numbers; /* of its nodes, by its own count: those that it made get numbers here */
    size_t count;
    const uint32_t *first_arc;
    const struct share_arc *arcs;
};

/* One number is a node of several shares. */
struct appearance {
    uint32_t share, node;
};

struct path_whole {
    uint32_t number_count, share_count, node_count; /* node number_count is the begin, those made by shares follow */
    struct whole_share *shares;
    struct appearance *appearances; /* by number: first_appearance */
    uint32_t *first_appearance;
    struct node_value *values;
    size_t value_capacity;
    uint32_t *sources; /* by number, of links */
    uint32_t end_source;
    struct whole_end end;
};

int path_whole_create(uint32_t number_count, uint32_t share_count, struct path_whole **ret_whole)
{
    struct path_whole *whole = calloc(1, sizeof *whole);
    if (!whole)
        return -ENOMEM;
    whole->number_count = number_count;
    whole->share_count = share_count;
    whole->node_count = number_count + 1;
    whole->end_source = NUMBER_NONE;
    whole->shares = calloc((size_t)share_count + 1, sizeof *whole->shares);
    whole->values = array_reserve(NULL, &whole->value_capacity, whole->node_count, sizeof *whole->values);
    whole->sources = array_resize_exact(NULL, number_count, sizeof *whole->sources);
    if (!whole->shares || !whole->values || !whole->sources) {
        path_whole_destroy(whole);
        return -ENOMEM;
    }
    for (uint32_t n = 0; n < whole->node_count; n++)
        whole->values[n] = (struct node_value){.way = {.length_ns = INT64_MIN}};
    for (uint32_t n = 0; n < number_count; n++)
        whole->sources[n] = NUMBER_NONE;
    whole->values[number_count].way = (struct way){0};
    *ret_whole = whole;
    return 0;
}

static void share_free(struct whole_share *share)
{
    free(share->numbers);
    parcel_finish(&share->ways);
}

void path_whole_destroy(struct path_whole *whole)
{
    if (!whole)
        return;
    for (uint32_t s = 0; whole->shares && s < whole->share_count; s++)
        share_free(&whole->shares[s]);
    free(whole->shares);
    free(whole->appearances);
    free(whole->first_appearance);
    free(whole->values);
    free(whole->sources);
    free(whole);
}

/* --- what shares say ---------------------------------------------------------------------------------------------- */

static int number_nodes(struct path_whole *whole, struct whole_share *of, const uint32_t *given, size_t given_count, size_t all_count)
{
    if (all_count < given_count + 1 || all_count - given_count > UINT32_MAX - 1 - whole->node_count)
        return -EBADMSG;
    of->numbers = array_resize_exact(NULL, all_count, sizeof *of->numbers);
    size_t needed = whole->node_count + (all_count - given_count);
    struct node_value *values = array_reserve(whole->values, &whole->value_capacity, needed, sizeof *values);
    if (values)
        whole->values = values;
    if (!of->numbers || !values)
        return -ENOMEM;
    of->count = all_count;
    of->numbers[NODE_BEGIN] = whole->number_count;
    for (size_t n = 0; n < given_count; n++) {
        if (given[n] >= whole->number_count)
            return -EBADMSG;
        of->numbers[n + 1] = given[n];
    }
    for (size_t n = given_count + 1; n < all_count; n++) {
        values[whole->node_count] = (struct node_value){.way = {.length_ns = INT64_MIN}};
        of->numbers[n] = whole->node_count++;
    }
    return 0;
}

static bool are_arcs(const struct whole_share *share, size_t first_count, size_t arc_count)
{
    bool good = first_count == share->count + 1 && share->first_arc[0] == 0 && share->first_arc[share->count] == arc_count;
    for (size_t n = 0; good && n < share->count; n++)
        good = share->first_arc[n] <= share->first_arc[n + 1];
    for (size_t i = 0; good && i < arc_count; i++)
        good = share->arcs[i].to < share->count;
    return good;
}

int path_whole_take_ways(struct path_whole *whole, uint32_t share, struct parcel *ways)
{
    struct whole_share *of = &whole->shares[share];
    size_t given_count, all_count, first_count, arc_count;
    of->ways = *ways;
    *ways = (struct parcel)PARCEL_INIT;
    const uint32_t *given = parcel_take(&of->ways, sizeof *given, &given_count);
    const int64_t *tails_ns = parcel_take(&of->ways, sizeof *tails_ns, &all_count);
    of->first_arc = parcel_take(&of->ways, sizeof *of->first_arc, &first_count);
    of->arcs = parcel_take(&of->ways, sizeof *of->arcs, &arc_count);
    int code = of->ways.failed ? -EBADMSG : number_nodes(whole, of, given, given_count, all_count);
    if (code == 0 && !are_arcs(of, first_count, arc_count))
        code = -EBADMSG;
    for (size_t n = 1; n < all_count && code == 0; n++) {
        struct node_value *value = &whole->values[of->numbers[n]];
        value->tail_ns = value->tail_ns < tails_ns[n] ? tails_ns[n] : value->tail_ns;
    }
    return code;
}

/* --- solving ------------------------------------------------------------------------------------------------------ */

static int find_appearances(struct path_whole *whole)
{
    size_t count = 0;
    for (uint32_t s = 0; s < whole->share_count; s++)
        count += whole->shares[s].count;
    whole->appearances = array_resize_exact(NULL, count, sizeof *whole->appearances);
    whole->first_appearance = calloc((size_t)whole->node_count + 2, sizeof *whole->first_appearance);
    if (!whole->appearances || !whole->first_appearance || count > UINT32_MAX)
        return -ENOMEM;
    uint32_t *next = whole->first_appearance + 1, sum = 0;
    for (uint32_t s = 0; s < whole->share_count; s++)
        for (size_t n = 0; n < whole->shares[s].count; n++)
            next[whole->shares[s].numbers[n]]++;
    for (uint32_t n = 0; n < whole->node_count; n++) {
        uint32_t its = next[n];
        next[n] = sum;
        sum += its;
    }
    for (uint32_t s = 0; s < whole->share_count; s++)
        for (uint32_t n = 0; n < whole->shares[s].count; n++)
            whole->appearances[next[whole->shares[s].numbers[n]]++] = (struct appearance){s, n};
    return 0;
}

/* All ways that begin at a node: those of one share after those of another. */
struct arcs {
    const struct path_whole *whole;
    uint32_t appearance, last;
    const struct whole_share *share;
    uint32_t at, end;
};

static struct arcs arcs_of(const struct path_whole *whole, uint32_t node)
{
    return (struct arcs){.whole = whole, .appearance = whole->first_appearance[node], .last = whole->first_appearance[node + 1]};
}

static const struct share_arc *next_arc(struct arcs *arcs, uint32_t *ret_to)
{
    while (arcs->at == arcs->end) {
        if (arcs->appearance == arcs->last)
            return NULL;
        const struct appearance *appearance = &arcs->whole->appearances[arcs->appearance++];
        arcs->share = &arcs->whole->shares[appearance->share];
        arcs->at = arcs->share->first_arc[appearance->node];
        arcs->end = arcs->share->first_arc[appearance->node + 1];
    }
    const struct share_arc *arc = &arcs->share->arcs[arcs->at++];
    *ret_to = arcs->share->numbers[arc->to];
    return arc;
}

static void count_missing(const struct path_whole *whole, uint32_t *missing)
{
    for (uint32_t s = 0; s < whole->share_count; s++) {
        const struct whole_share *share = &whole->shares[s];
        for (uint32_t i = 0; i < share->first_arc[share->count]; i++)
            missing[share->numbers[share->arcs[i].to]]++;
    }
}

/* Nodes in an order in which ways lead onwards, values meanwhile; how many came into it. */
static uint32_t solve_forwards(struct path_whole *whole, uint32_t *order, uint32_t *missing)
{
    uint32_t count = 0, to;
    count_missing(whole, missing);
    for (uint32_t n = 0; n < whole->node_count; n++)
        if (missing[n] == 0)
            order[count++] = n;
    for (uint32_t at = 0; at < count; at++) {
        const struct way *here = &whole->values[order[at]].way;
        struct arcs arcs = arcs_of(whole, order[at]);
        for (const struct share_arc *arc = next_arc(&arcs, &to); arc; arc = next_arc(&arcs, &to)) {
            struct way by = way_of_arc(arc), way = way_extended(here, &by);
            if (way_better(&way, &whole->values[to].way))
                whole->values[to].way = way;
            if (--missing[to] == 0)
                order[count++] = to;
        }
    }
    return count;
}

static void solve_backwards(struct path_whole *whole, const uint32_t *order, uint32_t count)
{
    for (uint32_t at = count, to; at-- > 0;) {
        int64_t *tail_ns = &whole->values[order[at]].tail_ns;
        struct arcs arcs = arcs_of(whole, order[at]);
        for (const struct share_arc *arc = next_arc(&arcs, &to); arc; arc = next_arc(&arcs, &to)) {
            int64_t by_arc_ns = arc->length_ns + whole->values[to].tail_ns;
            *tail_ns = *tail_ns < by_arc_ns ? by_arc_ns : *tail_ns;
        }
    }
}

int path_whole_solve(struct path_whole *whole, bool *ret_circle)
{
    CLEANUP(freep) uint32_t *order = array_resize_exact(NULL, whole->node_count, sizeof *order);
    CLEANUP(freep) uint32_t *missing = calloc((size_t)whole->node_count + 1, sizeof *missing);
    if (!order || !missing || find_appearances(whole) < 0)
        return -ENOMEM;
    uint32_t count = solve_forwards(whole, order, missing);
    *ret_circle = count < whole->node_count;
    whole->end.circle = *ret_circle;
    if (!*ret_circle)
        solve_backwards(whole, order, count);
    for (uint32_t s = 0; s < whole->share_count; s++)
        parcel_finish(&whole->shares[s].ways);
    free(whole->appearances);
    free(whole->first_appearance);
    whole->appearances = NULL;
    whole->first_appearance = NULL;
    return 0;
}

void path_whole_pack_values(const struct path_whole *whole, uint32_t share, struct parcel *values)
{
    const struct whole_share *of = &whole->shares[share];
    struct node_value *packed = array_resize_exact(NULL, of->count, sizeof *packed);
    values->failed |= !packed;
    for (size_t n = 0; packed && n < of->count; n++)
        packed[n] = whole->values[of->numbers[n]];
    if (packed)
        parcel_put(values, packed, of->count, sizeof *packed);
    free(packed);
}

/* --- the way back ------------------------------------------------------------------------------------------------- */

int path_whole_take_end(struct path_whole *whole, uint32_t share, struct parcel *end)
{
    size_t count;
    const struct share_end *its = parcel_take(end, sizeof *its, &count);
    if (count != 1)
        return -EBADMSG;
    struct share_end *best = &whole->end.end;
    if (!its->any || (best->any && !share_end_before(its, best)))
        return 0;
    *best = *its;
    whole->end.share = share;
    return 0;
}

void path_whole_pack_end(const struct path_whole *whole, struct parcel *end)
{
    parcel_put(end, &whole->end, 1, sizeof whole->end);
}

int path_whole_take_links(struct path_whole *whole, struct parcel *links)
{
    size_t count;
    const struct share_link *all = parcel_take(links, sizeof *all, &count);
    if (links->failed)
        return -EBADMSG;
    for (size_t i = 0; i < count; i++) {
        if ((all[i].number != NUMBER_NONE && all[i].number >= whole->number_count) ||
            (all[i].source != NUMBER_NONE && all[i].source >= whole->number_count))
            return -EBADMSG;
        if (all[i].number == NUMBER_NONE)
            whole->end_source = all[i].source;
        else
            whole->sources[all[i].number] = all[i].source;
    }
    return 0;
}

int path_whole_chain(const struct path_whole *whole, uint32_t **ret_chain, size_t *ret_count)
{
    uint32_t *chain = NULL;
    size_t count = 0, capacity = 0;
    for (uint32_t at = whole->end_source; at != NUMBER_NONE; at = whole->sources[at]) {
        uint32_t *grown = count < whole->number_count ? array_reserve(chain, &capacity, count + 1, sizeof *grown) : NULL;
        if (!grown) {
            free(chain);
            return count < whole->number_count ? -ENOMEM : -EBADMSG;
        }
        chain = grown;
        chain[count++] = at;
    }
    *ret_chain = chain;
    *ret_count = count;
    return 0;
}

bool path_whole_length(const struct path_whole *whole, int64_t *ret_length_ns, int64_t *ret_explained_ns, enum confidence *ret_least)
{
    *ret_length_ns = whole->end.end.way.length_ns;
    *ret_explained_ns = whole->end.end.way.explained_ns;
    *ret_least = (enum confidence)whole->end.end.way.confidence;
    return whole->end.end.any;
}
