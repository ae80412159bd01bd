/* SPDX-License-Identifier: MIT */
/* Reads lines "ffffffff81000000 T name\t[module]" into a sorted table over the text itself. */
#include "kallsyms.h"

#include "base/array.h"
#include "base/file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define FILE_MAXIMUM (512u << 20)
#define FUNCTION_SIZE_MAXIMUM (1u << 20) /* behind the last symbol of an area nothing is known */

struct kernel_symbol {
    uint64_t address;
    uint32_t name, module; /* offsets in text */
};

struct kallsyms {
    char *text;
    struct kernel_symbol *symbols;
    size_t count, capacity;
    uint64_t core_begin, core_end; /* 0 = unknown */
};

void kallsyms_destroy(struct kallsyms *symbols)
{
    if (!symbols)
        return;
    free(symbols->text);
    free(symbols->symbols);
    free(symbols);
}

static int symbol_add(struct kallsyms *symbols, char *line)
{
    char *end;
    uint64_t address = strtoull(line, &end, 16);
    if (end == line || end[0] != ' ' || end[1] == '\0' || end[2] != ' ')
        return 0;
    char *name = end + 3, *module = strchr(name, '\t');
    if (!strchr("tTwW", end[1]) || address == 0)
        return 0;
    struct kernel_symbol *moved =
        array_reserve(symbols->symbols, &symbols->capacity, symbols->count + 1, sizeof *moved);
    if (!moved)
        return -ENOMEM;
    symbols->symbols = moved;
    uint32_t module_at = 0;
    if (module) {
        *module++ = '\0';
        char *bracket = strchr(module, ']');
        if (module[0] == '[' && bracket) {
            *bracket = '\0';
            module_at = (uint32_t)(module + 1 - symbols->text);
        }
    }
    symbols->symbols[symbols->count++] =
        (struct kernel_symbol){address, (uint32_t)(name - symbols->text), module_at};
    return 0;
}

static int symbol_compare(const void *left, const void *right)
{
    const struct kernel_symbol *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

static void note_core(struct kallsyms *symbols)
{
    for (size_t i = 0; i < symbols->count; i++) {
        const char *name = symbols->text + symbols->symbols[i].name;
        if (name[0] == '_' && strcmp(name, "_stext") == 0)
            symbols->core_begin = symbols->symbols[i].address;
        else if (name[0] == '_' && strcmp(name, "_etext") == 0)
            symbols->core_end = symbols->symbols[i].address;
    }
}

static bool is_sorted(const struct kallsyms *symbols)
{
    for (size_t i = 1; i < symbols->count; i++)
        if (symbol_compare(&symbols->symbols[i - 1], &symbols->symbols[i]) > 0)
            return false;
    return true;
}

int kallsyms_load(const char *path, struct kallsyms **ret_symbols)
{
    CLEANUP(kallsyms_destroyp) struct kallsyms *symbols = calloc(1, sizeof *symbols);
    size_t size;
    if (!symbols)
        return -ENOMEM;
    int rc = file_read(path ? path : "/proc/kallsyms", FILE_MAXIMUM, &symbols->text, &size, NULL);
    if (rc < 0)
        return rc;
    for (char *line = symbols->text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        rc = symbol_add(symbols, line);
        if (rc < 0)
            return rc;
    }
    if (symbols->count == 0)
        return -EACCES; /* all addresses read as 0 */
    if (!is_sorted(symbols))
        qsort(symbols->symbols, symbols->count, sizeof *symbols->symbols, symbol_compare);
    note_core(symbols);
    *ret_symbols = TAKE_PTR(symbols);
    return 0;
}

const char *kallsyms_find(const struct kallsyms *symbols, uint64_t address, const char **ret_module)
{
    size_t low = 0, high = symbols->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (symbols->symbols[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address - symbols->symbols[low - 1].address > FUNCTION_SIZE_MAXIMUM)
        return NULL;
    size_t first = low - 1; /* of several names at one address, the first in the kernel's order */
    while (first > 0 && symbols->symbols[first - 1].address == symbols->symbols[low - 1].address)
        first--;
    const struct kernel_symbol *found = &symbols->symbols[first];
    *ret_module = found->module ? symbols->text + found->module : "";
    return symbols->text + found->name;
}

bool kallsyms_has_core(const struct kallsyms *symbols)
{
    return symbols->core_begin && symbols->core_begin < symbols->core_end;
}

bool kallsyms_in_core(const struct kallsyms *symbols, uint64_t address)
{
    return kallsyms_has_core(symbols) && address >= symbols->core_begin && address < symbols->core_end;
}

void kallsyms_write_core(const struct kallsyms *symbols, struct file_writer *writer)
{
    for (size_t i = 0; i < symbols->count; i++) {
        const struct kernel_symbol *symbol = &symbols->symbols[i];
        bool wanted = kallsyms_in_core(symbols, symbol->address) || (kallsyms_has_core(symbols) && symbol->address == symbols->core_end);
        if (wanted && !symbol->module)
            file_writef(writer, "%" PRIx64 " t %s\n", symbol->address, symbols->text + symbol->name);
    }
}
