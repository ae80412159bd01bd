/* SPDX-License-Identifier: MIT */
/*
 * A chunk: one mapped file, one writer (a context of a thread), one reader (the recorder).
 *
 *   0    line of the owner        written while FREE or by the thread that holds it
 *   64   line of the writer       state, lap, commit
 *   128  line of the recorder     what has been packed
 *   192  records
 *
 * Life: FREE -> ACTIVE (a writer takes it: lap + 1, commit 0) -> FULL or ENDED (the writer is through with it) -> FREE (the
 * recorder has packed [0, commit) into the spool). `commit` is stored with release after the record that it covers: what
 * lies below it is whole whatever dies. A recorder that died between packing and FREE leaves a lap that is in the spool
 * and here: the spool's block names chunk, lap and range, so that the merge takes it once.
 */
#ifndef HP_WIRE_BUFFER_H
#define HP_WIRE_BUFFER_H

#include "session.h"

enum wire_chunk_state { WIRE_CHUNK_FREE = 0, WIRE_CHUNK_ACTIVE = 1, WIRE_CHUNK_FULL = 2, WIRE_CHUNK_ENDED = 3 };

#define WIRE_CONTEXTS 3 /* of a thread: 0 = normal, 1 and 2 = signal handlers that interrupted the writing of a record */

struct wire_chunk {
    uint64_t magic;
    uint16_t major, minor;
    uint32_t byte_order;
    uint32_t size_bytes;    /* of the file, this header included */
    uint32_t number;        /* of the chunk in its process */
    uint64_t process_key;
    int32_t pid;            /* as the process sees itself */
    int32_t tid;            /* of the present owner */
    uint32_t thread_serial; /* counts the threads of the process: tids are reused */
    uint8_t context;
    uint8_t abandoned;      /* 1: no writer will come back: the file can go once it is packed */
    uint8_t reserved[2];
    uint64_t reserved2[2];

    uint32_t state;         /* enum wire_chunk_state */
    uint32_t lap;
    uint64_t commit;        /* bytes of records that are whole */
    uint64_t reserved3[6];

    uint64_t packed;        /* bytes of this lap that are in the spool already */
    uint64_t reserved4[7];
};

#define WIRE_CHUNK_DATA 192u
_Static_assert(sizeof(struct wire_chunk) == WIRE_CHUNK_DATA, "a chunk's header has three cache lines");

static inline uint8_t *wire_chunk_data(struct wire_chunk *chunk)
{
    return (uint8_t *)chunk + WIRE_CHUNK_DATA;
}

static inline uint64_t wire_chunk_capacity(const struct wire_chunk *chunk)
{
    return chunk->size_bytes - WIRE_CHUNK_DATA;
}

#endif
