/* SPDX-License-Identifier: MIT */
/* Sorted function symbols of a module. */
#include "symtab.h"

#include "base/array.h"
#include "base/key_sort.h"
#include "elf_symbols.h"
#include "plt.h"

#include <errno.h>
#include <string.h>

#define IMAGE_MAXIMUM 4
#define NESTING_MAXIMUM 16 /* how many inner symbols are stepped over to find the function around an address */
#define ALIAS_MAXIMUM 64   /* identical code folding puts thousands of names at one address: the first will do */

struct entry {
    uint64_t address;
    uint32_t size, name;
    uint8_t source; /* index of its name section */
    uint8_t binding;
    uint8_t is_stub;
    uint16_t section;
};

struct names {
    const struct elf_image *image;
    const struct elf_section *section;
};

struct symtab {
    struct entry *entries;
    size_t count, capacity;
    struct names names[2 * IMAGE_MAXIMUM];
    size_t names_count;
    struct elf_image *owned_image;
    uint8_t *owned_bytes;
};

int symtab_create(struct symtab **ret_symtab)
{
    *ret_symtab = calloc(1, sizeof **ret_symtab);
    return *ret_symtab ? 0 : -ENOMEM;
}

void symtab_destroy(struct symtab *symtab)
{
    if (!symtab)
        return;
    elf_image_close(symtab->owned_image);
    free(symtab->owned_bytes);
    free(symtab->entries);
    free(symtab);
}

static int entry_add(struct symtab *symtab, const struct entry *entry)
{
    struct entry *moved = array_reserve(symtab->entries, &symtab->capacity, symtab->count + 1, sizeof *moved);
    if (!moved)
        return -ENOMEM;
    symtab->entries = moved;
    symtab->entries[symtab->count++] = *entry;
    return 0;
}

struct addition {
    struct symtab *symtab;
    const struct elf_image *image;
    uint8_t source;
};

static uint32_t clamp_size(uint64_t size)
{
    return size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
}

static int add_symbol(void *context, uint32_t index, const struct elf_symbol *symbol)
{
    struct addition *addition = context;
    if (!elf_symbol_is_code(addition->image, symbol) || symbol->value == 0)
        return 0;
    struct entry entry = {.address = symbol->value, .size = clamp_size(symbol->size), .name = symbol->name,
                          .source = addition->source, .binding = symbol->binding, .section = symbol->section};
    return entry_add(addition->symtab, &entry);
}

static int add_stub(void *context, uint64_t address, uint32_t size, uint32_t name)
{
    struct addition *addition = context;
    struct entry entry = {.address = address, .size = size, .name = name, .source = addition->source,
                          .binding = STB_LOCAL, .is_stub = 1};
    return entry_add(addition->symtab, &entry);
}

/* A label without a size ends with its section at the latest. */
static void close_open_ends(struct symtab *symtab, const struct elf_image *image, size_t first)
{
    for (size_t i = first; i < symtab->count; i++) {
        struct entry *entry = &symtab->entries[i];
        if (entry->size || entry->section >= image->section_count)
            continue;
        const struct elf_section *section = &image->sections[entry->section];
        uint64_t end = section->address + section->size;
        /* UINT16_MAX marks it from here on: the next symbol may cut it shorter still. */
        entry->size = end > entry->address ? clamp_size(end - entry->address) : 0;
        entry->section = UINT16_MAX;
    }
}

static int add_table(struct symtab *symtab, const struct elf_image *image, uint32_t type, bool has_code)
{
    const struct elf_section *table = elf_section_of_type(image, type);
    const struct elf_section *names = table ? elf_symbol_names(image, table) : NULL;
    if (!names || symtab->names_count == sizeof symtab->names / sizeof *symtab->names)
        return 0;
    struct addition addition = {.symtab = symtab, .image = image, .source = (uint8_t)symtab->names_count};
    symtab->names[symtab->names_count++] = (struct names){image, names};
    size_t first = symtab->count;
    int rc = elf_symbols_visit(image, table, add_symbol, &addition);
    close_open_ends(symtab, image, first);
    if (rc == 0 && type == SHT_DYNSYM && has_code)
        rc = plt_stubs_visit(image, table, add_stub, &addition);
    return rc;
}

int symtab_add(struct symtab *symtab, const struct elf_image *image, bool has_code)
{
    int rc = add_table(symtab, image, SHT_SYMTAB, has_code);
    return rc == 0 ? add_table(symtab, image, SHT_DYNSYM, has_code) : rc;
}

int symtab_add_memory(struct symtab *symtab, uint8_t *bytes, size_t size)
{
    if (symtab->owned_bytes) {
        free(bytes);
        return -EEXIST;
    }
    symtab->owned_bytes = bytes;
    int rc = elf_image_open_memory(bytes, size, &symtab->owned_image);
    return rc < 0 ? rc : symtab_add(symtab, symtab->owned_image, false);
}

static int entry_compare(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

/* By address first; false: no memory for it. */
static bool entries_sort_by_address(struct symtab *symtab)
{
    size_t count = symtab->count;
    CLEANUP(freep) struct sort_key *keys = array_resize_exact(NULL, count, sizeof *keys);
    CLEANUP(freep) struct entry *sorted = array_resize_exact(NULL, count, sizeof *sorted);
    if (!keys || !sorted || count > UINT32_MAX)
        return false;
    for (size_t i = 0; i < count; i++)
        keys[i] = (struct sort_key){.key = symtab->entries[i].address, .index = (uint32_t)i};
    if (key_sort(keys, count) < 0)
        return false;
    for (size_t i = 0; i < count; i++)
        sorted[i] = symtab->entries[keys[i].index];
    free(symtab->entries);
    symtab->entries = TAKE_PTR(sorted);
    symtab->capacity = count;
    return true;
}

static void entries_sort(struct symtab *symtab)
{
    if (!entries_sort_by_address(symtab)) {
        qsort(symtab->entries, symtab->count, sizeof *symtab->entries, entry_compare);
        return;
    }
    for (size_t first = 0, end; first < symtab->count; first = end) {
        for (end = first + 1; end < symtab->count && symtab->entries[end].address == symtab->entries[first].address;)
            end++;
        if (end - first > 1)
            qsort(symtab->entries + first, end - first, sizeof *symtab->entries, entry_compare);
    }
}

void symtab_finish_adding(struct symtab *symtab)
{
    if (symtab->count == 0)
        return;
    entries_sort(symtab);
    uint64_t next = UINT64_MAX;
    for (size_t i = symtab->count; i-- > 0;) {
        struct entry *entry = &symtab->entries[i];
        if (i + 1 < symtab->count && symtab->entries[i + 1].address != entry->address)
            next = symtab->entries[i + 1].address;
        if (entry->section == UINT16_MAX && next - entry->address < entry->size)
            entry->size = (uint32_t)(next - entry->address);
    }
    struct entry *exact = array_resize_exact(symtab->entries, symtab->count, sizeof *exact);
    if (exact) {
        symtab->entries = exact;
        symtab->capacity = symtab->count;
    }
}

char *symtab_name(const struct symtab *symtab, uint32_t index)
{
    const struct entry *entry = &symtab->entries[index];
    char *name = elf_name_copy(symtab->names[entry->source].image, symtab->names[entry->source].section, entry->name);
    char *version = name ? strchr(name, '@') : NULL;
    if (version && version != name)
        *version = '\0';
    return name;
}

/* Among symbols of one address: the plainest public name. glibc's write is also __write and __libc_write. */
static int rank(const struct symtab *symtab, uint32_t index, const char *name)
{
    const struct entry *entry = &symtab->entries[index];
    int underscores = 0;
    while (name[underscores] == '_')
        underscores++;
    int binding = entry->binding == STB_GLOBAL ? 0 : entry->binding == STB_WEAK ? 1 : 2;
    int open_ended = entry->section == UINT16_MAX;
    return (name[0] == '\0') * 10000 + open_ended * 1000 + (underscores > 9 ? 9 : underscores) * 10 + binding;
}

static uint32_t best_alias(const struct symtab *symtab, uint32_t first, uint32_t last, uint64_t address)
{
    uint32_t best = last;
    int best_rank = INT32_MAX;
    for (uint32_t i = first; i <= last && first != last; i++) {
        if (address - symtab->entries[i].address >= symtab->entries[i].size && symtab->entries[i].address != address)
            continue;
        CLEANUP(freep) char *name = symtab_name(symtab, i);
        int this_rank = name ? rank(symtab, i, name) : INT32_MAX;
        if (this_rank < best_rank) {
            best = i;
            best_rank = this_rank;
        }
    }
    return best;
}

static bool covers(const struct entry *entry, uint64_t address)
{
    return address - entry->address < entry->size || (entry->size == 0 && address == entry->address);
}

bool symtab_find(const struct symtab *symtab, uint64_t address, struct symtab_match *ret_match)
{
    size_t low = 0, high = symtab->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (symtab->entries[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    size_t tried = 0;
    uint64_t previous = UINT64_MAX;
    for (size_t i = low; i-- > 0 && tried < NESTING_MAXIMUM;) {
        const struct entry *entry = &symtab->entries[i];
        tried += entry->address != previous;
        previous = entry->address;
        if (!covers(entry, address))
            continue;
        size_t first = i;
        while (first > 0 && symtab->entries[first - 1].address == entry->address)
            first--;
        size_t last = i - first < ALIAS_MAXIMUM ? i : first + ALIAS_MAXIMUM - 1;
        uint32_t best = best_alias(symtab, (uint32_t)first, (uint32_t)last, address);
        const struct entry *found = &symtab->entries[best];
        *ret_match = (struct symtab_match){.index = best, .start = found->address, .size = found->size,
                                           .is_stub = found->is_stub, .open_ended = found->section == UINT16_MAX};
        return true;
    }
    return false;
}

size_t symtab_count(const struct symtab *symtab)
{
    return symtab->count;
}
