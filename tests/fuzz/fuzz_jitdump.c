/* SPDX-License-Identifier: MIT */
/* jitdump files, which any program may write. */
#include "symbol/jit_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct jit_reader reader = jit_reader_of_memory(data, size);
    CLEANUP(jit_table_destroyp) struct jit_table *table = NULL;
    if (jit_table_create(&table) < 0 || jitdump_read(&reader, table) < 0)
        return 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct jit_entry *entry = jit_table_find(table, table->entries[i].start, (int64_t)i);
        if (!entry || entry->name >= table->text_size || (size_t)entry->first_line + entry->line_count > table->line_count)
            __builtin_trap();
        const struct jit_line *line = jit_line_find(table, entry, entry->end);
        if (line && line->file >= table->text_size)
            __builtin_trap();
    }
    return 0;
}
