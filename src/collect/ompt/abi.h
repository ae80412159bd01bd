/* SPDX-License-Identifier: MIT */
/*
 * The binary interface between an OpenMP runtime and a tool, as the OpenMP specifications 5.0 to 5.2 lay it down (chapter
 * "OMPT Interface"): what this tool uses of it. abi_check.c compares it with an omp-tools.h where one is installed.
 */
#ifndef HP_COLLECT_OMPT_ABI_H
#define HP_COLLECT_OMPT_ABI_H

#include <stddef.h>
#include <stdint.h>

/* A tool's 8 bytes with a thread, a region, a task; 0 at first. */
union omp_data {
    uint64_t value;
    void *pointer;
};

typedef void (*omp_function)(void);
typedef omp_function (*omp_lookup)(const char *name);
struct omp_tool {
    int (*initialize)(omp_lookup lookup, int initial_device, union omp_data *tool_data); /* non-zero: stay */
    void (*finalize)(union omp_data *tool_data);
    union omp_data tool_data;
};
typedef int (*omp_set_callback)(int event, omp_function callback);

enum omp_set_result { OMP_SET_ERROR = 0, OMP_SET_NEVER = 1, OMP_SET_IMPOSSIBLE = 2, OMP_SET_SOMETIMES = 3, OMP_SET_SOMETIMES_PAIRED = 4, OMP_SET_ALWAYS = 5 };

enum omp_event {
    OMP_EVENT_THREAD_BEGIN = 1,
    OMP_EVENT_THREAD_END = 2,
    OMP_EVENT_PARALLEL_BEGIN = 3,
    OMP_EVENT_PARALLEL_END = 4,
    OMP_EVENT_TASK_CREATE = 5,
    OMP_EVENT_TASK_SCHEDULE = 6,
    OMP_EVENT_IMPLICIT_TASK = 7,
    OMP_EVENT_TARGET = 8,
    OMP_EVENT_TARGET_DATA_OP = 9,
    OMP_EVENT_TARGET_SUBMIT = 10,
    OMP_EVENT_SYNC_REGION_WAIT = 16,
    OMP_EVENT_MUTEX_RELEASED = 17,
    OMP_EVENT_TASK_DEPENDENCE = 19,
    OMP_EVENT_WORK = 20,
    OMP_EVENT_MASKED = 21,
    OMP_EVENT_SYNC_REGION = 23,
    OMP_EVENT_MUTEX_ACQUIRE = 26,
    OMP_EVENT_MUTEX_ACQUIRED = 27,
    OMP_EVENT_CANCEL = 30,
    OMP_EVENT_REDUCTION = 31,
    OMP_EVENT_DISPATCH = 32,
    OMP_EVENT_TARGET_EMI = 33,
    OMP_EVENT_TARGET_DATA_OP_EMI = 34,
    OMP_EVENT_TARGET_SUBMIT_EMI = 35,
    OMP_EVENT_COUNT = 38,
};

enum omp_endpoint { OMP_BEGIN = 1, OMP_END = 2, OMP_BEGIN_END = 3 };

enum omp_sync {
    OMP_SYNC_BARRIER = 1,
    OMP_SYNC_IMPLICIT = 2,
    OMP_SYNC_EXPLICIT = 3,
    OMP_SYNC_IMPLEMENTATION = 4,
    OMP_SYNC_TASKWAIT = 5,
    OMP_SYNC_TASKGROUP = 6,
    OMP_SYNC_REDUCTION = 7,
    OMP_SYNC_IMPLICIT_WORKSHARE = 8,
    OMP_SYNC_IMPLICIT_PARALLEL = 9,
    OMP_SYNC_TEAMS = 10,
    OMP_SYNC_COUNT = 11,
};

enum omp_work {
    OMP_WORK_LOOP = 1,
    OMP_WORK_SECTIONS = 2,
    OMP_WORK_SINGLE_EXECUTOR = 3,
    OMP_WORK_SINGLE_OTHER = 4,
    OMP_WORK_WORKSHARE = 5,
    OMP_WORK_DISTRIBUTE = 6,
    OMP_WORK_TASKLOOP = 7,
    OMP_WORK_SCOPE = 8,
    OMP_WORK_LOOP_STATIC = 10,
    OMP_WORK_LOOP_DYNAMIC = 11,
    OMP_WORK_LOOP_GUIDED = 12,
    OMP_WORK_LOOP_OTHER = 13,
    OMP_WORK_COUNT = 14,
};

enum omp_dispatch {
    OMP_DISPATCH_ITERATION = 1,
    OMP_DISPATCH_SECTION = 2,
    OMP_DISPATCH_LOOP_CHUNK = 3,
    OMP_DISPATCH_TASKLOOP_CHUNK = 4,
    OMP_DISPATCH_DISTRIBUTE_CHUNK = 5,
};
struct omp_chunk {
    uint64_t start, iterations;
};

enum omp_mutex {
    OMP_MUTEX_LOCK = 1,
    OMP_MUTEX_TEST_LOCK = 2,
    OMP_MUTEX_NEST_LOCK = 3,
    OMP_MUTEX_TEST_NEST_LOCK = 4,
    OMP_MUTEX_CRITICAL = 5,
    OMP_MUTEX_ATOMIC = 6,
    OMP_MUTEX_ORDERED = 7,
    OMP_MUTEX_COUNT = 8,
};

enum omp_task_flags {
    OMP_TASK_INITIAL = 0x1,
    OMP_TASK_IMPLICIT = 0x2,
    OMP_TASK_EXPLICIT = 0x4,
    OMP_TASK_TARGET = 0x8,
    OMP_TASK_TASKWAIT = 0x10,
    OMP_TASK_UNDEFERRED = 0x08000000,
    OMP_TASK_UNTIED = 0x10000000,
    OMP_TASK_FINAL = 0x20000000,
    OMP_TASK_MERGEABLE = 0x40000000,
};

enum omp_task_status {
    OMP_TASK_COMPLETE = 1,
    OMP_TASK_YIELD = 2,
    OMP_TASK_CANCEL = 3,
    OMP_TASK_DETACH = 4,
    OMP_TASK_EARLY_FULFILL = 5,
    OMP_TASK_LATE_FULFILL = 6,
    OMP_TASK_SWITCH = 7,
    OMP_TASKWAIT_COMPLETE = 8,
    OMP_TASK_STATUS_COUNT = 9,
};

enum omp_parallel_flags { OMP_PARALLEL_LEAGUE = 0x40000000 };

enum omp_cancel_flags {
    OMP_CANCEL_PARALLEL = 0x01,
    OMP_CANCEL_SECTIONS = 0x02,
    OMP_CANCEL_LOOP = 0x04,
    OMP_CANCEL_TASKGROUP = 0x08,
    OMP_CANCEL_ACTIVATED = 0x10,
    OMP_CANCEL_DETECTED = 0x20,
    OMP_CANCEL_DISCARDED_TASK = 0x40,
};

enum omp_target {
    OMP_TARGET_REGION = 1,
    OMP_TARGET_ENTER_DATA = 2,
    OMP_TARGET_EXIT_DATA = 3,
    OMP_TARGET_UPDATE = 4,
    OMP_TARGET_NOWAIT = 8, /* bit: the same constructs with nowait */
};

enum omp_data_op {
    OMP_DATA_ALLOC = 1,
    OMP_DATA_TO_DEVICE = 2,
    OMP_DATA_FROM_DEVICE = 3,
    OMP_DATA_DELETE = 4,
    OMP_DATA_ASSOCIATE = 5,
    OMP_DATA_DISASSOCIATE = 6,
    OMP_DATA_ASYNC = 16, /* bit: the same operations, asynchronous */
};

#endif
