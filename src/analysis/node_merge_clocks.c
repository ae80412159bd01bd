/* SPDX-License-Identifier: MIT */
/* Which clock domains there are, how they were compared, and which one all others are mapped to. */
#include "node_merge_internal.h"

#include "base/array.h"
#include "base/error.h"
#include "clock_probes.h"
#include "trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ASSUMED_LIMIT_NS (INT64_C(1) << 59)

struct probe {
    uint32_t own, peer;
    struct clock_knot knot;
};
struct probes {
    struct probe *items;
    size_t count, capacity;
};

/* --- who is who --------------------------------------------------------------------------------------------------- */

static int add_domain(struct node_merging *merging, const struct merge_domain_name *name, uint32_t *ret_domain)
{
    struct merge_domain_name *names =
        array_reserve(merging->domain_names, &merging->domain_capacity, merging->domain_count + 1, sizeof *names);
    if (!names)
        return -ENOMEM;
    merging->domain_names = names;
    names[merging->domain_count] = *name;
    *ret_domain = (uint32_t)merging->domain_count++;
    return 0;
}

/* The domain of a trace is its recorder's. */
int node_merge_find_domains(struct node_merging *merging)
{
    for (uint32_t i = 0; i < merging->source_count; i++) {
        const char *text = trace_metadata(merging->sources[i].trace, "clock_domain");
        uint32_t domain = 0;
        while (domain < merging->domain_count && strcmp(merging->domain_names[domain].text, text) != 0)
            domain++;
        if (domain == merging->domain_count) {
            int code = add_domain(merging, &(struct merge_domain_name){.text = text, .source = i}, &domain);
            if (code)
                return code;
        }
        merging->sources[i].domain = domain;
    }
    return 0;
}

/* A rank's domain by its trace; else by the number that others have of it; else it is one of which there is no trace. */
static int find_peer(struct node_merging *merging, const struct clock_probe *probe, uint32_t *ret_domain)
{
    uint64_t source;
    for (uint32_t i = 0; i < merging->domain_count; i++)
        if (merging->domain_names[i].has_number && merging->domain_names[i].number == probe->peer_domain) {
            *ret_domain = i;
            return 0;
        }
    struct merge_domain_name name = {.number = probe->peer_domain, .has_number = true, .source = UINT32_MAX};
    if (!map_get(&merging->ranks, (uint32_t)probe->peer, &source))
        return add_domain(merging, &name, ret_domain);
    *ret_domain = merging->sources[source].domain;
    merging->domain_names[*ret_domain].number = probe->peer_domain;
    merging->domain_names[*ret_domain].has_number = true;
    return 0;
}

static int add_probe(struct node_merging *merging, uint32_t own, const struct clock_probe *probe, struct probes *probes)
{
    uint32_t peer;
    int code = find_peer(merging, probe, &peer);
    if (code || peer == own)
        return code;
    struct probe *items = array_reserve(probes->items, &probes->capacity, probes->count + 1, sizeof *items);
    if (!items)
        return -ENOMEM;
    probes->items = items;
    items[probes->count++] = (struct probe){own, peer, {probe->own_ns, probe->peer_ns, probe->error_ns}};
    return 0;
}

static int read_probes(struct node_merging *merging, bool numbers_only, struct probes *probes)
{
    for (uint32_t i = 0; i < merging->source_count; i++) {
        uint32_t own = merging->sources[i].domain;
        struct clock_probe *items = NULL;
        size_t count = 0;
        int code = clock_probes_read(merging->sources[i].trace, &items, &count);
        for (size_t k = 0; k < count && code == 0; k++) {
            if (numbers_only) {
                merging->domain_names[own].number = items[k].own_domain;
                merging->domain_names[own].has_number = true;
            } else {
                code = add_probe(merging, own, &items[k], probes);
            }
        }
        free(items);
        if (code)
            return code;
    }
    return 0;
}

/* --- comparisons -------------------------------------------------------------------------------------------------- */

int node_merge_add_comparison(struct node_merging *merging, uint32_t own, uint32_t peer, enum clock_source source,
                              const struct clock_knot *knots, uint32_t count)
{
    struct clock_comparison *comparisons =
        array_reserve(merging->comparisons, &merging->comparison_capacity, merging->comparison_count + 1, sizeof *comparisons);
    if (!comparisons)
        return -ENOMEM;
    merging->comparisons = comparisons;
    struct clock_comparison *comparison = &comparisons[merging->comparison_count];
    *comparison = (struct clock_comparison){.own = own, .peer = peer, .source = source};
    int code = clock_map_init(&comparison->map, knots, count);
    if (code == -EINVAL && count) { /* so close together that their errors turn time back: the best one alone */
        const struct clock_knot *best = knots;
        for (uint32_t i = 1; i < count; i++)
            best = knots[i].bound_ns < best->bound_ns ? &knots[i] : best;
        code = clock_map_init(&comparison->map, best, 1);
    }
    merging->comparison_count += code == 0;
    return code;
}

static int by_pair(const void *left, const void *right)
{
    const struct probe *a = left, *b = right;
    if (a->own != b->own)
        return a->own < b->own ? -1 : 1;
    return (a->peer > b->peer) - (a->peer < b->peer);
}

static int compare_by_probes(struct node_merging *merging, struct probes *probes)
{
    int code = 0;
    struct clock_knot *knots = malloc((probes->count + 1) * sizeof *knots);
    if (!knots)
        return -ENOMEM;
    if (probes->count)
        qsort(probes->items, probes->count, sizeof *probes->items, by_pair);
    for (size_t first = 0, next; first < probes->count && code == 0; first = next) {
        for (next = first; next < probes->count && by_pair(&probes->items[first], &probes->items[next]) == 0; next++)
            knots[next - first] = probes->items[next].knot;
        code = node_merge_add_comparison(merging, probes->items[first].own, probes->items[first].peer, CLOCK_BY_PROBES, knots, (uint32_t)(next - first));
    }
    free(knots);
    return code;
}

/* Rank 0's clock, whether its trace is here or not: that is what probes are against. Else the first trace's. */
static uint32_t find_reference(const struct node_merging *merging)
{
    uint64_t source;
    uint32_t best = merging->sources[0].domain, most = 0;
    if (map_get(&merging->ranks, 0, &source))
        return merging->sources[source].domain;
    for (uint32_t i = 0; i < merging->domain_count; i++) {
        uint32_t count = 0;
        for (size_t k = 0; k < merging->comparison_count; k++)
            count += merging->comparisons[k].peer == i;
        if (count > most) {
            most = count;
            best = i;
        }
    }
    return best;
}

/* --- what the user says ------------------------------------------------------------------------------------------- */

static bool is_unknown(const struct node_merging *merging, uint32_t domain)
{
    return merging->domains[domain].source == CLOCK_BY_NOTHING;
}

static const struct clock_assumption *assumption_for(const struct node_merging *merging, uint32_t domain)
{
    for (size_t i = 0; i < merging->options->assumption_count; i++)
        for (size_t node = 0; node < merging->node_count; node++)
            if (merging->nodes[node].domain == domain && glob_match(merging->options->assumptions[i].node, merging->nodes[node].name))
                return &merging->options->assumptions[i];
    return NULL;
}

/* One domain of which the user said something, by the real time of its start. */
static int assume(struct node_merging *merging, bool *ret_found)
{
    const struct merge_domain_name *reference = &merging->domain_names[merging->reference];
    *ret_found = false;
    for (uint32_t i = 0; i < merging->domain_count && reference->source != UINT32_MAX; i++) {
        const struct clock_assumption *assumption = is_unknown(merging, i) ? assumption_for(merging, i) : NULL;
        if (!assumption)
            continue;
        const struct merge_source *own = &merging->sources[merging->domain_names[i].source], *other = &merging->sources[reference->source];
        const struct clock_knot knot = {
            own->start_raw_ns, other->start_raw_ns + own->start_realtime_ns - assumption->ahead_ns - other->start_realtime_ns, 0};
        if (knot.other_ns < -ASSUMED_LIMIT_NS || knot.other_ns > ASSUMED_LIMIT_NS)
            return -ERANGE;
        merging->domains[i].source = CLOCK_BY_ASSUMPTION;
        merging->domains[i].via = merging->reference;
        merging->domains[i].bound_ns = -1;
        *ret_found = true;
        return clock_map_init(&merging->domains[i].map, &knot, 1);
    }
    return 0;
}

static void note_idle_assumptions(const struct node_merging *merging)
{
    for (size_t i = 0; i < merging->options->assumption_count; i++) {
        const struct clock_assumption *assumption = &merging->options->assumptions[i];
        bool known = false, used = false;
        for (size_t node = 0; node < merging->node_count; node++)
            if (glob_match(assumption->node, merging->nodes[node].name)) {
                known = true;
                used |= merging->domains[merging->nodes[node].domain].source == CLOCK_BY_ASSUMPTION;
            }
        if (!used)
            text_addf(&merging->report->notes, "--assume-offset %s: %s\n", assumption->node,
                      known ? "not used, as its clock was measured" : "there is no such node");
    }
}

static int refuse(const struct node_merging *merging, struct error *err)
{
    struct text nodes = TEXT_INIT;
    const char *first = NULL;
    for (size_t i = 0; i < merging->node_count; i++)
        if (is_unknown(merging, merging->nodes[i].domain)) {
            text_addf(&nodes, "%s%s", first ? ", " : "", merging->nodes[i].name);
            first = first ? first : merging->nodes[i].name;
        }
    int code = error_set(err, -EINVAL,
                         "nothing says how the clock of %s stands to the others: processes did not compare them at MPI_Init "
                         "(HPROFILER_MPI_PROBES=1 makes them), and no messages or collectives go both ways. If real-time clocks can be "
                         "trusted: hprofiler merge-nodes --assume-offset %s=0",
                         nodes.data ? nodes.data : "a node", first ? first : "NODE");
    text_finish(&nodes);
    return code;
}

static uint32_t count_unknown(const struct node_merging *merging)
{
    uint32_t count = 0;
    for (size_t i = 0; i < merging->node_count; i++)
        count += is_unknown(merging, merging->nodes[i].domain);
    return count;
}

static int spread(struct node_merging *merging, enum clock_source source)
{
    return clock_alignment_spread(merging->domains, (uint32_t)merging->domain_count, merging->comparisons, (uint32_t)merging->comparison_count, source);
}

/* ------------------------------------------------------------------------------------------------------------------ */

static int align_all(struct node_merging *merging)
{
    bool more = true;
    int code = spread(merging, CLOCK_BY_PROBES);
    if (code == 0 && count_unknown(merging))
        code = node_merge_compare_by_messages(merging);
    while (code == 0 && more) {
        code = spread(merging, CLOCK_BY_PROBES);
        if (code == 0)
            code = spread(merging, CLOCK_BY_MESSAGES);
        more = false;
        if (code == 0 && count_unknown(merging))
            code = assume(merging, &more);
    }
    return code;
}

int node_merge_align(struct node_merging *merging, struct error *err)
{
    struct probes probes = {0};
    int code = read_probes(merging, true, &probes);
    if (code == 0)
        code = read_probes(merging, false, &probes);
    if (code == 0)
        code = compare_by_probes(merging, &probes);
    free(probes.items);
    merging->domains = code ? NULL : calloc(merging->domain_count, sizeof *merging->domains);
    if (!merging->domains)
        return error_set_errno(err, code ? code : -ENOMEM, "cannot align the clocks");
    merging->reference = find_reference(merging);
    merging->domains[merging->reference].source = CLOCK_BY_BEING_REFERENCE;
    code = align_all(merging);
    if (code)
        return error_set_errno(err, code, "cannot align the clocks");
    if (count_unknown(merging))
        return refuse(merging, err);
    note_idle_assumptions(merging);
    return 0;
}
