/* SPDX-License-Identifier: MIT */
/*
 * Payloads as bytes, in memory and in files:
 *
 *   kind (1 byte) | PAYLOAD_JSON: the object's text, to the end of the payload
 *                 | others: present (varint, bit i = field i), then each present field in order:
 *                   U64 varint, I64 zigzag varint, DOUBLE 8 bytes, STRING varint of the string id
 *
 * A varint has 7 bits a byte, least significant first, the top bit set in all but the last byte. An empty payload is none.
 */
#ifndef HP_TRACE_PAYLOAD_H
#define HP_TRACE_PAYLOAD_H

#include "event.h"

/* Enough for any typed payload; JSON needs 1 + json_size. */
#define PAYLOAD_ENCODED_MAX (1 + 10 + 10 * PAYLOAD_FIELDS_MAX)

/* The bytes that payload_encode will write; 0 for none. */
size_t payload_encoded_bound(const struct payload *payload);
/* Writes at most payload_encoded_bound() bytes and returns how many. */
size_t payload_encode(const struct payload *payload, uint8_t *out);

#endif
