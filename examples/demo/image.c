/* SPDX-License-Identifier: MIT */
/* The demo's shared library: one hot function, image_smooth. */
#include "image.h"

#include <stdlib.h>

float *image_create(int side)
{
    float *image = malloc((size_t)side * (size_t)side * sizeof *image);
    for (int i = 0; image && i < side * side; i++)
        image[i] = (float)(i * 7919 % 256) / 255.0f;
    return image;
}

/* Each inner pixel becomes a blend with its neighbours: those above and left are new already, so that no compiler can
 * do it for many at once. */
void image_smooth(float *image, int side)
{
    for (int y = 1; y < side - 1; y++)
        for (int x = 1; x < side - 1; x++) {
            float *pixel = &image[y * side + x];
            *pixel = 0.5f * *pixel + 0.125f * (pixel[-1] + pixel[1] + pixel[-side] + pixel[side]);
        }
}

float image_mean(const float *image, int side)
{
    double sum = 0;
    for (int i = 0; i < side * side; i++)
        sum += (double)image[i];
    return (float)(sum / ((double)side * side));
}
