/* SPDX-License-Identifier: MIT */
/*
 * What the target wrote to its terminal comes to ours later, once more: whatever asks the terminal for an answer must not. The UI's
 * screen has answered already, and a second answer would be typed into the target, or into the shell after it.
 */
#ifndef HP_RECORD_TERMINAL_QUESTIONS_H
#define HP_RECORD_TERMINAL_QUESTIONS_H

#include <stddef.h>

enum { TERMINAL_QUESTION_MAX = 256 }; /* a longer sequence is none, but for its begin */

struct terminal_questions { /* zero is the begin */
    int state;
    size_t count; /* of a sequence whose end has not come */
    char held[TERMINAL_QUESTION_MAX];
};

/* out: room for size + TERMINAL_QUESTION_MAX bytes. Returns how many are to be written; an unfinished sequence waits for the next call. */
size_t terminal_questions_remove(struct terminal_questions *questions, const char *bytes, size_t size, char *out);
/* What still waits, at the end of all. */
size_t terminal_questions_rest(struct terminal_questions *questions, char *out);

#endif
