/* SPDX-License-Identifier: MIT */
/*
 * Draining: what the targets have finished goes from their chunks into the spool, and the chunks go back to them. Belongs to
 * one thread at a time.
 */
#ifndef HP_RECORD_DRAIN_H
#define HP_RECORD_DRAIN_H

#include "base/cleanup.h"
#include "spool.h"
#include "wire/session.h"

struct drain;
struct error;

/* session: the mapped session file; both it and directory_fd outlive the drain. */
int drain_create(int directory_fd, struct wire_session *session, struct spool *spool, struct drain **ret_drain, struct error *err);
void drain_destroy(struct drain *drain);
DEFINE_CLEANUP(struct drain *, drain_destroy)

enum drain_how {
    DRAIN_FULL,  /* only chunks whose writer is through with them */
    DRAIN_FINAL, /* also what is published in the others, after looking anew who is alive; files of the dead are removed */
};
/* One round. Returns the bytes of records packed, or -errno of a failing spool. */
int64_t drain_round(struct drain *drain, enum drain_how how);
/* Pids, in our namespace, of targets that are not known to be dead, up to `room` of them. Returns how many there are. */
size_t drain_pids(const struct drain *drain, int32_t *pids, size_t room);

#endif
