/* SPDX-License-Identifier: MIT */
/* Gives the terminal back however this process ends: shared by the files that hold it. */
#ifndef HP_TUI_TERMINAL_GUARD_H
#define HP_TUI_TERMINAL_GUARD_H

#include <stdbool.h>

void terminal_guard_begin(void); /* before the terminal is touched */
void terminal_guard_know(const char *leave_screen, const char *show_cursor); /* as terminfo has them; NULL or -1: it has none */
void terminal_guard_end(void);
bool terminal_guard_quit(void); /* a signal asks us to end */

#endif
