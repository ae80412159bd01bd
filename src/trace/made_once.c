/* SPDX-License-Identifier: MIT */
/* A short list by what makes it, under a lock of its own: what is made may use all else of the trace. */
#include "made_once.h"
#include "trace_internal.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>

static int make_into(struct trace *trace, trace_make *make, void (*destroy)(void *made), const void **ret_made, struct error *err)
{
    struct trace_made *made = array_reserve(trace->made, &trace->made_capacity, trace->made_count + 1, sizeof *made);
    if (!made)
        return error_set(err, -ENOMEM, "out of memory");
    trace->made = made;
    made[trace->made_count] = (struct trace_made){.make = make, .destroy = destroy};
    int result = make(trace, &made[trace->made_count].what, err);
    if (result == 0)
        *ret_made = made[trace->made_count++].what;
    return result;
}

int trace_made_once(const struct trace *trace, trace_make *make, void (*destroy)(void *made), const void **ret_made, struct error *err)
{
    struct trace *kept = (struct trace *)(uintptr_t)trace; /* what is computed of it is no change of it */
    int result = 0;
    size_t at = 0;
    pthread_mutex_lock(&kept->made_lock);
    while (at < kept->made_count && kept->made[at].make != make)
        at++;
    if (at < kept->made_count)
        *ret_made = kept->made[at].what;
    else
        result = make_into(kept, make, destroy, ret_made, err);
    pthread_mutex_unlock(&kept->made_lock);
    return result;
}

void trace_made_finish(struct trace *trace)
{
    for (size_t i = 0; i < trace->made_count; i++)
        trace->made[i].destroy(trace->made[i].what);
    free(trace->made);
    pthread_mutex_destroy(&trace->made_lock);
}
