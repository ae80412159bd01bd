/* SPDX-License-Identifier: MIT */
/* Numbers for people. */
#include "units.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

char *format_duration(char *text, size_t size, int64_t duration_ns)
{
    const char *sign = duration_ns < 0 ? "-" : "";
    uint64_t value = duration_ns < 0 ? 0 - (uint64_t)duration_ns : (uint64_t)duration_ns;
    double number = (double)value;
    /* The limits keep a rounded number from reaching the next unit: 999.95 us would be "1000.0 us". */
    if (value == 0)
        snprintf(text, size, "0");
    else if (value < 1000)
        snprintf(text, size, "%s%u ns", sign, (unsigned)value);
    else if (value < 999950)
        snprintf(text, size, "%s%.1f us", sign, number / 1e3);
    else if (value < 999995000)
        snprintf(text, size, "%s%.2f ms", sign, number / 1e6);
    else if (value < 99999500000)
        snprintf(text, size, "%s%.3f s", sign, number / 1e9);
    else if (value < 3600000000000)
        snprintf(text, size, "%s%llu m %02llu s", sign, (unsigned long long)(value / 60000000000),
                 (unsigned long long)(value / 1000000000 % 60));
    else
        snprintf(text, size, "%s%llu h %02llu m", sign, (unsigned long long)(value / 3600000000000),
                 (unsigned long long)(value / 60000000000 % 60));
    return text;
}

const struct time_unit *time_unit_for(int64_t largest_ns)
{
    static const struct time_unit units[] = {{"s", 1e9, 3}, {"ms", 1e6, 2}, {"us", 1e3, 1}, {"ns", 1, 0}};
    const size_t last = sizeof units / sizeof *units - 1;
    for (size_t i = 0; i < last; i++)
        if ((double)largest_ns >= (i ? 1 : 10) * units[i].ns)
            return &units[i];
    return &units[last];
}

char *format_in_unit(char *text, size_t size, int64_t duration_ns, const struct time_unit *unit)
{
    if (duration_ns)
        snprintf(text, size, "%.*f", unit->decimals, (double)duration_ns / unit->ns);
    else
        snprintf(text, size, "0");
    return text;
}

char *format_count(char *text, size_t size, uint64_t count)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    size_t used = 0;
    for (int i = 0; i < length && used + 2 < size; i++) {
        if (i && (length - i) % 3 == 0)
            text[used++] = ',';
        text[used++] = digits[i];
    }
    text[used] = '\0';
    return text;
}

char *format_bytes(char *text, size_t size, uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double number = (double)bytes;
    size_t unit = 0;
    while (number >= 1023.95 && unit < sizeof units / sizeof *units - 1) {
        number /= 1024;
        unit++;
    }
    snprintf(text, size, unit ? "%.1f %s" : "%.0f %s", number, units[unit]);
    return text;
}

char *format_quantity(char *text, size_t size, double value, const char *unit)
{
    bool is_bytes = strncmp(unit, "By", 2) == 0 && (!unit[2] || unit[2] == '/'); /* and so many a second */
    char number[32];
    if (is_bytes && value >= 0 && value < 0x1p63) {
        snprintf(text, size, "%s%s", format_bytes(number, sizeof number, (uint64_t)(value + 0.5)), unit + 2);
        return text;
    }
    if (fabs(value) >= 9999.5 && fabs(value) < 0x1p53) /* "%g" would write 1.235e+05 */
        snprintf(text, size, "%s%s", value < 0 ? "-" : "", format_count(number, sizeof number, (uint64_t)(fabs(value) + 0.5)));
    else
        snprintf(text, size, "%.4g", value);
    size_t used = strlen(text);
    if (*unit && strcmp(unit, "1") != 0)
        snprintf(text + used, size - used, " %s", unit);
    return text;
}

char *format_percent(char *text, size_t size, double part, double whole)
{
    if (whole > 0)
        snprintf(text, size, "%.1f", 100.0 * part / whole);
    else
        text[0] = '\0';
    return text;
}

char *format_bar(char *text, size_t size, double part, double whole, unsigned cells, int utf8)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
    double share = whole > 0 ? part / whole : 0;
    unsigned left = (unsigned)lround(fmin(fmax(share, 0), 1) * cells * 8);
    size_t used = 0;
    text[0] = '\0';
    while (left) {
        unsigned step = left < 8 ? left : 8;
        const char *cell = utf8 ? eighths[step] : step >= 4 ? "#" : "";
        size_t length = strlen(cell);
        if (used + length >= size)
            break;
        memcpy(text + used, cell, length + 1);
        used += length;
        left -= step;
    }
    return text;
}
