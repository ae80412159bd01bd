/* SPDX-License-Identifier: MIT */
/*
 * The API as the program calls it: one span for the outermost call, on its thread. What the runtime API calls of the driver
 * API inside is the same call once more and left out. Which numbers CUPTI gives to which functions is asked at the start, by name.
 */
#include "cuda.h"

#include <string.h>

#define FIELDS_OF_A_CALL 5
enum { DRIVER_CALLS = 1536, RUNTIME_CALLS = 1024 };

struct call_field {
    char letter;
    uint8_t offset; /* in the parameters */
};
enum call_role { ROLE_NONE, ROLE_KERNEL, ROLE_CAPTURE_BEGIN, ROLE_CAPTURE_END };
struct call_info {
    uint32_t name, word; /* string ids; name 0 = not traced */
    uint8_t kind, payload, role, field_count;
    struct call_field fields[FIELDS_OF_A_CALL];
};
static struct call_info driver_calls[DRIVER_CALLS], runtime_calls[RUNTIME_CALLS];

struct call_row {
    const char *name;
    uint8_t kind, payload;
    const char *word, *parameters;
};
static const struct call_row rows[] = {
#define CALL(name, kind, payload, word, parameters) {name, SPAN_KIND_##kind, PAYLOAD_##payload, word, parameters},
#include "calls.def"
};
static const char *const quiet[] = {
#define QUIET(name) name,
#include "calls.def"
};

/* The call that is open on this thread; and whether what we call ourselves comes back to us. */
static __thread struct open_call {
    rt_call call;
    uint32_t correlation, stack;
} open_call;
static __thread uint32_t own_calls;

void cuda_own_calls(bool begin)
{
    own_calls = begin;
}

/* Recordings of events, by handle: which one was the last. Open addressing; a full table means an unknown number. */
enum { EVENTS = 1 << 14, EVENT_TRIES = 16 };
static struct {
    uint64_t event, record;
} events[EVENTS];
static uint64_t event_records;

static uint64_t *event_record(uint64_t event)
{
    uint64_t hash = event * 0x9e3779b97f4a7c15ull;
    for (unsigned i = 0; i < EVENT_TRIES; i++) {
        uint64_t expected = 0, *slot = &events[((hash >> 40) + i) & (EVENTS - 1)].event;
        if (__atomic_load_n(slot, __ATOMIC_ACQUIRE) == event ||
            __atomic_compare_exchange_n(slot, &expected, event, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) || expected == event)
            return &events[((hash >> 40) + i) & (EVENTS - 1)].record;
    }
    return 0;
}

static bool is_digits(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    return length > 0;
}

/* Without _ptsz, _ptds and _v<number> behind, and underscores in front. */
static size_t plain_name(const char **name)
{
    while (**name == '_')
        ++*name;
    size_t length = strlen(*name);
    for (;;) {
        size_t at = length;
        while (at > 0 && (*name)[at - 1] != '_')
            at--;
        const char *end = *name + at;
        bool version = length > at + 1 && end[0] == 'v' && is_digits(end + 1, length - at - 1);
        bool variant = length - at == 4 && (memcmp(end, "ptsz", 4) == 0 || memcmp(end, "ptds", 4) == 0);
        if (at < 2 || (!version && !variant))
            return length;
        length = at - 1;
    }
}

static bool is_quiet(const char *name)
{
    for (unsigned i = 0; i < sizeof quiet / sizeof quiet[0]; i++)
        if (strncmp(name, quiet[i], strlen(quiet[i])) == 0)
            return true;
    return false;
}

static bool contains(const char *text, size_t length, const char *word)
{
    size_t bytes = strlen(word);
    for (size_t i = 0; i + bytes <= length; i++)
        if (memcmp(text + i, word, bytes) == 0)
            return true;
    return false;
}

static void place_fields(struct call_info *info, const char *parameters)
{
    unsigned offset = 0;
    for (const char *at = parameters; *at; at++) {
        unsigned size = *at == 'i' ? 4 : *at == 'b' ? 1 : 8;
        offset = (offset + size - 1) & ~(size - 1);
        if (*at >= 'A' && *at <= 'Z' && info->field_count < FIELDS_OF_A_CALL)
            info->fields[info->field_count++] = (struct call_field){*at, (uint8_t)offset};
        offset += size;
    }
}

static void describe(struct call_info *info, const char *full_name)
{
    const char *name = full_name;
    size_t length = plain_name(&name);
    info->kind = contains(name, length, "Launch") && !contains(name, length, "HostFunc") ? SPAN_KIND_LAUNCH : SPAN_KIND_API;
    info->role = contains(name, length, "BeginCapture") ? ROLE_CAPTURE_BEGIN
                 : contains(name, length, "EndCapture") ? ROLE_CAPTURE_END
                 : info->kind == SPAN_KIND_LAUNCH && !contains(name, length, "Graph") ? ROLE_KERNEL
                                                                                      : ROLE_NONE;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strlen(rows[i].name) != length || memcmp(rows[i].name, name, length) != 0)
            continue;
        info->kind = rows[i].kind;
        info->payload = rows[i].payload;
        info->word = *rows[i].word ? cuda_word(rows[i].word) : 0;
        place_fields(info, rows[i].parameters);
    }
    info->name = rt_string(name, length);
}

static void start_domain(uint32_t domain, struct call_info *calls, uint32_t count)
{
    uint32_t unknown = 0;
    for (uint32_t id = 1; id < count && unknown < 64; id++) {
        const char *name = 0;
        if (cuda.cupti.callback_name(domain, id, &name) != CUPTI_OK || !name || !*name) {
            unknown++;
            continue;
        }
        unknown = 0;
        if (is_quiet(name))
            continue;
        describe(&calls[id], name);
        cuda.cupti.enable_callback(1, cuda.subscriber, domain, id);
    }
}

void cuda_calls_start(void)
{
    start_domain(CUPTI_RUNTIME, runtime_calls, RUNTIME_CALLS);
    start_domain(CUPTI_DRIVER, driver_calls, DRIVER_CALLS);
}

static uint64_t parameter(const struct cupti_call *call, struct call_field field)
{
    uint64_t value;
    memcpy(&value, (const char *)call->parameters + field.offset, sizeof value);
    return value;
}

static void api_field(const struct cupti_call *call, struct call_field field, uint64_t value, uint64_t *values, uint32_t *present)
{
    static const struct {
        char letter;
        uint8_t position;
    } positions[] = {{'D', FIELD_API_destination}, {'S', FIELD_API_source}, {'N', FIELD_API_bytes}};
    for (unsigned i = 0; i < sizeof positions / sizeof positions[0]; i++)
        if (positions[i].letter == field.letter) {
            values[positions[i].position] = value;
            *present |= 1u << positions[i].position;
        }
    uint32_t stream;
    if (field.letter == 'Q' && cuda.cupti.stream_id(call->context, (cuda_stream)(uintptr_t)value, 0, &stream) == CUPTI_OK) {
        values[FIELD_API_stream] = stream;
        *present |= 1u << FIELD_API_stream;
    }
}

static void sync_field(const struct call_info *info, const struct cupti_call *call, struct call_field field, uint64_t value,
                       uint64_t *values, uint32_t *present)
{
    uint32_t stream;
    if (field.letter == 'Q' && cuda.cupti.stream_id(call->context, (cuda_stream)(uintptr_t)value, 0, &stream) == CUPTI_OK) {
        values[FIELD_DEVICE_SYNC_stream] = stream;
        *present |= 1u << FIELD_DEVICE_SYNC_stream;
    }
    if (field.letter != 'E')
        return;
    values[FIELD_DEVICE_SYNC_event] = value;
    *present |= 1u << FIELD_DEVICE_SYNC_event;
    uint64_t *record = event_record(value);
    if (!record)
        return;
    if (info->fields[0].letter == 'E' && info->field_count == 2) /* event record: (event, stream) */
        __atomic_store_n(record, __atomic_add_fetch(&event_records, 1, __ATOMIC_ACQ_REL), __ATOMIC_RELEASE);
    values[FIELD_DEVICE_SYNC_record] = __atomic_load_n(record, __ATOMIC_ACQUIRE);
    *present |= 1u << FIELD_DEVICE_SYNC_record;
}

static void alloc_field(struct call_field field, uint64_t value, uint64_t *values, uint32_t *present)
{
    if (field.letter == 'A' && value)
        memcpy(&value, (const void *)(uintptr_t)value, sizeof value);
    unsigned position = field.letter == 'N' ? FIELD_ALLOC_bytes : FIELD_ALLOC_address;
    values[position] = value;
    *present |= 1u << position;
}

/* Results other than success; "not ready" of a query is one, too. */
static void result_field(const struct cupti_call *call, unsigned position, uint64_t *values, uint32_t *present)
{
    int32_t result = 0;
    if (call->result)
        memcpy(&result, call->result, sizeof result);
    if (result) {
        values[position] = (uint64_t)(int64_t)result;
        *present |= 1u << position;
    }
}

static uint32_t payload_fill(const struct call_info *info, const struct cupti_call *call, uint64_t *values)
{
    uint32_t present = 0;
    unsigned result_at = info->payload == PAYLOAD_DEVICE_SYNC ? (unsigned)FIELD_DEVICE_SYNC_result
                         : info->payload == PAYLOAD_ALLOC     ? (unsigned)FIELD_ALLOC_result
                                                              : (unsigned)FIELD_API_result;
    result_field(call, result_at, values, &present);
    bool failed = present;
    for (unsigned i = 0; i < info->field_count; i++) {
        uint64_t value = parameter(call, info->fields[i]);
        if (info->payload == PAYLOAD_DEVICE_SYNC)
            sync_field(info, call, info->fields[i], value, values, &present);
        else if (info->payload == PAYLOAD_ALLOC && !(failed && info->fields[i].letter == 'A'))
            alloc_field(info->fields[i], value, values, &present);
        else if (info->payload == PAYLOAD_API)
            api_field(call, info->fields[i], value, values, &present);
    }
    unsigned word_at = info->payload == PAYLOAD_DEVICE_SYNC ? (unsigned)FIELD_DEVICE_SYNC_what
                       : info->payload == PAYLOAD_ALLOC     ? (unsigned)FIELD_ALLOC_memory
                                                            : (unsigned)FIELD_API_blocking;
    if (info->word) {
        values[word_at] = info->payload == PAYLOAD_API ? 1 : info->word;
        present |= 1u << word_at;
    }
    if (info->payload == PAYLOAD_DEVICE_SYNC || info->payload == PAYLOAD_API) {
        unsigned context_at = info->payload == PAYLOAD_API ? (unsigned)FIELD_API_context : (unsigned)FIELD_DEVICE_SYNC_context;
        values[context_at] = call->context_uid;
        present |= 1u << context_at;
    }
    return present;
}

/* Launches while something is being captured become nodes of a graph; what other threads launch then is not counted either. */
static void count_launch(const struct call_info *info, bool failed)
{
    static uint32_t capturing;
    if (info->role == ROLE_NONE || failed)
        return;
    if (info->role == ROLE_CAPTURE_BEGIN)
        __atomic_fetch_add(&capturing, 1, __ATOMIC_ACQ_REL);
    else if (info->role == ROLE_CAPTURE_END)
        __atomic_fetch_sub(&capturing, 1, __ATOMIC_ACQ_REL);
    else if (__atomic_load_n(&capturing, __ATOMIC_ACQUIRE) == 0)
        __atomic_fetch_add(&cuda.launches, 1, __ATOMIC_RELAXED);
}

static void call_end(const struct call_info *info, const struct cupti_call *call)
{
    uint64_t values[16];
    uint32_t present = 0;
    struct rt_span span;
    uint8_t payload = info->payload ? info->payload : (uint8_t)PAYLOAD_API;
    if (info->payload)
        present = payload_fill(info, call, values);
    else
        result_field(call, FIELD_API_result, values, &present);
    span.correlation = call->correlation;
    span.name = info->name;
    span.category = 0;
    span.stack = open_call.stack;
    span.layer = CUDA_LAYER;
    span.span_kind = info->kind;
    span.payload_kind = present ? payload : 0;
    span.present = present;
    unsigned count = 0;
    for (unsigned i = 0; i < sizeof values / sizeof values[0]; i++)
        if (present >> i & 1)
            span.fields[count++] = values[i];
    rt_leave_span(open_call.call, &span);
    open_call.call.thread = 0;
    if (info->kind == SPAN_KIND_SYNC)
        cuda_sampling_collect(false);
    count_launch(info, call->result && *(const int32_t *)call->result != 0);
}

void cuda_on_call(uint32_t domain, uint32_t id, const struct cupti_call *call)
{
    uint32_t count = domain == CUPTI_DRIVER ? DRIVER_CALLS : RUNTIME_CALLS;
    const struct call_info *info = domain == CUPTI_DRIVER ? driver_calls : runtime_calls;
    if (id >= count || !info[id].name || own_calls)
        return;
    if (call->site == CUPTI_EXIT) {
        if (open_call.call.thread && open_call.correlation == call->correlation && *call->data == domain)
            call_end(&info[id], call);
        return;
    }
    *call->data = 0;
    rt_call entered = rt_enter(CUDA_LAYER);
    if (!entered.thread)
        return;
    *call->data = domain;
    open_call.call = entered;
    open_call.correlation = call->correlation;
    open_call.stack = rt_flags() & WIRE_SESSION_CALL_TREE ? rt_stack(2) : 0;
}
