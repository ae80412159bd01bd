/* SPDX-License-Identifier: MIT */
/* The Mandelbrot set, point by point: nearly all of its time is spent in fractal_escape_time. */
#include "fractal.h"

__attribute__((noinline)) static int fractal_escape_time(double real, double imaginary, int limit)
{
    double x = 0, y = 0;
    for (int iteration = 0; iteration < limit; iteration++) {
        double x_squared = x * x, y_squared = y * y;
        if (x_squared + y_squared > 4)
            return iteration;
        y = 2 * x * y + imaginary;
        x = x_squared - y_squared + real;
    }
    return limit;
}

long fractal_count_inside(int size, int limit)
{
    long inside = 0;
    for (int row = 0; row < size; row++)
        for (int column = 0; column < size; column++)
            inside += fractal_escape_time(-2 + 2.5 * column / size, -1.25 + 2.5 * row / size, limit) == limit;
    return inside;
}
