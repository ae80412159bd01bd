/* SPDX-License-Identifier: MIT */
/* The inside of an address map, for the unwinder, which looks up many addresses in one set. For src/symbol only. */
#ifndef HP_SYMBOL_MAPPING_SET_H
#define HP_SYMBOL_MAPPING_SET_H

#include "address_map.h"

#include <stdatomic.h>

struct mapping {
    uint64_t start, end; /* run-time addresses */
    uint64_t offset;     /* in the file, of start */
    struct module *module;
};

struct mapping_set {
    atomic_uint references;
    uint64_t generation; /* unique in this process: caches are keyed by it */
    struct mapping *mappings; /* sorted, disjoint */
    size_t count, capacity;
};

struct mapping_set *address_map_hold(const struct address_map *map); /* a reference; release it */
void mapping_set_release(struct mapping_set *set);
const struct mapping *mapping_set_find(const struct mapping_set *set, uint64_t address);
bool mapping_place(const struct mapping *mapping, uint64_t address, struct module_place *ret_place);
struct module_table *address_map_table(const struct address_map *map);

#endif
