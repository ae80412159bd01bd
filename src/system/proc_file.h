/* SPDX-License-Identifier: MIT */
/* Small reads from /proc and /sys below a root, so that tests can bring a machine of their own. */
#ifndef HP_SYSTEM_PROC_FILE_H
#define HP_SYSTEM_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* A number that may be missing: absent is never 0. */
struct setting {
    bool known;
    long value;
};

/* The first size-1 bytes of root+path, NUL-terminated, without the last newline; false (and "") if it can't be read. */
bool proc_read_text(const char *root, const char *path, char *ret_text, size_t size);
struct setting proc_read_number(const char *root, const char *path);
bool proc_exists(const char *root, const char *path);
/* The value behind "key" and blanks, tabs, ':' or '=' at the start of a line (quotes taken off). */
bool proc_find_value(const char *text, const char *key, char *ret_value, size_t size);
/* True if `word` stands in `text` between blanks. */
bool proc_has_word(const char *text, const char *word);

#endif
