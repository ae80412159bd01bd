/* SPDX-License-Identifier: MIT */
/* What is true of a simulated run, as JSON: its critical path by the simulation's own causes, and what follows from it. */
#include "sim.h"

#include <inttypes.h>
#include <stdlib.h>

static const char *const rule_names[RULE_COUNT] = {
    "lane", "start", "message", "rendezvous", "collective", "fork", "barrier", "join", "lock", "task create", "task dependence", "taskwait",
    "launch", "stream order", "event wait", "default stream", "device sync", "blocking copy"};
static const char *const pattern_names[PATTERN_COUNT] = {
#define PATTERN(enumerator, text) [PATTERN_##enumerator] = text,
#include "patterns.def"
};

struct segment {
    uint32_t lane, from_lane;
    int64_t begin_ns, end_ns;
    uint16_t name;
    uint8_t rule;
};

struct path {
    struct segment *segments;
    size_t count, capacity;
    uint64_t ties, undecided;
};

/* as_recorded: by what an analysis can know, which has begins and ends only: a message on its way looks like one that is there. */
static void path_find(const struct sim *sim, bool as_recorded, struct path *path)
{
    for (uint32_t at = sim->last.node, before; at != NOWHERE; at = before) {
        const struct node *node = &sim->nodes[at], *cause;
        before = as_recorded ? node->latest : node->cause;
        cause = before == NOWHERE ? NULL : &sim->nodes[before];
        struct segment segment = {.lane = node->lane, .from_lane = cause ? cause->lane : node->lane, .begin_ns = cause ? cause->ns : sim->begin_ns,
                                  .end_ns = node->ns, .name = node->name, .rule = as_recorded ? node->latest_rule : node->rule};
        path->ties += node->tied;
        path->undecided += node->undecided;
        struct segment *next = path->count ? &path->segments[path->count - 1] : NULL;
        if (next && next->rule == RULE_LANE && segment.rule == RULE_LANE && next->lane == segment.lane && next->name == segment.name) {
            next->begin_ns = segment.begin_ns;
        } else if (segment.end_ns > segment.begin_ns || segment.rule != RULE_LANE) {
            size_t row = APPEND(path->segments, path->count, path->capacity);
            path->segments[row] = segment;
        }
    }
}

/* By name, on any lane. */
static void composition(const struct sim *sim, const struct path *path, int64_t *names_ns, int64_t *rules_ns)
{
    (void)sim;
    for (size_t i = 0; i < path->count; i++) {
        const struct segment *segment = &path->segments[i];
        if (segment->rule == RULE_LANE)
            names_ns[segment->name] += segment->end_ns - segment->begin_ns;
        else
            rules_ns[segment->rule] += segment->end_ns - segment->begin_ns;
    }
}

static void write_path(const struct sim *sim, const struct path *path, const char *key, FILE *file)
{
    enum { WRITTEN_AT_MOST = 50000 };
    if (path->count > WRITTEN_AT_MOST)
        return;
    fprintf(file, " \"%s\": [\n", key);
    for (size_t i = path->count; i-- > 0;) {
        const struct segment *segment = &path->segments[i];
        fprintf(file, "  {\"lane\": %u, \"begin_ns\": %" PRId64 ", \"end_ns\": %" PRId64 ", \"rule\": \"%s\"", segment->lane, segment->begin_ns,
                segment->end_ns, rule_names[segment->rule]);
        if (segment->rule == RULE_LANE)
            fprintf(file, ", \"name\": \"%s\", \"work\": %s", sim->names[segment->name], sim->name_is_work[segment->name] ? "true" : "false");
        else
            fprintf(file, ", \"from_lane\": %u", segment->from_lane);
        fprintf(file, "}%s\n", i ? "," : "");
    }
    fprintf(file, " ],\n");
}

static void write_composition(const struct sim *sim, const struct path *path, FILE *file)
{
    int64_t *names_ns = calloc(sim->name_count, sizeof *names_ns), rules_ns[RULE_COUNT] = {0};
    const char *separator = "";
    if (!names_ns)
        fail("out of memory");
    composition(sim, path, names_ns, rules_ns);
    fprintf(file, " \"path_by_name_ns\": {");
    for (size_t i = 0; i < sim->name_count; i++)
        if (names_ns[i]) {
            fprintf(file, "%s\"%s\": %" PRId64, separator, sim->names[i], names_ns[i]);
            separator = ", ";
        }
    fprintf(file, "},\n \"path_by_rule_ns\": {");
    separator = "";
    for (size_t i = 0; i < RULE_COUNT; i++)
        if (rules_ns[i]) {
            fprintf(file, "%s\"%s\": %" PRId64, separator, rule_names[i], rules_ns[i]);
            separator = ", ";
        }
    fprintf(file, "},\n");
    free(names_ns);
}

static void write_planted(const struct sim *sim, const struct path *path, FILE *file)
{
    fprintf(file, " \"planted\": [");
    for (size_t i = 0; i < sim->planted_count; i++) {
        const struct planted *planted = &sim->planted[i];
        int64_t found_ns = 0;
        for (size_t k = 0; k < path->count; k++)
            if (path->segments[k].rule == RULE_LANE && path->segments[k].name == planted->name &&
                (planted->lane == NOWHERE || path->segments[k].lane == planted->lane))
                found_ns += path->segments[k].end_ns - path->segments[k].begin_ns;
        fprintf(file, "%s\n  {\"name\": \"%s\", \"lane\": %d, \"expected_ns\": %" PRId64 ", \"path_ns\": %" PRId64 "}", i ? "," : "",
                sim->names[planted->name], planted->lane == NOWHERE ? -1 : (int)planted->lane, planted->ns, found_ns);
    }
    fprintf(file, "],\n");
}

static void write_lanes(const struct sim *sim, FILE *file)
{
    size_t actor = 0;
    fprintf(file, " \"lanes\": [");
    for (size_t i = 0; i < sim->lane_count; i++) {
        const struct lane *lane = &sim->lanes[i];
        fprintf(file, "%s\n  {\"lane\": %zu, \"rank\": %u, ", i ? "," : "", i, lane->process);
        if (lane->stream)
            fprintf(file, "\"stream\": %d, \"busy_ns\": %" PRId64 "}", lane->number, lane->busy_ns);
        else {
            const struct actor *of = &sim->actors[actor++];
            fprintf(file, "\"thread\": %d, \"useful_ns\": %" PRId64 ", \"mpi_ns\": %" PRId64 ", \"end_ns\": %" PRId64 "}", of->thread, of->useful_ns,
                    of->mpi_ns, of->now.ns);
        }
    }
    fprintf(file, "],\n");
}

/* From the first rank's way out of MPI_Init to the last one's into MPI_Finalize; without MPI all of the run. */
static void window_find(const struct sim *sim, int64_t *ret_begin_ns, int64_t *ret_end_ns)
{
    *ret_begin_ns = sim->rank_count > 1 ? INT64_MAX : sim->begin_ns;
    *ret_end_ns = sim->rank_count > 1 ? INT64_MIN : sim->end_ns;
    for (size_t i = 0; i < sim->rank_count && sim->rank_count > 1; i++) {
        const struct actor *actor = &sim->actors[sim->ranks[i].main];
        *ret_begin_ns = actor->init_end_ns < *ret_begin_ns ? actor->init_end_ns : *ret_begin_ns;
        *ret_end_ns = actor->finalize_begin_ns > *ret_end_ns ? actor->finalize_begin_ns : *ret_end_ns;
    }
}

/* POP's factors of the threads' useful time, and of the ranks' time outside MPI. */
static void write_factors(const struct sim *sim, const char *key, FILE *file)
{
    int64_t begin_ns, end_ns;
    window_find(sim, &begin_ns, &end_ns);
    double sum = 0, most = 0, outside_sum = 0, outside_most = 0, runtime = (double)(end_ns - begin_ns), threads = 0;
    for (size_t i = 0; i < sim->actor_count; i++) {
        const struct actor *actor = &sim->actors[i];
        if (!actor->op_count)
            continue; /* a thread that never came into being */
        threads++;
        double useful = (double)actor->useful_ns, outside = runtime - (double)actor->mpi_ns;
        sum += useful;
        most = useful > most ? useful : most;
        if (actor->thread)
            continue;
        if (sim->rank_count > 1)
            outside -= (double)(actor->init_end_ns - begin_ns) + (double)(end_ns - actor->finalize_begin_ns);
        outside_sum += outside;
        outside_most = outside > outside_most ? outside : outside_most;
    }
    double ranks = (double)sim->rank_count;
    fprintf(file, " \"%s\": {\"begin_ns\": %" PRId64 ", \"end_ns\": %" PRId64 ", \"parallel_efficiency\": %.9f, \"load_balance\": %.9f, \"communication_efficiency\": %.9f, ",
            key, begin_ns, end_ns, sum / (threads * runtime), sum / threads / most, most / runtime);
    fprintf(file, "\"mpi_parallel_efficiency\": %.9f, \"mpi_load_balance\": %.9f, \"mpi_communication_efficiency\": %.9f}", outside_sum / ranks / runtime,
            outside_sum / ranks / outside_most, outside_most / runtime);
}

static void write_waits(const struct sim *sim, FILE *file)
{
    const char *separator = "";
    fprintf(file, " \"waits\": [");
    for (size_t pattern = 0; sim->waits && pattern < PATTERN_COUNT; pattern++)
        for (uint32_t lane = 0; lane < sim->lane_count; lane++)
            for (uint32_t cause = 0; cause <= sim->lane_count; cause++) {
                const struct wait_sum *sum = wait_sum(sim, (enum pattern)pattern, lane, cause);
                if (!sum->count)
                    continue;
                fprintf(file, "%s\n  {\"pattern\": \"%s\", \"lane\": %u, \"cause_lane\": %d, \"count\": %" PRIu64 ", \"ns\": %" PRId64 "}", separator,
                        pattern_names[pattern], lane, cause == sim->lane_count ? -1 : (int)cause, sum->count, sum->ns);
                separator = ",";
            }
    fprintf(file, "],\n");
}

/* The same program with one thing changed. */
static void again(const struct sim *sim, int name, double scale, bool ideal, struct sim *ret_other)
{
    sim_init(ret_other, sim->options);
    program_make(ret_other);
    ret_other->scale_name = name;
    ret_other->scale = scale;
    if (ideal) {
        struct costs *costs = &ret_other->costs;
        int64_t *const free_of_cost[] = {&costs->latency_ns, &costs->ns_per_kb, &costs->inject_ns, &costs->send_ns, &costs->receive_ns, &costs->post_ns,
                                         &costs->wait_ns, &costs->collective_ns};
        for (size_t i = 0; i < sizeof free_of_cost / sizeof *free_of_cost; i++)
            *free_of_cost[i] = 0;
    }
    sim_run(ret_other);
}

static void write_again(const struct sim *sim, int name, double scale, bool *first, FILE *file)
{
    struct sim other;
    again(sim, name, scale, false, &other);
    fprintf(file, "%s\n  {\"name\": \"%s\", \"scale\": %g, \"makespan_ns\": %" PRId64 ", \"same_decisions\": %s}", *first ? "" : ",", name == SCALE_CODE ? "" : sim->names[name], scale,
            other.end_ns - other.begin_ns, other.decisions == sim->decisions ? "true" : "false");
    *first = false;
    sim_finish(&other);
}

static void write_what_if(const struct sim *sim, FILE *file)
{
    bool first = true;
    fprintf(file, " \"what_if\": [");
    for (size_t i = 0; i < sim->name_count; i++) {
        if (sim->options->bare || !sim->name_is_work[i] || (sim->planted_count == 0 && mix(sim->seed ^ i) % 3 == 0))
            continue;
        write_again(sim, (int)i, 0.5, &first, file);
        write_again(sim, (int)i, 0.9, &first, file);
        write_again(sim, (int)i, 1.25, &first, file);
    }
    if (sim->options->bare) {
        write_again(sim, SCALE_CODE, 0.5, &first, file);
        write_again(sim, SCALE_CODE, 1.25, &first, file);
    }
    fprintf(file, "],\n");
}

/* On an ideal network, as POP has it: MPI's calls take no time but that of waiting for others. */
static void write_ideal(const struct sim *sim, FILE *file)
{
    struct sim other;
    again(sim, -1, 1, true, &other);
    fprintf(file, " \"ideal_makespan_ns\": %" PRId64 ",\n", other.end_ns - other.begin_ns);
    write_factors(&other, "pop_ideal", file);
    fprintf(file, "\n");
    sim_finish(&other);
}

void truth_write(struct sim *sim, FILE *file)
{
    struct path path = {0};
    path_find(sim, false, &path);
    fprintf(file, "{\n \"kind\": \"%s\", \"seed\": %" PRIu64 ", \"spans\": %" PRIu64 ",\n", sim->options->kind, sim->options->seed, sim->spans);
    fprintf(file, " \"begin_ns\": %" PRId64 ", \"end_ns\": %" PRId64 ", \"makespan_ns\": %" PRId64 ",\n", sim->begin_ns, sim->end_ns, sim->end_ns - sim->begin_ns);
    fprintf(file, " \"ties_on_path\": %" PRIu64 ", \"undecided_on_path\": %" PRIu64 ", \"ties\": %" PRIu64 ", \"undecided\": %" PRIu64 ",\n", path.ties, path.undecided,
            sim->ties, sim->undecided);
    write_lanes(sim, file);
    write_planted(sim, &path, file);
    write_path(sim, &path, "path", file);
    if (path.undecided) {
        struct path recorded = {0};
        path_find(sim, true, &recorded);
        write_path(sim, &recorded, "path_as_recorded", file);
        free(recorded.segments);
    }
    write_composition(sim, &path, file);
    write_factors(sim, "pop", file);
    fprintf(file, ",\n");
    write_waits(sim, file);
    if (!sim->options->no_what_if)
        write_what_if(sim, file);
    write_ideal(sim, file);
    fprintf(file, "}\n");
    free(path.segments);
}
