/* SPDX-License-Identifier: MIT */
/* One-line messages to whoever hosts the library code. */
#include "base/log.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

void log_write(const struct log *log, enum log_level level, const char *format, ...)
{
    if (!log || !log->write)
        return;
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (written < 0)
        return;
    line_clean(line); /* one message is one line, whatever a path in it holds */
    log->write(log->context, level, line);
}
