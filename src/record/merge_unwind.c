/* SPDX-License-Identifier: MIT */
/* A batch of jobs, each with the mappings of its time, is cut into slices: one unwinder a slice, as an unwinder is one thread's. */
#include "merge_unwind.h"

#include "base/array.h"
#include "base/thread_pool.h"
#include "unwind_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_JOBS = 4096, BATCH_BYTES = 48 << 20, SLICES_MAXIMUM = 64, CHAIN_MAXIMUM = 1024 };

struct batch_entry {
    struct unwind_job *job;
    struct address_map *map; /* a snapshot, the entry's own */
    track_id track;
};

struct merge_unwind {
    struct merge *merge;
    struct merge_modules *modules;
    struct merge_maps *maps;
    struct thread_pool *pool;
    struct unwinder *unwinders[SLICES_MAXIMUM];
    unsigned slices;
    struct batch_entry *batch;
    size_t count, capacity, bytes;
};

int merge_unwind_create(struct merge *merge, struct merge_modules *modules, struct merge_maps *maps,
                        struct merge_unwind **ret_unwind)
{
    struct merge_unwind *unwind = calloc(1, sizeof(*unwind));
    if (!unwind)
        return -ENOMEM;
    unwind->merge = merge;
    unwind->modules = modules;
    unwind->maps = maps;
    *ret_unwind = unwind;
    return 0;
}

static void forget_batch(struct merge_unwind *unwind)
{
    for (size_t i = 0; i < unwind->count; i++) {
        unwind_job_destroy(unwind->batch[i].job);
        address_map_destroy(unwind->batch[i].map);
    }
    unwind->count = unwind->bytes = 0;
}

void merge_unwind_destroy(struct merge_unwind *unwind)
{
    if (!unwind)
        return;
    forget_batch(unwind);
    thread_pool_destroyp(&unwind->pool);
    for (unsigned i = 0; i < unwind->slices; i++)
        unwinder_destroy(unwind->unwinders[i]);
    free(unwind->batch);
    free(unwind);
}

/* The threads are made when there is something to do for them. */
static int start(struct merge_unwind *unwind)
{
    if (unwind->pool)
        return 0;
    int r = thread_pool_create(0, &unwind->pool);
    if (r < 0)
        return r;
    unsigned slices = thread_pool_size(unwind->pool) + 1;
    while (unwind->slices < slices && unwind->slices < SLICES_MAXIMUM) {
        r = unwinder_create(&unwind->unwinders[unwind->slices]);
        if (r < 0)
            return r;
        unwind->slices++;
    }
    return 0;
}

static void run_slice(void *context, size_t slice)
{
    struct merge_unwind *unwind = context;
    for (size_t i = slice; i < unwind->count; i += unwind->slices)
        unwind_job_run(unwind->unwinders[slice], unwind->batch[i].job);
}

static int add_sample(struct merge_unwind *unwind, const struct unwind_frame *frames, size_t count, track_id track,
                      struct sample *sample, int64_t raw_ns)
{
    stack_id stack = STACK_NONE;
    for (size_t i = count; i-- > 0;) {
        uint64_t address = frames[i].module ? frames[i].address : frames[i].run_address;
        int r = merge_modules_push(unwind->modules, stack, frames[i].module, address, raw_ns, &stack);
        if (r < 0)
            return r;
    }
    sample->stack = stack;
    return trace_builder_add_sample(merge_builder(unwind->merge), track, sample);
}

static int run_batch(struct merge_unwind *unwind)
{
    int r = unwind->count ? start(unwind) : 0;
    if (r == 0 && unwind->count)
        thread_pool_for(unwind->pool, unwind->slices, run_slice, unwind);
    for (size_t i = 0; i < unwind->count && r == 0; i++) {
        struct unwind_job *job = unwind->batch[i].job;
        struct sample sample = {.time_ns = job->time_ns, .weight = job->weight, .cpu = job->cpu, .event = job->event, .flags = unwind_job_flags(job)};
        r = add_sample(unwind, job->frames, job->frame_count, unwind->batch[i].track, &sample, job->queued_ns);
    }
    forget_batch(unwind);
    return r;
}

int merge_unwind_finish(struct merge_unwind *unwind)
{
    return run_batch(unwind);
}

/* Whose sample it is, and when. */
struct sample_place {
    process_id process;
    track_id track;
    int64_t time_ns, raw_ns;
};

static struct sample_place place_of(struct merge_unwind *unwind, const struct merge_stream *stream, uint64_t time, int32_t pid,
                                    int32_t tid)
{
    struct sample_place place = {.time_ns = merge_time(unwind->merge, stream, time)};
    place.raw_ns = place.time_ns - merge_time_raw(unwind->merge, 0);
    if (stream->process) {
        place.process = merge_stream_process(unwind->merge, stream);
        place.track = stream->track;
    } else {
        place.process = merge_process_at(unwind->merge, pid, place.time_ns);
        place.track = merge_thread_at(unwind->merge, pid, tid, place.time_ns);
    }
    return place;
}

int merge_unwind_chain(struct merge_unwind *unwind, const struct merge_stream *stream, const struct wire_chain_sample *record)
{
    size_t room = (wire_bytes(&record->header) - sizeof(*record)) / 8;
    size_t count = record->header.value < room ? record->header.value : room;
    count = count < CHAIN_MAXIMUM ? count : CHAIN_MAXIMUM;
    size_t kernel = record->kernel_count < count ? record->kernel_count : count;
    const uint64_t *addresses = (const uint64_t *)(record + 1);
    struct sample_place place = place_of(unwind, stream, record->time, record->pid, record->tid);
    struct unwind_frame frames[CHAIN_MAXIMUM];
    struct address_map *map = merge_maps_at(unwind->maps, place.process, place.time_ns);
    if (!map)
        return -ENOMEM;
    size_t done = unwind_from_addresses(map, addresses, kernel, true, frames, CHAIN_MAXIMUM);
    done += unwind_from_addresses(map, addresses + kernel, count - kernel, true, frames + done, CHAIN_MAXIMUM - done);
    struct sample sample = {.time_ns = place.time_ns,
                            .weight = (int64_t)record->weight,
                            .cpu = record->cpu,
                            .event = record->event,
                            .flags = record->flags};
    const struct unwind_frame *outermost = done ? &frames[done - 1] : NULL;
    if (!(sample.flags & SAMPLE_NO_STACK) &&
        !(outermost && outermost->module && unwind_is_root(outermost->module, outermost->address)))
        sample.flags |= SAMPLE_TRUNCATED;
    return add_sample(unwind, frames, done, place.track, &sample, place.raw_ns);
}

/* Registers, kernel addresses and stack bytes lie behind the fixed part; false when the record is shorter than it says. */
static bool unpack(const struct wire_stack_sample *record, struct unwind_sample *sample, const uint64_t **ret_kernel)
{
    const uint64_t *data = (const uint64_t *)(record + 1);
    size_t words = (wire_bytes(&record->header) - sizeof(*record)) / 8;
    size_t registers = (size_t)__builtin_popcountll(record->register_mask), stack_bytes = record->header.value;
    if (registers + record->kernel_count > words || stack_bytes > (words - registers - record->kernel_count) * 8 ||
        record->register_mask >> UNWIND_REGISTERS)
        return false;
    *sample = (struct unwind_sample){
        .registers = {.arch = record->arch == WIRE_ARCH_AARCH64 ? UNWIND_AARCH64 : UNWIND_X86_64, .valid = record->register_mask},
        .stack = (const uint8_t *)(data + registers + record->kernel_count),
        .stack_address = record->stack_address,
        .stack_size = stack_bytes,
    };
    for (size_t bit = 0, at = 0; bit < UNWIND_REGISTERS; bit++)
        if (record->register_mask >> bit & 1)
            sample->registers.values[bit] = data[at++];
    *ret_kernel = data + registers;
    return true;
}

int merge_unwind_stack(struct merge_unwind *unwind, const struct merge_stream *stream, const struct wire_stack_sample *record)
{
    struct unwind_sample input;
    const uint64_t *kernel;
    if (!unpack(record, &input, &kernel))
        return trace_builder_add_ledger(merge_builder(unwind->merge), "cpu samples", 0, 0, 1, "damaged stack copy");
    struct sample_place place = place_of(unwind, stream, record->time, record->pid, record->tid);
    struct batch_entry *grown = array_reserve(unwind->batch, &unwind->capacity, unwind->count + 1, sizeof(*grown));
    struct address_map *now = merge_maps_at(unwind->maps, place.process, place.time_ns), *map = NULL;
    if (!grown || !now || address_map_snapshot(now, &map) < 0)
        return -ENOMEM;
    unwind->batch = grown;
    struct unwind_job *job = unwind_job_create(&input, kernel, record->kernel_count);
    if (!job) {
        address_map_destroy(map);
        return -ENOMEM;
    }
    job->time_ns = place.time_ns;
    job->queued_ns = place.raw_ns;
    job->weight = (int64_t)record->weight;
    job->cpu = record->cpu;
    job->event = record->event;
    job->flags = record->flags;
    job->map = map;
    unwind->batch[unwind->count++] = (struct batch_entry){job, map, place.track};
    unwind->bytes += job->bytes;
    return unwind->count >= BATCH_JOBS || unwind->bytes >= BATCH_BYTES ? run_batch(unwind) : 0;
}
