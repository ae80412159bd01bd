/* SPDX-License-Identifier: MIT */
/* Names for module addresses: functions, inlined frames, files and lines. One address is resolved once. */
#ifndef HP_SYMBOL_SYMBOLIZER_H
#define HP_SYMBOL_SYMBOLIZER_H

#include "address_map.h"
#include "base/string_table.h"

struct symbolizer;
struct thread_pool;
struct progress;

struct symbolizer_options {
    bool no_inlines;
    bool no_kernel;                 /* another boot was recorded: the kernel's functions lie elsewhere now */
    bool no_debuginfod;             /* debuginfod is asked only when DEBUGINFOD_URLS is set, and never during a run */
    unsigned debuginfod_timeout_ms; /* per module; 0 = 5000 */
    const char *debug_directories;  /* ':'-separated; NULL = /usr/lib/debug */
    struct string_table *strings;   /* where names go; outlives the symbolizer */
    const struct log *log;
};
int symbolizer_create(const struct symbolizer_options *options, struct symbolizer **ret_symbolizer, struct error *err);
void symbolizer_destroy(struct symbolizer *symbolizer);
DEFINE_CLEANUP(struct symbolizer *, symbolizer_destroy)

struct symbol_frame {
    string_id function;   /* demangled; "module+0xoffset" without a symbol: of its function's beginning where unwind
                             information bounds it, so that a stripped function has one name, else of the address */
    string_id file;       /* STRING_NONE unknown */
    uint32_t line;        /* 0 unknown */
    bool inlined;         /* into the frame that follows in the array */
    bool known;           /* false: function is "module+0xoffset" */
    uint64_t named_after; /* that offset, for those who know the module by another name */
};
/* Innermost first: inlined frames, then the function that holds the address. At least one. time_ns picks among JIT code
 * that came and went at one address. pid is for perf-PID.map and jitdump. */
size_t symbolizer_resolve(struct symbolizer *symbolizer, struct module *module, uint64_t address, pid_t pid, int64_t time_ns,
                          struct symbol_frame *frames, size_t capacity);
/* Why a module has no names ("stripped", "file is gone", ...), NULL if it has; for the summary and doctor. */
const char *symbolizer_module_problem(struct symbolizer *symbolizer, struct module *module);

#endif
