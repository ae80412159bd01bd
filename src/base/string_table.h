/* SPDX-License-Identifier: MIT */
/*
 * String table: each distinct string once, known by a dense 32-bit id. Id 0 is the empty string and means "absent".
 * Layout: one growing blob (each string NUL-terminated, in id order) and one array of 64-bit offsets, so that the table
 * can be written to a file as it is and mapped back read-only. Not thread-safe; readers need the writer to stand still.
 */
#ifndef HP_BASE_STRING_TABLE_H
#define HP_BASE_STRING_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t index;
} string_id;

#define STRING_NONE ((string_id){0})

static inline bool string_is(string_id left, string_id right)
{
    return left.index == right.index;
}

struct string_table;

int string_table_create(struct string_table **ret_table); /* holds "" as id 0; -ENOMEM */
void string_table_destroy(struct string_table *table);
/* Interns length bytes (may hold any byte but NUL; cut at a NUL). Returns 0, -ENOMEM, -EOVERFLOW (over 2^32-1 strings). */
int string_table_intern(struct string_table *table, const char *text, size_t length, string_id *ret_id);
int string_table_intern_text(struct string_table *table, const char *text, string_id *ret_id); /* NULL gives STRING_NONE */
bool string_table_find(const struct string_table *table, const char *text, size_t length, string_id *ret_id);
/* The text of an id; "" for an id out of range. Valid until the next intern; owned by the table. */
const char *string_table_text(const struct string_table *table, string_id id);
size_t string_table_length(const struct string_table *table, string_id id);
uint32_t string_table_count(const struct string_table *table);
/* The raw parts for writing: blob bytes and count+1 offsets (offsets[i+1]-offsets[i] counts the NUL). */
const char *string_table_blob(const struct string_table *table, uint64_t *ret_size);
const uint64_t *string_table_offsets(const struct string_table *table);
/*
 * A read-only table over mapped memory that outlives it: offsets and blob are checked (ascending, NUL at each end);
 * -EINVAL if they don't hold. Finding builds a hash on first use. Interning into it is -EROFS.
 */
int string_table_map(const char *blob, uint64_t blob_size, const uint64_t *offsets, uint32_t count,
                     struct string_table **ret_table);

#endif
