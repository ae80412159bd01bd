/* SPDX-License-Identifier: MIT */
/* Payloads as JSON objects, for files, tables and queries. */
#ifndef HP_FORMATS_PAYLOAD_JSON_H
#define HP_FORMATS_PAYLOAD_JSON_H

#include "base/text.h"
#include "trace/trace.h"

/* Appends {"field":value,...} of what was recorded; PAYLOAD_JSON as it is. Nothing for PAYLOAD_NONE. Strings that are no
 * valid UTF-8 come with U+FFFD; false then (the caller may keep the bytes elsewhere). */
bool payload_add_json(struct text *out, const struct trace *trace, const struct payload *payload);

#endif
