/* SPDX-License-Identifier: MIT */
/* A calling context tree as a list of rows: which branches are open, and where a stack is in it. */
#ifndef HP_VIEW_CALL_TREE_H
#define HP_VIEW_CALL_TREE_H

#include "analysis/calling_context.h"
#include "grid.h"
#include "palette.h"

struct time_unit;

struct call_tree {
    const struct trace *trace;
    struct calling_context *context;
    bool *open;          /* by node */
};

enum call_tree_column { CALL_TREE_TOTAL, CALL_TREE_PERCENT, CALL_TREE_BAR, CALL_TREE_SELF, CALL_TREE_COUNT, CALL_TREE_PLACE, CALL_TREE_NAME, CALL_TREE_COLUMNS };
const struct grid_column *call_tree_columns(enum context_measure measure);

int call_tree_create(const struct trace *trace, const struct context_options *options, struct call_tree **ret_tree, struct error *err);
void call_tree_destroy(struct call_tree *tree);
DEFINE_CLEANUP(struct call_tree *, call_tree_destroy)

/* Rows of what is open; ids are nodes. */
void call_tree_fill(const struct call_tree *tree, struct grid *grid);
void call_tree_open_hottest(struct call_tree *tree);
void call_tree_close_all(struct call_tree *tree);
void call_tree_reveal(struct call_tree *tree, uint32_t node); /* opens what is above it */

/* Finding, in context_find.c. ID_NONE: there is no such node. */
/* The node that a stack ends in, or as much of it as there is; not in bottom-up trees. */
uint32_t context_find_stack(const struct trace *trace, const struct calling_context *context, stack_id stack);
/* The heaviest node of a function; of a traced call or of what one launched, by name and kind (-1: any). */
uint32_t context_find_function(const struct calling_context *context, string_id function);
uint32_t context_find_named_span(const struct calling_context *context, string_id name, int span_kind);
/* Where a span counts in a tree of calls, or of what they launched. */
uint32_t context_find_span(const struct trace *trace, const struct calling_context *context, bool bottom_up, span_id span);
/* The next node, in the order of the tree, whose name matches. */
uint32_t context_find_next(const struct trace *trace, const struct calling_context *context, const regex_t *pattern, uint32_t from, bool forward);

/* "[kernel]", "main", "[callers unknown]" ...; file:line where it is known, else the module; of a call its category. */
void context_node_name(const struct trace *trace, const struct context_node *node, struct text *out);
void context_node_place(const struct trace *trace, const struct context_node *node, struct text *out);
void context_node_file(const struct trace *trace, const struct context_node *node, struct text *out); /* its module's name; of a call its category */
enum colour context_node_colour(const struct context_node *node); /* COLOUR_WAIT: a call that waits */
/* What its weights and counts are of: "CPU time", "time in traced calls" ...; "samples", "calls", "commands". */
const char *context_measure_text(enum context_measure measure);
const char *context_measure_unit(enum context_measure measure);
/* A weight as text; of times in the unit, NULL: in its own. */
const char *context_weight_text(char *text, size_t size, enum context_measure measure, int64_t weight, const struct time_unit *unit);

#endif
