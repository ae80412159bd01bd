/* SPDX-License-Identifier: MIT */
/* Builds and searches the row table of a module. */
#include "cfi.h"

#include "base/array.h"
#include "base/key_sort.h"
#include "cfi_builder.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define RULE_MAXIMUM UINT16_MAX
#define REGISTER_MAXIMUM (1u << 22)
#define EXPRESSION_BYTES_MAXIMUM (64u << 20)

int cfi_row_add(struct cfi_builder *builder, uint64_t address, uint32_t rule)
{
    struct cfi_table *table = builder->table;
    /* An earlier entry may cover the beginning; addresses over 4 GiB behind the base have no room in a row. */
    if (address < builder->covered_end)
        address = builder->covered_end;
    if (address - table->base > UINT32_MAX)
        return 0;
    uint32_t start = (uint32_t)(address - table->base);
    if (table->row_count && table->row_starts[table->row_count - 1] == start) {
        table->row_rules[table->row_count - 1] = (uint16_t)rule;
        return 0;
    }
    if (table->row_count && table->row_rules[table->row_count - 1] == rule)
        return 0;
    uint32_t *starts = array_reserve(table->row_starts, &builder->row_capacity, table->row_count + 1, sizeof *starts);
    if (!starts)
        return -ENOMEM;
    table->row_starts = starts;
    uint16_t *rules = array_reserve(table->row_rules, &builder->row_rule_capacity, table->row_count + 1, sizeof *rules);
    if (!rules)
        return -ENOMEM;
    table->row_rules = rules;
    table->row_starts[table->row_count] = start;
    table->row_rules[table->row_count++] = (uint16_t)rule;
    return 0;
}

/* Same bytes, same number. A colliding hash only costs a duplicate, so it is not chained. */
int cfi_expression_intern(struct cfi_builder *builder, const uint8_t *bytes, size_t size, int32_t *ret_number)
{
    struct cfi_table *table = builder->table;
    uint64_t known, key = hash_bytes(bytes, size);
    if (map_get(&builder->expression_by_hash, key, &known)) {
        const struct cfi_expression *expression = &table->expressions[known];
        if (expression->length == size && memcmp(table->expression_bytes + expression->offset, bytes, size) == 0) {
            *ret_number = (int32_t)known;
            return 0;
        }
    }
    if (table->expression_bytes_size + size > EXPRESSION_BYTES_MAXIMUM)
        return -EINVAL;
    struct cfi_expression *expressions =
        array_reserve(table->expressions, &builder->expression_capacity, table->expression_count + 1, sizeof *expressions);
    if (!expressions)
        return -ENOMEM;
    table->expressions = expressions;
    uint8_t *moved = array_reserve(table->expression_bytes, &builder->expression_bytes_capacity,
                                   table->expression_bytes_size + size + 1, 1);
    if (!moved)
        return -ENOMEM;
    table->expression_bytes = moved;
    memcpy(moved + table->expression_bytes_size, bytes, size);
    table->expressions[table->expression_count] =
        (struct cfi_expression){(uint32_t)table->expression_bytes_size, (uint32_t)size};
    table->expression_bytes_size += size;
    *ret_number = (int32_t)table->expression_count;
    return map_set(&builder->expression_by_hash, key, table->expression_count++);
}

static int registers_intern(struct cfi_builder *builder, const struct cfi_register *registers, size_t count, uint32_t *ret_first)
{
    struct cfi_table *table = builder->table;
    size_t size = count * sizeof *registers;
    uint64_t known, key = hash_bytes(registers, size);
    if (map_get(&builder->registers_by_hash, key, &known) && known + count <= table->register_count &&
        memcmp(table->registers + known, registers, size) == 0) {
        *ret_first = (uint32_t)known;
        return 0;
    }
    if (table->register_count + count > REGISTER_MAXIMUM)
        return -EINVAL;
    struct cfi_register *moved =
        array_reserve(table->registers, &builder->register_capacity, table->register_count + count, sizeof *moved);
    if (!moved)
        return -ENOMEM;
    table->registers = moved;
    memcpy(moved + table->register_count, registers, size);
    *ret_first = (uint32_t)table->register_count;
    table->register_count += count;
    return map_set(&builder->registers_by_hash, key, *ret_first);
}

static size_t registers_collect(const struct cfi_state *state, struct cfi_register *registers)
{
    size_t count = 0;
    for (uint64_t mask = state->mask; mask; mask &= mask - 1) {
        unsigned number = (unsigned)__builtin_ctzll(mask);
        struct cfi_register *target = &registers[count++];
        memset(target, 0, sizeof *target); /* padding is hashed too */
        target->number = (uint8_t)number;
        target->kind = state->registers[number].kind;
        target->value = state->registers[number].value;
    }
    return count;
}

static uint64_t rule_hash(const struct cfi_rule *rule)
{
    uint64_t words[sizeof *rule / sizeof(uint64_t)];
    static_assert(sizeof *rule == sizeof words, "the rule is hashed by words");
    memcpy(words, rule, sizeof words);
    return hash_u64(words[0] ^ hash_u64(words[1]));
}

static int rule_intern_slowly(struct cfi_builder *builder, const struct cfi_rule *rule, uint16_t *recent, uint32_t *ret_rule)
{
    struct cfi_table *table = builder->table;
    uint64_t known, key = rule_hash(rule);
    if (map_get(&builder->rule_by_hash, key, &known) && memcmp(&table->rules[known], rule, sizeof *rule) == 0) {
        *recent = (uint16_t)known;
        *ret_rule = (uint32_t)known;
        return 0;
    }
    *ret_rule = 0;
    if (table->rule_count > RULE_MAXIMUM)
        return 0; /* libLLVM has a thousand distinct rules; a file with more than 65,535 gets no information */
    struct cfi_rule *moved = array_reserve(table->rules, &builder->rule_capacity, table->rule_count + 1, sizeof *moved);
    if (!moved)
        return -ENOMEM;
    table->rules = moved;
    table->rules[table->rule_count] = *rule;
    *recent = (uint16_t)table->rule_count;
    *ret_rule = (uint32_t)table->rule_count++;
    return map_set(&builder->rule_by_hash, key, *ret_rule);
}

int cfi_rule_intern(struct cfi_builder *builder, struct cfi_state *state, const struct cfi_cie *cie, uint32_t *ret_rule)
{
    struct cfi_table *table = builder->table;
    if (!state->registers_interned) {
        struct cfi_register registers[CFI_REGISTERS];
        state->register_count = (uint8_t)registers_collect(state, registers);
        state->first_register = 0;
        int rc = state->register_count ? registers_intern(builder, registers, state->register_count, &state->first_register) : 0;
        if (rc < 0)
            return rc;
        state->registers_interned = true;
    }
    struct cfi_rule rule = {
        .cfa_kind = state->cfa_kind,
        .cfa_register = state->cfa_register,
        .cfa_value = state->cfa_value,
        .register_count = state->register_count,
        .first_register = state->first_register,
        .return_register = (uint8_t)cie->return_register,
        .is_signal_frame = cie->is_signal_frame,
        .return_undefined = (state->mask >> cie->return_register & 1) &&
                            state->registers[cie->return_register].kind == CFI_UNDEFINED,
    };
    /* Neighbouring functions use the same few dozen rules: a small cache in front of the map halves the time of all. */
    uint16_t *recent = &builder->recent_rules[((uint32_t)rule.cfa_value / 8 + rule.first_register * 37u +
                                               rule.cfa_register * 5u + rule.register_count) % CFI_RECENT_RULES];
    if (memcmp(&table->rules[*recent], &rule, sizeof rule) == 0) {
        *ret_rule = *recent;
        return 0;
    }
    return rule_intern_slowly(builder, &rule, recent, ret_rule);
}

static int section_take(struct cfi_builder *builder, const struct elf_section *section, bool is_debug_frame)
{
    struct cfi_section *target = &builder->sections[builder->section_count];
    if (!section || elf_section_load(builder->image, section, &target->data) < 0)
        return 0;
    target->address = section->address;
    target->is_debug_frame = is_debug_frame;
    return cfi_section_read(builder, builder->section_count++);
}

/* A file without a section table: PT_GNU_EH_FRAME leads to .eh_frame, which then ends with its segment. */
static int segment_take(struct cfi_builder *builder)
{
    const struct elf_image *image = builder->image;
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *segment = &image->segments[i];
        uint8_t header[12];
        if (segment->type != PT_GNU_EH_FRAME || elf_read(image, segment->offset, header, sizeof header) < 0 || header[0] != 1)
            continue;
        struct cursor cursor = {.at = header + 4, .end = header + sizeof header};
        uint64_t address = cfi_pointer_read(&cursor, header[1], 8, segment->address + 4), offset;
        if (cursor.failed || !elf_address_to_offset(image, address, &offset))
            continue;
        for (size_t j = 0; j < image->segment_count; j++) {
            const struct elf_segment *load = &image->segments[j];
            if (load->type != PT_LOAD || offset < load->offset || offset - load->offset >= load->file_size)
                continue;
            struct cfi_section *target = &builder->sections[builder->section_count];
            uint64_t size = load->file_size - (offset - load->offset);
            if (elf_range_load(image, offset, size, &target->data) < 0)
                return 0;
            target->address = address;
            return cfi_section_read(builder, builder->section_count++);
        }
    }
    return 0;
}

/* By address; of one address the first in the file comes first. */
static int fdes_sort(struct cfi_builder *builder)
{
    size_t count = builder->fde_count;
    CLEANUP(freep) struct sort_key *keys = array_resize_exact(NULL, count, sizeof *keys);
    CLEANUP(freep) struct cfi_fde *sorted = array_resize_exact(NULL, count, sizeof *sorted);
    if (!keys || !sorted)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        keys[i] = (struct sort_key){.key = builder->fdes[i].start, .index = (uint32_t)i};
    int rc = key_sort(keys, count);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < count; i++)
        sorted[i] = builder->fdes[keys[i].index];
    free(builder->fdes);
    builder->fdes = TAKE_PTR(sorted);
    builder->fde_capacity = count;
    return 0;
}

int cfi_functions_read(struct cfi_builder *builder)
{
    const struct elf_image *image = builder->image;
    int rc = section_take(builder, elf_section_find(image, ".eh_frame"), false);
    if (rc == 0 && builder->section_count == 0)
        rc = segment_take(builder);
    const struct elf_section *debug_frame = elf_section_find(image, ".debug_frame");
    if (rc == 0)
        rc = section_take(builder, debug_frame ? debug_frame : elf_section_find(image, ".zdebug_frame"), true);
    if (rc < 0 || builder->fde_count == 0)
        return rc < 0 ? rc : -ENODATA;
    bool sorted = true;
    for (size_t i = 1; sorted && i < builder->fde_count; i++)
        sorted = builder->fdes[i - 1].start <= builder->fdes[i].start;
    return sorted ? 0 : fdes_sort(builder);
}

int cfi_functions_run(struct cfi_builder *builder, const struct cfi_fde *fdes, size_t count)
{
    struct cfi_table *table = builder->table;
    table->rules = array_reserve(NULL, &builder->rule_capacity, 1, sizeof *table->rules);
    if (!table->rules)
        return -ENOMEM;
    memset(&table->rules[0], 0, sizeof table->rules[0]);
    table->rule_count = 1;
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = cfi_function_add(builder, &fdes[i]);
    return rc;
}

void cfi_builder_finish(struct cfi_builder *builder)
{
    for (size_t i = 0; i < builder->section_count; i++)
        free(builder->sections[i].data.bytes);
    free(builder->cies);
    free(builder->fdes);
    map_finish(&builder->cie_by_position);
    map_finish(&builder->rule_by_hash);
    map_finish(&builder->registers_by_hash);
    map_finish(&builder->expression_by_hash);
}

/* Gives back what doubling reserved; a failure leaves the larger block. */
static void trim(void *array_pointer, size_t count, size_t item_size)
{
    void *array;
    memcpy(&array, array_pointer, sizeof array);
    void *smaller = count ? array_resize_exact(array, count, item_size) : NULL;
    if (smaller)
        memcpy(array_pointer, &smaller, sizeof smaller);
}

void cfi_table_trim(struct cfi_table *table)
{
    trim(&table->row_starts, table->row_count, sizeof *table->row_starts);
    trim(&table->row_rules, table->row_count, sizeof *table->row_rules);
    trim(&table->rules, table->rule_count, sizeof *table->rules);
    trim(&table->registers, table->register_count, sizeof *table->registers);
}

int cfi_table_create(const struct elf_image *image, struct cfi_table **ret_table)
{
    CLEANUP(cfi_table_destroyp) struct cfi_table *table = calloc(1, sizeof *table);
    if (!table)
        return -ENOMEM;
    if (!image->is_64)
        return -ENODATA;
    struct cfi_builder builder = {.image = image, .table = table};
    int rc = cfi_functions_read(&builder);
    if (rc == 0) {
        table->base = builder.fdes[0].start;
        rc = cfi_functions_run(&builder, builder.fdes, builder.fde_count);
    }
    cfi_builder_finish(&builder);
    if (rc < 0)
        return rc;
    cfi_table_trim(table);
    *ret_table = TAKE_PTR(table);
    return 0;
}

void cfi_table_destroy(struct cfi_table *table)
{
    if (!table)
        return;
    free(table->row_starts);
    free(table->row_rules);
    free(table->rules);
    free(table->registers);
    free(table->expressions);
    free(table->expression_bytes);
    free(table);
}

const struct cfi_rule *cfi_table_find(const struct cfi_table *table, uint64_t address)
{
    if (address < table->base || address - table->base > UINT32_MAX || table->row_count == 0)
        return NULL;
    uint32_t offset = (uint32_t)(address - table->base);
    /* Branch-free halving: the last row that starts at or before the offset. */
    const uint32_t *low = table->row_starts;
    for (size_t count = table->row_count; count > 1;) {
        size_t half = count / 2;
        low += low[half] <= offset ? half : 0;
        count -= half;
    }
    uint16_t rule = table->row_rules[low - table->row_starts];
    return rule ? &table->rules[rule] : NULL;
}
