/* SPDX-License-Identifier: MIT */
/*
 * Call stacks as paths in one tree, so that a stack seen before costs four bytes. Memory is bounded: a full tree is
 * forgotten and grown anew (an epoch); node numbers go on, so that a number means one node for ever.
 */
#ifndef HP_RECORD_STACK_TREE_H
#define HP_RECORD_STACK_TREE_H

#include "base/cleanup.h"
#include "wire/records.h"

#include <stdbool.h>
#include <stddef.h>

struct spool;
struct stack_tree;

enum { STACK_NO_MODULE = -1 };

struct stack_place {
    uint32_t module;  /* number; UINT32_MAX = nothing is mapped there */
    uint32_t period;  /* JIT code: a count of time, as code at one address changes; else 0 */
    uint64_t address;
};

/* node_limit 0 = 512 Ki nodes, 32 MiB. */
int stack_tree_create(size_t node_limit, struct stack_tree **ret_tree);
void stack_tree_destroy(struct stack_tree *tree);
DEFINE_CLEANUP(struct stack_tree *, stack_tree_destroy)

/* The number of the innermost node; places are innermost first. 0 for no places. -ENOMEM. */
int stack_tree_intern(struct stack_tree *tree, const struct stack_place *places, size_t count, int64_t time_ns,
                      uint32_t *ret_node);
/* Writes the nodes made since the last call: all, or only when many have gathered. */
int stack_tree_flush(struct stack_tree *tree, struct spool *spool, bool all);

struct stack_tree_statistics {
    uint64_t nodes;  /* made in all */
    uint64_t epochs; /* times the tree was forgotten */
    size_t bytes;
};
void stack_tree_statistics(const struct stack_tree *tree, struct stack_tree_statistics *ret_statistics);

#endif
