/* SPDX-License-Identifier: MIT */
/*
 * The trace model as plain data. Times are integer nanoseconds since the trace's start on CLOCK_MONOTONIC_RAW of the
 * first node (metadata start_monotonic_raw_ns, start_realtime_ns place the start); they may be negative.
 */
#ifndef HP_TRACE_EVENT_H
#define HP_TRACE_EVENT_H

#include "base/string_table.h"
#include "ids.h"
#include "wire/kinds.h"

#include <stddef.h>

/* Those whose samples stand for CPU time; the others are occurrences of something. */
#define SAMPLE_EVENTS_CPU                                                                                              \
    ((UINT32_C(1) << SAMPLE_EVENT_CYCLES) | (UINT32_C(1) << SAMPLE_EVENT_CPU_CLOCK) | (UINT32_C(1) << SAMPLE_EVENT_TIMER))
static inline bool sample_event_is_cpu(uint8_t event)
{
    return event < SAMPLE_EVENT_COUNT && (SAMPLE_EVENTS_CPU >> event & 1);
}
enum payload_type { PAYLOAD_TYPE_U64, PAYLOAD_TYPE_I64, PAYLOAD_TYPE_DOUBLE, PAYLOAD_TYPE_STRING };

/* Names as filters, files and queries have them; NULL for a number out of range. The reverse gives -1 when unknown. */
const char *span_kind_name(enum span_kind kind);
const char *track_kind_name(enum track_kind kind);
const char *link_kind_name(enum link_kind kind);
const char *confidence_name(enum confidence confidence);
const char *sample_event_name(enum sample_event event);
const char *sample_cut_name(enum sample_cut cut);
int sample_cut_find(const char *name);
const char *payload_kind_name(enum payload_kind kind);
int span_kind_find(const char *name);
int track_kind_find(const char *name);
int link_kind_find(const char *name);
int confidence_find(const char *name);
int sample_event_find(const char *name);
int payload_kind_find(const char *name);

struct payload_field {
    const char *name;
    enum payload_type type;
    const char *unit; /* UCUM; "" = none */
};
const struct payload_field *payload_fields(enum payload_kind kind, size_t *ret_count);

#define PAYLOAD_FIELDS_MAX 32
/* A decoded payload. Bit i of present says whether fields[i] was recorded; absent ones are unknown, never 0. */
struct payload {
    enum payload_kind kind;
    uint32_t present;
    union payload_value {
        uint64_t u64;
        int64_t i64;
        double number;
        string_id string;
    } fields[PAYLOAD_FIELDS_MAX];
    const char *json; /* PAYLOAD_JSON: json_size bytes, not NUL-terminated; lives as long as the block it came from */
    uint32_t json_size;
};

struct trace_node {
    string_id name;         /* host name */
    string_id clock_domain; /* boot id ":" time-namespace inode */
};

struct trace_process {
    node_id node;
    int32_t pid;            /* in the recorder's PID namespace */
    int32_t rank;           /* -1 = none */
    int64_t start_ns;       /* begin of this generation: fork or exec */
    int64_t end_ns;         /* INT64_MIN = unknown */
    process_id parent;
    uint32_t generation;    /* 0 after fork, +1 for each exec */
    string_id command;      /* program name; arguments are not kept */
    string_id executable;   /* path */
    int32_t exit_status;    /* wait status; -1 = unknown */
    bool attached;          /* was running before the recording began */
    string_id reason;       /* why parts are missing ("static program: samples only"), absent if nothing is */
};

/* What a shell makes of a wait status: the status, 128+N for signal N; -1 for -1 and what is no end of a process. */
int32_t wait_exit_status(int32_t wait_status);

struct trace_track {
    enum track_kind kind;
    string_id name;
    process_id process;
    int32_t tid;            /* TRACK_THREAD and TRACK_SCHED; -1 otherwise */
    int32_t device, stream; /* -1 = none */
    string_id unit;         /* TRACK_COUNTER */
    int64_t start_ns, end_ns; /* life of the thread; INT64_MIN = unknown */
};

enum module_flags { MODULE_KERNEL = 1, MODULE_JIT = 2, MODULE_DELETED = 4, MODULE_VDSO = 8, MODULE_NO_SYMBOLS = 16 };
struct trace_module {
    string_id path;         /* as the process saw it; "[kernel]", "[vdso]", "[jit]" */
    string_id build_id;     /* lower-case hex */
    uint32_t flags;
};

enum frame_flags { FRAME_INLINED = 1, FRAME_KERNEL = 2, FRAME_UNSYMBOLIZED = 4 };
struct trace_frame {
    string_id function;     /* demangled; "module+0xoffset" with FRAME_UNSYMBOLIZED */
    module_id module;
    string_id file;
    uint32_t line;          /* 0 = unknown */
    uint32_t flags;
    uint64_t address;       /* in the module, as its ELF file has it (not a run-time address) */
};

/* A call stack is a path to the root (parent NONE) in one tree; the id of its leaf node names it. */
struct stack_node {
    stack_id parent;
    frame_id frame;
};

enum sample_flags {
    SAMPLE_TRUNCATED = 1,   /* the stack does not reach the thread's root: its outermost frame is not the root */
    SAMPLE_KERNEL = 2,      /* the CPU was in the kernel */
    SAMPLE_NO_STACK = 4,    /* only the address is known */
    SAMPLE_EXCLUDED = 64,   /* nobody's sample: CPU time in code that could not be sampled; the one frame says so */
};
/* Bits 3 to 5 of the flags of a truncated sample say what ended its stack. */
enum { SAMPLE_CUT_SHIFT = 3, SAMPLE_CUT_MASK = 7 << SAMPLE_CUT_SHIFT };
static inline enum sample_cut sample_cut_of(uint8_t flags)
{
    return (enum sample_cut)((flags & SAMPLE_CUT_MASK) >> SAMPLE_CUT_SHIFT);
}
struct sample {
    int64_t time_ns;
    int64_t weight;         /* ns of CPU time this sample stands for (TIME events), else occurrences; off-CPU ns for SWITCH */
    stack_id stack;
    uint16_t cpu;           /* UINT16_MAX = unknown */
    uint8_t event, flags;
};

struct span {
    track_id track;
    int64_t begin_ns, end_ns; /* end INT64_MIN = still open at the end of the record: shown as unfinished */
    string_id name, category; /* category: backend or user's word; absent allowed */
    enum span_kind kind;
    span_id parent;           /* enclosing span on the same track, or the call that caused it; NONE */
    uint64_t correlation;     /* 0 = none; equal in the two halves of one launch */
    stack_id stack;           /* call stack at begin, NONE if not taken */
};

/* A call that a thread was in when a snapshot was made: not a span yet, as its end, and what else is said of it then, is not known. */
struct open_call {
    track_id track;
    int64_t begin_ns;
    string_id name, category; /* name NONE: known when it has ended */
};

struct instant {
    int64_t time_ns;
    string_id name, category;
};

#define RESIDENT_TRACK "resident memory"         /* the counter of a process' memory that is in RAM */
#define RESIDENT_PEAK_KEY "resident.peak_bytes"  /* metadata: the greatest of the main process, or one it waited for, by the kernel */
struct counter_value {
    int64_t time_ns;
    double value;             /* the track holds name and unit */
};

struct trace_link {
    enum link_kind kind;
    enum confidence confidence;
    span_id from, to;
};

struct trace_group {
    enum link_kind kind;
    string_id name;
    uint64_t sequence;
};
struct group_member {
    group_id group;
    span_id span;
    int32_t rank;
};

/* What was seen, kept and lost, by source: "cpu samples", "runtime records", "context switches" ... */
struct ledger_entry {
    string_id source;
    uint64_t seen, recorded, lost;
    string_id reason;
};

#endif
