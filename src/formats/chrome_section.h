/* SPDX-License-Identifier: MIT */
/* The "hprofiler" section of our own files: finding it and reading its tables. */
#ifndef HP_FORMATS_CHROME_SECTION_H
#define HP_FORMATS_CHROME_SECTION_H

#include "chrome_import.h"

struct chrome_own {
    struct json_view section;       /* its text, from '{' */
    uint64_t spans, instants, counters, links, samples; /* as the section counts them */
    uint64_t read_spans, read_instants, read_counters, read_links, read_samples;
    track_id *track_of_tid;         /* by tid */
    uint32_t tid_count;
    track_id *tracks;               /* ids in the builder, by number in the section; the same for the others */
    process_id *processes;
    node_id *nodes;
    module_id *modules;
    frame_id *frames;
    stack_id *stacks;
    group_id *groups;
    uint32_t track_count, process_count, node_count, module_count, frame_count, stack_count, group_count;
    size_t capacity[7];
    size_t tid_capacity;
    span_id *handles;               /* by number of the span in the file; NONE = deferred */
    size_t handle_count, handle_capacity;
    struct deferred_span {          /* its parent comes later in the file, or waits for one that does */
        struct span span;
        uint32_t ordinal, parent;
        uint8_t *payload;           /* encoded */
        size_t payload_size;
        bool visited;
    } *deferred;
    size_t deferred_count, deferred_capacity;
    struct own_link {
        uint32_t from, to;
        uint8_t kind, confidence;
    } *links_read;                  /* added when all spans have handles */
    size_t links_read_count, links_read_capacity;
};

/* The text of the section; false when there is none. *ret_unchanged: it stands exactly where its writer put it. */
bool section_find(const struct chrome_import *import, struct json_view *ret_section, bool *ret_unchanged);
/* Everything but members, into the builder. */
int section_read(struct chrome_import *import, struct chrome_own *own, struct error *err);
int section_read_members(struct chrome_import *import, struct chrome_own *own, struct error *err);

#endif
