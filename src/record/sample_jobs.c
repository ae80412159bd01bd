/* SPDX-License-Identifier: MIT */
/* Stacks of samples: chains are looked up here, copies go through the pool, the result of both into the tree. */
#include "sample_jobs.h"

#include "base/array.h"
#include "base/error.h"
#include "sample_registers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHAIN_MAXIMUM = 1024,
    KERNEL_CHAIN_MAXIMUM = 127, /* kernel.perf_event_max_stack where nobody changed it */
    JIT_PERIOD_NS = 1000000000, /* code at one JIT address is taken to be the same for so long */
};

struct sample_jobs {
    struct recording *recording;
    struct module_log *modules;
    struct unwind_pool *pool; /* only with stack copies */
};

int sample_jobs_create(struct recording *recording, struct module_log *modules, struct sample_jobs **ret_jobs,
                       struct error *err)
{
    CLEANUP(sample_jobs_destroyp) struct sample_jobs *jobs = calloc(1, sizeof(*jobs));
    if (!jobs)
        return error_set(err, -ENOMEM, "sampling: out of memory");
    jobs->recording = recording;
    jobs->modules = modules;
    if (recording->plan.stack == SAMPLING_STACK_DWARF) {
        const struct unwind_pool_options options = {0};
        int r = unwind_pool_create(&options, &jobs->pool, err);
        if (r < 0)
            return r;
    }
    *ret_jobs = TAKE_PTR(jobs);
    return 0;
}

void sample_jobs_destroy(struct sample_jobs *jobs)
{
    if (!jobs)
        return;
    unwind_pool_destroy(jobs->pool);
    free(jobs);
}

/* Puts a chain into two parts: what the kernel did, and the user code that called it. Marks are dropped. */
struct chain_parts {
    uint64_t kernel[CHAIN_MAXIMUM], user[CHAIN_MAXIMUM];
    size_t kernel_count, user_count;
};

/* The last branch record as a call stack: each entry's source is a call instruction. Callers' addresses are taken for
 * return addresses later on, and moved back by one: so they are moved forward here. */
static void lbr_chain(const struct perf_sample_record *sample, struct chain_parts *parts)
{
    bool user = false;
    for (size_t i = 0; i < sample->chain_count && !parts->user_count; i++) {
        uint64_t address = sample->chain[i];
        if (address >= (uint64_t)PERF_CONTEXT_MAX)
            user = address == (uint64_t)PERF_CONTEXT_USER;
        else if (user)
            parts->user[parts->user_count++] = address;
        else if (parts->kernel_count < CHAIN_MAXIMUM)
            parts->kernel[parts->kernel_count++] = address;
    }
    for (size_t i = 0; i < sample->branch_count && parts->user_count < CHAIN_MAXIMUM; i++)
        parts->user[parts->user_count++] = perf_record_branch(sample, i).from + 1;
}

static void split_chain(const struct perf_sample_record *sample, struct chain_parts *parts)
{
    bool user = false;
    parts->kernel_count = parts->user_count = 0;
    if (sample->branch_count) {
        lbr_chain(sample, parts);
        return;
    }
    for (size_t i = 0; i < sample->chain_count; i++) {
        uint64_t address = sample->chain[i];
        if (address >= (uint64_t)PERF_CONTEXT_MAX) {
            user = address == (uint64_t)PERF_CONTEXT_USER;
            continue;
        }
        if (user && parts->user_count < CHAIN_MAXIMUM)
            parts->user[parts->user_count++] = address;
        else if (!user && parts->kernel_count < CHAIN_MAXIMUM)
            parts->kernel[parts->kernel_count++] = address;
    }
}

static int intern(struct sample_jobs *jobs, const struct unwind_frame *frames, size_t count, int64_t time_ns,
                  uint32_t *ret_node)
{
    struct stack_place places[CHAIN_MAXIMUM * 2];
    if (count > sizeof(places) / sizeof(places[0]))
        count = sizeof(places) / sizeof(places[0]);
    for (size_t i = 0; i < count; i++) {
        struct module *module = frames[i].module;
        if (!module) {
            places[i] = (struct stack_place){UINT32_MAX, 0, frames[i].run_address};
            continue;
        }
        enum module_kind kind = module_kind_of(module);
        bool changes = kind == MODULE_KIND_JIT || kind == MODULE_KIND_ANONYMOUS;
        places[i] = (struct stack_place){module_log_number(jobs->modules, jobs->recording, module),
                                         changes ? (uint32_t)(time_ns / JIT_PERIOD_NS) + 1 : 0, frames[i].address};
    }
    int r = stack_tree_intern(jobs->recording->stacks, places, count, time_ns, ret_node);
    if (r < 0)
        return r;
    return stack_tree_flush(jobs->recording->stacks, jobs->recording->spool, false);
}

static void put_sample(struct sample_jobs *jobs, const struct sample_facts *facts, uint8_t flags,
                       const struct unwind_frame *frames, size_t count)
{
    struct recording_counts *counts = &jobs->recording->counts;
    uint32_t node = 0;
    if (count && intern(jobs, frames, count, facts->time_ns, &node) < 0) {
        counts->samples_failed++;
        return;
    }
    struct wire_sample record = {
        .header = {WIRE_SAMPLE, sizeof(record) / 8, node},
        .time_ns = facts->time_ns,
        .weight = facts->weight,
        .pid = facts->pid,
        .tid = facts->tid,
        .cpu = facts->cpu,
        .event = facts->event,
        .flags = facts->flags | flags,
    };
    uint64_t failed = 0;
    recording_put(jobs->recording, SPOOL_DENSE, &record.header, &failed);
    counts->samples_failed += failed;
    if (facts->event == SAMPLE_EVENT_PAGE_FAULT) {
        counts->faults_kept += !failed;
        return;
    }
    counts->samples_kept += !failed;
    counts->sampled_ns += facts->weight;
    counts->samples_truncated += record.flags & SAMPLE_TRUNCATED ? 1 : 0;
    counts->samples_no_stack += record.flags & SAMPLE_NO_STACK ? 1 : 0;
}

/* Frame pointers carry no end mark: a stack is whole when its outermost function is one that threads begin in. */
static bool reaches_root(const struct unwind_frame *frames, size_t count)
{
    const struct unwind_frame *outermost = count ? &frames[count - 1] : NULL;
    return outermost && outermost->module && unwind_is_root(outermost->module, outermost->address);
}

void sample_jobs_chain(struct sample_jobs *jobs, const struct sample_facts *facts, struct task_process *process,
                       const struct perf_sample_record *sample)
{
    struct chain_parts parts = {.kernel_count = 0};
    struct unwind_frame frames[CHAIN_MAXIMUM * 2];
    bool plain = !sample->chain_count; /* no stacks were asked for, or nobody could walk this one */
    if (plain)
        parts.user[parts.user_count++] = sample->ip;
    else
        split_chain(sample, &parts);
    size_t kernel = unwind_from_addresses(process->map, parts.kernel, parts.kernel_count, true, frames, CHAIN_MAXIMUM);
    size_t user =
        unwind_from_addresses(process->map, parts.user, parts.user_count, true, frames + kernel, CHAIN_MAXIMUM);
    uint8_t flags = 0;
    if (plain)
        flags = SAMPLE_NO_STACK;
    else if (!reaches_root(frames + kernel, user))
        flags = SAMPLE_TRUNCATED | (kernel + user >= KERNEL_CHAIN_MAXIMUM ? SAMPLE_CUT_TOO_DEEP << SAMPLE_CUT_SHIFT : 0);
    put_sample(jobs, facts, flags, frames, kernel + user);
}

struct unwind_job *sample_jobs_copy(const struct sampling_plan *plan, const struct perf_sample_record *sample)
{
    struct unwind_sample input = {.stack = sample->stack, .stack_size = sample->stack_bytes};
    struct chain_parts parts;
    if (!sample_registers_convert(sample->register_abi, plan->layout.user_registers, sample->registers, &input.registers,
                                  &input.stack_address))
        return NULL;
    split_chain(sample, &parts);
    return unwind_job_create(&input, parts.kernel, parts.kernel_count);
}

static struct sample_facts facts_of(const struct unwind_job *job)
{
    return (struct sample_facts){job->pid, job->tid, job->time_ns, job->weight, job->cpu, job->event, job->flags};
}

static void finish_job(struct sample_jobs *jobs, struct unwind_job *job)
{
    struct sample_facts facts = facts_of(job);
    facts.flags = unwind_job_flags(job);
    put_sample(jobs, &facts, 0, job->frames, job->frame_count);
    map_view_release(job->view);
    unwind_job_destroy(job);
}

/* Behind the fixed part: registers, kernel addresses, stack. */
static size_t pack_registers(const struct unwind_registers *registers, uint64_t *to)
{
    size_t count = 0;
    for (int i = 0; i < UNWIND_REGISTERS; i++)
        if (registers->valid >> i & 1)
            to[count++] = registers->values[i];
    return count;
}

static void pack_job(struct sample_jobs *jobs, struct unwind_job *job)
{
    struct {
        struct wire_stack_sample head;
        uint64_t data[UNWIND_REGISTERS + CHAIN_MAXIMUM + 65536 / 8];
    } record;
    uint32_t stack_bytes = (uint32_t)job->sample.stack_size;
    uint64_t failed = 0;
    record.head = (struct wire_stack_sample){
        .header = {.kind = WIRE_STACK_SAMPLE, .value = stack_bytes},
        .time = (uint64_t)job->time_ns,
        .weight = (uint64_t)job->weight,
        .pid = job->pid,
        .tid = job->tid,
        .cpu = job->cpu,
        .event = job->event,
        .flags = job->flags,
        .kernel_count = (uint16_t)job->kernel_count,
        .arch = job->sample.registers.arch == UNWIND_AARCH64 ? WIRE_ARCH_AARCH64 : WIRE_ARCH_X86_64,
        .register_mask = job->sample.registers.valid,
        .stack_address = job->sample.stack_address,
    };
    size_t words = pack_registers(&job->sample.registers, record.data);
    memcpy(record.data + words, job->kernel, job->kernel_count * 8);
    words += job->kernel_count;
    record.data[words + stack_bytes / 8] = 0; /* padding */
    memcpy(record.data + words, job->sample.stack, stack_bytes);
    words += (stack_bytes + 7) / 8;
    record.head.header.words = (uint16_t)(sizeof(record.head) / 8 + words);
    recording_put(jobs->recording, SPOOL_DENSE, &record.head.header, &failed);
    struct recording_counts *counts = &jobs->recording->counts;
    counts->samples_failed += failed;
    counts->samples_packed += !failed;
    if (job->event == SAMPLE_EVENT_PAGE_FAULT) {
        counts->faults_kept += !failed;
    } else {
        counts->samples_kept += !failed;
        counts->sampled_ns += job->weight;
    }
    map_view_release(job->view);
    unwind_job_destroy(job);
}

void sample_jobs_submit(struct sample_jobs *jobs, const struct sample_facts *facts, struct task_process *process,
                        struct unwind_job *job)
{
    job->pid = facts->pid;
    job->tid = facts->tid;
    job->time_ns = facts->time_ns;
    job->weight = facts->weight;
    job->cpu = facts->cpu;
    job->event = facts->event;
    job->flags = facts->flags;
    /* Copying with page faults off, the kernel stops at a page that is not there: no larger copy gets over it. */
    if (job->sample.stack_size < jobs->recording->plan.stack_copy_bytes)
        job->flags |= SAMPLE_CUT_PAGE_ABSENT << SAMPLE_CUT_SHIFT;
    job->view = task_process_view(process);
    if (!job->view) {
        jobs->recording->counts.samples_failed++;
        unwind_job_destroy(job);
        return;
    }
    job->map = job->view->map;
    if (!unwind_pool_put(jobs->pool, job))
        pack_job(jobs, job);
}

void sample_jobs_collect(struct sample_jobs *jobs, int64_t before_ns)
{
    if (!jobs->pool)
        return;
    struct unwind_job *job;
    while ((job = unwind_pool_result(jobs->pool)))
        finish_job(jobs, job);
    while ((job = unwind_pool_take_back(jobs->pool, before_ns)))
        pack_job(jobs, job);
}

size_t sample_jobs_pending(const struct sample_jobs *jobs)
{
    return jobs->pool ? unwind_pool_pending(jobs->pool) : 0;
}
