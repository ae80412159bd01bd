/* SPDX-License-Identifier: MIT */
/* Numbers for people: the same number looks the same in every front end. Machines get integers elsewhere. */
#ifndef HP_VIEW_UNITS_H
#define HP_VIEW_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* All write at most size bytes, NUL-terminated, and return their first argument. 32 bytes are enough for each. */
char *format_duration(char *text, size_t size,
                      int64_t duration_ns); /* "0", "850 ns", "12.3 us", "4.56 ms", "1.234 s", "2 m 05 s" */
/* One unit for a whole column, so that numbers can be compared by eye; picked for its largest number. */
struct time_unit {
    const char *name;
    double ns;
    int decimals;
};
const struct time_unit *time_unit_for(int64_t largest_ns);
char *format_in_unit(char *text, size_t size, int64_t duration_ns, const struct time_unit *unit); /* without the unit */
char *format_count(char *text, size_t size, uint64_t count);                                      /* "12,345" */
char *format_bytes(char *text, size_t size, uint64_t bytes);              /* "512 B", "1.5 KiB", "3.2 GiB" */
/* A value of a counter in a unit as UCUM writes it: "79.6 MiB", "12.5 W", "123,456". */
char *format_quantity(char *text, size_t size, double value, const char *unit);
char *format_percent(char *text, size_t size, double part, double whole); /* "12.3"; "" when whole is not positive */
/* A bar of `cells` character cells for part/whole in eighths of a cell; ASCII '#' where UTF-8 is not allowed. size >=
 * 3*cells+1. */
char *format_bar(char *text, size_t size, double part, double whole, unsigned cells, int utf8);

#endif
