/* SPDX-License-Identifier: MIT */
/* Encoding and decoding of typed payloads (payload.h draws the bytes). */
#include "payload.h"

#include "trace.h"

#include <errno.h>
#include <string.h>

static size_t put_varint(uint8_t *out, uint64_t value)
{
    size_t size = 0;
    while (value >= 0x80) {
        out[size++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    out[size++] = (uint8_t)value;
    return size;
}

static bool get_varint(const uint8_t **position, const uint8_t *end, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && *position < end; shift += 7) {
        uint8_t byte = *(*position)++;
        if (shift == 63 && byte > 1)
            return false;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

size_t payload_encoded_bound(const struct payload *payload)
{
    if (!payload || payload->kind == PAYLOAD_NONE)
        return 0;
    return payload->kind == PAYLOAD_JSON ? 1 + (size_t)payload->json_size : PAYLOAD_ENCODED_MAX;
}

static size_t put_field(uint8_t *out, enum payload_type type, const union payload_value *value)
{
    switch (type) {
    case PAYLOAD_TYPE_U64:
        return put_varint(out, value->u64);
    case PAYLOAD_TYPE_I64:
        return put_varint(out, ((uint64_t)value->i64 << 1) ^ (uint64_t)(value->i64 >> 63));
    case PAYLOAD_TYPE_DOUBLE:
        memcpy(out, &value->number, 8);
        return 8;
    case PAYLOAD_TYPE_STRING:
        return put_varint(out, value->string.index);
    }
    return 0;
}

size_t payload_encode(const struct payload *payload, uint8_t *out)
{
    if (!payload || payload->kind == PAYLOAD_NONE)
        return 0;
    out[0] = (uint8_t)payload->kind;
    if (payload->kind == PAYLOAD_JSON) {
        if (payload->json_size)
            memcpy(out + 1, payload->json, payload->json_size);
        return 1 + (size_t)payload->json_size;
    }
    size_t count;
    const struct payload_field *fields = payload_fields(payload->kind, &count);
    uint32_t known = count >= 32 ? UINT32_MAX : (UINT32_C(1) << count) - 1;
    uint32_t present = payload->present & known;
    size_t size = 1 + put_varint(out + 1, present);
    for (size_t i = 0; i < count; i++) {
        if (present >> i & 1)
            size += put_field(out + size, fields[i].type, &payload->fields[i]);
    }
    return size;
}

static bool get_field(const uint8_t **position, const uint8_t *end, enum payload_type type, union payload_value *ret)
{
    uint64_t raw;
    if (type == PAYLOAD_TYPE_DOUBLE) {
        if (end - *position < 8)
            return false;
        memcpy(&ret->number, *position, 8);
        *position += 8;
        return true;
    }
    if (!get_varint(position, end, &raw))
        return false;
    if (type == PAYLOAD_TYPE_I64)
        ret->i64 = (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1);
    else if (type == PAYLOAD_TYPE_STRING)
        ret->string.index = (uint32_t)raw;
    else
        ret->u64 = raw;
    return type != PAYLOAD_TYPE_STRING || raw <= UINT32_MAX;
}

int payload_decode(const uint8_t *payload, size_t size, struct payload *ret_payload)
{
    ret_payload->kind = PAYLOAD_NONE;
    ret_payload->present = 0;
    ret_payload->json = NULL;
    ret_payload->json_size = 0;
    if (size == 0)
        return 0;
    uint8_t kind = payload[0];
    if (kind == PAYLOAD_NONE || kind >= PAYLOAD_COUNT)
        return -EBADMSG;
    if (kind == PAYLOAD_JSON) {
        if (size - 1 > UINT32_MAX)
            return -EBADMSG;
        ret_payload->kind = PAYLOAD_JSON;
        ret_payload->json = (const char *)payload + 1;
        ret_payload->json_size = (uint32_t)(size - 1);
        return 0;
    }
    size_t count;
    const struct payload_field *fields = payload_fields((enum payload_kind)kind, &count);
    const uint8_t *position = payload + 1, *end = payload + size;
    uint64_t present;
    if (!get_varint(&position, end, &present) || (count < 32 && present >> count) || present > UINT32_MAX)
        return -EBADMSG;
    for (size_t i = 0; i < count; i++) {
        if ((present >> i & 1) && !get_field(&position, end, fields[i].type, &ret_payload->fields[i]))
            return -EBADMSG;
    }
    if (position != end)
        return -EBADMSG;
    ret_payload->kind = (enum payload_kind)kind;
    ret_payload->present = (uint32_t)present;
    return 0;
}

static int row_payload(const uint32_t *ends, const uint8_t *bytes, uint32_t row, struct payload *ret_payload)
{
    if (!ends || !bytes)
        return payload_decode(NULL, 0, ret_payload);
    uint32_t begin = row ? ends[row - 1] : 0;
    return payload_decode(bytes + begin, ends[row] - begin, ret_payload);
}

int span_payload(const struct span_block *block, uint32_t row, struct payload *ret_payload)
{
    return row_payload(block->payload_end, block->payload, row, ret_payload);
}

int instant_payload(const struct instant_block *block, uint32_t row, struct payload *ret_payload)
{
    return row_payload(block->payload_end, block->payload, row, ret_payload);
}
