/* SPDX-License-Identifier: MIT */
/*
 * Where there is no call frame information: signal trampolines by their code, functions that have not built a frame yet,
 * frame pointers. Each guess must land behind a call instruction, or the walk ends: a short stack is better than a wrong one.
 */
#include "unwind_step.h"

#include <string.h>

#define FRAME_SIZE_MAXIMUM (8u << 20)
#define LEAF_SPAN_MAXIMUM 8192 /* of hand-written code: the largest memcpy variants are some 3 KB */

static size_t code_read(struct module *module, uint64_t address, void *bytes, size_t size)
{
    const struct elf_image *elf = module ? module_elf(module) : NULL;
    return elf ? elf_read_address(elf, address, bytes, size) : 0;
}

static bool place_find(const struct walk *walk, uint64_t address, struct module_place *ret_place)
{
    const struct mapping *mapping = mapping_set_find(walk->set, address);
    return mapping && mapping_place(mapping, address, ret_place);
}

/* The length of a call through register or memory that ends at the given end, 0 if there is none. */
static size_t x86_indirect_call(const uint8_t *end, size_t available)
{
    for (size_t length = 2; length <= 7 && length <= available; length++) {
        const uint8_t *at = end - length;
        if (at[0] != 0xff || (at[1] >> 3 & 7) != 2)
            continue;
        unsigned mode = at[1] >> 6, rm = at[1] & 7;
        size_t needed = 2 + (mode != 3 && rm == 4) + (mode == 1 ? 1 : mode == 2 || (mode == 0 && rm == 5) ? 4 : 0);
        if (needed == length)
            return length;
    }
    return 0;
}

struct call {
    bool direct;
    uint64_t target; /* run-time address, if direct */
};

static bool x86_is_behind_call(struct module *module, uint64_t module_address, uint64_t address, struct call *call)
{
    uint8_t bytes[8];
    size_t size = module_address >= sizeof bytes ? sizeof bytes : 0;
    if (size == 0 || code_read(module, module_address - size, bytes, size) != size)
        return false;
    if (bytes[3] == 0xe8) {
        int32_t distance;
        memcpy(&distance, bytes + 4, sizeof distance);
        call->direct = true;
        call->target = address + (uint64_t)(int64_t)distance;
        return true;
    }
    call->direct = false;
    return x86_indirect_call(bytes + size, size) != 0;
}

static bool aarch64_is_behind_call(struct module *module, uint64_t module_address, uint64_t address, struct call *call)
{
    uint32_t word;
    if (module_address < 4 || code_read(module, module_address - 4, &word, sizeof word) != sizeof word)
        return false;
    call->direct = (word & 0xfc000000) == 0x94000000; /* bl */
    call->target = address - 4 + (uint64_t)((int64_t)(int32_t)(word << 6) >> 4);
    return call->direct || (word & 0xfffffc1f) == 0xd63f0000 /* blr */ || (word & 0xfefff800) == 0xd63f0800 /* blraa.. */;
}

/* Whether a call could have left this return address. Code that was made at run time cannot be looked at: it passes. */
static bool is_return_address(const struct walk *walk, uint64_t address, struct call *call)
{
    struct module_place place;
    *call = (struct call){0};
    if (address == 0 || !place_find(walk, address - 1, &place))
        return false;
    if (place.module->kind == MODULE_KIND_JIT)
        return true;
    return walk->registers.arch == UNWIND_AARCH64
               ? aarch64_is_behind_call(place.module, place.address + 1, address, call)
               : x86_is_behind_call(place.module, place.address + 1, address, call);
}

bool walk_is_behind_call(const struct walk *walk, uint64_t address)
{
    struct call call;
    return is_return_address(walk, address, &call);
}

/* Goes to a caller whose return address, stack pointer and frame pointer are known; nothing else is. */
static enum step enter_caller(struct walk *walk, uint64_t pc, uint64_t sp, uint64_t fp, bool callee_saved_kept)
{
    const struct architecture *architecture = walk_architecture(walk);
    uint64_t kept = callee_saved_kept ? walk->registers.valid & architecture->kept : 0;
    walk->registers.values[architecture->pc] = pc;
    walk->registers.values[architecture->sp] = sp;
    walk->registers.values[architecture->fp] = fp;
    walk->registers.valid = kept | 1ull << architecture->pc | 1ull << architecture->sp | 1ull << architecture->fp;
    walk->exact = false;
    walk->first = false;
    return STEP_CALLER;
}

/* A frame pointer out of the copy is believed to be one where code was made at run time, or when a larger copy would hold it:
 * assembly keeps anything in that register. */
static enum step step_by_frame_pointer(struct walk *walk, const struct place *place)
{
    const struct architecture *architecture = walk_architecture(walk);
    uint64_t sp = walk->registers.values[architecture->sp], fp = walk->registers.values[architecture->fp], record[2];
    if (!(walk->registers.valid >> architecture->fp & 1))
        return STEP_NO_CFI;
    if (fp < sp || fp - sp > FRAME_SIZE_MAXIMUM || fp & 7)
        return STEP_NO_CFI;
    if (!sample_read(walk->sample, fp, record, sizeof record))
        return (place->module && place->module->kind == MODULE_KIND_JIT && walk_unreadable(walk, fp) == STEP_STACK_ENDED) ||
                       fp - walk->sample->stack_address < LARGEST_STACK_COPY
                   ? STEP_STACK_ENDED
                   : STEP_NO_CFI;
    uint64_t pc = walk_strip(walk, record[1]);
    struct call call;
    if (pc == 0 && record[0] == 0)
        return STEP_ROOT;
    if (!is_return_address(walk, pc, &call))
        return STEP_NO_CFI;
    return enter_caller(walk, pc, fp + 16, record[0], false);
}

/* x86-64 rt_sigreturn: mov $15,%rax; syscall. AArch64: mov x8,#139; svc #0. */
static bool is_signal_trampoline(const struct walk *walk, const struct place *place, uint64_t module_pc)
{
    static const uint8_t x86[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
    static const uint8_t aarch64[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};
    uint8_t bytes[sizeof x86];
    bool is_arm = walk->registers.arch == UNWIND_AARCH64;
    size_t size = is_arm ? sizeof aarch64 : sizeof x86;
    return code_read(place->module, module_pc, bytes, size) == size && memcmp(bytes, is_arm ? aarch64 : x86, size) == 0;
}

/* struct rt_sigframe as the kernel lays it out, which is ABI; offsets from the trampoline's stack pointer. */
static enum step step_by_signal_frame(struct walk *walk)
{
    /* x86-64: ucontext at sp, general registers 40 bytes in, in this order (DWARF numbers) */
    static const uint8_t x86_order[] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16};
    const struct architecture *architecture = walk_architecture(walk);
    uint64_t sp = walk->registers.values[architecture->sp], values[33];
    bool is_arm = walk->registers.arch == UNWIND_AARCH64;
    uint64_t at = is_arm ? sp + 312 : sp + 40; /* AArch64: siginfo 128, ucontext 176, fault address 8 */
    size_t count = is_arm ? 33 : sizeof x86_order;
    if (!sample_read(walk->sample, at, values, count * sizeof *values))
        return walk_unreadable(walk, at + count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        walk->registers.values[is_arm ? i : x86_order[i]] = values[i];
    walk->registers.valid = (1ull << count) - 1;
    walk->exact = true;
    walk->first = false;
    return STEP_CALLER;
}

/* Whether the frame pointer's setup has begun at pc; *ret_pushed: how many words lie above the return address. */
static bool x86_in_prologue(const struct place *place, uint64_t *ret_pushed)
{
    uint8_t bytes[12]; /* one before pc, the rest from there */
    if (place->address == 0 || code_read(place->module, place->address - 1, bytes, sizeof bytes) != sizeof bytes)
        return false;
    const uint8_t *at = bytes + 1;
    static const uint8_t landing[] = {0xf3, 0x0f, 0x1e, 0xfa}, move[] = {0x48, 0x89, 0xe5}, move_other[] = {0x48, 0x8b, 0xec};
    *ret_pushed = 0;
    if (memcmp(at, landing, sizeof landing) == 0 || at[0] == 0xc3)
        return true; /* endbr64 begins a function, ret ends it */
    if (at[0] == 0x55)
        return true;
    *ret_pushed = 1;
    return bytes[0] == 0x55 && (memcmp(at, move, sizeof move) == 0 || memcmp(at, move_other, sizeof move_other) == 0);
}

/* A return address on top of the stack that fits: the call before it goes to this function. */
static bool x86_leaf_caller(const struct walk *walk, const struct place *place, uint64_t address, bool *ret_certain)
{
    struct call call;
    struct module_place caller;
    if (!is_return_address(walk, address, &call) || !place_find(walk, address - 1, &caller))
        return false;
    uint64_t pc = walk->registers.values[16];
    *ret_certain = call.direct && call.target <= pc && pc - call.target < LEAF_SPAN_MAXIMUM;
    /* Another module is reached through its linkage table or a pointer; within one, a direct call must fit. */
    return *ret_certain || !call.direct || caller.module != place->module;
}

static enum step x86_step_from_exact(struct walk *walk, const struct place *place)
{
    uint64_t sp = walk->registers.values[7], fp = walk->registers.values[6], words[3] = {0}, pushed;
    bool certain = false;
    if (!sample_read(walk->sample, sp, words, sizeof words))
        return walk_unreadable(walk, sp + sizeof words);
    if (place->module && place->module->kind != MODULE_KIND_JIT && x86_in_prologue(place, &pushed) &&
        x86_leaf_caller(walk, place, words[pushed], &certain))
        return enter_caller(walk, words[pushed], sp + 8 * (pushed + 1), pushed ? words[0] : fp, true);
    bool fits = (!place->module || place->module->kind != MODULE_KIND_JIT) && x86_leaf_caller(walk, place, words[0], &certain);
    if (!(fits && (certain || !place->module))) {
        enum step result = step_by_frame_pointer(walk, place);
        if (result == STEP_CALLER || result == STEP_ROOT || !fits)
            return result;
    }
    return enter_caller(walk, words[0], sp + 8, fp, true);
}

static enum step aarch64_step_from_exact(struct walk *walk, const struct place *place)
{
    uint64_t lr = walk_strip(walk, walk->registers.values[30]), fp = walk->registers.values[29], record[2];
    struct call call;
    bool lr_fits = (walk->registers.valid >> 30 & 1) && is_return_address(walk, lr, &call);
    /* A function that has built its frame has stored x30 there: then the two agree, and the frame is the one to leave. */
    bool stored = sample_read(walk->sample, fp, record, sizeof record) && walk_strip(walk, record[1]) == lr;
    if (lr_fits && !stored)
        return enter_caller(walk, lr, walk->registers.values[31], fp, true);
    return step_by_frame_pointer(walk, place);
}

enum step step_by_thumb(struct walk *walk, const struct place *place)
{
    if (place->module && place->module->kind != MODULE_KIND_JIT) {
        uint64_t module_pc = walk->exact ? place->address : place->address + 1;
        if (is_signal_trampoline(walk, place, module_pc))
            return step_by_signal_frame(walk);
        if (unwind_is_root(place->module, place->address))
            return STEP_ROOT;
    }
    if (!walk->exact)
        return step_by_frame_pointer(walk, place);
    return walk->registers.arch == UNWIND_AARCH64 ? aarch64_step_from_exact(walk, place) : x86_step_from_exact(walk, place);
}
