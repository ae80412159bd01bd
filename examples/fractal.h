/* SPDX-License-Identifier: MIT */
/* The demo's library: the Mandelbrot set. */
#ifndef HP_EXAMPLES_FRACTAL_H
#define HP_EXAMPLES_FRACTAL_H

/* Points of a size x size grid over [-2, 0.5] x [-1.25, 1.25] that stay bounded for `limit` iterations. */
long fractal_count_inside(int size, int limit);

#endif
