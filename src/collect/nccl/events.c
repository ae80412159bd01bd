/* SPDX-License-Identifier: MIT */
/*
 * NCCL stops a collective's own event once it is enqueued; its kernel's channels tell of their begin and end later. So an
 * operation has as many references as it has channels, and one: the last one to go writes it. Before version 4 channels have no
 * times, and an operation ends when it is enqueued. Device times are the GPU's global timer: they go to a lane of their own, in a
 * clock of their own, which the merge fits between the host's times of enqueuing and of seeing the end.
 */
#include "events.h"

#include "../lane_record.h"

#include <string.h>
#include <sys/mman.h>

#define LAYER WIRE_LAYER_NCCL
enum { COMMS = 1024, EVENTS = 1 << 16, NO_EVENT = UINT32_MAX, DEVICE_CLOCK = 1 };

struct event {
    uint32_t next;       /* free list */
    uint32_t references; /* 0 = free */
    uint32_t type;
    uint32_t parent;     /* of a part: the operation's number */
    struct nccl_comm *comm;
    uint64_t begin, stopped; /* stopped: when it had been enqueued */
    uint64_t device_begin_ns, device_end_ns; /* 0 = unknown; atomic minimum and maximum */
    uint64_t comm_id, sequence;
    uint64_t order;      /* of operations; a part has its operation's */
    uint64_t bytes;
    const void *send;
    void *receive;
    int32_t rank, root, peer;
    uint32_t name, algorithm, protocol, channels;
};

static struct nccl_comm comms[COMMS];
static struct event *events;
static uint64_t free_head = NO_EVENT; /* number of the first free event, and a count of changes above it */
static uint32_t fresh;                /* numbers never used begin here */
static uint64_t lost, orders;

static bool events_map(void)
{
    struct event *known = __atomic_load_n(&events, __ATOMIC_ACQUIRE), *expected = 0;
    if (known)
        return true;
    void *memory = mmap(0, EVENTS * sizeof *events, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    if (!__atomic_compare_exchange_n(&events, &expected, memory, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        munmap(memory, EVENTS * sizeof *events);
    return true;
}

static uint32_t event_take(void)
{
    uint64_t head = __atomic_load_n(&free_head, __ATOMIC_ACQUIRE);
    while ((uint32_t)head != NO_EVENT) {
        uint64_t next = ((head >> 32) + 1) << 32 | __atomic_load_n(&events[(uint32_t)head].next, __ATOMIC_RELAXED);
        if (__atomic_compare_exchange_n(&free_head, &head, next, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return (uint32_t)head;
    }
    uint32_t number = __atomic_load_n(&fresh, __ATOMIC_RELAXED);
    while (number < EVENTS)
        if (__atomic_compare_exchange_n(&fresh, &number, number + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return number;
    __atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
    return NO_EVENT;
}

static void event_give_back(uint32_t number)
{
    uint64_t head = __atomic_load_n(&free_head, __ATOMIC_ACQUIRE), next;
    do {
        __atomic_store_n(&events[number].next, (uint32_t)head, __ATOMIC_RELAXED);
        next = ((head >> 32) + 1) << 32 | number;
    } while (!__atomic_compare_exchange_n(&free_head, &head, next, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
}

static uint32_t word(const char *text)
{
    return text ? rt_string(text, strnlen(text, 256)) : 0;
}

static size_t datatype_bytes(const char *name)
{
    static const struct {
        const char *name;
        uint8_t bytes;
    } types[] = {{"ncclInt8", 1},    {"ncclUint8", 1},   {"ncclInt32", 4},    {"ncclUint32", 4},    {"ncclInt64", 8},     {"ncclUint64", 8},
                 {"ncclFloat16", 2}, {"ncclFloat32", 4}, {"ncclFloat64", 8},  {"ncclBfloat16", 2},  {"ncclFloat8e4m3", 1}, {"ncclFloat8e5m2", 1}};
    for (unsigned i = 0; name && i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].name, name) == 0)
            return types[i].bytes;
    return 0; /* unknown */
}

static void announce_lane(const struct nccl_comm *comm, bool device, const char *name)
{
    const struct wire_queue record = {
        .header = {WIRE_QUEUE, sizeof record / 8, word(name)},
        .time = rt_now(),
        .queue = (uint64_t)(comm - comms) * 2 + device,
        .device = -1,
        .stream = (int32_t)(comm - comms),
        .layer = LAYER,
    };
    rt_append(&record.header);
}

struct nccl_comm *nccl_comm_open(uint64_t comm, int rank, bool has_kernels)
{
    for (unsigned i = 0; i < COMMS && events_map(); i++) {
        uint32_t expected = 0;
        if (!__atomic_compare_exchange_n(&comms[i].used, &expected, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            continue;
        comms[i].comm = comm;
        comms[i].rank = rank;
        comms[i].has_kernels = has_kernels;
        announce_lane(&comms[i], false, "NCCL operations");
        announce_lane(&comms[i], true, "NCCL kernels");
        return &comms[i];
    }
    return 0;
}

static void fill_operation(struct event *event, const struct nccl_operation *operation)
{
    event->comm_id = operation->comm ? operation->comm : event->comm->comm;
    event->sequence = operation->sequence;
    event->bytes = operation->count * datatype_bytes(operation->datatype);
    event->send = operation->send;
    event->receive = operation->receive;
    event->rank = operation->rank;
    event->root = operation->root;
    event->peer = operation->peer;
    event->name = word(operation->function ? operation->function : "operation");
    event->algorithm = word(operation->algorithm);
    event->protocol = word(operation->protocol);
    event->channels = operation->channels;
    __atomic_store_n(&event->order, __atomic_add_fetch(&orders, 1, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

static uint32_t number_of(const void *handle)
{
    return (uint32_t)((uintptr_t)handle - 1);
}

/* The operation that a kernel's channel belongs to. */
static uint32_t parent_of(const struct nccl_operation *operation)
{
    uint32_t number = operation->parent ? number_of(operation->parent) : NO_EVENT;
    if (number >= EVENTS || __atomic_load_n(&events[number].references, __ATOMIC_ACQUIRE) == 0)
        return NO_EVENT;
    return number;
}

void *nccl_event_start(struct nccl_comm *comm, const struct nccl_operation *operation)
{
    bool is_part = operation->type == NCCL_KERNEL_CHANNEL;
    uint32_t parent = is_part ? parent_of(operation) : NO_EVENT;
    if (is_part && parent == NO_EVENT)
        return 0;
    uint32_t number = event_take();
    if (number == NO_EVENT)
        return 0;
    struct event *event = &events[number];
    event->type = (uint32_t)operation->type;
    event->parent = parent;
    event->comm = comm;
    event->device_begin_ns = operation->device_ns;
    event->device_end_ns = 0;
    event->begin = rt_now();
    if (is_part)
        event->order = __atomic_load_n(&events[parent].order, __ATOMIC_RELAXED);
    else
        fill_operation(event, operation);
    event->stopped = 0;
    bool has_parts = (operation->type == NCCL_COLL || operation->type == NCCL_P2P) && comm->has_kernels;
    __atomic_store_n(&event->references, has_parts ? 1 + operation->channels : 1, __ATOMIC_RELEASE);
    return (void *)((uintptr_t)number + 1);
}

void nccl_event_kernel_end(void *handle, uint64_t device_ns)
{
    struct event *event = &events[number_of(handle)];
    event->device_end_ns = device_ns;
}

static void minimum(uint64_t *target, uint64_t value)
{
    uint64_t known = __atomic_load_n(target, __ATOMIC_RELAXED);
    while (value && (known == 0 || value < known) &&
           !__atomic_compare_exchange_n(target, &known, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        ;
}
static void maximum(uint64_t *target, uint64_t value)
{
    uint64_t known = __atomic_load_n(target, __ATOMIC_RELAXED);
    while (value > known && !__atomic_compare_exchange_n(target, &known, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        ;
}

static void write_lane(struct lane_record *record, const struct event *event, unsigned kind, unsigned payload)
{
    record->span.span.layer = LAYER;
    record->span.device = -1;
    lane_write(record, event->name, kind, payload);
}

static void collective_fields(struct lane_record *record, const struct event *event)
{
    lane_field(record, FIELD_COLLECTIVE_comm, event->comm_id);
    lane_field(record, FIELD_COLLECTIVE_sequence, event->sequence);
    if (event->root >= 0)
        lane_field(record, FIELD_COLLECTIVE_root, (uint64_t)event->root);
    if (event->bytes)
        lane_field(record, FIELD_COLLECTIVE_bytes_sent, event->bytes);
    if (event->send)
        lane_field(record, FIELD_COLLECTIVE_send_buffer, (uintptr_t)event->send);
    if (event->receive)
        lane_field(record, FIELD_COLLECTIVE_receive_buffer, (uintptr_t)event->receive);
    if (event->algorithm)
        lane_field(record, FIELD_COLLECTIVE_algorithm, event->algorithm);
    if (event->protocol)
        lane_field(record, FIELD_COLLECTIVE_protocol, event->protocol);
    if (event->channels)
        lane_field(record, FIELD_COLLECTIVE_channels, event->channels);
    if (event->rank >= 0)
        lane_field(record, FIELD_COLLECTIVE_rank, (uint64_t)event->rank);
}

static void message_fields(struct lane_record *record, const struct event *event, bool sends)
{
    lane_field(record, FIELD_MESSAGE_comm, event->comm_id);
    lane_field(record, FIELD_MESSAGE_order, event->order);
    lane_field(record, sends ? FIELD_MESSAGE_send_to : FIELD_MESSAGE_receive_from, (uint64_t)(int64_t)event->peer);
    if (event->bytes)
        lane_field(record, sends ? FIELD_MESSAGE_send_bytes : FIELD_MESSAGE_receive_bytes, event->bytes);
    if (event->send)
        lane_field(record, sends ? FIELD_MESSAGE_send_buffer : FIELD_MESSAGE_receive_buffer, (uintptr_t)event->send);
}

static void clock_bound(uint64_t time, uint64_t device_ns, int order)
{
    const struct wire_device_clock record = {
        .header = {WIRE_DEVICE_CLOCK, sizeof record / 8, DEVICE_CLOCK}, .time = time, .device_time = device_ns, .order = order};
    rt_append(&record.header);
}

static bool is_send(const struct event *event)
{
    return event->name == word("Send") || event->name == word("ncclSend");
}

/* All parts have ended: the span of the operation, from its enqueuing to its last part's end, and that of its kernel. */
static void operation_end(const struct event *event, uint64_t end)
{
    bool collective = event->type == NCCL_COLL, sends = !collective && is_send(event);
    unsigned kind = collective ? SPAN_KIND_COLLECTIVE : sends ? SPAN_KIND_SEND : SPAN_KIND_RECV;
    struct lane_record record = {.span = {.queue = (uint64_t)(event->comm - comms) * 2}};
    record.span.span.begin = event->begin;
    record.span.span.end = end;
    if (collective)
        collective_fields(&record, event);
    else
        message_fields(&record, event, sends);
    write_lane(&record, event, kind, collective ? PAYLOAD_COLLECTIVE : PAYLOAD_MESSAGE);
    if (!event->device_begin_ns || event->device_end_ns < event->device_begin_ns)
        return;
    clock_bound(event->begin, event->device_begin_ns, 1);
    clock_bound(end, event->device_end_ns, -1);
    struct lane_record kernel = {.span = {.queue = (uint64_t)(event->comm - comms) * 2 + 1, .clock = DEVICE_CLOCK}};
    kernel.span.span.begin = event->device_begin_ns;
    kernel.span.span.end = event->device_end_ns;
    write_lane(&kernel, event, SPAN_KIND_KERNEL, PAYLOAD_NONE);
}

static void call_end(const struct event *event)
{
    struct rt_span span;
    span.begin = event->begin;
    span.end = rt_now();
    span.correlation = 0;
    span.name = event->name;
    span.category = span.stack = span.present = 0;
    span.layer = LAYER;
    span.span_kind = event->type == NCCL_KERNEL_LAUNCH ? SPAN_KIND_LAUNCH : SPAN_KIND_API;
    span.payload_kind = PAYLOAD_NONE;
    if (event->bytes) {
        span.payload_kind = PAYLOAD_API;
        rt_field(&span, FIELD_API_bytes, event->bytes);
    }
    rt_span(&span);
}

static void release(uint32_t number)
{
    struct event *event = &events[number];
    uint32_t references = __atomic_load_n(&event->references, __ATOMIC_ACQUIRE);
    do
        if (references == 0) /* its communicator was closed before its last part came */
            return;
    while (!__atomic_compare_exchange_n(&event->references, &references, references - 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    if (references != 1)
        return;
    if (event->type == NCCL_COLL || event->type == NCCL_P2P)
        operation_end(event, rt_now());
    event_give_back(number);
}

/* Operations whose kernels never told (they were captured into a graph, say) end when they had been enqueued. The
 * communicator's place stays taken: late parts may still come. */
void nccl_comm_close(struct nccl_comm *comm)
{
    uint32_t count = __atomic_load_n(&fresh, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; comm && i < count; i++) {
        struct event *event = &events[i];
        uint32_t references = __atomic_load_n(&event->references, __ATOMIC_ACQUIRE);
        if (references == 0 || event->comm != comm || !event->stopped || (event->type != NCCL_COLL && event->type != NCCL_P2P))
            continue;
        if (!__atomic_compare_exchange_n(&event->references, &references, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            continue;
        operation_end(event, event->stopped);
        event_give_back(i);
    }
    if (__atomic_exchange_n(&lost, 0, __ATOMIC_ACQ_REL))
        rt_note("NCCL: more operations in flight than there is room for: some are missing");
}

void nccl_event_stop(void *handle)
{
    uint32_t number = number_of(handle);
    struct event *event = &events[number];
    if (event->type == NCCL_GROUP_API)
        event->name = word("group");
    else if (event->type == NCCL_KERNEL_LAUNCH)
        event->name = word("kernel launch");
    if (event->type == NCCL_GROUP_API || event->type == NCCL_COLL_API || event->type == NCCL_P2P_API || event->type == NCCL_KERNEL_LAUNCH)
        call_end(event);
    event->stopped = rt_now();
    uint32_t parent = event->parent;
    if (parent != NO_EVENT && __atomic_load_n(&events[parent].order, __ATOMIC_RELAXED) != event->order)
        parent = NO_EVENT; /* its communicator was closed, and the place is another operation's by now */
    if (parent != NO_EVENT && event->type == NCCL_KERNEL_CHANNEL) {
        minimum(&events[parent].device_begin_ns, event->device_begin_ns);
        maximum(&events[parent].device_end_ns, event->device_end_ns);
    }
    release(number);
    if (parent != NO_EVENT)
        release(parent);
}
