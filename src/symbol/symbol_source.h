/* SPDX-License-Identifier: MIT */
/* Everything that knows names for one module: symbol tables, debug info, JIT maps. Single-threaded. For src/symbol only. */
#ifndef HP_SYMBOL_SYMBOL_SOURCE_H
#define HP_SYMBOL_SYMBOL_SOURCE_H

#include "symbolizer.h"

struct debug_server;
struct symbol_source;

/* options must outlive the source. server NULL: none is asked. */
int symbol_source_open(struct module *module, const struct symbolizer_options *options, struct debug_server *server,
                       struct symbol_source **ret_source);
void symbol_source_destroy(struct symbol_source *source);
/* As symbolizer_resolve, but 0 when nothing is known. */
size_t symbol_source_resolve(struct symbol_source *source, uint64_t address, pid_t pid, int64_t time_ns,
                             struct symbol_frame *frames, size_t capacity);
/* Where the function begins that holds an address without a symbol, as the module's unwind information tells. */
bool symbol_source_function_start(struct symbol_source *source, uint64_t address, uint64_t *ret_start);
const char *symbol_source_problem(const struct symbol_source *source);

#endif
