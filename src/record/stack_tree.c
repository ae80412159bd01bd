/* SPDX-License-Identifier: MIT */
/* An open-addressing hash from (parent, place) to the node's number. Nothing is ever removed but all at once. */
#include "stack_tree.h"

#include "base/array.h"
#include "base/map.h"
#include "spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    NODE_LIMIT = 1 << 19,
    FIRST_SLOTS = 4096,
    NODES_A_RECORD = 2048,
    LAST_DEPTH = 512,
};

struct node_slot {
    uint64_t address;
    uint32_t parent, module, period;
    uint32_t number; /* 0 = empty */
};

struct stack_tree {
    struct node_slot *slots;
    size_t slot_count, used, limit;
    uint32_t next_number;
    uint64_t epochs, nodes;
    struct wire_stack_node *fresh; /* not written yet; the first has number fresh_first */
    size_t fresh_count, fresh_capacity;
    uint32_t fresh_first;
    int64_t fresh_ns; /* when the first of them was seen */
    /* The stack before, outermost first: the next one mostly begins like it, and need not be looked up so far. */
    struct stack_place last[LAST_DEPTH];
    uint32_t last_numbers[LAST_DEPTH];
    size_t last_count;
};

int stack_tree_create(size_t node_limit, struct stack_tree **ret_tree)
{
    CLEANUP(stack_tree_destroyp) struct stack_tree *tree = calloc(1, sizeof(*tree));
    if (!tree)
        return -ENOMEM;
    tree->limit = node_limit ? node_limit : NODE_LIMIT;
    tree->next_number = 1;
    tree->slot_count = FIRST_SLOTS;
    tree->slots = calloc(tree->slot_count, sizeof(*tree->slots));
    if (!tree->slots)
        return -ENOMEM;
    *ret_tree = TAKE_PTR(tree);
    return 0;
}

void stack_tree_destroy(struct stack_tree *tree)
{
    if (!tree)
        return;
    free(tree->slots);
    free(tree->fresh);
    free(tree);
}

static uint64_t place_hash(uint32_t parent, const struct stack_place *place)
{
    uint64_t where = place->address ^ (uint64_t)place->module << 40 ^ (uint64_t)place->period << 52;
    return hash_u64(hash_u64(where) + parent);
}

static bool slot_is(const struct node_slot *slot, uint32_t parent, const struct stack_place *place)
{
    return slot->address == place->address && slot->parent == parent && slot->module == place->module &&
           slot->period == place->period;
}

static struct node_slot *find_slot(struct stack_tree *tree, uint32_t parent, const struct stack_place *place)
{
    size_t mask = tree->slot_count - 1, at = (size_t)place_hash(parent, place) & mask;
    while (tree->slots[at].number && !slot_is(&tree->slots[at], parent, place))
        at = (at + 1) & mask;
    return &tree->slots[at];
}

static int grow(struct stack_tree *tree)
{
    struct node_slot *old = tree->slots;
    size_t old_count = tree->slot_count;
    struct node_slot *slots = calloc(old_count * 2, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    tree->slots = slots;
    tree->slot_count = old_count * 2;
    for (size_t i = 0; i < old_count; i++) {
        if (!old[i].number)
            continue;
        struct stack_place place = {old[i].module, old[i].period, old[i].address};
        *find_slot(tree, old[i].parent, &place) = old[i];
    }
    free(old);
    return 0;
}

/* Room for one stack more. Between stacks only: within one, parents must stay. */
static int make_room(struct stack_tree *tree, size_t count)
{
    if (tree->used + count > tree->limit && tree->used) {
        memset(tree->slots, 0, tree->slot_count * sizeof(*tree->slots));
        tree->used = tree->last_count = 0;
        tree->epochs++;
    }
    while ((tree->used + count) * 2 > tree->slot_count) {
        int r = grow(tree);
        if (r < 0)
            return r;
    }
    return 0;
}

static int add_fresh(struct stack_tree *tree, uint32_t parent, const struct stack_place *place)
{
    struct wire_stack_node *grown =
        array_reserve(tree->fresh, &tree->fresh_capacity, tree->fresh_count + 1, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    tree->fresh = grown;
    if (!tree->fresh_count)
        tree->fresh_first = tree->next_number;
    tree->fresh[tree->fresh_count++] = (struct wire_stack_node){parent, place->module, place->address};
    return 0;
}

static bool place_is(const struct stack_place *left, const struct stack_place *right)
{
    return left->address == right->address && left->module == right->module && left->period == right->period;
}

/* How many of the outermost places are those of the stack before. */
static size_t common_depth(const struct stack_tree *tree, const struct stack_place *places, size_t count)
{
    size_t depth = 0;
    while (depth < count && depth < tree->last_count && place_is(&tree->last[depth], &places[count - 1 - depth]))
        depth++;
    return depth;
}

/* The node of a place under its parent, made if there is none. */
static int node_of(struct stack_tree *tree, uint32_t parent, const struct stack_place *place, uint32_t *ret_number)
{
    struct node_slot *slot = find_slot(tree, parent, place);
    if (!slot->number) {
        int r = tree->next_number == UINT32_MAX ? -EOVERFLOW : add_fresh(tree, parent, place);
        if (r < 0)
            return r;
        *slot = (struct node_slot){place->address, parent, place->module, place->period, tree->next_number++};
        tree->used++;
        tree->nodes++;
    }
    *ret_number = slot->number;
    return 0;
}

int stack_tree_intern(struct stack_tree *tree, const struct stack_place *places, size_t count, int64_t time_ns,
                      uint32_t *ret_node)
{
    int r = make_room(tree, count);
    if (r < 0)
        return r;
    if (!tree->fresh_count)
        tree->fresh_ns = time_ns;
    size_t depth = common_depth(tree, places, count);
    uint32_t number = depth ? tree->last_numbers[depth - 1] : 0;
    tree->last_count = depth;
    for (; depth < count; depth++) {
        const struct stack_place *place = &places[count - 1 - depth];
        r = node_of(tree, number, place, &number);
        if (r < 0)
            return r;
        if (depth < LAST_DEPTH) {
            tree->last[depth] = *place;
            tree->last_numbers[depth] = number;
            tree->last_count = depth + 1;
        }
    }
    *ret_node = number;
    return 0;
}

int stack_tree_flush(struct stack_tree *tree, struct spool *spool, bool all)
{
    if (!all && tree->fresh_count < NODES_A_RECORD)
        return 0;
    struct {
        struct wire_stack_nodes head;
        struct wire_stack_node nodes[NODES_A_RECORD];
    } record;
    for (size_t done = 0; done < tree->fresh_count;) {
        size_t count = tree->fresh_count - done < NODES_A_RECORD ? tree->fresh_count - done : NODES_A_RECORD;
        size_t bytes = sizeof(record.head) + count * sizeof(record.nodes[0]);
        record.head = (struct wire_stack_nodes){
            .header = {WIRE_STACK_NODES, (uint16_t)(bytes / 8), (uint32_t)count},
            .time_ns = tree->fresh_ns,
            .first = tree->fresh_first + (uint32_t)done,
        };
        memcpy(record.nodes, tree->fresh + done, count * sizeof(record.nodes[0]));
        int r = spool_put(spool, SPOOL_KEEP | SPOOL_DENSE, &record.head.header);
        if (r < 0)
            return r;
        done += count;
    }
    tree->fresh_count = 0;
    return 0;
}

void stack_tree_statistics(const struct stack_tree *tree, struct stack_tree_statistics *ret_statistics)
{
    *ret_statistics = (struct stack_tree_statistics){
        tree->nodes, tree->epochs, tree->slot_count * sizeof(*tree->slots) + tree->fresh_capacity * sizeof(*tree->fresh)};
}
