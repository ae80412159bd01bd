/* SPDX-License-Identifier: MIT */
/* Small texts without the C library's formatting, which locks and allocates. */
#include "runtime.h"

size_t rt_length(const char *text)
{
    size_t length = 0;
    while (text[length])
        length++;
    return length;
}

char *rt_put_text(char *out, const char *text)
{
    while (*text)
        *out++ = *text++;
    *out = 0;
    return out;
}

char *rt_put_number(char *out, uint64_t number)
{
    char digits[24];
    unsigned count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    while (count)
        *out++ = digits[--count];
    *out = 0;
    return out;
}

char *rt_put_hex(char *out, uint64_t number)
{
    for (int shift = 60; shift >= 0; shift -= 4)
        *out++ = "0123456789abcdef"[number >> shift & 15];
    *out = 0;
    return out;
}
