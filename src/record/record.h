/* SPDX-License-Identifier: MIT */
/* One recording, start to finish: set up the session, start or attach, drain until the end, leave a session directory
 * that `session_merge` turns into a trace (whole or interrupted alike). */
#ifndef HP_RECORD_RECORD_H
#define HP_RECORD_RECORD_H

#include "base/progress.h"
#include "launcher.h"
#include "trace/trace.h"

#include <sys/types.h>

struct error;
struct live;
struct log;

enum callgraph { CALLGRAPH_NONE, CALLGRAPH_FP, CALLGRAPH_DWARF, CALLGRAPH_LBR };

struct record_options {
    const char *backends;        /* "auto" or names separated by commas; NULL = auto */
    unsigned frequency_hz;       /* 0 = no sampling */
    enum callgraph callgraph;
    size_t stack_copy_bytes;     /* CALLGRAPH_DWARF */
    bool call_tree;              /* a stack with every call that backends trace */
    bool gpu_pc_sampling, gpu_pc_serialized;
    bool whole_graphs;           /* one span for a launch of a CUDA graph instead of one for each node */
    const char *openmp_runtime;  /* a library to stand for the program's own; NULL = none */
    bool keep_code;              /* for disassembly: collectors keep the code that devices run */
    uint64_t buffer_limit_bytes; /* 0 = keep everything */
    uint64_t delay_ns, duration_ns; /* duration 0 = until the target ends */
    const char *session_parent;  /* --session-dir; NULL = $TMPDIR or /tmp */
    const char *runtime_directory; /* where libhprofiler_*.so are; NULL = found relative to the program */
    const struct launcher_rank *launcher; /* that started us as one of its ranks; NULL = none */
    struct live *live;           /* record_run: who watches meanwhile, and the terminal that the target gets; NULL = nobody, and ours */
    const struct log *log;
};

struct record_result {
    char session_directory[4096];
    int wait_status;      /* of the target, as waitpid gives it; -1 when attached */
    int exec_errno;       /* != 0: the target could not be run; no session is left */
    bool interrupted;     /* ended by a signal to us */
};

/* Runs argv (NULL-terminated, found by PATH) as the target. Signals that reach us are handled so that a terminal's Ctrl-C
 * reaches the target once. Returns 0 also when the target fails; -errno when the profiler itself fails. */
int record_run(const struct record_options *options, char *const argv[], struct record_result *ret_result, struct error *err);
int record_attach(const struct record_options *options, pid_t pid, struct record_result *ret_result, struct error *err);

struct merge_options {
    bool keep_session;   /* do not remove the directory afterwards */
    bool no_symbols;     /* addresses only: fast */
    const struct progress *progress;
    const struct log *log;
};
/* Turns a session directory into a finished trace; what is damaged is left out and stands in the ledger. */
int session_merge(const char *session_directory, const struct merge_options *options, struct trace **ret_trace, struct error *err);
int session_remove(const char *session_directory, struct error *err);

struct session_info {
    char path[4096];
    char command[256];
    int64_t start_realtime_ns;
    uint64_t size_bytes;
    bool live;           /* its recorder or a target still runs */
};
/* What interrupted runs left in session_parent (NULL = the default places). Caller frees *ret_sessions. */
int session_list(const char *session_parent, struct session_info **ret_sessions, size_t *ret_count, struct error *err);

#endif
