/* SPDX-License-Identifier: MIT */
/*
 * "stackFrames": {"7": {"name": "f", "category": "libm", "parent": "5"}, ...}: the tree of stacks that "sf" points into. It
 * may stand before or behind the events; when the first "sf" comes first, it is looked for there.
 */
#include "base/array.h"
#include "base/error.h"
#include "chrome_import.h"

#include <errno.h>
#include <stdlib.h>

struct frame_entry {
    uint64_t key, parent;    /* hashes of the ids */
    bool has_parent, done;
    uint8_t visits;
    struct json_view name, category;
    stack_id stack;
};

struct frame_table {
    struct frame_entry *entries;
    size_t count, capacity;
    struct map index;        /* key: entry */
    struct map modules;      /* string id of a category: module */
};

static uint64_t frame_key(const struct json_view *id)
{
    return hash_u64(hash_bytes(id->data, id->length));
}

static bool take_text(struct json *json, struct json_view *ret_view)
{
    char next = json_peek(json);
    if (next == '"')
        return json_string(json, ret_view);
    return next == '-' || (next >= '0' && next <= '9') ? json_number(json, ret_view) : json_skip(json, NULL);
}

static int read_entry(struct frame_table *table, struct json *json, const struct json_view *id)
{
    struct frame_entry *entries = array_reserve(table->entries, &table->capacity, table->count + 1, sizeof(*entries));
    if (!entries)
        return -ENOMEM;
    table->entries = entries;
    struct frame_entry *entry = &entries[table->count];
    *entry = (struct frame_entry){.key = frame_key(id), .stack = STACK_NONE};
    struct json_view key, parent = {0};
    if (json_peek(json) != '{')
        return json_skip(json, NULL) ? 0 : -EBADMSG;
    for (bool more = json_object(json, &key); more; more = json_object_next(json, &key)) {
        struct json_view *into = json_view_is(&key, "name")       ? &entry->name
                                 : json_view_is(&key, "category") ? &entry->category
                                 : json_view_is(&key, "parent")   ? &parent
                                                                  : NULL;
        if (!(into ? take_text(json, into) : json_skip(json, NULL)))
            break;
    }
    if (parent.data) {
        entry->has_parent = true;
        entry->parent = frame_key(&parent);
    }
    if (json->state != JSON_OK)
        return -EBADMSG;
    return map_set(&table->index, entry->key, table->count++);
}

static int add_module(struct chrome_import *import, struct frame_table *table, string_id path, module_id *ret_module)
{
    uint64_t found;
    *ret_module = MODULE_NONE;
    if (!path.index)
        return 0;
    if (map_get(&table->modules, path.index, &found)) {
        ret_module->index = (uint32_t)found;
        return 0;
    }
    int r = trace_builder_add_module(import->builder, &(struct trace_module){.path = path}, ret_module);
    return r < 0 ? r : map_set(&table->modules, path.index, ret_module->index);
}

static int add_node(struct chrome_import *import, struct frame_table *table, struct frame_entry *entry, stack_id parent)
{
    struct trace_frame frame = {.function = import_string(import, &entry->name)};
    frame_id id;
    int r = add_module(import, table, import_string(import, &entry->category), &frame.module);
    if (r == 0)
        r = trace_builder_add_frame(import->builder, &frame, &id);
    if (r == 0)
        r = trace_builder_add_stack(import->builder, parent, id, &entry->stack);
    if (r == 0)
        r = map_set(&import->frame_map, entry->key, entry->stack.index);
    entry->done = true;
    return r;
}

/* Parents first: goes up until a node that is there (or a loop, which is cut), then down again. */
static int resolve(struct chrome_import *import, struct frame_table *table, size_t leaf, size_t **path, size_t *path_capacity)
{
    size_t depth = 0, at = leaf;
    for (;;) {
        struct frame_entry *entry = &table->entries[at];
        if (entry->done || entry->visits)
            break;
        entry->visits = 1;
        size_t *grown = array_reserve(*path, path_capacity, depth + 1, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        *path = grown;
        grown[depth++] = at;
        uint64_t parent;
        if (!entry->has_parent || !map_get(&table->index, entry->parent, &parent))
            break;
        at = (size_t)parent;
    }
    int r = 0;
    while (depth-- > 0 && r == 0) {
        struct frame_entry *entry = &table->entries[(*path)[depth]];
        uint64_t parent;
        stack_id under = STACK_NONE;
        if (entry->has_parent && map_get(&table->index, entry->parent, &parent))
            under = table->entries[parent].stack;
        r = add_node(import, table, entry, under);
    }
    return r;
}

static int read_table(struct chrome_import *import, struct frame_table *table, struct json *json)
{
    struct json_view id;
    size_t *path = NULL, path_capacity = 0;
    int r = 0;
    for (bool more = json_object(json, &id); more && r == 0; more = r == 0 && json_object_next(json, &id))
        r = read_entry(table, json, &id);
    if (r == -EBADMSG || json->state != JSON_OK)
        return json->state == JSON_CUT ? 0 : -EBADMSG;
    for (size_t i = 0; i < table->count && r == 0; i++)
        r = resolve(import, table, i, &path, &path_capacity);
    free(path);
    return r;
}

int stacks_read(struct chrome_import *import, struct json *json, struct error *err)
{
    struct frame_table table = {0};
    if (import->frames_sought || json_peek(json) != '{') { /* already read from there, or no table */
        json_skip(json, NULL);
        return 0;
    }
    import->frames_sought = true;
    map_init(&table.index);
    map_init(&table.modules);
    int r = read_table(import, &table, json);
    free(table.entries);
    map_finish(&table.index);
    map_finish(&table.modules);
    if (r == -EBADMSG)
        return import_syntax(import, json->at, json->what, err);
    return r < 0 ? import_failed(import, r, err) : 0;
}

/* Goes over the rest of the events once to see whether a table stands behind them. */
static int seek_table(struct chrome_import *import, struct error *err)
{
    struct json json;
    struct json_view key;
    json_init(&json, import->behind_events, (size_t)(import->data + import->size - import->behind_events));
    bool ok = true;
    while (ok && json_peek(&json) != ']' && json.at < json.end) {
        ok = json_skip(&json, NULL);
        json_take(&json, ',');
    }
    for (bool more = ok && json_take(&json, ']') && json_take(&json, ','); more; more = json_take(&json, ',')) {
        if (!json_string(&json, &key) || !json_take(&json, ':'))
            return 0;
        if (json_view_is(&key, "stackFrames"))
            return stacks_read(import, &json, err);
        if (!json_skip(&json, NULL))
            return 0;
    }
    return 0;
}

int stacks_find(struct chrome_import *import, const struct json_view *frame, stack_id *ret_stack, struct error *err)
{
    uint64_t found;
    if (!import->frames_sought && import->behind_events) {
        int r = seek_table(import, err);
        import->behind_events = NULL;
        if (r < 0)
            return r;
    }
    if (map_get(&import->frame_map, frame_key(frame), &found)) {
        ret_stack->index = (uint32_t)found;
        return 0;
    }
    *ret_stack = STACK_NONE;
    foreign_lose(import, CHROME_LOSS_STACK);
    return 0;
}
