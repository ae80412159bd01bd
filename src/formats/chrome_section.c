/* SPDX-License-Identifier: MIT */
/* Reading the "hprofiler" section: tables of rows, each field by name, each reference checked. */
#include "chrome_section.h"

#include "base/array.h"
#include "base/error.h"
#include "chrome_writer.h"

#include <errno.h>

enum field_type { FIELD_STRING, FIELD_I32, FIELD_I64, FIELD_U32, FIELD_U64, FIELD_BOOL, FIELD_NODE, FIELD_PROCESS, FIELD_MODULE,
                  FIELD_TRACK_KIND, FIELD_LINK_KIND, FIELD_TIDS };

struct field {
    const char *name;
    enum field_type type;
    size_t offset;
};

struct reader {
    struct chrome_import *import;
    struct chrome_own *own;
    struct json json;
};

static int bad(struct reader *reader, const char *expected, struct error *err)
{
    const char *what = reader->json.state != JSON_OK ? reader->json.what : expected;
    return import_syntax(reader->import, reader->json.at, what, err);
}

/* "text" or {"hex":"..."} */
static bool take_string(struct reader *reader, string_id *ret_id)
{
    struct json *json = &reader->json;
    struct json_view key, view;
    if (json_peek(json) == '"') {
        if (!json_string(json, &view))
            return false;
        *ret_id = import_string(reader->import, &view);
        return true;
    }
    if (!json_object(json, &key) || !json_string(json, &view) || json_object_next(json, &key))
        return false;
    struct text *bytes = &reader->import->scratch;
    if (!import_hex(reader->import, &view, bytes))
        return false;
    return string_table_intern(reader->import->strings, bytes->data ? bytes->data : "", bytes->length, ret_id) == 0;
}

static bool take_i64(struct json *json, int64_t minimum, int64_t maximum, int64_t *ret_value)
{
    struct json_view view;
    return json_number(json, &view) && json_view_i64(&view, ret_value) && *ret_value >= minimum && *ret_value <= maximum;
}

static bool take_u64(struct json *json, uint64_t maximum, uint64_t *ret_value)
{
    struct json_view view;
    return json_number(json, &view) && json_view_u64(&view, ret_value) && *ret_value <= maximum;
}

static bool take_reference(struct json *json, uint32_t count, uint32_t *ret_index)
{
    uint64_t value;
    if (!take_u64(json, count ? count - 1 : 0, &value) || !count)
        return false;
    *ret_index = (uint32_t)value;
    return true;
}

static bool take_name(struct json *json, int (*find)(const char *), int *ret_value)
{
    struct json_view view;
    char name[64];
    if (!json_string(json, &view) || view.length >= sizeof(name))
        return false;
    memcpy(name, view.data, view.length);
    name[view.length] = 0;
    *ret_value = find(name);
    return *ret_value >= 0;
}

/* "tids": the numbers under which events name this track. */
static bool take_tids(struct reader *reader)
{
    struct json *json = &reader->json;
    struct chrome_own *own = reader->own;
    for (bool more = json_array(json); more; more = json_array_next(json)) {
        uint64_t tid;
        if (!take_u64(json, UINT64_C(1) << 26, &tid))
            return false;
        track_id *tracks = array_reserve(own->track_of_tid, &own->tid_capacity, (size_t)tid + 1, sizeof(*tracks));
        if (!tracks)
            return false;
        own->track_of_tid = tracks;
        for (; own->tid_count <= tid; own->tid_count++)
            tracks[own->tid_count] = TRACK_NONE;
        tracks[tid] = (track_id){own->track_count};
    }
    return json->state == JSON_OK;
}

static bool take_field(struct reader *reader, const struct field *field, void *row)
{
    struct json *json = &reader->json;
    struct chrome_own *own = reader->own;
    void *at = (char *)row + field->offset;
    int64_t i64 = 0;
    uint64_t u64 = 0;
    uint32_t index = 0;
    int number = 0;
    switch (field->type) {
    case FIELD_STRING:
        return take_string(reader, at);
    case FIELD_I64:
        return take_i64(json, INT64_MIN, INT64_MAX, at);
    case FIELD_U64:
        return take_u64(json, UINT64_MAX, at);
    case FIELD_TIDS:
        return take_tids(reader);
    case FIELD_BOOL:
        *(bool *)at = json_peek(json) == 't';
        return json_skip(json, NULL);
    case FIELD_I32:
        if (!take_i64(json, INT32_MIN, INT32_MAX, &i64))
            return false;
        *(int32_t *)at = (int32_t)i64;
        return true;
    case FIELD_U32:
        if (!take_u64(json, UINT32_MAX, &u64))
            return false;
        *(uint32_t *)at = (uint32_t)u64;
        return true;
    case FIELD_NODE:
        if (!take_reference(json, own->node_count, &index))
            return false;
        *(node_id *)at = own->nodes[index];
        return true;
    case FIELD_PROCESS:
        if (!take_reference(json, own->process_count, &index))
            return false;
        *(process_id *)at = own->processes[index];
        return true;
    case FIELD_MODULE:
        if (!take_reference(json, own->module_count, &index))
            return false;
        *(module_id *)at = own->modules[index];
        return true;
    case FIELD_TRACK_KIND:
        if (!take_name(json, track_kind_find, &number))
            return false;
        *(enum track_kind *)at = (enum track_kind)number;
        return true;
    case FIELD_LINK_KIND:
        if (!take_name(json, link_kind_find, &number))
            return false;
        *(enum link_kind *)at = (enum link_kind)number;
        return true;
    }
    return false;
}

static bool take_row(struct reader *reader, const struct field *fields, size_t count, void *row)
{
    struct json_view key;
    for (bool more = json_object(&reader->json, &key); more; more = json_object_next(&reader->json, &key)) {
        size_t i = 0;
        while (i < count && !json_view_is(&key, fields[i].name))
            i++;
        if (!(i < count ? take_field(reader, &fields[i], row) : json_skip(&reader->json, NULL)))
            return false;
    }
    return reader->json.state == JSON_OK;
}

/* Room for one more id in a table of the section; items_at: the address of the array's pointer. */
static bool reserve(struct chrome_own *own, void *items_at, unsigned table, uint32_t count)
{
    void *items;
    memcpy(&items, items_at, sizeof(items));
    items = array_reserve(items, &own->capacity[table], (size_t)count + 1, sizeof(uint32_t));
    if (items)
        memcpy(items_at, &items, sizeof(items));
    return items;
}

#define TAKE_ROW(reader, fields, row) take_row((reader), (fields), sizeof(fields) / sizeof((fields)[0]), (row))

static const struct field node_fields[] = {
    {"name", FIELD_STRING, offsetof(struct trace_node, name)},
    {"clock_domain", FIELD_STRING, offsetof(struct trace_node, clock_domain)}};

static int read_node(struct reader *reader)
{
    struct trace_node row = {.name = STRING_NONE};
    if (!reserve(reader->own, &reader->own->nodes, 0, reader->own->node_count))
        return -ENOMEM;
    if (!TAKE_ROW(reader, node_fields, &row))
        return -EBADMSG;
    return trace_builder_add_node(reader->import->builder, &row, &reader->own->nodes[reader->own->node_count++]);
}

static const struct field process_fields[] = {
    {"node", FIELD_NODE, offsetof(struct trace_process, node)}, {"pid", FIELD_I32, offsetof(struct trace_process, pid)},
    {"rank", FIELD_I32, offsetof(struct trace_process, rank)},
    {"start_ns", FIELD_I64, offsetof(struct trace_process, start_ns)},
    {"end_ns", FIELD_I64, offsetof(struct trace_process, end_ns)},
    {"parent", FIELD_U32, offsetof(struct trace_process, parent)},
    {"generation", FIELD_U32, offsetof(struct trace_process, generation)},
    {"command", FIELD_STRING, offsetof(struct trace_process, command)},
    {"executable", FIELD_STRING, offsetof(struct trace_process, executable)},
    {"exit_status", FIELD_I32, offsetof(struct trace_process, exit_status)},
    {"attached", FIELD_BOOL, offsetof(struct trace_process, attached)},
    {"reason", FIELD_STRING, offsetof(struct trace_process, reason)}};

static int read_process(struct reader *reader)
{
    struct trace_process row = {.node = NODE_NONE, .pid = -1, .rank = -1, .start_ns = INT64_MIN, .end_ns = INT64_MIN,
                                .parent = PROCESS_NONE, .exit_status = -1};
    if (!reserve(reader->own, &reader->own->processes, 1, reader->own->process_count))
        return -ENOMEM;
    if (!TAKE_ROW(reader, process_fields, &row))
        return -EBADMSG;
    return trace_builder_add_process(reader->import->builder, &row, &reader->own->processes[reader->own->process_count++]);
}

static const struct field track_fields[] = {
    {"kind", FIELD_TRACK_KIND, offsetof(struct trace_track, kind)},
    {"name", FIELD_STRING, offsetof(struct trace_track, name)},
    {"process", FIELD_PROCESS, offsetof(struct trace_track, process)},
    {"tid", FIELD_I32, offsetof(struct trace_track, tid)}, {"device", FIELD_I32, offsetof(struct trace_track, device)},
    {"stream", FIELD_I32, offsetof(struct trace_track, stream)},
    {"unit", FIELD_STRING, offsetof(struct trace_track, unit)},
    {"start_ns", FIELD_I64, offsetof(struct trace_track, start_ns)},
    {"end_ns", FIELD_I64, offsetof(struct trace_track, end_ns)}, {"tids", FIELD_TIDS, 0}};

static int read_track(struct reader *reader)
{
    struct trace_track row = {.process = PROCESS_NONE, .tid = -1, .device = -1, .stream = -1, .start_ns = INT64_MIN, .end_ns = INT64_MIN};
    if (!reserve(reader->own, &reader->own->tracks, 2, reader->own->track_count))
        return -ENOMEM;
    if (!TAKE_ROW(reader, track_fields, &row))
        return -EBADMSG;
    return trace_builder_add_track(reader->import->builder, &row, &reader->own->tracks[reader->own->track_count++]);
}

static const struct field module_fields[] = {
    {"path", FIELD_STRING, offsetof(struct trace_module, path)},
    {"build_id", FIELD_STRING, offsetof(struct trace_module, build_id)},
    {"flags", FIELD_U32, offsetof(struct trace_module, flags)}};

static int read_module(struct reader *reader)
{
    struct trace_module row = {.flags = 0};
    if (!reserve(reader->own, &reader->own->modules, 3, reader->own->module_count))
        return -ENOMEM;
    if (!TAKE_ROW(reader, module_fields, &row))
        return -EBADMSG;
    return trace_builder_add_module(reader->import->builder, &row, &reader->own->modules[reader->own->module_count++]);
}

static const struct field frame_fields[] = {
    {"function", FIELD_STRING, offsetof(struct trace_frame, function)},
    {"module", FIELD_MODULE, offsetof(struct trace_frame, module)},
    {"file", FIELD_STRING, offsetof(struct trace_frame, file)}, {"line", FIELD_U32, offsetof(struct trace_frame, line)},
    {"flags", FIELD_U32, offsetof(struct trace_frame, flags)},
    {"address", FIELD_U64, offsetof(struct trace_frame, address)}};

static int read_frame(struct reader *reader)
{
    struct trace_frame row = {.module = MODULE_NONE};
    if (!reserve(reader->own, &reader->own->frames, 4, reader->own->frame_count))
        return -ENOMEM;
    if (!TAKE_ROW(reader, frame_fields, &row))
        return -EBADMSG;
    return trace_builder_add_frame(reader->import->builder, &row, &reader->own->frames[reader->own->frame_count++]);
}

/* [parent or null, frame] */
static int read_stack(struct reader *reader)
{
    struct json *json = &reader->json;
    struct chrome_own *own = reader->own;
    uint32_t parent = 0, frame = 0;
    if (!reserve(reader->own, &reader->own->stacks, 5, reader->own->stack_count))
        return -ENOMEM;
    if (!json_array(json))
        return -EBADMSG;
    bool is_root = json_peek(json) == 'n';
    if (!(is_root ? json_skip(json, NULL) : take_reference(json, own->stack_count, &parent)) || !json_array_next(json) ||
        !take_reference(json, own->frame_count, &frame) || json_array_next(json))
        return -EBADMSG;
    return trace_builder_add_stack(reader->import->builder, is_root ? STACK_NONE : own->stacks[parent], own->frames[frame],
                                   &own->stacks[own->stack_count++]);
}

static const struct field group_fields[] = {
    {"kind", FIELD_LINK_KIND, offsetof(struct trace_group, kind)},
    {"name", FIELD_STRING, offsetof(struct trace_group, name)},
    {"sequence", FIELD_U64, offsetof(struct trace_group, sequence)}};

static int read_group(struct reader *reader)
{
    struct trace_group row = {.sequence = 0};
    if (!reserve(reader->own, &reader->own->groups, 6, reader->own->group_count))
        return -ENOMEM;
    if (!TAKE_ROW(reader, group_fields, &row))
        return -EBADMSG;
    return trace_builder_add_group(reader->import->builder, &row, &reader->own->groups[reader->own->group_count++]);
}

static const struct field ledger_row_fields[] = {
    {"source", FIELD_STRING, offsetof(struct ledger_entry, source)},
    {"seen", FIELD_U64, offsetof(struct ledger_entry, seen)},
    {"recorded", FIELD_U64, offsetof(struct ledger_entry, recorded)},
    {"lost", FIELD_U64, offsetof(struct ledger_entry, lost)},
    {"reason", FIELD_STRING, offsetof(struct ledger_entry, reason)}};

static int read_ledger_row(struct reader *reader)
{
    struct ledger_entry row = {.seen = 0};
    if (!TAKE_ROW(reader, ledger_row_fields, &row))
        return -EBADMSG;
    struct text source = TEXT_INIT; /* the table may move when it interns its own text */
    text_add_string(&source, string_table_text(reader->import->strings, row.source));
    struct text reason = TEXT_INIT;
    text_add_string(&reason, string_table_text(reader->import->strings, row.reason));
    int r = trace_builder_add_ledger(reader->import->builder, source.data ? source.data : "", row.seen, row.recorded, row.lost,
                                     row.reason.index ? reason.data : NULL);
    text_finish(&source);
    text_finish(&reason);
    return r;
}

/* [key, value] */
static int read_metadata_pair(struct reader *reader)
{
    struct json *json = &reader->json;
    string_id key, value;
    if (!json_array(json) || !take_string(reader, &key) || !json_array_next(json) || !take_string(reader, &value) || json_array_next(json))
        return -EBADMSG;
    struct text key_text = TEXT_INIT, value_text = TEXT_INIT;
    text_add_string(&key_text, string_table_text(reader->import->strings, key));
    text_add_string(&value_text, string_table_text(reader->import->strings, value));
    int r = trace_builder_set_metadata(reader->import->builder, key_text.data ? key_text.data : "",
                                       value_text.data ? value_text.data : "");
    text_finish(&key_text);
    text_finish(&value_text);
    return r;
}

/* [group, span, rank] */
static int read_member(struct reader *reader)
{
    struct json *json = &reader->json;
    struct chrome_own *own = reader->own;
    uint32_t group = 0, span = 0;
    int64_t rank = -1;
    if (!json_array(json) || !take_reference(json, own->group_count, &group) || !json_array_next(json) ||
        !take_reference(json, (uint32_t)own->handle_count, &span) || !json_array_next(json) ||
        !take_i64(json, INT32_MIN, INT32_MAX, &rank) || json_array_next(json))
        return -EBADMSG;
    struct group_member member = {.group = own->groups[group], .span = own->handles[span], .rank = (int32_t)rank};
    return member.span.index == ID_NONE ? 0 : trace_builder_add_member(reader->import->builder, &member);
}

struct table {
    const char *name;
    int (*read)(struct reader *reader);
};

/* The order in which tables refer to each other, whatever order they have in the file. */
static const struct table tables[] = {
    {"metadata", read_metadata_pair}, {"nodes", read_node},   {"processes", read_process}, {"tracks", read_track},
    {"modules", read_module},         {"frames", read_frame}, {"stacks", read_stack},      {"groups", read_group},
    {"ledger", read_ledger_row},
};

static int read_table(struct reader *reader, const struct table *table, struct error *err)
{
    int r = 0;
    for (bool more = json_array(&reader->json); more && r == 0; more = r == 0 && json_array_next(&reader->json))
        r = table->read(reader);
    if (r == -EBADMSG || reader->json.state != JSON_OK) {
        struct error detail = ERROR_INIT;
        bad(reader, "another value", &detail);
        return error_set(err, -EBADMSG, "%s (in table \"%s\" of the hprofiler section)", detail.text, table->name);
    }
    return r < 0 ? import_failed(reader->import, r, err) : 0;
}

/* Moves the scanner to the value of a key of the section; false when it is not there. */
static bool seek(struct reader *reader, const char *name)
{
    struct json_view key;
    json_init(&reader->json, reader->import->data, reader->import->size);
    reader->json.at = reader->own->section.data;
    for (bool more = json_object(&reader->json, &key); more; more = json_object_next(&reader->json, &key)) {
        if (json_view_is(&key, name))
            return true;
        if (!json_skip(&reader->json, NULL))
            return false;
    }
    return false;
}

static uint64_t seek_u64(struct reader *reader, const char *name)
{
    uint64_t value;
    return seek(reader, name) && take_u64(&reader->json, UINT64_MAX, &value) ? value : 0;
}

/* Parents may have any number: they are checked when all processes are known. */
static int check_parents(struct reader *reader, struct error *err)
{
    struct chrome_own *own = reader->own;
    for (uint32_t i = 0; i < own->process_count; i++) {
        struct trace_process *process = trace_builder_process(reader->import->builder, own->processes[i]);
        if (process->parent.index == ID_NONE)
            continue;
        if (process->parent.index >= own->process_count)
            return error_set(err, -EBADMSG, "%s: process %u of the hprofiler section (at offset %zu) has parent %u of %u processes",
                             reader->import->name, i, (size_t)(own->section.data - reader->import->data), process->parent.index,
                             own->process_count);
        process->parent = own->processes[process->parent.index];
    }
    return 0;
}

int section_read(struct chrome_import *import, struct chrome_own *own, struct error *err)
{
    struct reader reader = {.import = import, .own = own};
    uint64_t format = seek_u64(&reader, "format");
    if (format != CHROME_FORMAT_VERSION)
        return error_set(err, -EPROTONOSUPPORT, "%s: its hprofiler section (at offset %zu) has format %llu, this hprofiler reads %d: "
                         "use a newer hprofiler", import->name, (size_t)(own->section.data - import->data),
                         (unsigned long long)format, CHROME_FORMAT_VERSION);
    import->shift_ns = seek_u64(&reader, "time_shift_ns");
    own->spans = seek_u64(&reader, "spans");
    own->instants = seek_u64(&reader, "instants");
    own->counters = seek_u64(&reader, "counters");
    own->links = seek_u64(&reader, "links");
    own->samples = seek_u64(&reader, "samples");
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        int r = seek(&reader, tables[i].name) ? read_table(&reader, &tables[i], err) : 0;
        if (r < 0)
            return r;
    }
    return check_parents(&reader, err);
}

int section_read_members(struct chrome_import *import, struct chrome_own *own, struct error *err)
{
    static const struct table members = {"members", read_member};
    struct reader reader = {.import = import, .own = own};
    return seek(&reader, members.name) ? read_table(&reader, &members, err) : 0;
}
