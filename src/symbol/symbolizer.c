/* SPDX-License-Identifier: MIT */
/* Resolves module addresses: each module's sources are opened on its first address, each function is demangled once. */
#include "symbolizer.h"

#include "base/array.h"
#include "base/error.h"
#include "base/log.h"
#include "base/map.h"
#include "base/text.h"
#include "debug_files.h"
#include "kernel_names.h"
#include "module.h"
#include "symbol_source.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct symbolizer {
    struct symbolizer_options options;
    char *debug_directories;
    struct debug_server server;
    struct symbol_source **sources; /* by module index; NULL: not asked yet */
    size_t source_count, source_capacity;
    struct kernel_names *kernel;
};

int symbolizer_create(const struct symbolizer_options *options, struct symbolizer **ret_symbolizer, struct error *err)
{
    CLEANUP(symbolizer_destroyp) struct symbolizer *symbolizer = calloc(1, sizeof *symbolizer);
    if (!symbolizer)
        return error_set(err, -ENOMEM, "symbolizer: out of memory");
    symbolizer->options = *options;
    symbolizer->server = (struct debug_server){.timeout_ms = options->debuginfod_timeout_ms, .log = options->log};
    symbolizer->kernel = kernel_names_create();
    if (!symbolizer->kernel)
        return error_set(err, -ENOMEM, "symbolizer: out of memory");
    if (options->debug_directories) {
        symbolizer->debug_directories = strdup(options->debug_directories);
        if (!symbolizer->debug_directories)
            return error_set(err, -ENOMEM, "symbolizer: out of memory");
        symbolizer->options.debug_directories = symbolizer->debug_directories;
    }
    *ret_symbolizer = TAKE_PTR(symbolizer);
    return 0;
}

void symbolizer_destroy(struct symbolizer *symbolizer)
{
    if (!symbolizer)
        return;
    for (size_t i = 0; i < symbolizer->source_count; i++)
        symbol_source_destroy(symbolizer->sources[i]);
    free(symbolizer->sources);
    free(symbolizer->debug_directories);
    kernel_names_destroy(symbolizer->kernel);
    free(symbolizer);
}

static struct symbol_source *source_of(struct symbolizer *symbolizer, struct module *module)
{
    size_t index = module_index(module);
    if (index >= symbolizer->source_count) {
        struct symbol_source **moved =
            array_reserve(symbolizer->sources, &symbolizer->source_capacity, index + 1, sizeof(*moved));
        if (!moved)
            return NULL;
        symbolizer->sources = moved;
        while (symbolizer->source_count <= index)
            symbolizer->sources[symbolizer->source_count++] = NULL;
    }
    if (!symbolizer->sources[index])
        (void)symbol_source_open(module, &symbolizer->options, symbolizer->options.no_debuginfod ? NULL : &symbolizer->server,
                                 &symbolizer->sources[index]);
    return symbolizer->sources[index];
}

static string_id intern(struct symbolizer *symbolizer, const char *text)
{
    string_id id = STRING_NONE;
    (void)string_table_intern_text(symbolizer->options.strings, text, &id);
    return id;
}

static void unknown_frame(struct symbolizer *symbolizer, const struct module *module, uint64_t address,
                          struct symbol_frame *frame)
{
    struct text name = TEXT_INIT;
    const char *path = module ? module_path(module) : "[unknown]", *base = strrchr(path, '/');
    text_addf(&name, "%s+0x%" PRIx64, base && base[1] ? base + 1 : path, address);
    *frame = (struct symbol_frame){.function = intern(symbolizer, name.data), .named_after = address};
    text_finish(&name);
}

static size_t resolve_kernel(struct symbolizer *symbolizer, struct module *module, uint64_t address, struct symbol_frame *frame)
{
    const char *owner = "", *name = symbolizer->options.no_kernel ? NULL : kernel_names_find(symbolizer->kernel, address, &owner);
    if (!name) {
        unknown_frame(symbolizer, module, address, frame);
        return 1;
    }
    struct text text = TEXT_INIT;
    text_add_string(&text, name);
    if (owner[0])
        text_addf(&text, " [%s]", owner);
    *frame = (struct symbol_frame){.function = intern(symbolizer, text.data), .known = true};
    text_finish(&text);
    return 1;
}

size_t symbolizer_resolve(struct symbolizer *symbolizer, struct module *module, uint64_t address, pid_t pid, int64_t time_ns,
                          struct symbol_frame *frames, size_t capacity)
{
    if (capacity == 0)
        return 0;
    if (module && module_kind_of(module) == MODULE_KIND_KERNEL)
        return resolve_kernel(symbolizer, module, address, frames);
    struct symbol_source *source = module ? source_of(symbolizer, module) : NULL;
    size_t count = source ? symbol_source_resolve(source, address, pid, time_ns, frames, capacity) : 0;
    if (count == 0) {
        uint64_t start;
        bool bounded = source && symbol_source_function_start(source, address, &start);
        unknown_frame(symbolizer, module, bounded ? start : address, frames);
        count = 1;
    }
    return count;
}

const char *symbolizer_module_problem(struct symbolizer *symbolizer, struct module *module)
{
    if (module_kind_of(module) == MODULE_KIND_KERNEL) {
        if (symbolizer->options.no_kernel)
            return "the kernel that was recorded is not the one that runs";
        int problem = kernel_names_problem(symbolizer->kernel);
        if (problem == -EACCES)
            return "kernel addresses are hidden (kernel.kptr_restrict)";
        return problem < 0 ? "/proc/kallsyms cannot be read" : NULL;
    }
    struct symbol_source *source = source_of(symbolizer, module);
    return source ? symbol_source_problem(source) : "out of memory";
}
