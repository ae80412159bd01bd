/* SPDX-License-Identifier: MIT */
/* The nesting sweep: a stack whose ends never rise towards the top. */
#include "nesting.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

static void pop(struct nesting *nesting)
{
    nesting->depth--;
    if (nesting->closed)
        nesting->closed(nesting->context, &nesting->stack[nesting->depth]);
}

static void cover(struct nesting_entry *parent, int64_t begin_ns, int64_t end_ns)
{
    int64_t from_ns = begin_ns > parent->covered_until_ns ? begin_ns : parent->covered_until_ns;
    if (end_ns > from_ns) {
        parent->children_ns += end_ns - from_ns;
        parent->covered_until_ns = end_ns;
    }
}

static int push(struct nesting *nesting, const struct nesting_entry *entry)
{
    struct nesting_entry *stack = array_reserve(nesting->stack, &nesting->capacity, nesting->depth + 1, sizeof(*stack));
    if (!stack)
        return -ENOMEM;
    nesting->stack = stack;
    nesting->stack[nesting->depth++] = *entry;
    return 0;
}

int nesting_add(struct nesting *nesting, int64_t begin_ns, int64_t end_ns, uint32_t id, uint32_t tag, bool holds, uint32_t *ret_parent)
{
    const struct nesting_entry added = {
        .begin_ns = begin_ns, .end_ns = end_ns, .covered_until_ns = begin_ns, .id = id, .tag = tag};
    while (nesting->depth) {
        const struct nesting_entry *top = &nesting->stack[nesting->depth - 1];
        if (top->end_ns >= end_ns && top->end_ns > begin_ns)
            break;
        pop(nesting);
    }
    *ret_parent = ID_NONE;
    if (nesting->depth) {
        struct nesting_entry *parent = &nesting->stack[nesting->depth - 1];
        *ret_parent = parent->id;
        cover(parent, begin_ns, end_ns);
    }
    if (holds)
        return push(nesting, &added);
    if (nesting->closed)
        nesting->closed(nesting->context, &added);
    return 0;
}

void nesting_close_all(struct nesting *nesting)
{
    while (nesting->depth)
        pop(nesting);
}

void nesting_finish(struct nesting *nesting)
{
    free(nesting->stack);
    nesting->stack = NULL;
    nesting->depth = nesting->capacity = 0;
}
