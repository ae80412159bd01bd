/* SPDX-License-Identifier: MIT */
/* Sequences of ECMA-48 and of xterm, kitty and others that a terminal answers by typing. */
#include "terminal_questions.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PLAIN, ESCAPE, SEQUENCE, STRING, STRING_END, DROPPED, DROPPED_END };
enum { ENQUIRY = 0x05, BELL = 0x07, CANCEL = 0x18, SUBSTITUTE = 0x1a, ESC = 0x1b };

/* CSI 14 t and its like: sizes and titles. */
static bool is_report_of_window(const char *parameters)
{
    long what = strtol(parameters, NULL, 10);
    return what == 11 || (what >= 13 && what <= 16) || (what >= 18 && what <= 21);
}

/* ESC [ (<=>?) parameters (intermediate) final */
static bool is_asking_sequence(const char *held, size_t count)
{
    char final = held[count - 1], last = held[count - 2];
    char kind = count > 3 && held[2] >= '<' && held[2] <= '?' ? held[2] : 0;
    char between = count > 3 && last >= ' ' && last <= '/' ? last : 0;
    switch (final) {
    case 'c': /* what are you */
        return !between;
    case 'n': /* status, where is the cursor; with > it sets keys */
        return kind != '>' && !between;
    case 'p': case 'w': /* which mode, which state */
        return between == '$';
    case 'q':
        return kind == '>' && !between;
    case 'u':
        return kind == '?' || between == '$' || between == '&';
    case 'm': case 'S':
        return kind == '?';
    case 'x':
        return !kind && !between;
    case 'y':
        return between == '*';
    case 't':
        return !kind && !between && is_report_of_window(held + 2);
    default:
        return false;
    }
}

/* ESC ] 11 ; ?: colours, the clipboard. ESC P + q and $ q: capabilities and settings. ESC _ G a=q: pictures. */
static bool is_asking_string(const char *held, size_t count)
{
    if (held[1] == 'P')
        return count > 3 && (held[2] == '+' || held[2] == '$') && held[3] == 'q';
    if (held[1] == '_')
        return count > 2 && held[2] == 'G' && memmem(held, count, "a=q", 3);
    for (size_t i = 2; i + 2 < count; i++)
        if (held[i] == ';' && held[i + 1] == '?' && (held[i + 2] == ';' || held[i + 2] == BELL || held[i + 2] == ESC))
            return true;
    return false;
}

static int state_after_escape(char byte)
{
    if (byte == '[')
        return SEQUENCE;
    return byte == ']' || byte == 'P' || byte == '_' ? STRING : PLAIN;
}

/* With byte held as the last: the next state. PLAIN: the sequence is whole, or none. *ret_asks: it is to be left out. */
static int follow(const struct terminal_questions *questions, char byte, bool *ret_asks)
{
    const char *held = questions->held;
    size_t count = questions->count;
    bool cancelled = byte == CANCEL || byte == SUBSTITUTE, full = count == TERMINAL_QUESTION_MAX;
    switch (questions->state) {
    case ESCAPE:
        *ret_asks = byte == 'Z';
        return state_after_escape(byte);
    case SEQUENCE:
        *ret_asks = byte >= '@' && byte <= '~' && is_asking_sequence(held, count);
        return (byte >= '@' && byte <= '~') || cancelled || full ? PLAIN : SEQUENCE;
    case STRING:
        *ret_asks = (byte == BELL || full) && is_asking_string(held, count);
        if (full)
            return *ret_asks ? DROPPED : PLAIN;
        return byte == BELL || cancelled ? PLAIN : byte == ESC ? STRING_END : STRING;
    default:
        *ret_asks = byte == '\\' && is_asking_string(held, count);
        return PLAIN;
    }
}

/* The rest of a question that is longer than what is held. */
static int follow_dropped(int state, char byte)
{
    if (byte == CANCEL || byte == SUBSTITUTE || (state == DROPPED_END && byte == '\\'))
        return PLAIN;
    return byte == ESC ? DROPPED_END : DROPPED;
}

size_t terminal_questions_rest(struct terminal_questions *questions, char *out)
{
    size_t count = questions->count;
    memcpy(out, questions->held, count);
    questions->count = 0;
    questions->state = PLAIN;
    return count;
}

size_t terminal_questions_remove(struct terminal_questions *questions, const char *bytes, size_t size, char *out)
{
    size_t length = 0;
    for (size_t i = 0; i < size; i++) {
        bool asks = false;
        int next;
        if (questions->state >= DROPPED) {
            questions->state = follow_dropped(questions->state, bytes[i]);
            continue;
        }
        if (bytes[i] == ESC && questions->state != STRING) { /* whatever it cuts short is no question */
            length += terminal_questions_rest(questions, out + length);
            questions->state = ESCAPE;
            questions->held[questions->count++] = bytes[i];
            continue;
        }
        if (questions->state == PLAIN) {
            if (bytes[i] != ENQUIRY)
                out[length++] = bytes[i];
            continue;
        }
        questions->held[questions->count++] = bytes[i];
        next = follow(questions, bytes[i], &asks);
        if (asks)
            questions->count = 0;
        else if (next == PLAIN)
            length += terminal_questions_rest(questions, out + length);
        questions->state = next;
    }
    return length;
}
