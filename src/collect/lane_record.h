/* SPDX-License-Identifier: MIT */
/* A span on a lane that is no thread's, with its payload, as collectors put it together and write it. */
#ifndef HP_COLLECT_LANE_RECORD_H
#define HP_COLLECT_LANE_RECORD_H

#include "collector.h"

/* All but the span's header, kind and payload kind is the caller's to fill: set the structure to zero first. */
struct lane_record {
    struct wire_device_span span;
    uint64_t fields[24]; /* of the payload: behind the span in the record */
    uint32_t count;
};

/* Positions (FIELD_..., wire/kinds.h) must come in ascending order. */
static inline void lane_field(struct lane_record *record, unsigned position, uint64_t value)
{
    record->fields[record->count++] = value;
    record->span.span.present |= 1u << position;
}

/* False: it was not recorded. */
static inline bool lane_write(struct lane_record *record, uint32_t name, unsigned kind, unsigned payload)
{
    uint32_t bytes = (uint32_t)sizeof record->span + record->count * 8;
    record->span.span.header = (struct wire_header){WIRE_DEVICE_SPAN, (uint16_t)(bytes / 8), name};
    record->span.span.span_kind = (uint8_t)kind;
    record->span.span.payload_kind = record->count ? (uint8_t)payload : 0;
    rt_place place = rt_open(bytes);
    if (!place.record)
        return false;
    __builtin_memcpy(place.record, &record->span, sizeof record->span);
    __builtin_memcpy((char *)place.record + sizeof record->span, record->fields, record->count * 8);
    rt_close(place);
    return true;
}

#endif
