/* SPDX-License-Identifier: MIT */
/* Text building and small parsers. A builder never overflows: it remembers failure and says so once, at the end. */
#ifndef HP_BASE_TEXT_H
#define HP_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

struct text {
    char *data;      /* NUL-terminated once anything was added; NULL before */
    size_t length, capacity;
    size_t maximum;  /* bytes; 0 = 1 GiB */
    bool failed;     /* out of memory or over maximum: content is cut */
};

#define TEXT_INIT {0}

void text_finish(struct text *text);
void text_clear(struct text *text);
void text_add(struct text *text, const char *data, size_t length);
void text_add_string(struct text *text, const char *string);
void text_add_char(struct text *text, char character);
void text_addf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *text_take(struct text *text); /* the string (never NULL unless failed), owned by the caller; the builder is empty again */

/* Escapers: control characters and invalid UTF-8 never come through (invalid bytes become U+FFFD). No quotes added. */
void text_add_json(struct text *text, const char *data, size_t length);
void text_add_csv(struct text *text, const char *data, size_t length); /* a whole field, quoted where RFC 4180 asks for it */

/* One word of a command that somebody may paste into a shell: quoted where the shell would split or change it. */
void text_add_word(struct text *text, const char *word);

/* For a line on a screen: '?' for control characters, which could move the cursor or worse, and for those that turn the direction of
 * writing; U+FFFD for invalid bytes. */
void text_add_line(struct text *text, const char *data, size_t length);
void line_clean(char *line); /* the same in place: a blank for white space, '?' for all else that must not come through */

bool utf8_valid(const char *data, size_t length);
size_t utf8_decode(const char *data, size_t length, uint32_t *ret_code); /* bytes taken, >= 1; U+FFFD for an invalid byte */

/* "4096", "64K", "64KiB", "1.5G" in bytes; "10", "1.5", "250ms", "2m" in ns (a bare number is seconds). 0 or -EINVAL/-ERANGE. */
int parse_size(const char *text, uint64_t *ret_bytes);
int parse_duration(const char *text, uint64_t *ret_ns);
int parse_u64(const char *text, uint64_t *ret_value); /* decimal or 0x; the whole text must be used */
int parse_double(const char *text, double *ret_value); /* independent of the locale */

/* Glob as SPEC's filters have it: '*' matches anything incl. '/', '?' one character, '\' escapes. Whole-string match. */
bool glob_match(const char *pattern, const char *text);

#endif
