/* SPDX-License-Identifier: MIT */
/* The tables of a batch: each distinct string and track of a piece once, found by open addressing. */
#include "chrome_batch.h"

#include "base/array.h"
#include "base/map.h"

#include <stdlib.h>

void chrome_batch_finish(struct chrome_batch *batch)
{
    free(batch->events);
    free(batch->extras);
    free(batch->strings);
    free(batch->tracks);
    free(batch->string_slots);
    free(batch->track_slots);
    *batch = (struct chrome_batch){0};
}

/* For tables that live for one batch: speed matters, a crafted collision costs only the crafter's time within 4 MiB. */
static inline uint64_t quick_hash(const char *data, size_t size)
{
    uint64_t hash = size * UINT64_C(0x9e3779b97f4a7c15), word;
    for (; size >= 8; data += 8, size -= 8) {
        memcpy(&word, data, 8);
        hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
    }
    word = 0;
    if (size & 4) {
        uint32_t half;
        memcpy(&half, data, 4);
        word = half;
        data += 4;
    }
    for (size &= 3; size; size--)
        word = word << 8 | (uint8_t)*data++;
    hash = (hash ^ word) * UINT64_C(0xc4ceb9fe1a85ec53);
    return hash ^ hash >> 29;
}

/* Slots hold index + 1; doubled when half full. Returns false without memory. */
static bool slots_reserve(uint32_t **slots, size_t *slot_count, size_t count)
{
    if (count * 2 < *slot_count)
        return true;
    size_t wanted = *slot_count ? *slot_count * 2 : 1024;
    uint32_t *grown = calloc(wanted, sizeof(*grown));
    if (!grown)
        return false;
    free(*slots);
    *slots = grown;
    *slot_count = wanted;
    return true;
}

static void strings_rehash(struct chrome_batch *batch)
{
    size_t mask = batch->string_slot_count - 1;
    for (uint32_t i = 1; i < batch->string_count; i++) {
        size_t slot = quick_hash(batch->strings[i].data, batch->strings[i].length) & mask;
        while (batch->string_slots[slot])
            slot = (slot + 1) & mask;
        batch->string_slots[slot] = i + 1;
    }
}

/* A new string, known not to be in the table. */
static uint32_t string_add(struct chrome_batch *batch, const struct json_view *view, size_t slot)
{
    struct json_view *strings = array_reserve(batch->strings, &batch->string_capacity, batch->string_count + 1, sizeof(*strings));
    if (!strings) {
        batch->out_of_memory = true;
        return 0;
    }
    batch->strings = strings;
    uint32_t index = (uint32_t)batch->string_count++;
    strings[index] = *view;
    batch->string_slots[slot] = index + 1;
    size_t before = batch->string_slot_count;
    if (!slots_reserve(&batch->string_slots, &batch->string_slot_count, batch->string_count))
        batch->out_of_memory = true;
    else if (batch->string_slot_count != before)
        strings_rehash(batch);
    return index;
}

uint32_t batch_string(struct chrome_batch *batch, const struct json_view *view)
{
    if (!view->length)
        return 0;
    size_t mask = batch->string_slot_count - 1;
    size_t slot = quick_hash(view->data, view->length) & mask;
    for (; batch->string_slots[slot]; slot = (slot + 1) & mask) {
        const struct json_view *known = &batch->strings[batch->string_slots[slot] - 1];
        if (known->length == view->length && memcmp(known->data, view->data, view->length) == 0)
            return batch->string_slots[slot] - 1;
    }
    return string_add(batch, view, slot);
}

bool chrome_scalar_equal(const struct chrome_scalar *left, const struct chrome_scalar *right)
{
    return left->type == right->type && left->value == right->value &&
           (left->type != SCALAR_TEXT ||
            (left->text.length == right->text.length && memcmp(left->text.data, right->text.data, left->text.length) == 0));
}

static uint64_t scalar_hash(const struct chrome_scalar *scalar)
{
    if (scalar->type == SCALAR_TEXT)
        return hash_u64(quick_hash(scalar->text.data, scalar->text.length));
    return hash_u64((uint64_t)scalar->value * 4 + (uint64_t)scalar->type);
}

static size_t track_slot(const struct chrome_track_key *key, size_t mask)
{
    return (size_t)(scalar_hash(&key->pid) * 3 + scalar_hash(&key->tid)) & mask;
}

static uint32_t track_add(struct chrome_batch *batch, const struct chrome_track_key *key, size_t slot)
{
    struct chrome_track_key *tracks = array_reserve(batch->tracks, &batch->track_capacity, batch->track_count + 1, sizeof(*tracks));
    if (!tracks) {
        batch->out_of_memory = true;
        return 0;
    }
    batch->tracks = tracks;
    uint32_t index = (uint32_t)batch->track_count++;
    tracks[index] = *key;
    batch->track_slots[slot] = index + 1;
    size_t before = batch->track_slot_count;
    if (!slots_reserve(&batch->track_slots, &batch->track_slot_count, batch->track_count)) {
        batch->out_of_memory = true;
    } else if (batch->track_slot_count != before) {
        size_t mask = batch->track_slot_count - 1;
        for (uint32_t i = 0; i < batch->track_count; i++) {
            size_t at = track_slot(&batch->tracks[i], mask);
            while (batch->track_slots[at])
                at = (at + 1) & mask;
            batch->track_slots[at] = i + 1;
        }
    }
    return index;
}

uint32_t batch_track(struct chrome_batch *batch, const struct chrome_track_key *key)
{
    size_t mask = batch->track_slot_count - 1;
    size_t slot = track_slot(key, mask);
    for (; batch->track_slots[slot]; slot = (slot + 1) & mask) {
        const struct chrome_track_key *known = &batch->tracks[batch->track_slots[slot] - 1];
        if (chrome_scalar_equal(&known->pid, &key->pid) && chrome_scalar_equal(&known->tid, &key->tid))
            return batch->track_slots[slot] - 1;
    }
    return track_add(batch, key, slot);
}

bool batch_reset(struct chrome_batch *batch, const char *start)
{
    batch->start = batch->end = start;
    batch->array_ended = batch->out_of_memory = false;
    batch->state = JSON_OK;
    batch->event_count = batch->string_count = batch->extra_count = batch->track_count = 0;
    if (batch->string_slots)
        memset(batch->string_slots, 0, batch->string_slot_count * sizeof(*batch->string_slots));
    if (batch->track_slots)
        memset(batch->track_slots, 0, batch->track_slot_count * sizeof(*batch->track_slots));
    struct json_view *strings = array_reserve(batch->strings, &batch->string_capacity, 1, sizeof(*strings));
    if (strings)
        batch->strings = strings;
    struct chrome_extra *extras = array_reserve(batch->extras, &batch->extra_capacity, 1, sizeof(*extras));
    if (extras)
        batch->extras = extras;
    if (!strings || !extras || !slots_reserve(&batch->string_slots, &batch->string_slot_count, 0) ||
        !slots_reserve(&batch->track_slots, &batch->track_slot_count, 0))
        return false;
    batch->strings[batch->string_count++] = (struct json_view){.data = ""};
    batch->extras[batch->extra_count++] = (struct chrome_extra){0};
    return true;
}
