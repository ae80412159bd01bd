/* SPDX-License-Identifier: MIT */
/* Every backend of the program: is its collector here, is the runtime it looks into on this machine, and in which
 * version. */
#ifndef HP_SYSTEM_BACKENDS_H
#define HP_SYSTEM_BACKENDS_H

#include "base/arena.h"
#include "machine.h"

struct error;

struct backend_info {
    const char *name, *alias; /* alias "" = none */
    const char *traces;       /* what it shows, in a few words */
    const char *collector;    /* library beside the program; NULL = needs none */
};
/* All of them, in the order of documentation; NULL-terminated by name. */
extern const struct backend_info backend_infos[];
const struct backend_info *backend_find(const char *name_or_alias);

struct backend_way {
    const char *name; /* "cycles", "cpu-clock", "timers" */
    bool works;
    const char *reason; /* why not; "" when it works */
};

struct backend_runtime {
    const char *version, *where;
};

struct backend_status {
    const struct backend_info *info;
    bool built; /* its collector is here */
    bool available;
    const char *version; /* of what was found: "Linux 6.1.0", "CUDA driver 12.4"; "" when nothing was */
    const char *where;   /* path of what was found; "" */
    const char *reason;  /* why not available; "" */
    const char *remedy;  /* what to install or set; "" */
    struct backend_way ways[3];
    size_t way_count;
    struct backend_runtime others[4]; /* of one kind several may be there: programs pick */
    size_t other_count;
};

struct backend_list {
    struct backend_status *items;
    size_t count;
    struct arena arena;
};

/* Libraries are opened in a child process, so that one that crashes or hangs does us no harm. */
int backends_detect(const struct machine *machine, struct backend_list *ret_list);
int backends_detect_here(struct backend_list *ret_list, struct error *err); /* on this machine, which is looked at first */
void backend_list_finish(struct backend_list *list);

#endif
