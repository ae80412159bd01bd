/* SPDX-License-Identifier: MIT */
/* Keys and what they do, from one list. */
#ifndef HP_TUI_KEYS_H
#define HP_TUI_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum action {
    ACTION_NONE,
    ACTION_HELP, ACTION_QUIT, ACTION_NEXT_TAB, ACTION_PREVIOUS_TAB, ACTION_TAB_NUMBER,
    ACTION_UP, ACTION_DOWN, ACTION_PAGE_UP, ACTION_PAGE_DOWN, ACTION_FIRST, ACTION_LAST,
    ACTION_PAN_LEFT, ACTION_PAN_RIGHT, ACTION_ZOOM_IN, ACTION_ZOOM_OUT, ACTION_FIT,
    ACTION_NEXT_SPAN, ACTION_PREVIOUS_SPAN, ACTION_OUTER_SPAN, ACTION_MARK, ACTION_FOLD, ACTION_FOLD_ALL, ACTION_DEPTH,
    ACTION_SORT, ACTION_REVERSE, ACTION_HIDE_IDLE, ACTION_DETAILS, ACTION_TURN, ACTION_MEASURE, ACTION_COMPARE,
    ACTION_GO_PATH, ACTION_FIND_PATH,
    ACTION_GO, ACTION_BACK, ACTION_SEARCH, ACTION_NEXT_MATCH, ACTION_PREVIOUS_MATCH, ACTION_FILTER, ACTION_CANCEL, ACTION_RESET,
    ACTION_COPY, ACTION_EXPORT, ACTION_THEME, ACTION_REDRAW, ACTION_OPEN_PAGE,
    ACTION_FOLLOW, ACTION_PROGRAM, ACTION_PROGRAM_LARGE, ACTION_PROGRAM_KEYBOARD, ACTION_END_PROGRAM
};

/* Where a key holds: bits. */
enum key_place { KEYS_TIMELINE = 1, KEYS_FLAME = 2, KEYS_TREE = 4, KEYS_LISTS = 8, KEYS_TEXTS = 16, KEYS_PATH = 32, KEYS_ALL = 0xff, KEYS_LIVE = 0x100, KEYS_ROOFLINE = 0x200 };

struct key_binding {
    enum action action;
    const char *names;
    unsigned places;
    const char *help;
};
extern const struct key_binding key_bindings[];
extern const size_t key_binding_count;

/* What a key does in a place; ret_number: which of the binding's keys it was, from 0. */
enum action key_action(uint32_t key, unsigned place, int *ret_number);
/* "everywhere", "Timeline", ...; */
const char *key_place_name(unsigned places);
/* Whether this binding holds in a place, with at least one key that an earlier one has not. */
bool key_holds(const struct key_binding *binding, unsigned place, char *names, size_t size); /* those of its keys that do it there */

struct text;
void keys_describe(struct text *out); /* the table as text, for help and man page */

#endif
