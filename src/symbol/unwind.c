/* SPDX-License-Identifier: MIT */
/* Walks a sample's stack frame by frame; what an address means is looked up once and cached per unwinding thread. */
#include "unwind.h"

#include "base/map.h"
#include "cfi_index.h"
#include "unwind_step.h"

#include <errno.h>

/* Large programs have some 10,000 call sites that matter; half a megabyte a thread. */
#define CACHE_SLOTS 8192

struct unwinder {
    struct place cache[CACHE_SLOTS];
};

const char *unwind_end_name(enum unwind_end end)
{
    static const char *const names[] = {"root", "stack copy ended", "no unwind information", "bad frame", "too many frames", "stack elsewhere"};
    return (size_t)end < sizeof names / sizeof *names ? names[end] : "?";
}

int unwinder_create(struct unwinder **ret_unwinder)
{
    struct unwinder *unwinder = calloc(1, sizeof *unwinder);
    if (!unwinder)
        return -ENOMEM;
    *ret_unwinder = unwinder;
    return 0;
}

void unwinder_destroy(struct unwinder *unwinder)
{
    free(unwinder);
}

static const struct place *place_of(struct unwinder *unwinder, const struct mapping_set *set, uint64_t lookup)
{
    struct place *place = &unwinder->cache[hash_u64(lookup ^ set->generation << 40) % CACHE_SLOTS];
    if (place->lookup == lookup && place->generation == set->generation)
        return place;
    const struct mapping *mapping = mapping_set_find(set, lookup);
    struct module_place found = {.module = NULL, .address = lookup};
    if (mapping)
        mapping_place(mapping, lookup, &found);
    struct cfi_index *index = NULL;
    if (mapping && found.module->kind != MODULE_KIND_JIT)
        index = module_cfi(found.module);
    *place = (struct place){.generation = set->generation, .lookup = lookup, .module = found.module, .address = found.address};
    if (index)
        place->rule = cfi_index_find(index, found.address, &place->table);
    return place;
}

static enum step step(struct walk *walk, const struct place *place)
{
    if (!place->rule)
        return step_by_thumb(walk, place);
    enum step result = step_by_cfi(walk, place);
    /* AArch64 frame records do not tell the caller's sp, so a rule that needs it may fail where the next record helps. */
    if (result == STEP_BAD_FRAME && !walk->first && walk->registers.arch == UNWIND_AARCH64) {
        enum step other = step_by_thumb(walk, place);
        if (other == STEP_CALLER || other == STEP_ROOT)
            return other;
    }
    return result;
}

static enum unwind_end end_of(enum step step)
{
    static const enum unwind_end ends[] = {[STEP_CALLER] = UNWIND_LIMIT, [STEP_ROOT] = UNWIND_ROOT,
                                           [STEP_STACK_ENDED] = UNWIND_STACK_ENDED, [STEP_NO_CFI] = UNWIND_NO_CFI,
                                           [STEP_BAD_FRAME] = UNWIND_BAD_FRAME, [STEP_ELSEWHERE] = UNWIND_ELSEWHERE};
    return ends[step];
}

/*
 * Makers of stacks push the beginning of a function as the first return address: signal trampolines, and the functions that
 * end a coroutine (makecontext's). Nothing called from there, so what stands before it is another function or padding.
 */
static bool entry_place(struct unwinder *unwinder, const struct walk *walk, uint64_t pc, const struct place **ret_place)
{
    const struct place *begin = place_of(unwinder, walk->set, pc);
    if (begin->rule && !walk_is_behind_call(walk, pc)) {
        *ret_place = begin;
        return true;
    }
    *ret_place = place_of(unwinder, walk->set, pc - 1);
    return false;
}

static size_t walk_stack(struct unwinder *unwinder, struct walk *walk, struct unwind_frame *frames, size_t capacity,
                         enum unwind_end *ret_end)
{
    uint8_t pc_register = walk_architecture(walk)->pc;
    size_t count = 0;
    while (count < capacity) {
        uint64_t pc = walk->registers.values[pc_register];
        const struct place *place = place_of(unwinder, walk->set, walk->exact ? pc : pc - 1);
        bool is_entry = !walk->exact && !place->rule && entry_place(unwinder, walk, pc, &place);
        if (!place->module && !walk->first) { /* a return address into nothing: the step before went wrong */
            *ret_end = UNWIND_BAD_FRAME;
            return count;
        }
        frames[count++] = (struct unwind_frame){.module = place->module, .address = place->address, .run_address = pc};
        bool was_exact = walk->exact;
        walk->left_signal |= was_exact && !walk->first;
        enum step result = is_entry && !place->rule->is_signal_frame ? STEP_ROOT : step(walk, place);
        /* A signal trampoline was entered, not called: its "return address" is its beginning, not behind a call. */
        if (result == STEP_CALLER && walk->exact && !was_exact && place->lookup != pc)
            frames[count - 1].address++;
        if (result != STEP_CALLER) {
            *ret_end = end_of(result);
            return count;
        }
    }
    *ret_end = UNWIND_LIMIT;
    return count;
}

size_t unwind(struct unwinder *unwinder, const struct address_map *map, const struct unwind_sample *sample,
              struct unwind_frame *frames, size_t capacity, enum unwind_end *ret_end)
{
    struct walk walk = {.sample = sample, .registers = sample->registers, .exact = true, .first = true};
    const struct architecture *architecture = walk_architecture(&walk);
    uint64_t needed = 1ull << architecture->pc | 1ull << architecture->sp;
    *ret_end = UNWIND_BAD_FRAME;
    if ((sample->registers.valid & needed) != needed || capacity == 0)
        return 0;
    struct mapping_set *set = address_map_hold(map);
    walk.set = set;
    size_t count = walk_stack(unwinder, &walk, frames, capacity, ret_end);
    mapping_set_release(set);
    return count;
}

size_t unwind_from_addresses(const struct address_map *map, const uint64_t *addresses, size_t count, bool first_is_exact,
                             struct unwind_frame *frames, size_t capacity)
{
    struct mapping_set *set = address_map_hold(map);
    size_t done = 0;
    for (; done < count && done < capacity; done++) {
        uint64_t address = addresses[done], lookup = done == 0 && first_is_exact ? address : address - 1;
        struct module_place place = {.module = NULL, .address = lookup};
        const struct mapping *mapping = lookup >> 63 ? NULL : mapping_set_find(set, lookup);
        if (mapping)
            mapping_place(mapping, lookup, &place);
        else if (lookup >> 63)
            place.module = module_table_kernel(address_map_table(map));
        frames[done] = (struct unwind_frame){.module = place.module, .address = place.address, .run_address = address};
    }
    mapping_set_release(set);
    return done;
}
