/* SPDX-License-Identifier: MIT */
/* Names of the model's enumerations and the fields of payloads, all made from kinds.def; what a wait status stands for. */
#include "event.h"

#include <string.h>
#include <sys/wait.h>

static const char *const span_kind_names[] = {
#define SPAN_KIND(enumerator, name) name,
#include "wire/kinds.def"
};
static const char *const track_kind_names[] = {
#define TRACK_KIND(enumerator, name) name,
#include "wire/kinds.def"
};
static const char *const link_kind_names[] = {
#define LINK_KIND(enumerator, name) name,
#include "wire/kinds.def"
};
static const char *const confidence_names[] = {
#define CONFIDENCE(enumerator, name) name,
#include "wire/kinds.def"
};
static const char *const sample_event_names[] = {
#define SAMPLE_EVENT(enumerator, name) name,
#include "wire/kinds.def"
};
static const char *const sample_cut_names[] = {
#define SAMPLE_CUT(enumerator, name) name,
#include "wire/kinds.def"
};
static const char *const payload_kind_names[] = {
    "none",
#define PAYLOAD(enumerator, name) name,
#include "wire/kinds.def"
};

/* Fields of one payload stand together and in the payloads' order, so that a slice of one flat array describes them. */
static const struct payload_field flat_fields[] = {
#define FIELD(payload, name, type, unit) {#name, PAYLOAD_TYPE_##type, unit},
#include "wire/kinds.def"
};
#define FLAT_FIELDS_COUNT (sizeof(flat_fields) / sizeof(flat_fields[0]))

enum flat_position { /* FIRST_X: how many fields stand before those of X; the enumerator behind it takes the count back */
#define FIELDS(payload) FIRST_##payload, BEFORE_##payload = FIRST_##payload - 1,
#define FIELD(payload, name, type, unit) AT_##payload##_##name,
#include "wire/kinds.def"
};
enum payload_order {
#define FIELDS(payload) ORDER_##payload,
#define FIELD(payload, name, type, unit)
#include "wire/kinds.def"
};
#define FIELDS(payload) _Static_assert((int)ORDER_##payload + (int)PAYLOAD_BLOCKED == (int)PAYLOAD_##payload, "FIELDS in the order of PAYLOAD");
#define FIELD(payload, name, type, unit)
#include "wire/kinds.def"
static const uint16_t first_fields[] = {
#define FIELDS(payload) FIRST_##payload,
#define FIELD(payload, name, type, unit)
#include "wire/kinds.def"
    FLAT_FIELDS_COUNT,
};

static const char *name_at(const char *const *names, size_t count, size_t index)
{
    return index < count ? names[index] : NULL;
}

static int name_find(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return (int)i;
    }
    return -1;
}

#define DEFINE_NAMES(type)                                                                                             \
    const char *type##_name(enum type value)                                                                           \
    {                                                                                                                  \
        return name_at(type##_names, sizeof(type##_names) / sizeof(type##_names[0]), (size_t)value);                   \
    }                                                                                                                  \
    int type##_find(const char *name)                                                                                  \
    {                                                                                                                  \
        return name_find(type##_names, sizeof(type##_names) / sizeof(type##_names[0]), name);                          \
    }

DEFINE_NAMES(span_kind)
DEFINE_NAMES(track_kind)
DEFINE_NAMES(link_kind)
DEFINE_NAMES(confidence)
DEFINE_NAMES(sample_event)
DEFINE_NAMES(sample_cut)
DEFINE_NAMES(payload_kind)

const struct payload_field *payload_fields(enum payload_kind kind, size_t *ret_count)
{
    *ret_count = 0;
    if (kind < PAYLOAD_BLOCKED || kind >= PAYLOAD_COUNT)
        return NULL;
    size_t order = (size_t)kind - PAYLOAD_BLOCKED;
    *ret_count = (size_t)(first_fields[order + 1] - first_fields[order]);
    return *ret_count ? &flat_fields[first_fields[order]] : NULL;
}

int32_t wait_exit_status(int32_t wait_status)
{
    if (wait_status == -1)
        return -1;
    if (WIFEXITED(wait_status))
        return WEXITSTATUS(wait_status);
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : -1;
}
