/* SPDX-License-Identifier: MIT */
/* What the kernel lets this process do, and the kernel settings that bound profiling. */
#ifndef HP_SYSTEM_PRIVILEGES_H
#define HP_SYSTEM_PRIVILEGES_H

#include "proc_file.h"

#include <stdint.h>

struct privileges {
    bool known;
    uint64_t effective;          /* capabilities */
    bool initial_user_namespace; /* elsewhere capabilities don't count for perf events */
    bool no_new_privileges;
    int seccomp_mode; /* 0 off, 1 strict, 2 filter; -1 unknown */
    unsigned
        pid_namespace_depth; /* 1 = the initial one (or a container's own, which can't be told apart from inside) */
    uint32_t user;
};

/* The capability counts: held, and in the user namespace that the kernel asks about. Numbers as in linux/capability.h.
 */
bool privileges_has(const struct privileges *privileges, unsigned capability);

struct kernel_settings {
    bool perf_events; /* the kernel has them at all */
    struct setting paranoid, mlock_kb, max_sample_rate, cpu_time_max_percent, max_stack;
    struct setting kptr_restrict, nmi_watchdog, ptrace_scope;
    bool kernel_symbols_readable; /* /proc/kallsyms shows addresses */
    char lockdown[32];            /* "none", "integrity", "confidentiality", "" unknown */
};

void privileges_read(const char *root, struct privileges *ret_privileges);
void kernel_settings_read(const char *root, struct kernel_settings *ret_settings);

#endif
