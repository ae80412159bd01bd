/* SPDX-License-Identifier: MIT */
/* The demo's shared library: square images of one channel. */
#ifndef DEMO_IMAGE_H
#define DEMO_IMAGE_H

float *image_create(int side); /* a pattern; freed by free(); NULL when memory is out */
void image_smooth(float *image, int side);
float image_mean(const float *image, int side);

#endif
