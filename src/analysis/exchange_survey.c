/* SPDX-License-Identifier: MIT */
/* One pass each over a trace's members, spans and links. */
#include "exchange_survey.h"

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORLD_MAX 100000000 /* ranks */

struct survey {
    struct exchange_gathering *gathering;
    const struct trace *trace;
    uint32_t number, span_limit, group_count;
    const struct trace_group *groups;
    const struct trace_track *tracks;
    const struct trace_process *processes;
    uint32_t process_count;
    int32_t world_size;
    int64_t *begin_ns, *complete_ns; /* by span */
    uint32_t *group_of;              /* by span: group of the trace, or ID_NONE */
    uint32_t *places;                /* by group of the trace: place in the exchanges' groups, or ID_NONE */
    size_t first_member;
    string_id name;                  /* the latest name looked up, here and in the exchanges */
    string_id own_name;
};

static bool has(const struct payload *payload, unsigned field)
{
    return payload->present >> field & 1;
}

/* --- what a call is ----------------------------------------------------------------------------------------------- */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool returns_at_once(const char *name, uint8_t kind)
{
    size_t length = strlen(name);
    if (kind != SPAN_KIND_SEND && kind != SPAN_KIND_RECV && kind != SPAN_KIND_COLLECTIVE)
        return false;
    return begins(name, "MPI_I") || begins(name, "MPI_Start") || (length > 5 && strcmp(name + length - 5, "_init") == 0);
}

enum exchange_shape exchange_shape_of(const char *name)
{
    static const struct {
        const char *name;
        enum exchange_shape shape;
    } calls[] = {
        {"barrier", EXCHANGE_ALL},    {"allreduce", EXCHANGE_ALL}, {"allgather", EXCHANGE_ALL},      {"allgatherv", EXCHANGE_ALL},
        {"alltoall", EXCHANGE_ALL},   {"alltoallv", EXCHANGE_ALL}, {"alltoallw", EXCHANGE_ALL},      {"reduce_scatter", EXCHANGE_ALL},
        {"bcast", EXCHANGE_FROM_ROOT}, {"scatter", EXCHANGE_FROM_ROOT}, {"scatterv", EXCHANGE_FROM_ROOT},
        {"reduce", EXCHANGE_TO_ROOT}, {"gather", EXCHANGE_TO_ROOT}, {"gatherv", EXCHANGE_TO_ROOT},  {"reduce_scatter_block", EXCHANGE_ALL},
    };
    if (!begins(name, "MPI_"))
        return EXCHANGE_NO_ORDER;
    const char *call = name + 4 + (name[4] == 'I');
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if ((call[0] | 32) == calls[i].name[0] && strcmp(call + 1, calls[i].name + 1) == 0)
            return calls[i].shape;
    return EXCHANGE_NO_ORDER;
}

/* Who sends or gets nothing need not be waited for. */
static bool all_have_part(const struct payload *payload, const char *name)
{
    if (has(payload, FIELD_COLLECTIVE_no_data_to) || has(payload, FIELD_COLLECTIVE_no_data_from))
        return false;
    bool sends = !has(payload, FIELD_COLLECTIVE_bytes_sent) || payload->fields[FIELD_COLLECTIVE_bytes_sent].u64;
    bool receives = !has(payload, FIELD_COLLECTIVE_bytes_received) || payload->fields[FIELD_COLLECTIVE_bytes_received].u64;
    return sends || receives || strstr(name, "arrier");
}

/* --- groups ------------------------------------------------------------------------------------------------------- */

static bool key_of(const struct payload *payload, uint64_t *ret_comm, uint64_t *ret_sequence)
{
    static const struct {
        enum payload_kind kind;
        unsigned comm, sequence;
    } keys[] = {
        {PAYLOAD_COLLECTIVE, FIELD_COLLECTIVE_comm, FIELD_COLLECTIVE_sequence},
        {PAYLOAD_COMM, FIELD_COMM_parent, FIELD_COMM_sequence},
        {PAYLOAD_COMM, FIELD_COMM_comm, FIELD_COMM_sequence},
        {PAYLOAD_FILE_IO, FIELD_FILE_IO_comm, FIELD_FILE_IO_sequence},
        {PAYLOAD_RMA, FIELD_RMA_window, FIELD_RMA_sequence},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (payload->kind == keys[i].kind && has(payload, keys[i].comm) && has(payload, keys[i].sequence)) {
            *ret_comm = payload->fields[keys[i].comm].u64;
            *ret_sequence = payload->fields[keys[i].sequence].u64;
            return true;
        }
    return false;
}

static int common_name(struct survey *survey, string_id id, string_id *ret_name)
{
    if (!string_is(survey->own_name, id)) {
        int code = string_table_intern_text(survey->gathering->exchanges->names, trace_text(survey->trace, id), &survey->name);
        if (code)
            return code;
        survey->own_name = id;
    }
    *ret_name = survey->name;
    return 0;
}

static void describe(struct survey *survey, struct exchange_group *group, const struct payload *payload, const char *name)
{
    const struct exchange_comm *comm = exchange_comm_find(survey->gathering, group->comm);
    bool fresh = !group->member_count;
    enum exchange_shape shape = payload->kind == PAYLOAD_COLLECTIVE && all_have_part(payload, name) ? exchange_shape_of(name) : EXCHANGE_NO_ORDER;
    if (comm && comm->inter)
        shape = EXCHANGE_NO_ORDER;
    bool rooted = shape == EXCHANGE_FROM_ROOT || shape == EXCHANGE_TO_ROOT;
    if (rooted && !has(payload, FIELD_COLLECTIVE_root))
        shape = EXCHANGE_NO_ORDER;
    group->shape = fresh || group->shape == shape ? shape : EXCHANGE_NO_ORDER;
    if (fresh && rooted && has(payload, FIELD_COLLECTIVE_root))
        group->root = (int32_t)payload->fields[FIELD_COLLECTIVE_root].i64;
    group->mpi = begins(name, "MPI_");
    group->expected = comm ? comm->members : 0;
    group->member_count++;
}

static int note_member(struct survey *survey, uint32_t own_group, const struct payload *payload, string_id own_name)
{
    uint64_t comm, sequence;
    string_id name;
    uint32_t place = survey->places[own_group];
    int code = common_name(survey, own_name, &name);
    if (code || !key_of(payload, &comm, &sequence))
        return code;
    if (place == ID_NONE)
        code = exchange_group_find(survey->gathering, comm, sequence, name, survey->groups[own_group].kind, &place);
    if (code)
        return code;
    survey->places[own_group] = place;
    describe(survey, &survey->gathering->exchanges->groups[place], payload, trace_text(survey->trace, own_name));
    return 0;
}

/* What no other trace can have a part in: OpenMP's barriers, groups of foreign files. */
static int add_own_groups(struct survey *survey)
{
    struct exchanges *exchanges = survey->gathering->exchanges;
    for (uint32_t i = 0; i < survey->group_count; i++) {
        if (survey->places[i] != ID_NONE)
            continue;
        struct exchange_group *groups = array_reserve(exchanges->groups, &exchanges->group_capacity, exchanges->group_count + 1, sizeof *groups);
        if (!groups)
            return -ENOMEM;
        exchanges->groups = groups;
        struct exchange_group *group = &groups[exchanges->group_count];
        *group = (struct exchange_group){.kind = survey->groups[i].kind, .sequence = survey->groups[i].sequence, .root = -1};
        int code = string_table_intern_text(exchanges->names, trace_text(survey->trace, survey->groups[i].name), &group->name);
        if (code)
            return code;
        survey->places[i] = (uint32_t)exchanges->group_count++;
    }
    return 0;
}

/* --- windows ------------------------------------------------------------------------------------------------------ */

static int32_t world_size(const struct trace *trace)
{
    const char *text = trace_metadata(trace, "mpi.world_size");
    uint64_t size;
    return text && parse_u64(text, &size) == 0 && size < WORLD_MAX ? (int32_t)size : 0;
}

/* A post, start, complete, wait or test of a window. */
static int note_window_call(struct survey *survey, const struct span_block *block, uint32_t row, enum epoch_role role)
{
    struct exchange_gathering *gathering = survey->gathering;
    uint32_t process = survey->tracks[block->info.track.index].process.index;
    struct payload payload;
    int code = span_payload(block, row, &payload);
    if (code || payload.kind != PAYLOAD_RMA || !has(&payload, FIELD_RMA_window) || process >= survey->process_count)
        return code;
    struct exchange_call *calls = array_reserve(gathering->calls, &gathering->call_capacity, gathering->call_count + 1, sizeof *calls);
    if (!calls)
        return -ENOMEM;
    gathering->calls = calls;
    calls[gathering->call_count] = (struct exchange_call){survey->number, {block->info.first + row}};
    const struct epoch_call call = {
        .window = payload.fields[FIELD_RMA_window].u64, .begin_ns = block->begin_ns[row], .process = gathering->first_process + process,
        .span = (uint32_t)gathering->call_count++, .rank = survey->processes[process].rank, .size = survey->world_size, .role = role,
        .group = has(&payload, FIELD_RMA_group) ? trace_text(survey->trace, payload.fields[FIELD_RMA_group].string) : "",
    };
    return epoch_match_add(gathering->epochs, &call);
}

/* --- passes ------------------------------------------------------------------------------------------------------- */

static int add_member(struct survey *survey, uint32_t group, span_id span, int32_t rank)
{
    struct exchanges *exchanges = survey->gathering->exchanges;
    if (group >= survey->group_count || span.index >= survey->span_limit || survey->groups[group].kind != LINK_KIND_COLLECTIVE)
        return 0;
    struct exchange_member *members =
        array_reserve(exchanges->members, &exchanges->member_capacity, exchanges->member_count + 1, sizeof *members);
    if (!members)
        return -ENOMEM;
    exchanges->members = members;
    members[exchanges->member_count++] = (struct exchange_member){.end = {.trace = survey->number, .span = span}, .group = group, .rank = rank};
    survey->group_of[span.index] = group;
    return 0;
}

static int pass_members(struct survey *survey, struct error *err)
{
    int code = 0;
    for (uint32_t i = 0; i < trace_block_count(survey->trace, FAMILY_MEMBERS) && code == 0; i++) {
        struct member_block block;
        code = trace_members_get(survey->trace, i, &block, err);
        if (code)
            return code;
        for (uint32_t row = 0; row < block.info.count && code == 0; row++)
            code = add_member(survey, block.group[row].index, block.span[row], block.rank ? block.rank[row] : -1);
        trace_members_put(survey->trace, &block);
    }
    return code;
}

static int take_span(struct survey *survey, const struct span_block *block, uint32_t row)
{
    uint32_t span = block->info.first + row;
    uint8_t kind = block->kind ? block->kind[row] : SPAN_KIND_UNKNOWN;
    string_id name = block->name ? block->name[row] : STRING_NONE;
    survey->begin_ns[span] = block->begin_ns[row];
    survey->complete_ns[span] = block->end_ns[row] == INT64_MIN || returns_at_once(trace_text(survey->trace, name), kind) ? EXCHANGE_UNKNOWN_NS
                                                                                                                         : block->end_ns[row];
    enum epoch_role role = kind == SPAN_KIND_RMA ? epoch_role_of(trace_text(survey->trace, name)) : EPOCH_NONE;
    int code = role == EPOCH_NONE ? 0 : note_window_call(survey, block, row, role);
    if (code || survey->group_of[span] == ID_NONE)
        return code;
    struct payload payload;
    code = span_payload(block, row, &payload);
    return code ? code : note_member(survey, survey->group_of[span], &payload, name);
}

static int pass_spans(struct survey *survey, struct error *err)
{
    int code = 0;
    for (uint32_t i = 0; i < trace_block_count(survey->trace, FAMILY_SPANS) && code == 0; i++) {
        struct span_block block;
        code = trace_spans_scan(survey->trace, i, (1u << SPAN_COLUMN_COUNT) - 1, &block, err);
        if (code)
            return code;
        for (uint32_t row = 0; row < block.info.count && code == 0; row++)
            code = take_span(survey, &block, row);
        trace_spans_put(survey->trace, &block);
    }
    return code;
}

/* A call that returns at once is over when the wait is that a link leads to. */
static int pass_links(struct survey *survey, struct error *err)
{
    for (uint32_t i = 0; i < trace_block_count(survey->trace, FAMILY_LINKS); i++) {
        struct link_block block;
        int code = trace_links_get(survey->trace, i, &block, err);
        if (code)
            return code;
        for (uint32_t row = 0; row < block.info.count; row++) {
            uint32_t from = block.from[row].index, to = block.to[row].index;
            if (block.kind && block.kind[row] == LINK_KIND_REQUEST && from < survey->span_limit && to < survey->span_limit)
                survey->complete_ns[from] = survey->complete_ns[to];
        }
        trace_links_put(survey->trace, &block);
    }
    return 0;
}

static void fill_end(const struct survey *survey, struct exchange_end *end)
{
    if (end->trace != survey->number || end->span.index >= survey->span_limit)
        return;
    end->begin_ns = survey->begin_ns[end->span.index];
    end->complete_ns = survey->complete_ns[end->span.index];
}

static void fill(const struct survey *survey)
{
    struct exchanges *exchanges = survey->gathering->exchanges;
    for (size_t i = survey->first_member; i < exchanges->member_count; i++) {
        exchanges->members[i].group = survey->places[exchanges->members[i].group];
        fill_end(survey, &exchanges->members[i].end);
    }
    for (size_t i = 0; i < exchanges->message_count; i++) {
        fill_end(survey, &exchanges->messages[i].send);
        fill_end(survey, &exchanges->messages[i].receive);
    }
}

static int prepare(struct survey *survey)
{
    for (uint32_t i = 0; i < trace_block_count(survey->trace, FAMILY_SPANS); i++) {
        struct block_info info = trace_block_info(survey->trace, FAMILY_SPANS, i);
        if (info.first + info.count > survey->span_limit)
            survey->span_limit = info.first + info.count;
    }
    uint32_t tracks;
    survey->groups = trace_groups(survey->trace, &survey->group_count);
    survey->tracks = trace_tracks(survey->trace, &tracks);
    survey->processes = trace_processes(survey->trace, &survey->process_count);
    survey->world_size = world_size(survey->trace);
    survey->begin_ns = calloc((size_t)survey->span_limit + 1, sizeof *survey->begin_ns);
    survey->complete_ns = calloc((size_t)survey->span_limit + 1, sizeof *survey->complete_ns);
    survey->group_of = malloc(((size_t)survey->span_limit + 1) * sizeof *survey->group_of);
    survey->places = malloc(((size_t)survey->group_count + 1) * sizeof *survey->places);
    survey->gathering->exchanges->groups_of[survey->number] = survey->places;
    if (!survey->begin_ns || !survey->complete_ns || !survey->group_of || !survey->places)
        return -ENOMEM;
    memset(survey->group_of, 0xff, ((size_t)survey->span_limit + 1) * sizeof *survey->group_of);
    memset(survey->places, 0xff, ((size_t)survey->group_count + 1) * sizeof *survey->places);
    survey->first_member = survey->gathering->exchanges->member_count;
    return 0;
}

int exchange_survey(struct exchange_gathering *gathering, const struct trace *trace, uint32_t number, struct error *err)
{
    struct survey survey = {.gathering = gathering, .trace = trace, .number = number};
    int code = prepare(&survey);
    if (code == 0)
        code = pass_members(&survey, err);
    if (code == 0)
        code = pass_spans(&survey, err);
    if (code == 0)
        code = pass_links(&survey, err);
    if (code == 0)
        code = add_own_groups(&survey);
    if (code == 0)
        fill(&survey);
    gathering->first_process += survey.process_count;
    free(survey.begin_ns);
    free(survey.complete_ns);
    free(survey.group_of);
    return code == -ENOMEM ? error_set(err, code, "out of memory for the messages of the traces") : code;
}
