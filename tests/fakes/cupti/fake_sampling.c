/* SPDX-License-Identifier: MIT */
/* PC sampling of the CUPTI that says again what a real one said: data in the recording's portions, the last when it is switched off. */
#include "fake.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* the functions are found by name */

#include <string.h>

static struct cupti_samples *data_buffer;
static size_t next_portion; /* where the search for the next one begins */

static const struct recording_event *next(uint32_t kind, size_t *at)
{
    const struct recording_event *event;
    while ((event = event_at(*at))) {
        *at = event_end(*at, event);
        if (event->kind == kind)
            return event;
    }
    return NULL;
}

static size_t reason_count(void)
{
    size_t at = 0, count = 0;
    while (next(RECORDING_STALL, &at))
        count++;
    return count;
}

static void fill_pc(struct cupti_pc *pc, const struct recording_event *event)
{
    const struct recorded_pc *recorded = (const void *)(event + 1);
    const struct cupti_stall *stalls = (const void *)(recorded + 1);
    pc->cubin_crc = recorded->cubin_crc;
    pc->offset = recorded->offset;
    pc->correlation = recorded->correlation;
    pc->function = recorded->name_bytes ? (char *)(uintptr_t)(stalls + recorded->stalls) : NULL;
    for (size_t i = 0; i < pc->stall_count; i++)
        pc->stalls[i] = i < recorded->stalls ? stalls[i] : (struct cupti_stall){0};
}

/* The next portion that came in the same way; false: there is none. */
static int fill(struct cupti_samples *samples, uint32_t at_disable)
{
    const struct recording_event *event;
    for (size_t at = next_portion; (event = next(RECORDING_SAMPLES, &at));) {
        const struct recorded_samples *recorded = (const void *)(event + 1);
        if (recorded->at_disable != at_disable)
            continue;
        samples->count = 0;
        samples->dropped = recorded->dropped;
        for (uint32_t i = 0; i < recorded->count && samples->count < samples->capacity && (event = next(RECORDING_PC, &at)); i++)
            fill_pc(&samples->pcs[samples->count++], event);
        next_portion = at;
        return 1;
    }
    return 0;
}

static int has_more(void)
{
    const struct recording_event *event;
    for (size_t at = next_portion; (event = next(RECORDING_SAMPLES, &at));)
        if (!((const struct recorded_samples *)(const void *)(event + 1))->at_disable)
            return 1;
    return 0;
}

cupti_result cuptiPCSamplingEnable(struct cupti_sampling_context *context)
{
    return context->context && reason_count() ? CUPTI_OK : 1;
}
cupti_result cuptiPCSamplingDisable(struct cupti_sampling_context *context)
{
    if (data_buffer)
        fill(data_buffer, 1);
    return context->context ? CUPTI_OK : 1;
}
cupti_result cuptiPCSamplingGetNumStallReasons(struct cupti_sampling_pointer *count)
{
    *(size_t *)count->pointer = reason_count();
    return CUPTI_OK;
}
cupti_result cuptiPCSamplingGetStallReasons(struct cupti_sampling_reasons *reasons)
{
    const struct recording_event *event;
    size_t at = 0;
    for (size_t i = 0; i < reasons->count && (event = next(RECORDING_STALL, &at)); i++) {
        memcpy(&reasons->numbers[i], event + 1, sizeof reasons->numbers[i]);
        strcpy(reasons->names[i], (const char *)(event + 1) + sizeof reasons->numbers[i]);
    }
    return CUPTI_OK;
}
cupti_result cuptiPCSamplingSetConfigurationAttribute(struct cupti_sampling_settings *settings)
{
    for (size_t i = 0; i < settings->count; i++)
        if (settings->settings[i].attribute == CUPTI_SAMPLING_DATA_BUFFER)
            data_buffer = settings->settings[i].value.pointer;
    return CUPTI_OK;
}
cupti_result cuptiPCSamplingGetData(struct cupti_sampling_pointer *data)
{
    struct cupti_samples *samples = data->pointer;
    if (!fill(samples, 0))
        samples->count = 0;
    samples->remaining = samples->count && has_more();
    return CUPTI_OK;
}
cupti_result cuptiGetCubinCrc(struct cupti_crc *crc)
{
    crc->crc = crc->cubin_bytes;
    return CUPTI_OK;
}
