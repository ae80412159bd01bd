/* SPDX-License-Identifier: MIT */
/*
 * What the user chose in a tab, as texts and numbers one after the other: it outlives the trace that the tab was made from, whose ids a
 * newer trace need not have.
 */
#ifndef HP_TUI_MEMORY_H
#define HP_TUI_MEMORY_H

#include "base/text.h"

struct memory {
    const char *at, *end;
};

void memory_add_text(struct text *out, const char *text);
void memory_add_number(struct text *out, int64_t number);
struct memory memory_of(const struct text *text);
/* In the order in which they were added; "" and 0 once nothing is left. */
const char *memory_text(struct memory *memory);
int64_t memory_number(struct memory *memory);

struct list_view;
/* The selected row by its heading and name, how far down the screen it is, and what the list is sorted by. */
void list_remember(const struct list_view *list, struct text *out);
void list_recall(struct list_view *list, struct memory *memory);

#endif
