/* SPDX-License-Identifier: MIT */
/* perf-PID.map files, which any program may write. */
#include "symbol/jit_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct jit_reader reader = jit_reader_of_memory(data, size);
    CLEANUP(jit_table_destroyp) struct jit_table *table = NULL;
    if (jit_table_create(&table) < 0 || perf_map_read(&reader, table) < 0)
        return 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct jit_entry *entry = jit_table_find(table, table->entries[i].start, INT64_MAX);
        if (!entry || entry->name >= table->text_size)
            __builtin_trap();
    }
    return 0;
}
