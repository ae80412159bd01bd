/* SPDX-License-Identifier: MIT */
/* Pairing the frames of two trees, from the roots down: siblings are sorted by what they are, and those of both sides meet. */
#include "frame_pairs.h"

#include "base/map.h"
#include "base/text.h"
#include "call_tree.h"

#include <errno.h>
#include <stdlib.h>

struct sibling {
    uint64_t name, file;  /* hashes */
    uint32_t node;
    uint8_t side;
    bool paired;
};

struct pairing {
    const struct flame_side *sides[2];
    struct frame_pairs *pairs;
    struct sibling *siblings; /* children of one pair, of both sides */
    size_t count;
};

/* --- siblings -------------------------------------------------------------------------------------------------------- */

static uint64_t hash_text(const struct text *text)
{
    return hash_bytes(text->data ? text->data : "", text->length);
}

static struct sibling sibling_of(const struct flame_side *side, uint32_t index, uint8_t which)
{
    const struct context_node *node = &side->context->nodes[index];
    bool is_call = node->flags & (CONTEXT_CALL | CONTEXT_LAUNCHED);
    struct text name = TEXT_INIT, file = TEXT_INIT;
    context_node_name(side->trace, node, &name);
    context_node_file(side->trace, node, &file);
    struct sibling sibling = {.name = hash_u64(hash_text(&name) + (is_call ? 1U + node->span_kind : 0)), .file = hash_text(&file), .node = index, .side = which};
    text_finish(&name);
    text_finish(&file);
    return sibling;
}

static int compare_siblings(const void *left, const void *right)
{
    const struct sibling *a = left, *b = right;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    if (a->side != b->side)
        return a->side < b->side ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static void gather_children(struct pairing *pairing, uint32_t pair)
{
    pairing->count = 0;
    for (uint8_t side = 0; side < 2; side++) {
        const struct context_node *nodes = pairing->sides[side]->context->nodes;
        for (uint32_t node = pairing->pairs->pairs[pair].first[side]; node != ID_NONE; node = pairing->pairs->next[side][node])
            for (uint32_t child = nodes[node].first_child; child != ID_NONE; child = nodes[child].next_sibling)
                pairing->siblings[pairing->count++] = sibling_of(pairing->sides[side], child, side);
    }
    qsort(pairing->siblings, pairing->count, sizeof *pairing->siblings, compare_siblings);
}

/* --- pairs ----------------------------------------------------------------------------------------------------------- */

static void add_member(struct pairing *pairing, struct frame_pair *pair, uint8_t side, uint32_t node)
{
    const struct context_node *facts = &pairing->sides[side]->context->nodes[node];
    pairing->pairs->next[side][node] = pair->first[side];
    pair->first[side] = node;
    pair->weight[side] += facts->total_weight;
    pair->count[side] += facts->total_count;
    if (side == 0)
        pairing->pairs->pair_of[node] = (uint32_t)(pair - pairing->pairs->pairs);
}

/* Makes one pair of the siblings in [begin, end) that have none yet, where both sides have some. */
static void pair_up(struct pairing *pairing, size_t begin, size_t end)
{
    bool there[2] = {false, false};
    for (size_t i = begin; i < end; i++)
        there[pairing->siblings[i].side] |= !pairing->siblings[i].paired;
    if (!there[0] || !there[1])
        return;
    struct frame_pair *pair = &pairing->pairs->pairs[pairing->pairs->count++];
    *pair = (struct frame_pair){.first = {ID_NONE, ID_NONE}};
    for (size_t i = begin; i < end; i++) {
        struct sibling *sibling = &pairing->siblings[i];
        if (!sibling->paired)
            add_member(pairing, pair, sibling->side, sibling->node);
        sibling->paired = true;
    }
}

/* Siblings of one name: file by file, then what is left of them. */
static void pair_name(struct pairing *pairing, size_t begin, size_t end)
{
    const struct sibling *siblings = pairing->siblings;
    for (size_t at = begin, next; at < end; at = next) {
        for (next = at + 1; next < end && siblings[next].file == siblings[at].file;)
            next++;
        pair_up(pairing, at, next);
    }
    pair_up(pairing, begin, end);
}

static void pair_all(struct pairing *pairing)
{
    const struct sibling *siblings = pairing->siblings;
    for (uint32_t pair = 0; pair < pairing->pairs->count; pair++) { /* it grows meanwhile */
        gather_children(pairing, pair);
        for (size_t at = 0, next; at < pairing->count; at = next) {
            for (next = at + 1; next < pairing->count && siblings[next].name == siblings[at].name;)
                next++;
            pair_name(pairing, at, next);
        }
    }
}

int frame_pairs_make(struct frame_pairs *pairs, const struct flame_side *first, const struct flame_side *second)
{
    size_t count[2] = {first->context->count, second->context->count};
    *pairs = (struct frame_pairs){
        .pairs = calloc(count[0] + 1, sizeof *pairs->pairs), .pair_of = malloc((count[0] + 1) * sizeof *pairs->pair_of),
        .next = {malloc((count[0] + 1) * sizeof *pairs->next[0]), malloc((count[1] + 1) * sizeof *pairs->next[1])},
    };
    struct pairing pairing = {.sides = {first, second}, .pairs = pairs, .siblings = malloc((count[0] + count[1] + 1) * sizeof *pairing.siblings)};
    bool failed = !pairs->pairs || !pairs->pair_of || !pairs->next[0] || !pairs->next[1] || !pairing.siblings;
    for (size_t i = 0; !failed && i < count[0]; i++)
        pairs->pair_of[i] = ID_NONE;
    if (!failed && count[0] && count[1]) {
        struct frame_pair *roots = &pairs->pairs[pairs->count++];
        *roots = (struct frame_pair){.first = {ID_NONE, ID_NONE}};
        add_member(&pairing, roots, 0, 0);
        add_member(&pairing, roots, 1, 0);
        pair_all(&pairing);
    }
    free(pairing.siblings);
    return failed ? -ENOMEM : 0;
}

void frame_pairs_finish(struct frame_pairs *pairs)
{
    free(pairs->pairs);
    free(pairs->pair_of);
    free(pairs->next[0]);
    free(pairs->next[1]);
}
