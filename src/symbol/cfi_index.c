/* SPDX-License-Identifier: MIT */
/* Tables of groups of functions: looked for without a lock, made under one. */
#include "cfi_index.h"

#include "base/array.h"
#include "cfi_builder.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

/* Fewer make more tables, each with some hundred bytes of its own; more run instructions that nobody asked for. */
#define GROUP_FUNCTIONS 16u

struct cfi_index {
    struct cfi_section sections[2]; /* what the instructions lie in */
    struct cfi_cie *cies;
    size_t cie_count;
    struct cfi_fde *fdes;           /* in order of address */
    size_t fde_count;
    uint64_t *begins;               /* by group: it has the addresses from here to the next one's */
    struct cfi_group {
        _Atomic(struct cfi_table *) table; /* NULL: not made yet */
    } *groups;
    size_t group_count;
    pthread_mutex_t lock;           /* over making groups */
};

void cfi_index_destroy(struct cfi_index *index)
{
    if (!index)
        return;
    for (size_t i = 0; index->groups && i < index->group_count; i++)
        cfi_table_destroy(atomic_load_explicit(&index->groups[i].table, memory_order_relaxed));
    free(index->groups);
    free(index->begins);
    free(index->fdes);
    free(index->cies);
    free(index->sections[0].data.bytes);
    free(index->sections[1].data.bytes);
    pthread_mutex_destroy(&index->lock);
    free(index);
}

/* Where functions overlap, the earlier one holds: a group begins behind all that those before it describe. */
static void find_begins(struct cfi_index *index)
{
    uint64_t covered_end = 0;
    for (size_t i = 0; i < index->fde_count; i++) {
        uint64_t start = index->fdes[i].start;
        if (i % GROUP_FUNCTIONS == 0)
            index->begins[i / GROUP_FUNCTIONS] = start > covered_end ? start : covered_end;
        covered_end = index->fdes[i].end > covered_end ? index->fdes[i].end : covered_end;
    }
}

static void take_entries(struct cfi_index *index, struct cfi_builder *builder)
{
    for (size_t i = 0; i < builder->section_count; i++)
        index->sections[i] = builder->sections[i];
    builder->section_count = 0;
    index->cies = TAKE_PTR(builder->cies);
    index->cie_count = builder->cie_count;
    index->fdes = TAKE_PTR(builder->fdes);
    index->fde_count = builder->fde_count;
}

int cfi_index_create(const struct elf_image *image, struct cfi_index **ret_index)
{
    CLEANUP(cfi_index_destroyp) struct cfi_index *index = calloc(1, sizeof *index);
    if (!index)
        return -ENOMEM;
    pthread_mutex_init(&index->lock, NULL);
    struct cfi_table counts = {.base = 0};
    struct cfi_builder builder = {.image = image, .table = &counts};
    int rc = image->is_64 ? cfi_functions_read(&builder) : -ENODATA;
    if (rc == 0)
        take_entries(index, &builder);
    cfi_builder_finish(&builder);
    if (rc < 0)
        return rc;
    index->group_count = (index->fde_count + GROUP_FUNCTIONS - 1) / GROUP_FUNCTIONS;
    index->begins = array_resize_exact(NULL, index->group_count, sizeof *index->begins);
    index->groups = calloc(index->group_count, sizeof *index->groups);
    if (!index->begins || !index->groups)
        return -ENOMEM;
    find_begins(index);
    *ret_index = TAKE_PTR(index);
    return 0;
}

static struct cfi_table *group_make(const struct cfi_index *index, size_t group)
{
    CLEANUP(cfi_table_destroyp) struct cfi_table *table = calloc(1, sizeof *table);
    if (!table)
        return NULL;
    size_t first = group * GROUP_FUNCTIONS, count = index->fde_count - first;
    struct cfi_builder builder = {.table = table, .cies = index->cies, .cie_count = index->cie_count, .covered_end = index->begins[group]};
    table->base = index->fdes[first].start;
    int rc = cfi_functions_run(&builder, index->fdes + first, count < GROUP_FUNCTIONS ? count : GROUP_FUNCTIONS);
    builder.cies = NULL; /* the index's */
    cfi_builder_finish(&builder);
    if (rc < 0)
        return NULL;
    cfi_table_trim(table);
    return TAKE_PTR(table);
}

static const struct cfi_table *group_table(struct cfi_index *index, size_t group)
{
    struct cfi_table *table = atomic_load_explicit(&index->groups[group].table, memory_order_acquire);
    if (table)
        return table;
    pthread_mutex_lock(&index->lock);
    table = atomic_load_explicit(&index->groups[group].table, memory_order_relaxed);
    if (!table) {
        table = group_make(index, group);
        atomic_store_explicit(&index->groups[group].table, table, memory_order_release);
    }
    pthread_mutex_unlock(&index->lock);
    return table;
}

const struct cfi_rule *cfi_index_find(struct cfi_index *index, uint64_t address, const struct cfi_table **ret_table)
{
    size_t low = 0, high = index->group_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->begins[middle] <= address)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_table = low ? group_table(index, low - 1) : NULL;
    return *ret_table ? cfi_table_find(*ret_table, address) : NULL;
}

bool cfi_index_function(const struct cfi_index *index, uint64_t address, uint64_t *ret_start)
{
    size_t low = 0, high = index->fde_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->fdes[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address >= index->fdes[low - 1].end)
        return false;
    *ret_start = index->fdes[low - 1].start;
    return true;
}
