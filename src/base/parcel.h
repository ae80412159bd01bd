/* SPDX-License-Identifier: MIT */
/*
 * Bytes that go from one process of a program to another of the same: numbers, arrays and texts, taken out in the order in which they were
 * put in. Who packs never fails in between, but once at the end; who unpacks what is too short gets nothing, and it sticks.
 */
#ifndef HP_BASE_PARCEL_H
#define HP_BASE_PARCEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct parcel {
    uint8_t *data;
    size_t size, capacity;
    size_t position; /* of who takes out */
    bool failed;     /* out of memory, or too short */
};

#define PARCEL_INIT {0}

void parcel_finish(struct parcel *parcel);

void parcel_put(struct parcel *parcel, const void *items, size_t count, size_t item_size); /* the count is put in as well */
void parcel_put_u64(struct parcel *parcel, uint64_t number);
void parcel_put_text(struct parcel *parcel, const char *text);

/* Items inside the parcel, aligned for all plain types. NULL without any. */
const void *parcel_take(struct parcel *parcel, size_t item_size, size_t *ret_count);
uint64_t parcel_take_u64(struct parcel *parcel);
const char *parcel_take_text(struct parcel *parcel); /* "" where there is none */

#endif
