/* SPDX-License-Identifier: MIT */
/* Putting the recorder's own records into the spool. */
#include "recording.h"

#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_MAXIMUM = 4096 };

void recording_put(struct recording *recording, unsigned flags, const struct wire_header *record, uint64_t *lost)
{
    int r = spool_put(recording->spool, flags, record);
    if (r == 0)
        return;
    if (lost)
        ++*lost;
    if (!atomic_exchange(&recording->spool_failed, true))
        log_warning(recording->log, "cannot write the recording: %s; what is missing is counted", strerror(-r));
}

void recording_put_text(struct recording *recording, const struct wire_header *record, size_t fixed_bytes, const char *text,
                        size_t text_bytes)
{
    _Alignas(8) uint8_t buffer[128 + TEXT_MAXIMUM] = {0};
    if (text_bytes > TEXT_MAXIMUM)
        text_bytes = TEXT_MAXIMUM;
    memcpy(buffer, record, fixed_bytes);
    memcpy(buffer + fixed_bytes, text, text_bytes);
    struct wire_header *header = (struct wire_header *)(void *)buffer;
    header->value = (uint32_t)text_bytes;
    header->words = (uint16_t)(wire_round_up((uint32_t)(fixed_bytes + text_bytes)) / 8);
    recording_put(recording, SPOOL_KEEP, header, NULL);
}

void recording_put_metadata(struct recording *recording, const char *key, const char *format, ...)
{
    char text[1024];
    int length = snprintf(text, sizeof(text) / 2, "%s", key) + 1;
    va_list arguments;
    va_start(arguments, format);
    int value = vsnprintf(text + length, sizeof(text) - (size_t)length, format, arguments);
    va_end(arguments);
    size_t room = sizeof(text) - (size_t)length - 1, used = value < 0 ? 0 : (size_t)value < room ? (size_t)value : room;
    struct wire_metadata record = {.header = {.kind = WIRE_METADATA}};
    recording_put_text(recording, &record.header, sizeof(record), text, (size_t)length + used + 1);
}

void recording_put_ledger(struct recording *recording, const char *source, uint64_t seen, uint64_t recorded, uint64_t lost,
                          const char *reason)
{
    char text[512];
    int first = snprintf(text, sizeof(text) / 2, "%s", source) + 1;
    int second = snprintf(text + first, sizeof(text) / 2, "%s", reason) + 1;
    struct wire_ledger record = {.header = {.kind = WIRE_LEDGER}, .seen = seen, .recorded = recorded, .lost = lost};
    recording_put_text(recording, &record.header, sizeof(record), text, (size_t)(first + second));
}
