/* SPDX-License-Identifier: MIT */
/*
 * What people read: where a construct stands, what it is, and in which function of theirs. The compiler moves the body of a
 * construct into a function of its own; its name leads back to the user's, or else the region around does, whose call
 * stands in the user's function.
 */
#include "merge_openmp.h"

#include "base/array.h"
#include "wire/kinds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REGIONS_AROUND = 16, NAME_BYTES = 1024 };

struct known_code {
    uint64_t address, around;
    unsigned kind;             /* enum span_kind */
    size_t next;               /* place of the process' next one, plus 1; 0 = none */
};

struct openmp_names {
    struct map by_address;     /* hash of (process, address) -> place in codes */
    struct map by_number;      /* hash of (process, number) -> address */
    struct map first, last;    /* key of a process -> place of its first and last in codes */
    struct map names;          /* hash of (process, address, word, kind) -> string */
    struct known_code *codes;
    size_t code_count, code_capacity;
};

void openmp_names_destroy(struct openmp_names *names)
{
    if (!names)
        return;
    map_finish(&names->by_address);
    map_finish(&names->by_number);
    map_finish(&names->first);
    map_finish(&names->last);
    map_finish(&names->names);
    free(names->codes);
    free(names);
}

int openmp_names_create(struct merge *merge, struct openmp_names **ret_names)
{
    (void)merge;
    *ret_names = calloc(1, sizeof **ret_names);
    return *ret_names ? 0 : -ENOMEM;
}

int openmp_names_add(struct openmp_names *names, const struct merge_stream *stream, uint64_t address, uint64_t around, unsigned kind, uint32_t number)
{
    struct known_code *codes = array_reserve(names->codes, &names->code_capacity, names->code_count + 1, sizeof *codes);
    if (!codes)
        return -ENOMEM;
    names->codes = codes;
    uint64_t process = stream->process->key, place;
    size_t index = names->code_count++;
    codes[index] = (struct known_code){.address = address, .around = around, .kind = kind};
    if (map_get(&names->last, process, &place))
        codes[place].next = index + 1;
    int code = map_get(&names->first, process, &place) ? 0 : map_set(&names->first, process, index);
    if (code == 0)
        code = map_set(&names->last, process, index);
    if (code == 0)
        code = map_set(&names->by_address, openmp_key(stream, address), index);
    return code || !number ? code : map_set(&names->by_number, openmp_key(stream, number), address);
}

uint64_t openmp_names_code(const struct openmp_names *names, const struct merge_stream *stream, uint32_t number)
{
    uint64_t address;
    return number && map_get(&names->by_number, openmp_key(stream, number), &address) ? address : 0;
}

/* Cuts what compilers hang on the name of a function whose body they moved. False: nothing of the user's name is in it. */
static bool strip(char *name)
{
    static const char *const marks[] = {"._omp_fn", "._omp_cpyfn", ".omp_outlined", ".omp_task_entry", ".omp_", "..omp_par", ".constprop.", ".isra.", ".part.", ".cold", ".lto_priv."};
    static const char offload[] = "__omp_offloading_";
    if (strncmp(name, offload, sizeof offload - 1) == 0) { /* __omp_offloading_<device>_<file>_<function>_l<line>, more may follow */
        char *at = strchr(name + sizeof offload - 1, '_');
        at = at ? strchr(at + 1, '_') : NULL;
        char *line = NULL;
        for (char *next = at; next && (next = strstr(next, "_l")); next++)
            line = next[2] >= '0' && next[2] <= '9' ? next : line;
        if (!at || !line || line <= at)
            return false;
        *line = 0;
        memmove(name, at + 1, strlen(at + 1) + 1);
    }
    char *clone = strstr(name, " [clone ");
    if (clone)
        *clone = 0;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        char *at = strstr(name, marks[i]);
        if (at)
            *at = 0;
    }
    return name[0] != 0;
}

/* Some runtimes give an address of their own for a construct. */
static bool is_runtime(const char *function)
{
    return strncmp(function, "__kmp", 5) == 0 || strncmp(function, "GOMP_", 5) == 0;
}

struct place {
    char function[NAME_BYTES];
    string_id file;
    uint32_t line;
};

/* As the source has it, where debug information tells. */
static int locate(struct merge *merge, const struct merge_span *span, uint64_t address, struct merge_location *ret_location)
{
    int code = merge_locate(merge, span->stream, address, true, span->span->begin_ns, ret_location);
    if (code == 0 && ret_location->inner_line) {
        ret_location->function = ret_location->inner_function;
        ret_location->file = ret_location->inner_file;
        ret_location->line = ret_location->inner_line;
    }
    return code;
}

static int place_find(struct merge *merge, struct openmp_names *names, const struct merge_span *span, uint64_t address, struct place *place)
{
    *place = (struct place){.file = STRING_NONE};
    for (int depth = 0; depth < REGIONS_AROUND && address; depth++) {
        struct merge_location location;
        int code = locate(merge, span, address, &location);
        if (code)
            return code;
        const char *text = string_table_text(trace_builder_strings(merge->builder), location.function);
        snprintf(place->function, sizeof place->function, "%s", text ? text : "");
        bool own = is_runtime(place->function);
        if (depth == 0 && !own) {
            place->file = location.file;
            place->line = location.line;
        }
        if (!own && strip(place->function))
            return 0;
        uint64_t index;
        bool known = map_get(&names->by_address, openmp_key(span->stream, address), &index);
        address = known && names->codes[index].around != address ? names->codes[index].around : 0;
    }
    place->function[0] = 0;
    return 0;
}

/* A worksharing construct that stands on the region's own line: `parallel for`. */
static int combined(struct merge *merge, const struct openmp_names *names, const struct merge_span *span, const struct place *place, const char **ret_word)
{
    uint64_t first;
    *ret_word = "";
    if (!place->line || !map_get(&names->first, span->stream->process->key, &first))
        return 0;
    for (size_t next = first + 1; next; next = names->codes[next - 1].next) {
        const struct known_code *code = &names->codes[next - 1];
        bool loop = code->kind == SPAN_KIND_LOOP;
        if (!loop && code->kind != SPAN_KIND_SECTIONS)
            continue;
        struct merge_location location;
        int result = locate(merge, span, code->address, &location);
        if (result)
            return result;
        if (location.file.index == place->file.index && location.line == place->line) {
            *ret_word = loop ? " for" : " sections";
            return 0;
        }
    }
    return 0;
}

/* A copy: texts of the table move when it grows. */
static void word_of(struct merge *merge, const struct merge_span *span, char out[96])
{
    const struct string_table *strings = trace_builder_strings(merge->builder);
    const char *name = string_table_text(strings, span->span->name);
    snprintf(out, 96, "%s", name ? name : "");
    if (span->span->kind == SPAN_KIND_LOOP && strcmp(out, "loop") == 0)
        snprintf(out, 96, "for");
    if (span->span->kind == SPAN_KIND_BARRIER && span->payload->present >> FIELD_BARRIER_type & 1) {
        const char *type = string_table_text(strings, span->payload->fields[FIELD_BARRIER_type].string);
        bool plain = !type || strcmp(type, "explicit") == 0 || strcmp(type, "barrier") == 0;
        bool implicit = !plain && (strcmp(type, "parallel") == 0 || strcmp(type, "workshare") == 0);
        snprintf(out, 96, "%s%sbarrier", plain ? "" : implicit ? "implicit" : type, plain ? "" : " ");
    }
}

static int name_make(struct merge *merge, struct openmp_names *names, struct merge_span *span, uint64_t address, const char *word, string_id *ret_name)
{
    struct place place;
    const char *more = "";
    int code = place_find(merge, names, span, address, &place);
    if (code == 0 && span->span->kind == SPAN_KIND_PARALLEL && strcmp(word, "parallel") == 0)
        code = combined(merge, names, span, &place, &more);
    if (code)
        return code;
    const char *file = place.line ? string_table_text(trace_builder_strings(merge->builder), place.file) : NULL;
    const char *slash = file ? strrchr(file, '/') : NULL;
    char text[NAME_BYTES * 2], position[NAME_BYTES / 2] = "";
    if (file && *file)
        snprintf(position, sizeof position, "%s:%u ", slash ? slash + 1 : file, place.line);
    bool called = place.function[0] && !strchr(place.function, '(') && !strstr(place.function, "+0x");
    snprintf(text, sizeof text, "%s%s%s%s%s%s", position, word, more, place.function[0] ? " in " : "", place.function, called ? "()" : "");
    *ret_name = trace_builder_string(merge->builder, text);
    return 0;
}

static uint64_t code_field(const struct payload *payload)
{
    static const uint8_t positions[PAYLOAD_COUNT] = {
        [PAYLOAD_REGION] = FIELD_REGION_code + 1, [PAYLOAD_TEAM] = FIELD_TEAM_code + 1, [PAYLOAD_WORK] = FIELD_WORK_code + 1,
        [PAYLOAD_BARRIER] = FIELD_BARRIER_code + 1, [PAYLOAD_TASK] = FIELD_TASK_code + 1, [PAYLOAD_LOCK] = FIELD_LOCK_code + 1,
    };
    unsigned position = positions[payload->kind];
    return position && payload->present >> (position - 1) & 1 ? payload->fields[position - 1].u64 : 0;
}

int openmp_names_apply(struct merge *merge, struct openmp_names *names, struct merge_span *span)
{
    char word[96];
    uint64_t address = code_field(span->payload), cached;
    if (!span->stream->process)
        return 0;
    word_of(merge, span, word);
    uint64_t key = openmp_key(span->stream, address) ^ hash_u64(hash_bytes(word, strlen(word)) + span->span->kind);
    if (map_get(&names->names, key, &cached)) {
        span->span->name = (string_id){(uint32_t)cached};
        return 0;
    }
    string_id name = STRING_NONE;
    int code = name_make(merge, names, span, address, word, &name);
    if (code)
        return code;
    span->span->name = name;
    return map_set(&names->names, key, name.index);
}
