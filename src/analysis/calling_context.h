/* SPDX-License-Identifier: MIT */
/*
 * The calling context tree of samples, or of traced calls: one node for each distinct path of functions, with the samples that end
 * in it and those that pass through it. Frames of one function (its lines, its inlined copies) are one node. The
 * profiler's own code is left out between the program's frames; where samples end in it, it is one node. For screens that draw
 * call trees and flame graphs; exports, which may use no analysis, have a tree of their own (formats/stack_tree.h) that is
 * by program and knows spans.
 */
#ifndef HP_ANALYSIS_CALLING_CONTEXT_H
#define HP_ANALYSIS_CALLING_CONTEXT_H

#include "trace/filter.h"

enum context_flags {
    CONTEXT_KERNEL = 1,
    CONTEXT_INLINED = 2,    /* in all its frames */
    CONTEXT_TRUNCATED = 4,  /* stands for the callers that are missing in truncated stacks; has no function */
    CONTEXT_NO_STACK = 8,   /* samples without any frame; has no function */
    CONTEXT_CALL = 16,      /* a traced call (span), below the stack that led to it */
    CONTEXT_LAUNCHED = 32,  /* work of a device, below the call that launched it */
    CONTEXT_OWN = 64,       /* the profiler's own code, in which samples end; has no function */
};

/* What is counted: CONTEXT_MEASURE(enumerator, what stands in a row's weight). */
#define CONTEXT_MEASURES                                                                                               \
    CONTEXT_MEASURE(SAMPLES, "CPU time")                                                                               \
    CONTEXT_MEASURE(CALL_TIME, "time in traced calls")                                                                 \
    CONTEXT_MEASURE(CALL_COUNT, "number of traced calls")                                                              \
    CONTEXT_MEASURE(DEVICE_TIME, "device time of what calls launched")
enum context_measure {
#define CONTEXT_MEASURE(enumerator, text) CONTEXT_##enumerator,
    CONTEXT_MEASURES
#undef CONTEXT_MEASURE
        CONTEXT_MEASURE_COUNT
};

struct context_node {
    uint32_t parent;        /* less than its own index; ID_NONE for the root */
    uint32_t first_child, next_sibling; /* ID_NONE at the end; children by total weight, largest first */
    uint32_t depth;         /* the root's is 0 */
    string_id function;     /* of calls and of what they launched: the span's name */
    string_id category;     /* of those, else none */
    module_id module;
    frame_id frame;         /* one of its frames, for file and line; FRAME_NONE for the root and what has no function */
    uint32_t flags;
    uint8_t span_kind;      /* enum span_kind, of calls and of what they launched */
    uint64_t self_count, total_count;
    int64_t self_weight, total_weight; /* ns of CPU time for CPU events, of time off CPU for switches, else occurrences */
};

struct calling_context {
    struct context_node *nodes; /* [0] is the root; parents stand before children */
    uint32_t count;
    enum context_measure measure;
    uint64_t calls, calls_with_stack;      /* of CALL_TIME and CALL_COUNT: spans of threads; those without a stack are not in the tree */
    int64_t calls_ns, calls_with_stack_ns; /* with the calls within them, so that nested ones count more than once */
};

struct context_options {
    enum context_measure measure;
    uint32_t events;                  /* of samples: bits by enum sample_event; 0 = SAMPLE_EVENTS_CPU */
    bool bottom_up;                   /* from the leaf to its callers */
    bool own_frames;                  /* frames of the profiler's own code as all others */
    const struct trace_filter *where; /* NULL = all */
    bool has_window;                  /* only what lies in [window_begin_ns, window_end_ns]; of spans the part that does */
    int64_t window_begin_ns, window_end_ns;
};

/*
 * Of calls: spans of threads that have a stack, with their own time (without that of other such calls within them). Of devices:
 * what spans with a stack launched, as links say it. A filter asks the span whose time counts: of devices theirs.
 * The same trace and options give the same tree, in the same order. options may be NULL.
 */
int calling_context_create(const struct trace *trace, const struct context_options *options,
                           struct calling_context **ret_context, struct error *err);
void calling_context_destroy(struct calling_context *context);
DEFINE_CLEANUP(struct calling_context *, calling_context_destroy)

/* Whether spans of threads have call stacks. */
bool trace_has_call_stacks(const struct trace *trace);

#endif
