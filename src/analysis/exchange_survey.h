/* SPDX-License-Identifier: MIT */
/* What exchanges need of one trace: times of its spans, and what they were part of. Internal to exchanges. */
#ifndef HP_ANALYSIS_EXCHANGE_SURVEY_H
#define HP_ANALYSIS_EXCHANGE_SURVEY_H

#include "base/map.h"
#include "exchanges.h"
#include "trace/epoch_match.h"

struct exchange_comm {
    uint32_t members; /* 0 = not known */
    bool inter;
};

struct exchange_call {
    uint32_t trace;
    span_id span;
};

struct exchange_gathering {
    struct exchanges *exchanges;
    struct map group_index; /* hash of (comm, sequence, name) -> group */
    struct map comm_index;
    struct epoch_match *epochs;
    struct exchange_call *calls; /* of windows, in the order in which epochs has them */
    size_t call_count, call_capacity;
    uint32_t first_process;      /* of the trace in hand, in the count over all */
    struct exchange_comm *comms;
    size_t comm_count, comm_capacity;
};

/* Adds the groups and members of a trace, and fills in the times of its ends of messages. One trace's spans are in memory meanwhile,
 * 24 bytes each. */
int exchange_survey(struct exchange_gathering *gathering, const struct trace *trace, uint32_t number, struct error *err);

/* Group of a key, made if there is none. */
int exchange_group_find(struct exchange_gathering *gathering, uint64_t comm, uint64_t sequence, string_id name, enum link_kind kind,
                        uint32_t *ret_group);
const struct exchange_comm *exchange_comm_find(const struct exchange_gathering *gathering, uint64_t comm); /* NULL: not known */

#endif
