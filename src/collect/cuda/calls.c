/* SPDX-License-Identifier: MIT */
/*
 * The API as the program calls it: one span for the outermost call, on its thread. What the runtime API calls of the driver
 * API inside is the same call once more and left out. Which numbers CUPTI gives to which functions is asked at the start, by name.
 */
#include "calls.h"

#include <string.h>

enum { DRIVER_CALLS = 1536, RUNTIME_CALLS = 1024 };

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
        if (*at == '!') {
            info->blocking = true;
            continue;
        }
        unsigned size = *at == 'i' || *at == 'F' ? 4 : *at == 'b' ? 1 : 8;
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
                 : contains(name, length, "Managed")    ? ROLE_MANAGED
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
    info->per_thread = contains(full_name, strlen(full_name), "_ptsz") || contains(full_name, strlen(full_name), "_ptds");
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

uint32_t cuda_call_stack(void)
{
    return open_call.call.thread ? open_call.stack : 0;
}

/* Launches while something is being captured become nodes of a graph; what other threads launch then is not counted either. */
static void count_launch(const struct call_info *info, bool failed)
{
    if (info->role == ROLE_KERNEL && !failed && !cuda_capturing())
        __atomic_fetch_add(&cuda.launches, 1, __ATOMIC_RELAXED);
}

static void call_end(const struct call_info *info, const struct cupti_call *call)
{
    cuda_stream_defaults(call, info->per_thread);
    uint64_t values[VALUES_OF_A_CALL];
    struct rt_span span;
    uint8_t payload = info->payload ? info->payload : (uint8_t)PAYLOAD_API;
    uint32_t present = call_fields(info, call, values);
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

static void managed_begin(const struct cupti_call *call)
{
    uint32_t device = 0; /* the runtime's first call has no context yet */
    if (call->context && cuda.cupti.device_id(call->context, &device) != CUPTI_OK)
        return;
    cuda_own_calls(true);
    cuda_managed_start(device);
    cuda_own_calls(false);
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
    rt_call entered = rt_enter(CUDA_LAYER, info[id].name);
    if (!entered.thread)
        return;
    *call->data = domain;
    if (info[id].role == ROLE_MANAGED)
        managed_begin(call);
    open_call.call = entered;
    open_call.correlation = call->correlation;
    open_call.stack = rt_flags() & WIRE_SESSION_CALL_TREE ? rt_stack(2) : 0;
}
