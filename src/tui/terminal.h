/* SPDX-License-Identifier: MIT */
/*
 * The terminal through ncurses: shows a canvas, tells what the user did, and is given back as it was found - at the end, on an
 * error, on a signal that ends us, and while we are stopped.
 */
#ifndef HP_TUI_TERMINAL_H
#define HP_TUI_TERMINAL_H

#include "canvas.h"

struct error;

enum event_kind { EVENT_NONE, EVENT_KEY, EVENT_MOUSE, EVENT_RESIZE, EVENT_QUIT };
enum mouse_kind { MOUSE_CLICK, MOUSE_DOUBLE, MOUSE_RIGHT, MOUSE_WHEEL_UP, MOUSE_WHEEL_DOWN };

/* Keys without a character. A character's code is its Unicode value; Ctrl-A is 1. */
enum key_code {
    KEY_CODE_FIRST = 0x110000,
    KEY_CODE_LEFT, KEY_CODE_RIGHT, KEY_CODE_UP, KEY_CODE_DOWN, KEY_CODE_PAGE_UP, KEY_CODE_PAGE_DOWN, KEY_CODE_HOME, KEY_CODE_END,
    KEY_CODE_BACKSPACE, KEY_CODE_DELETE, KEY_CODE_INSERT, KEY_CODE_BACK_TAB, KEY_CODE_SHIFT_LEFT, KEY_CODE_SHIFT_RIGHT,
    KEY_CODE_F1, KEY_CODE_F12 = KEY_CODE_F1 + 11,
    KEY_CODE_OTHER
};

struct input {
    enum event_kind event;
    uint32_t key;
    enum mouse_kind mouse;
    int y, x;
    bool control; /* held while clicking or turning the wheel */
};

struct terminal;

/* NULL: a full-screen UI can be shown here; else why not. */
const char *terminal_unfit(void);
int terminal_open(struct terminal **ret_terminal, struct error *err);
void terminal_close(struct terminal *terminal);
DEFINE_CLEANUP(struct terminal *, terminal_close)

/* Size, character set and colours of the terminal go into the canvas. */
int terminal_fit(struct terminal *terminal, struct canvas *canvas);
void terminal_show(struct terminal *terminal, const struct canvas *canvas, int cursor_y, int cursor_x); /* cursor -1: hidden */
/* Waits at most timeout_ms (-1: for ever); EVENT_NONE when nothing happened. */
struct input terminal_wait(struct terminal *terminal, int timeout_ms);
/* Returns, with EVENT_NONE, also when something can be read from one of the others (-1: is none). */
struct input terminal_wait_also(struct terminal *terminal, const int *others, unsigned count, int timeout_ms);
/* All keys come as keys: none sends a signal or stops the output. */
void terminal_set_raw(struct terminal *terminal, bool raw);
void terminal_set_theme(struct terminal *terminal, enum theme theme);
enum theme terminal_theme(const struct terminal *terminal);
/* Hands a text to the clipboard of whoever sits at the terminal (OSC 52). */
void terminal_copy(struct terminal *terminal, const char *text, size_t length);

#endif
