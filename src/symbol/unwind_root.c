/* SPDX-License-Identifier: MIT */
/*
 * Roots: functions below which a thread has nothing. Most say so themselves (undefined return address); these are for code
 * without unwind information and for stacks collected by frame pointers.
 */
#include "unwind.h"

#include "base/array.h"
#include "elf_symbols.h"
#include "module.h"

#include <errno.h>
#include <string.h>

#define ENTRY_CODE_BYTES 64 /* _start of every libc is shorter */
#define LABEL_CODE_BYTES 128 /* a root that has no size: clone and _start in assembly */

/* glibc and musl process and thread starts, the dynamic linker's, makecontext's, Boost's fibers, Go's goroutines and threads. */
static const char *const root_names[] = {
    "_start", "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main", "_start_c", "libc_start_main_stage2",
    "start_thread", "clone", "__clone", "clone3", "__clone3", "thread_start", "start", "start_c11", "_dl_start_user",
    "_dl_start", "__start_context", "make_fcontext", "runtime.goexit", "runtime.goexit.abi0", "runtime.mstart",
    "runtime.mstart.abi0", "runtime.rt0_go", "runtime.rt0_go.abi0",
};

/*
 * C libraries are stripped of the static functions that call main and a thread's function. Both lie right in front of an
 * exported one of the same source file: code between that and the exported function before it, if it is short, is theirs.
 */
struct root_anchor {
    const char *name, *witness; /* only where the witness is exported too: interposers export pthread_create as well */
    uint64_t reach;
    uint64_t certain; /* with more code in between, so much of it is the wanted function's still */
};
static const struct root_anchor anchors[] = {
    {"__libc_start_main", "__libc_start_main", 512, 32},       /* glibc's __libc_start_call_main, musl's second half of the start */
    {"pthread_create", "__pthread_unwind_next", 4096, 0},     /* glibc's start_thread */
};
enum { ANCHORS = sizeof anchors / sizeof *anchors };

struct root_scan {
    struct module_roots *roots;
    const struct elf_image *image;
    const char *names;
    size_t names_size;
    uint64_t anchor[ANCHORS], before[ANCHORS]; /* 0 = not there */
    bool witnessed[ANCHORS];
};

static int root_add(struct module_roots *roots, uint64_t start, uint64_t end)
{
    struct module_root *moved = array_reserve(roots->ranges, &roots->capacity, roots->count + 1, sizeof *moved);
    if (!moved)
        return -ENOMEM;
    roots->ranges = moved;
    roots->ranges[roots->count++] = (struct module_root){start, end};
    return 0;
}

bool unwind_is_root_name(const char *name)
{
    for (size_t i = 0; i < sizeof root_names / sizeof *root_names; i++)
        if (strcmp(name, root_names[i]) == 0)
            return true;
    return false;
}

static int scan_symbol(void *context, uint32_t index, const struct elf_symbol *symbol)
{
    struct root_scan *scan = context;
    if (symbol->name >= scan->names_size || !elf_symbol_is_code(scan->image, symbol))
        return 0;
    const char *name = scan->names + symbol->name;
    return !unwind_is_root_name(name) ? 0
           : root_add(scan->roots, symbol->value, symbol->value + (symbol->size ? symbol->size : LABEL_CODE_BYTES));
}

static int find_anchors(void *context, uint32_t index, const struct elf_symbol *symbol)
{
    struct root_scan *scan = context;
    if (symbol->name >= scan->names_size || !elf_symbol_is_code(scan->image, symbol))
        return 0;
    for (size_t i = 0; i < ANCHORS; i++) {
        if (strcmp(scan->names + symbol->name, anchors[i].name) == 0)
            scan->anchor[i] = symbol->value;
        if (strcmp(scan->names + symbol->name, anchors[i].witness) == 0)
            scan->witnessed[i] = true;
    }
    return 0;
}

static int find_before_anchors(void *context, uint32_t index, const struct elf_symbol *symbol)
{
    struct root_scan *scan = context;
    uint64_t end = symbol->value + symbol->size;
    if (!elf_symbol_is_code(scan->image, symbol))
        return 0;
    for (size_t i = 0; i < ANCHORS; i++)
        if (end <= scan->anchor[i] && end > scan->before[i])
            scan->before[i] = end;
    return 0;
}

static int add_anchored(struct root_scan *scan, const struct elf_section *table)
{
    int rc = elf_symbols_visit(scan->image, table, find_anchors, scan);
    if (rc == 0)
        rc = elf_symbols_visit(scan->image, table, find_before_anchors, scan);
    for (size_t i = 0; i < ANCHORS && rc == 0; i++)
        if (scan->witnessed[i] && scan->before[i]) {
            bool is_short = scan->anchor[i] - scan->before[i] < anchors[i].reach;
            rc = root_add(scan->roots, is_short ? scan->before[i] : scan->anchor[i] - anchors[i].certain, scan->anchor[i]);
        }
    return rc;
}

static int scan_table(struct module_roots *roots, const struct elf_image *image, uint32_t type)
{
    const struct elf_section *table = elf_section_of_type(image, type);
    const struct elf_section *names = table ? elf_symbol_names(image, table) : NULL;
    struct elf_data data;
    if (!names || names->size == 0 || elf_section_load(image, names, &data) < 0)
        return 0;
    CLEANUP(freep) uint8_t *owned = data.bytes;
    data.bytes[data.size - 1] = '\0';
    struct root_scan scan = {.roots = roots, .image = image, .names = (const char *)data.bytes, .names_size = data.size};
    int rc = elf_symbols_visit(image, table, scan_symbol, &scan);
    if (rc == 0 && type == SHT_DYNSYM)
        rc = add_anchored(&scan, table);
    return rc;
}

static void roots_find(struct module_roots *roots, const struct elf_image *image)
{
    bool is_program = image->type == ET_EXEC;
    for (size_t i = 0; i < image->segment_count; i++)
        is_program |= image->segments[i].type == PT_INTERP;
    if (image->entry && (is_program || image->type == ET_DYN))
        (void)root_add(roots, image->entry, image->entry + ENTRY_CODE_BYTES);
    if (scan_table(roots, image, SHT_SYMTAB) == 0)
        (void)scan_table(roots, image, SHT_DYNSYM);
}

bool unwind_is_root(struct module *module, uint64_t address)
{
    const struct elf_image *image = module && module->kind == MODULE_KIND_FILE ? module_elf(module) : NULL;
    if (!image)
        return false;
    if (!atomic_load_explicit(&module->roots_ready, memory_order_acquire)) {
        pthread_mutex_lock(&module->lock);
        if (!atomic_load_explicit(&module->roots_ready, memory_order_relaxed)) {
            roots_find(&module->roots, image);
            atomic_store_explicit(&module->roots_ready, true, memory_order_release);
        }
        pthread_mutex_unlock(&module->lock);
    }
    for (size_t i = 0; i < module->roots.count; i++)
        if (address >= module->roots.ranges[i].start && address < module->roots.ranges[i].end)
            return true;
    return false;
}
