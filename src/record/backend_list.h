/* SPDX-License-Identifier: MIT */
/* The backends a run asks for, and what they put into the target's environment. */
#ifndef HP_RECORD_BACKEND_LIST_H
#define HP_RECORD_BACKEND_LIST_H

#include "record.h"
#include "session.h"

/* Whether a comma-separated list has this backend, by name or alias; "auto" (and NULL) has all. */
bool backend_list_has(const char *list, const char *name);
/* The environment for the target `program`; *ret_environment stays NULL when it needs none of its own (cpu by kernel events alone). */
int backend_environment(const struct session *session, const struct record_options *options, const char *program, bool timers,
                        char ***ret_environment, struct error *err);

#endif
