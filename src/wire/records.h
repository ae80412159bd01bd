/* SPDX-License-Identifier: MIT */
/*
 * The records that the target and the recorder write: one layout everywhere, in chunks, in process logs and in the spool.
 * A record starts on 8 bytes with a header of 8 and is `words` times 8 bytes long, so that a reader steps over what it
 * doesn't know. Times are in the clock of the stream: a thread's stream in its process' clock (struct wire_process.clock:
 * TSC ticks or ns), the recorder's own stream in ns of CLOCK_MONOTONIC_RAW. Little-endian, as every machine we run on.
 */
#ifndef HP_WIRE_RECORDS_H
#define HP_WIRE_RECORDS_H

#include <stdint.h>

enum wire_kind {
#define X(number, enumerator, name, size) WIRE_##enumerator = number,
#include "records.def"
#undef X
};

struct wire_header {
    uint16_t kind;
    uint16_t words; /* whole record, this header included, in units of 8 bytes: 1..65535 */
    uint32_t value; /* by kind: mostly the name (a string id of the process) */
};

/* A collector's layer: one per backend. Nested calls of one layer count once. Names in layer_names of the merge. */
enum wire_layer {
    WIRE_LAYER_TEST = 0,
    WIRE_LAYER_CUDA = 1,
    WIRE_LAYER_OPENCL = 2,
    WIRE_LAYER_OPENMP = 3,
    WIRE_LAYER_ROCM = 4,
    WIRE_LAYER_NCCL = 5,
    WIRE_LAYER_MPI = 6,
    WIRE_LAYER_USER = 7,
    WIRE_LAYER_COUNT = 8,
};

struct wire_pad {
    struct wire_header header;
};

struct wire_string {
    struct wire_header header; /* value: bytes of text behind this header, without the padding; no NUL among them */
};

struct wire_calibration {
    struct wire_header header;
    uint64_t ticks;
    int64_t raw_ns;   /* CLOCK_MONOTONIC_RAW, in the writer's time namespace */
    uint64_t spread;  /* ticks that passed around the reading of the other clock: twice the error bound */
};

enum wire_lost_reason {
#define WIRE_LOST(enumerator, text) WIRE_LOST_##enumerator,
#define WIRE_LOST_REASONS                                                                                              \
    WIRE_LOST(LIMIT, "buffer limit reached")                                                                           \
    WIRE_LOST(DISK_FULL, "disk full")                                                                                  \
    WIRE_LOST(FILE_LIMIT, "RLIMIT_FSIZE")                                                                              \
    WIRE_LOST(NO_DIRECTORY, "session directory out of reach")                                                          \
    WIRE_LOST(SECCOMP, "seccomp: no new files")                                                                        \
    WIRE_LOST(NO_MEMORY, "out of memory")                                                                              \
    WIRE_LOST(NESTED, "signal handlers nested too deep")                                                               \
    WIRE_LOST(TOO_BIG, "record too big")                                                                               \
    WIRE_LOST(IO, "input/output error")                                                                                \
    WIRE_LOST(TIMER, "sampling timer refused")                                                                         \
    WIRE_LOST(NO_DESCRIPTOR, "no file descriptor left (RLIMIT_NOFILE)")
    WIRE_LOST_REASONS
#undef WIRE_LOST
    WIRE_LOST_COUNT
};
struct wire_lost {
    struct wire_header header; /* value: enum wire_lost_reason */
    uint64_t time;
    uint64_t count;            /* since the last such record of this stream */
};

/* Facts for people, one each: value = string id of the text. */
struct wire_process_info {
    struct wire_header header; /* value: string id */
    uint64_t time;
    uint64_t topic;            /* enum wire_info_topic */
};
enum wire_info_topic { WIRE_INFO_COMMAND, WIRE_INFO_EXECUTABLE, WIRE_INFO_NOTE, WIRE_INFO_COLLECTOR };

struct wire_thread_start {
    struct wire_header header; /* value: tid as the process sees it */
    uint64_t time;
    uint64_t stack_top;        /* highest stack address if known, else 0 */
};
struct wire_thread_name {
    struct wire_header header; /* value: tid */
    uint64_t time;
    char name[16];             /* as the kernel keeps it */
};
struct wire_named_thread {
    struct wire_header header; /* value: string id */
    uint64_t time;
    int32_t tid;               /* as the process sees it: any of its threads */
    uint32_t reserved;
};
struct wire_thread_end {
    struct wire_header header; /* value: tid */
    uint64_t time;
    uint64_t lost;             /* records this thread lost in all */
};

/*
 * What happened from begin to end. Payload: bit i of `present` says that field i (wire/kinds.def) of payload_kind follows
 * behind the fixed part, 8 bytes each in ascending order; a STRING field is a string id of the process.
 */
struct wire_span {
    struct wire_header header; /* value: name */
    uint64_t begin, end;
    uint64_t correlation;      /* 0 = none; unique in its process and layer */
    uint8_t layer;             /* enum wire_layer: the category unless `category` says another */
    uint8_t span_kind;         /* enum span_kind of the trace model */
    uint8_t payload_kind;      /* enum payload_kind; 0 = none */
    uint8_t flags;
    uint32_t category;         /* string id; 0 = the layer's name */
    uint32_t stack;            /* for call stacks taken by collectors; 0 = none */
    uint32_t present;
};

struct wire_instant {
    struct wire_header header; /* value: name */
    uint64_t time;
    uint8_t layer, payload_kind;
    uint16_t flags;
    uint32_t category;
    uint32_t stack;
    uint32_t present;          /* as in a span */
};

struct wire_counter {
    struct wire_header header; /* value: name */
    uint64_t time;
    double value;
    uint32_t unit;             /* string id (UCUM); 0 = none */
    int32_t device;            /* -1 = of the process */
    uint8_t layer, reserved[7];
};

struct wire_link {
    struct wire_header header; /* value: enum link_kind | enum confidence << 8 | layer of from << 16 | layer of to << 24 */
    uint64_t time;
    uint64_t from, to;         /* correlation ids */
};

/* Life of processes and threads as the recorder sees it; pid and tid in the recorder's PID namespace. */
enum wire_process_flags { WIRE_PROCESS_ATTACHED = 1, WIRE_PROCESS_ROOT = 2, WIRE_PROCESS_STATIC = 4 };
struct wire_process_start {
    struct wire_header header; /* value: bytes of name behind the fixed part (may be 0) */
    int64_t time_ns;
    int32_t pid, parent_pid;
    uint32_t generation;       /* 0 after fork */
    uint32_t flags;            /* enum wire_process_flags */
    uint64_t start_ticks;      /* field 22 of /proc/PID/stat; 0 = unknown */
    int64_t reserved;
};
struct wire_process_exec {
    struct wire_header header; /* value: bytes of path behind the fixed part */
    int64_t time_ns;
    int32_t pid;
    uint32_t flags;
    uint64_t reserved;
};
struct wire_process_exit {
    struct wire_header header; /* value: 0 */
    int64_t time_ns;
    int32_t pid, wait_status;  /* -1 = unknown */
    uint64_t reserved;
};
struct wire_task_start {
    struct wire_header header; /* value: flags, WIRE_PROCESS_ATTACHED */
    int64_t time_ns;
    int32_t pid, tid;
    uint64_t reserved;
};
struct wire_task_exit {
    struct wire_header header;
    int64_t time_ns;
    int32_t pid, tid;
    uint64_t reserved;
};
struct wire_task_name {
    struct wire_header header; /* value: bytes of name behind the fixed part */
    int64_t time_ns;
    int32_t pid, tid;
    uint64_t reserved;
};
struct wire_metadata {
    struct wire_header header; /* value: bytes behind the fixed part: key NUL value NUL */
    int64_t time_ns;
};
struct wire_ledger {
    struct wire_header header; /* value: bytes behind the fixed part: source NUL reason NUL */
    uint64_t seen, recorded, lost;
};

/* Samples, from the recorder (perf) and from timers in the target alike. */
struct wire_chain_sample {
    struct wire_header header; /* value: number of addresses behind the fixed part */
    uint64_t time;
    uint64_t weight;           /* ns of CPU time, or occurrences */
    int32_t pid, tid;
    uint16_t cpu;              /* UINT16_MAX = unknown */
    uint8_t event;             /* enum sample_event of the trace model */
    uint8_t flags;             /* enum sample_flags */
    uint32_t kernel_count;     /* how many of the addresses (the innermost) are the kernel's */
    uint64_t reserved;
};

enum wire_arch { WIRE_ARCH_X86_64 = 0, WIRE_ARCH_AARCH64 = 1 };
/* Behind the fixed part: one u64 for each bit of register_mask (DWARF numbers), then kernel_count addresses, then
 * stack_bytes bytes from stack_address on, padded to 8. */
struct wire_stack_sample {
    struct wire_header header; /* value: stack_bytes */
    uint64_t time;
    uint64_t weight;
    int32_t pid, tid;
    uint16_t cpu;
    uint8_t event, flags;
    uint16_t kernel_count;
    uint8_t arch, reserved;
    uint64_t register_mask;
    uint64_t stack_address;
    uint64_t reserved2;
};

/* A file (or the kernel, the vDSO, code of a JIT) that samples lead into. Numbers are dense, from 0, and of the recording. */
enum wire_module_flags { WIRE_MODULE_DELETED = 1, WIRE_MODULE_COPIED = 2 /* a copy is in the session: module-<number> */ };
struct wire_module {
    struct wire_header header; /* value: bytes of path behind the fixed part */
    uint32_t number;
    uint8_t kind;              /* enum module_kind of the symbol module */
    uint8_t flags;             /* enum wire_module_flags */
    uint8_t build_id_bytes;
    uint8_t reserved;
    uint64_t device, inode, inode_generation;
    int32_t pid;               /* a process that maps it */
    uint8_t build_id[20];
    uint8_t reserved2[8];
};
struct wire_mapping {
    struct wire_header header; /* value: number of the module */
    int64_t time_ns;
    int32_t pid;
    uint32_t reserved;
    uint64_t start, length, file_offset;
    uint64_t reserved2;
};
struct wire_stack_node {
    uint32_t parent;           /* node number; 0 = the root itself */
    uint32_t module;           /* UINT32_MAX = nothing is mapped there, address is the run-time one */
    uint64_t address;          /* in the module; of callers: within the call instruction */
};
/* Nodes first, first + 1, ... (numbers start at 1), `value` of them behind the fixed part. */
struct wire_stack_nodes {
    struct wire_header header; /* value: count */
    int64_t time_ns;           /* when they were first seen: picks among JIT code that came and went at one address */
    uint32_t first;
    uint32_t reserved;
};
struct wire_sample {
    struct wire_header header; /* value: number of the innermost stack node; 0 = none */
    int64_t time_ns;
    int64_t weight;            /* ns of CPU time, or occurrences */
    int32_t pid, tid;
    uint16_t cpu;              /* UINT16_MAX = unknown */
    uint8_t event, flags;      /* enum sample_event, enum sample_flags */
    uint32_t reserved;
};
struct wire_sampling_end {
    struct wire_header header;
    int64_t time_ns;
};
enum wire_off_cpu_reason { WIRE_OFF_CPU_BLOCKED = 0, WIRE_OFF_CPU_PREEMPTED = 1 };
struct wire_off_cpu {
    struct wire_header header; /* value: enum wire_off_cpu_reason */
    int64_t begin_ns, end_ns;
    int32_t pid, tid;
    uint16_t from_cpu, to_cpu;
    uint32_t reserved;
};

/* Behind the fixed part: `count` addresses of 8 bytes as they were in the process; callers' are return addresses. */
struct wire_call_stack {
    struct wire_header header; /* value: number of the stack in its process, from 1 */
    uint64_t time;
    uint32_t count;
    uint32_t flags;            /* 1: goes on, was cut */
};

/* Devices and queues belong to a process and a layer; numbers are the collector's. */
struct wire_device {
    struct wire_header header; /* value: name */
    uint64_t time;
    int32_t device;
    uint8_t layer, reserved[3];
    uint64_t reserved2;
};
struct wire_queue {
    struct wire_header header; /* value: name; 0 = made from the number */
    uint64_t time;
    uint64_t queue;            /* the collector's id, never reused in the process; shown as `stream` */
    int32_t device;            /* -1 = unknown */
    int32_t stream;            /* number for people, counted from 0 within its device; -1 = none */
    uint8_t layer, reserved[7];
};
/* As a span, on a queue's lane. Times are in the process' clock, or in a device's. Payload fields follow the fixed part. */
struct wire_device_span {
    struct wire_span span;
    uint64_t queue;            /* of a queue record that may come later */
    int32_t device;            /* of the lane, should no queue record be found */
    uint32_t clock;            /* 0: the process' clock; else a device clock's number, times in its units */
    uint64_t launch;           /* correlation of the host's span (same layer) that caused it: its parent and a launch link; 0 = unknown */
};
/*
 * Either a pair (both clocks read together, `spread` around it) or a bound: `order` -1 = device_time was before `time`, 1 = after.
 * Many bounds together give the offset, and its error, of a clock that cannot be read directly.
 */
struct wire_device_clock {
    struct wire_header header; /* value: number of the clock, from 1 */
    uint64_t time;             /* in the process' clock */
    uint64_t device_time;      /* ns of the device's */
    uint64_t spread;           /* in the process' clock: twice the error bound of a pair */
    int32_t order;             /* 0 = pair */
    uint32_t reserved;
};
/* The file is object-<pid>-<key>-<number> of the session directory. */
struct wire_object {
    struct wire_header header; /* value: name (string id) */
    uint64_t time;
    uint64_t object;           /* number in the process; payload field `object` */
    uint64_t bytes;
    uint8_t layer, kind;       /* enum wire_object_kind */
    uint8_t reserved[6];
};
struct wire_gpu_samples {
    struct wire_header header; /* value: name of the kernel as the linker knows it */
    uint64_t time;             /* when they were collected */
    uint64_t cubin_crc;        /* as CUPTI computes it */
    uint64_t offset;           /* of the instruction in its function */
    uint64_t samples;
    int32_t device;
    uint32_t reason;           /* string id: what the warps waited for */
    uint64_t correlation;      /* of the launch, where kernels were serialised; 0 = unknown */
};
/* Such records need not come in order of time: sums are made in the merge. */
struct wire_device_memory {
    struct wire_header header; /* value: name of the counter */
    uint64_t time;
    int64_t bytes;             /* less than 0: freed */
    int32_t device;            /* -1 = the host's */
    uint8_t layer, reserved[3];
    uint64_t reserved2;
};
/* Behind the fixed part: name, NUL, unit (UCUM), NUL. */
struct wire_device_counter {
    struct wire_header header; /* value: bytes behind the fixed part */
    int64_t time_ns;
    double value;
    int32_t device;            /* as the machine's administrators number it */
    uint32_t reserved;
    uint64_t reserved2;
};
struct wire_resident {
    struct wire_header header;
    int64_t time_ns;
    uint64_t bytes;
    int32_t pid;               /* in the recorder's namespace */
    uint32_t reserved;
};
enum wire_object_kind { WIRE_OBJECT_ELF = 0, WIRE_OBJECT_CUBIN = 1, WIRE_OBJECT_PTX = 2, WIRE_OBJECT_OTHER = 3 };

enum wire_openmp_what {
    WIRE_OPENMP_CODE = 0,     /* first: an address met for the first time, at a construct of this span kind; second: code of the region around, 0 = none.
                               * value >> 20 is its number, which short records name it by */
    WIRE_OPENMP_DEPEND = 1,   /* task `first` must end before task `second` may begin */
    WIRE_OPENMP_FULFIL = 2,   /* the event of detached task `first` came: the task is complete */
    WIRE_OPENMP_UNPAIRED = 3, /* first: events of this thread whose begin or end never came; second: those nested too deep */
    WIRE_OPENMP_REGION_END = 5, /* region `first`, which is written as a span, ended at `time` */
    WIRE_OPENMP_ABSENT = 4,   /* first: bit of each event (number of OMPT's list) that the runtime doesn't report */
};
struct wire_openmp_fact {
    struct wire_header header; /* value: enum wire_openmp_what | enum span_kind << 8 */
    uint64_t time;
    uint64_t first, second;
};

/*
 * What regions and barriers need most of the time, in few bytes: lengths in 32 bits, code by its number (0 = none), no call stack.
 * What doesn't fit is written as spans.
 */
#define WIRE_OPENMP_CODE_BITS 12
struct wire_openmp_region {
    struct wire_header header; /* value: number of the code | level << 12 | teams << 24 */
    uint64_t begin;
    uint32_t length;
    uint32_t part_begin, part_length; /* thread 0's part; begin from the region's */
    uint16_t requested, threads;
    uint64_t region;           /* its thread 0's task is the next number */
    uint64_t task;             /* that met the construct, 0 = unknown; bit 63: thread 0's task needs its id */
};
#define WIRE_OPENMP_OWN_TASK (1ull << 63)
struct wire_openmp_part {
    struct wire_header header; /* value: number of the code */
    uint64_t begin;
    uint32_t length;
    uint16_t thread, threads;
    uint64_t region;
};
struct wire_openmp_sync {
    struct wire_header header; /* value: number of the code | enum wire_openmp_sync_kind << 12 | low 16 bits of the sequence << 16 */
    uint64_t begin;
    uint32_t length, wait_start; /* the waiting lasts to the end */
    uint64_t region;           /* low 40 bits: the region; the others: the sequence from its bit 16 on */
};
enum wire_openmp_sync_kind { /* OMPT's numbers */
    WIRE_OPENMP_BARRIER = 1,
    WIRE_OPENMP_IMPLICIT = 2,
    WIRE_OPENMP_EXPLICIT = 3,
    WIRE_OPENMP_IMPLEMENTATION = 4,
    WIRE_OPENMP_WORKSHARE = 8,
    WIRE_OPENMP_PARALLEL = 9,
    WIRE_OPENMP_TEAMS = 10,
};

/*
 * What the wrappers of GCC's libgomp write: a region with the part of the thread that met it, which is thread 0 of its team; and
 * the part of each other thread, which never learns when the region ends. Together they are the spans that OMPT gives at once.
 */
struct wire_gomp_region {
    struct wire_header header; /* value: number of the call stack; 0 = none */
    uint64_t begin, end;
    uint64_t work_begin, work_end; /* of thread 0's part; from then to `end` it waits for the others */
    uint64_t region, code;
    uint64_t task;             /* that met the construct; 0 = none with an id */
    uint64_t own_task;         /* thread 0's implicit task; 0 = it needed no id */
    uint32_t requested, threads;
    uint16_t level;
    uint8_t teams;             /* 1: host teams, one after the other, each with a part */
    uint8_t reserved;
    uint32_t sequence;         /* number of the region's last barrier, as thread 0 counts */
};
struct wire_gomp_part {
    struct wire_header header; /* value: number of the region's last barrier, as this thread counts */
    uint64_t begin, end;       /* of its work */
    uint64_t region, code, task;
    uint32_t thread, threads;
};
/* The addresses that a task's depend clauses name, behind the fixed part: 8 bytes each, then a byte each that says how (enum
 * wire_gomp_access), padded to 8. */
struct wire_gomp_depend {
    struct wire_header header; /* value: number of addresses */
    uint64_t time;
    uint64_t task, parent;
};
enum wire_gomp_access { WIRE_GOMP_IN = 1, WIRE_GOMP_OUT = 2, WIRE_GOMP_INOUTSET = 3 };

struct wire_mpi_rank {
    struct wire_header header; /* value: text of the library's version */
    uint64_t time;
    int32_t rank, size;        /* in MPI_COMM_WORLD; -1 = unknown (only a launcher's variable was there: size may be) */
    uint64_t world;            /* identity of MPI_COMM_WORLD; 0 = unknown */
};
enum wire_mpi_comm_flags { WIRE_MPI_COMM_INTER = 1, WIRE_MPI_COMM_WINDOW = 2, WIRE_MPI_COMM_FILE = 4, WIRE_MPI_COMM_LOCAL = 8 /* identity not agreed: means this process only */ };
/* Behind the fixed part: `listed` world ranks of 4 bytes by rank in the communicator, padded to 8. */
struct wire_mpi_comm {
    struct wire_header header; /* value: name; 0 = none */
    uint64_t time;
    uint64_t comm, parent;     /* identities; parent 0 = none */
    uint32_t size, listed;     /* listed: 0 or size (both groups, local first, of an intercommunicator) */
    int32_t rank;
    uint32_t flags;            /* enum wire_mpi_comm_flags */
};
/* In this form also the status of a blocking receive. A request that was freed or came to nothing has flags. */
enum wire_mpi_complete_flags { WIRE_MPI_CANCELLED = 1, WIRE_MPI_FREED = 2, WIRE_MPI_STATUS = 4 /* source, tag, bytes are known */, WIRE_MPI_NO_WAIT = 8 /* found by a test that began no span */ };
struct wire_mpi_complete {
    struct wire_header header; /* value: enum wire_mpi_complete_flags */
    uint64_t time;
    uint64_t request;          /* correlation of the span that posted it (of its MPI_Start, if it is persistent) */
    uint64_t wait;             /* correlation of the span of the wait or test that ended it; 0 = none */
    int32_t source, tag;       /* world rank, tag */
    uint64_t bytes;
    uint64_t reserved;
};
/* The shortest of `trips` round trips to another process: at own_time (half way) the other's clock showed peer_raw_ns. */
struct wire_clock_probe {
    struct wire_header header; /* value: 0 = at the beginning (MPI_Init), 1 = at the end (MPI_Finalize), 2 = between */
    uint64_t own_time;         /* in the process' clock */
    int64_t own_raw_ns, peer_raw_ns; /* CLOCK_MONOTONIC_RAW of either */
    uint64_t error_ns;         /* half the round trip */
    int32_t peer_rank, trips;  /* world rank */
    uint64_t peer_domain;      /* hash of the other's boot id and time namespace */
    uint64_t own_domain;
};

struct wire_target_maps {
    struct wire_header header; /* value: bytes of text behind the fixed part */
    uint64_t time;
};

#define X(number, enumerator, name, size)                                                                              \
    _Static_assert(sizeof(struct wire_##name) == (size), "records.def and struct wire_" #name " disagree");
#include "records.def"
#undef X

#define WIRE_WORDS_MAX 65535u

static inline uint32_t wire_bytes(const struct wire_header *header)
{
    return (uint32_t)header->words * 8u;
}

static inline uint32_t wire_round_up(uint32_t bytes)
{
    return (bytes + 7u) & ~7u;
}

/* Size of the fixed part of a kind; 0 for one this build doesn't know (skip it by its words and count it). */
static inline uint32_t wire_kind_size(uint16_t kind)
{
    switch (kind) {
#define X(number, enumerator, name, size)                                                                              \
    case number:                                                                                                       \
        return size;
#include "records.def"
#undef X
    default:
        return 0;
    }
}

/* A whole record at `bytes` of a buffer that ends at `end`: its header, or NULL where the bytes are no record. */
static inline const struct wire_header *wire_record_at(const uint8_t *bytes, const uint8_t *end)
{
    const struct wire_header *header = (const struct wire_header *)(const void *)bytes;
    if ((uint64_t)(end - bytes) < sizeof *header || header->words == 0 || wire_bytes(header) > (uint64_t)(end - bytes))
        return 0;
    return wire_bytes(header) < wire_kind_size(header->kind) ? 0 : header;
}

#endif
