/* SPDX-License-Identifier: MIT */
/* The step by call frame information: CFA first, then every register that has a rule, then sanity. */
#include "unwind_step.h"

#include <string.h>

#define BITS(first, last) ((~0ull >> (63 - (last))) & (~0ull << (first)))

/* Preserved: x86-64 rbx, rbp, r12 to r15; AArch64 x19 to x29. The frame pointer and sp are in the DWARF numbering. */
static const struct architecture architectures[] = {
    [UNWIND_X86_64] = {.pc = 16, .sp = 7, .fp = 6, .return_register = 16, .kept = 1ull << 3 | 1ull << 6 | BITS(12, 15)},
    [UNWIND_AARCH64] = {.pc = 32, .sp = 31, .fp = 29, .return_register = 30, .kept = BITS(19, 30)},
};

const struct architecture *walk_architecture(const struct walk *walk)
{
    return &architectures[walk->registers.arch == UNWIND_AARCH64 ? UNWIND_AARCH64 : UNWIND_X86_64];
}

/*
 * Signed return addresses carry a code in the bits above the address space (48 bits of it, or 52 where the program asked
 * for them by mapping high). A real address is mapped as it stands.
 */
uint64_t walk_strip(const struct walk *walk, uint64_t address)
{
    if (walk->registers.arch != UNWIND_AARCH64 || address >> 48 == 0)
        return address;
    uint64_t large = address & ((1ull << 52) - 1);
    return mapping_set_find(walk->set, large) ? large : address & ((1ull << 48) - 1);
}

enum step walk_unreadable(const struct walk *walk, uint64_t address)
{
    uint64_t begin = walk->sample->stack_address, end = begin + walk->sample->stack_size;
    if (address < begin)
        return walk->left_signal ? STEP_ELSEWHERE : STEP_BAD_FRAME;
    if (address + 8 <= end)
        return STEP_BAD_FRAME;
    return address - begin < LARGEST_STACK_COPY || address - end < LARGEST_STACK_COPY ? STEP_STACK_ENDED : STEP_ELSEWHERE;
}

static bool evaluate(const struct walk *walk, const struct cfi_table *table, int32_t number, bool push_cfa, uint64_t cfa,
                     uint64_t *ret_value)
{
    const struct cfi_expression *expression = &table->expressions[number];
    const struct expression_context context = {.registers = &walk->registers, .sample = walk->sample};
    return expression_evaluate(&context, table->expression_bytes + expression->offset, expression->length, push_cfa, cfa,
                               ret_value);
}

static bool find_cfa(const struct walk *walk, const struct place *place, uint64_t *ret_cfa)
{
    const struct cfi_rule *rule = place->rule;
    if (rule->cfa_kind == CFI_CFA_EXPRESSION)
        return evaluate(walk, place->table, rule->cfa_value, false, 0, ret_cfa);
    if (rule->cfa_kind != CFI_CFA_REGISTER || !(walk->registers.valid >> rule->cfa_register & 1))
        return false;
    *ret_cfa = walk->registers.values[rule->cfa_register] + (uint64_t)(int64_t)rule->cfa_value;
    return true;
}

/* The value of one register in the caller. false: *failure says why it is unknown (STEP_CALLER: simply undefined). */
static bool recover(const struct walk *walk, const struct place *place, const struct cfi_register *rule, uint64_t cfa,
                    uint64_t *ret_value, enum step *failure)
{
    uint64_t address;
    *failure = STEP_BAD_FRAME;
    switch (rule->kind) {
    case CFI_AT_CFA:
        address = cfa + (uint64_t)(int64_t)rule->value;
        break;
    case CFI_AT_EXPRESSION:
        if (!evaluate(walk, place->table, rule->value, true, cfa, &address))
            return false;
        break;
    case CFI_IS_CFA:
        *ret_value = cfa + (uint64_t)(int64_t)rule->value;
        return true;
    case CFI_IS_EXPRESSION:
        return evaluate(walk, place->table, rule->value, true, cfa, ret_value);
    case CFI_SAME:
    case CFI_IN_REGISTER: {
        unsigned number = rule->kind == CFI_SAME ? rule->number : (unsigned)rule->value;
        if (number >= UNWIND_REGISTERS || !(walk->registers.valid >> number & 1))
            return false;
        *ret_value = walk->registers.values[number];
        return true;
    }
    default:
        *failure = STEP_CALLER;
        return false;
    }
    if (sample_read(walk->sample, address, ret_value, sizeof *ret_value))
        return true;
    /* An epilogue has popped it already: compilers leave the rule, as the bytes below sp still hold what the register does. */
    if (address < walk->sample->stack_address && (walk->registers.valid >> rule->number & 1)) {
        *ret_value = walk->registers.values[rule->number];
        return rule->number != place->rule->return_register;
    }
    *failure = walk_unreadable(walk, address);
    return false;
}

/* Fills the caller's registers; STEP_CALLER unless the return address itself could not be had. */
static enum step recover_all(const struct walk *walk, const struct place *place, uint64_t cfa, struct unwind_registers *caller)
{
    const struct architecture *architecture = walk_architecture(walk);
    const struct cfi_rule *rule = place->rule;
    const struct cfi_register *registers = place->table->registers + rule->first_register;
    enum step result = STEP_CALLER;
    caller->arch = walk->registers.arch;
    /* What a call may destroy is unknown in the caller, unless a signal frame kept it. */
    caller->valid = walk->registers.valid & (rule->is_signal_frame ? ~0ull : architecture->kept);
    memcpy(caller->values, walk->registers.values, sizeof caller->values);
    caller->values[architecture->sp] = cfa;
    caller->valid |= 1ull << architecture->sp;
    bool has_return_rule = false;
    for (unsigned i = 0; i < rule->register_count; i++) {
        enum step failure;
        uint64_t value;
        unsigned number = registers[i].number;
        has_return_rule |= number == rule->return_register;
        if (recover(walk, place, &registers[i], cfa, &value, &failure)) {
            caller->values[number] = value;
            caller->valid |= 1ull << number;
        } else {
            caller->valid &= ~(1ull << number);
            if (number == rule->return_register)
                result = failure == STEP_CALLER ? STEP_ROOT : failure;
        }
    }
    if (!has_return_rule) {
        /* A leaf on AArch64 keeps it in x30; on x86-64 it must have been described. */
        bool in_register = rule->return_register != architecture->pc && walk->exact &&
                           (walk->registers.valid >> rule->return_register & 1);
        if (!in_register)
            result = STEP_BAD_FRAME;
    }
    return result;
}

enum step step_by_cfi(struct walk *walk, const struct place *place)
{
    const struct architecture *architecture = walk_architecture(walk);
    const struct cfi_rule *rule = place->rule;
    uint64_t cfa;
    if (rule->return_undefined)
        return STEP_ROOT;
    if (!find_cfa(walk, place, &cfa))
        return STEP_BAD_FRAME;
    struct unwind_registers caller;
    enum step result = recover_all(walk, place, cfa, &caller);
    if (result != STEP_CALLER)
        return result;
    uint64_t old_sp = walk->registers.values[architecture->sp];
    bool sp_known = walk->registers.valid >> architecture->sp & 1;
    uint64_t pc = walk_strip(walk, caller.values[rule->return_register]);
    if (pc == 0)
        return STEP_ROOT; /* whoever built this stack put an end mark below the first frame */
    /* Frames move up, but for a signal's, which may have run on a stack of its own; a leaf may have no frame at all. */
    bool moved = cfa > old_sp || (cfa == old_sp && walk->exact && pc != walk->registers.values[architecture->pc]);
    if (sp_known && !moved && !rule->is_signal_frame)
        return STEP_BAD_FRAME;
    caller.values[architecture->pc] = pc;
    caller.valid |= 1ull << architecture->pc;
    walk->registers = caller;
    walk->exact = rule->is_signal_frame;
    walk->first = false;
    return STEP_CALLER;
}
