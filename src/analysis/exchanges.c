/* SPDX-License-Identifier: MIT */
/* Messages first, over all traces at once; then trace by trace their times and groups. */
#include "exchanges.h"

#include "base/array.h"
#include "base/error.h"
#include "base/progress.h"
#include "exchange_survey.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- communicators ------------------------------------------------------------------------------------------------ */

/* "0-3,8": how many. */
static uint32_t count_ranks(const char *text)
{
    uint32_t count = 0;
    while (*text >= '0' && *text <= '9') {
        char *end;
        unsigned long first = strtoul(text, &end, 10), last = first;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        if (last < first || last - first > UINT32_MAX - count - 1)
            return 0;
        count += (uint32_t)(last - first) + 1;
        text = end + (*end == ',');
    }
    return count;
}

static int note_comm(struct exchange_gathering *gathering, const char *key, const char *value)
{
    static const char prefix[] = "mpi.comm.";
    uint64_t known;
    if (strncmp(key, prefix, sizeof prefix - 1) != 0)
        return 0;
    uint64_t comm = strtoull(key + sizeof prefix - 1, NULL, 10);
    if (map_get(&gathering->comm_index, comm, &known))
        return 0;
    struct exchange_comm *comms = array_reserve(gathering->comms, &gathering->comm_capacity, gathering->comm_count + 1, sizeof *comms);
    if (!comms)
        return -ENOMEM;
    gathering->comms = comms;
    const char *ranks = strstr(value, "\"ranks\":\""), *size = strstr(value, "\"size\":");
    comms[gathering->comm_count] = (struct exchange_comm){
        .members = ranks ? count_ranks(ranks + 9) : size ? (uint32_t)strtoul(size + 7, NULL, 10) : 0,
        .inter = strstr(value, "\"kind\":\"intercommunicator\"") != NULL,
    };
    return map_set(&gathering->comm_index, comm, gathering->comm_count++);
}

const struct exchange_comm *exchange_comm_find(const struct exchange_gathering *gathering, uint64_t comm)
{
    uint64_t index;
    return map_get(&gathering->comm_index, comm, &index) ? &gathering->comms[index] : NULL;
}

static int note_comms(struct exchange_gathering *gathering, const struct trace *trace)
{
    int code = 0;
    for (uint32_t i = 0; i < trace_metadata_count(trace) && code == 0; i++) {
        const char *key, *value;
        trace_metadata_at(trace, i, &key, &value);
        code = note_comm(gathering, key, value);
    }
    return code;
}

/* --- groups ------------------------------------------------------------------------------------------------------- */

int exchange_group_find(struct exchange_gathering *gathering, uint64_t comm, uint64_t sequence, string_id name, enum link_kind kind,
                        uint32_t *ret_group)
{
    struct exchanges *exchanges = gathering->exchanges;
    uint64_t index, key = hash_u64(comm ^ hash_u64(sequence ^ (uint64_t)name.index << 32));
    for (; map_get(&gathering->group_index, key, &index); key++) {
        const struct exchange_group *group = &exchanges->groups[index];
        if (group->comm == comm && group->sequence == sequence && string_is(group->name, name) && group->kind == kind) {
            *ret_group = (uint32_t)index;
            return 0;
        }
    }
    struct exchange_group *groups = array_reserve(exchanges->groups, &exchanges->group_capacity, exchanges->group_count + 1, sizeof *groups);
    if (!groups)
        return -ENOMEM;
    exchanges->groups = groups;
    groups[exchanges->group_count] = (struct exchange_group){.kind = kind, .name = name, .sequence = sequence, .comm = comm, .root = -1};
    *ret_group = (uint32_t)exchanges->group_count;
    return map_set(&gathering->group_index, key, exchanges->group_count++);
}

static int by_group(const void *left, const void *right)
{
    const struct exchange_member *a = left, *b = right;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->end.trace != b->end.trace)
        return a->end.trace < b->end.trace ? -1 : 1;
    return (a->end.span.index > b->end.span.index) - (a->end.span.index < b->end.span.index);
}

static void close_groups(struct exchanges *exchanges)
{
    if (exchanges->member_count)
        qsort(exchanges->members, exchanges->member_count, sizeof *exchanges->members, by_group);
    for (size_t i = 0; i < exchanges->group_count; i++)
        exchanges->groups[i].member_count = 0;
    for (size_t i = 0; i < exchanges->member_count; i++) {
        struct exchange_group *group = &exchanges->groups[exchanges->members[i].group];
        if (!group->member_count)
            group->first_member = (uint32_t)i;
        group->member_count++;
        group->across |= exchanges->members[group->first_member].end.trace != exchanges->members[i].end.trace;
    }
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

struct matching {
    struct exchanges *exchanges;
    uint32_t *trace_of; /* by process of the matching */
    size_t process_count, process_capacity;
};

static int add_message(void *context, const struct message_pair *pair)
{
    struct matching *matching = context;
    struct exchanges *exchanges = matching->exchanges;
    uint32_t from = matching->trace_of[pair->send_process], to = matching->trace_of[pair->receive_process];
    if (from == to)
        return 0; /* its own trace has the link */
    struct exchange_message *messages =
        array_reserve(exchanges->messages, &exchanges->message_capacity, exchanges->message_count + 1, sizeof *messages);
    if (!messages)
        return -ENOMEM;
    exchanges->messages = messages;
    messages[exchanges->message_count++] = (struct exchange_message){
        .send = {.trace = from, .span = {pair->send_span}}, .receive = {.trace = to, .span = {pair->receive_span}}, .confidence = pair->confidence};
    return 0;
}

static int add_processes(struct matching *matching, const struct trace *trace, uint32_t number)
{
    uint32_t count;
    const struct trace_process *processes = trace_processes(trace, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (processes[i].rank < 0)
            continue;
        uint32_t *traces = array_reserve(matching->trace_of, &matching->process_capacity, matching->process_count + 1, sizeof *traces);
        if (!traces)
            return -ENOMEM;
        matching->trace_of = traces;
        traces[matching->process_count++] = number;
    }
    return 0;
}

static int match_messages(struct exchanges *exchanges, const struct trace *const *traces, uint32_t count, struct error *err)
{
    CLEANUP(message_match_destroyp) struct message_match *match = message_match_create();
    struct matching matching = {.exchanges = exchanges};
    int code = match ? 0 : error_set(err, -ENOMEM, "out of memory");
    for (uint32_t i = 0; i < count && code == 0; i++) {
        uint32_t first;
        code = message_match_add_trace(match, traces[i], &first, err);
        if (code == 0 && add_processes(&matching, traces[i], i) < 0)
            code = error_set(err, -ENOMEM, "out of memory");
    }
    if (code == 0) {
        code = message_match_run(match, add_message, &matching);
        code = code ? error_set_errno(err, code, "cannot match the messages of the traces") : 0;
    }
    if (code == 0)
        exchanges->message_counts = *message_match_counts(match);
    free(matching.trace_of);
    return code;
}

/* --- windows ------------------------------------------------------------------------------------------------------ */

static int add_epoch(void *context, uint32_t from, uint32_t to, enum confidence confidence)
{
    const struct exchange_gathering *gathering = context;
    struct exchanges *exchanges = gathering->exchanges;
    const struct exchange_call *left = &gathering->calls[from], *right = &gathering->calls[to];
    if (left->trace == right->trace)
        return 0;
    struct exchange_epoch *epochs = array_reserve(exchanges->epochs, &exchanges->epoch_capacity, exchanges->epoch_count + 1, sizeof *epochs);
    if (!epochs)
        return -ENOMEM;
    exchanges->epochs = epochs;
    epochs[exchanges->epoch_count++] = (struct exchange_epoch){left->trace, right->trace, left->span, right->span, confidence};
    return 0;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static int gather(struct exchange_gathering *gathering, const struct trace *const *traces, uint32_t count, const struct progress *progress,
                  struct error *err)
{
    struct exchanges *exchanges = gathering->exchanges;
    exchanges->groups_of = calloc((size_t)count + 1, sizeof *exchanges->groups_of);
    exchanges->trace_count = count;
    gathering->epochs = epoch_match_create();
    int code = exchanges->groups_of && gathering->epochs ? string_table_create(&exchanges->names) : -ENOMEM;
    for (uint32_t i = 0; i < count && code == 0; i++)
        code = note_comms(gathering, traces[i]);
    if (code)
        return error_set_errno(err, code, "cannot join the traces");
    code = match_messages(exchanges, traces, count, err);
    for (uint32_t i = 0; i < count && code == 0; i++) {
        progress_update(progress, "matching", i, count);
        code = exchange_survey(gathering, traces[i], i, err);
    }
    if (code)
        return code;
    close_groups(exchanges);
    code = epoch_match_run(gathering->epochs, add_epoch, gathering, &exchanges->exposures_seen, &exchanges->exposures_linked);
    return code ? error_set_errno(err, code, "cannot join the traces") : 0;
}

int exchanges_gather(const struct trace *const *traces, uint32_t count, const struct progress *progress, struct exchanges **ret_exchanges,
                     struct error *err)
{
    CLEANUP(exchanges_destroyp) struct exchanges *exchanges = calloc(1, sizeof *exchanges);
    struct exchange_gathering gathering = {.exchanges = exchanges};
    if (!exchanges)
        return error_set(err, -ENOMEM, "out of memory");
    int code = gather(&gathering, traces, count, progress, err);
    map_finish(&gathering.group_index);
    map_finish(&gathering.comm_index);
    free(gathering.comms);
    free(gathering.calls);
    epoch_match_destroy(gathering.epochs);
    if (code == 0)
        *ret_exchanges = TAKE_PTR(exchanges);
    return code;
}

void exchanges_destroy(struct exchanges *exchanges)
{
    if (!exchanges)
        return;
    for (uint32_t i = 0; exchanges->groups_of && i < exchanges->trace_count; i++)
        free(exchanges->groups_of[i]);
    free(exchanges->groups_of);
    free(exchanges->messages);
    free(exchanges->epochs);
    free(exchanges->groups);
    free(exchanges->members);
    string_table_destroy(exchanges->names);
    free(exchanges);
}
