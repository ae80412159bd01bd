/* SPDX-License-Identifier: MIT */
/* What the driver and CUPTI do on the host of their own accord: code compiled at run time, loaded late, the cost of being watched. */
#include "cuda.h"

#include "../lane_record.h"

#include <string.h>

static void write(uint32_t lane, uint64_t start, uint64_t end, const char *name, unsigned kind, struct lane_record *record)
{
    if (!start || end < start)
        return;
    record->span.queue = cuda_own_lane(lane, UINT32_MAX);
    record->span.device = -1;
    record->span.span.begin = cuda_clock_ticks(start);
    record->span.span.end = cuda_clock_ticks(end);
    record->span.span.layer = CUDA_LAYER;
    lane_write(record, cuda_word(name), kind, PAYLOAD_NONE);
}

static void on_overhead(const struct cupti_overhead *overhead)
{
    static const struct {
        const char *name;
        uint8_t kind;
    } sorts[] = {
        {0, 0},
        {"CUPTI: buffer flush", SPAN_KIND_API},
        {"CUPTI: instrumentation", SPAN_KIND_API},
        {"CUPTI: resources", SPAN_KIND_API},
        {"module loading", SPAN_KIND_BUILD},
        {"lazy function loading", SPAN_KIND_BUILD},
        {"command buffer full", SPAN_KIND_API},
        {"CUPTI: buffer request", SPAN_KIND_API},
        {"CUPTI: managed memory", SPAN_KIND_API},
    };
    struct lane_record record = {0};
    uint32_t sort = overhead->what >> 16;
    if (overhead->what == 1)
        write(CUDA_OWN_OVERHEAD, overhead->start, overhead->end, "driver's compiler", SPAN_KIND_BUILD, &record);
    else if (sort && sort < sizeof sorts / sizeof sorts[0])
        write(CUDA_OWN_OVERHEAD, overhead->start, overhead->end, sorts[sort].name, sorts[sort].kind, &record);
}

static void on_jit(const struct cupti_jit *jit)
{
    static const char *const names[] = {0, "load from the code cache", "store in the code cache", "compile"};
    if (jit->operation >= sizeof names / sizeof names[0] || !names[jit->operation])
        return;
    struct lane_record record = {0};
    write(CUDA_OWN_JIT, jit->start, jit->end, jit->operation == 3 && jit->entry == 2 ? "compile to PTX" : names[jit->operation],
          SPAN_KIND_BUILD, &record);
}

bool cuda_on_overhead_record(const struct cupti_record *record)
{
    const void *body = record;
    if (record->kind == CUPTI_OVERHEAD)
        on_overhead(body);
    else if (record->kind == CUPTI_JIT)
        on_jit(body);
    else
        return false;
    return true;
}
