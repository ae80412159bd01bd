/* SPDX-License-Identifier: MIT */
/* Names and texts of what graphs are made of, from the list of rules. */
#include "dependency_graph.h"

struct rule {
    const char *name, *text;
    enum confidence confidence;
};

static const struct rule rules[] = {
#define EDGE_RULE(enumerator, name, binds, confidence, text) {name, text, CONFIDENCE_##confidence},
#include "edge_rules.def"
};

const char *edge_rule_name(enum edge_rule rule)
{
    return (unsigned)rule < EDGE_RULE_COUNT ? rules[rule].name : NULL;
}

const char *edge_rule_text(enum edge_rule rule)
{
    return (unsigned)rule < EDGE_RULE_COUNT ? rules[rule].text : NULL;
}

enum confidence edge_rule_confidence(enum edge_rule rule)
{
    return (unsigned)rule < EDGE_RULE_COUNT ? rules[rule].confidence : CONFIDENCE_LOW;
}

const char *interval_kind_name(enum interval_kind kind)
{
    static const char *const names[] = {
        [INTERVAL_WORK] = "work",
        [INTERVAL_WAIT] = "wait",
        [INTERVAL_IDLE] = "idle",
        [INTERVAL_DESCHEDULED] = "descheduled",
        [INTERVAL_UNEXPLAINED] = "unexplained",
    };
    return (unsigned)kind < INTERVAL_KIND_COUNT ? names[kind] : NULL;
}
