/* SPDX-License-Identifier: MIT */
/* Which spans wait. */
#include "graph_cut.h"
#include "target_progress.h"

#include "base/map.h"
#include "base/string_table.h"

#include <string.h>

enum cut_class cut_class_of(enum span_kind kind, uint8_t name_flags)
{
    switch (kind) {
    case SPAN_KIND_SEND:
    case SPAN_KIND_RECV:
    case SPAN_KIND_WAIT:
    case SPAN_KIND_PROBE:
    case SPAN_KIND_COLLECTIVE:
    case SPAN_KIND_COMM:
        return name_flags & CUT_NAME_WAITS_NOT ? CUT_CALL : CUT_WAIT;
    case SPAN_KIND_SYNC:
        return CUT_WAIT;
    case SPAN_KIND_INIT:
    case SPAN_KIND_RMA:
        return name_flags & CUT_NAME_WAITS ? CUT_WAIT : CUT_CALL;
    case SPAN_KIND_BARRIER:
    case SPAN_KIND_TASKWAIT:
        return CUT_TASKS;
    case SPAN_KIND_TASKGROUP:
    case SPAN_KIND_REDUCTION:
        return CUT_GROUP;
    case SPAN_KIND_CRITICAL:
    case SPAN_KIND_LOCK:
    case SPAN_KIND_ORDERED:
        return CUT_LOCK;
    case SPAN_KIND_PARALLEL:
        return CUT_FORK;
    case SPAN_KIND_LAUNCH:
    case SPAN_KIND_API:
    case SPAN_KIND_ALLOC:
    case SPAN_KIND_COPY:
    case SPAN_KIND_FILL:
        return CUT_PAYLOAD;
    case SPAN_KIND_UNKNOWN:
    case SPAN_KIND_COMPUTE:
    case SPAN_KIND_IMPLICIT_TASK:
    case SPAN_KIND_LOOP:
    case SPAN_KIND_SECTIONS:
    case SPAN_KIND_SINGLE:
    case SPAN_KIND_MASKED:
    case SPAN_KIND_WORKSHARE:
    case SPAN_KIND_TASK:
    case SPAN_KIND_RANGE:
        return CUT_CODE;
    default:
        return CUT_CALL;
    }
}

/* MPI's immediate calls, which only begin something: MPI_Isend, but not MPI_Init or MPI_Intercomm_create. */
static bool is_immediate(const char *name)
{
    if (strncmp(name, "MPI_Start", 9) == 0 || strncmp(name, "MPI_Comm_idup", 13) == 0)
        return true;
    return strncmp(name, "MPI_I", 5) == 0 && strncmp(name, "MPI_Init", 8) != 0 && strncmp(name, "MPI_Intercomm", 13) != 0;
}

static uint8_t flags_of(const char *name)
{
    static const char *const not_waiting[] = {"MPI_Win_post", "MPI_Win_test", "MPI_Win_sync"};
    if (strncmp(name, "MPI_", 4) != 0)
        return 0;
    if (is_immediate(name) || strcmp(name, "MPI_Comm_set_name") == 0)
        return CUT_NAME_WAITS_NOT;
    if (strncmp(name, "MPI_Init", 8) == 0 || strcmp(name, "MPI_Finalize") == 0)
        return CUT_NAME_WAITS;
    if (strncmp(name, "MPI_Win_", 8) != 0)
        return is_one_sided(name) ? CUT_NAME_WAITS | CUT_NAME_ONE_SIDED : 0;
    for (size_t i = 0; i < sizeof not_waiting / sizeof *not_waiting; i++)
        if (strcmp(name, not_waiting[i]) == 0)
            return 0;
    return is_one_sided(name) ? CUT_NAME_WAITS | CUT_NAME_ONE_SIDED : CUT_NAME_WAITS;
}

uint8_t *cut_names(const struct trace *trace)
{
    const struct string_table *strings = trace_strings(trace);
    uint32_t count = string_table_count(strings);
    uint8_t *flags = calloc((size_t)count + 1, 1);
    for (uint32_t i = 0; flags && i < count; i++)
        flags[i] = flags_of(string_table_text(strings, (string_id){i}));
    return flags;
}

uint32_t *cut_text_numbers(const struct trace *trace)
{
    const struct string_table *strings = trace_strings(trace);
    uint32_t count = string_table_count(strings);
    uint32_t *numbers = calloc((size_t)count + 1, sizeof *numbers);
    for (uint32_t i = 0; numbers && i < count; i++)
        numbers[i] = (uint32_t)hash_bytes(string_table_text(strings, (string_id){i}), string_table_length(strings, (string_id){i}));
    return numbers;
}
