/* SPDX-License-Identifier: MIT */
/* Cleanup by attribute and hand-over: a local frees itself on every return path unless it is taken. */
#ifndef HP_BASE_CLEANUP_H
#define HP_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* CLEANUP(ring_destroyp) struct ring *ring = ...;  calls ring_destroyp(&ring) when the scope ends. */
#define CLEANUP(function) __attribute__((cleanup(function), unused)) /* unused: some exist for their end alone */

/* Defines NAMEp(type *): calls NAME on a non-NULL pointer. Use once in the header that declares NAME. */
#define DEFINE_CLEANUP(type, name)                                                                                     \
    static inline __attribute__((unused)) void name##p(type *object)                                                   \
    {                                                                                                                  \
        if (*object)                                                                                                   \
            name(*object);                                                                                             \
    }

/* Hands a pointer over: yields its value and leaves NULL behind, so that its cleanup does nothing. */
#define TAKE_PTR(pointer)                                                                                              \
    __extension__({                                                                                                    \
        __typeof__(pointer) taken_ = (pointer);                                                                        \
        (pointer) = NULL;                                                                                              \
        taken_;                                                                                                        \
    })

/* The same for descriptors; an unset descriptor is -1. */
#define TAKE_FD(descriptor)                                                                                            \
    __extension__({                                                                                                    \
        int taken_ = (descriptor);                                                                                     \
        (descriptor) = -1;                                                                                             \
        taken_;                                                                                                        \
    })

static inline __attribute__((unused)) void freep(void *pointer)
{
    free(*(void **)pointer);
}

static inline __attribute__((unused)) void closep(int *descriptor)
{
    if (*descriptor >= 0)
        close(*descriptor);
}

static inline __attribute__((unused)) void fclosep(FILE **file)
{
    if (*file)
        fclose(*file);
}

#endif
