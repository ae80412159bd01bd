/* SPDX-License-Identifier: MIT */
/* Everything starts at a multiple of 8 bytes: first the count, then the items. */
#include "parcel.h"

#include "array.h"

#include <stdlib.h>
#include <string.h>

#define ALIGNED(size) (((size) + 7) & ~(size_t)7)

void parcel_finish(struct parcel *parcel)
{
    free(parcel->data);
    *parcel = (struct parcel)PARCEL_INIT;
}

void parcel_put(struct parcel *parcel, const void *items, size_t count, size_t item_size)
{
    const uint64_t number = count;
    size_t bytes, needed;
    bool fits = !__builtin_mul_overflow(count, item_size, &bytes) && bytes < SIZE_MAX / 4 &&
                !__builtin_add_overflow(parcel->size, sizeof number + ALIGNED(bytes), &needed);
    uint8_t *data = fits && !parcel->failed ? array_reserve(parcel->data, &parcel->capacity, needed, 1) : NULL;
    if (!data) {
        parcel->failed = true;
        return;
    }
    parcel->data = data;
    memcpy(data + parcel->size, &number, sizeof number);
    if (bytes)
        memcpy(data + parcel->size + sizeof number, items, bytes);
    memset(data + parcel->size + sizeof number + bytes, 0, ALIGNED(bytes) - bytes);
    parcel->size = needed;
}

void parcel_put_u64(struct parcel *parcel, uint64_t number)
{
    parcel_put(parcel, &number, 1, sizeof number);
}

void parcel_put_text(struct parcel *parcel, const char *text)
{
    parcel_put(parcel, text, strlen(text) + 1, 1);
}

const void *parcel_take(struct parcel *parcel, size_t item_size, size_t *ret_count)
{
    uint64_t number = 0;
    size_t bytes, left = parcel->size - parcel->position;
    *ret_count = 0;
    if (!parcel->failed && left >= sizeof number)
        memcpy(&number, parcel->data + parcel->position, sizeof number);
    else
        parcel->failed = true;
    if (parcel->failed || __builtin_mul_overflow(number, item_size, &bytes) || bytes > left - sizeof number ||
        ALIGNED(bytes) > left - sizeof number) {
        parcel->failed = true;
        return NULL;
    }
    const uint8_t *items = parcel->data + parcel->position + sizeof number;
    parcel->position += sizeof number + ALIGNED(bytes);
    *ret_count = number;
    return number ? items : NULL;
}

uint64_t parcel_take_u64(struct parcel *parcel)
{
    size_t count;
    const void *item = parcel_take(parcel, sizeof(uint64_t), &count);
    uint64_t number = 0;
    if (count == 1)
        memcpy(&number, item, sizeof number);
    else
        parcel->failed = true;
    return number;
}

const char *parcel_take_text(struct parcel *parcel)
{
    size_t count;
    const char *text = parcel_take(parcel, 1, &count);
    if (count && text[count - 1] == '\0')
        return text;
    parcel->failed = true;
    return "";
}
