/* SPDX-License-Identifier: MIT */
/*
 * The bottleneck advisor: rules of one table (advice_rules.def), each with a threshold, judged by what a trace holds. A rule that
 * speaks has the numbers it used; one that cannot be judged says for want of what. Each rule and its source: docs/advisor.md.
 */
#ifndef HP_ANALYSIS_ADVICE_H
#define HP_ANALYSIS_ADVICE_H

#include "device_activity.h"

enum advice_need {
#define ADVICE_NEED(enumerator, what, missing) ADVICE_NEED_##enumerator,
#include "advice_rules.def"
    ADVICE_NEED_COUNT
};
enum advice_rule {
#define ADVICE_RULE(enumerator, id, need, threshold, basis, title, reason, bound, remedy) ADVICE_##enumerator,
#include "advice_rules.def"
    ADVICE_RULE_COUNT
};
struct advice_rule_text {
    const char *id, *title, *reason, *bound, *remedy;
    const char *basis; /* what the threshold's percents are of: "run", "CPU time", ... */
    double threshold_percent;
    enum advice_need need;
};
const struct advice_rule_text *advice_rule_text(enum advice_rule rule);
const char *advice_need_text(enum advice_need need); /* what a trace must hold */

enum advice_severity { ADVICE_LOW, ADVICE_MEDIUM, ADVICE_HIGH, ADVICE_DATA };
const char *advice_severity_name(enum advice_severity severity); /* of a bound below a tenth, below a quarter of the run, above; of data */

#define ADVICE_EVIDENCE_MAX 8
struct advice_evidence {
    const char *name, *unit; /* unit: "ns", "%", "By", "" */
    double value;
};
enum advice_subject { ADVICE_ABOUT_NOTHING, ADVICE_ABOUT_FUNCTION, ADVICE_ABOUT_SPANS };
struct advice {
    uint8_t rule, severity;
    int64_t bound_ns;     /* what it could give back at most; -1: not a time */
    double share_percent; /* what was compared with the threshold */
    struct advice_evidence evidence[ADVICE_EVIDENCE_MAX];
    unsigned evidence_count;
    track_id lane;        /* whose numbers these are; TRACK_NONE: several */
    uint8_t subject;      /* enum advice_subject: what `name` names */
    string_id name;
    uint8_t kind;         /* enum span_kind of spans; UNKNOWN: any */
};

struct advices {
    struct advice *rows; /* largest bound first; then those of data */
    size_t count;
    int64_t run_ns;
    unsigned judged;
    const char *missing[ADVICE_NEED_COUNT];  /* why rules with this need were not judged; NULL: they were */
    unsigned unjudged[ADVICE_NEED_COUNT];    /* how many */
    bool left_out;       /* for the size of the trace: with `all` more rules would be judged */
};

/* Up to so many spans are read one by one, and searched for wait states: more take time that only who asks for it has. */
#define ADVICE_SURVEY_SPANS UINT64_C(1000000)
#define ADVICE_WAIT_SPANS UINT64_C(200000)

struct off_cpu_times;
struct advice_options {
    bool all;                                /* whatever the size of the trace */
    /* Of the whole trace, where the caller has them: */
    const struct device_activities *devices; /* NULL: made here if the trace is small */
    const struct off_cpu_times *off_cpu;     /* by track; NULL: read here */
};
struct progress;
int advices_create(const struct trace *trace, const struct advice_options *options, const struct progress *progress,
                   struct advices **ret_advices, struct error *err);
void advices_destroy(struct advices *advices);
DEFINE_CLEANUP(struct advices *, advices_destroy)

#endif
