/* SPDX-License-Identifier: MIT */
/*
 * The part of the MPI collector that knows mpi.h: built once for each family of MPI, and by `hprofiler build --mpicc` for
 * any other. What is kept here (identities, sequence numbers, requests) is kept whether or not something is recorded at the
 * moment, so that all processes agree.
 */
#ifndef HP_MPI_COLLECTOR_H
#define HP_MPI_COLLECTOR_H

#include "../collector.h"
#include "mpi_api.h"
#include "mpi_calls.h"

#define MPI_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define MPI_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define MPI_COLD __attribute__((noinline, cold))
#define MPI_HIDDEN __attribute__((visibility("hidden")))
#define MPI_INLINE static inline __attribute__((always_inline))
#define mpi_load(pointer) __atomic_load_n((pointer), __ATOMIC_ACQUIRE)
#define mpi_store(pointer, value) __atomic_store_n((pointer), (value), __ATOMIC_RELEASE)

enum mpi_word {
#define WORD(enumerator, text) WORD_##enumerator,
#include "words.def"
#undef WORD
    WORD_COUNT
};

#pragma GCC visibility push(hidden)

enum mpi_phase { MPI_BEFORE, MPI_RUNNING, MPI_OVER };
struct mpi_state {
    uint32_t phase;               /* enum mpi_phase, atomic: MPI may be called only while RUNNING */
    uint32_t threads;             /* 1: MPI_THREAD_MULTIPLE was granted */
    uint32_t call_tree;           /* 1: spans get stacks */
    uint64_t order;               /* of posting */
    uint32_t names[CALL_COUNT];   /* string ids */
    uint32_t words[WORD_COUNT];
};
extern struct mpi_state mpi;
extern void *mpi_real[CALL_COUNT]; /* the MPI's own functions: their names lead to the front, which stands before them */

/* One wrapped call. */
struct mpi_call {
    rt_call rt;                   /* rt.thread NULL: nothing is recorded */
    bool outer;                   /* false: MPI calls itself */
    uint64_t end;                 /* where it is read before the span is begun; else 0 */
};

/* Frame of the outermost MPI call of this thread; 0 = outside. One that longjmp left behind lies below any new call's. */
extern __thread uintptr_t mpi_frame __attribute__((tls_model("initial-exec")));

MPI_INLINE struct mpi_call mpi_enter(unsigned number)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    struct mpi_call call = {.outer = MPI_LIKELY(frame >= mpi_frame)};
    if (MPI_LIKELY(call.outer)) {
        mpi_frame = frame;
        call.rt = rt_enter(WIRE_LAYER_MPI, mpi.names[number]);
    }
    return call;
}

MPI_INLINE int mpi_leave(int result)
{
    mpi_frame = 0;
    return result;
}

/* A process-wide number for each send and receive, drawn before it is posted. */
MPI_INLINE uint64_t mpi_order(void)
{
    if (MPI_UNLIKELY(mpi.threads))
        return __atomic_add_fetch(&mpi.order, 1, __ATOMIC_RELAXED);
    return ++mpi.order;
}

/* A span in the making, in its place among the thread's records. No other record may be written before it is closed. */
#define MPI_FIELDS_MAX 16u
struct mpi_span {
    struct wire_span *record;
    uint64_t *at;                 /* where the next field goes */
    uint32_t present;
    bool lost;                    /* there was no room: `spare` is filled for nothing */
    uint64_t spare[sizeof(struct wire_span) / 8 + MPI_FIELDS_MAX];
};

/* For what takes longer before its span is begun. */
MPI_INLINE void mpi_call_ended(struct mpi_call *call)
{
    if (MPI_LIKELY(call->rt.thread != 0))
        call->end = rt_now();
}

/* The part that all calls have; the call ends here, what we take for recording it isn't its time. */
MPI_INLINE void mpi_span_begin(struct mpi_span *span, const struct mpi_call *call, unsigned number, unsigned kind, unsigned payload)
{
    uint64_t end = call->end ? call->end : rt_now();
    uint32_t stack = MPI_UNLIKELY(mpi.call_tree) ? rt_stack(2) : 0; /* without the wrapper and the function that it calls */
    uint64_t *words = rt_record(sizeof span->spare);
    span->lost = !words;
    if (MPI_UNLIKELY(!words))
        words = span->spare;
    words[1] = call->rt.begin;
    words[2] = end;
    words[3] = 0;
    words[4] = WIRE_LAYER_MPI | (uint64_t)kind << 8 | (uint64_t)payload << 16;
    words[5] = stack;
    span->record = (struct wire_span *)(void *)words;
    span->record->header.value = mpi.names[number];
    span->at = words + sizeof(struct wire_span) / 8;
    span->present = 0;
}

/* Positions (FIELD_..., wire/kinds.h) must come in ascending order. */
MPI_INLINE void mpi_field(struct mpi_span *span, unsigned position, uint64_t value)
{
    *span->at++ = value;
    span->present |= 1u << position;
}

/* Published, but for a call that goes on. */
MPI_INLINE void mpi_span_close(struct mpi_span *span)
{
    uint32_t bytes = (uint32_t)((char *)span->at - (char *)span->record);
    span->record->header.kind = WIRE_SPAN;
    span->record->header.words = (uint16_t)(bytes / 8);
    span->record->present = span->present;
    if (MPI_LIKELY(!span->lost))
        rt_commit(bytes);
}

MPI_INLINE void mpi_span_end(struct mpi_call *call, struct mpi_span *span)
{
    mpi_span_close(span);
    rt_cancel(call->rt, WIRE_LAYER_MPI);
}

/* Numbers for `count` at once: the first. */
MPI_INLINE uint64_t mpi_orders(int count)
{
    uint64_t many = count > 0 ? (uint64_t)count : 0;
    if (MPI_UNLIKELY(mpi.threads))
        return __atomic_fetch_add(&mpi.order, many, __ATOMIC_RELAXED) + 1;
    mpi.order += many;
    return mpi.order - many + 1;
}

/* memory.c: from the kernel, as the program's heap is not ours. For what is made seldom. */
void *mpi_memory_take(uint64_t bytes);       /* zeroed; NULL */
void mpi_memory_give(void *memory, uint64_t bytes);

/* hash.c */
uint64_t mpi_hash(uint64_t a, uint64_t b);
uint64_t mpi_hash_ranks(const int32_t *ranks, uint32_t count);
uint64_t mpi_hash_text(const char *text);

/* communicator.c */
#define MPI_RANK_NONE (-1)                   /* MPI_PROC_NULL */
#define MPI_RANK_UNKNOWN (-2)                /* a process of another MPI_COMM_WORLD */
struct mpi_ranks {                           /* members of a group by world rank; shared by communicators of one group */
    uint32_t references, size;
    int32_t world[];
};
struct mpi_comm {
    uint64_t handle, identity;
    uint64_t sequence;                       /* of collectives */
    struct mpi_ranks *peers;                 /* whom ranks of send and receive mean: the other group of an intercommunicator */
    struct mpi_ranks *own;                   /* our own group; = peers but for intercommunicators */
    int32_t rank;
    uint32_t flags;                          /* enum wire_mpi_comm_flags */
    uint32_t references;                     /* the table's, and of receives that are under way */
    uint32_t noted;                          /* 1: its record is written */
    uint64_t parent;                         /* identity; 0 = none */
    uint64_t bytes, base;                    /* of a window here */
    uint64_t epoch;                          /* of a window: its newest access epoch */
    uint64_t *target_epochs;                 /* of passive ones, by target; 0 = none; NULL until needed */
    struct mpi_ranks *to, *from;             /* neighbours, where it has a topology and they were needed */
    uint32_t not_to, not_from;               /* all others, as text */
    uint32_t name;                           /* string id */
};
extern struct mpi_comm mpi_world;

void mpi_world_start(void);
struct mpi_ranks *mpi_ranks_of(MPI_Group group);
struct mpi_ranks *mpi_ranks_share(struct mpi_ranks *ranks);
void mpi_ranks_release(struct mpi_ranks *ranks); /* NULL: nothing happens */
bool mpi_comm_groups(MPI_Comm comm, struct mpi_ranks **ret_peers, struct mpi_ranks **ret_own);
struct mpi_comm *mpi_comm_learn(uint64_t handle, MPI_Comm comm);
struct mpi_comm *mpi_comm_in_table(uint64_t handle);
/* Takes over the references to `peers` and `own`. NULL without memory. */
struct mpi_comm *mpi_comm_add(uint64_t handle, uint64_t identity, struct mpi_ranks *peers, struct mpi_ranks *own, uint32_t flags);
/* Out of the table before it is freed, as its handle may be another's the moment after. NULL if it isn't known. */
struct mpi_comm *mpi_comm_freeing(uint64_t handle);
void mpi_comm_insert(uint64_t handle, struct mpi_comm *comm);
void mpi_comm_release(struct mpi_comm *comm);
void mpi_comm_note(struct mpi_comm *comm); /* its record, unless that is written */

MPI_INLINE struct mpi_comm *mpi_comm_find(MPI_Comm comm)
{
    if (MPI_LIKELY(MPI_HANDLE(comm) == mpi_world.handle && mpi_world.noted))
        return &mpi_world;
    struct mpi_comm *found = mpi_comm_in_table(MPI_HANDLE(comm));
    if (MPI_UNLIKELY(!found))
        found = mpi_comm_learn(MPI_HANDLE(comm), comm);
    if (MPI_UNLIKELY(found && !found->noted))
        mpi_comm_note(found);
    return found; /* NULL: no memory, or no communicator at all */
}

/* World rank of a peer. */
MPI_INLINE int32_t mpi_peer(const struct mpi_comm *comm, int rank)
{
    if (MPI_UNLIKELY(rank == MPI_PROC_NULL))
        return MPI_RANK_NONE;
    return comm && (uint32_t)rank < comm->peers->size ? comm->peers->world[rank] : MPI_RANK_UNKNOWN;
}

/* A collective's number on its communicator. */
MPI_INLINE uint64_t mpi_sequence(struct mpi_comm *comm)
{
    return MPI_UNLIKELY(mpi.threads) ? __atomic_add_fetch(&comm->sequence, 1, __ATOMIC_RELAXED) : ++comm->sequence;
}

/* datatype.c */
struct mpi_type {
    uint64_t handle;                         /* 0 = empty place of the table */
    uint64_t bytes;                          /* of data in one */
    int64_t extent, true_begin, true_extent;
};
struct mpi_data {                            /* a buffer of a call */
    uint64_t bytes;                          /* of data */
    uint64_t address, extent;                /* from the first byte to behind the last */
};
#define MPI_TYPES 256u
extern struct mpi_type mpi_types[MPI_TYPES]; /* predefined ones, by hash; written once */
void mpi_types_start(void);
struct mpi_type mpi_type_ask(MPI_Datatype type);

MPI_INLINE uint32_t mpi_type_place(uint64_t handle)
{
    return (uint32_t)((handle ^ handle >> 9) * 0x9e3779b97f4a7c15ull >> 56);
}

MPI_INLINE struct mpi_type mpi_type_find(MPI_Datatype datatype)
{
    uint64_t handle = MPI_HANDLE(datatype);
    for (uint32_t place = mpi_type_place(handle); mpi_types[place].handle; place = (place + 1) % MPI_TYPES)
        if (MPI_LIKELY(mpi_types[place].handle == handle))
            return mpi_types[place];
    return mpi_type_ask(datatype);
}

MPI_INLINE struct mpi_data mpi_data(const void *buffer, int items, MPI_Datatype datatype)
{
    struct mpi_type type = mpi_type_find(datatype);
    uint64_t count = items > 0 ? (uint64_t)items : 0;
    struct mpi_data data = {.bytes = count * type.bytes, .address = (uint64_t)(uintptr_t)buffer + (uint64_t)type.true_begin};
    data.extent = count ? (count - 1) * (uint64_t)type.extent + (uint64_t)type.true_extent : 0;
    return data;
}

/* Where the caller ignores the status, our own is filled: it tells who sent what. */
MPI_INLINE MPI_Status *mpi_own_status(MPI_Status *status, MPI_Status *own)
{
    return status == MPI_STATUS_IGNORE ? own : status;
}

/* job.c */
uint64_t mpi_job_identity(int size);         /* the same in all processes of one MPI_COMM_WORLD, as the launcher tells it */

uint64_t mpi_environment_number(const char *name); /* 0 = not there */

/* clock_probe.c */
void mpi_probes_begin(void);
void mpi_probes_end(void);

/* start.c: MPI_Init to MPI_Finalize */
void mpi_plain(struct mpi_call *call, unsigned number, unsigned kind);
void mpi_initialised(struct mpi_call *call, unsigned number, int result);
uint64_t mpi_finalizing(struct mpi_call *call);
void mpi_finalized(struct mpi_call *call, unsigned number, uint64_t order);
void mpi_aborting(struct mpi_call *call, unsigned number);

/* request.c: what a request was posted by, until it is over */
enum mpi_request_kind { MPI_REQUEST_SEND, MPI_REQUEST_RECEIVE, MPI_REQUEST_OTHER, MPI_REQUEST_IDUP, MPI_REQUEST_MESSAGE };
struct mpi_request {
    struct mpi_request *next;
    uint64_t handle;
    const void *address;                     /* of the caller's variable: tells requests apart that share a handle */
    uint64_t correlation;                    /* of the span that posted it; 0 = not recorded, or not started */
    struct mpi_comm *comm;                   /* held while it is a receive */
    uint8_t kind;                            /* enum mpi_request_kind */
    bool persistent, cancelled;
    uint8_t mode, any;
    int32_t peer, tag;                       /* of a persistent one, and of a message: as they will be recorded; MPI_RANK_NONE of any receive from nobody */
    uint64_t order;                          /* of a message: its probe's */
    struct mpi_data data;
    MPI_Comm newcomm;                        /* of MPI_Comm_idup */
};
void mpi_request_put(const struct mpi_request *request);
/* Takes out the one that is meant (a persistent one stays, as not started). False: nothing is known of it. */
bool mpi_request_take(uint64_t handle, const void *address, struct mpi_request *ret_request);
/* The one itself, to be changed: NULL if there is none. Only its owner may ask. */
struct mpi_request *mpi_request_find(uint64_t handle, const void *address);
void mpi_request_drop(uint64_t handle, const void *address);
void mpi_request_over(const struct mpi_request *request, uint64_t wait, const MPI_Status *status, uint32_t flags);
void mpi_request_cancelled(struct mpi_call *call, unsigned number, const MPI_Request *request);
void mpi_request_freed(struct mpi_call *call, unsigned number, uint64_t handle, const MPI_Request *request);

/* wait.c */
#define MPI_WAIT_FEW 16
struct mpi_wait {                            /* handles as they were before the call, which sets them to MPI_REQUEST_NULL */
    uint64_t count;
    uint64_t *handles;
    MPI_Status *statuses;
    uint64_t handle_bytes, status_bytes;     /* taken from memory.c; 0 = the few */
    uint64_t few_handles[MPI_WAIT_FEW];
    MPI_Status few_statuses[MPI_WAIT_FEW];
};
void mpi_wait_begin(struct mpi_wait *wait, int count, const MPI_Request *requests);
/* The caller's, or our own where it ignores them. */
MPI_Status *mpi_wait_statuses(struct mpi_wait *wait, MPI_Status *statuses);
void mpi_waited(struct mpi_call *call, unsigned number, unsigned kind, uint64_t handle, const void *address, const MPI_Status *status, bool done);
void mpi_waited_all(struct mpi_call *call, unsigned number, unsigned kind, struct mpi_wait *wait, const MPI_Request *requests,
                    const MPI_Status *statuses, bool done, int result);
void mpi_waited_any(struct mpi_call *call, unsigned number, unsigned kind, struct mpi_wait *wait, const MPI_Request *requests, int index,
                    const MPI_Status *status, bool done);
void mpi_waited_some(struct mpi_call *call, unsigned number, unsigned kind, struct mpi_wait *wait, const MPI_Request *requests, int count,
                     const int *indices, const MPI_Status *statuses, int result);

/* message.c, persistent.c, probe.c */
struct mpi_exchange {
    const void *sendbuf;
    int sendcount;
    MPI_Datatype sendtype;
    int dest, sendtag;
    const void *recvbuf;
    int recvcount;
    MPI_Datatype recvtype;
    int source, recvtag;
};
void mpi_sent(struct mpi_call *call, unsigned number, unsigned mode, uint64_t order, const void *buffer, int count, MPI_Datatype type,
              int destination, int tag, MPI_Comm comm);
void mpi_received(struct mpi_call *call, unsigned number, uint64_t order, const void *buffer, int count, MPI_Datatype type, int source,
                  int tag, MPI_Comm comm, const MPI_Status *status, int result);
void mpi_send_posted(struct mpi_call *call, unsigned number, unsigned mode, uint64_t order, const void *buffer, int count, MPI_Datatype type,
                     int destination, int tag, MPI_Comm comm, const MPI_Request *request, int result);
void mpi_receive_posted(struct mpi_call *call, unsigned number, uint64_t order, const void *buffer, int count, MPI_Datatype type, int source,
                        int tag, MPI_Comm comm, const MPI_Request *request, int result);
void mpi_exchanged(struct mpi_call *call, unsigned number, uint64_t order, const struct mpi_exchange *exchange, MPI_Comm comm,
                   const MPI_Status *status, int result);
void mpi_send_prepared(struct mpi_call *call, unsigned number, unsigned mode, const void *buffer, int count, MPI_Datatype type,
                       int destination, int tag, MPI_Comm comm, const MPI_Request *request, int result);
void mpi_receive_prepared(struct mpi_call *call, unsigned number, const void *buffer, int count, MPI_Datatype type, int source, int tag,
                          MPI_Comm comm, const MPI_Request *request, int result);
void mpi_started(struct mpi_call *call, unsigned number, uint64_t order, int count, const MPI_Request *requests);
void mpi_probed(struct mpi_call *call, unsigned number, int source, int tag, MPI_Comm comm, const MPI_Status *status, bool found);
void mpi_matched(struct mpi_call *call, unsigned number, int source, int tag, MPI_Comm comm, const MPI_Message *message,
                 const MPI_Status *status, bool found);
void mpi_matched_received(struct mpi_call *call, unsigned number, uint64_t message, const void *buffer, int count, MPI_Datatype type,
                          const MPI_Status *status, int result);
void mpi_matched_posted(struct mpi_call *call, unsigned number, uint64_t message, const void *buffer, int count, MPI_Datatype type,
                        const MPI_Request *request, int result);

/* collective.c, side.c */
enum mpi_side_how {
    MPI_AT_ROOT = 1,       /* only the root's counts */
    MPI_NOT_AT_ROOT = 2,
    MPI_EACH = 4,          /* so much for each process */
    MPI_VARIES = 8,        /* other processes' may be of another length: an empty one is told */
    MPI_TO_ROOT = 16, MPI_FROM_ROOT = 32, /* the only peer is the root */
    MPI_OWN = 64,          /* of `counts`, only our own */
};
struct mpi_side {                            /* what a process sends, or receives */
    const void *buffer;
    int count;
    MPI_Datatype type;
    const int *counts, *places;              /* by peer, where they differ */
    const MPI_Aint *addresses;               /* as places */
    const MPI_Datatype *types;
    unsigned how;                            /* enum mpi_side_how */
};
struct mpi_shape {
    bool rooted, reduces;
    int root;
    MPI_Op op;
    struct mpi_side send, receive;
};
void mpi_collective(struct mpi_call *call, unsigned number, MPI_Comm comm, const MPI_Request *request, const struct mpi_shape *shape);
void mpi_neighbours(struct mpi_call *call, unsigned number, MPI_Comm comm, const MPI_Request *request, const struct mpi_shape *shape);

/* topology.c */
bool mpi_topology(struct mpi_comm *comm, MPI_Comm handle); /* finds `to` and `from` */

/* communicator_calls.c */
void mpi_comm_made(struct mpi_call *call, unsigned number, MPI_Comm parent, MPI_Comm made, int result);
void mpi_comm_grouped(struct mpi_call *call, unsigned number, MPI_Comm parent, int tag, MPI_Comm made, int result);
void mpi_comm_joined(struct mpi_call *call, unsigned number, MPI_Comm parent, int tag, MPI_Comm made, int result);
void mpi_comm_remote(struct mpi_call *call, unsigned number, MPI_Comm parent, MPI_Comm made, int result);
void mpi_comm_idup(struct mpi_call *call, unsigned number, MPI_Comm parent, MPI_Comm *made, const MPI_Request *request, int result);
void mpi_comm_idup_over(const struct mpi_request *request);
void mpi_comm_recorded(struct mpi_call *call, unsigned number, const struct mpi_comm *made, const struct mpi_comm *parent, uint64_t sequence);
void mpi_comm_freed(struct mpi_call *call, unsigned number, struct mpi_comm *freed);
void mpi_comm_named(struct mpi_call *call, unsigned number, MPI_Comm comm, const char *name);

/* window.c */
struct mpi_access {
    const void *origin;
    int origin_count;
    MPI_Datatype origin_type;
    int target;
    MPI_Aint displacement;
    int target_count;
    MPI_Datatype target_type;
};
void mpi_win_made(struct mpi_call *call, unsigned number, MPI_Comm parent, MPI_Win made, const void *base, MPI_Aint bytes, int result);
void mpi_accessed(struct mpi_call *call, unsigned number, const struct mpi_access *access, unsigned word, MPI_Op op, MPI_Win win,
                  const MPI_Request *request, int result);
void mpi_fenced(struct mpi_call *call, unsigned number, int assertion, MPI_Win win);
void mpi_epoch_begun(struct mpi_call *call, unsigned number, MPI_Group group, int assertion, MPI_Win win);
void mpi_epoch_synced(struct mpi_call *call, unsigned number, int rank, MPI_Win win);
void mpi_locked(struct mpi_call *call, unsigned number, unsigned lock, int rank, int assertion, MPI_Win win);
void mpi_unlocked(struct mpi_call *call, unsigned number, int rank, MPI_Win win);

/* file.c */
enum { MPI_ALONE, MPI_TOGETHER };
#define MPI_NO_OFFSET ((MPI_Offset)-1)
void mpi_file_opened(struct mpi_call *call, unsigned number, MPI_Comm parent, const char *name, MPI_File made, int result);
void mpi_file_used(struct mpi_call *call, unsigned number, MPI_File file, MPI_Offset offset, int together, const void *buffer, int count,
                   MPI_Datatype type, const MPI_Status *status, const MPI_Request *request, int result);

/* words.c */
uint32_t mpi_string(const char *text);
uint32_t mpi_operation(MPI_Op op);           /* its name as a string id */

#pragma GCC visibility pop

#endif
