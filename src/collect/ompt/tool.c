/* SPDX-License-Identifier: MIT */
/* How a runtime finds the tool, and what the tool asks of it. */
#include "../loader.h"
#include "events.h"
#include "ompt.h"

enum { RUNTIMES = 4 };
struct tool tool;
/* A process may hold several runtimes, and load one again. */
struct runtime {
    const void *object; /* its load address while it uses us */
    uint32_t taken;
    struct omp_tool result;
};
static struct runtime runtimes[RUNTIMES];
static uint64_t next_block;

bool ompt_is_active(void)
{
    for (int i = 0; i < RUNTIMES; i++)
        if (__atomic_load_n(&runtimes[i].object, __ATOMIC_ACQUIRE))
            return true;
    return false;
}

static const void *object_of(const void *address)
{
    Dl_info info;
    return address && dladdr(address, &info) ? info.dli_fbase : 0;
}

bool ompt_serves(const void *function)
{
    const void *object = object_of(function);
    for (int i = 0; i < RUNTIMES && object; i++)
        if (__atomic_load_n(&runtimes[i].object, __ATOMIC_ACQUIRE) == object)
            return true;
    return false;
}

uint64_t openmp_id_block(void)
{
    return __atomic_fetch_add(&next_block, OPENMP_ID_BLOCK, __ATOMIC_RELAXED) + 1;
}

/* How often a name like this is looked up doesn't matter; the environment may change meanwhile. */
extern char **environ;
static const char *environment(const char *name)
{
    for (char **variable = environ; variable && *variable; variable++) {
        const char *at = *variable, *wanted = name;
        while (*wanted && *at == *wanted)
            at++, wanted++;
        if (!*wanted && *at == '=')
            return at + 1;
    }
    return 0;
}

static bool begins_with(const char *text, const char *start)
{
    while (*start && *text == *start)
        text++, start++;
    return !*start;
}

/* Two readings of the tick counter with the runtime's clock between: whether it is the same one. */
static bool clock_is_ticks(void)
{
    uint64_t before = wire_ticks(), between = rt_now(), after = wire_ticks();
    return before && before <= between && between <= after;
}

static void on_thread_begin(int type, union omp_data *thread)
{
    lane_get();
}

static void on_thread_end(union omp_data *thread)
{
    lane_end();
}

#define EVENT(number, function) {OMP_EVENT_##number, (omp_function)(function)}
static const struct {
    int event;
    omp_function function;
} events[] = {
    EVENT(THREAD_BEGIN, on_thread_begin),
    EVENT(THREAD_END, on_thread_end),
    EVENT(PARALLEL_BEGIN, on_parallel_begin),
    EVENT(PARALLEL_END, on_parallel_end),
    EVENT(IMPLICIT_TASK, on_implicit_task),
    EVENT(WORK, on_work),
    EVENT(DISPATCH, on_dispatch),
    EVENT(MASKED, on_masked),
    EVENT(SYNC_REGION, on_sync_region),
    EVENT(SYNC_REGION_WAIT, on_sync_wait),
    EVENT(REDUCTION, on_sync_region),
    EVENT(MUTEX_ACQUIRE, on_mutex_acquire),
    EVENT(MUTEX_ACQUIRED, on_mutex_acquired),
    EVENT(MUTEX_RELEASED, on_mutex_released),
    EVENT(TASK_CREATE, on_task_create),
    EVENT(TASK_SCHEDULE, on_task_schedule),
    EVENT(TASK_DEPENDENCE, on_task_dependence),
    EVENT(CANCEL, on_cancel),
}, emi_events[] = {
    EVENT(TARGET_EMI, on_target_emi),
    EVENT(TARGET_DATA_OP_EMI, on_data_op_emi),
    EVENT(TARGET_SUBMIT_EMI, on_submit_emi),
}, old_target_events[] = {
    EVENT(TARGET, on_target),
    EVENT(TARGET_DATA_OP, on_data_op),
    EVENT(TARGET_SUBMIT, on_submit),
};

static bool offers(int result)
{
    return result == OMP_SET_SOMETIMES || result == OMP_SET_SOMETIMES_PAIRED || result == OMP_SET_ALWAYS;
}

static void events_ask(omp_set_callback set)
{
    uint64_t absent = 0;
    for (unsigned i = 0; i < sizeof events / sizeof events[0]; i++)
        if (!offers(set(events[i].event, events[i].function)))
            absent |= 1ull << events[i].event;
    for (unsigned i = 0; i < sizeof emi_events / sizeof emi_events[0]; i++)
        if (!offers(set(emi_events[i].event, emi_events[i].function)) &&
            !offers(set(old_target_events[i].event, old_target_events[i].function)))
            absent |= 1ull << old_target_events[i].event;
    if (absent)
        openmp_fact(WIRE_OPENMP_ABSENT, 0, absent, 0);
}

static const void *runtime_of(omp_set_callback set)
{
    const void *address;
    __builtin_memcpy(&address, &set, sizeof address);
    return object_of(address);
}

static unsigned slot_of(const union omp_data *tool_data)
{
    for (unsigned i = 1; i < RUNTIMES; i++)
        if (tool_data == &runtimes[i].result.tool_data)
            return i;
    return 0;
}

static int initialize(omp_lookup lookup, int initial_device, union omp_data *tool_data)
{
    omp_function found = lookup("ompt_set_callback");
    omp_set_callback set = (omp_set_callback)found;
    if (!set || !lane_get()) {
        runtimes[slot_of(tool_data)].taken = 0;
        return 0;
    }
    __atomic_store_n(&runtimes[slot_of(tool_data)].object, runtime_of(set), __ATOMIC_RELEASE);
    events_ask(set);
    return 1;
}

static void finalize(union omp_data *tool_data)
{
    lane_end();
    struct runtime *runtime = &runtimes[slot_of(tool_data)];
    __atomic_store_n(&runtime->object, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&runtime->taken, 0, __ATOMIC_RELEASE);
}

/* LLVM's runtime, and those made from it, report a barrier's begin and its wait's begin in one go, and their ends as well. */
static bool reports_adjacent(const char *version)
{
    return version && (begins_with(version, "LLVM OMP") || begins_with(version, "Intel(R) OMP"));
}

static bool names_us(const char *list)
{
    static const char own[] = "/libhprofiler_ompt.so";
    unsigned length = 0, same = 0;
    while (list[length] && list[length] != ':')
        length++;
    while (same < sizeof own - 1 && same < length && list[length - 1 - same] == own[sizeof own - 2 - same])
        same++;
    return same == sizeof own - 1;
}

/* Whether this caller comes for the first time. */
static bool first_call(const void *caller)
{
    static const void *callers[RUNTIMES];
    for (int i = 0; i < RUNTIMES; i++) {
        const void *known = 0;
        if (__atomic_compare_exchange_n(&callers[i], &known, caller, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return true;
        if (known == caller)
            return false;
    }
    return false;
}

/*
 * A runtime finds this function first where we are preloaded, though the user's own tools may stand in OMP_TOOL_LIBRARIES: those
 * go before us. The runtime then asks the libraries of that list, to whose end `run` has put this one.
 */
__attribute__((visibility("default"))) struct omp_tool *ompt_start_tool(unsigned version, const char *runtime_version);
struct omp_tool *ompt_start_tool(unsigned version, const char *runtime_version)
{
    const char *libraries = environment("OMP_TOOL_LIBRARIES");
    if (libraries && *libraries && !names_us(libraries) && first_call(object_of(__builtin_return_address(0))))
        return 0;
    if (!rt_register(WIRE_LAYER_OPENMP, "openmp"))
        return 0;
    tool.ticks = clock_is_ticks();
    if (!reports_adjacent(runtime_version))
        tool.adjacent = 0;
    else if (!ompt_is_active())
        tool.adjacent = 1;
    for (int i = 0; i < RUNTIMES; i++) {
        struct runtime *runtime = &runtimes[i];
        if (__atomic_exchange_n(&runtime->taken, 1, __ATOMIC_ACQ_REL))
            continue;
        runtime->result = (struct omp_tool){.initialize = initialize, .finalize = finalize};
        return &runtime->result;
    }
    return 0;
}
