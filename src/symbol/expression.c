/* SPDX-License-Identifier: MIT */
/* Evaluates DWARF expressions; steps, depth and reads are bounded because the bytes come from files we don't trust. */
#include "expression.h"

#include "cursor.h"

#define STACK_DEPTH 64
#define STEP_MAXIMUM 1000

struct machine {
    const struct expression_context *context;
    struct cursor cursor;
    const uint8_t *begin;
    uint64_t stack[STACK_DEPTH];
    size_t depth;
    bool failed;
};

bool sample_read(const struct unwind_sample *sample, uint64_t address, void *value, size_t size)
{
    uint64_t offset = address - sample->stack_address;
    if (address < sample->stack_address || offset > sample->stack_size || size > sample->stack_size - offset)
        return false;
    memcpy(value, sample->stack + offset, size);
    return true;
}

static void push(struct machine *machine, uint64_t value)
{
    if (machine->depth == STACK_DEPTH)
        machine->failed = true;
    else
        machine->stack[machine->depth++] = value;
}

static uint64_t pop(struct machine *machine)
{
    if (machine->depth == 0) {
        machine->failed = true;
        return 0;
    }
    return machine->stack[--machine->depth];
}

static void pick(struct machine *machine, size_t index)
{
    if (index >= machine->depth)
        machine->failed = true;
    else
        push(machine, machine->stack[machine->depth - 1 - index]);
}

static void push_register(struct machine *machine, uint64_t number, int64_t offset)
{
    const struct unwind_registers *registers = machine->context->registers;
    if (number >= UNWIND_REGISTERS || !(registers->valid >> number & 1))
        machine->failed = true;
    else
        push(machine, registers->values[number] + (uint64_t)offset);
}

static void dereference(struct machine *machine, size_t size)
{
    uint64_t value = 0, address = pop(machine);
    if (size == 0 || size > 8 || machine->failed || !sample_read(machine->context->sample, address, &value, size))
        machine->failed = true;
    else
        push(machine, value);
}

static void jump(struct machine *machine, int64_t delta)
{
    int64_t target = machine->cursor.at - machine->begin + delta;
    if (target < 0 || target > machine->cursor.end - machine->begin)
        machine->failed = true;
    else
        machine->cursor.at = machine->begin + target;
}

static void run_constant(struct machine *machine, uint8_t opcode)
{
    struct cursor *cursor = &machine->cursor;
    switch (opcode) {
    case 0x03: /* addr */
    case 0x0e: /* const8u */
    case 0x0f: /* const8s */
        push(machine, cursor_u64(cursor));
        break;
    case 0x08:
        push(machine, cursor_u8(cursor));
        break;
    case 0x09:
        push(machine, (uint64_t)(int64_t)(int8_t)cursor_u8(cursor));
        break;
    case 0x0a:
        push(machine, cursor_u16(cursor));
        break;
    case 0x0b:
        push(machine, (uint64_t)(int64_t)(int16_t)cursor_u16(cursor));
        break;
    case 0x0c:
        push(machine, cursor_u32(cursor));
        break;
    case 0x0d:
        push(machine, (uint64_t)(int64_t)(int32_t)cursor_u32(cursor));
        break;
    case 0x10:
        push(machine, cursor_uleb(cursor));
        break;
    default: /* 0x11 consts */
        push(machine, (uint64_t)cursor_sleb(cursor));
    }
}

static void run_stack(struct machine *machine, uint8_t opcode)
{
    uint64_t first, second, third;
    switch (opcode) {
    case 0x12: /* dup */
        pick(machine, 0);
        break;
    case 0x13: /* drop */
        pop(machine);
        break;
    case 0x14: /* over */
        pick(machine, 1);
        break;
    case 0x15:
        pick(machine, cursor_u8(&machine->cursor));
        break;
    case 0x16: /* swap */
        first = pop(machine);
        second = pop(machine);
        push(machine, first);
        push(machine, second);
        break;
    default: /* 0x17 rot: the top goes third */
        first = pop(machine);
        second = pop(machine);
        third = pop(machine);
        push(machine, first);
        push(machine, third);
        push(machine, second);
    }
}

static void run_unary(struct machine *machine, uint8_t opcode)
{
    uint64_t value = pop(machine);
    switch (opcode) {
    case 0x19: /* abs */
        push(machine, (int64_t)value < 0 ? 0 - value : value);
        break;
    case 0x1f: /* neg */
        push(machine, 0 - value);
        break;
    case 0x20: /* not */
        push(machine, ~value);
        break;
    default: /* 0x23 plus_uconst */
        push(machine, value + cursor_uleb(&machine->cursor));
    }
}

static void run_division(struct machine *machine, uint8_t opcode, uint64_t left, uint64_t right)
{
    if (right == 0)
        machine->failed = true;
    else if (opcode == 0x1d) /* mod, unsigned */
        push(machine, left % right);
    else if (right == UINT64_MAX) /* the most negative number divided by -1 traps */
        push(machine, 0 - left);
    else
        push(machine, (uint64_t)((int64_t)left / (int64_t)right));
}

static void run_binary(struct machine *machine, uint8_t opcode)
{
    uint64_t right = pop(machine), left = pop(machine);
    int64_t signed_left = (int64_t)left, signed_right = (int64_t)right;
    switch (opcode) {
    case 0x1a: push(machine, left & right); break;
    case 0x1c: push(machine, left - right); break;
    case 0x1e: push(machine, left * right); break;
    case 0x21: push(machine, left | right); break;
    case 0x22: push(machine, left + right); break;
    case 0x24: push(machine, right < 64 ? left << right : 0); break;
    case 0x25: push(machine, right < 64 ? left >> right : 0); break;
    case 0x26: push(machine, (uint64_t)(signed_left >> (right < 63 ? right : 63))); break;
    case 0x27: push(machine, left ^ right); break;
    case 0x29: push(machine, signed_left == signed_right); break;
    case 0x2a: push(machine, signed_left >= signed_right); break;
    case 0x2b: push(machine, signed_left > signed_right); break;
    case 0x2c: push(machine, signed_left <= signed_right); break;
    case 0x2d: push(machine, signed_left < signed_right); break;
    case 0x2e: push(machine, signed_left != signed_right); break;
    default: run_division(machine, opcode, left, right);
    }
}

static void run_other(struct machine *machine, uint8_t opcode)
{
    struct cursor *cursor = &machine->cursor;
    int64_t delta;
    uint64_t number;
    switch (opcode) {
    case 0x06:
        dereference(machine, 8);
        break;
    case 0x94:
        dereference(machine, cursor_u8(cursor));
        break;
    case 0x2f: /* skip */
        jump(machine, (int16_t)cursor_u16(cursor));
        break;
    case 0x28: /* bra */
        delta = (int16_t)cursor_u16(cursor);
        if (pop(machine))
            jump(machine, delta);
        break;
    case 0x92: /* bregx */
        number = cursor_uleb(cursor);
        push_register(machine, number, cursor_sleb(cursor));
        break;
    case 0x96: /* nop */
        break;
    default:
        machine->failed = true;
    }
}

static void step(struct machine *machine)
{
    uint8_t opcode = cursor_u8(&machine->cursor);
    switch (opcode) {
    case 0x30 ... 0x4f: /* lit0..31 */
        push(machine, opcode - 0x30u);
        break;
    case 0x70 ... 0x8f: /* breg0..31 */
        push_register(machine, opcode - 0x70u, cursor_sleb(&machine->cursor));
        break;
    case 0x03:
    case 0x08 ... 0x11:
        run_constant(machine, opcode);
        break;
    case 0x12 ... 0x17:
        run_stack(machine, opcode);
        break;
    case 0x19:
    case 0x1f:
    case 0x20:
    case 0x23:
        run_unary(machine, opcode);
        break;
    case 0x1a ... 0x1e:
    case 0x21:
    case 0x22:
    case 0x24 ... 0x27:
    case 0x29 ... 0x2e:
        run_binary(machine, opcode);
        break;
    default:
        run_other(machine, opcode);
    }
}

bool expression_evaluate(const struct expression_context *context, const uint8_t *bytes, size_t size, bool push_cfa,
                         uint64_t cfa, uint64_t *ret_value)
{
    struct machine machine;
    machine.context = context;
    machine.cursor = (struct cursor){.at = bytes, .end = bytes + size};
    machine.begin = bytes;
    machine.depth = 0;
    machine.failed = false;
    if (push_cfa)
        push(&machine, cfa);
    for (unsigned steps = 0; machine.cursor.at < machine.cursor.end; steps++) {
        step(&machine);
        if (machine.failed || machine.cursor.failed || steps == STEP_MAXIMUM)
            return false;
    }
    if (machine.depth == 0)
        return false;
    *ret_value = machine.stack[machine.depth - 1];
    return true;
}
