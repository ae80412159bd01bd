/* SPDX-License-Identifier: MIT */
/*
 * Events of an OTF2 archive: regions become spans; messages and collectives, which are events inside of them, become the spans'
 * payloads, and links and groups by the identities that they carry.
 */
#if HP_HAVE_OTF2
#include "otf2_import.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

static int64_t nanoseconds(const struct otf2_import *import, OTF2_TimeStamp time)
{
    __int128 ticks = (__int128)time - import->global_offset;
    __int128 ns = import->ticks_per_second ? ticks * 1000000000 / import->ticks_per_second : ticks;
    return ns > INT64_MAX / 4 ? INT64_MAX / 4 : ns < INT64_MIN / 4 ? INT64_MIN / 4 : (int64_t)ns;
}

static OTF2_CallbackCode code_of(struct otf2_import *import, int code)
{
    if (code < 0 && code != -EINVAL && import->code == 0)
        import->code = code;
    return import->code ? OTF2_CALLBACK_INTERRUPT : OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode lose(struct otf2_import *import, enum otf2_loss loss)
{
    import->lost[loss]++;
    return OTF2_CALLBACK_SUCCESS;
}

static struct otf2_frame *innermost(struct otf2_location *location)
{
    return location && location->frame_count ? &location->frames[location->frame_count - 1] : NULL;
}

static void put(struct payload *payload, unsigned field, union payload_value value)
{
    payload->fields[field] = value;
    payload->present |= UINT32_C(1) << field;
}

#define PUT_U64(payload, field, number) put((payload), (field), (union payload_value){.u64 = (number)})
#define PUT_I64(payload, field, number) put((payload), (field), (union payload_value){.i64 = (number)})

/* --- spans -------------------------------------------------------------------------------------------------------- */

static int add_request_links(struct otf2_import *import, struct otf2_location *location, const struct otf2_frame *frame, span_id end)
{
    int code = 0;
    for (size_t i = frame->first_ended; i < location->ended_count && code == 0; i++) {
        const struct otf2_posting *posting = &location->postings[location->ended[i]];
        const struct trace_link link = {.kind = LINK_KIND_REQUEST, .confidence = CONFIDENCE_CERTAIN, .from = posting->handle, .to = end};
        if (posting->added && posting->handle.index != end.index)
            code = trace_builder_add_link(import->builder, &link);
    }
    location->ended_count = frame->first_ended;
    return code;
}

static int note_message(struct otf2_import *import, const struct otf2_location *location, const struct span *span, const struct payload *payload,
                        span_id handle)
{
    const struct otf2_process *process = &import->processes[location->process];
    if (payload->kind != PAYLOAD_MESSAGE || process->match == UINT32_MAX)
        return 0;
    const struct message_span message = {.process = process->match, .span = handle.index, .thread = span->track.index, .rank = process->rank,
                                         .receive = span->kind == SPAN_KIND_RECV, .begin_ns = span->begin_ns, .received_ns = INT64_MAX};
    return message_match_add_span(import->match, &message, payload);
}

static int add_span(struct otf2_import *import, struct otf2_location *location, const struct span *span, const struct payload *payload,
                    span_id *ret_handle)
{
    int code = trace_builder_add_span(import->builder, span, payload->kind == PAYLOAD_NONE ? NULL : payload, ret_handle);
    return code ? code : note_message(import, location, span, payload, *ret_handle);
}

static int add_posting(struct otf2_import *import, struct otf2_location *location, struct otf2_posting *posting)
{
    const struct otf2_process *process = &import->processes[location->process];
    if (posting->added)
        return 0;
    posting->added = true;
    if (posting->payload.kind != PAYLOAD_MESSAGE && process->match != UINT32_MAX)
        code_of(import, message_match_add_posting(import->match, process->match, posting->order));
    return add_span(import, location, &posting->span, &posting->payload, &posting->handle);
}

/* The span of a nonblocking receive's posting waits for its end, which tells what arrived. */
static int keep_posting(struct otf2_import *import, struct otf2_location *location, const struct otf2_frame *frame, const struct span *span)
{
    struct otf2_posting *posting = &location->postings[frame->posting - 1];
    posting->span = *span;
    posting->placed = true;
    if (posting->payload.kind == PAYLOAD_NONE)
        posting->payload = frame->payload;
    return posting->payload.kind == PAYLOAD_MESSAGE ? add_posting(import, location, posting) : 0;
}

static int close_frame(struct otf2_import *import, struct otf2_location *location, int64_t end_ns)
{
    struct otf2_frame *frame = &location->frames[--location->frame_count];
    const struct otf2_region *region = &import->regions[frame->region];
    struct otf2_process *process = &import->processes[location->process];
    struct span span = {.track = location->track, .begin_ns = frame->begin_ns, .end_ns = end_ns, .name = region->name,
                        .category = region->category, .kind = frame->kind == SPAN_KIND_UNKNOWN ? region->kind : frame->kind,
                        .parent = SPAN_NONE, .stack = STACK_NONE};
    span_id handle = SPAN_NONE;
    process->first_ns = frame->begin_ns < process->first_ns ? frame->begin_ns : process->first_ns;
    process->last_ns = end_ns > process->last_ns ? end_ns : process->last_ns;
    if (frame->posting)
        return keep_posting(import, location, frame, &span);
    int code = add_span(import, location, &span, &frame->payload, &handle);
    if (code == 0 && frame->group.index != ID_NONE)
        code = trace_builder_add_member(import->builder, &(struct group_member){frame->group, handle, process->rank});
    return code ? code : add_request_links(import, location, frame, handle);
}

static OTF2_CallbackCode on_enter(OTF2_LocationRef self, OTF2_TimeStamp time, void *state, OTF2_AttributeList *attributes, OTF2_RegionRef region)
{
    struct otf2_import *import = state;
    struct otf2_location *location = otf2_location(import, self);
    uint64_t index;
    if (!location || !map_get(&import->region_index, region, &index))
        return lose(import, OTF2_LOSS_LOCATION);
    struct otf2_frame *frames = array_reserve(location->frames, &location->frame_capacity, location->frame_count + 1, sizeof *frames);
    if (!frames)
        return code_of(import, -ENOMEM);
    location->frames = frames;
    frames[location->frame_count++] = (struct otf2_frame){.region = (uint32_t)index, .begin_ns = nanoseconds(import, time), .group = GROUP_NONE,
                                                          .first_ended = (uint32_t)location->ended_count};
    return OTF2_CALLBACK_SUCCESS;
}

/* Recorders that end while regions are open leave them in another order than they came. */
static OTF2_CallbackCode on_leave(OTF2_LocationRef self, OTF2_TimeStamp time, void *state, OTF2_AttributeList *attributes, OTF2_RegionRef region)
{
    struct otf2_import *import = state;
    struct otf2_location *location = otf2_location(import, self);
    uint64_t index;
    size_t depth = location ? location->frame_count : 0;
    if (!location || !map_get(&import->region_index, region, &index))
        return lose(import, OTF2_LOSS_LOCATION);
    while (depth > 0 && location->frames[depth - 1].region != index)
        depth--;
    if (depth == 0)
        return lose(import, OTF2_LOSS_LEAVE);
    int code = 0;
    while (location->frame_count >= depth && code == 0)
        code = close_frame(import, location, nanoseconds(import, time));
    return code_of(import, code);
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

struct message_facts {
    uint32_t peer, tag;
    uint64_t comm, bytes;
};

static void begin_message(struct payload *payload, uint64_t comm, uint64_t order)
{
    if (payload->kind == PAYLOAD_MESSAGE)
        return;
    *payload = (struct payload){.kind = PAYLOAD_MESSAGE};
    PUT_U64(payload, FIELD_MESSAGE_comm, comm + 1);
    PUT_U64(payload, FIELD_MESSAGE_order, order);
}

static void sent(struct otf2_import *import, struct payload *payload, const struct message_facts *facts, uint64_t order)
{
    begin_message(payload, facts->comm, order);
    PUT_I64(payload, FIELD_MESSAGE_send_to, otf2_world_rank(import, facts->comm, facts->peer));
    PUT_I64(payload, FIELD_MESSAGE_send_tag, facts->tag);
    PUT_U64(payload, FIELD_MESSAGE_send_bytes, facts->bytes);
}

static void received(struct otf2_import *import, struct payload *payload, const struct message_facts *facts, uint64_t order)
{
    begin_message(payload, facts->comm, order);
    PUT_I64(payload, FIELD_MESSAGE_receive_from, otf2_world_rank(import, facts->comm, facts->peer));
    PUT_I64(payload, FIELD_MESSAGE_receive_tag, facts->tag);
    PUT_U64(payload, FIELD_MESSAGE_receive_bytes, facts->bytes);
}

static uint64_t next_order(struct otf2_import *import, const struct otf2_location *location)
{
    return ++import->processes[location->process].order;
}

static OTF2_CallbackCode on_send(OTF2_LocationRef self, OTF2_TimeStamp time, void *state, OTF2_AttributeList *attributes, uint32_t receiver,
                                 OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
{
    struct otf2_import *import = state;
    struct otf2_location *location = otf2_location(import, self);
    struct otf2_frame *frame = innermost(location);
    if (!frame)
        return lose(import, OTF2_LOSS_OUTSIDE);
    sent(import, &frame->payload, &(struct message_facts){receiver, tag, comm, bytes}, next_order(import, location));
    frame->kind = frame->kind == SPAN_KIND_RECV ? SPAN_KIND_RECV : SPAN_KIND_SEND;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_receive(OTF2_LocationRef self, OTF2_TimeStamp time, void *state, OTF2_AttributeList *attributes, uint32_t sender,
                                    OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
{
    struct otf2_import *import = state;
    struct otf2_location *location = otf2_location(import, self);
    struct otf2_frame *frame = innermost(location);
    if (!frame)
        return lose(import, OTF2_LOSS_OUTSIDE);
    uint64_t order = frame->payload.kind == PAYLOAD_MESSAGE ? 0 : next_order(import, location); /* of a sendrecv: the send's */
    received(import, &frame->payload, &(struct message_facts){sender, tag, comm, bytes}, order);
    frame->kind = SPAN_KIND_RECV;
    return OTF2_CALLBACK_SUCCESS;
}

/* Puts a request into the list; an older one of the same number is over, whatever became of it. */
static int post(struct otf2_import *import, struct otf2_location *location, uint64_t request)
{
    uint64_t place;
    int code = map_get(&location->requests, request, &place) && location->postings[place].placed
                   ? add_posting(import, location, &location->postings[place])
                   : 0;
    struct otf2_posting *postings =
        code ? NULL : array_reserve(location->postings, &location->posting_capacity, location->posting_count + 1, sizeof *postings);
    if (!postings)
        return code ? code : -ENOMEM;
    location->postings = postings;
    postings[location->posting_count] = (struct otf2_posting){.handle = SPAN_NONE, .order = next_order(import, location)};
    struct otf2_frame *frame = innermost(location);
    frame->posting = (uint32_t)++location->posting_count;
    return map_set(&location->requests, request, location->posting_count - 1);
}

static OTF2_CallbackCode on_send_posted(OTF2_LocationRef self, OTF2_TimeStamp time, void *state, OTF2_AttributeList *attributes, uint32_t receiver,
                                        OTF2_CommRef comm, uint32_t tag, uint64_t bytes, uint64_t request)
{
    struct otf2_import *import = state;
    struct otf2_location *location = otf2_location(import, self);
    struct otf2_frame *frame = innermost(location);
    if (!frame)
        return lose(import, OTF2_LOSS_OUTSIDE);
    int code = post(import, location, request);
    if (code == 0)
        sent(import, &frame->payload, &(struct message_facts){receiver, tag, comm, bytes}, location->postings[location->posting_count - 1].order);
    frame->kind = SPAN_KIND_SEND;
    return code_of(import, code);
}

static OTF2_CallbackCode on_receive_posted(OTF2_LocationRef self, OTF2_TimeStamp time, void *state, OTF2_AttributeList *attributes, uint64_t request)
{
    struct otf2_import *import = state;
    struct otf2_location *location = otf2_location(import, self);
    struct otf2_frame *frame = innermost(location);
    if (!frame)
        return lose(import, OTF2_LOSS_OUTSIDE);
    frame->kind = SPAN_KIND_RECV;
    return code_of(import, post(import, location, request));
}

static struct otf2_posting *end_request(struct otf2_import *import, struct otf2_location *location, uint64_t request)
{
    uint64_t place;
    if (!innermost(location)) {
        lose(import, OTF2_LOSS_OUTSIDE);
        return NULL;
    }
    if (!map_get(&location->requests, request, &place)) {
        lose(import, OTF2_LOSS_REQUEST);
        return NULL;
    }
    uint32_t *ended = array_reserve(location->ended, &location->ended_capacity, location->ended_count + 1, sizeof *ended);
    if (!ended) {
        code_of(import, -ENOMEM);
        return NULL;
    }
    location->ended = ended;
    ended[location->ended_count++] = (uint32_t)place;
    map_remove(&location->requests, request);
    return &location->postings[place];
}

static OTF2_CallbackCode on_send_over(OTF2_LocationRef self, OTF2_TimeStamp time, void *state, OTF2_AttributeList *attributes, uint64_t request)
{
    struct otf2_import *import = state;
    end_request(import, otf2_location(import, self), request);
    return code_of(import, 0);
}

static OTF2_CallbackCode on_receive_over(OTF2_LocationRef self, OTF2_TimeStamp time, void *state, OTF2_AttributeList *attributes, uint32_t sender,
                                         OTF2_CommRef comm, uint32_t tag, uint64_t bytes, uint64_t request)
{
    struct otf2_import *import = state;
    struct otf2_location *location = otf2_location(import, self);
    struct otf2_posting *posting = end_request(import, location, request);
    if (!posting)
        return code_of(import, 0);
    received(import, &posting->payload, &(struct message_facts){sender, tag, comm, bytes}, posting->order);
    return code_of(import, posting->placed ? add_posting(import, location, posting) : 0);
}

/* --- collectives -------------------------------------------------------------------------------------------------- */

static int collective_group(struct otf2_import *import, uint64_t comm, uint64_t sequence, string_id name, group_id *ret_group)
{
    uint64_t key = hash_u64(hash_u64(comm) + sequence), known;
    struct trace_group group = {.kind = LINK_KIND_COLLECTIVE, .name = name, .sequence = sequence};
    if (map_get(&import->collectives, key, &known)) {
        *ret_group = (group_id){(uint32_t)known};
        return 0;
    }
    int code = trace_builder_add_group(import->builder, &group, ret_group);
    return code ? code : map_set(&import->collectives, key, ret_group->index);
}

static OTF2_CallbackCode on_collective(OTF2_LocationRef self, OTF2_TimeStamp time, void *state, OTF2_AttributeList *attributes,
                                       OTF2_CollectiveOp operation, OTF2_CommRef comm, uint32_t root, uint64_t bytes_sent, uint64_t bytes_received)
{
    struct otf2_import *import = state;
    struct otf2_location *location = otf2_location(import, self);
    struct otf2_frame *frame = innermost(location);
    uint64_t sequence = 0;
    if (!frame)
        return lose(import, OTF2_LOSS_OUTSIDE);
    struct map *sequences = &import->processes[location->process].sequences;
    map_get(sequences, comm, &sequence);
    int code = map_set(sequences, comm, ++sequence);
    frame->kind = SPAN_KIND_COLLECTIVE;
    frame->payload = (struct payload){.kind = PAYLOAD_COLLECTIVE};
    PUT_U64(&frame->payload, FIELD_COLLECTIVE_comm, comm + 1);
    PUT_U64(&frame->payload, FIELD_COLLECTIVE_sequence, sequence);
    if (root != OTF2_UNDEFINED_UINT32 && otf2_world_rank(import, comm, root) >= 0)
        PUT_I64(&frame->payload, FIELD_COLLECTIVE_root, otf2_world_rank(import, comm, root));
    PUT_U64(&frame->payload, FIELD_COLLECTIVE_bytes_sent, bytes_sent);
    PUT_U64(&frame->payload, FIELD_COLLECTIVE_bytes_received, bytes_received);
    if (code == 0)
        code = collective_group(import, comm, sequence, import->regions[frame->region].name, &frame->group);
    return code_of(import, code);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static OTF2_GlobalEvtReaderCallbacks *make_callbacks(void)
{
    OTF2_GlobalEvtReaderCallbacks *callbacks = OTF2_GlobalEvtReaderCallbacks_New();
    if (!callbacks)
        return NULL;
    OTF2_GlobalEvtReaderCallbacks_SetEnterCallback(callbacks, on_enter);
    OTF2_GlobalEvtReaderCallbacks_SetLeaveCallback(callbacks, on_leave);
    OTF2_GlobalEvtReaderCallbacks_SetMpiSendCallback(callbacks, on_send);
    OTF2_GlobalEvtReaderCallbacks_SetMpiRecvCallback(callbacks, on_receive);
    OTF2_GlobalEvtReaderCallbacks_SetMpiIsendCallback(callbacks, on_send_posted);
    OTF2_GlobalEvtReaderCallbacks_SetMpiIsendCompleteCallback(callbacks, on_send_over);
    OTF2_GlobalEvtReaderCallbacks_SetMpiIrecvRequestCallback(callbacks, on_receive_posted);
    OTF2_GlobalEvtReaderCallbacks_SetMpiIrecvCallback(callbacks, on_receive_over);
    OTF2_GlobalEvtReaderCallbacks_SetMpiCollectiveEndCallback(callbacks, on_collective);
    return callbacks;
}

int otf2_read_events(struct otf2_import *import, OTF2_Reader *reader)
{
    size_t position = 0;
    uint64_t location, index, read;
    while (map_next(&import->location_index, &position, &location, &index))
        if (OTF2_Reader_SelectLocation(reader, location) != OTF2_SUCCESS)
            return -EBADMSG;
    if (OTF2_Reader_OpenEvtFiles(reader) != OTF2_SUCCESS)
        return -ENOENT;
    position = 0;
    while (map_next(&import->location_index, &position, &location, &index))
        OTF2_Reader_GetEvtReader(reader, location);
    OTF2_GlobalEvtReader *events = OTF2_Reader_GetGlobalEvtReader(reader);
    OTF2_GlobalEvtReaderCallbacks *callbacks = make_callbacks();
    OTF2_ErrorCode status = OTF2_ERROR_MEM_FAULT;
    if (events && callbacks) {
        status = OTF2_Reader_RegisterGlobalEvtCallbacks(reader, events, callbacks, import);
        if (status == OTF2_SUCCESS)
            status = OTF2_Reader_ReadAllGlobalEvents(reader, events, &read);
    }
    OTF2_GlobalEvtReaderCallbacks_Delete(callbacks);
    if (events)
        OTF2_Reader_CloseGlobalEvtReader(reader, events);
    OTF2_Reader_CloseEvtFiles(reader);
    return import->code ? import->code : status == OTF2_SUCCESS ? 0 : -EBADMSG;
}

static int add_message_link(void *context, const struct message_pair *pair)
{
    struct otf2_import *import = context;
    const struct trace_link link = {.kind = LINK_KIND_MESSAGE, .confidence = pair->confidence, .from = {pair->send_span}, .to = {pair->receive_span}};
    return trace_builder_add_link(import->builder, &link);
}

static int finish_location(struct otf2_import *import, struct otf2_location *location)
{
    const struct otf2_process *process = &import->processes[location->process];
    int code = 0;
    while (location->frame_count && code == 0) {
        int64_t begin_ns = location->frames[location->frame_count - 1].begin_ns;
        code = close_frame(import, location, process->last_ns > begin_ns ? process->last_ns : begin_ns);
    }
    for (size_t i = 0; i < location->posting_count && code == 0; i++)
        code = location->postings[i].placed ? add_posting(import, location, &location->postings[i]) : 0;
    return code;
}

static int count_messages(struct otf2_import *import)
{
    const struct message_counts *counts = message_match_counts(import->match);
    uint64_t pairs = 0;
    int code = 0;
    for (int i = 0; i < CONFIDENCE_COUNT; i++)
        pairs += counts->pairs[i];
    if (pairs)
        code = trace_builder_add_ledger(import->builder, "MPI message ends", 2 * pairs, 2 * pairs, 0, "");
    for (int reason = 0; reason < MESSAGE_REASONS_COUNT && code == 0; reason++) {
        uint64_t lost = counts->unmatched_sends[reason] + counts->unmatched_receives[reason] + counts->left_out[reason];
        if (lost)
            code = trace_builder_add_ledger(import->builder, "MPI message ends", lost, 0, lost, message_reason_text((enum message_reason)reason));
    }
    return code;
}

int otf2_finish_events(struct otf2_import *import)
{
    int code = 0;
    for (size_t i = 0; i < import->location_count && code == 0; i++)
        code = finish_location(import, &import->locations[i]);
    for (size_t i = 0; i < import->process_count && code == 0; i++) {
        struct otf2_process *process = &import->processes[i];
        struct trace_process *row = trace_builder_process(import->builder, process->id);
        if (row && process->first_ns <= process->last_ns) {
            row->start_ns = process->first_ns;
            row->end_ns = process->last_ns;
        }
        if (process->match != UINT32_MAX)
            message_match_finalized(import->match, process->match);
    }
    if (code == 0)
        code = message_match_run(import->match, add_message_link, import);
    return code ? code : count_messages(import);
}
#else
typedef int otf2_is_not_built_in;
#endif
