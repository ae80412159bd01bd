/* SPDX-License-Identifier: MIT */
/* From the reference outwards, always to the domain that can be reached with the least bound (Dijkstra): nodes are few. */
#include "clock_alignment.h"

#include "trace/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *clock_source_name(enum clock_source source)
{
    static const char *const names[CLOCK_SOURCE_COUNT] = {
#define CLOCK_SOURCE(enumerator, name) [CLOCK_BY_##enumerator] = name,
        CLOCK_SOURCES
#undef CLOCK_SOURCE
    };
    return source < CLOCK_SOURCE_COUNT ? names[source] : "";
}

int64_t clock_domain_time(const struct clock_domain *domain, int64_t own_ns)
{
    return domain->map.count ? clock_map_at(&domain->map, own_ns) : own_ns;
}

static int64_t bound_at(const struct clock_domain *domain, int64_t own_ns)
{
    if (domain->bound_ns < 0)
        return 0;
    return domain->map.count ? clock_map_bound(&domain->map, own_ns) : 0;
}

/* The map of `to` to the reference, through `from`, which is known; the comparison may have been made from either side. */
static int compose(const struct clock_domain *from, const struct clock_comparison *comparison, bool from_is_peer, struct clock_map *ret_map)
{
    const struct clock_map *map = &comparison->map;
    struct clock_knot *knots = malloc(map->count * sizeof *knots);
    if (!knots)
        return -ENOMEM;
    for (uint32_t i = 0; i < map->count; i++) {
        const struct clock_knot *knot = &map->knots[i];
        int64_t there = from_is_peer ? knot->other_ns : knot->own_ns;
        knots[i] = (struct clock_knot){
            .own_ns = from_is_peer ? knot->own_ns : knot->other_ns,
            .other_ns = clock_domain_time(from, there),
            .bound_ns = knot->bound_ns + bound_at(from, there),
        };
    }
    int code = clock_map_init(ret_map, knots, map->count);
    free(knots);
    return code;
}

struct way {
    const struct clock_comparison *comparison;
    uint32_t from, to;
    int64_t bound_ns;
};

static bool is_known(const struct clock_domain *domain)
{
    return domain->source != CLOCK_BY_NOTHING;
}

/* The best comparison that leads from a known domain to an unknown one. */
static bool find_way(const struct clock_domain *domains, const struct clock_comparison *comparisons, uint32_t count,
                     enum clock_source source, struct way *ret_way)
{
    ret_way->comparison = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const struct clock_comparison *comparison = &comparisons[i];
        bool from_peer = is_known(&domains[comparison->peer]);
        if (comparison->source != source || from_peer == is_known(&domains[comparison->own]))
            continue;
        uint32_t from = from_peer ? comparison->peer : comparison->own;
        int64_t before = domains[from].bound_ns < 0 ? INT64_MAX / 2 : domains[from].bound_ns;
        int64_t bound = before + clock_map_worst_bound(&comparison->map);
        if (!ret_way->comparison || bound < ret_way->bound_ns)
            *ret_way = (struct way){comparison, from, from_peer ? comparison->own : comparison->peer, bound};
    }
    return ret_way->comparison;
}

int clock_alignment_spread(struct clock_domain *domains, uint32_t domain_count, const struct clock_comparison *comparisons, uint32_t count,
                           enum clock_source source)
{
    struct way way;
    for (uint32_t found = 0; found < domain_count && find_way(domains, comparisons, count, source, &way); found++) {
        struct clock_domain *domain = &domains[way.to];
        int code = compose(&domains[way.from], way.comparison, way.from == way.comparison->peer, &domain->map);
        if (code)
            return code;
        domain->source = source;
        domain->via = way.from;
        domain->bound_ns = domains[way.from].bound_ns < 0 ? -1 : clock_map_worst_bound(&domain->map);
    }
    return 0;
}

int64_t clock_bound_of_node(const struct trace *trace, node_id node)
{
    char key[40], *end;
    uint32_t nodes;
    snprintf(key, sizeof key, CLOCK_BOUND_KEY "%" PRIu32, node.index);
    const char *text = trace_metadata(trace, key);
    trace_nodes(trace, &nodes);
    if (!text)
        return nodes > 1 ? -1 : 0;
    errno = 0;
    long long bound = strtoll(text, &end, 10);
    return errno || *end || end == text || bound < 0 ? -1 : bound;
}
