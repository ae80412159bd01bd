/* SPDX-License-Identifier: MIT */
/* Typed indexes of the trace model: a wrong one does not compile. All are dense and start at 0; _NONE means absent. */
#ifndef HP_TRACE_IDS_H
#define HP_TRACE_IDS_H

#include <stdbool.h>
#include <stdint.h>

#define TRACE_DEFINE_ID(name)                                                                                          \
    typedef struct {                                                                                                   \
        uint32_t index;                                                                                                \
    } name;                                                                                                            \
    static inline bool name##_is(name left, name right)                                                                \
    {                                                                                                                  \
        return left.index == right.index;                                                                              \
    }

TRACE_DEFINE_ID(node_id)    /* a machine: one clock domain's host */
TRACE_DEFINE_ID(process_id) /* one program image: an exec starts a new generation with an id of its own */
TRACE_DEFINE_ID(track_id)   /* a lane: thread, device stream, counter, ... */
TRACE_DEFINE_ID(span_id)    /* position in the trace's span order */
TRACE_DEFINE_ID(module_id)  /* a mapped file, the kernel, a JIT code area */
TRACE_DEFINE_ID(frame_id)   /* one source-level function at one place: inlined functions are frames too */
TRACE_DEFINE_ID(stack_id)   /* leaf of a call stack in the tree of stack nodes */
TRACE_DEFINE_ID(group_id)   /* a set of spans that belong together: one collective, one barrier */

#define ID_NONE UINT32_MAX
#define NODE_NONE ((node_id){ID_NONE})
#define PROCESS_NONE ((process_id){ID_NONE})
#define TRACK_NONE ((track_id){ID_NONE})
#define SPAN_NONE ((span_id){ID_NONE})
#define MODULE_NONE ((module_id){ID_NONE})
#define FRAME_NONE ((frame_id){ID_NONE})
#define STACK_NONE ((stack_id){ID_NONE})
#define GROUP_NONE ((group_id){ID_NONE})

#endif
