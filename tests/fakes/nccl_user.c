/* SPDX-License-Identifier: MIT */
/* A user of NCCL, linked with it: two ranks of this process do known things. A program by itself, or a library for one. */
#include <stddef.h>
#include <stdio.h>

struct unique_id {
    char bytes[128];
};
typedef struct communicator *communicator;
extern int ncclGetUniqueId(struct unique_id *);
extern int ncclCommInitRank(communicator *, int, struct unique_id, int);
extern int ncclCommSplit(communicator, int, int, communicator *, void *);
extern int ncclCommDestroy(communicator);
extern int ncclAllReduce(const void *, void *, size_t, int, int, communicator, void *);
extern int ncclBcast(void *, size_t, int, int, communicator, void *);
extern int ncclSend(const void *, size_t, int, int, communicator, void *);
extern int ncclRecv(void *, size_t, int, int, communicator, void *);
extern int ncclGroupStart(void);
extern int ncclGroupEnd(void);

enum { RANKS = 2, ROUNDS = 5, FLOAT = 7 };
static float data[2][1024];

int nccl_user_run(void);
int nccl_user_run(void)
{
    struct unique_id id;
    communicator comms[RANKS], halves[RANKS];
    int failed = ncclGetUniqueId(&id);
    for (int rank = 0; rank < RANKS; rank++) {
        failed |= ncclCommInitRank(&comms[rank], RANKS, id, rank);
        failed |= ncclCommSplit(comms[rank], 1, rank, &halves[rank], NULL);
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int rank = 0; rank < RANKS; rank++)
            failed |= ncclAllReduce(data[0], data[1], 1024, FLOAT, 0, comms[rank], NULL);
    failed |= ncclGroupStart();
    for (int rank = 0; rank < RANKS; rank++) {
        failed |= ncclSend(data[0], 512, FLOAT, 1 - rank, comms[rank], NULL);
        failed |= ncclRecv(data[1], 512, FLOAT, 1 - rank, comms[rank], NULL);
    }
    failed |= ncclGroupEnd();
    for (int rank = 0; rank < RANKS; rank++)
        failed |= ncclBcast(data[0], 256, FLOAT, 1, halves[rank], NULL);
    for (int rank = 0; rank < RANKS; rank++)
        failed |= ncclCommDestroy(halves[rank]) | ncclCommDestroy(comms[rank]);
    puts(failed ? "failed" : "fine");
    return failed;
}

#ifdef NCCL_USER_MAIN
int main(void)
{
    return nccl_user_run();
}
#endif
