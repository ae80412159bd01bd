/* SPDX-License-Identifier: MIT */
/* From the definitions and events of an OTF2 archive to a trace: the state of one import, shared by the otf2_*.c files. */
#ifndef HP_FORMATS_OTF2_IMPORT_H
#define HP_FORMATS_OTF2_IMPORT_H

#include "base/map.h"
#include "trace/builder.h"
#include "trace/message_match.h"

#include <otf2/otf2.h>

struct otf2_region {
    string_id name, category;
    enum span_kind kind;
};

struct otf2_group {
    uint64_t *members;     /* of MPI: world ranks of a communicator's ranks, or the locations of all world ranks */
    uint32_t count;
};

/* A process of the archive. */
struct otf2_process {
    uint64_t parent;       /* system tree node */
    process_id id;
    uint32_t match;        /* number in the matching of messages */
    uint64_t order;        /* messages posted so far */
    int32_t rank;
    int64_t first_ns, last_ns;
    struct map sequences;  /* communicator -> collectives so far */
};

/* A nonblocking message between its posting and its end. The span of its posting waits for what the end tells. */
struct otf2_posting {
    struct span span;
    struct payload payload;
    span_id handle;
    bool placed, added; /* placed: the span is known; added: it is in the trace */
    uint64_t order;
};

/* A region that was entered. */
struct otf2_frame {
    uint32_t region;
    int64_t begin_ns;
    struct payload payload;
    enum span_kind kind;   /* what its events make of it; SPAN_KIND_UNKNOWN: what its region says */
    group_id group;
    uint32_t posting;      /* place of the message that it posted, plus 1; 0 = none */
    uint32_t first_ended;  /* requests that ended in it: from here on the location's list */
};

struct otf2_location {
    uint32_t process;
    track_id track;
    struct otf2_frame *frames;
    size_t frame_count, frame_capacity;
    struct map requests;   /* id -> place in postings */
    struct otf2_posting *postings;
    size_t posting_count, posting_capacity;
    uint32_t *ended;       /* postings whose end came within an open frame */
    size_t ended_count, ended_capacity;
};

#define OTF2_LOSSES(X)                                                                                                 \
    X(LEAVE, "leaving a region that was not entered")                                                                  \
    X(OUTSIDE, "message or collective outside of any region")                                                          \
    X(REQUEST, "end of a request that was not posted")                                                                 \
    X(LOCATION, "events of a location that is not defined")
enum otf2_loss {
#define X(enumerator, text) OTF2_LOSS_##enumerator,
    OTF2_LOSSES(X)
#undef X
    OTF2_LOSS_COUNT
};

struct otf2_import {
    struct trace_builder *builder;
    struct message_match *match;
    uint64_t ticks_per_second, global_offset;
    struct map strings;    /* reference -> string id */
    struct map region_index, group_index, comm_index, process_index, location_index, node_index;
    struct otf2_region *regions;
    size_t region_count, region_capacity;
    struct otf2_group *groups;
    size_t group_count, group_capacity;
    struct otf2_process *processes;
    size_t process_count, process_capacity;
    struct otf2_location *locations;
    size_t location_count, location_capacity;
    struct map clocked;    /* locations whose clocks were compared by the recorder */
    struct map collectives; /* hash of (communicator, number) -> group */
    uint32_t world;        /* place in groups of the locations of the world's ranks; ID_NONE */
    string_id mpi;
    uint64_t lost[OTF2_LOSS_COUNT];
    int code;              /* the first failure of the builder */
};

/* otf2_definitions.c */
int otf2_read_definitions(struct otf2_import *import, OTF2_Reader *reader);
/* Nodes, processes, tracks of what is defined. */
int otf2_make_places(struct otf2_import *import);
string_id otf2_string(const struct otf2_import *import, uint64_t reference);
struct otf2_location *otf2_location(struct otf2_import *import, uint64_t reference);
/* World rank of a communicator's rank; -1 = not to be told. */
int32_t otf2_world_rank(const struct otf2_import *import, uint64_t comm, uint32_t rank);

/* otf2_events.c */
int otf2_read_events(struct otf2_import *import, OTF2_Reader *reader);
/* What was still open, and the links of messages. */
int otf2_finish_events(struct otf2_import *import);

#endif
