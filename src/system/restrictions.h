/* SPDX-License-Identifier: MIT */
/* What this machine keeps from being measured: each restriction with what it costs, who can lift it and how. */
#ifndef HP_SYSTEM_RESTRICTIONS_H
#define HP_SYSTEM_RESTRICTIONS_H

#include "base/arena.h"
#include "machine.h"

enum restriction_state { RESTRICTION_OK, RESTRICTION_LIMITED, RESTRICTION_BLOCKED, RESTRICTION_UNKNOWN };
const char *restriction_state_name(enum restriction_state state);

struct restriction {
    const char *id;    /* stable, for machines */
    const char *title; /* for people */
    enum restriction_state state;
    const char *found;  /* what this machine has */
    const char *cost;   /* what can't be measured because of it; "" for OK */
    const char *who;    /* who can lift it; "" when nothing is to be lifted */
    const char *remedy; /* the exact command, or the setting; "" when there is none */
};

struct restriction_list {
    struct restriction *items;
    size_t count;
    struct arena arena;
};

/* Judges a machine; asks nothing more of the system. Returns 0 or -ENOMEM. */
int restrictions_judge(const struct machine *machine, struct restriction_list *ret_list);
void restriction_list_finish(struct restriction_list *list);

#endif
