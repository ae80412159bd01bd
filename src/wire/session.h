/* SPDX-License-Identifier: MIT */
/*
 * The session directory: what the recorder tells the targets and how their files are called. All files are flat in one
 * directory (0700), each 0600, made with O_EXCL and opened with O_NOFOLLOW:
 *
 *   session                                       struct wire_session, made by the recorder, mapped by every target
 *   process-<pid>-<key>                           struct wire_process and the process log, made by a target's runtime
 *   chunk-<pid>-<key>-<number>                    struct wire_chunk and records (buffer.h), made by a target's runtime
 *   note-<pid>-<key>                              one line of text: why a runtime switched itself off
 *   object-<pid>-<key>-<number>                   code for a device (struct wire_object), made by a target's collector
 *   spool-keep, spool-00000001 ...                the recorder's packed blocks (docs/formats/spool.md)
 *
 * pid is decimal, as the process sees itself; key is 16 hex digits, drawn anew by each program image (exec); number is decimal.
 */
#ifndef HP_WIRE_SESSION_H
#define HP_WIRE_SESSION_H

#include "open_calls.h"
#include "records.h"

#define WIRE_MAJOR 1
#define WIRE_MINOR 1
#define WIRE_BYTE_ORDER 0x01020304u

#define WIRE_SESSION_MAGIC 0x314e535346525048ull /* "HPRFSSN1" */
#define WIRE_PROCESS_MAGIC 0x3143525046525048ull /* "HPRFPRC1" */
#define WIRE_CHUNK_MAGIC 0x314b484346525048ull   /* "HPRFCHK1" */

#define WIRE_ENVIRONMENT "HPROFILER_SESSION" /* the session directory, absolute */

enum wire_clock {
    WIRE_CLOCK_RAW = 0, /* ns of CLOCK_MONOTONIC_RAW */
    WIRE_CLOCK_TSC = 1, /* rdtsc, invariant */
    WIRE_CLOCK_CNTVCT = 2, /* AArch64 cntvct_el0 */
};

enum wire_sampling { WIRE_SAMPLING_OFF = 0, WIRE_SAMPLING_ADDRESS = 1, WIRE_SAMPLING_FRAME_POINTERS = 2, WIRE_SAMPLING_STACK_COPY = 3 };

struct wire_kind_row {
    uint16_t kind, size;
    char name[28];
};

/* The first 64 bytes are the same in every major version: a runtime of another one reads no more than these. */
struct wire_session {
    uint64_t magic;
    uint16_t major, minor;
    uint32_t byte_order;
    char build_id[48];

    uint32_t header_bytes;      /* of this struct as the recorder knows it; a longer one has fields that we don't know */
    uint32_t kind_count;
    uint32_t kind_offset;       /* of kind_count rows of struct wire_kind_row */
    int32_t recorder_pid;
    uint64_t recorder_start_ticks; /* field 22 of /proc/PID/stat: tells a live recorder from a reused pid */
    int64_t start_raw_ns;       /* CLOCK_MONOTONIC_RAW and CLOCK_REALTIME when the session began */
    int64_t start_realtime_ns;
    char boot_id[40];
    uint64_t time_namespace;    /* inode numbers */
    uint64_t pid_namespace;

    uint32_t chunk_first_bytes; /* a thread's first chunk, header included: a power of two, 4096 or more */
    uint32_t chunk_max_bytes;   /* later ones grow to this */
    uint64_t thread_limit_bytes;
    uint64_t total_limit_bytes; /* of all chunks of the session */

    uint32_t sampling;          /* enum wire_sampling: timers in the target */
    uint32_t sampling_stack_bytes;
    uint64_t sampling_period_ns;

    uint32_t active;            /* 0: record nothing (before --delay, after --duration). Changed by the recorder while targets run */
    uint32_t clock_choice;      /* 0 = the best one; 1 = CLOCK_MONOTONIC_RAW always (tests) */
    char command[256];          /* program name of the target, for `recover` */

    /* Written by the targets, atomically. */
    uint64_t used_bytes;        /* of all chunks */
    uint32_t announced;         /* grows by one for each file made: tells the recorder to look */
    uint32_t flags;             /* enum wire_session_flags, by the recorder */
};
enum wire_session_flags {
    WIRE_SESSION_NO_SHARED_MAP = 1, /* targets write with pwrite, as where MAP_SHARED fails (tests) */
    WIRE_SESSION_CALL_TREE = 2,     /* --call-tree: a stack with every intercepted call */
    WIRE_SESSION_KEEP_CODE = 4,     /* --disasm: code for devices is kept (object files) */
    WIRE_SESSION_PC_SAMPLING = 8,   /* --gpu-pc-sampling */
    WIRE_SESSION_WHOLE_GRAPHS = 16, /* --cuda-graphs whole: one span for a launch of a graph, none for its nodes */
    WIRE_SESSION_PC_SERIALIZED = 32, /* --gpu-pc-mode serialized: kernels one after the other, samples by launch */
};

/*
 * A process' file: this header, then the process log from log_offset on: records appended by any thread without a lock. The
 * room is taken from log_reserved by compare and swap; a record's first 8 bytes are stored last, so that a reader stops at
 * the first zero header (what lies behind it may be whole: skip 8 bytes at a time up to log_reserved after the process died).
 */
struct wire_process {
    uint64_t magic;
    uint16_t major, minor;
    uint32_t byte_order;
    char build_id[48];

    uint32_t header_bytes;
    uint32_t log_offset;
    int32_t pid;                /* as the process sees itself */
    int32_t parent_pid;
    uint64_t key;
    uint64_t pid_namespace, time_namespace;
    uint64_t start_time;        /* in `clock` */
    int64_t start_raw_ns;       /* CLOCK_MONOTONIC_RAW as this process sees it */
    uint32_t clock;             /* enum wire_clock */
    uint32_t uid;
    char boot_id[40];
    char executable[256];       /* cut if longer */

    uint64_t log_reserved;      /* bytes from log_offset */
    uint64_t log_allocated;     /* bytes of the file that have blocks on the disk, from log_offset */
    uint64_t lost[WIRE_LOST_COUNT < 16 ? 16 : 1]; /* by enum wire_lost_reason; counted where no thread could */
    uint32_t ended;             /* 1: finished in good order */
    int32_t outer_pid;          /* written by the recorder when it sees another pid than the process itself; else 0 */
    struct wire_open_place open; /* the calls that its threads are in; zero where none are kept (formats 1.0 end before it) */
};

_Static_assert(WIRE_LOST_COUNT <= 16, "struct wire_process.lost is full");

#endif
