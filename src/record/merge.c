/* SPDX-License-Identifier: MIT */
/* From a session directory to a trace: opens it, walks its sources twice through the parts' handlers, closes the ledger. */
#include "merge_internal.h"

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "merge_places.h"
#include "session_files.h"
#include "target_files.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>

#define MEMORY_LIMIT (96u << 20) /* of sealed blocks; what is more goes to a spill file beside the session */

/* Their callbacks come in this order. */
const struct merge_part *const merge_parts[MERGE_PARTS_MAXIMUM] = {
    &merge_part_life,
    &merge_part_events,
    &merge_part_samples,
    &merge_part_places,
    &merge_part_devices,
    &merge_part_cuda,
    &merge_part_memory,
    &merge_part_counters,
    &merge_part_nccl,
    &merge_part_mpi,
    &merge_part_gomp,
    &merge_part_openmp,
};

void *merge_state(struct merge *merge, const struct merge_part *part)
{
    for (size_t i = 0; merge_parts[i]; i++)
        if (merge_parts[i] == part)
            return merge->states[i];
    return NULL;
}

struct trace_builder *merge_builder(struct merge *merge)
{
    return merge->builder;
}

const struct merge_options *merge_get_options(const struct merge *merge)
{
    return merge->options;
}

bool merge_same_boot(const struct merge *merge)
{
    char boot_id[40];
    session_boot_id(boot_id);
    return boot_id[0] && strncmp(merge->session->boot_id, boot_id, sizeof boot_id) == 0;
}

const char *merge_directory(const struct merge *merge)
{
    return merge->directory;
}

bool merge_is_following(const struct merge *merge)
{
    return merge->following;
}

uint64_t merge_duration(struct merge *merge, const struct merge_stream *stream, uint64_t duration)
{
    uint64_t start = stream->process ? stream->process->map->start_time : 0;
    int64_t length = (int64_t)((uint64_t)merge_time(merge, stream, start + duration) - (uint64_t)merge_time(merge, stream, start));
    return length > 0 ? (uint64_t)length : 0;
}

string_id merge_string(struct merge *merge, const struct merge_stream *stream, uint32_t id)
{
    struct merge_process *process = stream->process;
    uint64_t cached;
    if (!process || id == 0)
        return STRING_NONE;
    if (map_get(&process->strings, id, &cached))
        return (string_id){(uint32_t)cached};
    const struct wire_process *map = process->map;
    string_id found = STRING_NONE;
    uint64_t offset = map->log_offset + (uint64_t)id * 8;
    if (offset < process->size) {
        const uint8_t *at = (const uint8_t *)map + offset;
        const struct wire_header *record = wire_record_at(at, (const uint8_t *)map + process->size);
        if (record && record->kind == WIRE_STRING && record->value <= wire_bytes(record) - sizeof *record)
            string_table_intern(trace_builder_strings(merge->builder), (const char *)(record + 1), record->value, &found);
    }
    map_set(&process->strings, id, found.index);
    return found;
}

static int session_open(struct merge *merge, struct error *err)
{
    merge->directory_fd = open(merge->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (merge->directory_fd < 0)
        return error_set_errno(err, -errno, "%s: no session directory", merge->directory);
    void *map;
    int code = target_file_map(merge->directory_fd, "session", sizeof(struct wire_session), false, &map, &merge->session_bytes);
    if (code)
        return error_set_errno(err, code == -ENODATA ? -EINVAL : code, "%s/session: not the header of a session", merge->directory);
    merge->session = map;
    if (merge->session->magic != WIRE_SESSION_MAGIC || merge->session->byte_order != WIRE_BYTE_ORDER)
        return error_set(err, -EINVAL, "%s/session: not the header of a session", merge->directory);
    if (merge->session->major != WIRE_MAJOR)
        return error_set(err, -EINVAL, "%s/session: made by a version with format %u, this one reads %u", merge->directory,
                         merge->session->major, WIRE_MAJOR);
    return 0;
}

static void metadata_number(struct merge *merge, const char *key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    trace_builder_set_metadata(merge->builder, key, text);
}

static int builder_begin(struct merge *merge, struct error *err)
{
    const struct wire_session *session = merge->session;
    char copy[4096];
    snprintf(copy, sizeof copy, "%s", merge->directory);
    const struct builder_options options = {.memory_limit_bytes = MEMORY_LIMIT, .spill_directory = dirname(copy)};
    int code = trace_builder_create(&options, &merge->builder, err);
    if (code)
        return code;
    struct utsname host;
    char domain[96];
    uname(&host);
    snprintf(domain, sizeof domain, "%.39s:%llu", session->boot_id, (unsigned long long)session->time_namespace);
    const struct trace_node node = {.name = trace_builder_string(merge->builder, host.nodename),
                                    .clock_domain = trace_builder_string(merge->builder, domain)};
    code = trace_builder_add_node(merge->builder, &node, &merge->node);
    if (code)
        return error_set_errno(err, code, "merge: cannot begin a trace");
    metadata_number(merge, "start_monotonic_raw_ns", session->start_raw_ns);
    metadata_number(merge, "start_realtime_ns", session->start_realtime_ns);
    snprintf(copy, sizeof copy, "%.*s", (int)sizeof session->command, session->command);
    if (copy[0])
        trace_builder_set_metadata(merge->builder, "command", copy);
    trace_builder_set_metadata(merge->builder, "clock_domain", domain);
    return 0;
}

static int parts_create(struct merge *merge, struct error *err)
{
    for (size_t i = 0; merge_parts[i]; i++) {
        int code = merge_parts[i]->create ? merge_parts[i]->create(merge, &merge->states[i], err) : 0;
        if (code)
            return code;
        for (const struct merge_handler *handler = merge_parts[i]->handlers; handler && handler->kind; handler++)
            if (handler->kind < 256)
                merge->handlers[handler->pass][handler->kind] = handler;
    }
    return 0;
}

int merge_parts_call(struct merge *merge, enum merge_moment moment, struct error *err)
{
    for (size_t i = 0; merge_parts[i]; i++) {
        const struct merge_part *part = merge_parts[i];
        int (*call)(struct merge *, void *, struct error *) = moment == MERGE_BETWEEN  ? part->between
                                                              : moment == MERGE_FINISH ? part->finish
                                                                                       : part->round;
        int code = call ? call(merge, merge->states[i], err) : 0;
        if (code)
            return code;
    }
    return 0;
}

/* What the recorder called a kind: its version may know more of them than this one. */
static const char *kind_name(const struct merge *merge, uint64_t kind, char out[32])
{
    const struct wire_session *session = merge->session;
    uint64_t offset = session->kind_offset;
    snprintf(out, 32, "%llu", (unsigned long long)kind);
    for (uint32_t i = 0; i < session->kind_count; i++, offset += sizeof(struct wire_kind_row)) {
        struct wire_kind_row row;
        if (offset + sizeof row > merge->session_bytes)
            break;
        memcpy(&row, (const uint8_t *)session + offset, sizeof row);
        if (row.kind == kind)
            snprintf(out, 32, "%.*s", (int)sizeof row.name, row.name);
    }
    return out;
}

/* What nobody understood, in the ledger. */
static void ledger_close(struct merge *merge)
{
    if (merge->damaged_records)
        trace_builder_add_ledger(merge->builder, "chunks", merge->damaged_records, 0, merge->damaged_records,
                                 "damaged: what lies behind the damage is left out");
    if (merge->refused_records)
        trace_builder_add_ledger(merge->builder, "records", merge->refused_records, 0, merge->refused_records,
                                 "impossible times or values: left out");
    size_t position = 0;
    uint64_t kind, count;
    while (map_next(&merge->unknown, &position, &kind, &count)) {
        char reason[96], name[32];
        snprintf(reason, sizeof reason, "of a kind that this version doesn't know (%s)", kind_name(merge, kind, name));
        trace_builder_add_ledger(merge->builder, "records", count, 0, count, reason);
    }
}

void merge_close(struct merge *merge)
{
    for (size_t i = 0; merge_parts[i]; i++)
        if (merge_parts[i]->destroy)
            merge_parts[i]->destroy(merge->states[i]);
    merge_sources_close(merge);
    if (merge->builder)
        trace_builder_destroy(merge->builder);
    if (merge->session)
        munmap((void *)(uintptr_t)merge->session, merge->session_bytes);
    closep(&merge->directory_fd);
}

int merge_open(struct merge *merge, struct error *err)
{
    int code = session_open(merge, err);
    if (code == 0)
        code = builder_begin(merge, err);
    return code ? code : parts_create(merge, err);
}

int merge_take(struct merge *merge, struct error *err)
{
    int code = merge_sources_open(merge, err);
    if (code == 0)
        code = merge_sources_pass(merge, MERGE_LIFE, err);
    if (code == 0 && merge->ahead)
        code = merge_sources_pass(merge, MERGE_AHEAD, err);
    if (code == 0)
        code = merge_parts_call(merge, MERGE_BETWEEN, err);
    return code ? code : merge_sources_pass(merge, MERGE_ROWS, err);
}

static int merge_run(struct merge *merge, struct trace **ret_trace, struct error *err)
{
    int code = merge_open(merge, err);
    if (code == 0)
        code = merge_take(merge, err);
    if (code == 0)
        code = merge_parts_call(merge, MERGE_FINISH, err);
    if (code)
        return code;
    ledger_close(merge);
    if (!merge->finished)
        trace_builder_set_metadata(merge->builder, "recording.interrupted", "yes");
    return trace_builder_finish(merge->builder, ret_trace, err);
}

int session_merge(const char *session_directory, const struct merge_options *options, struct trace **ret_trace, struct error *err)
{
    static const struct merge_options defaults = {.keep_session = true};
    struct merge merge = {.directory = session_directory, .directory_fd = -1, .options = options ? options : &defaults,
                          .node = NODE_NONE};
    struct trace *trace = NULL;
    int code = merge_run(&merge, &trace, err);
    bool keep = merge.options->keep_session;
    const struct log *log = merge.options->log;
    merge_close(&merge);
    if (code)
        return code;
    struct error problem = ERROR_INIT;
    if (!keep && session_remove(session_directory, &problem) < 0)
        log_warning(log, "%s", problem.text);
    *ret_trace = trace;
    return 0;
}
