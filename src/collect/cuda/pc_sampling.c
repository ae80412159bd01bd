/* SPDX-License-Identifier: MIT */
/*
 * PC sampling (--gpu-pc-sampling): CUPTI fills one buffer for each context; it is emptied now and then, when the program waits
 * for the device anyway, and at the end. Continuous, kernels run as ever; serialised, each launch's samples are known apart. Without the configuration step CUPTI crashes, so that a context is
 * sampled only if every step went well.
 */
#include "cuda.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { CONTEXTS = 16, PCS = 4096, REASONS = 64, REASON_BYTES = 128, HARDWARE_BUFFER_BYTES = 128 << 20, PERIOD_LOG2 = 12 };

struct sampled_context {
    cuda_context context; /* atomic; NULL: not yet sampled, or gone */
    uint32_t device;
    uint32_t reason_words[REASONS]; /* string id by number of the reason */
    struct cupti_samples *samples;  /* where CUPTI puts them */
    struct cupti_samples *taken;    /* where a request for data does */
    uint64_t dropped;
};
static struct sampled_context contexts[CONTEXTS];
static uint32_t taken; /* places in use or used up, atomic */
static uint32_t collecting;    /* one at a time */
static uint64_t collected_at;

static void *room(size_t bytes)
{
    void *memory = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? 0 : memory;
}

/* A table of PCs, each with room for all reasons. */
static struct cupti_samples *samples_make(size_t reasons)
{
    size_t stalls_bytes = reasons * sizeof(struct cupti_stall);
    char *memory = room(sizeof(struct cupti_samples) + PCS * (sizeof(struct cupti_pc) + stalls_bytes));
    if (!memory)
        return 0;
    struct cupti_samples *samples = (struct cupti_samples *)(void *)memory;
    samples->size = sizeof *samples;
    samples->capacity = PCS;
    samples->pcs = (struct cupti_pc *)(void *)(memory + sizeof *samples);
    char *stalls = (char *)(samples->pcs + PCS);
    for (size_t i = 0; i < PCS; i++) {
        samples->pcs[i].size = sizeof samples->pcs[i];
        samples->pcs[i].stall_count = reasons;
        samples->pcs[i].stalls = (struct cupti_stall *)(void *)(stalls + i * stalls_bytes);
    }
    return samples;
}

static size_t read_reasons(struct sampled_context *sampled, cuda_context context, uint32_t *numbers)
{
    size_t count = 0;
    struct cupti_sampling_pointer ask = {.size = sizeof ask, .context = context, .pointer = &count};
    if (cuda.cupti.sampling_reason_count(&ask) != CUPTI_OK || count == 0 || count > REASONS)
        return 0;
    static char names[REASONS][REASON_BYTES];
    char *pointers[REASONS];
    for (size_t i = 0; i < count; i++)
        pointers[i] = names[i];
    struct cupti_sampling_reasons reasons = {
        .size = sizeof reasons, .context = context, .count = count, .numbers = numbers, .names = pointers};
    if (cuda.cupti.sampling_reasons(&reasons) != CUPTI_OK)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (numbers[i] < REASONS)
            sampled->reason_words[numbers[i]] = rt_string(names[i], strnlen(names[i], REASON_BYTES));
    return count;
}

static bool configure(struct sampled_context *sampled, cuda_context context, uint32_t *numbers, size_t count)
{
    struct cupti_sampling_setting settings[] = {
        {.attribute = CUPTI_SAMPLING_STALL_REASONS, .value.reasons = {count, numbers}},
        {.attribute = CUPTI_SAMPLING_DATA_BUFFER, .value.pointer = sampled->samples},
        {.attribute = CUPTI_SAMPLING_MODE,
         .value.number = rt_flags() & WIRE_SESSION_PC_SERIALIZED ? CUPTI_SAMPLING_SERIALIZED : CUPTI_SAMPLING_CONTINUOUS},
        {.attribute = CUPTI_SAMPLING_PERIOD, .value.number = PERIOD_LOG2},
        {.attribute = CUPTI_SAMPLING_HARDWARE_BUFFER, .value.bytes = HARDWARE_BUFFER_BYTES},
    };
    struct cupti_sampling_settings all = {
        .size = sizeof all, .context = context, .count = sizeof settings / sizeof settings[0], .settings = settings};
    return cuda.cupti.sampling_configure(&all) == CUPTI_OK;
}

void cuda_sampling_begin(cuda_context context, uint32_t device)
{
    uint32_t numbers[REASONS];
    if (!(rt_flags() & WIRE_SESSION_PC_SAMPLING))
        return;
    if (!cuda.cupti.samples) {
        rt_note("this libcupti has no PC sampling");
        return;
    }
    uint32_t index = __atomic_fetch_add(&taken, 1, __ATOMIC_ACQ_REL);
    if (index >= CONTEXTS)
        return;
    struct sampled_context *sampled = &contexts[index];
    sampled->device = device;
    struct cupti_sampling_context enable = {.size = sizeof enable, .context = context};
    if (cuda.cupti.sampling_enable(&enable) != CUPTI_OK) {
        rt_note("PC sampling is refused: the administrator must let users read GPU counters "
                "(NVreg_RestrictProfilingToAdminUsers=0), or another profiler holds them");
        return;
    }
    size_t count = read_reasons(sampled, context, numbers);
    sampled->samples = count ? samples_make(count) : 0;
    sampled->taken = count ? samples_make(count) : 0;
    if (!sampled->samples || !sampled->taken || !configure(sampled, context, numbers, count)) {
        cuda.cupti.sampling_disable(&enable);
        rt_note("PC sampling could not be set up on a device");
        return;
    }
    __atomic_store_n(&sampled->context, context, __ATOMIC_RELEASE);
}

static void write_samples(const struct sampled_context *sampled, struct cupti_samples *samples)
{
    struct wire_gpu_samples record = {.header = {WIRE_GPU_SAMPLES, sizeof record / 8, 0}, .time = rt_now(), .device = (int32_t)sampled->device};
    for (size_t i = 0; i < samples->count && i < samples->capacity; i++) {
        const struct cupti_pc *pc = &samples->pcs[i];
        record.header.value = pc->function ? rt_string(pc->function, strnlen(pc->function, 4096)) : 0;
        record.cubin_crc = pc->cubin_crc;
        record.offset = pc->offset;
        record.correlation = rt_flags() & WIRE_SESSION_PC_SERIALIZED ? pc->correlation : 0;
        for (size_t j = 0; j < pc->stall_count && j < REASONS; j++) {
            if (!pc->stalls[j].samples || pc->stalls[j].reason >= REASONS)
                continue;
            record.reason = sampled->reason_words[pc->stalls[j].reason];
            record.samples = pc->stalls[j].samples;
            rt_append(&record.header);
        }
    }
    samples->count = 0;
}

static void collect(struct sampled_context *sampled, bool finish)
{
    struct cupti_sampling_pointer data = {.size = sizeof data, .context = sampled->context, .pointer = sampled->taken};
    do {
        sampled->taken->count = sampled->taken->remaining = 0;
        if (cuda.cupti.sampling_data(&data) != CUPTI_OK)
            break;
        sampled->dropped += sampled->taken->dropped;
        write_samples(sampled, sampled->taken);
    } while (sampled->taken->remaining > 0);
    if (!finish)
        return;
    struct cupti_sampling_context disable = {.size = sizeof disable, .context = sampled->context};
    cuda.cupti.sampling_disable(&disable);
    sampled->dropped += sampled->samples->dropped;
    write_samples(sampled, sampled->samples);
}

/* One at a time. The last one waits for another that is at it, but not for ever. */
static bool begin_collecting(bool finish)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (unsigned tries = 0; tries < (finish ? 2000 : 1); tries++) {
        uint32_t expected = 0;
        if (__atomic_compare_exchange_n(&collecting, &expected, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return true;
        if (finish)
            nanosleep(&pause, 0);
    }
    return false;
}

static uint32_t places(void)
{
    uint32_t count = __atomic_load_n(&taken, __ATOMIC_ACQUIRE);
    return count < CONTEXTS ? count : CONTEXTS;
}

/* Before a context is destroyed: CUPTI may not be asked about it afterwards. */
void cuda_sampling_end(cuda_context context)
{
    for (uint32_t i = 0; i < places(); i++) {
        if (__atomic_load_n(&contexts[i].context, __ATOMIC_ACQUIRE) != context || !begin_collecting(true))
            continue;
        cuda_own_calls(true);
        collect(&contexts[i], true);
        cuda_own_calls(false);
        __atomic_store_n(&contexts[i].context, 0, __ATOMIC_RELEASE);
        __atomic_store_n(&collecting, 0, __ATOMIC_RELEASE);
    }
}

/* At most about ten times a second, unless it is the last time. */
void cuda_sampling_collect(bool finish)
{
    uint64_t now = cuda_clock_ns();
    uint32_t count = places();
    if (count == 0 || (!finish && now - __atomic_load_n(&collected_at, __ATOMIC_RELAXED) < 100000000u) || !begin_collecting(finish))
        return;
    __atomic_store_n(&collected_at, now, __ATOMIC_RELAXED);
    cuda_own_calls(true);
    for (uint32_t i = 0; i < count; i++)
        if (__atomic_load_n(&contexts[i].context, __ATOMIC_ACQUIRE))
            collect(&contexts[i], finish);
    cuda_own_calls(false);
    if (!finish)
        __atomic_store_n(&collecting, 0, __ATOMIC_RELEASE);
    for (uint32_t i = 0; finish && i < count; i++)
        if (contexts[i].dropped)
            cuda_ledger("gpu pc samples", "dropped by the device: its buffer was full", 0, 0, contexts[i].dropped);
}
