/* SPDX-License-Identifier: MIT */
/* Where library code sends one-line warnings: the host decides what becomes of them. A NULL log swallows them. */
#ifndef HP_BASE_LOG_H
#define HP_BASE_LOG_H

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING };

struct log {
    void (*write)(void *context, enum log_level level, const char *line); /* line without newline */
    void *context;
};

void log_write(const struct log *log, enum log_level level, const char *format, ...) __attribute__((format(printf, 3, 4)));
#define log_info(log, ...) log_write((log), LOG_INFO, __VA_ARGS__)
#define log_warning(log, ...) log_write((log), LOG_WARNING, __VA_ARGS__)
#define log_debug(log, ...) log_write((log), LOG_DEBUG, __VA_ARGS__)

#endif
