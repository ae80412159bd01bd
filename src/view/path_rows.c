/* SPDX-License-Identifier: MIT */
/* Parts of a critical path gathered in rows: what has the same texts is one row. */
#include "path_rows.h"
#include "lane_label.h"
#include "path_call_paths.h"

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"

#include <errno.h>
#include <string.h>

struct gathering {
    struct path_rows *rows;
    size_t capacity;
    struct map numbers; /* number of a row's text in `keys` to the row */
    struct string_table *keys;
    const struct trace *trace;
    const struct path_parts *parts;
    struct path_call_paths *call_paths;
    enum path_dimension dimension;
    struct text key; /* category, name, kind and lane, each ended by '\1' */
};

enum { FIELD_CATEGORY = 1, FIELD_NAME = 2, FIELD_KIND = 4, FIELD_LANE = 8 };

static unsigned fields_of(enum path_dimension dimension)
{
    switch (dimension) {
    case PATH_BY_ACTIVITY: return FIELD_CATEGORY | FIELD_NAME | FIELD_KIND | FIELD_LANE;
    case PATH_BY_CATEGORY: return FIELD_CATEGORY;
    case PATH_BY_KIND: return FIELD_KIND;
    case PATH_BY_LANE: return FIELD_LANE;
    case PATH_BY_NODE:
    case PATH_BY_RANK:
    case PATH_BY_PROCESS: return FIELD_NAME;
    default: return FIELD_CATEGORY | FIELD_NAME | FIELD_KIND;
    }
}

static const struct trace_process *process_of(const struct trace *trace, track_id id)
{
    uint32_t track_count, process_count;
    const struct trace_track *tracks = trace_tracks(trace, &track_count);
    const struct trace_process *processes = trace_processes(trace, &process_count);
    if (id.index >= track_count || tracks[id.index].process.index >= process_count)
        return NULL;
    return &processes[tracks[id.index].process.index];
}

static void add_place(struct text *out, const struct trace *trace, track_id track, enum path_dimension dimension)
{
    uint32_t node_count;
    const struct trace_process *process = process_of(trace, track);
    const struct trace_node *nodes = trace_nodes(trace, &node_count);
    if (!process)
        return;
    if (dimension == PATH_BY_NODE && process->node.index < node_count)
        text_add_string(out, trace_text(trace, nodes[process->node.index].name));
    if (dimension == PATH_BY_RANK && process->rank >= 0)
        text_addf(out, "%d", process->rank);
    if (dimension == PATH_BY_PROCESS)
        text_addf(out, "%s (%d)", trace_text(trace, process->command), process->pid);
}

static void add_code_place(struct text *out, const struct trace *trace, const struct path_part *part,
                           enum path_dimension dimension)
{
    uint32_t count;
    const struct trace_frame *frames = trace_frames(trace, &count);
    const struct trace_frame *frame = &frames[part->frame.index];
    const char *file = trace_text(trace, frame->file);
    if (dimension == PATH_BY_LINE && *file) {
        text_addf(out, "%s:%u", strrchr(file, '/') ? strrchr(file, '/') + 1 : file, frame->line);
        text_addf(out, " %s", trace_text(trace, frame->function));
    } else
        text_add_string(out, trace_text(trace, frame->function));
}

static void add_name(struct gathering *gathering, const struct path_part *part, struct text *out)
{
    uint32_t frame_count;
    trace_frames(gathering->trace, &frame_count);
    enum path_dimension dimension = gathering->dimension;
    if (dimension == PATH_BY_NODE || dimension == PATH_BY_RANK || dimension == PATH_BY_PROCESS)
        add_place(out, gathering->trace, part->track, dimension);
    else if ((dimension == PATH_BY_FUNCTION || dimension == PATH_BY_LINE) && part->frame.index < frame_count)
        add_code_place(out, gathering->trace, part, dimension);
    else
        path_part_name(gathering->trace, gathering->parts->activities, part, out);
}

/* A text without what divides the key's fields. */
static void end_field(struct text *key, size_t begin)
{
    for (size_t i = begin; i < key->length; i++)
        if (key->data[i] == '\1')
            key->data[i] = ' ';
    text_add_char(key, '\1');
}

static void make_key(struct gathering *gathering, const struct path_part *part, const char *path_name)
{
    struct text *key = &gathering->key;
    const struct activities *activities = gathering->parts->activities;
    unsigned fields = fields_of(gathering->dimension);
    size_t begin = 0;
    text_clear(key);
    if (fields & FIELD_CATEGORY)
        text_add_string(key, path_part_category(gathering->trace, activities, part));
    end_field(key, begin);
    begin = key->length;
    if (path_name)
        text_add_string(key, path_name);
    else if (fields & FIELD_NAME)
        add_name(gathering, part, key);
    end_field(key, begin);
    if (fields & FIELD_KIND)
        text_add_string(key, path_part_kind(activities, part));
    begin = key->length;
    end_field(key, begin);
    begin = key->length;
    if (fields & FIELD_LANE)
        text_add_lane_label(key, gathering->trace, part->track);
    end_field(key, begin);
    bool unexplained = part->state == PATH_UNEXPLAINED || part->state == PATH_START ||
                       (part->state == PATH_EDGE && part->rule == EDGE_RULE_LANE_START);
    text_add_char(key, unexplained ? 'u' : 'e');
}

/* The row's number is behind the texts while rows are gathered: pointers are set at the end, when the table stays where
 * it is. */
static int add_row(struct gathering *gathering, const struct path_part *part, const char *path_name)
{
    string_id id;
    uint64_t number;
    make_key(gathering, part, path_name);
    if (gathering->key.failed ||
        string_table_intern(gathering->keys, gathering->key.data, gathering->key.length, &id) < 0)
        return -ENOMEM;
    struct path_rows *rows = gathering->rows;
    if (!map_get(&gathering->numbers, id.index, &number)) {
        struct path_row *grown = array_reserve(rows->rows, &gathering->capacity, rows->count + 1, sizeof *grown);
        if (!grown)
            return -ENOMEM;
        rows->rows = grown;
        if (map_set(&gathering->numbers, id.index, rows->count) < 0)
            return -ENOMEM;
        number = rows->count++;
        grown[number] = (struct path_row){.explained = gathering->key.data[gathering->key.length - 1] == 'e', .part = *part};
    }
    struct path_row *row = &rows->rows[number];
    row->time_ns += part->time_ns;
    row->count += part->count;
    row->confidence = part->confidence > row->confidence ? part->confidence : row->confidence;
    rows->total_ns += part->time_ns;
    return 0;
}

static int gather_part(struct gathering *gathering, const struct activity_set *where, span_id span, const struct path_part *part,
                       struct error *err)
{
    bool code = span_kind_is_code(gathering->parts->activities->rows[part->activity].kind) && part->state == PATH_WORK;
    if (part->time_ns == 0 || activity_set_portion(where, part->track, span, code) != ACTIVITY_WHOLE)
        return 0;
    const char *name = NULL;
    if (part->activity != ACTIVITY_NONE && part->state != PATH_EDGE) {
        int result = path_call_paths_name(gathering->call_paths, span, &name, err);
        if (result < 0)
            return result;
    }
    return add_row(gathering, part, name) < 0 ? error_set(err, -ENOMEM, "out of memory while summing the critical path") : 0;
}

static int gather_call_paths(struct gathering *gathering, const struct critical_path *path,
                             const struct activity_set *where, struct error *err)
{
    int result = 0;
    for (uint32_t s = 0; s < path->step_count; s++) {
        struct path_part parts[2];
        uint32_t count = path_parts_of_step(path, gathering->parts->activities, s, parts);
        for (uint32_t i = 0; i < count && result == 0; i++)
            result = gather_part(gathering, where, path->graph->span[path->steps[s].point], &parts[i], err);
    }
    return result;
}

static int set_texts(struct gathering *gathering)
{
    size_t position = 0;
    uint64_t key, number;
    while (map_next(&gathering->numbers, &position, &key, &number)) {
        struct path_row *row = &gathering->rows->rows[number];
        const char **fields[] = {&row->category, &row->name, &row->kind, &row->lane};
        const char *text = string_table_text(gathering->keys, (string_id){(uint32_t)key});
        for (size_t f = 0; f < 4; f++) {
            const char *end = strchr(text, '\1');
            string_id id;
            if (string_table_intern(gathering->rows->texts, text, (size_t)(end - text), &id) < 0)
                return -ENOMEM;
            *fields[f] = (const char *)(uintptr_t)id.index;
            text = end + 1;
        }
    }
    for (size_t i = 0; i < gathering->rows->count; i++) {
        struct path_row *row = &gathering->rows->rows[i];
        const char **fields[] = {&row->category, &row->name, &row->kind, &row->lane};
        for (size_t f = 0; f < 4; f++)
            *fields[f] = string_table_text(gathering->rows->texts, (string_id){(uint32_t)(uintptr_t)*fields[f]});
    }
    return 0;
}

static int by_time(const void *left, const void *right)
{
    const struct path_row *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns > b->time_ns ? -1 : 1;
    int order = strcmp(a->category, b->category);
    order = order ? order : strcmp(a->name, b->name);
    order = order ? order : strcmp(a->kind, b->kind);
    order = order ? order : strcmp(a->lane, b->lane);
    return order ? order : a->explained - b->explained;
}

static int gather(struct gathering *gathering, const struct critical_path *path, const struct activity_set *where,
                  struct error *err)
{
    int result = 0;
    if (gathering->dimension == PATH_BY_PATH) {
        result = path_call_paths_create(gathering->trace, &gathering->call_paths);
        result = result < 0 ? error_set(err, result, "out of memory while summing the critical path")
                            : gather_call_paths(gathering, path, where, err);
        path_call_paths_destroy(gathering->call_paths);
        if (result < 0)
            return result;
    }
    for (size_t i = 0; result == 0 && i < gathering->parts->count; i++)
        if (gathering->dimension != PATH_BY_PATH || gathering->parts->parts[i].by_samples)
            result = add_row(gathering, &gathering->parts->parts[i], NULL);
    return result < 0 ? error_set(err, result, "out of memory while summing the critical path") : 0;
}

int path_rows_create(const struct critical_path *path, const struct path_parts *parts, const struct activity_set *where,
                     enum path_dimension dimension, struct path_rows **ret_rows, struct error *err)
{
    CLEANUP(path_rows_destroyp) struct path_rows *rows = calloc(1, sizeof *rows);
    struct gathering gathering = {.rows = rows, .trace = path->graph->trace, .parts = parts, .dimension = dimension};
    map_init(&gathering.numbers);
    int result = rows ? string_table_create(&rows->texts) : -ENOMEM;
    if (result == 0)
        result = string_table_create(&gathering.keys);
    if (result < 0)
        error_set(err, result, "out of memory while summing the critical path");
    else
        result = gather(&gathering, path, where, err);
    if (result == 0 && set_texts(&gathering) < 0)
        result = error_set(err, -ENOMEM, "out of memory while summing the critical path");
    map_finish(&gathering.numbers);
    text_finish(&gathering.key);
    if (gathering.keys)
        string_table_destroy(gathering.keys);
    if (result < 0)
        return result;
    if (rows->count > 0)
        qsort(rows->rows, rows->count, sizeof *rows->rows, by_time);
    *ret_rows = TAKE_PTR(rows);
    return 0;
}

void path_rows_destroy(struct path_rows *rows)
{
    if (!rows)
        return;
    if (rows->texts)
        string_table_destroy(rows->texts);
    free(rows->rows);
    free(rows);
}
