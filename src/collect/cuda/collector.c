/* SPDX-License-Identifier: MIT */
/*
 * The CUDA collector: the driver loads it at its first use (CUDA_INJECTION64_PATH), whichever way the program came to CUDA.
 * The clock is registered before any context, as later is too late.
 */
#include "cuda.h"

#include <string.h>

extern int __cxa_atexit(void (*function)(void *), void *argument, void *library);
extern int getpid(void);

struct cuda cuda;

uint32_t cuda_word(const char *text)
{
    return rt_string(text, strlen(text));
}

static void on_callback(void *context, uint32_t domain, uint32_t id, const void *data)
{
    (void)context;
    if (!__atomic_load_n(&cuda.active, __ATOMIC_ACQUIRE))
        return;
    if (domain == CUPTI_RESOURCE)
        cuda_on_resource(id, data);
    else
        cuda_on_call(domain, id, data);
}

void cuda_ledger(const char *source, const char *reason, uint64_t seen, uint64_t recorded, uint64_t lost)
{
    uint64_t bytes[32 + 4] = {0};
    struct wire_ledger *record = (struct wire_ledger *)(void *)bytes;
    size_t source_bytes = strlen(source) + 1, reason_bytes = strlen(reason) + 1, size = source_bytes + reason_bytes;
    if (size > sizeof bytes - sizeof *record)
        return;
    memcpy(record + 1, source, source_bytes);
    memcpy((char *)(record + 1) + source_bytes, reason, reason_bytes);
    record->header = (struct wire_header){WIRE_LEDGER, (uint16_t)((sizeof *record + size + 7) / 8), (uint32_t)size};
    record->seen = seen;
    record->recorded = recorded;
    record->lost = lost;
    rt_append(&record->header);
}

static void write_ledger(void)
{
    cuda_ledger("cuda device records", "", cuda.device_records + cuda.unstamped + cuda.dropped, cuda.device_records, 0);
    if (cuda.unstamped)
        cuda_ledger("cuda device records", "no times from the device", 0, 0, cuda.unstamped);
    if (cuda.dropped)
        cuda_ledger("cuda device records", "dropped by CUPTI: its buffers were full", 0, 0, cuda.dropped);
    if (cuda.launches > cuda.launched_kernels)
        cuda_ledger("cuda kernels", "launched, but not ended when the program did", cuda.launches, cuda.launched_kernels,
                    cuda.launches - cuda.launched_kernels);
    if (cuda.launches && !cuda.device_records)
        rt_note("CUDA launches were seen, but the device gave no records: another profiler may hold CUPTI, or the GPU's "
                "activity may not be traced by this user");
}

static void finish(void *unused)
{
    (void)unused;
    if (getpid() != cuda.pid || !__atomic_load_n(&cuda.active, __ATOMIC_ACQUIRE))
        return;
    __atomic_store_n(&cuda.ended, 1, __ATOMIC_RELEASE);
    cuda_sampling_collect(true);
    cuda_own_calls(true);
    cuda_activity_finish();
    cuda_own_calls(false);
    write_ledger();
    __atomic_store_n(&cuda.active, 0, __ATOMIC_RELEASE);
}

static bool start(void)
{
    const char *problem;
    if (!cupti_open(&cuda.cupti, &problem)) {
        rt_note(problem);
        return false;
    }
    if (!cuda_clock_start() || cuda.cupti.register_timestamp(cuda_clock_ns) != CUPTI_OK) {
        rt_note("CUPTI takes no clock of ours: no device times can be had");
        return false;
    }
    cupti_result result = cuda.cupti.subscribe(&cuda.subscriber, on_callback, 0);
    if (result != CUPTI_OK) {
        cuda.subscriber = 0;
        rt_note(result == CUPTI_MULTIPLE_SUBSCRIBERS ? "another profiler holds CUPTI's callbacks: no API calls are traced"
                                                     : "CUPTI refused its callbacks: no API calls are traced");
    }
    if (!cuda_activity_start()) {
        rt_note("CUPTI gives no activity records: no kernels and copies are traced");
        if (!cuda.subscriber)
            return false;
    }
    if (cuda.subscriber) {
        cuda_calls_start();
        cuda_resources_start();
    }
    return true;
}

int InitializeInjection(void) __attribute__((visibility("default")));
int InitializeInjection(void)
{
    static uint32_t started;
    if (__atomic_exchange_n(&started, 1, __ATOMIC_ACQ_REL) || !rt_register(CUDA_LAYER, "cuda"))
        return 1;
    cuda.pid = getpid();
    if (start()) {
        __atomic_store_n(&cuda.active, 1, __ATOMIC_RELEASE);
        __cxa_atexit(finish, 0, 0);
    }
    return 1;
}
