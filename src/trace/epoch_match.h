/* SPDX-License-Identifier: MIT */
/*
 * Post, start, complete, wait: a window's synchronisation between groups. Who starts waits for the posts of those it names, who
 * waits (or tests) for the completes of those it had posted for. The nth post of a target that names an origin belongs to the
 * nth start of that origin that names the target.
 */
#ifndef HP_TRACE_EPOCH_MATCH_H
#define HP_TRACE_EPOCH_MATCH_H

#include "trace.h"

enum epoch_role { EPOCH_NONE, EPOCH_POST, EPOCH_START, EPOCH_COMPLETE, EPOCH_WAIT, EPOCH_TEST };
enum epoch_role epoch_role_of(const char *name); /* of an MPI call */

struct epoch_call {
    uint64_t window;
    int64_t begin_ns;
    uint32_t process, span; /* the caller's numbers */
    int32_t rank, size;     /* of the process, and of its MPI_COMM_WORLD */
    enum epoch_role role;
    const char *group;      /* of a post or start: world ranks, "3,5-9"; lives until the run */
};

struct epoch_match;
struct epoch_match *epoch_match_create(void); /* NULL: out of memory */
void epoch_match_destroy(struct epoch_match *match);
DEFINE_CLEANUP(struct epoch_match *, epoch_match_destroy)
int epoch_match_add(struct epoch_match *match, const struct epoch_call *call); /* 0 or -ENOMEM */

/* Calls `found` with the post and the start, and with the complete and the wait, of each pair. Where one side has more calls than the other
 * something was not recorded, and the pairing is no identity: HIGH, else CERTAIN. Seen and linked: how many pairs there are. */
int epoch_match_run(struct epoch_match *match, int (*found)(void *context, uint32_t from, uint32_t to, enum confidence confidence),
                    void *context, uint64_t *ret_seen, uint64_t *ret_linked);

#endif
