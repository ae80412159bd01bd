/* SPDX-License-Identifier: MIT */
/*
 * From a code address to how its function's frame is left: where the caller's frame begins, where its return address and frame
 * pointer are. Read from the unwind table (.eh_frame) that the loader mapped with the code. Of all that such tables can say,
 * only what compilers write for calls is understood; for the rest there is the platform's unwinder.
 */
#include "unwind.h"

#include <link.h>

#if defined(__x86_64__)
enum { REGISTER_FP = 6, REGISTER_SP = 7, REGISTER_RA = 16 };
#else
enum { REGISTER_FP = 29, REGISTER_SP = 31, REGISTER_RA = 30 };
#endif

#define REMEMBERED 8
#define ENCODING_PCREL_4 0x1b  /* relative to itself, 4 bytes, signed */
#define ENCODING_TABLE 0x3b    /* relative to the header, 4 bytes, signed */

enum place { SAME, UNDEFINED, AT_CFA, AT_FP, ELSEWHERE };
struct saved {
    enum place place;
    int64_t offset;
};

struct row {
    uint64_t cfa_register;
    int64_t cfa_offset;
    bool cfa_is_stored;        /* the CFA is what is stored at cfa_register + cfa_offset */
    bool strange;
    struct saved fp, ra;
};

struct program {
    const uint8_t *at, *end;
    uint64_t code_unit;
    int64_t data_unit;
    uintptr_t place, target;   /* instructions up to `target` count */
    struct row row, first;
    struct row remembered[REMEMBERED];
    unsigned depth;
    bool failed;
};

static uint64_t take(struct program *program, unsigned bytes)
{
    uint64_t value = 0;
    if ((uint64_t)(program->end - program->at) < bytes) {
        program->failed = true;
        return 0;
    }
    __builtin_memcpy(&value, program->at, bytes);
    program->at += bytes;
    return value;
}

static uint64_t take_leb(struct program *program, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte = 0x80;
    while ((byte & 0x80) && shift < 64 && !program->failed) {
        byte = (uint8_t)take(program, 1);
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    }
    if (is_signed && (byte & 0x40) && shift < 64)
        value |= ~0ull << shift;
    return value;
}

static struct saved *saved_of(struct row *row, uint64_t number)
{
    return number == REGISTER_FP ? &row->fp : number == REGISTER_RA ? &row->ra : 0;
}

static void save(struct program *program, uint64_t number, enum place place, int64_t offset)
{
    struct saved *saved = saved_of(&program->row, number);
    if (saved)
        *saved = (struct saved){place, offset};
    if (number == REGISTER_SP)
        program->row.strange = true; /* another stack: what follows is not a call's frame */
}

static void restore(struct program *program, uint64_t number)
{
    struct saved *saved = saved_of(&program->row, number);
    if (saved)
        *saved = *saved_of(&program->first, number);
}

/* "register + offset", with or without reading what is there (0x70: DW_OP_breg0, 6: DW_OP_deref). */
static bool simple_expression(struct program *program, uint64_t *ret_register, int64_t *ret_offset, bool *ret_read)
{
    uint64_t bytes = take_leb(program, false);
    if (program->failed || (uint64_t)(program->end - program->at) < bytes)
        return false;
    struct program inner = {.at = program->at, .end = program->at + bytes};
    program->at += bytes;
    uint64_t operation = take(&inner, 1);
    *ret_register = operation - 0x70;
    *ret_offset = (int64_t)take_leb(&inner, true);
    *ret_read = inner.at < inner.end && take(&inner, 1) == 6;
    return operation >= 0x70 && operation < 0x90 && !inner.failed && inner.at == inner.end;
}

static void cfa_expression(struct program *program)
{
    struct row *row = &program->row;
    row->strange |= !simple_expression(program, &row->cfa_register, &row->cfa_offset, &row->cfa_is_stored);
}

static void saved_expression(struct program *program, uint64_t number)
{
    uint64_t base = 0;
    int64_t offset = 0;
    bool read = false, simple = simple_expression(program, &base, &offset, &read);
    save(program, number, simple && !read && base == REGISTER_FP ? AT_FP : ELSEWHERE, offset);
}

static void remember(struct program *program)
{
    if (program->depth == REMEMBERED)
        program->failed = true;
    else
        program->remembered[program->depth++] = program->row;
}

static void recall(struct program *program)
{
    if (program->depth == 0)
        program->failed = true;
    else
        program->row = program->remembered[--program->depth];
}

static void define_cfa(struct program *program, uint64_t number, int64_t offset)
{
    program->row.cfa_register = number;
    program->row.cfa_offset = offset;
    program->row.cfa_is_stored = false;
}

/* Instructions whose number does not hold an operand (DW_CFA_...). */
static void run_extended(struct program *program, uint8_t operation)
{
    uint64_t number;
    switch (operation) {
    case 0x00: /* nop */
        return;
    case 0x02:
    case 0x03:
    case 0x04: /* advance */
        program->place += take(program, 1u << (operation - 2)) * program->code_unit;
        return;
    case 0x05: /* offset */
    case 0x11: /* offset, signed */
        number = take_leb(program, false);
        save(program, number, AT_CFA, (int64_t)take_leb(program, operation == 0x11) * program->data_unit);
        return;
    case 0x06:
        restore(program, take_leb(program, false));
        return;
    case 0x07:
        save(program, take_leb(program, false), UNDEFINED, 0);
        return;
    case 0x08:
        save(program, take_leb(program, false), SAME, 0);
        return;
    case 0x0a:
        remember(program);
        return;
    case 0x0b:
        recall(program);
        return;
    case 0x0c: /* the CFA: register and offset */
        number = take_leb(program, false);
        define_cfa(program, number, (int64_t)take_leb(program, false));
        return;
    case 0x0d:
        define_cfa(program, take_leb(program, false), program->row.cfa_offset);
        return;
    case 0x0e:
        define_cfa(program, program->row.cfa_register, (int64_t)take_leb(program, false));
        return;
    case 0x0f:
        cfa_expression(program);
        return;
    case 0x10:
        number = take_leb(program, false);
        saved_expression(program, number);
        return;
    case 0x2e: /* arguments on the stack: of no importance here */
        take_leb(program, false);
        return;
    default:
        program->failed = true;
    }
}

static void run(struct program *program)
{
    while (program->at < program->end && !program->failed) {
        uint8_t operation = (uint8_t)take(program, 1), low = operation & 0x3f;
        switch (operation >> 6) {
        case 1:
            program->place += low * program->code_unit;
            break;
        case 2:
            save(program, low, AT_CFA, (int64_t)take_leb(program, false) * program->data_unit);
            break;
        case 3:
            restore(program, low);
            break;
        default:
            run_extended(program, operation);
        }
        if (program->place > program->target)
            return; /* what comes now is of later addresses; it changed nothing yet */
    }
}

/* The common part of a table's entries; its instructions are run. `size` bytes follow `at`, the id (4 bytes) first. */
static bool run_common(struct program *program, const uint8_t *at, uint32_t size)
{
    program->at = at;
    program->end = at + size;
    uint64_t id = take(program, 4), version = take(program, 1);
    const char *augmentation = (const char *)program->at;
    while (!program->failed && take(program, 1) != 0)
        ;
    if (program->failed || id != 0 || (version != 1 && version != 3) || augmentation[0] != 'z')
        return false;
    program->code_unit = take_leb(program, false);
    program->data_unit = (int64_t)take_leb(program, true);
    if ((version == 1 ? take(program, 1) : take_leb(program, false)) != REGISTER_RA)
        return false;
    uint64_t bytes = take_leb(program, false);
    if (program->failed || (uint64_t)(program->end - program->at) < bytes)
        return false;
    const uint8_t *instructions = program->at + bytes;
    for (const char *letter = augmentation + 1; *letter; letter++) {
        if (*letter == 'R' && take(program, 1) != ENCODING_PCREL_4)
            return false;
        if (*letter == 'L')
            take(program, 1);
        if (*letter == 'P') {
            static const uint8_t sizes[16] = {8, 0, 2, 4, 8, 0, 0, 0, 8, 0, 2, 4, 8};
            uint8_t encoding = (uint8_t)take(program, 1);
            if (!sizes[encoding & 15])
                return false;
            take(program, sizes[encoding & 15]);
        }
        if (*letter != 'R' && *letter != 'L' && *letter != 'P')
            return false; /* 'S': a signal's frame */
    }
    program->at = instructions;
    run(program);
    program->first = program->row;
    return !program->failed;
}

static uint32_t read_4(const uint8_t *at)
{
    uint32_t value;
    __builtin_memcpy(&value, at, sizeof value);
    return value;
}

static intptr_t read_signed(const uint8_t *at)
{
    return (int32_t)read_4(at);
}

/* An entry: length, distance of its common part, begin, length, more, instructions. */
static bool run_entry(struct program *program, const uint8_t *entry)
{
    uint32_t size = read_4(entry), distance = read_4(entry + 4);
    if (size < 16 || size >= 0xfffffff0u || distance == 0)
        return false;
    const uint8_t *common = entry + 4 - distance;
    uintptr_t begin = (uintptr_t)(entry + 8) + (uintptr_t)read_signed(entry + 8);
    if (program->target < begin || program->target - begin >= read_4(entry + 12))
        return false;
    program->place = 0; /* all of the common part's instructions count */
    if (!run_common(program, common + 4, read_4(common)))
        return false;
    program->place = begin;
    program->at = entry + 16;
    program->end = entry + 4 + size;
    uint64_t bytes = take_leb(program, false);
    if (program->failed || (uint64_t)(program->end - program->at) < bytes)
        return false;
    program->at += bytes;
    run(program);
    return !program->failed;
}

/* The header's table, sorted: begin of a function, its entry; 4 bytes each, from the header on. */
static const uint8_t *entry_find(const uint8_t *header, uintptr_t address)
{
    if (header[0] != 1 || header[1] != ENCODING_PCREL_4 || header[2] != 3 || header[3] != ENCODING_TABLE)
        return 0;
    uint32_t low = 0, high = read_4(header + 8);
    const uint8_t *table = header + 12;
    intptr_t wanted = (intptr_t)(address - (uintptr_t)header);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (read_signed(table + 8ul * middle) <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? header + read_signed(table + 8ul * (low - 1) + 4) : 0;
}

struct search {
    uintptr_t address;
    const uint8_t *header;
};

static int look_into(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct search *search = argument;
    const uint8_t *header = 0;
    bool inside = false;
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type == PT_LOAD)
            inside |= search->address >= at && search->address - at < info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
            header = (const uint8_t *)at; /* NOLINT: an address by design */
    }
    search->header = inside ? header : 0;
    return inside;
}

static bool fits(int64_t value, unsigned bits)
{
    return value % 8 == 0 && value / 8 >= -(1ll << (bits - 1)) && value / 8 < 1ll << (bits - 1);
}

static struct rt_rule rule_of(const struct row *row)
{
    struct rt_rule rule = {.known = 1};
    bool by_fp = row->cfa_register == REGISTER_FP;
    if (row->ra.place == UNDEFINED) {
        rule.last = 1;
        return rule;
    }
    if (row->strange || (!by_fp && row->cfa_register != REGISTER_SP) || (row->cfa_is_stored && !by_fp) || row->ra.place != AT_CFA ||
        row->fp.place == ELSEWHERE || row->fp.place == UNDEFINED || !fits(row->cfa_offset, 21) || !fits(row->ra.offset, 18) ||
        !fits(row->fp.offset, 18))
        return (struct rt_rule){.known = 1, .beyond = 1};
    rule.by_fp = by_fp;
    rule.stored = row->cfa_is_stored;
    rule.cfa = row->cfa_offset / 8;
    rule.ra = row->ra.offset / 8;
    rule.fp = row->fp.offset / 8;
    rule.fp_at_cfa = row->fp.place == AT_CFA;
    rule.fp_at_fp = row->fp.place == AT_FP;
    return rule;
}

struct rt_rule rt_rule_read(uintptr_t address)
{
    struct search search = {.address = address};
    struct program program = {.target = address};
    dl_iterate_phdr(look_into, &search);
    const uint8_t *entry = search.header ? entry_find(search.header, address) : 0;
    if (!entry || !run_entry(&program, entry))
        return (struct rt_rule){.known = 1, .beyond = 1};
    return rule_of(&program.row);
}
