/* SPDX-License-Identifier: MIT */
/*
 * Commands from their enqueue to their record. Where the program asks for no event we ask for one of our own; where it
 * does we retain its. Both are held until the command was seen complete and its four times were read: at each 16th
 * enqueue of its queue, at every wait, and at exit. No callbacks of the runtime: they cost its threads time, run at
 * moments of its choosing, and some runtimes never call those that come after exit began. In an out-of-order queue a
 * look goes through 64 commands at most.
 */
#include "state.h"
#include "wire/session.h"

#include <errno.h>
#include <unistd.h>

#define LOOK_EVERY 16u
#define LOOK_UNORDERED 64u

uint64_t ocl_failed, ocl_untimed, ocl_no_room;

static struct ocl_pool commands = {.item_bytes = sizeof(struct ocl_command)};
static struct ocl_map events; /* to the correlation of the command, or of the call that will set a user event */
/* Of this thread: the recorded call it is in. Calls from further down its stack are the runtime's own, but in
 * callbacks. */
static __thread struct ocl_outer outer __attribute__((tls_model("initial-exec")));

/* Ours on the stack when it is taken: this one's caller, the wrapper, the entry. entry.c is compiled without jumps in
 * place of calls. */
#define OWN_FRAMES 3u

static inline __attribute__((always_inline)) void begin(struct ocl_call *call, enum ocl_function function,
                                                        unsigned span_kind, unsigned payload_kind)
{
    call->call = (rt_call){0, 0};
    call->correlation = 0;
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    if (!ocl_ready() || frame < outer.frame)
        return;
    call->call = rt_enter(WIRE_LAYER_OPENCL, ocl_names[function]);
    if (!call->call.thread)
        return;
    outer = (struct ocl_outer){call->call.thread, frame};
    call->correlation = rt_correlation();
    call->span.correlation = call->correlation;
    call->span.name = ocl_names[function];
    call->span.category = 0;
    call->span.stack = rt_flags() & WIRE_SESSION_CALL_TREE ? rt_stack(OWN_FRAMES) : 0;
    call->span.present = 0;
    call->span.layer = WIRE_LAYER_OPENCL;
    call->span.span_kind = (uint8_t)span_kind;
    call->span.payload_kind = (uint8_t)payload_kind;
}

__attribute__((noinline)) void ocl_begin(struct ocl_call *call, enum ocl_function function, unsigned span_kind,
                                         unsigned payload_kind)
{
    begin(call, function, span_kind, payload_kind);
}

void ocl_end(struct ocl_call *call)
{
    if (!call->call.thread)
        return;
    rt_leave_span(call->call, &call->span);
    outer.frame = 0;
}

struct ocl_outer ocl_step_out(void)
{
    struct ocl_outer left = outer;
    if (left.frame)
        rt_cancel((rt_call){left.thread, 0}, WIRE_LAYER_OPENCL);
    outer.frame = 0;
    return left;
}

void ocl_step_back(struct ocl_outer left)
{
    outer = left;
}

uint64_t ocl_event_id(cl_event event)
{
    return ocl_map_get(&events, event);
}

void ocl_event_set(cl_event event, uint64_t id)
{
    ocl_map_put(&events, event, id);
}

void ocl_forget_commands(void)
{
    ocl_map_forget(&events);
    ocl_failed = ocl_untimed = ocl_no_room = 0;
}

void ocl_link(unsigned kind, uint64_t from, uint64_t to)
{
    if (from && to)
        rt_link(kind, CONFIDENCE_CERTAIN, WIRE_LAYER_OPENCL, from, WIRE_LAYER_OPENCL, to);
}

static void queued_fields(struct ocl_command *command)
{
    switch (command->payload_kind) {
    case PAYLOAD_KERNEL:
        command->queued_field = FIELD_KERNEL_queued_ns;
        command->submitted_field = FIELD_KERNEL_submitted_ns;
        break;
    case PAYLOAD_COPY:
        command->queued_field = FIELD_COPY_queued_ns;
        command->submitted_field = FIELD_COPY_submitted_ns;
        break;
    case PAYLOAD_FILL:
        command->queued_field = FIELD_FILL_queued_ns;
        command->submitted_field = FIELD_FILL_submitted_ns;
        break;
    default: command->queued_field = command->submitted_field = 255;
    }
}

static struct ocl_command *command_make(const struct ocl_enqueue *enqueue, enum ocl_text name, unsigned span_kind,
                                        unsigned payload_kind)
{
    struct ocl_command *command = ocl_pool_take(&commands);
    if (!command) {
        ocl_add(&ocl_no_room, 1ull);
        return 0;
    }
    command->queue = enqueue->queue;
    command->event = 0;
    command->id = rt_correlation();
    command->launch = enqueue->api.correlation;
    command->begin = enqueue->api.call.begin;
    command->begin_raw = ocl_clock_wants_begin(enqueue->queue->device) ? ocl_raw_ns() : 0;
    command->name = ocl_texts[name];
    command->present = 0;
    command->span_kind = (uint8_t)span_kind;
    command->payload_kind = (uint8_t)payload_kind;
    queued_fields(command);
    return command;
}

__attribute__((noinline)) void ocl_enqueue_begin(struct ocl_enqueue *enqueue, const struct ocl_api *table,
                                                 enum ocl_function function, cl_command_queue queue, cl_event *event,
                                                 enum ocl_text name, unsigned span_kind, unsigned payload_kind)
{
    begin(&enqueue->api, function, payload_kind == PAYLOAD_KERNEL ? SPAN_KIND_LAUNCH : SPAN_KIND_API, PAYLOAD_API);
    enqueue->table = table;
    enqueue->handle = queue;
    enqueue->program = enqueue->event = event;
    enqueue->own = 0;
    enqueue->command = 0;
    enqueue->queue = 0;
    if (!enqueue->api.call.thread)
        return;
    enqueue->queue = ocl_queue_find(queue);
    if (enqueue->queue)
        enqueue->command = command_make(enqueue, name, span_kind, payload_kind);
    if (enqueue->command && !event)
        enqueue->event = &enqueue->own;
}

void ocl_enqueue_field(struct ocl_enqueue *enqueue, unsigned position, uint64_t value)
{
    if (!enqueue->command)
        return;
    enqueue->command->fields[position] = value;
    enqueue->command->present |= 1u << position;
}

/* What an out-of-order queue and clEnqueueWaitForEvents let a command wait for beside its list. */
static void link_implicit(struct ocl_queue *queue, struct ocl_command *command, bool barrier)
{
    uint32_t waiting = ocl_load(&queue->waiting_count);
    if (waiting && ocl_change(&queue->waiting_count, &waiting, 0u))
        for (uint32_t i = 0; i < waiting && i < OCL_RECENT; i++)
            ocl_link(LINK_KIND_DEPEND, queue->waiting[i], command->id);
    if (!(queue->flags & OCL_IS_UNORDERED))
        return;
    if (!barrier) {
        ocl_link(LINK_KIND_DEPEND, ocl_load(&queue->barrier), command->id);
        ocl_store(&queue->recent[ocl_add(&queue->recent_count, 1u) % OCL_RECENT], command->id);
        return;
    }
    uint32_t count = ocl_swap(&queue->recent_count, 0u);
    for (uint32_t i = 0; i < count && i < OCL_RECENT; i++)
        ocl_link(LINK_KIND_DEPEND, ocl_load(&queue->recent[i]), command->id);
    ocl_store(&queue->barrier, command->id);
}

static void push(struct ocl_queue *queue, struct ocl_command *command)
{
    struct ocl_command *newest = ocl_load(&queue->inbox);
    do {
        command->next = newest;
    } while (!ocl_change(&queue->inbox, &newest, command));
    ocl_store(&queue->last, command->id);
}

static void api_fields(struct ocl_enqueue *enqueue, cl_int result, cl_bool blocking)
{
    struct rt_span *span = &enqueue->api.span;
    if (result)
        rt_field(span, FIELD_API_result, (uint64_t)(int64_t)result);
    if (enqueue->queue) {
        rt_field(span, FIELD_API_stream, enqueue->queue->id);
        rt_field(span, FIELD_API_device, (uint64_t)(int64_t)enqueue->queue->device->number);
    }
    if (enqueue->command && enqueue->command->payload_kind == PAYLOAD_COPY &&
        enqueue->command->present & 1u << FIELD_COPY_bytes)
        rt_field(span, FIELD_API_bytes, enqueue->command->fields[FIELD_COPY_bytes]);
    if (blocking)
        rt_field(span, FIELD_API_blocking, 1);
}

/* The command is on its way: its record is made later, from its event. */
static void follow(struct ocl_enqueue *enqueue, cl_bool blocking, cl_uint count, const cl_event *list)
{
    struct ocl_command *command = enqueue->command;
    struct ocl_queue *queue = enqueue->queue;
    bool barrier = command->name == ocl_texts[OCL_TEXT_BARRIER] && !count;
    command->event = enqueue->program ? *enqueue->program : enqueue->own;
    if (enqueue->program) {
        ocl_event_set(command->event, command->id);
        ocl_direct()->clRetainEvent(command->event);
    }
    for (cl_uint i = 0; list && i < count; i++)
        ocl_link(LINK_KIND_DEPEND, ocl_event_id(list[i]), command->id);
    link_implicit(queue, command, barrier);
    if (blocking)
        ocl_link(LINK_KIND_SYNC, command->id, command->launch);
    push(queue, command);
    if (blocking || ocl_add(&queue->since, 1u) >= LOOK_EVERY) {
        ocl_store(&queue->since, 0u);
        ocl_look(queue, blocking ? ~0u : 2 * LOOK_EVERY);
    }
}

cl_int ocl_enqueue_end(struct ocl_enqueue *enqueue, cl_int result, cl_bool blocking, cl_uint count,
                       const cl_event *list)
{
    if (!enqueue->api.call.thread) {
        if (result == OCL_SUCCESS && enqueue->program && ocl_load(&events.levels[0]) && !ocl_load(&ocl_off))
            ocl_event_set(*enqueue->program, 0); /* the handle may have stood for another command */
        return result;
    }
    int saved_errno = errno;
    if (enqueue->command && enqueue->command->begin_raw) {
        enqueue->command->enqueued_raw = ocl_raw_ns();
        enqueue->command->enqueued = rt_now();
    }
    api_fields(enqueue, result, blocking);
    ocl_end(&enqueue->api);
    if (enqueue->command && result == OCL_SUCCESS && (enqueue->program ? *enqueue->program : enqueue->own))
        follow(enqueue, blocking, count, list);
    else if (enqueue->command)
        ocl_pool_give(&commands, enqueue->command);
    errno = saved_errno;
    return result;
}

static bool time_of(const struct ocl_command *command, cl_uint which, uint64_t *ret_time)
{
    return ocl_direct()->clGetEventProfilingInfo(command->event, OCL_PROFILING_COMMAND_QUEUED + which, sizeof *ret_time,
                                                 ret_time, 0) == OCL_SUCCESS;
}

/* The end is there only when a command is through: that saves asking for its status. 1 = it is, 0 = not yet, -1 = it
 * will have none. */
static int end_of(const struct ocl_command *command, uint64_t *ret_end)
{
    cl_int status = 1;
    bool timed = !(command->queue->flags & OCL_IS_UNTIMED);
    if (timed && time_of(command, 3, ret_end) && *ret_end)
        return 1;
    if (ocl_direct()->clGetEventInfo(command->event, OCL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, 0) !=
        OCL_SUCCESS)
        return -1;
    if (status > OCL_COMPLETE)
        return 0;
    if (status < 0)
        ocl_add(&ocl_failed, 1ull);
    else if (timed && time_of(command, 3, ret_end) && *ret_end) /* it ended between the two questions */
        return 1;
    else
        ocl_add(&ocl_untimed, 1ull);
    return -1;
}

/* Its times if it is through: 1 = yes, 0 = not yet, -1 = it will have none. */
static int times_of(const struct ocl_command *command, uint64_t times[4])
{
    int state = end_of(command, &times[3]);
    if (state <= 0)
        return state;
    if (time_of(command, 0, &times[0]) && time_of(command, 1, &times[1]) && time_of(command, 2, &times[2]) &&
        times[2] && times[3] >= times[2])
        return 1;
    ocl_add(&ocl_untimed, 1ull);
    return -1;
}

/* Records a command that is through and lets go of it. False: it is still under way. */
static bool settle(struct ocl_command *command)
{
    uint64_t times[4] = {0, 0, 0, 0};
    int state = times_of(command, times);
    if (!state)
        return false;
    if (state > 0) {
        ocl_clock_note(command->queue->device, command, times);
        ocl_record_command(command, times, ocl_clock_number(command->queue->device));
    }
    ocl_direct()->clReleaseEvent(command->event);
    ocl_pool_give(&commands, command);
    return true;
}

/* Takes what was pushed, oldest first, behind what is there. */
static void take_inbox(struct ocl_queue *queue)
{
    struct ocl_command *command = ocl_load(&queue->inbox) ? ocl_swap(&queue->inbox, (struct ocl_command *)0) : 0;
    struct ocl_command *newest = command, *oldest = 0;
    while (command) {
        struct ocl_command *next = command->next;
        command->next = oldest;
        oldest = command;
        command = next;
    }
    if (!oldest)
        return;
    if (queue->tail)
        queue->tail->next = oldest;
    else
        queue->head = oldest;
    queue->tail = newest;
}

static struct ocl_command *take_head(struct ocl_queue *queue)
{
    struct ocl_command *command = queue->head;
    queue->head = command->next;
    if (!queue->head)
        queue->tail = 0;
    return command;
}

static void put_tail(struct ocl_queue *queue, struct ocl_command *command)
{
    command->next = 0;
    if (queue->tail)
        queue->tail->next = command;
    else
        queue->head = command;
    queue->tail = command;
}

static void look_in_order(struct ocl_queue *queue, uint32_t most)
{
    while (most-- && queue->head) {
        struct ocl_command *command = queue->head, *next = command->next;
        if (!settle(command))
            return;
        queue->head = next;
        if (!next)
            queue->tail = 0;
    }
}

/* What isn't through goes to the end, so that the next look sees others. */
static void look_unordered(struct ocl_queue *queue, uint32_t most)
{
    uint32_t under_way = 0;
    struct ocl_command *first_kept = 0;
    while (most-- && queue->head && queue->head != first_kept && under_way < LOOK_UNORDERED) {
        struct ocl_command *command = take_head(queue);
        if (settle(command))
            continue;
        put_tail(queue, command);
        if (!first_kept)
            first_kept = command;
        under_way++;
    }
}

void ocl_look(struct ocl_queue *queue, uint32_t most)
{
    if (!ocl_load(&queue->inbox) && !ocl_load(&queue->head))
        return;
    if (ocl_swap(&queue->busy, 1u))
        return;
    take_inbox(queue);
    if (queue->flags & OCL_IS_UNORDERED)
        look_unordered(queue, most);
    else
        look_in_order(queue, most);
    ocl_store(&queue->busy, 0u);
}

void ocl_look_all(void)
{
    struct ocl_queue *queue;
    int32_t pid = 0;
    for (uint32_t i = 0; (queue = ocl_queue_at(i)); i++) {
        if (!ocl_load(&queue->used) || (!ocl_load(&queue->inbox) && !ocl_load(&queue->head)))
            continue;
        if (!pid)
            pid = (int32_t)getpid();
        if (queue->pid != pid) /* the parent's, in a child of fork */
            continue;
        ocl_look(queue, ~0u);
        ocl_queue_finished(queue);
    }
}

uint32_t ocl_pending(struct ocl_queue *queue, uint64_t *ids, uint32_t most)
{
    uint32_t count = 0, tries = 0;
    while (ocl_swap(&queue->busy, 1u)) /* by a look of another thread: over in microseconds */
        if (++tries == 100000)
            return 0;
    take_inbox(queue);
    for (struct ocl_command *command = queue->head; command && count < most; command = command->next)
        ids[count++] = command->id;
    ocl_store(&queue->busy, 0u);
    return count;
}

static char *put(char *out, const char *text, uint64_t number)
{
    char digits[24];
    unsigned count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
    } while (number /= 10);
    while (count)
        *out++ = digits[--count];
    while (*text)
        *out++ = *text++;
    *out = 0;
    return out;
}

static void note(const char *text, uint64_t count)
{
    char line[128];
    if (!count)
        return;
    put(line, text, count);
    rt_note(line);
}

void ocl_leave_process(void)
{
    struct ocl_queue *queue;
    uint64_t left = 0;
    if (ocl_load(&ocl_off) || (int32_t)getpid() != ocl_pid)
        return;
    ocl_look_all();
    ocl_store(&ocl_off, 1u);
    for (uint32_t i = 0; (queue = ocl_queue_at(i)); i++) {
        uint64_t ids[1];
        if (!ocl_load(&queue->used) || queue->pid != ocl_pid || !ocl_pending(queue, ids, 1))
            continue;
        if (!ocl_swap(&queue->busy, 1u))
            for (struct ocl_command *command = queue->head; command; command = command->next)
                left++;
    }
    ocl_flush_clocks();
    note(" OpenCL commands were still under way at exit: they have no span", left);
    note(" OpenCL commands failed: they have no span", ocl_load(&ocl_failed));
    note(" OpenCL commands had no times: they have no span", ocl_load(&ocl_untimed));
    note(" OpenCL commands found no room: they have no span", ocl_load(&ocl_no_room));
}
