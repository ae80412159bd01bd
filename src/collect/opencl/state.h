/* SPDX-License-Identifier: MIT */
/* What the collector knows of the process: devices, queues, commands under way; and what its files do for each other. */
#ifndef HP_COLLECT_OPENCL_STATE_H
#define HP_COLLECT_OPENCL_STATE_H

#include "../collector.h"
#include "handles.h"
#include "opencl.h"

/* Texts in records beside the functions' names: OCL_TEXT(enumerator, text). */
#define OCL_TEXTS                                                                                                      \
    OCL_TEXT(READ, "device-to-host")                                                                                   \
    OCL_TEXT(WRITE, "host-to-device")                                                                                  \
    OCL_TEXT(INSIDE, "device-to-device")                                                                               \
    OCL_TEXT(DEVICE, "device")                                                                                         \
    OCL_TEXT(HOST, "host")                                                                                             \
    OCL_TEXT(PINNED, "pinned")                                                                                         \
    OCL_TEXT(SVM, "svm")                                                                                               \
    OCL_TEXT(EVENT, "event")                                                                                           \
    OCL_TEXT(QUEUE, "queue")                                                                                           \
    OCL_TEXT(MARKER, "marker")                                                                                         \
    OCL_TEXT(BARRIER, "barrier")                                                                                       \
    OCL_TEXT(KERNEL, "kernel")                                                                                         \
    OCL_TEXT(NATIVE_KERNEL, "native kernel")                                                                           \
    OCL_TEXT(READ_BUFFER, "read buffer")                                                                               \
    OCL_TEXT(WRITE_BUFFER, "write buffer")                                                                             \
    OCL_TEXT(COPY_BUFFER, "copy buffer")                                                                               \
    OCL_TEXT(READ_IMAGE, "read image")                                                                                 \
    OCL_TEXT(WRITE_IMAGE, "write image")                                                                               \
    OCL_TEXT(COPY_IMAGE, "copy image")                                                                                 \
    OCL_TEXT(IMAGE_TO_BUFFER, "copy image to buffer")                                                                  \
    OCL_TEXT(BUFFER_TO_IMAGE, "copy buffer to image")                                                                  \
    OCL_TEXT(FILL_BUFFER, "fill buffer")                                                                               \
    OCL_TEXT(FILL_IMAGE, "fill image")                                                                                 \
    OCL_TEXT(MAP_BUFFER, "map buffer")                                                                                 \
    OCL_TEXT(MAP_IMAGE, "map image")                                                                                   \
    OCL_TEXT(UNMAP, "unmap")                                                                                           \
    OCL_TEXT(MIGRATE, "migrate")                                                                                       \
    OCL_TEXT(SVM_FREE, "svm free")                                                                                     \
    OCL_TEXT(SVM_COPY, "svm copy")                                                                                     \
    OCL_TEXT(SVM_FILL, "svm fill")                                                                                     \
    OCL_TEXT(SVM_MAP, "svm map")                                                                                       \
    OCL_TEXT(SVM_UNMAP, "svm unmap")                                                                                   \
    OCL_TEXT(SVM_MIGRATE, "svm migrate")                                                                               \
    OCL_TEXT(BUILDS, "asynchronous builds")                                                                            \
    OCL_TEXT(BUILD_RUN, "build program")                                                                               \
    OCL_TEXT(COMPILE_RUN, "compile program")                                                                           \
    OCL_TEXT(LINK_RUN, "link program")
enum ocl_text {
#define OCL_TEXT(enumerator, text) OCL_TEXT_##enumerator,
    OCL_TEXTS
#undef OCL_TEXT
        OCL_TEXT_COUNT
};

/* entry.c */
extern uint32_t ocl_names[OCL_FUNCTION_COUNT]; /* string ids */
extern uint32_t ocl_texts[OCL_TEXT_COUNT];
extern uint32_t ocl_off;                       /* 1: nothing is recorded in this process, or its exit has begun: pass through */
extern int32_t ocl_pid;
const struct ocl_api *ocl_direct(void);        /* for our own calls: never through our own layer */
bool ocl_ready(void);                          /* registers at the first call; false: pass through */
uint32_t ocl_string(const char *text);

/* A recorded call of the program. call.thread NULL: passes through. */
struct ocl_call {
    rt_call call;
    uint64_t correlation;
    struct rt_span span; /* without begin and end */
};
/* The call's name and kind; nested calls and pauses give one that records nothing. */
void ocl_begin(struct ocl_call *call, enum ocl_function function, unsigned span_kind, unsigned payload_kind);
void ocl_end(struct ocl_call *call);
/* Around one of the program's callbacks: calls that it makes are the program's own, though the runtime may be in one already. */
struct ocl_outer {
    struct rt_thread *thread;
    uintptr_t frame; /* 0 = in no recorded call */
};
struct ocl_outer ocl_step_out(void);
void ocl_step_back(struct ocl_outer left);

#define OCL_COMMAND_FIELDS 20

enum ocl_clock_mode { OCL_CLOCK_OPEN, OCL_CLOCK_HOST, OCL_CLOCK_TIMER, OCL_CLOCK_BOUNDS };
enum ocl_queued { OCL_QUEUED_UNKNOWN, OCL_QUEUED_SAME, OCL_QUEUED_ODD }; /* whether queued times are of the device's clock */
struct ocl_bound {
    int64_t distance; /* device's ns minus our raw ns */
    uint64_t time, device_time;
    uint32_t known;
};
struct ocl_reading {
    uint64_t time, device_time, spread; /* spread: of the process' clock around the reading of the other */
};
struct ocl_clock {
    uint32_t mode;        /* enum ocl_clock_mode */
    uint32_t host_clock;  /* OCL_CLOCK_HOST: which of the host's clocks the device's times are */
    uint32_t candidates;  /* host clocks that fitted so far, a bit each */
    uint64_t worst[3];    /* by host clock: ns that a command lay outside of what it allows, the tolerance at most */
    struct ocl_reading first[3]; /* the host's clocks when the device was met */
    uint32_t fitted, misfits;
    uint32_t busy;        /* one thread at a time; the others leave it alone */
    uint32_t count;
    uint64_t next_ns;     /* raw: when to write the next record */
    uint64_t pair_raw, pair_device; /* OCL_CLOCK_TIMER: the last pair */
    struct ocl_bound after, before;
    struct ocl_bound queued_after, queued_before;
    uint32_t queued;      /* enum ocl_queued */
};

struct ocl_device {
    cl_device_id handle;
    int32_t number;
    uint32_t name;        /* string id */
    uint32_t queues;
    uint32_t announced;   /* its record is written */
    uint32_t text_length;
    char text[160];
    struct ocl_clock clock;
};

enum ocl_queue_flag {
    OCL_IS_UNORDERED = 1, /* out of order */
    OCL_IS_HIDDEN = 2,    /* profiling is ours: the program must not see it */
    OCL_IS_UNTIMED = 4,   /* no profiling: commands have no times */
    OCL_IS_DEVICE = 8,    /* on the device */
    OCL_IS_ARRAY = 16,    /* made from a property array, which is kept */
};
#define OCL_PROPERTIES 32
#define OCL_RECENT 64

struct ocl_command;
struct ocl_queue {
    struct ocl_item item;
    uint32_t used, flags;
    uint32_t name, announced;     /* string id; 1 = its record is written */
    int32_t pid, references;
    int32_t stream;               /* number within its device */
    cl_command_queue handle;
    uint64_t id;
    struct ocl_device *device;
    uint32_t since;               /* commands since the last look */
    uint32_t busy;                /* a thread is looking */
    struct ocl_command *inbox;    /* newest first; any thread pushes, who looks takes all */
    struct ocl_command *head, *tail;
    uint64_t last;                /* id of the last command */
    uint64_t barrier;             /* id of the last barrier of an out-of-order queue */
    uint32_t recent_count;
    uint64_t recent[OCL_RECENT];  /* out of order: commands since the last barrier */
    uint64_t waiting[OCL_RECENT]; /* clEnqueueWaitForEvents: what the next command waits for */
    uint32_t waiting_count;
    uint32_t property_count;
    cl_bitfield properties[OCL_PROPERTIES]; /* as the program gave them, the closing 0 included */
};

/* A command whose times are still to come. */
struct ocl_command {
    struct ocl_item item;
    struct ocl_command *next;
    struct ocl_queue *queue;
    cl_event event;               /* ours to release */
    uint64_t id, launch;
    uint64_t begin, begin_raw;    /* of the enqueue: process' clock, CLOCK_MONOTONIC_RAW (0 = not read) */
    uint64_t enqueued, enqueued_raw; /* when the runtime had it; read if begin_raw was */
    uint32_t name, present;
    uint8_t span_kind, payload_kind, queued_field, submitted_field; /* 255 = none */
    uint64_t fields[OCL_COMMAND_FIELDS]; /* by position */
};

/* queues.c */
struct ocl_queue *ocl_queue_find(cl_command_queue handle); /* NULL: no room for it */
struct ocl_queue *ocl_queue_at(uint32_t number);           /* for walks over all; NULL: end */
void ocl_queue_finished(struct ocl_queue *queue);          /* nothing is under way: gives a released one back */
struct ocl_device *ocl_device_find(cl_device_id handle);   /* NULL: no room */
void ocl_flush_clocks(void);                               /* at exit: what is still known of devices' clocks */
cl_command_queue ocl_create_queue_khr(cl_context context, cl_device_id device, const cl_bitfield *properties, cl_int *ret_error);
void *ocl_extension(const char *name, void *found);

/* commands.c */
struct ocl_enqueue {
    struct ocl_call api;
    const struct ocl_api *table;
    struct ocl_queue *queue;
    struct ocl_command *command; /* NULL: no device span */
    cl_command_queue handle;
    cl_event own;
    cl_event *program, *event;   /* event: what goes to the runtime */
};
void ocl_enqueue_begin(struct ocl_enqueue *enqueue, const struct ocl_api *table, enum ocl_function function, cl_command_queue queue,
                       cl_event *event, enum ocl_text name, unsigned span_kind, unsigned payload_kind);
/* A payload field of the command's span; any order. */
void ocl_enqueue_field(struct ocl_enqueue *enqueue, unsigned position, uint64_t value);
cl_int ocl_enqueue_end(struct ocl_enqueue *enqueue, cl_int result, cl_bool blocking, cl_uint count, const cl_event *list);
void ocl_look(struct ocl_queue *queue, uint32_t most); /* records commands that are through, `most` of them */
void ocl_look_all(void);
uint64_t ocl_event_id(cl_event event);                 /* correlation of what it stands for; 0 = unknown */
void ocl_event_set(cl_event event, uint64_t id);
void ocl_link(unsigned kind, uint64_t from, uint64_t to);
uint32_t ocl_pending(struct ocl_queue *queue, uint64_t *ids, uint32_t most); /* ids of commands under way */
extern uint64_t ocl_failed, ocl_untimed, ocl_no_room;  /* commands without a span, by reason */
void ocl_leave_process(void);                          /* at exit: last look, then nothing more */

/* record.c */
void ocl_record_command(const struct ocl_command *command, const uint64_t times[4], uint32_t clock);
void ocl_announce(struct ocl_queue *queue); /* its device and itself, unless that is done; not while nothing is recorded */

/* clocks.c */
uint64_t ocl_raw_ns(void);
void ocl_clock_begin(struct ocl_device *device);
bool ocl_clock_wants_begin(struct ocl_device *device);
uint32_t ocl_clock_number(struct ocl_device *device);
void ocl_clock_note(struct ocl_device *device, const struct ocl_command *command, const uint64_t times[4]);
void ocl_clock_flush(struct ocl_device *device);

/* programs.c */
uint64_t ocl_kernel_value(cl_kernel kernel); /* name (string id) | object << 32 */

/* In a child of fork, before its first record: texts, devices and numbers of the parent mean nothing in its log. */
void ocl_forget_devices(void);
void ocl_forget_commands(void);
void ocl_forget_programs(void);

#endif
