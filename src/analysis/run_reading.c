/* SPDX-License-Identifier: MIT */
/* Reads what analyses begin with, and keeps it for as long as one of them needs it. */
#include "run_reading.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>

int run_reading_create(const struct trace *trace, bool with_times, const struct progress *progress, struct run_reading **ret_reading,
                       struct error *err)
{
    CLEANUP(run_reading_unrefp) struct run_reading *reading = calloc(1, sizeof *reading);
    if (!reading)
        return error_set(err, -ENOMEM, "spans: out of memory");
    atomic_init(&reading->references, 1);
    int result = span_table_create(trace, progress, &reading->table, err);
    if (result == 0 && with_times)
        result = lane_times_create(reading->table, &reading->times, err);
    if (result == 0)
        result = trace_links_read(trace, &reading->links, &reading->link_count, err);
    if (result == 0)
        *ret_reading = TAKE_PTR(reading);
    return result;
}

struct run_reading *run_reading_ref(struct run_reading *reading)
{
    atomic_fetch_add_explicit(&reading->references, 1, memory_order_relaxed);
    return reading;
}

void run_reading_unref(struct run_reading *reading)
{
    if (!reading || atomic_fetch_sub_explicit(&reading->references, 1, memory_order_acq_rel) != 1)
        return;
    lane_times_destroy(reading->times);
    span_table_destroy(reading->table);
    free(reading->links);
    free(reading);
}
