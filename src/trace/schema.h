/* SPDX-License-Identifier: MIT */
/* The columns of each family: what a row looks like while it is gathered, and how each column is kept in a block. */
#ifndef HP_TRACE_SCHEMA_H
#define HP_TRACE_SCHEMA_H

#include "trace.h"

/* Rows as the builder gathers them. Time stands first in each (spans: the end second), the sort relies on it. */
struct span_row {
    int64_t begin_ns, end_ns;
    uint64_t correlation;
    string_id name, category;
    uint32_t parent; /* a handle */
    stack_id stack;
    uint32_t payload_begin, payload_size; /* in the open payload buffer */
    uint8_t kind;
};
struct sample_row {
    int64_t time_ns, weight;
    stack_id stack;
    uint16_t cpu;
    uint8_t event, flags;
};
struct instant_row {
    int64_t time_ns;
    string_id name, category;
    uint32_t payload_begin, payload_size;
};
struct counter_row {
    int64_t time_ns;
    double value;
};
struct link_row {
    uint32_t from, to;
    uint8_t kind, confidence;
};
struct member_row {
    uint32_t group, span;
    int32_t rank;
};

/* What is done to a value before column_encode, and undone after column_decode. */
enum column_transform {
    TRANSFORM_PLAIN,
    TRANSFORM_ASCENDING,    /* sorted: differences */
    TRANSFORM_SPAN_END,     /* 1 + end - begin; 0 = open */
    TRANSFORM_ROW_RELATIVE, /* 1 + zigzag(id of the row - value); 0 = none: small for parents */
    TRANSFORM_BYTES,
};

/* Which table a value is an index of: readers check it. */
enum column_reference { REFERENCE_NONE, REFERENCE_STRING, REFERENCE_STACK, REFERENCE_SPAN, REFERENCE_GROUP };

#define COLUMN_NEVER_ABSENT 0x100
struct column_spec {
    const char *name;
    uint8_t size;        /* bytes of a decoded value: 1, 2, 4, 8 */
    uint8_t transform, reference;
    uint16_t row_offset; /* of the value in the row struct */
    uint16_t always;     /* COLUMN_NEVER_ABSENT: stored even if all values are absent */
    uint64_t absent;     /* the value that a column which is not stored stands for */
    uint16_t limit;      /* of an enumeration: numbers from here on are of a newer version; 0 = none */
    bool zero_is_unknown; /* ... and become 0, which means unknown */
};

/* 73 years either way: differences of times can't overflow. */
#define MODEL_TIME_LIMIT_NS (INT64_C(1) << 61)
#define COLUMNS_MAX 12
/* Numbers are in files: append only. */
enum sample_column { SAMPLE_COLUMN_TIME, SAMPLE_COLUMN_WEIGHT, SAMPLE_COLUMN_STACK, SAMPLE_COLUMN_CPU,
                     SAMPLE_COLUMN_EVENT, SAMPLE_COLUMN_FLAGS, SAMPLE_COLUMN_COUNT };
enum instant_column { INSTANT_COLUMN_TIME, INSTANT_COLUMN_NAME, INSTANT_COLUMN_CATEGORY, INSTANT_COLUMN_PAYLOAD_END,
                      INSTANT_COLUMN_PAYLOAD, INSTANT_COLUMN_COUNT };
enum counter_column { COUNTER_COLUMN_TIME, COUNTER_COLUMN_VALUE, COUNTER_COLUMN_COUNT };
enum link_column { LINK_COLUMN_FROM, LINK_COLUMN_TO, LINK_COLUMN_KIND, LINK_COLUMN_CONFIDENCE, LINK_COLUMN_COUNT };
enum member_column { MEMBER_COLUMN_GROUP, MEMBER_COLUMN_SPAN, MEMBER_COLUMN_RANK, MEMBER_COLUMN_COUNT };

struct family_schema {
    const char *name;
    const struct column_spec *columns;
    uint8_t column_count;
    uint8_t payload_end, payload; /* columns; COLUMNS_MAX = the family has no payload */
    uint16_t row_size;
    bool per_track;               /* rows belong to tracks and are sorted by time */
};
const struct family_schema *family_schema(enum family family);

#endif
