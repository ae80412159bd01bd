/* SPDX-License-Identifier: MIT */
/* Events and lives of processes both tell how long the run was. */
#include "run_length.h"

#include <errno.h>
#include <stdlib.h>

static bool metadata_number(const struct trace *trace, const char *key, int64_t *ret_value)
{
    const char *text = trace_metadata(trace, key);
    char *end;
    if (!text || !*text)
        return false;
    errno = 0;
    *ret_value = strtoll(text, &end, 10);
    return !errno && !*end;
}

static int64_t time_between(int64_t begin_ns, int64_t end_ns)
{
    int64_t length_ns;
    return __builtin_sub_overflow(end_ns, begin_ns, &length_ns) ? INT64_MAX : length_ns;
}

static void whole_run(const struct trace *trace, int64_t *begin_ns, int64_t *end_ns)
{
    uint32_t count;
    const struct trace_process *processes = trace_processes(trace, &count);
    trace_time_range(trace, begin_ns, end_ns);
    bool empty = *begin_ns == 0 && *end_ns == 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct trace_process *process = &processes[i];
        if (process->end_ns == INT64_MIN || process->start_ns == INT64_MIN)
            continue;
        *begin_ns = empty || process->start_ns < *begin_ns ? process->start_ns : *begin_ns;
        *end_ns = empty || process->end_ns > *end_ns ? process->end_ns : *end_ns;
        empty = false;
    }
}

struct run_length run_length_of(const struct trace *trace)
{
    struct run_length length = {0};
    int64_t begin_ns, end_ns, window_begin_ns, window_end_ns, recorded_ns;
    whole_run(trace, &begin_ns, &end_ns);
    length.recorded_ns = time_between(begin_ns, end_ns);
    if (metadata_number(trace, "recording.end_ns", &window_end_ns)) {
        length.partial = true;
        length.run_ns = length.recorded_ns;
        if (metadata_number(trace, "recording.begin_ns", &window_begin_ns) && window_begin_ns > begin_ns)
            begin_ns = window_begin_ns;
        end_ns = window_end_ns < end_ns ? window_end_ns : end_ns;
        length.recorded_ns = begin_ns < end_ns ? time_between(begin_ns, end_ns) : 0;
    }
    if (metadata_number(trace, "recording.duration_ns", &recorded_ns) && recorded_ns > length.recorded_ns)
        length.recorded_ns = recorded_ns; /* of a process attached to */
    return length;
}
