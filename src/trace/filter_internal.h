/* SPDX-License-Identifier: MIT */
/* A compiled filter: terms that must all hold. */
#ifndef HP_TRACE_FILTER_INTERNAL_H
#define HP_TRACE_FILTER_INTERNAL_H

#include "filter.h"

#define FILTER_KEYS                                                                                                    \
    FILTER_KEY(NAME, "name")                                                                                           \
    FILTER_KEY(CATEGORY, "category")                                                                                   \
    FILTER_KEY(KIND, "kind")                                                                                           \
    FILTER_KEY(NODE, "node")                                                                                           \
    FILTER_KEY(RANK, "rank")                                                                                           \
    FILTER_KEY(PROCESS, "process")                                                                                     \
    FILTER_KEY(THREAD, "thread")                                                                                       \
    FILTER_KEY(DEVICE, "device")                                                                                       \
    FILTER_KEY(STREAM, "stream")                                                                                       \
    FILTER_KEY(PATH, "path")

enum filter_key {
#define FILTER_KEY(enumerator, name) FILTER_##enumerator,
    FILTER_KEYS
#undef FILTER_KEY
    FILTER_KEY_COUNT
};

struct filter_term {
    enum filter_key key;
    char *glob;
};
struct trace_filter {
    struct filter_term *terms;
    size_t count, capacity;
};

#endif
