/* SPDX-License-Identifier: MIT */
/* Between reading commands and calls from a trace and following them through streams and events. */
#ifndef HP_ANALYSIS_DEVICE_ORDER_INTERNAL_H
#define HP_ANALYSIS_DEVICE_ORDER_INTERNAL_H

#include "base/map.h"
#include "device_order.h"

enum order_call_kind { ORDER_RECORD, ORDER_STREAM_WAIT, ORDER_SYNC_EVENT, ORDER_SYNC_STREAM, ORDER_SYNC_CONTEXT, ORDER_BLOCKING_COPY, ORDER_GRAPH_LAUNCH };

struct order_call {
    int64_t begin_ns, end_ns;
    uint64_t record;
    uint32_t span;
    uint32_t stream, context; /* numbers in this analysis; ORDER_NONE = not known */
    uint8_t kind;
    bool record_known;
    bool implied;             /* waits as a side effect: the rules say so, no parameter */
};

struct order_command {
    int64_t begin_ns, end_ns;
    int64_t call_begin_ns, call_end_ns; /* of the launch; where it is not known, the command's own begin */
    uint32_t span, launch;              /* launch: ORDER_NONE = not known */
    uint32_t stream;
    bool is_copy, pageable;
    bool host_waits;                    /* a blocking call does, for this direction */
    bool blocking_call;
    bool inferred;                      /* its launch and stream */
};

struct covered_command {
    uint32_t command;
    uint8_t confidence;
};

enum stream_sort { STREAM_ORDINARY, STREAM_DEFAULT, STREAM_NON_BLOCKING };

struct order_stream {
    uint32_t context;
    uint8_t sort;
    bool overlaps;            /* commands ran side by side */
    bool dirty;               /* in its context's list */
    uint32_t last;            /* command that ends last of those so far; ORDER_NONE = none since somebody waited for it */
    uint32_t told;            /* the same, as the default stream knows of it */
    uint32_t barrier;         /* command of the default stream that it knows of */
    uint32_t group_last, group_launch, before_group; /* of commands by launch: last of this one's, of the one before */
    struct covered_command *pending; /* commands that the next one must wait for */
    size_t pending_count, pending_capacity;
};

struct order_context {
    uint32_t process;
    uint32_t barrier;         /* last command of its default stream; ORDER_NONE */
    uint32_t *dirty;          /* streams with work that nobody waited for */
    size_t dirty_count, dirty_capacity;
};

#define ORDER_NONE UINT32_MAX

struct ordering {
    const struct trace *trace;
    const struct trace_track *tracks;
    uint32_t track_count;
    struct order_command *commands; /* by span */
    size_t command_count, command_capacity;
    struct order_call *calls;
    size_t call_count, call_capacity;
    struct order_stream *streams;
    size_t stream_count, stream_capacity;
    struct order_context *contexts;
    size_t context_count, context_capacity;
    struct map stream_index, context_index; /* by hashes of process, context, stream */
    struct map records;       /* by hash of process and number: place in covers */
    struct cover {
        size_t first, count;  /* in covered */
    } *covers;
    size_t cover_count, cover_capacity;
    struct covered_command *covered;
    size_t covered_count, covered_capacity;
    struct device_order *order;
    size_t relation_capacity, idle_capacity;
    struct error *err;
};

int ordering_read(struct ordering *ordering);
int ordering_stream(struct ordering *ordering, uint32_t process, uint64_t context, uint64_t stream, uint32_t *ret_stream);
int ordering_context(struct ordering *ordering, uint32_t process, uint64_t context, uint32_t *ret_context);
int ordering_infer_launches(struct ordering *ordering); /* before the launches' times are read */
void ordering_find_overlaps(struct ordering *ordering);     /* while commands are in the order of the trace: lane by lane, by begin */
int ordering_follow(struct ordering *ordering);
int ordering_relate_spans(struct ordering *ordering, uint32_t from, uint32_t to, enum device_relation_kind kind, uint8_t confidence);
int ordering_relate(struct ordering *ordering, uint32_t command, uint32_t to, enum device_relation_kind kind, uint8_t confidence);

#endif
