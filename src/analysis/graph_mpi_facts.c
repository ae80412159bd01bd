/* SPDX-License-Identifier: MIT */
/* One pass over MPI's calls: what the rules need of their payloads, kept small. */
#include "base/array.h"
#include "base/error.h"
#include "base/string_table.h"
#include "graph_cut.h"
#include "graph_mpi.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#define KIND(kind) (UINT64_C(1) << SPAN_KIND_##kind)
#define MPI_KINDS                                                                                                                   \
    (KIND(SEND) | KIND(RECV) | KIND(WAIT) | KIND(TEST) | KIND(PROBE) | KIND(COLLECTIVE) | KIND(COMM) | KIND(RMA) | KIND(INIT) | KIND(IO))

static enum mpi_op op_of(const char *name)
{
    static const struct {
        const char *name;
        uint8_t op;
    } ops[] = {
        {"Barrier", MPI_OP_BARRIER},        {"Allreduce", MPI_OP_ALL},      {"Allgather", MPI_OP_ALL},        {"Allgatherv", MPI_OP_ALL},
        {"Alltoall", MPI_OP_ALL},           {"Alltoallv", MPI_OP_ALL},      {"Alltoallw", MPI_OP_ALL},        {"Reduce_scatter", MPI_OP_ALL},
        {"Reduce_scatter_block", MPI_OP_ALL}, {"Neighbor_allgather", MPI_OP_ALL}, {"Neighbor_allgatherv", MPI_OP_ALL},
        {"Neighbor_alltoall", MPI_OP_ALL},  {"Neighbor_alltoallv", MPI_OP_ALL}, {"Neighbor_alltoallw", MPI_OP_ALL},
        {"Bcast", MPI_OP_FROM_ROOT},        {"Scatter", MPI_OP_FROM_ROOT},  {"Scatterv", MPI_OP_FROM_ROOT},   {"Reduce", MPI_OP_TO_ROOT},
        {"Gather", MPI_OP_TO_ROOT},         {"Gatherv", MPI_OP_TO_ROOT},    {"Scan", MPI_OP_SCAN},            {"Exscan", MPI_OP_EXSCAN},
        {"Comm_dup", MPI_OP_MADE},          {"Comm_dup_with_info", MPI_OP_MADE}, {"Comm_create", MPI_OP_MADE}, {"Comm_split", MPI_OP_MADE},
        {"Comm_split_type", MPI_OP_MADE},   {"Cart_create", MPI_OP_MADE},   {"Cart_sub", MPI_OP_MADE},        {"Graph_create", MPI_OP_MADE},
        {"Dist_graph_create", MPI_OP_MADE}, {"Dist_graph_create_adjacent", MPI_OP_MADE},                      {"Win_create", MPI_OP_MADE},
        {"Win_allocate", MPI_OP_MADE},      {"Win_allocate_shared", MPI_OP_MADE}, {"Win_create_dynamic", MPI_OP_MADE}, {"Win_free", MPI_OP_MADE},
        {"File_open", MPI_OP_MADE},         {"Comm_free", MPI_OP_FREED},    {"Comm_disconnect", MPI_OP_FREED}, {"File_close", MPI_OP_FREED},
        {"Win_fence", MPI_OP_FENCE},        {"Win_post", MPI_OP_POST},      {"Win_start", MPI_OP_START},      {"Win_complete", MPI_OP_COMPLETE},
        {"Win_wait", MPI_OP_WIN_WAIT},      {"Win_test", MPI_OP_WIN_WAIT},  {"Win_lock", MPI_OP_LOCK},        {"Win_unlock", MPI_OP_UNLOCK},
        {"Init", MPI_OP_INIT},              {"Init_thread", MPI_OP_INIT},   {"Finalize", MPI_OP_FINALIZE},
    };
    if (strncmp(name, "MPI_", 4) != 0)
        return MPI_OP_NONE;
    name += 4;
    for (int immediate = 0; immediate < 2; immediate++, name += *name == 'I')
        for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
            if ((immediate ? strcasecmp : strcmp)(name, ops[i].name) == 0)
                return ops[i].op;
    return MPI_OP_NONE;
}

static bool has(const struct payload *payload, unsigned field)
{
    return payload->present >> field & 1;
}

static void take_message(const struct mpi_rules *mpi, const struct payload *payload, struct mpi_fact *fact)
{
    const union payload_value *fields = payload->fields;
    bool cancelled = has(payload, FIELD_MESSAGE_cancelled) && fields[FIELD_MESSAGE_cancelled].u64;
    bool receives = has(payload, FIELD_MESSAGE_receive_from) || has(payload, FIELD_MESSAGE_any);
    fact->comm = has(payload, FIELD_MESSAGE_comm) ? fields[FIELD_MESSAGE_comm].u64 : 0;
    if (has(payload, FIELD_MESSAGE_send_to)) {
        fact->peer = (int32_t)fields[FIELD_MESSAGE_send_to].i64;
        fact->flags |= fact->peer >= 0 ? MPI_SENDS : 0;
        fact->bytes = has(payload, FIELD_MESSAGE_send_bytes) ? fields[FIELD_MESSAGE_send_bytes].u64 : 0;
    }
    if (has(payload, FIELD_MESSAGE_mode)) {
        fact->flags |= string_is(fields[FIELD_MESSAGE_mode].string, mpi->word_synchronous) ? MPI_SYNCHRONOUS : 0;
        fact->flags |= string_is(fields[FIELD_MESSAGE_mode].string, mpi->word_standard) ? MPI_STANDARD : 0;
    } else {
        fact->flags |= MPI_STANDARD; /* MPI_Sendrecv */
    }
    bool nobody = has(payload, FIELD_MESSAGE_receive_from) && fields[FIELD_MESSAGE_receive_from].i64 == -1;
    fact->flags |= receives && !nobody ? MPI_RECEIVES : 0;
    fact->flags |= cancelled || (!(fact->flags & (MPI_SENDS | MPI_RECEIVES)) && (receives || has(payload, FIELD_MESSAGE_send_to))) ? MPI_NOBODY : 0;
}

static void take_collective(const struct payload *payload, struct mpi_fact *fact)
{
    const union payload_value *fields = payload->fields;
    fact->comm = has(payload, FIELD_COLLECTIVE_comm) ? fields[FIELD_COLLECTIVE_comm].u64 : 0;
    fact->bytes = has(payload, FIELD_COLLECTIVE_bytes_sent) ? fields[FIELD_COLLECTIVE_bytes_sent].u64 : 0;
    fact->bytes += has(payload, FIELD_COLLECTIVE_bytes_received) ? fields[FIELD_COLLECTIVE_bytes_received].u64 : 0;
    if (has(payload, FIELD_COLLECTIVE_root))
        fact->peer = (int32_t)fields[FIELD_COLLECTIVE_root].i64;
    if (has(payload, FIELD_COLLECTIVE_no_data_from))
        fact->no_data_from = fields[FIELD_COLLECTIVE_no_data_from].string;
}

static void take_access(const struct mpi_rules *mpi, const struct payload *payload, struct mpi_fact *fact)
{
    const union payload_value *fields = payload->fields;
    fact->comm = has(payload, FIELD_RMA_window) ? fields[FIELD_RMA_window].u64 : 0;
    if (has(payload, FIELD_RMA_target))
        fact->peer = (int32_t)fields[FIELD_RMA_target].i64;
    fact->flags |= has(payload, FIELD_RMA_lock) && string_is(fields[FIELD_RMA_lock].string, mpi->word_exclusive) ? MPI_EXCLUSIVE : 0;
    fact->flags |= has(payload, FIELD_RMA_assertion) && fields[FIELD_RMA_assertion].u64 ? MPI_ASSERTED : 0;
}

/* A wait that had nothing to wait for, or a test that found nothing, needs no request that is known. */
static void take_wait(const struct payload *payload, struct mpi_fact *fact)
{
    const union payload_value *fields = payload->fields;
    bool none = (has(payload, FIELD_WAIT_requests) && fields[FIELD_WAIT_requests].u64 == 0) ||
                (has(payload, FIELD_WAIT_completed) && fields[FIELD_WAIT_completed].u64 == 0);
    fact->flags |= none ? MPI_HAS_REQUESTS : 0;
}

static void take_payload(const struct mpi_rules *mpi, const struct payload *payload, struct mpi_fact *fact)
{
    switch (payload->kind) {
    case PAYLOAD_MESSAGE:
        take_message(mpi, payload, fact);
        break;
    case PAYLOAD_COLLECTIVE:
        take_collective(payload, fact);
        break;
    case PAYLOAD_RMA:
        take_access(mpi, payload, fact);
        break;
    case PAYLOAD_WAIT:
        take_wait(payload, fact);
        break;
    case PAYLOAD_COMM:
        fact->comm = has(payload, FIELD_COMM_parent)  ? payload->fields[FIELD_COMM_parent].u64
                     : has(payload, FIELD_COMM_comm) ? payload->fields[FIELD_COMM_comm].u64
                                                     : 0;
        break;
    default:
        break;
    }
}

static int add_fact(void *context, const struct graph_row *row)
{
    struct mpi_rules *mpi = context;
    string_id name = row->block->name ? row->block->name[row->row] : STRING_NONE;
    uint8_t kind = mpi->rules->kind[row->span.index];
    struct payload payload;
    if (kind == SPAN_KIND_INIT && mpi->ops[name.index] == MPI_OP_NONE)
        return 0;
    struct mpi_fact *facts = array_reserve(mpi->facts, &mpi->capacity, mpi->count + 1, sizeof *facts);
    if (!facts)
        return -ENOMEM;
    mpi->facts = facts;
    struct mpi_fact *fact = &facts[mpi->count];
    *fact = (struct mpi_fact){.span = row->span.index, .completed_by = ID_NONE, .peer = INT32_MIN, .op = mpi->ops[name.index]};
    bool immediate = mpi->names[name.index] & CUT_NAME_WAITS_NOT;
    fact->flags |= immediate || kind == SPAN_KIND_TEST ? MPI_IMMEDIATE : 0;
    fact->flags |= mpi->names[name.index] & CUT_NAME_ONE_SIDED ? MPI_ONE_SIDED : 0;
    if (span_payload(row->block, row->row, &payload) == 0)
        take_payload(mpi, &payload, fact);
    mpi->fact_of[row->span.index] = (uint32_t)mpi->count++;
    return 0;
}

static int note_request(void *context, const struct trace_link *link)
{
    struct mpi_rules *mpi = context;
    struct mpi_fact *request = mpi_fact_of(mpi, link->from), *wait = mpi_fact_of(mpi, link->to);
    if (!request || !wait)
        return 0;
    request->completed_by = link->to.index;
    wait->flags |= MPI_HAS_REQUESTS;
    return 0;
}

static void find_word(const struct trace *trace, const char *text, string_id *ret_word)
{
    *ret_word = (string_id){UINT32_MAX}; /* matches nothing */
    string_table_find(trace_strings(trace), text, strlen(text), ret_word);
}

int mpi_facts_gather(struct mpi_rules *mpi, struct error *err)
{
    const struct trace *trace = mpi->rules->trace;
    uint32_t strings = string_table_count(trace_strings(trace));
    mpi->names = cut_names(trace);
    mpi->ops = calloc((size_t)strings + 1, 1);
    mpi->fact_of = malloc(((size_t)mpi->rules->span_count + 1) * sizeof *mpi->fact_of);
    map_init(&mpi->comms);
    if (!mpi->names || !mpi->ops || !mpi->fact_of)
        return -ENOMEM;
    memset(mpi->fact_of, 0xff, ((size_t)mpi->rules->span_count + 1) * sizeof *mpi->fact_of);
    for (uint32_t i = 0; i < strings; i++)
        mpi->ops[i] = (uint8_t)op_of(string_table_text(trace_strings(trace), (string_id){i}));
    find_word(trace, "standard", &mpi->word_standard);
    find_word(trace, "synchronous", &mpi->word_synchronous);
    find_word(trace, "exclusive", &mpi->word_exclusive);
    int code = graph_rules_each_span(mpi->rules, MPI_KINDS, true, add_fact, mpi, err);
    return code ? code : graph_rules_each_link(mpi->rules, 1u << LINK_KIND_REQUEST, note_request, mpi, err);
}

void mpi_facts_finish(struct mpi_rules *mpi)
{
    free(mpi->facts);
    free(mpi->fact_of);
    free(mpi->names);
    free(mpi->ops);
    free(mpi->comm_rows);
    map_finish(&mpi->comms);
}

struct mpi_fact *mpi_blocked_in(const struct mpi_rules *mpi, struct mpi_fact *fact)
{
    if (fact->completed_by != ID_NONE)
        return mpi_fact_of(mpi, (span_id){fact->completed_by});
    return fact->flags & MPI_IMMEDIATE ? NULL : fact;
}

uint32_t mpi_completion(const struct mpi_rules *mpi, const struct mpi_fact *fact)
{
    if (fact->completed_by != ID_NONE)
        return graph_rules_end(mpi->rules, (span_id){fact->completed_by});
    return fact->flags & MPI_IMMEDIATE ? POINT_NONE : graph_rules_end(mpi->rules, (span_id){fact->span});
}

bool mpi_in_ranks(const char *list, int32_t rank)
{
    while (*list) {
        char *end;
        long first = strtol(list, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        if (end == list)
            return false;
        if (rank >= first && rank <= last)
            return true;
        if (*end != ',')
            return false;
        list = end + 1;
    }
    return false;
}

/* The value behind a key in a metadata entry of our own making: NULL if it isn't there. */
static const char *value_of(const char *entry, const char *key)
{
    const char *found = strstr(entry, key);
    return found ? found + strlen(key) : NULL;
}

const struct mpi_comm_row *mpi_comm_of(struct mpi_rules *mpi, uint64_t comm)
{
    uint64_t place;
    if (map_get(&mpi->comms, comm, &place))
        return place ? &mpi->comm_rows[place - 1] : NULL;
    char key[40];
    snprintf(key, sizeof key, "mpi.comm.%" PRIu64, comm);
    const char *entry = trace_metadata(mpi->rules->trace, key);
    struct mpi_comm_row *rows = entry ? array_reserve(mpi->comm_rows, &mpi->comm_capacity, mpi->comm_count + 1, sizeof *rows) : NULL;
    if (!rows) {
        map_set(&mpi->comms, comm, 0);
        return NULL;
    }
    mpi->comm_rows = rows;
    const char *size = value_of(entry, "\"size\":");
    rows[mpi->comm_count] = (struct mpi_comm_row){
        .size = size ? strtoll(size, NULL, 10) : -1,
        .inter = strstr(entry, "{\"kind\":\"intercommunicator\"") != NULL,
        .ranks = value_of(entry, "\"ranks\":\""),
    };
    map_set(&mpi->comms, comm, ++mpi->comm_count);
    return &rows[mpi->comm_count - 1];
}
