/* SPDX-License-Identifier: MIT */
/* Inside the runtime: the state of the process, of its threads, and who does what. Only libhprofiler_runtime.so's files. */
#ifndef HP_RUNTIME_RUNTIME_H
#define HP_RUNTIME_RUNTIME_H

#include "../collector.h"
#include "sys.h"
#include "wire/buffer.h"
#include "wire/clock.h"
#include "wire/open_calls.h"

#define RT_PATH_MAX 4096
#define RT_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define RT_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define RT_COLD __attribute__((noinline, cold))
#define RT_BARRIER() __asm__ volatile("" ::: "memory") /* against the compiler: signal handlers run on the same thread */

#define rt_load(pointer) __atomic_load_n((pointer), __ATOMIC_ACQUIRE)
#define rt_store(pointer, value) __atomic_store_n((pointer), (value), __ATOMIC_RELEASE)
#define rt_add(pointer, value) __atomic_fetch_add((pointer), (value), __ATOMIC_ACQ_REL)

#define RT_THREAD_CHUNKS 64 /* a context's own chunks */
#define RT_MAGIC 0x68707274u

/* One context's place to write. cursor and limit are 0 until it has a chunk, and again after fork; limit stays 0 where chunks are
 * written by pwrite, so that the fast path leaves them alone. */
struct rt_context {
    uint8_t *cursor, *limit, *base;
    uint64_t *commit;
    uint8_t *end;
    struct wire_chunk *chunk;      /* the one being written */
    uint64_t retry_at;             /* clock: no try to get a chunk before this */
    uint64_t held_bytes;
    uint32_t chunk_count;
    uint32_t next_bytes;           /* size of the next new chunk */
    uint32_t lost_reason;
    uint32_t started;              /* THREAD_START was written */
    struct wire_chunk *chunks[RT_THREAD_CHUNKS];
};

/* Lives in memory that the kernel zeroes in a child of fork: whatever made the child, it finds magic and limits 0. */
struct rt_thread {
    uint32_t magic;
    uint32_t busy;                 /* contexts in use: > 0 while a record is being written */
    struct wire_open_thread open;  /* the calls it is in; frame: who entered the layer */
    uint32_t used;                 /* slot is taken */
    int32_t tid;
    uint32_t serial;
    uint32_t ending;
    uint64_t cpu_ns;               /* sampler: thread CPU time at the last sample */
    int32_t timer;                 /* sampler: kernel timer id; -1 = none */
    uint32_t samples;              /* sampler: taken in this thread */
    uintptr_t unwinding;           /* stack: where on the stack it is being taken; 0 = not */
    uintptr_t stack_start, stack_end; /* stack: the mapping that it lies in; 0 = unknown */
    uint32_t stack_looks;
    char name[16];                 /* sampler: as last written */
    uint32_t lost;
    struct rt_context contexts[WIRE_CONTEXTS];
};

enum rt_state { RT_OFF = 0, RT_SESSION = 1, RT_STARTING = 2, RT_READY = 3 }; /* SESSION: known, nothing made yet */

struct rt {
    uint32_t state;                /* enum rt_state, atomic */
    uint32_t ticks;                /* 1: records hold the tick counter */
    uint32_t no_new_files;         /* seccomp is on: stay in what is there. 2: strict, no system call at all */
    uint32_t no_shared_map;        /* 1: MAP_SHARED fails here: pwrite */
    uint32_t wipes;                /* MADV_WIPEONFORK works */
    uint32_t key_made;
    uint32_t key;                  /* pthread key: ends threads */
    uint32_t thread_serial;
    uint32_t chunk_number;
    uint32_t object_number;
    uint32_t sampling;             /* enum wire_sampling */
    struct wire_session *session;
    struct wire_process *process;  /* with its log behind it; NULL until the process' file is made */
    uint64_t log_capacity;         /* bytes of the log's mapping */
    uint64_t key64;                /* wire_process.key */
    uint64_t correlation;
    uint64_t calibrated_at;        /* clock */
    uint64_t ticks_per_ms;         /* rough: for intervals only */
    int32_t pid;
    uint32_t *canary;              /* wiped by fork: 0 in a child */
    char directory[RT_PATH_MAX - 128];
};
extern struct rt rt;
#define RT_TLS __attribute__((tls_model("initial-exec")))
extern __thread struct rt_thread *rt_self RT_TLS;
extern __thread uintptr_t rt_stack_top RT_TLS, rt_stack_bytes RT_TLS; /* of this thread; 0 = unknown */

/* clock.c */
uint64_t rt_raw_ns(void);
void rt_clock_choose(const struct wire_session *session);
void rt_calibrate(void);                          /* one more pair into the process log, if the last is old */
static inline uint64_t rt_clock(void)
{
    return RT_LIKELY(rt.ticks) ? wire_ticks() : rt_raw_ns();
}

/* start.c */
bool rt_ready(void);                              /* makes the process' file if need be; also in a child of fork */
void rt_forked(void);                             /* in the child: forget what is the parent's */
void rt_lost(uint32_t reason, uint64_t count);

/* file.c: all results are 0 or a lost reason + 1 */
struct rt_file {
    void *map;                                    /* MAP_SHARED, or private memory with pwrite */
    uint64_t mapped_bytes;
    bool by_pwrite;
};
int rt_file_create(const char *name, uint64_t file_bytes, uint64_t map_bytes, bool populate, struct rt_file *ret_file);
int rt_file_grow(const char *name, void *map, uint64_t file_bytes);
int rt_file_write(const char *name, const void *data, uint64_t size, uint64_t offset);
long rt_open_directory(void);
void rt_name_process(char *name);                 /* 64 bytes are enough for all four */
void rt_name_chunk(char *name, uint32_t number);
void rt_name_object(char *name, uint32_t number);
void rt_name_note(char *name);

/* log.c */
const struct wire_header *rt_log_at(uint32_t place); /* place: offset / 8 */
uint32_t rt_log_append(const struct wire_header *header, const void *tail, uint32_t tail_bytes, uint32_t *ret_offset); /* 0 or reason + 1 */
void rt_log_forget(void);                         /* strings too: after fork */
void rt_log_info(uint32_t topic, const char *text);

/* table.c: contents of the log, each written once */
#define RT_TABLE_LEVELS 8
struct rt_table {
    uint64_t *levels[RT_TABLE_LEVELS];
};
struct rt_key {
    uint64_t hash;
    const void *data;
    size_t bytes;
    uint32_t (*write)(const struct rt_key *key);                               /* into the log: its place there, 0 = no room */
    bool (*same)(const struct rt_key *key, const struct wire_header *record);
};
uint32_t rt_table_find(struct rt_table *table, const struct rt_key *key);      /* its place in the log; 0 = no room */
void rt_table_forget(struct rt_table *table);

/* code.c */
void rt_code_list(void);                          /* what is mapped executable and not yet in the log */
uint64_t rt_code_listed_at(void);                 /* clock; 0 = never */
void rt_code_forget(void);
bool rt_mapping_find(uintptr_t address, uintptr_t *ret_start, uintptr_t *ret_end);

/* stack.c */
void rt_stacks_start(void);
void rt_stacks_forget(void);

/* thread.c */
struct rt_thread *rt_thread_get(void);            /* the calling thread's, made if need be; NULL when nothing is recorded */
void rt_thread_end(void *thread);
void rt_threads_forget(void);
struct wire_open_place rt_threads_place(void);

/* chunk.c: a place for `bytes` more in the context: true, or false and the loss is counted */
bool rt_context_refill(struct rt_thread *thread, unsigned index, uint32_t bytes);
void rt_context_end(struct rt_thread *thread, unsigned index);
void rt_chunks_forget(void);
void rt_chunk_flush(struct rt_context *context, uint64_t from, uint64_t to); /* pwrite mode */

/* writer.c */
uint8_t *rt_reserve(struct rt_thread *thread, uint32_t bytes, unsigned *ret_index);
void rt_publish(struct rt_thread *thread, unsigned index, uint32_t bytes);

/* sampler.c */
void rt_sampler_start(void);
void rt_sampler_thread(struct rt_thread *thread);
void rt_sampler_thread_end(struct rt_thread *thread);

/* interpose.c */
void rt_interpose_start(void);
void rt_interpose_session(void);                  /* once a session is there: fork handlers, the key that ends threads */

/* text.c */
char *rt_put_text(char *out, const char *text);
char *rt_put_number(char *out, uint64_t number);
char *rt_put_hex(char *out, uint64_t number);     /* 16 digits */
size_t rt_length(const char *text);

#endif
