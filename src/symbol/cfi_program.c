/* SPDX-License-Identifier: MIT */
/* Runs call frame instructions: each change of address adds a row with the rule that held until then. */
#include "cfi_builder.h"

#include <errno.h>

#define STATE_STACK_DEPTH 16

struct program {
    struct cfi_builder *builder;
    const struct cfi_cie *cie;
    struct cfi_state state, initial;
    struct cfi_state stack[STATE_STACK_DEPTH];
    size_t depth;
    uint64_t address, row_start, end;
    bool in_cie;
};

static void set_register(struct program *program, uint64_t number, enum cfi_register_kind kind, int64_t value)
{
    if (number >= CFI_REGISTERS)
        return;
    if (value != (int32_t)value) {
        kind = CFI_UNDEFINED; /* no frame is that large */
        value = 0;
    }
    program->state.registers_interned = false;
    program->state.mask |= 1ull << number;
    program->state.registers[number].kind = (uint8_t)kind;
    program->state.registers[number].value = (int32_t)value;
}

static void restore_register(struct program *program, uint64_t number)
{
    if (number >= CFI_REGISTERS)
        return;
    program->state.registers_interned = false;
    program->state.mask = (program->state.mask & ~(1ull << number)) | (program->initial.mask & 1ull << number);
    if (program->initial.mask >> number & 1)
        program->state.registers[number] = program->initial.registers[number];
}

static int set_cfa(struct program *program, uint64_t number, int64_t offset)
{
    if (number >= CFI_REGISTERS || offset != (int32_t)offset)
        return -EINVAL;
    program->state.cfa_kind = CFI_CFA_REGISTER;
    program->state.cfa_register = (uint8_t)number;
    program->state.cfa_value = (int32_t)offset;
    return 0;
}

static int row_end(struct program *program)
{
    uint32_t rule;
    int rc = cfi_rule_intern(program->builder, &program->state, program->cie, &rule);
    return rc < 0 ? rc : cfi_row_add(program->builder, program->row_start, rule);
}

static int advance(struct program *program, uint64_t address)
{
    if (program->in_cie || address < program->address)
        return -EINVAL;
    if (address > program->address && program->address < program->end) {
        int rc = row_end(program);
        if (rc < 0)
            return rc;
        program->row_start = address;
    }
    program->address = address;
    return 0;
}

static int advance_by(struct program *program, uint64_t delta)
{
    uint64_t address;
    if (__builtin_mul_overflow(delta, program->cie->code_alignment, &delta) ||
        __builtin_add_overflow(program->address, delta, &address))
        return -EINVAL;
    return advance(program, address);
}

static int64_t factored(const struct program *program, int64_t value)
{
    return (int64_t)((uint64_t)value * (uint64_t)program->cie->data_alignment);
}

static int take_expression(struct program *program, struct cursor *cursor, int32_t *ret_number)
{
    uint64_t size = cursor_uleb(cursor);
    const uint8_t *bytes = cursor_bytes(cursor, size);
    return bytes ? cfi_expression_intern(program->builder, bytes, size, ret_number) : -EINVAL;
}

static int run_cfa(struct program *program, uint8_t opcode, struct cursor *cursor)
{
    struct cfi_state *state = &program->state;
    uint64_t number;
    switch (opcode) {
    case 0x0c: /* def_cfa */
        number = cursor_uleb(cursor);
        return set_cfa(program, number, (int64_t)cursor_uleb(cursor));
    case 0x12: /* def_cfa_sf */
        number = cursor_uleb(cursor);
        return set_cfa(program, number, factored(program, cursor_sleb(cursor)));
    case 0x0d: /* def_cfa_register */
        return state->cfa_kind == CFI_CFA_REGISTER ? set_cfa(program, cursor_uleb(cursor), state->cfa_value) : -EINVAL;
    case 0x0e: /* def_cfa_offset */
        return state->cfa_kind == CFI_CFA_REGISTER ? set_cfa(program, state->cfa_register, (int64_t)cursor_uleb(cursor))
                                                   : -EINVAL;
    case 0x13: /* def_cfa_offset_sf */
        return state->cfa_kind == CFI_CFA_REGISTER
                   ? set_cfa(program, state->cfa_register, factored(program, cursor_sleb(cursor)))
                   : -EINVAL;
    default: { /* def_cfa_expression */
        int rc = take_expression(program, cursor, &state->cfa_value);
        state->cfa_kind = CFI_CFA_EXPRESSION;
        state->cfa_register = 0;
        return rc;
    }
    }
}

static int run_register(struct program *program, uint8_t opcode, struct cursor *cursor)
{
    uint64_t number = cursor_uleb(cursor);
    int32_t expression;
    int rc = 0;
    switch (opcode) {
    case 0x05: /* offset_extended */
        set_register(program, number, CFI_AT_CFA, factored(program, (int64_t)cursor_uleb(cursor)));
        break;
    case 0x11: /* offset_extended_sf */
        set_register(program, number, CFI_AT_CFA, factored(program, cursor_sleb(cursor)));
        break;
    case 0x2f: /* GNU_negative_offset_extended */
        set_register(program, number, CFI_AT_CFA, -factored(program, (int64_t)cursor_uleb(cursor)));
        break;
    case 0x14: /* val_offset */
        set_register(program, number, CFI_IS_CFA, factored(program, (int64_t)cursor_uleb(cursor)));
        break;
    case 0x15: /* val_offset_sf */
        set_register(program, number, CFI_IS_CFA, factored(program, cursor_sleb(cursor)));
        break;
    case 0x06: /* restore_extended */
        restore_register(program, number);
        break;
    case 0x07:
        set_register(program, number, CFI_UNDEFINED, 0);
        break;
    case 0x08:
        set_register(program, number, CFI_SAME, 0);
        break;
    case 0x09: /* register */
        set_register(program, number, CFI_IN_REGISTER, (int64_t)cursor_uleb(cursor));
        break;
    default: /* 0x10 expression, 0x16 val_expression */
        rc = take_expression(program, cursor, &expression);
        if (rc == 0)
            set_register(program, number, opcode == 0x10 ? CFI_AT_EXPRESSION : CFI_IS_EXPRESSION, expression);
    }
    return rc;
}

static int run_state(struct program *program, uint8_t opcode)
{
    if (opcode == 0x0a) { /* remember_state */
        if (program->depth == STATE_STACK_DEPTH)
            return -EINVAL;
        cfi_state_copy(&program->stack[program->depth++], &program->state);
        return 0;
    }
    if (program->depth == 0)
        return -EINVAL;
    cfi_state_copy(&program->state, &program->stack[--program->depth]);
    return 0;
}

static int run_extended(struct program *program, uint8_t opcode, struct cursor *cursor)
{
    switch (opcode) {
    case 0x00: /* nop */
        return 0;
    case 0x01: /* set_loc: only ever seen with absolute addresses */
        return program->cie->pointer_encoding ? -EINVAL : advance(program, cursor_fixed(cursor, program->cie->address_size));
    case 0x02:
        return advance_by(program, cursor_u8(cursor));
    case 0x03:
        return advance_by(program, cursor_u16(cursor));
    case 0x04:
        return advance_by(program, cursor_u32(cursor));
    case 0x1d:
        return advance_by(program, cursor_u64(cursor));
    case 0x05 ... 0x09:
    case 0x10:
    case 0x11:
    case 0x14 ... 0x16:
    case 0x2f:
        return run_register(program, opcode, cursor);
    case 0x0a:
    case 0x0b:
        return run_state(program, opcode);
    case 0x0c ... 0x0f:
    case 0x12:
    case 0x13:
        return run_cfa(program, opcode, cursor);
    case 0x2c: /* AArch64: return address signed or not; stripping works for both */
    case 0x2d:
        return 0;
    case 0x2e: /* GNU_args_size: for landing pads only */
        cursor_uleb(cursor);
        return 0;
    default:
        return -EINVAL;
    }
}

static int run(struct program *program, const uint8_t *instructions, const uint8_t *end)
{
    struct cursor cursor = {.at = instructions, .end = end};
    int rc = 0;
    while (rc == 0 && cursor.at < cursor.end && program->address < program->end) {
        uint8_t opcode = *cursor.at++, operand = opcode & 0x3f;
        switch (opcode >> 6) {
        case 1:
            rc = advance_by(program, operand);
            break;
        case 2:
            set_register(program, operand, CFI_AT_CFA, factored(program, (int64_t)cursor_uleb(&cursor)));
            break;
        case 3:
            restore_register(program, operand);
            break;
        default:
            rc = run_extended(program, opcode, &cursor);
        }
        if (cursor.failed)
            rc = -EINVAL;
    }
    return rc;
}

int cfi_function_add(struct cfi_builder *builder, const struct cfi_fde *fde)
{
    /* What an earlier entry described stays; .eh_frame comes before .debug_frame. */
    uint64_t start = fde->start < builder->covered_end ? builder->covered_end : fde->start;
    if (start >= fde->end)
        return 0;
    const struct cfi_cie *cie = &builder->cies[fde->cie];
    struct program program; /* 5 KB: not cleared as a whole for each of 200,000 functions */
    program.builder = builder;
    program.cie = cie;
    program.state.cfa_kind = CFI_CFA_NONE;
    program.state.cfa_register = 0;
    program.state.cfa_value = 0;
    program.state.mask = program.initial.mask = 0;
    program.state.registers_interned = false;
    program.depth = 0;
    program.address = program.row_start = fde->start;
    program.end = fde->end;
    program.in_cie = true;
    int rc = run(&program, cie->instructions, cie->end);
    cfi_state_copy(&program.initial, &program.state);
    program.in_cie = false;
    if (rc == 0)
        rc = run(&program, fde->instructions, fde->instructions_end);
    if (rc == -ENOMEM)
        return rc;
    if (rc < 0)
        builder->table->damaged_count++;
    builder->table->entry_count++;
    /* Where the instructions are damaged, nothing is claimed from there to the function's end. */
    uint64_t last_start = program.row_start;
    if (last_start < fde->end)
        rc = rc < 0 ? cfi_row_add(builder, last_start, 0) : row_end(&program);
    if (rc == 0 || rc == -EINVAL)
        rc = cfi_row_add(builder, fde->end, 0);
    builder->covered_end = fde->end;
    return rc;
}
