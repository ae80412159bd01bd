/* SPDX-License-Identifier: MIT */
/* The advisor from first to last: facts are read once, every rule judges them, what speaks is sorted by what it could give back. */
#include "advice_internal.h"

#include "base/error.h"

#include <errno.h>

static const struct advice_rule_text texts[] = {
#define ADVICE_RULE(enumerator, id, need, threshold, basis, title, reason, bound, remedy)                                              \
    {id, title, reason, bound, remedy, basis, threshold, ADVICE_NEED_##need},
#include "advice_rules.def"
};
static const advice_judge judges[] = {
#define ADVICE_RULE(enumerator, id, need, threshold, basis, title, reason, bound, remedy) advice_judge_##enumerator,
#include "advice_rules.def"
};
static const struct {
    const char *what, *missing;
} needs[] = {
#define ADVICE_NEED(enumerator, what, missing) {what, missing},
#include "advice_rules.def"
};

const struct advice_rule_text *advice_rule_text(enum advice_rule rule)
{
    return (unsigned)rule < ADVICE_RULE_COUNT ? &texts[rule] : NULL;
}

const char *advice_need_text(enum advice_need need)
{
    return (unsigned)need < ADVICE_NEED_COUNT ? needs[need].what : NULL;
}

const char *advice_severity_name(enum advice_severity severity)
{
    static const char *const names[] = {"low", "medium", "high", "data"};
    return (unsigned)severity < sizeof names / sizeof *names ? names[severity] : NULL;
}

double advice_percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

void advice_evidence(struct advice *advice, const char *name, const char *unit, double value)
{
    if (advice->evidence_count < ADVICE_EVIDENCE_MAX)
        advice->evidence[advice->evidence_count++] = (struct advice_evidence){name, unit, value};
}

void advice_sum_add(struct advice_facts *facts, enum advice_sum sum, uint32_t track, int64_t time_ns)
{
    struct advice_sums *sums = &facts->sums;
    if (track >= facts->track_count || time_ns < 0)
        return;
    sums->count[sum]++;
    add_saturated(&sums->total_ns[sum], time_ns);
    add_saturated(&sums->time_ns[sum][track], time_ns);
}

bool advice_sum_most(const struct advice_facts *facts, enum advice_sum sum, uint32_t *ret_track, int64_t *ret_ns)
{
    const int64_t *time_ns = facts->sums.time_ns[sum];
    uint32_t most = 0;
    for (uint32_t i = 1; i < facts->track_count; i++)
        most = time_ns[i] > time_ns[most] ? i : most;
    if (!facts->track_count || time_ns[most] <= 0)
        return false;
    *ret_track = most;
    *ret_ns = time_ns[most];
    return true;
}

void advice_bound_by(const struct advice_facts *facts, struct advice *advice, int64_t bound_ns)
{
    advice->bound_ns = bound_ns;
    advice->share_percent = advice_percent((double)bound_ns, (double)facts->run_ns);
}

bool advice_by_lane(const struct advice_facts *facts, enum advice_sum sum, struct advice *advice)
{
    uint32_t track;
    int64_t time_ns;
    if (!advice_sum_most(facts, sum, &track, &time_ns))
        return false;
    advice->lane = (track_id){track};
    advice_bound_by(facts, advice, time_ns);
    return true;
}

void advice_about_longest(const struct advice_facts *facts, enum advice_sum sum, struct advice *advice)
{
    const struct advice_name *longest = &facts->sums.longest[sum];
    if (longest->longest_ns <= 0)
        return;
    advice->subject = ADVICE_ABOUT_SPANS;
    advice->name = longest->name;
    advice->kind = longest->kind;
}

bool advice_by_lane_and_name(const struct advice_facts *facts, enum advice_sum sum, struct advice *advice)
{
    advice_about_longest(facts, sum, advice);
    return advice_by_lane(facts, sum, advice);
}

/* Of ranks, where there are some: their launcher's time is no part of the program's run. */
static int64_t run_of(const struct advice_facts *facts)
{
    int64_t begin_ns, end_ns, first_ns = INT64_MAX, last_ns = INT64_MIN, run_ns;
    trace_time_range(facts->trace, &begin_ns, &end_ns);
    for (uint32_t i = 0; i < facts->process_count; i++) {
        const struct trace_process *process = &facts->processes[i];
        if (process->rank < 0 || process->start_ns == INT64_MIN || process->end_ns == INT64_MIN)
            continue;
        first_ns = process->start_ns < first_ns ? process->start_ns : first_ns;
        last_ns = process->end_ns > last_ns ? process->end_ns : last_ns;
    }
    if (first_ns < last_ns) {
        begin_ns = first_ns > begin_ns ? first_ns : begin_ns;
        end_ns = last_ns < end_ns ? last_ns : end_ns;
    }
    return __builtin_sub_overflow(end_ns, begin_ns, &run_ns) || run_ns < 0 ? 0 : run_ns;
}

static int facts_init(struct advice_facts *facts, const struct trace *trace)
{
    facts->trace = trace;
    facts->tracks = trace_tracks(trace, &facts->track_count);
    facts->processes = trace_processes(trace, &facts->process_count);
    facts->run_ns = run_of(facts);
    backends_find(trace, &facts->backends);
    for (unsigned i = 0; i < ADVICE_NEED_COUNT; i++)
        facts->missing[i] = needs[i].missing;
    facts->by_process = calloc((size_t)facts->process_count + 1, sizeof *facts->by_process);
    for (unsigned i = 0; i < ADVICE_SUM_COUNT; i++) {
        facts->late[i] = TRACK_NONE;
        facts->sums.longest[i].name = STRING_NONE;
        facts->sums.time_ns[i] = calloc((size_t)facts->track_count + 1, sizeof **facts->sums.time_ns);
        if (!facts->sums.time_ns[i])
            return -ENOMEM;
    }
    return facts->by_process ? 0 : -ENOMEM;
}

static void facts_finish(struct advice_facts *facts)
{
    for (unsigned i = 0; i < ADVICE_SUM_COUNT; i++)
        free(facts->sums.time_ns[i]);
    free(facts->regions);
    free(facts->by_process);
}

/* --- judging ------------------------------------------------------------------------------------------------------------- */

static enum advice_severity severity_of(const struct advice *advice, int64_t run_ns)
{
    double percent = advice_percent((double)advice->bound_ns, (double)run_ns);
    if (advice->bound_ns < 0)
        return ADVICE_DATA;
    return percent >= 25 ? ADVICE_HIGH : percent >= 10 ? ADVICE_MEDIUM : ADVICE_LOW;
}

static void judge(const struct advice_facts *facts, struct advices *advices)
{
    for (unsigned rule = 0; rule < ADVICE_RULE_COUNT; rule++) {
        struct advice advice = {.rule = (uint8_t)rule, .lane = TRACK_NONE, .name = STRING_NONE, .bound_ns = -1};
        enum advice_need need = texts[rule].need;
        if (!facts->have[need]) {
            advices->missing[need] = facts->missing[need];
            advices->unjudged[need]++;
            continue;
        }
        advices->judged++;
        if (!judges[rule](facts, &advice) || advice.share_percent < texts[rule].threshold_percent)
            continue;
        if (advice.bound_ns > facts->run_ns)
            advice.bound_ns = facts->run_ns;
        advice.severity = (uint8_t)severity_of(&advice, facts->run_ns);
        advices->rows[advices->count++] = advice;
    }
}

static int by_bound(const void *left, const void *right)
{
    const struct advice *a = left, *b = right;
    int order = (a->bound_ns < b->bound_ns) - (a->bound_ns > b->bound_ns);
    return order ? order : (a->rule > b->rule) - (a->rule < b->rule);
}

/* Traces without a backend's word have none of its spans, whatever their size. */
static bool is_absent(const struct advice_facts *facts, enum advice_need need)
{
    const struct backends *backends = &facts->backends;
    const string_id none = STRING_NONE;
    if (need == ADVICE_NEED_OPENMP)
        return string_is(backends->openmp, none);
    if (need == ADVICE_NEED_MPI || need == ADVICE_NEED_WAITS)
        return string_is(backends->mpi, none);
    return need == ADVICE_NEED_CALLS && string_is(backends->devices[0], none) && string_is(backends->devices[1], none) &&
           string_is(backends->devices[2], none);
}

static void too_large(struct advice_facts *facts, struct advices *advices, enum advice_need need)
{
    if (is_absent(facts, need))
        return;
    facts->missing[need] = "the trace is large: --advice all judges them";
    advices->left_out = true;
}

static int read_rows(struct advice_facts *facts, const struct advice_options *options, struct device_activities **own, struct advices *advices,
                     const struct progress *progress, struct error *err)
{
    uint64_t spans = trace_row_count(facts->trace, FAMILY_SPANS);
    int result = 0;
    facts->devices = options->devices;
    facts->off_cpu = options->off_cpu;
    if (!facts->devices && (options->all || spans <= ADVICE_SURVEY_SPANS)) {
        result = device_activities_create(facts->trace, NULL, progress, own, err);
        facts->devices = *own;
    }
    if (facts->devices)
        facts->have[ADVICE_NEED_DEVICES] = facts->devices->device_count > 0;
    else
        too_large(facts, advices, ADVICE_NEED_DEVICES);
    facts->surveyed = options->all || spans <= ADVICE_SURVEY_SPANS;
    if (facts->surveyed)
        result = result < 0 ? result : advice_survey(facts, progress, err);
    else
        for (unsigned need = ADVICE_NEED_CALLS; need <= ADVICE_NEED_MPI; need++)
            too_large(facts, advices, need);
    if (result == 0 && facts->have[ADVICE_NEED_MPI] && (options->all || spans <= ADVICE_WAIT_SPANS))
        result = advice_read_waits(facts, progress, err);
    else if (spans > ADVICE_WAIT_SPANS && !options->all && (spans > ADVICE_SURVEY_SPANS || facts->have[ADVICE_NEED_MPI]))
        too_large(facts, advices, ADVICE_NEED_WAITS);
    return result;
}

static int read_facts(struct advice_facts *facts, const struct advice_options *options, struct device_activities **own, struct advices *advices,
                      const struct progress *progress, struct error *err)
{
    int result = advice_read_sums(facts, err);
    if (result == 0)
        result = advice_read_samples(facts, err);
    if (result == 0)
        result = read_rows(facts, options, own, advices, progress, err);
    if (result == 0)
        result = advice_read_switches(facts, err);
    if (result == 0)
        result = advice_read_blocked(facts, err);
    advice_read_ledger(facts);
    return result;
}

int advices_create(const struct trace *trace, const struct advice_options *options, const struct progress *progress,
                   struct advices **ret_advices, struct error *err)
{
    static const struct advice_options nothing_asked = {0};
    CLEANUP(advices_destroyp) struct advices *advices = calloc(1, sizeof *advices);
    CLEANUP(device_activities_destroyp) struct device_activities *own = NULL;
    struct advice_facts facts = {0};
    int result = facts_init(&facts, trace);
    if (advices)
        advices->rows = calloc(ADVICE_RULE_COUNT, sizeof *advices->rows);
    if (result < 0 || !advices || !advices->rows) {
        facts_finish(&facts);
        return error_set(err, -ENOMEM, "advice: out of memory");
    }
    result = read_facts(&facts, options ? options : &nothing_asked, &own, advices, progress, err);
    if (result == 0) {
        advices->run_ns = facts.run_ns;
        judge(&facts, advices);
        qsort(advices->rows, advices->count, sizeof *advices->rows, by_bound);
        *ret_advices = TAKE_PTR(advices);
    }
    facts_finish(&facts);
    return result;
}

void advices_destroy(struct advices *advices)
{
    if (!advices)
        return;
    free(advices->rows);
    free(advices);
}
