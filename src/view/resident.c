/* SPDX-License-Identifier: MIT */
/* One pass over the counters' blocks: those of resident memory are few, and are read. */
#include "resident.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SAME 0.98 /* the kernel counts by the processor, in batches: two of its numbers for the same differ a little */

static struct resident_process *place_of(struct resident_memory *memory, process_id process)
{
    for (size_t i = memory->count; i-- > 0;) /* blocks of a track stand together */
        if (memory->processes[i].process.index == process.index)
            return &memory->processes[i];
    memory->processes[memory->count] = (struct resident_process){.process = process};
    return &memory->processes[memory->count++];
}

static bool is_resident(const struct trace *trace, const struct trace_track *track)
{
    return track->kind == TRACK_KIND_COUNTER && track->device < 0 && strcmp(trace_text(trace, track->name), RESIDENT_TRACK) == 0;
}

static int read_block(const struct trace *trace, uint32_t number, struct resident_process *process, int64_t *last_ns, struct error *err)
{
    struct counter_block block;
    int result = trace_counters_get(trace, number, &block, err);
    if (result < 0)
        return result;
    for (uint32_t row = 0; row < block.info.count; row++) {
        if (block.value[row] > process->peak_bytes)
            process->peak_bytes = block.value[row];
        if (block.time_ns[row] >= *last_ns) {
            process->last_bytes = block.value[row];
            *last_ns = block.time_ns[row];
        }
    }
    trace_counters_put(trace, &block);
    return 0;
}

static int by_peak(const void *left, const void *right)
{
    const struct resident_process *a = left, *b = right;
    if (a->peak_bytes < b->peak_bytes || a->peak_bytes > b->peak_bytes)
        return a->peak_bytes < b->peak_bytes ? 1 : -1;
    return (a->process.index > b->process.index) - (a->process.index < b->process.index);
}

static int read_counters(const struct trace *trace, struct resident_memory *memory, int64_t *last_ns, struct error *err)
{
    uint32_t track_count, blocks = trace_block_count(trace, FAMILY_COUNTERS);
    const struct trace_track *tracks = trace_tracks(trace, &track_count);
    int result = 0;
    for (uint32_t i = 0; i < blocks && result == 0; i++) {
        uint32_t track = trace_block_info(trace, FAMILY_COUNTERS, i).track.index;
        if (track >= track_count || !is_resident(trace, &tracks[track]))
            continue;
        struct resident_process *process = place_of(memory, tracks[track].process);
        result = read_block(trace, i, process, &last_ns[process - memory->processes], err);
    }
    return result;
}

int resident_memory_read(const struct trace *trace, struct resident_memory *ret_memory, struct error *err)
{
    uint32_t room;
    trace_tracks(trace, &room);
    const char *counted = trace_metadata(trace, RESIDENT_PEAK_KEY);
    struct resident_memory memory = {.processes = calloc(room + (size_t)1, sizeof *memory.processes)};
    CLEANUP(freep) int64_t *last_ns = malloc((room + (size_t)1) * sizeof *last_ns);
    *ret_memory = (struct resident_memory){0};
    for (uint32_t i = 0; last_ns && i < room; i++)
        last_ns[i] = INT64_MIN;
    int result = memory.processes && last_ns ? read_counters(trace, &memory, last_ns, err) : -ENOMEM;
    if (result < 0) {
        resident_memory_finish(&memory);
        return result;
    }
    if (memory.count)
        qsort(memory.processes, memory.count, sizeof *memory.processes, by_peak);
    double kernels = counted ? strtod(counted, NULL) : 0;
    memory.peak_bytes = memory.count ? memory.processes[0].peak_bytes : 0;
    memory.counted = kernels > 0 && kernels >= memory.peak_bytes * SAME;
    memory.peak_bytes = kernels > memory.peak_bytes ? kernels : memory.peak_bytes;
    *ret_memory = memory;
    return 0;
}

void resident_memory_finish(struct resident_memory *memory)
{
    free(memory->processes);
    *memory = (struct resident_memory){0};
}
