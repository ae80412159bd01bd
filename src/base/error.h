/* SPDX-License-Identifier: MIT */
/* Errors for people: a negative errno plus a text that says what failed, where, and what to do next. */
#ifndef HP_BASE_ERROR_H
#define HP_BASE_ERROR_H

struct error {
    int code;       /* 0 = none, else -errno */
    char text[640]; /* always NUL-terminated; longer messages are cut with "..." */
};

#define ERROR_INIT {0}

/* Stores code and the formatted text unless err is NULL. Returns code, so that callers write `return error_set(...)`. */
int error_set(struct error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Like error_set, with ": " and strerror(-code) behind the text. */
int error_set_errno(struct error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));


#endif
