/* SPDX-License-Identifier: MIT */
/* All that is known of this machine at one time: what `doctor` and `backends` judge, and what tests make up. */
#ifndef HP_SYSTEM_MACHINE_H
#define HP_SYSTEM_MACHINE_H

#include "host.h"
#include "privileges.h"
#include "sampling_probe.h"
#include "topology.h"

struct session_place {
    char path[4096];
    bool exists, writable, in_memory; /* in_memory: tmpfs or ramfs */
    uint64_t free_bytes;
};

struct machine {
    struct host host;
    struct topology topology;
    struct privileges privileges;
    struct kernel_settings settings;
    struct sampling_probe probe;
    struct session_place session;
    bool time_namespace;      /* our clocks are shifted against the host's */
    char timens_offsets[128]; /* as the kernel shows them */
    char libc_path[4096], libc_build_id[65];
    bool libc_debug_info;
    bool debuginfod_configured; /* DEBUGINFOD_URLS is set */
    struct setting open_files;  /* RLIMIT_NOFILE, soft */
    double cpu_quota;           /* CPUs that the control group grants; 0 = no limit known */
    bool hidden_processes;      /* /proc is mounted with hidepid */
    char program[4096];         /* this program's own path, for commands that name it */
    bool runtime_library;       /* libhprofiler_runtime.so is where collectors are looked for */
};

/* root is "" but in tests; session_parent NULL = $TMPDIR or /tmp. Probes run on the live kernel whatever root says. */
/* True if a library of ours is in one of the places where the recorder looks: ../lib, ../lib/hprofiler, or beside the
 * program. */
bool machine_has_library(const struct machine *machine, const char *library);

void machine_read(const char *root, const char *session_parent, struct machine *ret_machine);

#endif
