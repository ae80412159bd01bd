/* SPDX-License-Identifier: MIT */
/* Who calls the functions that samples ended in: counted while stacks are walked, put in order when functions are. */
#include "summary_build.h"

#include "base/array.h"
#include "base/error.h"
#include "symbol/unwind.h"
#include "trace/own_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CALLER_UNKNOWN = -1, CALLER_START = -2 }; /* the stack lost its callers; nobody of the program calls */

static bool begins(const char *name, const char *start)
{
    return strncmp(name, start, strlen(start)) == 0;
}

/* What the C and C++ libraries run before a thread's own function, also where a stripped library gives it no name. */
bool summary_is_start(const char *name, const char *module)
{
    const char *slash = strrchr(module, '/'), *file = slash ? slash + 1 : module;
    bool libc = begins(file, "libc.so.") || begins(file, "libc-2.") || begins(file, "libpthread") || begins(file, "ld-musl-");
    return unwind_is_root_name(name) || (libc && begins(name, file) && begins(name + strlen(file), "+0x")) ||
           strcmp(name, "execute_native_thread_routine") == 0 || begins(name, "std::thread::_") || begins(name, "std::__invoke");
}

/* A call by the function itself leads on to who called that one, and so does the profiler's own code between the program's functions. */
static uint32_t caller_in_walk(const struct summary_build *build, const struct sample_aggregate *row, size_t count, size_t starts)
{
    for (size_t i = 1; i < count; i++)
        if (build->walk[i] != build->walk[0] && !path_is_own_code(build->summary->functions[build->walk[i]].module))
            return i + starts >= count ? (uint32_t)CALLER_START : build->walk[i];
    return row->flags & SAMPLE_TRUNCATED ? (uint32_t)CALLER_UNKNOWN : (uint32_t)CALLER_START;
}

int summary_count_call(struct summary_build *build, const struct sample_aggregate *row, size_t count, size_t starts)
{
    if (row->flags & SAMPLE_NO_STACK)
        return 0; /* what the function is inlined into is known, but not who calls that */
    uint32_t caller = caller_in_walk(build, row, count, starts);
    uint64_t key = (uint64_t)build->walk[0] << 32 | caller, index;
    if (!map_get(&build->call_index, key, &index)) {
        struct summary_call *calls = array_reserve(build->calls, &build->call_capacity, build->call_count + 1, sizeof *calls);
        if (!calls)
            return -ENOMEM;
        build->calls = calls;
        index = build->call_count++;
        calls[index] = (struct summary_call){.function = build->walk[0], .caller = caller};
        if (map_set(&build->call_index, key, index) < 0)
            return -ENOMEM;
    }
    build->calls[index].count += row->count;
    add_saturated(&build->calls[index].self_ns, row->weight);
    return 0;
}

static int compare_calls(const void *left, const void *right)
{
    const struct summary_call *a = left, *b = right;
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    if (a->self_ns != b->self_ns)
        return a->self_ns > b->self_ns ? -1 : 1;
    return (a->caller > b->caller) - (a->caller < b->caller);
}

static bool is_function(uint32_t caller)
{
    return caller != (uint32_t)CALLER_START && caller != (uint32_t)CALLER_UNKNOWN;
}

static struct summary_caller caller_of(const struct summary *summary, const struct summary_call *call)
{
    bool known = is_function(call->caller);
    return (struct summary_caller){
        .name = known                                     ? summary->functions[call->caller].name
                : call->caller == (uint32_t)CALLER_START ? "[start of the thread]"
                                                          : "[unknown]",
        .module = known ? summary->functions[call->caller].module : "",
        .count = call->count,
        .self_ns = call->self_ns,
    };
}

/* Functions are in their order by now; calls know them by the numbers they had before. */
int summary_add_callers(struct summary_build *build)
{
    struct summary *summary = build->summary;
    CLEANUP(freep) uint32_t *place = calloc(summary->function_count + 1, sizeof *place);
    summary->callers = calloc(build->call_count + 1, sizeof *summary->callers);
    if (!place || !summary->callers)
        return error_set(build->err, -ENOMEM, "out of memory while making the summary");
    for (size_t i = 0; i < summary->function_count; i++)
        place[summary->functions[i].number] = (uint32_t)i;
    for (size_t i = 0; i < build->call_count; i++) {
        struct summary_call *call = &build->calls[i];
        call->function = place[call->function];
        call->caller = is_function(call->caller) ? place[call->caller] : call->caller;
    }
    if (build->call_count)
        qsort(build->calls, build->call_count, sizeof *build->calls, compare_calls);
    for (size_t i = 0; i < build->call_count; i++) {
        struct summary_function *function = &summary->functions[build->calls[i].function];
        summary->callers[i] = caller_of(summary, &build->calls[i]);
        if (!function->caller_count++)
            function->callers = &summary->callers[i];
    }
    return 0;
}
