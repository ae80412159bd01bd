/* SPDX-License-Identifier: MIT */
/* The table of families and their columns. */
#include "schema.h"

#include "column.h"

#define U32_NONE UINT32_MAX

static const struct column_spec span_columns[SPAN_COLUMN_COUNT] = {
    [SPAN_COLUMN_BEGIN] = {"begin_ns", 8, TRANSFORM_ASCENDING, REFERENCE_NONE, offsetof(struct span_row, begin_ns),
                           COLUMN_NEVER_ABSENT, 0},
    [SPAN_COLUMN_END] = {"end_ns", 8, TRANSFORM_SPAN_END, REFERENCE_NONE, offsetof(struct span_row, end_ns),
                         COLUMN_NEVER_ABSENT, 0},
    [SPAN_COLUMN_NAME] = {"name", 4, TRANSFORM_PLAIN, REFERENCE_STRING, offsetof(struct span_row, name), 0, 0},
    [SPAN_COLUMN_CATEGORY] = {"category", 4, TRANSFORM_PLAIN, REFERENCE_STRING, offsetof(struct span_row, category), 0, 0},
    [SPAN_COLUMN_KIND] = {"kind", 1, TRANSFORM_PLAIN, REFERENCE_NONE, offsetof(struct span_row, kind), 0, 0,
                          SPAN_KIND_COUNT, true},
    [SPAN_COLUMN_PARENT] = {"parent", 4, TRANSFORM_ROW_RELATIVE, REFERENCE_SPAN, offsetof(struct span_row, parent), 0,
                            U32_NONE},
    [SPAN_COLUMN_CORRELATION] = {"correlation", 8, TRANSFORM_PLAIN, REFERENCE_NONE,
                                 offsetof(struct span_row, correlation), 0, 0},
    [SPAN_COLUMN_STACK] = {"stack", 4, TRANSFORM_PLAIN, REFERENCE_STACK, offsetof(struct span_row, stack), 0, U32_NONE},
    [SPAN_COLUMN_PAYLOAD_END] = {"payload_end", 4, TRANSFORM_ASCENDING, REFERENCE_NONE, 0, 0, 0},
    [SPAN_COLUMN_PAYLOAD] = {"payload", 1, TRANSFORM_BYTES, REFERENCE_NONE, 0, 0, 0},
    /* Only while a trace is built: position of the row when it was added, which is its handle. */
    [SPAN_COLUMN_ORDER] = {"order", 4, TRANSFORM_PLAIN, REFERENCE_NONE, 0, COLUMN_NEVER_ABSENT, 0},
};

static const struct column_spec sample_columns[SAMPLE_COLUMN_COUNT] = {
    [SAMPLE_COLUMN_TIME] = {"time_ns", 8, TRANSFORM_ASCENDING, REFERENCE_NONE, offsetof(struct sample_row, time_ns),
                            COLUMN_NEVER_ABSENT, 0},
    [SAMPLE_COLUMN_WEIGHT] = {"weight", 8, TRANSFORM_PLAIN, REFERENCE_NONE, offsetof(struct sample_row, weight),
                              COLUMN_NEVER_ABSENT, 0},
    [SAMPLE_COLUMN_STACK] = {"stack", 4, TRANSFORM_PLAIN, REFERENCE_STACK, offsetof(struct sample_row, stack), 0, U32_NONE},
    [SAMPLE_COLUMN_CPU] = {"cpu", 2, TRANSFORM_PLAIN, REFERENCE_NONE, offsetof(struct sample_row, cpu), 0, UINT16_MAX},
    [SAMPLE_COLUMN_EVENT] = {"event", 1, TRANSFORM_PLAIN, REFERENCE_NONE, offsetof(struct sample_row, event), 0, 0,
                             SAMPLE_EVENT_COUNT, false},
    [SAMPLE_COLUMN_FLAGS] = {"flags", 1, TRANSFORM_PLAIN, REFERENCE_NONE, offsetof(struct sample_row, flags), 0, 0},
};

static const struct column_spec instant_columns[INSTANT_COLUMN_COUNT] = {
    [INSTANT_COLUMN_TIME] = {"time_ns", 8, TRANSFORM_ASCENDING, REFERENCE_NONE, offsetof(struct instant_row, time_ns),
                             COLUMN_NEVER_ABSENT, 0},
    [INSTANT_COLUMN_NAME] = {"name", 4, TRANSFORM_PLAIN, REFERENCE_STRING, offsetof(struct instant_row, name), 0, 0},
    [INSTANT_COLUMN_CATEGORY] = {"category", 4, TRANSFORM_PLAIN, REFERENCE_STRING,
                                 offsetof(struct instant_row, category), 0, 0},
    [INSTANT_COLUMN_PAYLOAD_END] = {"payload_end", 4, TRANSFORM_ASCENDING, REFERENCE_NONE, 0, 0, 0},
    [INSTANT_COLUMN_PAYLOAD] = {"payload", 1, TRANSFORM_BYTES, REFERENCE_NONE, 0, 0, 0},
};

static const struct column_spec counter_columns[COUNTER_COLUMN_COUNT] = {
    [COUNTER_COLUMN_TIME] = {"time_ns", 8, TRANSFORM_ASCENDING, REFERENCE_NONE, offsetof(struct counter_row, time_ns),
                             COLUMN_NEVER_ABSENT, 0},
    [COUNTER_COLUMN_VALUE] = {"value", 8, TRANSFORM_PLAIN, REFERENCE_NONE, offsetof(struct counter_row, value),
                              COLUMN_NEVER_ABSENT, 0},
};

static const struct column_spec link_columns[LINK_COLUMN_COUNT] = {
    [LINK_COLUMN_FROM] = {"from", 4, TRANSFORM_PLAIN, REFERENCE_SPAN, offsetof(struct link_row, from), 0, U32_NONE},
    [LINK_COLUMN_TO] = {"to", 4, TRANSFORM_PLAIN, REFERENCE_SPAN, offsetof(struct link_row, to), 0, U32_NONE},
    [LINK_COLUMN_KIND] = {"kind", 1, TRANSFORM_PLAIN, REFERENCE_NONE, offsetof(struct link_row, kind), 0, 0,
                          LINK_KIND_COUNT, false},
    [LINK_COLUMN_CONFIDENCE] = {"confidence", 1, TRANSFORM_PLAIN, REFERENCE_NONE,
                                offsetof(struct link_row, confidence), 0, 0, CONFIDENCE_COUNT, false},
};

static const struct column_spec member_columns[MEMBER_COLUMN_COUNT] = {
    [MEMBER_COLUMN_GROUP] = {"group", 4, TRANSFORM_PLAIN, REFERENCE_GROUP, offsetof(struct member_row, group), 0, U32_NONE},
    [MEMBER_COLUMN_SPAN] = {"span", 4, TRANSFORM_PLAIN, REFERENCE_SPAN, offsetof(struct member_row, span), 0, U32_NONE},
    [MEMBER_COLUMN_RANK] = {"rank", 4, TRANSFORM_PLAIN, REFERENCE_NONE, offsetof(struct member_row, rank), 0, U32_NONE},
};

static const struct family_schema schemas[FAMILY_COUNT] = {
    [FAMILY_SPANS] = {"spans", span_columns, SPAN_COLUMN_COUNT, SPAN_COLUMN_PAYLOAD_END, SPAN_COLUMN_PAYLOAD,
                      sizeof(struct span_row), true},
    [FAMILY_SAMPLES] = {"samples", sample_columns, SAMPLE_COLUMN_COUNT, COLUMNS_MAX, COLUMNS_MAX,
                        sizeof(struct sample_row), true},
    [FAMILY_INSTANTS] = {"instants", instant_columns, INSTANT_COLUMN_COUNT, INSTANT_COLUMN_PAYLOAD_END,
                         INSTANT_COLUMN_PAYLOAD, sizeof(struct instant_row), true},
    [FAMILY_COUNTERS] = {"counters", counter_columns, COUNTER_COLUMN_COUNT, COLUMNS_MAX, COLUMNS_MAX,
                         sizeof(struct counter_row), true},
    [FAMILY_LINKS] = {"links", link_columns, LINK_COLUMN_COUNT, COLUMNS_MAX, COLUMNS_MAX, sizeof(struct link_row), false},
    [FAMILY_MEMBERS] = {"members", member_columns, MEMBER_COLUMN_COUNT, COLUMNS_MAX, COLUMNS_MAX,
                        sizeof(struct member_row), false},
};

const struct family_schema *family_schema(enum family family)
{
    return &schemas[family];
}
