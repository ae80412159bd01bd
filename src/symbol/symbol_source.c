/* SPDX-License-Identifier: MIT */
/* Symbols of one module: its own tables first, a separate debug file's when it has no full one. */
#include "symbol_source.h"

#include "base/map.h"
#include "base/text.h"
#include "cfi_index.h"
#include "debug_files.h"
#include "demangle.h"
#include "dwarf.h"
#include "jit_source.h"
#include "module.h"
#include "symtab.h"

#include <errno.h>
#include <string.h>

#define INLINE_DEPTH_MAXIMUM 128
/* How far a label without a size is believed where the symbols between it and the next one were stripped. */
#define LABEL_REACH 4096

struct symbol_source {
    struct module *module;
    const struct symbolizer_options *options;
    struct symtab *symtab;
    struct map symbol_names; /* symbol index -> string id */
    struct map dwarf_names;  /* function key -> string id */
    int debug_fd;            /* the separate debug file, or -1 */
    struct elf_image *debug_image;
    struct dwarf_info *dwarf;
    struct jit_source *jit;  /* code made at run time */
    const char *problem;
    bool exported_only; /* local symbols were stripped and not found elsewhere */
};

static void note_problem(struct symbol_source *source, const struct elf_image *image)
{
    if (source->jit)
        source->problem = jit_source_problem(source->jit);
    else if (!image)
        source->problem = module_is_deleted(source->module) ? "the file was deleted" : "the file is gone or was replaced";
    else if (symtab_count(source->symtab) == 0 && !source->dwarf)
        source->problem = "stripped, and no debug file found";
}

/* What the module itself lacks is looked for elsewhere, the nearest place first; a server is the last. */
static void open_debug_file(struct symbol_source *source, const struct elf_image *image, struct debug_server *server)
{
    source->debug_fd = debug_file_find(source->module, source->options->debug_directories);
    if (source->debug_fd < 0 && server)
        source->debug_fd = debug_server_fetch(server, image->build_id, image->build_id_size);
    if (source->debug_fd < 0)
        return;
    if (elf_image_open(source->debug_fd, &source->debug_image) == 0)
        (void)symtab_add(source->symtab, source->debug_image, false);
    if (!source->dwarf)
        (void)dwarf_info_open(source->debug_fd, &source->dwarf);
}

static void open_file(struct symbol_source *source, const struct elf_image *image, struct debug_server *server)
{
    (void)symtab_add(source->symtab, image, true);
    int fd = source->module->image ? -1 : module_descriptor(source->module);
    if (fd >= 0)
        (void)dwarf_info_open(fd, &source->dwarf);
    bool has_symtab = elf_section_of_type(image, SHT_SYMTAB) != NULL;
    uint8_t *bytes;
    size_t size;
    bool unpacked = !has_symtab && debug_data_unpack(image, &bytes, &size) == 0;
    if (unpacked)
        (void)symtab_add_memory(source->symtab, bytes, size);
    if (!source->dwarf && fd >= 0)
        open_debug_file(source, image, server);
    source->exported_only = !has_symtab && !unpacked && !source->debug_image;
}

int symbol_source_open(struct module *module, const struct symbolizer_options *options, struct debug_server *server,
                       struct symbol_source **ret_source)
{
    struct symbol_source *source = calloc(1, sizeof *source);
    if (!source || symtab_create(&source->symtab) < 0) {
        free(source);
        return -ENOMEM;
    }
    source->module = module;
    source->options = options;
    source->debug_fd = -1;
    map_init(&source->symbol_names);
    map_init(&source->dwarf_names);
    const struct elf_image *image = module_elf(module);
    if (module_kind_of(module) == MODULE_KIND_JIT)
        (void)jit_source_open(module, options->log, &source->jit);
    else if (image)
        open_file(source, image, server);
    symtab_finish_adding(source->symtab);
    note_problem(source, image);
    *ret_source = source;
    return 0;
}

void symbol_source_destroy(struct symbol_source *source)
{
    if (!source)
        return;
    map_finish(&source->symbol_names);
    map_finish(&source->dwarf_names);
    jit_source_close(source->jit);
    dwarf_info_close(source->dwarf);
    symtab_destroy(source->symtab);
    elf_image_close(source->debug_image);
    if (source->debug_fd >= 0)
        close(source->debug_fd);
    free(source);
}

const char *symbol_source_problem(const struct symbol_source *source)
{
    return source->problem;
}

static string_id intern(struct symbol_source *source, const char *text)
{
    string_id id = STRING_NONE;
    (void)string_table_intern_text(source->options->strings, text, &id);
    return id;
}

static string_id intern_readable(struct symbol_source *source, const char *raw, const char *suffix)
{
    CLEANUP(freep) char *readable = demangle(raw);
    struct text name = TEXT_INIT;
    text_addf(&name, "%s%s", readable ? readable : raw, suffix);
    string_id id = intern(source, name.data);
    text_finish(&name);
    return id;
}

/* The readable name of a symbol, made once. */
static string_id symbol_name(struct symbol_source *source, const struct symtab_match *match)
{
    uint64_t known;
    if (map_get(&source->symbol_names, match->index, &known))
        return (string_id){(uint32_t)known};
    CLEANUP(freep) char *raw = symtab_name(source->symtab, match->index);
    if (!raw || raw[0] == '\0')
        return STRING_NONE;
    string_id id = intern_readable(source, raw, match->is_stub ? "@plt" : "");
    (void)map_set(&source->symbol_names, match->index, id.index);
    return id;
}

static string_id dwarf_name(struct symbol_source *source, const struct dwarf_frame *frame)
{
    uint64_t known;
    if (!frame->linkage_name)
        return intern(source, frame->name);
    if (map_get(&source->dwarf_names, frame->key, &known))
        return (string_id){(uint32_t)known};
    string_id id = intern_readable(source, frame->linkage_name, "");
    (void)map_set(&source->dwarf_names, frame->key, id.index);
    return id;
}

static size_t resolve_dwarf(struct symbol_source *source, uint64_t address, struct symbol_frame *frames, size_t capacity)
{
    struct dwarf_frame found[INLINE_DEPTH_MAXIMUM];
    size_t count = source->dwarf ? dwarf_info_resolve(source->dwarf, address, found, INLINE_DEPTH_MAXIMUM) : 0;
    size_t first = 0;
    if (source->options->no_inlines && count > 0)
        first = count - 1;
    else if (count > capacity)
        first = count - capacity; /* the outer frames tie the stack together */
    for (size_t i = first; i < count; i++)
        frames[i - first] = (struct symbol_frame){.function = dwarf_name(source, &found[i]),
                                                  .file = intern(source, found[i].file),
                                                  .line = found[i].line,
                                                  .inlined = i + 1 < count,
                                                  .known = true};
    return count - first;
}

static size_t resolve_jit(struct symbol_source *source, uint64_t address, int64_t time_ns, struct symbol_frame *frames)
{
    struct jit_match match;
    if (!jit_source_find(source->jit, address, time_ns, &match) || match.name[0] == '\0')
        return 0;
    frames[0] = (struct symbol_frame){.function = intern_readable(source, match.name, ""), .file = intern(source, match.file),
                                      .line = match.line, .known = true};
    return 1;
}

/* A label of assembly without a size reaches to the next symbol only for want of better knowledge: in a stripped file that
 * would give it all the nameless functions behind it. The few bytes are for what may precede .cfi_startproc. */
static bool is_of_another_function(struct symbol_source *source, const struct symtab_match *match, uint64_t address)
{
    uint64_t start;
    return match->open_ended && symbol_source_function_start(source, address, &start) && start > match->start + 16;
}

static string_id symbol_at(struct symbol_source *source, uint64_t address)
{
    struct symtab_match match;
    if (!symtab_find(source->symtab, address, &match) || is_of_another_function(source, &match, address))
        return STRING_NONE;
    string_id name = symbol_name(source, &match);
    if (!source->exported_only || !match.open_ended || address - match.start < LABEL_REACH || string_is(name, STRING_NONE))
        return name;
    struct text after = TEXT_INIT;
    text_addf(&after, "(code after %s)", string_table_text(source->options->strings, name));
    name = intern(source, after.data);
    text_finish(&after);
    return name;
}

size_t symbol_source_resolve(struct symbol_source *source, uint64_t address, pid_t pid, int64_t time_ns,
                             struct symbol_frame *frames, size_t capacity)
{
    if (source->jit)
        return resolve_jit(source, address, time_ns, frames);
    size_t count = resolve_dwarf(source, address, frames, capacity);
    string_id symbol = symbol_at(source, address);
    if (count == 0) {
        frames[0] = (struct symbol_frame){.function = symbol, .known = true};
        return string_is(symbol, STRING_NONE) ? 0 : 1;
    }
    /* The symbol table knows clones (.cold, .isra) and assembly functions, which debug info does not name. */
    struct symbol_frame *physical = &frames[count - 1];
    if (!string_is(symbol, STRING_NONE))
        physical->function = symbol;
    return string_is(physical->function, STRING_NONE) ? 0 : count;
}

bool symbol_source_function_start(struct symbol_source *source, uint64_t address, uint64_t *ret_start)
{
    const struct cfi_index *index = source->jit ? NULL : module_cfi(source->module);
    return index && cfi_index_function(index, address, ret_start);
}
