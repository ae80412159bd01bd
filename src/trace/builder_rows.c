/* SPDX-License-Identifier: MIT */
/* Adding rows: each goes into the open rows of its track, which are sealed when they are full. */
#include "builder_internal.h"

#include "base/array.h"
#include "payload.h"

#include <errno.h>
#include <string.h>

/* Enough room for one more row and a reserved range of handles for it. */
static int open_make_room(struct trace_builder *builder, enum family family, struct open_rows *open)
{
    if (open->count == 0 && open->limit == 0) {
        uint32_t limit = open->next_limit ? open->next_limit : FIRST_BLOCK_ROWS;
        if (family == FAMILY_SPANS) {
            if (builder->next_handle > ID_NONE - 1 - limit)
                return builder_fail(builder, -EOVERFLOW, "trace builder: over 4 billion spans");
            open->first = builder->next_handle;
            builder->next_handle += limit;
        }
        open->limit = limit;
        open->next_limit = limit * 4 > BLOCK_ROWS_MAX ? BLOCK_ROWS_MAX : limit * 4;
    }
    if (open->count < open->capacity)
        return 0;
    size_t row_size = family_schema(family)->row_size, before = open->capacity;
    uint8_t *rows = array_reserve(open->rows, &open->capacity, (size_t)open->count + 1, row_size);
    if (!rows)
        return builder_fail(builder, -ENOMEM, "trace builder: out of memory for rows");
    open->rows = rows;
    builder->open_bytes += (open->capacity - before) * row_size;
    return 0;
}

static struct open_rows *open_create(struct trace_builder *builder, enum family family, track_id track)
{
    struct open_rows *open = calloc(1, sizeof(*open));
    if (!open)
        builder_fail(builder, -ENOMEM, "trace builder: out of memory for a track's rows");
    builder->tracks[track.index].open[family] = open;
    return open;
}

/* The place for one more row of a track, or NULL with *ret_result set. */
static inline uint8_t *next_row(struct trace_builder *builder, enum family family, size_t row_size, track_id track,
                                struct open_rows **ret_open, int *ret_result)
{
    if (builder->failure || track.index >= builder->tables[TABLE_TRACKS].count) {
        *ret_result = builder->failure ? builder->failure : -EINVAL;
        return NULL;
    }
    struct open_rows *open = builder->tracks[track.index].open[family];
    if (!open && !(open = open_create(builder, family, track))) {
        *ret_result = builder->failure;
        return NULL;
    }
    if (open->count == open->limit && open->count)
        builder_seal(builder, family, track, open);
    if (builder->open_bytes > OPEN_BYTES_MAX)
        builder_seal_all(builder);
    if (open->count >= open->capacity || open->limit == 0)
        open_make_room(builder, family, open);
    if (builder->failure) {
        *ret_result = builder->failure;
        return NULL;
    }
    *ret_open = open;
    return open->rows + open->count * row_size;
}

/* Rows sort by begin, then by end descending: an enclosing span stands before what it encloses. */
static inline void note_order(struct open_rows *open, int64_t begin_ns, int64_t end_ns)
{
    bool in_order = open->last_begin_ns < begin_ns || (open->last_begin_ns == begin_ns &&
                                                       (end_ns == open->last_end_ns || (open->last_end_ns == INT64_MIN) ||
                                                        (end_ns != INT64_MIN && end_ns < open->last_end_ns)));
    open->unsorted |= open->count && !in_order;
    open->last_begin_ns = begin_ns;
    open->last_end_ns = end_ns;
    open->count++;
}

static inline bool time_valid(int64_t time_ns)
{
    return time_ns > -MODEL_TIME_LIMIT_NS && time_ns < MODEL_TIME_LIMIT_NS;
}

static int add_payload(struct trace_builder *builder, struct open_rows *open, const struct payload *payload,
                       uint32_t *ret_begin, uint32_t *ret_size)
{
    size_t bound = payload_encoded_bound(payload), before = open->payload_capacity;
    *ret_begin = *ret_size = 0;
    if (bound == 0)
        return 0;
    uint8_t *bytes = array_reserve(open->payload, &open->payload_capacity, open->payload_size + bound, 1);
    if (!bytes)
        return builder_fail(builder, -ENOMEM, "trace builder: out of memory for payloads");
    open->payload = bytes;
    builder->open_bytes += open->payload_capacity - before;
    *ret_begin = (uint32_t)open->payload_size;
    *ret_size = (uint32_t)payload_encode(payload, bytes + open->payload_size);
    open->payload_size += *ret_size;
    if (open->payload_size >= OPEN_PAYLOAD_MAX)
        open->limit = open->count + 1; /* this row is the block's last; handles behind it stay unused */
    return 0;
}

static bool payload_valid(const struct payload *payload)
{
    return !payload || ((unsigned)payload->kind < PAYLOAD_COUNT && payload_encoded_bound(payload) <= ROW_PAYLOAD_MAX);
}

int trace_builder_add_span(struct trace_builder *builder, const struct span *span, const struct payload *payload,
                           span_id *ret_handle)
{
    bool end_valid = span->end_ns == INT64_MIN || (span->end_ns >= span->begin_ns && time_valid(span->end_ns));
    if (!time_valid(span->begin_ns) || !end_valid || !payload_valid(payload) || (unsigned)span->kind >= SPAN_KIND_COUNT)
        return -EINVAL;
    struct open_rows *open;
    int result = 0;
    struct span_row *row = (void *)next_row(builder, FAMILY_SPANS, sizeof(*row), span->track, &open, &result);
    if (!row)
        return result;
    row->begin_ns = span->begin_ns;
    row->end_ns = span->end_ns;
    row->correlation = span->correlation;
    row->name = span->name;
    row->category = span->category;
    row->parent = span->parent.index;
    row->stack = span->stack;
    row->kind = (uint8_t)span->kind;
    result = add_payload(builder, open, payload, &row->payload_begin, &row->payload_size);
    if (result < 0)
        return result;
    open->has_parents |= span->parent.index != ID_NONE;
    if (ret_handle)
        ret_handle->index = open->first + open->count;
    note_order(open, span->begin_ns, span->end_ns);
    return 0;
}

int trace_builder_add_sample(struct trace_builder *builder, track_id track, const struct sample *sample)
{
    if (!time_valid(sample->time_ns) || sample->event >= SAMPLE_EVENT_COUNT)
        return -EINVAL;
    struct open_rows *open;
    int result = 0;
    struct sample_row *row = (void *)next_row(builder, FAMILY_SAMPLES, sizeof(*row), track, &open, &result);
    if (!row)
        return result;
    *row = (struct sample_row){sample->time_ns, sample->weight, sample->stack, sample->cpu, sample->event, sample->flags};
    note_order(open, sample->time_ns, 0);
    return 0;
}

int trace_builder_add_instant(struct trace_builder *builder, track_id track, const struct instant *instant,
                              const struct payload *payload)
{
    if (!time_valid(instant->time_ns) || !payload_valid(payload))
        return -EINVAL;
    struct open_rows *open;
    int result = 0;
    struct instant_row *row = (void *)next_row(builder, FAMILY_INSTANTS, sizeof(*row), track, &open, &result);
    if (!row)
        return result;
    *row = (struct instant_row){.time_ns = instant->time_ns, .name = instant->name, .category = instant->category};
    result = add_payload(builder, open, payload, &row->payload_begin, &row->payload_size);
    if (result < 0)
        return result;
    note_order(open, instant->time_ns, 0);
    return 0;
}

int trace_builder_add_counter(struct trace_builder *builder, track_id track, const struct counter_value *value)
{
    if (!time_valid(value->time_ns))
        return -EINVAL;
    struct open_rows *open;
    int result = 0;
    struct counter_row *row = (void *)next_row(builder, FAMILY_COUNTERS, sizeof(*row), track, &open, &result);
    if (!row)
        return result;
    *row = (struct counter_row){value->time_ns, value->value};
    note_order(open, value->time_ns, 0);
    return 0;
}

/* Links and members: one open batch each, in order of adding. */
static int add_pair(struct trace_builder *builder, enum family family, const void *row)
{
    struct open_rows *open = &builder->pairs[family - TRACK_FAMILIES];
    if (builder->failure)
        return builder->failure;
    if (open->count == open->limit && open->count)
        builder_seal(builder, family, TRACK_NONE, open);
    if (open_make_room(builder, family, open) < 0 || builder->failure)
        return builder->failure;
    size_t row_size = family_schema(family)->row_size;
    memcpy(open->rows + open->count++ * row_size, row, row_size);
    return 0;
}

int trace_builder_add_link(struct trace_builder *builder, const struct trace_link *link)
{
    bool valid = link->from.index < builder->next_handle && link->to.index < builder->next_handle &&
                 (unsigned)link->kind < LINK_KIND_COUNT && (unsigned)link->confidence < CONFIDENCE_COUNT;
    if (!valid)
        return -EINVAL;
    struct link_row row = {link->from.index, link->to.index, (uint8_t)link->kind, (uint8_t)link->confidence};
    return add_pair(builder, FAMILY_LINKS, &row);
}

int trace_builder_add_member(struct trace_builder *builder, const struct group_member *member)
{
    if (member->group.index >= builder->tables[TABLE_GROUPS].count || member->span.index >= builder->next_handle)
        return -EINVAL;
    struct member_row row = {member->group.index, member->span.index, member->rank};
    return add_pair(builder, FAMILY_MEMBERS, &row);
}
