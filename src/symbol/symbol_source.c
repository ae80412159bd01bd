/* SPDX-License-Identifier: MIT */
/* Symbols of one module: its own tables first, a separate debug file's when it has no full one. */
#include "symbol_source.h"

#include "base/map.h"
#include "base/text.h"
#include "demangle.h"
#include "module.h"
#include "symtab.h"

#include <errno.h>
#include <string.h>

struct symbol_source {
    struct module *module;
    const struct symbolizer_options *options;
    struct symtab *symtab;
    struct map names; /* symbol index -> string id */
    const char *problem;
};

static void note_problem(struct symbol_source *source, const struct elf_image *image)
{
    if (!image)
        source->problem = module_is_deleted(source->module) ? "file was deleted" : "file is gone or was replaced";
    else if (symtab_count(source->symtab) == 0)
        source->problem = "stripped";
}

int symbol_source_open(struct module *module, const struct symbolizer_options *options, struct symbol_source **ret_source)
{
    struct symbol_source *source = calloc(1, sizeof *source);
    if (!source || symtab_create(&source->symtab) < 0) {
        free(source);
        return -ENOMEM;
    }
    source->module = module;
    source->options = options;
    map_init(&source->names);
    const struct elf_image *image = module_elf(module);
    if (image)
        (void)symtab_add(source->symtab, image, true);
    symtab_finish_adding(source->symtab);
    note_problem(source, image);
    *ret_source = source;
    return 0;
}

void symbol_source_destroy(struct symbol_source *source)
{
    if (!source)
        return;
    map_finish(&source->names);
    symtab_destroy(source->symtab);
    free(source);
}

const char *symbol_source_problem(const struct symbol_source *source)
{
    return source->problem;
}

/* The readable name of a symbol, made once. */
static string_id symbol_name(struct symbol_source *source, const struct symtab_match *match)
{
    uint64_t known;
    string_id id = STRING_NONE;
    if (map_get(&source->names, match->index, &known))
        return (string_id){(uint32_t)known};
    CLEANUP(freep) char *raw = symtab_name(source->symtab, match->index);
    if (!raw || raw[0] == '\0')
        return id;
    CLEANUP(freep) char *readable = demangle(raw);
    struct text name = TEXT_INIT;
    text_addf(&name, "%s%s", readable ? readable : raw, match->is_stub ? "@plt" : "");
    (void)string_table_intern_text(source->options->strings, name.data, &id);
    text_finish(&name);
    (void)map_set(&source->names, match->index, id.index);
    return id;
}

size_t symbol_source_resolve(struct symbol_source *source, uint64_t address, pid_t pid, int64_t time_ns,
                             struct symbol_frame *frames, size_t capacity)
{
    struct symtab_match match;
    if (!symtab_find(source->symtab, address, &match))
        return 0;
    frames[0] = (struct symbol_frame){.function = symbol_name(source, &match), .known = true};
    return string_is(frames[0].function, STRING_NONE) ? 0 : 1;
}
