/* SPDX-License-Identifier: MIT */
/*
 * Two numberings: that of the recording (MODULE records) and that of the table they are opened in. Files that the recorder
 * copied into the session are opened there, and keep the path that the process knew them by.
 */
#include "merge_modules.h"

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "symbol/symbolizer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES_AT_ONE_ADDRESS = 64, NUMBERS_MAXIMUM = 1 << 20 };

struct noted_module {
    bool known, taken; /* noted; and tried to open */
    struct wire_module record;
    char *path;
    struct module *module;
};

/* By the table's numbers. */
struct opened_module {
    bool added;
    module_id id;
    const char *path;  /* as the process knew it; NULL = the module's own */
    bool deleted;      /* as the recorder saw it */
    struct map frames; /* address -> place in frame_lists */
};

struct merge_modules {
    struct merge *merge;
    struct module_table *table;
    struct symbolizer *symbolizer; /* NULL: no symbols are wanted */
    struct noted_module *noted;
    size_t noted_count, noted_capacity;
    struct opened_module *opened;
    size_t opened_count, opened_capacity;
    uint32_t *frame_lists; /* count, then frame ids, innermost first */
    size_t list_count, list_capacity;
    frame_id unknown, excluded;
};

int merge_modules_create(struct merge *merge, struct merge_modules **ret_modules)
{
    CLEANUP(merge_modules_destroyp) struct merge_modules *modules = calloc(1, sizeof(*modules));
    if (!modules)
        return -ENOMEM;
    modules->merge = merge;
    modules->unknown = modules->excluded = FRAME_NONE;
    int r = module_table_create(&modules->table);
    if (r < 0)
        return r;
    *ret_modules = TAKE_PTR(modules);
    return 0;
}

void merge_modules_destroy(struct merge_modules *modules)
{
    if (!modules)
        return;
    for (size_t i = 0; i < modules->noted_count; i++)
        free(modules->noted[i].path);
    for (size_t i = 0; i < modules->opened_count; i++)
        map_finish(&modules->opened[i].frames);
    symbolizer_destroy(modules->symbolizer);
    module_table_destroy(modules->table);
    free(modules->noted);
    free(modules->opened);
    free(modules->frame_lists);
    free(modules);
}

static struct noted_module *noted_slot(struct merge_modules *modules, uint32_t number)
{
    if (number >= NUMBERS_MAXIMUM)
        return NULL;
    if (number >= modules->noted_count) {
        struct noted_module *grown =
            array_reserve(modules->noted, &modules->noted_capacity, (size_t)number + 1, sizeof(*grown));
        if (!grown)
            return NULL;
        modules->noted = grown;
        memset(grown + modules->noted_count, 0, (number + 1 - modules->noted_count) * sizeof(*grown));
        modules->noted_count = (size_t)number + 1;
    }
    return &modules->noted[number];
}

int merge_modules_note(struct merge_modules *modules, const struct wire_module *record)
{
    size_t room = wire_bytes(&record->header) - sizeof(*record);
    size_t length = record->header.value < room ? record->header.value : room;
    if (record->number >= NUMBERS_MAXIMUM)
        return 0; /* no recorder of ours writes such */
    char *path = strndup((const char *)(record + 1), length);
    struct noted_module *noted = path ? noted_slot(modules, record->number) : NULL;
    if (!noted) {
        free(path);
        return -ENOMEM;
    }
    free(noted->path);
    *noted = (struct noted_module){.known = true, .record = *record, .path = path};
    return 0;
}

static struct opened_module *opened_slot(struct merge_modules *modules, struct module *module)
{
    uint32_t index = module_index(module);
    if (index >= modules->opened_count) {
        struct opened_module *grown =
            array_reserve(modules->opened, &modules->opened_capacity, (size_t)index + 1, sizeof(*grown));
        if (!grown)
            return NULL;
        modules->opened = grown;
        memset(grown + modules->opened_count, 0, (index + 1 - modules->opened_count) * sizeof(*grown));
        modules->opened_count = (size_t)index + 1;
    }
    return &modules->opened[index];
}

static int open_in_session(struct merge_modules *modules, uint32_t number, const char *ending)
{
    char path[4352];
    snprintf(path, sizeof(path), "%s/jit-%u.%s", merge_directory(modules->merge), number, ending);
    return open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static void adopt_jit(struct merge_modules *modules, const struct noted_module *noted)
{
    int map = open_in_session(modules, noted->record.number, "map");
    int dump = open_in_session(modules, noted->record.number, "dump");
    if (map >= 0 || dump >= 0)
        module_jit_adopt(noted->module, map, dump);
}

static int open_noted(struct merge_modules *modules, struct noted_module *noted)
{
    const struct wire_module *record = &noted->record;
    char hex[2 * sizeof(record->build_id) + 1] = "", copy[4352];
    bool copied = record->flags & WIRE_MODULE_COPIED;
    for (size_t i = 0; i < record->build_id_bytes && i < sizeof(record->build_id); i++)
        snprintf(hex + 2 * i, 3, "%02x", record->build_id[i]);
    snprintf(copy, sizeof(copy), "%s/module-%u", merge_directory(modules->merge), record->number);
    int r = module_table_add_recorded(modules->table, (enum module_kind)record->kind, copied ? copy : noted->path, hex,
                                      copied ? 0 : record->device, copied ? 0 : record->inode, copied ? 0 : record->pid,
                                      &noted->module);
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    if (record->kind == MODULE_KIND_JIT)
        adopt_jit(modules, noted);
    struct opened_module *opened = opened_slot(modules, noted->module);
    if (!opened)
        return -ENOMEM;
    opened->path = noted->path;
    opened->deleted |= (record->flags & WIRE_MODULE_DELETED) != 0;
    return 0;
}

int merge_modules_open(struct merge_modules *modules, struct error *err)
{
    const struct merge_options *options = merge_get_options(modules->merge);
    if (!options->no_symbols && !modules->symbolizer) {
        const struct symbolizer_options symbolizer = {.strings = trace_builder_strings(merge_builder(modules->merge)),
                                                      .no_kernel = !merge_same_boot(modules->merge),
                                                      .log = options->log};
        int r = symbolizer_create(&symbolizer, &modules->symbolizer, err);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < modules->noted_count; i++) {
        struct noted_module *noted = &modules->noted[i];
        int r = noted->known && !noted->taken ? open_noted(modules, noted) : 0;
        noted->taken = noted->known;
        if (r < 0)
            return error_set_errno(err, r, "cannot take up the modules of the recording");
    }
    return 0;
}

struct module_table *merge_modules_table(struct merge_modules *modules)
{
    return modules->table;
}

struct module *merge_modules_by_number(struct merge_modules *modules, uint32_t number)
{
    return number < modules->noted_count ? modules->noted[number].module : NULL;
}

struct module *merge_modules_by_path(struct merge_modules *modules, const char *path, uint64_t device, uint64_t inode, pid_t pid)
{
    enum module_kind kind = MODULE_KIND_JIT;
    if (strcmp(path, "[vdso]") == 0)
        kind = MODULE_KIND_VDSO;
    else if (path[0] == '/' && path[1] != '/')
        kind = MODULE_KIND_FILE;
    struct module *module;
    return module_table_add_recorded(modules->table, kind, path, "", device, inode, pid, &module) < 0 ? NULL : module;
}

static uint32_t flags_of(enum module_kind kind)
{
    switch (kind) {
    case MODULE_KIND_KERNEL:
    case MODULE_KIND_KERNEL_MODULE:
        return MODULE_KERNEL;
    case MODULE_KIND_VDSO:
        return MODULE_VDSO;
    case MODULE_KIND_JIT:
    case MODULE_KIND_ANONYMOUS:
        return MODULE_JIT;
    default:
        return 0;
    }
}

/* The trace's row for a module, made when a frame first needs it. */
static int add_module(struct merge_modules *modules, struct module *module, struct opened_module *opened)
{
    struct trace_builder *builder = merge_builder(modules->merge);
    bool deleted = module_is_deleted(module) || opened->deleted;
    bool nameless = modules->symbolizer && symbolizer_module_problem(modules->symbolizer, module);
    const struct trace_module row = {
        .path = trace_builder_string(builder, opened->path ? opened->path : module_path(module)),
        .build_id = trace_builder_string(builder, module_build_id(module)),
        .flags = flags_of(module_kind_of(module)) | (deleted ? MODULE_DELETED : 0) | (nameless ? MODULE_NO_SYMBOLS : 0),
    };
    opened->added = true;
    return trace_builder_add_module(builder, &row, &opened->id);
}

static string_id place_name(struct merge_modules *modules, const char *path, uint64_t address)
{
    char name[512];
    const char *slash = strrchr(path, '/');
    snprintf(name, sizeof(name), "%s+0x%" PRIx64, slash ? slash + 1 : path, address);
    return trace_builder_string(merge_builder(modules->merge), name);
}

static int list_add(struct merge_modules *modules, uint32_t value)
{
    uint32_t *grown = array_reserve(modules->frame_lists, &modules->list_capacity, modules->list_count + 1, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    modules->frame_lists = grown;
    modules->frame_lists[modules->list_count++] = value;
    return 0;
}

/* Names an address; its frames become a new list. */
static int resolve(struct merge_modules *modules, struct module *module, struct opened_module *opened, uint64_t address,
                   int64_t raw_ns, size_t *ret_list)
{
    struct symbol_frame names[FRAMES_AT_ONE_ADDRESS] = {{.named_after = address}};
    size_t count = 1, list = modules->list_count;
    if (modules->symbolizer)
        count = symbolizer_resolve(modules->symbolizer, module, address, module_owner(module), raw_ns, names,
                                   FRAMES_AT_ONE_ADDRESS);
    count = count ? count : 1;
    int r = list_add(modules, (uint32_t)count);
    for (size_t i = 0; i < count && r == 0; i++) {
        const struct symbol_frame *name = &names[i];
        bool kernel = flags_of(module_kind_of(module)) & MODULE_KERNEL;
        const struct trace_frame row = {
            .function = name->known ? name->function
                                    : place_name(modules, opened->path ? opened->path : module_path(module), name->named_after),
            .module = opened->id,
            .file = name->file,
            .line = name->line,
            .flags = (name->inlined ? FRAME_INLINED : 0) | (kernel ? FRAME_KERNEL : 0) | (name->known ? 0 : FRAME_UNSYMBOLIZED),
            .address = address,
        };
        frame_id frame;
        r = trace_builder_add_frame(merge_builder(modules->merge), &row, &frame);
        if (r == 0)
            r = list_add(modules, frame.index);
    }
    *ret_list = list;
    return r;
}

int merge_modules_name(struct merge_modules *modules, struct module *module, uint64_t address, int64_t raw_ns,
                       struct merge_location *ret_location)
{
    struct symbol_frame names[FRAMES_AT_ONE_ADDRESS] = {{.named_after = address}};
    struct opened_module *opened = opened_slot(modules, module);
    if (!opened)
        return -ENOMEM;
    const char *path = opened->path ? opened->path : module_path(module);
    size_t count = 1;
    if (modules->symbolizer)
        count = symbolizer_resolve(modules->symbolizer, module, address, module_owner(module), raw_ns, names,
                                   FRAMES_AT_ONE_ADDRESS);
    const struct symbol_frame *outermost = &names[count ? count - 1 : 0];
    *ret_location = (struct merge_location){
        .function = outermost->known ? outermost->function : place_name(modules, path, outermost->named_after),
        .module = trace_builder_string(merge_builder(modules->merge), path),
        .file = outermost->known ? outermost->file : STRING_NONE,
        .line = outermost->known ? outermost->line : 0,
        .inner_line = names[0].known ? names[0].line : 0,
        .inner_function = names[0].known ? names[0].function : STRING_NONE,
        .inner_file = names[0].known ? names[0].file : STRING_NONE,
    };
    return 0;
}

static int push_unknown(struct merge_modules *modules, stack_id parent, stack_id *ret_stack)
{
    struct trace_builder *builder = merge_builder(modules->merge);
    if (frame_id_is(modules->unknown, FRAME_NONE)) {
        const struct trace_frame row = {
            .function = trace_builder_string(builder, "[unknown]"), .module = MODULE_NONE, .flags = FRAME_UNSYMBOLIZED};
        int r = trace_builder_add_frame(builder, &row, &modules->unknown);
        if (r < 0)
            return r;
    }
    return trace_builder_add_stack(builder, parent, modules->unknown, ret_stack);
}

int merge_modules_push_excluded(struct merge_modules *modules, stack_id *ret_stack)
{
    struct trace_builder *builder = merge_builder(modules->merge);
    if (frame_id_is(modules->excluded, FRAME_NONE)) {
        const struct trace_module kernel = {
            .path = trace_builder_string(builder, "[kernel]"), .build_id = STRING_NONE, .flags = MODULE_KERNEL | MODULE_NO_SYMBOLS};
        module_id module;
        int r = trace_builder_add_module(builder, &kernel, &module);
        if (r < 0)
            return r;
        const struct trace_frame row = {.function = trace_builder_string(builder, "[kernel, not sampled]"),
                                        .module = module,
                                        .flags = FRAME_KERNEL | FRAME_UNSYMBOLIZED};
        r = trace_builder_add_frame(builder, &row, &modules->excluded);
        if (r < 0)
            return r;
    }
    return trace_builder_add_stack(builder, STACK_NONE, modules->excluded, ret_stack);
}

int merge_modules_push(struct merge_modules *modules, stack_id parent, struct module *module, uint64_t address, int64_t raw_ns,
                       stack_id *ret_stack)
{
    if (!module)
        return push_unknown(modules, parent, ret_stack);
    struct opened_module *opened = opened_slot(modules, module);
    if (!opened)
        return -ENOMEM;
    int r = opened->added ? 0 : add_module(modules, module, opened);
    bool changes = flags_of(module_kind_of(module)) & MODULE_JIT;
    uint64_t place;
    size_t list = 0;
    if (r == 0 && !changes && map_get(&opened->frames, address, &place)) {
        list = (size_t)place;
    } else if (r == 0) {
        r = resolve(modules, module, opened, address, raw_ns, &list);
        if (r == 0 && !changes)
            r = map_set(&opened->frames, address, list);
    }
    stack_id stack = parent;
    for (uint32_t i = r == 0 ? modules->frame_lists[list] : 0; i > 0 && r == 0; i--)
        r = trace_builder_add_stack(merge_builder(modules->merge), stack, (frame_id){modules->frame_lists[list + i]}, &stack);
    *ret_stack = stack;
    return r;
}
