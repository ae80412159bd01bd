/* SPDX-License-Identifier: MIT */
/* The numbers of kinds.def as enums: collectors write them into records, the trace model and its files keep them. */
#ifndef HP_WIRE_KINDS_H
#define HP_WIRE_KINDS_H

enum span_kind {
#define SPAN_KIND(enumerator, name) SPAN_KIND_##enumerator,
#include "kinds.def"
    SPAN_KIND_COUNT
};
enum track_kind {
#define TRACK_KIND(enumerator, name) TRACK_KIND_##enumerator,
#include "kinds.def"
    TRACK_KIND_COUNT
};
enum link_kind {
#define LINK_KIND(enumerator, name) LINK_KIND_##enumerator,
#include "kinds.def"
    LINK_KIND_COUNT
};
enum confidence {
#define CONFIDENCE(enumerator, name) CONFIDENCE_##enumerator,
#include "kinds.def"
    CONFIDENCE_COUNT
};
enum sample_event {
#define SAMPLE_EVENT(enumerator, name) SAMPLE_EVENT_##enumerator,
#include "kinds.def"
    SAMPLE_EVENT_COUNT
};
enum sample_cut {
#define SAMPLE_CUT(enumerator, name) SAMPLE_CUT_##enumerator,
#include "kinds.def"
    SAMPLE_CUT_COUNT
};
enum payload_kind {
    PAYLOAD_NONE,
#define PAYLOAD(enumerator, name) PAYLOAD_##enumerator,
#include "kinds.def"
    PAYLOAD_COUNT
};

/* FIELD_<payload>_<name>: the field's position in its payload, the bit of `present`. */
enum payload_position {
#define FIELDS(payload) FIELDS_##payload = -1, /* each payload counts from 0 anew */
#define FIELD(payload, name, type, unit) FIELD_##payload##_##name,
#include "kinds.def"
};

#endif
