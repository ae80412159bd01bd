/* SPDX-License-Identifier: MIT */
/*
 * A discrete-event simulation of parallel programs, and the trace that hprofiler would have recorded of them. It knows the rules of
 * the runtimes (who waits for whom in MPI, OpenMP and on a device's streams), gives each action a cost in whole ns, and so knows
 * what caused what. It shares no code with src/analysis: it is what the analyses are judged by.
 *
 * An actor is a thread of the host with a list of operations; streams of devices only react. A moment is a time with the node of the
 * causal history that it stands for. When something waits, all that it may wait for are offered to a `pick`: each a moment and the
 * lag behind it; the latest wins, and its moment is the cause.
 */
#ifndef HP_TESTS_GENERATOR_SIM_H
#define HP_TESTS_GENERATOR_SIM_H

#include "trace/builder.h"

#include <stdio.h>

#define NOWHERE UINT32_MAX
#define TOKEN_NONE UINT32_MAX
#define ANY (-1)

enum op_kind {
    OP_COMPUTE,      /* name, ns; OP_BARE: no annotation around it */
    OP_RANGE_BEGIN,  /* name */
    OP_RANGE_END,
    OP_SEND,         /* a = peer, b = tag, ns = bytes */
    OP_RECV,         /* a = peer or ANY, b = tag, ns = bytes */
    OP_SENDRECV,     /* a = to, b = from, ns = bytes */
    OP_WAIT,         /* a = how many of the oldest open requests */
    OP_COLLECTIVE,   /* a = number of the collective */
    OP_PARALLEL_BEGIN, OP_PARALLEL_END, /* a = region; the master's */
    OP_PART,         /* a = region: a worker waits for it */
    OP_LOOP,         /* name, ns */
    OP_TEAM_BARRIER, /* a = barrier */
    OP_LOCK, OP_UNLOCK, /* a = lock */
    OP_SINGLE_BEGIN, OP_SINGLE_END,
    OP_TASK,         /* a = task */
    OP_TASKWAIT,
    OP_LAUNCH,       /* name, a = stream, ns */
    OP_COPY,         /* a = stream, b = bytes, ns; OP_BLOCKING */
    OP_RECORD, OP_STREAM_WAIT, /* a = stream, b = event */
    OP_SYNC,         /* a = stream; with OP_EVENT b = event; with OP_DEVICE all streams of the process */
};
enum op_flags { OP_BARE = 1, OP_SYNCHRONOUS = 2, OP_NONBLOCKING = 4, OP_BLOCKING = 8, OP_EVENT = 16, OP_DEVICE = 32, OP_CRITICAL = 64 };

struct op {
    uint8_t kind, flags;
    uint16_t name;
    int32_t a, b;
    int64_t ns;
};

/* What led to a node; the words are in the truth file. */
enum cause_rule { RULE_LANE, RULE_START, RULE_MESSAGE, RULE_RENDEZVOUS, RULE_COLLECTIVE, RULE_FORK, RULE_BARRIER, RULE_JOIN, RULE_LOCK, RULE_TASK_CREATE,
    RULE_TASK_DEPEND, RULE_TASKWAIT, RULE_LAUNCH, RULE_STREAM_ORDER, RULE_EVENT_WAIT, RULE_DEFAULT_STREAM, RULE_DEVICE_SYNC, RULE_BLOCKING_COPY, RULE_COUNT };

enum pattern {
#define PATTERN(enumerator, text) PATTERN_##enumerator,
#include "patterns.def"
    PATTERN_COUNT
};

struct moment {
    int64_t ns;
    uint32_t node;
};

struct node {
    int64_t ns;
    uint32_t cause;
    uint32_t lane;
    uint16_t name;    /* innermost span over the stretch from a cause on the same lane */
    uint8_t rule;
    uint32_t latest;  /* the latest of what it may have waited for: what is recorded says that this was the cause */
    uint8_t latest_rule;
    bool undecided;   /* that is another one than the cause */
    bool tied;
};

/* Kept for the check by enumeration only. */
struct offer {
    uint32_t node, cause;
    int64_t lag_ns;
};

enum { OFFERS_KEPT = 2 };
struct pick {
    struct moment cause;
    int64_t at_ns;
    uint8_t rule;
    bool any, tied;
    int64_t latest_ns;      /* latest of the moments offered, whatever their lag */
    uint32_t latest_node;
    uint8_t latest_rule;
};

struct open_span {
    int64_t begin_ns;
    uint32_t token;
    uint16_t name;
};

struct request {
    bool done;
    uint8_t kind;           /* enum span_kind of the call that posted it */
    uint8_t count;
    struct { struct moment cause; int64_t lag_ns; uint8_t rule; } offers[OFFERS_KEPT];
    struct moment posted;
    int64_t end_ns;         /* of the posting call */
    int64_t cost_ns;        /* of taking a message, or of learning that one is gone */
    uint32_t token;
    struct moment peer;     /* the other half's posting */
    bool own_span;          /* a nonblocking call has one */
    struct payload_message { int64_t to, from, tag; uint64_t bytes, order; bool synchronous, any; } message;
};

enum actor_wait { WAIT_NOTHING, WAIT_REQUESTS, WAIT_COLLECTIVE, WAIT_PART, WAIT_BARRIER, WAIT_LOCK, WAIT_TASKS };
enum { OPEN_SPANS = 12 };

struct actor {
    uint32_t lane, process;
    int32_t rank, thread;
    struct op *ops;
    size_t op_count, op_capacity, at;
    struct moment now;
    uint64_t draws;
    enum actor_wait waiting;
    bool ready;             /* the gap before the operation is over */
    bool finished;
    struct open_span open[OPEN_SPANS];
    unsigned depth;
    int64_t begin_ns;       /* of the operation that waits */
    uint32_t token;
    struct moment entered;
    struct request *requests;
    size_t request_first, request_count, request_capacity;
    size_t wait_first, wait_count, pending;
    int64_t wait_cost_ns;
    uint64_t orders, barrier_sequence;
    uint32_t region;
    uint64_t correlation;
    int64_t useful_ns;      /* outside the runtimes */
    int64_t mpi_ns;         /* between MPI_Init and MPI_Finalize */
    int64_t init_end_ns, finalize_begin_ns;
    uint32_t children_open;
    struct moment last_child;
    uint32_t running;       /* the task that it executes, NOWHERE */
    int64_t tasks_ns;       /* of tasks that it ran in the barrier or taskwait it is in */
    bool made_tasks;        /* in this region */
    uint32_t lock_token;
    uint32_t barrier;       /* the one that it is in */
};

struct lane {
    uint32_t process;
    track_id track;
    bool stream;
    int32_t number;         /* of the stream, in its context */
    bool is_default;
    struct moment end;      /* of the last work in it */
    struct moment gate;     /* a later command may not begin before this */
    uint8_t gate_rule;
    int64_t busy_ns;
};

struct message {
    int32_t from, to, tag;
    uint64_t bytes;
    bool rendezvous;
    struct moment sent;
    int64_t arrival_ns;
    uint32_t token, actor, request; /* request: NOWHERE for one that nobody waits for */
    uint32_t next;
    uint64_t order;
};

struct receive {
    uint32_t actor, request;
    int32_t from, tag;
    uint32_t next;
};

struct rank {
    uint32_t main;          /* actor */
    uint32_t arrived_first, arrived_last;   /* messages nobody has asked for */
    uint32_t posted_first, posted_last;
    int64_t *channel_ns;    /* latest arrival, by sender */
    process_id process;
    uint32_t default_stream;
    uint32_t first_stream, stream_count;
    uint64_t records;
};

enum collective_kind { COLLECTIVE_BARRIER, COLLECTIVE_ALLREDUCE, COLLECTIVE_ALLTOALL, COLLECTIVE_BCAST, COLLECTIVE_REDUCE, COLLECTIVE_SCAN, COLLECTIVE_GATHER,
    COLLECTIVE_SCATTER, COLLECTIVE_INIT, COLLECTIVE_FINALIZE };

struct member {
    struct moment entered;
    uint32_t actor, token;
    int64_t cost_ns;
    int64_t exit_ns;
    bool in, out;
};
struct collective {
    uint8_t kind;
    int32_t root;
    uint64_t bytes;
    uint32_t entered, left, sequence;
    struct member *members;
};

struct region {
    uint32_t first_actor, threads; /* actors of the team lie side by side, the master first */
    bool open;
    struct moment forked;
    uint32_t parallel_token;
    struct worker_end { int64_t part_ns, barrier_ns, opened_ns; uint32_t part_token, barrier_token; uint64_t sequence; } *ends; /* they end with the region */
    uint32_t tasks_open;
    uint32_t ready_first, ready_last; /* tasks that nobody was free for */
};
struct team_barrier {
    uint32_t region;
    uint16_t name;
    bool final, explicit_one;
    uint32_t entered;
};
struct lock {
    bool held, critical;
    uint16_t name;
    uint32_t before_token;      /* of who had it last */
    int64_t before_ns;          /* when that one gave it back */
    uint32_t queue[64];
    uint32_t queue_first, queue_count;
    int64_t asked_ns, had_ns;   /* by who has it */
};
enum { TASK_DEPENDS = 4 };
struct task {
    uint16_t name;
    int64_t ns, lag_ns;
    uint32_t region, creator;
    uint32_t depends[TASK_DEPENDS], depend_count, open_depends;
    bool done, waited_for[TASK_DEPENDS];
    struct moment made, finished;
    int64_t begin_ns;
    uint32_t create_token, token, next;
    uint32_t *followers;
    size_t follower_count, follower_capacity;
};
struct event {
    struct moment covered;
    uint64_t record;
};

struct link_row {
    uint32_t from, to;
    uint8_t kind;
};
struct member_row {
    uint32_t token, group;
    int32_t rank;
};

struct costs {
    int64_t gap_ns, send_ns, inject_ns, latency_ns, ns_per_kb, receive_ns, post_ns, wait_ns, collective_ns, init_ns;
    uint64_t eager_bytes;
    int64_t fork_ns, barrier_ns, join_ns, lock_ns, create_ns, pick_ns;
    int64_t launch_call_ns, launch_ns, stream_gap_ns, sync_ns;
};

struct wake {
    int64_t ns;
    uint64_t sequence;
    uint32_t index;
    uint8_t what; /* 0 actor, 1 message */
};

struct options {
    const char *kind, *output, *truth, *read, *scale_name, *scale;
    uint64_t seed, spans;
    uint32_t ranks, threads, streams, rounds;
    uint32_t planted, moved;
    bool check, no_what_if, bare, gomp; /* bare: no annotations of the program's own; gomp: OpenMP as GCC's libgomp is seen */
};

struct sim {
    const struct options *options;
    struct costs costs;
    uint64_t seed;
    struct trace_builder *builder; /* NULL: times only */
    bool history;                  /* keep nodes */

    /* the program */
    struct actor *actors; size_t actor_count, actor_capacity;
    struct lane *lanes; size_t lane_count, lane_capacity;
    struct rank *ranks; size_t rank_count, rank_capacity;
    struct collective *collectives; size_t collective_count, collective_capacity;
    struct region *regions; size_t region_count, region_capacity;
    struct team_barrier *barriers; size_t barrier_count, barrier_capacity;
    struct lock *locks; size_t lock_count, lock_capacity;
    struct task *tasks; size_t task_count, task_capacity;
    struct event *events; size_t event_count, event_capacity;
    const char **names; string_id *name_ids; bool *name_is_work; size_t name_count, name_capacity;

    uint64_t program_draws;
    uint64_t spans_planned;
    struct planted { uint16_t name; uint32_t lane; int64_t ns; } *planted; /* what the critical path must have; lane NOWHERE: on any */
    size_t planted_count, planted_capacity;
    uint32_t sequences;            /* of collectives with one */

    /* the run */
    struct wake *heap; size_t heap_count, heap_capacity;
    uint64_t wakes;
    struct node *nodes; size_t node_count, node_capacity;
    struct offer *offers; size_t offer_count, offer_capacity;
    struct offer *offered; size_t offered_count, offered_capacity; /* of the pick that is being made */
    struct message *messages; size_t message_count, message_capacity; uint32_t free_message;
    struct receive *receives; size_t receive_count, receive_capacity; uint32_t free_receive;
    span_id *tokens; size_t token_count, token_capacity;
    struct link_row *links; size_t link_count, link_capacity;
    struct member_row *members; size_t member_count, member_capacity;
    uint32_t groups;
    uint64_t spans;
    string_id categories[4];
    int64_t begin_ns, end_ns;
    struct moment last;
    uint64_t decisions;            /* hash of all that depends on who came first */
    struct wait_sum { int64_t ns; uint64_t count; } *waits; /* by pattern, lane, lane of the cause (last: nobody) */
    uint64_t ties, undecided;

    /* what is different in this run */
    int scale_name;                /* -1 = nothing, SCALE_CODE = all code of the program */
    double scale;
};

/* Names that are not the program's. */
enum fixed_name {
    NAME_NONE,
#define NAME(enumerator, text) NAME_##enumerator,
#include "names.def"
    NAME_COUNT
};

enum { SCALE_CODE = -2 };

enum category { CATEGORY_NONE, CATEGORY_MPI, CATEGORY_OPENMP, CATEGORY_CUDA };

_Noreturn void fail(const char *what);
void *grow(void *items, size_t *capacity, size_t count, size_t size);
/* Appends a zeroed element and gives its number. */
#define APPEND(items, count, capacity) \
    ((items) = grow((items), &(capacity), (count) + 1, sizeof *(items)), (count)++)

/* engine.c */
void sim_init(struct sim *sim, const struct options *options);
void sim_finish(struct sim *sim);
uint16_t name_add(struct sim *sim, const char *name, bool work);
void sim_run(struct sim *sim);
void wake_add(struct sim *sim, int64_t ns, uint8_t what, uint32_t index);
int64_t draw(struct sim *sim, struct actor *actor, int64_t base_ns); /* base to 1.5 base, by the actor's own sequence */
uint64_t mix(uint64_t value);
int64_t scaled(const struct sim *sim, uint16_t name, int64_t ns);
void decide(struct sim *sim, uint64_t value);
uint16_t actor_name(const struct actor *actor); /* innermost open span */
void actor_advance(struct sim *sim, struct actor *actor, int64_t ns, uint16_t name);
void actor_work(struct sim *sim, struct actor *actor, int64_t ns, uint16_t name); /* useful time */
uint32_t actor_number(const struct sim *sim, const struct actor *actor);
void actor_go_on(struct sim *sim, struct actor *actor);   /* the operation is over at actor->now */
void actor_open(struct sim *sim, struct actor *actor, uint16_t name);
struct open_span actor_close(struct actor *actor);
struct moment node_add(struct sim *sim, uint32_t lane, const struct pick *pick, uint16_t name);
void pick_offer(struct sim *sim, struct pick *pick, struct moment cause, int64_t lag_ns, uint8_t rule);
/* `lane` waited `ns`, though no longer than its call was, for what `cause` stands for; NULL: for nobody. */
void wait_note(struct sim *sim, enum pattern pattern, uint32_t lane, const struct moment *cause, int64_t ns, int64_t limit_ns);
struct wait_sum *wait_sum(const struct sim *sim, enum pattern pattern, uint32_t lane, uint32_t cause_lane);

/* emit.c */
void emit_start(struct sim *sim);
void emit_end(struct sim *sim, struct trace **ret_trace);
uint32_t token_new(struct sim *sim);

/* split.c: a trace of each rank, its number in place of "%r". */
void split_write(const struct trace *whole, const char *pattern);
struct emitted {
    uint32_t lane, token, parent;
    int64_t begin_ns, end_ns;
    uint16_t name;
    uint8_t kind, category;
    uint64_t correlation;
};
void emit_span(struct sim *sim, const struct emitted *emitted, const struct payload *payload);
void emit_call(struct sim *sim, const struct actor *actor, int64_t begin_ns, uint32_t token, uint16_t name, uint8_t kind, uint8_t category,
               const struct payload *payload); /* ends now */
void emit_link(struct sim *sim, uint8_t kind, uint32_t from, uint32_t to);
uint32_t emit_group(struct sim *sim, uint8_t kind, uint16_t name, uint64_t sequence);
void emit_member(struct sim *sim, uint32_t group, uint32_t token, int32_t rank);
void put_number(struct payload *payload, unsigned position, uint64_t value);
void put_signed(struct payload *payload, unsigned position, int64_t value);
void put_text(struct sim *sim, struct payload *payload, unsigned position, const char *text);

/* mpi.c, collectives.c */
void mpi_send(struct sim *sim, struct actor *actor, const struct op *op);
void mpi_receive(struct sim *sim, struct actor *actor, const struct op *op);
void mpi_sendrecv(struct sim *sim, struct actor *actor, const struct op *op);
void mpi_wait(struct sim *sim, struct actor *actor, const struct op *op);
void mpi_arrive(struct sim *sim, uint32_t message);
void collective_enter(struct sim *sim, struct actor *actor, const struct op *op);
uint64_t comm_world(const struct sim *sim);

/* openmp.c, tasks.c */
void region_begin(struct sim *sim, struct actor *actor, const struct op *op);
void region_end(struct sim *sim, struct actor *actor, const struct op *op);
void region_part(struct sim *sim, struct actor *actor, const struct op *op);
void team_loop(struct sim *sim, struct actor *actor, const struct op *op);
void team_barrier_enter(struct sim *sim, struct actor *actor, const struct op *op);
void team_barrier_check(struct sim *sim, const struct actor *actor); /* the one that this actor is in */
void lock_ask(struct sim *sim, struct actor *actor, const struct op *op);
void lock_give(struct sim *sim, struct actor *actor, const struct op *op);
void single_begin(struct sim *sim, struct actor *actor);
void single_end(struct sim *sim, struct actor *actor);
void task_make(struct sim *sim, struct actor *actor, const struct op *op);
void task_wait(struct sim *sim, struct actor *actor);
void task_take(struct sim *sim, struct actor *actor); /* an actor in a barrier or taskwait is free: it takes a task, if there is one */
void region_number(const struct sim *sim, uint32_t region, struct payload *payload, unsigned position);
void task_end(struct sim *sim, struct actor *actor); /* what the actor runs has come to its end */

/* device.c */
void device_launch(struct sim *sim, struct actor *actor, const struct op *op);
void device_copy(struct sim *sim, struct actor *actor, const struct op *op);
void device_record(struct sim *sim, struct actor *actor, const struct op *op);
void device_stream_wait(struct sim *sim, struct actor *actor, const struct op *op);
void device_sync(struct sim *sim, struct actor *actor, const struct op *op);

/* world.c, programs.c, constructed.c: the actors' lists */
void op_add(struct sim *sim, uint32_t actor, struct op op);
void op_compute(struct sim *sim, uint32_t actor, uint16_t name, int64_t ns);
void world_make(struct sim *sim, uint32_t ranks, uint32_t threads, uint32_t streams);
void world_begin(struct sim *sim); /* each rank's first operations */
void world_end(struct sim *sim);
uint32_t world_threads(const struct sim *sim); /* of a rank */
uint32_t random_below(struct sim *sim, uint32_t limit);
int64_t random_ns(struct sim *sim, int64_t least, int64_t most);
void collective_add(struct sim *sim, enum collective_kind kind, int32_t root, uint64_t bytes);
uint32_t region_add(struct sim *sim, uint32_t rank);
void region_close(struct sim *sim, uint32_t region);
void team_barrier_add(struct sim *sim, uint32_t region, uint16_t name, bool final);
uint32_t event_add(struct sim *sim);
uint32_t lock_add(struct sim *sim, uint16_t name, bool critical);
uint32_t task_add(struct sim *sim, uint16_t name, int64_t ns);
void program_make(struct sim *sim);        /* fails for an unknown kind */
bool program_constructed(struct sim *sim); /* false: not one of those */
void program_kinds(FILE *file);

/* truth.c, check.c */
void truth_write(struct sim *sim, FILE *file);
void check_by_enumeration(const struct sim *sim);

#endif
